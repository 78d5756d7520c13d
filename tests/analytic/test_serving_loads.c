/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loads and scheduler policies of model servers, with answers derived by hand. */
#include "tests/serving_bench.h"

/* A closed loop of two clients and one server with an exponential service of 1 s always has a
 * request in service: 1 request/s, and by Little's law a latency of 2 s. With three servers of
 * their own, two clients never wait: 2 requests/s and 1 s. */
static void a_closed_loop_has_the_throughput_of_its_clients(void)
{
	static const struct {
		size_t replicas;
		double rate, latency_s;
	} rows[] = {{1, 1, 2}, {3, 2, 1}};
	for (size_t i = 0; i < 2; i++) {
		struct bench b = bench_of(100000);
		b.params.concurrency_count = 2;
		b.params.router = ROUTER_LEAST_OUTSTANDING;
		struct serving_answers answers = run(&b, rows[i].replicas, 0, by_chance);
		CHECK_NEAR(answers.requests_per_s, rows[i].rate, 0.02);
		CHECK_NEAR(answers.mean_s, rows[i].latency_s, 0.02);
		CHECK(answers.overload_ratio < 0.001 && b.done == 1);
		arena_free(b.arena);
	}
}

/* Poisson arrivals at 0.5, 0.9, 0.99 and 1.5 of the capacity of a server that takes 1 s. The
 * throughput is that of the arrivals up to the capacity. 20,000 arrivals vary by 0.7 %. */
static void the_throughput_is_the_rate_of_arrivals_up_to_the_capacity(void)
{
	static const double rates[] = {0.5, 0.9, 0.99, 1.5};
	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; i < 4; i++) {
			struct bench b = bench_of(20000);
			b.params.rate_count = rates[i];
			b.params.prompt_count = 1000;
			struct serving_answers answers = run(&b, 1, 0, k ? by_chance : by_rows);
			CHECK_NEAR(answers.requests_per_s, fmin(1, rates[i]), 0.025);
			arena_free(b.arena);
		}
}

/* Prompts of 100 tokens take 0.1 s. Their host time is 0.25 s, of which a process takes 0.05 s for
 * each in turn: 0.03 s for a request, and 0.2 ms for each token of its prompt. Two requests are
 * sent at 0 and reach the scheduler at 0.25 and 0.3 s. The first one is served until 0.35 s, and
 * the second one until 0.45 s. */
static void host_time_of_requests_delays_their_first_token(void)
{
	struct bench b = bench_of(2);
	struct serve_request pair[] = {{0, 100, 1, 0, 0}, {0, 100, 1, 0, 0}};
	b.service.requests = (struct request_list){pair, 2};
	b.params.warmup_ratio = 0;
	b.params.request_host_s = 0.2;
	b.params.request_serial_s = 0.03;
	b.params.prompt_host_s = 0.2e-3;
	struct serving_answers answers = run(&b, 1, 0, by_rows);
	CHECK_NEAR(answers.first_mean_s, 0.4, 1e-9);
	CHECK_NEAR(answers.parts_s[SERVE_OVERHEAD], 0.275, 1e-9);
	CHECK_NEAR(answers.parts_s[SERVE_QUEUE], 0.025, 1e-9);
	arena_free(b.arena);
}

/* The engine takes 1 ms for a token. It has the three tokens of the first request at 0.1, 0.201 and
 * 0.203 s, and those of the second one at 0.201, 0.203 and 0.204 s. The front end needs 0.1 s for a
 * message. One process sends the first request's tokens until 0.2, 0.301 and 0.501 s, and the
 * second one's until 0.401, 0.601 and 0.701 s. With two processes, each has a request, and they end
 * at 0.401 and 0.501 s. If two tokens are sent together, each request has two messages, of which
 * the last ones end at 0.401 and 0.501 s. Merged: the second request's first message still waits at
 * 0.203 s, so its other tokens join it until 0.401 s, and the first request ends at 0.501 s. Only
 * the first request then has a rate, which is 2 tokens in 0.301 s. */
