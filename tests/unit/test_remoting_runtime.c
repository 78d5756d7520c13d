/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Properties of runtimes: the replaced interface, batches, copies, threads and sessions. The times
 * follow from the numbers in remoting_world.h. */
#include "sim/base/num.h"
#include "tests/remoting_world.h"

static size_t requests_count(const struct remote_world *w)
{
	size_t count = 0;
	for (size_t i = 0; i < w->log_count; i++)
		count += w->log[i].from == 0;
	return count;
}

/* Setters of libraries never leave a client whose runtime replaces the CUDA runtime or the driver.
 * The driver does not see the current device and the last error either. */
static void calls_above_the_replaced_interface_stay_in_the_client(void)
{
	static const size_t local_counts[] = {
		[LEVEL_LIBRARY] = 0, [LEVEL_RUNTIME] = 1, [LEVEL_DRIVER] = 4};
	for (int level = LEVEL_LIBRARY; level <= LEVEL_DRIVER; level++) {
		struct remote_world w;
		remote_world_presets(&w, "synchronous");
		w.runtime.level = level;
		remote_world_build(&w);
		script_add(&w.scripts[0], 0, CALL_LIBRARY);
		script_add(&w.scripts[0], 0, CALL_GET_DEVICE);
		script_add(&w.scripts[0], 0, CALL_SET_DEVICE);
		script_add(&w.scripts[0], 0, CALL_GET_LAST_ERROR);
		script_add(&w.scripts[0], 0, CALL_MALLOC);
		script_add(&w.scripts[0], 0, CALL_LIBRARY)->in_dispatch = true;
		w.scripts[0].count -= level == LEVEL_LIBRARY;
		remote_world_run(&w);
		size_t local_count = local_counts[level] + (level != LEVEL_LIBRARY);
		CHECK(remote_counters(w.remote).calls_count[CLASS_LOCAL] == local_count);
		if (level !=
		    LEVEL_LIBRARY) { /* the library's own work; none inside the dispatcher */
			CHECK_US(script_took_ps(&w, 0, 0), 0.25);
			CHECK_US(script_took_ps(&w, 0, 5), 0);
		}
		remote_world_release(&w);
	}
}

/* Ten launches and the copy of 5000 B to the device leave with the synchronise in one message. */
static void batch_without_a_limit_leaves_with_the_call_that_waits(void)
{
	struct remote_world w;
	remote_world_presets(&w, "batched");
	w.runtime.batch_count = 0;
	w.runtime.batch_copies = true;
	w.runtime.copy_to_device_call = RULE_SENT;
	w.runtime.serialise_byte_spB = 1e-9;
	w.runtime.launch_header_B = 30;
	w.runtime.call_header_B = 7;
	remote_world_build(&w);
	for (int i = 0; i < 10; i++)
		script_add(&w.scripts[0], 0, CALL_LAUNCH)->arguments_B = 20;
	script_add(&w.scripts[0], 0, CALL_MEMCPY_H2D)->payload_B = 5000;
	script_add(&w.scripts[0], 0, CALL_STREAM_SYNCHRONIZE);
	remote_world_run(&w);
	CHECK(requests_count(&w) == 1);
	CHECK_NEAR(w.log[0].size_B, 100 + 12 * 7 + 10 * (20 + 30) + 5000, 1e-12);
	CHECK_US(script_took_ps(&w, 0, 9), 0.25);
	CHECK_US(script_took_ps(&w, 0, 10), 5.25);
	CHECK(gpu_kernels_count(w.world.context) == 10);
	remote_world_release(&w);
}

