/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The topology diagram: a row for each kind of connection, first those inside of machines, then the
 * network. Links with the same text between nodes of the same name but for numbers, kind, detail
 * and role are one row with their number: the links of eight GPUs to a switch are one row. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plots/style.h"
#include "sim/base/arena.h"
#include "sim/base/units.h"
#include "sim/base/vec.h"

static const double box_width = 190, box_height = 28, pitch = 38, heading_height = 22;
static const size_t none = SIZE_MAX;

struct chart_group { /* nodes that are drawn as one box */
	const char *pattern;
	const struct diagram_node *first;
	double count; /* with those that a node represents */
};

struct chart_node {
	const struct diagram_node *own;
	size_t group;
	double copies; /* nodes that it represents, as each of its links does; 0: it has no link */
};

struct link_bundle {                      /* links that are drawn as one row */
	size_t ends[2];                   /* groups; the second may be none */
	const struct diagram_link *first; /* NULL: the nodes are parts of the other ones */
	double count, use;                /* highest utilisation; NaN: not simulated */
	bool used;                        /* the run sent something over a link of it */
};

struct diagram {
	struct arena *arena;
	struct drawing *drawing;
	struct chart_node *nodes; /* by name */
	size_t node_count;
	VEC(struct chart_group) groups;
	VEC(struct link_bundle) bundles;
};

/* ---- groups ---- */

static int by_name(const void *a, const void *b)
{
	const struct chart_node *x = a, *y = b;
	return strcmp(x->own->name, y->own->name);
}

