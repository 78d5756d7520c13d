/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The topology diagram joins equal links: numbers that can be counted by hand. */
#include <math.h>

#include "plots/charts.h"
#include "plots/shapes.h"
#include "sim/base/arena.h"
#include "tests/test.h"

enum { NODES_MAX = 200, LINKS_MAX = 400 };

struct build {
	struct arena *arena;
	struct diagram_node nodes[NODES_MAX];
	struct diagram_link links[LINKS_MAX];
	size_t node_count, link_count;
};

static const char *add_node(struct build *b, const char *kind, const char *inside, const char *name)
{
	b->nodes[b->node_count++] =
		(struct diagram_node){.name = name, .kind = kind, .inside = inside};
	return name;
}

static void add_link(struct build *b, bool network, const char *from, const char *to, double use)
{
	b->links[b->link_count++] = (struct diagram_link){.kind = network ? "ethernet" : "pcie",
							  .ends = {from, to},
							  .detail = "10 Gbit/s",
							  .utilization = {use, 0},
							  .network = network};
}

/* Adds a machine with GPUs of its own and one adapter on a leaf. */
static void add_machine(struct build *b, int index, int gpus, const char *leaf, double use)
{
	const char *host = add_node(b, "host", NULL, arena_printf(b->arena, "n%d", index));
	const char *nic = add_node(b, "switch", NULL, arena_printf(b->arena, "n%d.nic0", index));
	add_link(b, false, host, nic, use);
	add_link(b, true, nic, leaf, use);
	for (int i = 0; i < gpus; i++)
		add_link(b, false, host,
			 add_node(b, "gpu", host, arena_printf(b->arena, "n%d.gpu%d", index, i)),
			 use);
}

static const struct drawing *drawn(const struct build *b)
{
	const struct chart_text text = {"title", "caption"};
	return chart_topology(b->arena, text, b->nodes, b->node_count, b->links, b->link_count);
}

/* Returns the number of texts of the drawing that equal this one. */
static size_t count_of(const struct drawing *drawing, const char *text)
{
	size_t count = 0;
	for (size_t i = 0; i < drawing->shapes.count; i++) {
		const struct shape *shape = &drawing->shapes.items[i];
		count += shape->kind == SHAPE_TEXT && strcmp(shape->text, text) == 0;
	}
	return count;
}

/* Returns the number of boxes with an edge of this width. */
static size_t boxes_of(const struct drawing *drawing, double line_width)
{
	size_t count = 0;
	for (size_t i = 0; i < drawing->shapes.count; i++)
		count += drawing->shapes.items[i].kind == SHAPE_BOX &&
			 drawing->shapes.items[i].at[4] == line_width;
	return count;
}

/* 12 machines with 4 GPUs and 2 with 1 GPU, on 2 leaves below a spine: a row each for the links of
 * hosts to adapters, hosts to GPUs, adapters to leaves, and leaves to the spine. */
static void equal_links_are_one_row(void)
{
	struct build b = {.arena = arena_new()};
	add_node(&b, "switch", NULL, "leaf0");
	add_node(&b, "switch", NULL, "leaf1");
	add_node(&b, "switch", NULL, "spine");
	for (int i = 0; i < 14; i++)
		add_machine(&b, i, i < 12 ? 4 : 1, i % 2 ? "leaf1" : "leaf0", i == 3 ? 0.25 : 0);
	add_link(&b, true, "leaf0", "spine", 0);
	add_link(&b, true, "leaf1", "spine", 0);
	const struct drawing *drawing = drawn(&b);
	static const char *const once[] = {"50 × n*.gpu*",
					   "50 × pcie 10 Gbit/s, 25 % used",
					   "14 × pcie 10 Gbit/s, 25 % used",
					   "14 × ethernet 10 Gbit/s, 25 % used",
					   "2 × ethernet 10 Gbit/s",
					   "spine"};
	for (size_t i = 0; i < sizeof once / sizeof once[0]; i++)
		if (!CHECK(count_of(drawing, once[i]) == 1))
			printf("  '%s' is there %zu times\n", once[i], count_of(drawing, once[i]));
	static const char *const twice[] = {"14 × n*", "14 × n*.nic*", "2 × leaf*"};
	for (size_t i = 0; i < sizeof twice / sizeof twice[0]; i++)
		CHECK(count_of(drawing, twice[i]) == 2); /* at the ends of two rows */
	CHECK(boxes_of(drawing, 1.8) == 6);              /* ends of the three rows that are used */
	CHECK(boxes_of(drawing, 0.9) == 2);
	arena_free(b.arena);
}

/* One machine that represents 40 has links that represent 40; each machine has 4 of them. The leaf
 * has a link that represents only itself, so it is one. */
static void represented_machines_count(void)
{
	struct build b = {.arena = arena_new()};
	add_node(&b, "switch", NULL, "leaf0");
	add_node(&b, "switch", NULL, "spine");
	add_machine(&b, 0, 4, "leaf0", 0);
	for (size_t i = 0; i < b.link_count; i++)
		b.links[i].copies = 40;
	add_link(&b, true, "leaf0", "spine", 0);
	const struct drawing *drawing = drawn(&b);
	CHECK(count_of(drawing, "40 × n*") == 2);
	CHECK(count_of(drawing, "160 × n*.gpu*") == 1);
	CHECK(count_of(drawing, "160 × pcie 10 Gbit/s") == 1);
	CHECK(count_of(drawing, "40 × ethernet 10 Gbit/s") == 1);
	CHECK(count_of(drawing, "leaf0") == 2);
	arena_free(b.arena);
}

/* Guests and parts without links are parts of their machine, and nodes that nothing connects are
 * drawn, too. A cable leads from one machine to the other. */
static void guests_parts_and_cables_are_drawn(void)
{
	struct build b = {.arena = arena_new()};
	add_node(&b, "host", NULL, "a");
	add_node(&b, "guest", "a", "vm1");
	add_node(&b, "guest", "a", "vm2");
	add_node(&b, "switch", NULL, "vswitch");
	add_node(&b, "host", NULL, "b");
	add_node(&b, "gpu", "b", "g");
	add_node(&b, "host", NULL, "other");
	add_link(&b, true, "vm1", "vswitch", 0);
	add_link(&b, true, "vm2", "vswitch", 0);
	add_link(&b, true, "a", "b", 0);
	const struct drawing *drawing = drawn(&b);
	CHECK(count_of(drawing, "vswitch") == 1 && count_of(drawing, "other") == 1);
	CHECK(count_of(drawing, "2 × ethernet 10 Gbit/s") == 1); /* of the guests */
	CHECK(count_of(drawing, "ethernet 10 Gbit/s") == 1);     /* the cable */
	CHECK(count_of(drawing, "part of") == 2);                /* guests of a, the GPU of b */
	CHECK(boxes_of(drawing, 0.9) == 9);
	arena_free(b.arena);
}

static const struct test tests[] = {
	TEST(equal_links_are_one_row),
	TEST(represented_machines_count),
	TEST(guests_parts_and_cables_are_drawn),
};

int main(void)
{
	return TEST_MAIN(tests);
}
