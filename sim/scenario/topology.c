/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a topology file into a struct topology. */
#include "sim/scenario/topology.h"

struct topology_build *topology_build_new(struct reader *reader, const char *path,
					  struct gpu_profiles *profiles)
{
	struct topology_build *build = ARENA_NEW(reader->arena, struct topology_build);
	*build = (struct topology_build){.reader = reader,
					 .path = path,
					 .tag = "",
					 .nodes = names_new(reader->arena),
					 .names = names_new(reader->arena),
					 .profiles = profiles};
	return build;
}

const char *topology_text(struct reader *reader, const struct cfg_node *group, const char *key,
			  const char *thing)
{
	const char *text = cfg_text(cfg_child(group, key));
	if (!text)
		diag_error(reader->diag, cfg_origin(group),
			   "%s: %s is missing (write %s = \"...\")", thing, key, key);
	return text;
}

bool reader_name(struct reader *reader, struct origin origin, const char *what, const char *name)
{
	if (*name && !strpbrk(name, "*=,"))
		return true;
	return diag_error(reader->diag, origin,
			  "%s '%s': a name must not be empty or contain '*', '=' or ',' (write "
			  "name = \"a0\", for example)",
			  what, name);
}

bool topology_name(struct topology_build *build, struct origin origin, const char *what,
		   const char *name, bool is_node)
{
	if (!name)
		return false;
	if (!reader_name(build->reader, origin, what, name))
		return false;
	if (names_find(build->names, name) >= 0)
		return diag_error(
			build->reader->diag, origin,
			"%s '%s': the name is already in use (names of hosts, guests, gpus, "
			"switches and links must be unique)",
			what, name);
	names_add(build->names, name);
	if (is_node)
		names_add(build->nodes, name);
	return true;
}

bool reader_params(struct reader *reader, const struct cfg_node *node, const char *prefix,
		   const char *thing, const struct param_table *table, void *params)
{
	return cfg_params(reader->resolution, reader->arena, reader->diag, node, prefix, thing,
			  table, NULL, 0, params);
}

bool reader_item(struct reader *reader, const struct cfg_node *group, const char *kind,
		 const char *path, const char *name, const struct param_table *table,
		 const char *const *also, size_t also_count, void *params)
{
	return cfg_params(reader->resolution, reader->arena, reader->diag, group,
			  arena_printf(reader->arena, "%s.%s", kind, path),
			  arena_printf(reader->arena, "%s '%s'", kind, name), table, also,
			  also_count, params);
}

static bool straddles(const struct reader *reader, size_t gpus)
{
	for (size_t i = 0; i < sizeof reader->group_sizes / sizeof reader->group_sizes[0]; i++) {
		size_t size = reader->group_sizes[i];
		if (size > 0 && size % gpus != 0 && gpus % size != 0)
			return true;
	}
	return false;
}

size_t reader_gpus_used(const struct reader *reader, size_t has)
{
	size_t most = reader->gpus_per_machine_wanted, use = has;
	if (most)
		return most < has ? most : has;
	if (reader->gpus_wanted <= has)
		return has;
	while (use > 1 && straddles(reader, use))
		use--;
	return 2 * use > has ? use : has;
}

size_t reader_find(struct reader *reader, struct origin origin, const char *what, const char *name,
		   const void *entries, size_t count, size_t size)
{
	const char **names = ARENA_ARRAY(reader->arena, count + 1, const char *);
	for (size_t i = 0; i < count; i++) {
		/* the first field of every entry is its name */
		names[i] = *(const char *const *)(const void *)((const char *)entries + i * size);
		if (strcmp(names[i], name) == 0)
			return i;
	}
	const char *near = diag_nearest(name, names, count);
	if (near)
		diag_error(reader->diag, origin, "there is no %s '%s' (did you mean '%s'?)", what,
			   name, near);
	else if (count)
		diag_error(reader->diag, origin, "there is no %s '%s' (the first of %zu is '%s')",
			   what, name, count, names[0]);
	else
		diag_error(reader->diag, origin,
			   "there is no %s '%s', because the topology has no %s at all", what, name,
			   what);
	return SIZE_MAX;
}

void topology_read_host(struct topology_build *build, const struct cfg_node *group,
			const char *name, const char *path)
{
	struct reader *reader = build->reader;
	struct host_entry *host = VEC_PUSH(reader->arena, &build->hosts);
	host->name = host->machine = name ? name : "?";
	host->origin = cfg_origin(group);
	if (topology_name(build, host->origin, "host", name, true))
		reader_item(reader, group, "host", path, name, &host_table, CFG_KEYS("name"),
			    &host->params);
}

