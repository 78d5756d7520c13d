/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Short messages over TCP: times are sums of costs. */
#include "sim/transport/tcp.h"
#include "tests/net.h"

static struct tcp_params tcp_defaults(struct net *net)
{
	struct tcp_params params;
	net_presets(net->arena, transport_kind_find("tcp")->table, &params);
	return params;
}

/* Default costs: send 3, receive 5, wake a thread 4 us. The latency is 10 us one way. */
static void costs_default(struct net *net)
{
	net->link.latency_s = 10e-6;
	for (int i = 0; i < 2; i++) {
		net->guest_params[i].send_s = 3e-6;
		net->guest_params[i].receive_s = 5e-6;
		net->guest_params[i].thread_wake_s = 4e-6;
	}
}

struct pingpong {
	struct net *net;
	int rounds;
};

static void pong(void *ctx, uint64_t arg);

static void ping(void *ctx, uint64_t arg)
{
	struct pingpong *pingpong = ctx;
	net_delivered(pingpong->net, arg);
	if ((int)arg / 2 >= pingpong->rounds)
		return;
	struct message message = {1, NULL, pong, pingpong, arg + 1, NULL};
	connection_send(pingpong->net->connection, 0, &message);
}

static void pong(void *ctx, uint64_t arg)
{
	struct pingpong *pingpong = ctx;
	net_delivered(pingpong->net, arg);
	struct message message = {1, NULL, ping, pingpong, arg + 1, NULL};
	connection_send(pingpong->net->connection, 1, &message);
}

/* Time of the last of `rounds` round trips of one byte, between the delivery of the last two
 * answers. */
static double round_trip(struct net *net, const struct tcp_params *params, int rounds)
{
	net_build(net);
	net_connect(net, "tcp", params);
	net_run(net);
	struct pingpong pingpong = {net, rounds};
	struct message message = {1, NULL, pong, &pingpong, 1, NULL};
	net->delivered_s[0] = net_now_s(net);
	connection_send(net->connection, 0, &message);
	net_run(net);
	CHECK(net->delivered_count == (size_t)(2 * rounds));
	int last = 2 * rounds;
	return net->delivered_s[last] - net->delivered_s[last - 2];
}

/* Each way takes 3 + 53 B / (1 B/ns) + 10 + 5 + 4 = 22.053 us. */
static void round_trip_of_one_byte_is_the_sum_of_its_costs(void)
{
	struct net *net = net_new();
	costs_default(net);
	struct tcp_params params = tcp_defaults(net);
	CHECK_NEAR(round_trip(net, &params, 1), 44.106e-6, 1e-9);
	/* SYN: 3 + 10 + 5. SYN-ACK: 10 + 5 + 4. */
	CHECK_NEAR(net->opened_s, 37e-6, 1e-9);
	net_free(net);
}

/* Both ends are on one node. Without wire and headers each way takes 12 us. */
static void loopback_needs_no_wire(void)
{
	struct net *net = net_new();
	costs_default(net);
	net->one_node = true;
	struct tcp_params params = tcp_defaults(net);
	CHECK_NEAR(round_trip(net, &params, 1), 24e-6, 1e-9);
	net_free(net);
}

/* Each VMXNET3 interrupts at most once in 250 us, and each round trip needs one interrupt at each
 * end. So a round trip takes 250 us. High latency sensitivity turns coalescing off. */
static void coalescing_limits_round_trips_to_its_rate(void)
{
	for (int high = 0; high < 2; high++) {
		struct net *net = net_new();
		costs_default(net);
		for (int i = 0; i < 2; i++) {
			net->guest_params[i].kind = GUEST_VM;
			net->guest_params[i].vnic = VNIC_VMXNET3;
			net->guest_params[i].latency_sensitivity =
				high ? SENSITIVITY_HIGH : SENSITIVITY_NORMAL;
		}
		struct tcp_params params = tcp_defaults(net);
		CHECK_NEAR(round_trip(net, &params, 20), high ? 44.106e-6 : 250e-6, 1e-9);
		net_free(net);
	}
}

/* Each end needs 14 us to schedule its halted virtual CPU. The CPU is awake while it sends. It then
 * waits at least 31 us for the answer and halts. */