/* A copy that waits for its answer is sent in five chunks. The first one carries the launch. */
static void copies_that_are_answered_join_no_batch(void)
{
	struct remote_world w;
	remote_world_presets(&w, "batched");
	w.runtime.batch_count = 0;
	w.runtime.batch_copies = true;
	remote_world_build(&w);
	script_add(&w.scripts[0], 0, CALL_LAUNCH)->arguments_B = 20;
	script_add(&w.scripts[0], 0, CALL_MEMCPY_H2D)->payload_B = 4100;
	remote_world_run(&w);
	CHECK(requests_count(&w) == 5);
	CHECK_NEAR(w.log[0].size_B, 100 + 20 + 1000, 1e-12);
	CHECK_NEAR(w.log[4].size_B, 100 + 100, 1e-12);
	remote_world_release(&w);
}

/* Returns the time of a copy of 1000 B in picoseconds. */
static int64_t copy_ps(enum call_kind kind, double serialise_spB, double deserialise_spB, bool echo,
		       double *request_B)
{
	struct remote_world w;
	remote_world_presets(&w, "synchronous");
	w.runtime.serialise_byte_spB = serialise_spB;
	w.runtime.deserialise_byte_spB = deserialise_spB;
	w.runtime.echo_downloads = echo;
	remote_world_build(&w);
	script_add(&w.scripts[0], 0, kind)->payload_B = 1000;
	remote_world_run(&w);
	*request_B = w.log[0].size_B;
	int64_t took_ps = script_took_ps(&w, 0, 0);
	remote_world_release(&w);
	return took_ps;
}

/* A byte costs its sender 1 ns and its receiver 2 ns. A buffer that travels to the server first
 * costs that once more, and 1 us on the wire. */
static void each_byte_of_a_copy_costs_its_sender_and_its_receiver(void)
{
	double request_B;
	static const enum call_kind kinds[] = {CALL_MEMCPY_H2D, CALL_MEMCPY_D2H};
	for (int i = 0; i < 2; i++) {
		int64_t free_ps = copy_ps(kinds[i], 0, 0, false, &request_B);
		CHECK_NEAR(request_B, kinds[i] == CALL_MEMCPY_H2D ? 1100 : 100, 1e-12);
		int64_t paid_ps = copy_ps(kinds[i], 1e-9, 2e-9, false, &request_B);
		CHECK_US(paid_ps - free_ps, 3);
		int64_t echoed_ps = copy_ps(kinds[i], 1e-9, 2e-9, true, &request_B);
		CHECK_US(echoed_ps - paid_ps, kinds[i] == CALL_MEMCPY_H2D ? 0 : 4);
		CHECK_NEAR(request_B, 1100, 1e-12);
	}
}

/* Bodies from 1000 B on are halved: 100 + 500 and 100 + 999. A copy whose content is known has its
 * own ratio of 250. */
static void small_bodies_are_not_compressed(void)
{
	for (int i = 0; i < 2; i++) {
		struct remote_world w;
		remote_world_presets(&w, "synchronous");
		w.runtime.compression_ratio = 2;
		w.runtime.compress_from_B = 1000;
		remote_world_build(&w);
		script_add(&w.scripts[0], 0, CALL_MEMCPY_H2D)->payload_B = 999 + i;
		struct cuda_call *zeros = script_add(&w.scripts[0], 0, CALL_MEMCPY_H2D);
		zeros->payload_B = 1000;
		zeros->compressibility = 250;
		remote_world_run(&w);
		CHECK_NEAR(w.log[0].size_B, i ? 600 : 1099, 1e-12);
		CHECK_NEAR(w.log[2].size_B, 104, 1e-12); /* log[1] is the answer */
		remote_world_release(&w);
	}
}

/* A known content has its own ratio only in a runtime that compresses: by a ratio of its own, or at
 * a cost for each byte. */
