/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/tcp_probe/sock.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

/* The kernel's header, because POSIX declares only TCP_NODELAY. */
#include <linux/tcp.h>

#include "tests/tcp_probe/stop.h"

#define SLICE_MS 200

/* ---- addresses ---- */

static bool split(const char *text, int port, char *host, size_t host_room, char *service,
		  size_t service_room)
{
	const char *first = strchr(text, ':'), *last = strrchr(text, ':');
	const char *end = text + strlen(text), *number = NULL;
	if (text[0] == '[') {
		const char *close = strchr(text, ']');
		if (!close || (close[1] && close[1] != ':'))
			return false;
		number = close[1] ? close + 2 : NULL;
		end = close;
		text++;
	} else if (first && first == last) {
		number = last + 1;
		end = last;
	}
	size_t length = (size_t)(end - text);
	if (length == 0 || length >= host_room)
		return false;
	memcpy(host, text, length);
	host[length] = '\0';
	if (!number) {
		snprintf(service, service_room, "%d", port);
		return true;
	}
	char *rest;
	long value = strtol(number, &rest, 10);
	if (rest == number || *rest || value < 0 || value > 65535)
		return false;
	snprintf(service, service_room, "%ld", value);
	return true;
}

bool sock_parse(const char *text, int port, struct sock_address *address, char *why)
{
	char host[256], service[8];
	if (!split(text, port, host, sizeof(host), service, sizeof(service))) {
		snprintf(why, SOCK_WHY,
			 "'%.80s' is not an ADDRESS[:PORT] (write for example 192.0.2.7:24842)",
			 text);
		return false;
	}
	struct addrinfo *found = NULL;
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
	int code = getaddrinfo(host, service, &hints, &found);
	if (code != 0 || !found) {
		snprintf(why, SOCK_WHY, "'%.80s': %s", host, gai_strerror(code));
		return false;
	}
	address->length = found->ai_addrlen;
	memcpy(&address->address, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	return true;
}

void sock_name(const struct sock_address *address, char *text, size_t room)
{
	char host[80], service[8];
	if (getnameinfo((const struct sockaddr *)&address->address, address->length, host,
			sizeof(host), service, sizeof(service),
			NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		snprintf(text, room, "?");
	else
		snprintf(text, room, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, service);
}

bool sock_same_host(const struct sock_address *a, const struct sock_address *b)
{
	if (a->address.ss_family != b->address.ss_family)
		return false;
	if (a->address.ss_family == AF_INET) {
		const struct sockaddr_in *left = (const void *)&a->address;
		const struct sockaddr_in *right = (const void *)&b->address;
		return left->sin_addr.s_addr == right->sin_addr.s_addr;
	}
	const struct sockaddr_in6 *left = (const void *)&a->address;
	const struct sockaddr_in6 *right = (const void *)&b->address;
	return a->address.ss_family == AF_INET6 &&
	       memcmp(&left->sin6_addr, &right->sin6_addr, sizeof(left->sin6_addr)) == 0;
}

/* ---- opening ---- */

static int give_up(int fd, const struct sock_address *address, char *why)
{
	char name[96];
	int error = errno;
	sock_name(address, name, sizeof(name));
	snprintf(why, SOCK_WHY, "%s: %s", name, strerror(error));
	if (fd >= 0)
		close(fd);
	return -1;
}

static int make(const struct sock_address *address)
{
	int fd = socket(address->address.ss_family, SOCK_STREAM, 0);
	if (fd >= 0)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
	return fd;
}

int sock_listen(struct sock_address *address, char *why)
{
	int on = 1, fd = make(address);
	if (fd < 0)
		return give_up(fd, address, why);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (const struct sockaddr *)&address->address, address->length) != 0 ||
	    listen(fd, 16) != 0 ||
	    getsockname(fd, (struct sockaddr *)&address->address, &address->length) != 0)
		return give_up(fd, address, why);
	return fd;
}

static int wait_connected(int fd, double deadline_s)
{
	struct pollfd one = {.fd = fd, .events = POLLOUT};
	while (poll(&one, 1, SLICE_MS) <= 0) {
		if (stop_asked() || clock_now_s() > deadline_s)
			return stop_asked() ? EINTR : ETIMEDOUT;
	}
	int error = 0;
	socklen_t length = sizeof(error);
	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

int sock_connect(const struct sock_address *address, double wait_s, char *why)
{
	double deadline_s = clock_now_s() + wait_s;
	int fd = make(address);
	int flags = fd >= 0 ? fcntl(fd, F_GETFL) : -1;
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)
		return give_up(fd, address, why);
	if (connect(fd, (const struct sockaddr *)&address->address, address->length) != 0) {
		if (errno == EINPROGRESS)
			errno = wait_connected(fd, deadline_s);
		if (errno != 0)
			return give_up(fd, address, why);
	}
	fcntl(fd, F_SETFL, flags);
	return fd;
}

void sock_prepare(int fd)
{
	const struct timeval slice = {.tv_usec = SLICE_MS * 1000};
	int no_delay = 1;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &slice, sizeof(slice));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &slice, sizeof(slice));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &no_delay, sizeof(no_delay));
}

