/* SPDX-License-Identifier: Apache-2.0 */
/* A small CUDA remoting runtime over TCP for the live check (tests/live/measure). It shares no code
 * with the simulator.
 *
 *   forwarder serve ADDRESS PORT              executes calls of one connection after the other,
 *                                             and prints its port; for port 0 a free one
 *   forwarder run PROGRAM POLICY STEPS ADDRESS PORT
 *                                             prints the duration of each step in seconds
 *   forwarder record PROGRAM STEPS            runs locally and prints a call file (docs/formats.md)
 *   forwarder distance CORE CORE              prints the nanoseconds in which a cache line goes
 * from one core to the other and back
 *
 * The GPU is virtual: a time at which its queue becomes empty. A kernel moves this time by its
 * duration, and a copy by 10 us and its bytes at 12 GB/s. A call that waits for the GPU spins until
 * then. The queue has 1,024 places. A request is 64 bytes. The server's thread reads a message,
 * executes its calls, and reads the next message. A call that is answered holds the connection
 * until its answer is there. Payloads are sent whole after their request or answer. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { QUEUE_COUNT = 1024, BATCH_COUNT = 16, MARKS_MAX = 4096, CALLS_MAX = 1 << 20 };
enum { COPY_START_NS = 10000, COPY_B_PER_US = 12000, PAYLOAD_MAX_B = 64 << 20 };
enum { POLL_SLEEP_NS = 50000 };

enum kind { LAUNCH, H2D, D2H, SYNCHRONIZE, GET_LAST_ERROR, MALLOC, EVENT_RECORD, EVENT_QUERY };
static const char *const names[] = {"cudaLaunchKernel",      "cudaMemcpy",       "cudaMemcpy",
				    "cudaStreamSynchronize", "cudaGetLastError", "cudaMalloc",
				    "cudaEventRecord",       "cudaEventQuery"};

struct request {
	uint32_t kind, batch; /* batch: requests of this message; 0 in all but the first */
	uint64_t size_B;
	int64_t kernel_ns;
	uint32_t answered;
	char unused[36];
};
struct answer {
	uint64_t ready, size_B;
	char unused[48];
};

static int64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void spin_until(int64_t end_ns)
{
	while (now_ns() < end_ns)
		;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* ---- the virtual GPU ---- */

struct gpu {
	int64_t free_ns, event_ns;
	int64_t ends_ns[QUEUE_COUNT];
	size_t launched;
};

static void gpu_add(struct gpu *gpu, int64_t work_ns)
{
	int64_t *end_ns = &gpu->ends_ns[gpu->launched++ % QUEUE_COUNT];
	spin_until(*end_ns);
	int64_t t_ns = now_ns();
	gpu->free_ns = (gpu->free_ns > t_ns ? gpu->free_ns : t_ns) + work_ns;
	*end_ns = gpu->free_ns;
}

/* Executes a call. Returns whether an event that was asked for has happened. */
static bool gpu_call(struct gpu *gpu, const struct request *request)
{
	switch (request->kind) {
	case LAUNCH:
		gpu_add(gpu, request->kernel_ns);
		break;
	case H2D:
	case D2H:
		gpu_add(gpu, COPY_START_NS + (int64_t)(request->size_B * 1000 / COPY_B_PER_US));
		spin_until(gpu->free_ns);
		break;
	case SYNCHRONIZE:
		spin_until(gpu->free_ns);
		break;
	case EVENT_RECORD:
		gpu->event_ns = gpu->free_ns;
		break;
	case EVENT_QUERY:
		return now_ns() >= gpu->event_ns;
	default:
		break;
	}
	return true;
}

/* ---- sockets ---- */

static struct sockaddr_in address_of(const char *address, const char *port)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
	if (inet_pton(AF_INET, address, &in.sin_addr) != 1)
		fail("the address");
	return in;
}

