/* SPDX-License-Identifier: Apache-2.0 */
/* The server of the forwarder: unpacks messages and makes their calls on its own device. It serves
 * only its parent process and ends with it. */
#include "tests/forwarding/forward.h"

#include "tests/forwarding/channel.h"
#include "tests/spin.h"

#define BODY_MOST_B ((FORWARD_BATCH_MOST + 1) * (sizeof(struct forward_call) + GPU_ARGUMENT))

struct forwarding_server {
	const struct forward_server *ways;
	const struct gpu_api *device;
	const struct gpu_options *options;
	struct probe_gpu *gpu; /* opened by the first call */
	char why[GPU_WHY];
	unsigned char *body, *payload;
	double free_s; /* time until which the link back is occupied */
};

static int do_call(struct forwarding_server *server, const struct forward_call *record,
		   const unsigned char *arguments)
{
	const struct gpu_call call = {
		.kind = (enum gpu_call_kind)record->kind,
		.event = record->event,
		.direction = (enum gpu_direction)record->direction,
		.pageable = record->pageable != 0,
		.argument_B = record->argument_B,
		.size_B = (size_t)record->size_B,
		.spin_s = record->spin_s,
	};
	/* Reads the arguments, as a real server does to pass them on. */
	unsigned sum = 0;
	for (size_t i = 0; i < record->argument_B; i += 64)
		sum += arguments[i];
	if (record->kind >= GPU_CALL_KINDS || record->direction > GPU_D2H || record->event < 0 ||
	    record->event >= GPU_EVENTS || record->size_B > FORWARD_PAYLOAD_MOST ||
	    sum > record->argument_B * 255u)
		return gpu_fail(server->why, GPU_FAILED, "the forwarder received an invalid call");
	int code = server->gpu->api->call(server->gpu, &call);
	if (code != GPU_OK)
		snprintf(server->why, GPU_WHY, "%s", server->gpu->why);
	return code;
}

static int do_calls(struct forwarding_server *server, const struct forward_message *message,
		    size_t *answer_B)
{
	const unsigned char *place = server->body, *end = server->body + message->body_B;
	int code = GPU_OK;
	*answer_B = 0;
	if (!server->gpu) {
		struct gpu_options options = *server->options;
		options.buffer_B = FORWARD_PAYLOAD_MOST;
		code = server->device->open(&options, &server->gpu, server->why);
		if (code != GPU_OK) { /* for example a GPU that allows only one process */
			server->gpu = NULL;
			code = GPU_WAIVED;
		}
	}
	for (uint32_t i = 0; code == GPU_OK && i < message->calls_count; i++) {
		struct forward_call record;
		if ((size_t)(end - place) < sizeof(record))
			return GPU_FAILED;
		memcpy(&record, place, sizeof(record));
		place += sizeof(record);
		if (record.argument_B > (size_t)(end - place))
			return GPU_FAILED;
		code = do_call(server, &record, place);
		place += record.argument_B;
		if (code == GPU_OK && record.kind == GPU_COPY && record.direction == GPU_D2H)
			*answer_B = (size_t)record.size_B;
	}
	return code;
}

static int answer(struct forwarding_server *server, struct probe_channel *channel,
		  const struct forward_message *message, int code, size_t payload_B)
{
	struct forward_answer head = {
		.code = code,
		.why_B = code == GPU_OK ? 0 : (uint32_t)strlen(server->why),
		.payload_B = payload_B,
	};
	const struct channel_part parts[] = {
		{&head, sizeof(head)}, {server->why, head.why_B}, {server->payload, payload_B}};
	head.deliver_s = forward_delivery_s(&server->free_s, sizeof(head) + payload_B,
					    message->latency_s, message->rate_Bps, clock_now_s());
	return channel_send(channel, parts, 3);
}

/* Serves until the channel ends or its client leaves. Returns 0, or -1 after an error. */
static int serve(struct forwarding_server *server, struct probe_channel *channel)
{
	bool inner = channel->socket != server->ways->control;
	struct probe_channel rings = {
		.socket = -1, .in = server->ways->in, .out = server->ways->out};
	struct probe_channel tcp = {.socket = server->ways->tcp};
	for (;;) {
		struct forward_message message;
		size_t answer_B;
		int code = channel_receive(channel, &message, sizeof(message),
					   inner ? CHANNEL_WAIT_S : -1);
		if (code != 0)
			return code > 0 ? 0 : -1;
		if (message.command == FORWARD_LEAVE)
			return 0;
		if (message.command != FORWARD_CALLS) {
			if (inner || (message.command == FORWARD_TO_SHM && !rings.in))
				return -1;
			code = serve(server, message.command == FORWARD_TO_SHM ? &rings : &tcp);
			if (code != 0)
				return code;
			continue;
		}
		if (message.body_B > BODY_MOST_B || message.payload_B > FORWARD_PAYLOAD_MOST ||
		    channel_receive(channel, server->body, (size_t)message.body_B,
				    CHANNEL_WAIT_S) != 0 ||
		    channel_receive(channel, server->payload, (size_t)message.payload_B,
				    CHANNEL_WAIT_S) != 0)
			return -1;
		clock_spin_until(message.deliver_s);
		code = do_calls(server, &message, &answer_B);
		/* An error of a call without an answer ends the service. */
		if (message.answer == 0 && code != GPU_OK)
			return -1;
		if (message.answer != 0 && answer(server, channel, &message, code, answer_B) != 0)
			return -1;
	}
}

int forward_serve(const struct forward_server *ways, const struct gpu_api *device,
		  const struct gpu_options *options)
{
	struct forwarding_server server = {.ways = ways, .device = device, .options = options};
	struct probe_channel control = {.socket = ways->control};
	int code = -1;
	server.body = malloc(BODY_MOST_B);
	server.payload = calloc(1, FORWARD_PAYLOAD_MOST);
	if (server.body && server.payload)
		code = serve(&server, &control);
	if (server.gpu)
		server.device->close(server.gpu);
	free(server.body);
	free(server.payload);
	return code == 0 ? 0 : 1;
}
