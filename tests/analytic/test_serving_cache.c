/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The KV cache of a replica: shared prefixes, preempted requests, and copies in host memory. A
 * token takes 1 ms of an iteration, and 0.1 ms to host memory and back. */
#include "tests/serving_bench.h"

/* Returns a server that batches up to 8 of these requests and shares their prefixes. */
static struct bench cache_of(struct serve_request *requests, size_t count)
{
	struct bench b = bench_of(count);
	b.service.requests = (struct request_list){requests, count};
	b.params.warmup_ratio = 0;
	b.params.batching = BATCHING_CONTINUOUS;
	b.params.batch_count = 8;
	b.params.prefix_cache = true;
	b.service.generates = true;
	return b;
}

/* Three prompts of 100 tokens begin with the same 70 tokens, of which 64 are whole blocks of 16.
 * The first one takes 0.1 s, each later one 0.036 s. The cache has 10 blocks: 4 shared ones, and 3
 * of a request. A request of another group evicts the prefix, so the next one of the first group
 * takes 0.1 s again. */
static void shared_prefixes_are_processed_once(void)
{
	struct serve_request all[] = {{0, 100, 1, 1, 70},
				      {PS_PER_S, 100, 1, 1, 70},
				      {2 * PS_PER_S, 100, 1, 1, 70},
				      {3 * PS_PER_S, 160, 1, 2, 0},
				      {4 * PS_PER_S, 100, 1, 1, 70}};
	for (int cache = 0; cache < 2; cache++) {
		struct bench b = bench_of(5);
		b.service.requests = (struct request_list){all, 5};
		b.params.warmup_ratio = 0;
		b.params.batching = BATCHING_CONTINUOUS;
		b.params.batch_count = 4;
		b.params.prefix_cache = cache;
		b.service.generates = true;
		struct serving_answers answers = run(&b, 1, 10, by_rows);
		double sum_s = cache ? 0.1 + 2 * 0.036 + 0.16 + 0.1 : 4 * 0.1 + 0.16;
		CHECK_NEAR(answers.mean_s, sum_s / 5, 1e-9);
		arena_free(b.arena);
	}
}

/* A first turn of 100 tokens has 29 more, the last of which is not kept: 128 ms. The second turn
 * begins with these 128 tokens, and processes 32 of its 160. Group 7 shares nothing. */
static void a_turn_begins_with_the_turns_before_it(void)
{
	struct serve_request turns[] = {
		{0, 100, 29, 1, 0}, {PS_PER_S, 160, 1, 1, 128}, {2 * PS_PER_S, 16, 1, 7, 0}};
	struct bench b = bench_of(3);
	b.service.requests = (struct request_list){turns, 3};
	b.params.warmup_ratio = 0;
	b.params.batching = BATCHING_CONTINUOUS;
	b.params.batch_count = 4;
	b.params.prefix_cache = true;
	b.service.generates = true;
	struct serving_answers answers = run(&b, 1, 100, by_rows);
	CHECK_NEAR(answers.mean_s, (0.128 + 0.032 + 0.016) / 3, 1e-9);
	arena_free(b.arena);
}

/* Two prompts of 100 tokens share 4 blocks, which are also in host memory. A request of another
 * group evicts them from the GPU. So the last request waits 6.4 ms for 64 tokens, and processes 36
 * tokens. In 3 blocks of host memory the prefix has no room. */
static void evicted_prefixes_come_from_host_memory(void)
{
	struct serve_request all[] = {
		{0, 100, 1, 1, 70}, {PS_PER_S, 160, 1, 2, 0}, {2 * PS_PER_S, 100, 1, 1, 70}};
	for (size_t blocks = 3; blocks <= 4; blocks++) {
		struct bench b = bench_of(3);
		b.service.requests = (struct request_list){all, 3};
		b.params.warmup_ratio = 0;
		b.params.batching = BATCHING_CONTINUOUS;
		b.params.batch_count = 4;
		b.params.prefix_cache = true;
		b.service.generates = true;
		b.host_blocks = blocks;
		struct serving_answers answers = run(&b, 1, 10, by_rows);
		double last_s = blocks == 4 ? 0.0064 + 0.036 : 0.1;
		CHECK_NEAR(answers.mean_s, (0.1 + 0.16 + last_s) / 3, 1e-9);
		CHECK_NEAR(answers.parts_s[SERVE_TRANSFER], blocks == 4 ? 0.0064 / 3 : 0, 1e-9);
		arena_free(b.arena);
	}
}

