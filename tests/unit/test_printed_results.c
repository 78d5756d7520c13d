/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The whole text that people read after a run, for predictions that are made up. */
#include <stdlib.h>

#include "sim/base/arena.h"
#include "sim/result/result.h"
#include "tests/test.h"

static struct arena *arena;

/* Returns the table of predictions as text, with one blank between its cells, and with two dashes
 * for each line of dashes. */
static const char *printed(const struct prediction *const *predictions, size_t count, bool links)
{
	char *text;
	size_t size_B;
	FILE *file = open_memstream(&text, &size_B);
	predictions_table(file, predictions, count, 0, links);
	fclose(file);
	char *short_text = arena_strdup(arena, text), *to = short_text;
	for (const char *from = text; *from; from++)
		if (!(*from == ' ' && to > short_text && to[-1] == ' ') &&
		    !(*from == '-' && to > short_text + 1 && to[-1] == '-' && to[-2] == '-'))
			*to++ = *from;
	*to = '\0';
	free(text);
	return short_text;
}

static const char *printed_one(const struct prediction *prediction)
{
	return printed(&prediction, 1, false);
}

#define NUMBER(value, low, high) ((struct estimate){value, low, high})

/* A prediction without any optional number. */
static struct prediction plain(const char *name)
{
	struct prediction p = {.name = name, .ok = true, .seed = 7, .events_count = 99};
	p.throughput = p.step_s = p.gpu_utilization = ESTIMATE_NONE;
	p.token_throughput = p.ratio = p.speedup = p.training_s = p.elapsed_s = ESTIMATE_NONE;
	p.cost_token = p.cost_run = p.energy_run_J = p.power_W = ESTIMATE_NONE;
	p.first_token_mean_s = p.token_s = p.slo_attainment = ESTIMATE_NONE;
	for (size_t i = 0; i < QUANTILE_COUNT; i++)
		p.latency_s[i] = p.first_token_s[i] = p.between_tokens_s[i] = ESTIMATE_NONE;
	return p;
}

static struct job_prediction clients[] = {{.name = "near",
					   .gpu = "gpu0",
					   .ok = true,
					   .throughput = NUMBER(12.5, 12.5, 12.5),
					   .ratio = NUMBER(0.75, 0.5, 0.875),
					   .step_s = NUMBER(0.04, 0.04, 0.04),
					   .gpu_utilization = NUMBER(0.625, 0.625, 0.625)},
					  {.name = "far", .reason = "no route"}};

/* Two forwarded programs, of which the second one fails. The shares of 30 and 10 ms are 75 and
 * 25 %. A part of less than a millionth, here 40 ns, is left out. */
