/* SPDX-License-Identifier: GPL-3.0-or-later */
/* TCP, storage and memory of a host, and collectives. */
#include "calib/fit/calibrating.h"

static const double LINKS_LIMIT = 0.03, CALLS_LIMIT = 0.05, STORAGE_LIMIT = 0.10, LARGE_B = 1 << 20;
static const double INLINE_B = 16384; /* default of sim/transport */
static const double WIRE_TIMES = 3, CLEARLY = 0.5;

/* Returns how often the cost of one byte adds to the time of a round. In messages up to `inline`
 * the receiver starts after the sender, so the cost counts twice. It counts once in larger
 * messages, where both work at once, and with a limiting wire. A round trip has two messages. The
 * answer of a stream is one byte, so a stream counts as one message. */
static double payments(bool wire, bool roundtrip, double size_B)
{
	return (roundtrip ? 2 : 1) * (!wire && size_B <= INLINE_B ? 2 : 1);
}

struct rounds {
	const struct recording_point *copies[SEGMENTS_POINTS_MAX];
	size_t count;
	double error_ratio; /* mean error of a line through them */
};

/* Collects the points of single rounds and streams. x is the size times payments(). */
static void paid_points(struct calibrating *c, bool wire, struct rounds *rounds)
{
	static const struct recording_number single[] = {{"n", 1}, {"delay_s", 0}, {"streams", 1}};
	static const char *const words[] = {"what=stream nagle=off", "what=roundtrip nagle=off"};
	struct xy xy[SEGMENTS_POINTS_MAX];
	size_t n = 0;
	rounds->count = 0;
	for (size_t kind = 0; kind < 2; kind++) {
		const struct recording_point *const *points;
		size_t count = calibrating_find(c, "tcp", words[kind], single, 3, &points);
		for (size_t i = 0; i < count && rounds->count < SEGMENTS_POINTS_MAX; i++) {
			struct recording_point *copy = ARENA_NEW(c->arena, struct recording_point);
			double size_B = recording_point_number(points[i], "size_B", 0);
			double paid_B = size_B * payments(wire, kind == 1, size_B);
			*copy = *points[i];
			copy->number_count = 1;
			copy->x[0] = (struct recording_number){"paid_B", paid_B};
			rounds->copies[rounds->count++] = copy;
			if (!copy->held_out && copy->value > 0)
				xy[n++] = (struct xy){paid_B, copy->value};
		}
	}
	rounds->error_ratio = INFINITY;
	if (n < LINE_POINTS_MIN)
		return;
	double sum = 0;
	struct fitted_line line = line_robust(xy, n);
	for (size_t i = 0; i < n; i++)
		sum += fabs(line_at(&line, xy[i].x) / xy[i].y - 1);
	rounds->error_ratio = sum / (double)n;
}

/* Fits rounds as the simulator models them: one line, T = 2 (send + receive + thread_wake) +
 * byte x payments() size. payments() for a limiting wire is used if it fits clearly better. */
static const struct calibration_series *rounds_of(struct calibrating *c, bool *wire)
{
	struct rounds free_wire, paced;
	paid_points(c, false, &free_wire);
	paid_points(c, true, &paced);
	*wire = paced.error_ratio < CLEARLY * free_wire.error_ratio;
	const struct rounds *rounds = *wire ? &paced : &free_wire;
	return calibrating_series_of(c, rounds->copies, rounds->count,
				     *wire ? "tcp rounds and streams, limited by a wire"
					   : "tcp rounds and streams",
				     "paid_B", 1, CALLS_LIMIT);
}

/* Returns the time of a round of n messages of size_B without pauses; NaN: not measured. */
static double round_s(struct calibrating *c, double n, double size_B)
{
	const struct recording_number numbers[] = {{"n", n}, {"delay_s", 0}, {"size_B", size_B}};
	const struct recording_point *const *points;
	size_t count = calibrating_find(c, "tcp", "what=roundtrip nagle=off", numbers, 3, &points);
	return count > 0 ? points[0]->value : NAN;
}

/* Returns the interval between the smallest messages of a train that follow each other without a
 * pause; infinite if it was not measured. It is how much longer a train takes for each further
 * message, which a ping-pong test cannot separate from the sender's overhead (Hoefler et al. 2007).
 */
static double train_gap_s(struct calibrating *c)
{
	const struct recording_point *const *points;
	size_t count =
		recording_find(c->recording, c->arena, "tcp", "what=roundtrip nagle=off", &points);
	double least_B = INFINITY, n = 0;
	for (size_t i = 0; i < count; i++)
		if (recording_point_number(points[i], "n", 0) > 1) {
			n = recording_point_number(points[i], "n", 0);
			least_B = fmin(least_B, recording_point_number(points[i], "size_B", 0));
		}
	double gap_s = (round_s(c, n, least_B) - round_s(c, 1, least_B)) / (n - 1);
	return gap_s > 0 ? gap_s : INFINITY;
}

