/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/transport/loss.h"
#include "sim/transport/path.h"
#include "sim/transport/rdma.h"
#include "sim/transport/shm.h"
#include "tests/net.h"

#define GOODPUT (12.5e9 * 4096 / 4122)

/* 100 Gbit/s, packets of 4096 + 26 B, a latency of 1 us in one direction. */
static struct net *rdma_net(struct rdma_params *params)
{
	struct net *net = net_new();
	net->link_kind = "infiniband";
	net->link = (struct link_traits){.capacity_Bps = {12.5e9, 12.5e9},
					 .latency_s = 1e-6,
					 .packet_payload_B = 4096,
					 .packet_overhead_B = 26,
					 .physical_nic = true};
	net_presets(net->arena, transport_kind_find("rdma")->table, params);
	return net;
}

static double one_way_s(struct net *net, const struct rdma_params *params, double size_B)
{
	net_build(net);
	net_connect(net, "rdma", params);
	net_run(net);
	double start_s = net_now_s(net);
	net_send(net, 0, size_B, 0);
	net_run(net);
	return net->delivered_s[0] - start_s;
}

/* post 0.3 + 27 B / 12.5 GB/s + 1 + completion 0.4 us, and two copies of a byte at 6 GB/s. The
 * host's sleep states and interrupt limits have no influence. */
static void short_message_takes_post_wire_and_completion(void)
{
	struct rdma_params params;
	struct net *net = rdma_net(&params);
	net->host_params.c_states = net->host_params.nic_moderation = true;
	CHECK_NEAR(one_way_s(net, &params, 1), 1.7e-6 + 27 / 12.5e9 + 2 / 6e9, 1e-5);
	/* Opening takes 0.3 + 1 + (0.4 + 0.3) + 1 + 0.4. */
	CHECK_NEAR(net->opened_s, 3.4e-6, 1e-9);
	net_free(net);
}

/* An empty message travels as one of 1 B. */
static void empty_messages_are_delivered(void)
{
	struct rdma_params params;
	struct net *net = rdma_net(&params);
	CHECK_NEAR(one_way_s(net, &params, 0), 1.7e-6 + 27 / 12.5e9 + 2 / 6e9, 1e-5);
	net_free(net);
}

/* 8 KiB are copied at either end: 1.365 us each, and 0.66 us on the wire. */
static void eager_messages_are_copied_at_both_ends(void)
{
	struct rdma_params params;
	struct net *net = rdma_net(&params);
	CHECK_NEAR(one_way_s(net, &params, 8192), 1.7e-6 + 2 * 8192 / 6e9 + 8192 / GOODPUT, 1e-6);
	net_free(net);
	/* each end copies at its own rate */
	net = rdma_net(&params);
	struct host_params slower = net->host_params;
	slower.copy_rate_Bps = 2e9;
	net->second_params = &slower;
	CHECK_NEAR(one_way_s(net, &params, 8192), 1.7e-6 + 8192 / 6e9 + 8192 / 2e9 + 8192 / GOODPUT,
		   1e-6);
	net_free(net);
}

/* 1 MiB uses a rendezvous, which is one round trip with the work at its ends, and is not copied:
 * the cores work 2 x (0.3 + 0.4) and 0.4 + 0.3 + 0.4 us. */
static void rendezvous_messages_are_not_copied(void)
{
	struct rdma_params params;
	struct net *net = rdma_net(&params);
	double expected_s = 0.3e-6 + 1e-6 + 0.7e-6 + 1e-6 + 0.7e-6 + 1048576 / GOODPUT + 1.4e-6;
	net_build(net);
	net_connect(net, "rdma", &params);
	net_run(net);
	double before_s[2] = {cpu_busy_s(net->core[0]), cpu_busy_s(net->core[1])};
	double start_s = net_now_s(net);
	net_send(net, 0, 1048576, 0);
	net_run(net);
	CHECK_NEAR(net->delivered_s[0] - start_s, expected_s, 1e-6);
	CHECK_NEAR(cpu_busy_s(net->core[0]) - before_s[0], 1.0e-6, 1e-6);
	CHECK_NEAR(cpu_busy_s(net->core[1]) - before_s[1], 1.1e-6, 1e-6);
	net_free(net);
}