static void front_end_sends_one_message_after_the_other(void)
{
	static const struct {
		double processes, interval, mean_s, first_s;
		bool merges;
	} rows[] = {{1, 1, 0.601, 0.3005, false},
		    {2, 1, 0.451, 0.2505, false},
		    {1, 2, 0.451, 0.2505, false},
		    {1, 1, 0.451, 0.3005, true}};
	struct serve_request pair[] = {{0, 100, 3, 0, 0}, {0, 100, 3, 0, 0}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct bench b = bench_of(2);
		b.service.requests = (struct request_list){pair, 2};
		b.service.generates = true;
		b.params.batching = BATCHING_CONTINUOUS;
		b.params.batch_count = 2;
		b.params.warmup_ratio = 0;
		b.params.message_host_s = 0.1;
		b.params.front_ends_count = rows[i].processes;
		b.params.stream_interval_count = rows[i].interval;
		b.params.merges = rows[i].merges;
		struct serving_answers answers = run(&b, 1, 100, by_rows);
		CHECK_NEAR(answers.mean_s, rows[i].mean_s, 1e-9);
		CHECK_NEAR(answers.first_mean_s, rows[i].first_s, 1e-9);
		CHECK_NEAR(answers.parts_s[SERVE_OVERHEAD], rows[i].mean_s - 0.2035, 1e-9);
		if (rows[i].merges)
			CHECK_NEAR(answers.user_tokens_per_s, 2 / 0.301, 1e-6);
		arena_free(b.arena);
	}
}

/* The engine would give four clients 1,000 tokens/s, because it takes 1 ms for a token. A front end
 * with 2 ms for a message sends 500. If it also needs 20 ms for a request, each request of 20
 * tokens takes 20 x 2 + 20 = 60 ms of its process. It works all the time. */
static void front_end_limits_the_throughput_of_a_closed_loop(void)
{
	for (int i = 0; i < 2; i++) {
		struct bench b = bench_of(400);
		b.service.generates = true;
		b.params.batching = BATCHING_CONTINUOUS;
		b.params.concurrency_count = b.params.batch_count = 4;
		b.params.output_count = 20;
		b.params.message_host_s = 2e-3;
		b.params.request_serial_s = i ? 20e-3 : 0;
		struct serving_answers answers = run(&b, 1, 1000, by_rows);
		CHECK_NEAR(answers.requests_per_s, i ? 1 / 0.06 : 1 / 0.04, 0.02);
		CHECK(answers.front_end_ratio > 0.97 && answers.front_end_ratio <= 1);
		arena_free(b.arena);
	}
}

/* 25 requests arrive in a second, and the engine could give 50 of them their 20 tokens. A front end
 * with 4 ms for a message answers 12.5, so half of the requests are left behind. If it needs 80 ms
 * to take a request, its work at time t is behind by t. A request of time t is taken at 2 t, and
 * its messages wait until 4 t, so only a quarter is answered. A time of 80 ms that requests spend
 * beside each other overloads nothing. */
static void front_end_that_is_too_slow_overloads_the_service(void)
{
	static const struct {
		double message_s, serial_s, host_s, overload_ratio;
	} rows[] = {{4e-3, 0, 0, 0.5}, {0, 80e-3, 0, 0.75}, {0, 0, 80e-3, 0}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct bench b = bench_of(2000);
		b.service.generates = true;
		b.params.batching = BATCHING_CONTINUOUS;
		b.params.rate_count = 25;
		b.params.batch_count = 64;
		b.params.output_count = 20;
		b.params.message_host_s = rows[i].message_s;
		b.params.request_serial_s = rows[i].serial_s;
		b.params.request_host_s = rows[i].host_s;
		struct serving_answers answers = run(&b, 1, 1000, by_rows);
		CHECK_NEAR(answers.overload_ratio, rows[i].overload_ratio, 0.03);
		arena_free(b.arena);
	}
}

/* Two requests of 32 + 32 tokens need 4 blocks each of 6. If all blocks are reserved, the second
 * one waits until the first one has ended, at 32 + 31 = 63 ms, and none is preempted. The last
 * token is not kept, so two requests of 33 + 32 tokens fit into 8 blocks: a prompt in 33 ms, the
 * other one and a token in 34 ms, 30 iterations of two tokens, and a token in 1 ms. */
static void reserved_outputs_are_never_preempted(void)
{
	static const double means_s[] = {(0.063 + 0.126) / 2, (0.127 + 0.128) / 2};
	for (uint32_t i = 0; i < 2; i++) {
		struct serve_request pair[] = {{0, 32 + i, 32, 0, 0}, {0, 32 + i, 32, 0, 0}};
		struct bench b = bench_of(2);
		b.service.requests = (struct request_list){pair, 2};
		b.params.warmup_ratio = 0;
		b.params.batching = BATCHING_CONTINUOUS;
		b.params.batch_count = 8;
		b.params.reserve_output = true;
		b.service.generates = true;
		struct serving_answers answers = run(&b, 1, i ? 8 : 6, by_rows);
		CHECK_NEAR(answers.preempted_count, 0, 0);
		CHECK_NEAR(answers.mean_s, means_s[i], 1e-9);
		arena_free(b.arena);
	}
}