static void no_delay(int fd)
{
	int on = 1;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/* Returns false where the other end is gone. */
static bool send_all(int fd, const void *data, size_t size_B, int flags)
{
	for (const char *at = data; size_B > 0;) {
		ssize_t sent_B = send(fd, at, size_B, MSG_NOSIGNAL | flags);
		if (sent_B <= 0)
			return false;
		at += sent_B;
		size_B -= (size_t)sent_B;
	}
	return true;
}

/* Returns false at the end of the connection. */
static bool receive_all(int fd, void *data, size_t size_B)
{
	for (char *at = data; size_B > 0;) {
		ssize_t got_B = recv(fd, at, size_B, MSG_WAITALL);
		if (got_B <= 0)
			return false;
		at += got_B;
		size_B -= (size_t)got_B;
	}
	return true;
}

/* ---- the server ---- */

static bool serve_message(int fd, struct gpu *gpu, char *payload)
{
	struct request requests[BATCH_COUNT];
	if (!receive_all(fd, requests, sizeof requests[0]))
		return false;
	size_t count = requests[0].batch;
	if (count < 1 || count > BATCH_COUNT)
		return false;
	if (count > 1 && !receive_all(fd, requests + 1, (count - 1) * sizeof requests[0]))
		return false;
	for (size_t i = 0; i < count; i++) {
		const struct request *request = &requests[i];
		if (request->size_B > PAYLOAD_MAX_B ||
		    (request->kind == H2D && !receive_all(fd, payload, request->size_B)))
			return false;
		struct answer answer = {.ready = gpu_call(gpu, request)};
		bool data = request->kind == D2H;
		if (request->answered && !send_all(fd, &answer, sizeof answer, data ? MSG_MORE : 0))
			return false;
		if (data && !send_all(fd, payload, request->size_B, 0))
			return false;
	}
	return true;
}

static void serve(const char *address, const char *port)
{
	struct sockaddr_in in = address_of(address, port);
	socklen_t in_B = sizeof in;
	int on = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(listener, (struct sockaddr *)&in, sizeof in) != 0 || listen(listener, 1) != 0 ||
	    getsockname(listener, (struct sockaddr *)&in, &in_B) != 0)
		fail("bind");
	printf("%d\n", ntohs(in.sin_port));
	fflush(stdout);
	char *payload = calloc(1, PAYLOAD_MAX_B);
	for (int fd; payload && (fd = accept(listener, NULL, NULL)) >= 0; close(fd)) {
		struct gpu gpu = {0};
		no_delay(fd);
		while (serve_message(fd, &gpu, payload))
			;
	}
	fail("accept");
}

/* ---- the client ---- */

enum policy { SYNC, ASYNC, BATCHED, LOCAL_ANSWERS, POLICY_COUNT };
static const char *const policies[] = {"synchronous", "asynchronous", "batched", "local"};

struct recorded {
	int64_t start_ns, end_ns;
	struct request request;
	bool ready;
	int thread;
};

static struct client {
	int fd; /* < 0: the GPU is local, and calls are recorded */
	enum policy policy;
	pthread_mutex_t lock;
	struct request buffer[BATCH_COUNT];
	uint32_t buffered;
	struct gpu gpu;
	char *payload;
	struct recorded *calls;
	size_t call_count;
	int64_t marks_ns[MARKS_MAX];
	sem_t recorded, polled;
} client = {.fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER};

static void flush(bool more)
{
	if (client.buffered == 0)
		return;
	client.buffer[0].batch = client.buffered;
	if (!send_all(client.fd, client.buffer, client.buffered * sizeof client.buffer[0],
		      more ? MSG_MORE : 0))
		fail("send");
	client.buffered = 0;
}

static bool forward(struct request request)
{
	bool sent = request.kind == LAUNCH || request.kind == EVENT_RECORD;
	if (client.policy == LOCAL_ANSWERS && request.kind == GET_LAST_ERROR)
		return true;
	request.answered = client.policy == SYNC || !sent;
	request.batch = 0;
	client.buffer[client.buffered++] = request;
	if (client.policy == BATCHED && !request.answered && client.buffered < BATCH_COUNT)
		return true;
	flush(request.kind == H2D);
	if (request.kind == H2D && !send_all(client.fd, client.payload, request.size_B, 0))
		fail("send");
	struct answer answer = {.ready = true};
	if (request.answered && !receive_all(client.fd, &answer, sizeof answer))
		fail("the answer");
	if (request.kind == D2H && !receive_all(client.fd, client.payload, request.size_B))
		fail("the data");
	return answer.ready;
}

