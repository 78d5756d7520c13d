/* SPDX-License-Identifier: Apache-2.0 */
/* A two-way stream of bytes between the probe and its forwarder, over a socket or
 * over two rings in shared memory. Receiving and sending give up after
 * CHANNEL_WAIT_S. */
#ifndef FARWIRE_CALIB_PROBE_CHANNEL_H
#define FARWIRE_CALIB_PROBE_CHANNEL_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define CHANNEL_WAIT_S 30.0
#define RING_B         (1u << 20)

/* One writer, one reader, which spin. */
struct ring {
	_Alignas(64) _Atomic uint64_t written; /* bytes, ever */
	_Alignas(64) _Atomic uint64_t taken;
	_Alignas(64) unsigned char bytes[RING_B];
};

struct channel {
	int socket; /* -1: the rings */
	struct ring *in, *out;
};

struct channel_part {
	const void *bytes;
	size_t count;
};

double channel_now_s(void); /* CLOCK_MONOTONIC, which both processes share */
/* 0, 1 at the stream's end (before the first byte), -1 after an error, a timeout
 * or a torn message. wait_s < 0: for ever. */
int channel_receive(struct channel *channel, void *bytes, size_t count, double wait_s);
int channel_send(struct channel *channel, const struct channel_part *parts, size_t count);
/* Keeps the processor busy until then. */
void channel_spin_until(double time_s);

#endif