static void halted_virtual_cpu_delays_each_message(void)
{
	struct net *net = net_new();
	costs_default(net);
	for (int i = 0; i < 2; i++) {
		net->guest_params[i].kind = GUEST_VM;
		net->guest_params[i].vcpu_wake_s = 14e-6;
	}
	struct tcp_params params = tcp_defaults(net);
	CHECK_NEAR(round_trip(net, &params, 20), 44.106e-6 + 2 * 14e-6, 1e-9);
	net_free(net);
}

/* With 400 us one way a core is idle for at least 800 us between two messages, twice the residency
 * of C6 and more, which adds 82 us at each end. With 100 us it is in C1E, which adds 10 us. */
static void idle_core_delays_messages_by_its_exit_latency(void)
{
	for (int deep = 0; deep < 2; deep++) {
		struct net *net = net_new();
		costs_default(net);
		net->host_params.c_states = true;
		net->link.latency_s = deep ? 400e-6 : 100e-6;
		struct tcp_params params = tcp_defaults(net);
		double base_s = 2 * (12.053e-6 + net->link.latency_s);
		CHECK_NEAR(round_trip(net, &params, 20), base_s + 2 * (deep ? 82e-6 : 10e-6), 1e-9);
		net_free(net);
	}
}

/* Physical NICs interrupt 8000 times per second, so a round trip takes 125 us. */
static void nic_moderation_limits_round_trips_to_its_rate(void)
{
	struct net *net = net_new();
	costs_default(net);
	net->link.physical_nic = true;
	net->host_params.nic_moderation = true;
	struct tcp_params params = tcp_defaults(net);
	CHECK_NEAR(round_trip(net, &params, 20), 125e-6, 1e-9);
	net_free(net);
}

/* The program writes header and body separately, and with Nagle's algorithm the body waits for the
 * header's acknowledgement. The receiver delays this by 40 ms. 50 B + 52 B take 102 ns on the wire.
 * The sum is 10.102 us for the header, 40 ms, 10 us for the acknowledgement and 10.102 us for the
 * body. */
static void nagle_stalls_write_write_read_for_a_delayed_acknowledgement(void)
{
	for (int nagle = 0; nagle < 2; nagle++) {
		struct net *net = net_new();
		net->link.latency_s = 10e-6;
		net->link.packet_payload_B = 1500;
		struct tcp_params params = tcp_defaults(net);
		params.nagle = nagle;
		params.writes_per_message_count = 2;
		net_build(net);
		net_connect(net, "tcp", &params);
		net_run(net);
		double start_s = net_now_s(net);
		net_send(net, 0, 100, 0);
		net_run(net);
		CHECK_NEAR(net->delivered_s[0] - start_s, nagle ? 40e-3 + 30.204e-6 : 10.204e-6,
			   1e-9);
		net_free(net);
	}
}

/* With Nagle's algorithm a message waits for the acknowledgement of the previous one. An answer
 * carries the acknowledgement, so request and answer never wait. */
static void nagle_does_not_delay_request_and_answer(void)
{
	struct net *net = net_new();
	net->link.latency_s = 10e-6;
	net->link.packet_payload_B = 1500;
	struct tcp_params params = tcp_defaults(net);
	params.nagle = true;
	CHECK_NEAR(round_trip(net, &params, 5), 2 * (10e-6 + 53e-9), 1e-6);
	net_free(net);
}

/* A connection with Nagle's algorithm and a latency of 10 us. */
static struct net *nagle_net(struct tcp_params *params)
{
	struct net *net = net_new();
	net->link.latency_s = 10e-6;
	net->link.packet_payload_B = 1500;
	*params = tcp_defaults(net);
	params->nagle = true;
	net_build(net);
	net_connect(net, "tcp", params);
	net_run(net);
	return net;
}

/* Three messages are sent at the same time. The first one leaves immediately. The others wait for
 * the delayed acknowledgement and leave together. */
static void nagle_sends_waiting_messages_together(void)
{
	struct tcp_params params;
	struct net *net = nagle_net(&params);
	double start_s = net_now_s(net);
	for (uint64_t i = 0; i < 3; i++)
		net_send(net, 0, 100, i);
	net_run(net);
	CHECK(net->delivered_s[0] - start_s < 11e-6);
	CHECK_NEAR(net->delivered_s[1] - start_s, 40.03e-3, 1e-4);
	CHECK(net->delivered_s[2] - net->delivered_s[1] < 1e-6);
	net_free(net);
}

