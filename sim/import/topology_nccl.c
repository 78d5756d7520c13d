/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads topologies of NCCL (NCCL_TOPO_DUMP_FILE, NCCL_TOPO_FILE):
 *
 *   <system version="1"> <cpu numaid=...> <pci busid= class= link_speed= link_width=>
 *     <gpu dev= sm=> <nvlink target= count= tclass=>   <nic> <net name= speed= (Mb/s)>
 *
 * A file of a cloud provider is only the tree of PCI devices; their class then says what they are.
 * Source: NVIDIA/nccl, src/graph/xml.cc and topo.cc. */
#include "sim/cfg/xml.h"
#include "sim/import/topology.h"

enum { DEPTH_MAX = 64 };

struct nccl {
	struct machine_read *machine;
	size_t stack[DEPTH_MAX + 1]; /* the part of each open element */
	size_t depth;
	bool rooted;
};

/* Reports an error. Returns NO_PART for the element. */
static size_t refuse(struct nccl *n, const struct xml_element *element, const char *why)
{
	diag_error(n->machine->reading->diag, element->origin, "%s", why);
	return NO_PART;
}

/* Reads "16 GT/s", "16.0 GT/s PCIe" or "32 GT/s PCIe/s". Returns the generation; 0: unknown. */
static double generation_of(const char *speed)
{
	static const double rates[] = {2.5, 5, 8, 16, 32, 64};
	double rate = strtod(speed, NULL);
	for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++)
		if (rate > rates[i] * 0.99 && rate < rates[i] * 1.01)
			return (double)i + 1;
	return 0;
}

static double number(const struct xml_element *element, const char *name, double absent)
{
	double value;
	return number_parse(xml_attribute(element, name), &value) && value >= 0 && value < 1e9
		       ? value
		       : absent;
}

static double bits_of(const char *mask)
{
	double count = 0;
	for (; *mask; mask++)
		for (long digit = strtol((char[]){*mask, 0}, NULL, 16); digit; digit /= 2)
			count += (double)(digit % 2);
	return count;
}

/* Memory of a socket by the processor's numbers, as NCCL writes them. Sources: Intel ARK and AMD's
 * data sheets: channels x rate x 8 B. */
static double memory_of(const struct xml_element *cpu)
{
	static const struct {
		const char *vendor;
		double family, model, Bps;
	} rows[] = {{"GenuineIntel", 6, 79, 76.8e9},   {"GenuineIntel", 6, 85, 140.8e9},
		    {"GenuineIntel", 6, 106, 204.8e9}, {"GenuineIntel", 6, 143, 307.2e9},
		    {"GenuineIntel", 6, 207, 358.4e9}, {"AuthenticAMD", 143, 49, 204.8e9},
		    {"AuthenticAMD", 175, 1, 204.8e9}, {"AuthenticAMD", 175, 17, 460.8e9}};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (strcmp(rows[i].vendor, xml_attribute(cpu, "vendor")) == 0 &&
		    (int)rows[i].family == (int)number(cpu, "familyid", 0) &&
		    (int)rows[i].model == (int)number(cpu, "modelid", 0))
			return rows[i].Bps;
	return 0;
}

static size_t take_pci(struct nccl *n, const struct xml_element *e, size_t parent)
{
	const char *class = xml_attribute(e, "class");
	enum part_kind kind = PART_BRIDGE;
	if (!class[0])
		return refuse(
			n, e,
			"this PCI device has no class, so GPUs and adapters cannot be "
			"distinguished (run NCCL with NCCL_TOPO_DUMP_FILE and import its file)");
	if (strncmp(class, "0x0380", 6) == 0 || strncmp(class, "0x1200", 6) == 0)
		return refuse(n, e,
			      "this is a GPU of AMD, and no profile of topologies/gpus describes "
			      "one (import a machine with GPUs of NVIDIA)");
	if (strncmp(class, "0x0302", 6) == 0 || strncmp(class, "0x0300", 6) == 0)
		kind = PART_GPU;
	else if (strncmp(class, "0x02", 4) == 0)
		kind = PART_NIC;
	size_t index =
		topology_part(n->machine, kind, xml_attribute(e, "busid"), parent, e->origin);
	struct machine_part *part = &n->machine->parts.items[index];
	part->generation = generation_of(xml_attribute(e, "link_speed"));
	part->lanes = number(e, "link_width", 0);
	topology_pci(part,
		     strtoul(arena_printf(n->machine->reading->arena, "%.6s", class), NULL, 16),
		     strtoul(xml_attribute(e, "vendor"), NULL, 16),
		     strtoul(xml_attribute(e, "device"), NULL, 16));
	return index;
}

/* A virtual adapter has no PCI device above it. */
static size_t take_nic(struct nccl *n, const struct xml_element *e, size_t parent)
{
	if (parent != NO_PART && n->machine->parts.items[parent].kind == PART_NIC)
		return parent;
	return topology_part(n->machine, PART_NIC, "nic", parent, e->origin);
}

