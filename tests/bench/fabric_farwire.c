/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages as flows of farwire's fabric, all sharing solved:
 *
 *   ring N JITTER    100 MB all-reduced by N ranks on a star of 10 Gb/s links: a rank
 *                    sends its next chunk when one has come, JITTER 1: up to 10 us later
 *   alltoall N       every host of the star sends 1 MB to every other, all at once
 *   churn FLOWS SPAN CHANGES
 *                    that many flows at any time on a fat tree of 1,024 hosts, each
 *                    ending gives way to another; SPAN hosts in a row are a job, which
 *                    keeps to itself
 * Prints: seconds, messages or changes, the simulated time in seconds, peak memory.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/fabric/fabric.h"
#include "tests/bench/clock.h"

static const double capacity_Bps = 1.25e9;

static uint64_t next_random(uint64_t *state) /* xorshift64 (Marsaglia, 2003) */
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

struct world {
	struct arena *arena;
	struct engine *engine;
	struct fabric *fabric;
	uint64_t random;
	double started_s;
};

static void world_open(struct world *world)
{
	world->arena = arena_new();
	world->engine = engine_new(world->arena, NULL);
	world->fabric = fabric_new(world->arena, world->engine);
	world->random = 88172645463325252u;
	world->started_s = clock_s();
}

static int close_world(struct world *world, uint64_t messages)
{
	printf("%.6f %" PRIu64 " %.12f %.0f\n", clock_s() - world->started_s, messages,
	       s_from_ps(engine_now_ps(world->engine)), clock_peak_B());
	arena_free(world->arena);
	return 0;
}

static int add_link(struct world *world, const char *name, size_t number)
{
	return fabric_resource_add(world->fabric, arena_printf(world->arena, "%s%zu", name, number),
				   capacity_Bps);
}

/* ---- ring and all-to-all on a star ---- */

struct star {
	struct world world;
	size_t hosts, steps;
	bool jitter;
	int *up, *down;
	uint32_t *sent, *came; /* by rank */
	double size_B;
	uint64_t messages;
};

static void came(void *ctx, uint64_t to);

static void send(struct star *star, size_t from, size_t to)
{
	struct flow_spec spec;
	spec.size = star->size_B;
	spec.cap = spec.weight = 0;
	spec.uses[0] = (struct flow_use){star->up[from], 1};
	spec.uses[1] = (struct flow_use){star->down[to], 1};
	spec.use_count = 2;
	spec.done = came;
	spec.ctx = star;
	spec.arg = to;
	fabric_flow_start(star->world.fabric, &spec);
	star->messages++;
}

static void send_next(void *ctx, uint64_t rank)
{
	struct star *star = ctx;
	send(star, rank, rank + 1 == star->hosts ? 0 : rank + 1);
}

/* What came is sent on, at most steps times. */
static void came(void *ctx, uint64_t rank)
{
	struct star *star = ctx;
	if (++star->came[rank] >= star->steps)
		return;
	if (star->jitter)
		engine_after(star->world.engine,
			     (int64_t)(next_random(&star->world.random) % 10000000), send_next,
			     star, rank);
	else
		send_next(star, rank);
}

static void star_open(struct star *star, size_t hosts, size_t steps, double size_B)
{
	world_open(&star->world);
	star->hosts = hosts;
	star->steps = steps;
	star->size_B = size_B;
	star->up = ARENA_ARRAY(star->world.arena, hosts, int);
	star->down = ARENA_ARRAY(star->world.arena, hosts, int);
	star->came = ARENA_ARRAY(star->world.arena, hosts, uint32_t);
	for (size_t i = 0; i < hosts; i++) {
		star->up[i] = add_link(&star->world, "up", i);
		star->down[i] = add_link(&star->world, "down", i);
	}
}

static int run_ring(size_t hosts, bool jitter)
{
	struct star star = {.jitter = jitter};
	star_open(&star, hosts, 2 * (hosts - 1), 100e6 / (double)hosts);
	for (size_t i = 0; i < hosts; i++)
		send_next(&star, i);
	engine_run(star.world.engine);
	return close_world(&star.world, star.messages);
}