static void forwarded_programs_have_a_row_each(void)
{
	struct breakdown_part parts[] = {
		{"kernel", 0.03}, {"network", 0.01}, {"copy", 2e-8}, {"queue", 6e-8}};
	struct call_prediction calls[] = {{"cudaMemcpy", 2, 0.006, 0.003, 0.15, 0.001}};
	struct prediction p = plain("pool");
	p.throughput = NUMBER(12.5, 12.5, 12.5), p.ratio = NUMBER(0.75, 0.5, 0.875);
	p.step_s = NUMBER(0.04, 0.04, 0.04), p.gpu_utilization = NUMBER(0.625, 0.625, 0.625);
	p.breakdown = parts, p.breakdown_count = 4;
	p.jobs = clients, p.job_count = 2;
	p.waiting_calls = calls, p.waiting_call_count = 1;
	p.calls_count = 21, p.polls_count = 4, p.retransmission_timeouts = 0.25;
	p.connect_s = 0.002;
	p.bottleneck = "the network", p.remedy = "less latency";
	p.without_effect = "--set a=1", p.idle_adapters = "nic1", p.evidence = "measured";
	p.width = "errors";
	CHECK_TEXT(printed_one(&p),
		   "pool: 12.50 images/s\n"
		   "bottleneck: the network\n"
		   "would help: less latency\n"
		   "\n"
		   "answer\n"
		   "--\n"
		   "ratio to local 0.750 (0.500..0.875)\n"
		   "GPU utilisation 62.5 %\n"
		   "step time 40 ms\n"
		   "verdict ok\n"
		   "\n"
		   "part of the step time time share\n"
		   "--\n"
		   "kernels 30 ms 75.0 %\n"
		   "network round trips 10 ms 25.0 %\n"
		   "queueing 60 ns 0.0 %\n"
		   "\n"
		   "call calls a step time in them mean share of the step server and GPU "
		   "client and network\n"
		   "--\n"
		   "cudaMemcpy 2 6 ms 3 ms 15.0 % 1 ms 5 ms\n"
		   "\n"
		   "client GPU images/s ratio to local GPU utilisation step time verdict\n"
		   "--\n"
		   "near gpu0 12.50 0.750 (0.500..0.875) 62.5 % 40 ms ok\n"
		   "far - - - - - failed: no route [1]\n"
		   "\n"
		   "[1] no route\n"
		   "\n"
		   "21 calls and 4 polls per step; 0.25 retransmission timeouts per step; "
		   "connecting took 2 ms\n"
		   "changes nothing here: --set a=1\n"
		   "idle: nic1\n"
		   "evidence: measured\n"
		   "interval: errors\n"
		   "99 events, seed 7, no intervals (--draws 0), farwire " FARWIRE_VERSION "\n");
}

/* A plan on 8 GPUs. Costs and energies of a sample are printed for a million: 0.002 USD are 2000
 * USD. 3.6e9 J are 1 MWh, from 10 MWh on in MWh, and below 0.1 kWh in J. */
static struct prediction plan(void)
{
	static struct breakdown_part parts[] = {{"kernel", 0.15}, {"tensor exposed", 0.05}},
				     slowest[] = {{"kernel", 0.18}, {"tensor exposed", 0.02}},
				     phases[] = {{"start", 60}, {"steps", 540}},
				     causes[] = {{"lost work", 30}, {"repair", 90}},
				     checkpoint[] = {{"interval", 300}, {"write", 12}};
	static struct stage_prediction stages[] = {
		{"stage 0", 8, 4e10, parts, 2},
		{"rank 5, which computes longest", 1, 4e10, slowest, 2}};
	struct prediction p = plain("plan");
	p.setup.counted = "sequences";
	p.gpu_count = 8;
	p.throughput = NUMBER(40, 35, 45), p.token_throughput = NUMBER(40960, 35840, 46080);
	p.gpu_token_throughput = NUMBER(5120, 4480, 5760);
	p.model_flops = NUMBER(4e14, 3e14, 5e14);
	p.mfu = NUMBER(0.4, 0.3, 0.5), p.hfu = NUMBER(0.45, 0.35, 0.55);
	p.memory_B = 4e10, p.memory_lacking_B = 5e9;
	p.step_s = NUMBER(0.2, 0.2, 0.2), p.ratio = NUMBER(0.9, 0.9, 0.9);
	p.speedup = NUMBER(7.2, 7.2, 7.2), p.gpu_utilization = NUMBER(0.8, 0.8, 0.8);
	p.communication_s = 0.07;
	p.training_s = NUMBER(540, 540, 540), p.elapsed_s = NUMBER(7200, 3600, 10800);
	p.goodput_ratio = NUMBER(0.9, 0.8, 0.95), p.gpu_hours = NUMBER(18, 17, 19);
	p.spares_count = 1, p.failures_count = NUMBER(2.5, 1, 4);
	p.causes = causes, p.cause_count = 2;
	p.checkpoint = checkpoint, p.checkpoint_count = 2;
	p.phases = phases, p.phase_count = 2;
	p.breakdown = parts, p.breakdown_count = 2;
	p.stages = stages, p.stage_count = 2;
	p.choice = "ring";
	p.currency = "EUR";
	p.cost_hour = NUMBER(20, 20, 20), p.cost_year = NUMBER(175320, 175320, 175320);
	p.cost_sample = NUMBER(0.002, 0.001, 0.003), p.cost_token = NUMBER(2e-6, 1e-6, 3e-6);
	p.cost_run = NUMBER(40, 20, 60);
	p.power_W = NUMBER(5000, 5000, 5000), p.energy_year_J = NUMBER(3.6e10, 3.6e10, 3.6e10);
	p.energy_sample_J = NUMBER(0.36, 0.36, 0.36),
	p.energy_run_J = NUMBER(359999, 359999, 359999);
	p.draws_count = 24, p.failed_draws_count = 2;
	return p;
}

