/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The client and the server of one program, and the messages between them. Private to sim/remoting.
 *
 * A call lives from the program's call until the client, the server and the delivery of its bytes
 * (for asynchronous copies to the host) have finished with it. A packet is one message: requests
 * that are executed in order, a chunk of a copy, or an answer. A channel is one connection with the
 * queues at its two ends. client.c packs calls into packets, wire.c moves packets and keeps their
 * waiters, server.c executes calls, and bulk.c divides copies into chunks. Calls and packets come
 * from pools, so a repeated step allocates nothing.
 *
 * The transport wakes the thread that waits for a message, because only the transport can tell
 * whether the thread sleeps. Its `delivered` callback comes after the wake-up.
 */
#pragma once

#include "sim/base/list.h"
#include "sim/remoting/remoting.h"

struct channel;

struct remote_call {
	struct remote_call *next; /* next call in the list that contains this call */
	struct channel *channel;
	struct cpu *core; /* core of the calling thread */
	call_done_fn *done;
	void *ctx;
	uint64_t arg;
	enum call_class class;
	enum call_result result;
	bool answered; /* the caller waits for an answer */
	bool probe;    /* a keep-alive probe, not a call of the program */
	unsigned holds;
	struct cuda_call call;
	int64_t start_ps, served_ps; /* served_ps: of kind_counters */
	double body_B;               /* size of the call in its message, without the header */
	double bulk_B;               /* the part of body_B that is data of a copy */
	uint64_t serial;             /* position among the calls of its channel */
	/* Order between connections: a call on an event must come after the event's record. */
	const struct channel *after;
	int64_t timeout_ps; /* 0: the call is not in the list of timeouts */
	/* The other fields are rarely used, so that most calls touch three cache lines. */
	uint64_t after_serial; /* valid unless `after` is NULL */
	/* List of calls that may time out, sorted by timeout. */
	struct remote_call *timed_before, *timed_after;
	/* The answer of an answered call is held until the fetches up to held_fetch are delivered,
	 * on one stream or on all. */
	bool holds_all_streams;
	uint16_t held_stream;
	uint64_t held_fetch; /* 0: none */
	/* The rest is valid for copies only. */
	uint64_t fetch; /* number of this asynchronous copy to the host */
	struct remote_call *next_fetch;
	double unsent_B; /* copy to the device: bytes that the client has not sent */
	double copied_B, sent_B, released_B; /* copy to the host: progress at the server */
	double come_B;                       /* both directions: bytes that have arrived */
	bool copying, sending;
};

struct call_list {
	struct remote_call *head, *tail; /* a queue (sim/base/list.h) */
};

enum packet_kind {
	PACKET_CALLS,     /* client: calls to execute */
	PACKET_CHUNK,     /* client: calls, then a chunk to the device */
	PACKET_DATA_ACK,  /* client: acknowledges a chunk of `call` (stop-and-go) */
	PACKET_REPLY,     /* server: the answer of `call` */
	PACKET_DATA,      /* server: a chunk to the host */
	PACKET_CHUNK_ACK, /* server: acknowledges that a chunk of `call` is copied (stop-and-go) */
	PACKET_EXECUTED,  /* server: only the count of executed calls */
};

struct packet {
	struct packet *next;
	struct channel *channel;
	enum packet_kind kind;
	unsigned holds; /* held by the sender and the receiver */
	struct call_list calls;
	struct remote_call *call;
	struct remote_call *waiter; /* continues when the message is accepted */
	double size_B, payload_B;
	bool first, last, staged; /* state of this chunk within its copy */
	uint64_t executed_count;  /* executed calls with a credit since the last answer */
};

/* The thread that serves all connections of a server one call after the other. */
struct server_turn {
	struct cpu *core;
	struct channel *holder; /* connection whose call is served; NULL: none */
	struct {
		struct channel *head, *tail;
	} waiting; /* connections with a message, in order of arrival */
};

