/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire import topology: writes a topology with the machine that files of other tools describe.
 *
 * The file has two groups. `machine` is the template, and `topology` joins as many of them as a
 * case needs. Values that no file holds come from data sheets of the parts, as in the shipped
 * machines, and their comments say "assumed". */
#include <math.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/import/topology.h"

enum { PARTS_MAX = 1024, NVLINKS_MAX = 20000 };

static const struct gpu_row {
	unsigned long device;
	const char *profile;
	double pcie, nvlink; /* generations */
} gpus[] = {
	/* device numbers: pci.ids, vendor 10de; generations: data sheets */
	{0x102d, "k80", 3, 0},          {0x15f9, "p100-sxm2", 3, 1},
	{0x15f8, "p100-pcie", 3, 0},    {0x1db1, "v100-sxm2", 3, 2},
	{0x1db5, "v100-sxm2-32", 3, 2}, {0x1db8, "v100-sxm3-32", 3, 2},
	{0x1db4, "v100-pcie", 3, 0},    {0x1eb8, "t4", 3, 0},
	{0x20b0, "a100-sxm4-40", 4, 3}, {0x20b2, "a100-sxm4-80", 4, 3},
	{0x20f1, "a100-pcie-40", 4, 3}, {0x20b5, "a100-pcie-80", 4, 3},
	{0x20b7, "a30", 4, 3},          {0x2236, "a10", 4, 0},
	{0x2204, "rtx-3090", 4, 3},     {0x2684, "rtx-4090", 4, 0},
	{0x26b1, "rtx-6000-ada", 4, 0}, {0x26b9, "l40s", 4, 0},
	{0x27b8, "l4", 4, 0},           {0x2330, "h100-sxm5", 5, 4},
	{0x2331, "h100-pcie", 5, 4},    {0x2321, "h100-nvl", 5, 4},
	{0x2335, "h200-sxm", 5, 4},     {0x233b, "h200-nvl", 5, 4},
	{0x2901, "b200", 5, 5},
};

static const struct {
	const char *text, *profile;
} names[] = {
#define GPU_NAME(text, name, generation) {text, name},
#include "calib/fit/gpu_names.def"
#undef GPU_NAME
};

const char *topology_gpu_by_device(unsigned long device)
{
	for (size_t i = 0; i < sizeof gpus / sizeof gpus[0]; i++)
		if (gpus[i].device == device)
			return gpus[i].profile;
	return NULL;
}

unsigned long topology_device_of_gpu(const char *profile)
{
	for (size_t i = 0; i < sizeof gpus / sizeof gpus[0]; i++)
		if (strcmp(gpus[i].profile, profile) == 0)
			return gpus[i].device;
	return 0;
}

static const char *gpu_by_name(const char *name)
{
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strstr(name, names[i].text))
			return names[i].profile[0] ? names[i].profile : NULL;
	return NULL;
}

static const struct gpu_row *row_of(const char *profile)
{
	size_t i = 0;
	while (i + 1 < sizeof gpus / sizeof gpus[0] && strcmp(gpus[i].profile, profile) != 0)
		i++;
	return &gpus[i];
}

size_t topology_part(struct machine_read *machine, enum part_kind kind, const char *said,
		     size_t parent, struct origin origin)
{
	struct reading *reading = machine->reading;
	if (machine->parts.count == PARTS_MAX)
		diag_error(reading->diag, origin,
			   "there are more than %d devices (name the topology of one machine)",
			   PARTS_MAX);
	*VEC_PUSH(reading->arena, &machine->parts) = (struct part){
		.kind = kind,
		.said = reading_quote(reading, said),
		.parent = parent,
		.order = -1,
		.origin = origin,
	};
	return machine->parts.count - 1;
}

void topology_nvlink(struct machine_read *machine, struct nvlink link)
{
	if (machine->nvlinks.count == NVLINKS_MAX)
		diag_error(machine->reading->diag, link.origin,
			   "there are more than %d NVLinks (name the topology of one machine)",
			   NVLINKS_MAX);
	*VEC_PUSH(machine->reading->arena, &machine->nvlinks) = link;
}

/* ---- completing ---- */

static size_t count_of(const struct machine_read *machine, enum part_kind kind)
{
	size_t count = 0;
	for (size_t i = 0; i < machine->parts.count; i++)
		count += machine->parts.items[i].kind == kind;
	return count;
}

/* Returns the number of GPUs before a GPU: in the order of the file's numbers, or without them in
 * that of its lines. */
