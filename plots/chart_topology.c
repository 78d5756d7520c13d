/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The topology diagram. A simulated link has two strokes, one per direction, as wide as its
 * utilisation, with an arrow head and the percentage in its label. Other links are single thin
 * lines. A label is drawn only where it covers nothing. Links without room for a label are listed
 * below the diagram, with equal ones in one line. */
#include <math.h>
#include <string.h>

#include "plots/style.h"
#include "plots/topology_plan.h"
#include "sim/base/arena.h"

static const double label_size = FONT_SMALL - 0.5, label_pitch = 9;

enum { KINDS_MAX = 12, LABEL_LINES_MAX = 5, GROUPS_MAX = 24 };

struct layout {
	struct arena *arena;
	struct drawing *drawing;
	struct plan plan;
	const char *kinds[KINDS_MAX];
	size_t kind_count;
	bool *labelled; /* for each link: the diagram shows its name and detail */
};

/* ---- looks ---- */

static struct look kind_look(const struct layout *layout, const char *kind)
{
	static const int hues[] = {HUE_BLUE,   HUE_GREEN,  HUE_VERMILLION,
				   HUE_PURPLE, HUE_ORANGE, HUE_SKY};
	static const enum dash dashes[] = {DASH_SOLID, DASH_LONG, DASH_SHORT, DASH_DOT};
	size_t index = 0;
	while (index < layout->kind_count && strcmp(layout->kinds[index], kind) != 0)
		index++;
	return (struct look){.paint = hue(hues[index % 6]), .dash = dashes[index % 4]};
}

static bool simulated(const struct diagram_link *link)
{
	return isfinite(link->utilization[0]) && isfinite(link->utilization[1]);
}

static double stroke_width(double utilization)
{
	return 0.9 + 4.5 * fmin(fmax(utilization, 0), 1);
}

static const char *share_text(struct arena *arena, double share)
{
	double percent = share * 100;
	return arena_printf(arena, percent > 0 && percent < 9.95 ? "%.1f %%" : "%.0f %%", percent);
}

/* ---- lines ---- */

/* Draws one direction from (x1, y1) to (x2, y2) with its arrow head at the end. */
static void draw_arrow(const struct layout *layout, double x1, double y1, double x2, double y2,
		       double utilization, struct look look)
{
	double width = stroke_width(utilization), length = hypot(x2 - x1, y2 - y1);
	if (length < 1e-6)
		return;
	double ux = (x2 - x1) / length, uy = (y2 - y1) / length;
	double head = fmin(6, length / 2), half = width / 2 + 1.6;
	double bx = x2 - ux * head, by = y2 - uy * head;
	draw_line(layout->drawing, x1, y1, bx, by, look.paint, width, look.dash);
	const double points[] = {
		x2, y2, bx - uy * half, by + ux * half, bx + uy * half, by - ux * half};
	draw_polygon(layout->drawing, points, 3, look.paint);
}

/* Returns how far a link's strokes extend to the right of (or below) its line. */
static double reach(const struct diagram_link *link)
{
	if (!simulated(link))
		return 1;
	double most = fmax(link->utilization[0], link->utilization[1]);
	return 1.5 + fmax(stroke_width(most), 3.2);
}

/* Draws a straight link from end 0 at (x1, y1) to end 1 at (x2, y2). */
static void draw_straight(const struct layout *layout, const struct diagram_link *link, double x1,
			  double y1, double x2, double y2)
{
	struct look look = kind_look(layout, link->kind);
	if (!simulated(link)) {
		draw_line(layout->drawing, x1, y1, x2, y2, look.paint, 1.4, look.dash);
		return;
	}
	double length = hypot(x2 - x1, y2 - y1);
	if (length < 1e-6)
		return;
	for (int way = 0; way < 2; way++) {
		double away = (1.1 + stroke_width(link->utilization[way]) / 2) * (way ? -1 : 1);
		double dx = -(y2 - y1) / length * away, dy = (x2 - x1) / length * away;
		if (way == 0)
			draw_arrow(layout, x1 + dx, y1 + dy, x2 + dx, y2 + dy, link->utilization[0],
				   look);
		else
			draw_arrow(layout, x2 + dx, y2 + dy, x1 + dx, y1 + dy, link->utilization[1],
				   look);
	}
}

