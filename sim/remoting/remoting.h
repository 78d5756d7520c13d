/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CUDA calls forwarded over a connection: client, wire and server of a remoting runtime.
 *
 * The client intercepts a call, chooses its class, marshals it and sends it. The server takes the
 * messages of a connection in order, unmarshals each call, calls the driver and sends the answer.
 * The classes are:
 *   local     answered at the client
 *   async     returns when the message is accepted; no answer
 *   sync      returns when the answer has arrived
 *   draining  like sync, but the answer waits for the GPU's queue
 *   poll      a query, answered with ready or not ready
 *   bulk      a copy with payload: either its chunks are pipelined through wire,
 *             staging and PCIe (the slowest decides), or they go one by one
 * A policy is a small file that maps kinds of calls to classes; models/runtimes/x.cfg sets its
 * parameters.
 *
 * Check: one client with an empty queue follows the recurrence of Wang et al., arXiv 2401.13354
 * (tests/analytic/test_recurrence.c).
 */
#pragma once

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

/* Two fields must differ in more than their unit, because a key is the name without its unit (batch
 * and batch_wait, reply and reply_header). */
/* How a runtime treats a kind of call (call_rules.def). */
enum call_rule { RULE_POLICY, RULE_SENT, RULE_ANSWERED, RULE_LOCAL };
/* The interface that the runtime replaces. Calls of the interfaces above it stay in the client. */
enum shim_level { LEVEL_LIBRARY, LEVEL_RUNTIME, LEVEL_DRIVER };

struct runtime_params {
	int policy;                                    /* index of the policy */
	int level;                                     /* enum shim_level */
#define CALL_RULE(field, kind, rules, what) int field; /* enum call_rule */
#include "sim/remoting/call_rules.def"
#undef CALL_RULE
	int product_call, norm_call; /* enum call_rule */
	double product_questions_count;
	double connections_count, batch_count, batch_wait_s;
	bool batch_copies, receive_thread, exclusive, query_cache, event_cache, shadow_handles;
	bool polls, shared_thread;
	double server_threads_count, client_threads_count;
	double outstanding_count, request_header_B, reply_header_B, call_header_B, launch_header_B;
	double intercept_s, marshal_s, marshal_byte_spB, unmarshal_s, handoff_s, reply_s;
	double serialise_byte_spB, deserialise_byte_spB, new_memory_from_B;
	double chunk_B, compression_ratio, compress_from_B, compress_byte_spB, decompress_byte_spB;
	bool echo_downloads, pipelined, pinned_staging, zero_copy, warm_context;
	double session_s, connect_timeout_s, call_timeout_s, keep_alive_s;
};
extern const struct param_table runtime_table;

struct policy {
	const char *name; /* "synchronous", "flexdirect", "asynchronous", "batched" */
	const char *help;
	/* Even asynchronous copies wait for their answer. */
	bool blocking_copies;
	/* Returns the class of a call. It has no side effects: the client implements the query
	 * cache. */
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
	struct cuda_process *process; /* the process on the server */
	uint64_t seed;
	/* Called when a call or the connection timed out, which ends this client's run. */
	void (*failed)(void *ctx, const char *reason);
	void *failed_ctx;
};
/* Creates a client. The spec is copied. Returns NULL if the transport has no route between client
 * and server. */
struct remote_client *remote_client_new(const struct remote_spec *spec);
struct cuda_port *remote_port(struct remote_client *client);
/* Opens the connections and then calls fn. */
void remote_connect(struct remote_client *client, event_fn *fn, void *ctx, uint64_t arg);

struct kind_counters { /* the program's calls of one kind that have returned */
	uint64_t calls_count;
	/* Time of the thread in these calls. served_s is the part in which the server worked on an
	 * answered call, or waited for the GPU: up to the first byte of a copy to the host, and for
	 * the last chunk of a copy to the device. */
	double waited_s, served_s;
};
struct remote_counters {
	uint64_t calls_count[CLASS_COUNT];
	/* calls whose caller waited for an answer of the server, and other calls that were sent */
	double answered_count, sent_count;
	struct kind_counters kinds[CALL_KIND_COUNT];
	uint64_t messages_count;
	double waited_s; /* time that callers waited in sync, draining and poll calls */
	double sent_B, received_B;
	uint64_t losses_count, timeouts_count;
	double stalled_s;
};
struct remote_counters remote_counters(const struct remote_client *client);
/* The forwarded calls of one step, and the route that they take. */
struct forwarded_step {
	double answered_count; /* calls whose caller waits for an answer */
	double sent_count;     /* other calls that are sent */
	double moved_B;        /* payload of all messages in both directions */
	double round_trip_s;   /* latencies of the links there and back, without hosts */
	double byte_spB;       /* of the slowest link; 0 without a link */
};
/* Returns what a step forwarded that began with the counters `from` and ended with `to`. */
struct forwarded_step remote_step(const struct remote_client *client,
				  const struct remote_counters *from,
				  const struct remote_counters *to);
/* Reports the bytes of its messages to the fabric, once, at the end of a run. */
void remote_account(const struct remote_client *client);
/* Describes the work in progress: "3 calls without an answer, 2 of 17 messages not delivered". */
const char *remote_waiting(const struct remote_client *client, struct arena *arena);
/* Returns the number of asynchronous calls in batches that were not sent. */
size_t remote_batched_count(const struct remote_client *client);