struct channel {
	struct remote_client *client;
	struct connection *connection;
	const char *name;
	/* cores of the network thread and the service thread */
	struct cpu *client_core, *server_core;
	/* cores of the threads that a message passes between the reader and the thread that uses
	 * it: server_threads - 2 and client_threads - 2, or none */
	struct cpu **server_hops, **client_hops;
	/* ---- client ---- */
	struct call_list buffer; /* calls that are collected for one message */
	size_t buffer_count;
	double buffer_B;
	struct event_id batch_timer;
	QUEUE(struct packet) outbox; /* messages waiting for the connection */
	bool sending;
	uint64_t outstanding_count;
	struct call_list creditless; /* calls waiting for a credit */
	uint64_t serial;
	size_t waiting_count; /* number of answered calls in progress */
	int64_t active_ps;    /* time of the last message in either direction */
	/* ---- server ---- */
	QUEUE(struct packet) inbox;
	struct packet *serving;
	struct remote_call *executing;
	struct server_turn *turn;    /* of a thread that is shared; NULL: its own thread */
	struct channel *next;        /* in the list of those that wait for the shared thread */
	bool idle;                   /* the service thread is waiting for messages */
	struct call_list locked_out; /* client: calls that wait for the connection (exclusive) */
	bool locked;                 /* client: a call holds the connection (exclusive) */
	bool ordering;               /* `executing` is waiting for another channel */
	uint64_t executed_serial;
	uint64_t unreported_count; /* executed calls with a credit that are not reported yet */
	uint32_t track;
	int64_t taken_ps;
};

struct event_state { /* the last record of an event, as seen by the client */
	const struct channel *channel;
	uint64_t serial;
	uint16_t stream;
	bool completed; /* an answer said that the event has completed */
	uint64_t fetch; /* number of fetches before it */
};

struct remote_client {
	struct cuda_port port; /* must be first, so that a port can be cast to its client */
	struct remote_spec spec;
	const struct runtime_params *params;
	const struct policy *policy;
	/* By kind of call: the class that the runtime states; CLASS_COUNT: the policy decides. */
	enum call_class classes[CALL_KIND_COUNT];
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
	bool woken;         /* a message wakes a sleeping thread of the server */
	bool serialises;    /* copies pass buffers of the runtime */
	int64_t timeout_ps; /* time limit of a call; 0: none */
	struct remote_call *timed_first, *timed_last;
	bool timeout_due; /* the timer is running, at most until the first call's timeout */
	struct remote_call *free_calls;
	struct packet *free_packets;
	VEC(struct event_state) events;
	uint64_t fetch_count;
	/* asynchronous copies to the host that are not delivered yet */
	struct remote_call *fetches;
	struct call_list held; /* answers waiting for fetches */
	struct remote_counters counters;
};

/* ---- lists and pools (wire.c) ---- */

static inline void call_push(struct call_list *list, struct remote_call *call)
{
	QUEUE_PUSH(list, call, next);
}

/* Returns NULL if the list is empty. */
static inline struct remote_call *call_pop(struct call_list *list)
{
	struct remote_call *call = list->head;
	if (call)
		list->head = call->next;
	return call;
}

/* Takes a call from the pool and sets every field that does not come from the program: see
 * port_call. */
struct remote_call *call_take(struct remote_client *client);
static inline void call_drop(struct remote_call *call)
{
	FW_ASSERT(call->holds > 0);
	if (--call->holds > 0)
		return;
	struct remote_client *client = call->channel->client;
	POOL_GIVE(call, client->free_calls);
}

struct packet *packet_take(struct channel *channel, enum packet_kind kind);
static inline void packet_drop(struct packet *packet)
{
	FW_ASSERT(packet->holds > 0);
	if (--packet->holds > 0)
		return;
	struct remote_client *client = packet->channel->client;
	POOL_GIVE(packet, client->free_packets);
}

#define PAGE_B 4096.0

/* Returns the bytes of a body on the wire. compressibility is that of a copy's data in a runtime
 * that compresses; 0: as the runtime states it. */
static inline double wire_B(const struct remote_client *client, double body_B,
			    double compressibility)
{
	const struct runtime_params *params = client->params;
	double ratio = params->compression_ratio;
	if (compressibility > 0 && (params->compress_byte_spB > 0 || ratio > 1))
		ratio = compressibility;
	return ratio > 1 && body_B >= params->compress_from_B ? body_B / ratio : body_B;
}

/* Returns the work of an end of the connection for the bytes of a copy in one message: byte_spB for
 * each byte on the wire, and coder_spB for each byte before compression. An adapter that reads and
 * writes memory itself needs no serialisation. A runtime that pipelines fills one buffer after the
 * other, so that none stays in a cache. Both ends have the caches of the server's guest. */
