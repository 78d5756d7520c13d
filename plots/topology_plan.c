/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/topology_plan.h"

#include <math.h>
#include <string.h>

#include "plots/style.h"
#include "sim/base/arena.h"

const double plan_bar_height = 30, plan_header_height = 34;
static const double column_gap = 22, inner_gap = 8, inner_pad = 9;
static const double zone_height = 66, inner_zone_height = 50, level_zone_height = 60;
static const double lane_space = 13;

static bool is(const char *text, const char *word)
{
	return text && strcmp(text, word) == 0;
}

static int find_box(const struct plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->box_count; i++)
		if (name && strcmp(plan->boxes[i].node->name, name) == 0)
			return (int)i;
	return NO_BOX;
}

int plan_level(const struct plan *plan, int box)
{
	const struct plan_box *place = &plan->boxes[box];
	return place->column == NO_BOX ? place->level : 0;
}

/* ---- columns ---- */

static void column_add(struct plan *plan, int box)
{
	plan->boxes[box].column = plan->column_count;
	plan->columns[plan->column_count++].header = box;
}

/* Returns the outermost box around a box; a guest's GPU belongs to the guest's host. */
static int outermost(const struct plan *plan, int box)
{
	for (size_t steps = 0; steps < plan->box_count; steps++) {
		int around = find_box(plan, plan->boxes[box].node->inside);
		if (around == NO_BOX || around == box)
			return box;
		box = around;
	}
	return box;
}

/* Returns the column that contains all neighbours of a switch, or NO_BOX if there are several. */
static int only_column(const struct plan *plan, int box)
{
	int found = NO_BOX;
	for (size_t i = 0; i < plan->link_count; i++) {
		const int *ends = plan->links[i].ends;
		if (ends[0] != box && ends[1] != box)
			continue;
		int other = ends[0] == box ? ends[1] : ends[0];
		int column = other == NO_BOX ? NO_BOX : plan->boxes[other].column;
		if (column == NO_BOX || (found != NO_BOX && found != column) ||
		    !plan->boxes[other].inner)
			return NO_BOX;
		found = column;
	}
	return found;
}

static void find_columns(struct plan *plan)
{
	for (size_t i = 0; i < plan->box_count; i++)
		plan->boxes[i].column = NO_BOX;
	for (size_t i = 0; i < plan->box_count; i++)
		if (outermost(plan, (int)i) == (int)i && !is(plan->boxes[i].node->kind, "switch"))
			column_add(plan, (int)i);
	for (size_t i = 0; i < plan->box_count; i++) {
		int around = outermost(plan, (int)i);
		if (around != (int)i && plan->boxes[around].column != NO_BOX) {
			plan->boxes[i].column = plan->boxes[around].column;
			plan->boxes[i].inner = true;
		}
	}
	for (size_t i = 0; i < plan->box_count; i++) {
		struct plan_box *box = &plan->boxes[i];
		int column = box->column == NO_BOX ? only_column(plan, (int)i) : NO_BOX;
		if (column != NO_BOX) {
			box->column = column;
			box->inner = true;
		}
	}
}

/* ---- spans and levels ---- */

static void widen(struct plan_box *bar, int low, int high)
{
	if (low == NO_BOX)
		return;
	bar->low = bar->low == NO_BOX || low < bar->low ? low : bar->low;
	bar->high = high > bar->high ? high : bar->high;
}

/* A bar spans the columns of its neighbours. A bar that touches no column spans those of its
 * neighbouring bars. */
static void find_spans(struct plan *plan)
{
	for (size_t i = 0; i < plan->box_count; i++)
		plan->boxes[i].low = plan->boxes[i].high = plan->boxes[i].column;
	for (size_t pass = 0; pass < plan->box_count; pass++) {
		for (size_t i = 0; i < plan->box_count; i++) {
			struct plan_box *bar = &plan->boxes[i];
			if (bar->column != NO_BOX || (pass > 0 && bar->low != NO_BOX))
				continue;
			for (size_t j = 0; j < plan->link_count; j++) {
				const int *ends = plan->links[j].ends;
				if (ends[0] == NO_BOX || ends[1] == NO_BOX ||
				    (ends[0] != (int)i && ends[1] != (int)i))
					continue;
				const struct plan_box *other =
					&plan->boxes[ends[0] == (int)i ? ends[1] : ends[0]];
				if (pass > 0 || other->column != NO_BOX)
					widen(bar, other->low, other->high);
			}
			bar->level = pass > 0 ? 2 : 1; /* for the order of stacking */
		}
	}
	for (size_t i = 0; i < plan->box_count; i++)
		if (plan->boxes[i].low == NO_BOX) /* connects nothing: placed beside the hosts */
			column_add(plan, (int)i);
}

