/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Send buffers of TCP, and its invariants at any loss. */
#include "sim/engine/trace.h"
#include "sim/transport/tcp.h"
#include "tests/fabric_check.h"
#include "tests/net.h"

static struct tcp_params tcp_defaults(struct net *net)
{
	struct tcp_params params;
	net_presets(net->arena, transport_kind_find("tcp")->table, &params);
	return params;
}

static void read_next(void *ctx, uint64_t arg)
{
	connection_read(((struct net *)ctx)->connection, 1);
}

static void send_one(void *ctx, uint64_t arg)
{
	net_send(ctx, 0, 1, arg);
}

static void transports_are_found_by_name(void)
{
	CHECK(transport_kind_count() == 3);
	CHECK(transport_kind_find("tcp") == transport_kind_at(0));
	CHECK(transport_kind_find("rdma") && transport_kind_find("shm"));
	CHECK(!transport_kind_find("pigeon"));
	for (size_t i = 0; i < transport_kind_count(); i++) {
		const struct transport_kind *kind = transport_kind_at(i);
		CHECK(kind->table->size <= TRANSPORT_PARAMS_SIZE_MAX);
	}
}

static void tcp_without_a_route_fails(void)
{
	struct net *net = net_new();
	net->link_kind = "nvlink";
	struct tcp_params params = tcp_defaults(net);
	net_build(net);
	net_connect(net, "tcp", &params);
	CHECK(net->connection == NULL);
	net_free(net);
}

/* An overlay's 50 bytes and TCP/IP's 52 do not fit into packets of 100. */
static void packets_without_room_for_payload_fail(void)
{
	struct net *net = net_new();
	net->link.packet_payload_B = 100;
	struct tcp_params params = tcp_defaults(net);
	params.encapsulation_B = 50;
	net_build(net);
	net_connect(net, "tcp", &params);
	net_run(net);
	CHECK(net->reason && strstr(net->reason, "no room"));
	CHECK(net->opened_s < 0);
	net_free(net);
}

/* The virtual NICs of both ends add their latencies, but not between guests of one node. */
static void virtual_nics_of_both_ends_add_latency(void)
{
	for (int one_node = 0; one_node < 2; one_node++) {
		struct net *net = net_new();
		struct tcp_params params = tcp_defaults(net);
		net->one_node = one_node;
		for (int i = 0; i < 2; i++) {
			net->guest_params[i].vnic = VNIC_VMXNET3;
			net->guest_params[i].coalescing = false;
			net->guest_params[i].vnic_latency_s = i ? 30e-6 : 10e-6;
		}
		net_build(net);
		net_connect(net, "tcp", &params);
		net_run(net);
		for (int from = 0; from < 2; from++) {
			double start_s = net_now_s(net);
			net_send(net, from, 1, (uint64_t)from);
			net_run(net);
			CHECK(fabs(net->delivered_s[from] - start_s - (one_node ? 0 : 40e-6)) <
			      1e-6);
		}
		net_free(net);
	}
}

/* A reader that sleeps needs 10 us to wake, and 20 us for a message with its interrupt. The others
 * arrive while it reads the first and share the interrupt. Each takes the 8 us of a read. */
static void messages_at_once_share_wake_up_and_interrupt(void)
{
	for (int on_demand = 0; on_demand < 2; on_demand++) {
		struct net *net = net_new();
		struct tcp_params params = tcp_defaults(net);
		net->guest_params[1].receive_s = 20e-6;
		net->guest_params[1].read_s = 8e-6;
		net->guest_params[1].thread_wake_s = 10e-6;
		net_build(net);
		net_connect(net, "tcp", &params);
		net_run(net);
		double start_s = net_now_s(net);
		for (int i = 0; on_demand && i < 3; i++)
			engine_at(net->engine, ps_from_s(start_s + (i == 0 ? 0 : 1e-6)), read_next,
				  net, 0);
		for (uint64_t i = 0; i < 3; i++)
			net_send(net, 0, i < 2 ? 1 : 0,
				 i); /* an empty message has its packet, too */
		net_run(net);
		for (int i = 0; i < 3; i++)
			CHECK(fabs(net->delivered_s[i] - start_s - (30 + 8 * i) * 1e-6) < 0.3e-6);
		net_free(net);
	}
}

/* Messages that are 50 us apart find the reader asleep, so each takes 10 + 20 us. A read that costs
 * more than receiving saves nothing. */
