/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tokens of each iteration are counted by hand; 1 ms of kernels, 2 of exchange, 3 of overhead. */
#include "sim/base/arena.h"
#include "sim/engine/engine.h"
#include "sim/engine/trace.h"
#include "sim/serving/serving.h"
#include "tests/test.h"

#define MS (PS_PER_S / 1000)
enum { ITERATIONS_MAX = 128, SERVICES_MAX = 2, REPLICAS_MAX = 3 };

struct bench {
	struct arena *arena;
	struct serve_params params;
	struct serving_service_spec services[SERVICES_MAX];
	struct serving_replica_spec replicas[REPLICAS_MAX];
	struct replica_run runs[REPLICAS_MAX];
	struct iteration iterations[ITERATIONS_MAX];
	size_t count; /* of iterations */
	struct trace *trace;
};

static struct iteration_time six_ms(void *ctx, const struct iteration *it)
{
	struct bench *b = ctx;
	if (CHECK(b->count < ITERATIONS_MAX))
		b->iterations[b->count++] = *it;
	return (struct iteration_time){1e-3, 2e-3, 3e-3};
}

static void nothing(void *of)
{
}

static struct bench bench_of(double tokens_count)
{
	return (struct bench){.arena = arena_new(),
			      .params = {.model = "",
					 .list = "",
					 .stages = "",
					 .batching = BATCHING_CONTINUOUS,
					 .batch_count = 8,
					 .front_ends_count = 1,
					 .tokens_count = tokens_count,
					 .chunked_prefill = true,
					 .block_count = 16,
					 .router = ROUTER_ROUND_ROBIN}};
}

/* Gives service `index` one replica with that window and these requests. */
static void add(struct bench *b, size_t index, size_t window, const struct serve_request *requests,
		size_t count)
{
	struct serve_request *own = ARENA_ARRAY(b->arena, count, struct serve_request);
	memcpy(own, requests, count * sizeof *own);
	b->services[index] = (struct serving_service_spec){
		.params = &b->params, .requests = {own, count}, .generates = true};
	b->replicas[index] = (struct serving_replica_spec){.name = "server",
							   .service = index,
							   .time = six_ms,
							   .ctx = b,
							   .block_count = 1000,
							   .window = window};
}

/* Keys and values of a token take 1 ms to another replica. */
static void pass_on(void *of, size_t from, size_t to, double tokens, event_fn *fn, void *ctx)
{
	engine_after(of, ps_from_s(1e-3 * tokens), fn, ctx, 0);
}

static void run_replicas(struct bench *b, size_t services, size_t replicas)
{
	const struct engine_limits limits = {.events_max = 0};
	struct engine *engine = engine_new(b->arena, &limits);
	engine_trace_set(engine, b->trace);
	const struct serving_spec spec = {.arena = b->arena,
					  .engine = engine,
					  .of = engine,
					  .services = b->services,
					  .service_count = services,
					  .replicas = b->replicas,
					  .replica_count = replicas,
					  .transfer = pass_on,
					  .opened = nothing,
					  .done = nothing};
	struct serving *serving = serving_new(&spec);
	serving_begin(serving);
	engine_run(engine);
	CHECK(serving_left(serving) == 0);
	serving_read(serving, b->runs);
}

static void run(struct bench *b, size_t services)
{
	run_replicas(b, services, services);
}

/* A prompt of 6 tokens in chunks of at most 4, then 2 more tokens. Token n pairs with n tokens, and
 * in layers with a window of 4 with 4 at most. */
