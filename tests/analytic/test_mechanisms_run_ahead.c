/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Why a small batch loses more to forwarded calls than a large one: the simulation yields
 * whether the host runs ahead of the GPU; no parameter says so.
 *
 * The tests vary the published case (case_points.h), untuned on one ESXi host. The round trip
 * of a call is one slot of the VMXNET3: 4000 interrupts per second give an answer each 250 us.
 * The slot hides everything else in a call (about 180 us, derived below). By hand, r_i is the
 * return of call i, e_k the end of kernel k, d_k its duration, and Q the size of the launch
 * queue:
 *
 *   r_i = r_(i-1) + 250 us, for launch k not before e_(k-Q)
 *   e_k = max(r_i + launch latency, e_(k-1) + gap) + d_k
 *   step = the last e or r, the later one
 *
 * These formulas have no thread, core, connection or poller; the simulation has all of them. */

#include "sim/training/framework.h"
#include "tests/case_points.h"

#define SLOT_S 250e-6

/* A launch untuned on one ESXi host without the slot, at 1.9 of 2.4 GHz:
 *   client  intercept 0.2, marshal 1.0, send 3.0 + SELinux 0.3 + firewall 1.0 +
 *           vNIC 0.5; receive 5.0 + 1.8, thread 4.0, reply 0.5:      17.3 us
 *   server  receive 6.8, thread 4.0, unmarshal 1.0, hand-off 64.3, driver 4.5,
 *           send 4.8:                                                85.4 us
 *   both x 24/19: 130 us; two wires of 2.0 + 2 x 1.25 + 0.2 us: 9 us;
 *   wake-up of virtual CPUs 14 + 14 us, and the client's C1E 10 us: the client idles for
 *   80 us and more, the server for about 60 us.
 * The sum is 177 us. A library call takes 4.2 x 24/19 us less. The dispatch of an operation,
 * 5 x 24/19 us, precedes two calls of three: 180 us for the average call. */
#define CALL_S 180e-6

struct by_hand {
	double call_s;
	size_t queue_depth;
};

static double max_of(double a, double b)
{
	return a > b ? a : b;
}

/* Step time by the recurrence above. */
static double step_by_hand(const struct scenario *scenario, struct by_hand given)
{
	struct arena *arena = arena_new();
	const struct job_entry *entry = &scenario->jobs[0];
	const struct gpu_params *gpu = &scenario->topology.gpus[entry->gpus[0]].params;
	const struct framework *framework = framework_at((size_t)entry->stack->framework);
	const struct call_thread *executor =
		&framework
			 ->program(arena,
				   &(struct step_spec){entry->network, (size_t)entry->batch_count,
						       entry->stack, gpu, entry->efficiency, NULL,
						       NULL})
			 ->threads[0];
	double *end_s = ARENA_ARRAY(arena, executor->count + 1, double);
	double return_s = 0, last_s = -1;
	size_t launches = 0;
	for (const struct item *item = executor->items; item < executor->items + executor->count;
	     item++) {
		if (item->kind != ITEM_CALL)
			continue;
		return_s += given.call_s;
		if (item->call.kind != CALL_LAUNCH)
			continue;
		if (launches >= given.queue_depth)
			return_s = max_of(return_s, end_s[launches - given.queue_depth]);
		last_s = max_of(return_s + gpu->launch_latency_s, last_s + gpu->kernel_gap_s) +
			 item->call.duration_s;
		end_s[launches++] = last_s;
	}
	arena_free(arena);
	return max_of(return_s, last_s);
}

static double hand(const char *batch, struct by_hand given)
{
	struct arena *arena = arena_new();
	const struct scenario *scenario =
		scenario_of(arena, &same_esxi, (const char *const[]){batch, NULL});
	double step_s = scenario ? step_by_hand(scenario, given) : NAN;
	arena_free(arena);
	return step_s;
}

static double calls_of(const char *batch)
{
	struct arena *arena = arena_new();
	struct point point = POINT(arena, same_esxi, batch);
	double calls = point.failed ? NAN : (double)point.outcome.jobs[0].steps[1].calls_count;
	arena_free(arena);
	return calls;
}

