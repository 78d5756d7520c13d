/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls forwarded to a second process: separates the costs of tests/forwarding/forward.c as far as
 * possible. They are those of that forwarder, so `farwire fit` does not write them into a profile,
 * which would give them to any remoting runtime.
 *
 * A forwarded call that waits takes, in the terms of sim/remoting,
 *
 *   S = intercept + marshal + way + unmarshal + get + way + reply
 *
 * and n of them in one message, with one wait at the end,
 *
 *   n B = n (intercept + unmarshal + get) + marshal + 2 way + reply
 *
 * So each further call costs (n B - S) / (n - 1), and S grows with the bytes of arguments by
 * marshal_byte. Calls that do not wait follow each other at the pace of the slower side, which is
 * the client or the server. If the pace is slower than the server, the client sets it, and marshal
 * follows from it. Otherwise the pace is an upper bound of the client's cost. The rest of S is the
 * way of two messages. The difference of S between TCP and shared memory is the extra cost of TCP.
 */
#pragma once

#include "calib/fit/calibrating.h"

static const double CALLS_LIMIT = 0.05;
/* Defaults of sim/remoting and sim/transport for costs that stay unknown. */
static const double INTERCEPT_S = 0.2e-6, MARSHAL_S = 1e-6, REPLY_S = 0.5e-6, POST_S = 0.3e-6;
static const double BATCH_COUNT = 64, SLOWER_TIMES = 1.1, LEAST_S = 1e-9;

static bool batched(struct calibrating *c, struct estimate *value)
{
	const struct recording_number batch = {"batch", BATCH_COUNT};
	const struct recording_point *const *points;
	if (calibrating_find(c, "forward", "transport=shm what=call mode=batched", &batch, 1,
			     &points) == 0)
		return false;
	*value = calibrating_point(points[0]);
	return true;
}

/* Parts of a forwarded call: those that were determined so far, and the measured series. */
struct forwarded {
	const struct calibration_series *sync, *async; /* series measured over shared memory */
	struct estimate get, each, marshal, way;
	double intercept_s;
	const char *quality;
};

/* Determines the cost of each further call of a batch. Returns false if it cannot. */
static bool each_call(struct calibrating *c, struct forwarded *f)
{
	f->each = estimate_scaled(
		interval_less(estimate_scaled(f->each, BATCH_COUNT), f->sync->start_s[0]),
		1 / (BATCH_COUNT - 1));
	struct estimate both = interval_less(f->each, f->get);
	f->intercept_s = fmin(INTERCEPT_S, both.value / 2);
	if (!(both.value > 0)) {
		calibrating_left_out(c, "runtime.unmarshal",
				     "further calls of a batch cost no more than the call itself");
		return false;
	}
	if (f->intercept_s < INTERCEPT_S)
		calibrating_found(
			c, "runtime.intercept", QUANTITY_TIME, estimate_scaled(both, 0.5),
			"half of the cost of each further call in a batch of %.0f without the call "
			"itself, which is less than twice the default; %s",
			BATCH_COUNT, f->quality);
	calibrating_found(c, "runtime.unmarshal", QUANTITY_TIME,
			  interval_plus(both, -f->intercept_s),
			  "each further call in a batch of %.0f over shared memory, minus %.2g us "
			  "at the client and the call itself; %s",
			  BATCH_COUNT, 1e6 * f->intercept_s, f->quality);
	return true;
}

/* Sets marshal from the pace of calls that do not wait. The slower side sets the pace, so it is the
 * client's cost or an upper bound of it. */
static void marshal(struct calibrating *c, struct forwarded *f)
{
	f->marshal = (struct estimate){MARSHAL_S, MARSHAL_S, MARSHAL_S};
	if (!f->async || !f->async->holds)
		return;
	struct estimate pace = f->async->start_s[0];
	struct estimate most = interval_plus(pace, -f->intercept_s);
	bool client = pace.value > SLOWER_TIMES * (f->each.value - f->intercept_s);
	if (!client && most.value >= MARSHAL_S) {
		calibrating_left_out(c, "runtime.marshal",
				     "the server limits the pace of calls that do not wait");
		return;
	}
	f->marshal = most;
	calibrating_found(c, "runtime.marshal", QUANTITY_TIME, most,
			  "pace of calls that do not wait, limited by the %s; %s",
			  client ? "client" : "server (so it is an upper bound)",
			  calibrating_quality(c, f->async));
}

/* Divides the rest of a call that waits between the answer's unmarshalling and two ways. If the
 * rest is smaller than the defaults, all parts become smaller. */
static void ways(struct calibrating *c, struct forwarded *f)
{
	struct estimate rest =
		interval_less(interval_less(f->sync->start_s[0], f->each), f->marshal);
	double reply_s = fmin(REPLY_S, rest.value / 3);
	if (!(rest.value > 0)) {
		calibrating_left_out(
			c, "shm.notify",
			"the rest of a call is zero, so nothing is left for the ways of messages");
		return;
	}
	f->way = estimate_scaled(interval_plus(rest, -reply_s), 0.5);
	double post_s = fmin(POST_S, f->way.value / 3);
	if (reply_s < REPLY_S)
		calibrating_found(c, "runtime.reply", QUANTITY_TIME, estimate_scaled(rest, 1.0 / 3),
				  "a third of the rest of a call that waits; %s", f->quality);
	if (post_s < POST_S)
		calibrating_found(c, "shm.post", QUANTITY_TIME, estimate_scaled(f->way, 1.0 / 3),
				  "a third of a message's way; %s", f->quality);
	calibrating_found(c, "shm.notify", QUANTITY_TIME, interval_plus(f->way, -post_s),
			  "half of the rest of a call that waits, for each way; %s", f->quality);
}

