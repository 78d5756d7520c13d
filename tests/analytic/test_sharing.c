/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rates and end times of flows, derived by hand. Capacities are 100 units/s unless a test says
 * otherwise. */
#include "sim/base/arena.h"
#include "sim/base/num.h"
#include "sim/fabric/fabric.h"
#include "tests/fabric_check.h"
#include "tests/test.h"

enum { FLOWS_MAX = 128 };

struct bench {
	struct arena *arena;
	struct engine *engine;
	struct fabric *fabric;
	struct flow_id ids[FLOWS_MAX];
	int64_t ends_ps[FLOWS_MAX];
	struct flow_spec later[4]; /* started by start_later */
};

static struct bench open_bench(void)
{
	struct bench bench = {.arena = arena_new()};
	bench.engine = engine_new(bench.arena, NULL);
	bench.fabric = fabric_new(bench.arena, bench.engine);
	return bench;
}

static void ended(void *ctx, uint64_t arg)
{
	struct bench *bench = ctx;
	bench->ends_ps[arg] = engine_now_ps(bench->engine);
}

/* A flow with this number over one resource. */
static struct flow_spec flow_over(struct bench *bench, uint64_t number, double size, int resource)
{
	return (struct flow_spec){
		.size = size,
		.uses = {{resource, 1}},
		.use_count = 1,
		.done = ended,
		.ctx = bench,
		.arg = number,
	};
}

static void start(struct bench *bench, const struct flow_spec *spec)
{
	bench->ids[spec->arg] = fabric_flow_start(bench->fabric, spec);
}

static double rate(struct bench *bench, size_t number)
{
	return fabric_flow_rate(bench->fabric, bench->ids[number]);
}

static void start_later(void *ctx, uint64_t arg)
{
	struct bench *bench = ctx;
	start(bench, &bench->later[arg]);
}

static void close_bench(struct bench *bench)
{
	CHECK(engine_run(bench->engine) == ENGINE_DRAINED);
	if (engine_failure(bench->engine))
		printf("  %s\n", engine_failure(bench->engine));
	CHECK(fabric_flow_count(bench->fabric) == 0);
	arena_free(bench->arena);
}

static int64_t ps(double seconds)
{
	return ps_from_s(seconds);
}

/* Flows of 100 and 300 units get 50/s each. The short one ends after 2 s. The long one has 200
 * left, now at 100/s: 2 s more. */
static void two_flows_share_a_link_equally(void)
{
	struct bench bench = open_bench();
	int link = fabric_resource_add(bench.fabric, "link", 100);
	struct flow_spec a = flow_over(&bench, 0, 100, link), b = flow_over(&bench, 1, 300, link);
	start(&bench, &a);
	start(&bench, &b);
	CHECK(rate(&bench, 0) == 50 && rate(&bench, 1) == 50);
	CHECK(engine_run(bench.engine) == ENGINE_DRAINED);
	CHECK(bench.ends_ps[0] == ps(2));
	CHECK(bench.ends_ps[1] == ps(4));
	CHECK(fabric_carried(bench.fabric, link) == 400);
	CHECK(fabric_busy_s(bench.fabric, link) == 4);
	close_bench(&bench);
}

/* A flow of 300 units runs for 1 s (200 left). Then it shares with a flow of 50 units at 50/s each
 * until 2 s (150 left). It ends at 3.5 s. */
static void later_flow_slows_the_first_one(void)
{
	struct bench bench = open_bench();
	int link = fabric_resource_add(bench.fabric, "link", 100);
	struct flow_spec a = flow_over(&bench, 0, 300, link);
	start(&bench, &a);
	bench.later[1] = flow_over(&bench, 1, 50, link);
	engine_at(bench.engine, ps(1), start_later, &bench, 1);
	CHECK(engine_run(bench.engine) == ENGINE_DRAINED);
	CHECK(bench.ends_ps[1] == ps(2));
	CHECK(bench.ends_ps[0] == ps(3.5));
	close_bench(&bench);
}

