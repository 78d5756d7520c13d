/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls of each class, their waits, and verdicts. The times follow from the numbers in
 * remoting_world.h. */
#include "sim/base/num.h"
#include "sim/engine/trace.h"
#include "tests/remoting_world.h"

static void add_launch(struct script *script, double gap_us, double duration_us)
{
	script_add(script, gap_us, CALL_LAUNCH)->duration_s = duration_us * US;
}

static size_t requests_count(const struct remote_world *w)
{
	size_t count = 0;
	for (size_t i = 0; i < w->log_count; i++)
		count += w->log[i].from == 0;
	return count;
}

static size_t spans_count(const struct trace *trace, const char *name)
{
	size_t count = 0;
	for (size_t i = 0; i < trace_span_count(trace); i++)
		count += strcmp(trace_span_at(trace, i)->name, name) == 0;
	return count;
}

/* In the order of enum call_kind: l local, a async, s sync, d draining, p poll, b bulk. */
static void each_policy_gives_each_call_its_class(void)
{
	static const char letters[] = "lasdpb";
	static const char *const expected[][2] = {
		{"synchronous", "ssbbbbssspdpddsssssssssssssssssssss"},
		{"flexdirect", "ssbbbbssspdpddssllssssassssssssssss"},
		{"asynchronous", "aabbbbaaapdpddssllssssasaaaaaaassss"},
		{"batched", "aabbbbaaapdpddssllssssasaaaaaaassss"},
	};
	const struct runtime_params params = {.shadow_handles = true}, answered = {0};
	const struct cuda_call handle = {.kind = CALL_CREATE_HANDLE};
	CHECK(policy_count() == 4);
	for (size_t i = 0; i < policy_count(); i++) {
		char classes[CALL_KIND_COUNT + 1] = {0};
		for (int kind = 0; kind < CALL_KIND_COUNT; kind++) {
			struct cuda_call call = {.kind = (enum call_kind)kind, .payload_B = 1};
			classes[kind] = letters[policy_at(i)->classify(&params, &call)];
		}
		CHECK(policy_at(i)->classify(&answered, &handle) == CLASS_SYNC);
		CHECK_TEXT(policy_at(i)->name, expected[i][0]);
		CHECK_TEXT(classes, expected[i][1]);
	}
}

/* local: 0.25. async: 1.25 and 0.1 on the wire. sync: delivered 11.35 after the call, 5 at the
 * server, 50 in the driver, 10.55 back. poll: 3 in the driver. */
static void each_class_of_calls_takes_its_time(void)
{
	struct remote_world w;
	remote_world_presets(&w, "asynchronous");
	remote_world_build(&w);
	struct script *script = &w.scripts[0];
	script_add(script, 0, CALL_GET_DEVICE);
	add_launch(script, 100, 0);
	script_add(script, 100, CALL_MALLOC);
	script_add(script, 100, CALL_EVENT_QUERY);
	script_add(script, 100, CALL_EVENT_RECORD);
	remote_world_run(&w);
	CHECK_US(script_took_ps(&w, 0, 0), 0.25);
	CHECK_US(script_took_ps(&w, 0, 1), 1.35);
	CHECK_US(script_took_ps(&w, 0, 2), 76.9);
	CHECK_US(script_took_ps(&w, 0, 3), 29.9);
	CHECK_US(script_took_ps(&w, 0, 4), 1.35);
	struct remote_counters counters = remote_counters(w.remote);
	CHECK(counters.calls_count[CLASS_LOCAL] == 1);
	CHECK(counters.calls_count[CLASS_ASYNC] == 2);
	CHECK(counters.calls_count[CLASS_SYNC] == 1);
	CHECK(counters.calls_count[CLASS_POLL] == 1);
	CHECK(counters.messages_count == 6); /* four requests, two answers */
	CHECK_NEAR(counters.sent_B, 400, 1e-12);
	CHECK_NEAR(counters.received_B, 100, 1e-12);
	CHECK_NEAR(counters.waited_s, (76.9 + 29.9) * US, 1e-9);
	CHECK(w.failures_count == 0);
	remote_world_release(&w);
}

/* The launch is submitted at 11.35 + 2 + 5 = 18.35, starts 4 later and ends at 122.35; waking the
 * server's thread takes 1.5, the way back 10.55. An earlier query returns "not ready". */
