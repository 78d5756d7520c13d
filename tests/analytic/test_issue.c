/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The host of a job: it issues operations, announces gradients and issues updates. All times in
 * comments are in ms and refer to the step in tests/job_world.h with the host work below. Runs from
 * the root. */
#include "sim/base/diag.h"
#include "sim/cfg/cfg.h"
#include "tests/job_world.h"

/* The host takes 1 before the step, 2 to issue forward, and 1 and 1 for backward. The last kernel
 * of forward takes 0.5. Each part of backward is one kernel. */
static struct step_segment issued_segments[] = {
	{.name = "forward", .compute_s = 10 * MS, .host_s = 2 * MS, .last_s = 0.5 * MS},
	{.name = "b", .compute_s = 4 * MS, .host_s = 1 * MS, .last_s = 4 * MS, .tensor_count = 1},
	{.name = "a",
	 .compute_s = 6 * MS,
	 .host_s = 1 * MS,
	 .last_s = 6 * MS,
	 .tensor_first = 1,
	 .tensor_count = 1},
};

static struct step_profile with_host(double forward_host_s)
{
	struct step_profile profile = hand_made;
	issued_segments[0].host_s = forward_host_s;
	profile.segments = issued_segments;
	profile.begin_host_s = 1 * MS;
	return profile;
}

/* ---- one GPU ---- */

/* The GPU begins at 1, when the host begins to issue forward. The host has issued everything at 5.
 */
static void fast_host_adds_only_the_first_launch(void)
{
	struct step_profile profile = with_host(2 * MS);
	struct job_world b;
	setup(&b, "horovod");
	b.rank_count = 1;
	b.profile = &profile;
	run(&b);
	for (size_t i = 0; i < STEPS; i++) {
		check_step(&b, i, 1 + 21.5);
		CHECK_NEAR(step_of(&b, i)->other_s, 1 * MS, 1e-9);
	}
	release(&b);
}

/* The host has issued forward at 21. The GPU has waited for its last kernel since 10.5, and this
 * kernel ends at 21.5. The next kernel is issued at 22. */
static void slow_host_delays_the_gpu(void)
{
	struct step_profile profile = with_host(20 * MS);
	struct job_world b;
	setup(&b, "horovod");
	b.rank_count = 1;
	b.profile = &profile;
	run(&b);
	check_step(&b, 1, 22 + 10 + 1.5);
	CHECK_NEAR(step_of(&b, 1)->other_s, 12 * MS, 1e-9);
	release(&b);
}

/* A virtual machine takes 1.5 times as long: 1 becomes 1.5, and 20 becomes 30. Forward is issued at
 * 31.5, the next kernel at 33. */
static void virtual_machine_slows_issuing(void)
{
	struct step_profile profile = with_host(20 * MS);
	struct job_world b;
	setup(&b, "horovod");
	b.rank_count = 1;
	b.profile = &profile;
	b.guest_params.kind = GUEST_VM;
	b.guest_params.work_cost_ratio = 0.5;
	run(&b);
	check_step(&b, 1, 33 + 10 + 1.5);
	release(&b);
}

/* A host that does not wait issues the next step while the GPU runs this one. A host that is slower
 * than the GPU sets the step time: 1 + 30 + 1 + 1. */
static void host_issues_the_next_step_during_this_one(void)
{
	struct step_profile profile = with_host(2 * MS);
	struct job_world b;
	setup(&b, "ddp");
	profile.ahead = true;
	b.rank_count = 1;
	b.profile = &profile;
	run(&b);
	check_step(&b, 0, 22.5);
	check_step(&b, 1, 21.5);
	release(&b);
	profile = with_host(30 * MS);
	profile.ahead = true;
	setup(&b, "ddp");
	b.rank_count = 1;
	b.profile = &profile;
	run(&b);
	check_step(&b, 1, 33);
	release(&b);
	/* unless it waits for the reduced gradients of this step */
	profile = with_host(2 * MS);
	profile.ahead = true;
	setup(&b, "ddp");
	b.exchange.host_waits = true;
	b.rank_count = 1;
	b.profile = &profile;
	run(&b);
	check_step(&b, 0, 22.5);
	check_step(&b, 1, 22.5);
	release(&b);
}

