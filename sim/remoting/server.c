/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/engine/trace.h"
#include "sim/remoting/parts.h"

static void order_check(struct remote_client *client);

/* Checks that a connection's calls are executed in the order of sending, each once. */
static void check_place(const struct channel *channel, const struct remote_call *call)
{
	if (call->serial != channel->executed_serial + 1)
		engine_fail(channel->client->engine, "%s: call %llu is executed after call %llu",
			    channel->name, (unsigned long long)call->serial,
			    (unsigned long long)channel->executed_serial);
}

static void executed(struct channel *channel, struct remote_call *call)
{
	struct remote_client *client = channel->client;
	check_place(channel, call);
	channel->executed_serial = call->serial;
	call->served_ps = engine_now_ps(client->engine) - channel->taken_ps;
	struct trace *trace = engine_trace(client->engine);
	if (trace) {
		const char *label = call->call.label;
		const char *name = label ? label : call_kind_name(call->call.kind);
		trace_span(trace, channel->track, SPAN_CALL, call->probe ? "keep-alive" : name,
			   channel->taken_ps, engine_now_ps(client->engine));
	}
	if (client->channel_count > 1)
		order_check(client);
}

/* Reports executed calls to the client. Each answer carries the count. A separate message is sent
 * when half of the allowed calls in flight are executed. */
void server_executed(struct channel *channel)
{
	double limit_count = channel->client->params->outstanding_count;
	if (limit_count <= 0)
		return;
	channel->unreported_count++;
	double report_count = limit_count >= 2 ? limit_count / 2 : 1;
	if ((double)channel->unreported_count >= report_count)
		server_post(packet_take(channel, PACKET_EXECUTED));
}

void server_reply(struct remote_call *call)
{
	struct packet *packet = packet_take(call->channel, PACKET_REPLY);
	packet->call = call;
	server_post(packet);
}

static void driver_returned(void *ctx, uint64_t arg, enum call_result result)
{
	struct channel *channel = ctx;
	struct remote_call *call = channel->executing;
	channel->executing = NULL;
	call->result = result;
	executed(channel, call);
	if (call->answered) {
		server_reply(call);
		return;
	}
	server_executed(channel);
	call_drop(call);
	server_next(channel);
}

static void execute(struct channel *channel)
{
	struct remote_call *call = channel->executing;
	if (call->probe) {
		driver_returned(channel, 0, CALL_OK);
	} else if (is_download(call)) {
		channel->executing = NULL;
		executed(channel, call);
		fetch_serve(call);
	} else {
		driver_call(channel->client->spec.process, channel->server_core, &call->call,
			    driver_returned, channel, 0);
	}
}

/* Returns true while a call on an event must wait for the event's record on another connection.
 * Records precede such calls in the client's order, so two calls cannot wait for each other. */
static bool out_of_order(const struct remote_call *call)
{
	return call->after && call->after->executed_serial < call->after_serial;
}

static void order_check(struct remote_client *client)
{
	for (size_t i = 0; i < client->channel_count; i++) {
		struct channel *channel = &client->channels[i];
		if (!channel->ordering || out_of_order(channel->executing))
			continue;
		channel->ordering = false;
		execute(channel);
	}
}

static void unmarshalled(void *ctx, uint64_t arg)
{
	struct channel *channel = ctx;
	if (!channel->executing)
		chunk_stage(channel);
	else if (out_of_order(channel->executing))
		channel->ordering = true;
	else
		execute(channel);
}

static double service_s(const struct channel *channel, const struct remote_call *call)
{
	const struct runtime_params *params = channel->client->params;
	double head_B = call->body_B - call->bulk_B;
	double work_s = params->unmarshal_s + unpack_s(call, call->bulk_B);
	if (head_B >= params->compress_from_B)
		work_s += params->decompress_byte_spB * head_B;
	return work_s + (call->answered && channel->client->woken ? params->handoff_s : 0);
}

static void message_serve(struct channel *channel);

/* Gives the shared thread to the next connection that waits for it. */
static void turn_leave(struct channel *channel)
{
	struct server_turn *turn = channel->turn;
	if (turn->holder != channel)
		return;
	struct channel *next = turn->waiting.head;
	if (next)
		turn->waiting.head = next->next;
	turn->holder = next;
	if (next)
		message_serve(next);
}

void server_next(struct channel *channel)
{
	struct server_turn *turn = channel->turn;
	if (!turn) {
		message_serve(channel);
		return;
	}
	turn_leave(channel);
	if (turn->holder) {
		QUEUE_PUSH(&turn->waiting, channel, next);
	} else {
		turn->holder = channel;
		message_serve(channel);
	}
}

/* Begins the connection's next call or chunk, or waits for its next message. */
static void message_serve(struct channel *channel)
{
	double work_s = 0;
	for (;;) {
		struct packet *packet = channel->serving ? channel->serving : channel->inbox.head;
		if (!packet) {
			channel->idle = true;
			server_read(channel);
			if (channel->turn)
				turn_leave(channel);
			return;
		}
		if (!channel->serving)
			channel->inbox.head = packet->next;
		channel->serving = packet;
		channel->executing = call_pop(&packet->calls);
		if (channel->executing) {
			work_s += service_s(channel, channel->executing);
			break;
		}
		if (packet->kind == PACKET_CHUNK && !packet->staged) {
			if (packet->first)
				work_s += service_s(channel, packet->call);
			work_s += unpack_s(packet->call, packet->payload_B);
			packet->staged = true;
			break;
		}
		channel->serving = NULL;
		packet_drop(packet);
	}
	channel->taken_ps = engine_now_ps(channel->client->engine);
	cpu_serve(channel->server_core, work_s, "unmarshal", unmarshalled, channel, 0);
}

void server_read(struct channel *channel)
{
	if (!channel->client->params->receive_thread)
		connection_read(channel->connection, 1);
}

/* Wakes the server's threads between the reader and the one that executes calls, one after the
 * other. `hop` of them have been woken. */
static void message_pass(void *ctx, uint64_t hop)
{
	struct channel *channel = ctx;
	struct remote_client *client = channel->client;
	double threads_count = client->params->server_threads_count;
	if ((double)hop + 1 >= threads_count || !client->woken) {
		server_next(channel);
		return;
	}
	bool last = (double)hop + 2 >= threads_count;
	cpu_serve(last ? channel->server_core : channel->server_hops[hop],
		  guest_params(client->spec.server)->thread_wake_s, "wake-up", message_pass,
		  channel, hop + 1);
}

void server_receive(struct packet *packet)
{
	struct channel *channel = packet->channel;
	QUEUE_PUSH(&channel->inbox, packet, next);
	/* The thread reads a message while it is not idle only if it waits for the acknowledgement
	 * of a chunk. This message came first, so the thread reads the next one. */
	if (!channel->idle) {
		server_read(channel);
		return;
	}
	channel->idle = false;
	message_pass(channel, 0);
}
