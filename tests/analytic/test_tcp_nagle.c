/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nagle's algorithm and delayed acknowledgements: which messages wait, and for how long. Work costs
 * nothing, the wire carries 1 B/ns and has a latency of 10 us, and each segment has 52 B of
 * headers.
 */
#include "sim/transport/tcp.h"
#include "tests/net.h"

static struct net *nagle_net(struct tcp_params *params)
{
	struct net *net = net_new();
	net->link.latency_s = 10e-6;
	net->link.packet_payload_B = 1500;
	net_presets(net->arena, transport_kind_find("tcp")->table, params);
	params->nagle = true;
	return net;
}

static void open_connection(struct net *net, const struct tcp_params *params)
{
	net_build(net);
	net_connect(net, "tcp", params);
	net_run(net);
}

/* Requests of end 0, of which each `every`th has an answer of 8 B after answer_after_s. The next
 * request is sent when the answer has arrived, or at once if there is none. */
struct rounds {
	struct net *net;
	double request_B, answer_after_s;
	int every, count;
	double begun_s;
	char stalls[64]; /* for each round with an answer: 'S' if it took longer than 20 ms */
	size_t stall_count;
	double taken_s; /* time of the last one */
};

static void requested(void *ctx, uint64_t arg);

static void round_begin(struct rounds *rounds, uint64_t number)
{
	rounds->begun_s = net_now_s(rounds->net);
	for (int i = 0; i < rounds->every; i++, number++) {
		struct message request = {rounds->request_B, NULL, requested, rounds, number, NULL};
		connection_send(rounds->net->connection, 0, &request);
	}
}

static void answered(void *ctx, uint64_t arg)
{
	struct rounds *rounds = ctx;
	rounds->taken_s = net_now_s(rounds->net) - rounds->begun_s;
	rounds->stalls[rounds->stall_count++] =
		rounds->taken_s - rounds->answer_after_s > 20e-3 ? 'S' : '.';
	if (rounds->stall_count < (size_t)rounds->count)
		round_begin(rounds, arg + 1);
}

static void answer(void *ctx, uint64_t arg)
{
	struct rounds *rounds = ctx;
	struct message message = {8, NULL, answered, rounds, arg, NULL};
	connection_send(rounds->net->connection, 1, &message);
}

static void requested(void *ctx, uint64_t arg)
{
	struct rounds *rounds = ctx;
	if ((int)arg % rounds->every == rounds->every - 1)
		engine_after(rounds->net->engine, ps_from_s(rounds->answer_after_s), answer, rounds,
			     arg);
}

/* Linux 6.18 has the same pattern over loopback and over a pair of virtual devices with MTU 1500
 * (tests/live/two_writes.c). */
