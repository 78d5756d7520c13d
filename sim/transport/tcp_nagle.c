/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nagle's algorithm with delayed acknowledgements, as Linux has them. The functions are called only
 * if params->nagle is set.
 *
 * The sender keeps less than a segment back while an earlier segment that was not full is
 * unacknowledged (Minshall's variant: tcp_output.c, tcp_nagle_check). Full segments leave at once.
 *
 * The receiver acknowledges at once when more than one segment is unacknowledged (tcp_input.c,
 * __tcp_ack_snd_check), and each of the first QUICK_ACKS segments (tcp_event_data_recv). Otherwise
 * it does so when its program has emptied the socket (tcp.c, tcp_cleanup_rbuf). But an end that has
 * answered within delayed_ack is interactive: it expects to answer again, and waits to send the
 * acknowledgement with the answer (tcp_output.c, tcp_event_data_sent). After delayed_ack the
 * acknowledgement leaves without an answer, and the end stops being interactive (tcp_timer.c,
 * tcp_delack_timer_handler). So the sequence write, write, read stalls.
 */
#include "sim/transport/tcp.h"

/* Linux tcp.h: TCP_MAX_QUICKACKS. */
#define QUICK_ACKS 16

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
	if (direction->drained_B < direction->release_B)
		return true; /* it leaves in one segment with data that did not wait */
	double leaves_B = direction->written_B - direction->drained_B;
	double rest_B = fmod(leaves_B, direction->mss_B);
	if (direction->acked_B < direction->small_end_B) {
		leaves_B -= rest_B;
		rest_B = 0;
	}
	direction->release_B = direction->drained_B + leaves_B;
	if (rest_B > 0)
		direction->small_end_B = direction->release_B;
	return leaves_B > 0;
}

static void acknowledged(void *ctx, uint64_t arg)
{
	struct tcp_direction *direction = ctx;
	direction->acked_B = value_of(arg);
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
	if (direction->quick_acks > 0)
		direction->quick_acks--;
	engine_after(tcp_engine(direction), ps_from_s(back->path.latency_s), acknowledged,
		     direction, arg_of(direction->answered_B));
}

/* Returns true if the direction's receiver waits for an answer to acknowledge with. */
static bool is_interactive(const struct tcp_direction *direction)
{
	return direction->answers_count >=
	       (uint64_t)direction->connection->params->interactive_answers_count;
}

static void delayed_ack_due(void *ctx, uint64_t arg)
{
	struct tcp_direction *direction = ctx;
	if (is_interactive(direction))
		direction->answers_count = 0;
	acknowledge(direction);
}

void tcp_nagle_sent(struct tcp_direction *direction)
{
	struct tcp_direction *back = &direction->connection->directions[1 - direction->index];
	/* The last bytes of a write of more than a segment leave with it. */
	if (direction->drained_B > direction->release_B)
		direction->release_B = direction->small_end_B = direction->drained_B;
	acknowledge(back);
	if (back->received_B > 0 && tcp_now_ps(direction) - back->received_ps <
					    ps_from_s(direction->connection->params->delayed_ack_s))
		back->answers_count++;
}

void tcp_nagle_arrived(struct tcp_direction *direction, double size_B)
{
	const struct tcp_params *params = direction->connection->params;
	bool waiting = direction->answered_B < direction->received_B;
	if (direction->received_B <= 0)
		direction->quick_acks = QUICK_ACKS;
	direction->received_B += size_B;
	direction->received_ps = tcp_now_ps(direction);
	if (direction->received_B - direction->answered_B > direction->mss_B ||
	    (direction->quick_acks > 0 && !is_interactive(direction)))
		acknowledge(direction);
	else if (!waiting)
		direction->delayed_ack =
			engine_after(tcp_engine(direction), ps_from_s(params->delayed_ack_s),
				     delayed_ack_due, direction, 0);
}

void tcp_nagle_read(struct tcp_direction *direction)
{
	const struct tcp_connection *connection = direction->connection;
	bool empty = direction->receiving_count == 0 &&
		     !connection->connection.readers[1 - direction->index].head;
	if (empty && !is_interactive(direction))
		acknowledge(direction);
}
