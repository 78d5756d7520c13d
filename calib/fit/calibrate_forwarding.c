/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls forwarded to a second process over shared memory: what of a remoting
 * runtime's costs can be told apart.
 *
 * A forwarded call that waits takes, with sim/remoting's names,
 *
 *   S = intercept + marshal + way + unmarshal + get + way + reply
 *
 * and n of them in one message, with one wait at the end,
 *
 *   n B = n (intercept + unmarshal + get) + marshal + 2 way + reply
 *
 * so (n B - S) / (n - 1) is what each further call costs, and S grows with the
 * bytes of arguments by marshal_byte. Calls that do not wait follow each other at
 * the pace of the slower side: where that is slower than the server, it is the
 * client, whose marshal it tells. The rest of S is the way of two messages.
 */
#include <math.h>

#include "calib/fit/calibrating.h"
#include "sim/base/arena.h"

static const double CALLS_LIMIT = 0.05;
/* Defaults of sim/remoting and sim/transport for what stays unknown. */
static const double INTERCEPT_S = 0.2e-6, MARSHAL_S = 1e-6, REPLY_S = 0.5e-6, POST_S = 0.3e-6;
static const double BATCH_COUNT = 64;

static bool batched(struct calibrating *c, struct interval *value)
{
	const struct recording_point *const *points;
	size_t count = recording_find(c->recording, c->arena, "forward",
				      "transport=shm what=call mode=batched", &points);
	for (size_t i = 0; i < count; i++) {
		double batch = recording_point_number(points[i], "batch", 0);
		if (batch < BATCH_COUNT || batch > BATCH_COUNT)
			continue;
		double least = INFINITY, most = 0;
		for (size_t k = 0; k < points[i]->passes.count; k++) {
			least = fmin(least, points[i]->passes.items[k].low);
			most = fmax(most, points[i]->passes.items[k].high);
		}
		*value = (struct interval){points[i]->value, least, most};
		return true;
	}
	return false;
}

void calibrate_forwarding(struct calibrating *c)
{
	const struct calibration_series *sync = calibrating_series(
		c, "forward", "transport=shm what=call mode=sync", "argument_B", 1, CALLS_LIMIT);
	const struct calibration_series *async = calibrating_series(
		c, "forward", "transport=shm what=call mode=async", "argument_B", 1, CALLS_LIMIT);
	struct interval get, each;
	if (!sync || !sync->holds || !calibrating_value(c, "call", "call=get", &get) ||
	    !batched(c, &each))
		return;
	const char *quality = calibrating_quality(c, sync);
	calibrating_found(c, "runtime.marshal_byte", QUANTITY_TIME_PER_BYTE, sync->slope[0], "%s",
			  quality);
	each = interval_times(interval_less(interval_times(each, BATCH_COUNT), sync->start_s[0]),
			      1 / (BATCH_COUNT - 1));
	struct interval both = interval_less(each, get);
	double intercept_s = fmin(INTERCEPT_S, both.value / 2);
	if (!(both.value > 0)) {
		calibrating_left_out(c, "runtime.unmarshal",
				     "further calls of a batch cost no more than the call itself");
		return;
	}
	if (intercept_s < INTERCEPT_S)
		calibrating_found(c, "runtime.intercept", QUANTITY_TIME, interval_times(both, 0.5),
				  "half of what each further call of a batch of %.0f costs besides "
				  "the call itself: less than twice the default; %s",
				  BATCH_COUNT, quality);
	struct interval unmarshal = interval_plus(both, -intercept_s);
	calibrating_found(c, "runtime.unmarshal", QUANTITY_TIME, unmarshal,
			  "each further call of a batch of %.0f over shared memory, less %.2g us "
			  "at the client and the call itself; %s",
			  BATCH_COUNT, 1e6 * intercept_s, quality);
	struct interval marshal = {MARSHAL_S, MARSHAL_S, MARSHAL_S};
	if (async && async->holds &&
	    async->start_s[0].value > 1.1 * (unmarshal.value + get.value)) {
		marshal = interval_plus(async->start_s[0], -intercept_s);
		calibrating_found(c, "runtime.marshal", QUANTITY_TIME, marshal,
				  "pace of calls that do not wait, which the client sets; %s",
				  calibrating_quality(c, async));
	} else {
		calibrating_left_out(c, "runtime.marshal",
				     "the server sets the pace of calls that do not wait");
	}
	struct interval rest = interval_less(interval_less(sync->start_s[0], each), marshal);
	struct interval way = interval_times(interval_plus(rest, -REPLY_S), 0.5);
	calibrating_found(c, "shm.notify", QUANTITY_TIME, interval_plus(way, -POST_S),
			  "what is left of a call that waits, half for each way; %s", quality);
}
