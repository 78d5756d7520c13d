/* SPDX-License-Identifier: Apache-2.0 */
/* A GPU in a second process, to measure the cost of forwarding.
 *
 * forwarder_start() forks a process that opens a device of its own. It must run before this process
 * opens a device, because CUDA does not survive a fork. forward_open() returns a device that sends
 * its calls to that process, over shared memory or TCP on the loopback interface. It supports only
 * now_s, close and the calls GET, LAUNCH, COPY, MEMSET, RECORD and SYNC.
 *
 * The mode decides which calls wait for an answer: all in mode sync, only GPU_SYNC and copies to
 * the host in mode async. Mode batched is like async, but calls without a wait are collected until
 * there are `batch` of them or one that waits.
 *
 * An added latency and bandwidth emulate an ideal link. A message starts when the previous one has
 * passed the link. It carries its delivery time, and the receiver takes it no earlier. A receiver
 * that is ready earlier spins until then. The real transport's time is a lower bound.
 *
 * Messages have no version and native byte order, because both processes run the same program on
 * one machine.
 */
#pragma once

#include <stdint.h>

#include "calib/probe/gpu.h"

enum forward_transport { FORWARD_SHM, FORWARD_TCP };
enum forward_mode { FORWARD_SYNC, FORWARD_ASYNC, FORWARD_BATCHED };

#define FORWARD_BATCH_MOST   256
#define FORWARD_PAYLOAD_MOST ((size_t)64 << 20)

struct forward_options {
	enum forward_transport transport;
	enum forward_mode mode;
	size_t batch;     /* calls per message in mode batched */
	double latency_s; /* latency that is added in each direction */
	double rate_Bps;  /* 0: unlimited */
};

/* Convert "shm", "tcp"; "sync", "async", "batched"; return -1 for other words. */
int forward_transport_from(const char *word);
int forward_mode_from(const char *word);
/* Returns whether the call waits for an answer. (exported: for tests/fake_gpu) */
bool forward_waits(enum forward_mode mode, const struct gpu_call *call);

/* Start and stop the second process. It is not started if forward_within is set. */
void forwarder_start(const struct gpu_api *device, const struct gpu_options *options);
void forwarder_stop(void);

/* Serves forwarded calls in this process, for a device whose clock is its own; NULL: a second
 * process serves them. */
typedef int forward_within_fn(struct probe_gpu *local, const struct forward_options *options,
			      struct probe_gpu **far, char *why);
extern forward_within_fn *forward_within;

/* Opens a forwarded device, with the result codes of gpu_api.open. `local` is this process's
 * device. */
int forward_open(struct probe_gpu *local, const struct forward_options *options,
		 struct probe_gpu **far, char *why);
/* Closes *far, which may be NULL, and sets it to NULL. */
void forward_close(struct probe_gpu **far);

/* ---- shared by client and server ---- */

enum forward_command { FORWARD_CALLS, FORWARD_TO_TCP, FORWARD_TO_SHM, FORWARD_LEAVE };

struct forward_message {
	uint32_t command, calls_count;
	uint32_t answer; /* an answer is requested */
	uint32_t unused;
	uint64_t body_B;    /* bytes of the calls, each with its arguments */
	uint64_t payload_B; /* bytes of payload after the calls, if the last call is a copy to the
			       GPU */
	double deliver_s;
	double latency_s, rate_Bps; /* added latency and bandwidth of the answer's direction */
};
struct forward_call {
	uint16_t kind, direction, pageable, unused;
	int32_t event;
	uint32_t argument_B;
	uint64_t size_B;
	double spin_s;
};
struct forward_answer {
	int32_t code;
	uint32_t why_B;
	uint64_t payload_B;
	double deliver_s;
};

struct ring;
struct forward_server {
	int control, tcp;      /* a Unix socket, and TCP over loopback; tcp may be -1 */
	struct ring *in, *out; /* NULL without shared memory */
};
/* Runs in the second process and serves until the control socket closes. */
int forward_serve(const struct forward_server *server, const struct gpu_api *device,
		  const struct gpu_options *options);
/* Returns the delivery time of a message that leaves now; `free_s` is the time until which the link
 * is occupied. */
double forward_delivery_s(double *free_s, size_t size_B, double latency_s, double rate_Bps,
			  double now_s);