/* A cap of 10 leaves 90 to the weights 1 and 2: 30 and 60. */
static void capped_flow_leaves_the_rest_in_proportion_to_weights(void)
{
	struct bench bench = open_bench();
	int link = fabric_resource_add(bench.fabric, "link", 100);
	struct flow_spec specs[3] = {flow_over(&bench, 0, 100, link),
				     flow_over(&bench, 1, 100, link),
				     flow_over(&bench, 2, 100, link)};
	specs[0].cap = 10;
	specs[2].weight = 2;
	for (size_t i = 0; i < 3; i++)
		start(&bench, &specs[i]);
	CHECK_NEAR(rate(&bench, 0), 10, 1e-15);
	CHECK_NEAR(rate(&bench, 1), 30, 1e-15);
	CHECK_NEAR(rate(&bench, 2), 60, 1e-15);
	fabric_check(bench.fabric);
	close_bench(&bench);
}

/* One flow crosses three links of 100, 60 and 100, and each link also has a flow of its own. The
 * middle link gives 30 to each of its two flows. The other links give the 70 that remain to their
 * own flow. */
static void flows_over_a_chain_of_links_get_max_min_rates(void)
{
	struct bench bench = open_bench();
	const double capacity[3] = {100, 60, 100};
	struct flow_spec longest = {.size = 60, .done = ended, .ctx = &bench, .arg = 3};
	for (int i = 0; i < 3; i++) {
		int link = fabric_resource_add(
			bench.fabric, arena_printf(bench.arena, "link %d", i), capacity[i]);
		struct flow_spec shorter = flow_over(&bench, (uint64_t)i, 140, link);
		start(&bench, &shorter);
		longest.uses[longest.use_count++] = (struct flow_use){link, 1};
	}
	start(&bench, &longest);
	CHECK_NEAR(rate(&bench, 0), 70, 1e-15);
	CHECK_NEAR(rate(&bench, 1), 30, 1e-15);
	CHECK_NEAR(rate(&bench, 2), 70, 1e-15);
	CHECK_NEAR(rate(&bench, 3), 30, 1e-15);
	fabric_check(bench.fabric);
	/* The flows have 60 and 140 units at 30 and 70/s. All except the middle one end at 2 s. The
	 * middle one then has 80 left at 60/s. */
	CHECK(engine_run(bench.engine) == ENGINE_DRAINED);
	CHECK(bench.ends_ps[3] == ps(2));
	CHECK(bench.ends_ps[0] == ps(2) && bench.ends_ps[2] == ps(2));
	CHECK(bench.ends_ps[1] == 3333333333334); /* 2 + 4/3 s, rounded up */
	close_bench(&bench);
}

/* One TCP segment of 1448 bytes is 1538 bytes on the wire: 12.304 us at 1 Gbit/s. At the same cost
 * for each byte, 1000 bytes take 8497237.569 ps. Five segments take 61.52 us, to which floating
 * point would add a picosecond. */
static void packet_headers_take_link_capacity(void)
{
	struct bench bench = open_bench();
	int link = fabric_resource_add(bench.fabric, "link", 125e6);
	bench.later[0] = flow_over(&bench, 0, 1448, link);
	bench.later[1] = flow_over(&bench, 1, 1000, link);
	bench.later[0].uses[0].per_unit = bench.later[1].uses[0].per_unit = 1538.0 / 1448;
	start_later(&bench, 0);
	bench.later[2] = bench.later[0];
	bench.later[2].size = 5 * 1448;
	bench.later[2].arg = 2;
	engine_at(bench.engine, ps(1), start_later, &bench, 1);
	engine_at(bench.engine, ps(2), start_later, &bench, 2);
	CHECK(engine_run(bench.engine) == ENGINE_DRAINED);
	CHECK(bench.ends_ps[0] == 12304000);
	CHECK(bench.ends_ps[2] == 2 * PS_PER_S + 61520000);
	CHECK(bench.ends_ps[1] == PS_PER_S + 8497238);
	CHECK_NEAR(fabric_carried(bench.fabric, link), 9688 * 1538.0 / 1448, 1e-15);
	CHECK_NEAR(fabric_busy_s(bench.fabric, link), 82.321238e-6, 1e-12);
	close_bench(&bench);
}

