/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Goodput of long messages over TCP and its limits. */
#include "sim/transport/tcp.h"
#include "tests/net.h"

static struct tcp_params tcp_defaults(struct net *net)
{
	struct tcp_params params;
	net_presets(net->arena, transport_kind_find("tcp")->table, &params);
	return params;
}

/* Seconds until size_B from end 0 are delivered, on an open connection. */
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

/* With 1 Gbit/s and an MTU of 1500, 1448 of every 1538 B on the wire are payload: 0.941. A window
 * of ten segments in 50 us allows 290 MB/s, so it does not limit the goodput. */
static void goodput_of_a_gigabit_link_excludes_headers(void)
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

/* 64 KiB in 10 ms are 6.55 MB/s on any wire. Four streams carry four times as much. */
static void goodput_is_limited_to_window_over_round_trip(void)
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

/* Ten segments of 1448 B leave in the first round trip of 10 ms, then 20, then 40. So 101360 B take
 * three round trips, and the last byte arrives 5 ms after it has left. */
static void slow_start_doubles_the_window_in_each_round_trip(void)
{
	struct net *net = net_new();
	net->link.latency_s = 5e-3;
	net->link.packet_payload_B = 1500;
	struct tcp_params params = tcp_defaults(net);
	open(net, &params);
	CHECK_NEAR(transfer_s(net, 70 * 1448, 0), 35e-3, 1e-6);
	/* The next transfer begins with 40 segments in the first round trip and 60 of 80 in the
	 * second. */
	CHECK_NEAR(transfer_s(net, 100 * 1448, 1), 22.5e-3, 1e-6);
	net_free(net);
}

static void send_later(void *ctx, uint64_t arg)
{
	net_send(ctx, 0, 70 * 1448, arg);
}

/* A connection that is idle for longer than the retransmission timeout begins with slow start
 * again. Before that it continues with 40 segments in the first round trip and 30 of 80 in the
 * second. */
static void idle_connection_returns_to_slow_start(void)
{
	for (int idle = 0; idle < 2; idle++) {
		struct net *net = net_new();
		net->link.latency_s = 5e-3;
		net->link.packet_payload_B = 1500;
		struct tcp_params params = tcp_defaults(net);
		open(net, &params);
		/* the first transfer begins later than a timeout after the start of the run */
		engine_at(net->engine, ps_from_s(1), send_later, net, 0);
		net_run(net);
		double at_s = net_now_s(net) + (idle ? 0.3 : 0.1);
		engine_at(net->engine, ps_from_s(at_s), send_later, net, 1);
		net_run(net);
		double taken_s = net->delivered_s[1] - at_s;
		CHECK_NEAR(taken_s, idle ? 35e-3 : 18.75e-3, 1e-6);
		net_free(net);
	}
}

/* Fourteen messages of a thousand bytes fit the first window of 14480 B. The fifteenth leaves when
 * the first is acknowledged, a round trip later. */
static void initial_window_limits_short_messages(void)
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
	/* Acknowledged bytes have widened the window, so the rest fits. */
	CHECK_NEAR(net->delivered_s[39] - start_s, 15e-3, 1e-2);
	net_free(net);
}

/* One core works 1 ns for each byte at each end, so 1 GB/s on a wire of 10 GB/s. Half the clock
 * gives half of it, and both ends on one core give half again. A program that works 3 ns for
 * each received byte leaves a fourth. */
static void goodput_is_limited_by_one_core_for_each_end(void)
{
	for (int which = 0; which < 4; which++) {
		struct net *net = net_new();
		net->link.capacity_Bps[0] = net->link.capacity_Bps[1] = 1e10;
		net->guest_params[0].byte_spB = net->guest_params[1].byte_spB = 1e-9;
		if (which == 1 || which == 2)
			net->host_params.clock_Hz = REFERENCE_CLOCK_HZ / 2;
		net->one_node = which == 2;
		if (which == 2)
			net->host_params.cores_count = 1;
		struct tcp_params params = tcp_defaults(net);
		params.receive_byte_spB = which == 3 ? 3e-9 : 0;
		open(net, &params);
		static const double expected[] = {1e9, 5e8, 2.5e8, 2.5e8};
		CHECK_NEAR(1e8 / transfer_s(net, 1e8, 0), expected[which], 1e-6);
		net_free(net);
	}
}

