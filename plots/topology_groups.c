/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/topology_groups.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/arena.h"

struct member {
	const struct diagram_node *node;
	size_t over;   /* a node of the same machine; of its first node: itself */
	bool host;     /* a host is in this machine (first node only) */
	double copies; /* equal machines that this one represents (first node only) */
	int distance;  /* of switches: links to the next machine; -1: unknown */
	const char *key;
	struct place place;
};

struct grouping {
	struct arena *arena;
	struct member *members; /* by name */
	size_t count;
	const struct diagram_link *links;
	size_t (*ends)[2]; /* members of each link; SIZE_MAX: there is no such node */
	size_t link_count;
	struct topology_groups groups;
};

/* Returns true for a node that is a machine by itself, with or without parts. */
static bool is_host(const struct diagram_node *node)
{
	return node->kind &&
	       (strcmp(node->kind, "host") == 0 || strcmp(node->kind, "storage") == 0);
}

static int by_name(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	return strcmp(x->node->name, y->node->name);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static size_t find(const struct grouping *g, const char *name)
{
	const struct diagram_node node = {.name = name};
	const struct member wanted = {.node = &node};
	const struct member *found =
		name ? bsearch(&wanted, g->members, g->count, sizeof wanted, by_name) : NULL;
	return found ? (size_t)(found - g->members) : SIZE_MAX;
}

static size_t first_of(const struct grouping *g, size_t member)
{
	while (g->members[member].over != member)
		member = g->members[member].over;
	return member;
}

static void join(const struct grouping *g, size_t a, size_t b)
{
	size_t x = first_of(g, a), y = first_of(g, b);
	size_t low = x < y ? x : y, high = x < y ? y : x;
	g->members[high].over = low;
	g->members[low].host |= g->members[high].host;
}

static bool in_machine(const struct grouping *g, size_t member)
{
	return g->members[first_of(g, member)].host;
}

/* Returns the name without its numbers: "n0.gpu12" becomes "n*.gpu*". */
static const char *pattern(struct arena *arena, const char *name)
{
	char *text = arena_strdup(arena, name), *to = text;
	for (const char *from = name; *from;) {
		bool digit = isdigit((unsigned char)*from);
		*to++ = digit ? '*' : *from;
		from += digit ? strspn(from, "0123456789") : 1;
	}
	*to = '\0';
	return text;
}

/* Returns the part of a name after the machine's: "gpu0" of "n0.gpu0". */
static const char *last_name(const char *name)
{
	const char *dot = strrchr(name, '.');
	return dot && dot[1] && !isdigit((unsigned char)dot[1]) ? dot + 1 : name;
}

static void find_machines(struct grouping *g)
{
	for (size_t i = 0; i < g->count; i++) {
		size_t inside = find(g, g->members[i].node->inside);
		if (inside != SIZE_MAX)
			join(g, i, inside);
	}
	for (size_t i = 0; i < g->link_count; i++)
		if (!g->links[i].network && g->ends[i][0] != SIZE_MAX && g->ends[i][1] != SIZE_MAX)
			join(g, g->ends[i][0], g->ends[i][1]);
	/* a switch between nodes of one machine, such as a hypervisor's, belongs to it */
	size_t *only = ARENA_ARRAY(g->arena, g->count + 1, size_t);
	bool *several = ARENA_ARRAY(g->arena, g->count + 1, bool);
	for (size_t i = 0; i < g->count; i++)
		only[i] = SIZE_MAX;
	for (size_t i = 0; i < 2 * g->link_count; i++) {
		size_t here = g->ends[i / 2][i % 2], other = g->ends[i / 2][1 - i % 2];
		if (here == SIZE_MAX || other == SIZE_MAX || in_machine(g, here))
			continue;
		size_t machine = in_machine(g, other) ? first_of(g, other) : SIZE_MAX - 1;
		several[here] |= machine == SIZE_MAX - 1 ||
				 (only[here] != SIZE_MAX && only[here] != machine);
		only[here] = machine;
	}
	for (size_t i = 0; i < g->count; i++)
		if (only[i] != SIZE_MAX && !several[i])
			join(g, i, only[i]);
}

/* ---- kinds of machines ---- */

static const char *part_key(struct arena *arena, const struct diagram_node *node)
{
	return arena_printf(arena, "%s|%s|%s|%s", node->kind ? node->kind : "",
			    node->detail ? node->detail : "", node->role ? node->role : "",
			    is_host(node) ? "" : pattern(arena, last_name(node->name)));
}

/* Returns the key of what a link ends at, as machines of its kind have it. */
static const char *end_key(const struct grouping *g, size_t end)
{
	return in_machine(g, end) ? g->members[end].key
				  : pattern(g->arena, g->members[end].node->name);
}

struct texts {
	VEC(const char *) list;
};

/* Sets the keys of machines: their sorted parts and links. */
static const char **machine_keys(struct grouping *g)
{
	struct texts *texts = ARENA_ARRAY(g->arena, g->count + 1, struct texts);
	const char **keys = ARENA_ARRAY(g->arena, g->count + 1, const char *);
	for (size_t i = 0; i < g->count; i++)
		*VEC_PUSH(g->arena, &texts[first_of(g, i)].list) = g->members[i].key;
	for (size_t i = 0; i < 2 * g->link_count; i++) {
		const struct diagram_link *link = &g->links[i / 2];
		size_t here = g->ends[i / 2][i % 2], other = g->ends[i / 2][1 - i % 2];
		if (here != SIZE_MAX && other != SIZE_MAX && in_machine(g, here))
			*VEC_PUSH(g->arena, &texts[first_of(g, here)].list) = arena_printf(
				g->arena, "%s~%s~%s~%s", g->members[here].key, end_key(g, other),
				link->kind, link->detail ? link->detail : "");
	}
	for (size_t i = 0; i < g->count; i++) {
		struct texts *own = &texts[i];
		size_t length = 1, at = 0;
		if (own->list.count == 0)
			continue;
		qsort(own->list.items, own->list.count, sizeof *own->list.items, by_text);
		for (size_t k = 0; k < own->list.count; k++)
			length += strlen(own->list.items[k]) + 1;
		char *key = ARENA_ARRAY(g->arena, length, char);
		for (size_t k = 0; k < own->list.count; k++) {
			size_t part = strlen(own->list.items[k]);
			memcpy(key + at, own->list.items[k], part);
			key[at + part] = '\n';
			at += part + 1;
		}
		keys[i] = key;
	}
	return keys;
}

/* Returns the part with this key, and adds it if there is none. */
static size_t part_at(struct arena *arena, struct machine_kind *kind, const struct member *member)
{
	size_t at = 0;
	while (at < kind->parts.count && strcmp(kind->parts.items[at].key, member->key) != 0)
		at++;
	if (at == kind->parts.count)
		*VEC_PUSH(arena, &kind->parts) =
			(struct topology_part){.key = member->key,
					       .name = last_name(member->node->name),
					       .detail = member->node->detail,
					       .role = member->node->role,
					       .parent = -1,
					       .row = -1};
	return at;
}

static size_t kind_at(struct arena *arena, struct topology_groups *groups, const char *key)
{
	size_t at = 0;
	while (at < groups->kinds.count && strcmp(groups->kinds.items[at].key, key) != 0)
		at++;
	if (at == groups->kinds.count)
		*VEC_PUSH(arena, &groups->kinds) = (struct machine_kind){.key = key};
	return at;
}

/* Puts each node of a machine into a part of the machine's kind. Hosts come first. */
static void place_machines(struct grouping *g, const struct diagram_node *nodes, size_t node_count)
{
	for (size_t i = 0; i < g->count; i++)
		g->members[i].key = part_key(g->arena, g->members[i].node);
	const char **keys = machine_keys(g);
	for (int pass = 0; pass < 2; pass++)
		for (size_t n = 0; n < node_count; n++) {
			size_t i = find(g, nodes[n].name), first = first_of(g, i);
			bool host = is_host(&nodes[n]);
			if (!in_machine(g, i) || host != (pass == 0))
				continue;
			size_t at = kind_at(g->arena, &g->groups, keys[first]);
			struct machine_kind *kind = &g->groups.kinds.items[at];
			g->members[i].place = (struct place){
				(int)at, (int)part_at(g->arena, kind, &g->members[i])};
			kind->parts.items[g->members[i].place.part].count +=
				g->members[first].copies;
			if (host && g->members[first].distance < 0) {
				kind->name = kind->count > 0 ? pattern(g->arena, nodes[n].name)
							     : nodes[n].name;
				kind->count += g->members[first].copies;
				g->members[first].distance = 0; /* the machine is counted */
			}
		}
	for (size_t k = 0; k < g->groups.kinds.count; k++) {
		struct machine_kind *kind = &g->groups.kinds.items[k];
		for (size_t i = 0; i < kind->parts.count; i++)
			kind->parts.items[i].count /= kind->count;
	}
}

/* ---- the network ---- */

static void find_distances(struct grouping *g)
{
	for (size_t i = 0; i < g->count; i++)
		g->members[i].distance = in_machine(g, i) ? 0 : -1;
	for (bool found = true; found;) {
		static const int far = 1 << 20;
		found = false;
		int nearest = far;
		for (int pass = 0; pass < 2; pass++)
			for (size_t i = 0; i < 2 * g->link_count; i++) {
				size_t here = g->ends[i / 2][i % 2],
				       other = g->ends[i / 2][1 - i % 2];
				if (here == SIZE_MAX || other == SIZE_MAX ||
				    g->members[here].distance >= 0 ||
				    g->members[other].distance < 0)
					continue;
				int distance = g->members[other].distance + 1;
				if (pass == 0)
					nearest = distance < nearest ? distance : nearest;
				else if (distance == nearest)
					g->members[here].distance = distance, found = true;
			}
	}
}

static void place_switches(struct grouping *g, const struct diagram_node *nodes, size_t node_count)
{
	struct topology_groups *groups = &g->groups;
	find_distances(g);
	for (size_t n = 0; n < node_count; n++) {
		struct member *member = &g->members[find(g, nodes[n].name)];
		if (in_machine(g, (size_t)(member - g->members)))
			continue;
		int row = member->distance > 0 ? member->distance - 1 : 0;
		const char *key = arena_printf(g->arena, "%s|%s",
					       member->node->detail ? member->node->detail : "",
					       pattern(g->arena, nodes[n].name));
		size_t at = 0;
		while (at < groups->switches.count &&
		       strcmp(groups->switches.items[at].key, key) != 0)
			at++;
		if (at == groups->switches.count)
			*VEC_PUSH(g->arena, &groups->switches) =
				(struct topology_part){.key = key,
						       .name = nodes[n].name,
						       .detail = nodes[n].detail,
						       .row = row};
		struct topology_part *all = &groups->switches.items[at];
		if (++all->count > 1)
			all->name = pattern(g->arena, nodes[n].name);
		all->row = row < all->row ? row : all->row;
		member->place = (struct place){-1, (int)at};
	}
	for (size_t i = 0; i < groups->switches.count; i++)
		groups->levels = groups->switches.items[i].row >= groups->levels
					 ? groups->switches.items[i].row + 1
					 : groups->levels;
}

/* ---- links ---- */

static struct topology_part *part_of(struct topology_groups *groups, struct place place)
{
	return place.kind < 0 ? &groups->switches.items[place.part]
			      : &groups->kinds.items[place.kind].parts.items[place.part];
}

static bool same_place(struct place a, struct place b)
{
	return a.kind == b.kind && a.part == b.part;
}

static struct bundle *bundle_at(struct grouping *g, struct place a, struct place b)
{
	for (size_t i = 0; i < g->groups.bundles.count; i++) {
		struct bundle *bundle = &g->groups.bundles.items[i];
		if ((same_place(bundle->ends[0], a) && same_place(bundle->ends[1], b)) ||
		    (same_place(bundle->ends[0], b) && same_place(bundle->ends[1], a)))
			return bundle;
	}
	struct bundle *bundle = VEC_PUSH(g->arena, &g->groups.bundles);
	*bundle = (struct bundle){.ends = {a, b}, .use = NAN};
	return bundle;
}

static void bundle_add(struct bundle *bundle, const struct diagram_link *link, double count)
{
	size_t at = 0;
	const char *detail = link->detail ? link->detail : "";
	while (at < bundle->line_count && (strcmp(bundle->lines[at].kind, link->kind) != 0 ||
					   strcmp(bundle->lines[at].detail, detail) != 0))
		at++;
	if (at == BUNDLE_LINES)
		return; /* the tables of a report have all links */
	if (at == bundle->line_count)
		bundle->lines[bundle->line_count++] =
			(struct bundle_line){.kind = link->kind, .detail = detail};
	bundle->lines[at].count += count;
}

/* Returns the place of the cables that connect machines without a switch. */
static struct place cables(struct grouping *g)
{
	static const char key[] = "cables";
	struct topology_groups *groups = &g->groups;
	size_t at = 0;
	while (at < groups->switches.count && strcmp(groups->switches.items[at].key, key) != 0)
		at++;
	if (at == groups->switches.count)
		*VEC_PUSH(g->arena, &groups->switches) =
			(struct topology_part){.key = key, .name = "direct cables", .count = 1};
	groups->levels = groups->levels > 0 ? groups->levels : 1;
	return (struct place){-1, (int)at};
}

static void add_link(struct grouping *g, const struct diagram_link *link, struct place a,
		     struct place b)
{
	struct topology_groups *groups = &g->groups;
	struct bundle *bundle = bundle_at(g, a, b);
	int kind = a.kind >= 0 ? a.kind : b.kind;
	double machines = kind < 0 ? 1 : groups->kinds.items[kind].count;
	bundle_add(bundle, link, (link->copies > 0 ? link->copies : 1) / machines);
	for (int way = 0; way < 2; way++) {
		bundle->use = fmax(bundle->use, link->utilization[way]);
		bundle->used |= link->utilization[way] > 0;
	}
	bundle->used |= link->path;
	part_of(groups, a)->used |= bundle->used;
	part_of(groups, b)->used |= bundle->used;
}

static void bundle_links(struct grouping *g)
{
	for (size_t i = 0; i < g->link_count; i++) {
		const size_t *ends = g->ends[i];
		if (ends[0] == SIZE_MAX || ends[1] == SIZE_MAX)
			continue;
		struct place a = g->members[ends[0]].place, b = g->members[ends[1]].place;
		if (a.kind >= 0 && b.kind >= 0 && first_of(g, ends[0]) != first_of(g, ends[1])) {
			add_link(g, &g->links[i], a, cables(g));
			add_link(g, &g->links[i], b, cables(g));
		} else {
			add_link(g, &g->links[i], a, b);
		}
	}
}

/* Puts the parts of a machine into rows by their distance from the host, each below the first part
 * that links to it. */
static void find_rows(struct topology_groups *groups, int index)
{
	struct machine_kind *kind = &groups->kinds.items[index];
	bool more = kind->parts.count > 0;
	if (more)
		kind->parts.items[0].row = 0;
	for (int row = 0; more; row++) {
		more = false;
		for (size_t i = 0; i < 2 * groups->bundles.count; i++) {
			const struct bundle *bundle = &groups->bundles.items[i / 2];
			struct place from = bundle->ends[i % 2], to = bundle->ends[1 - i % 2];
			if (from.kind != index || to.kind != index ||
			    kind->parts.items[from.part].row != row ||
			    kind->parts.items[to.part].row >= 0)
				continue;
			kind->parts.items[to.part].row = row + 1;
			kind->parts.items[to.part].parent = from.part;
			more = true;
		}
		kind->rows = row;
	}
	for (size_t i = 0; i < kind->parts.count; i++)
		if (kind->parts.items[i].row < 0) {
			kind->parts.items[i].row = 1;
			kind->parts.items[i].parent = 0;
			kind->rows = kind->rows > 1 ? kind->rows : 1;
		}
}

struct topology_groups topology_group(struct arena *arena, const struct diagram_node *nodes,
				      size_t node_count, const struct diagram_link *links,
				      size_t link_count)
{
	struct grouping g = {
		.arena = arena, .count = node_count, .links = links, .link_count = link_count};
	g.members = ARENA_ARRAY(arena, node_count + 1, struct member);
	g.ends = arena_array(arena, link_count + 1, sizeof *g.ends);
	for (size_t i = 0; i < node_count; i++)
		g.members[i] = (struct member){.node = &nodes[i], .copies = 1, .distance = -1};
	qsort(g.members, node_count, sizeof *g.members, by_name);
	for (size_t i = 0; i < node_count; i++) {
		g.members[i].over = i;
		g.members[i].host = is_host(g.members[i].node);
	}
	for (size_t i = 0; i < link_count; i++)
		for (int end = 0; end < 2; end++)
			g.ends[i][end] = find(&g, links[i].ends[end]);
	find_machines(&g);
	for (size_t i = 0; i < link_count; i++)
		if (!links[i].network && g.ends[i][0] != SIZE_MAX && links[i].copies > 1)
			g.members[first_of(&g, g.ends[i][0])].copies =
				fmax(g.members[first_of(&g, g.ends[i][0])].copies, links[i].copies);
	place_machines(&g, nodes, node_count);
	place_switches(&g, nodes, node_count);
	bundle_links(&g);
	for (size_t k = 0; k < g.groups.kinds.count; k++)
		find_rows(&g.groups, (int)k);
	return g.groups;
}
