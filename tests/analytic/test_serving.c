/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Model servers against queueing theory. The time of an iteration is given, so that a replica is a
 * queue with a known answer; arrivals are Poisson. Tolerances cover the
 * statistical error of the means and quantiles of that many requests. */
#include "tests/serving_bench.h"

/* M/M/1: the latency is exponential with mean 1 / (mu - lambda). mu = 1/s, lambda = 0.7/s. A batch
 * of one takes an exponential time. */
static void a_single_server_has_the_latency_of_mm1(void)
{
	struct bench b = bench_of(200000);
	b.params.rate_count = 0.7;
	struct serving_answers answers = run(&b, 1, 0, by_chance);
	CHECK_NEAR(answers.mean_s, 1 / 0.3, 0.03);
	CHECK_NEAR(answers.latency_s[0], log(2) / 0.3, 0.03);
	CHECK_NEAR(answers.latency_s[3], log(100) / 0.3, 0.05);
	CHECK_NEAR(answers.requests_per_s, 0.7, 0.01);
	CHECK_NEAR(b.runs[0].busy_ratio, 0.7, 0.01);
	arena_free(b.arena);
}

/* M/D/1 (Pollaczek-Khinchine): wait = rho / (2 (1 - rho)) of a service. A prompt of 800 tokens
 * takes 0.8 s, lambda = 1/s: wait = 0.8 * 0.8 / 0.4 = 1.6 s. */
static void equal_services_have_the_wait_of_md1(void)
{
	struct bench b = bench_of(200000);
	b.params.prompt_count = 800;
	struct serving_answers answers = run(&b, 1, 0, by_rows);
	CHECK_NEAR(answers.parts_s[SERVE_QUEUE], 1.6, 0.03);
	CHECK_NEAR(answers.parts_s[SERVE_KERNEL], 0.8, 1e-9);
	CHECK_NEAR(answers.mean_s, 2.4, 0.03);
	arena_free(b.arena);
}

/* M/G/1 with gamma lengths of spread s: wait = rho (1 + s^2) / (2 (1 - rho)) of a mean service.
 * s = 1.5, mean 600 tokens of 1 ms, lambda 1/s: 0.6 * 0.6 * 3.25 / 0.8 = 1.4625 s. */
static void spread_lengths_have_the_wait_of_mg1(void)
{
	struct bench b = bench_of(200000);
	b.params.prompt_count = 600;
	b.params.prompt_spread_ratio = 1.5;
	struct serving_answers answers = run(&b, 1, 0, by_rows);
	CHECK_NEAR(answers.parts_s[SERVE_QUEUE], 1.4625, 0.05);
	arena_free(b.arena);
}

/* Batches of up to B = 4 with an exponential service of mean 1 s, lambda = 2/s. While a batch runs,
 * n requests wait with probability C r^n. r solves mu r^5 - (lambda + mu) r + lambda = 0 in (0, 1),
 * and C (mu / lambda + 1 / (1 - r)) = 1. Little: wait = C r / (1 - r)^2 / lambda. */
static void batches_have_the_wait_of_bulk_service(void)
{
	double low = 0, high = 0.999;
	while (high - low > 1e-12) {
		double r = (low + high) / 2;
		*(pow(r, 5) - 3 * r + 2 > 0 ? &low : &high) = r;
	}
	double c = 1 / (0.5 + 1 / (1 - low));
	double wait_s = c * low / ((1 - low) * (1 - low)) / 2;
	struct bench b = bench_of(200000);
	b.params.rate_count = 2;
	b.params.batch_count = 4;
	struct serving_answers answers = run(&b, 1, 0, by_chance);
	CHECK_NEAR(answers.parts_s[SERVE_QUEUE], wait_s, 0.03);
	arena_free(b.arena);
}

/* A router by turns gives each of two replicas every second request: the arrivals of a replica are
 * Erlang-2, so the wait is shorter than that of M/M/1 with the same load (E2/M/1: sigma solves
 * sigma = (2 lambda / (2 lambda + mu (1 - sigma)))^2, wait = sigma / (mu (1 - sigma))). */
