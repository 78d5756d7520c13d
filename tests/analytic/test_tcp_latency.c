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

static const struct test tests[] = {
	TEST(round_trip_of_one_byte_is_the_sum_of_its_costs),
	TEST(loopback_needs_no_wire),
	TEST(coalescing_limits_round_trips_to_its_rate),
	TEST(halted_virtual_cpu_delays_each_message),
	TEST(idle_core_delays_messages_by_its_exit_latency),
	TEST(nic_moderation_limits_round_trips_to_its_rate),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
