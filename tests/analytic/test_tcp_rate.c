/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Long messages over TCP: what limits their rate. */
#include "sim/transport/tcp.h"
#include "tests/net.h"

static struct tcp_params tcp_defaults(struct net *net)
{
	struct tcp_params params;
	net_presets(net->arena, transport_kind_find("tcp")->table, &params);
	return params;
}

/* Seconds until size_B from end 0 is delivered, on an opened connection. */
static double transfer_s(struct net *net, double size_B, uint64_t arg)
{
	double start_s = net_now_s(net);
	net_send(net, 0, size_B, arg);
	net_run(net);
	return net->delivered_s[arg] - start_s;
}

static void open(struct net *net, const struct tcp_params *params)
{
	net_build(net);
	net_connect(net, "tcp", params);
	net_run(net);
}

/* 1 Gbit/s, MTU 1500: 1448 of every 1538 B on the wire are payload: 0.941.
 * Ten segments in 50 us are 290 MB/s, so the window does not bind. */
static void gigabit_goodput(void)
{
	struct net *net = net_new();
	net->link = (struct link_traits){.capacity_Bps = {125e6, 125e6},
					 .latency_s = 25e-6,
					 .packet_payload_B = 1500,
					 .packet_overhead_B = 38};
	struct tcp_params params = tcp_defaults(net);
	open(net, &params);
	double size_B = 1448 * 10000;
	double rate = size_B / (transfer_s(net, size_B, 0) - 25e-6);
	CHECK_NEAR(rate, 125e6 * 1448 / 1538, 1e-6);
	CHECK_NEAR(rate * 8 / 1e9, 0.9415, 1e-4);
	net_free(net);
}

/* 64 KiB in 10 ms: 6.55 MB/s, whatever the wire; four streams carry four times
 * that. */
static void window_over_round_trip(void)
{
	for (int streams = 1; streams <= 4; streams += 3) {
		struct net *net = net_new();
		net->link.latency_s = 5e-3;
		struct tcp_params params = tcp_defaults(net);
		params.receive_buffer_B = 65536;
		params.initial_window_count = 1000;
		params.streams_count = streams;
		open(net, &params);
		double rate = 6553600 / (transfer_s(net, 6553600, 0) - 5e-3);
		CHECK_NEAR(rate, 6.5536e6 * streams, 1e-3);
		net_free(net);
	}
}

/* Ten segments of 1448 B in the first round trip of 10 ms, then 20, then 40:
 * 101360 B take three of them, and the last byte 5 ms more. */
static void slow_start_doubles(void)
{
	struct net *net = net_new();
	net->link.latency_s = 5e-3;
	net->link.packet_payload_B = 1500;
	struct tcp_params params = tcp_defaults(net);
	open(net, &params);
	CHECK_NEAR(transfer_s(net, 70 * 1448, 0), 35e-3, 1e-6);
	/* At once again: 40 in the first round trip, 60 of 80 in the second. */
	CHECK_NEAR(transfer_s(net, 100 * 1448, 1), 22.5e-3, 1e-6);
	net_free(net);
}

static void send_later(void *ctx, uint64_t arg)
{
	net_send(ctx, 0, 70 * 1448, arg);
}

/* Idle for longer than the retransmission timeout: slow start again. Sooner:
 * 40 in the first round trip, 30 of 80 in the second. */
static void idle_forgets_the_window(void)
{
	for (int idle = 0; idle < 2; idle++) {
		struct net *net = net_new();
		net->link.latency_s = 5e-3;
		net->link.packet_payload_B = 1500;
		struct tcp_params params = tcp_defaults(net);
		open(net, &params);
		transfer_s(net, 70 * 1448, 0);
		double at_s = net_now_s(net) + (idle ? 0.3 : 0.1);
		engine_at(net->engine, ps_from_s(at_s), send_later, net, 1);
		net_run(net);
		double taken_s = net->delivered_s[1] - at_s;
		CHECK_NEAR(taken_s, idle ? 35e-3 : 18.75e-3, 1e-6);
		net_free(net);
	}
}

/* A thousand bytes each, fourteen fit the first window of 14480 B: the
 * fifteenth leaves when the first is acknowledged, a round trip later. */
