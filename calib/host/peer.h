/* SPDX-License-Identifier: Apache-2.0 */
/* The remote end of the network probes: a server that executes orders for one peer.
 *
 * Each connection begins with an order of 64 characters, which the server repeats as its answer.
 * Then follow identical rounds: the server reads `count` messages of `size_B` and answers the last
 * one with `reply_B`. Nothing else is sent, so that single bytes can be timed. A round of n
 * messages at distance d takes PRTT(n, d, s) of the LogGP model: see docs/calibration.md.
 *
 * The first connection is the control connection, which carries no rounds. While it exists, the
 * server accepts connections only from the same host, and it ends with it. For a local server, the
 * control connection is a pair of Unix sockets, through which the server receives the ends of
 * further pairs.
 *
 * The server limits the size and the time of everything it reads.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "calib/host/core.h"
#include "calib/host/sock.h"

#define PEER_PORT        24842
#define PEER_ORDER_B     64
#define PEER_SIZE_MOST_B ((size_t)64 << 20)
#define PEER_COUNT_MOST  65536
#define PEER_WAIT_S      30.0 /* time limit for a message or its answer */
#define PEER_IDLE_S      600.0

struct peer_order {
	size_t count, size_B, reply_B;
	bool nagle;
};
/* Returns false if the text is not an order or exceeds the limits. */
bool peer_order_read(const char text[PEER_ORDER_B], struct peer_order *order);
/* Returns true for the first message of the control connection over TCP. */
bool peer_is_hello(const char text[PEER_ORDER_B]);

/* ---- the server ---- */

/* Serves until the peer disconnects or the user stops the program. If control < 0, the first
 * connection becomes the control connection. Returns 0, or -1 with the reason in why. */
int peer_serve(int listener, int control, char *why);

/* ---- its peer ---- */

struct peer {
	struct sock_address address;
	int control;
	pid_t child;           /* 0: the server belongs to another program */
	struct core_set cores; /* the prober's cores before binding */
	bool apart;            /* the child avoids the first of them */
};

/* Starts a server process that listens on the loopback interface. */
int peer_start(struct peer *peer, char *why);
int peer_connect(struct peer *peer, const struct sock_address *address, char *why);
/* Opens a connection with that order, over a Unix socket or TCP. Returns -1 with the reason in why.
 */
int peer_open(const struct peer *peer, bool over_unix, const struct peer_order *order, char *why);
/* Call these before and after rounds with a local server. They bind the prober to the core that
 * the server avoids, and release it. */
void peer_keep_apart(const struct peer *peer);
void peer_keep_no_more(const struct peer *peer);
void peer_stop(struct peer *peer);