/* A wire of 10 Gbit/s carries 1250e6 * 1448/1538 = 1.1769e9 B/s, but a core that works 1 ns for
 * each byte allows 1e9. A second flow on the same core and another link gets half of it. */
static void core_limits_the_rate_of_a_flow(void)
{
	struct bench bench = open_bench();
	int core = fabric_resource_add(bench.fabric, "core", 1);
	for (uint64_t i = 0; i < 2; i++) {
		int link = fabric_resource_add(bench.fabric, i ? "b" : "a", 1.25e9);
		struct flow_spec spec = flow_over(&bench, i, 1e6, link);
		spec.uses[0].per_unit = 1538.0 / 1448;
		CHECK_NEAR((start(&bench, &spec), rate(&bench, i)), 1.25e9 * 1448 / 1538, 1e-15);
		fabric_flow_cancel(bench.fabric, bench.ids[i]);
		spec.uses[spec.use_count++] = (struct flow_use){core, 1e-9};
		start(&bench, &spec);
		CHECK_NEAR(rate(&bench, 0), i ? 0.5e9 : 1e9, 1e-15);
	}
	CHECK_NEAR(rate(&bench, 1), 0.5e9, 1e-15);
	CHECK(engine_run(bench.engine) == ENGINE_DRAINED);
	CHECK(bench.ends_ps[0] == ps(2e-3) && bench.ends_ps[1] == ps(2e-3));
	CHECK_NEAR(fabric_carried(bench.fabric, core), 2e-3, 1e-15);
	close_bench(&bench);
}

/* Fair shares have equal rates, not equal loads: with costs of 1 and 3 for each unit, a capacity of
 * 100 gives 25 units/s to each. */
static void max_min_equalises_rates_instead_of_loads(void)
{
	struct bench bench = open_bench();
	int link = fabric_resource_add(bench.fabric, "link", 100);
	struct flow_spec a = flow_over(&bench, 0, 100, link), b = flow_over(&bench, 1, 100, link);
	b.uses[0].per_unit = 3;
	start(&bench, &a);
	start(&bench, &b);
	CHECK_NEAR(rate(&bench, 0), 25, 1e-15);
	CHECK_NEAR(rate(&bench, 1), 25, 1e-15);
	close_bench(&bench);
}

static void cap_25(void *ctx, uint64_t arg)
{
	struct bench *bench = ctx;
	CHECK(fabric_flow_cap_set(bench->fabric, bench->ids[0], arg ? 25 : 0));
}

/* 100 units: 50 in the first half second, 25 in the second for which a cap of 25/s is set, and 25
 * more at 100/s. The flow ends at 1.75 s. */
static void cap_limits_a_flow_while_it_is_set(void)
{
	struct bench bench = open_bench();
	int link = fabric_resource_add(bench.fabric, "link", 100);
	struct flow_spec a = flow_over(&bench, 0, 100, link);
	start(&bench, &a);
	engine_at(bench.engine, ps(0.5), cap_25, &bench, 1);
	engine_at(bench.engine, ps(1.5), cap_25, &bench, 0);
	CHECK(engine_run(bench.engine) == ENGINE_DRAINED);
	CHECK(bench.ends_ps[0] == ps(1.75));
	CHECK(!fabric_flow_cap_set(bench.fabric, bench.ids[0], 1));
	close_bench(&bench);
}

static void slow_down(void *ctx, uint64_t arg)
{
	struct bench *bench = ctx;
	fabric_capacity_set(bench->fabric, (int)arg, 20);
}

/* Two flows of 50 units run at 50/s. After 0.5 s each has 25 left and continues at 10/s, so both
 * end at 3 s. */