static void window_holds_short_messages(void)
{
	struct net *net = net_new();
	net->link.latency_s = 5e-3;
	net->link.packet_payload_B = 1500;
	struct tcp_params params = tcp_defaults(net);
	open(net, &params);
	double start_s = net_now_s(net);
	for (uint64_t i = 0; i < 40; i++)
		net_send(net, 0, 1000, i);
	net_run(net);
	CHECK_NEAR(net->delivered_s[13] - start_s, 5e-3, 1e-2);
	CHECK_NEAR(net->delivered_s[14] - start_s, 15e-3, 1e-2);
	/* Acknowledged bytes have widened it: the rest fits. */
	CHECK_NEAR(net->delivered_s[39] - start_s, 15e-3, 1e-2);
	net_free(net);
}

/* 1 ns/B at either end, one core each: 1 GB/s on a wire of 10; on half the
 * clock half of it; with both ends on one core half again. */
static void cores_bind(void)
{
	for (int which = 0; which < 3; which++) {
		struct net *net = net_new();
		net->link.capacity_Bps[0] = net->link.capacity_Bps[1] = 1e10;
		net->guest_params[0].byte_spB = net->guest_params[1].byte_spB = 1e-9;
		if (which >= 1)
			net->host_params.clock_Hz = REFERENCE_CLOCK_HZ / 2;
		net->one_node = which == 2;
		if (which == 2)
			net->host_params.cores_count = 1;
		struct tcp_params params = tcp_defaults(net);
		open(net, &params);
		static const double expected[] = {1e9, 5e8, 2.5e8};
		CHECK_NEAR(1e8 / transfer_s(net, 1e8, 0), expected[which], 1e-6);
		net_free(net);
	}
}

/* Two cores, 1 ns/B: three other threads that each want a whole core leave a
 * connection, which alone moves 1 GB/s, a fourth part of the two. */
static void busy_cores_bind(void)
{
	for (int busy = 0; busy < 2; busy++) {
		struct net *net = net_new();
		net->link.capacity_Bps[0] = net->link.capacity_Bps[1] = 1e10;
		net->guest_params[1].byte_spB = 1e-9;
		net->host_params.cores_count = 2;
		struct tcp_params params = tcp_defaults(net);
		open(net, &params);
		for (int i = 0; i < 3 && busy; i++) {
			struct flow_spec other = {.size = 1e9, .cap = 1e9};
			flow_use_add(&other, guest_pool(net->guest[1]), 1e-9);
			fabric_flow_start(net->fabric, &other);
		}
		CHECK_NEAR(1e8 / transfer_s(net, 1e8, 0), busy ? 5e8 : 1e9, 1e-6);
		net_free(net);
	}
}

/* IPIP: 20 B less in each packet, and each of 1428 B costs a core 0.4 + 0.5 us
 * where offload handled 64 KiB at 0.4 us. */
static void overlay_takes_offload_away(void)
{
	double rates[2];
	for (int overlay = 0; overlay < 2; overlay++) {
		struct net *net = net_new();
		net->link = (struct link_traits){.capacity_Bps = {1e10, 1e10},
						 .packet_payload_B = 1500,
						 .packet_overhead_B = 38};
		net->guest_params[1].packet_s = 0.4e-6;
		struct tcp_params params = tcp_defaults(net);
		params.encapsulation_B = overlay ? 20 : 0;
		open(net, &params);
		double size_B = overlay ? 1428e4 : 1448e4;
		rates[overlay] = size_B / transfer_s(net, size_B, 0);
		net_free(net);
	}
	CHECK_NEAR(rates[0], 1e10 * 1448 / 1538, 1e-4);
	CHECK_NEAR(rates[1], 1428 / 0.9e-6, 1e-4);
}

/* RTT 10 ms, RTO 210 ms, p = 0.001: sqrt(2p/3) RTT = 258.2 us; timeouts
 * 0.21 x 3 sqrt(3p/8) x p x (1 + 32 p^2) = 12.2 us: 1448 B in 270.4 us. Beside
 * it the square root alone, which holds for small p. */
