/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/tcp_probe/peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HELLO  "farwire-peer 1 hello"
#define SERVE  "farwire-peer 1 serve "
#define OPEN_S 5.0

/* ---- orders ---- */

static void peer_order_write(const struct peer_order *order, char text[PEER_ORDER_B])
{
	int length = snprintf(text, PEER_ORDER_B, SERVE "%zu %zu %zu", order->count, order->size_B,
			      order->reply_B);
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
	memcpy(line, text, PEER_ORDER_B);
	const char *at = line + strlen(SERVE);
	if (strncmp(line, SERVE, strlen(SERVE)) != 0 ||
	    !take(&at, PEER_COUNT_MOST, &order->count) ||
	    !take(&at, PEER_SIZE_MOST_B, &order->size_B) ||
	    !take(&at, PEER_SIZE_MOST_B, &order->reply_B))
		return false;
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
		 code == SOCK_OK      ? "is not `farwire-tcp --server` (start it there)"
		 : code == SOCK_ENDED ? "refused the connection, because it serves another peer or "
					"has other limits"
		 : code == SOCK_LATE  ? "did not answer in time (check that it runs)"
				      : "could not be read: the connection to it failed");
	return false;
}

/* ---- starting ---- */

int peer_connect(struct peer *peer, const struct sock_address *address, char *why)
{
	char hello[PEER_ORDER_B];
	*peer = (struct peer){.address = *address, .control = -1};
	int fd = sock_connect(address, OPEN_S, why);
	if (fd < 0)
		return -1;
	sock_prepare(fd);
	memset(hello, ' ', PEER_ORDER_B);
	memcpy(hello, HELLO, strlen(HELLO));
	if (!ask(fd, hello, why)) {
		close(fd);
		return -1;
	}
	peer->control = fd;
	return 0;
}

int peer_open(const struct peer *peer, const struct peer_order *order, char *why)
{
	char text[PEER_ORDER_B];
	int fd = sock_connect(&peer->address, OPEN_S, why);
	if (fd < 0)
		return -1;
	sock_prepare(fd);
	peer_order_write(order, text);
	if (!ask(fd, text, why)) {
		close(fd);
		return -1;
	}
	return fd;
}