/* Batch 16 is limited by its calls: about 1927, each in its own slot, and the GPU finishes
 * immediately after the last one. Batch 32 is limited by the GPU, except at the start of the step,
 * when the GPU has little to do. There are 398 calls, which take 99.5 ms. They are the L2 losses of
 * 161 variables, 214 kernels (53 of the variables have more than 4096 elements: two kernels), their
 * sum of 21 + 2, and 161 products for weight decay. On a local GPU they take 12 us each (dispatch
 * and launch, 9.5 us at 2.4 GHz), together 4.8 ms. */
static void small_batch_loses_more_to_forwarded_calls(void)
{
	double local_16 = STEP_S(beside_gpu, BATCH_16), local_32 = STEP_S(beside_gpu, BATCH_32);
	double step_16 = STEP_S(same_esxi, BATCH_16), step_32 = STEP_S(same_esxi, BATCH_32);
	double calls = calls_of(BATCH_16);

	CHECK_NEAR(calls, calls_of(BATCH_32), 0);
	CHECK(step_16 - local_16 > step_32 - local_32 + 0.060);
	CHECK(step_16 > calls * SLOT_S);
	CHECK_NEAR(step_16, calls * SLOT_S, 0.05);
	CHECK(step_32 > 1.3 * calls * SLOT_S);
	CHECK_NEAR(step_32 - local_32, 398 * (SLOT_S - 12e-6), 0.05);
}

static void recurrence_of_calls_and_kernels_gives_both_step_times(void)
{
	static const struct by_hand slot = {SLOT_S, 1024};

	CHECK_NEAR(STEP_S(same_esxi, BATCH_16), hand(BATCH_16, slot), 0.01);
	CHECK_NEAR(STEP_S(same_esxi, BATCH_32), hand(BATCH_32, slot), 0.01);
}

static void without_coalescing_a_call_takes_the_sum_of_its_parts(void)
{
	static const struct by_hand parts = {CALL_S, 1024};

	CHECK_NEAR(STEP_S(same_esxi, BATCH_16, "guest.*.coalescing=false"), hand(BATCH_16, parts),
		   0.02);
	CHECK_NEAR(STEP_S(same_esxi, BATCH_32, "guest.*.coalescing=false"), hand(BATCH_32, parts),
		   0.02);
}

/* With a queue of one operation a launch returns when the previous kernel has ended. So a kernel
 * hides at most one call, with either batch, and both lose the same time in ms. The simulation is
 * up to 3 % longer, because at the end of a kernel the server's thread is woken. */
static void without_run_ahead_both_batches_lose_the_same_time(void)
{
	static const struct by_hand one = {SLOT_S, 1};
	static const char depth[] = "gpu.*.queue_depth=1";
	double local_16 = STEP_S(beside_gpu, BATCH_16), local_32 = STEP_S(beside_gpu, BATCH_32);
	double lost_16 = STEP_S(same_esxi, BATCH_16) - local_16;
	double lost_32 = STEP_S(same_esxi, BATCH_32) - local_32;
	double bounded_16 = STEP_S(same_esxi, BATCH_16, depth) - local_16;
	double bounded_32 = STEP_S(same_esxi, BATCH_32, depth) - local_32;

	CHECK_NEAR(bounded_16 + local_16, hand(BATCH_16, one), 0.03);
	CHECK_NEAR(bounded_32 + local_32, hand(BATCH_32, one), 0.03);
	CHECK(bounded_16 > 1.5 * lost_16);
	CHECK(lost_16 / lost_32 > 1.6);
	CHECK(bounded_16 / bounded_32 < 1.1);
}

/* A launch that waits for its answer never fills a queue of 1024. So a larger queue gives no gain,
 * and 64 are enough. */