/* PVRDMA adds 1.25 us at each end; passthrough adds nothing. */
static void pvrdma_adds_latency_and_passthrough_none(void)
{
	for (int kind = VNIC_PASSTHROUGH; kind <= VNIC_PVRDMA; kind++) {
		struct rdma_params params;
		struct net *net = rdma_net(&params);
		for (int i = 0; i < 2; i++) {
			net_presets(net->arena, &guest_table, &net->guest_params[i]);
			net->guest_params[i].kind = GUEST_VM;
			net->guest_params[i].vnic = kind;
		}
		double added_s = kind == VNIC_PVRDMA ? 2.5e-6 : 0;
		CHECK_NEAR(one_way_s(net, &params, 1), 1.7e-6 + added_s, 2e-3);
		net_free(net);
	}
}

/* With interrupts a thread is woken, which takes 4 us, on a core that sleeps. */
static void interrupt_completion_wakes_thread_and_core(void)
{
	struct rdma_params params;
	struct net *net = rdma_net(&params);
	net->guest_params[1].thread_wake_s = 4e-6;
	net->guest_params[1].kind = GUEST_VM;
	net->guest_params[1].vcpu_wake_s = 14e-6;
	params.interrupts = true;
	CHECK_NEAR(one_way_s(net, &params, 1), 19.7e-6, 1e-3);
	net_free(net);
}

/* A hundred messages of one byte at 10 million messages per second: the last one is 9.9 us after
 * the first. */
static void message_rate_is_limited(void)
{
	struct rdma_params params;
	struct net *net = rdma_net(&params);
	params.post_s = params.completion_s = 0;
	net_build(net);
	net_connect(net, "rdma", &params);
	net_run(net);
	for (uint64_t i = 0; i < 100; i++)
		net_send(net, 0, 1, i);
	net_run(net);
	CHECK_NEAR(net->delivered_s[99] - net->delivered_s[0], 9.9e-6, 1e-3);
	net_free(net);
}

/* A work request occupies one of four places of the queue until its acknowledgement has come back.
 * So four messages leave in each round trip of 20 us, 5 us apart. Each direction has its own queue.
 */
static void queue_bounds_the_messages_of_a_round_trip(void)
{
	struct rdma_params params;
	struct net *net = rdma_net(&params);
	net->link.latency_s = 10e-6;
	params.post_s = params.completion_s = 0;
	params.queue_count = 4;
	net_build(net);
	net_connect(net, "rdma", &params);
	net_run(net);
	double start_s = net_now_s(net), message_s = 27 / 12.5e9 + 2 / 6e9;
	for (uint64_t i = 0; i < 40; i++)
		net_send(net, i % 2, 1, i);
	net_run(net);
	for (uint64_t i = 0; i < 40; i++)
		CHECK_NEAR(net->delivered_s[i] - start_s,
			   10e-6 + (double)(i / 2) * 5e-6 + message_s, 1e-3);
	net_free(net);
}

/* With two work requests, the third message is accepted when the first has left. */
static void full_queue_delays_acceptance(void)
{
	struct rdma_params params;
	struct net *net = rdma_net(&params);
	params.queue_count = 2;
	params.eager_B = 1e9;
	net->host_params.copy_rate_Bps = 1e12;
	net_build(net);
	net_connect(net, "rdma", &params);
	net_run(net);
	double start_s = net_now_s(net), wire_s = 1048576 / GOODPUT;
	for (uint64_t i = 0; i < 4; i++)
		net_send(net, 0, 1048576, i);
	net_run(net);
	CHECK(net->accepted_s[1] - start_s < 4e-6);
	CHECK_NEAR(net->accepted_s[2] - start_s, wire_s, 3e-2);
	CHECK_NEAR(net->accepted_s[3] - start_s, 2 * wire_s, 3e-2);
	for (uint64_t i = 0; i < 4; i++)
		CHECK(net->order[i] == i);
	net_free(net);
}