static void classify(const struct plan *plan, struct plan_link *link)
{
	int a = link->ends[0], b = link->ends[1];
	link->route = ROUTE_NONE;
	if (a == NO_BOX || b == NO_BOX || a == b)
		return;
	const struct plan_box *from = &plan->boxes[a], *to = &plan->boxes[b];
	if (from->column != NO_BOX && from->column == to->column) {
		link->route = from->inner && to->inner ? ROUTE_LANE : ROUTE_INNER;
		link->lower = from->inner ? 0 : 1;
	} else if (from->column != NO_BOX && to->column != NO_BOX) {
		link->route = ROUTE_CABLE;
	} else if (plan_level(plan, a) == plan_level(plan, b)) {
		link->route = ROUTE_SIDE;
	} else {
		link->route = ROUTE_UP;
		link->lower = plan_level(plan, a) < plan_level(plan, b) ? 0 : 1;
	}
	link->upper = 1 - link->lower;
}

struct stacked { /* a bar or a cable above columns */
	int low, high, *level;
	int order;
};

/* Assigns levels: first bars at columns, then cables, then bars over bars, each on the lowest level
 * above everything that it overlaps. */
static void find_levels(struct arena *arena, struct plan *plan)
{
	struct stacked *stack =
		ARENA_ARRAY(arena, plan->box_count + plan->link_count, struct stacked);
	size_t count = 0;
	for (size_t i = 0; i < plan->box_count; i++) {
		struct plan_box *bar = &plan->boxes[i];
		if (bar->column == NO_BOX)
			stack[count++] =
				(struct stacked){bar->low, bar->high, &bar->level, bar->level * 2};
	}
	for (size_t i = 0; i < plan->link_count; i++) {
		struct plan_link *link = &plan->links[i];
		classify(plan, link);
		if (link->route != ROUTE_CABLE)
			continue;
		int a = plan->boxes[link->ends[0]].column, b = plan->boxes[link->ends[1]].column;
		stack[count++] = (struct stacked){a < b ? a : b, a < b ? b : a, &link->level, 3};
	}
	for (int order = 2; order <= 4; order++)
		for (size_t i = 0; i < count; i++) {
			if (stack[i].order != order)
				continue;
			int level = 1;
			for (size_t j = 0; j < count; j++) {
				bool placed = stack[j].order < order ||
					      (j < i && stack[j].order == order);
				if (placed && stack[j].low <= stack[i].high &&
				    stack[i].low <= stack[j].high && *stack[j].level >= level)
					level = *stack[j].level + 1;
			}
			*stack[i].level = level;
			plan->level_count = level > plan->level_count ? level : plan->level_count;
		}
	for (size_t i = 0; i < plan->link_count; i++)
		classify(plan, &plan->links[i]);
}

/* ---- horizontal positions ---- */

static void size_columns(struct plan *plan)
{
	double needed = 2 * CHART_MARGIN + column_gap * (plan->column_count - 1);
	for (size_t i = 0; i < plan->box_count; i++) {
		const struct plan_box *box = &plan->boxes[i];
		if (box->column == NO_BOX || !box->inner)
			continue;
		struct plan_column *column = &plan->columns[box->column];
		column->row_count++;
		double width = text_width(box->node->name, FONT_SMALL, true) + 12;
		column->row_least = fmax(column->row_least, fmin(fmax(width, 40), 130));
	}
	for (int i = 0; i < plan->column_count; i++) {
		struct plan_column *column = &plan->columns[i];
		double row = column->row_count * (column->row_least + inner_gap) - inner_gap;
		column->width = fmax(92, row + 2 * inner_pad);
		needed += column->width;
	}
	plan->width = fmax(CHART_WIDTH, ceil(needed));
	double spare = (plan->width - needed) / plan->column_count;
	double x = CHART_MARGIN;
	for (int i = 0; i < plan->column_count; i++) {
		plan->columns[i].x = x;
		plan->columns[i].width += spare;
		x += plan->columns[i].width + column_gap;
	}
}

static void place_rows(struct arena *arena, struct plan *plan)
{
	for (int i = 0; i < plan->column_count; i++) {
		struct plan_column *column = &plan->columns[i];
		struct plan_box *header = &plan->boxes[column->header];
		header->x = column->x;
		header->width = column->width;
		double pitch =
			(column->width - 2 * inner_pad + inner_gap) / fmax(1, column->row_count);
		double width = fmin(pitch - inner_gap, 150), at = column->x + inner_pad;
		for (size_t j = 0; j < plan->box_count; j++) {
			struct plan_box *box = &plan->boxes[j];
			if (box->column != i || !box->inner)
				continue;
			box->width = width;
			box->x = at + (pitch - inner_gap - width) / 2;
			at += pitch;
			const char *detail =
				box->node->detail ? box->node->detail : box->node->kind;
			box->detail_count =
				text_wrap(arena, detail ? detail : "", FONT_SMALL - 1, false,
					  width - 8, DETAIL_LINES_MAX, box->details);
			column->row_height =
				fmax(column->row_height, 18 + 8.5 * (double)box->detail_count);
		}
	}
}

