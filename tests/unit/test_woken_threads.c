/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads that wake each other on one core. */
#include "tests/net.h"

static struct cpu *core_of(struct net *net)
{
	const struct cpu_spec plain = {.clock_Hz = REFERENCE_CLOCK_HZ};
	return cpu_new(net->arena, net->engine, net->fabric, "host", "core", &plain);
}

struct goes_on {
	struct net *net;
	struct cpu *core;
	double slice_s;
};

/* Ends a call of a thread that then wakes two readers, and begins further calls until the third. */
static void call_ends(void *ctx, uint64_t arg)
{
	struct goes_on *thread = ctx;
	struct cpu *core = thread->core;
	net_delivered(thread->net, arg);
	if (arg < 2)
		cpu_serve(core, 2e-6, NULL, call_ends, thread, arg + 1);
	for (uint64_t i = 3; arg == 0 && i < 5; i++)
		cpu_serve_woken(core, thread->slice_s, 1e-6, NULL, net_delivered, thread->net, i);
}

/* A thread makes three calls of 2 us, and the first wakes two readers of 1 us. They run when the
 * thread has ended, at 6 us. If its slice ends after 1 us, the call that runs then ends at 4 us,
 * and its last call comes after both readers. A reader that finds the core idle starts at once. */
static void woken_thread_waits_until_the_running_one_waits(void)
{
	static const double ends_us[2][5] = {{2, 4, 6, 7, 8}, {2, 4, 8, 5, 6}};
	for (int cut = 0; cut < 2; cut++) {
		struct net *net = net_new();
		struct goes_on thread = {net, core_of(net), cut ? 1e-6 : 1};
		cpu_serve(thread.core, 2e-6, NULL, call_ends, &thread, 0);
		net_run(net);
		for (int i = 0; i < 5; i++)
			CHECK_NEAR(net->delivered_s[i], ends_us[cut][i] * 1e-6, 1e-9);
		double idle_s = net_now_s(net);
		cpu_serve_woken(thread.core, 1, 1e-6, NULL, net_delivered, net, 5);
		net_run(net);
		CHECK_NEAR(net->delivered_s[5] - idle_s, 1e-6, 1e-9);
		net_free(net);
	}
}

/* Runs calls of 2 us until one ends at 30 us or later. Those that end at 2 and 12 us wake a reader
 * with a slice of 15 us. The thread waits after its second call, until 10 us. */
static void calls_with_a_pause(void *ctx, uint64_t arg)
{
	struct goes_on *thread = ctx;
	struct cpu *core = thread->core;
	int64_t now_us = engine_now_ps(thread->net->engine) / 1000000;
	if (now_us == 4)
		engine_at(thread->net->engine, 10000000, calls_with_a_pause, thread, 0);
	else if (now_us < 30)
		cpu_serve(core, 2e-6, NULL, calls_with_a_pause, thread, 0);
	if (now_us == 2 || now_us == 12)
		cpu_serve_woken(core, 15e-6, 1e-6, NULL, net_delivered, thread->net,
				(uint64_t)now_us);
}

/* The first reader runs when the thread waits, from 4 to 5 us, so its slice, which would end at 17
 * us, is void. The slice of the second reader ends at 27 us. The call that runs then ends at 28 us,
 * and the reader at 29 us. */
static void slice_of_a_reader_that_has_run_is_void(void)
{
	struct net *net = net_new();
	struct goes_on thread = {net, core_of(net), 0};
	cpu_serve(thread.core, 2e-6, NULL, calls_with_a_pause, &thread, 0);
	net_run(net);
	CHECK_NEAR(net->delivered_s[2], 5e-6, 1e-9);
	CHECK_NEAR(net->delivered_s[12], 29e-6, 1e-9);
	net_free(net);
}

int main(void)
{
	static const struct test tests[] = {
		TEST(woken_thread_waits_until_the_running_one_waits),
		TEST(slice_of_a_reader_that_has_run_is_void),
	};
	return TEST_MAIN(tests);
}
