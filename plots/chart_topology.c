/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The topology diagram. Each kind of machine is one box with its number. Its parts are in rows by
 * their distance from the host. The switches of the network are bars below the machines, one row
 * for each distance from them. Lines stand for bundles of links; those that carry something in the
 * run are thick and coloured, so that they show the path of a program. */
#include <math.h>
#include <string.h>

#include "plots/style.h"
#include "plots/topology_groups.h"
#include "sim/base/arena.h"
#include "sim/base/units.h"

static const double slot_least = 118, slot_most = 190, box_gap = 16, box_pad = 7;
static const double header_height = 50, part_height = 28, row_gap = 36;
static const double bar_height = 26, port_gap = 52, level_gap = 48;
static const double label_size = FONT_SMALL - 0.5, label_pitch = 8.5;

enum { LABEL_LINES = 4, NOTES_MAX = 12 };

struct layout {
	struct arena *arena;
	struct drawing *drawing;
	struct topology_groups groups;
	double top, bottom, width; /* of the machines; of the drawing */
	double slot_width;         /* column of parts in a machine */
	bool simulated;
	const char *notes[NOTES_MAX]; /* links that have no line */
	size_t note_count;
};

/* ---- texts ---- */

static const char *named(struct arena *arena, const struct topology_part *part)
{
	if (fabs(part->count - 1) < 1e-6)
		return part->name;
	char *text = arena_strdup(arena, part->name);
	size_t length = strlen(text);
	while (length > 1 && strchr("0123456789.-_", text[length - 1]))
		text[--length] = '\0';
	return arena_printf(arena, "%s × %s", number_format(arena, 4, part->count), text);
}

static const char *bundle_text(struct arena *arena, const struct bundle *bundle)
{
	const char *text = "";
	for (size_t i = 0; i < bundle->line_count; i++) {
		const struct bundle_line *line = &bundle->lines[i];
		const char *count = fabs(line->count - 1) < 1e-6
					    ? ""
					    : arena_printf(arena, "%s × ",
							   number_format(arena, 3, line->count));
		text = arena_printf(arena, "%s%s%s%s%s%s", text, i ? "; " : "", count, line->kind,
				    *line->detail ? " " : "", line->detail);
	}
	if (bundle->use > 0)
		text = arena_printf(arena, "%s, %s%s %% used", text, bundle->use < 0.001 ? "<" : "",
				    number_format(arena, 2, fmax(100 * bundle->use, 0.1)));
	return text;
}

static void draw_label(const struct layout *layout, double x, double y, double width,
		       enum text_anchor anchor, const struct paint *plate, const char *text)
{
	const char *lines[LABEL_LINES];
	size_t count = text_wrap(layout->arena, text, label_size, false, width, LABEL_LINES, lines);
	double top = y - label_pitch * (double)count / 2, widest = 0;
	for (size_t i = 0; i < count; i++)
		widest = fmax(widest, text_width(lines[i], label_size, false));
	if (plate)
		draw_rectangle(layout->drawing,
			       anchor == ANCHOR_MIDDLE ? x - widest / 2 - 2 : x - 1, top - 0.5,
			       widest + 4, label_pitch * (double)count + 1, *plate);
	for (size_t i = 0; i < count; i++)
		draw_text(layout->drawing, x, top + label_pitch * ((double)i + 0.8), label_size,
			  anchor, ink, false, lines[i]);
}

/* ---- places ---- */

static bool has_port(const struct layout *layout, int kind, int part)
{
	for (size_t i = 0; i < layout->groups.bundles.count; i++)
		for (int end = 0; end < 2; end++) {
			const struct bundle *bundle = &layout->groups.bundles.items[i];
			if (bundle->ends[end].kind == kind && bundle->ends[end].part == part &&
			    (bundle->ends[1 - end].kind != kind))
				return true;
		}
	return false;
}

/* Places a part and those below it from x on, and returns the width that they take. A part with a
 * port and others below it has a column for the port's line. */