/* Ten packets are in flight: at 1 % loss 0.99 / (0.99 + 0.1) of the goodput. The window is that of
 * the round trip. */
static void loss_lowers_the_goodput_by_go_back_n(void)
{
	CHECK_NEAR(rdma_go_back_n_ratio(0.01, 10), 0.99 / 1.09, 1e-12);
	CHECK(rdma_go_back_n_ratio(0, 10) == 1 && rdma_go_back_n_ratio(1, 10) == 0);
	for (double latency_s = 1e-6; latency_s < 1e-3; latency_s *= 100) {
		struct rdma_params params;
		struct net *net = rdma_net(&params);
		net->link.loss_ratio[0] = 1e-3;
		net->link.latency_s = latency_s;
		double size_B = 4096 * 10000.0;
		double window = GOODPUT * 2 * latency_s / 4096;
		/* a rendezvous takes a round trip before the message */
		double taken_s = one_way_s(net, &params, size_B) - 3 * latency_s;
		double expected_s = size_B / GOODPUT / rdma_go_back_n_ratio(1e-3, window);
		/* the last packets may be lost, too, and wait for their repair */
		double stalled_s = connection_counters(net->connection)->stalled_s;
		CHECK_NEAR(taken_s - stalled_s, expected_s, 5e-3);
		net_free(net);
	}
}

/* Messages of one packet of which 30 % are lost. The packet of the next message reports a loss at
 * once, so it is repaired one round trip of 2 us later. Only the last message has none behind it,
 * and each of its losses costs the timeout of 67.1 ms. */
static void message_behind_a_lost_one_reports_the_loss(void)
{
	struct rdma_params params;
	struct net *net = rdma_net(&params);
	net->link.loss_ratio[0] = 0.3;
	params.post_s = params.completion_s = 0;
	net_build(net);
	net_connect(net, "rdma", &params);
	net_run(net);
	const struct connection_counters *counters = connection_counters(net->connection);
	const struct connection_counters before = *counters;
	double start_s = net_now_s(net);
	for (uint64_t i = 0; i < 200; i++)
		net_send(net, 0, 1, i);
	net_run(net);
	double naks = (double)(counters->fast_retransmits_count - before.fast_retransmits_count);
	double timeouts = (double)(counters->timeouts_count - before.timeouts_count);
	CHECK(naks > 50 && timeouts < 8); /* 199 x 0.3 / 0.7 = 85, with a deviation of 11 */
	CHECK_NEAR(counters->stalled_s - before.stalled_s, naks * 2e-6 + timeouts * 67.1e-3, 1e-9);
	CHECK_NEAR(net->delivered_s[198] - start_s, 200 * 0.1e-6 + naks * 2e-6, 0.1);
	CHECK(net->delivered_s[199] - net->delivered_s[198] >= timeouts * 67.1e-3);
	net_free(net);
}

/* The message behind a lost one is long, and its rendezvous takes longer than the lost one. So no
 * packet reports the loss, which costs the timeout each time. */
static void message_that_is_not_ready_reports_no_loss(void)
{
	struct rdma_params params;
	struct net *net = rdma_net(&params);
	size_t lost_count = 0;
	net->link.loss_ratio[0] = 0.3;
	params.post_s = params.completion_s = 0;
	params.eager_B = 100;
	net_build(net);
	net_connect(net, "rdma", &params);
	net_run(net);
	for (uint64_t i = 0; i < 40; i += 2) {
		double start_s = net_now_s(net);
		net_send(net, 0, 1, i);
		net_send(net, 0, 101, i + 1);
		net_run(net);
		double took_s = net->delivered_s[i] - start_s;
		CHECK(took_s < 2e-6 || took_s > params.timeout_s);
		lost_count += took_s > params.timeout_s;
	}
	CHECK(lost_count >= 2 && lost_count <= 14); /* of 20, 6 with a deviation of 2 */
	net_free(net);
}

