/* SPDX-License-Identifier: Apache-2.0 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "tests/forwarding/forward.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/forwarding/channel.h"
#include "tests/spin.h"

#define CALL_MOST_B (sizeof(struct forward_call) + GPU_ARGUMENT)

struct forwarder {
	struct forward_server server; /* `control` and `tcp` are this process's ends */
	pid_t process;
	/* Buffer of all copies. It is written once, because untouched pages all map to one page of
	 * zeros, which would always be in the cache. */
	unsigned char *payload;
};

struct far {
	struct probe_gpu gpu;
	struct forwarder *forwarder;
	struct forward_options options;
	struct probe_channel channel;
	double free_s; /* time until which the emulated link is occupied */
	unsigned char *batch;
	size_t batch_B, batch_count;
	unsigned char *payload; /* belongs to the forwarder */
};

static int index_of(const char *word, const char *const *words, int count)
{
	for (int i = 0; i < count; i++)
		if (strcmp(word, words[i]) == 0)
			return i;
	return -1;
}

int forward_transport_from(const char *word)
{
	static const char *const words[] = {"shm", "tcp"};
	return index_of(word, words, 2);
}

int forward_mode_from(const char *word)
{
	static const char *const words[] = {"sync", "async", "batched"};
	return index_of(word, words, 3);
}

bool forward_waits(enum forward_mode mode, const struct gpu_call *call)
{
	return mode == FORWARD_SYNC || call->kind == GPU_SYNC ||
	       (call->kind == GPU_COPY && call->direction == GPU_D2H);
}

double forward_delivery_s(double *free_s, size_t size_B, double latency_s, double rate_Bps,
			  double now_s)
{
	if (*free_s < now_s)
		*free_s = now_s;
	if (rate_Bps > 0)
		*free_s += (double)size_B / rate_Bps;
	return *free_s + latency_s;
}

/* ---- starting and stopping the second process ---- */