/* Determines the fixed parts of a message. A send is measured directly. A round gives only the
 * sum of receive and thread_wake, which is divided like the defaults. Neither side works longer on
 * a message than the interval between messages of a train. The rest passes only if the receiver
 * sleeps: the kernel of the sender wakes the receiver's core, which takes long in virtual machines.
 * This rest is thread_wake. */
static void message_parts(struct calibrating *c, const struct calibration_series *whole,
			  const struct calibration_series *overhead)
{
	struct estimate sum = estimate_scaled(whole->start_s[0], 0.5);
	struct estimate send = estimate_scaled(sum, CALIBRATING_SEND_S / CALIBRATING_WAY_S);
	bool seen = overhead && overhead->start_s[0].value < sum.value;
	double gap_s = train_gap_s(c);
	if (seen)
		send = overhead->start_s[0];
	bool paced = send.value > gap_s;
	const char *send_note =
		arena_printf(c->arena, "%s; %s",
			     paced  ? "interval between messages of a train"
			     : seen ? "the sender's time in a small send"
				    : "its part of half a round trip, divided like the defaults",
			     calibrating_quality(c, seen ? overhead : whole));
	calibrating_message(c, sum, interval_at_most(send, gap_s), gap_s, send_note,
			    arena_printf(c->arena,
					 "half a round trip minus a send, with nothing for the "
					 "wire, divided like the defaults, receive at most the "
					 "interval between messages of a train; %s",
					 calibrating_quality(c, whole)));
}

static void tcp(struct calibrating *c)
{
	const struct recording_point *const *points;
	size_t count =
		recording_find(c->recording, c->arena, "tcp", "what=overhead nagle=off", &points);
	const struct calibration_series *overhead = calibrating_series_of(
		c, points, count, "tcp overhead of a send", "size_B", SEGMENTS_MAX, CALLS_LIMIT);
	bool wire;
	const struct calibration_series *whole = rounds_of(c, &wire);
	if (whole && whole->holds)
		message_parts(c, whole, calibrating_first_holds(overhead) ? overhead : NULL);
	/* A limiting wire makes bytes more expensive than the sender's own cost. */
	struct estimate own = {0};
	overhead = calibrating_last_holds(overhead) ? overhead : NULL;
	if (overhead)
		own = overhead->slope[overhead->segments.count - 1];
	bool free_wire = whole && whole->holds && !wire &&
			 (!overhead || whole->slope[0].value < WIRE_TIMES * own.value);
	if (free_wire || overhead)
		calibrating_found(
			c, "guest.*.byte", QUANTITY_TIME_PER_BYTE,
			interval_plus(free_wire ? whole->slope[0] : own, -CALIBRATING_PACKETS_spB),
			"%s; %s",
			free_wire ? "bytes of rounds and streams"
				  : "the sender's time for each byte of a send",
			calibrating_quality(c, free_wire ? whole : overhead));
}

/* Shows the goodput of iperf3's streams. It sets no parameter: it is the minimum of hosts, wire
 * and buffers, and the log does not say which one limits. */
static void goodput(struct calibrating *c)
{
	const struct recording_point *const *points;
	size_t count =
		recording_find(c->recording, c->arena, "tcp", "what=stream nagle=on", &points);
	for (size_t i = 0; i < count; i++) {
		double size_B = recording_point_number(points[i], "size_B", 0);
		struct estimate rate = interval_under(size_B, calibrating_point(points[i]));
		*VEC_PUSH(c->arena, &c->result->remarks) = arena_printf(
			c->arena,
			"tcp, %.0f stream(s): %s of payload (%s .. %s); Ethernet with packets of "
			"1,500 B needs 1538 / 1448 of that, so the wire is at least as fast",
			recording_point_number(points[i], "streams", 1),
			quantity_format(c->arena, QUANTITY_RATE, rate.value),
			quantity_format(c->arena, QUANTITY_RATE, rate.low),
			quantity_format(c->arena, QUANTITY_RATE, rate.high));
	}
}

/* Messages of an RDMA network from imported logs; they are only shown. */
static void rdma(struct calibrating *c)
{
	static const char *const kinds[] = {"what=latency verb=write", "what=latency verb=send",
					    "what=latency verb=read",  "what=rate verb=write",
					    "what=rate verb=send",     "what=rate verb=read"};
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		calibrating_series(c, "rdma", kinds[i], "size_B", SEGMENTS_MAX, LINKS_LIMIT);
}