/* There are two cores, and a connection works 1 ns for each byte: 1 GB/s without other threads.
 * Three other threads that each use a whole core leave it a fourth of the two cores. */
static void other_threads_take_core_time_from_a_connection(void)
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

/* IPIP takes 20 B of each packet. A core works 0.4 + 0.5 us for each packet of 1428 B. With offload
 * it works 0.4 us for 64 KiB. */
static void overlay_disables_offload(void)
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

/* RTT 10 ms, RTO 210 ms, p = 0.001: sqrt(2p/3) RTT = 258.2 us, and timeouts after lost
 * retransmissions add 0.21 x 3 sqrt(3p/8) x p^2 x (1 + 32 p^2) = 0.012 us: 1448 B in 258.2 us. With
 * p = 0.04 they add 0.21 x 0.3674 x 0.0016 x 1.0512 = 129.8 us to 1633.0 us. The test also checks
 * the square root without timeouts, which holds for small p. */
static void loss_limits_the_goodput_to_the_formula(void)
{
	CHECK_NEAR(tcp_loss_rate(1448, 10e-3, 0.21, 1e-3), 1448 / 258.2e-6, 1e-3);
	CHECK_NEAR(tcp_loss_rate(1448, 10e-3, 0.21, 0.04), 1448 / 1762.8e-6, 1e-4);
	CHECK_NEAR(tcp_loss_rate(1448, 10e-3, 0.21, 1e-7), 1448 / 10e-3 / sqrt(2e-7 / 3), 2e-3);
	double before = HUGE_VAL;
	for (double p = 0.001; p <= 1; p += 0.001) {
		double rate = tcp_loss_rate(1448, 10e-3, 0.21, p);
		CHECK(rate > 0 && rate < before);
		before = rate;
	}
}

static void loss_limits_a_single_transfer(void)
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
	double least_s = size_B / (1448 / 258.2e-6) + 5e-3;
	double taken_s = transfer_s(net, size_B, 0);
	/* One of the last three packets may be lost, which adds a timeout. */
	CHECK(fabs(taken_s - least_s) < 2e-3 || fabs(taken_s - least_s - 0.21) < 2e-3);
	net_free(net);
}

/* The receiver's work before its acknowledgement is part of the round trip: 65536 B in the round
 * trip of 10 ms and 10 ms of work. The last byte arrives 5 ms after it has left, and the receiver
 * then works on it. */
static void slow_receiver_lengthens_the_round_trip(void)
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

/* A core works 1 ns for each byte. At each end four cores work on four streams, a quarter of the
 * bytes each. */
static void each_stream_uses_its_own_core(void)
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

/* RFC 5681: both kinds of loss set the threshold to half of the window. A fast retransmission
 * continues from the threshold, a timeout from one segment. The smallest threshold is two segments.
 */
static void losses_halve_the_congestion_window(void)
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

/* Sends short messages, of which the last one waits for the first acknowledgement. Returns the
 * window in segments at that time. */
static double segments_after_one_ack(struct net *net, size_t messages, double size_B)
{
	struct tcp_connection *connection = (struct tcp_connection *)net->connection;
	for (uint64_t i = 0; i < messages; i++)
		net_send(net, 0, size_B, i);
	net_run(net);
	return connection->directions[0].cwnd_B / 1448;
}

/* A window of 10 segments for each of two streams admits 20 messages of a segment. The first
 * acknowledged segment belongs to either stream, so it counts as half a segment for each. */
static void streams_share_the_acknowledgements_of_slow_start(void)
{
	struct net *net = net_new();
	net->link.latency_s = 5e-3;
	net->link.packet_payload_B = 1500;
	struct tcp_params params = tcp_defaults(net);
	params.streams_count = 2;
	open(net, &params);
	CHECK_NEAR(segments_after_one_ack(net, 21, 1448), 10.5, 1e-9);
	net_free(net);
}