/* Two threads on one core run at half speed and lose 4 % for switching. Each has 24 of work to
 * issue, which takes 2 x 24 x 1.04. The first segment of the first thread and the last segment of
 * the second had the core for themselves, so their time is subtracted. */
static void threads_on_one_core_share_its_time(void)
{
	enum { PIECES = 23 };
	struct step_segment pieces[PIECES];
	struct step_profile profile = hand_made;
	for (int i = 0; i < PIECES; i++)
		pieces[i] = (struct step_segment){.name = "piece",
						  .compute_s = 0.02 * MS,
						  .last_s = 0.02 * MS,
						  .host_s = 1 * MS};
	pieces[PIECES - 1].tensor_count = 2;
	profile.segments = pieces;
	profile.segment_count = PIECES;
	profile.begin_host_s = 1 * MS;
	for (int cores = 1; cores <= 2; cores++) {
		struct job_world b;
		setup(&b, "after_backward");
		b.host_params.cores_count = cores;
		b.profile = &profile;
		run(&b);
		double issuing_ms = step_ms(&b, 1) - 0.02 - 12 - 1.5;
		if (cores == 2)
			CHECK_NEAR(issuing_ms, 24, 1e-9);
		else
			CHECK(issuing_ms > 47 && issuing_ms <= 48 * 1.04);
		release(&b);
	}
}

/* ---- gradients that are announced when issued ---- */

static void setup_horovod(struct job_world *b, struct step_profile *profile)
{
	*profile = with_host(2 * MS);
	profile->begin_host_s = 0;
	setup(b, "horovod");
	b->profile = profile;
	b->exchange.announce = ANNOUNCE_ISSUED;
}

/* Both gradients are issued at 4 and negotiated at 5. They go in one buffer, which waits for the
 * second gradient at 20 and is sent until 32. If gradients are announced when they are computed,
 * they go separately: ready at 14 and 20, sent from 15 and 20. In two buffers the first is sent
 * from 14 to 18, although the thread waits for the second. */
static void fusion_buffer_waits_for_all_its_gradients(void)
{
	for (int small = 0; small < 2; small++) {
		struct step_profile profile;
		struct job_world b;
		setup_horovod(&b, &profile);
		b.exchange.fusion_B = small ? 11.9e6 : 12e6;
		run(&b);
		CHECK(communicator_counters(b.comm[0])->collectives_count ==
		      (small ? 2 * STEPS : STEPS));
		check_step(&b, 0, small ? 28.5 : 20 + 12 + 1.5);
		release(&b);
	}
}

/* A cycle at 3.5 finds tensor 0, which was issued at 3. It is negotiated at 4.5, and the thread
 * waits for it until 14. The next cycle begins then and finds tensor 1, which was issued at 4:
 * negotiated at 15, sent from 20 to 28. Polling each 0.1 adds one sleep. Polling each 0.7 sees
 * tensor 0 after 14 sleeps and launches it after another one, at 15. Tensor 1 is negotiated at 16,
 * seen after 6 sleeps and sent from 20.9. */
static void thread_that_waits_for_a_gradient_misses_cycles(void)
{
	static const double lates[] = {0, 0.1, 0.7}, ends[] = {28.5, 28.6, 20.9 + 8 + 0.5};
	for (int i = 0; i < 3; i++) {
		struct step_profile profile;
		struct job_world b;
		setup_horovod(&b, &profile);
		b.step_count = 1;
		b.exchange.cycle_s = (3.5 - lates[i]) * MS;
		b.exchange.cycle_late_s = lates[i] * MS;
		b.round_trip_s = 1 * MS;
		b.exchange.response_cache = false;
		run(&b);
		check_step(&b, 0, ends[i]);
		CHECK(communicator_counters(b.comm[0])->collectives_count == 2);
		release(&b);
	}
}

/* One rank computes until 30. The other one waits for it from 20 on. Both have tensor 0 at 21, but
 * it waits, too, and goes with tensor 1. */
