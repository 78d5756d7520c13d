/* SPDX-License-Identifier: Apache-2.0 */
/* Probe V: steps of three small programs, on the local GPU and forwarded over TCP with added
 * latency and limited bandwidth. Every point is held out: they judge the whole simulator. All work
 * is in one stream; docs/calibration.md describes the programs.
 *
 *   launches  200 launches of a kernel, then a wait
 *   pipeline  8 times: 1 MiB to the GPU, a kernel, 256 KiB back
 *   training  4 MiB to the GPU, 60 kernels, 20 kernels of a tenth of their time,
 *             4 bytes back, a wait
 */
#include "calib/probe/probe.h"
#include "tests/forwarding/forward.h"

static struct probe_gpu *far; /* the forwarded GPU; NULL: none is open */

#define ARGUMENT_B     128
#define LAUNCHES_COUNT 200
#define ROUNDS_COUNT   8
#define ROUND_TO_B     ((size_t)1 << 20)
#define ROUND_BACK_B   ((size_t)256 << 10)
#define INPUT_B        ((size_t)4 << 20)
#define LAYERS_COUNT   60
#define UPDATES_COUNT  20
#define UPDATE_PART    0.1
#define BATCH_COUNT    16

static const char *const modes[] = {"sync", "async", "batched"};

struct stream_setting {
	const char *program;
	double kernel_s, latency_s, rate_Bps;
	bool full; /* only with --full */
};
static const struct stream_setting settings[] = {
	{"launches", 10e-6, 0, 0, false},           {"launches", 50e-6, 0, 0, false},
	{"launches", 200e-6, 0, 0, true},           {"launches", 10e-6, 50e-6, 0, false},
	{"launches", 50e-6, 50e-6, 0, false},       {"launches", 50e-6, 200e-6, 0, true},
	{"launches", 200e-6, 500e-6, 0, true},      {"launches", 50e-6, 20e-6, 125e6, true},
	{"pipeline", 50e-6, 0, 0, false},           {"pipeline", 500e-6, 0, 0, true},
	{"pipeline", 50e-6, 100e-6, 1.25e9, false}, {"pipeline", 500e-6, 200e-6, 1.25e9, true},
	{"pipeline", 500e-6, 100e-6, 125e6, true},  {"training", 50e-6, 0, 0, false},
	{"training", 200e-6, 0, 0, true},           {"training", 50e-6, 100e-6, 1.25e9, false},
	{"training", 200e-6, 200e-6, 125e6, true},
};
#define SETTINGS_COUNT (sizeof(settings) / sizeof(settings[0]))

/* Returns the number of launches in a step. */
static double launches_of(const char *program)
{
	return strcmp(program, "launches") == 0   ? LAUNCHES_COUNT
	       : strcmp(program, "pipeline") == 0 ? ROUNDS_COUNT
						  : LAYERS_COUNT + UPDATES_COUNT;
}

static void add_point(struct plan *plan, const struct stream_setting *setting, const char *place,
		      const char *mode)
{
	bool batched = strcmp(mode, "batched") == 0;
	plan_add(plan, &(struct plan_point){
			       .is = {{"program", setting->program},
				      {"place", place},
				      {"mode", mode},
				      {"transport", place[0] == 'l' ? "none" : "tcp"}},
			       .x = {{"latency_s", setting->latency_s},
				     {"rate_Bps", setting->rate_Bps},
				     {"kernel_s", setting->kernel_s},
				     {"launches", launches_of(setting->program)},
				     {"batch", batched ? BATCH_COUNT : 1}},
			       .interval_ratio = 0.02,
			       .held_out = true,
		       });
}

static void add(const struct bench *bench, struct plan *plan, struct plan_random *random)
{
	for (size_t i = 0; i < SETTINGS_COUNT; i++) {
		const struct stream_setting *setting = &settings[i];
		if (setting->full && !bench->full)
			continue;
		if (setting->latency_s + setting->rate_Bps <= 0)
			add_point(plan, setting, "local", "async");
		for (size_t mode = 0; mode < sizeof(modes) / sizeof(modes[0]); mode++)
			add_point(plan, setting, "forwarded", modes[mode]);
	}
}

static int begin(struct bench *bench, const struct plan_point *point)
{
	const struct forward_options options = {
		.transport = FORWARD_TCP,
		.mode = (enum forward_mode)forward_mode_from(plan_point_word(point, "mode")),
		.batch = (size_t)plan_point_number(point, "batch", 1),
		.latency_s = plan_point_number(point, "latency_s", 0),
		.rate_Bps = plan_point_number(point, "rate_Bps", 0),
	};
	if (plan_point_word(point, "place")[0] == 'l')
		return bench_finish(bench);
	return forward_open(bench->gpu, &options, &far, bench->why);
}

static int launch_many(struct probe_gpu *gpu, int code, size_t count, double kernel_s)
{
	const struct gpu_call launch = {
		.kind = GPU_LAUNCH, .spin_s = kernel_s, .argument_B = ARGUMENT_B};
	for (size_t i = 0; i < count && code == GPU_OK; i++)
		code = gpu->api->call(gpu, &launch);
	return code;
}

static int copy(struct probe_gpu *gpu, int code, enum gpu_direction direction, size_t size_B)
{
	const struct gpu_call call = {.kind = GPU_COPY, .direction = direction, .size_B = size_B};
	return code == GPU_OK ? gpu->api->call(gpu, &call) : code;
}

static int step(struct probe_gpu *gpu, const char *program, double kernel_s)
{
	int code = GPU_OK;
	if (strcmp(program, "launches") == 0) {
		code = launch_many(gpu, code, LAUNCHES_COUNT, kernel_s);
	} else if (strcmp(program, "pipeline") == 0) {
		for (int i = 0; i < ROUNDS_COUNT; i++) {
			code = copy(gpu, code, GPU_H2D, ROUND_TO_B);
			code = launch_many(gpu, code, 1, kernel_s);
			code = copy(gpu, code, GPU_D2H, ROUND_BACK_B);
		}
		return code;
	} else {
		code = copy(gpu, code, GPU_H2D, INPUT_B);
		code = launch_many(gpu, code, LAYERS_COUNT, kernel_s);
		code = launch_many(gpu, code, UPDATES_COUNT, UPDATE_PART * kernel_s);
		code = copy(gpu, code, GPU_D2H, 4);
	}
	return code == GPU_OK ? gpu->api->call(gpu, &(struct gpu_call){.kind = GPU_SYNC}) : code;
}

static int sample(struct bench *bench, const struct plan_point *point, double *value)
{
	struct probe_gpu *gpu = far ? far : bench->gpu;
	double start_s = gpu->api->now_s(gpu);
	int code = step(gpu, plan_point_word(point, "program"),
			plan_point_number(point, "kernel_s", 0));
	*value = bench_since_s(bench, gpu, start_s);
	return bench_code(bench, gpu, code);
}

static void end(struct bench *bench)
{
	forward_close(&far);
}

const struct probe probe_stream = {
	.id = "V",
	.test = "stream",
	.help = "steps of small programs, local and forwarded; never used by fits",
	.add = add,
	.begin = begin,
	.sample = sample,
	.end = end,
};