/* Determines the costs of storage. One reader with one request at a time gives the wait and the
 * time per byte. All readers together give the device's bandwidth. A round reads a block for
 * each reader. */
static void storage(struct calibrating *c)
{
	const char *path = c->recording->storage_path;
	const char *cached = path && strcmp(path, "cached") == 0
				     ? "; not past the kernel's cache, which may influence it"
				     : "";
	static const struct recording_number alone[] = {{"parallel", 1}};
	const struct recording_point *const *points;
	size_t count = calibrating_find(c, "storage", "what=random", alone, 1, &points);
	const struct calibration_series *random = calibrating_series_of(
		c, points, count, "storage random", "size_B", SEGMENTS_MAX, STORAGE_LIMIT);
	if (calibrating_first_holds(random))
		calibrating_found(c, "storage.latency", QUANTITY_TIME, random->start_s[0],
				  "start of random reads, one at a time; %s%s",
				  calibrating_quality(c, random), cached);
	count = recording_find(c->recording, c->arena, "storage", "what=sequential", &points);
	const struct recording_point *best = NULL;
	double best_B = 0, best_Bps = 0;
	for (size_t i = 0; i < count; i++) {
		double round_B = recording_point_number(points[i], "size_B", 0) *
				 recording_point_number(points[i], "parallel", 1);
		if (points[i]->value > 0 && round_B / points[i]->value > best_Bps) {
			best_Bps = round_B / points[i]->value;
			best_B = round_B;
			best = points[i];
		}
	}
	if (!best)
		return;
	calibrating_found(c, "storage.bandwidth", QUANTITY_RATE,
			  interval_under(best_B, calibrating_point(best)),
			  "the fastest sequential reads: blocks of %s, %.0f at a time%s",
			  quantity_format(c->arena, QUANTITY_BYTES,
					  recording_point_number(best, "size_B", 0)),
			  recording_point_number(best, "parallel", 1), cached);
}

/* Determines the memory bandwidth beyond the caches, because staging buffers and socket buffers
 * are used in turn. */
static void memory(struct calibrating *c)
{
	static const struct recording_number one[] = {{"threads", 1}};
	const struct recording_point *const *alone;
	size_t count = calibrating_find(c, "memcpy", "", one, 1, &alone), n = 0;
	const struct recording_point **large =
		ARENA_ARRAY(c->arena, count + 1, const struct recording_point *);
	for (size_t i = 0; i < count; i++)
		if (recording_point_number(alone[i], "size_B", 0) >= LARGE_B)
			large[n++] = alone[i];
	const struct calibration_series *copy = calibrating_series_of(
		c, large, n, "memcpy, one thread", "size_B", SEGMENTS_MAX, CALLS_LIMIT);
	if (calibrating_last_holds(copy))
		calibrating_found(c, "host.*.copy_rate", QUANTITY_RATE,
				  interval_under(1, copy->slope[copy->segments.count - 1]),
				  "large copies by one thread; %s", calibrating_quality(c, copy));
}

/* Fits collectives over their size: a start time and a time per byte in each regime, because a
 * library changes algorithm and protocol with the size. The bus bandwidth of a regime is defined as
 * in nccl-tests: the bandwidth of a ring over its links. The library's own parameters also depend
 * on the machine's links. farwire fits them to rows of a dataset with a topology
 * (docs/models/fits.md). */
static void collectives(struct calibrating *c)
{
	const struct recording_point *const *points, *const *same;
	size_t count = recording_find(c->recording, c->arena, "collective", "", &points);
	for (size_t i = 0; i < count; i++) {
		const char *collective = recording_point_word(points[i], "collective");
		const char *library = recording_point_word(points[i], "library");
		const struct recording_number ranks = {
			"ranks", recording_point_number(points[i], "ranks", 0)};
		if (!collective)
			continue;
		size_t n = calibrating_find(c, "collective",
					    arena_printf(c->arena, "collective=%s", collective),
					    &ranks, 1, &same);
		if (same[0] == points[i]) /* the first of its collective and number of ranks */
			calibrating_series_of(c, same, n,
					      arena_printf(c->arena, "%s %s, %.0f ranks",
							   library ? library : "library",
							   collective, ranks.value),
					      "size_B", SEGMENTS_MAX, CALLS_LIMIT);
	}
}

void calibrate_host(struct calibrating *c)
{
	tcp(c);
	goodput(c);
	rdma(c);
	storage(c);
	memory(c);
	collectives(c);
}