static void draining_call_waits_for_the_gpu(void)
{
	struct remote_world w;
	remote_world_presets(&w, "asynchronous");
	remote_world_build(&w);
	add_launch(&w.scripts[0], 0, 100);
	script_add(&w.scripts[0], 0, CALL_STREAM_QUERY);
	script_add(&w.scripts[0], 0, CALL_STREAM_SYNCHRONIZE);
	script_add(&w.scripts[0], 0, CALL_STREAM_QUERY);
	remote_world_run(&w);
	CHECK(w.scripts[0].calls[1].result == CALL_NOT_READY);
	CHECK_US(w.scripts[0].calls[2].complete_ps, 134.4);
	CHECK(w.scripts[0].calls[3].result == CALL_OK);
	int64_t waited_ps = 0;
	for (size_t i = 1; i < 4; i++)
		waited_ps += script_took_ps(&w, 0, i);
	CHECK_NEAR(remote_counters(w.remote).waited_s, s_from_ps(waited_ps), 1e-9);
	const struct remote_counters counters = remote_counters(w.remote);
	const struct kind_counters *kinds = counters.kinds, *wait = &kinds[CALL_STREAM_SYNCHRONIZE];
	CHECK(kinds[CALL_LAUNCH].calls_count == 1 && kinds[CALL_STREAM_QUERY].calls_count == 2 &&
	      wait->calls_count == 1);
	CHECK_NEAR(kinds[CALL_LAUNCH].waited_s, s_from_ps(script_took_ps(&w, 0, 0)), 1e-12);
	CHECK(kinds[CALL_LAUNCH].served_s == 0); /* the thread does not wait for the server */
	CHECK_NEAR(wait->waited_s, s_from_ps(script_took_ps(&w, 0, 2)), 1e-12);
	CHECK_NEAR(wait->waited_s - wait->served_s, (11.35 + 10.55) * US, 1e-12);
	remote_world_release(&w);
}

/* A kernel of 1 ms is before the copy of 64 bytes in its stream, and the wire takes about 20 us. So
 * more than nine tenths of the copy's time is the wait for the GPU. */
static void wait_of_a_copy_for_the_gpu_is_time_of_the_server(void)
{
	static const enum call_kind kinds[] = {CALL_MEMCPY_D2H, CALL_MEMCPY_H2D};
	for (size_t i = 0; i < 2; i++) {
		struct remote_world w;
		remote_world_presets(&w, "asynchronous");
		remote_world_build(&w);
		add_launch(&w.scripts[0], 0, 1000);
		script_add(&w.scripts[0], 0, kinds[i])->payload_B = 64;
		remote_world_run(&w);
		const struct remote_counters counters = remote_counters(w.remote);
		const struct kind_counters *copy = &counters.kinds[kinds[i]];
		CHECK(copy->calls_count == 1 && copy->waited_s > 1e-3);
		CHECK(copy->served_s > 0.9 * copy->waited_s && copy->served_s < copy->waited_s);
		remote_world_release(&w);
	}
}

static void full_batch_is_sent_at_once(void)
{
	struct remote_world w;
	remote_world_presets(&w, "batched");
	w.runtime.batch_count = 4;
	remote_world_build(&w);
	for (int i = 0; i < 8; i++)
		add_launch(&w.scripts[0], 0, 1);
	remote_world_run(&w);
	CHECK(requests_count(&w) == 2);
	CHECK_US(script_took_ps(&w, 0, 2), 0.25);
	/* marshals the message and waits for its acceptance */
	CHECK_US(script_took_ps(&w, 0, 3), 1.35);
	CHECK(gpu_kernels_count(w.world.context) == 8);
	remote_world_release(&w);
}

/* The first call enters the buffer at 0.25, so the message is marshalled from 50.25 on. */
static void incomplete_batch_is_sent_at_its_age(void)
{
	struct remote_world w;
	remote_world_presets(&w, "batched");
	w.runtime.batch_count = 4;
	w.runtime.batch_wait_s = 50 * US;
	remote_world_build(&w);
	add_launch(&w.scripts[0], 0, 1);
	add_launch(&w.scripts[0], 0, 1);
	remote_world_run(&w);
	CHECK(requests_count(&w) == 1);
	CHECK_US(w.log[0].sent_ps, 51.25);
	CHECK_US(engine_wait_ps(w.world.engine, WAIT_BATCH), 50);
	CHECK(gpu_kernels_count(w.world.context) == 2);
	remote_world_release(&w);
}

/* The query carries the first launch (29.9, and 7 for the launch at the server), so that launch's
 * age no longer matters. The second enters the buffer at 0.25 + 36.9 + 3.25 and is 50 old at 90.4.
 */