static void larger_launch_queue_does_not_help_calls_that_wait(void)
{
	double step_16 = STEP_S(same_esxi, BATCH_16), step_32 = STEP_S(same_esxi, BATCH_32);

	CHECK_NEAR(STEP_S(same_esxi, BATCH_16, "gpu.*.queue_depth=1000000"), step_16, 1e-6);
	CHECK_NEAR(STEP_S(same_esxi, BATCH_32, "gpu.*.queue_depth=1000000"), step_32, 1e-6);
	CHECK_NEAR(STEP_S(same_esxi, BATCH_16, "gpu.*.queue_depth=64"), step_16, 1e-3);
	CHECK_NEAR(STEP_S(same_esxi, BATCH_32, "gpu.*.queue_depth=64"), step_32, 1e-3);
}

/* Calls that return when they are sent run ahead without a limit of the network. The remaining loss
 * does not depend on the batch. At the start of a step the server's core receives the outstanding
 * messages (1024, with 6.85 us of work each at 2.4 GHz) before its service thread continues with
 * the first. Also, the first and last calls of the step wait for a few slots. */
static void asynchronous_calls_avoid_most_of_the_loss(void)
{
	static const char runtime[] = "case.runtime=asynchronous";
	static const double bound_s = 1024 * 6.85e-6 * 24 / 19 + 6 * SLOT_S;
	double local_16 = STEP_S(beside_gpu, BATCH_16), local_32 = STEP_S(beside_gpu, BATCH_32);
	double lost_16 = STEP_S(same_esxi, BATCH_16, runtime) - local_16;
	double lost_32 = STEP_S(same_esxi, BATCH_32, runtime) - local_32;

	CHECK(lost_16 > 0 && lost_16 < bound_s);
	CHECK(lost_32 > 0 && lost_32 < bound_s);
	CHECK(fabs(lost_16 - lost_32) < 0.003);
	CHECK(lost_16 < 0.06 * (STEP_S(same_esxi, BATCH_16) - local_16));
}

/* Up to 20 us one way hide in the slot. Tuned hosts have no slot and no idle states, so each
 * microsecond one way costs two microseconds for each call. When calls are the bottleneck, the step
 * grows by 2 x calls x latency with any batch. */
static void latency_is_hidden_in_the_slot_or_paid_by_each_call(void)
{
	double calls = calls_of(BATCH_16);
	double near_s = STEP_S(same_esxi, TUNED, BATCH_16, "link.vswitch.latency=400 us");
	double far_s = STEP_S(same_esxi, TUNED, BATCH_16, "link.vswitch.latency=1 ms");

	CHECK_NEAR(STEP_S(same_esxi, BATCH_16, "link.vswitch.latency=20 us"),
		   STEP_S(same_esxi, BATCH_16, "link.vswitch.latency=1 us"), 2e-3);
	CHECK_NEAR(STEP_S(same_esxi, BATCH_32, "link.vswitch.latency=20 us"),
		   STEP_S(same_esxi, BATCH_32, "link.vswitch.latency=1 us"), 2e-3);
	CHECK_NEAR(far_s - near_s, calls * 2 * 0.6e-3, 0.01);
	CHECK_NEAR(STEP_S(same_esxi, TUNED, BATCH_32, "link.vswitch.latency=1 ms"), far_s, 0.005);
	/* With 100 us a call takes 300 us and the step 578 ms: batch 32 still waits for the GPU. */
	CHECK(STEP_S(same_esxi, TUNED, BATCH_32, "link.vswitch.latency=100 us") >
	      1.15 * STEP_S(same_esxi, TUNED, BATCH_16, "link.vswitch.latency=100 us"));
}

static const struct test tests[] = {
	TEST(small_batch_loses_more_to_forwarded_calls),
	TEST(recurrence_of_calls_and_kernels_gives_both_step_times),
	TEST(without_coalescing_a_call_takes_the_sum_of_its_parts),
	TEST(without_run_ahead_both_batches_lose_the_same_time),
	TEST(larger_launch_queue_does_not_help_calls_that_wait),
	TEST(asynchronous_calls_avoid_most_of_the_loss),
	TEST(latency_is_hidden_in_the_slot_or_paid_by_each_call),
};

int main(void)
{
	return TEST_MAIN(tests);
}