static void messages_apart_have_their_own_interrupts(void)
{
	for (int dear = 0; dear < 2; dear++) {
		struct net *net = net_new();
		struct tcp_params params = tcp_defaults(net);
		net->guest_params[1].receive_s = 20e-6;
		net->guest_params[1].read_s = dear ? 50e-6 : 8e-6;
		net->guest_params[1].thread_wake_s = 10e-6;
		net_build(net);
		net_connect(net, "tcp", &params);
		net_run(net);
		double start_s = net_now_s(net), apart_s = dear ? 0 : 50e-6;
		for (uint64_t i = 0; i < 3; i++)
			engine_at(net->engine, ps_from_s(start_s + apart_s * (double)i), send_one,
				  net, i);
		net_run(net);
		for (int i = 0; i < 3; i++)
			CHECK(fabs(net->delivered_s[i] - start_s -
				   (dear ? 30e-6 + 20e-6 * i : 30e-6 + 50e-6 * i)) < 0.3e-6);
		net_free(net);
	}
}

/* At half of the clock each end takes 2 ms for an acknowledgement: the round trip is 2 x (1 + 2)
 * ms. The call that sends a long message passes the firewall once, in 2 x 5 us. */
static void slow_cores_lengthen_round_trip_and_calls(void)
{
	struct net *net = net_new();
	struct tcp_params params = tcp_defaults(net);
	net->link.latency_s = 1e-3;
	net->host_params.clock_Hz = REFERENCE_CLOCK_HZ / 2;
	for (int i = 0; i < 2; i++)
		net->guest_params[i].receive_s = 1e-3;
	net->guest_params[0].firewall = true;
	net->guest_params[0].firewall_packet_s = 5e-6;
	net_build(net);
	net_connect(net, "tcp", &params);
	net_run(net);
	CHECK_NEAR(((struct tcp_connection *)net->connection)->rtt_s, 6e-3, 1e-9);
	double before_s = cpu_busy_s(net->core[0]);
	net_send(net, 0, 1e6, 0);
	net_run(net);
	CHECK_NEAR(cpu_busy_s(net->core[0]) - before_s, 10e-6, 1e-6);
	net_free(net);
}

/* The wire and the round trip of 20 ms hold 20 kB. The window grows from 14.5 kB while half of it
 * is filled: to 29 and to 58 kB. */
static void window_that_is_not_used_does_not_grow(void)
{
	struct net *net = net_new();
	struct tcp_params params = tcp_defaults(net);
	net->link.capacity_Bps[0] = 1e6;
	net->link.packet_payload_B = 1500;
	net->link.latency_s = 10e-3;
	net_build(net);
	net_connect(net, "tcp", &params);
	net_run(net);
	net_send(net, 0, 1e6, 0);
	net_run(net);
	const struct tcp_connection *connection = (struct tcp_connection *)net->connection;
	CHECK(connection->directions[0].cwnd_B > 40e3 && connection->directions[0].cwnd_B < 60e3);
	net_free(net);
}

/* A buffer has 64 KiB, the wire 1 MB/s. The first message fits. The second is accepted when the
 * first has drained, the third after the second. A message of four buffers is accepted when all
 * except one buffer of it have drained. */
static void full_send_buffer_delays_acceptance(void)
{
	struct net *net = net_new();
	net->link.capacity_Bps[0] = 1e6;
	net->link.packet_payload_B = 1500;
	struct tcp_params params = tcp_defaults(net);
	params.send_buffer_B = 65536;
	net_build(net);
	net_connect(net, "tcp", &params);
	net_run(net);
	double start_s = net_now_s(net);
	for (uint64_t i = 0; i < 3; i++)
		net_send(net, 0, 65536, i);
	net_send(net, 0, 4 * 65536, 3);
	net_run(net);
	double one_s = 65536e-6 * 1500 / 1448;
	CHECK_NEAR(net->accepted_s[0] - start_s, 0, 1e-9);
	/* It drains in pieces of 11 segments, at most a quarter of the buffer. */
	CHECK_NEAR(net->accepted_s[1] - start_s, one_s, 5e-3);
	CHECK_NEAR(net->accepted_s[2] - start_s, 2 * one_s, 5e-3);
	CHECK_NEAR(net->accepted_s[3] - start_s, 6 * one_s, 5e-2);
	CHECK_NEAR(net->delivered_s[3] - start_s, 7 * one_s, 5e-3);
	net_free(net);
}

/* Every byte is delivered in order in both directions. The wire carries payload and 90 B per
 * packet: 1 packet for small messages, 69 for large ones. */