static void chunks_count_the_pairs_of_each_token(void)
{
	static const struct iteration wanted[] = {
		{.rows = 4, .prompt_rows = 4, .prompt_keys = {4, 4}, .prompt_pairs = {10, 10}},
		{.rows = 2,
		 .sequences = 1,
		 .prompt_rows = 2,
		 .prompt_keys = {6, 6},
		 .prompt_pairs = {5 + 6, 4 + 4}},
		{.rows = 1, .sequences = 1, .decode_rows = 1, .decode_keys = {7, 4}},
		{.rows = 1, .sequences = 1, .decode_rows = 1, .decode_keys = {8, 4}},
	};
	struct bench b = bench_of(4);
	add(&b, 0, 4, &(struct serve_request){0, 6, 3, 0, 0}, 1);
	run(&b, 1);
	CHECK(b.count == 4);
	for (size_t i = 0; i < 4; i++)
		if (!CHECK(memcmp(&wanted[i], &b.iterations[i], sizeof wanted[i]) == 0))
			printf("  iteration %zu\n", i);
	arena_free(b.arena);
}

/* Four iterations take 24 ms. The first token comes after two of them. */
static void parts_of_a_latency_are_those_of_its_iterations(void)
{
	struct bench b = bench_of(4);
	add(&b, 0, 0, &(struct serve_request){0, 6, 3, 0, 0}, 1);
	run(&b, 1);
	const struct serving_answers *all = b.runs[0].all;
	CHECK(all->requests_count == 1 && all->refused_count == 0 && all->preempted_count == 0);
	CHECK_NEAR(all->mean_s, 24e-3, 1e-12);
	CHECK_NEAR(all->parts_s[SERVE_KERNEL], 4e-3, 1e-12);
	CHECK_NEAR(all->parts_s[SERVE_EXCHANGE], 8e-3, 1e-12);
	CHECK_NEAR(all->parts_s[SERVE_OVERHEAD], 12e-3, 1e-12);
	CHECK(all->parts_s[SERVE_QUEUE] == 0 && all->parts_s[SERVE_OTHER] == 0);
	CHECK_NEAR(all->first_s[0], 12e-3, 1e-12);
	CHECK_NEAR(all->between_s[0], 6e-3, 0.01);
	CHECK_NEAR(b.runs[0].busy_ratio, 4.0 / 24, 1e-12);
	arena_free(b.arena);
}

/* The cache has room for 8 tokens, and an iteration processes 4. Iterations begin every 6 ms:
 *  0 ms: 3 tokens of A;
 *  6 ms: 1 of A and 3 of B, which leaves room for 1; C needs 2 and waits;
 * 12 ms: 1 of A. Nothing is left for B, which goes before C and loses its 3 tokens. D arrives;
 * 18 ms: 1 of A, its last; B needs 3 in this iteration, and there is room for 2;
 * 24 ms: 4 of B, its prompt of 3 and the token that it has generated;
 * 30 ms: 1 of B, 2 of C and 1 of D; 36 ms: 1 of B, its last.
 * B waits from 1 to 6 ms and from 12 to 24 ms. */
static void a_preempted_request_goes_before_the_queue_and_starts_again(void)
{
	static const struct serve_request requests[] = {
		{0, 3, 4, 0, 0}, {MS, 3, 4, 0, 0}, {2 * MS, 2, 1, 0, 0}, {15 * MS, 1, 1, 0, 0}};
	static const double rows[] = {3, 4, 1, 1, 4, 4, 1};
	struct bench b = bench_of(4);
	b.params.block_count = 1;
	add(&b, 0, 0, requests, 4);
	b.replicas[0].block_count = 8;
	run(&b, 1);
	const struct serving_answers *all = b.runs[0].all;
	if (CHECK(b.count == 7))
		for (size_t i = 0; i < 7; i++)
			CHECK_NEAR(b.iterations[i].rows, rows[i], 0);
	CHECK(b.iterations[4].prompt_rows == 4 && b.iterations[4].prompt_pairs[0] == 10);
	CHECK(all->preempted_count == 1 && all->requests_count == 4);
	/* A ends at 24 ms, B at 42 ms, C and D at 36 ms. */
	CHECK_NEAR(all->mean_s, (24e-3 + 41e-3 + 34e-3 + 21e-3) / 4, 1e-12);
	CHECK_NEAR(all->parts_s[SERVE_QUEUE], (17e-3 + 28e-3 + 15e-3) / 4, 1e-12);
	CHECK_NEAR(all->parts_s[SERVE_KERNEL], (4e-3 + 4e-3 + 1e-3 + 1e-3) / 4, 1e-12);
	arena_free(b.arena);
}

