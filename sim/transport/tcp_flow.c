/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One direction is a FIFO queue: a write's flow starts when the last byte of the previous one has
 * left. Long writes are divided into pieces of a quarter of the send buffer, so that waiting
 * writers can continue while a long one drains. */
#include "sim/transport/tcp.h"

#include "sim/engine/trace.h"

/* Writers continue, in order, when the undrained data fit into the send buffer. */
static inline void writers_accept(struct tcp_direction *direction)
{
	if (!direction->unaccepted)
		return;
	const struct tcp_params *params = direction->connection->params;
	double room_B = params->send_buffer_B * direction->connection->streams_count;
	while (direction->unaccepted) {
		struct tcp_write *write = direction->unaccepted;
		if (write->end_B - direction->drained_B > room_B)
			return;
		direction->unaccepted = write->next;
		write->accepted = true;
		if (write->message.accepted)
			write->message.accepted(write->message.ctx, write->message.arg);
	}
}

void tcp_written(void *ctx, uint64_t arg)
{
	struct tcp_write *write = ctx;
	struct tcp_direction *direction = write->direction;
	if (direction->connection->failed)
		return;
	direction->written_B += write->size_B;
	write->end_B = direction->written_B;
	QUEUE_PUSH(&direction->queue, write, next);
	if (!direction->unaccepted)
		direction->unaccepted = write;
	writers_accept(direction);
	tcp_pump(direction);
}

/* Adds work_spB of one thread on a core, which also uses its pool. */
static void thread_uses(struct cpu *core, double work_spB, struct flow_spec *flow)
{
	flow_use_add(flow, cpu_resource(core), work_spB * cpu_slowdown(core));
	flow_use_add(flow, cpu_pool(core), work_spB);
}

/* Adds the cost of a long write's byte to cores and memory at one end (0 or 1). */
static void end_uses(const struct tcp_direction *direction, int index, double packet_B,
		     double size_B, struct flow_spec *flow)
{
	const struct tcp_connection *connection = direction->connection;
	const struct tcp_params *params = connection->params;
	const struct connection_end *end = &connection->spec.ends[index];
	double work_spB = guest_flow_spB(end->guest, packet_B, size_B);
	if (index != direction->index)
		work_spB += params->receive_byte_spB;
	if (params->encapsulation_B > 0)
		work_spB += params->encapsulation_packet_s / packet_B;
	for (size_t i = 0; i < connection->core_count; i++) {
		const struct cpu *core = connection->cores[index][i];
		flow_use_add(flow, cpu_resource(core),
			     work_spB * cpu_slowdown(core) / (double)connection->core_count);
	}
	int pool = cpu_pool(connection->cores[index][0]);
	if (pool >= 0)
		flow_use_add(flow, pool, work_spB);
	if (connection->relays[index])
		thread_uses(connection->relays[index], params->relay_packet_s / packet_B, flow);
	if (direction->path.route->count > 0 && guest_thread_core(end->guest))
		thread_uses(guest_thread_core(end->guest),
			    guest_thread_work_s(end->guest, 1, packet_B) / packet_B, flow);
	flow_use_add(flow, host_dram(guest_host(end->guest)), DRAM_PER_COPY + DRAM_PER_DMA);
}

static void piece_done(void *ctx, uint64_t arg);

static void describe_piece(struct tcp_direction *direction, const struct tcp_write *write,
			   double size_B, double cap, struct flow_spec *flow)
{
	const struct tcp_connection *connection = direction->connection;
	*flow = (struct flow_spec){
		.size = size_B,
		.weight = connection->streams_count,
		.cap = cap,
		.key = direction->path.key,
		.key_count = (size_t)connection->params->streams_count,
		.done = piece_done,
		.ctx = direction,
	};
	route_uses(connection->spec.fabric, direction->path.route, direction->header_B, size_B,
		   flow);
	if (write->size_B > connection->params->inline_B) {
		end_uses(direction, direction->index, direction->send_packet_B, write->size_B,
			 flow);
		end_uses(direction, 1 - direction->index, direction->receive_packet_B,
			 write->size_B, flow);
	}
}

/* Starts the next piece of the write. Returns true if the piece ends at once, like short writes
 * when nothing else happens. */
static bool piece_start(struct tcp_direction *direction, struct tcp_write *write)
{
	struct tcp_connection *connection = direction->connection;
	struct engine *engine = connection->spec.engine;
	struct fabric *fabric = connection->spec.fabric;
	double size_B = write->size_B - write->drained_B;
	size_B = size_B < direction->piece_B ? size_B : direction->piece_B;
	bool limited = direction->loss.p > 0 || direction->path.route->flow_Bps > 0;
	double cap = write->bulk || limited ? tcp_cap(direction, write) : 0;
	struct flow_spec described, *flow = &described;
	bool plain = cap <= 0 && size_B >= write->size_B && size_B <= connection->params->inline_B;
	if (plain)
		flow = kept_flow(connection->spec.arena, &direction->plain_flows, size_B);
	if (!plain || flow->size != size_B)
		describe_piece(direction, write, size_B, cap, flow);
	if (write->drained_B <= 0)
		write->started_ps = tcp_now_ps(direction);
	direction->draining = true;
	if (plain && flow_pass(engine, fabric, flow))
		return true;
	direction->flow = flow_start(engine, fabric, flow);
	if (write->bulk)
		tcp_growth_start(direction);
	return false;
}

static void piece_over(struct tcp_direction *direction)
{
	struct tcp_write *write = direction->queue.head;
	double left_B = write->size_B - write->drained_B;
	bool whole = left_B <= direction->piece_B;
	write->drained_B = whole ? write->size_B : write->drained_B + direction->piece_B;
	direction->drained_B = write->end_B - (write->size_B - write->drained_B);
	direction->draining = false;
	direction->sent = true;
	direction->last_sent_ps = tcp_now_ps(direction);
	writers_accept(direction);
	if (!whole)
		return;
	direction->queue.head = write->next;
	write->left_ps = tcp_now_ps(direction);
	if (engine_trace(tcp_engine(direction)))
		path_trace(&direction->path, tcp_engine(direction), SPAN_WIRE, write->message.label,
			   write->started_ps);
	tcp_window_sent(direction, write);
	if (direction->connection->params->nagle)
		tcp_nagle_sent(direction);
	tcp_left(write);
}

static void piece_done(void *ctx, uint64_t arg)
{
	struct tcp_direction *direction = ctx;
	piece_over(direction);
	tcp_pump(direction);
}

void tcp_pump(struct tcp_direction *direction)
{
	struct tcp_write *write = direction->queue.head;
	while (write && !direction->draining && !direction->connection->failed) {
		if (write->drained_B <= 0 &&
		    ((direction->connection->params->nagle && !tcp_nagle_admits(direction)) ||
		     !tcp_window_admits(direction, write)))
			return;
		if (!piece_start(direction, write))
			return;
		piece_over(direction);
		write = direction->queue.head;
	}
}