static void only_runtimes_that_compress_use_the_content(void)
{
	for (int i = 0; i < 4; i++) {
		struct remote_world w;
		remote_world_presets(&w, "synchronous");
		w.runtime.compression_ratio = i & 1 ? 2 : 1;
		w.runtime.compress_byte_spB = i & 2 ? 1e-9 : 0;
		remote_world_build(&w);
		struct cuda_call *zeros = script_add(&w.scripts[0], 0, CALL_MEMCPY_H2D);
		zeros->payload_B = 1000;
		zeros->compressibility = 250;
		remote_world_run(&w);
		CHECK_NEAR(w.log[0].size_B, i ? 104 : 1100, 1e-12);
		remote_world_release(&w);
	}
}

/* A wake-up takes 4. Three threads at the server are two wake-ups, two at the client one. Threads
 * that poll need none, and no hand-off of 3. */
static void further_threads_are_woken_one_after_the_other(void)
{
	static const struct {
		double server_count, client_count;
		bool polls;
		double took_us;
	} cases[] = {
		{1, 1, false, 76.9}, {3, 1, false, 84.9}, {1, 2, false, 80.9}, {3, 2, true, 73.9}};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct remote_world w;
		remote_world_presets(&w, "synchronous");
		w.world.guest_params.thread_wake_s = 4 * US;
		w.runtime.server_threads_count = cases[i].server_count;
		w.runtime.client_threads_count = cases[i].client_count;
		w.runtime.polls = cases[i].polls;
		remote_world_build(&w);
		script_add(&w.scripts[0], 0, CALL_MALLOC);
		remote_world_run(&w);
		CHECK_US(script_took_ps(&w, 0, 0), cases[i].took_us);
		remote_world_release(&w);
	}
}

/* A copy of 2048 B: at 1 ns a byte at each end and with caches of 1024 B whose bytes cost a fifth,
 * it takes 2 x 0.6 x 2.048. The buffers of a pipelined copy are not cached, so there it is 2
 * x 2.048. New memory is half a page, 1.5 of 3; it needs none of the size that keeps its buffer. */
static void copies_cost_less_in_caches_and_more_in_new_memory(void)
{
	static const struct {
		double byte_spB, new_from_B;
		bool pipelined;
		double more_us;
	} cases[] = {{1e-9, 1e12, false, 2.4576},
		     {1e-9, 1e12, true, 4.096},
		     {0, 2047, false, 1.5},
		     {0, 2048, false, 0}};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		int64_t took_ps[2];
		for (int paid = 0; paid < 2; paid++) {
			struct remote_world w;
			remote_world_presets(&w, "synchronous");
			w.runtime.pipelined = cases[i].pipelined;
			w.runtime.chunk_B = 1e9;
			w.world.guest_params.cache_B = 1024;
			w.world.guest_params.cached_ratio = 0.2;
			w.world.guest_params.page_s = paid ? 3 * US : 0;
			w.runtime.new_memory_from_B = cases[i].new_from_B;
			if (paid)
				w.runtime.serialise_byte_spB = w.runtime.deserialise_byte_spB =
					cases[i].byte_spB;
			remote_world_build(&w);
			script_add(&w.scripts[0], 0, CALL_MEMCPY_H2D)->payload_B = 2048;
			remote_world_run(&w);
			took_ps[paid] = script_took_ps(&w, 0, 0);
			remote_world_release(&w);
		}
		CHECK_US(took_ps[1] - took_ps[0], cases[i].more_us);
	}
}

/* The client knows that the event has completed until it records the event again. */
static void completed_events_are_known_until_they_are_recorded_again(void)
{
	struct remote_world w;
	remote_world_presets(&w, "asynchronous");
	w.runtime.event_cache = true;
	remote_world_build(&w);
	static const enum call_kind kinds[] = {CALL_EVENT_RECORD, CALL_EVENT_SYNCHRONIZE,
					       CALL_EVENT_QUERY, CALL_EVENT_RECORD,
					       CALL_EVENT_QUERY};
	for (size_t i = 0; i < 5; i++)
		script_add(&w.scripts[0], 100, kinds[i]);
	remote_world_run(&w);
	CHECK_US(script_took_ps(&w, 0, 2), 0.25);
	CHECK(w.scripts[0].calls[2].result == CALL_OK);
	CHECK_US(script_took_ps(&w, 0, 4), 29.9);
	remote_world_release(&w);
}

