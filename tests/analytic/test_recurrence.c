/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One client whose calls never queue follows the recurrence that Wang et al.
 * (arXiv 2401.13354) give for remoted calls:
 *
 *   issue_i    = complete_{i-1} + gap_i
 *   start_i    = max(start_{i-1}, issue_i + ser_i) + forward_i
 *   end_i      = start_i + deser_i + work_i
 *                or, if blocking, max(that, GPU queue) + block_i
 *   complete_i = issue_i (local), issue_i + ser_i (async), end_i + backward_i (sync)
 *
 * The recurrence has no queueing and no contention. The simulation has both, so two clients on
 * one GPU take longer than the recurrence says. */
#include <stdlib.h>

#include "sim/base/num.h"
#include "tests/remoting_world.h"

#define TOLERANCE_PS 2

/* Terms of the recurrence in picoseconds, from the parameters of the world. */
struct terms {
	int64_t serialise, forward, deserialise, work, block, backward;
};

static double driver_work_s(const struct driver_params *driver, enum call_kind kind)
{
	switch (kind) {
	case CALL_LAUNCH:
		return driver->launch_s;
	case CALL_EVENT_RECORD:
		return driver->record_s;
	case CALL_MALLOC:
		return driver->malloc_s;
	case CALL_EVENT_QUERY:
		return driver->query_s;
	case CALL_GET_DEVICE:
	case CALL_SET_DEVICE:
	case CALL_GET_LAST_ERROR:
	case CALL_IS_CAPTURING:
	case CALL_GET_ATTRIBUTE:
		return driver->get_s;
	default:
		return driver->synchronize_s;
	}
}

static bool is_answered(enum call_class class)
{
	return class == CLASS_SYNC || class == CLASS_DRAINING || class == CLASS_POLL;
}

static struct terms terms_of(const struct remote_world *w, const struct cuda_call *call,
			     enum call_class class)
{
	const struct runtime_params *r = &w->runtime;
	double argument_B = (double)call->arguments_B;
	double service_s = is_answered(class) ? r->handoff_s : 0;
	return (struct terms){
		.serialise = ps_from_s(r->marshal_s + r->marshal_byte_spB * argument_B +
				       (r->request_header_B + argument_B) / w->line.rate_Bps),
		.forward = ps_from_s(w->line.latency_s),
		.deserialise = ps_from_s(r->unmarshal_s + service_s),
		.work = ps_from_s(driver_work_s(&w->world.driver_params, call->kind)),
		.block = ps_from_s(w->world.driver_params.sync_wake_s),
		.backward = ps_from_s(r->reply_header_B / w->line.rate_Bps + w->line.latency_s +
				      r->reply_s),
	};
}

/* Checks each call of a script that has run. Returns how much later than in the recurrence the last
 * call returned. */
static int64_t check_recurrence(const struct remote_world *w, const struct script *script,
				bool equal)
{
	const struct policy *policy = policy_at((size_t)w->runtime.policy);
	int64_t complete = script->calls[0].issue_ps - ps_from_s(script->calls[0].gap_us * US);
	int64_t start = 0, gpu_free = 0, late = 0;
	for (size_t i = 0; i < script->count; i++) {
		const struct script_call *entry = &script->calls[i];
		enum call_class class = policy->classify(&w->runtime, &entry->call);
		struct terms t = terms_of(w, &entry->call, class);
		int64_t issue = complete + ps_from_s(entry->gap_us * US);
		complete = issue;
		if (class != CLASS_LOCAL) {
			int64_t sent = issue + t.serialise;
			start = (start > sent ? start : sent) + t.forward;
			int64_t end = start + t.deserialise + t.work;
			if (class == CLASS_DRAINING && gpu_free > end)
				end = gpu_free + t.block;
			if (entry->call.kind == CALL_LAUNCH)
				gpu_free = (gpu_free > end ? gpu_free : end) +
					   ps_from_s(entry->call.duration_s);
			complete = is_answered(class) ? end + t.backward : sent;
		}
		late = entry->complete_ps - complete;
		if (equal)
			CHECK(llabs(late) <= TOLERANCE_PS);
	}
	return late;
}

/* Calls cost nothing to intercept, because the recurrence counts this in the gap. The GPU starts
 * immediately. */
static void presets(struct remote_world *w, const char *policy)
{
	remote_world_presets(w, policy);
	w->runtime.intercept_s = 0;
	w->runtime.marshal_byte_spB = 0.3e-9;
	w->world.gpu_params.launch_latency_s = 0;
	w->world.gpu_params.kernel_gap_s = 0;
}

static void launch(struct script *script, double gap_us, double duration_us, float argument_B)
{
	struct cuda_call *call = script_add(script, gap_us, CALL_LAUNCH);
	call->duration_s = duration_us * US;
	call->arguments_B = argument_B;
}

static void run_and_check(struct remote_world *w)
{
	remote_world_run(w);
	CHECK(check_recurrence(w, &w->scripts[0], true) <= TOLERANCE_PS);
	remote_world_release(w);
}