static void every_byte_is_delivered_and_counted(void)
{
	struct net *net = net_new();
	net->link.packet_payload_B = 1500;
	net->link.packet_overhead_B = 38;
	net->link.latency_s = 1e-5;
	struct tcp_params params = tcp_defaults(net);
	net_build(net);
	net_connect(net, "tcp", &params);
	net_run(net);
	double payload_B[2] = {0, 0}, packets[2] = {0, 0};
	for (uint64_t i = 0; i < 300; i++) {
		int from = (int)(i % 2);
		bool large = i % 7 == 0;
		double size_B = large ? 99000 : 10 + (double)i;
		payload_B[from] += size_B;
		packets[from] += large ? 69 : 1;
		net_send(net, from, size_B, i);
	}
	net_run(net);
	const struct connection_counters *counters = connection_counters(net->connection);
	for (int i = 0; i < 2; i++) {
		CHECK_NEAR(counters->payload_sent_B[i], payload_B[i], 1e-12);
		CHECK_NEAR(counters->payload_delivered_B[i], payload_B[i], 1e-12);
		CHECK(counters->messages_count[i] == 150);
		CHECK_NEAR(fabric_carried(net->fabric, fabric_link_resource(net->fabric, 0, i)),
			   payload_B[i] + 90 * packets[i], 1e-9);
	}
	CHECK(net->delivered_count == 300);
	uint64_t last[2] = {0, 0};
	for (uint64_t i = 0; i < net->delivered_count; i++) {
		uint64_t arg = net->order[i];
		CHECK(arg >= last[arg % 2]);
		last[arg % 2] = arg;
	}
	fabric_check(net->fabric);
	CHECK(engine_failure(net->engine) == NULL);
	net_free(net);
}

static void send_any(void *ctx, uint64_t arg)
{
	struct net *net = ctx;
	net_send(net, (int)(arg % 2), arg % 10 == 9 ? 200000 : 300, arg);
}

/* At any loss the run ends: everything is delivered in order, or there is a verdict. */
static void any_loss_ends_in_delivery_or_verdict(void)
{
	for (int step = 0; step <= 20; step++) {
		struct net *net = net_new();
		double p = step / 20.0;
		net->link = (struct link_traits){.capacity_Bps = {125e6, 125e6},
						 .latency_s = 50e-6,
						 .packet_payload_B = 1500,
						 .packet_overhead_B = 38,
						 .loss_ratio = {p, p}};
		struct tcp_params params = tcp_defaults(net);
		params.syn_retries_count = 20;
		params.nagle = step % 2 == 1;
		net_build(net);
		net_connect(net, "tcp", &params);
		net_run(net);
		CHECK(net->opened_s >= 0 || (p > 0.5 && net->reason != NULL));
		for (uint64_t i = 0; net->opened_s >= 0 && i < 40; i++)
			engine_after(net->engine, ps_from_s(1e-3 * (double)i), send_any, net, i);
		net_run(net);
		CHECK(net->delivered_count == 40 || net->reason != NULL);
		if (p <= 0.2)
			CHECK(net->delivered_count == 40);
		uint64_t last[2] = {0, 0};
		for (uint64_t i = 0; i < net->delivered_count; i++) {
			uint64_t arg = net->order[i];
			CHECK(arg >= last[arg % 2]);
			last[arg % 2] = arg;
		}
		const struct connection_counters *counters = connection_counters(net->connection);
		if (!net->reason)
			for (int i = 0; i < 2; i++)
				CHECK_NEAR(counters->payload_delivered_B[i],
					   counters->payload_sent_B[i], 1e-12);
		CHECK((counters->losses_count > 0) == (p > 0));
		net_free(net);
	}
}

/* The mean delay of a short message increases with the loss p. */
static void more_loss_takes_more_time(void)
{
	double before_s = 0;
	for (int step = 0; step <= 5; step++) {
		struct net *net = net_new();
		net->link.latency_s = 50e-6;
		net->link.packet_payload_B = 1500;
		net->link.loss_ratio[0] = step * 0.02;
		struct tcp_params params = tcp_defaults(net);
		net_build(net);
		net_connect(net, "tcp", &params);
		net_run(net);
		double sum_s = 0;
		for (uint64_t i = 0; i < 500; i++) {
			double start_s = net_now_s(net);
			net_send(net, 0, 100, i);
			net_run(net);
			sum_s += net->delivered_s[i] - start_s;
		}
		CHECK(sum_s > before_s);
		/* Each lost packet costs at least 200 ms: p x 500 x 0.2 s. */
		CHECK(sum_s >= 0.9 * step * 0.02 * 500 * 0.2);
		before_s = sum_s;
		net_free(net);
	}
}

