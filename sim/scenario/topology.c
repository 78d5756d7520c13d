/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A topology file -> struct topology. */
#include "sim/scenario/read.h"

#include <string.h>

#include "sim/base/arena.h"

static const char *required_text(struct reader *reader, const struct cfg_node *group,
				 const char *key, const char *thing)
{
	const char *text = cfg_text(cfg_child(group, key));
	if (!text)
		diag_error(reader->diag, cfg_origin(group),
			   "%s: %s is missing (write %s = \"...\")", thing, key, key);
	return text;
}

/* The list `key` of the topology; an absent one is empty. */
static const struct cfg_node *list_of(struct reader *reader, const struct cfg_node *topology,
				      const char *key, size_t *count)
{
	const struct cfg_node *list = cfg_child(topology, key);
	*count = 0;
	if (!list)
		return NULL;
	if (!cfg_is_list(list)) {
		diag_error(reader->diag, cfg_origin(list),
			   "topology: %s must be a list (write %s = ( { name = ... } ))", key, key);
		return NULL;
	}
	*count = cfg_count(list);
	return list;
}

static bool name_is_free(struct reader *reader, struct origin origin, const char *what,
			 const char *name)
{
	if (!name)
		return false;
	for (size_t i = 0; i < reader->names.count; i++)
		if (strcmp(reader->names.items[i], name) == 0) {
			diag_error(reader->diag, origin,
				   "%s '%s': the name is taken (names of hosts, guests, gpus, "
				   "switches and links are unique)",
				   what, name);
			return false;
		}
	const char **slot = VEC_PUSH(reader->arena, &reader->names);
	*slot = name;
	return true;
}

size_t reader_find(struct reader *reader, struct origin origin, const char *what, const char *name,
		   const void *entries, size_t count, size_t size)
{
	const char **names = ARENA_ARRAY(reader->arena, count + 1, const char *);
	for (size_t i = 0; i < count; i++) {
		/* every entry struct begins with its name */
		names[i] = *(const char *const *)(const void *)((const char *)entries + i * size);
		if (strcmp(names[i], name) == 0)
			return i;
	}
	const char *near = diag_nearest(name, names, count);
	if (near)
		diag_error(reader->diag, origin, "%s '%s' is not there (did you mean '%s'?)", what,
			   name, near);
	else if (count)
		diag_error(reader->diag, origin, "%s '%s' is not there (the first of %zu is '%s')",
			   what, name, count, names[0]);
	else
		diag_error(reader->diag, origin, "%s '%s' is not there (the topology has none)",
			   what, name);
	return SIZE_MAX;
}

static void read_hosts(struct reader *reader, const struct cfg_node *node,
		       struct topology *topology)
{
	static const char *const also[] = {"name"};
	const struct cfg_node *list = list_of(reader, node, "hosts", &topology->host_count);
	struct host_entry *hosts =
		ARENA_ARRAY(reader->arena, topology->host_count + 1, struct host_entry);
	for (size_t i = 0; i < topology->host_count; i++) {
		const struct cfg_node *group = cfg_at(list, i);
		const char *name = required_text(reader, group, "name", "host");
		hosts[i].name = name ? name : "?";
		hosts[i].origin = cfg_origin(group);
		if (name_is_free(reader, hosts[i].origin, "host", name))
			cfg_params(reader->resolution, reader->arena, reader->diag, group,
				   arena_printf(reader->arena, "host.%s", name),
				   arena_printf(reader->arena, "host '%s'", name), &host_table,
				   also, 1, &hosts[i].params);
	}
	topology->hosts = hosts;
}

static void read_guests(struct reader *reader, const struct cfg_node *node,
			struct topology *topology)
{
	static const char *const also[] = {"name", "host"};
	const struct cfg_node *list = list_of(reader, node, "guests", &topology->guest_count);
	struct guest_entry *guests =
		ARENA_ARRAY(reader->arena, topology->guest_count + 1, struct guest_entry);
	for (size_t i = 0; i < topology->guest_count; i++) {
		const struct cfg_node *group = cfg_at(list, i);
		const char *name = required_text(reader, group, "name", "guest");
		const char *host = required_text(reader, group, "host", "guest");
		guests[i].name = name ? name : "?";
		guests[i].origin = cfg_origin(group);
		if (host)
			guests[i].host = reader_find(reader, cfg_origin(cfg_child(group, "host")),
						     "host", host, topology->hosts,
						     topology->host_count, sizeof *topology->hosts);
		if (name_is_free(reader, guests[i].origin, "guest", name))
			cfg_params(reader->resolution, reader->arena, reader->diag, group,
				   arena_printf(reader->arena, "guest.%s", name),
				   arena_printf(reader->arena, "guest '%s'", name), &guest_table,
				   also, 2, &guests[i].params);
	}
	topology->guests = guests;
}