static void read_host(struct topology_build *build, const struct cfg_node *group)
{
	const char *name = topology_text(build->reader, group, "name", "host");
	topology_read_host(build, group, name, name);
}

/* Returns the host of a guest or GPU; SIZE_MAX after an error. */
static size_t host_of(struct topology_build *build, const struct cfg_node *group, const char *what)
{
	if (build->one_host)
		return 0;
	const char *name = topology_text(build->reader, group, "host", what);
	return name ? reader_find(build->reader, cfg_origin(cfg_child(group, "host")), "host", name,
				  build->hosts.items, build->hosts.count,
				  sizeof *build->hosts.items)
		    : SIZE_MAX;
}

static void read_guest(struct topology_build *build, const struct cfg_node *group)
{
	static const char *const also[] = {"name", "host"};
	struct reader *reader = build->reader;
	const char *name = topology_text(reader, group, "name", "guest");
	struct guest_entry guest = {.name = name ? name : "?", .origin = cfg_origin(group)};
	guest.host = host_of(build, group, "guest");
	if (topology_name(build, guest.origin, "guest", name, true))
		reader_item(reader, group, "guest",
			    arena_printf(reader->arena, "%s%s", build->tag, name), name,
			    &guest_table, also, build->one_host ? 1 : 2, &guest.params);
	*VEC_PUSH(reader->arena, &build->guests) = guest;
}

/* Reads the parameters of a GPU profile. A GPU without fitted efficiencies can name another GPU
 * with `like`: its kernels then reach the same fractions of peak as on that GPU. */
static bool read_profile_file(struct topology_build *build, struct origin origin,
			      struct gpu_profile *profile)
{
	struct reader *reader = build->reader;
	const char *name = profile->name;
	const char *path = data_path(reader->arena, reader->diag, origin, reader->root,
				     "topologies/gpus", "GPU profile", name, build->path);
	const struct cfg_node *file = path ? cfg_read(reader->arena, reader->diag, path) : NULL;
	if (!file)
		return false;
	const struct cfg_node *group = cfg_child(file, "gpu");
	if (!group)
		return diag_error(reader->diag, cfg_origin(file),
				  "GPU profile '%s': its file has no group `gpu = { ... }`", name);
	const struct cfg_node *given = cfg_child(group, "like");
	const char *like = cfg_override_text(reader->resolution,
					     arena_printf(reader->arena, "gpu.%s.like", name));
	if (!like)
		like = cfg_text(given);
	if (like && data_path(reader->arena, reader->diag, given ? cfg_origin(given) : origin,
			      reader->root, "topologies/gpus", "GPU profile", like, path))
		profile->like = like;
	return reader_item(reader, group, "gpu", name, name, &gpu_table, CFG_KEYS("like"),
			   &profile->params);
}

/* GPUs with the same profile share its parameters, for example gpu.<profile>.memory. */
static void read_profile(struct topology_build *build, struct origin origin, struct gpu_entry *gpu)
{
	struct gpu_profiles *profiles = build->profiles;
	size_t i = 0;
	while (i < profiles->list.count && strcmp(profiles->list.items[i].name, gpu->profile) != 0)
		i++;
	if (i == profiles->list.count) {
		struct gpu_profile *profile = VEC_PUSH(build->reader->arena, &profiles->list);
		profile->name = profile->like = gpu->profile;
		read_profile_file(build, origin, profile);
	}
	gpu->like = profiles->list.items[i].like;
	gpu->params = profiles->list.items[i].params;
}

static void read_gpu(struct topology_build *build, const struct cfg_node *group)
{
	static const char *const known[] = {"name", "profile", "board", "host"};
	struct reader *reader = build->reader;
	const char *name = topology_text(reader, group, "name", "gpu");
	const char *path =
		arena_printf(reader->arena, "gpu.%s%s.profile", build->tag, name ? name : "?");
	/* for example --set gpu.gpu0.profile=v100-sxm2 */
	const char *profile = name ? cfg_override_text(reader->resolution, path) : NULL;
	if (!profile)
		profile = topology_text(reader, group, "profile", "gpu");
	cfg_only(reader->diag, group, known, build->one_host ? 3 : 4);
	struct gpu_entry gpu = {.name = name ? name : "?",
				.origin = cfg_origin(group),
				.profile = profile ? profile : "?",
				.like = "?",
				.board = cfg_text(cfg_child(group, "board"))};
	topology_name(build, gpu.origin, "gpu", name, true);
	gpu.host = host_of(build, group, "gpu");
	if (profile)
		read_profile(build, cfg_origin(cfg_child(group, "profile")), &gpu);
	*VEC_PUSH(reader->arena, &build->gpus) = gpu;
}

