/* SPDX-License-Identifier: GPL-3.0-or-later */
/* TCP, storage and memory of a host. */
#include <math.h>
#include <string.h>

#include "calib/fit/calibrating.h"
#include "sim/base/arena.h"

static const double LINKS_LIMIT = 0.03, CALLS_LIMIT = 0.05;
/* Of what a message takes at the receiver, sim/host's defaults for its two parts. */
static const double RECEIVE_S = 5e-6, WAKE_S = 4e-6;

/* Over loopback a ping-pong is twice a send, the receiver's work and its waking:
 * only their sum can be told, so it is parted as the defaults are. */
static void tcp(struct calibrating *c)
{
	const struct calibration_series *overhead = calibrating_series(
		c, "tcp", "what=overhead nagle=off", "size_B", SEGMENTS_MAX, CALLS_LIMIT);
	const struct calibration_series *roundtrip = calibrating_series(
		c, "tcp", "what=roundtrip nagle=off", "size_B", SEGMENTS_MAX, LINKS_LIMIT);
	if (!overhead || !overhead->holds)
		return;
	const struct segments *o = &overhead->segments;
	calibrating_found(c, "guest.*.send", QUANTITY_TIME, overhead->start_s[0],
			  "the sender's time in a small send; %s",
			  calibrating_quality(c, overhead));
	calibrating_found(c, "guest.*.byte", QUANTITY_TIME_PER_BYTE, overhead->slope[o->count - 1],
			  "the sender's time for each byte of large sends, headers of packets "
			  "included; %s",
			  calibrating_quality(c, overhead));
	if (!roundtrip || !roundtrip->holds)
		return;
	struct interval rest =
		interval_less(interval_times(roundtrip->start_s[0], 0.5), overhead->start_s[0]);
	const char *note = arena_printf(c->arena,
					"half a round trip less a send, which is both "
					"receive and thread_wake: parted as their "
					"defaults are; %s",
					calibrating_quality(c, roundtrip));
	calibrating_found(c, "guest.*.receive", QUANTITY_TIME,
			  interval_times(rest, RECEIVE_S / (RECEIVE_S + WAKE_S)), "%s", note);
	calibrating_found(c, "guest.*.thread_wake", QUANTITY_TIME,
			  interval_times(rest, WAKE_S / (RECEIVE_S + WAKE_S)), "%s", note);
}

/* One reader, one request after the other: a wait, then bytes. Many readers: the
 * device's rate. */
static void storage(struct calibrating *c)
{
	const struct recording_point *const *points;
	size_t count = recording_find(c->recording, c->arena, "storage", "what=random", &points);
	const struct recording_point **alone =
		ARENA_ARRAY(c->arena, count + 1, const struct recording_point *);
	size_t n = 0;
	for (size_t i = 0; i < count; i++)
		if (recording_point_number(points[i], "parallel", 1) <= 1)
			alone[n++] = points[i];
	const struct calibration_series *random = calibrating_series_of(
		c, alone, n, "storage random", "size_B", SEGMENTS_MAX, CALLS_LIMIT);
	if (random && random->holds)
		calibrating_found(c, "storage.latency", QUANTITY_TIME, random->start_s[0],
				  "start of random reads, one at a time; %s",
				  calibrating_quality(c, random));
	count = recording_find(c->recording, c->arena, "storage", "what=sequential", &points);
	const struct recording_point *best = NULL;
	double best_Bps = 0;
	for (size_t i = 0; i < count; i++) {
		double rate_Bps = recording_point_number(points[i], "size_B", 0) / points[i]->value;
		if (isfinite(rate_Bps) && rate_Bps > best_Bps) {
			best_Bps = rate_Bps;
			best = points[i];
		}
	}
	if (best)
		calibrating_found(
			c, "storage.bandwidth", QUANTITY_RATE,
			(struct interval){best_Bps, NAN, NAN},
			"sequential reads of %.4g B, %.0f at a time: the fastest measured",
			recording_point_number(best, "size_B", 0),
			recording_point_number(best, "parallel", 1));
}

static void memory(struct calibrating *c)
{
	const struct recording_point *const *points;
	size_t count = recording_find(c->recording, c->arena, "memcpy", "", &points), n = 0;
	const struct recording_point **alone =
		ARENA_ARRAY(c->arena, count + 1, const struct recording_point *);
	for (size_t i = 0; i < count; i++)
		if (recording_point_number(points[i], "threads", 1) <= 1)
			alone[n++] = points[i];
	const struct calibration_series *copy = calibrating_series_of(
		c, alone, n, "memcpy, one thread", "size_B", SEGMENTS_MAX, LINKS_LIMIT);
	if (copy && copy->holds)
		calibrating_found(c, "host.*.copy_rate", QUANTITY_RATE,
				  interval_under(1, copy->slope[copy->segments.count - 1]),
				  "large copies by one thread; %s", calibrating_quality(c, copy));
}

void calibrate_host(struct calibrating *c)
{
	tcp(c);
	storage(c);
	memory(c);
}