/* GPUs of one profile share its parameters: gpu.<profile>.memory and so on. */
static bool read_profile(struct reader *reader, struct origin origin,
			 const struct topology *topology, size_t index, struct gpu_entry *gpu)
{
	for (size_t i = 0; i < index; i++)
		if (strcmp(topology->gpus[i].profile, gpu->profile) == 0) {
			gpu->params = topology->gpus[i].params;
			return true;
		}
	const char *path =
		data_path(reader->arena, reader->diag, origin, reader->root, "topologies/gpus",
			  "GPU profile", gpu->profile, topology->path);
	const struct cfg_node *file = path ? cfg_read(reader->arena, reader->diag, path) : NULL;
	if (!file)
		return false;
	const struct cfg_node *group = cfg_child(file, "gpu");
	if (!group) {
		diag_error(reader->diag, cfg_origin(file),
			   "GPU profile '%s': no group `gpu = { ... }`", gpu->profile);
		return false;
	}
	return cfg_params(reader->resolution, reader->arena, reader->diag, group,
			  arena_printf(reader->arena, "gpu.%s", gpu->profile),
			  arena_printf(reader->arena, "gpu '%s'", gpu->profile), &gpu_table, NULL,
			  0, &gpu->params);
}

static void read_gpus(struct reader *reader, const struct cfg_node *node, struct topology *topology)
{
	static const char *const known[] = {"name", "host", "profile"};
	const struct cfg_node *list = list_of(reader, node, "gpus", &topology->gpu_count);
	struct gpu_entry *gpus =
		ARENA_ARRAY(reader->arena, topology->gpu_count + 1, struct gpu_entry);
	topology->gpus = gpus;
	for (size_t i = 0; i < topology->gpu_count; i++) {
		const struct cfg_node *group = cfg_at(list, i);
		const char *name = required_text(reader, group, "name", "gpu");
		const char *host = required_text(reader, group, "host", "gpu");
		const char *profile = name ? cfg_override_text(reader->resolution,
							       arena_printf(reader->arena,
									    "gpu.%s.profile", name))
					   : NULL; /* --set gpu.gpu0.profile=v100-sxm2 */
		if (!profile)
			profile = required_text(reader, group, "profile", "gpu");
		cfg_only(reader->diag, group, known, sizeof known / sizeof known[0]);
		gpus[i] = (struct gpu_entry){.name = name ? name : "?",
					     .origin = cfg_origin(group),
					     .profile = profile ? profile : "?"};
		name_is_free(reader, gpus[i].origin, "gpu", name);
		if (host)
			gpus[i].host = reader_find(reader, cfg_origin(cfg_child(group, "host")),
						   "host", host, topology->hosts,
						   topology->host_count, sizeof *topology->hosts);
		if (profile)
			read_profile(reader, cfg_origin(cfg_child(group, "profile")), topology, i,
				     &gpus[i]);
	}
}

static void read_switches(struct reader *reader, const struct cfg_node *node,
			  struct topology *topology)
{
	const struct cfg_node *list = list_of(reader, node, "switches", &topology->switch_count);
	const char **names = ARENA_ARRAY(reader->arena, topology->switch_count + 1, const char *);
	for (size_t i = 0; i < topology->switch_count; i++) {
		const char *name = cfg_text(cfg_at(list, i));
		if (!name)
			diag_error(reader->diag, cfg_origin(cfg_at(list, i)),
				   "topology: switches holds names (write switches = [\"tor\"])");
		names[i] = name ? name : "?";
		name_is_free(reader, cfg_origin(cfg_at(list, i)), "switch", name);
	}
	topology->switches = names;
}

static bool is_node(const struct topology *topology, const char *name)
{
	for (size_t i = 0; i < topology->host_count; i++)
		if (strcmp(topology->hosts[i].name, name) == 0)
			return true;
	for (size_t i = 0; i < topology->guest_count; i++)
		if (strcmp(topology->guests[i].name, name) == 0)
			return true;
	for (size_t i = 0; i < topology->gpu_count; i++)
		if (strcmp(topology->gpus[i].name, name) == 0)
			return true;
	for (size_t i = 0; i < topology->switch_count; i++)
		if (strcmp(topology->switches[i], name) == 0)
			return true;
	return false;
}

