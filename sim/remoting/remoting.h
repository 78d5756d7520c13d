/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CUDA calls forwarded over a connection: client, wire, server.
 *
 * The client intercepts a call, decides its class, marshals it and sends it;
 * the server takes the messages of one connection in order, unmarshals, calls
 * the driver, answers. Classes:
 *   local     answered at the client
 *   async     fire and forget: returns when the message is accepted
 *   sync      returns when the answer is back
 *   draining  the same, and the answer waits for the GPU's queue
 *   poll      a query; its answer says ready or not
 *   bulk      copies with payload: chunked, the chunks pipelined through wire,
 *             staging and PCIe (min of the three), or stop-and-go
 * A POLICY is data (models/runtimes/x.cfg) plus one small file that says which
 * kind of call is of which class.
 *
 * Published check: one client with nothing queued follows the recurrence of
 * Wang et al., arXiv 2401.13354 (tests/analytic/test_recurrence.c).
 */
#ifndef FARWIRE_REMOTING_REMOTING_H
#define FARWIRE_REMOTING_REMOTING_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/cuda/cuda.h"
#include "sim/transport/transport.h"

enum call_class {
	CLASS_LOCAL,
	CLASS_ASYNC,
	CLASS_SYNC,
	CLASS_DRAINING,
	CLASS_POLL,
	CLASS_BULK,
	CLASS_COUNT,
};

/* Names differ by more than their units, since a key is the name without its
 * unit (batch and batch_wait, reply and reply_header). */
struct runtime_params {
	int policy;               /* index into the policies */
	double connections_count; /* threads are spread over them in turn */
	double batch_count;       /* async calls sent in one message; 1: each alone */
	double batch_wait_s;      /* a batch is sent at this age; 0: no age limit */
	bool query_cache;         /* attributes answered at the client after the first time */
	bool shadow_handles;      /* creations answered at the client, sent async */
	double outstanding_count; /* async calls (and chunks on their way to the GPU) sent on a
				     connection and not known to be executed, before the client
				     waits; 0: no limit */
	double request_header_B, reply_header_B;
	double intercept_s;      /* client: interposing a call, at the reference clock */
	double marshal_s;        /* client: marshalling and dispatching one message */
	double marshal_byte_spB; /* client: per byte of arguments */
	double unmarshal_s;      /* server: taking one call apart and dispatching it */
	double handoff_s;        /* server: handing an answered call from the thread that sleeps on
				    the connection to the one that serves it, and back; none where
				    threads poll (shared memory, RDMA) */
	double reply_s;          /* client: taking the answer apart */
	double chunk_B;          /* of bulk copies */
	bool pipelined;          /* chunks overlap; false: stop-and-go */
	bool pinned_staging;     /* server stages through pinned memory */
	bool zero_copy;          /* RDMA reaches GPU memory directly (GPUDirect) */
	double connect_timeout_s, call_timeout_s; /* give up: a verdict; 0: never */
	double keep_alive_s; /* idle time after which a probe is sent; 0: none */
};
extern const struct param_table runtime_table;

struct policy {
	const char *name; /* "synchronous", "flexdirect", "asynchronous", "batched" */
	const char *help;
	/* Copies asked for as asynchronous wait for their answer all the same. */
	bool blocking_copies;
	/* Pure: the query cache is the client's business. */
	enum call_class (*classify)(const struct runtime_params *params,
				    const struct cuda_call *call);
};
REGISTRY_OF(struct policy, policy);

struct remote_client;
struct remote_spec {
	struct arena *arena;
	struct engine *engine;
	struct fabric *fabric;
	const char *name;
	const struct runtime_params *params;
	const struct transport_kind *transport;
	const void *transport_params;
	struct guest *client, *server;
	struct cuda_process *process; /* on the server */
	uint64_t seed;
	/* A call or the connection timed out: the run of this client is over. */
	void (*failed)(void *ctx, const char *reason);
	void *failed_ctx;
};
/* The spec is copied. NULL when there is no route between client and server for
 * the transport. */
struct remote_client *remote_client_new(const struct remote_spec *spec);
struct cuda_port *remote_port(struct remote_client *client);
/* The core on which the connection of that thread does its network work: a
 * thread that sends from another core would wake this one for nothing. NULL
 * for threads beyond the number of connections: any core. */
/* Opens the connections, then calls fn. */
void remote_connect(struct remote_client *client, event_fn *fn, void *ctx, uint64_t arg);

struct remote_counters {
	uint64_t calls_count[CLASS_COUNT];
	uint64_t messages_count;
	double waited_s; /* callers' time in sync, draining and poll calls */
	double sent_B, received_B;
	uint64_t losses_count, timeouts_count;
	double stalled_s;
};
struct remote_counters remote_counters(const struct remote_client *client);
/* Tells the fabric what its messages have carried, once, at the end of a run. */
void remote_account(const struct remote_client *client);
/* "3 calls without an answer, 2 of 17 messages not delivered": what is under way. */
const char *remote_waiting(const struct remote_client *client, struct arena *arena);
/* Asynchronous calls in batches that have not been sent. */
size_t remote_batched_count(const struct remote_client *client);

#endif