static void fusion_buffer_waits_for_the_slowest_rank(void)
{
	struct step_profile profile;
	struct job_world b;
	setup_horovod(&b, &profile);
	b.slowdown_ratio = 1.5;
	run(&b);
	check_step(&b, 0, 30 + 12 + 1.5 * 1.5);
	CHECK_NEAR(step_of(&b, 0)->straggler_s, 10.0 / 2 * MS, 1e-9);
	CHECK_NEAR(step_of(&b, 0)->exposed_s, 12 * MS, 1e-9);
	release(&b);
}

/* The host launches two copies into the buffer before the collective and two copies out of it after
 * the collective: 0.1 for each copy, 0.3 for the collective. */
static void each_copy_of_a_fusion_buffer_is_launched(void)
{
	struct step_profile profile;
	struct job_world b;
	setup_horovod(&b, &profile);
	b.exchange.copy_launch_s = 0.1 * MS;
	b.exchange.launch_s = 0.3 * MS;
	run(&b);
	check_step(&b, 0, 20 + 0.2 + 0.3 + 12 + 1.5);
	release(&b);
}

/* Four gradients of 3 MB are ready at 20, two in each of two buffers of 6 MB. Copies take 0.15: in
 * until 20.15, sent until 26.15, out until 26.3. The second buffer uses the same stream and memory,
 * so it follows: 26.45, 32.45, 32.6. */
static void fusion_buffers_of_one_stream_run_in_order(void)
{
	static const struct step_segment one[] = {
		{.name = "a", .compute_s = 20 * MS, .tensor_count = 4}};
	static const struct gradient quarters[] = {
		{.name = "a", .elements_count = 0.75e6},
		{.name = "b", .elements_count = 0.75e6},
		{.name = "c", .elements_count = 0.75e6},
		{.name = "d", .elements_count = 0.75e6},
	};
	struct step_profile profile = hand_made;
	struct job_world b;
	profile.segments = one;
	profile.segment_count = 1;
	profile.tensors = quarters;
	profile.tensor_count = 4;
	setup(&b, "horovod");
	b.profile = &profile;
	b.exchange.cycle_s = 20.5 * MS;
	b.exchange.fusion_B = 6e6;
	b.exchange.fusion_copy_ratio = 2;
	run(&b);
	check_step(&b, 0, 20.5 + 2 * (0.15 + 6 + 0.15));
	release(&b);
}

/* A collective that is launched when its gradient is issued does not add launch time: it runs from
 * 20 to 28, as if launching cost nothing. */
static void launching_at_issue_time_is_hidden(void)
{
	for (int issued = 0; issued < 2; issued++) {
		struct step_profile profile = with_host(2 * MS);
		struct job_world b;
		setup(&b, "per_tensor");
		profile.begin_host_s = 0;
		b.profile = &profile;
		b.exchange.launch_s = 0.25 * MS;
		b.exchange.announce = issued ? ANNOUNCE_ISSUED : ANNOUNCE_COMPUTED;
		run(&b);
		check_step(&b, 0, 28.5 + (issued ? 0 : 0.25));
		release(&b);
	}
}

/* ---- ranks of one process ---- */

/* The host issues forward in 1 and each gradient in 0.5. */
static struct step_profile quick_host(void)
{
	static struct step_segment quick[3];
	struct step_profile profile = hand_made;
	for (size_t i = 0; i < 3; i++) {
		quick[i] = issued_segments[i];
		quick[i].host_s = i ? 0.5 * MS : 1 * MS;
	}
	profile.segments = quick;
	profile.ops_count = 10;
	return profile;
}

/* Rank 1 begins to issue later by the stagger. A collective that waits only for its gradient is
 * late by this time. A collective that waits for all issued work starts when rank 1 reaches tensor
 * 0, at 1.5 plus the stagger. At 1.9 rank 0 has issued nothing more. At 2.1 it has issued the rest
 * of backward (at 2), so tensor 0 is sent from 20, and tensor 1 follows. */