static void a_router_by_turns_gives_erlang_arrivals(void)
{
	double sigma = 0.5;
	for (size_t i = 0; i < 200; i++)
		sigma = pow(1.4 / (1.4 + 1 - sigma), 2);
	struct bench b = bench_of(200000);
	b.params.rate_count = 1.4;
	struct serving_answers answers = run(&b, 2, 0, by_chance);
	CHECK_NEAR(answers.parts_s[SERVE_QUEUE], sigma / (1 - sigma), 0.04);
	arena_free(b.arena);
}

/* A dynamic batch that is never full begins when its first request has waited for the delay.
 * Requests each 1 s, delay 2.5 s: requests 0, 1 and 2 leave together at 2.5 s, and so on. */
static void a_dynamic_batch_waits_for_its_delay(void)
{
	struct bench b = bench_of(300);
	b.params.spread_ratio = 0;
	b.params.warmup_ratio = 0;
	b.params.batch_count = 8;
	b.params.delay_s = 2.5;
	struct serving_answers answers = run(&b, 1, 0, by_rows);
	CHECK_NEAR(b.iterations, 100, 0);
	CHECK_NEAR(answers.parts_s[SERVE_QUEUE], 1.5, 0.01);
	arena_free(b.arena);
}

/* Requests of 1 s arrive each 0.5 s at a server of one request. Request k waits for k halves of a
 * second, so all but the first two miss 1.9 s for the first token. The first 10 of 100 are not
 * measured. 81 of the other 90 would be 90 %, so the run ends when the tenth of them, k = 19, has
 * missed it, at 20 s. */
static void a_run_for_a_verdict_ends_when_it_is_certain(void)
{
	struct bench b = bench_of(100);
	b.params.spread_ratio = 0;
	b.params.rate_count = 2;
	b.params.batching = BATCHING_CONTINUOUS;
	b.params.prompt_count = 1000;
	b.params.first_slo_s = 1.9;
	b.params.slo_quantile_ratio = 0.9;
	b.service.generates = true;
	b.verdict_only = true;
	struct serving_answers answers = run(&b, 1, 0, by_rows);
	struct serving_use use;
	CHECK(b.done == 1 && serving_is_over(b.serving) && serving_left(b.serving) == 80);
	CHECK(answers.attainment_ratio < 0.9);
	CHECK_NEAR(s_from_ps(engine_now_ps(b.engine)), 20, 0.03);
	CHECK(!serving_missed(b.serving, &use)); /* more requests at a time would be another run */
	arena_free(b.arena);

	b = bench_of(100); /* without limits, no request waits */
	b.params.spread_ratio = 0;
	b.params.rate_count = 0.5;
	b.params.batching = BATCHING_CONTINUOUS;
	b.params.batch_count = 4;
	b.params.prompt_count = 1000;
	b.params.first_slo_s = 0.9;
	b.params.slo_quantile_ratio = 0.9;
	b.service.generates = true;
	b.verdict_only = true;
	run(&b, 1, 0, by_rows);
	CHECK(serving_missed(b.serving, &use) && serving_left(b.serving) == 80);
	CHECK(use.running == 1 && use.tokens == 1000 && use.blocks == 0);
	arena_free(b.arena);
}

/* A fixed batch of 4 waits for the fourth request: waits of 3, 2, 1 and 0 s. */
static void a_fixed_batch_waits_until_it_is_full(void)
{
	struct bench b = bench_of(400);
	b.params.spread_ratio = 0;
	b.params.warmup_ratio = 0;
	b.params.batching = BATCHING_FIXED;
	b.params.batch_count = 4;
	struct serving_answers answers = run(&b, 1, 0, by_rows);
	CHECK_NEAR(b.iterations, 100, 0);
	CHECK_NEAR(answers.parts_s[SERVE_QUEUE], 1.5, 1e-9);
	CHECK_NEAR(answers.queue_ratios[QUEUE_FOR_OTHERS], 1, 1e-9);
	CHECK_NEAR(answers.mean_s, 1.504, 1e-9);
	arena_free(b.arena);
}

/* A service of 1 s, with requests every 0.5 s: half of them stay in the queue, which waits for the
 * GPU. With requests every 1.25 s nothing waits. A server of tokens that runs one request waits for
 * its limit. */
