/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lost packets. Each packet of a write of up to TCP_DRAWN_PACKETS is drawn. In a longer
 * write only the last TCP_TAIL_PACKETS are drawn, because losses in the middle are in its rate
 * (tcp_loss_rate). A further draw decides whether some packet in the middle is lost so often that
 * the connection fails.
 *
 * A lost packet leaves a hole, and nothing after it is passed on. Packets that arrive after it, of
 * the same or of later writes, cause duplicate acknowledgements. At the third one the sender
 * retransmits, so the repair comes one round trip later. Otherwise the retransmission timer runs
 * from the time when the first write with a hole had left. The timeout doubles while the same
 * packet is lost again. A retransmission sends everything that is known to be missing. */
#include "sim/transport/tcp.h"
#include "sim/engine/trace.h"

/* RFC 5681: the third duplicate acknowledgement means a loss. */
enum { DUPLICATES_MIN = 3 };

static void give_up(void *ctx, uint64_t arg)
{
	struct tcp_connection *connection = ctx;
	tcp_fail(connection, arena_printf(connection->spec.arena,
					  "connection timed out: no acknowledgement after %g "
					  "retransmissions",
					  connection->params->retries_count));
}

static double timeout_s(const struct tcp_connection *connection, uint64_t retries)
{
	return fmin(ldexp(connection->rto_s, (int)retries), connection->params->rto_max_s);
}

/* ---- repair ---- */

static void timer_arm(struct tcp_direction *direction, int64_t from_ps);

/* Passes on all complete writes up to the first hole, in order. */
static void pass_on_ready(struct tcp_direction *direction)
{
	int64_t now_ps = tcp_now_ps(direction);
	while (direction->air.head && direction->air.head->arrived &&
	       direction->air.head->lost == 0) {
		struct tcp_write *write = direction->air.head;
		direction->air.head = write->next;
		if (now_ps > write->arrived_ps) {
			int64_t since_ps = write->arrived_ps > direction->stalled_ps
						   ? write->arrived_ps
						   : direction->stalled_ps;
			direction->connection->connection.counters.stalled_s +=
				s_from_ps(now_ps - since_ps);
			direction->stalled_ps = now_ps;
			path_trace(&direction->path, tcp_engine(direction), SPAN_LOSS,
				   write->message.label, write->arrived_ps);
		}
		tcp_pass_on(write);
	}
}

/* Called when the retransmission has arrived, except its lost packets. */
static void repaired(void *ctx, uint64_t arg)
{
	struct tcp_direction *direction = ctx;
	bool progress = arg != 0;
	for (struct tcp_write *write = direction->air.head; write; write = write->next) {
		write->lost -= write->repaired;
		direction->missing -= write->repaired;
		write->repaired = 0;
	}
	direction->repairing = false;
	direction->duplicates = 0;
	if (progress)
		direction->retries = 0;
	pass_on_ready(direction);
	if (direction->missing > 0)
		timer_arm(direction, tcp_now_ps(direction) - ps_from_s(direction->path.latency_s));
}

/* Called when the last byte of the retransmission has left. Checks whether its first packet, which
 * controls the timeout, was lost again. */
static void repair_left(void *ctx, uint64_t arg)
{
	struct tcp_direction *direction = ctx;
	bool progress = false, first_packet = true;
	for (struct tcp_write *write = direction->air.head; write; write = write->next) {
		if (!write->arrived)
			break;
		if (write->lost == 0)
			continue;
		uint64_t first;
		uint64_t again = loss_take(&direction->loss, write->lost, &first);
		direction->connection->connection.counters.losses_count += again;
		write->repaired = write->lost - again;
		if (first_packet)
			progress = first > 0;
		first_packet = false;
	}
	engine_after(tcp_engine(direction), ps_from_s(direction->path.latency_s), repaired,
		     direction, progress);
}

static void retransmit(void *ctx, uint64_t arg)
{
	struct tcp_direction *direction = ctx;
	struct tcp_connection *connection = direction->connection;
	if (connection->failed)
		return;
	double size_B = 0;
	for (struct tcp_write *write = direction->air.head; write; write = write->next) {
		if (write->arrived)
			size_B += (double)write->lost * fmin(write->size_B, direction->mss_B);
	}
	struct flow_spec flow = {.size = size_B, .done = repair_left, .ctx = direction};
	route_uses(connection->spec.fabric, direction->path.route, direction->header_B, size_B,
		   &flow);
	direction->repair_flow =
		flow_start(connection->spec.engine, connection->spec.fabric, &flow);
}

