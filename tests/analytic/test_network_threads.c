/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads that handle each packet beside the kernel: the process of an overlay (flannel's udp back
 * end) and the host's network thread of a virtio NIC (vhost). Each has one core at the reference
 * clock for both directions.
 *
 * The wire has 1 GB/s, so one packet of 1500 B with 1448 B of data takes 1.5 us in each direction.
 * A thread that works 10 us for a packet passes 144.8 MB/s. */
#include "sim/transport/tcp.h"
#include "tests/net.h"

static const double SIZE_B = 1448e4; /* 10,000 packets */

static struct net *world(struct tcp_params *params)
{
	struct net *net = net_new();
	net->link.packet_payload_B = 1500;
	net->host_params.dram_bandwidth_Bps = 1e14;
	net->host_params.copy_rate_Bps = 1e15;
	net_presets(net->arena, transport_kind_find("tcp")->table, params);
	params->initial_window_count = 1e5; /* the window does not limit */
	params->relay_packet_s = 10e-6;
	return net;
}

/* Virtual machines with a virtio NIC, at both ends. */
static void make_virtual(struct net *net, double packet_s, bool offload)
{
	for (int i = 0; i < 2; i++) {
		net->guest_params[i].kind = GUEST_VM;
		net->guest_params[i].vnic = VNIC_VIRTIO;
		net->guest_params[i].vnic_thread_packet_s = packet_s;
		net->guest_params[i].offload = offload;
	}
}

static void open(struct net *net, const struct tcp_params *params)
{
	net_build(net);
	net_connect(net, "tcp", params);
	net_run(net);
}

/* Seconds until SIZE_B are delivered in one direction, or in both at the same time. Frees the
 * world. */
static double taken_s(struct net *net, bool both)
{
	double start_s = net_now_s(net);
	net_send(net, 0, SIZE_B, 0);
	if (both)
		net_send(net, 1, SIZE_B, 1);
	net_run(net);
	double end_s = net->delivered_s[0];
	if (both)
		CHECK_NEAR(net->delivered_s[1], end_s, 1e-3);
	net_free(net);
	return end_s - start_s;
}

static void relay_passes_packets_of_both_directions_in_turn(void)
{
	struct tcp_params params;
	struct net *net = world(&params);
	open(net, &params);
	CHECK_NEAR(taken_s(net, false), 10000 * 1.5e-6, 1e-3); /* without a relay */
	net = world(&params);
	params.relay = true;
	open(net, &params);
	CHECK_NEAR(taken_s(net, false), 10000 * 10e-6, 1e-3);
	net = world(&params);
	params.relay = true;
	open(net, &params);
	CHECK_NEAR(taken_s(net, true), 10000 * 2 * 10e-6, 1e-3);
}

/* 1 us for a packet is hidden behind 1.5 us of wire, but 2 us for one of each direction are not.
 */
static void relay_that_keeps_up_with_one_direction_limits_two(void)
{
	struct tcp_params params;
	for (int both = 0; both < 2; both++) {
		struct net *net = world(&params);
		params.relay = true;
		params.relay_packet_s = 1e-6;
		open(net, &params);
		CHECK_NEAR(taken_s(net, both), 10000 * (both ? 2e-6 : 1.5e-6), 1e-3);
	}
}

/* A short message waits for the work at both ends: 10 + 10 us, and 1.052 us on the wire. */
static void short_message_waits_for_the_relay_at_both_ends(void)
{
	struct tcp_params params;
	struct net *net = world(&params);
	params.relay = true;
	open(net, &params);
	double start_s = net_now_s(net);
	net_send(net, 0, 1000, 0);
	net_run(net);
	CHECK_NEAR(net->delivered_s[0] - start_s, 21.052e-6, 1e-6);
	/* Three packets are handled one by one, without offload: 3 x 20 us and 4.5 us. */
	start_s = net_now_s(net);
	net_send(net, 0, 3 * 1448, 1);
	net_run(net);
	CHECK_NEAR(net->delivered_s[1] - start_s, 64.5e-6, 1e-6);
	net_free(net);
}

/* An overlay in the kernel adds 0.5 us for each packet at both ends, and 50 B: 3 packets of 1398 B
 * of data, so that 1.5 us for each packet on the wire. Work for received bytes is the receiver's.
 */
static void overlay_and_decoding_are_work_at_their_ends(void)
{
	struct tcp_params params;
	struct net *net = world(&params);
	params.encapsulation_B = 50;
	open(net, &params);
	double start_s = net_now_s(net);
	net_send(net, 0, 3 * 1398, 0);
	net_run(net);
	CHECK_NEAR(net->delivered_s[0] - start_s, (3 * 0.5 + 3 * 1.5 + 3 * 0.5) * 1e-6, 1e-6);
	net_free(net);
	for (int from = 0; from < 2; from++) {
		net = world(&params);
		params.receive_byte_spB = 10e-9;
		open(net, &params);
		start_s = net_now_s(net);
		net_send(net, from, SIZE_B, 0);
		net_run(net);
		CHECK_NEAR(net->delivered_s[0] - start_s, SIZE_B * 10e-9, 1e-3);
		for (int end = 0; end < 2; end++)
			CHECK_NEAR(fabric_carried(net->fabric, cpu_resource(net->core[end])),
				   end == from ? 0 : SIZE_B * 10e-9, 1e-9);
		start_s = net_now_s(net); /* 10 us for 1000 B, and 1052 B on the wire */
		net_send(net, from, 1000, 1);
		net_run(net);
		CHECK_NEAR(net->delivered_s[1] - start_s, 11.052e-6, 1e-6);
		net_free(net);
	}
}

/* Two connections share a wire. The one with three streams has three quarters of it, and ends when
 * the other has sent a third: at 4/3 of the time of one. */
