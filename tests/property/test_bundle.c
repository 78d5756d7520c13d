/* SPDX-License-Identifier: GPL-3.0-or-later */
/* With only four hosts flows often use the same resources as other flows (a bundle), and as often
 * they do not. Flows start, end, are cancelled and change at
 * random. The rates must equal those of an independent solution, all flows must end, and the links
 * must carry what was sent. */
#include "sim/base/arena.h"
#include "sim/base/num.h"
#include "sim/fabric/fabric.h"
#include "tests/fabric_check.h"
#include "tests/test.h"

enum { HOSTS = 4, FLOWS = 400 };

struct star {
	struct engine *engine;
	struct fabric *fabric;
	struct rng rng;
	int up[HOSTS], down[HOSTS], own[FLOWS];
	struct flow_id ids[FLOWS];
	double size[FLOWS];
	size_t started, over;
	double sent;
	double span_s; /* longest time between changes */
};

static void ended(void *ctx, uint64_t flow)
{
	struct star *star = ctx;
	star->over++;
	star->sent += star->size[flow];
}

static void start_flow(struct star *star)
{
	size_t number = star->started++;
	size_t from = rng_below(&star->rng, HOSTS), to = rng_below(&star->rng, HOSTS);
	struct flow_spec spec = {.done = ended, .ctx = star, .arg = number};
	spec.size = star->size[number] = 1 + (double)rng_below(&star->rng, 20) * 10;
	if (rng_below(&star->rng, 3) == 0)
		spec.cap = 1 + (double)rng_below(&star->rng, 60);
	if (rng_below(&star->rng, 3) == 0)
		spec.weight = 0.5 + rng_uniform(&star->rng);
	if (rng_below(&star->rng, 2) == 0)
		spec.uses[spec.use_count++] = (struct flow_use){star->own[number], 1.5};
	spec.uses[spec.use_count++] = (struct flow_use){star->up[from], 1};
	if (rng_below(&star->rng, 8) > 0)
		spec.uses[spec.use_count++] = (struct flow_use){star->down[to], 1.25};
	star->ids[number] = fabric_flow_start(star->fabric, &spec);
}

static void change_any(struct star *star)
{
	struct fabric *fabric = star->fabric;
	struct flow_id id = star->ids[star->started - 1 - rng_below(&star->rng, star->started) / 8];
	switch (rng_below(&star->rng, 4)) {
	case 0:
		star->over += fabric_flow_cancel(fabric, id);
		break;
	case 1:
		fabric_flow_cap_set(fabric, id, 1 + (double)rng_below(&star->rng, 60));
		break;
	case 2:
		fabric_flow_cap_set(fabric, id, 80);
		break;
	default:
		fabric_capacity_set(fabric, star->up[rng_below(&star->rng, HOSTS)],
				    50 + (double)rng_below(&star->rng, 3) * 25);
	}
}

/* Makes one to three changes at one time. */
static void change(void *ctx, uint64_t arg)
{
	struct star *star = ctx;
	for (uint64_t i = rng_below(&star->rng, 3) + 1; i > 0 && star->started < FLOWS; i--) {
		start_flow(star);
		if (rng_below(&star->rng, 2) == 0)
			change_any(star);
	}
	fabric_check(star->fabric);
	if (star->started < FLOWS)
		engine_after(star->engine, ps_from_s(rng_uniform(&star->rng) * star->span_s),
			     change, star, arg);
}

static void rates_of_bundled_flows_match_an_independent_solution(void)
{
	for (uint64_t round = 0; round < 40; round++) {
		struct arena *arena = arena_new();
		struct star star = {.rng = rng_named(round, "bundle"), .span_s = 1 + (double)round};
		star.engine = engine_new(arena, NULL);
		star.fabric = fabric_new(arena, star.engine);
		for (int i = 0; i < HOSTS; i++) {
			star.up[i] = fabric_resource_add(star.fabric, arena_printf(arena, "u%d", i),
							 100);
			star.down[i] = fabric_resource_add(star.fabric,
							   arena_printf(arena, "d%d", i), 100);
		}
		for (int i = 0; i < FLOWS; i++)
			star.own[i] =
				fabric_resource_add(star.fabric, arena_printf(arena, "o%d", i), 40);
		engine_after(star.engine, 0, change, &star, 0);
		CHECK(engine_run(star.engine) == ENGINE_DRAINED);
		CHECK(engine_failure(star.engine) == NULL);
		CHECK(star.over == FLOWS && fabric_flow_count(star.fabric) == 0);
		double carried = 0;
		for (int i = 0; i < HOSTS; i++)
			carried += fabric_carried(star.fabric, star.up[i]);
		/* All flows that ended, and a part of the cancelled ones. */
		CHECK(carried >= star.sent * (1 - 1e-9) && carried < 1.2 * star.sent);
		arena_free(arena);
	}
}