/* Draws a link from end 0 up (or down), across at y, and back to end 1. */
static void draw_around(const struct layout *layout, const struct plan_link *link, double y1,
			double y, double y2)
{
	struct look look = kind_look(layout, link->link->kind);
	double width = 1.4;
	if (simulated(link->link))
		width = stroke_width(fmax(link->link->utilization[0], link->link->utilization[1]));
	const double points[] = {link->x[0], y1, link->x[0], y, link->x[1], y, link->x[1], y2};
	draw_polyline(layout->drawing, points, 4, look.paint, width, look.dash);
}

static double cable_y(const struct plan *plan, int level)
{
	return plan->level_top[level] + plan_bar_height / 2 + 6;
}

static double lane_y(const struct plan *plan, const struct plan_link *link)
{
	const struct plan_box *box = &plan->boxes[link->ends[0]];
	return box->y + box->height + plan->lane_pitch * link->lane + 9;
}

static void draw_link(const struct layout *layout, const struct plan_link *link)
{
	const struct plan *plan = &layout->plan;
	if (link->route == ROUTE_NONE)
		return;
	const struct plan_box *a = &plan->boxes[link->ends[0]], *b = &plan->boxes[link->ends[1]];
	switch (link->route) {
	case ROUTE_UP:
	case ROUTE_INNER: {
		bool a_above = a->y < b->y;
		draw_straight(layout, link->link, link->x[0], a_above ? a->y + a->height : a->y,
			      link->x[1], a_above ? b->y : b->y + b->height);
		break;
	}
	case ROUTE_SIDE:
		draw_straight(layout, link->link, link->x[0], a->y + a->height / 2, link->x[1],
			      b->y + b->height / 2);
		break;
	case ROUTE_CABLE:
		draw_around(layout, link, a->y, cable_y(plan, link->level), b->y);
		break;
	case ROUTE_LANE:
		draw_around(layout, link, a->y + a->height, lane_y(plan, link), b->y + b->height);
		break;
	case ROUTE_NONE:
		break;
	}
}

/* ---- boxes ---- */

static void draw_column(const struct layout *layout, const struct plan_column *column)
{
	draw_box(layout->drawing, column->x, column->y, column->width, column->height, 6, ink_panel,
		 ink_soft, 0.9);
	draw_box(layout->drawing, column->x, column->y, column->width, plan_header_height, 6,
		 (struct paint){0xE3E7EA, 1}, ink_soft, 0.9);
}

static void draw_header(const struct layout *layout, const struct plan_box *box)
{
	double x = box->x + 9, width = box->width - 18;
	bool detail = box->node->detail != NULL;
	draw_text(layout->drawing, x, box->y + (detail ? 14 : 20), FONT_TEXT, ANCHOR_START, ink,
		  true, text_fit(layout->arena, box->node->name, FONT_TEXT, true, width));
	if (detail)
		draw_text(
			layout->drawing, x, box->y + 25, FONT_SMALL - 0.5, ANCHOR_START, ink_soft,
			false,
			text_fit(layout->arena, box->node->detail, FONT_SMALL - 0.5, false, width));
}

static void draw_inner(const struct layout *layout, const struct plan_box *box)
{
	const char *kind = box->node->kind ? box->node->kind : "";
	/* kind: of a node of the diagram */
	struct paint edge = strcmp(kind, "gpu") == 0      ? hue(HUE_GREEN)
			    : strcmp(kind, "switch") == 0 ? hue(HUE_ORANGE)
							  : hue(HUE_SKY);
	double middle = box->x + box->width / 2;
	draw_box(layout->drawing, box->x, box->y, box->width, box->height, 4, ink_paper, edge, 1.2);
	draw_text(layout->drawing, middle, box->y + 12, FONT_SMALL, ANCHOR_MIDDLE, ink, true,
		  text_fit(layout->arena, box->node->name, FONT_SMALL, true, box->width - 4));
	for (size_t i = 0; i < box->detail_count; i++)
		draw_text(layout->drawing, middle, box->y + 21 + 8.5 * (double)i, FONT_SMALL - 1,
			  ANCHOR_MIDDLE, ink_soft, false, box->details[i]);
}