static size_t gpus_before(const struct machine_read *machine, size_t gpu, bool numbered)
{
	const struct part *parts = machine->parts.items;
	size_t count = 0;
	for (size_t i = 0; i < machine->parts.count; i++) {
		bool less = numbered && parts[i].order < parts[gpu].order;
		bool more = numbered && parts[i].order > parts[gpu].order;
		count += parts[i].kind == PART_GPU && (less || (!more && i < gpu));
	}
	return count;
}

static void name_parts(struct machine_read *machine)
{
	static const char *const words[] = {"cpu", "sw", "gpu", "nic"};
	struct part *parts = machine->parts.items;
	size_t counts[4] = {0};
	bool numbered = true;
	for (size_t i = 0; i < machine->parts.count; i++)
		numbered &= parts[i].kind != PART_GPU || parts[i].order >= 0;
	for (size_t i = 0; i < machine->parts.count; i++) {
		size_t number = counts[parts[i].kind]++;
		parts[i].number =
			parts[i].kind == PART_GPU ? gpus_before(machine, i, numbered) : number;
		parts[i].name = arena_printf(machine->reading->arena, "%s%zu", words[parts[i].kind],
					     parts[i].number);
	}
}

static bool has_nvlink(const struct machine_read *machine, size_t part)
{
	for (size_t i = 0; i < machine->nvlinks.count; i++)
		if (machine->nvlinks.items[i].a == part || machine->nvlinks.items[i].b == part)
			return true;
	return false;
}

/* Returns the profile of a GPU of which only the PCIe generation is known. */
static const char *likely_profile(const struct machine_read *machine, size_t part)
{
	double generation = machine->parts.items[part].generation;
	return generation > 4              ? "h100-sxm5"
	       : generation > 3            ? "a100-sxm4-80"
	       : generation > 0            ? "v100-sxm2"
	       : has_nvlink(machine, part) ? "a100-sxm4-80"
					   : "a100-pcie-80";
}

static void find_profiles(struct machine_read *machine)
{
	struct reading *reading = machine->reading;
	size_t assumed = 0;
	const char *last = "";
	for (size_t i = 0; i < machine->parts.count; i++) {
		struct part *part = &machine->parts.items[i];
		size_t number = part->number;
		const char *name = part->kind == PART_GPU && number < machine->gpu_names.count
					   ? machine->gpu_names.items[number]
					   : NULL;
		if (part->kind != PART_GPU)
			continue;
		if (name)
			part->profile = gpu_by_name(name);
		else if (part->device)
			name = arena_printf(reading->arena, "10de:%04lx", part->device);
		if (!part->profile && name)
			diag_error(
				reading->diag, part->origin,
				"no file of topologies/gpus describes the GPU '%s' (add a line of "
				"nvidia-smi -L with a similar GPU)",
				reading_quote(reading, name));
		if (part->profile)
			continue;
		last = part->profile = part->guess ? part->guess : likely_profile(machine, i);
		assumed++;
	}
	if (assumed)
		reading_note(reading,
			     "%zu GPUs are assumed to be %s (add the lines of nvidia-smi -L)",
			     assumed, last);
}

static void skip(struct machine_read *machine, const struct nvlink *link, const char *why)
{
	machine->reading->used_count--;
	machine->reading->skipped_count++;
	reading_note(machine->reading, "%s:%d: an NVLink of %s was skipped, because %s",
		     reading_quote(machine->reading, link->origin.file), link->origin.line,
		     machine->parts.items[link->a].name, why);
}

/* Finds the other ends. Links that are listed at both ends, and links of one GPU to several
 * NVSwitches, become one. */
static void join_nvlinks(struct machine_read *machine)
{
	size_t kept = 0;
	for (size_t i = 0; i < machine->nvlinks.count; i++) {
		struct nvlink link = machine->nvlinks.items[i];
		for (size_t j = 0; link.bus && j < machine->parts.count; j++)
			if (strcmp(machine->parts.items[j].said, link.bus) == 0)
				link.b = j;
		if (link.bus && link.b == NO_PART) {
			skip(machine, &link, "no device has the bus id at its other end");
			continue;
		}
		if (link.b == link.a) {
			skip(machine, &link, "its other end is the same GPU");
			continue;
		}
		size_t same = 0;
		for (; same < kept; same++) {
			struct nvlink *other = &machine->nvlinks.items[same];
			bool again = other->a == link.a && other->b == link.b;
			if (again && link.b == NO_PART)
				other->count += link.count;
			if (again || (other->a == link.b && other->b == link.a))
				break;
		}
		if (same == kept)
			machine->nvlinks.items[kept++] = link;
	}
	machine->nvlinks.count = kept;
}