static void age_counts_from_the_first_call_of_a_batch(void)
{
	struct remote_world w;
	remote_world_presets(&w, "batched");
	w.runtime.batch_count = 4;
	w.runtime.batch_wait_s = 50 * US;
	remote_world_build(&w);
	add_launch(&w.scripts[0], 0, 1);
	script_add(&w.scripts[0], 0, CALL_EVENT_QUERY);
	add_launch(&w.scripts[0], 3, 1);
	remote_world_run(&w);
	CHECK(requests_count(&w) == 2);
	CHECK_US(w.log[2].sent_ps, 91.4);
	remote_world_release(&w);
}

/* Sent at 0.5 + 1.25 with 170 B, so delivered at 11.92; two launches of 7, then 5 and 50; 10.55
 * back. */
static void answered_call_sends_the_batch(void)
{
	struct remote_world w;
	remote_world_presets(&w, "batched");
	w.runtime.batch_count = 16;
	w.runtime.batch_wait_s = 50 * US;
	remote_world_build(&w);
	for (int i = 0; i < 2; i++) {
		add_launch(&w.scripts[0], 0, 1);
		w.scripts[0].calls[i].call.arguments_B = 30;
	}
	script_add(&w.scripts[0], 0, CALL_MALLOC)->arguments_B = 10;
	remote_world_run(&w);
	CHECK(requests_count(&w) == 1);
	CHECK_NEAR(w.log[0].size_B, 170, 1e-12);
	CHECK_US(w.scripts[0].calls[2].complete_ps, 91.47);
	remote_world_release(&w);
}

/* Two batches of two launches with 30 B of arguments each: both have 100 B of header and 60 B. */
static void each_batch_has_the_size_of_its_own_calls(void)
{
	struct remote_world w;
	remote_world_presets(&w, "batched");
	w.runtime.batch_count = 2;
	remote_world_build(&w);
	for (int i = 0; i < 4; i++) {
		add_launch(&w.scripts[0], 0, 1);
		w.scripts[0].calls[i].call.arguments_B = 30;
	}
	remote_world_run(&w);
	CHECK(requests_count(&w) == 2);
	for (size_t i = 0; i < w.log_count; i++)
		CHECK(w.log[i].from != 0 || fabs(w.log[i].size_B - 160) < 1e-9);
	remote_world_release(&w);
}

/* The calls return at 1.35, 2.7, 4.05 and 5.4. The server has executed two (7 each from 11.35 on)
 * at 25.35 and reports it: known at 35.4. The fifth call was ready at 6.65. The second report comes
 * 14 later, at 49.4, for the seventh call. */
static void calls_in_flight_are_limited(void)
{
	struct remote_world w;
	remote_world_presets(&w, "asynchronous");
	w.runtime.outstanding_count = 4;
	remote_world_build(&w);
	for (int i = 0; i < 10; i++)
		add_launch(&w.scripts[0], 0, 0);
	remote_world_run(&w);
	const struct script_call *calls = w.scripts[0].calls;
	CHECK_US(calls[3].complete_ps, 5.4);
	CHECK_US(calls[4].complete_ps, 35.5);
	CHECK_US(calls[5].complete_ps, 36.85);
	CHECK_US(calls[6].complete_ps, 49.5);
	CHECK(gpu_kernels_count(w.world.context) == 10);
	remote_world_release(&w);
}

/* One call in flight, and three threads that each have one. The server has executed the first at
 * 18.35 and reports it: known at 28.4, so the second call returns at 28.5. It takes 10 to the
 * server, 7 there, 10.05 for its report, and 0.1 for the third call to return. */
static void returned_credit_releases_one_call_only(void)
{
	struct remote_world w;
	remote_world_presets(&w, "asynchronous");
	w.runtime.outstanding_count = 1;
	remote_world_build(&w);
	for (int thread = 0; thread < 3; thread++)
		add_launch(&w.scripts[thread], 0, 0);
	remote_world_run(&w);
	CHECK_US(w.scripts[1].calls[0].complete_ps, 28.5);
	CHECK_US(w.scripts[2].calls[0].complete_ps, 55.65);
	remote_world_release(&w);
}

/* A batch larger than the limit that is never sent for its age: the waiting call must send it, or
 * nothing would progress. */
