/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random systems of flows, checked at random times while flows start, end, change caps and see
 * capacities change:
 *   - the rates equal an independent solution (fabric_check);
 *   - they are max-min fair by definition: each flow is at its cap, or crosses a full resource
 *     on which no flow has a larger rate/weight;
 *   - a resource has carried the sum of what its flows have moved;
 *   - with half of all capacities and caps, everything takes twice as long. */
#include <stdlib.h>

#include "sim/base/arena.h"
#include "sim/base/num.h"
#include "sim/fabric/fabric.h"
#include "tests/fabric_check.h"
#include "tests/test.h"

enum { RESOURCES_MAX = 12, FLOWS_MAX = 60 };

struct system {
	struct engine *engine;
	struct fabric *fabric;
	struct rng rng;
	double scale; /* factor for capacities and caps */
	size_t resource_count;
	double capacity[RESOURCES_MAX];
	struct flow_spec specs[FLOWS_MAX];
	struct flow_id ids[FLOWS_MAX];
	bool active[FLOWS_MAX];
	int64_t ends_ps[FLOWS_MAX];
	double moved[RESOURCES_MAX]; /* by flows that ended, in units of the resource */
	bool chains;                 /* flows use neighbours, so some resources cannot be full */
	bool cancels;                /* some flows are cancelled, so moved is less than carried */
	size_t started, ended;
	bool steady; /* flows start at given times, without random changes */
};

static double draw(struct rng *rng, double low, double high)
{
	return low * pow(high / low, rng_uniform(rng));
}

static bool chance(struct system *system, double ratio)
{
	return rng_uniform(&system->rng) < ratio;
}

static void ended(void *ctx, uint64_t arg)
{
	struct system *system = ctx;
	const struct flow_spec *spec = &system->specs[arg];
	CHECK(system->active[arg]);
	system->active[arg] = false;
	system->ends_ps[arg] = engine_now_ps(system->engine);
	system->ended++;
	for (size_t u = 0; u < spec->use_count; u++)
		system->moved[spec->uses[u].resource] += spec->uses[u].per_unit * spec->size;
}

/* A flow over 0 to 4 resources. Half of the flows have a cap, a third a weight. */
static void draw_spec(struct system *system, uint64_t index)
{
	struct flow_spec *spec = &system->specs[index];
	*spec = (struct flow_spec){.done = ended, .ctx = system, .arg = index};
	spec->size = draw(&system->rng, 1, 1e4);
	size_t wanted = rng_below(&system->rng, 5);
	size_t first = rng_below(&system->rng, system->resource_count);
	for (size_t i = 0; i < wanted; i++) {
		int resource = (int)rng_below(&system->rng, system->resource_count);
		if (system->chains)
			resource = (int)((first + i) % system->resource_count);
		bool again = false;
		for (size_t u = 0; u < spec->use_count; u++)
			again |= spec->uses[u].resource == resource;
		double per_unit =
			system->chains || chance(system, 0.5) ? 1 : draw(&system->rng, 0.1, 10);
		if (!again)
			spec->uses[spec->use_count++] = (struct flow_use){resource, per_unit};
	}
	if (spec->use_count == 0 || chance(system, 0.5))
		spec->cap = draw(&system->rng, 1, 100) * system->scale;
	if (chance(system, 0.3))
		spec->weight = draw(&system->rng, 0.1, 10);
}

static void start(void *ctx, uint64_t arg)
{
	struct system *system = ctx;
	if (!system->steady)
		draw_spec(system, arg);
	system->ids[arg] = fabric_flow_start(system->fabric, &system->specs[arg]);
	system->active[arg] = true;
	system->started++;
}

static double level_of(const struct system *system, size_t i)
{
	double weight = system->specs[i].weight > 0 ? system->specs[i].weight : 1;
	return fabric_flow_rate(system->fabric, system->ids[i]) / weight;
}

/* Returns whether the resource is full and none of its active flows has a level above `level`. */
static bool is_bottleneck(const struct system *system, int resource, double level)
{
	double load = 0, most = 0;
	for (size_t i = 0; i < FLOWS_MAX; i++) {
		const struct flow_spec *spec = &system->specs[i];
		for (size_t u = 0; system->active[i] && u < spec->use_count; u++) {
			if (spec->uses[u].resource != resource)
				continue;
			load += spec->uses[u].per_unit *
				fabric_flow_rate(system->fabric, system->ids[i]);
			most = fmax(most, level_of(system, i));
		}
	}
	return load >= fabric_capacity(system->fabric, resource) * (1 - 1e-9) &&
	       most <= level * (1 + 1e-9);
}

static void check_fair(struct system *system)
{
	for (size_t i = 0; i < FLOWS_MAX; i++) {
		if (!system->active[i])
			continue;
		const struct flow_spec *spec = &system->specs[i];
		double rate = fabric_flow_rate(system->fabric, system->ids[i]);
		bool held = spec->cap > 0 && rate >= spec->cap * (1 - 1e-9);
		for (size_t u = 0; !held && u < spec->use_count; u++)
			held = is_bottleneck(system, spec->uses[u].resource, level_of(system, i));
		CHECK(held);
		CHECK(rate > 0 && (spec->cap <= 0 || rate <= spec->cap * (1 + 1e-12)));
	}
}