/* Another thread records the event while the answer to a query is on its way. So the answer, which
 * is about the earlier record, does not spare the next query. This also holds if the new record is
 * the first call of another connection, as the earlier one is of its own. */
static void answer_about_an_earlier_record_is_not_kept(void)
{
	for (int again = 0; again < 3; again++) {
		struct remote_world w;
		remote_world_presets(&w, "asynchronous");
		w.runtime.event_cache = true;
		w.runtime.connections_count = again > 1 ? 2 : 1;
		remote_world_build(&w);
		script_add(&w.scripts[0], 0, CALL_EVENT_RECORD);
		script_add(&w.scripts[0], 100, CALL_EVENT_QUERY);
		script_add(&w.scripts[0], 100, CALL_EVENT_QUERY);
		if (again)
			script_add(&w.scripts[1], 110, CALL_EVENT_RECORD);
		remote_world_run(&w);
		CHECK(w.scripts[0].calls[1].result == CALL_OK);
		CHECK_US(script_took_ps(&w, 0, 2), again ? 29.9 : 0.25);
		remote_world_release(&w);
	}
}

/* A wait for the event tells the client that it has completed, as a query does. */
static void waits_for_events_are_kept(void)
{
	struct remote_world w;
	remote_world_presets(&w, "asynchronous");
	w.runtime.event_cache = true;
	remote_world_build(&w);
	script_add(&w.scripts[0], 0, CALL_EVENT_RECORD);
	script_add(&w.scripts[0], 100, CALL_EVENT_SYNCHRONIZE);
	script_add(&w.scripts[0], 100, CALL_EVENT_QUERY);
	remote_world_run(&w);
	CHECK_US(script_took_ps(&w, 0, 2), 0.25);
	remote_world_release(&w);
}

/* After a wait for the first of two events, only this one is known to have completed. */
static void one_completed_event_says_nothing_about_another(void)
{
	struct remote_world w;
	remote_world_presets(&w, "asynchronous");
	w.runtime.event_cache = true;
	remote_world_build(&w);
	static const enum call_kind kinds[] = {CALL_EVENT_RECORD, CALL_EVENT_RECORD,
					       CALL_EVENT_SYNCHRONIZE, CALL_EVENT_QUERY,
					       CALL_EVENT_QUERY};
	static const uint16_t events[] = {0, 1, 0, 1, 0};
	for (size_t i = 0; i < 5; i++)
		script_add(&w.scripts[0], 100, kinds[i])->event = events[i];
	remote_world_run(&w);
	CHECK_US(script_took_ps(&w, 0, 3), 29.9);
	CHECK_US(script_took_ps(&w, 0, 4), 0.25);
	remote_world_release(&w);
}

static void ignore(void *ctx, uint64_t arg)
{
}

static void stop(void *ctx, uint64_t arg)
{
	engine_stop(ctx);
}

/* The first client waits for a kernel of 1000. The second allocates memory meanwhile, which
 * takes 76.9, unless the server's only thread waits for that kernel. */
static void shared_thread_of_a_server_delays_other_clients(void)
{
	for (int shared = 0; shared < 2; shared++) {
		struct remote_world w;
		remote_world_presets(&w, "synchronous");
		w.runtime.shared_thread = shared;
		remote_world_build(&w);
		remote_connect(w.remote, ignore, NULL, 0);
		remote_world_client(&w);
		w.scripts[1].port = remote_port(w.remote);
		script_add(&w.scripts[0], 0, CALL_LAUNCH)->duration_s = 1000 * US;
		script_add(&w.scripts[0], 0, CALL_STREAM_SYNCHRONIZE);
		script_add(&w.scripts[1], 200, CALL_MALLOC);
		remote_world_run(&w);
		int64_t took_ps = script_took_ps(&w, 1, 0);
		if (shared)
			CHECK(took_ps > ps_from_s(800 * US) && took_ps < ps_from_s(950 * US));
		else
			CHECK_US(took_ps, 76.9);
		remote_world_release(&w);
	}
}