/* A batch has one request. The third request loads its prefix from 2 s on for 6.4 ms, and then
 * takes 36 ms. The fourth one arrives during the load, at 2.001 s. It begins behind it at 2.0424 s
 * and takes 10 ms. */
static void a_request_that_loads_has_a_place_in_the_batch(void)
{
	struct serve_request all[] = {{0, 100, 1, 1, 70},
				      {PS_PER_S, 160, 1, 2, 0},
				      {2 * PS_PER_S, 100, 1, 1, 70},
				      {2 * PS_PER_S + PS_PER_S / 1000, 10, 1, 3, 0}};
	struct bench b = cache_of(all, 4);
	b.params.batch_count = 1;
	b.host_blocks = 4;
	CHECK_NEAR(run(&b, 1, 10, by_rows).mean_s, (0.1 + 0.16 + 0.0424 + 0.0514) / 4, 1e-9);
	arena_free(b.arena);
}

/* Two prompts of 16 tokens have a block of 3 each after 32 ms. Then the first request takes the
 * last block, and the second one is preempted. The first one ends after 16 more tokens, at 48 ms.
 * The second one processes 17 tokens again, in 17 ms, and 15 more tokens, until 80 ms. With a block
 * in host memory, it needs two blocks before it loads 16 tokens in 1.6 ms, and 16 ms for 16 tokens,
 * until 65.6 ms. */
static void preempted_requests_come_back_from_host_memory(void)
{
	struct serve_request pair[] = {{0, 16, 17, 0, 0}, {0, 16, 17, 0, 0}};
	for (size_t blocks = 0; blocks < 2; blocks++) {
		struct bench b = bench_of(2);
		b.service.requests = (struct request_list){pair, 2};
		b.params.warmup_ratio = 0;
		b.params.batching = BATCHING_CONTINUOUS;
		b.params.batch_count = 8;
		b.service.generates = true;
		b.host_blocks = blocks;
		struct serving_answers answers = run(&b, 1, 3, by_rows);
		CHECK_NEAR(answers.preempted_count, 1, 0);
		CHECK_NEAR(answers.mean_s, (0.048 + (blocks ? 0.0656 : 0.08)) / 2, 1e-9);
		arena_free(b.arena);
	}
}

/* Two pairs of requests follow each other, with one block in host memory. One request of each pair
 * is preempted and loads its tokens as in the test before, so the block is free for the second
 * pair.
 */
static void blocks_in_host_memory_are_free_when_they_are_loaded(void)
{
	struct serve_request pairs[] = {{0, 16, 17, 0, 0},
					{0, 16, 17, 0, 0},
					{PS_PER_S, 16, 17, 0, 0},
					{PS_PER_S, 16, 17, 0, 0}};
	struct bench b = bench_of(4);
	b.service.requests = (struct request_list){pairs, 4};
	b.params.warmup_ratio = 0;
	b.params.batching = BATCHING_CONTINUOUS;
	b.params.batch_count = 8;
	b.service.generates = true;
	b.host_blocks = 1;
	struct serving_answers answers = run(&b, 1, 3, by_rows);
	CHECK_NEAR(answers.preempted_count, 2, 0);
	CHECK_NEAR(answers.mean_s, (0.048 + 0.0656) / 2, 1e-9);
	arena_free(b.arena);
}

/* The cache has 4 blocks. Request A has 33 tokens in the cache at 33 ms: 2 shared blocks and one of
 * its own. F takes the fourth, and ends at 57 ms, after 12 iterations of 2 ms. A has 48 tokens at
 * 60 ms, which are 3 shared blocks. B needs all 4 blocks, so it waits until then. It shares the 48
 * tokens and processes one, or it shares 16 tokens, evicts the other 2 blocks and processes 33. */
static void a_request_that_waits_keeps_no_others_from_the_cache(void)
{
	const int64_t ms = PS_PER_S / 1000;
	for (uint32_t shared = 16; shared <= 48; shared += 32) {
		struct serve_request all[] = {{0, 16, 33, 1, 0},
					      {65 * ms / 2, 1, 12, 5, 0},
					      {69 * ms / 2, 49, 1, 1, shared},
					      {PS_PER_S, 1, 1, 1, 48}};
		struct bench b = cache_of(all, 4);
		struct serving_answers answers = run(&b, 1, 4, by_rows);
		double end_ms = 60 + (shared == 16 ? 33 : 1);
		CHECK(serving_left(b.serving) == 0);
		CHECK_NEAR(answers.mean_s, (60 + 24.5 + end_ms - 34.5 + 1) * 1e-3 / 4, 1e-9);
		arena_free(b.arena);
	}
}

