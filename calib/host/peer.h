/* SPDX-License-Identifier: Apache-2.0 */
/* The far end of the network probes: a server that does as it is told, for one
 * peer.
 *
 * Each connection begins with an ORDER of 64 characters, answered by as many, and
 * is then a round after round of the same: the server reads `count` messages of
 * `size_B`, and answers the last with `reply_B`. Nothing else is on the wire, so
 * that one byte can be timed. With n messages, d apart, a round takes what the
 * LogGP model's PRTT(n, d, s) is: see docs/calibration.md.
 *
 * The first connection, the CONTROL, carries no rounds: while it is there the
 * server takes connections from its host alone, and ends with it. Where the server
 * is a process of our own on this machine the control is a pair of Unix sockets;
 * over it the server is handed the ends of further pairs.
 *
 * What a server reads is bounded, in size and in time.
 */
#ifndef FARWIRE_CALIB_HOST_PEER_H
#define FARWIRE_CALIB_HOST_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "calib/host/core.h"
#include "calib/host/sock.h"

#define PEER_PORT        24842
#define PEER_ORDER_B     64
#define PEER_SIZE_MOST_B ((size_t)64 << 20)
#define PEER_COUNT_MOST  65536
#define PEER_WAIT_S      30.0 /* for a message, or its answer */
#define PEER_IDLE_S      600.0

struct peer_order {
	size_t count, size_B, reply_B;
	bool nagle;
};
/* An order is "farwire-peer 1 serve 16 1024 1 0" and blanks. Returns false where the text is no
 * order, or asks for more than the bounds. */
bool peer_order_read(const char text[PEER_ORDER_B], struct peer_order *order);
/* What the control's peer says first, over TCP. */
bool peer_is_hello(const char text[PEER_ORDER_B]);

/* ---- the server ---- */

/* Serves until its peer has gone or the user stops it. control < 0: the first
 * connection becomes it. 0, or -1 and why. */
int peer_serve(int listener, int control, char *why);

/* ---- its peer ---- */

struct peer {
	struct sock_address address;
	int control;
	pid_t child;           /* 0: the server is another program's */
	struct core_set cores; /* ours before */
	bool apart;            /* the child keeps off the first of them */
};

/* A process of our own that listens on loopback. */
int peer_start(struct peer *peer, char *why);
int peer_connect(struct peer *peer, const struct sock_address *address, char *why);
/* A connection with that order, over a Unix socket or TCP; -1 and why. */
int peer_open(const struct peer *peer, bool over_unix, const struct peer_order *order, char *why);
/* Around rounds with a server of our own: on the core that it keeps off. */
void peer_keep_apart(const struct peer *peer);
void peer_keep_no_more(const struct peer *peer);
void peer_stop(struct peer *peer);

#endif