static double place_part(const struct layout *layout, int index, int part, double x)
{
	struct machine_kind *kind = &layout->groups.kinds.items[index];
	struct topology_part *own = &kind->parts.items[part];
	double width = 0;
	for (size_t i = 0; i < kind->parts.count; i++)
		if (kind->parts.items[i].parent == part && (int)i != part)
			width += place_part(layout, index, (int)i, x + width);
	bool port = has_port(layout, index, part);
	own->port_x = width > 0 ? x + width + layout->slot_width / 2 : x + layout->slot_width / 2;
	if (port || width == 0)
		width += layout->slot_width;
	own->x = x + (width -
		      (port && width > layout->slot_width && part > 0 ? layout->slot_width : 0)) /
			     2;
	own->width = fmin(width - 2 * box_pad, 150);
	own->y = layout->top + (own->row == 0 ? 0
					      : header_height + row_gap * own->row +
							part_height * (own->row - 1));
	return width;
}

static void place_machines(struct layout *layout, double y)
{
	double x = CHART_MARGIN, slots = 0, count = (double)layout->groups.kinds.count;
	layout->top = layout->bottom = y;
	layout->slot_width = 1;
	for (size_t k = 0; k < layout->groups.kinds.count; k++)
		slots += place_part(layout, (int)k, 0, x);
	double room = CHART_WIDTH - 2 * CHART_MARGIN - box_gap * (count - 1);
	layout->slot_width = fmin(fmax(room / fmax(slots, 1), slot_least), slot_most);
	for (size_t k = 0; k < layout->groups.kinds.count; k++) {
		struct machine_kind *kind = &layout->groups.kinds.items[k];
		kind->x = x;
		kind->width = place_part(layout, (int)k, 0, x);
		kind->height = header_height + kind->rows * (row_gap + part_height) +
			       (kind->rows ? box_pad : 0);
		layout->bottom = fmax(layout->bottom, y + kind->height);
		x += kind->width + box_gap;
	}
	layout->width = fmax(CHART_WIDTH, x - box_gap + CHART_MARGIN);
}

/* Returns where a bundle leaves a machine, or the middle of a bar. */
static double port_x(const struct layout *layout, struct place place)
{
	if (place.kind >= 0)
		return layout->groups.kinds.items[place.kind].parts.items[place.part].port_x;
	const struct topology_part *bar = &layout->groups.switches.items[place.part];
	return bar->high_x > bar->low_x ? (bar->low_x + bar->high_x) / 2 : NAN;
}

/* Widens the bar over its links to machines; without any, over its links to other bars. */
static void span_bar(const struct layout *layout, int index)
{
	struct topology_part *bar = &layout->groups.switches.items[index];
	double low = INFINITY, high = -INFINITY;
	for (int bars = 0; bars < 2 && low > high; bars++)
		for (size_t i = 0; i < 2 * layout->groups.bundles.count; i++) {
			const struct bundle *bundle = &layout->groups.bundles.items[i / 2];
			struct place here = bundle->ends[i % 2], other = bundle->ends[1 - i % 2];
			double x = port_x(layout, other);
			if (here.kind >= 0 || here.part != index || (other.kind < 0) != bars ||
			    isnan(x))
				continue;
			low = fmin(low, x);
			high = fmax(high, x);
		}
	if (low > high)
		low = high = CHART_MARGIN + layout->slot_width / 2;
	double least = text_width(named(layout->arena, bar), FONT_TEXT, true) + 20;
	double half = fmax((high - low) / 2 + 26, fmax(least, layout->slot_width) / 2);
	double middle = (low + high) / 2;
	middle = fmax(middle, CHART_MARGIN + half);
	bar->low_x = middle - half;
	bar->high_x = middle + half;
	bar->x = middle;
	bar->width = 2 * half;
}

