/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/remoting/policies.h"

static const struct registry_row policy_rows[] = {
#define POLICY(name) REGISTRY_ROW(policy_##name),
#include "sim/remoting/policies.def"
#undef POLICY
};
const struct registry policy_registry = REGISTRY("policy of remoting", "policies", policy_rows);

#define COUNT(field, min, max, preset, help, source)                                               \
	PARAM_WHOLE(struct runtime_params, field, min, max, preset, help, source)
#define BYTES(field, min, max, preset, help, source)                                               \
	PARAM_NUMBER(struct runtime_params, field, QUANTITY_BYTES, min, max, preset, help, source)
#define TIME(field, min, max, preset, help, source)                                                \
	PARAM_NUMBER(struct runtime_params, field, QUANTITY_TIME, min, max, preset, help, source)
#define COST(field, most, preset, help, source)                                                    \
	COST_ASSUMED(struct runtime_params, field, QUANTITY_TIME, 0, most, preset, help, source)
#define HEADER(field, preset, help, source)                                                        \
	COST_ASSUMED(struct runtime_params, field, QUANTITY_BYTES, 0, 1e6, preset, help, source)
#define SWITCH(field, preset, help, source)                                                        \
	PARAM_BOOL(struct runtime_params, field, preset, help, source)

static const char *const all_rules[] = {"policy", "sent", "answered", "local", NULL};
static const char *const work_rules[] = {"policy", "sent", "answered", NULL};
static const char *const levels[] = {"library", "runtime", "driver", NULL};