static size_t take_gpu(struct nccl *n, const struct xml_element *e, size_t parent)
{
	struct machine_part *part = parent == NO_PART ? NULL : &n->machine->parts.items[parent];
	static const struct {
		double sm;
		const char *profile;
	} likely[] = {{120, "rtx-pro-6000-server"},
		      {100, "b200"},
		      {90, "h100-sxm5"},
		      {89, "l40s"},
		      {86, "a10"},
		      {80, "a100-sxm4-80"},
		      {75, "t4"},
		      {70, "v100-sxm2"},
		      {60, "p100-sxm2"}};
	double sm = number(e, "sm", 0);
	if (!part || part->kind != PART_GPU)
		return refuse(
			n, e,
			"a gpu must be in a pci element with class 0x0302 (correct the file)");
	part->order = number(e, "dev", -1);
	for (size_t i = 0; i < sizeof likely / sizeof likely[0] && !part->guess; i++)
		if (sm >= likely[i].sm)
			part->guess = likely[i].profile;
	return parent;
}

static size_t take_net(struct nccl *n, const struct xml_element *e, size_t parent)
{
	struct machine_part *part = parent == NO_PART ? NULL : &n->machine->parts.items[parent];
	if (!part || part->kind != PART_NIC)
		return refuse(n, e, "a net must be in a nic element (correct the file)");
	part->speed_bps += 1e6 * number(e, "speed", 0);
	part->order = part->nets++ ? -1 : number(e, "dev", -1);
	topology_device(n->machine, parent, xml_attribute(e, "name"));
	return parent;
}

static size_t take_nvlink(struct nccl *n, const struct xml_element *e, size_t parent)
{
	const char *target = xml_attribute(e, "target");
	if (parent == NO_PART || n->machine->parts.items[parent].kind != PART_GPU)
		return refuse(n, e, "an nvlink must be in a gpu element (correct the file)");
	bool to_switch = strncmp(xml_attribute(e, "tclass"), "0x0680", 6) == 0;
	topology_nvlink(
		n->machine,
		(struct nvlink){.a = parent,
				.b = NO_PART,
				.bus = to_switch ? NULL
						 : arena_strdup(n->machine->reading->arena, target),
				.count = number(e, "count", 1),
				.origin = e->origin});
	return parent;
}

static size_t take(struct nccl *n, const struct xml_element *e, size_t parent)
{
	const char *name = e->name;
	if (strcmp(name, "cpu") == 0) {
		size_t index = topology_part(n->machine, PART_SOCKET, xml_attribute(e, "numaid"),
					     NO_PART, e->origin);
		struct machine_part *part = &n->machine->parts.items[index];
		part->cpu_count = bits_of(xml_attribute(e, "affinity"));
		part->memory_Bps = memory_of(e);
		n->machine->threads |= part->cpu_count > 0;
		return index;
	}
	if (strcmp(name, "pci") == 0)
		return take_pci(n, e, parent);
	if (strcmp(name, "nic") == 0)
		return take_nic(n, e, parent);
	if (strcmp(name, "gpu") == 0)
		return take_gpu(n, e, parent);
	if (strcmp(name, "net") == 0)
		return take_net(n, e, parent);
	if (strcmp(name, "nvlink") == 0) /* kind: an element of XML */
		return take_nvlink(n, e, parent);
	n->machine->reading->used_count--;
	n->machine->reading->skipped_count++;
	reading_note(n->machine->reading, "%s:%d: element %s was skipped",
		     reading_quote(n->machine->reading, e->origin.file), e->origin.line,
		     reading_quote(n->machine->reading, name));
	return parent;
}

static void on_open(void *ctx, const struct xml_element *e)
{
	struct nccl *n = ctx;
	size_t parent = n->depth ? n->stack[n->depth - 1] : NO_PART;
	if (!n->rooted && strcmp(e->name, "graphs") == 0)
		refuse(n, e,
		       "this is a graph of NCCL (NCCL_GRAPH_DUMP_FILE), which has rings and trees "
		       "but no links (import the file of NCCL_TOPO_DUMP_FILE)");
	else if (!n->rooted && strcmp(e->name, "algo") == 0)
		refuse(n, e,
		       "this is an algorithm of MSCCL, not a topology (write --set "
		       "library.msccl=FILE "
		       "in a run)");
	else if (!n->rooted && strcmp(e->name, "system") != 0)
		refuse(n, e, "a topology of NCCL begins with <system> (correct the file)");
	if (diag_count(n->machine->reading->diag))
		return;
	n->machine->reading->used_count++;
	n->stack[n->depth++] = n->rooted ? take(n, e, parent) : NO_PART;
	n->rooted = true;
}

static void on_close(void *ctx, const char *name, const char *text)
{
	struct nccl *n = ctx;
	(void)name, (void)text;
	n->depth--;
}

void topology_read_nccl(struct machine_read *machine, const char *path, const char *text,
			size_t size_B)
{
	struct nccl nccl = {.machine = machine};
	struct xml_reader reader = {on_open, on_close, &nccl};
	xml_read(machine->reading->arena, machine->reading->diag, path, text, size_B, &reader);
}