/* Puts bars of the same distance side by side where they fit, and otherwise below each other. */
static double place_bars(struct layout *layout)
{
	double y = layout->bottom + port_gap;
	size_t count = layout->groups.switches.count;
	for (int level = 0; level < layout->groups.levels; level++) {
		double lowest = y;
		for (size_t i = 0; i < count; i++) {
			struct topology_part *bar = &layout->groups.switches.items[i];
			if (bar->row != level)
				continue;
			span_bar(layout, (int)i);
			bar->y = y;
			for (size_t k = 0; k < i; k++) {
				const struct topology_part *other =
					&layout->groups.switches.items[k];
				if (other->row == level && other->y == bar->y &&
				    bar->low_x < other->high_x + box_gap &&
				    bar->high_x > other->low_x - box_gap) {
					bar->y += bar_height + level_gap / 2;
					k = (size_t)-1; /* compares with all again */
				}
			}
			lowest = fmax(lowest, bar->y + bar_height);
		}
		y = lowest + level_gap;
	}
	return count ? y - level_gap : layout->bottom;
}

/* ---- lines ---- */

static void draw_link(const struct layout *layout, const struct bundle *bundle, double x1,
		      double y1, double x2, double y2)
{
	draw_line(layout->drawing, x1, y1, x2, y2, bundle->used ? hue(HUE_VERMILLION) : ink_soft,
		  bundle->used ? 2.6 : 1.1, DASH_SOLID);
}

static void note(struct layout *layout, const char *a, const char *b, const struct bundle *bundle)
{
	if (layout->note_count < NOTES_MAX)
		layout->notes[layout->note_count++] = arena_printf(
			layout->arena, "%s to %s: %s", a, b, bundle_text(layout->arena, bundle));
}

/* Draws a bundle within a machine: a line to the part below. */
static void draw_inner(struct layout *layout, const struct bundle *bundle)
{
	struct machine_kind *kind = &layout->groups.kinds.items[bundle->ends[0].kind];
	struct topology_part *a = &kind->parts.items[bundle->ends[0].part];
	struct topology_part *b = &kind->parts.items[bundle->ends[1].part];
	if (a == b)
		return; /* the text of the part has it */
	if (a->row > b->row) {
		struct topology_part *upper = b;
		b = a;
		a = upper;
	}
	double y1 = a->y + (a->row == 0 ? header_height : part_height);
	if (b->parent != (int)(a - kind->parts.items)) {
		/* behind the boxes; the text is below the diagram */
		draw_link(layout, bundle, a->x, a->y + part_height / 2, b->x,
			  b->y + part_height / 2);
		note(layout, named(layout->arena, a), named(layout->arena, b), bundle);
		return;
	}
	draw_link(layout, bundle, a->row == 0 ? b->x : a->x, y1, b->x, b->y);
	draw_label(layout, b->x, b->y - row_gap / 2, layout->slot_width - 4, ANCHOR_MIDDLE,
		   &ink_panel, bundle_text(layout->arena, bundle));
}

/* Draws a bundle from a machine to the network. */
static void draw_port(const struct layout *layout, const struct bundle *bundle, struct place from,
		      struct place to)
{
	const struct topology_part *part =
		&layout->groups.kinds.items[from.kind].parts.items[from.part];
	const struct topology_part *bar = &layout->groups.switches.items[to.part];
	double y = part->y + (part->row == 0 ? header_height : part_height);
	double from_x =
		part->row == 0 ? part->port_x : fmin(part->port_x, part->x + part->width / 2 - 6);
	double bend = part->port_x > from_x ? 12 : 0; /* around the parts below */
	if (bend > 0)
		draw_link(layout, bundle, from_x, y - 3, part->port_x, y + bend);
	draw_link(layout, bundle, part->port_x, y + bend, part->port_x, bar->y);
}

/* Writes one text for all bundles from a part to the network. */
static void label_port(const struct layout *layout, const struct bundle *bundle, struct place from)
{
	const struct topology_part *part =
		&layout->groups.kinds.items[from.kind].parts.items[from.part];
	const char *text = "";
	for (size_t i = 0; i < layout->groups.bundles.count; i++) {
		const struct bundle *other = &layout->groups.bundles.items[i];
		bool first = other->ends[0].kind < 0;
		struct place end = other->ends[first], network = other->ends[!first];
		if (end.kind != from.kind || end.part != from.part || network.kind >= 0)
			continue;
		if (!*text && other != bundle)
			return; /* the first bundle has the text of all */
		text = arena_printf(layout->arena, "%s%s%s", text, *text ? "; " : "",
				    bundle_text(layout->arena, other));
	}
	draw_label(layout, part->port_x, layout->bottom + port_gap / 2, layout->slot_width - 6,
		   ANCHOR_MIDDLE, &ink_paper, text);
}

