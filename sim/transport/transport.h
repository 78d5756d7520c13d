/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages between two programs: tcp, rdma, shared memory.
 *
 * A connection has two ends. Each end is a guest and the core on which its network work is done.
 * Messages of one direction arrive complete and in order. Callers use two moments of a message:
 *   accepted  the sender's socket buffer (or queue) has taken the message, and the
 *             sending thread may continue;
 *   delivered the receiving program has the message: wire, losses, interrupt waits,
 *             wake-ups and receive work are done.
 * A connection can fail (connect timeout, too many retransmissions). Then `failed` is called once
 * with the reason, and nothing more is accepted or delivered.
 *
 * Each kind has its own file with a parameter struct, rows and a const struct transport_kind, and
 * one line in transport_kinds.def.
 */
#pragma once

#include "sim/base/list.h"
#include "sim/base/param.h"
#include "sim/base/registry.h"
#include "sim/fabric/fabric.h"
#include "sim/host/host.h"

struct connection;

enum { TRANSPORT_PARAMS_SIZE_MAX = 512 };

struct connection_end {
	struct guest *guest;
	struct cpu *core; /* core for the network work of this end */
	/* Core of the thread that reads at this end, if it is not `core`; else NULL. */
	struct cpu *reader;
};

/* Called at most once. reason lives as long as the run. */
typedef void connection_failed_fn(void *ctx, const char *reason);

struct connection_spec {
	struct engine *engine;
	struct fabric *fabric;
	struct arena *arena;
	/* for example "client>server 0"; used for trace tracks and loss streams */
	const char *name;
	const void *params;            /* parameters of the kind; borrowed */
	struct connection_end ends[2]; /* [0] opens the connection */
	bool polls;                    /* both readers poll, so no message wakes a thread */
	/* Nodes of the adapters by which the ends send and receive; NULL: on the shortest route. */
	const int *adapters;
	/* TCP streams of a program that opens several, and threads that send them; 0: those of the
	 * parameters, one thread each. */
	size_t stream_count, thread_count;
	uint64_t seed; /* seed of its losses */
	connection_failed_fn *failed;
	void *failed_ctx;
};

struct message {
	double size_B;       /* payload >= 0, without the transport's headers */
	event_fn *accepted;  /* may be NULL */
	event_fn *delivered; /* may be NULL */
	void *ctx;
	uint64_t arg;      /* passed to both callbacks */
	const char *label; /* name in the trace; borrowed, may be NULL */
};

/* Copies field by field, because reading just-written data in larger units stalls until they are in
 * the cache. */
static inline void message_copy(struct message *to, const struct message *from)
{
	to->size_B = from->size_B;
	to->accepted = from->accepted;
	to->delivered = from->delivered;
	to->ctx = from->ctx;
	to->arg = from->arg;
	to->label = from->label;
}

struct connection_counters {
	double payload_sent_B[2], payload_delivered_B[2]; /* by direction; [0] is from end 0 */
	uint64_t messages_count[2], delivered_count[2];
	uint64_t losses_count;   /* lost packets */
	uint64_t timeouts_count; /* retransmission timeouts */
	uint64_t fast_retransmits_count;
	/* Time in which messages waited for retransmissions. Messages that wait together in one
	 * direction count once. */
	double stalled_s;
};

struct transport_kind {
	const char *name; /* for example "tcp" */
	const char *help;
	const struct param_table *table; /* size <= TRANSPORT_PARAMS_SIZE_MAX */
	/* Returns true if a message wakes a sleeping thread. NULL: never, because threads poll. */
	bool (*wakes)(const void *params);
	unsigned traffic; /* enum traffic: it uses links that carry it */
	/* Between the hosts of GPUs: sockets means that messages use connections of the guests,
	 * staged in host memory; direct means that NICs read and write memory themselves. */
	bool sockets, direct;
	bool one_host; /* both ends are on one host */
	/* Returns NULL if there is no route between the ends. */
	struct connection *(*new)(const struct connection_spec *spec);
	/* Opens the connection and then calls fn, or `failed`. */
	void (*open)(struct connection *connection, event_fn *fn, void *ctx, uint64_t arg);
	/* Sends from end `from`, after the message was counted. The message struct is copied. */
	void (*send)(struct connection *connection, int from, const struct message *message);
	/* Receives a message that has arrived. waited is 0 if the reader slept until then. */
	void (*receive)(void *message, uint64_t waited);
};

/* A message that has arrived at an end and waits for the thread that reads it. Transports keep it
 * in their own message. */
struct message_arrival {
	struct message_arrival *next;
	void *ctx; /* the transport's message */
};

struct connection *connection_new(const struct transport_kind *kind,
				  const struct connection_spec *spec);
void connection_open(struct connection *connection, event_fn *fn, void *ctx, uint64_t arg);
void connection_send(struct connection *connection, int from, const struct message *message);
const struct connection_counters *connection_counters(const struct connection *connection);
/* Reports the delivered messages to the fabric, once, at the end of a run (fabric_delivered). */
void connection_account(const struct connection *connection, struct fabric *fabric);
/* Lets the thread at end `end` read the next message. After the first call of this function, each
 * further message of that end stays in the socket until the next call, and its receive work is done
 * only then. Without a call, each message is received when it arrives. */
void connection_read(struct connection *connection, int end);

struct message_reader {
	bool on_demand; /* connection_read was called */
	bool waiting;   /* the thread sleeps until the next message */
	struct message_arrival *head, *tail;
};
/* The first member of every connection struct. */
struct connection {
	const struct transport_kind *kind;
	const struct route *routes[2];    /* by direction */
	struct message_reader readers[2]; /* by end */
	struct connection_counters counters;
};

/* A transport calls this when a message has arrived at end `end`. Returns true if the message is
 * received now, and false if it waits for its reader. */
static inline bool connection_arrived(struct connection *connection, int end,
				      struct message_arrival *arrival, void *message)
{
	struct message_reader *reader = &connection->readers[end];
	if (!reader->on_demand || reader->waiting) {
		reader->waiting = false;
		connection->kind->receive(message, 0);
		return true;
	}
	arrival->next = NULL;
	arrival->ctx = message;
	QUEUE_PUSH(reader, arrival, next);
	return false;
}

REGISTRY_OF(struct transport_kind, transport_kind);

/* The kinds of transport_kinds.def. */
#define TRANSPORT_KIND(name) extern const struct transport_kind transport_##name;
#include "sim/transport/transport_kinds.def"
#undef TRANSPORT_KIND
