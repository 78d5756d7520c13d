/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/remoting/parts.h"

/* A program that is still not waiting after as many calls will never wait. */
enum { CALLS_OF_A_BATCH_MAX = 1000000 };

struct remote_call *call_take(struct remote_client *client)
{
	struct remote_call *call;
	POOL_TAKE(client->arena, call, client->free_calls);
	call->probe = false;
	call->timeout_ps = call->served_ps = 0;
	call->result = CALL_OK;
	call->after = NULL;
	call->serial = 0;
	return call;
}

struct packet *packet_take(struct channel *channel, enum packet_kind kind)
{
	struct remote_client *client = channel->client;
	struct packet *packet;
	POOL_TAKE(client->arena, packet, client->free_packets);
	packet->next = NULL;
	packet->channel = channel;
	packet->kind = kind;
	packet->holds = 2;
	packet->calls.head = packet->calls.tail = NULL;
	packet->call = packet->waiter = NULL;
	packet->size_B = packet->payload_B = 0;
	packet->first = packet->last = packet->staged = false;
	packet->executed_count = 0;
	return packet;
}

/* Messages that have arrived are still served, but no further one is sent. */
void remote_fail(struct remote_client *client, const char *reason)
{
	if (client->failed)
		return;
	client->failed = true;
	client->spec.failed(client->spec.failed_ctx, reason);
}

/* ---- client to server ---- */

static void outbox_next(struct channel *channel);

static void packet_accepted(void *ctx, uint64_t arg)
{
	struct packet *packet = ctx;
	struct channel *channel = packet->channel;
	channel->sending = false;
	outbox_next(channel);
	if (packet->waiter)
		call_accepted(packet->waiter, packet);
	packet_drop(packet);
}

static void packet_delivered(void *ctx, uint64_t arg)
{
	struct packet *packet = ctx;
	if (packet->kind == PACKET_DATA_ACK) {
		data_acknowledged(packet->call);
		packet_drop(packet);
	} else {
		server_receive(packet);
	}
}

static void outbox_next(struct channel *channel)
{
	if (channel->sending || channel->client->failed)
		return;
	struct packet *packet = channel->outbox.head;
	if (!packet)
		return;
	channel->outbox.head = packet->next;
	channel->sending = true;
	channel->active_ps = engine_now_ps(channel->client->engine);
	const struct message message = {
		.size_B = packet->size_B,
		.accepted = packet_accepted,
		.delivered = packet_delivered,
		.ctx = packet,
		.label = packet->kind == PACKET_CHUNK ? "chunk" : "request",
	};
	connection_send(channel->connection, 0, &message);
}

struct packet *channel_packet(struct channel *channel, enum packet_kind kind)
{
	struct packet *packet = packet_take(channel, kind);
	packet->size_B = channel->client->params->request_header_B +
			 wire_B(channel->client, channel->buffer_B, 0);
	packet->calls = channel->buffer;
	channel->buffer = (struct call_list){NULL, NULL};
	channel->buffer_count = 0;
	channel->buffer_B = 0;
	if (channel->batch_timer.serial != 0) {
		engine_cancel(channel->client->engine, channel->batch_timer);
		channel->batch_timer = (struct event_id){0, 0};
	}
	return packet;
}

void channel_post(struct packet *packet)
{
	QUEUE_PUSH(&packet->channel->outbox, packet, next);
	outbox_next(packet->channel);
}

static void flush(void *ctx, uint64_t arg)
{
	struct channel *channel = ctx;
	if (channel->buffer.head)
		channel_post(channel_packet(channel, PACKET_CALLS));
}

void channel_flush(struct channel *channel)
{
	cpu_serve(channel->client_core, channel->client->params->marshal_s, "marshal", flush,
		  channel, 0);
}

static void batch_aged(void *ctx, uint64_t arg)
{
	struct channel *channel = ctx;
	struct remote_client *client = channel->client;
	channel->batch_timer = (struct event_id){0, 0};
	engine_wait_add(client->engine, WAIT_BATCH, ps_from_s(client->params->batch_wait_s));
	channel_flush(channel);
}

void channel_put(struct remote_call *call)
{
	struct channel *channel = call->channel;
	const struct runtime_params *params = channel->client->params;
	call->serial = ++channel->serial;
	call_push(&channel->buffer, call);
	channel->buffer_count++;
	channel->buffer_B += call->body_B;
	note_order(call);
	if (channel->buffer_count > CALLS_OF_A_BATCH_MAX)
		remote_fail(
			channel->client,
			"no call of the program waits for an answer, so its batch is never sent");
	if (channel->buffer_count == 1 && params->batch_count != 1 && params->batch_wait_s > 0)
		channel->batch_timer =
			engine_after(channel->client->engine, ps_from_s(params->batch_wait_s),
				     batch_aged, channel, 0);
}

/* ---- server to client ---- */

static void answer_accepted(void *ctx, uint64_t arg)
{
	struct packet *packet = ctx;
	struct channel *channel = packet->channel;
	if (packet->kind == PACKET_REPLY) {
		call_drop(packet->call);
		server_next(channel);
	} else if (packet->kind == PACKET_DATA) {
		data_accepted(packet->call);
	}
	packet_drop(packet);
}

