/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/transport/rdma.h"
#include "sim/engine/trace.h"
#include "sim/transport/transport.h"
#include "sim/transport/loss.h"
#include "sim/transport/path.h"

/* If a message has more packets, only the tail is drawn; earlier losses are in the rate. */
#define DRAWN_PACKETS 64.0
#define TAIL_PACKETS  3.0
/* The largest path MTU, for a route without packets. */
#define PACKET_B 4096.0

static const struct param_row rdma_rows[] = {
	COST_ASSUMED(struct rdma_params, post_s, QUANTITY_TIME, 0, 1e-3, "0.3 us",
		     "time to post a work request, at 2.4 GHz",
		     "assumption: descriptor, doorbell, and the NIC's read of it"),
	COST_ASSUMED(struct rdma_params, completion_s, QUANTITY_TIME, 0, 1e-3, "0.4 us",
		     "time to find and handle a completion, at 2.4 GHz",
		     "assumption: with post and a switch it gives the 1.5 to 2 us in one direction "
		     "that vendors state"),
	PARAM_BOOL(struct rdma_params, interrupts, "false",
		   "whether completions raise an interrupt; if not, a thread polls",
		   "assumption: RPC over RDMA polls"),
	PARAM_NUMBER(struct rdma_params, eager_B, QUANTITY_BYTES, 0, 1e9, "8 KiB",
		     "size above which messages use a rendezvous",
		     "assumption: MPI and UCX switch between a few KiB and tens of KiB"),
	PARAM_WHOLE(struct rdma_params, queue_count, 1, 65536, "128",
		    "maximum number of outstanding work requests",
		    "assumption: a common queue depth"),
	COST_ASSUMED(struct rdma_params, message_rate_Hz, QUANTITY_FREQUENCY, 1, 1e12, "10 MHz",
		     "maximum messages per second of one connection",
		     "assumption: one queue pair of a NIC of 2015 to 2019"),
	PARAM_NUMBER(struct rdma_params, timeout_s, QUANTITY_TIME, 0, 3600, "67.1 ms",
		     "acknowledgement timeout of the NIC",
		     "InfiniBand specification: 4.096 us x 2^14, as perftest sets it"),
	PARAM_WHOLE(struct rdma_params, retries_count, 0, 7, "7",
		    "number of retries before the connection fails",
		    "InfiniBand specification: retry_cnt, 3 bits"),
	PARAM_NUMBER(struct rdma_params, connect_retry_s, QUANTITY_TIME, 1e-6, 3600, "4.3 s",
		     "time after which an unanswered connection request is repeated",
		     "librdmacm: CMA_CM_RESPONSE_TIMEOUT 20, 4.096 us x 2^20"),
	PARAM_WHOLE(struct rdma_params, connect_retries_count, 0, 15, "15",
		    "maximum repetitions of a connection request", "librdmacm: CMA_MAX_CM_RETRIES"),
};
const struct param_table rdma_table = PARAM_TABLE("rdma", struct rdma_params, rdma_rows);

struct rdma_message {
	struct rdma_message *next;
	struct rdma_direction *direction;
	struct message message;
	struct message_arrival arrival;
	double size_B, packets;
	double sending; /* packets of the current transmission */
	bool eager;
	bool ready;        /* the message may be sent: it is posted, and the rendezvous has ended */
	uint64_t failures; /* successive transmissions without progress */
	int64_t sent_ps, started_ps;
};

struct rdma_direction {
	struct rdma_connection *connection;
	int index;
	struct path path;
	double packet_B;
	struct rdma_message *head, *tail;
	struct rdma_message *unaccepted;
	uint64_t accepted_count, done_count;
	bool busy;
	bool pump_due;
	int64_t message_ps; /* minimum time between two starts */
	int64_t next_ps;    /* earliest start of the next message */
	struct flow_id flow;
	struct kept_flows flows;
	struct loss loss, fate;
};

