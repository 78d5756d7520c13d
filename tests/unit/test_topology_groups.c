/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Groups of the topology diagram: counts of machines, parts and links that can be counted by hand.
 */
#include <math.h>

#include "plots/topology_groups.h"
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

static struct topology_groups grouped(const struct build *b)
{
	return topology_group(b->arena, b->nodes, b->node_count, b->links, b->link_count);
}

/* 12 machines with 4 GPUs and 2 with 1 GPU, on 2 leaves below a spine: 2 kinds of machines, with 3
 * parts each. The links are host to GPUs, host to adapter, adapter to leaf, for both kinds, and
 * leaf to spine. */
static void equal_machines_are_one_kind(void)
{
	struct build b = {.arena = arena_new()};
	add_node(&b, "switch", NULL, "leaf0");
	add_node(&b, "switch", NULL, "leaf1");
	add_node(&b, "switch", NULL, "spine");
	for (int i = 0; i < 14; i++)
		add_machine(&b, i, i < 12 ? 4 : 1, i % 2 ? "leaf1" : "leaf0", i == 3 ? 0.25 : 0);
	add_link(&b, true, "leaf0", "spine", 0);
	add_link(&b, true, "leaf1", "spine", 0);
	const struct topology_groups groups = grouped(&b);
	const struct machine_kind *kinds = groups.kinds.items;
	CHECK_NEAR((double)groups.kinds.count, 2, 0);
	CHECK_NEAR(kinds[0].count, 12, 0);
	CHECK_NEAR(kinds[1].count, 2, 0);
	CHECK_TEXT(kinds[0].name, "n*");
	CHECK_NEAR((double)kinds[0].parts.count, 3, 0);
	for (size_t i = 0; i < 3; i++) {
		double gpus = strncmp(kinds[0].parts.items[i].key, "gpu", 3) == 0 ? 4 : 1;
		CHECK_NEAR(kinds[0].parts.items[i].count, gpus, 1e-9);
		CHECK(kinds[0].parts.items[i].used && !kinds[1].parts.items[i].used);
		CHECK_NEAR(kinds[0].parts.items[i].row, i > 0, 0);
	}
	CHECK_NEAR((double)groups.switches.count, 2, 0);
	CHECK_NEAR(groups.switches.items[0].count, 2, 0);
	CHECK_NEAR(groups.switches.items[0].row, 0, 0);
	CHECK_NEAR(groups.switches.items[1].row, 1, 0);
	CHECK_NEAR((double)groups.bundles.count, 7, 0);
	for (size_t i = 0; i < groups.bundles.count; i++) {
		const struct bundle *bundle = &groups.bundles.items[i];
		bool first = bundle->ends[0].kind == 0 || bundle->ends[1].kind == 0;
		CHECK_NEAR(bundle->use, first ? 0.25 : 0, 0);
		CHECK(bundle->used == first);
	}
	arena_free(b.arena);
}

/* One machine that represents 40 has links that represent 40; each machine has 4 of them. */
static void represented_machines_count(void)
{
	struct build b = {.arena = arena_new()};
	add_node(&b, "switch", NULL, "leaf");
	add_machine(&b, 0, 4, "leaf", 0);
	for (size_t i = 0; i < b.link_count; i++)
		b.links[i].copies = 40;
	const struct topology_groups groups = grouped(&b);
	CHECK_NEAR(groups.kinds.items[0].count, 40, 0);
	for (size_t i = 0; i < groups.bundles.count; i++) {
		const struct bundle *bundle = &groups.bundles.items[i];
		CHECK(bundle->lines[0].count == 1 || bundle->lines[0].count == 4);
	}
	arena_free(b.arena);
}

/* A switch between guests of one host is inside of the machine. A cable between machines is part of
 * the network. */
static void switches_in_a_machine_and_cables_between_machines_have_a_place(void)
{
	struct build b = {.arena = arena_new()};
	add_node(&b, "host", NULL, "a");
	add_node(&b, "guest", "a", "vm1");
	add_node(&b, "guest", "a", "vm2");
	add_node(&b, "switch", NULL, "vswitch");
	add_node(&b, "host", NULL, "b");
	add_node(&b, "gpu", "b", "g");
	add_link(&b, true, "vm1", "vswitch", 0);
	add_link(&b, true, "vm2", "vswitch", 0);
	add_link(&b, true, "a", "b", 0);
	const struct topology_groups groups = grouped(&b);
	CHECK_NEAR((double)groups.kinds.count, 2, 0);
	CHECK_NEAR((double)groups.kinds.items[0].parts.count, 3, 0);
	CHECK_NEAR((double)groups.switches.count, 1, 0);
	CHECK_TEXT(groups.switches.items[0].name, "direct cables");
	arena_free(b.arena);
}

static const struct test tests[] = {
	TEST(equal_machines_are_one_kind),
	TEST(represented_machines_count),
	TEST(switches_in_a_machine_and_cables_between_machines_have_a_place),
};

int main(void)
{
	return TEST_MAIN(tests);
}