/* A context takes 200,000 to create. A server that has one answers in the client, after 0.25. The
 * process that makes a context sets up a session of its own, for 1000. */
static void warm_server_saves_the_creation_of_a_context(void)
{
	for (int i = 0; i < 4; i++) {
		bool warm = i % 2, session = i / 2;
		struct remote_world w;
		remote_world_presets(&w, "synchronous");
		w.runtime.session_s = session ? 1000 * US : 0;
		w.world.driver_params.context_s = 0.2;
		w.runtime.warm_context = warm;
		remote_world_build(&w);
		script_add(&w.scripts[0], 0, CALL_CREATE_CONTEXT);
		remote_world_run(&w);
		CHECK_US(script_took_ps(&w, 0, 0), (warm ? 0.25 : 200026.9) + (session ? 1000 : 0));
		remote_world_release(&w);
	}
}

static void program_begins_when_its_session_is_set_up(void)
{
	struct remote_world w;
	remote_world_presets(&w, "synchronous");
	w.runtime.session_s = 0.2;
	remote_world_build(&w);
	script_add(&w.scripts[0], 0, CALL_GET_DEVICE);
	remote_world_run(&w);
	CHECK_US(w.scripts[0].calls[0].issue_ps, 200000);
	remote_world_release(&w);
}

/* Threads 0, 1 and 2 have 1, 2 and 3 launches in the batches of their connections. */
static void batches_of_all_connections_count(void)
{
	struct remote_world w;
	remote_world_presets(&w, "asynchronous");
	w.runtime.connections_count = 3;
	w.runtime.batch_count = w.runtime.batch_wait_s = 0;
	remote_world_build(&w);
	for (size_t i = 0; i < 3; i++)
		for (size_t k = 0; k <= i; k++)
			script_add(&w.scripts[i], 0, CALL_LAUNCH);
	remote_world_run(&w);
	CHECK(remote_batched_count(w.remote) == 6);
	remote_world_release(&w);
}

/* The server gets only the first message of each connection, so the second calls of threads 0 and 1
 * have no answer. */
static void unanswered_calls_of_all_connections_count(void)
{
	struct remote_world w;
	remote_world_presets(&w, "synchronous");
	w.runtime.connections_count = 3;
	w.runtime.call_timeout_s = 0;
	w.line.deaf_after_count = 1;
	remote_world_build(&w);
	for (size_t i = 0; i < 5; i++)
		script_add(&w.scripts[i % 3], 0, CALL_MALLOC);
	remote_world_run(&w);
	const char *text = remote_waiting(w.remote, w.remote_arena), *wanted = "2 calls without";
	CHECK(strncmp(text, wanted, strlen(wanted)) == 0);
	remote_world_release(&w);
}

/* Threads beyond the number of connections use them in turn, and have cores of their own: threads 1
 * and 3 share the second of two connections, which a call holds until it returns. So the second
 * allocation takes twice as long, unless it is that of thread 2. */
static void further_threads_use_the_connections_in_turn(void)
{
	for (unsigned thread = 2; thread <= 3; thread++) {
		struct remote_world w;
		remote_world_presets(&w, "synchronous");
		w.runtime.connections_count = 2;
		w.runtime.exclusive = true;
		remote_world_build(&w);
		w.scripts[2].thread = thread;
		script_add(&w.scripts[1], 0, CALL_MALLOC);
		script_add(&w.scripts[2], 1000, CALL_MALLOC);
		script_add(&w.scripts[1], 1000 - 76.9, CALL_MALLOC);
		remote_world_run(&w);
		int64_t later_ps = w.scripts[2].calls[0].complete_ps;
		if (w.scripts[1].calls[1].complete_ps > later_ps)
			later_ps = w.scripts[1].calls[1].complete_ps;
		CHECK_US(later_ps, thread == 3 ? 1000 + 2 * 76.9 : 1000 + 76.9);
		struct cuda_port *port = remote_port(w.remote);
		CHECK(port->core(port, 0) && port->core(port, 1));
		CHECK(port->core(port, 0) != port->core(port, 1));
		CHECK(!port->core(port, 2) && !port->core(port, 3));
		remote_world_release(&w);
	}
}

