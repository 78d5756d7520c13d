/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/verb/list_facts.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/gpu/gpu.h"

/* Returns group.key as text, also of a group { value = ...; }; NULL if it is missing. */
static const char *value_of(struct arena *arena, const struct cfg_node *group, const char *key)
{
	const struct cfg_node *node = cfg_child(group, key);
	if (node && cfg_is_group(node))
		node = cfg_child(node, "value");
	return node ? cfg_scalar_text(arena, node) : NULL;
}

/* Appends an item to a list with commas. */
static const char *with(struct arena *arena, const char *list, const char *item)
{
	return *list ? arena_printf(arena, "%s, %s", list, item) : item;
}

/* Appends `before` value `after`, if the key has a value. */
static const char *with_value(struct arena *arena, const char *list, const struct cfg_node *group,
			      const char *key, const char *before, const char *after)
{
	const char *value = value_of(arena, group, key);
	return value ? with(arena, list, arena_printf(arena, "%s%s%s", before, value, after))
		     : list;
}

/* ---- GPUs ---- */

static const struct param_row *gpu_row(const char *key)
{
	for (size_t i = 0; i < gpu_table.count; i++) {
		char name[64];
		param_key(&gpu_table.rows[i], name, sizeof name);
		if (strcmp(name, key) == 0)
			return &gpu_table.rows[i];
	}
	return NULL;
}

/* Generations are in the order of their age. */
static double generation_order(const char *generation)
{
	const char *const *names = gpu_row("generation")->choices;
	size_t i = 0;
	while (names[i] && strcmp(names[i], generation) != 0)
		i++;
	return (double)i;
}

static struct facts facts_of_gpu(struct arena *arena, const struct cfg_node *gpu)
{
	static const char *const peaks[] = {"fp32", "tf32", "fp16", "fp8"};
	const char *generation = value_of(arena, gpu, "generation");
	const char *text = with_value(arena, "", gpu, "multiprocessors", "", " SMs");
	text = with_value(arena, text, gpu, "boost_clock", "", "");
	for (size_t i = 0; i < sizeof peaks / sizeof peaks[0]; i++)
		text = with_value(arena, text, gpu, peaks[i], arena_printf(arena, "%s ", peaks[i]),
				  "");
	text = with_value(arena, text, gpu, "memory", "", "");
	const char *bandwidth = value_of(arena, gpu, "memory_bandwidth");
	if (bandwidth)
		text = arena_printf(arena, "%s at %s", text, bandwidth);
	return (struct facts){.group = generation ? generation : "",
			      .group_order = generation ? generation_order(generation) : 0,
			      .text = text};
}

/* ---- machines ---- */

/* Counts GPUs by profile, in the order of their first use: "8 x v100-sxm2". */
static const char *gpus_of(struct arena *arena, const struct cfg_node *node)
{
	const struct cfg_node *gpus = cfg_child(node, "gpus");
	const char *text = "";
	size_t count = gpus ? cfg_count(gpus) : 0;
	for (size_t i = 0; i < count; i++) {
		const char *profile = value_of(arena, cfg_at(gpus, i), "profile");
		size_t equal = 0, earlier = 0;
		for (size_t j = 0; j < count && profile; j++) {
			const char *other = value_of(arena, cfg_at(gpus, j), "profile");
			bool same = other && strcmp(profile, other) == 0;
			equal += same;
			earlier += same && j < i;
		}
		if (equal && !earlier)
			text = with(arena, text, arena_printf(arena, "%zu x %s", equal, profile));
	}
	return text;
}

/* Sums NVLinks of the first GPU, and finds the PCIe generation of its slot. */
static const char *links_of_gpu(struct arena *arena, const struct cfg_node *machine)
{
	const struct cfg_node *gpus = cfg_child(machine, "gpus");
	const struct cfg_node *links = cfg_child(machine, "links");
	const char *gpu =
		gpus && cfg_count(gpus) ? cfg_text(cfg_child(cfg_at(gpus, 0), "name")) : NULL;
	const char *text = "", *generation = "";
	double nvlinks = 0;
	for (size_t i = 0; gpu && links && i < cfg_count(links); i++) {
		const struct cfg_node *link = cfg_at(links, i);
		const struct cfg_node *ends = cfg_child(link, "ends");
		const char *kind = value_of(arena, link, "kind"), *to = NULL;
		for (size_t e = 0; ends && e < 2 && e < cfg_count(ends); e++) {
			const char *end = cfg_text(cfg_at(ends, e));
			to = end && strcmp(end, gpu) == 0 ? end : to;
		}
		if (!to || !kind)
			continue;
		const char *count = value_of(arena, link, "links");
		if (count) { /* a bundle of links, NVLink */
			nvlinks += atof(count);
			generation = value_of(arena, link, "generation");
		} else if (value_of(arena, link, "lanes")) {
			text = arena_printf(arena, "%s %s x%s", kind,
					    value_of(arena, link, "generation"),
					    value_of(arena, link, "lanes"));
		} else {
			text = with_value(arena, "", link, "bandwidth", "processor link of ", "");
		}
	}
	if (nvlinks > 0)
		text = with(arena,
			    arena_printf(arena, "%.0f NVLinks of generation %s", nvlinks,
					 generation ? generation : "?"),
			    text);
	return text;
}

