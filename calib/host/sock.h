/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets that never wait for ever: each wait has a deadline, and ends when the
 * user stops the program (stop.h).
 *
 * Waits are blocking calls with a short time-out of the kernel's, again and again,
 * not poll() and a call: that would be one system call more in what is timed.
 */
#ifndef FARWIRE_CALIB_HOST_SOCK_H
#define FARWIRE_CALIB_HOST_SOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

enum sock_code {
	SOCK_OK = 0,
	SOCK_ENDED,   /* the peer closed, before the first byte */
	SOCK_FAILED,  /* an error, a torn message */
	SOCK_LATE,    /* the deadline is over */
	SOCK_STOPPED, /* by the user */
};
#define SOCK_WHY 200

struct sock_address {
	struct sockaddr_storage address;
	socklen_t length;
};

/* What TCP says of a connection; zeros on other sockets. */
struct sock_facts {
	double mss_B, rtt_s;
	double send_buffer_B, receive_buffer_B;
	char congestion[32];
};

double sock_now_s(void); /* CLOCK_MONOTONIC */
/* "ADDRESS", "ADDRESS:PORT" or "[IPv6]:PORT"; false: why tells the reason. */
bool sock_parse(const char *text, int port, struct sock_address *address, char *why);
void sock_name(const struct sock_address *address, char *text, size_t room);
bool sock_same_host(const struct sock_address *a, const struct sock_address *b);

/* A socket, or -1 and why. Port 0: the kernel chooses, and address tells. */
int sock_listen(struct sock_address *address, char *why);
int sock_connect(const struct sock_address *address, double wait_s, char *why);
/* Sets the waits' slices, and Nagle's algorithm where there is TCP. */
void sock_prepare(int fd, bool nagle);

/* All bytes, or another code. */
enum sock_code sock_send(int fd, const void *bytes, size_t size, double wait_s);
enum sock_code sock_receive(int fd, void *bytes, size_t size, double wait_s);
/* Hands a descriptor to the process at the other end of a Unix socket. */
enum sock_code sock_send_fd(int fd, int handed);
/* SOCK_OK, SOCK_ENDED or SOCK_FAILED. */
enum sock_code sock_receive_fd(int fd, int *handed);

struct sock_facts sock_facts(int fd);

#endif