/* One thread serves three connections. Their allocations arrive in the order 2, 0, 1 while it
 * serves a call, and are answered in that order. */
static void shared_thread_serves_connections_in_order_of_arrival(void)
{
	struct remote_world w;
	remote_world_presets(&w, "synchronous");
	w.runtime.shared_thread = true;
	w.runtime.connections_count = 3;
	remote_world_build(&w);
	script_add(&w.scripts[0], 0, CALL_MALLOC);
	script_add(&w.scripts[2], 10, CALL_MALLOC);
	script_add(&w.scripts[1], 20, CALL_MALLOC);
	remote_world_run(&w);
	const int64_t ends[] = {w.scripts[0].calls[0].complete_ps,
				w.scripts[2].calls[0].complete_ps,
				w.scripts[1].calls[0].complete_ps};
	CHECK(ends[0] < ends[1] && ends[1] < ends[2]);
	CHECK(ends[1] - ends[0] == ends[2] - ends[1]);
	remote_world_release(&w);
}

/* Requests without an answer are activity, too: launches every 60 leave no idle time of 100 between
 * them. The last one is sent at 240 (and its marshalling), so one probe follows until 400. */
static void requests_without_an_answer_delay_keep_alive_probes(void)
{
	struct remote_world w;
	remote_world_presets(&w, "asynchronous");
	w.runtime.keep_alive_s = 100 * US;
	remote_world_build(&w);
	for (int i = 0; i < 4; i++)
		script_add(&w.scripts[0], 60 - (i > 0 ? 1.35 : 0), CALL_LAUNCH);
	engine_at(w.world.engine, ps_from_s(400 * US), stop, w.world.engine, 0);
	remote_connect(w.remote, remote_world_begin, &w, 0);
	CHECK(engine_run(w.world.engine) == ENGINE_STOPPED);
	CHECK(remote_counters(w.remote).messages_count == 4 + 2); /* the probe and its answer */
	remote_world_release(&w);
}

static const struct test tests[] = {
	TEST(calls_above_the_replaced_interface_stay_in_the_client),
	TEST(batch_without_a_limit_leaves_with_the_call_that_waits),
	TEST(copies_that_are_answered_join_no_batch),
	TEST(batches_of_all_connections_count),
	TEST(unanswered_calls_of_all_connections_count),
	TEST(each_byte_of_a_copy_costs_its_sender_and_its_receiver),
	TEST(small_bodies_are_not_compressed),
	TEST(only_runtimes_that_compress_use_the_content),
	TEST(further_threads_are_woken_one_after_the_other),
	TEST(copies_cost_less_in_caches_and_more_in_new_memory),
	TEST(completed_events_are_known_until_they_are_recorded_again),
	TEST(answer_about_an_earlier_record_is_not_kept),
	TEST(waits_for_events_are_kept),
	TEST(one_completed_event_says_nothing_about_another),
	TEST(shared_thread_of_a_server_delays_other_clients),
	TEST(warm_server_saves_the_creation_of_a_context),
	TEST(program_begins_when_its_session_is_set_up),
	TEST(further_threads_use_the_connections_in_turn),
	TEST(shared_thread_serves_connections_in_order_of_arrival),
	TEST(requests_without_an_answer_delay_keep_alive_probes),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