/* ---- bytes ---- */

/* Handles a call that transferred nothing. Returns SOCK_OK to try again. */
static enum sock_code tired(int error, double *deadline_s, double wait_s)
{
	if (error != EAGAIN && error != EWOULDBLOCK && error != EINTR)
		return SOCK_FAILED;
	if (stop_asked())
		return SOCK_STOPPED;
	double now_s = clock_now_s();
	if (*deadline_s <= 0)
		*deadline_s = now_s + wait_s;
	return now_s > *deadline_s ? SOCK_LATE : SOCK_OK;
}

enum sock_code sock_send(int fd, const void *bytes, size_t size, double wait_s)
{
	const char *from = bytes;
	double deadline_s = 0;
	while (size > 0) {
		ssize_t sent = send(fd, from, size, MSG_NOSIGNAL);
		enum sock_code code =
			sent > 0 ? SOCK_OK : tired(sent < 0 ? errno : EPIPE, &deadline_s, wait_s);
		if (code != SOCK_OK)
			return code;
		if (sent > 0) {
			from += sent;
			size -= (size_t)sent;
			deadline_s = 0;
		}
	}
	return SOCK_OK;
}

enum sock_code sock_receive(int fd, void *bytes, size_t size, double wait_s)
{
	char *to = bytes;
	double deadline_s = 0;
	for (size_t left = size; left > 0;) {
		ssize_t got = recv(fd, to, left, MSG_WAITALL);
		if (got == 0)
			return left == size ? SOCK_ENDED : SOCK_FAILED;
		enum sock_code code = got > 0 ? SOCK_OK : tired(errno, &deadline_s, wait_s);
		if (code != SOCK_OK)
			return code;
		if (got > 0) {
			to += got;
			left -= (size_t)got;
			deadline_s = 0;
		}
	}
	return SOCK_OK;
}

/* ---- facts ---- */

static double option(int fd, int name)
{
	int value = 0;
	socklen_t length = sizeof(value);
	return getsockopt(fd, SOL_SOCKET, name, &value, &length) == 0 ? value : 0;
}

struct sock_facts sock_facts(int fd)
{
	struct sock_facts facts = {.send_buffer_B = option(fd, SO_SNDBUF),
				   .receive_buffer_B = option(fd, SO_RCVBUF)};
	struct tcp_info info = {0};
	socklen_t length = sizeof(info);
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) == 0) {
		facts.mss_B = info.tcpi_snd_mss;
		facts.rtt_s = 1e-6 * info.tcpi_rtt;
	}
	length = sizeof(facts.congestion) - 1;
	if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, facts.congestion, &length) != 0)
		facts.congestion[0] = '\0';
	return facts;
}