static void timer_fired(void *ctx, uint64_t arg)
{
	struct tcp_direction *direction = ctx;
	struct tcp_connection *connection = direction->connection;
	if (direction->retries >= (uint64_t)connection->params->retries_count) {
		give_up(connection, 0);
		return;
	}
	direction->retries++;
	direction->repairing = true;
	connection->connection.counters.timeouts_count++;
	tcp_window_timeout(direction);
	retransmit(direction, 0);
}

static void timer_arm(struct tcp_direction *direction, int64_t from_ps)
{
	double wait_s = timeout_s(direction->connection, direction->retries);
	int64_t at_ps = from_ps + ps_from_s(wait_s);
	int64_t now_ps = tcp_now_ps(direction);
	engine_cancel(tcp_engine(direction), direction->rto_event);
	direction->rto_event = engine_at(tcp_engine(direction), at_ps > now_ps ? at_ps : now_ps,
					 timer_fired, direction, 0);
}

static void fast_retransmit(struct tcp_direction *direction)
{
	struct tcp_connection *connection = direction->connection;
	const struct tcp_direction *back = &connection->directions[1 - direction->index];
	engine_cancel(tcp_engine(direction), direction->rto_event);
	direction->repairing = true;
	connection->connection.counters.fast_retransmits_count++;
	tcp_window_fast_retransmit(direction);
	engine_after(tcp_engine(direction), ps_from_s(back->path.latency_s), retransmit, direction,
		     0);
}

/* ---- transmission ---- */

static void arrive(void *ctx, uint64_t arg)
{
	struct tcp_write *write = ctx;
	struct tcp_direction *direction = write->direction;
	write->arrived = true;
	write->arrived_ps = tcp_now_ps(direction);
	uint64_t drawn = (uint64_t)fmin(write->packets, TCP_DRAWN_PACKETS);
	if (direction->missing > 0)
		direction->duplicates += drawn - write->lost;
	else
		direction->duplicates = write->after_lost;
	bool first_hole = direction->missing == 0 && write->lost > 0;
	direction->missing += write->lost;
	if (!direction->repairing) {
		if (first_hole)
			timer_arm(direction, write->left_ps);
		if (direction->missing > 0 && direction->retries == 0 &&
		    direction->duplicates >= DUPLICATES_MIN)
			fast_retransmit(direction);
	}
	pass_on_ready(direction);
}

static void arrive_whole(void *ctx, uint64_t arg)
{
	tcp_pass_on(ctx);
}

/* Returns true if a long write will never be complete; then the connection fails. */
static bool bulk_given_up(struct tcp_write *write)
{
	struct tcp_direction *direction = write->direction;
	struct tcp_connection *connection = direction->connection;
	double tries = connection->params->retries_count + 1;
	if (!loss_every_time(&direction->fate, direction->loss.p, tries,
			     write->packets - TCP_TAIL_PACKETS))
		return false;
	uint64_t retries = (uint64_t)connection->params->retries_count;
	double wait_s = 0;
	for (uint64_t i = 0; i <= retries; i++)
		wait_s += timeout_s(connection, i);
	connection->connection.counters.timeouts_count += retries;
	connection->connection.counters.losses_count += retries + 1;
	engine_after(connection->spec.engine, ps_from_s(wait_s), give_up, connection, 0);
	return true;
}

void tcp_left(struct tcp_write *write)
{
	struct tcp_direction *direction = write->direction;
	if (direction->loss.p <= 0) {
		path_arrive(&direction->path, tcp_engine(direction), !direction->queue.head,
			    arrive_whole, write);
		return;
	}
	double drawn = write->packets;
	if (drawn > TCP_DRAWN_PACKETS) {
		drawn = TCP_TAIL_PACKETS;
		direction->given_up = direction->given_up || bulk_given_up(write);
	}
	if (direction->given_up)
		return;
	uint64_t count = (uint64_t)drawn, first;
	write->arrived = false;
	write->after_lost = write->repaired = 0;
	write->lost = loss_take(&direction->loss, count, &first);
	if (write->lost > 0)
		write->after_lost = count - first - write->lost;
	direction->connection->connection.counters.losses_count += write->lost;
	QUEUE_PUSH(&direction->air, write, next);
	path_arrive(&direction->path, tcp_engine(direction), false, arrive, write);
}
