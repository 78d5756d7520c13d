/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parameters of runtimes that change single calls, and default costs. The times follow from the
 * numbers in remoting_world.h. */
#include <stddef.h>

#include "sim/base/num.h"
#include "tests/remoting_world.h"

/* Without a wake-up an answered call is not handed from thread to thread, which takes 3. */
static void polling_servers_have_no_hand_off(void)
{
	for (int polled = 0; polled < 2; polled++) {
		struct remote_world w;
		remote_world_presets(&w, "synchronous");
		w.line.polled = polled;
		remote_world_build(&w);
		script_add(&w.scripts[0], 0, CALL_MALLOC);
		remote_world_run(&w);
		CHECK_US(script_took_ps(&w, 0, 0), polled ? 73.9 : 76.9);
		remote_world_release(&w);
	}
}

/* A rule of the runtime changes its own kind of call only: local calls return after 0.25, and calls
 * that are sent after 1.35. All other calls of a synchronous runtime are answered. */
static void rules_of_calls_change_their_own_kind(void)
{
	static const struct {
		size_t field;
		enum call_kind kind;
	} rules[] = {
		{offsetof(struct runtime_params, launch_call), CALL_LAUNCH},
		{offsetof(struct runtime_params, library_call), CALL_LIBRARY},
		{offsetof(struct runtime_params, memset_call), CALL_MEMSET_ASYNC},
		{offsetof(struct runtime_params, record_call), CALL_EVENT_RECORD},
		{offsetof(struct runtime_params, wait_event_call), CALL_STREAM_WAIT_EVENT},
		{offsetof(struct runtime_params, get_device_call), CALL_GET_DEVICE},
		{offsetof(struct runtime_params, set_device_call), CALL_SET_DEVICE},
		{offsetof(struct runtime_params, get_last_error_call), CALL_GET_LAST_ERROR},
		{offsetof(struct runtime_params, is_capturing_call), CALL_IS_CAPTURING},
		{offsetof(struct runtime_params, get_attribute_call), CALL_GET_ATTRIBUTE},
		{offsetof(struct runtime_params, get_value_call), CALL_GET_VALUE},
		{offsetof(struct runtime_params, create_handle_call), CALL_CREATE_HANDLE},
		{offsetof(struct runtime_params, malloc_call), CALL_MALLOC},
		{offsetof(struct runtime_params, free_call), CALL_FREE},
	};
	enum { COUNT = sizeof rules / sizeof rules[0] };
	for (size_t r = 0; r < 2 * COUNT; r++) {
		struct remote_world w;
		bool sent = r >= COUNT;
		remote_world_presets(&w, "synchronous");
		int *rule = (void *)((char *)&w.runtime + rules[r % COUNT].field);
		*rule = sent ? RULE_SENT : RULE_LOCAL;
		remote_world_build(&w);
		for (size_t i = 0; i < COUNT; i++)
			script_add(&w.scripts[0], 1000, rules[i].kind);
		remote_world_run(&w);
		CHECK(remote_counters(w.remote).calls_count[sent ? CLASS_ASYNC : CLASS_LOCAL] == 1);
		for (size_t i = 0; i < COUNT; i++)
			if (i == r % COUNT)
				CHECK_US(script_took_ps(&w, 0, i), sent ? 1.35 : 0.25);
			else
				CHECK(script_took_ps(&w, 0, i) > ps_from_s(20 * US));
		remote_world_release(&w);
	}
}

/* A call with three repeats is made four times. */
static void repeats_are_calls_of_their_own(void)
{
	struct remote_world w;
	remote_world_presets(&w, "synchronous");
	remote_world_build(&w);
	script_add(&w.scripts[0], 0, CALL_MALLOC)->repeats = 3;
	remote_world_run(&w);
	CHECK_US(script_took_ps(&w, 0, 0), 4 * 76.9);
	CHECK(remote_counters(w.remote).calls_count[CLASS_SYNC] == 4);
	CHECK(remote_counters(w.remote).kinds[CALL_MALLOC].calls_count == 4);
	remote_world_release(&w);
	/* a local call takes 0.25 */
	remote_world_presets(&w, "asynchronous");
	remote_world_build(&w);
	script_add(&w.scripts[0], 0, CALL_GET_DEVICE)->repeats = 3;
	remote_world_run(&w);
	CHECK_US(script_took_ps(&w, 0, 0), 4 * 0.25);
	CHECK(remote_counters(w.remote).calls_count[CLASS_LOCAL] == 4);
	CHECK(remote_counters(w.remote).kinds[CALL_GET_DEVICE].calls_count == 4);
	remote_world_release(&w);
}

/* Thread 0 waits for a kernel of 1 ms on its connection. Thread 1 makes a repeated call, or a
 * product with a question, on another connection, so the kernel does not delay it. */
