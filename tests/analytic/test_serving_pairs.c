/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Model servers where two of something meet: services, replicas of two kinds, and requests that run
 * one after the other. Times are added by hand: a row takes 1 ms. */
#include "tests/serving_bench.h"

/* A collective takes 2 ms of each iteration, and its host 3 ms. */
static struct iteration_time with_costs(void *ctx, const struct iteration *it)
{
	return (struct iteration_time){1e-3 * it->rows, 2e-3, 3e-3};
}

static struct bench generating(struct serve_request *requests, size_t count)
{
	struct bench b = bench_of(count);
	b.service.requests = (struct request_list){requests, count};
	b.service.generates = true;
	b.params.warmup_ratio = 0;
	b.params.batching = BATCHING_CONTINUOUS;
	return b;
}

/* Each request has an iteration of 10 rows and one of a row: 21 ms. The second one waits for the
 * first one, and has no part of its iterations. */
static void a_request_has_the_costs_of_its_own_iterations(void)
{
	struct serve_request two[] = {{0, 10, 2, 0, 0}, {0, 10, 2, 0, 0}};
	struct bench b = generating(two, 2);
	struct serving_answers answers = run(&b, 1, 0, with_costs);
	CHECK_NEAR(answers.mean_s, (0.021 + 0.042) / 2, 1e-9);
	CHECK_NEAR(answers.parts_s[SERVE_KERNEL], 0.011, 1e-9);
	CHECK_NEAR(answers.parts_s[SERVE_EXCHANGE], 0.004, 1e-9);
	CHECK_NEAR(answers.parts_s[SERVE_OVERHEAD], 0.006, 1e-9);
	CHECK_NEAR(answers.parts_s[SERVE_QUEUE], 0.021 / 2, 1e-9);
	arena_free(b.arena);
}

/* A replica for prompts and one for tokens have one front end, which takes a request in 10 ms. So
 * the second of two requests is taken at 20 ms. A prompt takes 5 ms, and the second token 1 ms. The
 * tokens of the first request, at 15 and 16 ms, are sent when the front end has taken the second
 * one. */
static void replicas_that_only_generate_have_no_front_end(void)
{
	struct serve_request two[] = {{0, 5, 2, 0, 0}, {0, 5, 2, 0, 0}};
	struct bench b = generating(two, 2);
	b.apart = true;
	b.params.request_serial_s = 10e-3;
	struct serving_answers answers = run(&b, 2, 100, by_rows);
	CHECK_NEAR(answers.mean_s, (0.020 + 0.026) / 2, 1e-9);
	CHECK_NEAR(answers.front_end_ratio, 20.0 / 26, 1e-9);
	arena_free(b.arena);
}

/* The cache keeps the 4 whole blocks of 70 shared tokens, although the last request shares only 30
 * of them, one block. So the prompts of 100 tokens take 100, 36 and 84 ms. */
static void the_longest_prefix_of_a_group_is_kept(void)
{
	struct serve_request three[] = {
		{0, 100, 1, 1, 70}, {PS_PER_S, 100, 1, 1, 70}, {2 * PS_PER_S, 100, 1, 1, 30}};
	struct bench b = generating(three, 3);
	b.params.prefix_cache = true;
	b.params.batch_count = 4;
	CHECK_NEAR(run(&b, 1, 20, by_rows).mean_s, (0.1 + 0.036 + 0.084) / 3, 1e-9);
	arena_free(b.arena);
}

/* Blocks of a request that has left are free. The replica for prompts has 5 blocks of 16 tokens.
 * The first request takes 2 of them for 32 ms and leaves. The second one, which arrives at 33 ms,
 * takes all of them until 97 and 113 ms, because an iteration has at most 64 rows. The third one
 * arrives at 40 ms. It waits for the GPU until 97 ms, and then for memory, because no blocks are on
 * their way. */
static void blocks_that_have_left_are_not_awaited(void)
{
	struct serve_request three[] = {{0, 32, 2, 0, 0},
					{33 * (PS_PER_S / 1000), 80, 1, 0, 0},
					{40 * (PS_PER_S / 1000), 16, 1, 0, 0}};
	struct bench b = generating(three, 3);
	b.apart = true;
	b.params.batch_count = 4;
	b.params.tokens_count = 64;
	struct serving_answers answers = run(&b, 2, 5, by_rows);
	CHECK_NEAR(answers.mean_s, (0.033 + 0.08 + 0.089) / 3, 1e-9);
	CHECK_NEAR(answers.queue_ratios[QUEUE_FOR_GPU], 57.0 / 73, 1e-9);
	CHECK_NEAR(answers.queue_ratios[QUEUE_FOR_MEMORY], 16.0 / 73, 1e-9);
	CHECK_NEAR(answers.queue_ratios[QUEUE_FOR_TRANSFERS], 0, 0);
	arena_free(b.arena);
}

/* ---- two services ---- */

/* The first service has two replicas, and six requests of 1 s and two tokens at the same time. The
 * second one has one replica with half the cache, and two requests, each of 0.1 s. */
struct two_services {
	struct bench b;
	struct serve_params params[2];
	struct serving_service_spec services[2];
	struct serving_replica_spec replicas[3];
	struct replica_run runs[3];
	struct serving_answers all;
};

