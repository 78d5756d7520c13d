/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Impossible or failing communicators report a reason and stop. */
#include "sim/collective/internal.h"
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
	static const char *const transports[] = {"tcp", "rdma", NULL};
	for (size_t i = 0; i < 3; i++) {
		struct comm_world *w = comm_world_new();
		w->transport = transports[i];
		if (w->transport)
			net_presets(w->arena, transport_kind_find(w->transport)->table,
				    w->transport_params);
		for (size_t k = 0; k < 2; k++) {
			size_t host = comm_host(w), gpu = comm_gpu(w, host);
			comm_link(w, "pcie", gpu_name(w->gpus[gpu]), host_name(w->hosts[host]), 1e9,
				  0);
		}
		CHECK(!comm_make(w, "job"));
		CHECK_TEXT(w->reason, i == 0   ? "no route from 'u0' to 'u1' over tcp"
				      : i == 1 ? "no route from 'u0' to 'u1' over rdma"
					       : "no route from 'u0' to 'u1' over PCIe or NVLink");
		arena_free(w->arena);
	}
}

/* A server without a network link cannot be reached by the only worker. */
static void missing_route_to_a_server_fails(void)
{
	struct comm_world *w = comm_world_new();
	w->transport = "tcp";
	net_presets(w->arena, transport_kind_find("tcp")->table, w->transport_params);
	size_t host = comm_host(w);
	comm_link(w, "pcie", gpu_name(w->gpus[comm_gpu(w, host)]), "h0", 1e9, 0);
	comm_server(w, comm_host(w));
	CHECK(!comm_make(w, "job"));
	CHECK_TEXT(w->reason, "no route from 'u0' to 'g1' over tcp");
	arena_free(w->arena);
}

/* Four hosts at a switch, of which host 0 loses packets. */
static struct communicator *lossy_pairs(struct comm_world *w, double loss_ratio)
{
	w->transport = "tcp";
	net_presets(w->arena, transport_kind_find("tcp")->table, w->transport_params);
	int center = fabric_node_add(w->fabric, "switch");
	for (size_t i = 0; i < 4; i++) {
		const double loss = i == 0 ? loss_ratio : 0;
		const struct link_traits traits = {.capacity_Bps = {1e9, 1e9},
						   .loss_ratio = {loss, loss}};
		size_t host = comm_host(w);
		w->ranks[w->rank_count++] = (struct comm_rank){.guest = w->guests[host]};
		fabric_link_add(w->fabric, arena_printf(w->arena, "port %zu", i),
				link_kind_find("ethernet"), guest_node(w->guests[host]), center,
				&traits);
	}
	return comm_make(w, "job");
}

static void count_failures(void *ctx, const char *reason)
{
	struct comm_world *w = ctx;
	w->reason = reason;
	w->rank_done_count[1]++;
}

static void cut(void *ctx, uint64_t arg)
{
	comm_fail(ctx, "the cable is cut");
}

/* Each of four ranks sends six messages of 1 MB one after the other, in 1 ms each. After a failure
 * at 2.5 ms only the third ones still arrive. After one at 5.5 ms all arrive, but no rank is
 * reported. */
static void failed_communicators_send_and_report_nothing(void)
{
	static const double at_s[] = {2.5e-3, 5.5e-3}, delivered_MB[] = {12, 24};
	for (size_t i = 0; i < 2; i++) {
		struct comm_world *w = comm_world_new();
		comm_star(w, 4, 1e9, 0);
		struct communicator *comm = comm_make(w, "job");
		engine_at(w->engine, ps_from_s(at_s[i]), cut, comm, 0);
		comm_all(w, comm, COLLECTIVE_ALL_REDUCE, 4e6, 0);
		comm_run(w);
		CHECK_TEXT(w->reason, "the cable is cut");
		CHECK_NEAR(communicator_counters(comm)->delivered_B / 1e6, delivered_MB[i], 1e-9);
		CHECK(w->rank_done_count[0] == 0 && w->done_ps[0] == -1);
		arena_free(w->arena);
	}
}

/* Both connections of rank 0 in a ring of four fail. The failure is reported once, and the text for
 * a run that does not end names the connections. */
static void connections_that_do_not_open_are_reported_once(void)
{
	struct comm_world *w = comm_world_new();
	struct communicator *comm = lossy_pairs(w, 1);
	comm->spec.failed = count_failures;
	communicator_open(comm, comm_opened, w, 0);
	CHECK_TEXT(communicator_waiting(comm, w->arena), "4 connections are not open yet");
	comm_run(w);
	CHECK(w->rank_done_count[1] == 1);
	CHECK_TEXT(communicator_waiting(comm, w->arena), "2 connections are not open yet");
	CHECK(w->opened_s < 0);
	arena_free(w->arena);
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

static void servers_have_spans_of_their_own(void)
{
	struct comm_world *w = comm_world_new();
	struct trace *trace = trace_new(w->arena);
	engine_trace_set(w->engine, trace);
	w->library.algorithm = "parameter_server";
	comm_star(w, 2, 1e9, 0);
	comm_link(w, "pcie", "u0", "h0", 1e9, 0);
	comm_link(w, "pcie", "u1", "h0", 1e9, 0);
	for (size_t i = 0; i < 2; i++)
		comm_server(w, 0);
	comm_all(w, comm_make(w, "job"), COLLECTIVE_ALL_REDUCE, 2e6, 0);
	comm_run(w);
	CHECK(trace_track_count(trace) == 4);
	size_t seen[2] = {0};
	for (size_t i = 0; i < 4; i++) {
		seen[0] += strcmp(trace_track_name(trace, i), "server 0") == 0;
		seen[1] += strcmp(trace_track_name(trace, i), "server 1") == 0;
	}
	CHECK(seen[0] == 1 && seen[1] == 1);
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
		TEST(missing_route_to_a_server_fails),
		TEST(connections_that_do_not_open_are_reported_once),
		TEST(failed_communicators_send_and_report_nothing),
		TEST(refused_algorithm_fails_the_communicator),
		TEST(failed_connection_fails_the_communicator),
		TEST(single_rank_is_done_when_it_arrives),
		TEST(choice_text_names_algorithm_protocol_and_channels),
		TEST(each_rank_has_spans_in_the_trace),
		TEST(servers_have_spans_of_their_own),
		TEST(repeated_steps_allocate_nothing),
	};
	return TEST_MAIN(tests);
}