static int run_all_to_all(size_t hosts)
{
	struct star star = {0};
	star_open(&star, hosts, 0, 1e6);
	for (size_t i = 0; i < hosts; i++)
		for (size_t j = 0; j < hosts; j++)
			if (i != j)
				send(&star, i, j);
	engine_run(star.world.engine);
	return close_world(&star.world, star.messages);
}

/* ---- churn on a fat tree (Al-Fares et al., 2008: k = 16) ---- */

enum { PORTS = 16, HALF = PORTS / 2, HOSTS = PORTS * HALF * HALF };

struct tree {
	struct world world;
	size_t span;
	/* [0]: up, [1]: down; a host's, an edge switch's by aggregation switch of its
	 * pod, an aggregation switch's by core switch */
	int host[2][HOSTS], edge[2][HOSTS], core[2][HOSTS];
	uint64_t changes, changes_max;
	bool churning;
};

static void tree_add_flow(void *ctx, uint64_t arg)
{
	struct tree *tree = ctx;
	uint64_t *random = &tree->world.random;
	(void)arg;
	size_t from = next_random(random) % HOSTS;
	size_t to = from / tree->span * tree->span + next_random(random) % (tree->span - 1);
	to += to >= from;
	size_t way = next_random(random) % (HALF * HALF), via = way / HALF, over = way % HALF;
	struct flow_spec spec;
	spec.size = 1e5 * (1 + (double)(next_random(random) % 1000));
	spec.cap = spec.weight = 0;
	spec.use_count = 0;
	spec.uses[spec.use_count++] = (struct flow_use){tree->host[0][from], 1};
	spec.uses[spec.use_count++] = (struct flow_use){tree->host[1][to], 1};
	size_t from_edge = from / HALF, to_edge = to / HALF;
	size_t from_pod = from_edge / HALF, to_pod = to_edge / HALF;
	if (from_edge != to_edge) {
		spec.uses[spec.use_count++] =
			(struct flow_use){tree->edge[0][from_edge * HALF + via], 1};
		spec.uses[spec.use_count++] =
			(struct flow_use){tree->edge[1][to_edge * HALF + via], 1};
	}
	if (from_pod != to_pod) {
		spec.uses[spec.use_count++] =
			(struct flow_use){tree->core[0][(from_pod * HALF + via) * HALF + over], 1};
		spec.uses[spec.use_count++] =
			(struct flow_use){tree->core[1][(to_pod * HALF + via) * HALF + over], 1};
	}
	spec.done = tree_add_flow;
	spec.ctx = tree;
	spec.arg = 0;
	fabric_flow_start(tree->world.fabric, &spec);
	if (tree->churning && ++tree->changes == tree->changes_max)
		engine_stop(tree->world.engine);
}

static int run_churn(size_t flows, size_t span, uint64_t changes)
{
	static struct tree tree;
	tree.span = span;
	tree.changes_max = changes;
	world_open(&tree.world);
	for (size_t i = 0; i < HOSTS; i++) {
		for (int way = 0; way < 2; way++) {
			tree.host[way][i] = add_link(&tree.world, way ? "hd" : "hu", i);
			tree.edge[way][i] = add_link(&tree.world, way ? "ed" : "eu", i);
			tree.core[way][i] = add_link(&tree.world, way ? "cd" : "cu", i);
		}
	}
	for (size_t i = 0; i < flows; i++)
		tree_add_flow(&tree, 0);
	fabric_flow_rate(tree.world.fabric, (struct flow_id){0}); /* solves */
	tree.churning = true;
	tree.world.started_s = clock_s();
	engine_run(tree.world.engine);
	return close_world(&tree.world, tree.changes);
}

int main(int argc, char **argv)
{
	size_t size = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	size_t more = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
	uint64_t changes = argc > 4 ? strtoull(argv[4], NULL, 10) : 100;
	if (size > 1 && strcmp(argv[1], "ring") == 0)
		return run_ring(size, more > 0);
	if (size > 1 && strcmp(argv[1], "alltoall") == 0)
		return run_all_to_all(size);
	if (size > 0 && more > 1 && strcmp(argv[1], "churn") == 0)
		return run_churn(size, more, changes);
	return 2;
}
