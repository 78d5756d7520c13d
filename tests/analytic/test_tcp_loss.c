/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cost of lost packets. The test draws the loss process of the connection a second time, so
 * that it can predict which packets are lost. */
#include <math.h>

#include "sim/transport/tcp.h"
#include "tests/net.h"

#define LATENCY_S 1e-3
#define RTT_S     2e-3
#define MSS_B     1448.0

/* Latency 1 ms one way, packets with 1448 B of payload, no work, loss p from a to b. */
static struct net *lossy(double p, struct tcp_params *params)
{
	struct net *net = net_new();
	net->link = (struct link_traits){.capacity_Bps = {1e12, 1e12},
					 .latency_s = LATENCY_S,
					 .packet_payload_B = 1500,
					 .loss_ratio = {p, 0}};
	net_presets(net->arena, transport_kind_find("tcp")->table, params);
	return net;
}

static void open(struct net *net, const struct tcp_params *params)
{
	net_build(net);
	net_connect(net, "tcp", params);
	net_run(net);
}

static void send_one(void *ctx, uint64_t arg)
{
	net_send(ctx, 0, MSS_B, arg);
}

static void send_eight(void *ctx, uint64_t arg)
{
	net_send(ctx, 0, 8 * MSS_B, arg);
}

/* The loss process after the SYN, if the SYN was not lost. */
static struct loss twin(double p)
{
	struct loss loss = loss_new(p, 1, "a>b/loss 0");
	uint64_t first;
	CHECK(loss_take(&loss, 1, &first) == 0);
	return loss;
}

/* One packet is sent each second. A lost one arrives RTT + 200 ms later, and twice this is added if
 * its retransmission is lost, too. */
static void lost_last_packet_waits_for_the_timeout(void)
{
	enum { COUNT = 400 };
	const double p = 0.1;
	struct tcp_params params;
	struct net *net = lossy(p, &params);
	open(net, &params);
	double start_s = net_now_s(net);
	for (uint64_t i = 0; i < COUNT; i++)
		engine_at(net->engine, ps_from_s(start_s + 10.0 * (double)i), send_one, net, i);
	net_run(net);
	struct loss loss = twin(p);
	uint64_t lost_count = 0, first;
	for (uint64_t i = 0; i < COUNT; i++) {
		double expected_s = LATENCY_S, rto_s = 0.2 + RTT_S;
		while (loss_take(&loss, 1, &first) > 0) {
			expected_s += rto_s;
			rto_s *= 2;
			lost_count++;
		}
		CHECK_NEAR(net->delivered_s[i] - start_s - 10.0 * (double)i, expected_s, 1e-4);
	}
	const struct connection_counters *counters = connection_counters(net->connection);
	CHECK(counters->losses_count == lost_count && counters->timeouts_count == lost_count);
	CHECK(counters->fast_retransmits_count == 0);
	CHECK(counters->stalled_s >= 0.202 * (double)lost_count);
	/* A tenth of 400 packets and their retransmissions are lost: about 44. */
	CHECK(lost_count >= 40 && lost_count <= 48);
	net_free(net);
}

/* Eight messages are sent at the same time, many times, with a loss of one third. Several wait for
 * one retransmission, but the counted wait is not longer than the run. */
static void overlapping_waits_for_retransmissions_count_once(void)
{
	struct tcp_params params;
	struct net *net = lossy(0.3, &params);
	open(net, &params);
	double start_s = net_now_s(net);
	for (uint64_t i = 0; i < 320; i++)
		engine_at(net->engine, ps_from_s(start_s + 0.25 * (double)(i / 8)), send_one, net,
			  i);
	net_run(net);
	const struct connection_counters *counters = connection_counters(net->connection);
	CHECK(net->delivered_count == 320);
	CHECK(counters->stalled_s > 0.5 * (net_now_s(net) - start_s));
	CHECK(counters->stalled_s <= net_now_s(net) - start_s);
	net_free(net);
}

/* Eight packets are sent every 10 seconds. A loss that three packets follow is repaired one round
 * trip later, a loss nearer to the end after the timeout. */
