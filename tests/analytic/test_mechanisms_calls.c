/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls of the framework: ops at the start of a step, and polled events.
 *
 * The published case (case_points.h), untuned on one ESXi host, where an answered call takes
 * one slot of 250 us (test_mechanisms_run_ahead.c). */
#include "tests/case_points.h"

#define SLOT_S 250e-6

/* Calls and polls of a steady step. */
struct counts {
	double calls, polls, step_s;
};

static struct counts counts_of(const struct settings *base, const char *const *more)
{
	struct arena *arena = arena_new();
	struct point point = point_of(arena, base, more);
	struct counts counts = {NAN, NAN, NAN};
	if (!point.failed) {
		const struct job_run *run = &point.outcome.jobs[0];
		const struct step_record *step = &run->steps[run->step_count - 1];
		counts = (struct counts){(double)step->calls_count, (double)step->polls_count,
					 point.step_s};
	}
	arena_free(arena);
	return counts;
}
#define COUNTS(base, ...) counts_of(&(base), (const char *const[]){__VA_ARGS__, NULL})

/* ResNet-50 has 161 trainable variables: 53 convolutions, 53 batch norms of
 * two, the last layer's two. 53 of them have more than 4096 elements (the 1 x 1
 * convolution of 64 x 64 has just that many), whose L2 loss is two kernels.
 *   one op for each   161 + 53 losses, 21 sums of up to 8, 2 additions: 237
 *   one op for all    concatenation, 2, sum, 2 additions: 6; decay as before
 *   none              neither, nor 161 products and 161 additions for decay */
static void l2_losses_are_counted(void)
{
	double all = COUNTS(same_esxi, BATCH_32).calls;

	CHECK_NEAR(all - COUNTS(same_esxi, BATCH_32, "stack.l2_loss=single_op").calls, 231, 0);
	CHECK_NEAR(all - COUNTS(same_esxi, BATCH_32, "stack.l2_loss=none").calls, 559, 0);
	/* without batch norm's 106: 106 losses, 13 or 14 sums, 2 x 106 for decay */
	CHECK_NEAR(all - COUNTS(same_esxi, BATCH_32, "stack.l2_loss=no_batch_norm").calls,
		   106 + 14 + 212, 0);
}

/* At the start of a step the GPU waits for these calls, so each call less saves a slot, in both
 * batches: 231 x 250 us = 57.8 ms. The gain or loss of the GPU itself (the concatenation moves
 * 204 MB: 2.3 ms) is in the difference on a local GPU. */
static void one_l2_loss_saves_its_calls(void)
{
	static const char *const batches[] = {BATCH_16, BATCH_32};

	for (size_t i = 0; i < 2; i++) {
		double gpu_s = STEP_S(beside_gpu, batches[i], "stack.l2_loss=single_op") -
			       STEP_S(beside_gpu, batches[i]);
		double saved_s = STEP_S(same_esxi, batches[i]) -
				 STEP_S(same_esxi, batches[i], "stack.l2_loss=single_op");
		CHECK(gpu_s > 0 && gpu_s < 0.005);
		CHECK_NEAR(saved_s + gpu_s, 231 * SLOT_S, 0.05);
	}
}

/* Without weight decay in the graph batch 32 saves what stands at the start of
 * its step, 237 + 161 calls; the 161 additions come while the GPU is busy. The
 * step is then the GPU's. Batch 16, bound by its calls, saves the additions
 * too, until the GPU binds there as well. */
static void no_l2_loss_saves_more(void)
{
	double saved_32 =
		STEP_S(same_esxi, BATCH_32) - STEP_S(same_esxi, BATCH_32, "stack.l2_loss=none");
	double saved_16 =
		STEP_S(same_esxi, BATCH_16) - STEP_S(same_esxi, BATCH_16, "stack.l2_loss=none");

	CHECK_NEAR(saved_32, 398 * SLOT_S, 0.05);
	CHECK(STEP_S(same_esxi, BATCH_32, "stack.l2_loss=none") <
	      1.01 * STEP_S(beside_gpu, BATCH_32, "stack.l2_loss=none"));
	CHECK(saved_16 > saved_32 + 0.010);
	CHECK(saved_16 < 559 * SLOT_S);
}

