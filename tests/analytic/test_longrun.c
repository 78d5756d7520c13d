/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Long runs with failures (sim/training/longrun.h), against sums by hand and Daly's formula. */
#include "sim/fabric/link.h"
#include "sim/scenario/checkpoint.h"
#include "sim/training/longrun.h"
#include "tests/test.h"

static double lost_s(const struct longrun_outcome *outcome)
{
	return outcome->parts_s[LONGRUN_LOST] + outcome->parts_s[LONGRUN_DETECTION] +
	       outcome->parts_s[LONGRUN_REPAIR] + outcome->parts_s[LONGRUN_RESTART];
}

static double sum(const double *values, size_t count)
{
	double all = 0;
	for (size_t i = 0; i < count; i++)
		all += values[i];
	return all;
}

/* A run of 1e5 s in which everything of a failure has a price. */
static const struct longrun all_prices = {
	.work_s = 1e5,
	.interval_s = 300,
	.pause_s = 7,
	.behind_s = 40,
	.launch_s = 60,
	.restart_s = 90,
	.detect_s = 10,
	.watchdog_s = 100,
	.hang_ratio = 0.5,
	.repair_s = 5000,
	.spares_count = 2,
	.rates_Hz = {1e-4, 5e-5, 2e-5, 1e-4},
};

/* Four checkpoints of 100 s of steps pause for 2 s each. The last one is complete 5 s later. */
static void without_failures_pauses_add_to_the_steps(void)
{
	struct longrun run = {
		.work_s = 100, .interval_s = 30, .pause_s = 2, .behind_s = 5, .launch_s = 10};
	CHECK_NEAR(longrun_mean(&run, 1, 1).elapsed_s, 10 + 100 + 4 * 2 + 5, 1e-12);
	run.work_s = 3000; /* 100 checkpoints */
	CHECK_NEAR(longrun_mean(&run, 1, 1).elapsed_s, 10 + 3000 + 100 * 2 + 5, 1e-12);
}

/* A checkpoint that takes 40 s delays the next one, which would begin 30 s later: the first pause
 * ends at 42 s; the next checkpoints begin at 82, 124 and 166 s; the last is complete at 208 s. */
static void one_checkpoint_is_written_at_a_time(void)
{
	const struct longrun run = {
		.work_s = 100, .interval_s = 30, .pause_s = 2, .behind_s = 40, .launch_s = 10};
	const struct longrun_outcome outcome = longrun_mean(&run, 1, 1);
	CHECK_NEAR(outcome.elapsed_s, 208, 1e-12);
	CHECK_NEAR(outcome.parts_s[LONGRUN_CHECKPOINTS], 98, 1e-12);
}

/* The mean of 1,000 runs lies within four standard errors of Daly's expected time. Intervals are
 * from a tenth of the mean time between failures to twice as long, and restarts that fail, too. */
static void elapsed_time_agrees_with_daly_at_all_intervals(void)
{
	static const double intervals_s[] = {100, 250, 500, 1000, 2000};
	for (size_t i = 0; i < sizeof intervals_s / sizeof intervals_s[0]; i++) {
		enum { RUNS = 1000 };
		const struct longrun run = {.work_s = 1e5,
					    .interval_s = intervals_s[i],
					    .pause_s = 20,
					    .restart_s = 200,
					    .rates_Hz = {0.0004, 0.0003, 0.0002, 0.0001}};
		double total = 0, squares = 0;
		for (size_t k = 0; k < RUNS; k++) {
			double took_s = longrun_mean(&run, k, 1).elapsed_s;
			total += took_s;
			squares += took_s * took_s;
		}
		double mean = total / RUNS;
		double error = sqrt((squares / RUNS - mean * mean) / RUNS);
		CHECK(error < 0.004 * mean);
		CHECK(fabs(mean - longrun_expected_s(&run)) < 4 * error);
	}
}

/* M = 1000 s, C = 10 s: Young sqrt(2 x 10 x 1000) = 141.42 s; Daly 141.42 x (1 + sqrt(0.005) / 3 +
 * 0.005 / 9) - 10 = 134.83 s. A pause of 2 M or more is written each M. */