static bool call(int thread, enum kind kind, uint64_t size_B, int64_t kernel_ns)
{
	struct request request = {.kind = kind, .size_B = size_B, .kernel_ns = kernel_ns};
	pthread_mutex_lock(&client.lock);
	int64_t start_ns = now_ns();
	bool ready = client.fd >= 0 ? forward(request) : gpu_call(&client.gpu, &request);
	if (client.fd < 0 && client.call_count < CALLS_MAX)
		client.calls[client.call_count++] =
			(struct recorded){start_ns, now_ns(), request, ready, thread};
	pthread_mutex_unlock(&client.lock);
	return ready;
}

static void think(int64_t ns)
{
	spin_until(now_ns() + ns);
}

/* ---- the programs ---- */

static void round_trips(void)
{
	for (int i = 0; i < 100; i++) {
		call(0, MALLOC, 0, 0);
		call(0, LAUNCH, 0, 5000);
		call(0, SYNCHRONIZE, 0, 0);
	}
}

static void flood(int count, int64_t kernel_ns)
{
	for (int i = 0; i < count; i++)
		call(0, LAUNCH, 0, kernel_ns);
	call(0, SYNCHRONIZE, 0, 0);
}

static void flood_small(void)
{
	flood(1000, 1000);
}

static void flood_large(void)
{
	flood(600, 30000);
}

static void copies(void)
{
	for (int i = 0; i < 4; i++) {
		call(0, H2D, 2 << 20, 0);
		call(0, LAUNCH, 0, 200000);
		call(0, D2H, 1 << 20, 0);
	}
}

static void training(void)
{
	call(0, H2D, 1 << 20, 0);
	for (int i = 0; i < 200; i++) {
		call(0, LAUNCH, 0, i % 4 ? 20000 : 100000);
		think(5000);
		if (i % 10 == 0)
			call(0, GET_LAST_ERROR, 0, 0);
	}
	call(0, D2H, 4, 0);
	call(0, SYNCHRONIZE, 0, 0);
}

static void polls(void)
{
	for (int i = 0; i < 100; i++) {
		call(0, LAUNCH, 0, 40000);
		think(10000);
		if (i == 20) {
			call(0, EVENT_RECORD, 0, 0);
			sem_post(&client.recorded);
		}
	}
	sem_wait(&client.polled);
	call(0, D2H, 4096, 0);
}

static void *poller(void *steps)
{
	for (int i = 0; i < *(int *)steps; i++) {
		sem_wait(&client.recorded);
		while (!call(1, EVENT_QUERY, 0, 0))
			nanosleep(&(struct timespec){.tv_nsec = POLL_SLEEP_NS}, NULL);
		sem_post(&client.polled);
	}
	return NULL;
}

static const struct program {
	const char *name;
	void (*step)(void);
} programs[] = {{"round_trips", round_trips}, {"flood_small", flood_small},
		{"flood_large", flood_large}, {"copies", copies},
		{"training", training},       {"polls", polls}};

static void play(const char *name, int steps)
{
	const struct program *program = programs;
	while (program < programs + sizeof programs / sizeof programs[0] &&
	       strcmp(program->name, name) != 0)
		program++;
	if (program == programs + sizeof programs / sizeof programs[0] || steps < 1 ||
	    steps >= MARKS_MAX)
		fail("the program or the number of steps");
	pthread_t thread;
	bool second = program->step == polls;
	sem_init(&client.recorded, 0, 0);
	sem_init(&client.polled, 0, 0);
	client.payload = calloc(1, PAYLOAD_MAX_B);
	client.calls = malloc(CALLS_MAX * sizeof *client.calls);
	if (!client.payload || !client.calls ||
	    (second && pthread_create(&thread, NULL, poller, &steps) != 0))
		fail("memory");
	memset(client.payload, 1, PAYLOAD_MAX_B / 8);
	for (int i = 0; i <= steps; i++) {
		client.marks_ns[i] = now_ns();
		if (i < steps)
			program->step();
	}
	if (second)
		pthread_join(thread, NULL);
}

/* ---- output ---- */