struct rdma_connection {
	struct connection connection;
	struct connection_spec spec;
	const struct rdma_params *params;
	struct rdma_direction directions[2];
	double rtt_s;
	struct rdma_message *free;
	bool established, failed;
	event_fn *opened;
	void *opened_ctx;
	uint64_t opened_arg;
	uint64_t request_count;
	struct event_id request_event;
};

double rdma_go_back_n_ratio(double p, double window)
{
	return (1 - p) / (1 - p + p * window);
}

static void rdma_fail(struct rdma_connection *connection, const char *reason)
{
	if (connection->failed)
		return;
	connection->failed = true;
	for (int i = 0; i < 2; i++)
		fabric_flow_cancel(connection->spec.fabric, connection->directions[i].flow);
	engine_cancel(connection->spec.engine, connection->request_event);
	connection->spec.failed(connection->spec.failed_ctx, reason);
}

static void retries_over(void *ctx, uint64_t arg)
{
	struct rdma_connection *connection = ctx;
	rdma_fail(connection, arena_printf(connection->spec.arena,
					   "connection lost: no acknowledgement after %g retries",
					   connection->params->retries_count));
}

/* ---- creating and opening ---- */

/* Does the work at the end that finds a completion, and then calls fn. */
static void complete(const struct rdma_connection *connection, const struct connection_end *end,
		     double further_s, event_fn *fn, void *ctx, uint64_t arg)
{
	double work_s = connection->params->completion_s + further_s;
	if (!connection->params->interrupts) {
		cpu_serve(end->core, work_s, "completion", fn, ctx, arg);
		return;
	}
	work_s += guest_params(end->guest)->thread_wake_s;
	guest_receive(end->guest, end->core, false, false, work_s, fn, ctx, arg);
}

static void established(void *ctx, uint64_t arg)
{
	struct rdma_connection *connection = ctx;
	if (connection->established || connection->failed)
		return;
	connection->established = true;
	engine_cancel(connection->spec.engine, connection->request_event);
	connection->opened(connection->opened_ctx, connection->opened_arg);
}

static void reply_arrived(void *ctx, uint64_t arg)
{
	struct rdma_connection *connection = ctx;
	complete(connection, &connection->spec.ends[0], 0, established, connection, 0);
}

static void request_arrived(void *ctx, uint64_t arg);

/* Called when the request (index 0) or the answer to it (1) leaves its end. */
static void request_sent(void *ctx, uint64_t index)
{
	struct rdma_connection *connection = ctx;
	struct rdma_direction *direction = &connection->directions[index];
	if (control_lost(&direction->loss, &connection->connection))
		return;
	engine_after(connection->spec.engine, ps_from_s(direction->path.latency_s),
		     index ? reply_arrived : request_arrived, connection, 0);
}

static void request_arrived(void *ctx, uint64_t arg)
{
	struct rdma_connection *connection = ctx;
	complete(connection, &connection->spec.ends[1], connection->params->post_s, request_sent,
		 connection, 1);
}

static void request_send(void *ctx, uint64_t arg)
{
	struct rdma_connection *connection = ctx;
	const struct rdma_params *params = connection->params;
	if (connection->request_count > (uint64_t)params->connect_retries_count) {
		rdma_fail(connection,
			  arena_printf(connection->spec.arena,
				       "connection timeout: no answer to %g connection requests",
				       params->connect_retries_count + 1));
		return;
	}
	if (connection->request_count++ > 0)
		connection->connection.counters.timeouts_count++;
	connection->request_event =
		engine_after(connection->spec.engine, ps_from_s(params->connect_retry_s),
			     request_send, connection, 0);
	cpu_serve(connection->spec.ends[0].core, params->post_s, "connect", request_sent,
		  connection, 0);
}

static void rdma_open(struct connection *base, event_fn *fn, void *ctx, uint64_t arg)
{
	struct rdma_connection *connection = (struct rdma_connection *)base;
	FW_ASSERT(!connection->established && connection->request_count == 0);
	connection->opened = fn;
	connection->opened_ctx = ctx;
	connection->opened_arg = arg;
	request_send(connection, 0);
}

