/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages between two programs: tcp, rdma, shared memory.
 *
 * A CONNECTION joins two ENDS; each end is a guest and the core on which its
 * network work is done. Messages of one direction arrive whole and in order.
 * Sending has two moments that callers care about:
 *   accepted  the sender's socket buffer (or queue) has taken the message and
 *             the sending thread may go on;
 *   delivered the receiving program has the message in hand: wire, losses,
 *             interrupt waits, wake-ups and receive work are over.
 * A connection can fail (connect timeout, retransmissions given up): then
 * `failed` is called once with the reason and nothing more is delivered.
 *
 * One file for each kind, with a parameter struct, rows and a const struct
 * transport_kind; one line each in transport_kinds.def.
 */
#ifndef FARWIRE_TRANSPORT_TRANSPORT_H
#define FARWIRE_TRANSPORT_TRANSPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/param.h"
#include "sim/base/registry.h"
#include "sim/fabric/fabric.h"
#include "sim/host/host.h"

struct connection;

enum { TRANSPORT_PARAMS_SIZE_MAX = 512 };

struct connection_end {
	struct guest *guest;
	struct cpu *core; /* network work of this end */
};

/* Called at most once. reason lives as long as the run. */
typedef void connection_failed_fn(void *ctx, const char *reason);

struct connection_spec {
	struct engine *engine;
	struct fabric *fabric;
	struct arena *arena;
	const char *name;              /* "client>server 0": trace tracks, loss streams */
	const void *params;            /* of the kind; borrowed */
	struct connection_end ends[2]; /* [0] opens the connection */
	uint64_t seed;                 /* of its losses */
	connection_failed_fn *failed;
	void *failed_ctx;
};

struct message {
	double size_B;       /* payload >= 0; headers of the transport are added */
	event_fn *accepted;  /* may be NULL */
	event_fn *delivered; /* may be NULL */
	void *ctx;
	uint64_t arg;      /* given to both */
	const char *label; /* trace; borrowed, may be NULL */
};

/* Field by field: parts that were just written, read in larger ones, wait for the cache. */
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
	double payload_sent_B[2], payload_delivered_B[2]; /* by direction; [0] from end 0 */
	uint64_t messages_count[2], delivered_count[2];
	uint64_t losses_count;   /* packets lost */
	uint64_t timeouts_count; /* retransmission timeouts */
	uint64_t fast_retransmits_count;
	/* Time in which messages waited for retransmissions: of several that wait
	 * together in one direction it counts once. */
	double stalled_s;
};

struct transport_kind {
	const char *name; /* "tcp" */
	const char *help;
	const struct param_table *table; /* size <= TRANSPORT_PARAMS_SIZE_MAX */
	/* Whether a message wakes a thread that sleeps; NULL: never, threads poll. */
	bool (*wakes)(const void *params);
	unsigned traffic; /* enum traffic: routes use links that carry it */
	/* How the ranks of a job use it between hosts. sockets: through connections of their
	 * guests, staged in the hosts' memory. direct: NICs read and write memory themselves. */
	bool sockets, direct;
	bool one_host; /* both ends must be on the same host */
	/* NULL if there is no route between the ends. */
	struct connection *(*new)(const struct connection_spec *spec);
	/* Establishes it, then calls fn (or failed). */
	void (*open)(struct connection *connection, event_fn *fn, void *ctx, uint64_t arg);
	/* Sends from end `from`. The message struct is copied. */
	void (*send)(struct connection *connection, int from, const struct message *message);
	const struct connection_counters *(*counters)(const struct connection *connection);
};

struct connection *connection_new(const struct transport_kind *kind,
				  const struct connection_spec *spec);
void connection_open(struct connection *connection, event_fn *fn, void *ctx, uint64_t arg);
void connection_send(struct connection *connection, int from, const struct message *message);
const struct connection_counters *connection_counters(const struct connection *connection);
/* Tells the fabric what was delivered, once, at the end of a run (fabric_delivered). */
void connection_account(const struct connection *connection, struct fabric *fabric);
/* Every connection struct begins with this. */
struct connection {
	const struct transport_kind *kind;
	const struct route *routes[2]; /* by direction */
};

REGISTRY_OF(struct transport_kind, transport_kind);

#endif