static void call_without_credit_sends_the_batch(void)
{
	for (double limit = 1; limit <= 3; limit += 2) {
		struct remote_world w;
		remote_world_presets(&w, "batched");
		w.runtime.outstanding_count = limit;
		w.runtime.batch_count = 64;
		remote_world_build(&w);
		for (int thread = 0; thread < 3; thread++) {
			for (int i = 0; i < 30; i++)
				add_launch(&w.scripts[thread], 0, 0);
		}
		script_add(&w.scripts[0], 1000, CALL_STREAM_SYNCHRONIZE);
		remote_world_run(&w);
		CHECK(gpu_kernels_count(w.world.context) == 90);
		remote_world_release(&w);
	}
}

/* Thread 0 waits for a kernel of a second. An allocation of thread 1 waits behind it on a shared
 * connection, but not on its own connection. */
static void draining_call_blocks_only_its_connection(void)
{
	for (int connections = 1; connections <= 2; connections++) {
		struct remote_world w;
		remote_world_presets(&w, "asynchronous");
		w.runtime.connections_count = connections;
		remote_world_build(&w);
		add_launch(&w.scripts[0], 0, 1e6);
		script_add(&w.scripts[0], 0, CALL_STREAM_SYNCHRONIZE);
		script_add(&w.scripts[1], 30, CALL_MALLOC);
		remote_world_run(&w);
		if (connections == 1)
			CHECK(w.scripts[1].calls[0].complete_ps >
			      w.scripts[0].calls[1].complete_ps);
		else
			CHECK_US(script_took_ps(&w, 1, 0), 76.9);
		remote_world_release(&w);
	}
}

/* Three threads call at the same time over a wire on which a request takes 10: the answers come in
 * the order of the calls. */
static void requests_keep_their_order_on_the_wire(void)
{
	struct remote_world w;
	remote_world_presets(&w, "synchronous");
	w.line.rate_Bps = 1e7;
	remote_world_build(&w);
	for (size_t i = 0; i < 3; i++)
		script_add(&w.scripts[i], 0.1 * (double)i, CALL_GET_ATTRIBUTE);
	remote_world_run(&w);
	CHECK(w.failures_count == 0);
	for (size_t i = 1; i < 3; i++)
		CHECK(w.scripts[i].calls[0].complete_ps >=
		      w.scripts[i - 1].calls[0].complete_ps + ps_from_s(10 * US));
	remote_world_release(&w);
}

/* 20 launches occupy connection 0 until 151.35, and its record is executed 4 later. The query
 * overtakes them on connection 1 and must wait: it sees the record, which is not complete. */
static void query_waits_for_its_record_on_another_connection(void)
{
	struct remote_world w;
	remote_world_presets(&w, "asynchronous");
	w.runtime.connections_count = 2;
	remote_world_build(&w);
	for (int i = 0; i < 20; i++)
		add_launch(&w.scripts[0], 0, 1000);
	script_add(&w.scripts[0], 0, CALL_EVENT_RECORD)->event = 3;
	script_add(&w.scripts[1], 30, CALL_EVENT_QUERY)->event = 3;
	script_add(&w.scripts[1], 30, CALL_EVENT_QUERY)->event = 4; /* never recorded */
	remote_world_run(&w);
	CHECK(w.scripts[1].calls[0].result == CALL_NOT_READY);
	CHECK_US(w.scripts[1].calls[0].complete_ps, 155.35 + 3 + 10.55);
	CHECK(w.scripts[1].calls[1].result == CALL_OK);
	CHECK_US(script_took_ps(&w, 1, 1), 29.9);
	remote_world_release(&w);
}

static void query_cache_and_shadow_handles_avoid_round_trips(void)
{
	for (int on = 0; on <= 1; on++) {
		struct remote_world w;
		remote_world_presets(&w, "asynchronous");
		w.runtime.query_cache = on;
		w.runtime.shadow_handles = on;
		remote_world_build(&w);
		script_add(&w.scripts[0], 0, CALL_GET_ATTRIBUTE);
		script_add(&w.scripts[0], 0, CALL_GET_ATTRIBUTE);
		script_add(&w.scripts[0], 0, CALL_CREATE_HANDLE);
		remote_world_run(&w);
		CHECK_US(script_took_ps(&w, 0, 0), 27.4);
		CHECK_US(script_took_ps(&w, 0, 1), on ? 0.25 : 27.4);
		CHECK_US(script_took_ps(&w, 0, 2), on ? 1.35 : 33.9);
		remote_world_release(&w);
	}
}

/* The queue has two operations. The third launch waits in the driver for the end of the first
 * kernel, and an allocation after it on the connection waits, too. */