static inline double bulk_s(const struct remote_call *call, double bulk_B, double byte_spB,
			    double coder_spB)
{
	if (bulk_B <= 0)
		return 0;
	const struct remote_client *client = call->channel->client;
	double sent_B = wire_B(client, bulk_B, (double)call->call.compressibility);
	double work_s = (client->serialises ? sent_B * byte_spB : 0) +
			(bulk_B >= client->params->compress_from_B ? bulk_B * coder_spB : 0);
	return client->params->pipelined
		       ? work_s
		       : work_s * guest_cached_ratio(client->spec.server, call->call.payload_B);
}

static inline double pack_s(const struct remote_call *call, double bulk_B)
{
	const struct runtime_params *params = call->channel->client->params;
	return bulk_s(call, bulk_B, params->serialise_byte_spB, params->compress_byte_spB);
}

static inline double unpack_s(const struct remote_call *call, double bulk_B)
{
	const struct runtime_params *params = call->channel->client->params;
	double work_s =
		bulk_s(call, bulk_B, params->deserialise_byte_spB, params->decompress_byte_spB);
	if (call->call.payload_B > params->new_memory_from_B)
		work_s +=
			bulk_B / PAGE_B * guest_params(call->channel->client->spec.server)->page_s;
	return work_s;
}

/* ---- wire.c ---- */

/* Ends the run of this client. The first reason is kept. */
void remote_fail(struct remote_client *client, const char *reason);
/* Appends the call to the channel's next message and assigns its order. */
void channel_put(struct remote_call *call);
/* Moves the collected calls into a packet. */
struct packet *channel_packet(struct channel *channel, enum packet_kind kind);
/* Queues a client's packet for the connection. */
void channel_post(struct packet *packet);
/* Sends the collected calls, at the cost of a message. */
void channel_flush(struct channel *channel);
/* Takes a credit for one more call in flight. Returns false if there is none: the call is queued
 * then, and call_credited continues it. */
bool credit_take(struct remote_call *call);
/* Start and end the time limit of an answered call. */
void call_timeout_arm(struct remote_call *call);
void call_timeout_disarm(struct remote_call *call);
/* Sends a packet from the server. `then` is called with ctx = channel when it is accepted; it may
 * be NULL. */
void server_post(struct packet *packet);

/* ---- client.c ---- */

void call_credited(void *ctx, uint64_t arg);
/* Called when the packet that the call waited for was accepted. */
void call_accepted(struct remote_call *call, const struct packet *packet);
/* Returns the call to the program. */
void call_return(void *ctx, uint64_t arg);

/* ---- answers.c ---- */

/* Returns the last record of the event, as the client sees it. */
struct event_state *event_state(struct remote_client *client, uint16_t event);
/* Records which earlier calls this call must follow, after its place is assigned. */
void note_order(struct remote_call *call);
/* Called when the complete answer has arrived at the client. */
void call_answered(struct remote_call *call);
/* Takes the packet over. */
void data_received(struct packet *packet);

/* ---- server.c ---- */

void server_receive(struct packet *packet);
/* The service thread reads its next message when it is there. */
void server_read(struct channel *channel);
/* Called when the current call or chunk is done: begins the next one. */
void server_next(struct channel *channel);
/* Called when one call or chunk with a credit was executed. */
void server_executed(struct channel *channel);
void server_reply(struct remote_call *call);

/* ---- bulk.c ---- */

bool is_upload(const struct remote_call *call);
bool is_download(const struct remote_call *call);
/* Called at either end when a chunk has arrived. After the last chunk all bytes must have
 * arrived. */
void chunk_come(struct remote_call *call, const struct packet *packet);
/* Called at the client when the thread has marshalled the copy or its next chunk. */
void chunk_ready(void *ctx, uint64_t arg);
void chunk_send(struct remote_call *call);
void chunk_accepted(struct remote_call *call, bool last);
void chunk_acknowledged(struct remote_call *call);
/* The next functions run at the server. */
void chunk_stage(struct channel *channel);
void fetch_serve(struct remote_call *call);
void data_accepted(struct remote_call *call);
void data_acknowledged(struct remote_call *call);