/* Every message has spans on the wire and on both cores. */
static void messages_have_spans_on_wire_and_cores(void)
{
	struct net *net = net_new();
	struct trace *trace = trace_new(net->arena);
	engine_trace_set(net->engine, trace);
	net->link.latency_s = 1e-5;
	net->guest_params[0].send_s = 3e-6;
	struct tcp_params params = tcp_defaults(net);
	net_build(net);
	net_connect(net, "tcp", &params);
	net_run(net);
	size_t before = trace_span_count(trace);
	net_send(net, 0, 1000, 0);
	net_run(net);
	CHECK(trace_span_count(trace) == before + 3);
	const struct span *sent = trace_span_at(trace, before);
	const struct span *wire = trace_span_at(trace, before + 1);
	CHECK_TEXT(sent->name, "send");
	CHECK(sent->kind == SPAN_CPU && sent->end_ps - sent->start_ps == 3000000);
	CHECK_TEXT(wire->name, "message");
	CHECK(wire->kind == SPAN_WIRE && wire->start_ps == sent->end_ps);
	CHECK_TEXT(trace_track_group(trace, wire->track), "wire");
	CHECK_TEXT(trace_track_name(trace, wire->track), "a>b: a > b");
	net_free(net);
}

/* The wire carries 1 MB/s, so a message of 100 B takes 0.15 ms and arrives before the next but one
 * starts. The reader takes the first one and no more. Each unread packet closes 2304 / 2 B of the
 * window of 65536 B. A message starts if it, the one in flight and the unread ones fit: 100 + 100 +
 * 56 x 1152 = 64712 does, with 57 it does not. So message 3 + 56 is the last, and two reads let two
 * more start. */
static void unread_packets_close_the_window_by_their_memory(void)
{
	struct net *net = net_new();
	net->link.capacity_Bps[0] = 1e6;
	net->link.packet_payload_B = 1500; /* ten segments are less than the receive window */
	struct tcp_params params = tcp_defaults(net);
	params.receive_buffer_B = 65536;
	net_build(net);
	net_connect(net, "tcp", &params);
	net_run(net);
	const struct tcp_direction *sender =
		&((const struct tcp_connection *)net->connection)->directions[0];
	connection_read(net->connection, 1);
	for (uint64_t i = 0; i < 100; i++)
		net_send(net, 0, 100, i);
	net_run(net);
	CHECK_NEAR(sender->drained_B, 5900, 0);
	for (int i = 0; i < 2; i++)
		connection_read(net->connection, 1);
	net_run(net);
	CHECK_NEAR(sender->drained_B, 6100, 0);
	net_free(net);
}

/* Two streams have two buffers, so the third message waits until the first has left. */
static void each_stream_has_a_send_buffer(void)
{
	struct net *net = net_new();
	net->link.capacity_Bps[0] = 1e6;
	struct tcp_params params = tcp_defaults(net);
	params.send_buffer_B = 65536;
	params.streams_count = 2;
	net_build(net);
	net_connect(net, "tcp", &params);
	net_run(net);
	double start_s = net_now_s(net);
	for (uint64_t i = 0; i < 3; i++)
		net_send(net, 0, 65536, i);
	net_run(net);
	CHECK_NEAR(1 + net->accepted_s[1] - start_s, 1, 1e-6);
	CHECK_NEAR(net->accepted_s[2] - start_s, 65536e-6, 5e-3);
	net_free(net);
}

static const struct test tests[] = {
	TEST(transports_are_found_by_name),
	TEST(tcp_without_a_route_fails),
	TEST(packets_without_room_for_payload_fail),
	TEST(virtual_nics_of_both_ends_add_latency),
	TEST(messages_at_once_share_wake_up_and_interrupt),
	TEST(messages_apart_have_their_own_interrupts),
	TEST(slow_cores_lengthen_round_trip_and_calls),
	TEST(window_that_is_not_used_does_not_grow),
	TEST(full_send_buffer_delays_acceptance),
	TEST(every_byte_is_delivered_and_counted),
	TEST(any_loss_ends_in_delivery_or_verdict),
	TEST(more_loss_takes_more_time),
	TEST(messages_have_spans_on_wire_and_cores),
	TEST(each_stream_has_a_send_buffer),
	TEST(unread_packets_close_the_window_by_their_memory),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