static void asynchronous_calls_follow_the_recurrence(void)
{
	struct remote_world w;
	presets(&w, "asynchronous");
	remote_world_build(&w);
	/* Gaps are longer than the 7 us of a call at the server, so nothing queues there. Kernels
	 * are longer than the gaps, so they queue on the GPU. */
	for (int i = 0; i < 40; i++) {
		launch(&w.scripts[0], 12 + 0.37 * i, 20 + i, (float)(16 * i));
		if (i % 10 == 3)
			script_add(&w.scripts[0], 1.5, CALL_GET_DEVICE);
		if (i % 10 == 9)
			script_add(&w.scripts[0], 12, CALL_STREAM_SYNCHRONIZE);
	}
	run_and_check(&w);
}

static void synchronous_calls_follow_the_recurrence(void)
{
	struct remote_world w;
	presets(&w, "synchronous");
	remote_world_build(&w);
	for (int i = 0; i < 20; i++) {
		launch(&w.scripts[0], 0.125 * i, 3, 200);
		script_add(&w.scripts[0], 0, CALL_GET_DEVICE); /* the server answers this call */
		script_add(&w.scripts[0], 2, CALL_MALLOC);
		script_add(&w.scripts[0], 0.5, CALL_GET_ATTRIBUTE);
		script_add(&w.scripts[0], 0.5, CALL_EVENT_QUERY);
	}
	run_and_check(&w);
}

static void blocking_calls_follow_the_recurrence(void)
{
	struct remote_world w;
	presets(&w, "flexdirect");
	remote_world_build(&w);
	for (int i = 0; i < 20; i++) {
		launch(&w.scripts[0], 1, 100 + 7 * i, 128);
		launch(&w.scripts[0], 1, 250, 128);
		script_add(&w.scripts[0], 3, CALL_GET_DEVICE);
		script_add(&w.scripts[0], 1, CALL_DEVICE_SYNCHRONIZE);
	}
	run_and_check(&w);
}

static void mixed_calls_follow_the_recurrence(void)
{
	struct remote_world w;
	presets(&w, "asynchronous");
	w.runtime.shadow_handles = true;
	w.line.latency_s = 123.456789 * US;
	w.line.rate_Bps = 1.1767e8;
	remote_world_build(&w);
	for (int i = 0; i < 15; i++) {
		launch(&w.scripts[0], 140, 33.3 * i, 77);
		script_add(&w.scripts[0], 140, CALL_EVENT_RECORD);
		if (i % 3 == 0)
			script_add(&w.scripts[0], 140, CALL_MALLOC);
		if (i % 5 == 4) {
			launch(&w.scripts[0], 140, 2000, 77);
			script_add(&w.scripts[0], 140, CALL_STREAM_SYNCHRONIZE);
		}
	}
	run_and_check(&w);
}

/* A second program with its own context, process and connection. */
static struct remote_world *second_client(const struct remote_world *first)
{
	struct remote_world *w = ARENA_NEW(first->world.arena, struct remote_world);
	*w = *first;
	w->world.context = gpu_context_new(w->world.gpu, "second", 1);
	w->process = world_process(&w->world, 4, 8);
	w->line.log = NULL;
	remote_world_client(w);
	for (unsigned i = 0; i < 3; i++) {
		w->scripts[i].port = remote_port(w->remote);
		w->scripts[i].core = guest_core(w->client);
	}
	remote_connect(w->remote, remote_world_begin, w, 0);
	return w;
}

/* Two programs start kernels of 100 us at the same time. Each gets half of the GPU, so each kernel
 * takes 200 us and both calls return 100 us later. */
static void two_clients_on_one_gpu_exceed_the_recurrence(void)
{
	struct remote_world w;
	presets(&w, "asynchronous");
	remote_world_build(&w);
	launch(&w.scripts[0], 0, 100, 128);
	script_add(&w.scripts[0], 12, CALL_STREAM_SYNCHRONIZE);
	struct remote_world *other = second_client(&w);
	remote_world_run(&w);
	CHECK_US(check_recurrence(&w, &w.scripts[0], false), 100);
	CHECK_US(check_recurrence(other, &other->scripts[0], false), 100);
	remote_world_release(&w);
}

/* Both sides have one core. The client marshals A from 0 to 1 and B from 1 to 2. The server
 * unmarshals and serves A from 11.1 to 16.1 and B from 16.1 to 21.1. Then the driver works for A
 * until 71.1 and for B until 121.1. The recurrence gives 66.1 for both. */
static void two_clients_on_one_server_core_exceed_the_recurrence(void)
{
	struct remote_world w;
	presets(&w, "synchronous");
	w.world.guest_params.vcpus_count = 1;
	remote_world_build(&w);
	script_add(&w.scripts[0], 0, CALL_MALLOC);
	struct remote_world *other = second_client(&w); /* A, because it connects first */
	remote_world_run(&w);
	CHECK_US(check_recurrence(other, &other->scripts[0], false), 5);
	CHECK_US(check_recurrence(&w, &w.scripts[0], false), 55);
	remote_world_release(&w);
}

static const struct test tests[] = {
	TEST(asynchronous_calls_follow_the_recurrence),
	TEST(synchronous_calls_follow_the_recurrence),
	TEST(blocking_calls_follow_the_recurrence),
	TEST(mixed_calls_follow_the_recurrence),
	TEST(two_clients_on_one_gpu_exceed_the_recurrence),
	TEST(two_clients_on_one_server_core_exceed_the_recurrence),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
