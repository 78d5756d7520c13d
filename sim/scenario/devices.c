/* SPDX-License-Identifier: GPL-3.0-or-later */
/* case.devices and case.adapters: the GPUs and adapters of each machine that the case's programs
 * see. The others are as if their driver did not list them. The cables of hidden adapters stay,
 * because they take their ports of the switches. */
#include "sim/scenario/topology.h"

struct choice *choice_new(struct reader *reader, const char *key, const char *text, bool adapters,
			  struct origin origin)
{
	struct choice *choice = ARENA_NEW(reader->arena, struct choice);
	*choice = (struct choice){.key = key, .origin = origin, .adapters = adapters};
	if (!*text)
		return NULL;
	choice->excludes = adapters && *text == '^';
	text += choice->excludes;
	choice->exact = !adapters || *text == '=';
	text += adapters && choice->exact;
	for (;; text++) {
		size_t length = strcspn(text, ","), name = adapters ? strcspn(text, ":,") : length;
		struct chosen item = {.name = arena_printf(reader->arena, "%.*s", (int)name, text)};
		item.is_index = name > 0 && strspn(item.name, "0123456789") == name;
		if (name == 0)
			diag_error(reader->diag, origin, "%s has an empty name (write %s)", key,
				   adapters ? "mlx5_0,mlx5_1, for example" : "0,1, for example");
		*VEC_PUSH(reader->arena, &choice->items) = item;
		text += length;
		if (!*text)
			return choice;
	}
}

static void note(struct reader *reader, struct choice *choice, const char *name)
{
	for (size_t i = 0; i < choice->names.count; i++)
		if (strcmp(choice->names.items[i], name) == 0)
			return;
	*VEC_PUSH(reader->arena, &choice->names) = name;
}

static bool is_meant(const struct choice *choice, const struct chosen *item, const char *name,
		     size_t index)
{
	if (item->is_index)
		return strtoul(item->name, NULL, 10) == index;
	return choice->exact ? strcmp(name, item->name) == 0
			     : strncmp(name, item->name, strlen(item->name)) == 0;
}

/* Removes the links that end at one of the nodes, of all kinds or only of those inside machines. */
static void remove_links(struct topology_build *build, const struct names *nodes, bool all)
{
	size_t kept = 0;
	for (size_t i = 0; i < build->links.count; i++) {
		const struct link_entry *link = &build->links.items[i];
		bool at = names_find(nodes, link->ends[0]) >= 0 ||
			  names_find(nodes, link->ends[1]) >= 0;
		if (!at || !link->kind || !(all || link->kind->inside_host))
			build->links.items[kept++] = *link;
	}
	build->links.count = kept;
}

/* ---- GPUs ---- */

/* Adds the chosen ones of a host's GPUs to `to`, in the order of the choice, and notes which of
 * the build's first `count` are `taken`. */
static size_t choose_on_host(struct topology_build *build, struct choice *choice, size_t host,
			     size_t count, bool *taken, struct gpu_entry *to)
{
	const struct gpu_entry *from = build->gpus.items;
	size_t kept = 0;
	for (size_t k = 0; k < choice->items.count; k++) {
		struct chosen *item = &choice->items.items[k];
		size_t index = 0;
		for (size_t i = 0; i < count; i++) {
			if (from[i].host != host || !is_meant(choice, item, from[i].name, index++))
				continue;
			item->used = true;
			if (taken[i])
				diag_error(build->reader->diag, choice->origin,
					   "%s names GPU '%s' twice (write it once)", choice->key,
					   from[i].name);
			else
				to[kept++] = from[i];
			taken[i] = true;
		}
	}
	return kept;
}

static void choose_gpus(struct topology_build *build, struct choice *choice, size_t count)
{
	struct arena *arena = build->reader->arena;
	struct gpu_entry *all = build->gpus.items;
	struct gpu_entry *chosen = ARENA_ARRAY(arena, build->gpus.count + 1, struct gpu_entry);
	bool *taken = ARENA_ARRAY(arena, count + 1, bool);
	struct names *hidden = names_new(arena);
	size_t kept = 0, hosts = build->one_host ? 1 : build->hosts.count;
	for (size_t host = 0; host < hosts; host++)
		kept += choose_on_host(build, choice, host, count, taken, chosen + kept);
	for (size_t i = 0; i < count; i++) {
		note(build->reader, choice, all[i].name);
		if (!taken[i])
			names_add(hidden, all[i].name);
	}
	for (size_t i = count; i < build->gpus.count; i++)
		chosen[kept++] = all[i];
	remove_links(build, hidden, true);
	build->gpus.items = chosen;
	build->gpus.count = kept;
}

