/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A cluster consists of many copies of one or more machine templates, and a network between
 * them.
 *
 *   cluster = { machine = "dgx1-v100"; count = 0; network = "infiniband-edr"; };
 *
 * The template is a file of topologies/machines/ with a group `machine`. It is a topology of
 * one host, which is called "host" there. Its copies are called n0, n1 and so on: host "n0",
 * guest "n0.os", GPU "n0.gpu0", link "n0.slot0". Its parameters host.node.*, guest.os.* and
 * link.slot0.* are read once and hold for all copies. A guest without a link is connected to its
 * host by a link with the bandwidth of the host's memory. Its messages then share the machine's
 * PCIe links with the copies of the GPUs. The list `ports` names the nodes to which the
 * network's cables are connected.
 *
 * The network is a file of topologies/networks/ or a group in place. It has a kind of wiring
 * (wiring.h) with parameters wiring.*, and one kind of cable with parameters link.network.*.
 * With count = 0 the cluster has as many machines as the jobs of the case need. */
#include "sim/scenario/fold.h"
#include "sim/scenario/topology.h"
#include "sim/scenario/wiring.h"

struct cluster_params { /* one kind of machine */
	const char *machine;
	double count_count, ports_count;
};

static const struct param_row cluster_rows[] = {
	PARAM_TEXT(struct cluster_params, machine, NULL,
		   "template of the cluster's machines: name of a file of topologies/machines/"),
	PARAM_WHOLE(struct cluster_params, count_count, 0, 131072, "0",
		    "number of machines; 0 means as many as the case's jobs need",
		    "assumption: no machine is idle"),
	PARAM_WHOLE(struct cluster_params, ports_count, 0, 1024, "0",
		    "number of ports of each machine that the network uses, spread evenly over the "
		    "template's list; 0 means all ports of the template",
		    "assumption: all cables are plugged in"),
};
static const struct param_table cluster_table =
	PARAM_TABLE("cluster", struct cluster_params, cluster_rows);

struct machine_group { /* machines of one kind */
	const struct machine *machine;
	const char *name;
	struct origin origin;
	size_t count, ports;
};

struct cluster {
	struct topology_build *build;
	const struct cfg_node *node;
	VEC(struct machine_group) kinds;
	VEC(struct place) places;
	size_t gpus_missing; /* GPUs that the jobs need and no machine provides yet */
};

/* ---- machines ---- */

static size_t gpus_used(const struct cluster *cluster, const struct machine *machine)
{
	return reader_gpus_used(cluster->build->reader, machine->build->gpus.count);
}

static size_t machines_wanted(struct cluster *cluster, const struct machine *machine)
{
	size_t use = gpus_used(cluster, machine);
	size_t count = use ? (cluster->gpus_missing + use - 1) / use : 0;
	return count ? count : 1;
}

static void add_machines(struct cluster *cluster, const struct machine *machine,
			 const struct cfg_node *group, const char *name,
			 const struct cluster_params *params)
{
	struct topology_build *build = cluster->build;
	struct arena *arena = build->reader->arena;
	size_t count = params->count_count > 0 ? (size_t)params->count_count
					       : machines_wanted(cluster, machine);
	size_t ports = machine->ports.count;
	if (params->ports_count > (double)ports) {
		diag_error(build->reader->diag, cfg_origin(group),
			   "cluster: ports is %.0f, but machine '%s' has %zu ports (write that "
			   "number, or 0)",
			   params->ports_count, machine->name, ports);
		return;
	}
	if (params->ports_count > 0)
		ports = (size_t)params->ports_count;
	*VEC_PUSH(arena, &cluster->kinds) =
		(struct machine_group){machine, name, cfg_origin(group), count, ports};
	size_t gpus = count * gpus_used(cluster, machine);
	cluster->gpus_missing -= gpus < cluster->gpus_missing ? gpus : cluster->gpus_missing;
}

static void add_copy(struct cluster *cluster, const struct machine_group *kind, size_t number,
		     double copies)
{
	struct topology_build *build = cluster->build;
	struct arena *arena = build->reader->arena;
	const char *copy = arena_printf(arena, "%s%zu", kind->name, number);
	const char **nodes = ARENA_ARRAY(arena, kind->ports + 1, const char *);
	size_t all = kind->machine->ports.count;
	/* Templates list ports in the order of sockets and PCIe switches, so ports at equal steps
	 * are spread over them. */
	for (size_t p = 0; p < kind->ports; p++)
		nodes[p] = machine_node(build, copy,
					kind->machine->ports.items[p * all / kind->ports]);
	machine_add(build, kind->machine, kind->origin, copy, copies);
	*VEC_PUSH(arena, &cluster->places) = (struct place){copy, nodes, kind->ports, copies};
}

/* Folds by kind: one machine of each kind represents all of them. */
static void fold_kinds(struct cluster *cluster)
{
	struct reader *reader = cluster->build->reader;
	struct fold_kind *kinds =
		ARENA_ARRAY(reader->arena, cluster->kinds.count + 1, struct fold_kind);
	for (size_t k = 0; k < cluster->kinds.count; k++) {
		const struct machine_group *kind = &cluster->kinds.items[k];
		kinds[k] = (struct fold_kind){kind->count, gpus_used(cluster, kind->machine)};
	}
	reader->fold =
		fold_of_kinds(reader->arena, kinds, cluster->kinds.count, reader->gpus_wanted);
}

