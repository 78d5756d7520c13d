/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Real TCP, compared with the simulator. The recordings of TCP are between two
 * network namespaces, whose link a token bucket limits to a known rate (tests/bench/tcp_namespaces
 * made them).
 *
 * The test fits three parameters to round trips and streams of the sizes that are not held out: the
 * work for each message (send and receive; only their sum can be measured), the work for each byte,
 * and the part of its rate that the shaper reaches. Then the simulator predicts round trips and
 * streams of the held-out sizes.
 *
 * A token bucket differs from a link. A full bucket lets `burst` bytes pass immediately, so a
 * message arrives sooner by min(burst, its bytes on the link) / rate. But repeated rounds cannot be
 * faster than the bucket fills. This property of the bucket is known, and the test corrects the
 * predictions for it.
 *
 * $FARWIRE_TCP_RECORDINGS can name a folder with other recordings. */
#include <stdlib.h>

#include "calib/fit/recording.h"
#include "sim/transport/tcp.h"
#include "tests/net.h"

enum { POINTS_MAX = 128, ROUNDS = 6, PARAMETERS = 4, FITTED = 3 };

#define WIDE_BPS   1e13
#define ERROR_MOST 0.05 /* median of the held-out points */

struct place {
	const char *name;
	double rate_Bps, burst_B; /* arguments of tc; 0: no bucket */
};

static const struct place places[] = {
	{"100mbit", 12.5e6, 3000},
	{"1gbit", 125e6, 32000},
	{"unlimited", 2.5e9, 0},
};

struct point {
	double size_B, reply_B, measured_s;
	bool held_out;
};

struct fitting {
	const struct place *place;
	struct point points[POINTS_MAX];
	size_t count;
	double inline_B; /* of the present fit */
};

/* ---- the simulator ---- */

struct rounds {
	struct net *net;
	double reply_B;
};

static void answer(void *ctx, uint64_t arg)
{
	struct rounds *rounds = ctx;
	struct message back = {rounds->reply_B, NULL,    net_delivered,
			       rounds->net,     arg + 1, "answer"};
	net_delivered(rounds->net, arg);
	connection_send(rounds->net->connection, 1, &back);
}

static const struct link_traits veth = {
	.packet_payload_B = 1500,
	.packet_overhead_B = 14, /* the Ethernet header, which a bucket counts */
};

/* Changes the time span_s of a round over a link to that over a bucket: either message has a head
 * start, but rounds are not faster than the bucket fills. */
static double shape(const struct place *place, double rate_Bps, double span_s, double size_B,
		    double reply_B)
{
	double there_B = link_wire_B(&veth, 0, 52, size_B);
	double back_B = link_wire_B(&veth, 0, 52, reply_B);
	span_s -= (fmin(place->burst_B, there_B) + fmin(place->burst_B, back_B)) / rate_Bps;
	return fmax(span_s, fmax(there_B, back_B) / rate_Bps);
}

/* Time of the last of several rounds, after which the window is open as after a warm-up. */
static double simulate(const struct place *place, const double *parameters, double size_B,
		       double reply_B)
{
	struct net *net = net_new();
	bool shaped = place->burst_B > 0;
	double rate_Bps = shaped ? place->rate_Bps * parameters[2] : WIDE_BPS;
	if (!shaped) /* a copy at each end, with three bytes of memory traffic for each byte */
		net->host_params.dram_bandwidth_Bps = 3 * place->rate_Bps * parameters[2];
	net->link = veth;
	net->link.capacity_Bps[0] = net->link.capacity_Bps[1] = rate_Bps;
	for (int i = 0; i < 2; i++) {
		net->guest_params[i].send_s = net->guest_params[i].receive_s =
			1e-6 * parameters[0] / 2;
		net->guest_params[i].byte_spB = 1e-9 * parameters[1];
	}
	net_build(net);
	net_presets(net->arena, transport_kind_find("tcp")->table, net->tcp);
	((struct tcp_params *)net->tcp)->inline_B = parameters[3];
	net_connect(net, "tcp", net->tcp);
	struct rounds rounds = {net, reply_B};
	double start_s = 0;
	net_run(net); /* the connection is open now */
	for (uint64_t i = 0; i < ROUNDS; i++) {
		start_s = net_now_s(net);
		struct message there = {size_B, NULL, answer, &rounds, 2 * i, "question"};
		connection_send(net->connection, 0, &there);
		net_run(net);
	}
	double span_s = net->delivered_s[2 * ROUNDS - 1] - start_s;
	net_free(net);
	return shaped ? shape(place, rate_Bps, span_s, size_B, reply_B) : span_s;
}

static double error_of(const struct fitting *fitting, const double *parameters,
		       const struct point *point)
{
	return simulate(fitting->place, parameters, point->size_B, point->reply_B) /
		       point->measured_s -
	       1;
}

/* ---- fitting and judging ---- */

static double badness(const double *fitted, void *ctx)
{
	const struct fitting *fitting = ctx;
	const double parameters[PARAMETERS] = {fitted[0], fitted[1], fitted[2], fitting->inline_B};
	double sum = 0;
	for (size_t i = 0; i < fitting->count; i++)
		if (!fitting->points[i].held_out)
			sum += fabs(error_of(fitting, parameters, &fitting->points[i]));
	return sum;
}