static void requests_of_two_writes_stall_where_linux_does(void)
{
	static const struct {
		double body_B;
		double answers_count, answer_after_s;
		int every;
		bool one_node;
		const char *stalls;
	} rows[] = {
		/* Quick acknowledgements save only the first, because then the server answers. */
		{100, 1, 0, 1, false, ".SSSSSSSSS"},
		{100, 1, 0, 1, true, ".SSSSSSSSS"},
		/* The third answer makes it interactive, and the timer ends that. */
		{100, 3, 0, 1, false, "...S..S..S"},
		/* 1447 B are less than a segment. 1448 B leave at once behind the 16 B. */
		{1447, 1, 0, 1, false, ".SSSSSSSSS"},
		{1448, 1, 0, 1, false, ".........."},
		{65536, 1, 0, 1, false, ".........."},
		/* Two segments behind the 16 B are acknowledged at once, so the last 100 B leave.
		 */
		{2996, 1, 0, 1, false, ".........."},
		/* On one machine a segment has 65484 B. */
		{1448, 1, 0, 1, true, ".SSSSSSSSS"},
		{65536, 1, 0, 1, true, ".........."},
		/* An answer later than 40 ms does not make the server interactive. */
		{100, 1, 60e-3, 1, false, ".........."},
		{100, 1, 30e-3, 1, false, ".SSSSSSSSS"},
		/* The header of the first of five requests waits, and the others wait behind it. */
		{100, 1, 0, 5, false, ".SSSSSSSSS"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct tcp_params params;
		struct net *net = nagle_net(&params);
		net->one_node = rows[i].one_node;
		params.writes_per_message_count = 2;
		params.first_write_B = 16;
		params.interactive_answers_count = rows[i].answers_count;
		open_connection(net, &params);
		struct rounds rounds = {.net = net,
					.request_B = 16 + rows[i].body_B,
					.answer_after_s = rows[i].answer_after_s,
					.every = rows[i].every,
					.count = 10};
		round_begin(&rounds, 0);
		net_run(net);
		if (!CHECK_TEXT(rounds.stalls, rows[i].stalls))
			printf("  row %zu\n", i);
		net_free(net);
	}
}

/* Header 10.068 us, acknowledgement 10 us, body 10.152 us, answer 10.060 us. In the second round
 * the acknowledgement is 40 ms later. */
static void stall_lasts_for_the_delayed_acknowledgement(void)
{
	for (int count = 1; count <= 2; count++) {
		struct tcp_params params;
		struct net *net = nagle_net(&params);
		params.writes_per_message_count = 2;
		params.first_write_B = 16;
		open_connection(net, &params);
		struct rounds rounds = {.net = net, .request_B = 116, .every = 1, .count = count};
		round_begin(&rounds, 0);
		net_run(net);
		CHECK_NEAR(rounds.taken_s, (count == 1 ? 0 : 40e-3) + 40.28e-6, 1e-9);
		net_free(net);
	}
}

/* An answer carries the acknowledgement, so a request of one write never waits. */
static void request_and_answer_of_one_write_do_not_wait(void)
{
	struct tcp_params params;
	struct net *net = nagle_net(&params);
	open_connection(net, &params);
	struct rounds rounds = {.net = net, .request_B = 8, .every = 1, .count = 5};
	round_begin(&rounds, 0);
	net_run(net);
	CHECK_NEAR(rounds.taken_s, 20.12e-6, 1e-9);
	net_free(net);
}

/* Messages of two parts: the first has first_write bytes, and the others share the rest equally. A
 * message that is not longer than the first write is one write. */
static void first_write_is_the_header(void)
{
	static const struct {
		double size_B, writes, packets;
	} rows[] = {{16, 3, 1}, {17, 3, 3}, {116, 3, 3}, {16 + 2 * 1449, 3, 5}, {16 + 1449, 2, 3}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct tcp_params params;
		struct net *net = nagle_net(&params);
		params.nagle = false;
		params.writes_per_message_count = rows[i].writes;
		params.first_write_B = 16;
		open_connection(net, &params);
		net_send(net, 0, rows[i].size_B, 0);
		net_run(net);
		double size_B = rows[i].size_B == 17 ? 18 : rows[i].size_B; /* at least 1 B each */
		CHECK_NEAR(fabric_carried(net->fabric, fabric_link_resource(net->fabric, 0, 0)),
			   size_B + 52 * rows[i].packets, 1e-9);
		net_free(net);
	}
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

/* Three messages are sent at the same time. The first one leaves immediately and is acknowledged at
 * once. The others wait for this, and leave together. */
static void waiting_messages_leave_together(void)
{
	struct tcp_params params;
	struct net *net = nagle_net(&params);
	open_connection(net, &params);
	double start_s = net_now_s(net);
	for (uint64_t i = 0; i < 3; i++)
		net_send(net, 0, 100, i);
	net_run(net);
	CHECK_NEAR(net->delivered_s[0] - start_s, 10.152e-6, 1e-9);
	CHECK_NEAR(net->delivered_s[1] - start_s, 30.304e-6, 1e-9);
	CHECK_NEAR(net->delivered_s[2] - start_s, 30.456e-6, 1e-9);
	net_free(net);
}

/* The answer at 1 ms makes end 1 interactive. The message at 2 ms is acknowledged by the answer at
 * 20 ms, so the message at 30 ms is acknowledged 40 ms later, at 70 ms. The message that waits for
 * this leaves then. */
static void carried_acknowledgement_cancels_the_delayed_one(void)
{
	struct tcp_params params;
	struct net *net = nagle_net(&params);
	open_connection(net, &params);
	double start_s = net_now_s(net);
	struct sending out = {net, 0, 100}, back = {net, 1, 100};
	static const double at_s[] = {0, 1e-3, 2e-3, 20e-3, 30e-3, 31e-3};
	for (uint64_t i = 0; i < 6; i++)
		engine_at(net->engine, ps_from_s(start_s + at_s[i]), send_later,
			  i == 1 || i == 3 ? &back : &out, i);
	net_run(net);
	CHECK_NEAR(net->delivered_s[4] - start_s, 30e-3 + 10.152e-6, 1e-9);
	CHECK_NEAR(net->delivered_s[5] - start_s, 70e-3 + 30.304e-6, 1e-9);
	net_free(net);
}

/* The wire carries 1 B/us, so 100 B and headers take 152 us. The answer at 5 ms carries the
 * acknowledgement for which two messages wait. It arrives at 5.162 ms, and they arrive at 5.324 and
 * 5.476 ms. 40 ms after the first, their acknowledgement leaves. A message that waits for it leaves
 * at 45.334 ms and takes 162 us. */
static void delay_counts_from_the_first_byte_without_acknowledgement(void)
{
	struct tcp_params params;
	struct net *net = nagle_net(&params);
	net->link.capacity_Bps[0] = net->link.capacity_Bps[1] = 1e6;
	open_connection(net, &params);
	double start_s = net_now_s(net);
	struct sending out = {net, 0, 100}, back = {net, 1, 100};
	static const double at_s[] = {0, 1e-3, 2e-3, 3e-3, 3e-3, 5e-3, 6e-3};
	for (uint64_t i = 0; i < 7; i++)
		engine_at(net->engine, ps_from_s(start_s + at_s[i]), send_later,
			  i == 1 || i == 5 ? &back : &out, i);
	net_run(net);
	CHECK_NEAR(net->delivered_s[3] - start_s, 5.324e-3, 1e-8);
	CHECK_NEAR(net->delivered_s[6] - start_s, 45.496e-3, 1e-8);
	net_free(net);
}

/* 100 B wait only for a segment that was not full. They wait 20 us for its acknowledgement. */
static void small_segment_waits_only_for_a_small_one(void)
{
	static const struct {
		double first_B;
		bool waits;
	} rows[] = {{100, true}, {1448, false}, {2896, false}, {1449, true}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct tcp_params params;
		struct net *net = nagle_net(&params);
		open_connection(net, &params);
		double start_s = net_now_s(net);
		net_send(net, 0, rows[i].first_B, 0);
		net_send(net, 0, 100, 1);
		net_run(net);
		double after_s = net->delivered_s[1] - net->delivered_s[0];
		CHECK_NEAR(after_s, (rows[i].waits ? 20e-6 : 0) + 0.152e-6, 1e-9);
		CHECK(net->delivered_s[0] - start_s < 14e-6);
		net_free(net);
	}
}

/* Two halves of a segment leave behind 100 B without waiting, because they fill it. 100 B behind
 * them wait for the first 100 B, which are acknowledged at 20.152 us. */
static void halves_of_a_segment_leave_together(void)
{
	struct tcp_params params;
	struct net *net = nagle_net(&params);
	open_connection(net, &params);
	double start_s = net_now_s(net);
	static const double sizes_B[] = {100, 724, 724, 100};
	for (uint64_t i = 0; i < 4; i++)
		net_send(net, 0, sizes_B[i], i);
	net_run(net);
	CHECK_NEAR(net->delivered_s[2] - start_s, 11.704e-6, 1e-9);
	CHECK_NEAR(net->delivered_s[3] - start_s, 30.304e-6, 1e-9);
	net_free(net);
}

static void note_drained(void *ctx, uint64_t arg)
{
	struct net *net = ctx;
	const struct tcp_connection *connection = (struct tcp_connection *)net->connection;
	net->accepted_s[1000 + arg] = connection->directions[0].drained_B;
}

/* A message is sent each ms, and the program does not read after the first. 16 segments are
 * acknowledged at once. The seventeenth, of 16 ms, is acknowledged at 56 ms, and until then the
 * others wait. */
static void sixteen_segments_are_acknowledged_before_they_are_read(void)
{
	struct tcp_params params;
	struct net *net = nagle_net(&params);
	open_connection(net, &params);
	double start_s = net_now_s(net);
	struct sending out = {net, 0, 10};
	connection_read(net->connection, 1);
	for (uint64_t i = 0; i < 20; i++)
		engine_at(net->engine, ps_from_s(start_s + 1e-3 * (double)i), send_later, &out, i);
	engine_at(net->engine, ps_from_s(start_s + 55.9e-3), note_drained, net, 0);
	engine_at(net->engine, ps_from_s(start_s + 56.1e-3), note_drained, net, 1);
	net_run(net);
	CHECK_NEAR(net->accepted_s[1000], 170, 0);
	CHECK_NEAR(net->accepted_s[1001], 200, 0);
	net_free(net);
}

/* The same messages do not wait for a program that reads each of them and does not answer. */
static void end_that_does_not_answer_acknowledges_what_it_reads(void)
{
	struct tcp_params params;
	struct net *net = nagle_net(&params);
	open_connection(net, &params);
	double start_s = net_now_s(net);
	struct sending out = {net, 0, 10};
	for (uint64_t i = 0; i < 40; i++)
		engine_at(net->engine, ps_from_s(start_s + 1e-3 * (double)(i / 2)), send_later,
			  &out, i);
	net_run(net);
	CHECK_NEAR(net->delivered_s[38] - start_s, 19e-3 + 10.062e-6, 1e-9);
	CHECK_NEAR(net->delivered_s[39] - start_s, 19e-3 + 30.124e-6, 1e-9);
	net_free(net);
}

/* A server that has answered waits with acknowledgements for its next answer. But more than a
 * segment is acknowledged at once: after 16 and 1448 B the last 100 B wait for a round trip only,
 * and after 16 B for the delayed acknowledgement. */
static void more_than_a_segment_is_acknowledged_at_once(void)
{
	for (int full = 0; full < 2; full++) {
		struct tcp_params params;
		struct net *net = nagle_net(&params);
		open_connection(net, &params);
		connection_send(net->connection, 0,
				&(struct message){8, NULL, net_echo, net, 0, NULL});
		net_run(net);
		double start_s = net_now_s(net);
		net_send(net, 0, 16, 2);
		if (full)
			net_send(net, 0, 1448, 3);
		net_send(net, 0, 100, 4);
		net_run(net);
		double taken_s = net->delivered_s[4] - start_s;
		CHECK(full ? taken_s < 1e-3 : taken_s > 40e-3 && taken_s < 41e-3);
		net_free(net);
	}
}

static const struct test tests[] = {
	TEST(more_than_a_segment_is_acknowledged_at_once),
	TEST(requests_of_two_writes_stall_where_linux_does),
	TEST(stall_lasts_for_the_delayed_acknowledgement),
	TEST(request_and_answer_of_one_write_do_not_wait),
	TEST(first_write_is_the_header),
	TEST(waiting_messages_leave_together),
	TEST(carried_acknowledgement_cancels_the_delayed_one),
	TEST(delay_counts_from_the_first_byte_without_acknowledgement),
	TEST(small_segment_waits_only_for_a_small_one),
	TEST(halves_of_a_segment_leave_together),
	TEST(sixteen_segments_are_acknowledged_before_they_are_read),
	TEST(end_that_does_not_answer_acknowledges_what_it_reads),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