/* ---- adapters ---- */

static bool has_link(const struct topology_build *build, const char *node, bool inside)
{
	for (size_t i = 0; i < build->links.count; i++) {
		const struct link_entry *link = &build->links.items[i];
		if (link->kind && link->kind->inside_host == inside &&
		    (strcmp(link->ends[0], node) == 0 || strcmp(link->ends[1], node) == 0))
			return true;
	}
	return false;
}

/* Returns true if an item means the adapter by its name, by an alias or by its index. */
static bool is_chosen(struct topology_build *build, struct choice *choice, const char *node,
		      size_t index)
{
	bool any = false;
	note(build->reader, choice, node);
	for (size_t k = 0; k < choice->items.count; k++) {
		struct chosen *item = &choice->items.items[k];
		bool meant = is_meant(choice, item, node, index);
		for (size_t i = 0; i < build->aliases.count; i++)
			if (strcmp(build->aliases.items[i].node, node) == 0) {
				note(build->reader, choice, build->aliases.items[i].name);
				meant |=
					is_meant(choice, item, build->aliases.items[i].name, index);
			}
		item->used |= meant;
		any |= meant;
	}
	return any != choice->excludes;
}

/* Hides the adapters that are not chosen: no link inside the machine leads to them. */
static void choose_adapters(struct topology_build *build, struct choice *choice,
			    const char *const *nodes, size_t count)
{
	struct names *hidden = names_new(build->reader->arena);
	for (size_t i = 0; i < count; i++)
		if (!is_chosen(build, choice, nodes[i], i))
			names_add(hidden, nodes[i]);
	if (count > 0 && names_count(hidden) == count && choice->excludes)
		diag_error(build->reader->diag, choice->origin,
			   "%s hides all %zu adapters of a machine (leave one of them)",
			   choice->key, count);
	remove_links(build, hidden, false);
}

/* ---- machines ---- */

void choose_of_machine(struct topology_build *build, const char *const *ports, size_t port_count)
{
	const char **nodes = ARENA_ARRAY(build->reader->arena, port_count + 1, const char *);
	size_t count = 0;
	if (build->reader->devices)
		choose_gpus(build, build->reader->devices, build->gpus.count);
	for (size_t i = 0; i < port_count; i++)
		for (size_t k = 0; k < build->switches.count; k++)
			if (strcmp(build->switches.items[k], ports[i]) == 0)
				nodes[count++] = ports[i];
	if (build->reader->adapters)
		choose_adapters(build, build->reader->adapters, nodes, count);
}

/* An adapter has a link inside its machine and one of a network. Listed adapters have one
 * numbering. */
void choose_of_lists(struct topology_build *build, size_t gpu_count, size_t switch_count)
{
	const char **nodes = ARENA_ARRAY(build->reader->arena, switch_count + 1, const char *);
	size_t count = 0;
	if (build->reader->devices)
		choose_gpus(build, build->reader->devices, gpu_count);
	for (size_t i = 0; i < switch_count; i++)
		if (has_link(build, build->switches.items[i], true) &&
		    has_link(build, build->switches.items[i], false))
			nodes[count++] = build->switches.items[i];
	if (build->reader->adapters)
		choose_adapters(build, build->reader->adapters, nodes, count);
}

void choice_check(struct reader *reader, const struct choice *choice, const char *topology)
{
	enum { LISTED = 12 };
	const char *list = "none";
	for (size_t i = 0; choice && i < choice->names.count && i < LISTED; i++)
		list = arena_printf(reader->arena, "%s%s%s", i ? list : "", i ? ", " : "",
				    choice->names.items[i]);
	for (size_t k = 0; choice && k < choice->items.count; k++)
		if (!choice->items.items[k].used)
			diag_error(reader->diag, choice->origin,
				   "no machine of topology '%s' has %s '%s' (they have: %s%s)",
				   topology, choice->adapters ? "an adapter" : "a GPU",
				   choice->items.items[k].name, list,
				   choice->names.count > LISTED ? ", ..." : "");
}
