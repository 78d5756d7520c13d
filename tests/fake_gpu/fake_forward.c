/* SPDX-License-Identifier: Apache-2.0 */
/* The forwarded fake device: a second fake device whose clock advances with the messages that reach
 * it. There is no process and no socket; the cost of each step is planted. */
#include "tests/fake_gpu/fake.h"
#include "tests/forwarding/forward.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct far_fake {
	struct probe_gpu gpu;
	struct fake *client, *server;
	struct forward_options options;
	double way_s; /* transport time of a message, without added latency */
	/* time until which the emulated link is occupied, for each direction */
	double to_s, from_s;
	struct gpu_call batch[FORWARD_BATCH_MOST + 1];
	size_t batch_count, batch_B;
};

/* Moves a message that `from` has prepared. `to` gets it after the transport time, or at its
 * delivery time on the emulated link if that is later, as with the real forwarder. The link carries
 * the bytes while they are produced. */
static void move(struct far_fake *far, struct fake *from, struct fake *to, double *link_s,
		 size_t size_B)
{
	double deliver_s = forward_delivery_s(link_s, size_B, far->options.latency_s,
					      far->options.rate_Bps, fake_now_s(from));
	fake_spend(from, far->client->planted.forward_byte_spB * (double)size_B);
	fake_advance_to(to, fake_now_s(from) + far->way_s);
	fake_advance_to(to, deliver_s);
}

static int flush(struct far_fake *far, size_t payload_B, bool answer)
{
	const struct planted *planted = &far->client->planted;
	size_t size_B = sizeof(struct forward_message) + far->batch_B + payload_B;
	size_t answer_B = sizeof(struct forward_answer);
	int code = GPU_OK;
	fake_spend(far->client, planted->forward_client_s);
	move(far, far->client, far->server, &far->to_s, size_B);
	for (size_t i = 0; i < far->batch_count && code == GPU_OK; i++) {
		const struct gpu_call *call = &far->batch[i];
		fake_spend(far->server, planted->forward_server_s);
		code = far->server->gpu.api->call(&far->server->gpu, call);
		if (call->kind == GPU_COPY && call->direction == GPU_D2H)
			answer_B += call->size_B;
	}
	far->batch_count = far->batch_B = 0;
	if (answer && code == GPU_OK) {
		move(far, far->server, far->client, &far->from_s, answer_B);
		fake_spend(far->client, planted->forward_answer_s);
	}
	if (code != GPU_OK)
		memcpy(far->gpu.why, far->server->gpu.why, GPU_WHY);
	return code;
}

static int far_call(struct probe_gpu *gpu, const struct gpu_call *call)
{
	struct far_fake *far = (struct far_fake *)gpu;
	size_t payload_B = call->kind == GPU_COPY && call->direction == GPU_H2D ? call->size_B : 0;
	fake_spend(far->client, far->client->planted.forward_call_s);
	far->batch[far->batch_count++] = *call;
	far->batch_B += sizeof(struct forward_call) + call->argument_B;
	bool waits = forward_waits(far->options.mode, call);
	if (!waits && payload_B == 0 && far->options.mode == FORWARD_BATCHED &&
	    far->batch_count < far->options.batch)
		return GPU_OK;
	return flush(far, payload_B, waits);
}

static double far_now_s(struct probe_gpu *gpu)
{
	struct probe_gpu *client = &((struct far_fake *)gpu)->client->gpu;
	return client->api->now_s(client);
}

static void far_close(struct probe_gpu *gpu)
{
	struct far_fake *far = (struct far_fake *)gpu;
	far->server->gpu.api->close(&far->server->gpu);
	free(far);
}

static const struct gpu_api far_api = {
	.close = far_close,
	.now_s = far_now_s,
	.call = far_call,
};

int fake_forward_open(struct probe_gpu *local, const struct forward_options *options,
		      struct probe_gpu **gpu, char *why)
{
	struct far_fake *far = calloc(1, sizeof(*far));
	if (!far || fake_new(false, &far->server, why) != GPU_OK) {
		snprintf(why, GPU_WHY, "out of memory");
		free(far);
		return GPU_FAILED;
	}
	far->gpu.api = &far_api;
	far->client = (struct fake *)local;
	far->options = *options;
	far->server->gpu.api = local->api;
	far->server->planted = far->client->planted;
	far->server->random.state = plan_random_next(&far->client->random);
	fake_advance_to(far->server, fake_now_s(far->client));
	far->way_s = options->transport == FORWARD_SHM ? far->client->planted.forward_shm_s
						       : far->client->planted.forward_tcp_s;
	*gpu = &far->gpu;
	return GPU_OK;
}