static void read_switch(struct topology_build *build, const struct cfg_node *node)
{
	struct reader *reader = build->reader;
	const char *name = cfg_text(node);
	if (!name)
		diag_error(reader->diag, cfg_origin(node),
			   "topology: switches must hold names (write switches = [\"tor\"])");
	if (topology_name(build, cfg_origin(node), "switch", name, true))
		*VEC_PUSH(reader->arena, &build->switches) = name;
}

static const char *nearest(struct topology_build *build, const char *name)
{
	size_t count = names_count(build->nodes);
	const char **names = ARENA_ARRAY(build->reader->arena, count + 1, const char *);
	for (size_t i = 0; i < count; i++)
		names[i] = names_at(build->nodes, i);
	return diag_nearest(name, names, count);
}

static void read_ends(struct topology_build *build, const struct cfg_node *group,
		      struct link_entry *link)
{
	struct diag *diag = build->reader->diag;
	const struct cfg_node *ends = cfg_child(group, "ends");
	link->ends[0] = link->ends[1] = "?";
	if (cfg_count(ends) != 2) {
		diag_error(diag, link->origin,
			   "link '%s': it must have two ends (write ends = [\"a\", \"b\"])",
			   link->name);
		return;
	}
	for (size_t i = 0; i < 2; i++) {
		const char *name = cfg_text(cfg_at(ends, i));
		if (name && names_find(build->nodes, name) >= 0) {
			link->ends[i] = name;
			continue;
		}
		const char *near = name ? nearest(build, name) : NULL;
		diag_error(diag, cfg_origin(ends),
			   "link '%s': no host, guest, gpu or switch is called '%s'%s%s%s",
			   link->name, name ? name : "?", near ? " (did you mean '" : "",
			   near ? near : "", near ? "'?)" : "");
	}
	if (strcmp(link->ends[0], link->ends[1]) == 0 && link->ends[0][0] != '?')
		diag_error(diag, cfg_origin(ends),
			   "link '%s': both ends are '%s' (write the names of two nodes)",
			   link->name, link->ends[0]);
}

/* Returns the kind of a link. A setting such as --set link.wire.kind=roce overrides the file. */
static const struct link_kind *kind_of(struct topology_build *build, const struct cfg_node *group,
				       const char *name)
{
	struct reader *reader = build->reader;
	const char *given =
		cfg_override_text(reader->resolution,
				  arena_printf(reader->arena, "link.%s%s.kind", build->tag, name));
	const char *kind_name = given ? given : topology_text(reader, group, "kind", "link");
	const struct link_kind *kind = kind_name ? link_kind_find(kind_name) : NULL;
	if (kind_name && !kind)
		diag_error(reader->diag, cfg_origin(cfg_child(group, "kind")), "link '%s': %s",
			   name,
			   registry_unknown(reader->arena, &link_kind_registry, kind_name, NULL));
	return kind;
}

bool topology_read_link(struct topology_build *build, const struct cfg_node *group,
			const char *name, const char *const *also, size_t also_count,
			struct link_entry *link)
{
	struct reader *reader = build->reader;
	link->kind = kind_of(build, group, name);
	if (!link->kind)
		return false;
	void *params = arena_alloc(reader->arena, LINK_PARAMS_SIZE_MAX);
	if (!reader_item(reader, group, "link",
			 arena_printf(reader->arena, "%s%s", build->tag, name), name,
			 link->kind->table, also, also_count, params))
		return false;
	link->kind->traits(params, &link->traits);
	return true;
}

static void read_link(struct topology_build *build, const struct cfg_node *group)
{
	const char *name = topology_text(build->reader, group, "name", "link");
	struct link_entry link = {.name = name ? name : "?", .origin = cfg_origin(group)};
	if (topology_name(build, link.origin, "link", name, false)) {
		read_ends(build, group, &link);
		topology_read_link(build, group, name, CFG_KEYS("name", "kind", "ends"), &link);
	}
	*VEC_PUSH(build->reader->arena, &build->links) = link;
}

static void read_alias(struct topology_build *build, const struct cfg_node *group)
{
	struct reader *reader = build->reader;
	const char *name = topology_text(reader, group, "name", "alias");
	const char *to = topology_text(reader, group, "node", "alias");
	cfg_only(reader->diag, group, CFG_KEYS("name", "node"));
	if (!to || !topology_name(build, cfg_origin(group), "alias", name, false))
		return;
	if (names_find(build->nodes, to) >= 0) {
		*VEC_PUSH(reader->arena, &build->aliases) = (struct alias_entry){name, to};
		return;
	}
	const char *near = nearest(build, to);
	diag_error(reader->diag, cfg_origin(group),
		   "alias '%s': no host, guest, gpu or switch is called '%s' (%s%s)", name, to,
		   near ? "write node = " : "write the name of a node", near ? near : "");
}

