/* SPDX-License-Identifier: Apache-2.0 */
/* A GPU in a second process, for measuring what forwarding costs.
 *
 * forwarder_start() splits off a process that opens a device of its own; it must
 * come before this process opens one, since CUDA does not survive a fork.
 * forward_open() gives a device whose calls go there as messages over shared
 * memory, a Unix socket or TCP over the loopback interface. Only what is
 * forwarded can be asked of it: now_s, close and the calls GET, LAUNCH, COPY,
 * MEMSET, RECORD and SYNC.
 *
 * Which calls wait for an answer: in mode sync all; in mode async GPU_SYNC and
 * copies to the host. In mode batched those that need not wait are held back
 * until there are `batch` of them or one that waits.
 *
 * An added latency and rate are those of an ideal link: a message leaves once the
 * one before it is through at that rate, and is taken up by its receiver not
 * before its time of delivery, which travels with it. Where the receiver is ready
 * early it spins until then. No fewer than the real transport's own times.
 *
 * The messages are for two processes of one machine and one program: native byte
 * order, no versions. The fake device is forwarded without any process, on its
 * own clock (fake_forward.c).
 */
#ifndef FARWIRE_CALIB_PROBE_FORWARD_H
#define FARWIRE_CALIB_PROBE_FORWARD_H

#include <stdint.h>

#include "calib/probe/gpu.h"

enum forward_transport { FORWARD_SHM, FORWARD_UNIX, FORWARD_TCP };
enum forward_mode { FORWARD_SYNC, FORWARD_ASYNC, FORWARD_BATCHED };

#define FORWARD_BATCH_MOST   256
#define FORWARD_PAYLOAD_MOST ((size_t)64 << 20)

struct forward_options {
	enum forward_transport transport;
	enum forward_mode mode;
	size_t batch;     /* calls of a message; mode batched */
	double latency_s; /* added, each way */
	double rate_Bps;  /* 0: no limit */
};

/* "shm", "unix", "tcp"; "sync", "async", "batched"; -1: none of them */
int forward_transport_from(const char *word);
int forward_mode_from(const char *word);
bool forward_waits(enum forward_mode mode, const struct gpu_call *call);

struct forwarder;
/* NULL and the reason: this machine cannot. */
struct forwarder *forwarder_start(const struct gpu_api *device, const struct gpu_options *options,
				  char *why);
void forwarder_stop(struct forwarder *forwarder);

/* `local` is this process's device; as gpu_api.open. */
int forward_open(struct forwarder *forwarder, struct gpu *local,
		 const struct forward_options *options, struct gpu **far, char *why);
int fake_forward_open(struct gpu *local, const struct forward_options *options, struct gpu **far,
		      char *why);

/* ---- what client and server share ---- */

enum forward_command { FORWARD_CALLS, FORWARD_TO_TCP, FORWARD_TO_SHM, FORWARD_LEAVE };

struct forward_message {
	uint32_t command, calls_count;
	uint32_t answer; /* asked for */
	uint32_t unused;
	uint64_t body_B;    /* the calls, each with its arguments */
	uint64_t payload_B; /* follows them: of a copy to the GPU, the last call */
	double deliver_s;
	double latency_s, rate_Bps; /* for the answer's way */
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
	int control;             /* a Unix socket */
	int listener;            /* loopback TCP, or -1 */
	struct ring *in, *out;   /* or NULL */
	unsigned char token[16]; /* the first bytes of a TCP connection of ours */
};
/* The second process: serves until the control socket ends. */
int forward_serve(const struct forward_server *server, const struct gpu_api *device,
		  const struct gpu_options *options);
/* When a message leaving now arrives; `free_s` is until when the link is taken. */
double forward_delivery_s(double *free_s, size_t size_B, double latency_s, double rate_Bps,
			  double now_s);

#endif