/* 500 events a step. Each is recorded by the executor, one more call. Without a
 * poller only those at the start of the step show: 323 of its 1157 ops, so 140
 * records, 35 ms. With it a query is always on its way while any is pending,
 * and the server's one core serves it before the executor's next call:
 *   receive 6.8 + thread 4 + unmarshal 1 + handoff 64.3 + query 1 + send 4.8
 *   = 82 us at 2.4 GHz, 104 us at 1.9 GHz.
 * The executor's 180 us then take 284, 34 us above the slot, for each of 2427
 * calls: 83 ms at least. At most each query costs the slot that it takes. A
 * poller that sleeps for 10 ms still asks for each event once. */
static void polls_compete_for_the_connection(void)
{
	static const char events[] = "stack.events_per_step=500";
	struct counts without = COUNTS(same_esxi, BATCH_32);
	struct counts told = COUNTS(same_esxi, BATCH_32, events, "stack.poller=false");
	struct counts eager = COUNTS(same_esxi, BATCH_32, events);
	struct counts lazy = COUNTS(same_esxi, BATCH_32, events, "stack.poll_sleep=10 ms");
	double polls_s = eager.step_s - told.step_s;

	CHECK_NEAR(eager.calls, without.calls + 500, 0);
	CHECK_NEAR(told.polls, 0, 0);
	CHECK_NEAR(told.step_s - without.step_s, 140 * SLOT_S, 0.15);
	CHECK(polls_s > 0.083 && polls_s < eager.polls * SLOT_S);
	CHECK(lazy.polls >= 500 && lazy.polls < 0.7 * eager.polls);
	CHECK(eager.step_s - lazy.step_s > 0.5 * polls_s);
	CHECK(lazy.step_s > told.step_s);
}

/* On a local GPU a record takes 1.5 us of the executor, which is ahead of the GPU in any case,
 * and a query 1 us of another core. */
static void polls_cost_next_to_nothing_locally(void)
{
	double without = STEP_S(beside_gpu, BATCH_32);

	CHECK_NEAR(STEP_S(beside_gpu, BATCH_32, "stack.events_per_step=500"), without, 1e-3);
	CHECK_NEAR(STEP_S(beside_gpu, BATCH_32, "stack.events_per_step=2000"), without, 1e-3);
	CHECK(COUNTS(beside_gpu, BATCH_32, "stack.events_per_step=500").polls >
	      2 * COUNTS(same_esxi, BATCH_32, "stack.events_per_step=500").polls);
}

/* 2000 events a step: 3927 calls, which bind batch 32 too, and as many queries,
 * each of which costs at most the slot that it takes. */
static void more_events_cost_more(void)
{
	static const char events[] = "stack.events_per_step=2000";
	struct counts told = COUNTS(same_esxi, BATCH_32, events, "stack.poller=false");
	struct counts eager = COUNTS(same_esxi, BATCH_32, events);

	CHECK_NEAR(told.step_s, told.calls * SLOT_S, 0.05);
	CHECK(eager.polls > 2000);
	CHECK(eager.step_s - told.step_s < eager.polls * SLOT_S);
	CHECK(eager.step_s - told.step_s > 0.5 * 2000 * SLOT_S);
}

/* A step's end is noticed by a poll: with 10 ms of sleep up to 10 ms late. */
static void a_lazy_poller_notices_late(void)
{
	double eager = STEP_S(beside_gpu, BATCH_16);
	double lazy = STEP_S(beside_gpu, BATCH_16, "stack.poll_sleep=10 ms");

	CHECK(lazy > eager && lazy < eager + 0.0101);
}

static const struct test tests[] = {
	TEST(l2_losses_are_counted),
	TEST(one_l2_loss_saves_its_calls),
	TEST(no_l2_loss_saves_more),
	TEST(polls_compete_for_the_connection),
	TEST(polls_cost_next_to_nothing_locally),
	TEST(more_events_cost_more),
	TEST(a_lazy_poller_notices_late),
};

int main(void)
{
	return TEST_MAIN(tests);
}
