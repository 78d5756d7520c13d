/* SPDX-License-Identifier: Apache-2.0 */
/* The server's side of peer.h. One thread waits for connections, and each connection has its own
 * thread, as in a server for forwarded calls. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/tcp_probe/peer.h"
#include "tests/tcp_probe/stop.h"

#define CONNECTIONS_MOST 16
#define SLICE_MS         200
#define ORDER_S          5.0
#define ROUND_IDLE_S     60.0 /* maximum time between two rounds */

struct connection {
	pthread_t thread;
	bool used; /* a thread must be joined */
	_Atomic bool over;
	int fd;
};

struct server {
	int listener, control;
	struct sock_address peer;
	struct connection connections[CONNECTIONS_MOST];
	double active_s; /* time of the last activity */
};

/* ---- a connection ---- */

static void rounds(int fd, const struct peer_order *order)
{
	size_t room_B = order->size_B > order->reply_B ? order->size_B : order->reply_B;
	unsigned char *bytes = malloc(room_B);
	if (!bytes)
		return;
	memset(bytes, 1, room_B); /* writes to all pages, so that they are allocated */
	enum sock_code code = SOCK_OK;
	while (code == SOCK_OK) {
		for (size_t i = 0; i < order->count && code == SOCK_OK; i++)
			code = sock_receive(fd, bytes, order->size_B,
					    i == 0 ? ROUND_IDLE_S : PEER_WAIT_S);
		if (code == SOCK_OK)
			code = sock_send(fd, bytes, order->reply_B, PEER_WAIT_S);
	}
	free(bytes);
}

static void *connection_run(void *context)
{
	struct connection *connection = context;
	char text[PEER_ORDER_B];
	struct peer_order order;
	sock_prepare(connection->fd);
	if (sock_receive(connection->fd, text, sizeof(text), ORDER_S) == SOCK_OK &&
	    peer_order_read(text, &order) &&
	    sock_send(connection->fd, text, sizeof(text), ORDER_S) == SOCK_OK) {
		rounds(connection->fd, &order);
	}
	/* ends the connection for the peer; the descriptor is closed after joining */
	shutdown(connection->fd, SHUT_RDWR);
	atomic_store(&connection->over, true);
	return NULL;
}

/* ---- all of them ---- */

static void reap(struct server *server, bool all)
{
	for (size_t i = 0; i < CONNECTIONS_MOST; i++) {
		struct connection *connection = &server->connections[i];
		if (!connection->used)
			continue;
		server->active_s = clock_now_s();
		if (all)
			shutdown(connection->fd, SHUT_RDWR);
		if (!all && !atomic_load(&connection->over))
			continue;
		pthread_join(connection->thread, NULL);
		close(connection->fd);
		connection->used = false;
	}
}

static void begin(struct server *server, int fd)
{
	for (size_t i = 0; i < CONNECTIONS_MOST; i++) {
		struct connection *connection = &server->connections[i];
		if (connection->used)
			continue;
		connection->fd = fd;
		atomic_store(&connection->over, false);
		connection->used =
			pthread_create(&connection->thread, NULL, connection_run, connection) == 0;
		if (!connection->used)
			close(fd);
		return;
	}
	close(fd); /* the probes never open this many */
}

/* Accepts the first connection as the peer's if it sends the greeting. */
static void greet(struct server *server, int fd, const struct sock_address *from)
{
	char text[PEER_ORDER_B];
	sock_prepare(fd);
	if (sock_receive(fd, text, sizeof(text), ORDER_S) == SOCK_OK && peer_is_hello(text) &&
	    sock_send(fd, text, sizeof(text), ORDER_S) == SOCK_OK) {
		server->control = fd;
		server->peer = *from;
	} else {
		close(fd);
	}
}

static void take_connection(struct server *server)
{
	struct sock_address from = {.length = sizeof(from.address)};
	int fd = accept(server->listener, (struct sockaddr *)&from.address, &from.length);
	if (fd < 0)
		return;
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	if (server->control < 0)
		greet(server, fd, &from);
	else if (sock_same_host(&from, &server->peer))
		begin(server, fd);
	else
		close(fd);
}

/* Returns false if the peer has disconnected. */
static bool peer_is_there(const struct server *server)
{
	char byte;
	return recv(server->control, &byte, 1, MSG_DONTWAIT) < 0 &&
	       (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

int peer_serve(int listener, char *why)
{
	struct server server = {.listener = listener, .control = -1, .active_s = clock_now_s()};
	int code = 0;
	while (!stop_asked()) {
		struct pollfd waits[2] = {{.fd = listener, .events = POLLIN},
					  {.fd = server.control, .events = POLLIN}};
		int ready = poll(waits, 2, SLICE_MS);
		reap(&server, false);
		if (ready > 0 && waits[1].revents && !peer_is_there(&server))
			break;
		if (ready > 0 && waits[0].revents)
			take_connection(&server);
		if (server.control >= 0 && clock_now_s() - server.active_s > PEER_IDLE_S) {
			snprintf(why, SOCK_WHY, "the peer sent no order for %.0f s", PEER_IDLE_S);
			code = -1;
			break;
		}
	}
	reap(&server, true);
	if (server.control >= 0)
		close(server.control);
	close(listener);
	return code;
}