static void direction_init(struct rdma_connection *connection, int index)
{
	struct rdma_direction *direction = &connection->directions[index];
	const struct connection_spec *spec = &connection->spec;
	const struct rdma_params *params = connection->params;
	const struct path *path = &direction->path;
	direction->connection = connection;
	direction->index = index;
	direction->packet_B = path->route->mtu_B > 0 ? path->route->mtu_B : PACKET_B;
	/* A work request occupies the queue until its acknowledgement has come back. */
	direction->message_ps = ps_from_s(
		fmax(1 / params->message_rate_Hz, connection->rtt_s / params->queue_count));
	path_losses(spec, path, index, &direction->loss, &direction->fate);
	if (!params->interrupts)
		cpu_spin(path->to.core);
}

static struct connection *rdma_new(const struct connection_spec *spec)
{
	struct rdma_connection *connection = ARENA_NEW(spec->arena, struct rdma_connection);
	connection->spec = *spec;
	connection->params = spec->params;
	for (int i = 0; i < 2; i++) {
		bool carries = !guest_vnic_is_socket_only(spec->ends[i].guest);
		if (!carries || !path_find(spec, i, TRAFFIC_RDMA, &connection->directions[i].path))
			return NULL;
	}
	connection->rtt_s =
		connection->directions[0].path.latency_s + connection->directions[1].path.latency_s;
	for (int i = 0; i < 2; i++) {
		direction_init(connection, i);
		connection->connection.routes[i] = connection->directions[i].path.route;
	}
	return &connection->connection;
}

/* ---- sending ---- */

static double copy_s(const struct connection_end *end, const struct rdma_message *message)
{
	if (!message->eager)
		return 0;
	return message->size_B / host_params(guest_host(end->guest))->copy_rate_Bps;
}

static void writers_accept(struct rdma_direction *direction)
{
	uint64_t room = (uint64_t)direction->connection->params->queue_count;
	while (direction->unaccepted && direction->accepted_count < direction->done_count + room) {
		struct rdma_message *message = direction->unaccepted;
		direction->unaccepted = message->next;
		direction->accepted_count++;
		if (message->message.accepted)
			message->message.accepted(message->message.ctx, message->message.arg);
	}
}

static void pump(struct rdma_direction *direction);

static void rendezvous_over(void *ctx, uint64_t arg)
{
	struct rdma_message *message = ctx;
	message->ready = true;
	pump(message->direction);
}

static void clear_to_send(void *ctx, uint64_t arg)
{
	struct rdma_message *message = ctx;
	struct rdma_connection *connection = message->direction->connection;
	complete(connection, &message->direction->path.from, connection->params->post_s,
		 rendezvous_over, message, 0);
}

static void request_taken(void *ctx, uint64_t arg)
{
	struct rdma_message *message = ctx;
	struct rdma_connection *connection = message->direction->connection;
	const struct rdma_direction *back = &connection->directions[1 - message->direction->index];
	engine_after(connection->spec.engine, ps_from_s(back->path.latency_s), clear_to_send,
		     message, 0);
}

static void request_to_send(void *ctx, uint64_t arg)
{
	struct rdma_message *message = ctx;
	struct rdma_connection *connection = message->direction->connection;
	complete(connection, &message->direction->path.to, connection->params->post_s,
		 request_taken, message, 0);
}

static void posted(void *ctx, uint64_t arg)
{
	struct rdma_message *message = ctx;
	struct rdma_direction *direction = message->direction;
	if (direction->connection->failed)
		return;
	QUEUE_PUSH(direction, message, next);
	if (!direction->unaccepted)
		direction->unaccepted = message;
	writers_accept(direction);
	message->ready = message->eager;
	if (!message->eager)
		engine_after(direction->connection->spec.engine,
			     ps_from_s(direction->path.latency_s), request_to_send, message, 0);
	pump(direction);
}