/* 0.6 ms of collectives, and then 0.4 ms of kernels for each token. */
static struct iteration_time by_rows_and_collectives(void *ctx, const struct iteration *it)
{
	return (struct iteration_time){0.4e-3 * it->rows, 0.6e-3 * it->rows, 0};
}

/* A request generates a token each ms. The iteration from 5 ms on was planned when the one before
 * began its collectives, at 4 ms. A prompt of 10 tokens that arrives at 4.3 ms is in the iteration
 * behind it, which ends at 6 + 11 ms. One that arrives at 3.9 ms is in that of 5 ms. */
static void an_overlapped_iteration_is_planned_before_the_collectives_of_the_last_one(void)
{
	static const double arrivals_ms[] = {3.9, 4.3}, ends_ms[] = {5 + 11, 6 + 11};
	for (size_t i = 0; i < 2; i++) {
		int64_t arrival_ps = ps_from_s(1e-3 * arrivals_ms[i]);
		struct serve_request both[] = {{0, 1, 200, 0, 0}, {arrival_ps, 10, 2, 0, 0}};
		struct bench b = bench_of(2);
		b.service.requests = (struct request_list){both, 2};
		b.params.warmup_ratio = 0;
		b.params.batching = BATCHING_CONTINUOUS;
		b.params.batch_count = 8;
		b.params.overlap = true;
		b.service.generates = true;
		struct serving_answers answers = run(&b, 1, 1000, by_rows_and_collectives);
		CHECK_NEAR(answers.first_mean_s, 1e-3 * (1 + ends_ms[i] - arrivals_ms[i]) / 2,
			   1e-9);
		arena_free(b.arena);
	}
}

/* A request generates tokens, 1 ms each, when prompts of 60 tokens arrive: two at once, with 100
 * tokens for an iteration. Whole and mixed (TensorRT-LLM): token + 60 in 61 ms, token + 60 in 61
 * ms. Whole and first (vLLM V0): 60 ms, then 60 ms. Cut and first (SGLang): 100 tokens of both,
 * then 20. Cut and mixed (vLLM): token + 99, and token + token + 21. First tokens of the two come
 * after these times. With the overlap scheduler of TensorRT-LLM the next iteration was planned
 * before they arrived, so it has a token only: 1 ms, then token + 60, then token + token + 60. */
static void engines_mix_and_cut_prompts_in_their_ways(void)
{
	static const struct {
		bool cut, overlap;
		int mixing;
		double first_ms[2];
	} rows[] = {{false, false, MIXING_ON, {61, 61 + 62}},
		    {false, true, MIXING_ON, {1 + 61, 1 + 61 + 62}},
		    {false, false, MIXING_AUTO, {60, 120}},
		    {true, false, MIXING_OFF, {100, 120}},
		    {true, false, MIXING_AUTO, {100, 100 + 1 + 1 + 21}}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct serve_request all[] = {
			{0, 1, 200, 0, 0}, {4500000000, 60, 2, 0, 0}, {4500000000, 60, 2, 0, 0}};
		struct bench b = bench_of(3);
		b.service.requests = (struct request_list){all, 3};
		b.params.warmup_ratio = 0;
		b.params.batching = BATCHING_CONTINUOUS;
		b.params.batch_count = 8;
		b.params.tokens_count = 100;
		b.params.chunked_prefill = rows[i].cut;
		b.params.overlap = rows[i].overlap;
		b.params.mixing = rows[i].mixing;
		b.service.generates = true;
		struct serving_answers answers = run(&b, 1, 1000, by_rows);
		/* the iteration at 4 ms ends at 5 ms; the first request has its token after 1 ms */
		double sum_ms = 1 + 2 * 0.5 + rows[i].first_ms[0] + rows[i].first_ms[1];
		CHECK_NEAR(answers.first_mean_s, sum_ms / 3e3, 1e-9);
		arena_free(b.arena);
	}
}

/* One prompt token takes 1 ms. Then each iteration checks 3 drafted tokens and takes 4 ms for its 4
 * rows. If all are right, 8 tokens take 2 iterations, if none is, 8 of them. The last iteration
 * keeps only the tokens that are left: 5 tokens take 2 iterations. With a probability of 0.5 an
 * iteration gives 1 + 0.5 + 0.25 + 0.125 = 1.875 tokens on average; its variance is 1.36, so 30,000
 * tokens vary by 0.5 %. */
