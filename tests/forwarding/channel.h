/* SPDX-License-Identifier: Apache-2.0 */
/* A two-way stream of bytes between the probe and its forwarder, over a socket or over two rings in
 * shared memory. Receiving and sending fail after CHANNEL_WAIT_S. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "calib/sample/clock.h"

#define CHANNEL_WAIT_S 30.0
#define RING_B         (1u << 20)

/* A ring buffer with one writer and one reader, which both spin. */
struct ring {
	_Alignas(64) _Atomic uint64_t written; /* total number of bytes */
	_Alignas(64) _Atomic uint64_t taken;
	_Alignas(64) unsigned char bytes[RING_B];
};

struct probe_channel {
	int socket; /* -1: the channel uses the rings */
	struct ring *in, *out;
};

struct channel_part {
	const void *bytes;
	size_t count;
};

/* Receives count bytes. Returns 0, 1 at the end of the stream (before the first byte), or -1 after
 * an error, a timeout or an incomplete message. wait_s < 0 waits forever. */
int channel_receive(struct probe_channel *channel, void *bytes, size_t count, double wait_s);
int channel_send(struct probe_channel *channel, const struct channel_part *parts, size_t count);
