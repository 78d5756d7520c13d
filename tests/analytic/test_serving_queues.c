/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Model servers as queues whose mean latency is known, at loads from half of the capacity to one
 * and a half of it. A finite run states the errors of its throughput and of its mean latency. */
#include "tests/serving_bench.h"

struct queue {
	struct iteration_time (*time)(void *, const struct iteration *);
	double load_ratio;  /* the service takes 1 s on average */
	double latency_s;   /* the exact mean; infinite: the queue grows */
	size_t requests;    /* of a run */
	size_t runs, least; /* that many of the runs are within their stated errors */
};

static struct serving_answers answers_of(const struct queue *queue, uint64_t seed)
{
	struct bench b = bench_of(queue->requests);
	b.rng = rng_named(seed, "services");
	b.params.rate_count = queue->load_ratio;
	b.params.prompt_count = 1000; /* 1 s by rows */
	b.service.params = &b.params;
	b.service.requests = requests_draw(b.arena, &b.params, seed, "test", 1e9);
	struct serving_answers answers = run(&b, 1, 0, queue->time);
	arena_free(b.arena);
	return answers;
}

/* M/M/1: the mean latency is 1 / (1 - rho) of a service. M/D/1 (Pollaczek-Khinchine):
 * 1 + rho / (2 (1 - rho)) of it. If nine of ten runs are right, fewer than 8 of 12 are right with a
 * probability of 0.4 %, and fewer than 2 of 3 with 2.8 % (binomial distribution). At a load of 0.99
 * waits are correlated over 40,000 requests (1 / (1 - sqrt(rho))^2), so a run needs many times as
 * many. The throughput is the rate of arrivals, or the capacity. */
static void queues_have_their_exact_latency_within_the_stated_error(void)
{
	const struct queue queues[] = {
		{by_chance, 0.5, 2, 10000, 12, 8},        {by_rows, 0.5, 1.5, 10000, 12, 8},
		{by_chance, 0.9, 10, 20000, 12, 8},       {by_rows, 0.9, 5.5, 20000, 12, 8},
		{by_chance, 0.99, 100, 300000, 3, 2},     {by_rows, 0.99, 50.5, 300000, 3, 2},
		{by_chance, 1.5, INFINITY, 10000, 12, 0}, {by_rows, 1.5, INFINITY, 10000, 12, 0},
	};
	for (size_t i = 0; i < sizeof queues / sizeof *queues; i++) {
		const struct queue *queue = &queues[i];
		size_t latencies = 0, stated = 0;
		double throughput = 0;
		for (uint64_t seed = 1; seed <= queue->runs; seed++) {
			struct serving_answers answers = answers_of(queue, seed);
			double error_s = answers.latency_error_ratio * answers.mean_s;
			latencies += fabs(answers.mean_s - queue->latency_s) <= error_s;
			stated += isnan(error_s) ? 0 : 1;
			throughput += answers.requests_per_s / (double)queue->runs;
		}
		bool is_stable = queue->load_ratio < 1;
		CHECK(is_stable ? latencies >= queue->least : stated == 0);
		CHECK_NEAR(throughput, is_stable ? queue->load_ratio : 1, 0.01);
	}
}

/* Four clients, each of which sends its next request when its last one has ended: the server is
 * always busy, three requests wait, and each request takes four services. */
static void a_closed_queue_works_at_its_capacity(void)
{
	struct bench b = bench_of(20000);
	b.params.prompt_count = 1000;
	b.params.concurrency_count = 4;
	struct serving_answers answers = run(&b, 1, 0, by_rows);
	CHECK_NEAR(answers.requests_per_s, 1, 1e-3);
	CHECK_NEAR(answers.mean_s, 4, 1e-3);
	CHECK_NEAR(answers.latency_error_ratio, 0, 1e-3);
	arena_free(b.arena);
}

/* Each request of one service takes 1 s, and each of the other 4 s. Neither mean has an error. The
 * parts of all requests in one row would differ by the two services. */
static void services_of_constant_latencies_have_no_statistical_error(void)
{
	struct bench b = bench_of(100);
	b.params.concurrency_count = 1;
	b.params.prompt_count = 1000;
	struct serve_params slow = b.params;
	slow.prompt_count = 4000;
	const struct serving_service_spec services[] = {
		{.params = &b.params, .requests = requests_draw(b.arena, &b.params, 1, "a", 1e9)},
		{.params = &slow, .requests = requests_draw(b.arena, &slow, 1, "b", 1e9)}};
	const struct serving_replica_spec replicas[] = {{.time = by_rows, .ctx = &b},
							{.service = 1, .time = by_rows, .ctx = &b}};
	const struct serving_spec spec = {.arena = b.arena,
					  .engine = b.engine,
					  .services = services,
					  .service_count = 2,
					  .replicas = replicas,
					  .replica_count = 2,
					  .opened = opened,
					  .done = done,
					  .of = &b};
	b.serving = serving_new(&spec);
	serving_begin(b.serving);
	engine_run(b.engine);
	serving_read(b.serving, b.runs);
	CHECK_NEAR(b.runs[0].all->mean_s, 2.5, 1e-9);
	CHECK_NEAR(b.runs[0].all->latency_error_ratio, 0, 1e-9);
	arena_free(b.arena);
}

static const struct test tests[] = {
	TEST(services_of_constant_latencies_have_no_statistical_error),
	TEST(queues_have_their_exact_latency_within_the_stated_error),
	TEST(a_closed_queue_works_at_its_capacity),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