static void lower_capacity_delays_the_ends_of_flows(void)
{
	struct bench bench = open_bench();
	int link = fabric_resource_add(bench.fabric, "link", 100);
	struct flow_spec a = flow_over(&bench, 0, 50, link), b = flow_over(&bench, 1, 50, link);
	start(&bench, &a);
	start(&bench, &b);
	engine_at(bench.engine, ps(0.5), slow_down, &bench, (uint64_t)link);
	CHECK(engine_run(bench.engine) == ENGINE_DRAINED);
	CHECK(bench.ends_ps[0] == ps(3) && bench.ends_ps[1] == ps(3));
	CHECK(fabric_capacity(bench.fabric, link) == 20);
	close_bench(&bench);
}

static void cancel(void *ctx, uint64_t arg)
{
	struct bench *bench = ctx;
	CHECK(fabric_flow_cancel(bench->fabric, bench->ids[arg]));
	CHECK(!fabric_flow_cancel(bench->fabric, bench->ids[arg]));
}

/* The second of two flows of 200 units is cancelled after 1 s, when 50 units were moved. The first
 * one has 150 left at 100/s and ends at 2.5 s. The cancelled one never ends. */
static void cancelled_flow_frees_its_share(void)
{
	struct bench bench = open_bench();
	int link = fabric_resource_add(bench.fabric, "link", 100);
	struct flow_spec a = flow_over(&bench, 0, 200, link), b = flow_over(&bench, 1, 200, link);
	start(&bench, &a);
	start(&bench, &b);
	engine_at(bench.engine, ps(1), cancel, &bench, 1);
	CHECK(engine_run(bench.engine) == ENGINE_DRAINED);
	CHECK(bench.ends_ps[0] == ps(2.5));
	CHECK(bench.ends_ps[1] == 0);
	CHECK(fabric_carried(bench.fabric, link) == 250);
	close_bench(&bench);
}

/* The first of two flows of 50 and 100 units is cancelled, or gets a cap, by an earlier event of
 * the time at which it ends, 1 s. The other one has 50 left at 100/s and ends at 1.5 s. */
static void change_at_the_end_of_a_flow_ends_no_other(void)
{
	for (int capped = 0; capped < 2; capped++) {
		struct bench bench = open_bench();
		int link = fabric_resource_add(bench.fabric, "link", 100);
		struct flow_spec a = flow_over(&bench, 0, 50, link),
				 b = flow_over(&bench, 1, 100, link);
		engine_at(bench.engine, ps(1), capped ? cap_25 : cancel, &bench, (uint64_t)capped);
		start(&bench, &a);
		start(&bench, &b);
		CHECK(engine_run(bench.engine) == ENGINE_DRAINED);
		CHECK(bench.ends_ps[0] == (capped ? ps(1) : 0));
		CHECK(bench.ends_ps[1] == ps(1.5));
		CHECK(fabric_carried(bench.fabric, link) == 150);
		close_bench(&bench);
	}
}

/* The flow that started first is named, even if a later one has taken the place of an ended one. */
static void unfinished_flows_are_described_by_the_first(void)
{
	struct bench bench = open_bench();
	int link = fabric_resource_add(bench.fabric, "link", 100);
	int core = fabric_resource_add(bench.fabric, "core", 100);
	struct flow_spec a = flow_over(&bench, 0, 10, link), b = flow_over(&bench, 1, 200, link),
			 c = flow_over(&bench, 2, 300, core);
	flow_use_add(&b, core, 1);
	CHECK(!fabric_unfinished(bench.fabric, bench.arena));
	start(&bench, &a);
	start(&bench, &b);
	cancel(&bench, 0);
	CHECK_TEXT(fabric_unfinished(bench.fabric, bench.arena),
		   "1 flow, the first of 200 units over 'link', 'core'");
	start(&bench, &c);
	CHECK_TEXT(fabric_unfinished(bench.fabric, bench.arena),
		   "2 flows, the first of 200 units over 'link', 'core'");
	close_bench(&bench);
}

/* 10 units at 3/s take 3333333333333.3 ps, rounded up. A flow that takes a third of a picosecond
 * takes one. A flow with only a cap takes size / cap. */