static void rdma_send(struct connection *base, int from, const struct message *given)
{
	struct rdma_connection *connection = (struct rdma_connection *)base;
	if (connection->failed)
		return;
	FW_ASSERT(connection->established);
	struct rdma_direction *direction = &connection->directions[from];
	struct rdma_message *message;
	POOL_TAKE(connection->spec.arena, message, connection->free);
	message->direction = direction;
	message_copy(&message->message, given);
	message->size_B = given->size_B > 1 ? given->size_B : 1;
	message->eager = given->size_B <= connection->params->eager_B;
	message->ready = false;
	message->failures = 0;
	message->sent_ps = engine_now_ps(connection->spec.engine);
	message->packets = ceil(message->size_B / direction->packet_B);
	message->sending = message->packets;
	const struct connection_end *end = &direction->path.from;
	cpu_serve(end->core, connection->params->post_s + copy_s(end, message), "post", posted,
		  message, 0);
}

/* ---- on the wire ---- */

static void delivered(void *ctx, uint64_t arg)
{
	struct rdma_message *message = ctx;
	struct rdma_connection *connection = message->direction->connection;
	const struct message *given = &message->message;
	POOL_GIVE(message, connection->free);
	if (connection->failed)
		return;
	path_delivered(&connection->spec, &message->direction->path, message->direction->index,
		       given->size_B, message->sent_ps, &connection->connection.counters);
	if (given->delivered)
		given->delivered(given->ctx, given->arg);
}

static void receive(void *ctx, uint64_t arg)
{
	struct rdma_message *message = ctx;
	const struct connection_end *to = &message->direction->path.to;
	complete(message->direction->connection, to, copy_s(to, message), delivered, message, 0);
}

static void arrived(void *ctx, uint64_t arg)
{
	struct rdma_message *message = ctx;
	(void)connection_arrived(&message->direction->connection->connection,
				 1 - message->direction->index, &message->arrival, message);
}

/* Called when all packets of the head have left. */
static void head_over(struct rdma_direction *direction)
{
	struct engine *engine = direction->connection->spec.engine;
	struct rdma_message *message = direction->head;
	path_trace(&direction->path, engine, SPAN_WIRE, message->message.label,
		   message->started_ps);
	direction->head = message->next;
	direction->busy = false;
	direction->done_count++;
	writers_accept(direction);
	path_arrive(&direction->path, engine, !direction->head, arrived, message);
}

static void transmitted(void *ctx, uint64_t arg);

/* Returns the flow of the head's remaining packets. */
static struct flow_spec *flow_of(struct rdma_direction *direction)
{
	struct rdma_connection *connection = direction->connection;
	const struct rdma_message *message = direction->head;
	const struct path *path = &direction->path;
	double p = direction->loss.p, packets = message->sending;
	double size_B = fmin(message->size_B, packets * direction->packet_B);
	struct flow_spec *flow = kept_flow(connection->spec.arena, &direction->flows, size_B);
	if (flow->size != size_B) {
		*flow = (struct flow_spec){
			.size = size_B, .key = path->key, .done = transmitted, .ctx = direction};
		route_uses(connection->spec.fabric, path->route, 0, size_B, flow);
		flow_use_add(flow, host_dram(guest_host(path->from.guest)), DRAM_PER_DMA);
		flow_use_add(flow, host_dram(guest_host(path->to.guest)), DRAM_PER_DMA);
	}
	flow->cap = 0;
	if (p > 0 && packets > DRAWN_PACKETS) {
		double alone = fabric_flow_alone(connection->spec.fabric, flow);
		double window = fmax(alone * connection->rtt_s / direction->packet_B, 1);
		flow->cap = alone * rdma_go_back_n_ratio(p, window);
	}
	return flow;
}

static void transmit_again(void *ctx, uint64_t arg)
{
	struct rdma_direction *direction = ctx;
	if (!direction->connection->failed)
		direction->flow =
			fabric_flow_start(direction->connection->spec.fabric, flow_of(direction));
}

static void pump_again(void *ctx, uint64_t arg)
{
	struct rdma_direction *direction = ctx;
	direction->pump_due = false;
	pump(direction);
}