static void an_overloaded_server_leaves_the_rest_of_its_requests_behind(void)
{
	static const struct {
		double rate_count;
		int batching;
		double overload_ratio;
		enum queue_cause cause;
	} rows[] = {{2, BATCHING_DYNAMIC, 0.5, QUEUE_FOR_GPU},
		    {0.8, BATCHING_DYNAMIC, 0, QUEUE_CAUSE_COUNT},
		    {2, BATCHING_CONTINUOUS, 0.5, QUEUE_FOR_LIMIT}};
	for (size_t i = 0; i < 3; i++) {
		struct bench b = bench_of(4000);
		b.params.rate_count = rows[i].rate_count;
		b.params.spread_ratio = 0;
		b.params.prompt_count = 1000;
		b.params.batching = rows[i].batching;
		struct serving_answers answers = run(&b, 1, 0, by_rows);
		CHECK_NEAR(answers.overload_ratio, rows[i].overload_ratio, 0.001);
		for (size_t k = 0; k < QUEUE_CAUSE_COUNT; k++)
			CHECK_NEAR(answers.queue_ratios[k], k == rows[i].cause, 0);
		arena_free(b.arena);
	}
}

/* The queue has room for 3 of 5 requests, so a batch of 4 is never full. It begins when the last
 * one is refused. */
static void a_partial_batch_begins_when_the_last_request_is_refused(void)
{
	struct bench b = bench_of(5);
	b.params.spread_ratio = 0;
	b.params.warmup_ratio = 0;
	b.params.batching = BATCHING_FIXED;
	b.params.batch_count = 4;
	b.params.queue_count = 3;
	struct serving_answers answers = run(&b, 1, 0, by_rows);
	CHECK_NEAR(answers.refused_count, 2, 0);
	CHECK_NEAR(b.iterations, 1, 0);
	CHECK(serving_left(b.serving) == 0 && b.done == 1);
	arena_free(b.arena);
}

/* A batch of two prompts: the first request has one token and ends with it. The other replica
 * generates the second token of the other request. Then the next batch begins. */
static void a_batch_of_prompts_is_over_when_the_others_have_gone(void)
{
	static const struct serve_request requests[] = {
		{.arrival_ps = 0, .prompt = 1, .output = 1},
		{.arrival_ps = 0, .prompt = 1, .output = 2},
		{.arrival_ps = 0, .prompt = 1, .output = 1},
		{.arrival_ps = 0, .prompt = 1, .output = 1},
	};
	struct bench b = bench_of(4);
	b.params.warmup_ratio = 0;
	b.params.batching = BATCHING_FIXED;
	b.params.batch_count = 2;
	b.service.generates = b.apart = true;
	b.service.requests.items = (struct serve_request *)requests;
	b.service.requests.count = 4;
	run(&b, 2, 0, by_rows);
	CHECK_NEAR(b.iterations, 3, 0);
	CHECK(serving_left(b.serving) == 0 && b.done == 1);
	arena_free(b.arena);
}

/* Two prompts of 32 tokens and 32 output tokens each need 4 blocks of 16; 6 blocks are there. Both
 * prompts take 2 blocks each, and at 33 tokens one more each. At 49 tokens one needs a seventh
 * block, so the later request is preempted and processed again. */
static void a_full_cache_preempts_the_last_request(void)
{
	struct bench b = bench_of(2);
	b.params.spread_ratio = 0;
	b.params.warmup_ratio = 0;
	b.params.rate_count = 1000;
	b.params.batching = BATCHING_CONTINUOUS;
	b.params.batch_count = 8;
	b.params.prompt_count = 32;
	b.params.output_count = 32;
	b.service.generates = true;
	struct serving_answers answers = run(&b, 1, 6, by_rows);
	CHECK_NEAR(answers.preempted_count, 1, 0);
	CHECK(serving_left(b.serving) == 0);
	CHECK(answers.queue_ratios[QUEUE_FOR_MEMORY] > 0);
	arena_free(b.arena);
}