static void loss_before_three_packets_is_repaired_in_a_round_trip(void)
{
	enum { COUNT = 200 };
	const double p = 0.02;
	struct tcp_params params;
	struct net *net = lossy(p, &params);
	params.streams_count = 100; /* no window limits the connection after a loss */
	open(net, &params);
	double start_s = net_now_s(net);
	for (uint64_t i = 0; i < COUNT; i++)
		engine_at(net->engine, ps_from_s(start_s + 10.0 * (double)i), send_eight, net, i);
	net_run(net);
	struct loss loss = twin(p);
	int middle = 0, tail = 0;
	for (uint64_t i = 0; i < COUNT; i++) {
		uint64_t first, again;
		uint64_t lost = loss_take(&loss, 8, &first);
		double expected_s = LATENCY_S, rto_s = 0.2 + RTT_S;
		if (lost > 0 && 8 - first - lost >= 3) {
			middle++;
			expected_s += RTT_S;
			lost = loss_take(&loss, lost, &again);
			expected_s += lost > 0 ? rto_s : 0;
		} else if (lost > 0) {
			tail++;
			expected_s += rto_s;
			lost = loss_take(&loss, lost, &again);
		}
		if (lost == 0)
			CHECK_NEAR(net->delivered_s[i] - start_s - 10.0 * (double)i, expected_s,
				   1e-4);
		while (lost > 0) /* rare, and not calculated here */
			lost = loss_take(&loss, lost, &again);
	}
	CHECK(middle >= 5 && tail >= 3);
	const struct connection_counters *counters = connection_counters(net->connection);
	CHECK(counters->fast_retransmits_count == (uint64_t)middle);
	net_free(net);
}

static void send_eight_back(void *ctx, uint64_t arg)
{
	net_send(ctx, 1, 8 * MSS_B, arg);
}

/* Eight packets are sent from a to b, and others from b to a. A message without a loss is in time.
 * After a loss it is late by one round trip at least, and by this exactly if three packets
 * followed. */
static void both_directions_repair_losses_alike(void)
{
	enum { COUNT = 400 };
	for (int from = 0; from < 2; from++) {
		struct tcp_params params;
		struct net *net = lossy(0, &params);
		net->link.loss_ratio[from] = 0.02;
		params.streams_count = 100; /* no window limits the connection after a loss */
		open(net, &params);
		double start_s = net_now_s(net);
		for (uint64_t i = 0; i < COUNT; i++)
			engine_at(net->engine, ps_from_s(start_s + 10.0 * (double)i),
				  from ? send_eight_back : send_eight, net, i);
		net_run(net);
		const struct connection_counters *counters = connection_counters(net->connection);
		CHECK(counters->fast_retransmits_count > 10);
		int repaired = 0;
		for (uint64_t i = 0; i < COUNT; i++) {
			double late_s =
				net->delivered_s[i] - start_s - 10.0 * (double)i - LATENCY_S;
			repaired += fabs(late_s - RTT_S) < 1e-4;
			CHECK(late_s < 1e-4 || late_s > RTT_S - 1e-4);
		}
		CHECK(repaired >= 10);
		net_free(net);
	}
}

/* One packet is sent each millisecond. The three packets after a lost one cause duplicate
 * acknowledgements. So the lost one arrives 3 ms and a round trip late, and the packets after it
 * wait for it. */
static void later_messages_trigger_a_fast_retransmission(void)
{
	const double p = 0.01;
	struct tcp_params params;
	struct net *net = lossy(p, &params);
	open(net, &params);
	struct loss loss = twin(p);
	uint64_t lost = loss.gap;
	double start_s = net_now_s(net);
	CHECK(lost > 2 && lost < 1000);
	for (uint64_t i = 0; i < lost + 6; i++)
		engine_at(net->engine, ps_from_s(start_s + 1e-3 * (double)i), send_one, net, i);
	net_run(net);
	double sent_s = start_s + 1e-3 * (double)lost;
	CHECK_NEAR(net->delivered_s[lost - 1] - sent_s, 0, 1e-6);
	CHECK_NEAR(net->delivered_s[lost] - sent_s, LATENCY_S + 3e-3 + RTT_S, 1e-4);
	CHECK_NEAR(net->delivered_s[lost + 1], net->delivered_s[lost], 1e-9);
	CHECK_NEAR(net->delivered_s[lost + 5], net->delivered_s[lost], 1e-9);
	for (uint64_t i = 0; i < net->delivered_count; i++)
		CHECK(net->order[i] == i);
	CHECK(connection_counters(net->connection)->timeouts_count == 0);
	CHECK(connection_counters(net->connection)->fast_retransmits_count == 1);
	net_free(net);
}

static void lose_next(void *ctx, uint64_t arg)
{
	struct net *net = ctx;
	((struct tcp_connection *)net->connection)->directions[0].loss.gap = 0;
}