/* ---- writing ---- */

static const char *place_of(struct machine_read *machine, const struct part *part)
{
	return part->origin.line ? arena_printf(machine->reading->arena, "%s:%d: %s",
						reading_quote(machine->reading, part->origin.file),
						part->origin.line, part->said)
				 : arena_printf(machine->reading->arena, "%s: %s",
						reading_quote(machine->reading, part->origin.file),
						part->said);
}

static const char *separator(size_t index, size_t count)
{
	return index + 1 < count ? "," : "";
}

static void write_host(struct machine_read *machine)
{
	double cpus = 0, memory_Bps = 0;
	bool memory_known = true;
	for (size_t i = 0; i < machine->parts.count; i++) {
		const struct part *part = &machine->parts.items[i];
		if (part->kind != PART_SOCKET)
			continue;
		cpus += part->cpu_count;
		memory_known &= part->memory_Bps > 0;
		memory_Bps += part->memory_Bps > 0 ? part->memory_Bps : 204.8e9;
	}
	double cores = machine->threads ? ceil(cpus / 2) : cpus;
	const char *why = cpus > 0 ? machine->threads ? "two threads of a core, as assumed"
						      : "one thread of a core"
				   : "assumed";
	reading_line(machine->reading, "\thost = {");
	reading_line(machine->reading, "\t\tcores = %.15g; # %s", cpus > 0 ? fmin(cores, 4096) : 64,
		     why);
	reading_line(machine->reading, "\t\tdram_bandwidth = \"%.15g GB/s\"; # %s",
		     memory_Bps / 1e9,
		     memory_known ? "data sheet of the processor"
				  : "assumed: 8 channels of DDR4-3200 a socket");
	reading_line(machine->reading,
		     "\t\tclock = \"2.4 GHz\"; power_policy = \"max_performance\"; c_states = "
		     "false; # assumed");
	reading_line(machine->reading, "\t};");
}

static void write_gpus(struct machine_read *machine)
{
	size_t count = count_of(machine, PART_GPU);
	reading_line(machine->reading, "\tgpus = (");
	for (size_t number = 0; number < count; number++)
		for (size_t i = 0; i < machine->parts.count; i++) {
			const struct part *part = &machine->parts.items[i];
			if (part->kind == PART_GPU && part->number == number)
				reading_line(machine->reading,
					     "\t\t{ name = \"%s\"; profile = \"%s\"; }%s # %s",
					     part->name, part->profile, separator(number, count),
					     place_of(machine, part));
		}
	reading_line(machine->reading, "\t);");
}

static bool to_switches(const struct machine_read *machine)
{
	for (size_t i = 0; i < machine->nvlinks.count; i++)
		if (machine->nvlinks.items[i].b == NO_PART)
			return true;
	return false;
}

static void write_switches(struct machine_read *machine)
{
	const char *list = to_switches(machine) ? "\"nvswitch\"" : "";
	for (size_t i = 0; i < machine->parts.count; i++)
		if (machine->parts.items[i].kind != PART_GPU)
			list = arena_printf(machine->reading->arena, "%s%s\"%s\"", list,
					    list[0] ? ", " : "", machine->parts.items[i].name);
	reading_line(machine->reading, "\tswitches = [%s];", list);
}

static void write_sockets(struct machine_read *machine)
{
	for (size_t i = 0; i < machine->parts.count; i++) {
		const struct part *part = &machine->parts.items[i];
		if (part->kind != PART_SOCKET)
			continue;
		reading_line(
			machine->reading,
			"\t\t{ name = \"memory-%s\"; kind = \"socket\"; ends = [\"host\", "
			"\"%s\"]; bandwidth = \"%.15g GB/s\"; latency = \"90 ns\"; }, # %s; %s",
			part->name, part->name,
			(part->memory_Bps > 0 ? part->memory_Bps : 204.8e9) / 1e9,
			place_of(machine, part), part->memory_Bps > 0 ? "data sheet" : "assumed");
		for (size_t j = 0; j < i; j++)
			if (machine->parts.items[j].kind == PART_SOCKET)
				reading_line(
					machine->reading,
					"\t\t{ name = \"%s-%s\"; kind = \"socket\"; ends = "
					"[\"%s\", \"%s\"]; bandwidth = \"62.4 GB/s\"; latency "
					"= \"60 ns\"; }, # assumed: three UPI links of 10.4 GT/s",
					machine->parts.items[j].name, part->name,
					machine->parts.items[j].name, part->name);
	}
}