static size_t ports_of(const struct cfg_node *machine)
{
	const struct cfg_node *ports = cfg_child(machine, "ports");
	return ports ? cfg_count(ports) : 0;
}

static struct facts facts_of_machine(struct arena *arena, const struct cfg_node *machine)
{
	const char *vendor = value_of(arena, machine, "vendor");
	const char *links = links_of_gpu(arena, machine);
	const char *text = gpus_of(arena, machine);
	if (*links)
		text = with(arena, text, links);
	text = with_value(arena, text, cfg_child(machine, "host"), "cores", "", " cores");
	text = with(arena, text,
		    arena_printf(arena, "%zu network port%s", ports_of(machine),
				 ports_of(machine) == 1 ? "" : "s"));
	return (struct facts){.group = vendor ? vendor : "", .text = text};
}

/* ---- networks ---- */

static struct facts facts_of_network(struct arena *arena, const struct cfg_node *wiring)
{
	static const struct {
		const char *key, *before, *after;
	} settings[] = {{"ports_per_leaf", "", " ports a leaf"},
			{"oversubscription", "", ":1 oversubscribed"},
			{"groups", "", " groups"},
			{"routers_per_group", "", " routers a group"},
			{"machines_per_router", "", " machines a router"},
			{"x", "x ", ""},
			{"y", "y ", ""},
			{"z", "z ", ""}};
	const struct cfg_node *link = cfg_child(wiring, "link");
	const char *kind = value_of(arena, link, "kind");
	const char *bandwidth = value_of(arena, link, "bandwidth");
	const char *text = with_value(arena, "", link, "bandwidth", "", " a port");
	text = with_value(arena, text, wiring, "kind", "", "");
	for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
		text = with_value(arena, text, wiring, settings[i].key, settings[i].before,
				  settings[i].after);
	text = with_value(arena, text, link, "latency", "latency ", "");
	return (struct facts){
		.group = kind ? kind : "", .order = bandwidth ? atof(bandwidth) : 0, .text = text};
}

/* ---- topologies ---- */

static const struct cfg_node *shipped(struct arena *arena, const char *root, const char *folder,
				      const char *name, const char *group)
{
	const char *path = arena_printf(arena, "%s/topologies/%s/%s.cfg", root, folder, name);
	return cfg_child(cfg_read(arena, diag_new(arena), path), group);
}

static struct facts facts_of_topology(struct arena *arena, const char *root,
				      const struct cfg_node *topology)
{
	const struct cfg_node *cluster = cfg_child(topology, "cluster");
	const struct cfg_node *hosts = cfg_child(topology, "hosts");
	size_t host_count = hosts ? cfg_count(hosts) : 0;
	const char *machine_name = value_of(arena, cluster, "machine");
	const char *network_name = value_of(arena, cluster, "network");
	if (!machine_name || !network_name)
		return (struct facts){.group = "listed hosts",
				      .text = arena_printf(arena, "%zu host%s, %s", host_count,
							   host_count == 1 ? "" : "s",
							   gpus_of(arena, topology)),
				      .beside_help = true};
	const struct cfg_node *machine = shipped(arena, root, "machines", machine_name, "machine");
	const struct cfg_node *wiring = shipped(arena, root, "networks", network_name, "wiring");
	struct facts facts = facts_of_machine(arena, machine);
	const struct facts network = facts_of_network(arena, wiring);
	facts.text = arena_printf(arena, "%s a machine; %zu x %s %s", gpus_of(arena, machine),
				  ports_of(machine), network.group, network.text);
	return facts;
}

struct facts facts_of(struct arena *arena, const char *root, const char *name,
		      const struct cfg_node *node)
{
	struct facts none = {.group = "", .text = ""};
	if (!node && strcmp(name, "machine") == 0)
		none.group = "settings to include";
	if (!node)
		return none;
	if (strcmp(name, "gpu") == 0)
		return facts_of_gpu(arena, node);
	if (strcmp(name, "machine") == 0)
		return facts_of_machine(arena, node);
	if (strcmp(name, "wiring") == 0)
		return facts_of_network(arena, node);
	if (strcmp(name, "topology") == 0)
		return facts_of_topology(arena, root, node);
	return none;
}
