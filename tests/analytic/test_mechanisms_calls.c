/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls of the framework: operations at the start of a step, and polled events.
 *
 * The tests vary the published case (case_points.h), untuned on one ESXi host, where an answered
 * call takes one slot of 250 us (test_mechanisms_run_ahead.c). */
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

/* ResNet-50 has 161 trainable variables: 53 convolutions, two for each of 53 batch norms, and
 * two of the last layer. 53 of them have more than 4096 elements, so their L2 loss is two
 * kernels. (The 1 x 1 convolution of 64 x 64 has exactly 4096.)
 *   one loss for each variable: 161 + 53 losses, 21 sums of up to 8, 2 additions: 237
 *   one loss for all: concatenation, 2 losses, sum, 2 additions: 6; weight decay as before
 *   no loss: also no 161 products and 161 additions for weight decay */
static void l2_losses_add_the_counted_operations(void)
{
	double all = COUNTS(same_esxi, BATCH_32).calls;

	CHECK_NEAR(all - COUNTS(same_esxi, BATCH_32, "stack.l2_loss=single_op").calls, 231, 0);
	CHECK_NEAR(all - COUNTS(same_esxi, BATCH_32, "stack.l2_loss=none").calls, 559, 0);
	/* Without the 106 variables of batch norm: 106 losses, 13 or 14 sums, 2 x 106 for weight
	 * decay. */
	CHECK_NEAR(all - COUNTS(same_esxi, BATCH_32, "stack.l2_loss=no_batch_norm").calls,
		   106 + 14 + 212, 0);
}

/* At the start of a step the GPU waits for these calls. So each call less saves a slot, with both
 * batches: 231 x 250 us = 57.8 ms. The time that the GPU itself gains or loses is in the difference
 * on a local GPU. (The concatenation moves 204 MB in 2.3 ms.) */
static void one_common_l2_loss_saves_a_slot_for_each_call(void)
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

/* Without weight decay in the graph, batch 32 saves the calls at the start of its step, 237 + 161.
 * The 161 additions run while the GPU is busy. Then the GPU sets the step time. Batch 16 is limited
 * by its calls and saves the additions, too, until the GPU becomes its bottleneck. */
static void no_l2_loss_saves_calls_until_the_gpu_is_the_bottleneck(void)
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

/* A step has 500 events, and the executor records each with one more call. Without a poller
 * only the records at the start of the step count: 323 of 1157 operations are there, so 140
 * records, 35 ms. With the poller a query is on its way as long as an event is pending. The
 * server's one core serves it before the next call of the executor:
 *   receive 6.8 + thread 4 + unmarshal 1 + hand-off 64.3 + query 1 + send 4.8
 *   = 82 us at 2.4 GHz, 104 us at 1.9 GHz.
 * The executor's call of 180 us then takes 284 us, 34 us more than the slot. This makes at
 * least 83 ms for 2427 calls. At most each query costs the slot that it takes. A poller that
 * sleeps for 10 ms still queries each event once, and saves time in proportion to the queries. */
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
	CHECK(eager.step_s - lazy.step_s > 0.8 * polls_s * (1 - lazy.polls / eager.polls));
	CHECK(lazy.step_s > told.step_s);
}

/* On a local GPU the executor takes 1.5 us for a record. A query takes 1 us of another core. The
 * GPU waits for the executor only at the start of a step, where 323 of 1157 operations and 140 of
 * 500 events are. There a record waits for the lock until the poller's round ends and the executor
 * wakes up, 5 us at 1.9 GHz. A round queries at most the events before it. */
static void polls_of_a_local_gpu_cost_little(void)
{
	static const char few[] = "stack.events_per_step=500";
	double without = STEP_S(beside_gpu, BATCH_32);
	double grown_s = STEP_S(beside_gpu, BATCH_32, few) - without;

	CHECK(grown_s > 140 * 5e-6 && grown_s < 140 * (5e-6 + 140 / 2 * 1e-6));
	CHECK(STEP_S(beside_gpu, BATCH_32, "stack.events_per_step=2000") < 1.02 * without);
	CHECK_NEAR(STEP_S(beside_gpu, BATCH_32, few, "stack.poller=false"), without, 1e-3);
	CHECK(COUNTS(beside_gpu, BATCH_32, "stack.events_per_step=500").polls >
	      2 * COUNTS(same_esxi, BATCH_32, "stack.events_per_step=500").polls);
}

/* With 2000 events a step has 3927 calls, so that calls are the bottleneck of batch 32, too. It has
 * as many queries, each of which costs at most the slot that it takes. For each event the lock
 * passes to the poller and back. A thread that gets it wakes up in 5 us and its core in up to 10.
 */
static void step_time_grows_with_the_number_of_events(void)
{
	static const char events[] = "stack.events_per_step=2000";
	struct counts told = COUNTS(same_esxi, BATCH_32, events, "stack.poller=false");
	struct counts eager = COUNTS(same_esxi, BATCH_32, events);

	CHECK_NEAR(told.step_s, told.calls * SLOT_S, 0.05);
	CHECK(eager.polls > 2000);
	CHECK(eager.step_s - told.step_s < eager.polls * SLOT_S + 2000 * 2 * 15e-6);
	CHECK(eager.step_s - told.step_s > 0.5 * 2000 * SLOT_S);
}