static void draw_bar(const struct layout *layout, const struct plan_box *box)
{
	double middle = box->x + box->width / 2, width = box->width - 10;
	bool detail = box->node->detail != NULL;
	draw_box(layout->drawing, box->x, box->y, box->width, box->height, 4,
		 (struct paint){0xFFF6E5, 1}, hue(HUE_ORANGE), 1.2);
	draw_text(layout->drawing, middle, box->y + (detail ? 13 : 18), FONT_TEXT, ANCHOR_MIDDLE,
		  ink, true, text_fit(layout->arena, box->node->name, FONT_TEXT, true, width));
	if (detail)
		draw_text(
			layout->drawing, middle, box->y + 23, FONT_SMALL - 0.5, ANCHOR_MIDDLE,
			ink_soft, false,
			text_fit(layout->arena, box->node->detail, FONT_SMALL - 0.5, false, width));
}

/* ---- labels ---- */

struct label {
	const char *lines[LABEL_LINES_MAX]; /* the first line is bold if the label is named */
	size_t count;
	bool named;
	double width;
};

static double line_width(const struct label *label, size_t line)
{
	return text_width(label->lines[line], label_size, label->named && line == 0);
}

static const char *use_text(struct arena *arena, const struct diagram_link *link, const char *there,
			    const char *back)
{
	return arena_printf(arena, "%s %s  %s %s", there, share_text(arena, link->utilization[0]),
			    back, share_text(arena, link->utilization[1]));
}

/* Returns the most complete label that fits into room and lines_max lines: name, detail and
 * utilisation; else only the utilisation in one or two lines; else an empty label (count 0). */
static struct label label_make(const struct layout *layout, const struct diagram_link *link,
			       double room, size_t lines_max, const char *there, const char *back)
{
	struct arena *arena = layout->arena;
	const char *use = simulated(link) ? use_text(arena, link, there, back) : NULL;
	struct label label = {.named = true};
	label.lines[label.count++] = link->name;
	size_t left = lines_max - 1 - (use != NULL);
	const char *lines[LABEL_LINES_MAX + 1];
	size_t wrapped = link->detail ? text_wrap(arena, link->detail, label_size, false, room,
						  LABEL_LINES_MAX + 1, lines)
				      : 0;
	for (size_t i = 0; i < wrapped && i < left; i++)
		label.lines[label.count++] = lines[i];
	if (use)
		label.lines[label.count++] = use;
	for (size_t i = 0; i < label.count; i++)
		label.width = fmax(label.width, line_width(&label, i));
	if (wrapped <= left && label.width <= room)
		return label;
	label = (struct label){.count = 0};
	if (!use)
		return label;
	label.lines[label.count++] = use;
	if (line_width(&label, 0) > room && lines_max >= 2) {
		label.lines[0] = arena_printf(arena, "%s %s", there,
					      share_text(arena, link->utilization[0]));
		label.lines[label.count++] =
			arena_printf(arena, "%s %s", back, share_text(arena, link->utilization[1]));
	}
	for (size_t i = 0; i < label.count; i++)
		label.width = fmax(label.width, line_width(&label, i));
	if (label.width > room)
		label.count = 0;
	return label;
}

