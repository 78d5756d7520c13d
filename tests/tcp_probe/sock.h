/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets that never block forever: each wait has a deadline, and it ends when the user stops the
 * program (stop.h).
 *
 * A wait is a series of blocking calls with a short kernel timeout. poll() before each call would
 * add a system call to the timed path.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "calib/sample/clock.h"

enum sock_code {
	SOCK_OK = 0,
	SOCK_ENDED,   /* the peer closed the connection before the first byte */
	SOCK_FAILED,  /* an error, or an incomplete message */
	SOCK_LATE,    /* the deadline has passed */
	SOCK_STOPPED, /* the user stopped the probe */
};
#define SOCK_WHY 200

struct sock_address {
	struct sockaddr_storage address;
	socklen_t length;
};

/* TCP's facts on a connection. */
struct sock_facts {
	double mss_B, rtt_s;
	double send_buffer_B, receive_buffer_B;
	char congestion[32];
};

/* Reads "ADDRESS", "ADDRESS:PORT" or "[IPv6]:PORT". Returns false with the reason in why. */
bool sock_parse(const char *text, int port, struct sock_address *address, char *why);
void sock_name(const struct sock_address *address, char *text, size_t room);
bool sock_same_host(const struct sock_address *a, const struct sock_address *b);

/* Return a socket, or -1 with the reason in why. With port 0 the kernel chooses a port and stores
 * it in address. */
int sock_listen(struct sock_address *address, char *why);
int sock_connect(const struct sock_address *address, double wait_s, char *why);
/* Sets the kernel timeouts of the waits, and turns Nagle's algorithm off. */
void sock_prepare(int fd);

/* Transfer all bytes, or return another code. */
enum sock_code sock_send(int fd, const void *bytes, size_t size, double wait_s);
enum sock_code sock_receive(int fd, void *bytes, size_t size, double wait_s);
struct sock_facts sock_facts(int fd);
