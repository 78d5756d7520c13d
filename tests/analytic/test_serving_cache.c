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

/* The third request loads its prefix from 2 s on for 6.4 ms. The fourth one, which comes at the
 * same time, has an iteration of 30 ms meanwhile. So the third one waits for its end for
 * another 23.6 ms, and then takes 36 ms. Each part of its time is counted once. */
static void a_request_that_was_loaded_waits_for_the_present_iteration(void)
{
	struct serve_request all[] = {{0, 100, 1, 1, 70},
				      {PS_PER_S, 160, 1, 2, 0},
				      {2 * PS_PER_S, 100, 1, 1, 70},
				      {2 * PS_PER_S, 30, 1, 3, 0}};
	struct bench b = cache_of(all, 4);
	b.host_blocks = 4;
	struct serving_answers answers = run(&b, 1, 10, by_rows);
	CHECK_NEAR(answers.mean_s, (0.1 + 0.16 + 0.066 + 0.03) / 4, 1e-9);
	CHECK_NEAR(answers.parts_s[SERVE_KERNEL], (0.1 + 0.16 + 0.036 + 0.03) / 4, 1e-9);
	CHECK_NEAR(answers.parts_s[SERVE_TRANSFER], 0.0064 / 4, 1e-9);
	CHECK_NEAR(answers.parts_s[SERVE_QUEUE], 0.0236 / 4, 1e-9);
	CHECK_NEAR(answers.parts_s[SERVE_OTHER], 0, 0);
	struct serving_use use;
	serving_missed(b.serving, &use);
	CHECK_NEAR(use.running, 2, 0); /* one runs while the other one is loaded */
	arena_free(b.arena);
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
	struct serving_answers answers = run(&b, 1, 10, by_rows);
	CHECK_NEAR(answers.mean_s, (0.1 + 0.16 + 0.0424 + 0.0514) / 4, 1e-9);
	CHECK_NEAR(answers.queue_ratios[QUEUE_FOR_LIMIT], 1, 1e-9);
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

/* Prompts of 48 tokens share 2 of their 3 blocks with their group, and the cache has 10 blocks. A
 * prompt of 7 blocks evicts the prefix of the group that came first, whatever its number. So the
 * other group still has its prefix, and processes 16 tokens. */
static void the_prefix_that_is_unused_for_the_longest_time_is_evicted(void)
{
	for (uint32_t first = 1; first <= 2; first++) {
		uint32_t second = 3 - first;
		struct serve_request all[] = {{0, 48, 1, first, 32},
					      {PS_PER_S, 48, 1, second, 32},
					      {2 * PS_PER_S, 112, 1, 3, 0},
					      {3 * PS_PER_S, 48, 1, second, 32}};
		struct bench b = cache_of(all, 4);
		CHECK_NEAR(run(&b, 1, 10, by_rows).mean_s, (48 + 48 + 112 + 16) * 1e-3 / 4, 1e-9);
		arena_free(b.arena);
	}
}

/* Host memory has 4 blocks, and three groups store 2 each. The third one replaces the first one. A
 * prompt of 10 blocks evicts all prefixes from the GPU. Then the second group loads 32 tokens in
 * 3.2 ms and processes 16, and the first one processes all 48. */
static void a_copy_in_host_memory_replaces_the_oldest_one(void)
{
	for (uint32_t first = 1; first <= 2; first++) {
		uint32_t second = 3 - first;
		struct serve_request all[] = {{0, 48, 1, first, 32},
					      {PS_PER_S, 48, 1, second, 32},
					      {2 * PS_PER_S, 48, 1, 3, 32},
					      {3 * PS_PER_S, 160, 1, 4, 0},
					      {4 * PS_PER_S, 48, 1, second, 32}};
		for (int again = 0; again < 2; again++) {
			struct bench b = cache_of(all, 5);
			all[4].group = again ? first : second;
			b.host_blocks = 4;
			double last_ms = again ? 48 : 3.2 + 16;
			CHECK_NEAR(run(&b, 1, 10, by_rows).mean_s,
				   (3 * 48 + 160 + last_ms) * 1e-3 / 5, 1e-9);
			arena_free(b.arena);
		}
	}
}

/* Two prompts of 32 tokens have two of 5 blocks each after 64 ms. The first request takes the last
 * block, so the second one is preempted, and the first one ends after 16 more tokens. Two blocks in
 * host memory hold the 32 tokens, which are back after 3.2 ms, and 17 tokens follow. One block does
 * not hold them, and 33 + 15 tokens follow. */
static void a_request_that_has_no_room_in_host_memory_starts_again(void)
{
	struct serve_request pair[] = {{0, 32, 17, 0, 0}, {0, 32, 17, 0, 0}};
	for (size_t blocks = 1; blocks <= 2; blocks++) {
		struct bench b = cache_of(pair, 2);
		b.params.prefix_cache = false;
		b.host_blocks = blocks;
		struct serving_answers answers = run(&b, 1, 5, by_rows);
		CHECK_NEAR(answers.preempted_count, 1, 0);
		CHECK_NEAR(answers.mean_s,
			   (80 + (blocks == 2 ? 80 + 3.2 + 16 : 80 + 48)) * 1e-3 / 2, 1e-9);
		arena_free(b.arena);
	}
}

/* Iterations have 33 tokens, and prompts are not cut. Two prompts take 32 ms each, and 16
 * iterations of 2 ms follow. Then the first request needs the seventh block, so the second one is
 * preempted, and the first one ends 1 ms later, at 97 ms. The second one has 49 tokens to process,
 * more than an iteration has, but it is the first in it. */
static void a_preempted_request_may_be_longer_than_an_iteration(void)
{
	struct serve_request pair[] = {{0, 32, 18, 0, 0}, {0, 32, 18, 0, 0}};
	struct bench b = cache_of(pair, 2);
	b.params.prefix_cache = false;
	b.params.chunked_prefill = false;
	b.params.tokens_count = 33;
	struct serving_answers answers = run(&b, 1, 6, by_rows);
	CHECK_NEAR(answers.preempted_count, 1, 0);
	CHECK_NEAR(answers.mean_s, (97 + 97 + 49) * 1e-3 / 2, 1e-9);
	CHECK(serving_left(b.serving) == 0);
	arena_free(b.arena);
}

/* Each of two requests needs 17 places, which are 2 blocks. In 3 blocks they run one after the
 * other, 17 ms each. In 4 blocks they are one batch of 32 + 2 tokens. */
static void a_batch_has_as_many_requests_as_the_cache_holds(void)
{
	struct serve_request pair[] = {{0, 16, 2, 0, 0}, {0, 16, 2, 0, 0}};
	for (size_t blocks = 3; blocks <= 4; blocks++) {
		struct bench b = cache_of(pair, 2);
		b.params.batching = BATCHING_FIXED;
		b.params.batch_count = 2;
		b.params.prefix_cache = false;
		CHECK_NEAR(run(&b, 1, blocks, by_rows).mean_s,
			   (blocks == 3 ? 17 + 34 : 2 * 34) * 1e-3 / 2, 1e-9);
		arena_free(b.arena);
	}
}

/* One replica processes two prompts of 100 tokens in parts of 50, until 100 and until 200 ms. Only
 * then the other one generates the second token of each. */
static void a_cut_prompt_leaves_when_it_is_complete(void)
{
	struct serve_request pair[] = {{0, 100, 2, 0, 0}, {0, 100, 2, 0, 0}};
	struct bench b = cache_of(pair, 2);
	b.params.prefix_cache = false;
	b.params.tokens_count = 50;
	b.apart = true;
	CHECK_NEAR(run(&b, 2, 100, by_rows).mean_s, (101 + 201) * 1e-3 / 2, 1e-9);
	arena_free(b.arena);
}

/* A second prompt that is wholly shared processes its last block of 16 tokens again. */
static void a_request_processes_at_least_one_token(void)
{
	struct serve_request pair[] = {{0, 64, 1, 1, 64}, {PS_PER_S, 64, 1, 1, 64}};
	struct bench b = cache_of(pair, 2);
	CHECK_NEAR(run(&b, 1, 10, by_rows).mean_s, (64 + 16) * 1e-3 / 2, 1e-9);
	arena_free(b.arena);
}

/* The second prompt takes all 8 free blocks, so the prefix of 2 blocks stays, and the third request
 * processes 16 tokens. All 10 blocks, 128 tokens and one request are the most that were in use. */
static void a_request_that_fits_exactly_evicts_nothing(void)
{
	struct serve_request all[] = {
		{0, 48, 1, 1, 32}, {PS_PER_S, 128, 1, 3, 0}, {2 * PS_PER_S, 48, 1, 1, 32}};
	struct bench b = cache_of(all, 3);
	struct serving_use use;
	CHECK_NEAR(run(&b, 1, 10, by_rows).mean_s, (48 + 128 + 16) * 1e-3 / 3, 1e-9);
	(void)serving_missed(b.serving, &use);
	CHECK_NEAR(use.blocks, 10, 0);
	CHECK_NEAR(use.tokens, 128, 0);
	CHECK_NEAR(use.running, 1, 0);
	arena_free(b.arena);
}

/* Two prompts of one group wait for another request of 1 ms, and then take 128 ms together. The
 * first one leaves a prefix of its 3 blocks. The second one has computed these, too, so it does not
 * make the prefix longer. A third one shares 3 blocks, and processes 32 of its 80 tokens. */
static void a_prefix_is_made_longer_only_by_its_users(void)
{
	const int64_t half_ms = PS_PER_S / 2000;
	struct serve_request all[] = {{0, 1, 1, 9, 0},
				      {half_ms, 48, 1, 1, 32},
				      {half_ms, 80, 1, 1, 64},
				      {PS_PER_S, 80, 1, 1, 64}};
	struct bench b = cache_of(all, 4);
	CHECK_NEAR(run(&b, 1, 20, by_rows).mean_s, (1 + 2 * 128.5 + 32) * 1e-3 / 4, 1e-9);
	arena_free(b.arena);
}

/* Iterations have 48 tokens. The first prompt has 48 of its 64 shared tokens at 48 ms, which are
 * not kept yet. So the second one, which comes at 10 ms, processes 16 tokens with the other 32 of
 * the first one until 96 ms, and its other 64 until 160 ms. */
static void a_prefix_is_kept_when_it_is_complete(void)
{
	struct serve_request pair[] = {{0, 80, 1, 1, 64}, {PS_PER_S / 100, 80, 1, 1, 64}};
	struct bench b = cache_of(pair, 2);
	b.params.tokens_count = 48;
	CHECK_NEAR(run(&b, 1, 20, by_rows).mean_s, (96 + 150) * 1e-3 / 2, 1e-9);
	arena_free(b.arena);
}

/* Iterations have 48 tokens, and 2 more are drafted behind each generated one. None is drafted
 * behind the last token of a prompt of 49. A request of 30 tokens generates one more: behind it,
 * drafted tokens need the 33rd place, which two blocks do not have. */
static void tokens_are_drafted_behind_generated_ones_if_they_have_room(void)
{
	struct serve_request cut[] = {{0, 49, 1, 0, 0}}, two[] = {{0, 30, 2, 0, 0}};
	struct bench b = cache_of(cut, 1);
	b.params.tokens_count = 48;
	b.params.drafted_count = 2;
	CHECK_NEAR(run(&b, 1, 10, by_rows).mean_s, 49 * 1e-3, 1e-9);
	arena_free(b.arena);
	for (size_t blocks = 2; blocks <= 3; blocks++) {
		b = cache_of(two, 1);
		b.params.drafted_count = 2;
		CHECK_NEAR(run(&b, 1, blocks, by_rows).mean_s, (blocks == 2 ? 31 : 33) * 1e-3,
			   1e-9);
		arena_free(b.arena);
	}
}

static const struct test tests[] = {
	TEST(a_request_processes_at_least_one_token),
	TEST(a_request_that_fits_exactly_evicts_nothing),
	TEST(a_prefix_is_made_longer_only_by_its_users),
	TEST(a_prefix_is_kept_when_it_is_complete),
	TEST(tokens_are_drafted_behind_generated_ones_if_they_have_room),
	TEST(the_prefix_that_is_unused_for_the_longest_time_is_evicted),
	TEST(a_copy_in_host_memory_replaces_the_oldest_one),
	TEST(a_request_that_has_no_room_in_host_memory_starts_again),
	TEST(a_preempted_request_may_be_longer_than_an_iteration),
	TEST(a_batch_has_as_many_requests_as_the_cache_holds),
	TEST(a_cut_prompt_leaves_when_it_is_complete),
	TEST(shared_prefixes_are_processed_once),
	TEST(a_turn_begins_with_the_turns_before_it),
	TEST(evicted_prefixes_come_from_host_memory),
	TEST(a_request_that_loads_has_a_place_in_the_batch),
	TEST(a_request_that_was_loaded_waits_for_the_present_iteration),
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
