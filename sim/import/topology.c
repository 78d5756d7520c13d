/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire import topology: writes a topology with the machine that files of other tools describe.
 *
 * The file has two groups. `machine` is the template, and `topology` joins as many of them as a
 * case needs. Values that no file holds come from data sheets of the parts, as in the shipped
 * machines, and their comments say "assumed". */
#include "sim/gpu/models.h"
#include "sim/import/topology.h"

enum { PARTS_MAX = 1024, NVLINKS_MAX = 20000 };

size_t topology_part(struct machine_read *machine, enum part_kind kind, const char *label,
		     size_t parent, struct origin origin)
{
	struct reading *reading = machine->reading;
	if (machine->parts.count == PARTS_MAX)
		diag_error(reading->diag, origin,
			   "there are more than %d devices (name the topology of one machine)",
			   PARTS_MAX);
	*VEC_PUSH(reading->arena, &machine->parts) = (struct machine_part){
		.kind = kind,
		.label = reading_quote(reading, label),
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

void topology_pci(struct machine_part *part, unsigned long class, unsigned long vendor,
		  unsigned long device)
{
	const struct gpu_model *model = gpu_model_by_device(device);
	part->link = vendor == 0x1d0f   ? "efa"
		     : class == 0x0207  ? "infiniband"
		     : vendor == 0x15b3 ? "roce"
					: "ethernet";
	if (part->kind != PART_GPU)
		return;
	part->device = device;
	part->profile = model ? model->profile : NULL;
}

void topology_device(struct machine_read *machine, size_t part, const char *name)
{
	/* Names of the Linux kernel and of its drivers. mlx5_0 is InfiniBand or RoCE. */
	static const struct {
		const char *begin, *link;
	} sorts[] = {{"roce", "roce"},    {"ib", "infiniband"},  {"rdmap", "efa"},
		     {"efa", "efa"},      {"mlx5_bond", "roce"}, {"bnxt_re", "roce"},
		     {"irdma", "roce"},   {"erdma", "roce"},     {"mana", "roce"},
		     {"eth", "ethernet"}, {"en", "ethernet"},    {"bond", "ethernet"}};
	struct machine_part *nic = &machine->parts.items[part];
	for (size_t i = 0; i < sizeof sorts / sizeof sorts[0] && !nic->link; i++)
		if (strncmp(name, sorts[i].begin, strlen(sorts[i].begin)) == 0)
			nic->link = sorts[i].link;
	if (nic->link && strcmp(nic->link, "ethernet") == 0 && strncmp(name, "mlx", 3) == 0)
		nic->link = "roce"; /* the PCI class is Ethernet */
	bool taken = !*name || strpbrk(name, "*=,");
	for (size_t i = 0; i < machine->devices.count; i++)
		taken |= strcmp(machine->devices.items[i].name, name) == 0;
	if (!taken)
		*VEC_PUSH(machine->reading->arena, &machine->devices) = (struct device_name){
			part, arena_strdup(machine->reading->arena,
					   reading_quote(machine->reading, name))};
}

/* ---- completing ---- */

/* Returns the next part of a kind, or NULL; part NULL: the first. */
static struct machine_part *next_of(const struct machine_read *machine, enum part_kind kind,
				    const struct machine_part *part)
{
	size_t i = part ? (size_t)(part - machine->parts.items) + 1 : 0;
	while (i < machine->parts.count && machine->parts.items[i].kind != kind)
		i++;
	return i < machine->parts.count ? &machine->parts.items[i] : NULL;
}

static size_t count_of(const struct machine_read *machine, enum part_kind kind)
{
	size_t count = 0;
	for (const struct machine_part *p = NULL; (p = next_of(machine, kind, p));)
		count++;
	return count;
}

/* Returns the list "a", "b" of the names of all parts of one of the kinds, after `list`. */
static const char *names_of(const struct machine_read *machine, unsigned kinds, const char *list)
{
	for (size_t i = 0; i < machine->parts.count; i++)
		if (kinds >> machine->parts.items[i].kind & 1)
			list = arena_printf(machine->reading->arena, "%s%s\"%s\"", list,
					    list[0] ? ", " : "", machine->parts.items[i].name);
	return list;
}

/* Returns true if the file numbers all parts of a kind, each differently. */
static bool is_numbered(const struct machine_read *machine, enum part_kind kind)
{
	bool seen[PARTS_MAX] = {false}, numbered = true;
	for (const struct machine_part *part = NULL;
	     numbered && (part = next_of(machine, kind, part));) {
		numbered =
			part->order >= 0 && part->order < PARTS_MAX && !seen[(size_t)part->order];
		if (numbered)
			seen[(size_t)part->order] = true;
	}
	return numbered;
}

/* Gives GPUs and adapters the numbers that the file gives them, so that gpu2 and nic2 are the same
 * devices in the file and in farwire. Other parts, and all if the file's numbers are not unique,
 * are counted. */
static void name_parts(struct machine_read *machine)
{
	static const char *const words[] = {"cpu", "sw", "gpu", "nic"};
	struct machine_part *parts = machine->parts.items;
	size_t counts[4] = {0};
	bool numbered[4] = {[PART_GPU] = is_numbered(machine, PART_GPU),
			    [PART_NIC] = is_numbered(machine, PART_NIC)};
	for (size_t i = 0; i < machine->parts.count; i++) {
		size_t number = counts[parts[i].kind]++;
		parts[i].number = numbered[parts[i].kind] ? (size_t)parts[i].order : number;
		parts[i].name = arena_printf(machine->reading->arena, "%s%zu", words[parts[i].kind],
					     parts[i].number);
	}
}

/* Returns the generations of a GPU's links. Those of the user's own profiles are assumed. */
static const struct gpu_model *model_of(const struct machine_part *gpu)
{
	static const struct gpu_model own = {.pcie_generation = 4, .pcie_lanes = 16};
	const struct gpu_model *model = gpu_model_by_profile(gpu->profile);
	return model ? model : &own;
}

/* Leaves out names of adapters that are also names of nodes. */
static void check_devices(struct machine_read *machine)
{
	size_t kept = 0;
	for (size_t i = 0; i < machine->devices.count; i++) {
		const char *name = machine->devices.items[i].name;
		bool taken = strcmp(name, "host") == 0 || strcmp(name, "os") == 0;
		for (size_t k = 0; k < machine->parts.count; k++)
			taken |= strcmp(machine->parts.items[k].name, name) == 0;
		if (!taken)
			machine->devices.items[kept++] = machine->devices.items[i];
	}
	machine->devices.count = kept;
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

/* Finds the profile of a GPU by its name: that of the driver, of a profile, or of an own file. */
static const char *profile_by_name(const char *name)
{
	const struct gpu_model *model = gpu_model_by_name(name);
	size_t length = strlen(name);
	name += strspn(name, " ");
	bool own = length > 4 && strcmp(name + strlen(name) - 4, ".cfg") == 0;
	return model ? model->profile : own ? name : NULL;
}

static void find_profile(struct machine_read *machine, struct machine_part *part)
{
	struct reading *reading = machine->reading;
	const char *name = part->number < machine->gpu_names.count
				   ? machine->gpu_names.items[part->number]
				   : NULL;
	if (name) {
		part->profile = profile_by_name(name);
		if (!part->profile)
			diag_error(
				reading->diag, part->origin,
				"the GPU '%s' has no profile: %s (to choose a profile, or an own "
				"file that ends in .cfg, write its name into the line of "
				"nvidia-smi -L: 'GPU %zu: %s')",
				reading_quote(reading, name),
				gpu_model_refusal(reading->arena, name), part->number,
				gpu_model_nearest(name));
	} else if (part->device && !part->profile) {
		diag_error(reading->diag, part->origin,
			   "no file of topologies/gpus describes the GPU '10de:%04lx' (name a "
			   "second file with a line 'GPU %zu: PROFILE'; `farwire list gpus` shows "
			   "the profiles)",
			   part->device, part->number);
	}
}

static void find_profiles(struct machine_read *machine)
{
	struct reading *reading = machine->reading;
	size_t assumed = 0;
	const char *profiles = NULL;
	for (struct machine_part *part = NULL; (part = next_of(machine, PART_GPU, part));) {
		find_profile(machine, part);
		if (part->profile)
			continue;
		part->profile = part->guess ? part->guess
					    : likely_profile(machine,
							     (size_t)(part - machine->parts.items));
		assumed++;
		if (!profiles)
			profiles = part->profile;
		else if (!strstr(profiles, part->profile))
			profiles =
				arena_printf(reading->arena, "%s or %s", profiles, part->profile);
	}
	if (assumed)
		reading_note(reading,
			     "%zu GPUs are assumed to be %s (add the lines of nvidia-smi -L)",
			     assumed, profiles);
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
			if (strcmp(machine->parts.items[j].label, link.bus) == 0)
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

static const char *place_of(struct machine_read *machine, const struct machine_part *part)
{
	return part->origin.line ? arena_printf(machine->reading->arena, "%s:%d: %s",
						reading_quote(machine->reading, part->origin.file),
						part->origin.line, part->label)
				 : arena_printf(machine->reading->arena, "%s: %s",
						reading_quote(machine->reading, part->origin.file),
						part->label);
}

static const char *separator(size_t index, size_t count)
{
	return index + 1 < count ? "," : "";
}

/* Returns true if processors are of the time of PCIe 5, which came with DDR5 (Intel's Sapphire
 * Rapids: 8 channels of DDR5-4800 and UPI of 16 GT/s). */
static bool is_recent(const struct machine_read *machine)
{
	return machine->generation > 4;
}

/* Returns the memory bandwidth of a socket, or the usual one without it. */
static double socket_Bps(const struct machine_read *machine, const struct machine_part *part)
{
	double usual_Bps = is_recent(machine) ? 307.2e9 : 204.8e9;
	return part && part->memory_Bps > 0 ? part->memory_Bps : usual_Bps;
}

static void write_host(struct machine_read *machine)
{
	double cpus = 0, memory_Bps = 0;
	bool memory_known = count_of(machine, PART_SOCKET) > 0;
	for (const struct machine_part *part = NULL;
	     (part = next_of(machine, PART_SOCKET, part));) {
		cpus += part->cpu_count;
		memory_known &= part->memory_Bps > 0;
		memory_Bps += socket_Bps(machine, part);
	}
	if (!(memory_Bps > 0)) /* the file has no sockets */
		memory_Bps = socket_Bps(machine, NULL);
	double cores = machine->threads ? ceil(cpus / 2) : cpus;
	const char *why = cpus > 0 ? machine->threads ? "two threads of a core, as assumed"
						      : "one thread of a core"
				   : "assumed";
	reading_line(machine->reading,
		     "\thost = {\n\t\tcores = %.15g; # %s\n"
		     "\t\tdram_bandwidth = \"%.15g GB/s\"; # %s\n"
		     "\t\tclock = \"2.4 GHz\"; power_policy = \"max_performance\"; c_states = "
		     "false; # assumed\n\t};",
		     cpus > 0 ? fmin(cores, 4096) : 64, why, memory_Bps / 1e9,
		     memory_known         ? "data sheet of the processor"
		     : is_recent(machine) ? "assumed: 8 channels of DDR5-4800 a socket"
					  : "assumed: 8 channels of DDR4-3200 a socket");
}

static void write_gpus(struct machine_read *machine)
{
	size_t count = count_of(machine, PART_GPU), written = 0;
	reading_line(machine->reading, "\tgpus = (");
	for (size_t number = 0; number < PARTS_MAX; number++)
		for (const struct machine_part *part = NULL;
		     (part = next_of(machine, PART_GPU, part));)
			if (part->number == number)
				reading_line(machine->reading,
					     "\t\t{ name = \"%s\"; profile = \"%s\"; }%s # %s",
					     part->name, part->profile, separator(written++, count),
					     place_of(machine, part));
	reading_line(machine->reading, "\t);");
}

static bool to_switches(const struct machine_read *machine)
{
	for (size_t i = 0; i < machine->nvlinks.count; i++)
		if (machine->nvlinks.items[i].b == NO_PART)
			return true;
	return false;
}

static void write_sockets(struct machine_read *machine)
{
	for (const struct machine_part *part = NULL;
	     (part = next_of(machine, PART_SOCKET, part));) {
		reading_line(
			machine->reading,
			"\t\t{ name = \"memory-%s\"; kind = \"socket\"; ends = [\"host\", "
			"\"%s\"]; bandwidth = \"%.15g GB/s\"; line_overhead = \"0 B\"; duplex = "
			"false; latency = \"90 ns\"; }, # %s; %s",
			part->name, part->name, socket_Bps(machine, part) / 1e9,
			place_of(machine, part), part->memory_Bps > 0 ? "data sheet" : "assumed");
		for (const struct machine_part *other = NULL;
		     (other = next_of(machine, PART_SOCKET, other)) < part;)
			reading_line(machine->reading,
				     "\t\t{ name = \"%s-%s\"; kind = \"socket\"; ends = "
				     "[\"%s\", \"%s\"]; bandwidth = \"%s GB/s\"; latency "
				     "= \"60 ns\"; }, # assumed: three UPI links of %s GT/s",
				     other->name, part->name, other->name, part->name,
				     is_recent(machine) ? "96" : "62.4",
				     is_recent(machine) ? "16" : "10.4");
	}
}

/* Writes the PCIe links, each with a separator, because an NVLink or nothing follows. */
static void write_pcie(struct machine_read *machine, double usual, size_t nvlinks)
{
	size_t all = machine->parts.count - count_of(machine, PART_SOCKET), written = 0;
	for (size_t i = 0; i < machine->parts.count; i++) {
		const struct machine_part *part = &machine->parts.items[i];
		if (part->kind == PART_SOCKET)
			continue;
		bool below = part->parent != NO_PART &&
			     machine->parts.items[part->parent].kind == PART_BRIDGE;
		const char *upper =
			part->parent == NO_PART ? "host" : machine->parts.items[part->parent].name;
		bool gpu = part->kind == PART_GPU;
		double own = gpu ? model_of(part)->pcie_generation : usual;
		double lanes = gpu ? model_of(part)->pcie_lanes : 16;
		reading_line(machine->reading,
			     "\t\t{ name = \"slot-%s\"; kind = \"pcie\"; ends = [\"%s\", \"%s\"]; "
			     "generation = %.15g; lanes = %.15g;%s }%s # %s%s",
			     part->name, upper, part->name,
			     part->generation > 0 ? part->generation : own,
			     part->lanes > 0 ? fmin(part->lanes, 32) : lanes,
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
		const struct machine_part *a = &machine->parts.items[link->a];
		const char *b =
			link->b == NO_PART ? "nvswitch" : machine->parts.items[link->b].name;
		double generation = model_of(a)->nvlink_generation;
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
	const char *list = names_of(machine, 1u << PART_NIC, "");
	if (list[0])
		reading_line(machine->reading, "\tports = [%s];", list);
	size_t count = machine->devices.count;
	if (count)
		reading_line(machine->reading, "\taliases = (");
	for (size_t i = 0; i < count; i++)
		reading_line(machine->reading, "\t\t{ name = \"%s\"; node = \"%s\"; }%s",
			     machine->devices.items[i].name,
			     machine->parts.items[machine->devices.items[i].part].name,
			     separator(i, count));
	if (count)
		reading_line(machine->reading, "\t);");
}

/* Names such as mlx5_0 do not say whether an adapter is one of InfiniBand or of RoCE. */
static const char *kind_of(struct machine_read *machine, const struct machine_part *nic)
{
	if (nic->link)
		return nic->link;
	if (!machine->network)
		reading_note(
			machine->reading,
			"the adapters are assumed to be InfiniBand, because the file does not "
			"say (for RoCE, write kind = \"roce\" into the network's link, or --set "
			"link.network.kind=roce in a run)");
	return "infiniband";
}

/* Writes the network: that of a fabric that was read, or one for the fastest adapter. */
static void write_network(struct machine_read *machine, double generation)
{
	const struct machine_part *nic = NULL;
	for (const struct machine_part *part = NULL; (part = next_of(machine, PART_NIC, part));)
		if (!nic || part->speed_bps > nic->speed_bps)
			nic = part;
	if (!nic) {
		reading_line(
			machine->reading,
			"\tcluster = { machine = \"own\"; count = 1; }; # no adapter was read");
		return;
	}
	double usual = generation > 4 ? 400 : generation > 3 ? 200 : 100;
	bool label = nic->speed_bps >= 1e6;
	const char *kind = kind_of(machine, nic), *network = machine->network;
	const char *why =
		network ? reading_quote(machine->reading, machine->network_path)
			: arena_printf(machine->reading->arena, "%s%s; the network is assumed 1:1",
				       place_of(machine, nic), label ? "" : "; speed assumed");
	if (!network && strcmp(kind, "efa") == 0)
		network = generation > 4 ? "\"efa-v2\"" : "\"efa-v1\"";
	if (!network)
		network =
			arena_printf(machine->reading->arena,
				     "{ kind = \"fat_tree\"; ports_per_leaf = 32; link = { kind = "
				     "\"%s\"; bandwidth = \"%.15g Gbit/s\"; }; }",
				     kind, label ? nic->speed_bps / 1e9 : usual);
	reading_line(machine->reading,
		     "\tcluster = { machine = \"own\";\n\t\tnetwork = %s; # %s\n\t};", network,
		     why);
}

static void write_topology(struct machine_read *machine)
{
	struct reading *r = machine->reading;
	machine->generation = 3;
	for (const struct machine_part *part = NULL; (part = next_of(machine, PART_GPU, part));)
		machine->generation = fmax(machine->generation, model_of(part)->pcie_generation);
	reading_line(r,
		     "# SPDX-License-Identifier: GPL-3.0-or-later\n"
		     "# Written by farwire import topology.\n"
		     "topology = {\n\tname = \"imported\";\n"
		     "\thelp = \"imported machine with %zu GPUs\";",
		     count_of(machine, PART_GPU));
	write_network(machine, machine->generation);
	reading_line(r, "};\nmachine = {\n\tvendor = \"any\";");
	write_host(machine);
	write_gpus(machine);
	const unsigned kinds = ~(1u << PART_GPU);
	reading_line(machine->reading, "\tswitches = [%s];",
		     names_of(machine, kinds, to_switches(machine) ? "\"nvswitch\"" : ""));
	reading_line(r, "\tlinks = (");
	write_sockets(machine);
	write_pcie(machine, machine->generation, machine->nvlinks.count);
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
	if (count_of(&machine, PART_GPU) == 0)
		return diag_error(
			diag, (struct origin){paths[0], 0},
			"the files have no GPU (add the output of nvidia-smi topo -m, or the file "
			"of NCCL_TOPO_DUMP_FILE)");
	name_parts(&machine);
	check_devices(&machine);
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