static void plan_has_its_long_run_and_its_costs(void)
{
	struct prediction p = plan();
	CHECK_TEXT(
		printed_one(&p),
		"plan: 40.00 (35.00..45.00) sequences/s\n"
		"\n"
		"answer\n"
		"--\n"
		"GPUs 8\n"
		"speed-up 7.20\n"
		"scaling efficiency 0.900\n"
		"GPU utilisation 80.0 %\n"
		"step time 200 ms\n"
		"verdict ok\n"
		"\n"
		"part of the step time mean of all ranks share rank 5, which computes "
		"longest\n"
		"--\n"
		"kernels 150 ms 75.0 % 180 ms\n"
		"exposed tensor parallelism 50 ms 25.0 % 20 ms\n"
		"\n"
		"from launch to end time share\n"
		"--\n"
		"start 60 s 10.0 %\n"
		"steps 540 s 90.0 %\n"
		"\n"
		"collectives run for 70 ms of a step; exposed communication is 50 ms of it\n"
		"library's choice for all gradients at once: ring\n"
		"training time without a failure: 9.0 min\n"
		"time from launch to end: 2.00 h (1.00..3.00)\n"
		"goodput: 90.0 % (80.0..95.0); GPU-hours: 18 (17..19) (spare machines: 1)\n"
		"failures: 2.5 (1.0..4.0), which take: lost work 30 s, repair 90 s\n"
		"checkpoints: interval 5.0 min, write 12 s\n"
		"\n"
		"samples are sequences: 40960 (35840..46080) tokens/s, 5120 (4480..5760) on "
		"each GPU\n"
		"model FLOP/s of a GPU: 400 TFLOP/s (300 TFLOP/s..500 TFLOP/s); MFU 40.0 % "
		"(30.0..50.0), HFU 45.0 % (35.0..55.0)\n"
		"GPU memory of the rank that needs most: 40 GB\n"
		"the plan does not fit: this is 5 GB more than the GPU has (plan.anyway)\n"
		"cost: 20.00 EUR an hour, 175320 a year; 2000 (1000..3000) for 10^6 "
		"sequences; 2.000 (1.000..3.000) for 10^6 tokens; 40.00 (20.00..60.00) for "
		"the training\n"
		"energy: 5 kW, 10.00 MWh a year; 0.1000 kWh for 10^6 sequences; 359999 J "
		"for the training\n"
		"99 events, seed 7, 24 draws (brackets: 90 % intervals), farwire " FARWIRE_VERSION
		"\n"
		"2 of the draws fail and count as 0; a lower end of 0 means that more than "
		"5 % of the draws fail\n");
	/* without checkpoints there is no long run, and the training time is not said twice */
	p.checkpoint_count = 1;
	CHECK_PART(printed_one(&p), "\ncheckpoints: interval 5.0 min\n");
	p.checkpoint_count = 0;
	const char *text = printed_one(&p);
	CHECK(!strstr(text, "goodput") && !strstr(text, "time from launch to end: "));
	CHECK_PART(text, "\ntraining time: 9.0 min\n");
	p.training_s = ESTIMATE_NONE;
	CHECK_PART(printed_one(&p), "\ntime from launch to end: 2.00 h (1.00..3.00)\n");
}