/* Opens a connection that loses only the packets after calls of lose_next. */
static struct net *losing(struct tcp_params *params)
{
	struct net *net = lossy(0, params);
	open(net, params);
	((struct tcp_connection *)net->connection)->directions[0].loss = loss_new(1e-12, 1, "none");
	return net;
}

/* One packet is sent each millisecond, and the packets 0 and 3 are lost. The third acknowledgement
 * behind the first hole is that of packet 4, because packet 3 causes none. */
static void lost_packets_cause_no_acknowledgement(void)
{
	struct tcp_params params;
	struct net *net = losing(&params);
	double start_s = net_now_s(net);
	lose_next(net, 0);
	engine_at(net->engine, ps_from_s(start_s + 2.5e-3), lose_next, net, 0);
	for (uint64_t i = 0; i < 8; i++)
		engine_at(net->engine, ps_from_s(start_s + 1e-3 * (double)i), send_one, net, i);
	net_run(net);
	CHECK_NEAR(net->delivered_s[0] - start_s, LATENCY_S + 4e-3 + RTT_S, 1e-4);
	net_free(net);
}

/* A packet and its retransmission after the timeout are lost. Acknowledgements of later packets do
 * not lead to another one before the second timeout, which is twice as long. */
static void lost_retransmission_waits_for_the_next_timeout(void)
{
	struct tcp_params params;
	struct net *net = losing(&params);
	double start_s = net_now_s(net);
	lose_next(net, 0);
	engine_at(net->engine, ps_from_s(start_s + 0.1), lose_next, net, 0);
	send_one(net, 0);
	for (uint64_t i = 1; i < 8; i++)
		engine_at(net->engine, ps_from_s(start_s + 0.3 + 1e-3 * (double)i), send_one, net,
			  i);
	net_run(net);
	CHECK_NEAR(net->delivered_s[0] - start_s, LATENCY_S + 3 * (0.2 + RTT_S), 1e-4);
	CHECK(connection_counters(net->connection)->fast_retransmits_count == 0);
	net_free(net);
}

/* The acknowledgements at 2, 3 and 4 ms lead to a retransmission of packet 0, which arrives at 6
 * ms. Packet 4 is lost on its way, at 5.5 ms. It needs three acknowledgements of its own:
 * at 6.5, 7.5 and 8.5 ms. */
static void a_loss_behind_a_repair_needs_its_own_acknowledgements(void)
{
	struct tcp_params params;
	struct net *net = losing(&params);
	double start_s = net_now_s(net);
	lose_next(net, 0);
	engine_at(net->engine, ps_from_s(start_s + 4.2e-3), lose_next, net, 0);
	for (uint64_t i = 0; i < 9; i++)
		engine_at(net->engine, ps_from_s(start_s + 1e-3 * (double)i + (i < 4 ? 0 : 5e-4)),
			  send_one, net, i);
	net_run(net);
	CHECK_NEAR(net->delivered_s[0] - start_s, LATENCY_S + 3e-3 + RTT_S, 1e-4);
	CHECK_NEAR(net->delivered_s[4] - start_s, 8.5e-3 + RTT_S, 1e-4);
	CHECK(connection_counters(net->connection)->fast_retransmits_count == 2);
	net_free(net);
}

/* Both packets of a message are lost, and then the first of the two retransmissions. The second one
 * arrives, but the first controls the timeout, which doubles. Searches a loss process like that. */
static void timeout_doubles_while_the_first_packet_is_lost(void)
{
	struct loss found = {0};
	for (uint64_t seed = 0; seed < 1000 && found.p <= 0; seed++) {
		struct loss start = loss_new(0.5, seed, "searched"), loss = start;
		uint64_t first;
		bool fits = loss_take(&loss, 2, &first) == 2;
		fits = loss_take(&loss, 2, &first) == 1 && first == 0 && fits;
		if (loss_take(&loss, 1, &first) == 0 && fits)
			found = start;
	}
	struct tcp_params params;
	struct net *net = lossy(1e-9, &params);
	open(net, &params);
	((struct tcp_connection *)net->connection)->directions[0].loss = found;
	double start_s = net_now_s(net);
	net_send(net, 0, 2 * MSS_B, 0);
	net_run(net);
	CHECK_NEAR(net->delivered_s[0] - start_s, LATENCY_S + 3 * (0.2 + RTT_S), 1e-4);
	CHECK(connection_counters(net->connection)->losses_count == 3);
	CHECK(connection_counters(net->connection)->timeouts_count == 2);
	net_free(net);
}