static struct chart_node *find(const struct diagram *d, const char *name)
{
	const struct chart_node wanted = {.own = &(struct diagram_node){.name = name}};
	return name ? bsearch(&wanted, d->nodes, d->node_count, sizeof wanted, by_name) : NULL;
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

static bool same_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

static size_t group_of(struct diagram *d, const struct diagram_node *node)
{
	const char *name = pattern(d->arena, node->name);
	size_t i = 0;
	for (; i < d->groups.count; i++) {
		const struct diagram_node *other = d->groups.items[i].first;
		if (strcmp(d->groups.items[i].pattern, name) == 0 &&
		    same_text(other->kind, node->kind) && same_text(other->detail, node->detail) &&
		    same_text(other->role, node->role))
			break;
	}
	if (i == d->groups.count)
		*VEC_PUSH(d->arena, &d->groups) = (struct chart_group){name, node, 0};
	return i;
}

/* Adds a link of these groups to the bundle of equal links; link NULL: a node is a part of another
 * one, or has no links. */
static void add_link(struct diagram *d, const struct diagram_link *link, size_t a, size_t b)
{
	size_t low = a < b ? a : b, high = a < b ? b : a, i = 0;
	for (; i < d->bundles.count; i++) {
		const struct link_bundle *other = &d->bundles.items[i];
		if (other->ends[0] == low && other->ends[1] == high && !other->first == !link &&
		    (!link || (same_text(other->first->kind, link->kind) &&
			       same_text(other->first->detail, link->detail))))
			break;
	}
	if (i == d->bundles.count)
		*VEC_PUSH(d->arena, &d->bundles) =
			(struct link_bundle){{low, high}, link, .use = NAN};
	if (!link)
		return;
	struct link_bundle *bundle = &d->bundles.items[i];
	bundle->count += fmax(link->copies, 1);
	bundle->used |= link->utilization[0] > 0 || link->utilization[1] > 0;
	bundle->use = fmax(bundle->use, fmax(link->utilization[0], link->utilization[1]));
}

static void find_bundles(struct diagram *d, const struct diagram_link *links, size_t link_count)
{
	for (size_t i = 0; i < link_count; i++) {
		struct chart_node *a = find(d, links[i].ends[0]), *b = find(d, links[i].ends[1]);
		if (!a || !b)
			continue;
		double copies = fmax(links[i].copies, 1);
		a->copies = a->copies > 0 ? fmin(a->copies, copies) : copies;
		b->copies = b->copies > 0 ? fmin(b->copies, copies) : copies;
		add_link(d, &links[i], a->group, b->group);
	}
	for (size_t i = 0; i < d->node_count; i++) {
		const struct chart_node *node = &d->nodes[i], *inside = find(d, node->own->inside);
		if (inside && (node->copies == 0 || strcmp(node->own->kind, "guest") == 0))
			add_link(d, NULL, node->group, inside->group);
		else if (node->copies == 0)
			add_link(d, NULL, node->group, none);
		d->groups.items[node->group].count += fmax(node->copies, 1);
	}
}

/* ---- drawing ---- */

/* Returns for example "8 × ", or "" for one. */
static const char *times(struct arena *arena, double count)
{
	return count > 1 ? arena_printf(arena, "%s × ", number_format(arena, 5, count)) : "";
}

static void draw_end(const struct diagram *d, const struct link_bundle *bundle, int end, double x,
		     double y)
{
	const struct chart_group *group = &d->groups.items[bundle->ends[end]];
	const char *name = arena_printf(d->arena, "%s%s", times(d->arena, group->count),
					group->count > 1 ? group->pattern : group->first->name);
	const char *detail = group->first->detail, *role = group->first->role;
	double middle = y + box_height / 2;
	bool network = same_text(group->first->kind, "switch");
	draw_box(d->drawing, x, y, box_width, box_height, 4,
		 network ? (struct paint){0xFFF6E5, 1} : ink_panel,
		 bundle->used ? hue(HUE_VERMILLION) : ink_soft, bundle->used ? 1.8 : 0.9);
	if (role)
		name = arena_printf(d->arena, "%s: %s", name, role);
	draw_text(d->drawing, x + 8, middle + (detail ? -1.5 : 3), FONT_TEXT, ANCHOR_START, ink,
		  true, text_fit(d->arena, name, FONT_TEXT, true, box_width - 14));
	if (detail)
		draw_text(d->drawing, x + 8, middle + 9, FONT_SMALL, ANCHOR_START, ink_soft, false,
			  text_fit(d->arena, detail, FONT_SMALL, false, box_width - 14));
}

/* Returns for example "8 × pcie 31.5 GB/s, 0.5 us, 25 % used". */
static const char *bundle_text(struct arena *arena, const struct link_bundle *bundle)
{
	if (!bundle->first)
		return "part of";
	const char *detail = bundle->first->detail;
	const char *text = arena_printf(arena, "%s%s%s", bundle->first->kind, detail ? " " : "",
					detail ? detail : "");
	if (bundle->count > 1)
		text = arena_printf(arena, "%s × %s", number_format(arena, 5, bundle->count), text);
	if (bundle->use > 0)
		text = arena_printf(arena, "%s, %s%s %% used", text, bundle->use < 0.001 ? "<" : "",
				    number_format(arena, 2, fmax(100 * bundle->use, 0.1)));
	return text;
}

static void draw_row(const struct diagram *d, const struct link_bundle *bundle, double y)
{
	const double left = CHART_MARGIN, right = CHART_WIDTH - CHART_MARGIN - box_width;
	const double from = left + box_width, middle = y + box_height / 2;
	const char *lines[2];
	draw_end(d, bundle, 0, left, y);
	if (bundle->ends[1] == none)
		return;
	draw_end(d, bundle, 1, right, y);
	draw_line(d->drawing, from, middle, right, middle,
		  bundle->used ? hue(HUE_VERMILLION) : ink_soft, bundle->used ? 2.6 : 1.1,
		  bundle->first ? DASH_SOLID : DASH_DOT);
	size_t count = text_wrap(d->arena, bundle_text(d->arena, bundle), FONT_SMALL, false,
				 right - from - 12, 2, lines);
	for (size_t i = 0; i < count; i++)
		draw_text(d->drawing, (from + right) / 2, middle + (i ? 10 : -4), FONT_SMALL,
			  ANCHOR_MIDDLE, ink, false, lines[i]);
}

static double draw_key(const struct diagram *d, double y)
{
	bool simulated = false;
	for (size_t i = 0; i < d->bundles.count; i++)
		simulated |= d->bundles.items[i].used;
	if (!simulated)
		return y;
	struct legend legend = legend_begin(d->drawing, y);
	legend_add(&legend, LEGEND_LINE, (struct look){.paint = hue(HUE_VERMILLION)},
		   "used by this case");
	legend_add(&legend, LEGEND_LINE, (struct look){.paint = ink_soft}, "not used");
	return legend_end(&legend);
}

struct drawing *chart_topology(struct arena *arena, struct chart_text text,
			       const struct diagram_node *nodes, size_t node_count,
			       const struct diagram_link *links, size_t link_count)
{
	static const char *const headings[] = {"In machines", "Network"};
	struct diagram d = {.arena = arena, .node_count = node_count};
	if (node_count == 0)
		return chart_empty(arena, text, "this topology has no nodes");
	d.nodes = ARENA_ARRAY(arena, node_count, struct chart_node);
	for (size_t i = 0; i < node_count; i++)
		d.nodes[i] = (struct chart_node){&nodes[i], group_of(&d, &nodes[i]), 0};
	qsort(d.nodes, node_count, sizeof *d.nodes, by_name);
	find_bundles(&d, links, link_count);
	double y = draw_key(&d, chart_begin(arena, text, CHART_WIDTH, &d.drawing));
	for (int network = 0; network < 2; network++) {
		double heading = y;
		for (size_t i = 0; i < d.bundles.count; i++) {
			const struct link_bundle *bundle = &d.bundles.items[i];
			if ((bundle->first && bundle->first->network) != network)
				continue;
			y += y == heading ? heading_height : 0;
			draw_row(&d, bundle, y);
			y += pitch;
		}
		if (y > heading)
			draw_text(d.drawing, CHART_MARGIN, heading + 14, FONT_TEXT, ANCHOR_START,
				  ink_soft, true, headings[network]);
	}
	return chart_end(d.drawing, text, y);
}
