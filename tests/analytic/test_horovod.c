/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Horovod's cycles, negotiation and fusion. All times in comments are in ms and refer to the step
 * in tests/job_world.h. */
#include "tests/job_world.h"

/* Cycles begin every 5.5. Step 1: tensor 0 is ready at 14 and sent from 16.5 to 20.5. Backward ends
 * at 20, and the update of tensor 0 takes 1 after it. Tensor 1 waits until 22 and arrives at 30.
 * Step 2 begins at 30.5: tensor 0 is ready at 44.5 and sent from 49.5 to 53.5. Tensor 1 is ready at
 * 50.5 and sent from 55 to 63. */
static void tensors_wait_for_the_next_horovod_cycle(void)
{
	struct job_world b;
	setup(&b, "horovod");
	b.exchange.cycle_s = 5.5 * MS;
	run(&b);
	check_step(&b, 0, 30.5);
	check_step(&b, 1, 33);
	CHECK_NEAR(step_of(&b, 0)->exposed_s, 9 * MS, 1e-9);
	release(&b);
}

/* The waits for cycles in the first two steps of the last test: 16.5 - 14, 22 - 20, 49.5 - 44.5 and
 * 55 - 50.5. If both tensors are handed over at the end of backward, they wait together: 22 - 20,
 * and 60.5 - 55.5 for the second step, which begins at 22 + 12 + 1.5. */
static void waits_for_cycles_are_counted_from_the_first_tensor_on(void)
{
	for (int held = 0; held < 2; held++) {
		struct job_world b;
		setup(&b, "horovod");
		b.exchange.cycle_s = 5.5 * MS;
		b.exchange.overlap = !held;
		b.step_count = 2;
		run(&b);
		double waits_ms = held ? 2 + 5 : 2.5 + 2 + 5 + 4.5;
		CHECK_NEAR(s_from_ps(engine_wait_ps(b.engine, WAIT_CYCLE)), waits_ms * MS, 1e-9);
		release(&b);
	}
}

/* The sleep of a cycle of 5.3 ends 0.2 late, so cycles begin every 5.5. */
static void late_wake_up_lengthens_a_horovod_cycle(void)
{
	struct job_world b;
	setup(&b, "horovod");
	b.exchange.cycle_s = 5.3 * MS;
	b.exchange.cycle_late_s = 0.2 * MS;
	run(&b);
	check_step(&b, 0, 30.5);
	check_step(&b, 1, 33);
	release(&b);
}

/* Without a cache a cycle takes a round trip of 0.5, 0.1 for the request of each of two ranks, and
 * 0.3 to launch. Cycles begin at 14.7 and send tensor 0 from 15.7 to 19.7, at 19.6 (nothing is
 * ready before 20), and at 24.5, when tensor 1 is sent from 25.5 to 33.5. */
static void negotiation_delays_each_horovod_cycle(void)
{
	struct job_world b;
	setup(&b, "horovod");
	b.exchange.response_cache = false;
	b.exchange.negotiation_s = 0.1 * MS;
	b.exchange.launch_s = 0.3 * MS;
	b.round_trip_s = 0.5 * MS;
	b.exchange.cycle_s = 4.9 * MS;
	run(&b);
	check_step(&b, 0, 24.5 + 1 + 8 + 0.5);
	release(&b);
}

/* The coordinator reads the requests of all ranks: of one, and of another one that stands for
 * three. So the cycle with both tensors takes 8 x 0.1. */
static void ranks_that_stand_for_others_send_their_requests(void)
{
	struct job_world b;
	setup(&b, "horovod");
	b.exchange.response_cache = false;
	b.exchange.overlap = false;
	b.exchange.negotiation_s = 0.1 * MS;
	b.exchange.cycle_s = 10.5 * MS; /* the cycle begins at 21 */
	b.copies = 1;
	b.first_more = 2;
	run(&b);
	check_step(&b, 0, 21 + 0.8 + 12 + 1.5);
	release(&b);
}

/* Cycles without requests exchange their messages, too. With a round trip of 6 they begin every 6
 * instead of every 5. Tensor 0 is found at 18 and sent from 24. Tensor 1 is ready at 20, found at
 * 24 and sent from 30 to 38. */
static void cycle_is_not_shorter_than_the_round_trip(void)
{
	struct job_world b;
	setup(&b, "horovod");
	b.round_trip_s = 6 * MS;
	b.exchange.response_cache = false;
	run(&b);
	check_step(&b, 0, 38.5);
	release(&b);
}

/* In the first step tensors are not in the cache: 0.25 + 0.1 for the exchange of the cache's bits
 * between two ranks, and 0.5 + 0.2 for the requests. Later steps need only the first part. */
