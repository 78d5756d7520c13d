/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The amount of data in flight, and the rate of a long write.
 *
 * A write no larger than the window starts when the window has room for it, and runs at the rate of
 * the wire. Its bytes leave the window one round trip after they were sent. A larger (bulk) write
 * is a flow capped at window / RTT. */
#include "sim/transport/tcp.h"

/* A window counts as used, and grows, if at least this part of it is filled (Linux:
 * tcp_is_cwnd_limited in slow start). */
#define IN_USE_RATIO 0.5

void tcp_window_init(struct tcp_direction *direction)
{
	const struct tcp_params *params = direction->connection->params;
	direction->window_max_B = fmin(params->send_buffer_B, params->receive_buffer_B);
	direction->ssthresh_B = direction->window_max_B;
	direction->cwnd_B = params->initial_window_count * direction->mss_B;
}

static double stream_window_B(const struct tcp_direction *direction)
{
	return direction->cwnd_B < direction->window_max_B ? direction->cwnd_B
							   : direction->window_max_B;
}

static double tcp_window_B(const struct tcp_direction *direction)
{
	return stream_window_B(direction) * direction->connection->streams_count;
}

/* ---- the window of short writes ---- */

static void ack_push(struct tcp_direction *direction, struct tcp_ack ack)
{
	if (direction->acks.count == direction->acks.room &&
	    direction->ack_first > direction->acks.count / 2) {
		VEC_DROP(&direction->acks, direction->ack_first);
		direction->ack_first = 0;
	}
	*VEC_PUSH(direction->connection->spec.arena, &direction->acks) = ack;
	direction->inflight_B += ack.size_B;
}

static void acks_clear(struct tcp_direction *direction)
{
	direction->ack_first = direction->acks.count = 0;
	direction->inflight_B = 0;
}

/* Acknowledged bytes enlarge a window that has delayed a write. */
static void window_grow(struct tcp_direction *direction, double acked_B)
{
	double stream_B = acked_B / direction->connection->streams_count;
	if (direction->cwnd_B < direction->ssthresh_B)
		direction->cwnd_B += stream_B;
	else
		direction->cwnd_B += direction->mss_B * stream_B / direction->cwnd_B;
	direction->cwnd_B =
		fmin(direction->cwnd_B, fmax(direction->window_max_B, direction->mss_B));
}

static void acks_take(struct tcp_direction *direction)
{
	int64_t now_ps = tcp_now_ps(direction);
	while (direction->ack_first < direction->acks.count) {
		struct tcp_ack ack = direction->acks.items[direction->ack_first];
		if (ack.at_ps > now_ps)
			return;
		direction->ack_first++;
		direction->inflight_B -= ack.size_B;
		if (direction->limited)
			window_grow(direction, ack.size_B);
	}
	acks_clear(direction);
}

static void pump_again(void *ctx, uint64_t arg)
{
	struct tcp_direction *direction = ctx;
	direction->pump_due = false;
	tcp_pump(direction);
}

/* tcp_slow_start_after_idle: an idle connection resets its window. */
static void idle_restart(struct tcp_direction *direction)
{
	double initial_B = direction->connection->params->initial_window_count * direction->mss_B;
	int64_t idle_ps = tcp_now_ps(direction) - direction->last_sent_ps;
	if (direction->sent && direction->acks.count == 0 &&
	    idle_ps > direction->connection->rto_ps)
		direction->cwnd_B = fmin(direction->cwnd_B, initial_B);
}

/* Returns true if the window has room for the write even if no acknowledgement since the last call
 * of acks_take has arrived. It then need not be called, because the window does not change. */
static bool has_ample_room(const struct tcp_direction *direction, const struct tcp_write *write)
{
	double window_B = tcp_window_B(direction);
	return !direction->limited && direction->closed_B <= 0 &&
	       direction->acks.count < direction->acks.room &&
	       direction->inflight_B + write->size_B < window_B * IN_USE_RATIO &&
	       tcp_now_ps(direction) - direction->last_sent_ps <= direction->connection->rto_ps;
}