/* Makes rings in memory that a fork shares. Without them the transport shm is not available. */
static void make_rings(struct forward_server *server)
{
	void *place = mmap(NULL, 2 * sizeof(struct ring), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (place == MAP_FAILED)
		return;
	server->in = place;
	server->out = server->in + 1;
}

/* Connects two TCP sockets over the loopback interface: one for this process, and one for the
 * second process. Without them the transport tcp is not available. */
static void make_connection(int ends[2])
{
	struct sockaddr_in address = {.sin_family = AF_INET}, own = {0};
	socklen_t size = sizeof(address);
	const int on = 1;
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ends[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&address, size) == 0 && listen(listener, 1) == 0 &&
	    getsockname(listener, (struct sockaddr *)&address, &size) == 0 &&
	    connect(ends[0], (struct sockaddr *)&address, size) == 0 &&
	    getsockname(ends[0], (struct sockaddr *)&own, &size) == 0)
		ends[1] = accept(listener, (struct sockaddr *)&address, &size);
	if (ends[1] < 0 || address.sin_port != own.sin_port) { /* another program was faster */
		close(ends[0]);
		close(ends[1]);
		ends[0] = ends[1] = -1;
	}
	for (int i = 0; i < 2; i++)
		setsockopt(ends[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	close(listener);
}

static struct forwarder *started; /* NULL: the second process could not be started */
forward_within_fn *forward_within;

void forwarder_start(const struct gpu_api *device, const struct gpu_options *options)
{
	int ends[2], tcp[2] = {-1, -1};
	struct forwarder *forwarder = forward_within ? NULL : calloc(1, sizeof(*forwarder));
	if (!forwarder || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) {
		free(forwarder);
		return;
	}
	make_rings(&forwarder->server);
	make_connection(tcp);
	fflush(NULL);
	forwarder->process = fork();
	if (forwarder->process == 0) {
		close(ends[0]);
		close(tcp[0]);           /* so that the end of the probe closes the connection */
		signal(SIGINT, SIG_IGN); /* the probe ends this process */
		forwarder->server.control = ends[1];
		forwarder->server.tcp = tcp[1];
		_exit(forward_serve(&forwarder->server, device, options));
	}
	close(ends[1]);
	close(tcp[1]);
	forwarder->server.control = ends[0];
	forwarder->server.tcp = tcp[0];
	started = forwarder;
	if (forwarder->process < 0)
		forwarder_stop();
}

void forwarder_stop(void)
{
	const struct timespec pause = {.tv_nsec = 5000000};
	struct forwarder *forwarder = started;
	if (!forwarder)
		return;
	started = NULL;
	close(forwarder->server.control); /* tells the process to end */
	close(forwarder->server.tcp);
	if (forwarder->process > 0) {
		int tries = 0;
		while (waitpid(forwarder->process, NULL, WNOHANG) == 0 && tries++ < 400)
			nanosleep(&pause, NULL);
		if (tries > 400) {
			kill(forwarder->process, SIGKILL);
			waitpid(forwarder->process, NULL, 0);
		}
	}
	if (forwarder->server.in)
		munmap(forwarder->server.in, 2 * sizeof(struct ring));
	free(forwarder->payload);
	free(forwarder);
}

/* ---- calls ---- */

static int broken(struct far *far)
{
	return gpu_fail(far->gpu.why, GPU_FAILED, "the forwarder process stopped answering");
}

static int receive_answer(struct far *far)
{
	struct forward_answer answer;
	struct probe_channel *channel = &far->channel;
	if (channel_receive(channel, &answer, sizeof(answer), CHANNEL_WAIT_S) != 0 ||
	    answer.why_B >= GPU_WHY || answer.payload_B > FORWARD_PAYLOAD_MOST ||
	    channel_receive(channel, far->gpu.why, answer.why_B, CHANNEL_WAIT_S) != 0 ||
	    channel_receive(channel, far->payload, (size_t)answer.payload_B, CHANNEL_WAIT_S) != 0)
		return broken(far);
	far->gpu.why[answer.why_B] = '\0';
	clock_spin_until(answer.deliver_s);
	return answer.code;
}

static int flush(struct far *far, size_t payload_B, bool answer)
{
	struct forward_message message = {
		.command = FORWARD_CALLS,
		.calls_count = (uint32_t)far->batch_count,
		.answer = answer,
		.body_B = far->batch_B,
		.payload_B = payload_B,
		.latency_s = far->options.latency_s,
		.rate_Bps = far->options.rate_Bps,
	};
	const struct channel_part parts[] = {
		{&message, sizeof(message)}, {far->batch, far->batch_B}, {far->payload, payload_B}};
	message.deliver_s =
		forward_delivery_s(&far->free_s, sizeof(message) + far->batch_B + payload_B,
				   message.latency_s, message.rate_Bps, clock_now_s());
	far->batch_count = far->batch_B = 0;
	if (channel_send(&far->channel, parts, payload_B > 0 ? 3 : 2) != 0)
		return broken(far);
	return answer ? receive_answer(far) : GPU_OK;
}

static int far_call(struct probe_gpu *gpu, const struct gpu_call *call)
{
	struct far *far = (struct far *)gpu;
	bool copy = call->kind == GPU_COPY;
	size_t payload_B = copy && call->direction == GPU_H2D ? call->size_B : 0;
	if (copy && call->size_B > FORWARD_PAYLOAD_MOST)
		return gpu_fail(gpu->why, GPU_WAIVED, "the payload is too large to be forwarded");
	const struct forward_call record = {
		.kind = (uint16_t)call->kind,
		.direction = (uint16_t)call->direction,
		.pageable = call->pageable,
		.event = call->event,
		.argument_B = (uint32_t)call->argument_B,
		.size_B = call->size_B,
		.spin_s = call->spin_s,
	};
	unsigned char *place = far->batch + far->batch_B;
	memcpy(place, &record, sizeof(record));
	memset(place + sizeof(record), 1, call->argument_B);
	far->batch_B += sizeof(record) + call->argument_B;
	far->batch_count++;
	bool waits = forward_waits(far->options.mode, call);
	if (!waits && payload_B == 0 && far->options.mode == FORWARD_BATCHED &&
	    far->batch_count < far->options.batch)
		return GPU_OK;
	return flush(far, payload_B, waits);
}

static double far_now_s(struct probe_gpu *gpu)
{
	return clock_now_s();
}

/* ---- opening and closing ---- */

static int command(struct far *far, struct probe_channel *channel, enum forward_command what)
{
	const struct forward_message message = {.command = what};
	const struct channel_part part = {&message, sizeof(message)};
	return channel_send(channel, &part, 1) == 0 ? GPU_OK : broken(far);
}

static void far_close(struct probe_gpu *gpu)
{
	struct far *far = (struct far *)gpu;
	if (far->channel.socket != far->forwarder->server.control)
		command(far, &far->channel, FORWARD_LEAVE);
	free(far->batch);
	free(far);
}

static int choose_transport(struct far *far)
{
	struct forwarder *forwarder = far->forwarder;
	struct probe_channel control = {.socket = forwarder->server.control};
	far->channel = control;
	if (far->options.transport == FORWARD_SHM) {
		if (!forwarder->server.in)
			return gpu_fail(far->gpu.why, GPU_WAIVED, "shared memory is not available");
		/* The server's "in" is this process's "out". */
		far->channel = (struct probe_channel){
			.socket = -1, .in = forwarder->server.out, .out = forwarder->server.in};
		return command(far, &control, FORWARD_TO_SHM);
	}
	if (forwarder->server.tcp < 0)
		return gpu_fail(far->gpu.why, GPU_WAIVED, "TCP over loopback is not available");
	far->channel.socket = forwarder->server.tcp;
	return command(far, &control, FORWARD_TO_TCP);
}

static const struct gpu_api far_api = {
	.close = far_close,
	.now_s = far_now_s,
	.call = far_call,
};

static unsigned char *payload_of(struct forwarder *forwarder)
{
	if (!forwarder->payload) {
		forwarder->payload = malloc(FORWARD_PAYLOAD_MOST);
		if (forwarder->payload)
			memset(forwarder->payload, 1, FORWARD_PAYLOAD_MOST);
	}
	return forwarder->payload;
}

int forward_open(struct probe_gpu *local, const struct forward_options *options,
		 struct probe_gpu **gpu, char *why)
{
	struct forwarder *forwarder = started;
	if (forward_within)
		return forward_within(local, options, gpu, why);
	if (!forwarder)
		return gpu_fail(why, GPU_WAIVED, "the second process could not be started");
	struct far *far = calloc(1, sizeof(*far));
	if (far) {
		far->gpu.api = &far_api;
		far->forwarder = forwarder;
		far->options = *options;
		far->batch = malloc((FORWARD_BATCH_MOST + 1) * CALL_MOST_B);
		far->payload = payload_of(forwarder);
	}
	if (!far || !far->batch || !far->payload)
		return gpu_fail(why, GPU_FAILED, "out of memory");
	int code = choose_transport(far);
	if (code == GPU_OK) { /* the second process opens its device now */
		far->options.mode = FORWARD_SYNC;
		code = far_call(&far->gpu, &(struct gpu_call){.kind = GPU_GET});
		far->options.mode = options->mode;
	}
	if (code != GPU_OK) {
		snprintf(why, GPU_WHY, "%s", far->gpu.why);
		far_close(&far->gpu);
	} else {
		*gpu = &far->gpu;
	}
	return code;
}

void forward_close(struct probe_gpu **far)
{
	if (*far)
		(*far)->api->close(*far);
	*far = NULL;
}