static void print_call(const struct recorded *c, int64_t zero_ns)
{
	const struct request *request = &c->request;
	printf("{\"thread\":%d,\"call\":\"%s\",\"start_s\":%.9f,\"end_s\":%.9f,\"stream\":7",
	       c->thread, names[request->kind], 1e-9 * (double)(c->start_ns - zero_ns),
	       1e-9 * (double)(c->end_ns - zero_ns));
	if (request->kind == LAUNCH)
		printf(",\"kernel_s\":%.9f", 1e-9 * (double)request->kernel_ns);
	if (request->kind == H2D || request->kind == D2H)
		printf(",\"copy\":\"%s\",\"size_B\":%llu,\"memory\":\"pinned\",\"copy_s\":%.9f",
		       request->kind == H2D ? "h2d" : "d2h", (unsigned long long)request->size_B,
		       1e-9 * COPY_START_NS + (double)request->size_B / COPY_B_PER_US * 1e-6);
	if (request->kind == EVENT_RECORD || request->kind == EVENT_QUERY)
		printf(",\"event\":1");
	if (request->kind == EVENT_QUERY)
		printf(",\"ready\":%s", c->ready ? "true" : "false");
	printf("}\n");
}

static void print_calls(const char *name, int steps)
{
	int64_t zero_ns = client.marks_ns[0];
	printf("{\"format\":\"farwire-calls\",\"version\":1,\"tool\":\"tests/live/forwarder\","
	       "\"program\":\"%s\",\"gpu\":\"virtual\"}\n",
	       name);
	for (int i = 0; i <= steps; i++)
		printf("{\"step\":%d,\"thread\":0,\"t_s\":%.9f}\n", i,
		       1e-9 * (double)(client.marks_ns[i] - zero_ns));
	for (size_t i = 0; i < client.call_count; i++)
		print_call(&client.calls[i], zero_ns);
	printf("{\"end\":true,\"lines\":%zu}\n", client.call_count + (size_t)steps + 1);
}

static void run(const char *const *arg)
{
	int steps = atoi(arg[2]);
	struct sockaddr_in in = address_of(arg[3], arg[4]);
	while (client.policy < POLICY_COUNT && strcmp(policies[client.policy], arg[1]) != 0)
		client.policy++;
	if (client.policy == POLICY_COUNT)
		fail("the policy");
	client.fd = socket(AF_INET, SOCK_STREAM, 0);
	no_delay(client.fd);
	if (connect(client.fd, (struct sockaddr *)&in, sizeof in) != 0)
		fail("connect");
	play(arg[0], steps);
	for (int i = 0; i < steps; i++)
		printf("%.9f\n", 1e-9 * (double)(client.marks_ns[i + 1] - client.marks_ns[i]));
}

/* ---- distance between two cores ---- */

enum { BOUNCES = 20000 };
static _Atomic int ball;

static void bounce(int core, int first)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(core, &set);
	if (pthread_setaffinity_np(pthread_self(), sizeof set, &set) != 0)
		fail("the core");
	for (int i = first; i < BOUNCES; i += 2) {
		while (ball != i)
			;
		ball = i + 1;
	}
}

static void *bounce_back(void *core)
{
	bounce(*(int *)core, 1);
	return NULL;
}

static void print_distance(int core, int other)
{
	pthread_t thread;
	int64_t start_ns = now_ns();
	if (pthread_create(&thread, NULL, bounce_back, &other) != 0)
		fail("the thread");
	bounce(core, 0);
	pthread_join(thread, NULL);
	printf("%.0f\n", 2 * (double)(now_ns() - start_ns) / BOUNCES);
}

int main(int argc, char **argv)
{
	const char *const *arg = (const char *const *)argv + 2;
	const char *verb = argc > 1 ? argv[1] : "";
	if (strcmp(verb, "serve") == 0 && argc == 4) {
		serve(arg[0], arg[1]);
	} else if (strcmp(verb, "run") == 0 && argc == 7) {
		run(arg);
	} else if (strcmp(verb, "record") == 0 && argc == 4) {
		play(arg[0], atoi(arg[1]));
		print_calls(arg[0], atoi(arg[1]));
	} else if (strcmp(verb, "distance") == 0 && argc == 4) {
		print_distance(atoi(arg[0]), atoi(arg[1]));
	} else {
		fprintf(stderr,
			"usage: forwarder serve|run|record|distance ... (see the source)\n");
		return 2;
	}
	return 0;
}