static void repeats_stay_on_the_connection_of_their_thread(void)
{
	for (int product = 0; product < 2; product++) {
		int64_t times_ps[2];
		for (int busy = 0; busy < 2; busy++) {
			struct remote_world w;
			remote_world_presets(&w, "synchronous");
			w.runtime.connections_count = 2;
			w.runtime.product_questions_count = 1;
			remote_world_build(&w);
			if (busy) {
				script_add(&w.scripts[0], 0, CALL_LAUNCH)->duration_s = 1000 * US;
				script_add(&w.scripts[0], 0, CALL_DEVICE_SYNCHRONIZE);
			}
			struct cuda_call *call =
				script_add(&w.scripts[1], 100, product ? CALL_LAUNCH : CALL_MALLOC);
			call->by_library = call->product = product;
			call->repeats = product ? 0 : 3;
			call->stream = 1;
			remote_world_run(&w);
			times_ps[busy] = script_took_ps(&w, 1, 0);
			remote_world_release(&w);
		}
		CHECK(times_ps[1] == times_ps[0]);
		CHECK(times_ps[0] > ps_from_s(50 * US));
	}
}

/* A call of thread 0 holds the connection until it returns at 76.9. The local call of thread 1 does
 * not release it, so the call of thread 2 begins only then. */
static void local_calls_release_no_connection_of_others(void)
{
	struct remote_world w;
	remote_world_presets(&w, "asynchronous");
	w.runtime.exclusive = true;
	remote_world_build(&w);
	script_add(&w.scripts[0], 0, CALL_MALLOC);
	script_add(&w.scripts[1], 5, CALL_GET_DEVICE);
	script_add(&w.scripts[2], 1, CALL_MALLOC);
	remote_world_run(&w);
	CHECK_US(w.scripts[0].calls[0].complete_ps, 76.9);
	CHECK_US(w.scripts[1].calls[0].complete_ps, 5.25);
	CHECK_US(w.scripts[2].calls[0].complete_ps, 2 * 76.9);
	remote_world_release(&w);
}

/* A product of cuBLAS asks two questions and waits for the kernel's launch, if the runtime replaces
 * the libraries. A round trip takes 26.9 and the driver's part of the call: 1 for a question and 5
 * for a launch. Otherwise it is a launch like all others, which is sent after 1.35. */
static void products_ask_questions_at_the_level_of_the_libraries(void)
{
	for (int level = LEVEL_LIBRARY; level <= LEVEL_DRIVER; level++) {
		struct remote_world w;
		remote_world_presets(&w, "asynchronous");
		w.world.driver_params.get_s = 1 * US;
		w.world.driver_params.launch_s = 5 * US;
		w.runtime.level = level;
		w.runtime.product_call = RULE_ANSWERED;
		w.runtime.product_questions_count = 2;
		remote_world_build(&w);
		struct cuda_call *product = script_add(&w.scripts[0], 0, CALL_LAUNCH);
		product->by_library = product->product = true;
		script_add(&w.scripts[0], 1000, CALL_LAUNCH);
		remote_world_run(&w);
		bool asks = level == LEVEL_LIBRARY;
		CHECK_US(script_took_ps(&w, 0, 0), asks ? 2 * 27.9 + 31.9 : 1.35);
		CHECK_US(script_took_ps(&w, 0, 1), 1.35);
		CHECK(remote_counters(w.remote).answered_count == (asks ? 3 : 0));
		remote_world_release(&w);
	}
}

/* A norm of cuDNN waits for its answer, and carries no header of a launch, if the runtime replaces
 * the libraries: a round trip of 26.9 and the driver's launch of 5. Otherwise it is a launch, which
 * is sent after 1.35 and 0.5 more for a header of 500 B. A convolution has no rule of its own. */
static void norms_follow_their_rule_at_the_level_of_the_libraries(void)
{
	for (int level = LEVEL_LIBRARY; level <= LEVEL_DRIVER; level++) {
		struct remote_world w;
		remote_world_presets(&w, "asynchronous");
		w.world.driver_params.launch_s = 5 * US;
		w.runtime.level = level;
		w.runtime.norm_call = RULE_ANSWERED;
		w.runtime.launch_header_B = 500;
		remote_world_build(&w);
		struct cuda_call *norm = script_add(&w.scripts[0], 0, CALL_LAUNCH);
		norm->by_library = norm->norm = true;
		script_add(&w.scripts[0], 1000, CALL_LAUNCH)->by_library = true;
		remote_world_run(&w);
		bool library = level == LEVEL_LIBRARY;
		CHECK_US(script_took_ps(&w, 0, 0), library ? 31.9 : 1.85);
		CHECK_US(script_took_ps(&w, 0, 1), library ? 1.35 : 1.85);
		remote_world_release(&w);
	}
}

/* Copies of 1000 B follow their rules in any policy: sent ones return when their message of 1100 B
 * is accepted, 0.25 + 1 + 1.1, or at once if they are to the host; answered ones take a round trip.
 */