/* Determines the cost of TCP. Calls over TCP differ from those over shared memory only in their
 * way: a send, the receiver's work and its wake-up. The send is visible if it limits the pace.
 * In any case no side works longer on a message than the interval between calls that do not
 * wait. The remaining part of the way passes while both sides are idle, and only a sleeping
 * reader waits for it. */
static void tcp(struct calibrating *c, const struct forwarded *f)
{
	const struct calibration_series *sync = calibrating_series(
		c, "forward", "transport=tcp what=call mode=sync", "argument_B", 1, CALLS_LIMIT);
	struct estimate pace;
	if (!sync || !sync->holds || !(f->way.value > 0))
		return;
	struct estimate more = interval_less(sync->start_s[0], f->sync->start_s[0]);
	struct estimate way = interval_plus(estimate_scaled(more, 0.5), f->way.value);
	struct estimate send = estimate_scaled(way, CALIBRATING_SEND_S / CALIBRATING_WAY_S);
	bool paced = calibrating_value(c, "forward", "transport=tcp what=call mode=async", &pace);
	bool seen = paced && f->async && pace.value > 2 * f->async->start_s[0].value &&
		    pace.value - f->intercept_s - f->marshal.value < way.value;
	double most_s = paced ? pace.value - sync->start_s[0].value / BATCH_COUNT : INFINITY;
	if (seen)
		send = interval_plus(interval_less(pace, f->marshal), -f->intercept_s);
	else
		send = interval_at_most(send,
					fmax(most_s - f->marshal.value - f->intercept_s, LEAST_S));
	const char *note = arena_printf(
		c->arena, "a forwarded call over TCP, minus one over shared memory; %s",
		calibrating_quality(c, sync));
	const char *send_note = arena_printf(
		c->arena, "%s; %s",
		seen ? "pace of calls that do not wait" : "divided like the defaults", note);
	calibrating_message(c, way, send, fmax(most_s - (f->each.value - f->intercept_s), LEAST_S),
			    send_note, note);
}

/* Determines TCP's time per byte of a payload. A payload is sent completely over TCP and then
 * copied to the GPU. The extra time per byte, compared with a copy on the local GPU, is TCP's,
 * with both ends working at once. */
static void payload(struct calibrating *c)
{
	const struct calibration_series *tcp_payload =
		calibrating_series(c, "forward", "transport=tcp what=payload mode=sync",
				   "payload_B", SEGMENTS_MAX, CALLS_LIMIT);
	struct estimate copy = {0};
	for (size_t i = 0; i < c->result->series.count; i++) {
		const struct calibration_series *series = &c->result->series.items[i];
		if (strcmp(series->label, "copy h2d pinned async rate") == 0 &&
		    calibrating_last_holds(series))
			copy = series->slope[series->segments.count - 1];
	}
	if (!calibrating_last_holds(tcp_payload) || !(copy.value > 0))
		return;
	struct estimate whole = tcp_payload->slope[tcp_payload->segments.count - 1];
	calibrating_found(c, "guest.*.byte", QUANTITY_TIME_PER_BYTE,
			  interval_plus(interval_less(whole, copy), -CALIBRATING_PACKETS_spB),
			  "payloads forwarded over TCP, minus the copy to the GPU; %s",
			  calibrating_quality(c, tcp_payload));
}

static void calls(struct calibrating *c)
{
	struct forwarded f = {0};
	f.sync = calibrating_series(c, "forward", "transport=shm what=call mode=sync", "argument_B",
				    1, CALLS_LIMIT);
	f.async = calibrating_series(c, "forward", "transport=shm what=call mode=async",
				     "argument_B", 1, CALLS_LIMIT);
	if (!f.sync || !f.sync->holds || !calibrating_value(c, "call", "call=get", &f.get) ||
	    !batched(c, &f.each))
		return;
	f.quality = calibrating_quality(c, f.sync);
	calibrating_found(c, "runtime.marshal_byte", QUANTITY_TIME_PER_BYTE, f.sync->slope[0], "%s",
			  f.quality);
	if (!each_call(c, &f))
		return;
	marshal(c, &f);
	ways(c, &f);
	tcp(c, &f);
}

/* Returns what calibration_run returns, with the costs of the forwarder. */
static const struct calibration *forwarding_calibration(struct arena *arena, struct diag *diag,
							const struct recording *recording)
{
	struct calibrating c = {.arena = arena,
				.data_root = ".",
				.recording = recording,
				.seed = 1,
				.confidence = 0.9};
	c.result = (struct calibration *)calibration_run(arena, diag, ".", recording, 1);
	if (c.result) {
		calls(&c);
		payload(&c);
	}
	return c.result;
}