static void full_launch_queue_blocks_the_connection(void)
{
	struct remote_world w;
	remote_world_presets(&w, "asynchronous");
	w.world.gpu_params.queue_depth_count = 2;
	remote_world_build(&w);
	for (int i = 0; i < 3; i++)
		add_launch(&w.scripts[0], 0, 1000);
	script_add(&w.scripts[1], 30, CALL_MALLOC);
	remote_world_run(&w);
	/* submitted 18.35, started 22.35; then 5 and 50 and the way back */
	CHECK_US(w.scripts[1].calls[0].complete_ps, 1022.35 + 5 + 50 + 10.55);
	remote_world_release(&w);
}

/* ---- verdicts ---- */

/* Thread 0 waits for a kernel of 20 s, longer than the limit of 10 s. Calls of another thread,
 * which begin later and are answered, do not change that. */
static void answered_calls_do_not_extend_an_earlier_timeout(void)
{
	struct remote_world w;
	remote_world_presets(&w, "asynchronous");
	w.runtime.connections_count = 2;
	remote_world_build(&w);
	add_launch(&w.scripts[0], 0, 20e6);
	script_add(&w.scripts[0], 0, CALL_STREAM_SYNCHRONIZE);
	script_add(&w.scripts[1], 30, CALL_MALLOC);
	script_add(&w.scripts[1], 1000, CALL_MALLOC);
	remote_world_run(&w);
	CHECK(w.scripts[1].calls[1].complete_ps > 0);
	CHECK_TEXT(w.failure, "call timeout: no answer to cudaStreamSynchronize within 10 s");
	remote_world_release(&w);
}

static void missing_answer_gives_a_verdict(void)
{
	struct remote_world w;
	remote_world_presets(&w, "synchronous");
	w.line.deaf_after_count = 1;
	remote_world_build(&w);
	for (int i = 0; i < 3; i++)
		script_add(&w.scripts[0], 0, CALL_MALLOC);
	add_launch(&w.scripts[1], 1000, 1); /* two calls are waiting, but there is one verdict */
	remote_world_run(&w);
	CHECK(w.failures_count == 1);
	CHECK_TEXT(w.failure, "call timeout: no answer to cudaMalloc within 10 s");
	CHECK_US(w.failed_ps, 76.9 + 10e6);
	CHECK(w.scripts[0].calls[0].complete_ps > 0);
	CHECK(w.scripts[0].calls[1].complete_ps == 0);
	CHECK(w.scripts[1].calls[0].complete_ps == 0);
	script_call_now(&w.scripts[2], 0); /* no call is answered after the failure */
	world_run(&w.world);
	CHECK(w.scripts[2].calls[0].complete_ps == 0);
	remote_world_release(&w);
}

static void missing_connection_gives_a_verdict(void)
{
	struct remote_world w;
	remote_world_presets(&w, "synchronous");
	w.line.never_opens = true;
	w.runtime.connect_timeout_s = 3;
	remote_world_build(&w);
	script_add(&w.scripts[0], 0, CALL_MALLOC);
	remote_world_run(&w);
	CHECK(w.failures_count == 1);
	CHECK_TEXT(w.failure, "connection timeout: no connection to guest within 3 s");
	CHECK_US(w.failed_ps, 3e6);
	CHECK(w.scripts[0].calls[0].issue_ps == 0);
	remote_world_release(&w);
}

static void broken_connection_gives_a_verdict(void)
{
	struct remote_world w;
	remote_world_presets(&w, "synchronous");
	w.line.fails_at_s = 100 * US;
	remote_world_build(&w);
	script_add(&w.scripts[0], 0, CALL_MALLOC);
	script_add(&w.scripts[0], 0, CALL_MALLOC);
	remote_world_run(&w);
	CHECK(w.failures_count == 1);
	CHECK_TEXT(w.failure, "the wire is cut");
	CHECK(w.scripts[0].calls[0].complete_ps > 0);
	CHECK(w.scripts[0].calls[1].complete_ps == 0);
	remote_world_release(&w);
}

static void missing_route_creates_no_client(void)
{
	struct remote_world w;
	remote_world_presets(&w, "synchronous");
	w.line.no_route = true;
	remote_world_build(&w);
	CHECK(w.remote == NULL);
	remote_world_release(&w);
}

static void end_program(void *ctx, uint64_t arg)
{
	struct remote_world *w = ctx;
	engine_stop(w->world.engine);
}

/* The connection is idle from its opening: probes follow after 1, 2, 3 and 4 s. With a server that
 * receives nothing, the run fails 10 s after the first probe. */
