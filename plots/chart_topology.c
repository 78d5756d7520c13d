/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The topology diagram: an outline that is read from top to bottom.
 *
 * A machine is everything that links inside of machines connect, with at least one host. Machines
 * with equal parts, links and roles are drawn once, as a frame with their number. Within it, nodes
 * of one kind, detail and name but for numbers are one BOX: eight GPUs are one box. A box stands
 * below the box that links to it and is nearer to the host; the link's text is beside it. The
 * switches of the network follow below the machines in the same way. Links between the same two
 * boxes are one BUNDLE. Bundles that leave a machine are rows of text with a line along the right
 * margin.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plots/style.h"
#include "sim/base/arena.h"
#include "sim/base/hash.h"
#include "sim/base/units.h"
#include "sim/base/vec.h"

static const double indent = 26, box_width = 150, box_height = 28, header_height = 36;
static const double pitch = 34, text_pitch = 17, frame_width = 590, lane_gap = 8;
static const size_t none = SIZE_MAX, many = SIZE_MAX - 1;

enum { LABEL_LINES = 2 };

struct node {
	const struct diagram_node *own;
	size_t over; /* a node of the same machine; of its first node: itself */
	size_t only; /* the one machine to which a switch links, none or many */
	size_t box;
	uint64_t key, machine; /* hashes: of this node; of its machine (first node only) */
	double copies;         /* equal machines that this one represents (first node only) */
	bool host;             /* a host is in this machine (first node only) */
};

struct box {
	uint64_t machine, key; /* machine 0: the network */
	const struct diagram_node *node;
	double count, machines;
	bool used;
	int row; /* links from the host, or of switches from the machines; -1: not reached */
	size_t parent;
	double x, y, width, height;
};

struct bundle { /* links of one kind and detail between the same two boxes */
	size_t ends[2];
	const struct diagram_link *first;
	double count; /* links of each machine; between switches: of all */
	double use;   /* highest utilisation; NaN: not simulated */
	bool used;    /* the run sent something over a link of it */
	bool drawn;
	size_t lane_to; /* the box to which its row has a line, or none */
	double from_x, from_y;
};

struct link {
	const struct diagram_link *own;
	size_t ends[2]; /* nodes */
};

struct diagram {
	struct arena *arena;
	struct node *nodes; /* by name */
	size_t node_count;
	VEC(struct link) links;
	VEC(struct box) boxes;
	VEC(struct bundle) bundles;
	struct drawing *drawing;
	double y; /* top of the next row */
};

/* ---- machines ---- */

static int by_name(const void *a, const void *b)
{
	const struct node *x = a, *y = b;
	return strcmp(x->own->name, y->own->name);
}

static size_t find(const struct diagram *d, const char *name)
{
	const struct node wanted = {.own = &(struct diagram_node){.name = name}};
	const struct node *found =
		name ? bsearch(&wanted, d->nodes, d->node_count, sizeof wanted, by_name) : NULL;
	return found ? (size_t)(found - d->nodes) : none;
}

static size_t first_of(const struct diagram *d, size_t node)
{
	while (d->nodes[node].over != node)
		node = d->nodes[node].over;
	return node;
}

static void join(const struct diagram *d, size_t a, size_t b)
{
	size_t x = first_of(d, a), y = first_of(d, b);
	size_t low = x < y ? x : y, high = x < y ? y : x;
	d->nodes[high].over = low;
	d->nodes[low].host |= d->nodes[high].host;
}

static bool in_machine(const struct diagram *d, size_t node)
{
	return d->nodes[first_of(d, node)].host;
}

/* Returns true for a node that is a machine by itself, with or without parts. */
static bool is_host(const struct diagram_node *node)
{
	return node->kind &&
	       (strcmp(node->kind, "host") == 0 || strcmp(node->kind, "storage") == 0);
}