/* Short messages at any loss are delivered in order or end in a verdict; a lost one costs the NIC's
 * timeout. */
static void any_loss_ends_in_delivery_or_verdict(void)
{
	for (int step = 0; step <= 10; step++) {
		struct rdma_params params;
		struct net *net = rdma_net(&params);
		double p = step / 10.0;
		net->link.loss_ratio[0] = net->link.loss_ratio[1] = p;
		net_build(net);
		net_connect(net, "rdma", &params);
		net_run(net);
		uint64_t opening = connection_counters(net->connection)->timeouts_count;
		for (uint64_t i = 0; net->opened_s >= 0 && i < 50; i++) {
			net_send(net, (int)(i % 2), i % 10 == 9 ? 1e6 : 100, i);
			if (i % 3 == 0)
				net_run(net);
		}
		net_run(net);
		CHECK(net->delivered_count == 50 || net->reason != NULL);
		CHECK(p < 0.25 ? net->delivered_count == 50 : true);
		CHECK(p < 1 || net->opened_s < 0);
		const struct connection_counters *counters = connection_counters(net->connection);
		uint64_t timeouts = counters->timeouts_count - opening;
		CHECK(counters->stalled_s >= 67e-3 * (double)timeouts);
		CHECK(timeouts > 0 || p <= 0 || net->reason != NULL);
		if (net->delivered_count == 50)
			CHECK_NEAR(counters->payload_delivered_B[0], counters->payload_sent_B[0],
				   1e-12);
		uint64_t last[2] = {0, 0};
		for (uint64_t i = 0; i < net->delivered_count; i++) {
			CHECK(net->order[i] >= last[net->order[i] % 2]);
			last[net->order[i] % 2] = net->order[i];
		}
		net_free(net);
	}
}

/* Without retries the first lost packet ends the connection. */
static void connection_without_retries_fails_at_the_first_loss(void)
{
	struct rdma_params params;
	struct net *net = rdma_net(&params);
	net->link.loss_ratio[0] = net->link.loss_ratio[1] = 0.5;
	params.retries_count = 0;
	params.connect_retries_count = 100;
	net_build(net);
	net_connect(net, "rdma", &params);
	net_run(net);
	CHECK(net->opened_s > 0);
	for (uint64_t i = 0; i < 50; i++)
		net_send(net, 0, 100, i);
	net_run(net);
	CHECK(net->delivered_count < 50);
	CHECK_TEXT(net->reason, "connection lost: no acknowledgement after 0 retries");
	net_free(net);
}

/* Three requests get no answer. The last one is given up when a fourth would be due. */
static void connection_fails_after_its_requests(void)
{
	struct rdma_params params;
	struct net *net = rdma_net(&params);
	net->link.loss_ratio[0] = 1;
	params.connect_retries_count = 2;
	params.connect_retry_s = 0.5;
	net_build(net);
	net_connect(net, "rdma", &params);
	net_run(net);
	CHECK_NEAR(net->failed_s, 1.5, 1e-9);
	CHECK_TEXT(net->reason, "connection timeout: no answer to 3 connection requests");
	CHECK(connection_counters(net->connection)->timeouts_count == 2);
	CHECK(connection_counters(net->connection)->losses_count == 3);
	net_free(net);
}