static const struct {
	const char *key;
	void (*read)(struct topology_build *build, const struct cfg_node *item);
} lists[] = {
	[LIST_HOSTS] = {"hosts", read_host}, [LIST_GUESTS] = {"guests", read_guest},
	[LIST_GPUS] = {"gpus", read_gpu},    [LIST_SWITCHES] = {"switches", read_switch},
	[LIST_LINKS] = {"links", read_link}, [LIST_ALIASES] = {"aliases", read_alias},
};

void topology_read_list(struct topology_build *build, const struct cfg_node *node,
			enum topology_list which)
{
	const char *key = lists[which].key;
	const struct cfg_node *list = cfg_child(node, key);
	if (list && !cfg_is_list(list))
		diag_error(build->reader->diag, cfg_origin(list),
			   "topology: %s must be a list (write %s = ( { name = ... } ))", key, key);
	for (size_t i = 0; cfg_is_list(list) && i < cfg_count(list); i++)
		lists[which].read(build, cfg_at(list, i));
}

static void list_guests(const struct topology_build *build)
{
	struct host_entry *hosts = build->hosts.items;
	struct guest_entry *guests = build->guests.items;
	for (size_t i = 0; i < build->hosts.count; i++)
		hosts[i].first_guest = SIZE_MAX;
	for (size_t i = build->guests.count; i-- > 0;) {
		if (guests[i].host >= build->hosts.count)
			continue; /* the guest's host is missing, which was reported */
		guests[i].next_guest = hosts[guests[i].host].first_guest;
		hosts[guests[i].host].first_guest = i;
	}
}

static void take_build(const struct topology_build *build, struct topology *topology)
{
	list_guests(build);
	topology->hosts = build->hosts.items;
	topology->host_count = build->hosts.count;
	topology->guests = build->guests.items;
	topology->guest_count = build->guests.count;
	topology->gpus = build->gpus.items;
	topology->gpu_count = build->gpus.count;
	topology->switches = build->switches.items;
	topology->switch_count = build->switches.count;
	topology->links = build->links.items;
	topology->link_count = build->links.count;
	topology->aliases = build->aliases.items;
	topology->alias_count = build->aliases.count;
}

void read_topology(struct reader *reader, const struct cfg_node *file, const char *path,
		   struct topology *topology)
{
	const struct cfg_node *node = cfg_child(file, "topology");
	*topology = (struct topology){.path = path};
	if (!node || !cfg_is_group(node)) {
		diag_error(reader->diag, cfg_origin(file),
			   "the file has no group `topology = { ... }`");
		return;
	}
	cfg_only(reader->diag, node,
		 CFG_KEYS("name", "help", "hosts", "guests", "gpus", "switches", "links", "aliases",
			  "cluster"));
	topology->name = cfg_text(cfg_child(node, "name"));
	topology->help = cfg_text(cfg_child(node, "help"));
	if (!topology->name)
		topology->name = path;
	for (enum topology_list list = LIST_HOSTS; list <= LIST_ALIASES; list++)
		reader->may_fold &= !cfg_child(node, lists[list].key);
	struct gpu_profiles profiles = {0};
	struct topology_build *build = topology_build_new(reader, path, &profiles);
	for (enum topology_list list = LIST_HOSTS; list <= LIST_SWITCHES; list++)
		topology_read_list(build, node, list);
	size_t gpu_count = build->gpus.count, switch_count = build->switches.count;
	if (cfg_child(node, "cluster"))
		cluster_read(build, cfg_child(node, "cluster"));
	/* links may end at nodes of the cluster */
	topology_read_list(build, node, LIST_LINKS);
	topology_read_list(build, node, LIST_ALIASES);
	choose_of_lists(build, gpu_count, switch_count);
	choice_check(reader, reader->devices, topology->name);
	choice_check(reader, reader->adapters, topology->name);
	take_build(build, topology);
	topology->fold = reader->fold;
	topology->top = reader->top;
}

bool topology_has_network(const struct topology *topology, unsigned traffic)
{
	for (size_t i = 0; i < topology->link_count; i++)
		if (link_carries(topology->links[i].kind, traffic | TRAFFIC_BETWEEN_HOSTS))
			return true;
	return false;
}

const char *topology_alias(const struct topology *topology, const char *node)
{
	for (size_t i = 0; i < topology->alias_count; i++)
		if (strcmp(topology->aliases[i].node, node) == 0) {
			const char *dot = strchr(topology->aliases[i].name, '.');
			return dot ? dot + 1 : topology->aliases[i].name;
		}
	return NULL;
}