/* 32 tokens of prompt and 64 of output need 6 blocks of 16, all that are there. */
static void a_request_may_use_the_whole_cache(void)
{
	struct bench b = bench_of(1);
	b.params.warmup_ratio = 0;
	b.params.batching = BATCHING_CONTINUOUS;
	b.params.batch_count = 8;
	b.params.prompt_count = 32;
	b.params.output_count = 64;
	b.service.generates = true;
	struct serving_answers answers = run(&b, 1, 6, by_rows);
	CHECK_NEAR(answers.preempted_count, 0, 0);
	CHECK_NEAR(answers.queue_ratios[QUEUE_FOR_MEMORY], 0, 0);
	CHECK(serving_left(b.serving) == 0 && b.done == 1);
	arena_free(b.arena);
}

/* Every request ends or is refused, under a load that fills queue and cache. Equal seeds give equal
 * answers. */
static void each_request_ends_or_is_refused(void)
{
	struct serving_answers all[2];
	for (size_t k = 0; k < 2; k++) {
		struct bench b = bench_of(20000);
		b.params.rate_count = 4;
		b.params.spread_ratio = 3;
		b.params.on_s = 20;
		b.params.off_s = 20;
		b.params.batching = BATCHING_CONTINUOUS;
		b.params.batch_count = 16;
		b.params.tokens_count = 64;
		b.params.prompt_count = 100;
		b.params.prompt_spread_ratio = 1;
		b.params.output_count = 30;
		b.params.output_spread_ratio = 1;
		b.params.queue_count = 20;
		b.service.generates = true;
		all[k] = run(&b, 2, 120, by_rows);
		CHECK(serving_left(b.serving) == 0);
		CHECK(b.done == 1 && b.opened == 1);
		CHECK(all[k].refused_count > 0 && all[k].preempted_count > 0);
		arena_free(b.arena);
	}
	CHECK(memcmp(&all[0], &all[1], sizeof all[0]) == 0);
}

/* A prompt of 3 tokens takes 3 ms, and each of the 3 further tokens 1 ms. A prompt of 5 tokens with
 * one token of output takes 5 ms and has no further token, so it does not count in the time per
 * token. 10 blocks of 16 tokens hold 160 tokens. */
static void means_of_the_first_and_of_further_tokens(void)
{
	static const struct serve_request pair[] = {{0, 3, 4, 0, 0}, {PS_PER_S / 10, 5, 1, 0, 0}};
	struct bench b = bench_of(2);
	b.params.warmup_ratio = 0;
	b.params.batching = BATCHING_CONTINUOUS;
	b.params.batch_count = 4;
	b.service.generates = true;
	b.service.requests = (struct request_list){(struct serve_request *)pair, 2};
	struct serving_answers answers = run(&b, 1, 10, by_rows);
	CHECK_NEAR(answers.first_mean_s, 4e-3, 1e-9);
	CHECK_NEAR(answers.token_mean_s, 1e-3, 1e-9);
	CHECK_NEAR(answers.mean_s, 5.5e-3, 1e-9);
	CHECK_NEAR(answers.cache_tokens_count, 160, 0);
	arena_free(b.arena);
}

/* Whole prompts before tokens: a prompt of 1000 tokens delays the next token of a running request
 * by 1 s. Chunks of 100 tokens delay each token by at most 0.1 s. */
static void chunks_bound_the_time_between_tokens(void)
{
	static const struct serve_request pair[] = {{0, 1, 200, 0, 0},
						    {PS_PER_S / 20, 1000, 2, 0, 0}};
	double worst_s[2];
	for (size_t k = 0; k < 2; k++) {
		struct bench b = bench_of(2);
		struct serve_request *own = ARENA_ARRAY(b.arena, 2, struct serve_request);
		memcpy(own, pair, sizeof pair);
		b.service.requests = (struct request_list){own, 2};
		b.params.warmup_ratio = 0;
		b.params.batching = BATCHING_CONTINUOUS;
		b.params.batch_count = 8;
		b.params.tokens_count = k == 1 ? 100 : 1000;
		b.params.chunked_prefill = k == 1;
		b.service.generates = true;
		struct serving_answers answers = run(&b, 1, 1000, by_rows);
		worst_s[k] = answers.first_s[3];
		CHECK_NEAR(b.runs[0].busy_ratio, 1, 1e-9);
		/* each of the 201 + 1001 processed tokens takes 1 ms in both cases */
		CHECK_NEAR(s_from_ps(engine_now_ps(b.engine)), 1.201, 1e-9);
		arena_free(b.arena);
	}
	CHECK(worst_s[0] < worst_s[1]);
}