/* Energies change their unit at 0.1 kWh = 360 kJ and at 10 MWh = 36 GJ. Costs without a price are
 * unknown, and so is the energy without a power limit. */
static void costs_have_units_for_their_size(void)
{
	static const struct {
		double energy_J;
		const char *text;
	} rows[] = {{359999, "; 359999 J for the training"},
		    {360000, "; 0.1000 kWh for the training"},
		    {3.5999e10, "; 10000 kWh for the training"},
		    {3.6e10, "; 10.00 MWh for the training"}};
	struct prediction p = plan();
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		p.energy_run_J = estimate_exact(rows[i].energy_J);
		CHECK_PART(printed_one(&p), rows[i].text);
	}
	p.energy_run_J = p.cost_run = p.cost_token = ESTIMATE_NONE;
	CHECK_PART(printed_one(&p),
		   "\n"
		   "cost: 20.00 EUR an hour, 175320 a year; 2000 (1000..3000) for 10^6 "
		   "sequences\n"
		   "energy: 5 kW, 10.00 MWh a year; 0.1000 kWh for 10^6 sequences\n"
		   "99 events");
	p.cost_unknown = "the price is secret", p.power_W = ESTIMATE_NONE;
	CHECK_PART(printed_one(&p),
		   "\n"
		   "cost: unknown, because the price is secret\n"
		   "energy: unknown, because nothing states the power limit of a GPU (write "
		   "for example --set 'gpu.*.power=300 W')\n"
		   "99 events");
	p.ok = false, p.reason = "none";
	CHECK(!strstr(printed_one(&p), "cost"));
}

/* Jobs that share machines have their efficiency and no GPU of their own. */
static void jobs_have_their_time_from_launch_to_end(void)
{
	struct job_prediction jobs[] = {
		{.name = "first",
		 .ok = true,
		 .throughput = NUMBER(30, 30, 30),
		 .ratio = NUMBER(0.9, 0.9, 0.9),
		 .step_s = NUMBER(0.2, 0.2, 0.2),
		 .gpu_utilization = NUMBER(0.8, 0.8, 0.8),
		 .elapsed_s = NUMBER(90, 80, 100)},
		{.name = "second", .reason = "no memory", .elapsed_s = {NAN, NAN, NAN}}};
	struct prediction p = plan();
	p.jobs = jobs, p.job_count = 2;
	CHECK_PART(printed_one(&p),
		   "\n"
		   "job sequences/s scaling efficiency GPU utilisation step time launch to end "
		   "verdict\n"
		   "--\n"
		   "first 30.00 0.900 80.0 % 200 ms 90 s (80 s..100 s) ok\n"
		   "second - - - - - failed: no memory [1]\n"
		   "\n"
		   "[1] no memory\n");
	p.phase_count = 0;
	CHECK_PART(printed_one(&p),
		   "\n"
		   "job sequences/s scaling efficiency GPU utilisation step time verdict\n"
		   "--\n"
		   "first 30.00 0.900 80.0 % 200 ms ok\n"
		   "second - - - - failed: no memory [1]\n");
}

static struct job_prediction services[] = {{.name = "chat",
					    .ok = true,
					    .throughput = NUMBER(3, 3, 3),
					    .step_s = NUMBER(0.5, 0.4, 0.6),
					    .latency_p99_s = NUMBER(2, 2, 2),
					    .gpu_utilization = NUMBER(0.25, 0.25, 0.25)},
					   {.name = "search",
					    .gpu = "gpu1",
					    .ok = true,
					    .throughput = NUMBER(1, 1, 1),
					    .step_s = NUMBER(0.25, 0.25, 0.25),
					    .latency_p99_s = NUMBER(1, 1, 1),
					    .gpu_utilization = NUMBER(0.5, 0.5, 0.5)}};