/* Draws a bundle between two bars. */
static void draw_trunk(struct layout *layout, const struct bundle *bundle)
{
	const struct topology_part *a = &layout->groups.switches.items[bundle->ends[0].part];
	const struct topology_part *b = &layout->groups.switches.items[bundle->ends[1].part];
	if (a->y > b->y) {
		const struct topology_part *upper = b;
		b = a;
		a = upper;
	}
	if (a == b) {
		note(layout, named(layout->arena, a), "each other", bundle);
		return;
	}
	if (a->y == b->y) {
		bool right = b->x > a->x;
		double x1 = right ? a->high_x : a->low_x, x2 = right ? b->low_x : b->high_x;
		draw_link(layout, bundle, x1, a->y + bar_height / 2, x2, a->y + bar_height / 2);
		draw_label(layout, (x1 + x2) / 2, a->y + bar_height + 10,
			   fmax(fabs(x2 - x1), layout->slot_width), ANCHOR_MIDDLE, NULL,
			   bundle_text(layout->arena, bundle));
		return;
	}
	double low = fmax(a->low_x, b->low_x), high = fmin(a->high_x, b->high_x);
	double x1 = low < high ? (low + high) / 2 : a->x, x2 = low < high ? x1 : b->x;
	draw_link(layout, bundle, x1, a->y + bar_height, x2, b->y);
	draw_label(layout, (x1 + x2) / 2, (a->y + bar_height + b->y) / 2, 2 * slot_least,
		   ANCHOR_MIDDLE, &ink_paper, bundle_text(layout->arena, bundle));
}

static void draw_bundles(struct layout *layout, bool labels)
{
	for (size_t i = 0; i < layout->groups.bundles.count; i++) {
		const struct bundle *bundle = &layout->groups.bundles.items[i];
		struct place a = bundle->ends[0], b = bundle->ends[1];
		layout->simulated |= bundle->used;
		if (a.kind >= 0 && b.kind >= 0 && a.kind == b.kind) {
			if (!labels)
				draw_inner(layout, bundle);
		} else if (a.kind < 0 && b.kind < 0) {
			if (!labels)
				draw_trunk(layout, bundle);
		} else if (a.kind < 0 || b.kind < 0) {
			struct place from = a.kind < 0 ? b : a, to = a.kind < 0 ? a : b;
			if (labels)
				label_port(layout, bundle, from);
			else
				draw_port(layout, bundle, from, to);
		}
	}
}

/* ---- boxes ---- */

static struct paint edge_of(const struct topology_part *part)
{
	return part->used ? hue(HUE_VERMILLION) : ink_soft;
}

static void draw_header(const struct layout *layout, const struct machine_kind *kind)
{
	const struct topology_part *host = &kind->parts.items[0];
	double x = kind->x + 9, width = kind->width - 18;
	draw_box(layout->drawing, kind->x, layout->top, kind->width, kind->height, 6, ink_panel,
		 ink_soft, 0.9);
	draw_box(layout->drawing, kind->x, layout->top, kind->width, header_height, 6,
		 (struct paint){0xE3E7EA, 1}, edge_of(host), host->used ? 1.6 : 0.9);
	const char *title =
		kind->count == 1
			? kind->name
			: arena_printf(layout->arena, "%s × %s",
				       number_format(layout->arena, 5, kind->count), kind->name);
	const char *const lines[] = {title, host->role, host->detail};
	double y = layout->top + 3;
	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
		double size = i == 0 ? FONT_TEXT + 1 : FONT_SMALL;
		if (!lines[i])
			continue;
		y += 13.5;
		draw_text(layout->drawing, x, y, size, ANCHOR_START, i < 2 ? ink : ink_soft, i < 2,
			  text_fit(layout->arena, lines[i], size, i < 2, width));
	}
}

