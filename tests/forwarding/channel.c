/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/forwarding/channel.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define PARTS_MOST  4
#define SPINS_COUNT 200  /* spins between two yields of the processor */
#define SPIN_S      0.01 /* time for which a socket is polled before the thread sleeps */

/* ---- rings ---- */

/* Returns the number of bytes that can be moved now, after waiting for the first one. */
static size_t ring_wait(struct ring *ring, bool reading, double deadline_s)
{
	for (unsigned spins = 1;; spins++) {
		uint64_t there = atomic_load_explicit(&ring->written, memory_order_acquire) -
				 atomic_load_explicit(&ring->taken, memory_order_acquire);
		size_t count = (size_t)(reading ? there : RING_B - there);
		if (count > 0)
			return count;
		if (spins % SPINS_COUNT == 0) {
			if (clock_now_s() > deadline_s)
				return 0;
			sched_yield();
		}
	}
}

static int ring_move(struct ring *ring, bool reading, unsigned char *bytes, size_t count,
		     double deadline_s)
{
	_Atomic uint64_t *place = reading ? &ring->taken : &ring->written;
	while (count > 0) {
		size_t some = ring_wait(ring, reading, deadline_s);
		uint64_t at = atomic_load_explicit(place, memory_order_relaxed);
		size_t from = (size_t)(at % RING_B);
		if (some == 0)
			return -1;
		if (some > count)
			some = count;
		if (some > RING_B - from)
			some = RING_B - from;
		if (reading)
			memcpy(bytes, ring->bytes + from, some);
		else
			memcpy(ring->bytes + from, bytes, some);
		atomic_store_explicit(place, at + some, memory_order_release);
		bytes += some;
		count -= some;
	}
	return 0;
}

/* ---- sockets ---- */

static int wait_socket(int fd, short events, double deadline_s)
{
	struct pollfd one = {.fd = fd, .events = events};
	double left_s = deadline_s - clock_now_s();
	int left_ms = left_s > 1e6 ? -1 : left_s > 0 ? (int)(left_s * 1000) + 1 : 0;
	int ready = poll(&one, 1, left_ms);
	if (ready < 0 && errno == EINTR)
		return 0;
	return ready > 0 ? 0 : -1;
}

/* Returns true to poll again at once. A sleeping process is woken on a core that the kernel
 * chooses, and then a round trip can take five times as long. */
static bool spin_on(double *until_s)
{
	double now_s = clock_now_s();
	if (*until_s <= 0)
		*until_s = now_s + SPIN_S;
	return now_s < *until_s;
}

static int socket_receive(int fd, unsigned char *bytes, size_t count, double deadline_s)
{
	size_t got = 0;
	double spin_until_s = 0;
	while (got < count) {
		ssize_t some = recv(fd, bytes + got, count - got, MSG_DONTWAIT);
		if (some > 0)
			got += (size_t)some;
		else if (some == 0)
			return got == 0 ? 1 : -1;
		else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
			return errno == ECONNRESET && got == 0 ? 1 : -1;
		else if (spin_on(&spin_until_s))
			continue;
		else if (wait_socket(fd, POLLIN, deadline_s) != 0)
			return -1;
	}
	return 0;
}

static int socket_send(int fd, const struct channel_part *parts, size_t count)
{
	struct iovec pieces[PARTS_MOST];
	double deadline_s = clock_now_s() + CHANNEL_WAIT_S;
	for (size_t i = 0; i < count; i++) {
		pieces[i].iov_base = (void *)(uintptr_t)parts[i].bytes;
		pieces[i].iov_len = parts[i].count;
	}
	for (size_t first = 0; first < count;) {
		struct msghdr message = {.msg_iov = pieces + first, .msg_iovlen = count - first};
		ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
			return -1;
		if (sent < 0 && wait_socket(fd, POLLOUT, deadline_s) != 0)
			return -1;
		size_t left = sent > 0 ? (size_t)sent : 0;
		while (first < count && left >= pieces[first].iov_len)
			left -= pieces[first++].iov_len;
		if (first < count) {
			pieces[first].iov_base = (unsigned char *)pieces[first].iov_base + left;
			pieces[first].iov_len -= left;
		}
	}
	return 0;
}

int channel_receive(struct probe_channel *channel, void *bytes, size_t count, double wait_s)
{
	double deadline_s = wait_s < 0 ? 1e300 : clock_now_s() + wait_s;
	if (channel->socket >= 0)
		return socket_receive(channel->socket, bytes, count, deadline_s);
	return ring_move(channel->in, true, bytes, count, deadline_s);
}

int channel_send(struct probe_channel *channel, const struct channel_part *parts, size_t count)
{
	if (channel->socket >= 0)
		return socket_send(channel->socket, parts, count);
	double deadline_s = clock_now_s() + CHANNEL_WAIT_S;
	for (size_t i = 0; i < count; i++)
		if (ring_move(channel->out, false, (unsigned char *)(uintptr_t)parts[i].bytes,
			      parts[i].count, deadline_s) != 0)
			return -1;
	return 0;
}