/* Whole prompts: the one of 5 is refused, because an iteration has 4 tokens, and the one of 4 is
 * not. Prompts that are cut may have any length. */
static void a_whole_prompt_longer_than_an_iteration_is_refused(void)
{
	static const struct serve_request requests[] = {
		{0, 1, 1, 0, 0}, {MS, 5, 1, 0, 0}, {40 * MS, 4, 1, 0, 0}};
	for (size_t cut = 0; cut < 2; cut++) {
		struct bench b = bench_of(4);
		b.params.chunked_prefill = cut;
		add(&b, 0, 0, requests, 3);
		run(&b, 1);
		CHECK(b.runs[0].all->refused_count == (cut ? 0 : 1));
		if (CHECK(b.count == (cut ? 4 : 2)))
			CHECK(b.iterations[1].rows == 4 && b.iterations[b.count - 1].rows == 4);
		arena_free(b.arena);
	}
}

/* One replica computes prompts, another one generates. It has A after 6 + 3 ms. B follows at 14 ms,
 * and from 15 to 21 ms both get their last token. If the first replica has room for 3 tokens, B
 * begins only when those of A have been passed on, at 9 ms. B arrives at 17 ms and waits until A
 * ends at 21 ms. Only the wait from 6 to 9 ms is for the transfer; the other 9 ms of waits are for
 * the GPUs. */
static void replicas_with_roles_pass_requests_on(void)
{
	static const struct serve_request requests[] = {{0, 3, 3, 0, 0}, {MS, 2, 2, 0, 0}};
	static const double rows[2][5] = {{3, 2, 1, 2}, {3, 1, 2, 1, 1}};
	for (int narrow = 0; narrow < 2; narrow++) {
		struct bench b = bench_of(100);
		b.params.chunked_prefill = false;
		b.params.block_count = 1;
		add(&b, 0, 0, requests, 2);
		b.replicas[1] = b.replicas[0];
		b.replicas[0].role = ROLE_PREFILL;
		b.replicas[1].role = ROLE_DECODE;
		if (narrow)
			b.replicas[0].block_count = 3;
		run_replicas(&b, 1, 2);
		const struct serving_answers *all = b.runs[0].all;
		if (CHECK(b.count == (narrow ? 5 : 4)))
			for (size_t i = 0; i < b.count; i++)
				CHECK_NEAR(b.iterations[i].rows, rows[narrow][i], 0);
		CHECK_NEAR(all->mean_s, (21e-3 + (narrow ? 26e-3 : 20e-3)) / 2, 1e-12);
		CHECK_NEAR(all->parts_s[SERVE_TRANSFER], 5e-3 / 2, 1e-12);
		CHECK_NEAR(all->queue_ratios[QUEUE_FOR_TRANSFERS], narrow ? 3.0 / 12 : 0, 1e-12);
		CHECK_NEAR(all->queue_ratios[QUEUE_FOR_MEMORY], 0, 0);
		CHECK_NEAR(all->parts_s[SERVE_QUEUE], (narrow ? 8e-3 + 4e-3 : 5e-3 + 1e-3) / 2,
			   1e-12);
		arena_free(b.arena);
	}
}

/* The fifth and sixth iteration take 12 ms. */
static struct iteration_time sometimes_slower(void *ctx, const struct iteration *it)
{
	struct iteration_time time = six_ms(ctx, it);
	size_t number = ((struct bench *)ctx)->count;
	time.overhead_s += number == 5 || number == 6 ? 6e-3 : 0;
	return time;
}