static void streams_count_as_flows_of_their_own(void)
{
	struct tcp_params many, one;
	struct net *net = world(&many);
	one = many;
	many.streams_count = 3;
	open(net, &many);
	struct connection *first = net->connection;
	net_connect(net, "tcp", &one);
	net_run(net);
	double start_s = net_now_s(net);
	net_send(net, 0, SIZE_B, 0);
	net->connection = first;
	net_send(net, 0, SIZE_B, 1);
	net_run(net);
	CHECK_NEAR(net->delivered_s[1] - start_s, 4.0 / 3 * 10000 * 1.5e-6, 1e-3);
	CHECK_NEAR(net->delivered_s[0] - start_s, 2 * 10000 * 1.5e-6, 1e-3);
	net_free(net);
}

/* Packets inside a host do not pass the relay: both guests are on one node without a link. */
static void relay_is_not_on_the_way_inside_a_host(void)
{
	struct tcp_params params;
	struct net *net = world(&params);
	net->one_node = true;
	params.relay = true;
	params.relay_packet_s = 1;
	open(net, &params);
	CHECK(taken_s(net, false) < 1);
}

/* At each end a byte passes memory three times: twice in the copy and once to or from the NIC. The
 * memory carries 100 MB/s, of one end, or of both ends of the same host. */
static void memory_carries_three_bytes_for_each_at_both_ends(void)
{
	struct tcp_params params;
	for (int same = 0; same < 2; same++) {
		struct net *net = world(&params);
		net->one_node = same;
		net->host_params.dram_bandwidth_Bps = same ? 600e6 : 300e6;
		open(net, &params);
		CHECK_NEAR(taken_s(net, false), SIZE_B / 100e6, 1e-3);
	}
}

static void network_thread_of_virtio_serves_both_directions(void)
{
	struct tcp_params params;
	for (int both = 0; both < 2; both++) {
		struct net *net = world(&params);
		make_virtual(net, 10e-6, false);
		open(net, &params);
		CHECK_NEAR(taken_s(net, both), 10000 * (both ? 20e-6 : 10e-6), 1e-3);
	}
}

/* A short message waits for the thread's work on each packet at both ends, and 1.5 us on the wire
 * for each packet. An end without a virtual NIC has no thread, and inside a host no packet passes
 * one. */
static void short_message_waits_for_the_threads_of_virtio(void)
{
	static const double taken_s[] = {64.5e-6, 34.5e-6, 34.5e-6, 0};
	for (int without = 0; without < 4; without++) {
		struct tcp_params params;
		struct net *net = world(&params);
		make_virtual(net, 10e-6, false);
		if (without == 1 || without == 2)
			net->guest_params[without - 1].vnic = VNIC_NONE;
		net->one_node = without == 3;
		open(net, &params);
		double start_s = net_now_s(net);
		net_send(net, 0, 3 * 1448, 0);
		net_run(net);
		CHECK_NEAR(net->delivered_s[0] - start_s, taken_s[without], 1e-6);
		net_free(net);
	}
}

/* The thread runs beside the guest's only core, which works 5 us for a packet at the same time. */
static void network_thread_of_virtio_has_its_own_core(void)
{
	struct tcp_params params;
	struct net *net = world(&params);
	make_virtual(net, 10e-6, false);
	for (int i = 0; i < 2; i++) {
		net->guest_params[i].vcpus_count = 1;
		net->guest_params[i].packet_s = 5e-6;
	}
	open(net, &params);
	CHECK_NEAR(taken_s(net, false), 10000 * 10e-6, 1e-3);
}

/* Long messages inside a host pass no thread, either. */
static void network_thread_of_virtio_is_not_on_the_way_inside_a_host(void)
{
	struct tcp_params params;
	struct net *net = world(&params);
	make_virtual(net, 1, false);
	net->one_node = true;
	open(net, &params);
	CHECK(taken_s(net, false) < 1);
}

/* With offload, a packet of 64 KiB costs as much as a small one, and the wire limits. */
static void network_thread_of_virtio_handles_packets_of_64_KiB_with_offload(void)
{
	struct tcp_params params;
	struct net *net = world(&params);
	make_virtual(net, 10e-6, true);
	open(net, &params);
	CHECK_NEAR(taken_s(net, false), 10000 * 1.5e-6, 1e-3);
}

/* Copying at 100 MB/s between guest and host is slower than the wire, whatever the packets. */
static void network_thread_of_virtio_copies_each_byte(void)
{
	struct tcp_params params;
	struct net *net = world(&params);
	net->host_params.copy_rate_Bps = 100e6;
	make_virtual(net, 0, true);
	open(net, &params);
	CHECK_NEAR(taken_s(net, false), SIZE_B / 100e6, 1e-3);
}

int main(void)
{
	static const struct test tests[] = {
		TEST(relay_passes_packets_of_both_directions_in_turn),
		TEST(relay_that_keeps_up_with_one_direction_limits_two),
		TEST(short_message_waits_for_the_relay_at_both_ends),
		TEST(overlay_and_decoding_are_work_at_their_ends),
		TEST(streams_count_as_flows_of_their_own),
		TEST(relay_is_not_on_the_way_inside_a_host),
		TEST(memory_carries_three_bytes_for_each_at_both_ends),
		TEST(network_thread_of_virtio_serves_both_directions),
		TEST(short_message_waits_for_the_threads_of_virtio),
		TEST(network_thread_of_virtio_has_its_own_core),
		TEST(network_thread_of_virtio_handles_packets_of_64_KiB_with_offload),
		TEST(network_thread_of_virtio_copies_each_byte),
		TEST(network_thread_of_virtio_is_not_on_the_way_inside_a_host),
	};
	num_init();
	return TEST_MAIN(tests);
}
