/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Short messages over TCP: answers by adding up the costs. */
#include "sim/transport/tcp.h"
#include "tests/net.h"

static struct tcp_params tcp_defaults(struct net *net)
{
	struct tcp_params params;
	net_presets(net->arena, transport_kind_find("tcp")->table, &params);
	return params;
}

/* Work as by default: send 3, receive 5, wake a thread 4 us; 10 us one way. */
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

/* One byte there and back, `rounds` times; when the last answer was delivered
 * less when the one before was. */
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

/* 3 + 53 B / (1 B/ns) + 10 + 5 + 4 = 22.053 us each way. */
static void one_byte_there_and_back(void)
{
	struct net *net = net_new();
	costs_default(net);
	struct tcp_params params = tcp_defaults(net);
	CHECK_NEAR(round_trip(net, &params, 1), 44.106e-6, 1e-9);
	/* SYN: 3 + 10 + 5; SYN-ACK: 10 + 5 + 4. */
	CHECK_NEAR(net->opened_s, 37e-6, 1e-9);
	net_free(net);
}

/* Both ends on one node: no wire, no headers, 12 us each way. */
static void loopback(void)
{
	struct net *net = net_new();
	costs_default(net);
	net->one_node = true;
	struct tcp_params params = tcp_defaults(net);
	CHECK_NEAR(round_trip(net, &params, 1), 24e-6, 1e-9);
	net_free(net);
}

/* Each VMXNET3 interrupts at most once in 250 us, and each round trip needs
 * one interrupt at either end: 250 us. Off at high latency sensitivity. */
static void coalescing_paces_ping_pong(void)
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

/* 14 us for each end's halted virtual CPU to be scheduled: it sends, so is
 * awake, then waits 31 us or more for the answer, so it is not. */
static void halted_virtual_cpus(void)
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

/* With 200 us one way, the other core sleeps 400 us and more between two
 * messages: C6, 82 us at either end. With 100 us it is C1E, 10 us. */
static void sleeping_cores(void)
{
	for (int deep = 0; deep < 2; deep++) {
		struct net *net = net_new();
		costs_default(net);
		net->host_params.c_states = true;
		net->link.latency_s = deep ? 200e-6 : 100e-6;
		struct tcp_params params = tcp_defaults(net);
		double base_s = 2 * (12.053e-6 + net->link.latency_s);
		CHECK_NEAR(round_trip(net, &params, 20), base_s + 2 * (deep ? 82e-6 : 10e-6), 1e-9);
		net_free(net);
	}
}

/* Physical NICs that interrupt 8000 times a second: a round trip of 125 us. */
static void moderation_paces_ping_pong(void)
{
	struct net *net = net_new();
	costs_default(net);
	net->link.physical_nic = true;
	net->host_params.nic_moderation = true;
	struct tcp_params params = tcp_defaults(net);
	CHECK_NEAR(round_trip(net, &params, 20), 125e-6, 1e-9);
	net_free(net);
}

/* Written as header and body, with Nagle: the body waits for the header's
 * acknowledgement, which the receiver delays by 40 ms. 50 B + 52 B take 102 ns.
 * Header there 10.102 us, 40 ms, acknowledgement back 10, body there 10.102. */
static void write_write_read_stalls(void)
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

/* With Nagle a message waits for the one before; an answer carries the
 * acknowledgement, so request and response never wait. */
static void nagle_and_answers(void)
{
	struct net *net = net_new();
	net->link.latency_s = 10e-6;
	net->link.packet_payload_B = 1500;
	struct tcp_params params = tcp_defaults(net);
	params.nagle = true;
	CHECK_NEAR(round_trip(net, &params, 5), 2 * (10e-6 + 53e-9), 1e-6);
	net_free(net);
}

/* A connection with Nagle's algorithm over 10 us. */
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

/* Three messages at once with Nagle: the first leaves; the others wait for the
 * delayed acknowledgement and go together. */
static void nagle_gathers(void)
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

/* The answer at 20 ms carries the acknowledgement that was delayed until 40. A message that
 * arrives at 30 ms is acknowledged 40 ms later, at 70, and the message that waits for this
 * leaves then. */
static void an_acknowledgement_that_was_carried_is_not_due(void)
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

/* 100 B behind one segment wait for its acknowledgement, which is delayed; behind two they go
 * after a round trip. */
static void two_segments_are_acknowledged_at_once(void)
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
	TEST(one_byte_there_and_back),
	TEST(loopback),
	TEST(coalescing_paces_ping_pong),
	TEST(halted_virtual_cpus),
	TEST(sleeping_cores),
	TEST(moderation_paces_ping_pong),
	TEST(write_write_read_stalls),
	TEST(nagle_and_answers),
	TEST(nagle_gathers),
	TEST(an_acknowledgement_that_was_carried_is_not_due),
	TEST(two_segments_are_acknowledged_at_once),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