/* Returns the position of the other end of a link as seen from a column, for the order of ports. */
static double other_middle(const struct plan *plan, const struct plan_link *link, int end)
{
	const struct plan_box *other = &plan->boxes[link->ends[1 - end]];
	return (other->low + other->high) / 2.0 + (link->route == ROUTE_INNER ? 1e6 : 0);
}

static bool leaves_upward(const struct plan_link *link, int end)
{
	return (link->route == ROUTE_UP && link->lower == end) || link->route == ROUTE_CABLE ||
	       (link->route == ROUTE_INNER && link->lower == end);
}

/* Places ports on the upper edge of a box, in the order of the other ends. A single port of a wide
 * box is left of the middle, so that its label fits to the right. */
static void place_ports(struct arena *arena, struct plan *plan, int index)
{
	struct port {
		double key, *x;
	} *ports = ARENA_ARRAY(arena, 2 * plan->link_count, struct port);
	size_t count = 0;
	for (size_t i = 0; i < plan->link_count; i++) {
		struct plan_link *link = &plan->links[i];
		for (int end = 0; end < 2; end++) {
			if (link->ends[end] != index || !leaves_upward(link, end))
				continue;
			double key = other_middle(plan, link, end);
			size_t at = count++;
			for (; at > 0 && ports[at - 1].key > key; at--)
				ports[at] = ports[at - 1];
			ports[at] = (struct port){key, &link->x[end]};
		}
	}
	const struct plan_box *box = &plan->boxes[index];
	double share = box->inner || box->width > 240 ? 0.5 : 0.35;
	for (size_t i = 0; i < count; i++)
		*ports[i].x = box->x + box->width * ((double)i + share) / (double)count;
	for (size_t i = 0; i < plan->link_count; i++) {
		struct plan_link *link = &plan->links[i];
		if ((link->route == ROUTE_UP || link->route == ROUTE_INNER) &&
		    link->ends[link->lower] == index)
			link->x[link->upper] = link->x[link->lower];
	}
}

/* Makes a bar as wide as its lines and its name need, within its columns. */
static void place_bar(struct plan *plan, int index)
{
	struct plan_box *bar = &plan->boxes[index];
	double left = INFINITY, right = -INFINITY;
	for (size_t i = 0; i < plan->link_count; i++) {
		const struct plan_link *link = &plan->links[i];
		if (link->route != ROUTE_UP || link->ends[link->upper] != index)
			continue;
		left = fmin(left, link->x[link->lower]);
		right = fmax(right, link->x[link->lower]);
	}
	const struct plan_column *first = &plan->columns[bar->low];
	const struct plan_column *last = &plan->columns[bar->high];
	double from = first->x, to = last->x + last->width;
	if (left > right) { /* the bar has only cables at its side */
		left = right = (from + to) / 2;
	}
	double needed =
		fmax(text_width(bar->node->name, FONT_TEXT, true),
		     bar->node->detail ? text_width(bar->node->detail, FONT_SMALL, false) : 0) +
		20;
	double width = fmin(fmax(right - left + 48, fmax(needed, 80)), to - from);
	bar->x = fmin(fmax((left + right - width) / 2, from), to - width);
	bar->width = width;
	bar->height = plan_bar_height;
}

static void place_across(struct arena *arena, struct plan *plan)
{
	for (size_t i = 0; i < plan->box_count; i++)
		if (plan->boxes[i].column != NO_BOX)
			place_ports(arena, plan, (int)i);
	for (int level = 1; level <= plan->level_count; level++) {
		for (size_t i = 0; i < plan->box_count; i++) {
			if (plan->boxes[i].column != NO_BOX || plan->boxes[i].level != level)
				continue;
			place_bar(plan, (int)i);
			place_ports(arena, plan, (int)i);
		}
	}
	for (size_t i = 0; i < plan->link_count; i++) {
		struct plan_link *link = &plan->links[i];
		if (link->route != ROUTE_SIDE)
			continue;
		const struct plan_box *a = &plan->boxes[link->ends[0]];
		const struct plan_box *b = &plan->boxes[link->ends[1]];
		link->x[0] = a->x < b->x ? a->x + a->width : a->x;
		link->x[1] = a->x < b->x ? b->x : b->x + b->width;
	}
}

/* ---- lanes under the rows, and heights ---- */

