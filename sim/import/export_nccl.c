/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes the first machine of a topology as NCCL reads it with NCCL_TOPO_FILE: processors, the tree
 * of PCI devices below them, GPUs with NVLinks, and adapters. Bus ids are invented, because a
 * topology has none. Source: NVIDIA/nccl, src/graph/xml.cc and topo.cc. */
#include <string.h>

#include "sim/import/topology.h"

#include "sim/base/arena.h"
#include "sim/base/table.h"
#include "sim/gpu/models.h"

struct exporting {
	FILE *out;
	struct arena *arena;
	const struct scenario *scenario;
	size_t adapters; /* written so far */
};

static const char *const pcie_speeds[] = {"2.5 GT/s",  "5.0 GT/s",  "8.0 GT/s",
					  "16.0 GT/s", "32.0 GT/s", "64.0 GT/s"};

/* Compute capability of each generation, in the order of enum gpu_generation (CUDA C++ Programming
 * Guide, compute capabilities). */
static const int capabilities[] = {37, 52, 60, 70, 75, 80, 89, 90, 100};

/* Returns a number of the link, by its name in a machine's file. Returns `absent` if it has none.
 */
static double link_number(const struct exporting *e, const char *name, const char *key,
			  double absent)
{
	const char *own = strchr(name, '.');
	const struct cfg_param *param = cfg_param_find(
		e->scenario->resolution, arena_printf(e->arena, "link.%s.%s", name, key));
	if (!param && own)
		return link_number(e, own + 1, key, absent);
	return param ? param->value : absent;
}

/* Returns the node at the link's other end; NULL: the link does not end here. */
static const char *other_end(const struct link_entry *link, const char *node)
{
	bool first = strcmp(link->ends[0], node) == 0;
	return first || strcmp(link->ends[1], node) == 0 ? link->ends[first] : NULL;
}

static bool is_kind(const struct link_entry *link, const char *name)
{
	return strcmp(link->kind->name, name) == 0;
}

/* Numbers GPUs, then switches. Other nodes have the number behind the last. */
static size_t node_number(const struct exporting *e, const char *node)
{
	const struct topology *t = &e->scenario->topology;
	size_t i = 0, k = 0;
	while (i < t->gpu_count && strcmp(t->gpus[i].name, node) != 0)
		i++;
	while (i == t->gpu_count && k < t->switch_count && strcmp(t->switches[k], node) != 0)
		k++;
	return i + k;
}

static const char *bus_id(const struct exporting *e, const char *node)
{
	return arena_printf(e->arena, "0000:%02zx:00.0", node_number(e, node) + 1);
}

static void write_nvlinks(struct exporting *e, const char *gpu)
{
	const struct topology *t = &e->scenario->topology;
	for (size_t i = 0; i < t->link_count; i++) {
		const char *to =
			is_kind(&t->links[i], "nvlink") ? other_end(&t->links[i], gpu) : NULL;
		if (!to)
			continue;
		bool gpus = node_number(e, to) < t->gpu_count;
		fprintf(e->out, "<nvlink target=\"%s\" count=\"%g\" tclass=\"%s\"/>\n",
			bus_id(e, to), link_number(e, t->links[i].name, "links", 1),
			gpus ? "0x030200" : "0x068000");
	}
}

/* Returns the network's link of an adapter; NULL: the node is not an adapter. */
static const struct link_entry *cable_of(const struct exporting *e, const char *node)
{
	const struct topology *t = &e->scenario->topology;
	for (size_t i = 0; i < t->link_count; i++)
		if (!t->links[i].kind->inside_host && other_end(&t->links[i], node))
			return &t->links[i];
	return NULL;
}

