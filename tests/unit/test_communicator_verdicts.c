/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Impossible or failing communicators report a reason and stop. */
#include "sim/engine/trace.h"
#include "tests/comm_world.h"

static void missing_route_inside_a_host_fails(void)
{
	struct comm_world *w = comm_world_new();
	size_t host = comm_host(w);
	comm_gpu(w, host);
	comm_gpu(w, host);
	CHECK(!comm_make(w, "job"));
	CHECK_TEXT(w->reason, "no route from 'u0' to 'u1' over PCIe or NVLink");
	arena_free(w->arena);
}

static void missing_route_between_hosts_fails(void)
{
	static const char *const transports[] = {"tcp", "rdma"};
	for (size_t i = 0; i < 2; i++) {
		struct comm_world *w = comm_world_new();
		w->transport = transports[i];
		net_presets(w->arena, transport_kind_find(w->transport)->table,
			    w->transport_params);
		for (size_t k = 0; k < 2; k++) {
			size_t host = comm_host(w), gpu = comm_gpu(w, host);
			comm_link(w, "pcie", gpu_name(w->gpus[gpu]), host_name(w->hosts[host]), 1e9,
				  0);
		}
		CHECK(!comm_make(w, "job"));
		CHECK_TEXT(w->reason, i ? "no route from 'u0' to 'u1' over rdma"
					: "no route from 'u0' to 'u1' over tcp");
		arena_free(w->arena);
	}
}

static void refused_algorithm_fails_the_communicator(void)
{
	struct comm_world *w = comm_world_new();
	comm_star(w, 4, 1e9, 0);
	w->library.algorithm = "parameter_server";
	struct communicator *comm = comm_make(w, "job");
	comm_all(w, comm, COLLECTIVE_ALL_REDUCE, 1e6, 0);
	/* possible by itself, but the communicator has failed */
	comm_all(w, comm, COLLECTIVE_ALL_GATHER, 1e6, 1);
	comm_run(w);
	CHECK_TEXT(w->reason, "parameter_server: a parameter server needs at least one server");
	CHECK(w->done_ps[0] == -1 && w->done_ps[1] == -1 && w->rank_done_count[1] == 0);
	arena_free(w->arena);
}

static void failed_connection_fails_the_communicator(void)
{
	const struct link_traits traits = {.capacity_Bps = {1e9, 1e9}, .loss_ratio = {1, 1}};
	struct comm_world *w = comm_world_new();
	w->transport = "tcp";
	net_presets(w->arena, transport_kind_find("tcp")->table, w->transport_params);
	for (size_t i = 0; i < 2; i++) {
		size_t host = comm_host(w), gpu = comm_gpu(w, host);
		comm_link(w, "pcie", gpu_name(w->gpus[gpu]), host_name(w->hosts[host]), 1e9, 0);
	}
	fabric_link_add(w->fabric, "cable", link_kind_find("ethernet"), guest_node(w->guests[0]),
			guest_node(w->guests[1]), &traits);
	struct communicator *comm = comm_make(w, "job");
	communicator_open(comm, comm_opened, w, 0);
	comm_run(w);
	CHECK(w->reason && strstr(w->reason, "connect"));
	CHECK(w->opened_s < 0);
	arena_free(w->arena);
}

/* A communicator without connections opens at once; a single rank has nothing to exchange. */
static void single_rank_is_done_when_it_arrives(void)
{
	struct comm_world *w = comm_world_new();
	comm_star(w, 1, 1e9, 0);
	comm_world_latencies(&w->library)->base_s[0][PROTOCOL_SIMPLE] = 3e-6;
	struct communicator *comm = comm_make(w, "job");
	communicator_open(comm, comm_opened, w, 0);
	comm_all(w, comm, COLLECTIVE_ALL_REDUCE, 1e6, 0);
	comm_run(w);
	CHECK(w->opened_s == 0);
	CHECK(w->done_ps[0] == 3000000);
	CHECK(communicator_counters(comm)->sends_count == 0);
	arena_free(w->arena);
}

static void choice_text_names_algorithm_protocol_and_channels(void)
{
	struct comm_world *w = comm_world_new();
	comm_star(w, 4, 1e9, 0);
	struct communicator *comm = comm_make(w, "job");
	CHECK_TEXT(communicator_choice_text(comm, COLLECTIVE_ALL_REDUCE, 1e6),
		   "ring, Simple, 1 channel");
	w->library.channels_count = 16;
	w->library.protocol = CHOOSE_LL;
	CHECK_TEXT(communicator_choice_text(comm, COLLECTIVE_ALL_REDUCE, 1e6),
		   "ring, LL, 16 channels");
	w->library.algorithm = "nvls"; /* there is no NVSwitch */
	CHECK_TEXT(communicator_choice_text(comm, COLLECTIVE_ALL_REDUCE, 1e6),
		   "ring (these ranks cannot use nvls), LL, 16 channels");
	arena_free(w->arena);
}

static void each_rank_has_spans_in_the_trace(void)
{
	struct comm_world *w = comm_world_new();
	struct trace *trace = trace_new(w->arena);
	engine_trace_set(w->engine, trace);
	comm_star(w, 2, 1e9, 0);
	struct communicator *comm = comm_make(w, "job");
	comm_all(w, comm, COLLECTIVE_ALL_REDUCE, 2e6, 0);
	comm_all(w, comm, COLLECTIVE_ALL_REDUCE, 2e6, 1);
	comm_run(w);
	CHECK(trace_track_count(trace) == 2 && trace_span_count(trace) == 4);
	CHECK_TEXT(trace_track_group(trace, 0), "job");
	CHECK_TEXT(trace_track_name(trace, 0), "rank 0");
	const struct span *last = trace_span_at(trace, 3);
	CHECK_TEXT(last->name, "all_reduce, ring, Simple, 1 channel");
	CHECK(last->start_ps == w->done_ps[0] && last->end_ps == w->done_ps[1]);
	arena_free(w->arena);
}

static void repeated_steps_allocate_nothing(void)
{
	struct comm_world *w = comm_world_new();
	comm_star(w, 8, 1e9, 1e-6);
	struct communicator *comm = comm_make(w, "job");
	size_t used_B = 0;
	for (uint64_t i = 0; i < 40; i++) {
		if (i == 20)
			used_B = arena_used_B(w->arena);
		comm_all(w, comm, COLLECTIVE_ALL_REDUCE, 1e6 + 1e3 * (double)i, i);
		comm_run(w);
	}
	CHECK(arena_used_B(w->arena) == used_B);
	arena_free(w->arena);
}

int main(void)
{
	static const struct test tests[] = {
		TEST(missing_route_inside_a_host_fails),
		TEST(missing_route_between_hosts_fails),
		TEST(refused_algorithm_fails_the_communicator),
		TEST(failed_connection_fails_the_communicator),
		TEST(single_rank_is_done_when_it_arrives),
		TEST(choice_text_names_algorithm_protocol_and_channels),
		TEST(each_rank_has_spans_in_the_trace),
		TEST(repeated_steps_allocate_nothing),
	};
	return TEST_MAIN(tests);
}