static void drafted_tokens_are_kept_up_to_the_first_wrong_one(void)
{
	static const struct {
		uint32_t output;
		double acceptance, iterations, tolerance;
	} rows[] = {{9, 1, 2, 1e-9}, {9, 0, 8, 1e-9}, {6, 1, 2, 1e-9}, {30001, 0.5, 16000, 0.015}};
	for (size_t i = 0; i < 4; i++) {
		struct bench b = bench_of(1);
		struct serve_request one = {0, 1, rows[i].output, 0, 0};
		b.service.requests = (struct request_list){&one, 1};
		b.params.warmup_ratio = 0;
		b.params.batching = BATCHING_CONTINUOUS;
		b.params.drafted_count = 3;
		b.params.acceptance_ratio = rows[i].acceptance;
		b.service.generates = true;
		struct serving_answers answers = run(&b, 1, 100000, by_rows);
		CHECK_NEAR(b.iterations - 1, rows[i].iterations, rows[i].tolerance);
		CHECK_NEAR(answers.mean_s, 1e-3 + 4e-3 * (b.iterations - 1), 1e-9);
		arena_free(b.arena);
	}
}

/* Without a length of the phases with arrivals there are no pauses. */
static void equal_arrivals_have_no_pauses(void)
{
	struct bench b = bench_of(20);
	b.params.rate_count = 10, b.params.spread_ratio = 0;
	b.params.prompt_count = b.params.output_count = 8;
	b.params.off_s = 5;
	struct request_list list = requests_draw(b.arena, &b.params, 1, "equal", 10);
	for (size_t i = 0; CHECK(list.count == 20) && i < 20; i++) {
		CHECK(list.items[i].arrival_ps == (int64_t)(i + 1) * PS_PER_S / 10);
		/* the network has room for 10 tokens */
		CHECK(list.items[i].prompt == 8 && list.items[i].output == 2);
	}
	arena_free(b.arena);
}

/* The measurement begins with the second of three requests at half of them. */
static void half_of_three_requests_warm_up_one(void)
{
	struct serve_request all[3] = {{0, 1, 1, 0, 0}, {0, 1, 1, 0, 0}, {0, 1, 1, 0, 0}};
	struct bench b = bench_of(3);
	b.service.requests = (struct request_list){all, 3};
	b.params.warmup_ratio = 0.5;
	CHECK_NEAR(run(&b, 1, 0, by_rows).requests_count, 2, 0);
	arena_free(b.arena);
}

/* Twenty requests arrive together. Ten of them warm up a server for 2 s each, and the others take 1
 * s each. The throughput counts from the end of the first ten on, when the last one begins. */
static void throughput_counts_from_the_end_of_the_warm_up(void)
{
	struct serve_request all[20];
	for (size_t i = 0; i < 20; i++)
		all[i] = (struct serve_request){0, i < 10 ? 2000 : 1000, 1, 0, 0};
	struct bench b = bench_of(20);
	b.service.requests = (struct request_list){all, 20};
	b.params.warmup_ratio = 0.5;
	CHECK_NEAR(run(&b, 1, 0, by_rows).requests_per_s, 1, 1e-9);
	arena_free(b.arena);
}

/* A batch of four begins with the fourth request. When the last of six requests arrives, one waits
 * for a full batch, which does not count as overload. */
static void requests_that_wait_for_a_full_batch_are_no_overload(void)
{
	struct serve_request all[6];
	for (int64_t i = 0; i < 6; i++)
		all[i] = (struct serve_request){i * PS_PER_S, 1, 1, 0, 0};
	struct bench b = bench_of(6);
	b.service.requests = (struct request_list){all, 6};
	b.params.warmup_ratio = 0;
	b.params.batching = BATCHING_FIXED;
	b.params.batch_count = 4;
	CHECK_NEAR(run(&b, 1, 0, by_rows).overload_ratio, 0, 0);
	CHECK_NEAR(b.iterations, 2, 0);
	arena_free(b.arena);
}

/* A full server with equal services of 1 s ends the same number of requests in each part of a run.
 * With exponential services, n requests vary by sqrt(n), so half of the 90 % interval is 1.833 /
 * sqrt(n). Ten parts estimate this within a third (one standard deviation is 24 %). */