/* The cache has 14 blocks of 16 tokens. The first request has 16 tokens of prompt and 200 of
 * output, so it needs all of them at its end. The second one arrives when 7 blocks are free, and
 * has 160 tokens of prompt in parts of up to 95 tokens: 6 blocks suffice for the first part, but
 * the prompt needs 10. If the prompt is reserved, it waits until the first request ends. Then each
 * of the 215 + 160 tokens is processed once, in 1 ms each. Otherwise the first part is processed in
 * vain. */
static void cut_prompts_wait_for_blocks_of_all_their_parts(void)
{
	for (int reserve = 0; reserve < 2; reserve++) {
		struct serve_request pair[] = {{0, 16, 200, 0, 0}, {PS_PER_S / 10, 160, 1, 0, 0}};
		struct bench b = bench_of(2);
		b.service.requests = (struct request_list){pair, 2};
		b.params.warmup_ratio = 0;
		b.params.batching = BATCHING_CONTINUOUS;
		b.params.batch_count = 8;
		b.params.tokens_count = 96;
		b.params.reserve_prompt = reserve;
		b.service.generates = true;
		struct serving_answers answers = run(&b, 1, 14, by_rows);
		double end_s = s_from_ps(engine_now_ps(b.engine));
		CHECK(reserve ? answers.preempted_count == 0 : answers.preempted_count > 0);
		CHECK(reserve ? fabs(end_s - 0.375) < 1e-9 : end_s > 0.375 + 0.095);
		arena_free(b.arena);
	}
}

/* Arrivals keep their mean rate with bursts and pauses, with many arrivals between two pauses or
 * many pauses between two arrivals. */
static void arrivals_keep_their_mean_rate(void)
{
	static const double spreads[] = {0, 0.5, 1, 3}, rates[] = {50, 0.1};
	for (size_t i = 0; i < 8; i++) {
		struct bench b = bench_of(200000);
		b.params.rate_count = rates[i / 4];
		b.params.spread_ratio = spreads[i % 4];
		b.params.on_s = i % 2 ? 1 : 0;
		b.params.off_s = i % 2 ? 3 : 0;
		struct request_list list = requests_draw(b.arena, &b.params, 5, "test", 100);
		double span_s = s_from_ps(list.items[list.count - 1].arrival_ps);
		CHECK_NEAR((double)list.count / span_s, b.params.rate_count, 0.05);
		arena_free(b.arena);
	}
}

/* Two requests/s for 10 s, none for 20 s, and then five requests/s: with equal times, 20 requests
 * arrive until 10 s, the next one at 30.2 s and the 40th at 34 s. */
static void stages_change_the_rate_of_arrivals(void)
{
	struct bench b = bench_of(40);
	b.params.stages = "0:2,10:0,30:5";
	b.params.spread_ratio = 0;
	struct request_list list = requests_draw(b.arena, &b.params, 5, "test", 100);
	static const struct {
		size_t request;
		double time_s;
	} all[] = {{0, 0.5}, {19, 10}, {20, 30.2}, {39, 34}};
	for (size_t i = 0; i < 4; i++)
		CHECK_NEAR(s_from_ps(list.items[all[i].request].arrival_ps), all[i].time_s, 1e-9);
	static const char *const wrong[] = {
		"1:2",  "0:2,0:3",   "0:2;5:3", "0:2,5:0",       "0:-1",   "0:2,", "0",
		"0:2 ", "0:2,5:nan", "0:1e-7",  "0:2,1000001:3", "0:1e10", "0;2",  "0:2,5:3,4:2"};
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
		CHECK(requests_stages(b.arena, wrong[i]).count == 0);
	CHECK(requests_stages(b.arena, "0:2").count == 1);
	CHECK(requests_stages(b.arena, "0:1e9,1000000:1e-6").count == 2);
	arena_free(b.arena);
}