static void draw_label(const struct layout *layout, const struct label *label, double x,
		       double middle, enum text_anchor anchor, const struct paint *plate)
{
	double y = middle + label_size * 0.36 - label_pitch * ((double)label->count - 1) / 2;
	if (plate) /* only centred labels; others do not touch lines */
		draw_rectangle(layout->drawing, x - label->width / 2 - 2,
			       middle - label_pitch * (double)label->count / 2, label->width + 4,
			       label_pitch * (double)label->count, *plate);
	for (size_t i = 0; i < label->count; i++)
		draw_text(layout->drawing, x, y + label_pitch * (double)i, label_size, anchor, ink,
			  label->named && i == 0, label->lines[i]);
}

/* A line that crosses a zone: its x (sorted) and the link that starts there. */
struct crossing {
	double x, reach;
	size_t link;
	bool starts;
};

static void crossing_add(struct crossing *crossings, size_t *count, struct crossing new)
{
	size_t at = (*count)++;
	for (; at > 0 && crossings[at - 1].x > new.x; at--)
		crossings[at] = crossings[at - 1];
	crossings[at] = new;
}

/* Places each label to the right of its line up to the next line, or else to the left. The space to
 * the left is free unless the previous line has its label there. */
static void label_zone(const struct layout *layout, const struct crossing *crossings, size_t count,
		       struct area zone)
{
	double taken = zone.x; /* right end of the last label or line */
	double middle = zone.y + zone.height / 2;
	size_t lines_max = (size_t)fmin(LABEL_LINES_MAX, floor(zone.height / label_pitch));
	for (size_t i = 0; i < count; i++) {
		const struct crossing *at = &crossings[i];
		double start = at->x + at->reach + 4;
		double end = i + 1 < count ? crossings[i + 1].x - crossings[i + 1].reach - 3
					   : zone.x + zone.width;
		double left_end = at->x - at->reach - 4, left_room = left_end - taken - 3;
		taken = at->x + at->reach;
		if (!at->starts)
			continue;
		const struct plan_link *link = &layout->plan.links[at->link];
		bool up = link->lower == 0; /* the direction from end 0 to end 1 is upward */
		const char *there = up ? "↑" : "↓", *back = up ? "↓" : "↑";
		struct label label =
			label_make(layout, link->link, end - start, lines_max, there, back);
		struct label left = {.count = 0};
		if (!label.named || label.count == 0)
			left = label_make(layout, link->link, left_room, lines_max, there, back);
		if (left.named || (label.count == 0 && left.count > 0)) {
			draw_label(layout, &left, left_end, middle, ANCHOR_END, NULL);
			label = left;
		} else if (label.count > 0) {
			draw_label(layout, &label, start, middle, ANCHOR_START, NULL);
			taken = start + label.width;
		}
		layout->labelled[at->link] = label.named && label.count > 0;
	}
}

static void label_level(const struct layout *layout, int level)
{
	const struct plan *plan = &layout->plan;
	struct crossing *crossings =
		ARENA_ARRAY(layout->arena, 2 * plan->link_count, struct crossing);
	size_t count = 0;
	for (size_t i = 0; i < plan->link_count; i++) {
		const struct plan_link *link = &plan->links[i];
		struct crossing new = {.reach = reach(link->link), .link = i};
		if (link->route == ROUTE_UP) {
			int from = plan_level(plan, link->ends[link->lower]);
			int to = plan_level(plan, link->ends[link->upper]);
			new.x = link->x[0];
			new.starts = from == level;
			if (from <= level && level < to)
				crossing_add(crossings, &count, new);
		} else if (link->route == ROUTE_CABLE && level < link->level) {
			for (int end = 0; end < 2; end++) {
				new.x = link->x[end];
				crossing_add(crossings, &count, new);
			}
		}
	}
	double top = plan->level_top[level + 1] + plan_bar_height;
	label_zone(layout, crossings, count,
		   (struct area){6, top + 7, plan->width - 12, plan->level_top[level] - top - 14});
}