struct sending {
	struct net *net;
	int from;
	double size_B;
};

static void send_later(void *ctx, uint64_t arg)
{
	const struct sending *sending = ctx;
	net_send(sending->net, sending->from, sending->size_B, arg);
}

/* The answer at 20 ms carries the acknowledgement that was delayed until 40 ms. A message that
 * arrives at 30 ms is acknowledged 40 ms later, at 70 ms. The message that waits for this
 * acknowledgement leaves then. */
static void carried_acknowledgement_cancels_the_delayed_one(void)
{
	struct tcp_params params;
	struct net *net = nagle_net(&params);
	double start_s = net_now_s(net);
	struct sending out = {net, 0, 100}, back = {net, 1, 100};
	static const double at_s[] = {0, 20e-3, 30e-3, 31e-3};
	for (uint64_t i = 0; i < 4; i++)
		engine_at(net->engine, ps_from_s(start_s + at_s[i]), send_later,
			  i == 1 ? &back : &out, i);
	net_run(net);
	CHECK_NEAR(net->delivered_s[2] - start_s, 30e-3 + 10.1e-6, 1e-4);
	CHECK_NEAR(net->delivered_s[3] - start_s, 70e-3 + 30.304e-6, 1e-6);
	net_free(net);
}

/* Two halves of a segment at 1 ms leave together at once, and share the acknowledgement of the 100
 * B before them, which is due after 40 ms. The one for 100 B at 40.5 ms is delayed by 40 ms of its
 * own, and the message at 40.7 ms waits for it. */
static void delay_counts_from_the_first_byte_without_acknowledgement(void)
{
	struct tcp_params params;
	struct net *net = nagle_net(&params);
	double start_s = net_now_s(net);
	struct sending small = {net, 0, 100}, half = {net, 0, 724};
	static const double at_s[] = {0, 1e-3, 1e-3, 40.5e-3, 40.7e-3};
	for (uint64_t i = 0; i < 5; i++)
		engine_at(net->engine, ps_from_s(start_s + at_s[i]), send_later,
			  i == 1 || i == 2 ? &half : &small, i);
	net_run(net);
	CHECK(net->delivered_s[2] - start_s < 1e-3 + 12e-6);
	CHECK_NEAR(net->delivered_s[3] - start_s, 40.5e-3 + 10.152e-6, 1e-6);
	CHECK_NEAR(net->delivered_s[4] - start_s, 80.5e-3 + 30.304e-6, 1e-6);
	net_free(net);
}

/* 100 B that follow one segment wait for its delayed acknowledgement. If they follow two segments,
 * they leave after a round trip. */
static void two_segments_are_acknowledged_without_delay(void)
{
	for (int segments = 1; segments <= 2; segments++) {
		struct tcp_params params;
		struct net *net = nagle_net(&params);
		double start_s = net_now_s(net), wire_s = segments * 1500e-9 + 152e-9;
		net_send(net, 0, 1448 * segments, 0);
		net_send(net, 0, 100, 1);
		net_run(net);
		CHECK_NEAR(net->delivered_s[1] - start_s,
			   (segments == 1 ? 40e-3 : 0) + 30e-6 + wire_s, 1e-6);
		net_free(net);
	}
}

static const struct test tests[] = {
	TEST(round_trip_of_one_byte_is_the_sum_of_its_costs),
	TEST(loopback_needs_no_wire),
	TEST(coalescing_limits_round_trips_to_its_rate),
	TEST(halted_virtual_cpu_delays_each_message),
	TEST(idle_core_delays_messages_by_its_exit_latency),
	TEST(nic_moderation_limits_round_trips_to_its_rate),
	TEST(nagle_stalls_write_write_read_for_a_delayed_acknowledgement),
	TEST(nagle_does_not_delay_request_and_answer),
	TEST(nagle_sends_waiting_messages_together),
	TEST(carried_acknowledgement_cancels_the_delayed_one),
	TEST(delay_counts_from_the_first_byte_without_acknowledgement),
	TEST(two_segments_are_acknowledged_without_delay),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
