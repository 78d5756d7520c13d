/* SPDX-License-Identifier: Apache-2.0 */
/* The remote end of the network probes: a server that executes orders for one peer.
 *
 * Each connection begins with an order of 64 characters, which the server repeats as its answer.
 * Then follow identical rounds: the server reads `count` messages of `size_B` and answers the last
 * one with `reply_B`. Nothing else is sent, so that single bytes can be timed. A round of n
 * messages at distance d takes PRTT(n, d, s) of the LogGP model.
 *
 * The first connection is the control connection, which carries no rounds. While it exists, the
 * server accepts connections only from the same host, and it ends with it.
 *
 * The server limits the size and the time of everything it reads.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "tests/tcp_probe/sock.h"

#define PEER_PORT        24842
#define PEER_ORDER_B     64
#define PEER_SIZE_MOST_B ((size_t)64 << 20)
#define PEER_COUNT_MOST  65536
#define PEER_WAIT_S      30.0 /* time limit for a message or its answer */
#define PEER_IDLE_S      600.0

struct peer_order {
	size_t count, size_B, reply_B;
};
/* Returns false if the text is not an order or exceeds the limits. */
bool peer_order_read(const char text[PEER_ORDER_B], struct peer_order *order);
/* Returns true for the first message of the control connection over TCP. */
bool peer_is_hello(const char text[PEER_ORDER_B]);

/* ---- the server ---- */

/* Serves until the peer disconnects or the user stops the program. Returns 0, or -1 with the reason
 * in why. */
int peer_serve(int listener, char *why);

/* ---- its peer ---- */

struct peer {
	struct sock_address address;
	int control;
};

int peer_connect(struct peer *peer, const struct sock_address *address, char *why);
/* Opens a connection with that order. Returns -1 with the reason in why. */
int peer_open(const struct peer *peer, const struct peer_order *order, char *why);