static void label_column(const struct layout *layout, int column)
{
	const struct plan *plan = &layout->plan;
	const struct plan_column *place = &plan->columns[column];
	struct crossing *crossings =
		ARENA_ARRAY(layout->arena, 2 * plan->link_count, struct crossing);
	size_t count = 0;
	for (size_t i = 0; i < plan->link_count; i++) {
		const struct plan_link *link = &plan->links[i];
		for (int end = 0; end < 2; end++) {
			if (link->route == ROUTE_NONE || link->route == ROUTE_LANE)
				continue;
			const struct plan_box *box = &plan->boxes[link->ends[end]];
			if (box->column == column && box->inner)
				crossing_add(crossings, &count,
					     (struct crossing){link->x[end], reach(link->link), i,
							       link->route == ROUTE_INNER});
		}
	}
	double top = place->y + plan_header_height;
	label_zone(layout, crossings, count,
		   (struct area){place->x + 2, top + 4, place->width - 6, place->row_y - top - 8});
}

/* Places a label above a horizontal part, or on it if the label has one line. */
static void label_across(const struct layout *layout, size_t index)
{
	const struct plan *plan = &layout->plan;
	const struct plan_link *link = &plan->links[index];
	bool right = link->x[1] >= link->x[0];
	double room = fabs(link->x[1] - link->x[0]) - 16;
	double middle = (link->x[0] + link->x[1]) / 2, y;
	size_t lines_max = 3;
	if (link->route == ROUTE_SIDE) {
		const struct plan_box *box = &plan->boxes[link->ends[0]];
		y = box->y + box->height / 2 - 16 - reach(link->link);
	} else if (link->route == ROUTE_CABLE) {
		y = cable_y(plan, link->level) - 17;
	} else if (plan->lane_pitch > label_pitch) {
		y = lane_y(plan, link);
		lines_max = 2; /* name and utilisation, joined below */
	} else {
		return;
	}
	const char *there = right ? "→" : "←", *back = right ? "←" : "→";
	struct label label;
	if (link->route == ROUTE_LANE) {
		const char *text = link->link->detail
					   ? arena_printf(layout->arena, "%s  %s", link->link->name,
							  link->link->detail)
					   : link->link->name;
		if (simulated(link->link))
			text = arena_printf(layout->arena, "%s  %s", text,
					    use_text(layout->arena, link->link, there, back));
		label = (struct label){.lines = {text}, .count = 1, .named = false};
		label.width = line_width(&label, 0);
		if (label.width > room)
			label.count = 0;
		layout->labelled[index] = label.count > 0;
	} else {
		label = label_make(layout, link->link, room, lines_max, there, back);
		layout->labelled[index] = label.named && label.count > 0;
	}
	if (label.count > 0)
		draw_label(layout, &label, middle, y, ANCHOR_MIDDLE,
			   link->route == ROUTE_LANE ? &ink_panel : &ink_paper);
}

/* ---- links without a label ---- */

struct group {
	const struct diagram_link *first;
	size_t count;
	double most; /* highest utilisation; NaN: not simulated */
};

static bool same_group(const struct diagram_link *a, const struct diagram_link *b)
{
	return strcmp(a->kind, b->kind) == 0 &&
	       strcmp(a->detail ? a->detail : "", b->detail ? b->detail : "") == 0;
}

static double draw_rest(const struct layout *layout, double y)
{
	struct group groups[GROUPS_MAX];
	size_t count = 0;
	for (size_t i = 0; i < layout->plan.link_count; i++) {
		const struct diagram_link *link = layout->plan.links[i].link;
		size_t at = 0;
		if (layout->labelled[i])
			continue;
		while (at < count && !same_group(groups[at].first, link))
			at++;
		if (at == GROUPS_MAX)
			continue;
		if (at == count)
			groups[count++] = (struct group){link, 0, NAN};
		groups[at].count++;
		if (simulated(link))
			groups[at].most = fmax(groups[at].most,
					       fmax(link->utilization[0], link->utilization[1]));
	}
	for (size_t i = 0; i < count; i++) {
		const struct group *group = &groups[i];
		const char *names = group->count == 1
					    ? group->first->name
					    : arena_printf(layout->arena, "%zu links (%s …)",
							   group->count, group->first->name);
		const char *use = isnan(group->most)
					  ? ""
					  : arena_printf(layout->arena, ", utilisation at most %s",
							 share_text(layout->arena, group->most));
		const char *text =
			arena_printf(layout->arena, "%s: %s%s%s%s", group->first->kind, names,
				     group->first->detail ? ", " : "",
				     group->first->detail ? group->first->detail : "", use);
		struct look look = kind_look(layout, group->first->kind);
		draw_line(layout->drawing, CHART_MARGIN, y + 5, CHART_MARGIN + 16, y + 5,
			  look.paint, 1.6, look.dash);
		draw_text(layout->drawing, CHART_MARGIN + 22, y + 8, FONT_SMALL, ANCHOR_START, ink,
			  false,
			  text_fit(layout->arena, text, FONT_SMALL, false,
				   layout->plan.width - 2 * CHART_MARGIN - 22));
		y += 12;
	}
	return y;
}