static const struct param_row rows[] = {
	PARAM_NAMED(struct runtime_params, policy, &policy_registry, "synchronous",
		    "policy that chooses which calls wait for an answer",
		    "assumption: plain remote procedure calls"),
	PARAM_CHOICE(
		struct runtime_params, level, levels, "library",
		"interface that the runtime replaces: the CUDA libraries, the CUDA runtime or the "
		"driver; calls of the interfaces above it stay in the client",
		"rCUDA and Cricket replace the CUDA runtime and the libraries on it"),
#define CALL_RULE(field, kind, rules, what)                                                        \
	PARAM_CHOICE(struct runtime_params, field, rules, "policy",                                \
		     "what the client does with " what                                             \
		     ": as the policy says, send them without waiting, wait for the answer, or "   \
		     "(calls without work of the GPU) answer them locally",                        \
		     "the policy"),
#include "sim/remoting/call_rules.def"
#undef CALL_RULE
	PARAM_CHOICE(struct runtime_params, product_call, work_rules, "policy",
		     "what a client that replaces the libraries does with products of cuBLAS: as "
		     "with launches, send them without waiting, or wait for the answer",
		     "the policy"),
	PARAM_CHOICE(struct runtime_params, norm_call, work_rules, "policy",
		     "what a client that replaces the libraries does with norms and poolings of "
		     "cuDNN: as with launches, send them without waiting, or wait for the answer",
		     "the policy"),
	COUNT(product_questions_count, 0, 63, "0",
	      "questions that a client that replaces the libraries asks before a product of "
	      "cuBLAS, "
	      "each with an answer",
	      "assumption: the client knows where the scalars of the product are"),
	COUNT(connections_count, 1, 256, "1",
	      "number of connections of one program; its threads are assigned to them in turn",
	      "assumption: one session, as in Cricket and early rCUDA"),
	COUNT(batch_count, 0, 1e6, "1",
	      "number of asynchronous calls in one message; 0 means all until a call that waits",
	      "no batching"),
	TIME(batch_wait_s, 0, 1, "50 us",
	     "age at which an incomplete batch is sent; 0 means no limit",
	     "assumption: about one round trip in a local network"),
	SWITCH(batch_copies, "false",
	       "whether copies to the device that wait for no answer join the batch",
	       "assumption: a copy is a message of its own"),
	SWITCH(receive_thread, "false",
	       "whether a thread of the server receives messages ahead of the thread that executes "
	       "calls",
	       "assumption: one thread for each connection, as in an ONC RPC server"),
	COUNT(server_threads_count, 1, 8, "1",
	      "number of the server's threads that a call passes when they sleep: one reads and "
	      "executes it, each further one is woken on a core of its own",
	      "assumption: one thread for each connection, as in an ONC RPC server"),
	COUNT(client_threads_count, 1, 8, "1",
	      "number of the client's threads that an answer passes: the caller reads it, or other "
	      "threads read it and wake the caller",
	      "assumption: the caller reads the socket, as clnt_call of ONC RPC does"),
	SWITCH(shared_thread, "false",
	       "whether one thread serves the connections of all clients of a server, so that a "
	       "call that waits for the GPU delays the other clients",
	       "assumption: each connection has a thread"),
	SWITCH(polls, "false",
	       "whether threads poll the connection instead of sleeping, on cores that never idle",
	       "assumption: threads sleep in recv or poll"),
	SWITCH(exclusive, "false",
	       "whether a call holds its connection until it returns, so that calls of other "
	       "threads "
	       "wait",
	       "assumption: answers are matched to calls by numbers"),
	SWITCH(query_cache, "false", "whether the client answers repeated attribute queries itself",
	       "no cache"),
	SWITCH(event_cache, "false",
	       "whether the client answers queries of events that it knows to be completed",
	       "no cache"),
	SWITCH(shadow_handles, "false", "whether the client creates handles itself",
	       "no shadow handles"),
	COUNT(outstanding_count, 0, 1e9, "0",
	      "asynchronous calls in flight on a connection before the client waits; 0 means no "
	      "limit",
	      "no limit"),
	HEADER(request_header_B, "64 B", "size of a request without its arguments",
	       "assumption: call number, sizes, session and record marks of an ONC RPC header "
	       "(RFC 5531), rounded up"),
	HEADER(reply_header_B, "64 B", "size of an answer without its payload",
	       "assumption: as for a request"),
	COST_UNSEEN(8, struct runtime_params, call_header_B, QUANTITY_BYTES, 0, 1e6, "0 B",
		    "size of what each call carries beside its arguments, also in a batch",
		    "assumption: it is in the header of the message; draws go up to 16 B (95 %), a "
		    "number and a length of 8 B each"),
	COST_UNSEEN(30, struct runtime_params, launch_header_B, QUANTITY_BYTES, 0, 1e6, "0 B",
		    "size of what a launch carries beside header and arguments (names, dimensions, "
		    "descriptions of the arguments); a call of a library carries none",
		    "assumption: it is in the arguments; draws go up to 60 B (95 %), because the "
		    "files of "
		    "runtimes state 44 to 80 B"),
	COST(intercept_s, 1, "0.2 us", "time to intercept a call at the client",
	     "assumption: two table look-ups and a lock, about 500 cycles"),
	COST(marshal_s, 1, "1 us", "time to marshal and dispatch a message",
	     "assumption: about 2,400 cycles"),
	COST_ASSUMED(struct runtime_params, marshal_byte_spB, QUANTITY_TIME_PER_BYTE, 0, 1e-3,
		     "0.1 ns/B", "time to marshal a byte of arguments",
		     "assumption: a copy at 10 GB/s, one core's memcpy"),
	COST(unmarshal_s, 1, "1 us", "time to unmarshal and dispatch a call at the server",
	     "assumption: as for marshalling"),
	COST_UNSEEN(
		15e-6, struct runtime_params, handoff_s, QUANTITY_TIME, 0, 10, "0 s",
		"time to pass an answered call between the server's threads, if messages wake them",
		"assumption: zero; draws go up to 30 us (95 %), the assumption of other runtimes"),
	COST(reply_s, 1, "0.5 us", "time to unmarshal an answer at the client",
	     "assumption: half of marshalling, because there are no arguments"),
	COST_UNSEEN(0.05e-9, struct runtime_params, serialise_byte_spB, QUANTITY_TIME_PER_BYTE, 0,
		    1e-6, "0 ns/B",
		    "time to serialise a byte of a copy at its sender, after compression and "
		    "beyond the "
		    "socket's work; none if adapters access memory themselves",
		    "assumption: the socket reads the program's buffer; draws go up to 0.1 ns/B "
		    "(95 %), "
		    "one copy at 10 GB/s"),
	COST_UNSEEN(
		0.05e-9, struct runtime_params, deserialise_byte_spB, QUANTITY_TIME_PER_BYTE, 0,
		1e-6, "0 ns/B",
		"time to restore a byte of a copy at its receiver, before decompression and beyond "
		"the socket's work; none if adapters access memory themselves",
		"assumption: the socket writes the buffer that the copy uses; draws go up to 0.1 "
		"ns/B "
		"(95 %), one copy at 10 GB/s"),
	BYTES(new_memory_from_B, 0, 1e12, "1 TB",
	      "size of a copy above which its receiver takes new memory for it, whose pages the "
	      "kernel must clear (guest.*.page)",
	      "assumption: buffers are kept; malloc of glibc maps new memory for each block above "
	      "32 MiB (DEFAULT_MMAP_THRESHOLD_MAX)"),
	SWITCH(echo_downloads, "false",
	       "whether the request of a copy to the host also carries the buffer's bytes",
	       "assumption: it carries the size only"),
	BYTES(chunk_B, 256, 1e9, "256 KiB", "size of the chunks of a bulk copy",
	      "MVAPICH2 user guide, MV2_CUDA_BLOCK_SIZE: default 262144"),
	PARAM_NUMBER(struct runtime_params, compression_ratio, QUANTITY_RATIO, 1, 1000, "1",
		     "size of a message's body before compression divided by its size after it; 1 "
		     "means no compression",
		     "no compression"),
	BYTES(compress_from_B, 0, 1e12, "0 B", "smallest body of a message that is compressed",
	      "assumption: all bodies are compressed if any is"),
	COST_ASSUMED(
		struct runtime_params, compress_byte_spB, QUANTITY_TIME_PER_BYTE, 0, 1e-6, "0 ns/B",
		"time to compress a byte of a body at its sender",
		"no compression; 0 is exact, because a runtime that compresses states its time"),
	COST_ASSUMED(
		struct runtime_params, decompress_byte_spB, QUANTITY_TIME_PER_BYTE, 0, 1e-6,
		"0 ns/B", "time to restore a byte of a body at its receiver",
		"no compression; 0 is exact, because a runtime that compresses states its time"),
	SWITCH(pipelined, "true",
	       "whether chunks overlap on wire, staging and PCIe; false means stop-and-go",
	       "rCUDA pipelines (Pena et al., Parallel Computing 40, 2014)"),
	SWITCH(pinned_staging, "true", "whether the server stages copies in pinned memory",
	       "rCUDA's server buffers are pinned (Pena et al., Parallel Computing 40, 2014)"),
	SWITCH(zero_copy, "false", "whether the NIC accesses GPU memory directly (GPUDirect RDMA)",
	       "off unless the runtime and the NIC support it"),
	SWITCH(warm_context, "false",
	       "whether the server has created a CUDA context before a client connects",
	       "assumption: the first call of a client creates the context"),
	COST(session_s, 600, "0 s",
	     "time to set up a session once its connections are open, without the context; a "
	     "program that makes its context sets up a session each time",
	     "assumption: the first request needs no set-up; 0 is exact, because a runtime with a "
	     "session states its time"),
	TIME(connect_timeout_s, 0, 86400, "10 s",
	     "time without a connection after which the run fails; 0 means never",
	     "assumption: no published value"),
	TIME(call_timeout_s, 0, 86400, "10 s",
	     "time without an answer after which the run fails; 0 means never",
	     "assumption: no published value"),
	TIME(keep_alive_s, 0, 86400, "0 s",
	     "idle time after which a keep-alive probe is sent; 0 means no probes", "no probes"),
};

const struct param_table runtime_table = PARAM_TABLE("runtime", struct runtime_params, rows);