/* Lengths with a mean of 10 and a deviation of 1 have a mean of 10, not 9.5. */
static void lengths_are_rounded_to_the_nearest_token(void)
{
	struct bench b = bench_of(100000);
	double sum = 0;
	b.params.output_count = 10;
	b.params.output_spread_ratio = 0.1;
	struct request_list list = requests_draw(b.arena, &b.params, 5, "test", 100);
	for (size_t i = 0; i < list.count; i++)
		sum += list.items[i].output;
	CHECK_NEAR(sum / (double)list.count, 10, 0.005);
	arena_free(b.arena);
}

/* The same requests, arriving at growing rates: the mean latency and each of its quantiles do not
 * fall. All requests end, each once, on one to three replicas: replicas together end what the
 * service ends. With one token a request, the iterations process each request once. */
static void latency_does_not_fall_with_load(void)
{
	static const double rates[] = {0.2, 0.5, 0.8, 0.95, 1.5};
	for (size_t replicas = 1; replicas <= 3; replicas++) {
		struct serving_answers before = {0};
		for (size_t i = 0; i < 5; i++) {
			struct bench b = bench_of(4000);
			b.params.rate_count = rates[i] * (double)replicas;
			b.params.warmup_ratio = 0;
			b.params.prompt_count = 800;
			b.params.prompt_spread_ratio = 1;
			struct serving_answers answers = run(&b, replicas, 0, by_rows);
			CHECK(answers.mean_s >= before.mean_s);
			for (size_t k = 0; k < SERVE_QUANTILES; k++)
				CHECK(answers.latency_s[k] >= before.latency_s[k]);
			CHECK(answers.requests_count == 4000 && answers.refused_count == 0);
			CHECK(b.iterations == 4000 && serving_left(b.serving) == 0);
			before = answers;
			arena_free(b.arena);
		}
	}
}

/* 20 requests arrive 0.1 s apart, and each takes 1 s, one after the other. Only the first one ends
 * before the last arrival, so the throughput is that of all requests. */
static void an_overloaded_server_has_the_throughput_of_all_requests(void)
{
	struct bench b = bench_of(20);
	b.params.rate_count = 10;
	b.params.spread_ratio = b.params.warmup_ratio = 0;
	b.params.prompt_count = 1000;
	struct serving_answers answers = run(&b, 1, 0, by_rows);
	CHECK_NEAR(answers.requests_per_s, 1, 0.01);
	CHECK_NEAR(answers.tokens_per_s, 1, 0.01);
	arena_free(b.arena);
}

static const struct test tests[] = {
	TEST(a_single_server_has_the_latency_of_mm1),
	TEST(equal_services_have_the_wait_of_md1),
	TEST(spread_lengths_have_the_wait_of_mg1),
	TEST(batches_have_the_wait_of_bulk_service),
	TEST(a_router_by_turns_gives_erlang_arrivals),
	TEST(a_dynamic_batch_waits_for_its_delay),
	TEST(a_run_for_a_verdict_ends_when_it_is_certain),
	TEST(a_fixed_batch_waits_until_it_is_full),
	TEST(an_overloaded_server_leaves_the_rest_of_its_requests_behind),
	TEST(a_partial_batch_begins_when_the_last_request_is_refused),
	TEST(a_batch_of_prompts_is_over_when_the_others_have_gone),
	TEST(a_full_cache_preempts_the_last_request),
	TEST(a_request_may_use_the_whole_cache),
	TEST(each_request_ends_or_is_refused),
	TEST(chunks_bound_the_time_between_tokens),
	TEST(means_of_the_first_and_of_further_tokens),
	TEST(cut_prompts_wait_for_blocks_of_all_their_parts),
	TEST(arrivals_keep_their_mean_rate),
	TEST(stages_change_the_rate_of_arrivals),
	TEST(lengths_are_rounded_to_the_nearest_token),
	TEST(latency_does_not_fall_with_load),
	TEST(an_overloaded_server_has_the_throughput_of_all_requests),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