static void credits_return(struct channel *channel, uint64_t count)
{
	struct remote_client *client = channel->client;
	FW_ASSERT(count <= channel->outstanding_count);
	channel->outstanding_count -= count;
	while (channel->creditless.head &&
	       (double)channel->outstanding_count < client->params->outstanding_count) {
		struct remote_call *call = call_pop(&channel->creditless);
		channel->outstanding_count++;
		cpu_serve(call->core, 0, NULL, call_credited, call, 0);
	}
}

static void answer_delivered(void *ctx, uint64_t arg)
{
	struct packet *packet = ctx;
	struct channel *channel = packet->channel;
	channel->active_ps = engine_now_ps(channel->client->engine);
	credits_return(channel, packet->executed_count);
	if (packet->kind == PACKET_REPLY)
		call_answered(packet->call);
	else if (packet->kind == PACKET_CHUNK_ACK)
		chunk_acknowledged(packet->call);
	if (packet->kind == PACKET_DATA)
		data_received(packet);
	else
		packet_drop(packet);
}

void server_post(struct packet *packet)
{
	struct channel *channel = packet->channel;
	if (channel->client->failed)
		return;
	packet->executed_count = channel->unreported_count;
	channel->unreported_count = 0;
	packet->size_B = channel->client->params->reply_header_B +
			 wire_B(channel->client, packet->payload_B,
				packet->call ? (double)packet->call->call.compressibility : 0);
	const struct message message = {
		.size_B = packet->size_B,
		.accepted = answer_accepted,
		.delivered = answer_delivered,
		.ctx = packet,
		.label = packet->kind == PACKET_DATA ? "data" : "answer",
	};
	connection_send(channel->connection, 1, &message);
}

/* ---- limits ---- */

bool credit_take(struct remote_call *call)
{
	struct channel *channel = call->channel;
	double limit_count = channel->client->params->outstanding_count;
	if (limit_count <= 0)
		return true;
	if ((double)channel->outstanding_count < limit_count) {
		channel->outstanding_count++;
		return true;
	}
	call_push(&channel->creditless, call);
	if (channel->buffer_count > 0)
		channel_flush(channel);
	return false;
}

/* One timer serves all calls, because all have the same time limit. It runs until the timeout of
 * the first call. If that call is answered earlier, the timer is set again when it fires. */

static void timeout_due(void *ctx, uint64_t arg);

static void timeout_wait(struct remote_client *client)
{
	if (client->timeout_due || !client->timed_first)
		return;
	client->timeout_due = true;
	engine_do_at(client->engine, client->timed_first->timeout_ps, timeout_due, client, 0);
}

static void call_timed_out(const struct remote_call *call)
{
	struct remote_client *client = call->channel->client;
	const char *after =
		quantity_format(client->arena, QUANTITY_TIME, client->params->call_timeout_s);
	const char *name = call->probe ? "a keep-alive probe" : call_kind_name(call->call.kind);
	remote_fail(client, arena_printf(client->arena, "call timeout: no answer to %s within %s",
					 name, after));
}

static void timeout_due(void *ctx, uint64_t arg)
{
	struct remote_client *client = ctx;
	client->timeout_due = false;
	const struct remote_call *first = client->timed_first;
	if (first && first->timeout_ps <= engine_now_ps(client->engine))
		call_timed_out(first);
	else
		timeout_wait(client);
}

void call_timeout_disarm(struct remote_call *call)
{
	struct remote_client *client = call->channel->client;
	if (call->timeout_ps == 0)
		return;
	call->timeout_ps = 0;
	if (call->timed_before)
		call->timed_before->timed_after = call->timed_after;
	else
		client->timed_first = call->timed_after;
	if (call->timed_after)
		call->timed_after->timed_before = call->timed_before;
	else
		client->timed_last = call->timed_before;
}

void call_timeout_arm(struct remote_call *call)
{
	struct remote_client *client = call->channel->client;
	call_timeout_disarm(call);
	if (!call->answered || client->timeout_ps == 0)
		return;
	call->timeout_ps = engine_now_ps(client->engine) + client->timeout_ps;
	call->timed_before = client->timed_last;
	call->timed_after = NULL;
	if (client->timed_last)
		client->timed_last->timed_after = call;
	else
		client->timed_first = call;
	client->timed_last = call;
	timeout_wait(client);
}

struct forwarded_step remote_step(const struct remote_client *client,
				  const struct remote_counters *from,
				  const struct remote_counters *to)
{
	const struct route *route = client->channels[0].connection->routes[0];
	return (struct forwarded_step){
		.answered_count = to->answered_count - from->answered_count,
		.sent_count = to->sent_count - from->sent_count,
		.moved_B = to->sent_B - from->sent_B + to->received_B - from->received_B,
		.round_trip_s = route ? 2 * route->latency_s : 0,
		.byte_spB = route ? route_least_spB(client->spec.fabric, route) : 0,
	};
}