static void horovod_cache_saves_the_second_negotiation(void)
{
	struct job_world b;
	setup(&b, "horovod");
	b.exchange.overlap = false; /* both tensors are ready at 20 and go in one cycle */
	b.exchange.negotiation_s = 0.05 * MS;
	b.exchange.cached_negotiation_s = 0.1 * MS;
	b.round_trip_s = 0.5 * MS;
	b.exchange.cycle_s = 10.5 * MS; /* the cycle begins at 21 */
	run(&b);
	check_step(&b, 0, 21 + 0.35 + 0.7 + 12 + 1.5); /* 35.55 */
	/* ready at 55.55, the cycle begins at 63 and takes 0.35 */
	check_step(&b, 1, 63 + 0.35 + 12 + 1.5 - 35.55);
	release(&b);
}

/* Five ranks exchange the bits of the cache in three rounds: 2 for 2, 4 for 4, 5 need a third. A
 * round takes half of the round trip of 0.5 and 0.1. The ring of five ranks takes 2 x 4 / 5 x 12
 * in place of 12. */
static void cached_negotiation_grows_with_the_logarithm_of_the_ranks(void)
{
	struct job_world b;
	setup(&b, "horovod");
	b.rank_count = 5;
	b.exchange.overlap = false;
	b.exchange.cached_negotiation_s = 0.1 * MS;
	b.round_trip_s = 0.5 * MS;
	b.exchange.cycle_s = 21 * MS;
	run(&b);
	/* The first step ends at 21 + 1.05 + 0.5 + 19.2 + 1.5 = 43.25. The next gradients are ready
	 * at 63.25, and cycles begin at 42, 63 and 84. */
	check_step(&b, 1, 84 + 1.05 + 19.2 + 1.5 - 43.25);
	release(&b);
}

/* Each of two requests takes 3. The cycle that begins at 15 works until 21, so the next one begins
 * then and not at 20. Tensor 1 is sent from 27 to 35. */
static void long_negotiation_delays_the_next_cycle(void)
{
	struct job_world b;
	setup(&b, "horovod");
	b.exchange.response_cache = false;
	b.exchange.negotiation_s = 3 * MS;
	run(&b);
	check_step(&b, 0, 35.5);
	release(&b);
}

/* Launching takes from 15 to 21.5, when the next cycle begins. Tensor 1 is launched until 28 and
 * arrives at 36. */
static void launching_delays_the_next_cycle(void)
{
	struct job_world b;
	setup(&b, "horovod");
	b.exchange.launch_s = 6.5 * MS;
	run(&b);
	check_step(&b, 0, 36.5);
	release(&b);
}

/* Both tensors are ready in the same cycle. They go in one collective, or in two if the buffer is
 * too small. */
static void tensors_of_one_cycle_are_fused_up_to_the_buffer_size(void)
{
	for (int small = 0; small < 2; small++) {
		struct job_world b;
		setup(&b, "horovod");
		b.exchange.cycle_s = 22 * MS;
		b.exchange.fusion_B = small ? 11.9e6 : 12e6;
		run(&b);
		CHECK(communicator_counters(b.comm[0])->collectives_count ==
		      (small ? 2 * STEPS : STEPS));
		check_step(&b, 0, 22 + 12 + (small ? 0.5 : 1.5));
		release(&b);
	}
}

/* Without a cycle and without a round trip, gradients are answered at once: the ring of tensor 0
 * ends at 18, and that of tensor 1 goes from 20 to 28. */
static void requests_without_a_cycle_are_answered_at_once(void)
{
	struct job_world b;
	setup(&b, "horovod");
	b.exchange.cycle_s = 0;
	run(&b);
	for (size_t i = 0; i < STEPS; i++)
		check_step(&b, i, 28.5);
	release(&b);
}

int main(void)
{
	static const struct test tests[] = {
		TEST(requests_without_a_cycle_are_answered_at_once),
		TEST(tensors_wait_for_the_next_horovod_cycle),
		TEST(waits_for_cycles_are_counted_from_the_first_tensor_on),
		TEST(ranks_that_stand_for_others_send_their_requests),
		TEST(negotiation_delays_each_horovod_cycle),
		TEST(cycle_is_not_shorter_than_the_round_trip),
		TEST(horovod_cache_saves_the_second_negotiation),
		TEST(cached_negotiation_grows_with_the_logarithm_of_the_ranks),
		TEST(long_negotiation_delays_the_next_cycle),
		TEST(tensors_of_one_cycle_are_fused_up_to_the_buffer_size),
		TEST(launching_delays_the_next_cycle),
		TEST(late_wake_up_lengthens_a_horovod_cycle),
	};
	num_init();
	return TEST_MAIN(tests);
}