/* RFC 5681, equation 3, for each acknowledged byte: two segments widen a window of 20 by 2 / 20. */
static void congestion_avoidance_adds_a_segment_for_each_window(void)
{
	struct net *net = net_new();
	net->link.latency_s = 5e-3;
	net->link.packet_payload_B = 1500;
	struct tcp_params params = tcp_defaults(net);
	params.initial_window_count = 40;
	open(net, &params);
	tcp_window_fast_retransmit(&((struct tcp_connection *)net->connection)->directions[0]);
	CHECK_NEAR(segments_after_one_ack(net, 11, 2 * 1448), 20.1, 1e-9);
	net_free(net);
}

/* A round trip of 10 ms, and windows of ten segments. */
static struct net *ten_segments(double streams_count)
{
	struct net *net = net_new();
	net->link.latency_s = 5e-3;
	net->link.packet_payload_B = 1500;
	struct tcp_params *params = ARENA_NEW(net->arena, struct tcp_params);
	*params = tcp_defaults(net);
	params->streams_count = streams_count;
	open(net, params);
	return net;
}

static struct tcp_direction *sender_of(struct net *net)
{
	return &((struct tcp_connection *)net->connection)->directions[0];
}

/* Twenty segments of two streams leave in the first round trip, 40 in the second, and 10 of 80 in
 * the third. */
static void windows_of_all_streams_double_in_each_round_trip(void)
{
	struct net *net = ten_segments(2);
	CHECK_NEAR(transfer_s(net, 70 * 1448, 0), 26.25e-3, 1e-6);
	net_free(net);
}

/* The eleventh segment waits for the window, which then grows. Single segments do not fill half of
 * it, so from the second on they leave it as it is. */
static void window_stops_growing_when_it_is_no_longer_filled(void)
{
	struct net *net = ten_segments(1);
	for (uint64_t i = 0; i < 11; i++)
		net_send(net, 0, 1448, i);
	net_run(net);
	for (uint64_t i = 11; i < 14; i++)
		transfer_s(net, 1448, i);
	double grown_B = sender_of(net)->cwnd_B;
	CHECK(grown_B > 10 * 1448);
	for (uint64_t i = 14; i < 24; i++)
		transfer_s(net, 1448, i);
	CHECK_NEAR(sender_of(net)->cwnd_B, grown_B, 0);
	net_free(net);
}

static void send_segment(void *ctx, uint64_t arg)
{
	net_send(ctx, 0, 1448, arg);
}

/* Slow start after idle time does not raise a window that a timeout has lowered. */
static void idle_time_does_not_raise_a_lowered_window(void)
{
	struct net *net = ten_segments(1);
	transfer_s(net, 1448, 0);
	tcp_window_timeout(sender_of(net));
	engine_after(net->engine, ps_from_s(0.3), send_segment, net, 1);
	net_run(net);
	CHECK_NEAR(sender_of(net)->cwnd_B, 1448, 0);
	net_free(net);
}

/* All packets are lost after the connection has opened. Each timeout leaves one segment, half of a
 * window would be five. */
static void timeout_leaves_a_window_of_one_segment(void)
{
	struct net *net = ten_segments(1);
	sender_of(net)->loss = loss_new(1, 1, "all");
	net_send(net, 0, 1448, 0);
	net_run(net);
	CHECK(net->reason != NULL);
	CHECK_NEAR(sender_of(net)->cwnd_B, 1448, 0);
	net_free(net);
}

/* So few losses would allow 560 MB/s, but the window of 65536 B only 6.6 MB/s. */
static void window_limits_a_wire_with_few_losses(void)
{
	struct net *net = net_new();
	net->link.latency_s = 5e-3;
	net->link.packet_payload_B = 1500;
	net->link.loss_ratio[0] = 1e-7;
	struct tcp_params params = tcp_defaults(net);
	params.initial_window_count = 1000;
	params.receive_buffer_B = 65536;
	open(net, &params);
	CHECK_NEAR(transfer_s(net, 1448e3, 0), 1448e3 / (65536 / 10e-3) + 5e-3, 1e-6);
	net_free(net);
}