/* Tokens come 6, 6, 6, 12, 12 and 6 ms after the one before, without the last one or with it. A
 * quantile is the middle of a bin of 0.2 %. */
static void median_time_between_tokens_counts_each_token_once(void)
{
	for (uint32_t tokens = 6; tokens <= 7; tokens++) {
		struct bench b = bench_of(4);
		add(&b, 0, 0, &(struct serve_request){0, 1, tokens, 0, 0}, 1);
		b.replicas[0].time = sometimes_slower;
		b.params.between_slo_s = 7.5e-3;
		run(&b, 1);
		CHECK_NEAR(b.runs[0].all->between_s[0], 6e-3, 0.001);
		CHECK_NEAR(b.runs[0].all->between_s[1], 12e-3, 0.001);
		/* their means are 8.4 and 8 ms */
		CHECK(b.runs[0].all->attainment_ratio == 0);
		arena_free(b.arena);
	}
}

/* Tokens take 6 ms. One of two requests has one token, and so no time between tokens. */
static void a_single_token_has_no_time_to_miss(void)
{
	for (size_t i = 0; i < 2; i++) {
		struct bench b = bench_of(4);
		add(&b, 0, 0, (const struct serve_request[]){{0, 1, 1, 0, 0}, {0, 1, 3, 0, 0}}, 2);
		b.params.between_slo_s = i == 0 ? 5e-3 : 7e-3;
		run(&b, 1);
		CHECK(b.runs[0].all->attainment_ratio == (i == 0 ? 0.5 : 1));
		arena_free(b.arena);
	}
}

/* The third request is refused, because one waits already. Refused requests miss the objective. */
static void refused_requests_miss_their_objective(void)
{
	static const struct serve_request requests[] = {
		{0, 1, 3, 0, 0}, {MS, 1, 1, 0, 0}, {2 * MS, 1, 1, 0, 0}};
	struct bench b = bench_of(4);
	b.params.batch_count = b.params.queue_count = 1;
	b.params.latency_slo_s = 1;
	add(&b, 0, 0, requests, 3);
	run(&b, 1);
	CHECK(b.runs[0].all->requests_count == 3 && b.runs[0].all->refused_count == 1);
	CHECK_NEAR(b.runs[0].all->attainment_ratio, 2.0 / 3, 1e-12);
	CHECK_NEAR(b.runs[0].requests_per_s, b.runs[0].all->requests_per_s, 1e-12);
	arena_free(b.arena);
}

/* The measurement begins with the second of four requests, at 20 ms. Two of the three that are
 * measured end before the last one arrives at 60 ms. Kernels run 1 ms for each of the three until
 * 66 ms. */
static void throughput_is_that_before_the_last_arrival(void)
{
	static const struct serve_request requests[] = {{0, 1, 1, 0, 0},
							{20 * MS, 1, 1, 0, 0},
							{40 * MS, 1, 1, 0, 0},
							{60 * MS, 1, 1, 0, 0}};
	struct bench b = bench_of(4);
	b.params.warmup_ratio = 0.25;
	add(&b, 0, 0, requests, 4);
	run(&b, 1);
	CHECK_NEAR(b.runs[0].all->requests_per_s, 2 / 40e-3, 1e-9);
	CHECK_NEAR(b.runs[0].requests_per_s, 2 / 40e-3, 1e-9);
	CHECK_NEAR(b.runs[0].busy_ratio, 3.0 / 46, 1e-9);
	arena_free(b.arena);
}

/* The measurement begins with the second request at 5.25 ms, while the kernels of the first one run
 * from 5 to 6 ms, or at 1 ms before them. Those of the second one run from 11 to 12 ms. */
