/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the requests that Nagle's algorithm and delayed acknowledgements stall, on real TCP. A
 * request is two writes without TCP_NODELAY. docs/models/tcp.md has what it printed.
 *
 *   two_writes serve ADDRESS PORT HEADER BODY ANSWER WAIT_MS
 *       reads requests of one connection and answers each WAIT_MS later
 *   two_writes ask ADDRESS PORT HEADER BODY ANSWER COUNT
 *       prints how many of COUNT requests took longer than 20 ms, and an S for each of the first
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER_B = 1 << 20, SHOWN = 20 };
static char buffer[BUFFER_B];

/* Reads or writes size bytes, and ends the program when the connection has ended. */
static void pass(ssize_t (*call)(int, char *, size_t), int fd, long size)
{
	while (size > 0) {
		ssize_t n = call(fd, buffer, (size_t)size);
		if (n <= 0)
			exit(0);
		size -= n;
	}
}

static ssize_t reads(int fd, char *data, size_t size)
{
	return read(fd, data, size);
}

static ssize_t writes(int fd, char *data, size_t size)
{
	return write(fd, data, size);
}

static double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void ask(int fd, const long sizes[3], long count)
{
	char shown[SHOWN + 1] = "";
	long stalls = 0;
	for (long i = 0; i < count; i++) {
		double begun_s = now_s();
		pass(writes, fd, sizes[0]);
		pass(writes, fd, sizes[1]);
		pass(reads, fd, sizes[2]);
		int stalled = now_s() - begun_s > 20e-3;
		stalls += stalled;
		if (i < SHOWN)
			shown[i] = stalled ? 'S' : '.';
	}
	printf("%ld of %ld requests stalled: %s\n", stalls, count, shown);
}

int main(int argc, char **argv)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	struct sockaddr_in address = {.sin_family = AF_INET};
	long sizes[3] = {0};
	for (int i = 0; argc == 8 && i < 3; i++)
		sizes[i] = atol(argv[4 + i]);
	if (argc != 8 || sizes[0] > BUFFER_B || sizes[1] > BUFFER_B || sizes[2] > BUFFER_B) {
		fprintf(stderr, "two_writes: write serve or ask and six values of up to %d B\n",
			BUFFER_B);
		return 2;
	}
	address.sin_addr.s_addr = inet_addr(argv[2]);
	address.sin_port = htons((unsigned short)atoi(argv[3]));
	if (strcmp(argv[1], "ask") == 0) {
		if (connect(fd, (struct sockaddr *)&address, sizeof address)) {
			perror("two_writes: connect");
			return 1;
		}
		ask(fd, sizes, atol(argv[7]));
		return 0;
	}
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(fd, (struct sockaddr *)&address, sizeof address) || listen(fd, 1)) {
		perror("two_writes: listen");
		return 1;
	}
	int peer = accept(fd, NULL, NULL);
	long wait_ms = atol(argv[7]);
	struct timespec wait = {wait_ms / 1000, wait_ms % 1000 * 1000000};
	for (;;) {
		pass(reads, peer, sizes[0]);
		pass(reads, peer, sizes[1]);
		if (wait_ms > 0)
			nanosleep(&wait, NULL);
		pass(writes, peer, sizes[2]);
	}
}