static void a_finite_run_has_the_error_of_its_batch_means(void)
{
	for (int chance = 0; chance < 2; chance++) {
		struct bench b = bench_of(4000);
		b.params.rate_count = 3;
		b.params.warmup_ratio = 0;
		b.params.prompt_count = 1000;
		struct serving_answers answers = run(&b, 1, 0, chance ? by_chance : by_rows);
		double wanted = chance ? 1.833 / sqrt(4000) : 0;
		CHECK(fabs(answers.error_ratio - wanted) <= fmax(0.001, wanted / 2));
		arena_free(b.arena);
	}
}

/* Each of two replicas has a front end. A prompt of 100 tokens takes 100 ms, and its messages of
 * 100 ms end at 200, 300 and 400 ms. One front end for both would end the sixth message at 700 ms.
 */
static void each_replica_has_a_front_end_of_its_own(void)
{
	struct serve_request pair[] = {{0, 100, 3, 0, 0}, {0, 100, 3, 0, 0}};
	struct bench b = bench_of(2);
	b.service.requests = (struct request_list){pair, 2};
	b.service.generates = true;
	b.params.batching = BATCHING_CONTINUOUS;
	b.params.warmup_ratio = 0;
	b.params.message_host_s = 0.1;
	struct serving_answers answers = run(&b, 2, 100, by_rows);
	CHECK_NEAR(answers.first_mean_s, 0.2, 1e-9);
	CHECK_NEAR(answers.mean_s, 0.4, 1e-9);
	arena_free(b.arena);
}

/* A prompt takes 1 ms, and its message 5 ms. The first request has its answer at 6 ms, and the
 * measurement begins at 10 ms. Two requests that arrive then are ready at 12 ms, so the front end
 * sends the second message from 17 ms on. If the last request arrives at 13 ms, that message waits.
 * If only one request arrived at 10 ms, its message is being sent then, and none waits. */
static void a_message_that_is_being_sent_does_not_wait(void)
{
	const int64_t ms = PS_PER_S / 1000;
	struct serve_request all[] = {{0, 1, 1, 0, 0},
				      {10 * ms, 1, 1, 0, 0},
				      {13 * ms, 1, 1, 0, 0},
				      {13 * ms, 1, 1, 0, 0}};
	for (size_t count = 3; count <= 4; count++) {
		struct bench b = bench_of(count);
		all[2].arrival_ps = count == 4 ? 10 * ms : 13 * ms;
		b.service.requests = (struct request_list){all, count};
		b.service.generates = true;
		b.params.batching = BATCHING_CONTINUOUS;
		b.params.batch_count = 8;
		b.params.warmup_ratio = 0.34;
		b.params.message_host_s = 5e-3;
		struct serving_answers answers = run(&b, 1, 100, by_rows);
		CHECK_NEAR(answers.overload_ratio, count == 4 ? 1.0 / 3 : 0, 1e-9);
		arena_free(b.arena);
	}
}

/* The first message is sent from 100 to 200 ms. The second token comes at 101 ms, when that message
 * no longer waits, so its own is sent from 200 to 300 ms. The other two join it for 50 ms each. So
 * the front end takes the next request, which arrives at 150 ms, at 400 ms. Its prompt of 10 ms and
 * its message of 100 ms follow. */
static void tokens_that_join_a_message_take_their_own_time(void)
{
	struct serve_request pair[] = {{0, 100, 4, 0, 0}, {15 * (PS_PER_S / 100), 10, 1, 0, 0}};
	struct bench b = bench_of(2);
	b.service.requests = (struct request_list){pair, 2};
	b.service.generates = true;
	b.params.batching = BATCHING_CONTINUOUS;
	b.params.warmup_ratio = 0;
	b.params.merges = true;
	b.params.message_host_s = 0.1;
	b.params.merged_host_s = 0.05;
	struct serving_answers answers = run(&b, 1, 100, by_rows);
	CHECK_NEAR(answers.first_mean_s, (0.2 + 0.36) / 2, 1e-9);
	CHECK_NEAR(answers.mean_s, (0.3 + 0.36) / 2, 1e-9);
	arena_free(b.arena);
}

/* Four clients send a request at the begin. The front end takes each for 10 ms, so three of them
 * wait. Clients of a closed loop wait for answers, so the service carries all that they send. The
 * front end sends answers when it has taken all four, at 40 ms, and the last one is ready at 41 ms.
 */
