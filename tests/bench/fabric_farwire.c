/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages as flows of farwire's fabric, with all shares solved:
 *
 *   ring N JITTER    all-reduce of 100 MB by N ranks on a star of 10 Gb/s links. A rank sends
 *                    its next chunk when one has arrived; with JITTER 1 up to 10 us later
 *   alltoall N       each host of the star sends 1 MB to each other host at the same time
 *   churn FLOWS SPAN CHANGES
 *                    FLOWS flows at any time on a fat tree of 1,024 hosts. Each flow that
 *                    ends is replaced by another. SPAN consecutive hosts are a job and send
 *                    only to each other
 *   plain FLOWS SPAN CHANGES
 *                    the same, but timed is a solution from scratch after each change,
 *                    which must agree with the rates of the fabric
 * Prints seconds, messages or changes, the simulated time in seconds, and peak memory. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/fabric/fabric.h"
#include "tests/bench/clock.h"
#include "tests/bench/jitter.h"
#include "tests/plain_share.h"

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

struct rank {
	uint32_t step, came; /* steps begun and messages received */
	bool begins;
};

struct star {
	struct world world;
	size_t hosts, steps;
	bool jitter;
	int *up, *down;
	struct rank *ranks;
	double size_B;
	uint64_t messages;
};

static void came(void *ctx, uint64_t rank);

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

static void send_next(void *ctx, uint64_t rank);

/* Begins the next step if its message has arrived and no other step is about to begin. */
static void begin_step(struct star *star, uint64_t rank)
{
	struct rank *state = &star->ranks[rank];
	if (state->begins || state->step == state->came || state->step + 1 == star->steps)
		return;
	state->begins = true;
	state->step++;
	if (star->jitter)
		engine_after(star->world.engine, jitter_ps(rank, state->step), send_next, star,
			     rank);
	else
		send_next(star, rank);
}

static void send_next(void *ctx, uint64_t rank)
{
	struct star *star = ctx;
	star->ranks[rank].begins = false;
	send(star, rank, rank + 1 == star->hosts ? 0 : rank + 1);
	begin_step(star, rank);
}

static void came(void *ctx, uint64_t rank)
{
	struct star *star = ctx;
	star->ranks[rank].came++;
	if (star->steps > 0)
		begin_step(star, rank);
}

static void star_open(struct star *star, size_t hosts, size_t steps, double size_B)
{
	world_open(&star->world);
	star->hosts = hosts;
	star->steps = steps;
	star->size_B = size_B;
	star->up = ARENA_ARRAY(star->world.arena, hosts, int);
	star->down = ARENA_ARRAY(star->world.arena, hosts, int);
	star->ranks = ARENA_ARRAY(star->world.arena, hosts, struct rank);
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
	/* [0]: up, [1]: down. Links of hosts; of edge switches, for each aggregation switch of the
	 * pod; of aggregation switches, for each core switch. */
	int host[2][HOSTS], edge[2][HOSTS], core[2][HOSTS];
	struct flow_spec *specs; /* active flows, in any order */
	struct flow_id *ids;
	size_t flows;
	uint64_t changes, changes_max;
};

static void draw_route(struct tree *tree, struct flow_spec *spec)
{
	uint64_t *random = &tree->world.random;
	size_t from = next_random(random) % HOSTS;
	size_t to = from / tree->span * tree->span + next_random(random) % (tree->span - 1);
	to += to >= from;
	size_t way = next_random(random) % (HALF * HALF), via = way / HALF, over = way % HALF;
	size_t from_edge = from / HALF, to_edge = to / HALF;
	size_t from_pod = from_edge / HALF, to_pod = to_edge / HALF;
	size_t ends[2] = {from, to}, edges[2] = {from_edge, to_edge}, pods[2] = {from_pod, to_pod};
	spec->use_count = 0;
	for (int i = 0; i < 2; i++) {
		spec->uses[spec->use_count++] = (struct flow_use){tree->host[i][ends[i]], 1};
		if (from_edge != to_edge)
			spec->uses[spec->use_count++] =
				(struct flow_use){tree->edge[i][edges[i] * HALF + via], 1};
		if (from_pod != to_pod)
			spec->uses[spec->use_count++] = (struct flow_use){
				tree->core[i][(pods[i] * HALF + via) * HALF + over], 1};
	}
}

static void add_flow(void *ctx, uint64_t place)
{
	struct tree *tree = ctx;
	struct flow_spec *spec = &tree->specs[place];
	draw_route(tree, spec);
	spec->size = 1e5 * (double)(1 + next_random(&tree->world.random) % 1000);
	spec->done = add_flow;
	spec->ctx = tree;
	spec->arg = place;
	tree->ids[place] = fabric_flow_start(tree->world.fabric, spec);
	if (++tree->changes >= tree->changes_max)
		engine_stop(tree->world.engine);
}

static void tree_open(struct tree *tree, size_t flows, size_t span)
{
	world_open(&tree->world);
	tree->span = span;
	tree->flows = flows;
	tree->specs = ARENA_ARRAY(tree->world.arena, flows, struct flow_spec);
	tree->ids = ARENA_ARRAY(tree->world.arena, flows, struct flow_id);
	for (size_t i = 0; i < HOSTS; i++) {
		for (int way = 0; way < 2; way++) {
			tree->host[way][i] = add_link(&tree->world, way ? "hd" : "hu", i);
			tree->edge[way][i] = add_link(&tree->world, way ? "ed" : "eu", i);
			tree->core[way][i] = add_link(&tree->world, way ? "cd" : "cu", i);
		}
	}
	tree->changes_max = UINT64_MAX;
	for (size_t i = 0; i < flows; i++)
		add_flow(tree, i);
	fabric_flow_rate(tree->world.fabric, (struct flow_id){0}); /* solves */
}

/* Returns the seconds for a solution from scratch, whose rates must agree with the fabric's. */
static double time_plain(struct tree *tree)
{
	struct plain_flow *flows = ARENA_ARRAY(tree->world.arena, tree->flows, struct plain_flow);
	for (size_t i = 0; i < tree->flows; i++)
		flows[i].spec = &tree->specs[i];
	fabric_flow_rate(tree->world.fabric, (struct flow_id){0});
	double start_s = clock_s();
	plain_solve(tree->world.fabric, flows, tree->flows);
	double spent_s = clock_s() - start_s;
	for (size_t i = 0; i < tree->flows; i++) {
		double rate = fabric_flow_rate(tree->world.fabric, tree->ids[i]);
		if (fabs(rate - flows[i].rate) <= 1e-9 * flows[i].rate)
			continue;
		fprintf(stderr, "a rate of %.12g should be %.12g\n", rate, flows[i].rate);
		exit(1);
	}
	return spent_s;
}

static int run_churn(size_t flows, size_t span, uint64_t changes, bool plain)
{
	struct tree tree = {0};
	tree_open(&tree, flows, span);
	tree.changes = 0;
	tree.changes_max = plain ? 1 : changes;
	double spent_s = 0;
	tree.world.started_s = clock_s();
	engine_run(tree.world.engine);
	for (; plain && tree.changes_max <= changes; tree.changes_max++) {
		spent_s += time_plain(&tree);
		engine_run(tree.world.engine);
	}
	if (plain)
		tree.world.started_s = clock_s() - spent_s;
	return close_world(&tree.world, changes);
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
		return run_churn(size, more, changes, false);
	if (size > 0 && more > 1 && strcmp(argv[1], "plain") == 0)
		return run_churn(size, more, changes, true);
	return 2;
}