/* A message of 100 B has one packet. On a link of 100 kB/s, each of its transmissions takes 1 ms
 * and that of its headers. If the first is lost, the second ends a timeout and a transmission
 * later. */
static void retransmission_has_the_size_of_the_lost_packet(void)
{
	double delivered_s[2];
	for (int lost = 0; lost < 2; lost++) {
		struct tcp_params params;
		struct net *net = lossy(0, &params);
		net->link.capacity_Bps[0] = 1e5;
		open(net, &params);
		struct tcp_connection *connection = (struct tcp_connection *)net->connection;
		connection->directions[0].loss.p = 1e-9;
		connection->directions[0].loss.gap = lost ? 0 : UINT64_MAX;
		double start_s = net_now_s(net);
		net_send(net, 0, 100, 0);
		net_run(net);
		delivered_s[lost] = net->delivered_s[0] - start_s;
		net_free(net);
	}
	double again_s = delivered_s[1] - delivered_s[0] - (0.2 + RTT_S);
	CHECK(again_s > 1e-3 && again_s < 2.5e-3);
}

/* Everything is lost from now on. The timeouts are 0.2 .. 102.4 s, then six times 120 s: 0.2 (2^10
 * - 1) + 720 = 924.6 s without round trips. */
static void loss_of_all_packets_gives_a_verdict(void)
{
	for (int bulk = 0; bulk < 2; bulk++) {
		struct tcp_params params;
		struct net *net = lossy(0, &params);
		net->link.latency_s = 0;
		open(net, &params);
		struct tcp_connection *connection = (struct tcp_connection *)net->connection;
		connection->directions[0].loss.p = connection->directions[0].fate.p = 1;
		double start_s = net_now_s(net);
		net_send(net, 0, bulk ? 100 * MSS_B : 1, 0);
		net_send(net, 0, 1, 1);
		net_run(net);
		CHECK_TEXT(net->reason, "connection timed out: no acknowledgement after 15 "
					"retransmissions");
		if (!bulk)
			CHECK_NEAR(net->failed_s - start_s, 924.6, 1e-6);
		CHECK(net->delivered_count == 0);
		CHECK(connection_counters(net->connection)->timeouts_count == 15);
		net_send(net, 0, 1, 2); /* nothing happens */
		net_run(net);
		CHECK(net->delivered_s[2] < 0);
		net_free(net);
	}
}

/* The packets of a long write are not drawn one by one. If all are lost, its first packet and each
 * retransmission count. 15 retransmissions take 924.6 s, as above, and no retransmission 0.2 s. */
static void long_write_without_acknowledgements_fails_after_its_timeouts(void)
{
	double failed_s[2];
	for (int many = 0; many < 2; many++) {
		struct tcp_params params;
		struct net *net = lossy(0, &params);
		net->link.latency_s = 0;
		params.retries_count = many ? 15 : 0;
		open(net, &params);
		struct tcp_connection *connection = (struct tcp_connection *)net->connection;
		connection->directions[0].loss.p = connection->directions[0].fate.p = 1;
		net_send(net, 0, 1e4 * MSS_B, 0);
		net_run(net);
		failed_s[many] = net->failed_s;
		CHECK(net->delivered_count == 0);
		CHECK(connection_counters(net->connection)->losses_count == (many ? 16 : 1));
		net_free(net);
	}
	CHECK_NEAR(failed_s[1] - failed_s[0], 924.6 - 0.2, 1e-6);
}

/* Seven SYNs get no answer: 1 + 2 + 4 + 8 + 16 + 32 + 64 s. */
static void connection_fails_after_seven_lost_syns(void)
{
	struct tcp_params params;
	struct net *net = lossy(1, &params);
	open(net, &params);
	CHECK_NEAR(net->failed_s, 127, 1e-9);
	CHECK_TEXT(net->reason, "connection timed out: no answer to SYN after 6 retransmissions");
	CHECK(connection_counters(net->connection)->losses_count == 7);
	CHECK(net->opened_s < 0);
	CHECK(connection_counters(net->connection)->timeouts_count == 6);
	net_free(net);
	/* The maximum timeout limits the waits: 1 + 2 + 3 + 3 s after three retransmissions. */
	net = lossy(1, &params);
	params.rto_max_s = 3;
	params.syn_retries_count = 3;
	open(net, &params);
	CHECK_NEAR(net->failed_s, 9, 1e-9);
	net_free(net);
}

