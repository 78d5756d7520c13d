/* SPDX-License-Identifier: Apache-2.0 */
/* Measures TCP. A round is PRTT(n, d, s): n messages of s bytes, started a delay d and a send
 * apart, answered by one message of s bytes (Hoefler, Lichei, Rehm: Low-Overhead LogGP Parameter
 * Assessment, 2007; Netgauge).
 *
 *   roundtrip  the time of the round
 *   overhead   the time in a send, with delay d
 *   stream     s bytes on each of several connections at once, answered by a byte
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/tcp_probe/sizes.h"
#include "tests/tcp_probe/stop.h"
#include "tests/tcp_probe/team.h"
#include "calib/sample/sampler.h"
#include "tests/tcp_probe/rounds.h"
#include "tests/spin.h"

#define STREAMS_MOST 4
#define GAP_COUNT    16
#define DELAY_S      1e-3
/* Warm-up, because a new connection begins with small windows and buffers. */
#define WARM_UP_S      0.1
#define WARM_UP_ROUNDS 32
#define WARM_UP_B      16384 /* minimum size for warming up */

struct tcp {
	struct tcp_bench *bench;
	size_t count, size_B, stream_count;
	double delay_s;
	int fds[STREAMS_MOST];
	size_t fd_count;
	unsigned char *bytes; /* buffers of the stream of each connection */
	struct team *team;
};

/* ---- the plan ---- */

struct shape {
	const char *what, *nagle;
	size_t count, streams;
	double delay_s;
	double interval_ratio;
};

static void add_size(struct plan *plan, const struct shape *shape, double size_B, bool held_out)
{
	plan_add(plan, &(struct plan_point){
			       .is = {{"what", shape->what}, {"nagle", shape->nagle}},
			       .x = {{"size_B", size_B},
				     {"n", (double)shape->count},
				     {"delay_s", shape->delay_s},
				     {"streams", (double)shape->streams}},
			       .interval_ratio = shape->interval_ratio,
			       .held_out = held_out,
		       });
}

static void add_sizes(struct plan *plan, const struct shape *shape, const struct sizes *sizes)
{
	for (size_t i = 0; i < sizes->count; i++)
		add_size(plan, shape, sizes->size_B[i], sizes->held_out[i]);
}

void tcp_plan(const struct tcp_bench *bench, struct plan *plan, struct plan_random *random)
{
	const double most_B = 4 << 20, ratio = SAMPLER_RATIO_LATENCY;
	bool full = bench->full;
	struct sizes sizes = sizes_between(1, most_B, full ? 2 : 4, full ? 12 : 6, random);
	struct sizes some = sizes_between(1, 65536, full ? 4 : 16, full ? 4 : 2, random);
	struct sizes few = sizes_between(1, 16384, full ? 16 : 128, 0, random);
	struct sizes large = sizes_between(65536, most_B, full ? 2 : 4, full ? 6 : 3, random);
	add_sizes(plan, &(struct shape){"roundtrip", "off", 1, 1, 0, ratio}, &sizes);
	add_sizes(plan, &(struct shape){"roundtrip", "off", GAP_COUNT, 1, 0, ratio}, &few);
	add_sizes(plan, &(struct shape){"roundtrip", "off", GAP_COUNT, 1, DELAY_S, ratio}, &few);
	add_sizes(plan, &(struct shape){"overhead", "off", GAP_COUNT, 1, DELAY_S, ratio}, &some);
	for (size_t streams = 1; streams <= STREAMS_MOST; streams *= 2)
		add_sizes(plan, &(struct shape){"stream", "off", 1, streams, 0, 0}, &large);
}

/* ---- rounds ---- */

static enum sock_code round_once(const struct tcp *tcp, double *span_s)
{
	enum sock_code code = SOCK_OK;
	int fd = tcp->fds[0];
	double start_s = clock_now_s();
	for (size_t i = 0; i < tcp->count && code == SOCK_OK; i++) {
		if (i > 0 && tcp->delay_s > 0)
			clock_spin_until(clock_now_s() + tcp->delay_s);
		code = sock_send(fd, tcp->bytes, tcp->size_B, PEER_WAIT_S);
	}
	if (code == SOCK_OK)
		code = sock_receive(fd, tcp->bytes, tcp->size_B, PEER_WAIT_S);
	*span_s = clock_now_s() - start_s;
	return code;
}