static void intervals_of_young_and_daly_follow_their_formulas(void)
{
	struct longrun run = {.work_s = 1e6, .interval_s = 1, .pause_s = 10, .rates_Hz = {0.001}};
	CHECK_NEAR(longrun_young_s(&run), 141.42, 1e-4);
	CHECK_NEAR(longrun_daly_s(&run), 134.83, 1e-4);
	run.pause_s = 2500;
	CHECK_NEAR(longrun_daly_s(&run), 1000, 1e-12);
}

/* The best interval costs at most 0.2 % more than the optimum of Daly's expected time, which is at
 * 134.8 s. */
static void best_interval_is_that_of_daly_for_synchronous_checkpoints(void)
{
	struct longrun run = {.work_s = 1e6, .interval_s = 1, .pause_s = 10, .rates_Hz = {0.001}};
	run.interval_s = longrun_daly_s(&run);
	double least_s = longrun_expected_s(&run);
	run.interval_s = longrun_best_s(&run, 1, 1, 50);
	CHECK(longrun_expected_s(&run) < 1.002 * least_s);
	CHECK(fabs(run.interval_s / longrun_daly_s(&run) - 1) < 0.2);
}

static void parts_and_causes_add_up(void)
{
	const struct longrun_outcome outcome = longrun_mean(&all_prices, 5, 20);
	CHECK_NEAR(sum(outcome.parts_s, LONGRUN_PART_COUNT), outcome.elapsed_s, 1e-12);
	CHECK_NEAR(sum(outcome.causes_s, FAILURE_CAUSE_COUNT), lost_s(&outcome), 1e-9);
	CHECK_NEAR(outcome.parts_s[LONGRUN_STEPS], all_prices.work_s, 1e-12);
	for (size_t i = 0; i < LONGRUN_PART_COUNT; i++)
		CHECK(outcome.parts_s[i] > 0);
}

static void the_same_seed_gives_the_same_bytes(void)
{
	const struct longrun_outcome a = longrun_mean(&all_prices, 5, 20);
	const struct longrun_outcome b = longrun_mean(&all_prices, 5, 20);
	const struct longrun_outcome other = longrun_mean(&all_prices, 105, 20);
	CHECK(memcmp(&a, &b, sizeof a) == 0);
	CHECK(a.elapsed_s < other.elapsed_s || a.elapsed_s > other.elapsed_s);
}

/* Without spares each failure of hardware waits for its repair, except for the time of detection.
 * Software needs no machine. */
static void only_hardware_waits_for_a_repair_and_only_without_spares(void)
{
	struct longrun run = {.work_s = 1e5,
			      .interval_s = 300,
			      .pause_s = 7,
			      .detect_s = 10,
			      .repair_s = 50,
			      .rates_Hz = {[FAILURE_HOST] = 0.001}};
	struct longrun_outcome outcome = longrun_mean(&run, 1, 1);
	CHECK(outcome.failures_count > 50);
	CHECK_NEAR(outcome.parts_s[LONGRUN_REPAIR], 40 * outcome.failures_count, 1e-9);
	run.spares_count = 30;
	CHECK_NEAR(longrun_mean(&run, 1, 1).parts_s[LONGRUN_REPAIR], 0, 1e-12);
	run.spares_count = 0;
	run.rates_Hz[FAILURE_SOFTWARE] = run.rates_Hz[FAILURE_HOST];
	run.rates_Hz[FAILURE_HOST] = 0;
	CHECK_NEAR(longrun_mean(&run, 1, 1).parts_s[LONGRUN_REPAIR], 0, 1e-12);
}

static void the_watchdog_ends_what_hangs(void)
{
	struct longrun run = all_prices;
	run.hang_ratio = 1;
	struct longrun_outcome outcome = longrun_mean(&run, 1, 1);
	CHECK_NEAR(outcome.parts_s[LONGRUN_DETECTION], 100 * outcome.failures_count, 1e-9);
	run.hang_ratio = 0;
	outcome = longrun_mean(&run, 1, 1);
	CHECK_NEAR(outcome.parts_s[LONGRUN_DETECTION], 10 * outcome.failures_count, 1e-9);
}

/* A checkpoint that is not complete does not count: if it takes as long as the interval, a failure
 * loses 1.5 intervals on average, and otherwise half of one. */
static void an_incomplete_checkpoint_is_lost(void)
{
	struct longrun run = {.work_s = 1e7, .interval_s = 100, .rates_Hz = {1e-5}};
	struct longrun_outcome outcome = longrun_mean(&run, 1, 20);
	CHECK_NEAR(outcome.parts_s[LONGRUN_LOST] / outcome.failures_count, 50, 0.05);
	run.behind_s = 100;
	outcome = longrun_mean(&run, 1, 20);
	CHECK_NEAR(outcome.parts_s[LONGRUN_LOST] / outcome.failures_count, 150, 0.05);
}