static void connect_timeout_gives_a_verdict(void)
{
	struct tcp_params params;
	struct net *net = lossy(1, &params);
	params.connect_timeout_s = 10;
	open(net, &params);
	CHECK_NEAR(net->failed_s, 10, 1e-9);
	CHECK_TEXT(net->reason, "connection timeout: no answer to SYN within 10 s");
	net_free(net);
	net = lossy(0, &params); /* the limit has no effect after the connection is open */
	params.connect_timeout_s = 10;
	open(net, &params);
	CHECK(net->reason == NULL && net_now_s(net) < 10);
	net_free(net);
}

/* With this seed and p the first SYN is lost. */
static void lost_syn_delays_the_connection_by_a_second(void)
{
	struct tcp_params params;
	const double p = 0.7;
	struct net *net = lossy(p, &params);
	open(net, &params);
	struct loss loss = loss_new(p, 1, "a>b/loss 0");
	double expected_s = RTT_S, wait_s = 1;
	uint64_t first;
	while (loss_take(&loss, 1, &first) > 0) {
		expected_s += wait_s;
		wait_s *= 2;
	}
	CHECK(wait_s > 1);
	CHECK_NEAR(net->opened_s, expected_s, 1e-9);
	net_free(net);
}

/* The share of lost packets approaches p. The probabilities 0 and 1 are exact. */
static void loss_process_loses_the_given_share_of_packets(void)
{
	static const double chances[] = {1e-4, 1e-3, 1e-2, 0.1, 0.5, 0.9};
	uint64_t first;
	for (size_t i = 0; i < sizeof chances / sizeof chances[0]; i++) {
		struct loss loss = loss_new(chances[i], 7, "stream");
		uint64_t count = (uint64_t)(200 / chances[i]);
		uint64_t lost = 0;
		for (uint64_t k = 0; k < count; k += count / 100)
			lost += loss_take(&loss, count / 100, &first);
		CHECK_NEAR((double)lost, 200, 0.03);
	}
	struct loss never = loss_new(0, 7, "stream"), always = loss_new(1, 7, "stream");
	CHECK(loss_take(&never, 1000000, &first) == 0 && first == 1000000);
	CHECK(loss_take(&always, 1000, &first) == 1000 && first == 0);
	/* A packet is lost at each of n tries with probability p^n. The fates are drawn in strata,
	 * so each round of them has exactly this share. Either of two packets can have this fate.
	 */
	static const struct {
		double tries, packets, share;
	} fates[] = {{1, 1, 0.5}, {2, 1, 0.25}, {3, 1, 0.125}, {1, 2, 0.75}, {2, 2, 0.4375}};
	for (size_t i = 0; i < sizeof fates / sizeof fates[0]; i++) {
		struct loss fate = loss_new(0, 7, "fate");
		int met = 0;
		for (int k = 0; k < LOSS_STRATA; k++)
			met += loss_every_time(&fate, 0.5, fates[i].tries, fates[i].packets);
		CHECK_NEAR(met, fates[i].share * LOSS_STRATA, 0);
	}
	struct loss one = loss_new(0.5, 7, "stream"), two = loss_new(0.5, 7, "other");
	CHECK(loss_uniform(&one) != loss_uniform(&two));
}

static const struct test tests[] = {
	TEST(lost_last_packet_waits_for_the_timeout),
	TEST(overlapping_waits_for_retransmissions_count_once),
	TEST(loss_before_three_packets_is_repaired_in_a_round_trip),
	TEST(both_directions_repair_losses_alike),
	TEST(later_messages_trigger_a_fast_retransmission),
	TEST(lost_packets_cause_no_acknowledgement),
	TEST(a_loss_behind_a_repair_needs_its_own_acknowledgements),
	TEST(lost_retransmission_waits_for_the_next_timeout),
	TEST(timeout_doubles_while_the_first_packet_is_lost),
	TEST(retransmission_has_the_size_of_the_lost_packet),
	TEST(loss_of_all_packets_gives_a_verdict),
	TEST(long_write_without_acknowledgements_fails_after_its_timeouts),
	TEST(connection_fails_after_seven_lost_syns),
	TEST(connect_timeout_gives_a_verdict),
	TEST(lost_syn_delays_the_connection_by_a_second),
	TEST(loss_process_loses_the_given_share_of_packets),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