static bool lane_free(const struct plan *plan, size_t index, int lane)
{
	const struct plan_link *link = &plan->links[index];
	double left = fmin(link->x[0], link->x[1]), right = fmax(link->x[0], link->x[1]);
	for (size_t i = 0; i < index; i++) {
		const struct plan_link *other = &plan->links[i];
		if (other->route == ROUTE_LANE && other->lane == lane &&
		    fmin(other->x[0], other->x[1]) <= right + 4 &&
		    fmax(other->x[0], other->x[1]) >= left - 4)
			return false;
	}
	return true;
}

static void place_lanes(struct arena *arena, struct plan *plan)
{
	int *ports = ARENA_ARRAY(arena, plan->box_count, int);
	int *used = ARENA_ARRAY(arena, plan->box_count, int);
	for (size_t i = 0; i < plan->link_count; i++)
		for (int end = 0; end < 2; end++)
			if (plan->links[i].route == ROUTE_LANE)
				ports[plan->links[i].ends[end]]++;
	for (size_t i = 0; i < plan->link_count; i++) {
		struct plan_link *link = &plan->links[i];
		if (link->route != ROUTE_LANE)
			continue;
		for (int end = 0; end < 2; end++) {
			int index = link->ends[end];
			const struct plan_box *box = &plan->boxes[index];
			link->x[end] = box->x + box->width * (++used[index]) / (ports[index] + 1.0);
		}
		while (!lane_free(plan, i, link->lane))
			link->lane++;
		struct plan_column *column = &plan->columns[plan->boxes[link->ends[0]].column];
		if (column->lane_count < link->lane + 1)
			column->lane_count = link->lane + 1;
	}
	plan->lane_pitch = lane_space;
	for (int i = 0; i < plan->column_count; i++)
		if (plan->columns[i].lane_count > 6)
			plan->lane_pitch = 5.5;
}

static bool column_has_inner_links(const struct plan *plan, int column)
{
	for (size_t i = 0; i < plan->link_count; i++)
		if (plan->links[i].route == ROUTE_INNER &&
		    plan->boxes[plan->links[i].ends[0]].column == column)
			return true;
	return false;
}

static void place_down(struct arena *arena, struct plan *plan, double top)
{
	plan->level_top = ARENA_ARRAY(arena, plan->level_count + 1, double);
	double y = top;
	for (size_t i = 0; i < plan->link_count; i++)
		if (plan->links[i].route == ROUTE_CABLE &&
		    plan->links[i].level == plan->level_count)
			y = top + 14; /* room for the label above it */
	for (int level = plan->level_count; level >= 1; level--) {
		plan->level_top[level] = y;
		y += plan_bar_height + (level == 1 ? zone_height : level_zone_height);
	}
	plan->level_top[0] = y;
	plan->bottom = y;
	for (int i = 0; i < plan->column_count; i++) {
		struct plan_column *column = &plan->columns[i];
		column->y = y;
		double zone = column_has_inner_links(plan, i) ? inner_zone_height : inner_pad;
		column->row_y = y + plan_header_height + zone;
		column->height = plan_header_height;
		if (column->row_count > 0)
			column->height = column->row_y + column->row_height + inner_pad - y;
		if (column->lane_count > 0)
			column->height += plan->lane_pitch * (column->lane_count - 1) + 10;
		plan->bottom = fmax(plan->bottom, y + column->height);
	}
	for (size_t i = 0; i < plan->box_count; i++) {
		struct plan_box *box = &plan->boxes[i];
		if (box->column == NO_BOX) {
			box->y = plan->level_top[box->level];
			continue;
		}
		const struct plan_column *column = &plan->columns[box->column];
		box->y = box->inner ? column->row_y : y;
		box->height = box->inner ? column->row_height : plan_header_height;
	}
}

void plan_make(struct arena *arena, struct plan *plan, const struct diagram_node *nodes,
	       size_t node_count, const struct diagram_link *links, size_t link_count, double top)
{
	*plan = (struct plan){.box_count = node_count, .link_count = link_count};
	plan->boxes = ARENA_ARRAY(arena, node_count, struct plan_box);
	plan->columns = ARENA_ARRAY(arena, node_count, struct plan_column);
	plan->links = ARENA_ARRAY(arena, link_count, struct plan_link);
	for (size_t i = 0; i < node_count; i++)
		plan->boxes[i].node = &nodes[i];
	for (size_t i = 0; i < link_count; i++) {
		plan->links[i].link = &links[i];
		for (int end = 0; end < 2; end++)
			plan->links[i].ends[end] = find_box(plan, links[i].ends[end]);
	}
	find_columns(plan);
	find_spans(plan);
	find_levels(arena, plan);
	size_columns(plan);
	place_rows(arena, plan);
	place_across(arena, plan);
	place_lanes(arena, plan);
	place_down(arena, plan, top);
}
