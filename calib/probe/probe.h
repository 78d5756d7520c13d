/* SPDX-License-Identifier: Apache-2.0 */
/* A probe measures a quantity for which the simulator has a parameter; probes.def lists all probes.
 * A probe adds points to the plan and takes one sample of a point at a time. The sampler decides
 * the number of samples, the plan decides the order.
 *
 * The bench holds the device and the state of the current point. Its functions return a gpu_code.
 * For codes other than GPU_OK, bench->why has the reason.
 */
#pragma once

#include "calib/probe/gpu.h"
#include "calib/sample/record.h"

struct bench {
	struct probe_gpu *gpu;
	struct gpu_facts facts;
	bool full;
	double clock_cost_s; /* cost of reading the clock, subtracted from timings */
	size_t count;        /* counter of the current point's probe */
	char why[GPU_WHY];
};

struct probe {
	const char *id, *test, *help;
	void (*add)(const struct bench *bench, struct plan *plan, struct plan_random *random);
	int (*begin)(struct bench *bench, const struct plan_point *point); /* may be NULL */
	int (*sample)(struct bench *bench, const struct plan_point *point, double *value);
	void (*end)(struct bench *bench); /* may be NULL; called also after begin failed */
	/* Called before a device is opened, because CUDA does not survive a fork, and after it is
	 * closed; may be NULL. */
	void (*start)(const struct gpu_api *device, const struct gpu_options *options);
	void (*stop)(void);
};
extern const struct probe *const probes[]; /* terminated by NULL */

/* Returns the time since start_s on the device's clock, minus the cost of reading it; never
 * negative. */
double bench_since_s(const struct bench *bench, struct probe_gpu *gpu, double start_s);
int bench_open(struct bench *bench, struct probe_gpu *gpu);
double bench_now_s(struct bench *bench);
int bench_call(struct bench *bench, const struct gpu_call *call);
int bench_finish(struct bench *bench);
/* Measures the host's time in a call. */
int bench_time(struct bench *bench, const struct gpu_call *call, double *time_s);
/* Measures the GPU's time for one of `repeats` calls, from start to start. The calls are queued
 * behind a blocker, so that the host has no influence. */
int bench_span(struct bench *bench, const struct gpu_call *call, size_t repeats, double *time_s);
/* Prepares the work of GPU_WORK; the second function prepares a square matrix product. */
int bench_work(struct bench *bench, const struct gpu_work *work);
int bench_square(struct bench *bench);
/* The `sample` of probes of work: the GPU's time for one of its repetitions. */
int bench_sample_work(struct bench *bench, const struct plan_point *point, double *value);
int bench_block(struct bench *bench);
int bench_release(struct bench *bench);
/* Copies gpu->why to the bench. */
int bench_code(struct bench *bench, const struct probe_gpu *gpu, int code);

/* The longest time that a blocker holds. */
#define BENCH_BLOCK_S 1.0

/* ---- a run: measures the passes of a plan, and repeats the drift anchors in between ---- */

struct run_options {
	const char *const *only; /* patterns; none: everything */
	size_t only_count;
	uint64_t seed;
	size_t passes;
	double budget_s;
	bool quiet;
};

/* Makes the plan of all points that the options select. */
int run_plan(const struct bench *bench, const struct run_options *options, struct plan *plan);
/* Returns 0, or 1 after an error, an interruption or too much drift; stderr has the reason. */
int run_all(struct bench *bench, const struct run_options *options, const struct plan *plan,
	    struct record *record);
/* Makes SIGINT and SIGTERM end a run after the current sample. */
void run_catch_signals(void);
/* Ends the program by the signal that ended the run, if any. Call it after closing everything. */
void run_end_by_signal(void);

/* Does what the words after the name of the program say, and returns the exit code. */
int probe_command(const struct gpu_api *device, int count, char **words);