/* Median of the passes, because other work of the machine disturbs some passes completely. */
static double median_of(const struct recording_point *point)
{
	double medians[RECORDING_PASSES_MAX];
	for (size_t i = 0; i < point->passes.count; i++)
		medians[i] = point->passes.items[i].median;
	return num_quantile(medians, point->passes.count, 0.5);
}

static void take(struct fitting *fitting, const struct recording_point *point, bool stream)
{
	double size_B = recording_point_number(point, "size_B", 0);
	if (recording_point_number(point, "n", 1) > 1 ||
	    recording_point_number(point, "streams", 1) > 1 || fitting->count == POINTS_MAX)
		return;
	fitting->points[fitting->count++] =
		(struct point){size_B, stream ? 1 : size_B, median_of(point), point->held_out};
}

static bool read_points(struct fitting *fitting, struct arena *arena, const char *path)
{
	struct diag *diag = diag_new(arena);
	const struct recording *recording = recording_read(arena, diag, path);
	diag_print(diag, stdout);
	if (!CHECK(recording != NULL))
		return false;
	const struct recording_point *const *found;
	size_t count = recording_find(recording, arena, "tcp", "what=roundtrip nagle=off", &found);
	for (size_t i = 0; i < count; i++)
		take(fitting, found[i], false);
	count = recording_find(recording, arena, "tcp", "what=stream nagle=off", &found);
	for (size_t i = 0; i < count; i++)
		take(fitting, found[i], true);
	return CHECK(fitting->count > 10);
}

static void judge(const struct fitting *fitting, const double *parameters)
{
	double errors[POINTS_MAX];
	size_t count = 0;
	for (size_t i = 0; i < fitting->count; i++) {
		const struct point *point = &fitting->points[i];
		double error = error_of(fitting, parameters, point);
		if (getenv("FARWIRE_TCP_VERBOSE"))
			printf("  %-9s %8.0f B, %8.0f B back: %10.1f us, predicted %+6.1f %%%s\n",
			       fitting->place->name, point->size_B, point->reply_B,
			       1e6 * point->measured_s, 100 * error,
			       point->held_out ? ", held out" : "");
		if (point->held_out)
			errors[count++] = fabs(error);
	}
	CHECK(count >= 5);
	double median = count ? num_quantile(errors, count, 0.5) : 1;
	printf("  %s: a message %.2f us, a byte %.4f ns, %.1f %% of the rate, a flow from %.0f KiB "
	       "on; median error of %zu sizes that were not fitted: %.1f %%\n",
	       fitting->place->name, parameters[0], parameters[1], 100 * parameters[2],
	       parameters[3] / 1024, count, 100 * median);
	CHECK(median < ERROR_MOST);
}

/* Fits for several sizes from which a message becomes a flow, and returns the best fit. */
static void fit(struct fitting *fitting, double *best)
{
	bool shaped = fitting->place->burst_B > 0;
	const double low[FITTED] = {1, 1e-4, shaped ? 0.9 : 0.2};
	const double high[FITTED] = {500, 10, shaped ? 1.02 : 10};
	static const double step[FITTED] = {15, 0.1, -0.02};
	double least = HUGE_VAL;
	for (double inline_B = 16384; inline_B <= 262144; inline_B *= 2) {
		double parameters[PARAMETERS] = {30, 0.2, 0.97, inline_B};
		fitting->inline_B = inline_B;
		double sum = HUGE_VAL;
		/* a second run from there, because a simplex can shrink too early */
		for (int i = 0; i < 2; i++)
			sum = num_minimise(badness, fitting, FITTED, parameters, step, low, high,
					   1e-4, 200);
		if (sum < least)
			memcpy(best, parameters, sizeof parameters);
		least = fmin(least, sum);
	}
}

static void predict(const struct place *place)
{
	double parameters[PARAMETERS];
	const char *folder = getenv("FARWIRE_TCP_RECORDINGS");
	struct arena *arena = arena_new();
	struct fitting *fitting = ARENA_NEW(arena, struct fitting);
	fitting->place = place;
	const char *path = arena_printf(arena, "%s/tcp-%s.jsonl",
					folder ? folder : "calib/measured/recorded", place->name);
	if (read_points(fitting, arena, path)) {
		fit(fitting, parameters);
		judge(fitting, parameters);
	}
	arena_free(arena);
}

static void tcp_at_100_mbit_is_predicted_within_five_percent(void)
{
	predict(&places[0]);
}

static void tcp_at_1_gbit_is_predicted_within_five_percent(void)
{
	predict(&places[1]);
}

static void tcp_without_a_limit_is_predicted_within_five_percent(void)
{
	predict(&places[2]);
}

static const struct test tests[] = {TEST(tcp_at_100_mbit_is_predicted_within_five_percent),
				    TEST(tcp_at_1_gbit_is_predicted_within_five_percent),
				    TEST(tcp_without_a_limit_is_predicted_within_five_percent)};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