static void find_machines(struct diagram *d)
{
	for (size_t i = 0; i < d->node_count; i++) {
		size_t inside = find(d, d->nodes[i].own->inside);
		if (inside != none)
			join(d, i, inside);
	}
	for (size_t i = 0; i < d->links.count; i++)
		if (!d->links.items[i].own->network)
			join(d, d->links.items[i].ends[0], d->links.items[i].ends[1]);
	for (size_t i = 0; i < 2 * d->links.count; i++) {
		const struct link *link = &d->links.items[i / 2];
		struct node *node = &d->nodes[link->ends[i % 2]];
		size_t other = link->ends[1 - i % 2];
		size_t machine = in_machine(d, other) ? first_of(d, other) : many;
		node->only = node->only == none || node->only == machine ? machine : many;
	}
	for (size_t i = 0; i < d->node_count; i++) /* for example the switch of a hypervisor */
		if (!in_machine(d, i) && d->nodes[i].only < many)
			join(d, i, d->nodes[i].only);
	for (size_t i = 0; i < d->links.count; i++) {
		const struct link *link = &d->links.items[i];
		struct node *first = &d->nodes[first_of(d, link->ends[0])];
		if (!link->own->network)
			first->copies = fmax(first->copies, link->own->copies);
	}
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

static uint64_t hash_texts(const char *a, const char *b, const char *c, const char *e)
{
	const char *const texts[] = {a, b, c, e};
	uint64_t hash = HASH_START;
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		hash = hash_text(hash, texts[i] ? texts[i] : "");
	return hash;
}

/* Equal nodes get equal keys. The hash of a machine is the sum of the hashes of its nodes and
 * links, because their order does not count. */
static void hash_machines(struct diagram *d)
{
	for (size_t i = 0; i < d->node_count; i++) {
		struct node *node = &d->nodes[i];
		const char *name = in_machine(d, i) ? last_name(node->own->name) : node->own->name;
		node->key = hash_texts(node->own->kind, node->own->detail, node->own->role,
				       is_host(node->own) ? "" : pattern(d->arena, name));
		d->nodes[first_of(d, i)].machine += hash_spread(node->key);
	}
	for (size_t i = 0; i < 2 * d->links.count; i++) {
		const struct link *link = &d->links.items[i / 2];
		size_t here = link->ends[i % 2];
		uint64_t hash = hash_texts(link->own->kind, link->own->detail, "", "");
		hash = hash_count(hash, d->nodes[here].key);
		hash = hash_count(hash, d->nodes[link->ends[1 - i % 2]].key);
		d->nodes[first_of(d, here)].machine += hash_spread(hash);
	}
}

/* ---- boxes and bundles ---- */

static size_t box_at(struct diagram *d, uint64_t machine, uint64_t key,
		     const struct diagram_node *node)
{
	for (size_t i = 0; i < d->boxes.count; i++)
		if (d->boxes.items[i].machine == machine && d->boxes.items[i].key == key)
			return i;
	*VEC_PUSH(d->arena, &d->boxes) = (struct box){
		machine, key, node, .machines = machine == 0, .row = -1, .parent = none};
	return d->boxes.count - 1;
}

static void make_boxes(struct diagram *d, const struct diagram_node *nodes)
{
	for (size_t n = 0; n < d->node_count; n++) {
		struct node *node = &d->nodes[find(d, nodes[n].name)];
		const struct node *first = &d->nodes[first_of(d, (size_t)(node - d->nodes))];
		node->box = box_at(d, first->host ? first->machine : 0, node->key, node->own);
		d->boxes.items[node->box].count += first->host ? first->copies : 1;
	}
	for (size_t i = 0; i < d->node_count; i++)
		for (size_t k = 0; k < d->boxes.count && first_of(d, i) == i; k++)
			if (d->nodes[i].host && d->boxes.items[k].machine == d->nodes[i].machine)
				d->boxes.items[k].machines += d->nodes[i].copies;
}

static bool joins(const struct bundle *bundle, size_t a, size_t b)
{
	const size_t *ends = bundle->ends;
	return (ends[0] == a && ends[1] == b) || (ends[0] == b && ends[1] == a);
}

static bool same_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

static void add_link(struct diagram *d, const struct diagram_link *link, size_t a, size_t b)
{
	struct box *boxes = d->boxes.items;
	size_t i = 0;
	for (; i < d->bundles.count; i++) {
		const struct bundle *other = &d->bundles.items[i];
		if (joins(other, a, b) && same_text(other->first->kind, link->kind) &&
		    same_text(other->first->detail, link->detail))
			break;
	}
	if (i == d->bundles.count)
		*VEC_PUSH(d->arena, &d->bundles) =
			(struct bundle){.ends = {a, b}, .first = link, .use = NAN, .lane_to = none};
	struct bundle *bundle = &d->bundles.items[i];
	bundle->count += fmax(link->copies, 1) / fmax(boxes[a].machines, boxes[b].machines);
	bundle->used |= link->utilization[0] > 0 || link->utilization[1] > 0;
	bundle->use = fmax(bundle->use, fmax(link->utilization[0], link->utilization[1]));
	boxes[a].used |= bundle->used;
	boxes[b].used |= bundle->used;
}

/* Returns the first box of a machine that is reached, which is its host; none before that. */
static size_t root_of(const struct diagram *d, uint64_t machine)
{
	for (size_t i = 0; i < d->boxes.count; i++)
		if (d->boxes.items[i].machine == machine && d->boxes.items[i].row == 0)
			return i;
	return none;
}

/* Puts boxes below those of the same machine, or of the network, that link to them. */
static void spread_rows(struct diagram *d)
{
	struct box *boxes = d->boxes.items;
	for (int row = 0; row < (int)d->boxes.count; row++)
		for (size_t i = 0; i < 2 * d->bundles.count; i++) {
			size_t from = d->bundles.items[i / 2].ends[i % 2];
			size_t to = d->bundles.items[i / 2].ends[1 - i % 2];
			if (boxes[from].machine == boxes[to].machine && boxes[from].row == row &&
			    boxes[to].row < 0) {
				boxes[to].row = row + 1;
				boxes[to].parent = from;
			}
		}
}

/* Puts each box below the nearest one to the host or to the machines. A box that no link leads to,
 * such as a guest, is below the host. */
static void find_parents(struct diagram *d)
{
	struct box *boxes = d->boxes.items;
	for (size_t i = 0; i < d->boxes.count; i++)
		if (boxes[i].machine && is_host(boxes[i].node) &&
		    root_of(d, boxes[i].machine) == none)
			boxes[i].row = 0;
	for (size_t i = 0; i < 2 * d->bundles.count; i++) {
		const size_t *ends = d->bundles.items[i / 2].ends;
		if (!boxes[ends[i % 2]].machine && boxes[ends[1 - i % 2]].machine)
			boxes[ends[i % 2]].row = 0;
	}
	for (size_t i = 0; i < d->boxes.count; i++) {
		spread_rows(d);
		if (boxes[i].row >= 0)
			continue;
		boxes[i].parent = boxes[i].machine ? root_of(d, boxes[i].machine) : none;
		boxes[i].row = boxes[i].machine != 0;
	}
}

/* ---- drawing ---- */

static const char *times(struct arena *arena, double count)
{
	return fabs(count - 1) < 1e-6
		       ? ""
		       : arena_printf(arena, "%s × ", number_format(arena, 5, count));
}

/* Returns for example "8 × gpu", "48 × n*" or "nvswitch". */
static const char *box_name(struct arena *arena, const struct box *box)
{
	bool machine = box->row == 0 && box->machine;
	double count = machine ? box->machines : box->count / box->machines;
	if (machine || !box->machine)
		return arena_printf(arena, "%s%s", times(arena, count),
				    box->count > 1 ? pattern(arena, box->node->name)
						   : box->node->name);
	char *name = arena_strdup(arena, last_name(box->node->name));
	size_t length = strlen(name);
	while (count > 1 && length > 1 && strchr("0123456789.-_", name[length - 1]))
		name[--length] = '\0';
	return arena_printf(arena, "%s%s", times(arena, count), name);
}

static const char *bundle_text(struct arena *arena, const struct bundle *bundle)
{
	const char *detail = bundle->first->detail;
	const char *text =
		arena_printf(arena, "%s%s%s%s", times(arena, bundle->count), bundle->first->kind,
			     detail ? " " : "", detail ? detail : "");
	if (bundle->use > 0)
		text = arena_printf(arena, "%s, %s%s %% used", text, bundle->use < 0.001 ? "<" : "",
				    number_format(arena, 2, fmax(100 * bundle->use, 0.1)));
	return text;
}

static void draw_wire(const struct diagram *d, bool used, const double *points, size_t count)
{
	draw_polyline(d->drawing, points, count, used ? hue(HUE_VERMILLION) : ink_soft,
		      used ? 2.6 : 1.1, DASH_SOLID);
}

static void draw_node(struct diagram *d, struct box *box, double x)
{
	bool frame = box->row == 0 && box->machine, network = !box->machine;
	const char *title = box_name(d->arena, box), *detail = box->node->detail;
	const char *role = box->node->role;
	double size = frame ? FONT_TEXT + 1 : FONT_SMALL;
	struct paint fill = network ? (struct paint){0xFFF6E5, 1} : frame ? ink_panel : ink_paper;
	box->x = x;
	box->y = d->y;
	box->width = frame ? frame_width : box_width;
	box->height = frame ? header_height : box_height;
	double middle = d->y + box->height / 2;
	draw_box(d->drawing, x, d->y, box->width, box->height, 4, fill,
		 box->used ? hue(HUE_VERMILLION) : ink_soft, box->used ? 1.8 : 0.9);
	if (role && !frame)
		title = arena_printf(d->arena, "%s: %s", title, role);
	if (role && frame)
		draw_text(d->drawing, x + box->width - 8, middle + 3, FONT_TEXT, ANCHOR_END, ink,
			  true, role);
	double width = frame ? 0.7 * box->width : box->width - 14;
	draw_text(d->drawing, x + 8, middle + (detail ? -1.5 : 3), size, ANCHOR_START, ink, true,
		  text_fit(d->arena, title, size, true, width));
	if (detail)
		draw_text(d->drawing, x + 8, middle + 9, FONT_SMALL, ANCHOR_START, ink_soft, false,
			  text_fit(d->arena, detail, FONT_SMALL, false, width));
	d->y += box->height + (frame ? 4 : pitch - box_height);
}

/* Draws a row of text for a bundle that leads to itself, to the network or past its parent. */
static void draw_bundle_row(struct diagram *d, const struct box *box, struct bundle *bundle,
			    size_t other)
{
	const struct box *to = &d->boxes.items[other];
	double x = box->x + indent, y = d->y + 3;
	const char *text = bundle_text(d->arena, bundle);
	if (to == box)
		text = arena_printf(d->arena, "between each other: %s", text);
	else if (to->machine && to->machine == box->machine)
		text = arena_printf(d->arena, "to %s: %s", box_name(d->arena, to), text);
	else
		bundle->lane_to = other;
	text = text_fit(d->arena, text, FONT_SMALL, false, CHART_MARGIN + frame_width - x - 10);
	draw_text(d->drawing, x, y + 3, FONT_SMALL, ANCHOR_START, ink, false, text);
	draw_wire(d, bundle->used,
		  (const double[]){x - 16, box->y + box->height, x - 16, y, x - 4, y}, 3);
	bundle->from_x = x + text_width(text, FONT_SMALL, false) + 8;
	bundle->from_y = y;
	bundle->drawn = true;
	d->y += text_pitch;
}

static void draw_below(struct diagram *d, size_t index);

/* Draws a box with its link to the parent and with everything below it. */
static void draw_child(struct diagram *d, const struct box *parent, size_t index)
{
	struct box *box = &d->boxes.items[index];
	const char *text = "", *lines[LABEL_LINES];
	bool linked = false, used = false;
	draw_node(d, box, parent->x + indent);
	double y = box->y + box_height / 2, x = parent->x + indent - 16;
	double room = CHART_MARGIN + frame_width - box->x - box_width - 14;
	for (size_t i = 0; i < d->bundles.count; i++) {
		const struct bundle *bundle = &d->bundles.items[i];
		if (!joins(bundle, box->parent, index))
			continue;
		text = arena_printf(d->arena, "%s%s%s", text, linked ? "; " : "",
				    bundle_text(d->arena, bundle));
		linked = true;
		used |= bundle->used;
	}
	if (linked)
		draw_wire(d, used, (const double[]){x, parent->y + parent->height, x, y, box->x, y},
			  3);
	size_t count = text_wrap(d->arena, text, FONT_SMALL, false, room, LABEL_LINES, lines);
	draw_lines(d->drawing, box->x + box_width + 8, y, FONT_SMALL, ANCHOR_START, ink, false,
		   lines, count);
	draw_below(d, index);
}

/* Draws the rows of a box that have this usage: its bundles that lead elsewhere, and the boxes
 * below it. */
static void draw_rows(struct diagram *d, size_t index, bool used)
{
	const struct box *box = &d->boxes.items[index];
	for (size_t i = 0; i < d->bundles.count; i++) {
		struct bundle *bundle = &d->bundles.items[i];
		bool second = bundle->ends[1] == index;
		size_t other = bundle->ends[!second];
		if ((second || bundle->ends[0] == index) && !bundle->drawn &&
		    bundle->used == used && d->boxes.items[other].parent != index &&
		    box->parent != other)
			draw_bundle_row(d, box, bundle, other);
	}
	for (size_t i = 0; i < d->boxes.count; i++)
		if (d->boxes.items[i].parent == index && d->boxes.items[i].used == used)
			draw_child(d, box, i);
}

/* Unused links come first, so that used ones cover their lines. */
static void draw_below(struct diagram *d, size_t index)
{
	draw_rows(d, index, false);
	draw_rows(d, index, true);
}

/* Draws the lines along the right margin: one lane for each box to which they lead. */
static void draw_lanes(const struct diagram *d)
{
	double lane = CHART_MARGIN + frame_width;
	for (size_t k = 0; k < d->boxes.count; k++) {
		const struct box *to = &d->boxes.items[k];
		double y = to->y + to->height - 6, right = to->x + to->width, next = 0;
		for (int used = 0; used < 2; used++)
			for (size_t i = 0; i < d->bundles.count; i++) {
				const struct bundle *bundle = &d->bundles.items[i];
				double x = lane + lane_gap, from_y = bundle->from_y;
				if (bundle->lane_to != k || bundle->used != used)
					continue;
				next = lane_gap;
				draw_wire(d, used,
					  (const double[]){bundle->from_x, from_y, x, from_y, x, y,
							   right, y},
					  4);
			}
		lane += next;
	}
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
	struct diagram d = {.arena = arena, .node_count = node_count};
	if (node_count == 0)
		return chart_empty(arena, text, "this topology has no nodes");
	d.nodes = ARENA_ARRAY(arena, node_count, struct node);
	for (size_t i = 0; i < node_count; i++)
		d.nodes[i] = (struct node){.own = &nodes[i], .copies = 1, .only = none};
	qsort(d.nodes, node_count, sizeof *d.nodes, by_name);
	for (size_t i = 0; i < node_count; i++) {
		d.nodes[i].over = i;
		d.nodes[i].host = is_host(d.nodes[i].own);
	}
	for (size_t i = 0; i < link_count; i++) {
		size_t a = find(&d, links[i].ends[0]), b = find(&d, links[i].ends[1]);
		if (a != none && b != none)
			*VEC_PUSH(arena, &d.links) = (struct link){&links[i], {a, b}};
	}
	find_machines(&d);
	hash_machines(&d);
	make_boxes(&d, nodes);
	for (size_t i = 0; i < d.links.count; i++)
		add_link(&d, d.links.items[i].own, d.nodes[d.links.items[i].ends[0]].box,
			 d.nodes[d.links.items[i].ends[1]].box);
	find_parents(&d);
	d.y = chart_begin(arena, text, CHART_WIDTH, &d.drawing) + 4;
	for (int network = 0; network < 2; network++)
		for (size_t i = 0; i < d.boxes.count; i++) {
			struct box *box = &d.boxes.items[i];
			double top = d.y;
			if (box->parent != none || (box->machine == 0) != network)
				continue;
			draw_node(&d, box, CHART_MARGIN);
			draw_below(&d, i);
			top += header_height;
			if (!network)
				draw_polyline(d.drawing,
					      (const double[]){CHART_MARGIN, top, CHART_MARGIN, d.y,
							       CHART_MARGIN + frame_width, d.y,
							       CHART_MARGIN + frame_width, top},
					      4, ink_soft, 0.9, DASH_SOLID);
			d.y += network ? 0 : 12;
		}
	draw_lanes(&d);
	return chart_end(d.drawing, text, draw_key(&d, d.y + 6));
}
