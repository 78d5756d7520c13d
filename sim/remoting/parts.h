/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The client and the server of one program, and what passes between them;
 * private to sim/remoting.
 *
 * A CALL lives from the program's call until the client, the server and (for
 * asynchronous copies to the host) the delivery of its bytes are done with it.
 * A PACKET is one message: requests that are executed in order, a chunk of a
 * copy, or an answer. A CHANNEL is one connection with the queues at its two
 * ends: client.c packs calls into packets, wire.c moves packets and knows who
 * waits for what, server.c executes, bulk.c cuts copies into chunks. Calls and
 * packets come from pools, so that a step like the one before allocates
 * nothing.
 *
 * Waking the thread that waits for a message is the transport's business (its
 * `delivered` is over only then), as it knows whether the thread sleeps.
 */
#ifndef FARWIRE_REMOTING_PARTS_H
#define FARWIRE_REMOTING_PARTS_H

#include "sim/base/diag.h"
#include "sim/base/vec.h"
#include "sim/remoting/remoting.h"

struct channel;

struct remote_call {
	struct remote_call *next; /* in the one list that has it */
	struct remote_call *next_fetch;
	struct channel *channel;
	struct cpu *core; /* of the calling thread */
	struct cuda_call call;
	enum call_class class;
	bool answered; /* the caller waits for an answer */
	bool probe;    /* keep-alive: no call of the program */
	unsigned holds;
	call_done_fn *done;
	void *ctx;
	uint64_t arg;
	int64_t start_ps;
	/* Among the calls that may time out, by when. */
	struct remote_call *timed_before, *timed_after;
	int64_t timeout_ps; /* 0: not among them */
	enum call_result result;
	/* Order between connections: a call on an event comes after its record. */
	const struct channel *after;
	uint64_t after_serial;
	uint64_t serial; /* place among the calls of its channel */
	/* The answer is held until these fetches are delivered. */
	bool holds_all_streams;
	uint16_t held_stream;
	uint64_t held_fetch; /* 0: none */
	uint64_t fetch;      /* number of this asynchronous copy to the host */
	/* Progress of a copy. */
	double unsent_B;                     /* to the device: left at the client */
	double copied_B, sent_B, released_B; /* to the host, at the server */
	double come_B;                       /* either way, where it goes to */
	bool copying, sending;
};

struct call_list {
	struct remote_call *head, *tail;
};

enum packet_kind {
	PACKET_CALLS,     /* client: calls to execute */
	PACKET_CHUNK,     /* client: calls, then a chunk to the device */
	PACKET_DATA_ACK,  /* client: stop-and-go, the chunk of `call` has come */
	PACKET_REPLY,     /* server: the answer of `call` */
	PACKET_DATA,      /* server: a chunk to the host */
	PACKET_CHUNK_ACK, /* server: stop-and-go, the chunk of `call` is copied */
	PACKET_EXECUTED,  /* server: nothing but the count of executed calls */
};

struct packet {
	struct packet *next;
	struct channel *channel;
	enum packet_kind kind;
	unsigned holds; /* of sender and receiver */
	struct call_list calls;
	struct remote_call *call;
	struct remote_call *waiter; /* goes on when the message is accepted */
	double size_B, payload_B;
	bool first, last, staged; /* chunk of its copy */
	uint64_t executed_count;  /* of calls with a credit, since the last answer */
};

struct packet_list {
	struct packet *head, *tail;
};

struct channel {
	struct remote_client *client;
	struct connection *connection;
	const char *name;
	struct cpu *client_core, *server_core; /* network and service threads */
	/* client */
	struct call_list buffer; /* calls that wait to be sent together */
	size_t buffer_count;
	double buffer_B;
	struct event_id batch_timer;
	struct packet_list outbox; /* messages that wait for the connection */
	bool sending;
	uint64_t outstanding_count;
	struct call_list creditless; /* calls that wait for a credit */
	uint64_t serial;
	size_t waiting_count; /* answered calls on their way */
	int64_t active_ps;    /* of the last message either way */
	struct event_id keep_alive_timer;
	/* server */
	struct packet_list inbox;
	struct packet *serving;
	struct remote_call *executing;
	bool idle;     /* the service thread waits for messages */
	bool ordering; /* `executing` waits for another channel */
	uint64_t executed_serial;
	uint64_t unreported_count; /* executed calls with a credit */
	uint32_t track;
	int64_t taken_ps;
};

struct event_state { /* the last record of an event, as the client saw it */
	const struct channel *channel;
	uint64_t serial;
	uint16_t stream;
	uint64_t fetch; /* fetches before it */
};