/* About 1.5 x 10^9 failures: a part of them gives the whole run, but only one launch. With the
 * 30,000 that are played, the standard error of the time is less than 0.5 %. */
static void a_run_with_countless_failures_takes_dalys_time(void)
{
	struct longrun run = {.work_s = 1e12,
			      .interval_s = 250,
			      .pause_s = 20,
			      .launch_s = 1e-3,
			      .restart_s = 200,
			      .rates_Hz = {0.001}};
	const struct longrun_outcome outcome = longrun_mean(&run, 1, 2);
	CHECK_NEAR(outcome.elapsed_s, longrun_expected_s(&run), 0.02);
	CHECK_NEAR(outcome.failures_count, outcome.elapsed_s / 1000, 0.02);
	CHECK_NEAR(outcome.parts_s[LONGRUN_LAUNCH], 1e-3, 1e-9);
	CHECK_NEAR(outcome.parts_s[LONGRUN_STEPS], 1e12, 1e-9);
	CHECK_NEAR(sum(outcome.parts_s, LONGRUN_PART_COUNT), outcome.elapsed_s, 1e-9);
	CHECK_NEAR(sum(outcome.causes_s, FAILURE_CAUSE_COUNT), lost_s(&outcome), 1e-9);
	run.interval_s = 1e5; /* e^100 failures before the first checkpoint */
	CHECK(isinf(longrun_mean(&run, 1, 2).elapsed_s));
}

/* A repair is as long as 10^9 failures, and nothing else takes as much time. Two spares replace the
 * first two failed machines, and the third failure waits until these are repaired. By then the
 * third machine is repaired, too, so each third failure waits. */
static void spares_are_used_in_the_order_of_their_repairs(void)
{
	for (size_t spares = 1; spares <= 3; spares++) {
		const struct longrun run = {.work_s = 20,
					    .interval_s = 1,
					    .repair_s = 1e9,
					    .spares_count = spares,
					    .rates_Hz = {1, 0, 0, 0}};
		const struct longrun_outcome outcome = longrun_mean(&run, 1, 1);
		double waits = floor(outcome.failures_count / ((double)spares + 1));
		CHECK(waits > 2);
		CHECK_NEAR(outcome.parts_s[LONGRUN_REPAIR], waits * 1e9, 1e-6);
	}
}

/* Each failure waits for a repair that is as long as 10^9 failures, and nothing else takes as much
 * time. The failures during a repair change nothing. */
static void failures_during_a_long_repair_are_passed_in_one_step(void)
{
	const struct longrun run = {
		.work_s = 20, .interval_s = 1, .repair_s = 1e9, .rates_Hz = {1, 0, 0, 0}};
	const struct longrun_outcome outcome = longrun_mean(&run, 1, 4);
	CHECK(outcome.failures_count > 15 && outcome.failures_count < 60);
	CHECK_NEAR(outcome.parts_s[LONGRUN_REPAIR], outcome.failures_count * 1e9, 1e-12);
	CHECK_NEAR(outcome.elapsed_s, outcome.failures_count * 1e9, 1e-6);
}

/* The only checkpoint takes ten times as long as the steps. A failure ends its writing, so the next
 * one begins right after the steps. The time is Daly's for a pause of that length. */
static void a_checkpoint_under_way_is_given_up_at_a_failure(void)
{
	enum { RUNS = 4000 };
	struct longrun run = {
		.work_s = 100, .interval_s = 100, .behind_s = 1000, .rates_Hz = {0.002}};
	double mean_s = longrun_mean(&run, 1, RUNS).elapsed_s;
	run.pause_s = run.behind_s;
	/* the number of attempts has a geometric distribution, so the mean is its deviation, too */
	CHECK(fabs(mean_s / longrun_expected_s(&run) - 1) < 4 / sqrt(RUNS));
}

/* 16,384 GPUs in 2,048 hosts with 16,384 adapters have 419 failures in 54 days (1,296 h). */
static void default_rates_give_the_interruptions_of_llama_3(void)
{
	double failures = 0;
	const double counts[] = {16384, 2048, 16384, 2048};
	for (size_t i = 0; i < FAILURE_CAUSE_COUNT; i++)
		failures += 1296 * counts[i] / strtod(longrun_table.rows[2 * i].preset, NULL);
	CHECK_NEAR(failures, 419, 0.001);
}