/* ---- the whole chart ---- */

static double draw_key(struct layout *layout, const struct diagram_link *links, size_t count,
		       double y)
{
	struct legend legend = legend_begin(layout->drawing, y);
	bool any = false;
	for (size_t i = 0; i < count; i++) {
		size_t at = 0;
		while (at < layout->kind_count && strcmp(layout->kinds[at], links[i].kind) != 0)
			at++;
		if (at == layout->kind_count && at < KINDS_MAX)
			layout->kinds[layout->kind_count++] = links[i].kind;
		any |= simulated(&links[i]);
	}
	if (any) {
		draw_text(layout->drawing, legend.right, y + 8, FONT_SMALL, ANCHOR_END, ink_soft,
			  false, "line width and %: utilisation of each direction");
		legend.right -= 190;
	}
	for (size_t i = 0; i < layout->kind_count; i++)
		legend_add(&legend, LEGEND_LINE, kind_look(layout, layout->kinds[i]),
			   layout->kinds[i]);
	return legend_end(&legend);
}

static void draw_boxes(const struct layout *layout, int bars)
{
	for (size_t i = 0; i < layout->plan.box_count; i++) {
		const struct plan_box *box = &layout->plan.boxes[i];
		if (bars && box->column == NO_BOX)
			draw_bar(layout, box);
		else if (!bars && box->column != NO_BOX && box->inner)
			draw_inner(layout, box);
		else if (!bars && box->column != NO_BOX)
			draw_header(layout, box);
	}
}

struct drawing *chart_topology(struct arena *arena, struct chart_text text,
			       const struct diagram_node *nodes, size_t node_count,
			       const struct diagram_link *links, size_t link_count)
{
	if (node_count == 0)
		return chart_empty(arena, text, "this topology has no nodes");
	struct layout layout = {.arena = arena};
	layout.labelled = ARENA_ARRAY(arena, link_count, bool);
	plan_make(arena, &layout.plan, nodes, node_count, links, link_count, 0);
	double y = draw_key(&layout, links, link_count,
			    chart_begin(arena, text, layout.plan.width, &layout.drawing));
	plan_make(arena, &layout.plan, nodes, node_count, links, link_count, y + 10);
	for (int i = 0; i < layout.plan.column_count; i++)
		draw_column(&layout, &layout.plan.columns[i]);
	for (size_t i = 0; i < link_count; i++)
		draw_link(&layout, &layout.plan.links[i]);
	draw_boxes(&layout, true);
	draw_boxes(&layout, false);
	for (int level = 0; level < layout.plan.level_count; level++)
		label_level(&layout, level);
	for (int i = 0; i < layout.plan.column_count; i++)
		label_column(&layout, i);
	for (size_t i = 0; i < link_count; i++) {
		enum plan_route route = layout.plan.links[i].route;
		if (route == ROUTE_SIDE || route == ROUTE_CABLE || route == ROUTE_LANE)
			label_across(&layout, i);
	}
	y = draw_rest(&layout, layout.plan.bottom + 10);
	return chart_end(layout.drawing, text, y);
}