bool tcp_window_admits(struct tcp_direction *direction, struct tcp_write *write)
{
	write->bulk = false;
	if (has_ample_room(direction, write))
		return true;
	acks_take(direction);
	idle_restart(direction);
	double window_B = tcp_window_B(direction);
	write->bulk = direction->connection->rtt_s > 0 && write->size_B > window_B;
	if (write->bulk) { /* from now on the cap limits it */
		acks_clear(direction);
		return true;
	}
	double after_B = direction->inflight_B + write->size_B;
	if (direction->closed_B > 0 && after_B + direction->closed_B > direction->window_max_B)
		return false;
	if (direction->acks.count > 0 && after_B > window_B) {
		direction->limited = true;
		if (!direction->pump_due) {
			direction->pump_due = true;
			engine_at(tcp_engine(direction),
				  direction->acks.items[direction->ack_first].at_ps, pump_again,
				  direction, 0);
		}
		return false;
	}
	if (after_B < window_B * IN_USE_RATIO)
		direction->limited = false;
	return true;
}

void tcp_window_sent(struct tcp_direction *direction, const struct tcp_write *write)
{
	if (write->bulk || direction->connection->rtt_s <= 0)
		return;
	int64_t at_ps = tcp_now_ps(direction) + direction->connection->rtt_ps;
	ack_push(direction, (struct tcp_ack){at_ps, write->size_B});
}

/* ---- the rate of long writes ---- */

double tcp_loss_rate(double mss_B, double rtt_s, double rto_s, double p)
{
	/* b = 1: every segment is acknowledged. The first p is the loss of a retransmission: with
	 * selective acknowledgements only that needs the timer (docs/models/tcp.md). */
	double fast_s = rtt_s * sqrt(2 * p / 3);
	double timeouts_s = p * rto_s * fmin(1, 3 * sqrt(3 * p / 8)) * p * (1 + 32 * p * p);
	return mss_B / (fast_s + timeouts_s);
}

double tcp_cap(const struct tcp_direction *direction, const struct tcp_write *write)
{
	const struct tcp_connection *connection = direction->connection;
	double cap = 0;
	if (write->bulk)
		cap = tcp_window_B(direction) / connection->rtt_s;
	double p = direction->loss.p;
	if (p > 0 && write->packets > TCP_DRAWN_PACKETS) {
		double bound =
			tcp_loss_rate(direction->mss_B, connection->rtt_s, connection->rto_s, p) *
			connection->streams_count;
		cap = cap > 0 ? fmin(cap, bound) : bound;
	}
	double most_Bps = direction->path.route->flow_Bps * connection->streams_count;
	if (most_Bps > 0)
		cap = cap > 0 ? fmin(cap, most_Bps) : most_Bps;
	return cap;
}

/* Called when one round trip of a bulk flow has passed. */
static void growth(void *ctx, uint64_t arg)
{
	struct tcp_direction *direction = ctx;
	struct tcp_connection *connection = direction->connection;
	const struct tcp_write *write = direction->queue.head;
	direction->growth_due = false;
	if (connection->failed || !direction->draining || !write->bulk)
		return;
	double filled_B =
		fabric_flow_rate(connection->spec.fabric, direction->flow) * connection->rtt_s;
	if (filled_B < tcp_window_B(direction) * IN_USE_RATIO)
		return; /* a link or a core limits the rate, not the window */
	window_grow(direction, tcp_window_B(direction));
	fabric_flow_cap_set(connection->spec.fabric, direction->flow, tcp_cap(direction, write));
	tcp_growth_start(direction);
}

void tcp_growth_start(struct tcp_direction *direction)
{
	if (direction->growth_due || direction->cwnd_B >= direction->window_max_B)
		return;
	direction->growth_due = true;
	engine_after(tcp_engine(direction), direction->connection->rtt_ps, growth, direction, 0);
}

/* ---- losses ---- */

void tcp_window_fast_retransmit(struct tcp_direction *direction)
{
	direction->ssthresh_B = fmax(stream_window_B(direction) / 2, 2 * direction->mss_B);
	direction->cwnd_B = direction->ssthresh_B;
}

void tcp_window_timeout(struct tcp_direction *direction)
{
	direction->ssthresh_B = fmax(stream_window_B(direction) / 2, 2 * direction->mss_B);
	direction->cwnd_B = direction->mss_B;
}