static enum sock_code sends_once(const struct tcp *tcp, double *each_s)
{
	enum sock_code code = SOCK_OK;
	double spent_s = 0;
	for (size_t i = 0; i < tcp->count && code == SOCK_OK; i++) {
		clock_spin_until(clock_now_s() + tcp->delay_s);
		double start_s = clock_now_s();
		code = sock_send(tcp->fds[0], tcp->bytes, tcp->size_B, PEER_WAIT_S);
		spent_s += clock_now_s() - start_s - tcp->bench->clock_cost_s;
	}
	if (code == SOCK_OK)
		code = sock_receive(tcp->fds[0], tcp->bytes, 1, PEER_WAIT_S);
	*each_s = spent_s / (double)tcp->count;
	return code;
}

/* Does the work of one member of a stream's team. */
static int stream_one(void *context, size_t member)
{
	struct tcp *tcp = context;
	unsigned char *bytes = tcp->bytes + member * tcp->size_B;
	enum sock_code code = sock_send(tcp->fds[member], bytes, tcp->size_B, PEER_WAIT_S);
	if (code == SOCK_OK)
		code = sock_receive(tcp->fds[member], bytes, 1, PEER_WAIT_S);
	return (int)code;
}

/* ---- a point ---- */

static bool is(const struct plan_point *point, const char *what)
{
	return strcmp(plan_point_word(point, "what"), what) == 0;
}

static int code_of(struct tcp_bench *bench, enum sock_code code)
{
	if (code == SOCK_OK)
		return RUN_OK;
	if (code == SOCK_STOPPED || stop_asked())
		return RUN_STOPPED;
	snprintf(bench->why, sizeof(bench->why), "%s",
		 code == SOCK_LATE ? "the server did not answer in time"
				   : "the server ended the connection");
	return RUN_FAILED;
}

static int connect_one(struct tcp *tcp, const struct peer_order *order)
{
	int fd = peer_open(&tcp->bench->peer, order, tcp->bench->why);
	if (fd < 0)
		return stop_asked() ? RUN_STOPPED : RUN_FAILED;
	tcp->fds[tcp->fd_count++] = fd;
	return RUN_OK;
}

static struct peer_order order_of(const struct tcp *tcp, const struct plan_point *point)
{
	struct peer_order order = {
		.count = tcp->count, .size_B = tcp->size_B, .reply_B = tcp->size_B};
	if (is(point, "stream") || is(point, "overhead"))
		order.reply_B = 1;
	return order;
}

static int warm_up(struct tcp *tcp, const struct plan_point *point)
{
	double unused, end_s = clock_now_s() + WARM_UP_S;
	int code = RUN_OK;
	if (tcp->size_B >= WARM_UP_B)
		for (int i = 0; code == RUN_OK && i < WARM_UP_ROUNDS && clock_now_s() < end_s; i++)
			code = tcp_sample(tcp->bench, point, &unused);
	return code;
}

int tcp_begin(struct tcp_bench *bench, const struct plan_point *point)
{
	struct tcp *tcp = calloc(1, sizeof(*tcp));
	if (!tcp)
		return RUN_FAILED;
	bench->own = tcp;
	tcp->bench = bench;
	tcp->count = (size_t)plan_point_number(point, "n", 1);
	tcp->size_B = (size_t)plan_point_number(point, "size_B", 1);
	tcp->stream_count = (size_t)plan_point_number(point, "streams", 1);
	tcp->delay_s = plan_point_number(point, "delay_s", 0);
	tcp->bytes = malloc(tcp->stream_count * tcp->size_B);
	if (!tcp->bytes)
		return RUN_FAILED;
	memset(tcp->bytes, 1, tcp->stream_count * tcp->size_B);
	const struct peer_order order = order_of(tcp, point);
	int code = RUN_OK;
	for (size_t i = 0; i < tcp->stream_count && code == RUN_OK; i++)
		code = connect_one(tcp, &order);
	if (code == RUN_OK && is(point, "stream")) {
		tcp->team = team_new(tcp->stream_count, stream_one, tcp);
		if (!tcp->team)
			return RUN_FAILED;
	}
	return code == RUN_OK ? warm_up(tcp, point) : code;
}

int tcp_sample(struct tcp_bench *bench, const struct plan_point *point, double *value)
{
	struct tcp *tcp = bench->own;
	enum sock_code code;
	if (is(point, "stream")) {
		code = (enum sock_code)team_round(tcp->team, value);
	} else if (is(point, "overhead")) {
		code = sends_once(tcp, value);
	} else {
		code = round_once(tcp, value);
	}
	/* less the cost of the clock, a short send can be negative */
	if (code == SOCK_OK && *value < 0)
		*value = 0;
	return code_of(bench, code);
}

void tcp_end(struct tcp_bench *bench)
{
	struct tcp *tcp = bench->own;
	bench->own = NULL;
	if (!tcp)
		return;
	team_free(tcp->team);
	for (size_t i = 0; i < tcp->fd_count; i++)
		close(tcp->fds[i]);
	free(tcp->bytes);
	free(tcp);
}
