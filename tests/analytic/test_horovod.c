/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Horovod's cycles, negotiation and fusion. All times in comments are ms, of the
 * step in tests/job_world.h. */
#include "tests/job_world.h"

/* Cycles every 5.5 from the start. Step 1: tensor 0 is ready at 14, sent from 16.5 to
 * 20.5; backward ends at 20, the update takes 1 behind it; tensor 1 waits until 22, is
 * there at 30. Step 2 begins at 30.5: ready at 44.5, sent from 49.5 to 53.5; tensor 1
 * ready at 50.5, sent from 55 to 63. */
static void horovod_waits_for_a_cycle(void)
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

/* The sleep of a cycle of 5.3 ends 0.2 late: the same cycles of 5.5. */
static void a_sleeping_thread_wakes_late(void)
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

/* Without a cache: a round trip of 0.5 and 0.1 for each of two ranks' requests;
 * then 0.3 to launch. Cycles begin at 14.7 (tensor 0: sent from 15.7 to 19.7), 19.6 and,
 * backward being over at 20, 24.5 (tensor 1: sent from 25.5 to 33.5). */
static void horovod_negotiates(void)
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

/* Cycles without requests exchange their messages, too: with a round trip of 6
 * they begin every 6, not every 5. Tensor 0: 18, sent from 24; tensor 1, ready at
 * 20: at 24, sent from 30 to 38. */
static void a_far_coordinator_sets_the_cycle(void)
{
	struct job_world b;
	setup(&b, "horovod");
	b.round_trip_s = 6 * MS;
	b.exchange.response_cache = false;
	run(&b);
	check_step(&b, 0, 38.5);
	release(&b);
}

/* In the first step tensors are unknown: 0.5 + 0.2 for the cache's bits, and the
 * above once more, 0.5 + 0.2; later only the first. */
static void horovod_remembers(void)
{
	struct job_world b;
	setup(&b, "horovod");
	b.exchange.overlap = false; /* both tensors at 20, one cycle */
	b.exchange.negotiation_s = 0.05 * MS;
	b.exchange.cached_negotiation_s = 0.1 * MS;
	b.round_trip_s = 0.5 * MS;
	b.exchange.cycle_s = 10.5 * MS; /* at 21 */
	run(&b);
	check_step(&b, 0, 21 + 0.7 + 0.7 + 12 + 1.5); /* 35.9 */
	/* ready at 55.9, cycle at 63, 0.7 */
	check_step(&b, 1, 63 + 0.7 + 12 + 1.5 - 35.9);
	release(&b);
}

/* 3 for each of two requests: the cycle that begins at 15 works until 21, so the
 * next one begins then, not at 20; tensor 1 goes from 27 to 35. */
static void a_long_cycle_delays_the_next(void)
{
	struct job_world b;
	setup(&b, "horovod");
	b.exchange.response_cache = false;
	b.exchange.negotiation_s = 3 * MS;
	run(&b);
	check_step(&b, 0, 35.5);
	release(&b);
}

/* So does launching: from 15 to 21.5, when the next cycle begins; tensor 1 is
 * launched by 28 and there at 36. */
static void launching_delays_the_next_cycle(void)
{
	struct job_world b;
	setup(&b, "horovod");
	b.exchange.launch_s = 6.5 * MS;
	run(&b);
	check_step(&b, 0, 36.5);
	release(&b);
}

/* Both tensors in one cycle: one collective, or two if the buffer is too small. */
static void horovod_fuses(void)
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

int main(void)
{
	static const struct test tests[] = {
		TEST(horovod_waits_for_a_cycle),        TEST(horovod_negotiates),
		TEST(a_far_coordinator_sets_the_cycle), TEST(horovod_remembers),
		TEST(a_long_cycle_delays_the_next),     TEST(horovod_fuses),
		TEST(launching_delays_the_next_cycle),  TEST(a_sleeping_thread_wakes_late),
	};
	num_init();
	return TEST_MAIN(tests);
}
