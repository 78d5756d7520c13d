/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nagle's algorithm (RFC 896, RFC 1122 4.2.3.4): less than a segment waits while any byte of its
 * direction is unacknowledged. The receiver delays its acknowledgement for delayed_ack_s, so that
 * its own data can carry it, or until two segments have arrived (RFC 1122 4.2.3.2). The sequence
 * write, write, read stalls because of both. The functions are called only if params->nagle is set.
 */
#include "sim/transport/tcp.h"

#include <math.h>
#include <string.h>

/* Packs the acknowledged position of the direction into an event's arg. */
static uint64_t arg_of(double value)
{
	uint64_t arg;
	memcpy(&arg, &value, sizeof arg);
	return arg;
}

static double value_of(uint64_t arg)
{
	double value;
	memcpy(&value, &arg, sizeof value);
	return value;
}

bool tcp_nagle_admits(struct tcp_direction *direction)
{
	double unsent_B = direction->written_B - direction->drained_B;
	double full_B = floor(unsent_B / direction->mss_B) * direction->mss_B;
	if (direction->acked_B >= direction->drained_B)
		full_B = unsent_B; /* no data are in flight, so all pending data may leave */
	direction->release_B = fmax(direction->release_B, direction->drained_B + full_B);
	return direction->drained_B < direction->release_B;
}

static void acknowledged(void *ctx, uint64_t arg)
{
	struct tcp_direction *direction = ctx;
	direction->acked_B = fmax(direction->acked_B, value_of(arg));
	tcp_pump(direction);
}

/* Acknowledges all data that the receiver has. The sender gets this one latency later. */
static void acknowledge(struct tcp_direction *direction)
{
	const struct tcp_direction *back = &direction->connection->directions[1 - direction->index];
	engine_cancel(tcp_engine(direction), direction->delayed_ack);
	if (direction->answered_B >= direction->received_B)
		return;
	direction->answered_B = direction->received_B;
	engine_after(tcp_engine(direction), ps_from_s(back->path.latency_s), acknowledged,
		     direction, arg_of(direction->answered_B));
}

static void delayed_ack_due(void *ctx, uint64_t arg)
{
	acknowledge(ctx);
}

void tcp_nagle_sent(struct tcp_direction *direction)
{
	acknowledge(&direction->connection->directions[1 - direction->index]);
}

void tcp_nagle_arrived(struct tcp_direction *direction, double size_B)
{
	const struct tcp_params *params = direction->connection->params;
	bool waiting = direction->answered_B < direction->received_B;
	direction->received_B += size_B;
	if (direction->received_B - direction->answered_B >= 2 * direction->mss_B)
		acknowledge(direction);
	else if (!waiting)
		direction->delayed_ack =
			engine_after(tcp_engine(direction), ps_from_s(params->delayed_ack_s),
				     delayed_ack_due, direction, 0);
}