/* 90 % of the true rates lie within 0.4 to 8.0 failures after 3 were seen: Jeffreys' interval is
 * half of chi-squared with 7 degrees of freedom, 2.167 / 2 and 14.07 / 2. */
static void gamma_quantiles_are_those_of_chi_squared(void)
{
	CHECK_NEAR(num_gamma_quantile(0.05, 3.5), 2.167 / 2, 1e-3);
	CHECK_NEAR(num_gamma_quantile(0.95, 3.5), 14.067 / 2, 1e-3);
}

/* Two machines with a GPU each. The first has a network link that begins at its adapter, one that
 * ends there, one that begins at the machine itself, and PCIe. Links of machine a1 and of the
 * switches are not links of machine a. So two machines have 2 x 3 links. */
static void links_of_a_machine_begin_or_end_there(void)
{
	const struct host_entry hosts[] = {{.name = "a"}, {.name = "a1"}};
	const struct gpu_entry gpus[] = {{.host = 0}, {.host = 1}};
	const struct link_kind *network = link_kind_find("infiniband"),
			       *inside = link_kind_find("pcie");
	const struct link_entry links[] = {{.kind = network, .ends = {"a.nic0", "switch"}},
					   {.kind = network, .ends = {"switch", "a.nic1"}},
					   {.kind = network, .ends = {"a", "switch"}},
					   {.kind = inside, .ends = {"a", "a.nic0"}},
					   {.kind = network, .ends = {"switch", "a1.nic0"}},
					   {.kind = network, .ends = {"switch", "spine"}}};
	static const size_t ranks[] = {0, 1};
	const struct job_entry job = {.gpus = ranks, .simulated_count = 2, .rank_count = 2};
	const struct scenario scenario = {.jobs = &job,
					  .job_count = 1,
					  .topology = {.hosts = hosts,
						       .host_count = 2,
						       .gpus = gpus,
						       .gpu_count = 2,
						       .links = links,
						       .link_count = 6}};
	CHECK(checkpoint_machines(&scenario) == 2);
	CHECK_NEAR(checkpoint_links_count(&scenario), 2 * 3, 0);
}

/* 7 % of 100 machines are 7 spares, although 0.07 x 100 is a little more than 7 in floating point.
 * A part of a machine is a whole one. */
static void spares_are_whole_machines(void)
{
	static const double ratios[][2] = {{0.07, 7}, {0.071, 8}, {0, 0}, {0.0001, 1}};
	const struct fold fold = {.machine_count = 100};
	const struct job_entry job = {.simulated_count = 1, .rank_count = 100};
	for (size_t i = 0; i < sizeof ratios / sizeof ratios[0]; i++) {
		const struct longrun_params params = {.spare_ratio = ratios[i][0]};
		const struct scenario scenario = {
			.jobs = &job, .job_count = 1, .run = &params, .topology = {.fold = &fold}};
		CHECK(checkpoint_spares(&scenario) == (size_t)ratios[i][1]);
	}
}

static const struct test tests[] = {
	TEST(spares_are_whole_machines),
	TEST(links_of_a_machine_begin_or_end_there),
	TEST(without_failures_pauses_add_to_the_steps),
	TEST(one_checkpoint_is_written_at_a_time),
	TEST(elapsed_time_agrees_with_daly_at_all_intervals),
	TEST(intervals_of_young_and_daly_follow_their_formulas),
	TEST(best_interval_is_that_of_daly_for_synchronous_checkpoints),
	TEST(parts_and_causes_add_up),
	TEST(the_same_seed_gives_the_same_bytes),
	TEST(only_hardware_waits_for_a_repair_and_only_without_spares),
	TEST(the_watchdog_ends_what_hangs),
	TEST(an_incomplete_checkpoint_is_lost),
	TEST(a_run_with_countless_failures_takes_dalys_time),
	TEST(spares_are_used_in_the_order_of_their_repairs),
	TEST(failures_during_a_long_repair_are_passed_in_one_step),
	TEST(a_checkpoint_under_way_is_given_up_at_a_failure),
	TEST(default_rates_give_the_interruptions_of_llama_3),
	TEST(gamma_quantiles_are_those_of_chi_squared),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
