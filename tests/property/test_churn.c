/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Flows come and go on a two-level tree whose core has too little bandwidth, or on a ring, as along
 * one dimension of a torus. They belong to jobs, most of which stay in one rack, so a change can
 * concern few flows or nearly all. At random times each rate must equal that of a solution from
 * scratch (tests/plain_share.h). */
#include <stdlib.h>

#include "sim/base/arena.h"
#include "sim/base/num.h"
#include "sim/fabric/state.h"
#include "tests/plain_share.h"
#include "tests/test.h"

enum { RACKS = 6, HOSTS_PER_RACK = 5, HOSTS = RACKS * HOSTS_PER_RACK, FLOWS_MAX = 4000 };

struct tree {
	struct engine *engine;
	struct fabric *fabric;
	struct rng rng;
	int up[HOSTS], down[HOSTS], rack_up[RACKS], rack_down[RACKS];
	size_t job; /* consecutive hosts of a job */
	bool ring;
	struct flow_spec specs[FLOWS_MAX];
	struct flow_id ids[FLOWS_MAX];
	bool active[FLOWS_MAX];
	size_t started, checks;
	double worst; /* largest relative difference in rate */
};

static void build(struct tree *tree, struct arena *arena)
{
	tree->engine = engine_new(arena, NULL);
	tree->fabric = fabric_new(arena, tree->engine);
	for (int i = 0; i < HOSTS; i++) {
		tree->up[i] = fabric_resource_add(tree->fabric, arena_printf(arena, "u%d", i), 100);
		tree->down[i] =
			fabric_resource_add(tree->fabric, arena_printf(arena, "d%d", i), 100);
	}
	for (int i = 0; i < RACKS; i++) {
		tree->rack_up[i] =
			fabric_resource_add(tree->fabric, arena_printf(arena, "ru%d", i), 250);
		tree->rack_down[i] =
			fabric_resource_add(tree->fabric, arena_printf(arena, "rd%d", i), 250);
	}
}

static void add_flow(struct tree *tree);

static void ended(void *ctx, uint64_t arg)
{
	struct tree *tree = ctx;
	tree->active[arg] = false;
	add_flow(tree);
}

static void add_flow(struct tree *tree)
{
	if (tree->started == FLOWS_MAX)
		return;
	size_t number = tree->started++;
	struct flow_spec *spec = &tree->specs[number];
	*spec = (struct flow_spec){.done = ended, .ctx = tree, .arg = number};
	size_t from = rng_below(&tree->rng, HOSTS);
	size_t to = from / tree->job * tree->job + rng_below(&tree->rng, tree->job);
	spec->size = 1 + 1000 * rng_uniform(&tree->rng);
	spec->uses[spec->use_count++] = (struct flow_use){tree->up[from], 1};
	for (size_t at = from + 1; tree->ring && at <= from + HOSTS / 3 && at != to; at++)
		flow_use_add(spec, tree->up[at % HOSTS], 1);
	spec->uses[spec->use_count++] = (struct flow_use){tree->down[to], 1};
	if (!tree->ring && from / HOSTS_PER_RACK != to / HOSTS_PER_RACK) {
		size_t up = from / HOSTS_PER_RACK, down = to / HOSTS_PER_RACK;
		spec->uses[spec->use_count++] = (struct flow_use){tree->rack_up[up], 1.06};
		spec->uses[spec->use_count++] = (struct flow_use){tree->rack_down[down], 1.06};
	}
	if (rng_below(&tree->rng, 4) == 0)
		spec->cap = 1 + 30 * rng_uniform(&tree->rng);
	if (rng_below(&tree->rng, 4) == 0)
		spec->weight = 0.5 + rng_uniform(&tree->rng);
	tree->ids[number] = fabric_flow_start(tree->fabric, spec);
	tree->active[number] = true;
}

static void compare(struct tree *tree)
{
	static struct plain_flow flows[FLOWS_MAX];
	size_t count = 0, at = 0;
	for (size_t i = 0; i < tree->started; i++)
		if (tree->active[i])
			flows[count++] = (struct plain_flow){.spec = &tree->specs[i]};
	plain_solve(tree->fabric, flows, count);
	for (size_t i = 0; i < tree->started; i++) {
		if (!tree->active[i])
			continue;
		double rate = fabric_flow_rate(tree->fabric, tree->ids[i]);
		double wanted = flows[at++].rate;
		tree->worst = fmax(tree->worst, fabs(rate - wanted) / wanted);
	}
	tree->checks++;
}

/* Changes something other than an end: a cap, a capacity, a cancelled flow. */
static void disturb(void *ctx, uint64_t arg)
{
	struct tree *tree = ctx;
	size_t number = rng_below(&tree->rng, tree->started);
	if (arg % 4 == 0) {
		int link = (int)rng_below(&tree->rng, fabric_resource_count(tree->fabric));
		fabric_capacity_set(tree->fabric, link, 50 + 200 * rng_uniform(&tree->rng));
	} else if (arg % 4 == 1 && tree->active[number]) {
		tree->specs[number].cap = arg % 8 == 1 ? 0 : 1 + 60 * rng_uniform(&tree->rng);
		fabric_flow_cap_set(tree->fabric, tree->ids[number], tree->specs[number].cap);
	} else if (arg % 4 == 2 && fabric_flow_cancel(tree->fabric, tree->ids[number])) {
		tree->active[number] = false;
		add_flow(tree);
	}
	if (rng_below(&tree->rng, 3) == 0)
		compare(tree);
}

static void run_rounds(uint64_t rounds, size_t steps_most)
{
	static struct tree tree;
	static const size_t jobs[] = {3, 5, 10, HOSTS};
	static const size_t pending[] = {20, 100, 300};
	for (uint64_t round = 0; round < rounds; round++) {
		struct arena *arena = arena_new();
		memset(&tree, 0, sizeof tree);
		tree.rng = rng_named(round, "churn");
		tree.job = jobs[round % 4];
		tree.ring = round >= 12 || (rounds < 12 && round == rounds - 1);
		build(&tree, arena);
		tree.fabric->steps_most = steps_most;
		for (size_t i = 0; i < pending[round % 3]; i++)
			add_flow(&tree);
		for (uint64_t i = 0; i < 150; i++)
			engine_at(tree.engine,
				  (int64_t)(rng_uniform(&tree.rng) * 100 * (double)PS_PER_S),
				  disturb, &tree, i);
		CHECK(engine_run(tree.engine) == ENGINE_DRAINED);
		CHECK(tree.checks > 20);
		CHECK(tree.worst < 1e-11);
		CHECK(tree.started == FLOWS_MAX && fabric_flow_count(tree.fabric) == 0);
		arena_free(arena);
	}
}

static void incremental_rates_equal_a_solution_from_scratch(void)
{
	run_rounds(15, 64);
}

/* No step is allowed, so each solve is one from scratch (refill.c). */
static void rates_of_a_solve_that_takes_too_long_are_right(void)
{
	run_rounds(5, 0);
}

static const struct test tests[] = {
	TEST(incremental_rates_equal_a_solution_from_scratch),
	TEST(rates_of_a_solve_that_takes_too_long_are_right),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