static void read_ends(struct reader *reader, const struct cfg_node *group,
		      const struct topology *topology, struct link_entry *link)
{
	const struct cfg_node *ends = cfg_child(group, "ends");
	link->ends[0] = link->ends[1] = "?";
	if (!ends || cfg_count(ends) != 2) {
		diag_error(reader->diag, link->origin,
			   "link '%s': it needs two ends (write ends = [\"a\", \"b\"])",
			   link->name);
		return;
	}
	for (size_t i = 0; i < 2; i++) {
		const char *name = cfg_text(cfg_at(ends, i));
		if (name && is_node(topology, name)) {
			link->ends[i] = name;
			continue;
		}
		const char *near =
			name ? diag_nearest(name, reader->names.items, reader->names.count) : NULL;
		diag_error(reader->diag, cfg_origin(ends),
			   "link '%s': no host, guest, gpu or switch is called '%s'%s%s%s",
			   link->name, name ? name : "?", near ? " (did you mean '" : "",
			   near ? near : "", near ? "'?)" : "");
	}
	if (strcmp(link->ends[0], link->ends[1]) == 0 && link->ends[0][0] != '?')
		diag_error(reader->diag, cfg_origin(ends), "link '%s': both ends are '%s'",
			   link->name, link->ends[0]);
}

static const struct link_kind *kind_of(struct reader *reader, const struct cfg_node *group,
				       const char *name)
{
	const char *kind_name = required_text(reader, group, "kind", "link");
	const struct link_kind *kind = kind_name ? link_kind_find(kind_name) : NULL;
	if (kind_name && !kind) {
		const char **names = ARENA_ARRAY(reader->arena, link_kind_count(), const char *);
		for (size_t i = 0; i < link_kind_count(); i++)
			names[i] = link_kind_at(i)->name;
		const char *near = diag_nearest(kind_name, names, link_kind_count());
		diag_error(reader->diag, cfg_origin(cfg_child(group, "kind")),
			   "link '%s': no kind of link is called '%s' (%s%s; `farwire list links` "
			   "shows them)",
			   name, kind_name, near ? "did you mean " : "there are pcie, ethernet ...",
			   near ? near : "");
	}
	return kind;
}

static void read_links(struct reader *reader, const struct cfg_node *node,
		       struct topology *topology)
{
	static const char *const also[] = {"name", "kind", "ends"};
	const struct cfg_node *list = list_of(reader, node, "links", &topology->link_count);
	struct link_entry *links =
		ARENA_ARRAY(reader->arena, topology->link_count + 1, struct link_entry);
	for (size_t i = 0; i < topology->link_count; i++) {
		const struct cfg_node *group = cfg_at(list, i);
		const char *name = required_text(reader, group, "name", "link");
		links[i] =
			(struct link_entry){.name = name ? name : "?", .origin = cfg_origin(group)};
		links[i].kind = kind_of(reader, group, links[i].name);
		if (!links[i].kind || !name_is_free(reader, links[i].origin, "link", name))
			continue;
		read_ends(reader, group, topology, &links[i]);
		void *params = arena_alloc(reader->arena, LINK_PARAMS_SIZE_MAX);
		if (!cfg_params(reader->resolution, reader->arena, reader->diag, group,
				arena_printf(reader->arena, "link.%s", name),
				arena_printf(reader->arena, "link '%s'", name),
				links[i].kind->table, also, 3, params))
			continue;
		const char *wrong = links[i].kind->traits(params, &links[i].traits);
		if (wrong)
			diag_error(reader->diag, links[i].origin, "link '%s': %s", name, wrong);
	}
	topology->links = links;
}

void read_topology(struct reader *reader, const struct cfg_node *file, const char *path,
		   struct topology *topology)
{
	static const char *const known[] = {"name", "help",     "hosts", "guests",
					    "gpus", "switches", "links"};
	const struct cfg_node *node = cfg_child(file, "topology");
	*topology = (struct topology){.path = path};
	if (!node || !cfg_is_group(node)) {
		diag_error(reader->diag, cfg_origin(file), "no group `topology = { ... }`");
		return;
	}
	cfg_only(reader->diag, node, known, sizeof known / sizeof known[0]);
	topology->name = cfg_text(cfg_child(node, "name"));
	topology->help = cfg_text(cfg_child(node, "help"));
	if (!topology->name)
		topology->name = path;
	read_hosts(reader, node, topology);
	read_guests(reader, node, topology);
	read_gpus(reader, node, topology);
	read_switches(reader, node, topology);
	read_links(reader, node, topology);
}