static struct serve_request few[] = {{0, 100, 1, 0, 0}, {PS_PER_S / 2, 100, 1, 0, 0}};
static struct serve_request many[] = {{0, 1000, 2, 0, 0}, {0, 1000, 2, 0, 0}, {0, 1000, 2, 0, 0},
				      {0, 1000, 2, 0, 0}, {0, 1000, 2, 0, 0}, {0, 1000, 2, 0, 0}};

static void run_two(struct two_services *t)
{
	t->b = generating(few, 2);
	t->params[0] = t->params[1] = t->b.params;
	t->params[0].batch_count = 2;
	t->params[0].between_slo_s = 10;
	t->params[0].tokens_count = 1000; /* one prompt in an iteration */
	for (size_t i = 0; i < 2; i++) {
		t->services[i] = t->b.service;
		t->services[i].params = &t->params[i];
	}
	t->services[0].requests = (struct request_list){many, 6};
	for (size_t i = 0; i < 3; i++)
		t->replicas[i] = (struct serving_replica_spec){.service = i == 2,
							       .time = by_rows,
							       .ctx = &t->b,
							       .block_count = i < 2 ? 200 : 100};
	const struct serving_spec spec = {.arena = t->b.arena,
					  .engine = t->b.engine,
					  .services = t->services,
					  .service_count = 2,
					  .replicas = t->replicas,
					  .replica_count = 3,
					  .opened = opened,
					  .done = done,
					  .transfer = transfer,
					  .offload = offload,
					  .of = &t->b};
	struct serving *serving = serving_new(&spec);
	serving_begin(serving);
	engine_run(t->b.engine);
	CHECK(t->b.done == 1 && serving_left(serving) == 0);
	serving_read(serving, t->runs);
	t->all = *t->runs[0].all;
}

/* The first service takes a prompt in each of its two replicas, and has three others in its queues
 * when the last one arrives: half of its requests. The second service has none in its queue when
 * its last request arrives. */
static void queues_belong_to_their_service(void)
{
	struct two_services t = {0};
	run_two(&t);
	const struct serving_answers *other = t.runs[0].service, *one = t.runs[2].service;
	CHECK(t.runs[1].service == other && t.runs[1].all == t.runs[0].all);
	CHECK_NEAR(one->overload_ratio, 0, 0);
	CHECK_NEAR(other->overload_ratio, 3.0 / 6, 1e-12);
	CHECK_NEAR(t.all.overload_ratio, 3.0 / 8, 1e-12);
	CHECK_NEAR(one->mean_s, 0.1, 1e-9);
	CHECK(isnan(one->attainment_ratio));
	CHECK_NEAR(other->attainment_ratio, 1, 0);
	CHECK_NEAR(t.all.attainment_ratio, 1, 0);
	arena_free(t.b.arena);
}

/* Sums over both services: requests, tokens, the caches of all replicas, and the requests that a
 * longer run needs: five for each that the first service can run, and none for the second one.
 * Means weigh each request. */
static void answers_of_all_services_are_sums(void)
{
	struct two_services t = {0};
	run_two(&t);
	const struct serving_answers *other = t.runs[0].service, *one = t.runs[2].service;
	CHECK_NEAR(t.all.requests_count, 2 + 6, 0);
	CHECK_NEAR(one->cache_tokens_count, 100 * 16, 0);
	CHECK_NEAR(other->cache_tokens_count, 2 * 200 * 16, 0);
	CHECK_NEAR(t.all.cache_tokens_count, (100 + 2 * 200) * 16, 0);
	CHECK_NEAR(one->wanted_count, 0, 0);
	CHECK_NEAR(other->wanted_count, 5 * 2 * 2, 0);
	CHECK_NEAR(t.all.wanted_count, 20, 0);
	CHECK_NEAR(t.all.requests_per_s, one->requests_per_s + other->requests_per_s, 1e-12);
	CHECK_NEAR(t.all.tokens_per_s, one->tokens_per_s + other->tokens_per_s, 1e-12);
	CHECK(one->requests_per_s > 0 && other->requests_per_s > 0);
	CHECK_NEAR(t.all.mean_s, (2 * one->mean_s + 6 * other->mean_s) / 8, 1e-12);
	CHECK_NEAR(t.all.token_mean_s, other->token_mean_s, 1e-12);
	/* both replicas of the first service have half of its requests */
	CHECK_NEAR(t.runs[0].requests_per_s, other->requests_per_s / 2, 1e-12);
	CHECK_NEAR(t.runs[1].requests_per_s, other->requests_per_s / 2, 1e-12);
	CHECK_NEAR(t.runs[2].requests_per_s, one->requests_per_s, 1e-12);
	arena_free(t.b.arena);
}

static const struct test tests[] = {
	TEST(a_request_has_the_costs_of_its_own_iterations),
	TEST(replicas_that_only_generate_have_no_front_end),
	TEST(the_longest_prefix_of_a_group_is_kept),
	TEST(blocks_that_have_left_are_not_awaited),
	TEST(queues_belong_to_their_service),
	TEST(answers_of_all_services_are_sums),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