/* A poll notices the end of a step. With a sleep of 10 ms it is up to 10 ms late. */
static void sleeping_poller_delays_the_end_of_a_step(void)
{
	double eager = STEP_S(beside_gpu, BATCH_16);
	double lazy = STEP_S(beside_gpu, BATCH_16, "stack.poll_sleep=10 ms");

	CHECK(lazy > eager && lazy < eager + 0.0101);
}

/* A program without a variable on the CPU behind its updates waits for the GPU itself, so a poll
 * does not delay its steps. Then fewer polls make them shorter: the executor waits less often for
 * the lock and for the driver, which also works for queries. On a local GPU this is at most 2 % of
 * a step. A forwarded query takes a slot, so it is more over a wire. */
static void fewer_polls_shorten_steps_that_synchronise(void)
{
	static const char events[] = "stack.events_per_step=500",
			  finish[] = "stack.sync_on_finish=true", lazy[] = "stack.poll_sleep=10 ms";
	static const char *const batches[] = {BATCH_16, BATCH_32};

	for (size_t i = 0; i < 2; i++) {
		double local = STEP_S(beside_gpu, batches[i], events, finish) /
			       STEP_S(beside_gpu, batches[i], events, finish, lazy);
		double remote = STEP_S(same_esxi, batches[i], events, finish) /
				STEP_S(same_esxi, batches[i], events, finish, lazy);
		CHECK(local > 1.001 && local < 1.02);
		CHECK(remote > local + 0.02);
	}
}

/* ResNet-50 of PyTorch on an H100 over 10 Gb/s, batch 1, where kernels take less time than calls.
 * A step has 708 launches, of which libraries make 269. One more cudaGetDevice for each launch
 * costs the synchronous runtime 708 slots of an answered call. One more cudaGetLastError for each
 * of the other 439 costs as much wherever it is answered. The shipped asynchronous and batched
 * runtimes answer it at the client, so there it is free.
 *
 * synchronous: all 10,500 calls of the step wait; 5 % is left for the executor's own work.
 *
 * asynchronous: 1.8 x 439 calls wait (cudaGetLastError). Without them 2,631 calls are sent, 708
 * launches, 1,871 library calls and 52 memsets, in at most 6 us each.
 *
 * batched: the same calls wait, and their slots hide what a batch saves. cudaGetDevice is answered
 * by the client in the latter two, and its cost is that of an intercept.
 */
static void remote_pytorch_takes_as_long_as_the_calls_that_wait(void)
{
	static const struct settings pytorch = {
		{"case.model=resnet50", "case.stack=pytorch", "case.topology=vm-p100-vmxnet3",
		 "gpu.gpu0.profile=h100-sxm5", "case.program=client", "case.server=server",
		 "case.transport=tcp", "case.batch=1", "stack.dispatch=5 us", "stack.autograd=1"}};
	static const char synchronous[] = "case.runtime=synchronous",
			  asynchronous[] = "case.runtime=asynchronous",
			  batched[] = "case.runtime=batched",
			  more_devices[] = "stack.get_device_per_launch=7.7",
			  more_errors[] = "stack.get_last_error_per_launch=2.8",
			  answered[] = "runtime.get_last_error_call=answered";
	struct counts all = COUNTS(pytorch, synchronous);
	double launches = COUNTS(pytorch, synchronous, more_devices).calls - all.calls;
	const double own = 439, sent = 708 + 1871 + 52;
	double slot_s = (STEP_S(pytorch, synchronous, more_devices) - all.step_s) / launches;
	double sent_s = STEP_S(pytorch, asynchronous, answered);
	double batched_s = STEP_S(pytorch, batched, answered);

	CHECK_NEAR(launches, 708, 0);
	CHECK(all.calls * slot_s < all.step_s && all.step_s < 1.05 * all.calls * slot_s);
	CHECK_NEAR(STEP_S(pytorch, asynchronous, answered, more_errors) - sent_s, own * slot_s,
		   0.05);
	CHECK_NEAR(STEP_S(pytorch, batched, answered, more_errors) - batched_s, own * slot_s, 0.05);
	double unanswered_s = STEP_S(pytorch, asynchronous);
	CHECK(STEP_S(pytorch, asynchronous, more_errors) - unanswered_s < launches * 1e-6);
	CHECK_NEAR(sent_s - unanswered_s, 1.8 * own * slot_s, 0.1);
	CHECK(unanswered_s < sent * 6e-6);
	CHECK_NEAR(batched_s, sent_s, 0.02);
	CHECK(sent_s < 0.15 * all.step_s);
	CHECK(STEP_S(pytorch, asynchronous, more_devices) < unanswered_s + launches * 1e-6);
}

static const struct test tests[] = {
	TEST(l2_losses_add_the_counted_operations),
	TEST(one_common_l2_loss_saves_a_slot_for_each_call),
	TEST(no_l2_loss_saves_calls_until_the_gpu_is_the_bottleneck),
	TEST(polls_compete_for_the_connection),
	TEST(polls_of_a_local_gpu_cost_little),
	TEST(step_time_grows_with_the_number_of_events),
	TEST(sleeping_poller_delays_the_end_of_a_step),
	TEST(fewer_polls_shorten_steps_that_synchronise),
	TEST(remote_pytorch_takes_as_long_as_the_calls_that_wait),
};

int main(void)
{
	return TEST_MAIN(tests);
}