static void kernels_count_from_the_begin_of_the_measurement(void)
{
	for (int64_t early = 0; early < 2; early++) {
		int64_t second_ps = (early ? 100 : 525) * PS_PER_S / 100000;
		const struct serve_request requests[] = {{0, 1, 1, 0, 0}, {second_ps, 1, 1, 0, 0}};
		struct bench b = bench_of(4);
		b.params.warmup_ratio = 0.5;
		add(&b, 0, 0, requests, 2);
		run(&b, 1);
		CHECK_NEAR(b.runs[0].busy_ratio, early ? 2.0 / 11 : 1.75 / 6.75, 1e-9);
		arena_free(b.arena);
	}
}

/* The second request arrives 1 ms after the first and waits 5 ms for the end of its iteration. Then
 * its prompt of 2 joins the other's last token. The limits of the objectives are included. */
static void a_request_joins_at_the_next_token(void)
{
	static const struct serve_request two[] = {{0, 3, 2, 0, 0}, {MS, 2, 1, 0, 0}};
	struct bench b = bench_of(100);
	b.params.latency_slo_s = 11.5e-3;
	add(&b, 0, 0, two, 2);
	run(&b, 1);
	const struct serving_answers *all = b.runs[0].all;
	CHECK(b.count == 2);
	CHECK(b.iterations[1].rows == 3 && b.iterations[1].sequences == 2);
	CHECK(b.iterations[1].decode_keys[0] == 4 && b.iterations[1].prompt_pairs[0] == 3);
	CHECK_NEAR(all->parts_s[SERVE_QUEUE], 5e-3 / 2, 1e-12);
	CHECK_NEAR(all->mean_s, (12e-3 + 11e-3) / 2, 1e-12);
	CHECK_NEAR(all->attainment_ratio, 0.5, 1e-12);
	CHECK_NEAR(all->cdf_s[0], 11e-3, 1e-12);
	CHECK_NEAR(all->cdf_s[SERVE_CDF_POINTS - 1], 12e-3, 1e-12);
	arena_free(b.arena);
}

/* Two idle replicas take turns, although the router looks for the one with less to do. */
static void equally_busy_replicas_take_turns(void)
{
	struct serve_request requests[4];
	for (int64_t i = 0; i < 4; i++)
		requests[i] = (struct serve_request){i * PS_PER_S, 1, 1, 0, 0};
	struct bench b = bench_of(4);
	b.params.router = ROUTER_LEAST_OUTSTANDING;
	add(&b, 0, 0, requests, 4);
	b.replicas[1] = b.replicas[0];
	run_replicas(&b, 1, 2);
	CHECK(b.runs[0].requests_per_s > 0);
	CHECK_NEAR(b.runs[0].requests_per_s, b.runs[1].requests_per_s, 1e-12);
	arena_free(b.arena);
}

/* The last token of an output is not in the cache: 8 tokens of a prompt and 9 of an output fill
 * one block of 16. */
static void a_batch_needs_no_place_for_the_last_token(void)
{
	struct bench b = bench_of(100);
	b.params.batching = BATCHING_FIXED;
	b.params.batch_count = 1;
	add(&b, 0, 0, &(struct serve_request){0, 8, 9, 0, 0}, 1);
	b.replicas[0].block_count = 1;
	run(&b, 1);
	CHECK(b.count == 9 && b.runs[0].all->requests_count == 1);
	arena_free(b.arena);
}

/* An iteration of 6 ms is overhead, then exchange, then kernels. */
static void a_timeline_has_the_parts_of_an_iteration(void)
{
	static const struct {
		const char *name;
		int64_t start_ms, end_ms;
	} wanted[] = {{"3 tokens of prompts, 0 of outputs", 0, 6},
		      {"overhead", 0, 3},
		      {"collectives", 3, 5},
		      {"kernels", 5, 6},
		      {"request 1: 3 tokens in, 1 out", 0, 6},
		      {"until the first token", 0, 6}};
	enum { COUNT = sizeof wanted / sizeof wanted[0] };
	struct bench b = bench_of(4);
	add(&b, 0, 0, &(struct serve_request){0, 3, 1, 0, 0}, 1);
	b.trace = trace_new(b.arena);
	run(&b, 1);
	CHECK(trace_span_count(b.trace) == COUNT);
	for (size_t i = 0; i < COUNT && i < trace_span_count(b.trace); i++) {
		const struct span *span = trace_span_at(b.trace, i);
		CHECK_TEXT(span->name, wanted[i].name);
		CHECK(span->start_ps == wanted[i].start_ms * MS);
		CHECK(span->end_ps == wanted[i].end_ms * MS);
	}
	arena_free(b.arena);
}