static void idle_connection_sends_keep_alive_probes(void)
{
	for (int deaf = 0; deaf <= 1; deaf++) {
		struct remote_world w;
		remote_world_presets(&w, "synchronous");
		w.runtime.keep_alive_s = 1;
		w.line.deaf_after_count = deaf ? 1 : 0;
		remote_world_build(&w);
		struct trace *trace = trace_new(w.remote_arena);
		engine_trace_set(w.world.engine, trace);
		script_add(&w.scripts[0], 0, CALL_MALLOC);
		if (!deaf)
			engine_at(w.world.engine, ps_from_s(4.5), end_program, &w, 0);
		if (deaf) {
			remote_world_run(&w);
		} else {
			remote_connect(w.remote, remote_world_begin, &w, 0);
			CHECK(engine_run(w.world.engine) == ENGINE_STOPPED);
		}
		struct remote_counters counters = remote_counters(w.remote);
		CHECK(counters.calls_count[CLASS_POLL] == 0);
		if (deaf) {
			CHECK_TEXT(w.failure,
				   "call timeout: no answer to a keep-alive probe within 10 s");
			/* the answer of the allocation arrived at 76.4 */
			CHECK_US(w.failed_ps, 11e6 + 76.4);
		} else {
			CHECK(w.failures_count == 0);
			CHECK(requests_count(&w) == 5);
			CHECK(spans_count(trace, "cudaMalloc") == 2); /* server, driver */
			CHECK(spans_count(trace, "keep-alive") == 4);
		}
		remote_world_release(&w);
	}
}

/* ---- memory ---- */

static void repeated_calls_allocate_nothing(void)
{
	struct remote_world w;
	remote_world_presets(&w, "batched");
	w.runtime.batch_count = 4;
	w.runtime.batch_wait_s = 50 * US;
	w.runtime.outstanding_count = 8;
	w.runtime.connections_count = 2;
	remote_world_build(&w);
	for (int i = 0; i < 50; i++) {
		struct script *script = &w.scripts[i % 2];
		add_launch(script, 1, 10);
		script_add(script, 1, CALL_EVENT_RECORD)->event = (uint16_t)(i % 8);
		script_add(script, 1, CALL_EVENT_QUERY)->event = (uint16_t)(i % 8);
		script_add(script, 1, CALL_MEMCPY_H2D_ASYNC)->payload_B = 4500;
		script_add(script, 1, CALL_MEMCPY_D2H_ASYNC)->payload_B = 2500;
		script_add(script, 1, CALL_MEMCPY_D2H)->payload_B = 1500;
	}
	remote_world_run(&w);
	size_t used_B = arena_used_B(w.remote_arena);
	for (int i = 0; i < 2; i++) {
		w.scripts[i].next = 0;
		script_go_on(&w.scripts[i]);
	}
	world_run(&w.world);
	CHECK(gpu_kernels_count(w.world.context) == 100);
	CHECK(arena_used_B(w.remote_arena) == used_B);
	remote_world_release(&w);
}

static const struct test tests[] = {
	TEST(each_policy_gives_each_call_its_class),
	TEST(each_class_of_calls_takes_its_time),
	TEST(draining_call_waits_for_the_gpu),
	TEST(wait_of_a_copy_for_the_gpu_is_time_of_the_server),
	TEST(full_batch_is_sent_at_once),
	TEST(incomplete_batch_is_sent_at_its_age),
	TEST(age_counts_from_the_first_call_of_a_batch),
	TEST(answered_call_sends_the_batch),
	TEST(each_batch_has_the_size_of_its_own_calls),
	TEST(calls_in_flight_are_limited),
	TEST(returned_credit_releases_one_call_only),
	TEST(call_without_credit_sends_the_batch),
	TEST(draining_call_blocks_only_its_connection),
	TEST(requests_keep_their_order_on_the_wire),
	TEST(query_waits_for_its_record_on_another_connection),
	TEST(query_cache_and_shadow_handles_avoid_round_trips),
	TEST(full_launch_queue_blocks_the_connection),
	TEST(missing_answer_gives_a_verdict),
	TEST(answered_calls_do_not_extend_an_earlier_timeout),
	TEST(missing_connection_gives_a_verdict),
	TEST(broken_connection_gives_a_verdict),
	TEST(missing_route_creates_no_client),
	TEST(idle_connection_sends_keep_alive_probes),
	TEST(repeated_calls_allocate_nothing),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