/* A message of exactly two pieces of a quarter of the send buffer ends with the second one. */
static void message_of_whole_pieces_ends_with_the_last(void)
{
	struct net *net = net_new();
	net->link.packet_payload_B = 1500;
	struct tcp_params params = tcp_defaults(net);
	open(net, &params);
	double packets = 2 * floor(params.send_buffer_B / 4 / 1448);
	CHECK_NEAR(transfer_s(net, packets * 1448, 0), packets * 1500 / 1e9, 1e-9);
	net_free(net);
}

/* A message of exactly inline_B waits for the work on its bytes at both ends, 1 ns a byte, before
 * and after the wire. A larger one is processed while it crosses the wire. */
static void inline_messages_wait_for_the_work_on_their_bytes(void)
{
	for (int more = 0; more < 2; more++) {
		struct net *net = net_new();
		struct tcp_params params = tcp_defaults(net);
		net->guest_params[0].byte_spB = net->guest_params[1].byte_spB = 1e-9;
		params.inline_B = 10000;
		open(net, &params);
		CHECK_NEAR(transfer_s(net, 10000 + more, 0), more ? 10053e-9 : 30052e-9, 1e-6);
		net_free(net);
	}
}

/* A transfer shares the wire with a flow, by its number of streams: that of the settings, or if
 * these leave it at one, that of the library. */
static void streams_are_the_weight_of_a_transfer(void)
{
	static const struct {
		double streams;
		size_t given;
		double weight;
	} rows[] = {{1, 0, 1}, {4, 0, 4}, {1, 8, 8}, {2, 8, 2}};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct net *net = net_new();
		struct tcp_params params = tcp_defaults(net);
		params.streams_count = rows[i].streams;
		net_build(net);
		const struct connection_spec spec = {
			.engine = net->engine,
			.fabric = net->fabric,
			.arena = net->arena,
			.name = "a>b",
			.params = &params,
			.ends = {{.guest = net->guest[0], .core = net->core[0]},
				 {.guest = net->guest[1], .core = net->core[1]}},
			.stream_count = rows[i].given,
			.thread_count = rows[i].given / 4,
			.failed = net_failed,
			.failed_ctx = net,
		};
		net->connection = connection_new(transport_kind_find("tcp"), &spec);
		connection_open(net->connection, net_opened, net, 0);
		net_run(net);
		struct flow_spec other = {.size = 1e9};
		flow_use_add(&other, fabric_link_resource(net->fabric, 0, 0), 1);
		struct flow_id flow = fabric_flow_start(net->fabric, &other);
		double start_s = net_now_s(net);
		net_send(net, 0, 1e6, 0);
		net_run(net);
		CHECK(flow.serial > 0);
		/* while 1 MB and its header pass, so does a part of 1 MB of the flow */
		CHECK_NEAR(net->delivered_s[0] - start_s, (1e6 + 52 + 1e6 / rows[i].weight) / 1e9,
			   1e-6);
		net_free(net);
	}
}

static const struct test tests[] = {
	TEST(goodput_of_a_gigabit_link_excludes_headers),
	TEST(goodput_is_limited_to_window_over_round_trip),
	TEST(slow_start_doubles_the_window_in_each_round_trip),
	TEST(idle_connection_returns_to_slow_start),
	TEST(initial_window_limits_short_messages),
	TEST(goodput_is_limited_by_one_core_for_each_end),
	TEST(other_threads_take_core_time_from_a_connection),
	TEST(overlay_disables_offload),
	TEST(loss_limits_the_goodput_to_the_formula),
	TEST(loss_limits_a_single_transfer),
	TEST(slow_receiver_lengthens_the_round_trip),
	TEST(each_stream_uses_its_own_core),
	TEST(losses_halve_the_congestion_window),
	TEST(streams_share_the_acknowledgements_of_slow_start),
	TEST(congestion_avoidance_adds_a_segment_for_each_window),
	TEST(windows_of_all_streams_double_in_each_round_trip),
	TEST(window_stops_growing_when_it_is_no_longer_filled),
	TEST(idle_time_does_not_raise_a_lowered_window),
	TEST(timeout_leaves_a_window_of_one_segment),
	TEST(window_limits_a_wire_with_few_losses),
	TEST(message_of_whole_pieces_ends_with_the_last),
	TEST(inline_messages_wait_for_the_work_on_their_bytes),
	TEST(streams_are_the_weight_of_a_transfer),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
