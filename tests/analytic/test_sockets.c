/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sockets and threads that NCCL gives a connection on the adapters of clouds, with times derived by
 * hand. Two machines with one GPU each are connected by Ethernet of 1 TB/s. One of them broadcasts
 * 400 MB. Windows and buffers are large, so that only the stated limits count. */
#include "sim/transport/tcp.h"
#include "tests/comm_world.h"

#define SIZE_B 400e6

static void begin(void *ctx, uint64_t arg)
{
	struct comm_world *w = ctx;
	comm_opened(w, 0);
	comm_all(w, w->comm, COLLECTIVE_BROADCAST, SIZE_B, 0);
}

/* Time of the broadcast over adapters of a cloud. flow_Bps: limit of one stream; byte_spB: work of
 * a core for each byte; 0: none. threads, sockets: those of the library's parameters; 0: as NCCL.
 */
static double broadcast_s(enum link_provider provider, double flow_Bps, double byte_spB,
			  double threads, double sockets)
{
	struct comm_world *w = comm_world_new();
	const struct link_traits traits = {
		.capacity_Bps = {1e12, 1e12}, .flow_Bps = flow_Bps, .provider = (int)provider};
	w->transport = "tcp";
	net_presets(w->arena, transport_kind_find("tcp")->table, w->transport_params);
	struct tcp_params *tcp = (struct tcp_params *)w->transport_params;
	tcp->send_buffer_B = tcp->receive_buffer_B = 1e9;
	tcp->initial_window_count = 1e6;
	w->guest_params.byte_spB = byte_spB;
	w->library.socket_threads_count = threads;
	w->library.socket_sockets_count = sockets;
	w->host_params.cores_count = 32;
	fabric_node_add(w->fabric, "switch");
	for (size_t i = 0; i < 2; i++) {
		size_t host = comm_host(w), gpu = comm_gpu(w, host);
		const char *memory = host_name(w->hosts[host]);
		comm_link(w, "pcie", gpu_name(w->gpus[gpu]), memory, 1e15, 0);
		comm_link(w, "pcie", guest_name(w->guests[host]), memory, 1e15, 0);
		fabric_link_add(w->fabric, arena_printf(w->arena, "port %zu", i),
				link_kind_find("ethernet"), guest_node(w->guests[host]),
				fabric_node_find(w->fabric, "switch"), &traits);
	}
	w->comm = comm_make(w, "job");
	communicator_open(w->comm, begin, w, 0);
	comm_run(w);
	CHECK(!w->reason);
	double time_s = s_from_ps(w->done_ps[0]) - w->opened_s;
	arena_free(w->arena);
	return time_s;
}

/* NCCL opens 1 x 1 sockets, 2 x 8 on AWS and 4 x 1 on Google (src/transport/net_socket.cc). A cloud
 * limits each of them to 0.1 GB/s. */
static void each_socket_of_a_cloud_has_its_own_limit(void)
{
	static const double sockets[PROVIDER_COUNT] = {1, 16, 4};
	for (int p = 0; p < PROVIDER_COUNT; p++) {
		enum link_provider provider = (enum link_provider)p;
		CHECK_NEAR(broadcast_s(provider, 0.1e9, 0, 0, 0), SIZE_B / 0.1e9 / sockets[p],
			   1e-3);
		CHECK_NEAR(broadcast_s(provider, 0.1e9, 0, 3, 5), SIZE_B / 0.1e9 / 15, 1e-3);
	}
}

/* A thread works on a core, for 1 ns on each byte, however many sockets it has. */
static void each_thread_of_a_connection_has_its_own_core(void)
{
	static const double threads[PROVIDER_COUNT] = {1, 2, 4};
	for (int p = 0; p < PROVIDER_COUNT; p++) {
		enum link_provider provider = (enum link_provider)p;
		CHECK_NEAR(broadcast_s(provider, 0, 1e-9, 0, 0), SIZE_B * 1e-9 / threads[p], 1e-3);
		CHECK_NEAR(broadcast_s(provider, 0, 1e-9, 3, 5), SIZE_B * 1e-9 / 3, 1e-3);
	}
}

int main(void)
{
	static const struct test tests[] = {
		TEST(each_socket_of_a_cloud_has_its_own_limit),
		TEST(each_thread_of_a_connection_has_its_own_core),
	};
	return TEST_MAIN(tests);
}