static void collectives_wait_for_kernels_issued_before_them(void)
{
	static const struct {
		double stagger_ms;
		bool waits;
		double ms;
	} rows[] = {{0, true, 28.5},
		    {0.6, false, 28.5 + 0.6},
		    {0.4, true, 28.5 + 0.4},
		    {0.6, true, 20 + 12 + 0.5}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct step_profile profile = quick_host();
		struct job_world b;
		setup(&b, "per_tensor");
		b.profile = &profile;
		b.exchange.announce = ANNOUNCE_ISSUED;
		b.exchange.waits_for_issued = rows[i].waits;
		b.exchange.stagger_s = rows[i].stagger_ms / 10 * MS;
		run(&b);
		check_step(&b, 1, rows[i].ms);
		release(&b);
	}
}

/* Rank 0 computes slowly but issues on time: at 1.5 both ranks have issued tensor 0 and nothing
 * more. Rank 0 has computed it at 21, and it is sent until 25. Tensor 1 is sent from 30. */
static void slow_gpu_does_not_delay_the_launch_of_collectives(void)
{
	for (int waits = 0; waits < 2; waits++) {
		struct step_profile profile = quick_host();
		struct job_world b;
		setup(&b, "per_tensor");
		b.profile = &profile;
		b.slowdown_ratio = 1.5;
		b.exchange.announce = ANNOUNCE_ISSUED;
		b.exchange.waits_for_issued = waits;
		run(&b);
		check_step(&b, 0, 30 + 8 + 1.5 * 0.5);
		release(&b);
	}
}

/* One thread starts three ranks, so the last one begins 1.2 late. A ring of three ranks takes 4/3
 * as long. Tensor 1 is sent from 21.2. */
static void one_thread_starts_the_ranks_one_after_the_other(void)
{
	struct step_profile profile = quick_host();
	struct job_world b;
	setup(&b, "per_tensor");
	b.rank_count = 3;
	b.profile = &profile;
	b.exchange.stagger_s = 0.06 * MS;
	run(&b);
	for (size_t i = 0; i < STEPS; i++)
		check_step(&b, i, 20 + 2 * 0.6 + 8 * 4 / 3.0 + 0.5);
	release(&b);
}

/* One thread takes 100 to start the second rank, longer than a step of 28.5. A rank that issues
 * ahead asks for its next start when it has issued 2 of host work. While it waits, the step before
 * ends, but the rank is not started twice: each step takes 102. The update of tensor 0 then runs
 * beside backward and delays it by 1. */
static void a_rank_that_waits_for_its_start_is_not_started_again(void)
{
	for (int ahead = 0; ahead < 2; ahead++) {
		struct step_profile profile = quick_host();
		struct job_world b;
		setup(&b, "per_tensor");
		profile.ahead = ahead;
		b.step_count = 6;
		b.profile = &profile;
		b.exchange.stagger_s = 10 * MS;
		run(&b);
		check_step(&b, 0, 100 + 28.5 + ahead);
		for (size_t i = 1; i < 6; i++)
			check_step(&b, i, ahead ? 102 : 100 + 28.5);
		release(&b);
	}
}

/* A session takes 2 to prepare. Then it delivers the batch and issues: 1 before the first kernel.
 * The copy of the next batch is hidden. */
static void lockstep_step_is_issued_after_its_session_is_prepared(void)
{
	struct step_profile profile = with_host(2 * MS);
	struct job_world b;
	setup(&b, "horovod");
	b.rank_count = 1;
	b.profile = &profile;
	b.host_params.clock_Hz = 2.4e9;
	b.host_params.turbo = false;
	b.host_params.power_policy = POWER_MAX_PERFORMANCE;
	b.host_params.c6_exit_s = b.host_params.c1e_exit_s = 0;
	b.input_B = 2e6;
	b.input.lockstep = true;
	b.input.session_s = 2 * MS / profile.images_count;
	run(&b);
	check_step(&b, 2, 2 + 1 + 21.5);
	CHECK_NEAR(step_of(&b, 2)->input_s, 2 * MS, 1e-9);
	CHECK_NEAR(step_of(&b, 2)->other_s, 1 * MS, 1e-9);
	release(&b);
}