static void rdma_needs_links_that_carry_it(void)
{
	struct rdma_params params;
	struct net *net = rdma_net(&params);
	net->link_kind = "ethernet";
	net_build(net);
	net_connect(net, "rdma", &params);
	CHECK(net->connection == NULL);
	net_free(net);
	for (int end = 0; end < 2; end++) { /* and NICs that carry it, at both ends */
		net = rdma_net(&params);
		net->guest_params[end].vnic = end ? VNIC_VMXNET3 : VNIC_VIRTIO;
		net_build(net);
		net_connect(net, "rdma", &params);
		CHECK(net->connection == NULL);
		net_free(net);
	}
}

/* Shared memory on one node: 0.3 + 0.7 us and a copy; 2 us for both directions. */
static void shared_memory_takes_notify_and_copy(void)
{
	struct net *net = net_new();
	struct shm_params params;
	net_presets(net->arena, transport_kind_find("shm")->table, &params);
	net->one_node = true;
	net->host_params.c_states = true;
	net_build(net);
	net_connect(net, "shm", &params);
	net_run(net);
	double start_s = net_now_s(net);
	struct message message = {1, NULL, net_echo, net, 0, NULL};
	connection_send(net->connection, 0, &message);
	net_run(net);
	CHECK_NEAR(net->delivered_s[1] - start_s, 2e-6, 1e-3);
	/* 60 MB at 6 GB/s of copying, or 38.4 / 2 GB/s of memory: 10 ms. */
	start_s = net_now_s(net);
	net_send(net, 0, 60e6, 2);
	net_run(net);
	CHECK_NEAR(net->delivered_s[2] - start_s, 10e-3, 1e-3);
	CHECK_NEAR(fabric_carried(net->fabric, host_dram(net->host[0])), 120e6, 1e-9);
	CHECK_NEAR(connection_counters(net->connection)->payload_delivered_B[0], 60e6 + 1, 1e-12);
	net_free(net);
}

/* Messages in shared memory pass no virtual NIC: 0.3 + 0.7 us, and 1 us of the link. A connection
 * takes the 0.3 us of a slot. */
static void shared_memory_does_not_pass_virtual_nics(void)
{
	struct net *net = net_new();
	struct shm_params params;
	net_presets(net->arena, transport_kind_find("shm")->table, &params);
	net->link_kind = "shm";
	net->link.latency_s = 1e-6;
	net->guest_params[0].vnic = net->guest_params[1].vnic = VNIC_VMXNET3;
	net->guest_params[0].vnic_latency_s = net->guest_params[1].vnic_latency_s = 1e-3;
	net_build(net);
	net_connect(net, "shm", &params);
	net_run(net);
	CHECK_NEAR(net->opened_s, 0.3e-6, 1e-9);
	double start_s = net_now_s(net);
	net_send(net, 0, 1, 0);
	net_run(net);
	CHECK_NEAR(net->delivered_s[0] - start_s, 2e-6, 1e-3);
	net_free(net);
}

/* Up to 16 KiB do not use the memory with other flows. At half of the clock a core copies 3 GB/s.
 */
static void long_shared_messages_use_core_and_memory(void)
{
	struct net *net = net_new();
	struct shm_params params;
	net_presets(net->arena, transport_kind_find("shm")->table, &params);
	net->one_node = true;
	net->host_params.clock_Hz = REFERENCE_CLOCK_HZ / 2;
	net_build(net);
	net_connect(net, "shm", &params);
	net_run(net);
	for (uint64_t i = 0; i < 2; i++) {
		net_send(net, 0, 16384 + (double)i, i);
		net_run(net);
		CHECK_NEAR(fabric_carried(net->fabric, host_dram(net->host[0])), i ? 2 * 16385 : 0,
			   1e-9);
	}
	double start_s = net_now_s(net);
	net_send(net, 0, 60e6, 2);
	net_run(net);
	CHECK_NEAR(net->delivered_s[2] - start_s, 20e-3, 1e-3);
	net_free(net);
}