static void change(void *ctx, uint64_t arg)
{
	struct system *system = ctx;
	size_t i = rng_below(&system->rng, FLOWS_MAX);
	int resource = (int)rng_below(&system->rng, system->resource_count);
	if (chance(system, 0.3))
		fabric_capacity_set(system->fabric, resource, draw(&system->rng, 10, 1000));
	if (chance(system, 0.4)) {
		double cap = draw(&system->rng, 1, 100);
		CHECK(fabric_flow_cap_set(system->fabric, system->ids[i], cap) ==
		      system->active[i]);
		system->specs[i].cap = cap;
	} else if (system->cancels && chance(system, 0.2)) {
		CHECK(fabric_flow_cancel(system->fabric, system->ids[i]) == system->active[i]);
		system->active[i] = false;
	}
	if (chance(system, 0.5)) {
		fabric_check(system->fabric);
		check_fair(system);
	}
}

static void build(struct system *system, struct arena *arena)
{
	system->engine = engine_new(arena, NULL);
	system->fabric = fabric_new(arena, system->engine);
	for (size_t r = 0; r < system->resource_count; r++)
		fabric_resource_add(system->fabric, arena_printf(arena, "r%zu", r),
				    system->capacity[r] * system->scale);
}

static void draw_resources(struct system *system)
{
	system->scale = 1;
	system->resource_count = 1 + rng_below(&system->rng, RESOURCES_MAX);
	for (size_t r = 0; r < system->resource_count; r++)
		system->capacity[r] = draw(&system->rng, 10, 1000);
}

static int64_t moment_ps(struct system *system)
{
	/* On average half of the times are multiples of 0.1 s, which many events share. */
	return chance(system, 0.5) ? (int64_t)rng_below(&system->rng, 100) * (PS_PER_S / 10)
				   : (int64_t)rng_below(&system->rng, 10 * PS_PER_S);
}

static void rates_are_max_min_fair_at_random_times(void)
{
	struct system system = {0};
	for (uint64_t round = 0; round < 200; round++) {
		struct arena *arena = arena_new();
		system = (struct system){.rng = rng_named(round, "fair share"),
					 .cancels = round % 2 == 1,
					 .chains = round % 4 > 1};
		draw_resources(&system);
		build(&system, arena);
		for (uint64_t i = 0; i < FLOWS_MAX; i++)
			engine_at(system.engine, moment_ps(&system), start, &system, i);
		for (uint64_t i = 0; i < 40; i++)
			engine_at(system.engine, moment_ps(&system), change, &system, i);
		CHECK(engine_run(system.engine) == ENGINE_DRAINED);
		if (engine_failure(system.engine))
			printf("  round %d: %s\n", (int)round, engine_failure(system.engine));
		CHECK(fabric_flow_count(system.fabric) == 0);
		for (size_t r = 0; r < system.resource_count; r++) {
			double carried = fabric_carried(system.fabric, (int)r);
			CHECK(fabric_flows_on(system.fabric, (int)r) == 0);
			if (!system.cancels)
				CHECK_NEAR(carried, system.moved[r], 1e-12);
			else
				CHECK(carried >= system.moved[r] * (1 - 1e-12));
			CHECK(carried <= 1000 * fabric_busy_s(system.fabric, (int)r) * (1 + 1e-9));
		}
		arena_free(arena);
	}
}

/* The same flows start at time 0 with full and with half capacities and caps. Each end time
 * doubles, except for rounding up to a picosecond. */
static void half_the_capacity_takes_twice_as_long(void)
{
	struct system system = {0};
	int64_t ends_ps[FLOWS_MAX];
	for (uint64_t round = 0; round < 100; round++) {
		struct arena *arena = arena_new();
		system = (struct system){.rng = rng_named(round, "doubling"), .steady = true};
		draw_resources(&system);
		for (uint64_t i = 0; i < FLOWS_MAX; i++)
			draw_spec(&system, i);
		for (int half = 0; half < 2; half++) {
			system.scale = half ? 0.5 : 1;
			build(&system, arena);
			for (uint64_t i = 0; i < FLOWS_MAX; i++) {
				system.specs[i].cap *= system.scale;
				start(&system, i);
			}
			CHECK(engine_run(system.engine) == ENGINE_DRAINED);
			for (size_t i = 0; half && i < FLOWS_MAX; i++)
				CHECK(llabs(system.ends_ps[i] - 2 * ends_ps[i]) <= 2 * FLOWS_MAX);
			memcpy(ends_ps, system.ends_ps, sizeof ends_ps);
		}
		arena_free(arena);
	}
}

/* If flows start in the opposite order at the same time, each ends at the same time, except for
 * rounding. */
static void order_of_starting_does_not_change_the_ends(void)
{
	struct system system = {0};
	int64_t ends_ps[FLOWS_MAX];
	for (uint64_t round = 0; round < 100; round++) {
		struct arena *arena = arena_new();
		system = (struct system){.rng = rng_named(round, "order"), .steady = true};
		draw_resources(&system);
		for (uint64_t i = 0; i < FLOWS_MAX; i++)
			draw_spec(&system, i);
		for (int turned = 0; turned < 2; turned++) {
			build(&system, arena);
			for (uint64_t i = 0; i < FLOWS_MAX; i++)
				start(&system, turned ? FLOWS_MAX - 1 - i : i);
			CHECK(engine_run(system.engine) == ENGINE_DRAINED);
			for (size_t i = 0; turned && i < FLOWS_MAX; i++)
				CHECK(llabs(system.ends_ps[i] - ends_ps[i]) <= FLOWS_MAX);
			memcpy(ends_ps, system.ends_ps, sizeof ends_ps);
		}
		arena_free(arena);
	}
}

static const struct test tests[] = {
	TEST(rates_are_max_min_fair_at_random_times),
	TEST(half_the_capacity_takes_twice_as_long),
	TEST(order_of_starting_does_not_change_the_ends),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