static struct iteration_time by_rows(void *ctx, const struct iteration *it)
{
	return (struct iteration_time){it->rows * 1e-3, 1e-3, 0};
}

/* A prompt of 16 fills one of two blocks in 17 ms. The second request arrives meanwhile and needs
 * two blocks. The other two tokens of the first request need its second block, for 2 ms each, in
 * which only memory is short. So the second one waits 16 ms for the GPU and 4 ms for memory. */
static void waits_are_for_memory_while_blocks_are_short(void)
{
	static const struct serve_request two[] = {{0, 16, 3, 0, 0}, {MS, 20, 1, 0, 0}};
	struct bench b = bench_of(100);
	add(&b, 0, 0, two, 2);
	b.replicas[0].time = by_rows;
	b.replicas[0].block_count = 2;
	run(&b, 1);
	CHECK_NEAR(b.runs[0].all->queue_ratios[QUEUE_FOR_GPU], 16.0 / 20, 1e-12);
	CHECK_NEAR(b.runs[0].all->queue_ratios[QUEUE_FOR_MEMORY], 4.0 / 20, 1e-12);
	CHECK_NEAR(b.runs[0].all->parts_s[SERVE_QUEUE], (17 + 2 + 2 - 1) * 1e-3 / 2, 1e-12);
	arena_free(b.arena);
}

/* Three blocks. The first request holds one in 17 ms, then two. The second one waits 17 ms for the
 * GPU and takes the third block for 10 ms. The third request arrives after 1 ms, and waits 16 ms
 * for the GPU and those 10 ms for memory. The fourth one waits for the GPU from 30 to 37 ms, while
 * the first still runs. */
static void waits_are_for_the_gpu_again_when_blocks_are_free(void)
{
	static const struct serve_request four[] = {
		{0, 16, 4, 0, 0}, {0, 8, 1, 0, 0}, {MS, 8, 1, 0, 0}, {30 * MS, 8, 1, 0, 0}};
	struct bench b = bench_of(100);
	add(&b, 0, 0, four, 4);
	b.replicas[0].time = by_rows;
	b.replicas[0].block_count = 3;
	run(&b, 1);
	CHECK_NEAR(b.runs[0].all->queue_ratios[QUEUE_FOR_GPU], 40.0 / 50, 1e-12);
	CHECK_NEAR(b.runs[0].all->queue_ratios[QUEUE_FOR_MEMORY], 10.0 / 50, 1e-12);
	arena_free(b.arena);
}

/* Both requests run 10 iterations of 6 ms, the second from 6 ms on. Then the queue is empty, and a
 * twentieth of the work is done, which is too little to count. */
static void few_requests_count_with_their_whole_time(void)
{
	static const struct serve_request two[] = {{0, 5, 10, 0, 0}, {5 * MS, 5, 10, 0, 0}};
	struct bench b = bench_of(100);
	add(&b, 0, 0, two, 2);
	run(&b, 1);
	CHECK_NEAR(b.runs[0].all->requests_per_s, 2 / 66e-3, 1e-12);
	CHECK_NEAR(b.runs[0].all->tokens_per_s, 20 / 66e-3, 1e-12);
	arena_free(b.arena);
}

