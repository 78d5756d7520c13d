/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads machine templates and copies them. */
#include "sim/fabric/link_kinds.h"
#include "sim/scenario/topology.h"

static void read_ports(struct topology_build *build, const struct cfg_node *group,
		       struct machine *machine)
{
	struct reader *reader = build->reader;
	const struct cfg_node *list = cfg_child(group, "ports");
	for (size_t i = 0; i < cfg_count(list); i++) {
		const char *name = cfg_text(cfg_at(list, i));
		if (name && names_find(build->nodes, name) >= 0)
			*VEC_PUSH(reader->arena, &machine->ports) = name;
		else
			diag_error(
				reader->diag, cfg_origin(list),
				"machine '%s': ports: no node is called '%s' (write the name of a "
				"switch or guest of the machine, for example ports = [\"nic0\"])",
				machine->name, name ? name : "?");
	}
}

/* A machine without guests runs its programs on bare metal. */
static void add_bare_guest(struct topology_build *build, struct origin origin)
{
	struct reader *reader = build->reader;
	struct guest_entry *guest = VEC_PUSH(reader->arena, &build->guests);
	*guest = (struct guest_entry){.name = "os", .origin = origin};
	topology_name(build, origin, "guest", "os", true);
	reader_params(reader, NULL, arena_printf(reader->arena, "guest.%sos", build->tag),
		      "guest 'os'", &guest_table, &guest->params);
}

static bool is_end(const struct topology_build *build, const char *node)
{
	for (size_t i = 0; i < build->links.count; i++)
		if (strcmp(build->links.items[i].ends[0], node) == 0 ||
		    strcmp(build->links.items[i].ends[1], node) == 0)
			return true;
	return false;
}

/* Connects guests without a link to the host, with the bandwidth of the host's memory. */
static void join_guests(struct topology_build *build)
{
	struct arena *arena = build->reader->arena;
	double memory_Bps = build->hosts.items[0].params.dram_bandwidth_Bps;
	for (size_t i = 0; i < build->guests.count; i++) {
		const char *guest = build->guests.items[i].name;
		if (is_end(build, guest))
			continue;
		*VEC_PUSH(arena, &build->links) = (struct link_entry){
			.name = arena_printf(arena, "%s-host", guest),
			.origin = build->guests.items[i].origin,
			.kind = &link_socket,
			.ends = {guest, "host"},
			.traits = {.capacity_Bps = {memory_Bps, memory_Bps}, .own_packets = true},
		};
	}
}

static const struct cfg_node *machine_group(struct topology_build *build, struct origin origin,
					    const char *name, const char **path)
{
	struct reader *reader = build->reader;
	if (strcmp(name, "own") == 0) /* the group `machine` beside the group `topology` */
		*path = build->path;
	else
		*path = data_path(reader->arena, reader->diag, origin, reader->root,
				  "topologies/machines", "machine", name, build->path);
	const struct cfg_node *file = *path ? cfg_read(reader->arena, reader->diag, *path) : NULL;
	if (!file)
		return NULL;
	const struct cfg_node *group = cfg_child(file, "machine");
	if (!group || !cfg_is_group(group)) {
		diag_error(reader->diag, cfg_origin(file),
			   "machine '%s': its file has no group `machine = { ... }` (a file of "
			   "settings to include is not a template)",
			   name);
		return NULL;
	}
	return group;
}

const struct machine *machine_read(struct topology_build *build, struct origin origin,
				   const char *name, const char *path, const char *tag)
{
	struct reader *reader = build->reader;
	const char *file;
	const struct cfg_node *group = machine_group(build, origin, name, &file);
	if (!group)
		return NULL;
	cfg_only(reader->diag, group,
		 CFG_KEYS("help", "vendor", "host", "guests", "gpus", "links", "switches", "ports",
			  "aliases"));
	size_t errors = diag_count(reader->diag);
	struct topology_build *own = topology_build_new(reader, file, build->profiles);
	own->one_host = true;
	own->tag = tag;
	struct machine *machine = ARENA_NEW(reader->arena, struct machine);
	machine->name = name;
	machine->build = own;
	const struct cfg_node *host = cfg_child(group, "host");
	topology_read_host(own, host, "host", path);
	own->hosts.items[0].machine = name;
	topology_read_list(own, group, LIST_GUESTS);
	if (own->guests.count == 0)
		add_bare_guest(own, cfg_origin(group));
	for (enum topology_list list = LIST_GPUS; list <= LIST_LINKS; list++)
		topology_read_list(own, group, list);
	read_ports(own, group, machine);
	topology_read_list(own, group, LIST_ALIASES);
	choose_of_machine(own, machine->ports.items, machine->ports.count);
	if (diag_count(reader->diag) > errors)
		return NULL;
	join_guests(own);
	return machine;
}

const char *machine_node(struct topology_build *build, const char *copy, const char *name)
{
	return strcmp(name, "host") == 0 ? copy
					 : arena_printf(build->reader->arena, "%s.%s", copy, name);
}

/* Registers the name of a copy's node or link, and returns it. */
static const char *copied(struct topology_build *build, struct origin origin, const char *copy,
			  const char *what, const char *name)
{
	const char *own = machine_node(build, copy, name);
	topology_name(build, origin, what, own, strcmp(what, "link") != 0);
	return own;
}

void machine_add(struct topology_build *build, const struct machine *machine, struct origin origin,
		 const char *name, double copies)
{
	const struct topology_build *own = machine->build;
	struct arena *arena = build->reader->arena;
	size_t host = build->hosts.count;
	struct host_entry *copy = VEC_PUSH(arena, &build->hosts);
	*copy = own->hosts.items[0];
	copy->name = name;
	topology_name(build, origin, "host", name, true);
	for (size_t i = 0; i < own->guests.count; i++) {
		struct guest_entry *guest = VEC_PUSH(arena, &build->guests);
		*guest = own->guests.items[i];
		guest->name = copied(build, origin, name, "guest", guest->name);
		guest->host = host;
	}
	for (size_t i = 0; i < own->gpus.count; i++) {
		struct gpu_entry *gpu = VEC_PUSH(arena, &build->gpus);
		*gpu = own->gpus.items[i];
		gpu->name = copied(build, origin, name, "gpu", gpu->name);
		gpu->host = host;
	}
	for (size_t i = 0; i < own->switches.count; i++)
		*VEC_PUSH(arena, &build->switches) =
			copied(build, origin, name, "switch", own->switches.items[i]);
	for (size_t i = 0; i < own->links.count; i++) {
		struct link_entry *link = VEC_PUSH(arena, &build->links);
		*link = own->links.items[i];
		link->name = copied(build, origin, name, "link", link->name);
		link->ends[0] = machine_node(build, name, link->ends[0]);
		link->ends[1] = machine_node(build, name, link->ends[1]);
		link->copies_count = copies;
	}
	for (size_t i = 0; i < own->aliases.count; i++) {
		const struct alias_entry *alias = &own->aliases.items[i];
		const char *also = machine_node(build, name, alias->name);
		topology_name(build, origin, "alias", also, false);
		*VEC_PUSH(arena, &build->aliases) =
			(struct alias_entry){also, machine_node(build, name, alias->node)};
	}
}