/* Writes the PCIe links, each with a separator, because an NVLink or nothing follows. */
static void write_pcie(struct machine_read *machine, double usual, size_t nvlinks)
{
	size_t all = 0, written = 0;
	for (size_t i = 0; i < machine->parts.count; i++)
		all += machine->parts.items[i].kind != PART_SOCKET;
	for (size_t i = 0; i < machine->parts.count; i++) {
		const struct part *part = &machine->parts.items[i];
		if (part->kind == PART_SOCKET)
			continue;
		bool below = part->parent != NO_PART &&
			     machine->parts.items[part->parent].kind == PART_BRIDGE;
		const char *upper =
			part->parent == NO_PART ? "host" : machine->parts.items[part->parent].name;
		double own = part->kind == PART_GPU ? row_of(part->profile)->pcie : usual;
		reading_line(machine->reading,
			     "\t\t{ name = \"slot-%s\"; kind = \"pcie\"; ends = [\"%s\", \"%s\"]; "
			     "generation = %.15g; lanes = %.15g;%s }%s # %s%s",
			     part->name, upper, part->name,
			     part->generation > 0 ? part->generation : own,
			     part->lanes > 0 ? fmin(part->lanes, 32) : 16,
			     below ? " latency = \"150 ns\";" : "",
			     separator(written, all + nvlinks), place_of(machine, part),
			     part->generation > 0 && part->lanes > 0 ? ""
			     : part->generation > 0                  ? "; lanes assumed"
								     : "; speed assumed");
		written++;
	}
}

static void write_nvlinks(struct machine_read *machine)
{
	for (size_t i = 0; i < machine->nvlinks.count; i++) {
		const struct nvlink *link = &machine->nvlinks.items[i];
		const struct part *a = &machine->parts.items[link->a];
		const char *b =
			link->b == NO_PART ? "nvswitch" : machine->parts.items[link->b].name;
		double generation = row_of(a->profile)->nvlink;
		if (!(link->count >= 1 && link->count <= 36))
			diag_error(machine->reading->diag, link->origin,
				   "%s has %g NVLinks to %s, but a GPU has at most 36 (correct the "
				   "file)",
				   a->name, link->count, b);
		reading_line(
			machine->reading,
			"\t\t{ name = \"nv-%s-%s\"; kind = \"nvlink\"; ends = [\"%s\", \"%s\"]; "
			"generation = %.15g; links = %.15g; }%s # %s:%d",
			a->name, b, a->name, b, generation > 0 ? generation : 3, link->count,
			separator(i, machine->nvlinks.count),
			reading_quote(machine->reading, link->origin.file), link->origin.line);
	}
}

static void write_ports(struct machine_read *machine)
{
	const char *list = "";
	for (size_t i = 0; i < machine->parts.count; i++)
		if (machine->parts.items[i].kind == PART_NIC)
			list = arena_printf(machine->reading->arena, "%s%s\"%s\"", list,
					    list[0] ? ", " : "", machine->parts.items[i].name);
	if (list[0])
		reading_line(machine->reading, "\tports = [%s];", list);
}

/* Writes the network: that of a fabric that was read, or one for the fastest adapter. */
static void write_network(struct machine_read *machine, double generation)
{
	const struct part *nic = NULL;
	for (size_t i = 0; i < machine->parts.count; i++) {
		const struct part *part = &machine->parts.items[i];
		if (part->kind == PART_NIC && (!nic || part->speed_bps > nic->speed_bps))
			nic = part;
	}
	if (!nic) {
		reading_line(
			machine->reading,
			"\tcluster = { machine = \"own\"; count = 1; }; # no adapter was read");
		return;
	}
	double usual = generation > 4 ? 400 : generation > 3 ? 200 : 100;
	bool said = nic->speed_bps >= 1e6;
	const char *assumed = said ? "" : "; speed assumed";
	const char *kind = nic->infiniband ? "infiniband" : nic->roce ? "roce" : "ethernet";
	const char *network =
		machine->network ? machine->network
		: nic->efa       ? arena_printf(machine->reading->arena, "\"efa-v%d\"",
                                          generation > 4 ? 2 : 1)
				 : arena_printf(machine->reading->arena,
						"{ kind = \"fat_tree\"; ports_per_leaf = 32; link = "
						      "{ kind = \"%s\"; bandwidth = \"%.15g Gbit/s\"; }; }",
						kind, said ? nic->speed_bps / 1e9 : usual);
	reading_line(machine->reading, "\tcluster = { machine = \"own\";");
	if (machine->network)
		reading_line(machine->reading, "\t\tnetwork = %s; # %s", network,
			     reading_quote(machine->reading, machine->network_path));
	else
		reading_line(machine->reading,
			     "\t\tnetwork = %s; # %s%s; the network is assumed 1:1", network,
			     place_of(machine, nic), assumed);
	reading_line(machine->reading, "\t};");
}