/* Few requests were simulated, and 30 % of them made the queues longer. */
static void requests_have_their_latencies_and_warnings(void)
{
	struct prediction p = plain("server");
	p.requests_count = 100, p.refused_count = 3, p.preempted_count = 2;
	p.throughput = NUMBER(4, 4, 4), p.step_s = NUMBER(0.4, 0.3, 0.5);
	for (size_t i = 0; i < QUANTILE_COUNT; i++) {
		p.latency_s[i] = estimate_exact(0.5 + 0.5 * (double)i);
		p.between_tokens_s[i] = estimate_exact(0.01 + 0.01 * (double)i);
	}
	p.token_s = estimate_exact(0.02);
	p.overload_ratio = 0.3, p.error_ratio = 0.25, p.latency_error_ratio = 0.5;
	p.wanted_count = 400;
	p.jobs = services, p.job_count = 2;
	p.bottleneck = "";
	CHECK_TEXT(printed_one(&p),
		   "server: 4.000 requests/s\n"
		   "overload: requests arrive faster than they are served; 30 % of them were "
		   "refused or made the queues longer\n"
		   "statistical error: 25 % of the throughput, because few requests were "
		   "simulated (write a larger serve.requests)\n"
		   "statistical error: 50 % of the mean latency, because few requests were "
		   "simulated (write a larger serve.requests)\n"
		   "few requests: the throughput is that of all of them until the last one "
		   "ends, because there is no long steady state (write serve.requests=400 or "
		   "more)\n"
		   "\n"
		   "answer\n"
		   "--\n"
		   "latency p50 500 ms\n"
		   "latency p99 2 s\n"
		   "verdict ok\n"
		   "\n"
		   "latency mean 50 % 90 % 95 % 99 %\n"
		   "--\n"
		   "of a request 400 ms (300 ms..500 ms) 500 ms 1 s 1.5 s 2 s\n"
		   "per token of a request 20 ms - - - -\n"
		   "between tokens - 10 ms 20 ms 30 ms 40 ms\n"
		   "\n"
		   "100 requests, 3 refused, 2 preemptions\n"
		   "\n"
		   "client GPU requests/s latency p99 GPU utilisation mean latency verdict\n"
		   "--\n"
		   "chat - 3.000 2 s 25.0 % 500 ms (400 ms..600 ms) ok\n"
		   "search gpu1 1.000 1 s 50.0 % 250 ms ok\n"
		   "\n"
		   "99 events, seed 7, no intervals (--draws 0), farwire " FARWIRE_VERSION "\n");
	p.overload_ratio = p.error_ratio = p.latency_error_ratio = p.wanted_count = 0;
	const char *text = printed_one(&p);
	CHECK(!strstr(text, "overload:") && !strstr(text, "statistical error") &&
	      !strstr(text, "few requests"));
}

/* Several predictions have a line each, with the columns of their kinds. A prediction has a dash in
 * a column of another kind. */
static void several_predictions_have_a_line_each(void)
{
	struct prediction job = plan(), server = plain("server"), bus = plain("bus"),
			  bad = plain("bad");
	server.requests_count = 100;
	server.throughput = NUMBER(4, 3, 5);
	server.latency_s[0] = estimate_exact(0.5);
	server.slo_attainment = estimate_exact(0.985);
	bus.collective = "all_reduce, 1 MiB", bus.gpu_count = 4;
	bus.throughput = NUMBER(2e11, 2e11, 2e11), bus.step_s = estimate_exact(0.001);
	bad.ok = false, bad.reason = "no route";
	job.bottleneck = "one GPU";
	const struct prediction *all[] = {&job, &server, &bus, &bad};
	CHECK_TEXT(printed(all, 4, false),
		   "\n"
		   "case GPUs samples/s bus bandwidth ratio to local speed-up scaling "
		   "efficiency GPU utilisation step time time collective and its algorithm "
		   "requests/s tokens/s latency p50 latency p99 SLO attainment bottleneck "
		   "verdict\n"
		   "--\n"
		   "plan 8 40.00 (35.00..45.00) - - 7.20 0.900 80.0 % 200 ms - - - - - - - one "
		   "GPU ok\n"
		   "server - - - - - - - - - - 4.000 (3.000..5.000) - 500 ms - 98.5 % - ok\n"
		   "bus 4 - 200 GB/s - - - - - 1 ms all_reduce, 1 MiB - - - - - - ok\n"
		   "bad - - - - - - - - - - - - - - - - failed: no route [1]\n"
		   "\n"
		   "[1] no route\n");
}