static void loss_bounds_the_rate(void)
{
	CHECK_NEAR(tcp_loss_rate(1448, 10e-3, 0.21, 1e-3), 1448 / 270.4e-6, 1e-3);
	CHECK_NEAR(tcp_loss_rate(1448, 10e-3, 0.21, 1e-7), 1448 / 10e-3 / sqrt(2e-7 / 3), 2e-3);
	double before = HUGE_VAL;
	for (double p = 0.001; p <= 1; p += 0.001) {
		double rate = tcp_loss_rate(1448, 10e-3, 0.21, p);
		CHECK(rate > 0 && rate < before);
		before = rate;
	}
}

static void loss_bounds_a_transfer(void)
{
	struct net *net = net_new();
	net->link = (struct link_traits){.capacity_Bps = {1e9, 1e9},
					 .latency_s = 5e-3,
					 .packet_payload_B = 1500,
					 .loss_ratio = {1e-3, 0}};
	struct tcp_params params = tcp_defaults(net);
	params.initial_window_count = 1000;
	open(net, &params);
	double size_B = 1448 * 1000;
	double least_s = size_B / (1448 / 270.4e-6) + 5e-3;
	double taken_s = transfer_s(net, size_B, 0);
	/* Its tail of three packets may have been lost: a timeout more. */
	CHECK(fabs(taken_s - least_s) < 2e-3 || fabs(taken_s - least_s - 0.21) < 2e-3);
	net_free(net);
}

/* The receiver's work before it acknowledges is part of the round trip: 65536 B in 10 ms and
 * its 10. The last byte arrives 5 ms after it has left, and is worked on once more. */
static void a_slow_receiver_lengthens_the_round_trip(void)
{
	struct net *net = net_new();
	net->link.latency_s = 5e-3;
	net->guest_params[1].receive_s = 10e-3;
	struct tcp_params params = tcp_defaults(net);
	params.receive_buffer_B = 65536;
	params.initial_window_count = 1000;
	open(net, &params);
	double rate = 6553600 / (transfer_s(net, 6553600, 0) - 15e-3);
	CHECK_NEAR(rate, 65536 / 20e-3, 1e-3);
	net_free(net);
}

/* 1 ns/B of a core: four streams are worked on by four cores at either end, a quarter of the
 * bytes each. */
static void streams_have_cores_of_their_own(void)
{
	struct net *net = net_new();
	net->link.capacity_Bps[0] = net->link.capacity_Bps[1] = 1e10;
	net->host_params.cores_count = 8;
	net->host_params.dram_bandwidth_Bps = 1e12;
	net->guest_params[0].byte_spB = net->guest_params[1].byte_spB = 1e-9;
	struct tcp_params params = tcp_defaults(net);
	params.streams_count = 4;
	open(net, &params);
	CHECK_NEAR(1e8 / transfer_s(net, 1e8, 0), 4e9, 1e-6);
	net_free(net);
}

/* RFC 5681: half of the window is the threshold either way; a fast retransmission goes on from
 * there, a timeout from one segment (and two are the least threshold). */
static void losses_halve_the_window(void)
{
	struct net *net = net_new();
	net->link.packet_payload_B = 1500;
	struct tcp_params params = tcp_defaults(net);
	params.initial_window_count = 40;
	open(net, &params);
	struct tcp_connection *connection = (struct tcp_connection *)net->connection;
	struct tcp_direction *direction = &connection->directions[0];
	tcp_window_fast_retransmit(direction);
	CHECK_NEAR(direction->ssthresh_B, 20 * 1448, 1e-12);
	CHECK_NEAR(direction->cwnd_B, 20 * 1448, 1e-12);
	tcp_window_timeout(direction);
	CHECK_NEAR(direction->ssthresh_B, 10 * 1448, 1e-12);
	CHECK_NEAR(direction->cwnd_B, 1448, 1e-12);
	tcp_window_timeout(direction);
	CHECK_NEAR(direction->ssthresh_B, 2 * 1448, 1e-12);
	net_free(net);
}

static const struct test tests[] = {
	TEST(gigabit_goodput),
	TEST(window_over_round_trip),
	TEST(slow_start_doubles),
	TEST(idle_forgets_the_window),
	TEST(window_holds_short_messages),
	TEST(cores_bind),
	TEST(busy_cores_bind),
	TEST(overlay_takes_offload_away),
	TEST(loss_bounds_the_rate),
	TEST(loss_bounds_a_transfer),
	TEST(a_slow_receiver_lengthens_the_round_trip),
	TEST(streams_have_cores_of_their_own),
	TEST(losses_halve_the_window),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