/* ---- updates ---- */

/* The collective ends at 32, the callback ends at 32.3, and the host has issued both updates at
 * 32.7. With PyTorch's DDP only the GPU orders updates behind collectives: the step ends at 33.5.
 */
static void updates_are_issued_after_the_callback(void)
{
	static const struct gradient slow_tensors[] = {
		{.name = "b", .elements_count = 1e6, .update_s = 1 * MS, .update_host_s = 0.2 * MS},
		{.name = "a",
		 .elements_count = 2e6,
		 .update_s = 0.5 * MS,
		 .update_host_s = 0.2 * MS},
	};
	for (int ddp = 0; ddp < 2; ddp++) {
		struct step_profile profile = with_host(2 * MS);
		struct job_world b;
		setup(&b, ddp ? "ddp" : "after_backward");
		profile.begin_host_s = 0;
		profile.tensors = slow_tensors;
		b.profile = &profile;
		b.exchange.first_bucket_B = 12e6;
		b.exchange.callback_s = 0.3 * MS;
		run(&b);
		check_step(&b, 1, 20 + 12 + (ddp ? 0 : 0.3 + 0.4) + 1.5);
		release(&b);
	}
}

/* A server adds 10 kB in 10 and, at the same time, 1 kB in 1. The second gradient arrives at 21 and
 * is updated in 0.5 while the server adds the first. The first takes until 30 and is updated in 1.
 * Pushes and answers, at 2 GB/s, take 5 us each. If the server added one after the other, the
 * second would arrive at 31 and be updated after the first. */
static void each_gradient_is_updated_when_its_sum_ends(void)
{
	static const struct step_segment one[] = {
		{.name = "a", .compute_s = 20 * MS, .tensor_count = 2}};
	static const struct gradient unlike[] = {
		{.name = "a", .elements_count = 2500, .update_s = 1 * MS},
		{.name = "b", .elements_count = 250, .update_s = 0.5 * MS},
	};
	struct step_profile profile = hand_made;
	profile.segments = one;
	profile.segment_count = 1;
	profile.tensors = unlike;
	for (int at_once = 1; at_once <= 2; at_once++) {
		struct job_world b;
		setup(&b, "per_tensor");
		b.profile = &profile;
		b.server_count = 1;
		b.library.algorithm = "parameter_server";
		b.library.cpu_reduce_Bps = 1e6;
		b.library.cpu_reduce_threads_count = 1;
		b.library.at_once_count = at_once;
		run(&b);
		for (size_t i = 0; i < STEPS; i++) {
			CHECK_NEAR(step_ms(&b, i), at_once == 1 ? 31.5 : 31, 1e-3);
			CHECK_NEAR(step_of(&b, i)->kernel_s, 21.5 * MS, 1e-9);
		}
		release(&b);
	}
}

int main(void)
{
	static const struct test tests[] = {
		TEST(fast_host_adds_only_the_first_launch),
		TEST(slow_host_delays_the_gpu),
		TEST(virtual_machine_slows_issuing),
		TEST(host_issues_the_next_step_during_this_one),
		TEST(threads_on_one_core_share_its_time),
		TEST(fusion_buffer_waits_for_all_its_gradients),
		TEST(thread_that_waits_for_a_gradient_misses_cycles),
		TEST(fusion_buffer_waits_for_the_slowest_rank),
		TEST(each_copy_of_a_fusion_buffer_is_launched),
		TEST(fusion_buffers_of_one_stream_run_in_order),
		TEST(launching_at_issue_time_is_hidden),
		TEST(collectives_wait_for_kernels_issued_before_them),
		TEST(slow_gpu_does_not_delay_the_launch_of_collectives),
		TEST(one_thread_starts_the_ranks_one_after_the_other),
		TEST(a_rank_that_waits_for_its_start_is_not_started_again),
		TEST(lockstep_step_is_issued_after_its_session_is_prepared),
		TEST(updates_are_issued_after_the_callback),
		TEST(each_gradient_is_updated_when_its_sum_ends),
	};
	num_init();
	return TEST_MAIN(tests);
}