/* A transfer crosses the memory of each host once, which limits it at 5 GB/s. */
static void transfer_crosses_each_hosts_memory_once(void)
{
	struct rdma_params params;
	struct net *net = rdma_net(&params);
	net->host_params.dram_bandwidth_Bps = 5e9;
	params.post_s = params.completion_s = 0;
	CHECK_NEAR(1e9 / one_way_s(net, &params, 1e9), 5e9 / DRAM_PER_DMA, 1e-3);
	for (int i = 0; i < 2; i++)
		CHECK_NEAR(fabric_carried(net->fabric, host_dram(net->host[i])), 1e9 * DRAM_PER_DMA,
			   1e-6);
	net_free(net);
}

static void send_eight(void *ctx, uint64_t arg)
{
	struct net *net = ctx;
	net_send(net, 0, 8 * net->link.packet_payload_B, arg);
}

/* Eight packets are sent at a time with a loss of a tenth, and the test draws the same losses. All
 * packets from the first lost one are sent again: a round trip later if any packet followed,
 * otherwise after the NIC's timeout. */
static void lost_short_messages_are_sent_again(void)
{
	enum { COUNT = 100 };
	const double p = 0.1;
	for (double packet_B = 1024; packet_B <= 4096; packet_B *= 4) {
		struct rdma_params params;
		struct net *net = rdma_net(&params);
		net->link.packet_payload_B = packet_B;
		net->link.loss_ratio[0] = p;
		net->host_params.copy_rate_Bps = 1e18;
		params.post_s = params.completion_s = 0;
		params.eager_B = 1e9;
		net_build(net);
		net_connect(net, "rdma", &params);
		net_run(net);
		double start_s = net_now_s(net);
		for (uint64_t i = 0; i < COUNT; i++)
			engine_at(net->engine, ps_from_s(start_s + 10.0 * (double)i), send_eight,
				  net, i);
		net_run(net);
		struct loss loss = loss_new(p, 1, "a>b/loss 0");
		uint64_t first, resent = 0;
		while (loss_take(&loss, 1, &first) > 0) /* the connection's request */
			continue;
		for (uint64_t i = 0; i < COUNT; i++) {
			double expected_s = 1e-6;
			for (uint64_t left = 8; left > 0;) {
				uint64_t lost = loss_take(&loss, left, &first);
				expected_s += (double)left * (packet_B + 26) / 12.5e9;
				if (lost == 0)
					break;
				expected_s += left - first > lost ? 2e-6 : 67.1e-3;
				left -= first;
				resent++;
			}
			CHECK_NEAR(net->delivered_s[i] - start_s - 10.0 * (double)i, expected_s,
				   1e-6);
		}
		CHECK(resent > 50);
		net_free(net);
	}
}

static const struct test tests[] = {
	TEST(short_message_takes_post_wire_and_completion),
	TEST(empty_messages_are_delivered),
	TEST(eager_messages_are_copied_at_both_ends),
	TEST(rendezvous_messages_are_not_copied),
	TEST(pvrdma_adds_latency_and_passthrough_none),
	TEST(interrupt_completion_wakes_thread_and_core),
	TEST(message_rate_is_limited),
	TEST(queue_bounds_the_messages_of_a_round_trip),
	TEST(full_queue_delays_acceptance),
	TEST(loss_lowers_the_goodput_by_go_back_n),
	TEST(lost_short_messages_are_sent_again),
	TEST(message_behind_a_lost_one_reports_the_loss),
	TEST(message_that_is_not_ready_reports_no_loss),
	TEST(any_loss_ends_in_delivery_or_verdict),
	TEST(connection_without_retries_fails_at_the_first_loss),
	TEST(connection_fails_after_its_requests),
	TEST(rdma_needs_links_that_carry_it),
	TEST(shared_memory_takes_notify_and_copy),
	TEST(long_shared_messages_use_core_and_memory),
	TEST(transfer_crosses_each_hosts_memory_once),
	TEST(shared_memory_does_not_pass_virtual_nics),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