/* Returns the links between the members of a part, or NULL. */
static const char *links_within(const struct layout *layout, int index, int part)
{
	for (size_t i = 0; i < layout->groups.bundles.count; i++) {
		const struct bundle *bundle = &layout->groups.bundles.items[i];
		if (bundle->ends[0].kind == index && bundle->ends[1].kind == index &&
		    bundle->ends[0].part == part && bundle->ends[1].part == part)
			return bundle_text(layout->arena, bundle);
	}
	return NULL;
}

static void draw_part(const struct layout *layout, const struct topology_part *part, double y,
		      double height, const char *title, const char *second)
{
	struct paint fill =
		part->row >= 0 && part->parent == -1 ? (struct paint){0xFFF6E5, 1} : ink_paper;
	draw_box(layout->drawing, part->x - part->width / 2, y, part->width, height, 4, fill,
		 edge_of(part), part->used ? 1.8 : 0.9);
	if (part->role)
		title = arena_printf(layout->arena, "%s: %s", title, part->role);
	draw_text(layout->drawing, part->x, y + (second ? height / 2 - 2 : height / 2 + 3),
		  FONT_SMALL, ANCHOR_MIDDLE, ink, true,
		  text_fit(layout->arena, title, FONT_SMALL, true, part->width - 6));
	if (second)
		draw_text(layout->drawing, part->x, y + height / 2 + 7.5, label_size, ANCHOR_MIDDLE,
			  ink_soft, false,
			  text_fit(layout->arena, second, label_size, false, part->width - 6));
}

static void draw_boxes(const struct layout *layout)
{
	for (size_t k = 0; k < layout->groups.kinds.count; k++)
		for (size_t i = 1; i < layout->groups.kinds.items[k].parts.count; i++) {
			const struct topology_part *part =
				&layout->groups.kinds.items[k].parts.items[i];
			const char *title = named(layout->arena, part);
			const char *links = links_within(layout, (int)k, (int)i);
			if (links && part->detail)
				title = arena_printf(layout->arena, "%s, %s", title, part->detail);
			draw_part(layout, part, part->y, part_height, title,
				  links ? links : part->detail);
		}
	for (size_t i = 0; i < layout->groups.switches.count; i++) {
		const struct topology_part *bar = &layout->groups.switches.items[i];
		draw_part(layout, bar, bar->y, bar_height, named(layout->arena, bar), bar->detail);
	}
}

/* ---- the whole chart ---- */

static double draw_key(const struct layout *layout, double y)
{
	struct legend legend = legend_begin(layout->drawing, y);
	if (!layout->simulated)
		return y;
	legend_add(&legend, LEGEND_LINE, (struct look){.paint = hue(HUE_VERMILLION)},
		   "used by this case");
	legend_add(&legend, LEGEND_LINE, (struct look){.paint = ink_soft}, "not used");
	return legend_end(&legend);
}

struct drawing *chart_topology(struct arena *arena, struct chart_text text,
			       const struct diagram_node *nodes, size_t node_count,
			       const struct diagram_link *links, size_t link_count)
{
	struct layout layout = {.arena = arena};
	if (node_count == 0)
		return chart_empty(arena, text, "this topology has no nodes");
	layout.groups = topology_group(arena, nodes, node_count, links, link_count);
	place_machines(&layout, 0);
	double y = chart_begin(arena, text, layout.width, &layout.drawing);
	place_machines(&layout, y + 4);
	double bottom = place_bars(&layout);
	for (size_t k = 0; k < layout.groups.kinds.count; k++)
		draw_header(&layout, &layout.groups.kinds.items[k]);
	draw_bundles(&layout, false);
	draw_bundles(&layout, true);
	draw_boxes(&layout);
	y = draw_key(&layout, bottom + 22);
	for (size_t i = 0; i < layout.note_count; i++, y += 11)
		draw_text(layout.drawing, CHART_MARGIN, y + 8, FONT_SMALL, ANCHOR_START, ink, false,
			  text_fit(arena, layout.notes[i], FONT_SMALL, false,
				   layout.width - 2 * CHART_MARGIN));
	return chart_end(layout.drawing, text, y);
}