struct race {
	struct engine *engine;
	struct fabric *fabric;
	struct flow_spec then; /* starts when flow 1 ends, if it has a size */
	int64_t end_ps[4];
};

static void finish(void *ctx, uint64_t flow)
{
	struct race *race = ctx;
	race->end_ps[flow] = engine_now_ps(race->engine);
	if (flow == 1 && race->then.size > 0)
		fabric_flow_start(race->fabric, &race->then);
}

/* Flows of 30, 60 and 90 share 100/s with a flow of 500 that has a cap of 10/s. Each gets 30/s
 * until the first ends at 1 s, then 45/s until 1 + 30/45 s. The last 30 of the third flow take
 * until 2 s at 90/s. The fourth flow takes 50 s. */
static void end_of_a_flow_raises_the_rates_of_its_bundle(void)
{
	static const double sizes[] = {30, 60, 90, 500};
	struct arena *arena = arena_new();
	struct race race = {.engine = engine_new(arena, NULL)};
	struct fabric *fabric = fabric_new(arena, race.engine);
	int resource = fabric_resource_add(fabric, "r", 100);
	for (uint64_t i = 0; i < 4; i++) {
		struct flow_spec spec = {.size = sizes[i],
					 .cap = i == 3 ? 10 : 0,
					 .uses = {{resource, 1}},
					 .use_count = 1,
					 .done = finish,
					 .ctx = &race,
					 .arg = i};
		fabric_flow_start(fabric, &spec);
	}
	CHECK(engine_run(race.engine) == ENGINE_DRAINED);
	CHECK(race.end_ps[0] == PS_PER_S);
	CHECK(race.end_ps[1] == 1666666666667);
	CHECK(race.end_ps[2] == 2 * PS_PER_S + 1); /* the end of the second was rounded up */
	CHECK(race.end_ps[3] == 50 * PS_PER_S);
	arena_free(arena);
}

/* Flows of 1000 and 50 share 100/s. The second ends at 1 s and is replaced by a flow that also uses
 * another resource, so the two are not a bundle any more. The first keeps its 50/s and ends at 20
 * s. */
static void flow_ends_on_time_if_its_bundle_dissolves(void)
{
	struct arena *arena = arena_new();
	struct race race = {.engine = engine_new(arena, NULL)};
	race.fabric = fabric_new(arena, race.engine);
	int here = fabric_resource_add(race.fabric, "here", 100);
	int there = fabric_resource_add(race.fabric, "there", 1000);
	struct flow_spec spec = {
		.size = 1000, .uses = {{here, 1}}, .use_count = 1, .done = finish, .ctx = &race};
	fabric_flow_start(race.fabric, &spec);
	spec.size = 50;
	spec.arg = 1;
	fabric_flow_start(race.fabric, &spec);
	spec = (struct flow_spec){.size = 1000,
				  .cap = 10,
				  .uses = {{there, 1}},
				  .use_count = 1,
				  .done = finish,
				  .ctx = &race,
				  .arg = 2};
	fabric_flow_start(race.fabric, &spec);
	race.then = (struct flow_spec){.size = 5000,
				       .uses = {{here, 1}, {there, 1}},
				       .use_count = 2,
				       .done = finish,
				       .ctx = &race,
				       .arg = 3};
	CHECK(engine_run(race.engine) == ENGINE_DRAINED);
	CHECK(race.end_ps[0] == 20 * PS_PER_S);
	CHECK(race.end_ps[1] == 1 * PS_PER_S);
	CHECK(race.end_ps[2] == 100 * PS_PER_S);
	/* 950 at 50/s, the rest at 100/s */
	CHECK(race.end_ps[3] == (20 + 40) * PS_PER_S + PS_PER_S / 2);
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(rates_of_bundled_flows_match_an_independent_solution),
	TEST(end_of_a_flow_raises_the_rates_of_its_bundle),
	TEST(flow_ends_on_time_if_its_bundle_dissolves),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