static void write_device(struct exporting *e, const char *node, const struct link_entry *above)
{
	const struct topology *t = &e->scenario->topology;
	const struct link_entry *cable = cable_of(e, node);
	size_t number = node_number(e, node);
	bool is_gpu = number < t->gpu_count;
	size_t generation = (size_t)link_number(e, above->name, "generation", 3);
	const struct gpu_model *model =
		is_gpu ? gpu_model_by_profile(t->gpus[number].profile) : NULL;
	fprintf(e->out,
		"<pci busid=\"%s\" class=\"%s\" vendor=\"%s\" device=\"0x%04lx\" link_speed=\"%s "
		"PCIe\" link_width=\"%g\">\n",
		bus_id(e, node),
		is_gpu                         ? "0x030200"
		: !cable                       ? "0x060400"
		: is_kind(cable, "infiniband") ? "0x020700"
					       : "0x020000",
		is_gpu                           ? "0x10de"
		: cable && is_kind(cable, "efa") ? "0x1d0f"
		: cable                          ? "0x15b3"
						 : "0x0000",
		model ? model->device : 0, pcie_speeds[generation - 1],
		link_number(e, above->name, "lanes", 16));
	if (is_gpu) {
		fprintf(e->out, "<gpu dev=\"%zu\" sm=\"%d\" gdr=\"1\">\n", number,
			capabilities[t->gpus[number].params.generation]);
		write_nvlinks(e, node);
		fputs("</gpu>\n", e->out);
	} else if (cable) {
		size_t adapter = e->adapters++;
		const char *device = topology_alias(t, node);
		if (!device)
			device = arena_printf(e->arena, "net%zu", adapter);
		fprintf(e->out,
			"<nic>\n<net name=\"%s\" dev=\"%zu\" port=\"1\" speed=\"%.0f\" "
			"gdr=\"1\"/>\n</nic>\n",
			device, adapter, 8e-6 * cable->traits.capacity_Bps[0]);
	}
	for (size_t i = 0; i < t->link_count && !is_gpu && !cable; i++) {
		const char *below =
			is_kind(&t->links[i], "pcie") ? other_end(&t->links[i], node) : NULL;
		if (below && &t->links[i] != above)
			write_device(e, below, &t->links[i]);
	}
	fputs("</pci>\n", e->out);
}

/* Writes a processor, which has `share` of the host's cores. */
static void write_processor(struct exporting *e, const char *node, size_t number, double share)
{
	const struct topology *t = &e->scenario->topology;
	size_t cores = (size_t)(t->hosts[0].params.cores_count * share);
	fprintf(e->out, "<cpu numaid=\"%zu\" affinity=\"", number);
	for (size_t word = (cores * (number + 1) + 31) / 32; word-- > 0;) {
		unsigned long mask = 0;
		for (size_t bit = 0; bit < 32; bit++)
			mask |= (unsigned long)((32 * word + bit) / (cores ? cores : 1) == number)
				<< bit;
		fprintf(e->out, "%08lx%s", mask, word ? "," : "");
	}
	fputs("\" arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\" modelid=\"143\">\n",
	      e->out);
	for (size_t i = 0; i < t->link_count; i++) {
		const char *below =
			is_kind(&t->links[i], "pcie") ? other_end(&t->links[i], node) : NULL;
		if (below)
			write_device(e, below, &t->links[i]);
	}
	fputs("</cpu>\n", e->out);
}

void topology_write_nccl(FILE *out, struct arena *arena, const struct scenario *scenario)
{
	const struct topology *t = &scenario->topology;
	struct exporting e = {.out = out, .arena = arena, .scenario = scenario};
	const char *host = t->hosts[0].name;
	VEC(const char *) processors = {0};
	for (size_t i = 0; i < t->link_count; i++) {
		const char *node =
			is_kind(&t->links[i], "socket") ? other_end(&t->links[i], host) : NULL;
		if (node && node_number(&e, node) < t->gpu_count + t->switch_count)
			*VEC_PUSH(arena, &processors) = node;
	}
	if (processors.count == 0)
		*VEC_PUSH(arena, &processors) = host;
	/* two hyphens would end the comment */
	char *name = arena_strdup(arena, text_visible(arena, t->name));
	for (char *at = name; (at = strstr(at, "--"));)
		at[1] = '_';
	fprintf(out,
		"<!-- Written by farwire: a machine of %s. Bus ids are invented, and the model of "
		"the "
		"processor is assumed. -->\n<system version=\"1\">\n",
		name);
	for (size_t i = 0; i < processors.count; i++)
		write_processor(&e, processors.items[i], i, 1 / (double)processors.count);
	fputs("</system>\n", out);
}