/* Iterations have 9 tokens, and the cache 4 blocks. A has 31 tokens at 45 ms, F has one block, and
 * B joins with 16 shared tokens and 7 of its own until 54 ms. Then A needs another block, so B is
 * preempted, and its 23 tokens are copied to host memory. F ends at 56 ms. At 57 ms the prefix has
 * 32 tokens, which is more than the copy has, so B does not load it. B processes 8 tokens until 66
 * and until 75 ms, which makes the prefix 3 blocks long. B is preempted again for its last token,
 * A ends at 87 ms, and B at 88 ms. */
static void a_prefix_that_outgrows_a_copy_in_host_memory_replaces_it(void)
{
	const int64_t ms = PS_PER_S / 1000;
	struct serve_request all[] = {
		{0, 16, 33, 1, 0}, {33 * ms / 2, 1, 16, 5, 0}, {89 * ms / 2, 49, 1, 1, 48}};
	struct bench b = cache_of(all, 3);
	b.params.tokens_count = 9;
	b.params.reserve_prompt = false;
	b.host_blocks = 8;
	struct serving_answers answers = run(&b, 1, 4, by_rows);
	CHECK_NEAR(answers.preempted_count, 2, 0);
	CHECK_NEAR(answers.mean_s, (87 + 39.5 + 43.5) * 1e-3 / 3, 1e-9);
	arena_free(b.arena);
}

/* The second turn of group 1 makes its prefix 3 blocks long, and copies the third one to host
 * memory, which it fills. At the same time the prefix of group 2 would be copied, but that of group
 * 1 must stay. A large request then evicts both from the GPU. So the third turn of group 1 loads 48
 * tokens in 4.8 ms, and processes 12 of its 60. The first turn takes 40 ms. Both requests at 1 s
 * wait 4 ms for an iteration, and process 28 + 40 tokens together. */
static void a_prefix_that_grows_in_host_memory_is_not_evicted(void)
{
	const int64_t ms = PS_PER_S / 1000;
	struct serve_request all[] = {{0, 40, 1, 1, 0},          {999 * ms, 5, 1, 3, 0},
				      {1000 * ms, 60, 1, 1, 48}, {1000 * ms, 40, 1, 2, 32},
				      {2000 * ms, 160, 1, 4, 0}, {3000 * ms, 60, 1, 1, 48}};
	struct bench b = cache_of(all, 6);
	b.host_blocks = 3;
	struct serving_answers answers = run(&b, 1, 10, by_rows);
	CHECK_NEAR(answers.mean_s, (40 + 5 + 2 * (4 + 28 + 40) + 160 + 4.8 + 12) * 1e-3 / 6, 1e-9);
	arena_free(b.arena);
}

/* A prompt of 32 tokens takes 32 ms. The second request shares its first block, so that its other
 * 16 tokens end at 49 ms, with the second token of the first request. All 4 blocks are used, and
 * the second request is preempted. The first one has its other 15 tokens at 64 ms. Then the second
 * one loads the 16 tokens that it does not share in 1.6 ms, and has its other 16 tokens at 81.6 ms.
 */
static void preempted_requests_load_what_their_prefix_lacks(void)
{
	struct serve_request pair[] = {{0, 32, 17, 1, 17}, {0, 32, 17, 1, 17}};
	struct bench b = cache_of(pair, 2);
	b.host_blocks = 3;
	struct serving_answers answers = run(&b, 1, 4, by_rows);
	CHECK_NEAR(answers.preempted_count, 1, 0);
	CHECK_NEAR(answers.mean_s, (0.064 + 0.0816) / 2, 1e-9);
	arena_free(b.arena);
}

static const struct test tests[] = {
	TEST(shared_prefixes_are_processed_once),
	TEST(a_turn_begins_with_the_turns_before_it),
	TEST(evicted_prefixes_come_from_host_memory),
	TEST(a_request_that_loads_has_a_place_in_the_batch),
	TEST(preempted_requests_come_back_from_host_memory),
	TEST(blocks_in_host_memory_are_free_when_they_are_loaded),
	TEST(a_request_that_waits_keeps_no_others_from_the_cache),
	TEST(a_prefix_that_outgrows_a_copy_in_host_memory_replaces_it),
	TEST(a_prefix_that_grows_in_host_memory_is_not_evicted),
	TEST(preempted_requests_load_what_their_prefix_lacks),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