struct remote_client {
	struct cuda_port port; /* first: a port is its client */
	struct remote_spec spec;
	const struct runtime_params *params;
	const struct policy *policy;
	struct arena *arena;
	struct engine *engine;
	struct channel *channels;
	size_t channel_count, open_count;
	struct event_id connect_timeout;
	event_fn *connected;
	void *connected_ctx;
	uint64_t connected_arg;
	bool failed;
	bool attributes_known;
	int64_t timeout_ps; /* that a call may take; 0: any time */
	struct remote_call *timed_first, *timed_last;
	bool timeout_due; /* the timer runs, until the first call's timeout at the latest */
	struct event_id timeout_timer;
	struct remote_call *free_calls;
	struct packet *free_packets;
	VEC(struct event_state) events;
	uint64_t fetch_count;
	struct remote_call *fetches; /* asynchronous copies to the host not yet delivered */
	struct call_list held;       /* answers that wait for fetches */
	struct remote_counters counters;
};

/* ---- lists and pools (wire.c) ---- */

static inline void call_push(struct call_list *list, struct remote_call *call)
{
	call->next = NULL;
	if (list->tail)
		list->tail->next = call;
	else
		list->head = call;
	list->tail = call;
}

static inline struct remote_call *call_pop(struct call_list *list)
{
	struct remote_call *call = list->head;
	if (!call)
		return NULL;
	list->head = call->next;
	if (!list->head)
		list->tail = NULL;
	call->next = NULL;
	return call;
}

/* Set is all that does not come from the program: see port_call. */
struct remote_call *call_take(struct remote_client *client);
static inline void call_drop(struct remote_call *call)
{
	FW_ASSERT(call->holds > 0);
	if (--call->holds > 0)
		return;
	struct remote_client *client = call->channel->client;
	call->next = client->free_calls;
	client->free_calls = call;
}

struct packet *packet_take(struct channel *channel, enum packet_kind kind);
static inline void packet_drop(struct packet *packet)
{
	FW_ASSERT(packet->holds > 0);
	if (--packet->holds > 0)
		return;
	struct remote_client *client = packet->channel->client;
	packet->next = client->free_packets;
	client->free_packets = packet;
}

/* ---- wire.c ---- */

/* The run of this client is over; the first reason counts. */
void remote_fail(struct remote_client *client, const char *reason);
/* Appends the call to what the channel sends next, and notes its order. */
void channel_put(struct remote_call *call);
/* Takes what waits into a packet. */
struct packet *channel_packet(struct channel *channel, enum packet_kind kind);
/* Queues a client's packet for the connection. */
void channel_post(struct packet *packet);
/* Sends what waits in the buffer, at the cost of a message. */
void channel_flush(struct channel *channel);
/* A credit for one more call in flight: false puts the call in the queue, and
 * call_credited continues it later. */
bool credit_take(struct remote_call *call);
/* From now on the call may time out, if it is answered; and no longer. */
void call_timeout_arm(struct remote_call *call);
void call_timeout_disarm(struct remote_call *call);
/* From the server: then, with ctx = channel, when accepted; may be NULL. */
void server_post(struct packet *packet);

/* ---- client.c ---- */

/* Notes what the call has to come after, now that it has its place. */
void note_order(struct remote_call *call);
void call_credited(void *ctx, uint64_t arg);
/* The packet that the call waited for is accepted. */
void call_accepted(struct remote_call *call, const struct packet *packet);
/* The answer is at the client; all of it. */
void call_answered(struct remote_call *call);
/* To the program. */
void call_return(void *ctx, uint64_t arg);

/* ---- server.c ---- */

void server_receive(struct packet *packet);
/* The call or chunk in hand is done: what comes next. */
void server_next(struct channel *channel);
/* One call or chunk that held a credit is executed. */
void server_executed(struct channel *channel);
void server_reply(struct remote_call *call);

/* ---- bulk.c ---- */

bool is_upload(const struct remote_call *call);
bool is_download(const struct remote_call *call);
/* At either end: the chunk has come; with the last one all bytes must have. */
void chunk_come(struct remote_call *call, const struct packet *packet);
/* Client: the thread has marshalled the copy, or its next chunk. */
void chunk_ready(void *ctx, uint64_t arg);
void chunk_send(struct remote_call *call);
void chunk_accepted(struct remote_call *call, bool last);
void chunk_acknowledged(struct remote_call *call);
void data_received(struct packet *packet);
/* Server. */
void chunk_stage(struct channel *channel);
void fetch_serve(struct remote_call *call);
void data_accepted(struct remote_call *call);
void data_acknowledged(struct remote_call *call);

#endif
