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

static const struct test tests[] = {
	TEST(a_call_executed_out_of_order_fails_the_run),
	TEST(a_copy_that_loses_bytes_fails_the_run),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