/* Two services: one request of 2 iterations, and three of 1, 2 and 3 one after the other. */
static void each_service_has_its_own_answers(void)
{
	static const struct serve_request three[] = {
		{0, 5, 1, 0, 0}, {PS_PER_S / 10, 5, 2, 0, 0}, {PS_PER_S / 5, 5, 3, 0, 0}};
	struct bench b = bench_of(100);
	add(&b, 0, 0, &(struct serve_request){0, 5, 2, 0, 0}, 1);
	add(&b, 1, 0, three, 3);
	run(&b, 2);
	CHECK(b.runs[0].service->requests_count == 1 && b.runs[1].service->requests_count == 3);
	CHECK_NEAR(b.runs[0].service->mean_s, 12e-3, 1e-12);
	CHECK_NEAR(b.runs[1].service->mean_s, 12e-3, 1e-12);
	CHECK_NEAR(b.runs[1].service->latency_s[0], 12e-3, 1e-12);
	CHECK(b.runs[0].all == b.runs[1].all && b.runs[0].all->requests_count == 4);
	CHECK_NEAR(b.runs[0].all->cdf_s[0], 6e-3, 1e-12);
	CHECK_NEAR(b.runs[0].service->cache_tokens_count, 16000, 0); /* 1,000 blocks of 16 */
	arena_free(b.arena);
}

/* Each service has ten requests, one after the other. In the first one all take 12 ms, so their
 * mean has no error. In the second one five take 6 ms and five 18 ms. Their mean of 12 ms has a
 * variance of 10 x 36 / 9 / 10 = 4 ms^2, and the sum of both means has the same error of 1.833 x 2
 * ms. */
static void error_of_the_latency_is_that_of_each_service(void)
{
	struct serve_request requests[2][10];
	struct bench b = bench_of(4);
	for (int64_t i = 0; i < 10; i++) {
		requests[0][i] = (struct serve_request){i * PS_PER_S / 10, 1, 2, 0, 0};
		requests[1][i] = (struct serve_request){i * PS_PER_S / 10, 1, i < 5 ? 1 : 3, 0, 0};
	}
	add(&b, 0, 0, requests[0], 10);
	add(&b, 1, 0, requests[1], 10);
	run(&b, 2);
	CHECK_NEAR(b.runs[0].service->latency_error_ratio, 0, 1e-6);
	CHECK_NEAR(b.runs[1].service->latency_error_ratio, 1.833 * 2 / 12, 1e-6);
	CHECK_NEAR(b.runs[0].all->latency_error_ratio, 1.833 * 2 / 24, 1e-6);
	arena_free(b.arena);
}

/* Networks that generate nothing run in batches, which wait 5 ms for more requests. */
static void batching_is_continuous_only_for_generated_tokens(void)
{
	for (size_t generates = 0; generates < 2; generates++) {
		struct bench b = bench_of(4);
		b.params.batching = BATCHING_AUTO;
		b.params.delay_s = 5e-3;
		add(&b, 0, 0,
		    (const struct serve_request[]){{0, 1, 1, 0, 0}, {PS_PER_S, 1, 1, 0, 0}}, 2);
		b.services[0].generates = generates;
		run(&b, 1);
		CHECK_NEAR(b.runs[0].all->mean_s, 6e-3 + (generates ? 0 : 5e-3 / 2), 1e-12);
		arena_free(b.arena);
	}
}

/* The first request keeps a replica for tokens busy for 600 ms. The second one goes to the other
 * replica and ends, so the third one goes there, too. */
static void requests_go_on_at_the_least_busy_replica(void)
{
	static const struct serve_request requests[] = {
		{0, 1, 100, 0, 0}, {PS_PER_S / 10, 1, 2, 0, 0}, {2 * (PS_PER_S / 10), 1, 2, 0, 0}};
	struct bench b = bench_of(4);
	b.params.router = ROUTER_LEAST_OUTSTANDING;
	b.params.chunked_prefill = false;
	add(&b, 0, 0, requests, 3);
	for (size_t i = 1; i < REPLICAS_MAX; i++)
		b.replicas[i] = b.replicas[0];
	b.replicas[0].role = ROLE_PREFILL;
	b.replicas[1].role = b.replicas[2].role = ROLE_DECODE;
	run_replicas(&b, 1, REPLICAS_MAX);
	CHECK_NEAR(b.runs[1].requests_per_s, b.runs[2].requests_per_s / 2, 1e-12);
	arena_free(b.arena);
}