static void failure_and_collective_have_no_further_numbers(void)
{
	struct prediction bus = plain("bus"), bad = plain("bad");
	bus.collective = "all_reduce, 1 MiB", bus.gpu_count = 4;
	bus.throughput = NUMBER(2e11, 2e11, 2e11), bus.step_s = estimate_exact(0.001);
	bad.ok = false, bad.reason = "no route";
	CHECK_TEXT(printed_one(&bad),
		   "bad: FAIL: no route\n"
		   "\n"
		   "99 events, seed 7, no intervals, farwire " FARWIRE_VERSION "\n");
	CHECK_TEXT(printed_one(&bus),
		   "bus: 200 GB/s bus bandwidth\n"
		   "\n"
		   "answer\n"
		   "--\n"
		   "GPUs 4\n"
		   "time 1 ms\n"
		   "collective and its algorithm all_reduce, 1 MiB\n"
		   "verdict ok\n"
		   "\n"
		   "99 events, seed 7, no intervals (--draws 0), farwire " FARWIRE_VERSION "\n");
}

/* Links have a row for each direction. */
static void links_have_their_load(void)
{
	struct link_prediction links[] = {{"wire a>b", 0.125, 1e6}, {"wire b>a", 0.5, 2.5e9}};
	struct prediction p = plain("linked");
	const struct prediction *list = &p;
	p.links = links, p.link_count = 2;
	CHECK_PART(printed(&list, 1, true),
		   "\n"
		   "link utilisation bytes carried\n"
		   "--\n"
		   "wire a>b 12.5 % 1 MB\n"
		   "wire b>a 50.0 % 2.5 GB\n"
		   "\n"
		   "0 calls and 0 polls per step; 0 retransmission timeouts per step; "
		   "connecting took 0 s\n"
		   "99 events");
	CHECK(!strstr(printed(&list, 1, false), "utilisation"));
}

/* Settings of the first prediction that change nothing in any of them, also within longer lists. */
static void settings_without_effect_are_those_of_all_predictions(void)
{
	static const struct {
		const char *all[3], *wanted;
	} rows[] = {{{"a=1, b=2, c=3", "c=3, a=1", "a=1, x=1, c=3"}, "a=1, c=3"},
		    {{"a=1, b=2", "b=2, a=12", "b=2"}, "b=2"},
		    {{"a=1", "b=2", "a=1"}, NULL},
		    {{"b=2", "ab=2", "b=2"}, NULL},
		    {{"a=1", NULL, "a=1"}, NULL},
		    {{NULL, "a=1", "a=1"}, NULL}};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct prediction p[3];
		const struct prediction *list[3];
		for (size_t k = 0; k < 3; k++) {
			p[k] = plain("x");
			p[k].without_effect = rows[i].all[k];
			list[k] = &p[k];
		}
		const char *found = predictions_without_effect(arena, list, 3);
		CHECK_TEXT(found ? found : "none", rows[i].wanted ? rows[i].wanted : "none");
	}
}

static const struct test tests[] = {
	TEST(forwarded_programs_have_a_row_each),
	TEST(plan_has_its_long_run_and_its_costs),
	TEST(costs_have_units_for_their_size),
	TEST(jobs_have_their_time_from_launch_to_end),
	TEST(requests_have_their_latencies_and_warnings),
	TEST(several_predictions_have_a_line_each),
	TEST(failure_and_collective_have_no_further_numbers),
	TEST(links_have_their_load),
	TEST(settings_without_effect_are_those_of_all_predictions),
};

int main(void)
{
	arena = arena_new();
	int failed = TEST_MAIN(tests);
	arena_free(arena);
	return failed;
}