/* Starts each message that may start now. It must be the last action of an event. */
static void pump(struct rdma_direction *direction)
{
	struct rdma_connection *connection = direction->connection;
	struct engine *engine = connection->spec.engine;
	while (!direction->busy && !direction->pump_due && direction->head &&
	       direction->head->ready && !connection->failed) {
		int64_t now_ps = engine_now_ps(engine);
		if (now_ps < direction->next_ps) {
			direction->pump_due = true;
			engine_do_at(engine, direction->next_ps, pump_again, direction, 0);
			return;
		}
		direction->busy = true;
		direction->head->started_ps = now_ps;
		direction->next_ps = now_ps + direction->message_ps;
		struct flow_spec *flow = flow_of(direction);
		if (direction->loss.p > 0 || !fabric_flow_pass(connection->spec.fabric, flow)) {
			direction->flow = fabric_flow_start(connection->spec.fabric, flow);
			return;
		}
		head_over(direction);
	}
}

/* `lost` of `count` drawn packets were lost, the first at index `first`. All packets from `first`
 * on are sent again: after a NAK if a later packet arrived, otherwise after the NIC's timeout. */
static void go_back(struct rdma_direction *direction, uint64_t count, uint64_t lost, uint64_t first)
{
	struct rdma_connection *connection = direction->connection;
	struct rdma_message *message = direction->head;
	const struct rdma_message *behind = message->next;
	message->failures = first > 0 ? 1 : message->failures + 1;
	if (message->failures > (uint64_t)connection->params->retries_count) {
		retries_over(connection, 0);
		return;
	}
	bool nak = count - first > lost || (behind && behind->ready);
	double wait_s = nak ? connection->rtt_s : connection->params->timeout_s;
	if (nak)
		connection->connection.counters.fast_retransmits_count++;
	else
		connection->connection.counters.timeouts_count++;
	connection->connection.counters.stalled_s += wait_s;
	message->sending = (double)(count - first);
	engine_after(connection->spec.engine, ps_from_s(wait_s), transmit_again, direction, 0);
}

/* Returns true if packets of the head were lost, so that it is not complete yet. */
static bool head_lost(struct rdma_direction *direction)
{
	struct rdma_connection *connection = direction->connection;
	double drawn = direction->head->sending;
	if (drawn > DRAWN_PACKETS) {
		double tries = connection->params->retries_count + 1;
		if (loss_every_time(&direction->fate, direction->loss.p, tries,
				    drawn - TAIL_PACKETS)) {
			connection->connection.counters.losses_count += (uint64_t)tries;
			connection->connection.counters.timeouts_count += (uint64_t)tries;
			connection->connection.counters.stalled_s +=
				tries * connection->params->timeout_s;
			engine_after(connection->spec.engine,
				     ps_from_s(tries * connection->params->timeout_s), retries_over,
				     connection, 0);
			return true;
		}
		drawn = TAIL_PACKETS;
	}
	uint64_t count = (uint64_t)drawn, first;
	uint64_t lost = loss_take(&direction->loss, count, &first);
	connection->connection.counters.losses_count += lost;
	if (lost > 0)
		go_back(direction, count, lost, first);
	return lost > 0;
}

static void transmitted(void *ctx, uint64_t arg)
{
	struct rdma_direction *direction = ctx;
	if (direction->loss.p > 0 && head_lost(direction))
		return;
	head_over(direction);
	pump(direction);
}

static bool rdma_wakes(const void *params)
{
	return ((const struct rdma_params *)params)->interrupts;
}

const struct transport_kind transport_rdma = {
	.name = "rdma",
	.help = "RDMA over InfiniBand or RoCE; messages above the eager size are not copied",
	.table = &rdma_table,
	.wakes = rdma_wakes,
	.traffic = TRAFFIC_RDMA,
	.direct = true,
	.new = rdma_new,
	.open = rdma_open,
	.send = rdma_send,
	.receive = receive,
};