/* An iteration has 4 tokens: at 6 ms 3 of the second request, and the first one of the third. Then
 * the other 2 of the third follow. */
static void prompts_that_begin_together_share_the_tokens_of_an_iteration(void)
{
	static const struct serve_request requests[] = {
		{0, 1, 1, 0, 0}, {MS, 3, 1, 0, 0}, {MS, 3, 1, 0, 0}};
	struct bench b = bench_of(4);
	add(&b, 0, 0, requests, 3);
	run(&b, 1);
	CHECK(b.count == 3 && b.iterations[1].rows == 4 && b.iterations[2].rows == 2);
	arena_free(b.arena);
}

/* With whole prompts, the limit of 2 tokens cuts prompts only: at 6 ms two prompts of 1 begin, and
 * at 12 ms each of the three requests gets its second token. */
static void generated_tokens_of_all_requests_go_together(void)
{
	static const struct serve_request requests[] = {
		{0, 1, 2, 0, 0}, {MS, 1, 2, 0, 0}, {MS, 1, 2, 0, 0}};
	struct bench b = bench_of(2);
	b.params.chunked_prefill = false;
	add(&b, 0, 0, requests, 3);
	run(&b, 1);
	CHECK(b.count == 3 && b.iterations[1].prompt_rows == 2 && b.iterations[2].decode_rows == 3);
	arena_free(b.arena);
}

/* The first of three tokens comes after 6 ms, and the last one after 18 ms. */
static void objective_of_the_first_token_ends_with_it(void)
{
	for (int late = 0; late < 2; late++) {
		struct bench b = bench_of(4);
		add(&b, 0, 0, &(struct serve_request){0, 1, 3, 0, 0}, 1);
		b.params.first_slo_s = late ? 5.9e-3 : 6.1e-3;
		run(&b, 1);
		CHECK(b.runs[0].all->attainment_ratio == !late);
		arena_free(b.arena);
	}
}

static const struct test tests[] = {
	TEST(prompts_that_begin_together_share_the_tokens_of_an_iteration),
	TEST(generated_tokens_of_all_requests_go_together),
	TEST(objective_of_the_first_token_ends_with_it),
	TEST(chunks_count_the_pairs_of_each_token),
	TEST(parts_of_a_latency_are_those_of_its_iterations),
	TEST(a_preempted_request_goes_before_the_queue_and_starts_again),
	TEST(a_whole_prompt_longer_than_an_iteration_is_refused),
	TEST(replicas_with_roles_pass_requests_on),
	TEST(median_time_between_tokens_counts_each_token_once),
	TEST(a_single_token_has_no_time_to_miss),
	TEST(refused_requests_miss_their_objective),
	TEST(throughput_is_that_before_the_last_arrival),
	TEST(kernels_count_from_the_begin_of_the_measurement),
	TEST(a_request_joins_at_the_next_token),
	TEST(waits_are_for_memory_while_blocks_are_short),
	TEST(waits_are_for_the_gpu_again_when_blocks_are_free),
	TEST(few_requests_count_with_their_whole_time),
	TEST(equally_busy_replicas_take_turns),
	TEST(a_batch_needs_no_place_for_the_last_token),
	TEST(a_timeline_has_the_parts_of_an_iteration),
	TEST(each_service_has_its_own_answers),
	TEST(error_of_the_latency_is_that_of_each_service),
	TEST(batching_is_continuous_only_for_generated_tokens),
	TEST(requests_go_on_at_the_least_busy_replica),
};

int main(void)
{
	return TEST_MAIN(tests);
}
