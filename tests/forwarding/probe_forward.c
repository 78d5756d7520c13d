/* SPDX-License-Identifier: Apache-2.0 */
/* Probe R1: calls forwarded to a second process. The first kind is a call without GPU work, with
 * arguments. In mode sync it waits for each answer. Otherwise the sample is the time of one of
 * CALLS_COUNT calls that do not wait, including a final wait. The second kind is a copy to the GPU,
 * measured until its data have arrived. */
#include "calib/probe/probe.h"
#include "tests/forwarding/forward.h"

static struct probe_gpu *far; /* the forwarded GPU; NULL: none is open */

#define CALLS_COUNT 64

static void add_point(struct plan *plan, const char *transport, const char *mode, double argument_B,
		      double payload_B, int batch, bool held_out)
{
	plan_add(plan, &(struct plan_point){
			       .is = {{"transport", transport},
				      {"what", payload_B > 0 ? "payload" : "call"},
				      {"mode", mode}},
			       .x = {{"argument_B", argument_B},
				     {"payload_B", payload_B},
				     {"batch", batch}},
			       .interval_ratio = 0.02,
			       .held_out = held_out,
		       });
}

static void add(const struct bench *bench, struct plan *plan, struct plan_random *random)
{
	static const char *const transports[] = {"shm", "tcp"};
	static const double arguments_B[] = {64, 128, 256, 512, 1024};
	for (size_t t = 0; t < sizeof(transports) / sizeof(transports[0]); t++)
		for (size_t i = 0; i < sizeof(arguments_B) / sizeof(arguments_B[0]); i++) {
			bool held_out = i % 2 == 1;
			add_point(plan, transports[t], "sync", arguments_B[i], 0, 1, held_out);
			add_point(plan, transports[t], "async", arguments_B[i], 0, 1, held_out);
		}
	for (int batch = 1; batch <= CALLS_COUNT; batch *= 2)
		add_point(plan, "shm", "batched", 64, 0, batch, batch == 8);
	for (double size_B = 4096; size_B <= 0x1p26; size_B *= bench->full ? 2 : 4)
		add_point(plan, "tcp", "sync", 0, size_B, 1, size_B == 0x1p18 || size_B == 0x1p22);
}

static int begin(struct bench *bench, const struct plan_point *point)
{
	const struct forward_options options = {
		.transport = (enum forward_transport)forward_transport_from(
			plan_point_word(point, "transport")),
		.mode = (enum forward_mode)forward_mode_from(plan_point_word(point, "mode")),
		.batch = (size_t)plan_point_number(point, "batch", 1),
	};
	return forward_open(bench->gpu, &options, &far, bench->why);
}

static int sample(struct bench *bench, const struct plan_point *point, double *value)
{
	const struct gpu_call sync = {.kind = GPU_SYNC};
	struct gpu_call call = {.kind = GPU_GET};
	size_t payload_B = (size_t)plan_point_number(point, "payload_B", 0), count = 1;
	bool waits = strcmp(plan_point_word(point, "mode"), "sync") == 0;
	call.argument_B = (size_t)plan_point_number(point, "argument_B", 0);
	if (payload_B > 0)
		call = (struct gpu_call){
			.kind = GPU_COPY, .direction = GPU_H2D, .size_B = payload_B};
	else if (!waits)
		count = CALLS_COUNT;
	int code = GPU_OK;
	double start_s = far->api->now_s(far);
	for (size_t i = 0; i < count && code == GPU_OK; i++)
		code = far->api->call(far, &call);
	if (!waits && code == GPU_OK)
		code = far->api->call(far, &sync);
	*value = bench_since_s(bench, far, start_s) / (double)count;
	return bench_code(bench, far, code);
}

static void end(struct bench *bench)
{
	forward_close(&far);
}

const struct probe probe_forward = {
	.id = "R1",
	.test = "forward",
	.help = "calls and payloads forwarded to a second process",
	.add = add,
	.begin = begin,
	.sample = sample,
	.end = end,
	.start = forwarder_start,
	.stop = forwarder_stop,
};