static void rules_of_copies_say_whether_they_wait(void)
{
	static const enum call_kind kinds[] = {CALL_MEMCPY_H2D, CALL_MEMCPY_H2D_ASYNC,
					       CALL_MEMCPY_D2H_ASYNC};
	for (int answered = 0; answered < 2; answered++) {
		struct remote_world w;
		remote_world_presets(&w, answered ? "asynchronous" : "synchronous");
		int rule = answered ? RULE_ANSWERED : RULE_SENT;
		w.runtime.copy_to_device_call = w.runtime.copy_to_device_async_call = rule;
		w.runtime.copy_to_host_async_call = rule;
		remote_world_build(&w);
		for (size_t i = 0; i < 3; i++)
			script_add(&w.scripts[0], 1000, kinds[i])->payload_B = 1000;
		remote_world_run(&w);
		for (size_t i = 0; i < 3; i++)
			if (answered)
				CHECK(script_took_ps(&w, 0, i) > ps_from_s(20 * US));
			else
				CHECK_US(script_took_ps(&w, 0, i), i < 2 ? 2.35 : 1.35);
		remote_world_release(&w);
	}
}

static void end_program(void *ctx, uint64_t arg)
{
	engine_stop(((struct remote_world *)ctx)->world.engine);
}

/* While a call waits for its answer, for 3.5 s of a kernel, no probes are sent, and none until 1 s
 * after the answer. */
static void connection_with_a_waiting_call_needs_no_probe(void)
{
	struct remote_world w;
	remote_world_presets(&w, "synchronous");
	w.runtime.keep_alive_s = 1;
	remote_world_build(&w);
	script_add(&w.scripts[0], 0, CALL_LAUNCH)->duration_s = 3.5;
	script_add(&w.scripts[0], 0, CALL_DEVICE_SYNCHRONIZE);
	engine_at(w.world.engine, ps_from_s(4.4), end_program, &w, 0);
	remote_connect(w.remote, remote_world_begin, &w, 0);
	CHECK(engine_run(w.world.engine) == ENGINE_STOPPED);
	CHECK(w.log_count == 4); /* two requests and their answers */
	remote_world_release(&w);
}

/* The default costs that are assumed to be equal, or half, are so: see their sources. */
static void default_costs_follow_from_each_other(void)
{
	struct arena *arena = arena_new();
	struct runtime_params params;
	double *const all[] = {&params.request_header_B, &params.reply_header_B, &params.marshal_s,
			       &params.unmarshal_s,      &params.reply_s,        &params.chunk_B};
	static const char *const fields[] = {"request_header_B", "reply_header_B", "marshal_s",
					     "unmarshal_s",      "reply_s",        "chunk_B"};
	for (size_t f = 0; f < sizeof fields / sizeof fields[0]; f++)
		for (size_t i = 0; i < runtime_table.count; i++)
			if (strcmp(runtime_table.rows[i].field, fields[f]) == 0)
				CHECK(!quantity_parse(arena, runtime_table.rows[i].quantity,
						      runtime_table.rows[i].preset, all[f]));
	CHECK(params.reply_header_B == params.request_header_B && params.request_header_B == 64);
	CHECK(params.unmarshal_s == params.marshal_s && params.reply_s == params.marshal_s / 2);
	CHECK(params.chunk_B == 262144);
	arena_free(arena);
}

/* The client can answer calls itself that have no work of the GPU. */
static void only_calls_without_gpu_work_may_be_local(void)
{
	static const char with_work[] =
		"launch_call product_call norm_call memset_call record_call wait_event_call "
		"copy_to_device_call "
		"copy_to_device_async_call copy_to_host_async_call event_synchronize_call "
		"stream_synchronize_call device_synchronize_call";
	size_t count = 0, locals = 0;
	for (size_t i = 0; i < runtime_table.count; i++) {
		const struct param_row *row = &runtime_table.rows[i];
		char key[64];
		param_key(row, key, sizeof key);
		if (!row->choices || strlen(key) < 5 || strcmp(key + strlen(key) - 5, "_call") != 0)
			continue;
		bool local = false;
		for (const char *const *choice = row->choices; *choice; choice++)
			local |= strcmp(*choice, "local") == 0;
		if (!CHECK(local == !strstr(with_work, key)))
			printf("  %s\n", key);
		count++;
		locals += local;
	}
	CHECK(count == 24 && locals == 12);
}

static const struct test tests[] = {
	TEST(only_calls_without_gpu_work_may_be_local),
	TEST(polling_servers_have_no_hand_off),
	TEST(rules_of_calls_change_their_own_kind),
	TEST(repeats_are_calls_of_their_own),
	TEST(repeats_stay_on_the_connection_of_their_thread),
	TEST(local_calls_release_no_connection_of_others),
	TEST(products_ask_questions_at_the_level_of_the_libraries),
	TEST(norms_follow_their_rule_at_the_level_of_the_libraries),
	TEST(rules_of_copies_say_whether_they_wait),
	TEST(connection_with_a_waiting_call_needs_no_probe),
	TEST(default_costs_follow_from_each_other),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
