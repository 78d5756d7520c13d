/* SPDX-License-Identifier: Apache-2.0 */
#include "calib/host/peer.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define HELLO  "farwire-peer 1 hello"
#define SERVE  "farwire-peer 1 serve "
#define OPEN_S 5.0

/* ---- orders ---- */

static void peer_order_write(const struct peer_order *order, char text[PEER_ORDER_B])
{
	int length = snprintf(text, PEER_ORDER_B, SERVE "%zu %zu %zu %d", order->count,
			      order->size_B, order->reply_B, order->nagle);
	memset(text + length, ' ', (size_t)(PEER_ORDER_B - length));
}

/* Reads a number up to `most` and the blank after it. */
static bool take(const char **text, size_t most, size_t *number)
{
	char *end;
	if (**text < '0' || **text > '9')
		return false;
	unsigned long long value = strtoull(*text, &end, 10);
	if (*end != ' ' || value > most)
		return false;
	*number = (size_t)value;
	*text = end + 1;
	return true;
}

bool peer_order_read(const char text[PEER_ORDER_B], struct peer_order *order)
{
	char line[PEER_ORDER_B + 1] = "";
	size_t nagle = 0;
	memcpy(line, text, PEER_ORDER_B);
	const char *at = line + strlen(SERVE);
	if (strncmp(line, SERVE, strlen(SERVE)) != 0 ||
	    !take(&at, PEER_COUNT_MOST, &order->count) ||
	    !take(&at, PEER_SIZE_MOST_B, &order->size_B) ||
	    !take(&at, PEER_SIZE_MOST_B, &order->reply_B) || !take(&at, 1, &nagle))
		return false;
	order->nagle = nagle == 1;
	return order->count > 0 && order->size_B > 0 && order->reply_B > 0;
}

bool peer_is_hello(const char text[PEER_ORDER_B])
{
	return strncmp(text, HELLO " ", strlen(HELLO " ")) == 0;
}

/* Sends the order and waits until the server repeats it. */
static bool ask(int fd, const char text[PEER_ORDER_B], char *why)
{
	char answer[PEER_ORDER_B];
	enum sock_code code = sock_send(fd, text, PEER_ORDER_B, OPEN_S);
	if (code == SOCK_OK)
		code = sock_receive(fd, answer, sizeof(answer), OPEN_S);
	if (code == SOCK_OK && memcmp(answer, text, sizeof(answer)) == 0)
		return true;
	snprintf(why, SOCK_WHY, "the server %s",
		 code == SOCK_OK      ? "is not `farwire probe host --server` (start it there)"
		 : code == SOCK_ENDED ? "refused the connection, because it serves another peer or "
					"has other limits"
		 : code == SOCK_LATE  ? "did not answer in time (check that it runs)"
				      : "could not be read: the connection to it failed");
	return false;
}

/* ---- starting ---- */

/* Runs in the new process. */
static void be_server(const struct peer *peer, int listener, int control)
{
	char why[SOCK_WHY];
	if (peer->apart)
		core_keep(&peer->cores, false);
	_exit(peer_serve(listener, control, why) == 0 ? 0 : 1);
}

int peer_start(struct peer *peer, char *why)
{
	int pair[2] = {-1, -1};
	struct sockaddr_in local = {.sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	*peer = (struct peer){.control = -1, .address.length = sizeof(local)};
	memcpy(&peer->address.address, &local, sizeof(local));
	int listener = sock_listen(&peer->address, why);
	if (listener < 0)
		return -1;
	/* Tested here, so that both sides have the same result. */
	peer->apart = core_save(&peer->cores) && core_keep(&peer->cores, true);
	peer_keep_no_more(peer);
	fflush(NULL);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0)
		peer->child = fork();
	if (pair[0] >= 0 && peer->child == 0) {
		close(pair[0]);
		be_server(peer, listener, pair[1]);
	}
	if (pair[0] < 0 || peer->child < 0) {
		snprintf(why, SOCK_WHY, "cannot start a process for the server: %s",
			 strerror(errno));
		peer->child = 0;
	}
	close(listener);
	if (pair[1] >= 0)
		close(pair[1]);
	peer->control = pair[0];
	return peer->child > 0 ? 0 : -1;
}

int peer_connect(struct peer *peer, const struct sock_address *address, char *why)
{
	char hello[PEER_ORDER_B];
	*peer = (struct peer){.address = *address, .control = -1};
	int fd = sock_connect(address, OPEN_S, why);
	if (fd < 0)
		return -1;
	sock_prepare(fd, false);
	memset(hello, ' ', PEER_ORDER_B);
	memcpy(hello, HELLO, strlen(HELLO));
	if (!ask(fd, hello, why)) {
		close(fd);
		return -1;
	}
	peer->control = fd;
	return 0;
}

static int open_pair(const struct peer *peer, char *why)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) {
		snprintf(why, SOCK_WHY, "cannot create a pair of Unix sockets: %s",
			 strerror(errno));
		return -1;
	}
	enum sock_code code = sock_send_fd(peer->control, pair[1]);
	close(pair[1]);
	if (code == SOCK_OK)
		return pair[0];
	close(pair[0]);
	snprintf(why, SOCK_WHY, "the server has ended (start it again)");
	return -1;
}

int peer_open(const struct peer *peer, bool over_unix, const struct peer_order *order, char *why)
{
	char text[PEER_ORDER_B];
	int fd = over_unix ? open_pair(peer, why) : sock_connect(&peer->address, OPEN_S, why);
	if (fd < 0)
		return -1;
	sock_prepare(fd, false); /* the socket sends the order without delay */
	peer_order_write(order, text);
	if (!ask(fd, text, why)) {
		close(fd);
		return -1;
	}
	sock_prepare(fd, order->nagle);
	return fd;
}

void peer_keep_apart(const struct peer *peer)
{
	if (peer->apart)
		core_keep(&peer->cores, true);
}

void peer_keep_no_more(const struct peer *peer)
{
	if (peer->apart)
		core_restore(&peer->cores);
}

void peer_stop(struct peer *peer)
{
	if (peer->control >= 0)
		close(peer->control);
	peer->control = -1;
	if (peer->child > 0) {
		int status;
		while (waitpid(peer->child, &status, 0) < 0 && errno == EINTR)
			;
	}
	peer->child = 0;
}
