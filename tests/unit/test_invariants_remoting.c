/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Violates the invariants of forwarded calls on purpose: a call that is lost or executed out of
 * order, and a copy that loses bytes. */
#include "sim/base/num.h"
#include "sim/remoting/parts.h"
#include "tests/remoting_world.h"

/* Calls issued at 0, 1.35 ... us are executed from 11.35 us on; a copy of ten chunks takes 89.5 us.
 * The error is planted at 30 us. */
static const double PLANTED_AT_S = 30e-6;

static void skip_a_call(void *ctx, uint64_t arg)
{
	struct remote_world *w = ctx;
	w->remote->channels[0].executed_serial--;
}

static void lose_a_byte(void *ctx, uint64_t arg)
{
	struct remote_world *w = ctx;
	w->remote->timed_first->come_B--;
}

static void check_broken(enum call_kind kind, size_t count, event_fn *plant, const char *what)
{
	struct remote_world w;
	remote_world_presets(&w, "asynchronous");
	remote_world_build(&w);
	for (size_t i = 0; i < count; i++)
		script_add(&w.scripts[0], 0, kind)->payload_B = 10000;
	if (plant)
		engine_at(w.world.engine, ps_from_s(PLANTED_AT_S), plant, &w, 0);
	remote_connect(w.remote, remote_world_begin, &w, 0);
	engine_run(w.world.engine);
	const char *broken = engine_failure(w.world.engine);
	if (plant)
		CHECK_PART(broken ? broken : "", what);
	else
		CHECK(broken == NULL);
	remote_world_release(&w);
}

static void a_call_executed_out_of_order_fails_the_run(void)
{
	check_broken(CALL_LAUNCH, 20, NULL, "");
	check_broken(CALL_LAUNCH, 20, skip_a_call, "is executed after call");
}

static void a_copy_that_loses_bytes_fails_the_run(void)
{
	check_broken(CALL_MEMCPY_H2D, 1, NULL, "");
	check_broken(CALL_MEMCPY_H2D, 1, lose_a_byte, "a copy of 10000 bytes delivered 9999 bytes");
	check_broken(CALL_MEMCPY_D2H, 1, NULL, "");
	check_broken(CALL_MEMCPY_D2H, 1, lose_a_byte, "a copy of 10000 bytes delivered 9999 bytes");
}

/* Both connections fail at fails_at_s. The failure is reported once. Afterwards no message is sent,
 * no call returns, and the program is not connected again. */
static void check_failure(const char *policy, bool pipelined, double fails_at_s)
{
	struct remote_world w;
	remote_world_presets(&w, policy);
	w.runtime.connections_count = w.runtime.outstanding_count = 2;
	w.runtime.client_threads_count = w.runtime.server_threads_count = 3;
	w.runtime.compress_byte_spB = w.runtime.decompress_byte_spB = 1e-9;
	w.runtime.batch_wait_s = 5 * US;
	w.runtime.batch_count = 4;
	w.runtime.session_s = 20 * US;
	w.runtime.pipelined = pipelined;
	w.line.fails_at_s = fails_at_s;
	remote_world_build(&w);
	for (size_t i = 0; i < 2; i++) {
		struct script *script = &w.scripts[i];
		for (size_t k = 0; k < 6; k++)
			script_add(script, 0.1, CALL_EVENT_RECORD);
		script_add(script, 0, CALL_MEMCPY_H2D)->payload_B = 4500;
		script_add(script, 0, CALL_MEMCPY_D2H_ASYNC)->payload_B = 4500;
		script_add(script, 0, CALL_MEMCPY_H2D_ASYNC)->payload_B = 4500;
		script_add(script, 0, CALL_MEMCPY_D2H)->payload_B = 4500;
		script_add(script, 0, CALL_MALLOC);
	}
	remote_world_run(&w);
	CHECK(w.failures_count == 1);
	for (size_t i = 0; i < w.log_count; i++)
		CHECK(w.log[i].sent_ps < w.failed_ps);
	for (size_t i = 0; i < 2; i++)
		for (size_t k = 0; k < w.scripts[i].count; k++)
			CHECK(w.scripts[i].calls[k].complete_ps < w.failed_ps);
	remote_world_release(&w);
}

static void nothing_follows_the_failure_of_a_client(void)
{
	static const char *const policies[] = {"asynchronous", "batched", "synchronous"};
	for (size_t i = 0; i < 6; i++)
		for (double at_us = 0.7771; at_us < 600; at_us += 4.7131)
			check_failure(policies[i / 2], i % 2, at_us * US);
}

static const struct test tests[] = {
	TEST(nothing_follows_the_failure_of_a_client),
	TEST(a_call_executed_out_of_order_fails_the_run),
	TEST(a_copy_that_loses_bytes_fails_the_run),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