/* Adds the machines, or with a fold only those that represent a class. */
static void add_copies(struct cluster *cluster)
{
	const struct reader *reader = cluster->build->reader;
	size_t machine = 0;
	for (size_t k = 0; k < cluster->kinds.count; k++) {
		const struct machine_group *kind = &cluster->kinds.items[k];
		for (size_t i = 0; i < kind->count; i++, machine++) {
			double copies = reader->fold ? reader->fold->count_of[machine] : 1;
			if (copies > 0)
				add_copy(cluster, kind, i, copies);
			else
				*VEC_PUSH(reader->arena, &cluster->places) =
					(struct place){.port_count = kind->ports};
		}
	}
}

static void read_machines(struct cluster *cluster, const struct cfg_node *group, const char *name,
			  const char *const *also, size_t also_count)
{
	struct topology_build *build = cluster->build;
	struct reader *reader = build->reader;
	struct arena *arena = reader->arena;
	struct cluster_params params;
	const char *path = name ? arena_printf(arena, "cluster.%s", name) : "cluster";
	if (!cfg_params(reader->resolution, arena, reader->diag, group, path, "cluster",
			&cluster_table, also, also_count, &params))
		return;
	const struct cfg_node *given = cfg_child(group, "machine");
	const struct machine *machine =
		machine_read(build, cfg_origin(given ? given : group), params.machine,
			     name ? name : "node", name ? arena_printf(arena, "%s-", name) : "");
	if (machine)
		add_machines(cluster, machine, group, name ? name : "n", &params);
}

/* Reads the list `servers`: nodes with one cable each, for example a file server or a gateway. */
static void read_servers(struct cluster *cluster)
{
	struct topology_build *build = cluster->build;
	struct arena *arena = build->reader->arena;
	const struct cfg_node *list = cfg_child(cluster->node, "servers");
	for (size_t i = 0; i < cfg_count(list); i++) {
		const char *name = cfg_text(cfg_at(list, i));
		struct origin origin = cfg_origin(cfg_at(list, i));
		if (!name)
			diag_error(build->reader->diag, origin,
				   "cluster: servers must hold names (write servers = "
				   "[\"file-server\"])");
		if (!topology_name(build, origin, "server", name, true))
			continue;
		const char **port = ARENA_ARRAY(arena, 1, const char *);
		port[0] = name;
		*VEC_PUSH(arena, &build->switches) = name;
		*VEC_PUSH(arena, &cluster->places) = (struct place){name, port, 1, 1};
	}
}

/* ---- network ---- */

static const struct wiring_kind *wiring_of(struct topology_build *build,
					   const struct cfg_node *group)
{
	struct reader *reader = build->reader;
	const char *name = topology_text(reader, group, "kind", "network");
	const struct wiring_kind *kind = name ? wiring_kind_find(name) : NULL;
	if (name && !kind)
		diag_error(reader->diag, cfg_origin(cfg_child(group, "kind")), "network: %s",
			   registry_unknown(reader->arena, &wiring_kind_registry, name, NULL));
	return kind;
}

/* Records for each machine its leaf and pod, which fold_machines needs to find the classes. */
static void note_groups(const struct cabling *cabling, const struct wiring_kind *kind,
			const void *params, struct reader *reader)
{
	struct fold *fold = reader->fold;
	uint32_t *leaf_of = ARENA_ARRAY(reader->arena, fold->machine_count, uint32_t);
	uint32_t *pod_of = ARENA_ARRAY(reader->arena, fold->machine_count, uint32_t);
	for (size_t m = 0; m < fold->machine_count; m++) {
		struct wiring_group group =
			kind->group(params, m, cabling->place_count, cabling->port_most);
		leaf_of[m] = (uint32_t)group.leaf;
		pod_of[group.leaf] = (uint32_t)group.pod;
		fold->leaf_count = group.leaf + 1;
		fold->pod_count = group.pod + 1;
	}
	fold->leaf_of = leaf_of;
	fold->pod_of = pod_of;
}

static void join_places(struct cluster *cluster, const struct wiring_kind *kind, const void *params,
			const struct fabric_params *fabric, const struct link_entry *wire,
			struct origin origin)
{
	struct reader *reader = cluster->build->reader;
	if (reader->fold && (!kind->group || !fabric_is_even(fabric)))
		return; /* this wiring cannot be folded: case_read reads all machines next */
	struct cabling cabling = {.build = cluster->build,
				  .fabric = fabric,
				  .origin = origin,
				  .wire = wire,
				  .places = cluster->places.items,
				  .place_count = cluster->places.count,
				  .fold = reader->may_fold ? NULL : reader->fold};
	for (size_t i = 0; i < cabling.place_count; i++) {
		if (cabling.places[i].port_count > cabling.port_most)
			cabling.port_most = cabling.places[i].port_count;
		if (cabling.places[i].port_count == 0) {
			diag_error(reader->diag, origin,
				   "network: '%s' has no port (write ports = [...] into its "
				   "machine's file)",
				   cabling.places[i].name);
			return;
		}
	}
	const char *wrong = kind->join(&cabling, params);
	if (wrong)
		diag_error(reader->diag, origin, "network: %s", wrong);
	if (wrong || !reader->fold || !cabling.top)
		return;
	reader->top = cabling_node(&cabling, cabling.top);
	if (reader->may_fold)
		note_groups(&cabling, kind, params, reader);
}