static void end_times_are_rounded_up_to_the_picosecond(void)
{
	struct bench bench = open_bench();
	int slow = fabric_resource_add(bench.fabric, "slow", 3);
	int fast = fabric_resource_add(bench.fabric, "fast", 3e12);
	struct flow_spec a = flow_over(&bench, 0, 10, slow), b = flow_over(&bench, 1, 1, fast);
	struct flow_spec c = {.size = 7, .cap = 70, .done = ended, .ctx = &bench, .arg = 2};
	start(&bench, &a);
	start(&bench, &b);
	start(&bench, &c);
	CHECK(engine_run(bench.engine) == ENGINE_DRAINED);
	CHECK(bench.ends_ps[0] == 3333333333334);
	CHECK(bench.ends_ps[1] == 1);
	CHECK(bench.ends_ps[2] == ps(0.1));
	close_bench(&bench);
}

/* A hundred flows that start at the same time need one solution of the rates. Another one is
 * computed after one event has ended all of them. */
static void changes_at_one_instant_are_solved_once(void)
{
	struct bench bench = open_bench();
	int link = fabric_resource_add(bench.fabric, "link", 100);
	for (uint64_t i = 0; i < 100; i++) {
		struct flow_spec spec = flow_over(&bench, i, 1, link);
		start(&bench, &spec);
	}
	CHECK(fabric_flows_on(bench.fabric, link) == 100);
	CHECK(engine_run(bench.engine) == ENGINE_DRAINED);
	CHECK(engine_events_count(bench.engine) == 3);
	for (size_t i = 0; i < 100; i++)
		CHECK(bench.ends_ps[i] == ps(1));
	close_bench(&bench);
}

static void start_again(void *ctx, uint64_t arg)
{
	struct bench *bench = ctx;
	ended(bench, arg);
	if (arg < 2)
		start(bench, &bench->later[arg + 1]);
}

/* A flow of 150 units shares a link with three flows that follow each other, of 50, 50 and 20
 * units. All get 50/s. The first two followers end after 1 s and 2 s. The third uses twice as much
 * of the link per unit, so it gets 100/3 and takes 0.6 s, in which the long flow moves 20 of its
 * last 50 units. The other 30 take 0.3 s. */
static void following_flows_have_the_times_of_separate_ones(void)
{
	struct bench bench = open_bench();
	int link = fabric_resource_add(bench.fabric, "link", 100);
	struct flow_spec flow = flow_over(&bench, 3, 150, link);
	start(&bench, &flow);
	for (uint64_t i = 0; i < 3; i++) {
		bench.later[i] = flow_over(&bench, i, i == 2 ? 20 : 50, link);
		bench.later[i].done = start_again;
		bench.later[i].uses[0].per_unit = i == 2 ? 2 : 1;
	}
	start(&bench, &bench.later[0]);
	CHECK(engine_run(bench.engine) == ENGINE_DRAINED);
	CHECK(bench.ends_ps[0] == ps(1));
	CHECK(bench.ends_ps[1] == ps(2));
	CHECK(bench.ends_ps[2] == ps(2.6));
	CHECK(bench.ends_ps[3] == ps(2.9));
	CHECK(fabric_carried(bench.fabric, link) == 150 + 50 + 50 + 40);
	close_bench(&bench);
}

static const struct test tests[] = {
	TEST(two_flows_share_a_link_equally),
	TEST(later_flow_slows_the_first_one),
	TEST(capped_flow_leaves_the_rest_in_proportion_to_weights),
	TEST(flows_over_a_chain_of_links_get_max_min_rates),
	TEST(packet_headers_take_link_capacity),
	TEST(core_limits_the_rate_of_a_flow),
	TEST(max_min_equalises_rates_instead_of_loads),
	TEST(cap_limits_a_flow_while_it_is_set),
	TEST(lower_capacity_delays_the_ends_of_flows),
	TEST(cancelled_flow_frees_its_share),
	TEST(unfinished_flows_are_described_by_the_first),
	TEST(change_at_the_end_of_a_flow_ends_no_other),
	TEST(end_times_are_rounded_up_to_the_picosecond),
	TEST(changes_at_one_instant_are_solved_once),
	TEST(following_flows_have_the_times_of_separate_ones),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