static void clients_that_wait_for_answers_do_not_overload_the_front_end(void)
{
	struct bench b = bench_of(4);
	b.service.generates = true;
	b.params.batching = BATCHING_CONTINUOUS;
	b.params.concurrency_count = b.params.batch_count = 4;
	b.params.warmup_ratio = 0;
	b.params.request_serial_s = 10e-3;
	struct serving_answers answers = run(&b, 1, 100, by_rows);
	CHECK_NEAR(answers.overload_ratio, 0, 0);
	CHECK_NEAR(answers.mean_s, (3 * 40e-3 + 41e-3) / 4, 1e-9);
	arena_free(b.arena);
}

/* Two requests draft 3 tokens each, and all are right. The first prompt is alone in an iteration of
 * 1 ms. If an iteration has 4 tokens, the first request fills the next two, and has its other 8
 * tokens at 9 ms. Then the second one takes 1 + 4 + 4 ms. If it has 5 tokens, the second prompt
 * joins the first request at 1 ms. At 6 ms its second token joins, but 3 drafted ones have no room,
 * and the first request ends at 11 ms. The other 7 tokens come in two iterations of 4 rows. */
static void drafted_tokens_fill_the_rest_of_an_iteration(void)
{
	for (int tokens = 4; tokens <= 5; tokens++) {
		struct serve_request pair[] = {{0, 1, 9, 0, 0}, {0, 1, 9, 0, 0}};
		struct bench b = bench_of(2);
		b.service.requests = (struct request_list){pair, 2};
		b.service.generates = true;
		b.params.warmup_ratio = 0;
		b.params.batching = BATCHING_CONTINUOUS;
		b.params.batch_count = 2;
		b.params.tokens_count = tokens;
		b.params.drafted_count = 3;
		b.params.acceptance_ratio = 1;
		struct serving_answers answers = run(&b, 1, 100, by_rows);
		CHECK_NEAR(answers.mean_s, tokens == 4 ? (9e-3 + 18e-3) / 2 : (11e-3 + 19e-3) / 2,
			   1e-9);
		arena_free(b.arena);
	}
}

/* An iteration takes 1 ms for each row, and 1 ms for each request that gets a token, but not for
 * each of 3 drafted ones, which are all right. The first prompt ends at 2 ms. The second one joins
 * 4 rows of the first request for 5 + 2 ms. Then 8 rows for 2 requests end at 19 ms, and with them
 * the first request, and 4 rows for the other one at 24 ms. */
static void host_time_of_a_request_does_not_grow_with_drafted_tokens(void)
{
	struct serve_request pair[] = {{0, 1, 9, 0, 0}, {0, 1, 9, 0, 0}};
	struct bench b = bench_of(2);
	b.service.requests = (struct request_list){pair, 2};
	b.service.generates = true;
	b.params.warmup_ratio = 0;
	b.params.batching = BATCHING_CONTINUOUS;
	b.params.batch_count = 2;
	b.params.sequence_host_s = 1e-3;
	b.params.drafted_count = 3;
	b.params.acceptance_ratio = 1;
	struct serving_answers answers = run(&b, 1, 100, by_rows);
	CHECK_NEAR(answers.mean_s, (19e-3 + 24e-3) / 2, 1e-9);
	arena_free(b.arena);
}

static const struct test tests[] = {
	TEST(tokens_that_join_a_message_take_their_own_time),
	TEST(equal_arrivals_have_no_pauses),
	TEST(half_of_three_requests_warm_up_one),
	TEST(throughput_counts_from_the_end_of_the_warm_up),
	TEST(requests_that_wait_for_a_full_batch_are_no_overload),
	TEST(each_replica_has_a_front_end_of_its_own),
	TEST(a_message_that_is_being_sent_does_not_wait),
	TEST(clients_that_wait_for_answers_do_not_overload_the_front_end),
	TEST(drafted_tokens_fill_the_rest_of_an_iteration),
	TEST(host_time_of_a_request_does_not_grow_with_drafted_tokens),
	TEST(a_finite_run_has_the_error_of_its_batch_means),
	TEST(a_closed_loop_has_the_throughput_of_its_clients),
	TEST(the_throughput_is_the_rate_of_arrivals_up_to_the_capacity),
	TEST(host_time_of_requests_delays_their_first_token),
	TEST(front_end_sends_one_message_after_the_other),
	TEST(front_end_limits_the_throughput_of_a_closed_loop),
	TEST(front_end_that_is_too_slow_overloads_the_service),
	TEST(reserved_outputs_are_never_preempted),
	TEST(an_overlapped_iteration_is_planned_before_the_collectives_of_the_last_one),
	TEST(engines_mix_and_cut_prompts_in_their_ways),
	TEST(drafted_tokens_are_kept_up_to_the_first_wrong_one),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