static void read_network(struct cluster *cluster, const struct cfg_node *group)
{
	struct topology_build *build = cluster->build;
	struct reader *reader = build->reader;
	const struct wiring_kind *kind = wiring_of(build, group);
	if (!kind)
		return;
	void *params = arena_alloc(reader->arena, WIRING_PARAMS_SIZE_MAX);
	bool fine = cfg_params(reader->resolution, reader->arena, reader->diag, group, "wiring",
			       "network", kind->table, CFG_KEYS("kind", "link", "help", "fabric"),
			       params);
	struct fabric_params fabric;
	fine &= cfg_params(reader->resolution, reader->arena, reader->diag,
			   cfg_child(group, "fabric"), "fabric", "fabric", &fabric_table, NULL, 0,
			   &fabric);
	struct link_entry wire = {.name = "network", .origin = cfg_origin(group)};
	const struct cfg_node *link = cfg_child(group, "link");
	if (!link) {
		diag_error(reader->diag, wire.origin,
			   "network: link is missing (write link = { kind = \"ethernet\"; })");
		return;
	}
	fine &= topology_read_link(build, link, "network", CFG_KEYS("kind"), &wire);
	if (fine && cluster->places.count > 1)
		join_places(cluster, kind, params, &fabric, &wire, cfg_origin(group));
}

/* Returns the group of the network: a group in the topology, or that of a file. Returns NULL if
 * there is no network, or after errors. */
static const struct cfg_node *network_group(struct cluster *cluster)
{
	struct topology_build *build = cluster->build;
	struct reader *reader = build->reader;
	const struct cfg_node *node = cfg_child(cluster->node, "network");
	const char *given = cfg_override_text(reader->resolution, "cluster.network");
	if (!given && node && cfg_is_group(node))
		return node;
	const char *name = given ? given : cfg_text(node);
	if (!name || strcmp(name, "none") == 0) {
		if (node && !name)
			diag_error(reader->diag, cfg_origin(node),
				   "cluster: network must be a name or a group (write network = "
				   "\"infiniband-edr\")");
		else if (cluster->places.count > 1)
			diag_error(reader->diag, cfg_origin(cluster->node),
				   "cluster: %zu machines need a network (write network = "
				   "\"infiniband-edr\", or count = 1)",
				   cluster->places.count);
		return NULL;
	}
	const char *path =
		data_path(reader->arena, reader->diag, cfg_origin(node ? node : cluster->node),
			  reader->root, "topologies/networks", "network", name, build->path);
	const struct cfg_node *file = path ? cfg_read(reader->arena, reader->diag, path) : NULL;
	const struct cfg_node *group = cfg_child(file, "wiring");
	if (file && !group)
		diag_error(reader->diag, cfg_origin(file),
			   "network '%s': its file has no group `wiring = { ... }`", name);
	return group;
}

/* ---- the whole cluster ---- */

static void read_kinds(struct cluster *cluster)
{
	struct reader *reader = cluster->build->reader;
	const struct cfg_node *list = cfg_child(cluster->node, "machines");
	if (!list) {
		read_machines(cluster, cluster->node, NULL, CFG_KEYS("network", "servers"));
		return;
	}
	cfg_only(reader->diag, cluster->node, CFG_KEYS("network", "servers", "machines"));
	for (size_t i = 0; cfg_is_list(list) && i < cfg_count(list); i++) {
		const struct cfg_node *group = cfg_at(list, i);
		const char *name = topology_text(reader, group, "name", "cluster");
		if (name && reader_name(reader, cfg_origin(group), "machine", name))
			read_machines(cluster, group, name, CFG_KEYS("name"));
	}
	if (!cfg_is_list(list))
		diag_error(reader->diag, cfg_origin(list),
			   "cluster: machines must be a list (write machines = ( { name = ...; "
			   "machine = ...; } ))");
}

void cluster_read(struct topology_build *build, const struct cfg_node *node)
{
	struct reader *reader = build->reader;
	struct cluster cluster = {
		.build = build, .node = node, .gpus_missing = reader->gpus_wanted};
	if (!cfg_is_group(node)) {
		diag_error(
			reader->diag, cfg_origin(node),
			"topology: cluster must be a group (write cluster = { machine = ...; })");
		return;
	}
	size_t errors = diag_count(reader->diag);
	read_kinds(&cluster);
	if (diag_count(reader->diag) > errors)
		return;
	if (reader->may_fold)
		fold_kinds(&cluster);
	add_copies(&cluster);
	read_servers(&cluster);
	const struct cfg_node *group = network_group(&cluster);
	if (group)
		read_network(&cluster, group);
}
