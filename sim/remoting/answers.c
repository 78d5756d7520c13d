/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The order between calls and copies, and the way of an answer through the client's threads. */
#include "sim/remoting/parts.h"

/* ---- order ---- */

struct event_state *event_state(struct remote_client *client, uint16_t event)
{
	while (client->events.count <= event)
		(void)VEC_PUSH(client->arena, &client->events);
	return &client->events.items[event];
}

/* A fetch is an asynchronous copy to the host. Its bytes may arrive after answers on other
 * connections. So an answer that tells the program that the copy is complete is held until the
 * bytes have arrived. */
static void note_event(struct remote_call *call)
{
	struct remote_client *client = call->channel->client;
	struct event_state *state = event_state(client, call->call.event);
	if (call->call.kind == CALL_EVENT_RECORD) {
		*state = (struct event_state){call->channel, call->serial, call->call.stream, false,
					      client->fetch_count};
		return;
	}
	call->after = state->channel;
	call->after_serial = state->serial;
	call->held_stream = state->stream;
	call->held_fetch = state->fetch;
}

void note_order(struct remote_call *call)
{
	struct remote_client *client = call->channel->client;
	switch (call->call.kind) {
	case CALL_EVENT_RECORD:
	case CALL_EVENT_QUERY:
	case CALL_EVENT_SYNCHRONIZE:
	case CALL_STREAM_WAIT_EVENT:
		note_event(call);
		break;
	case CALL_DEVICE_SYNCHRONIZE:
		call->holds_all_streams = true;
		call->held_fetch = client->fetch_count;
		break;
	case CALL_MEMCPY_H2D:
	case CALL_MEMCPY_D2H:
	case CALL_STREAM_QUERY:
	case CALL_STREAM_SYNCHRONIZE:
		call->held_stream = call->call.stream;
		call->held_fetch = client->fetch_count;
		break;
	default:
		break;
	}
}

static bool held_back(const struct remote_client *client, const struct remote_call *call)
{
	if (call->result != CALL_OK)
		return false;
	for (const struct remote_call *fetch = client->fetches; fetch; fetch = fetch->next_fetch) {
		if (fetch->fetch <= call->held_fetch &&
		    (call->holds_all_streams || fetch->call.stream == call->held_stream))
			return true;
	}
	return false;
}

/* Notes that an event has completed, if no later record was sent since the call. */
static void note_completed(const struct remote_call *call)
{
	struct remote_client *client = call->channel->client;
	enum call_kind kind = call->call.kind;
	if ((kind != CALL_EVENT_QUERY && kind != CALL_EVENT_SYNCHRONIZE) || call->probe ||
	    call->result != CALL_OK)
		return;
	struct event_state *state = event_state(client, call->call.event);
	state->completed = state->channel == call->after && state->serial == call->after_serial;
}

/* Passes an answer from thread to thread of the client. `hop` threads have passed it on. */
static void answer_pass(void *ctx, uint64_t hop)
{
	struct remote_call *call = ctx;
	struct channel *channel = call->channel;
	struct remote_client *client = channel->client;
	const struct runtime_params *params = client->params;
	double wake_s = client->woken ? guest_params(client->spec.client)->thread_wake_s : 0;
	if ((double)hop + 2 < params->client_threads_count) {
		cpu_serve(channel->client_hops[hop], wake_s, "wake-up", answer_pass, call, hop + 1);
		return;
	}
	double last_s = params->client_threads_count > 1 ? wake_s : 0;
	cpu_serve(call->core, last_s + params->reply_s, "reply", call_return, call, 0);
}

static void answer_take(struct remote_call *call)
{
	note_completed(call);
	answer_pass(call, 0);
}

void call_answered(struct remote_call *call)
{
	struct remote_client *client = call->channel->client;
	call_timeout_disarm(call);
	call->channel->waiting_count--;
	if (call->probe)
		call_drop(call);
	else if (held_back(client, call))
		call_push(&client->held, call);
	else
		answer_take(call);
}

/* Called when all bytes of an asynchronous copy have arrived. */
static void fetch_over(struct remote_call *call)
{
	struct remote_client *client = call->channel->client;
	struct remote_call **place = &client->fetches;
	while (*place != call)
		place = &(*place)->next_fetch;
	*place = call->next_fetch;
	call_drop(call);
	struct call_list waiting = client->held;
	client->held = (struct call_list){NULL, NULL};
	for (struct remote_call *held = call_pop(&waiting); held; held = call_pop(&waiting)) {
		if (held_back(client, held))
			call_push(&client->held, held);
		else
			answer_take(held);
	}
}

static void data_unpacked(void *ctx, uint64_t arg)
{
	struct packet *packet = ctx;
	struct remote_call *call = packet->call;
	chunk_come(call, packet);
	if (packet->last && call->answered)
		call_answered(call);
	else if (packet->last)
		fetch_over(call);
	else if (call->answered)
		chunk_acknowledged(call);
	packet_drop(packet);
}

void data_received(struct packet *packet)
{
	double work_s = unpack_s(packet->call, packet->payload_B);
	if (work_s > 0)
		cpu_serve(packet->call->core, work_s, "unpack", data_unpacked, packet, 0);
	else
		data_unpacked(packet, 0);
}