static void write_topology(struct machine_read *machine)
{
	struct reading *r = machine->reading;
	double generation = 3;
	for (size_t i = 0; i < machine->parts.count; i++) {
		const struct part *part = &machine->parts.items[i];
		if (part->kind == PART_GPU)
			generation = fmax(generation, row_of(part->profile)->pcie);
	}
	reading_line(r, "# SPDX-License-Identifier: GPL-3.0-or-later");
	reading_line(r, "# Written by farwire import topology.");
	reading_line(r, "topology = {");
	reading_line(r, "\tname = \"imported\";");
	reading_line(r, "\thelp = \"imported machine with %zu GPUs\";",
		     count_of(machine, PART_GPU));
	write_network(machine, generation);
	reading_line(r, "};");
	reading_line(r, "machine = {");
	reading_line(r, "\tvendor = \"any\";");
	write_host(machine);
	write_gpus(machine);
	write_switches(machine);
	reading_line(r, "\tlinks = (");
	write_sockets(machine);
	write_pcie(machine, generation, machine->nvlinks.count);
	write_nvlinks(machine);
	reading_line(r, "\t);");
	write_ports(machine);
	reading_line(r, "};");
	if (machine->nvlinks.count == 0)
		reading_note(r, "no NVLinks were read (if there are any, add the output of "
				"nvidia-smi topo -m)");
	reading_note(r, "%zu GPUs, %zu adapters, %zu sockets, %zu PCIe switches, %zu NVLink pairs",
		     count_of(machine, PART_GPU), count_of(machine, PART_NIC),
		     count_of(machine, PART_SOCKET), count_of(machine, PART_BRIDGE),
		     machine->nvlinks.count);
}

/* ---- reading ---- */

static void read_one(struct machine_read *machine, const char *path, bool trees)
{
	size_t size_B;
	const char *text = reading_file(machine->reading, path, &size_B);
	if (!text)
		return;
	bool tree = text[strspn(text, " \t\r\n")] == '<';
	if (tree && trees && strstr(text, "<topology"))
		topology_read_hwloc(machine, path, text, size_B);
	else if (tree && trees)
		topology_read_nccl(machine, path, text, size_B);
	else if (!tree && !trees && strstr(text, "switchguid="))
		topology_read_fabric(machine, path, text);
	else if (!tree && !trees)
		topology_read_smi(machine, path, text);
}

static bool read_topology_files(struct arena *arena, struct diag *diag, const char *const *paths,
				size_t count, struct imported *imported)
{
	struct reading *reading = ARENA_NEW(arena, struct reading);
	*reading =
		(struct reading){.arena = arena, .diag = diag, .paths = paths, .path_count = count};
	struct machine_read machine = {.reading = reading};
	for (size_t i = 0; i < count; i++)
		read_one(&machine, paths[i], true);
	for (size_t i = 0; i < count; i++)
		read_one(&machine, paths[i], false);
	if (diag_count(diag))
		return false;
	if (count_of(&machine, PART_GPU) == 0) {
		diag_error(
			diag, (struct origin){paths[0], 0},
			"the files have no GPU (add the output of nvidia-smi topo -m, or the file "
			"of NCCL_TOPO_DUMP_FILE)");
		return false;
	}
	name_parts(&machine);
	join_nvlinks(&machine);
	find_profiles(&machine);
	if (diag_count(diag))
		return false;
	write_topology(&machine);
	return reading_done(reading, "records", imported);
}

const struct importer import_topology = {
	.name = "topology",
	.help = "machine of nvidia-smi topo -m, NCCL's or hwloc's XML, and ibnetdiscover",
	.files = read_topology_files,
};
