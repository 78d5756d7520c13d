/* SPDX-License-Identifier: Apache-2.0 */
/* A probe measures one thing that the simulator has a parameter for; the table of
 * all is probes.def. It adds points to the plan, and takes one sample of a point
 * at a time: how often is the sampler's business, in which order the plan's.
 *
 * The bench is what probes work on: the device, and what they share of a point
 * under way. Its functions give a gpu_code; after one that is not GPU_OK
 * bench->why tells the reason.
 */
#ifndef FARWIRE_CALIB_PROBE_PROBE_H
#define FARWIRE_CALIB_PROBE_PROBE_H

#include "calib/probe/forward.h"
#include "calib/probe/gpu.h"
#include "calib/sample/plan.h"

struct bench {
	struct gpu *gpu;
	struct gpu_facts facts;
	struct forwarder *forwarder; /* or NULL */
	bool full;
	double clock_cost_s; /* of looking at the clock, taken off what is timed */
	/* Of the point under way: */
	struct gpu *far;
	size_t count; /* what the probe counts */
	char why[GPU_WHY];
};

struct probe {
	const char *id, *test, *help;
	void (*add)(const struct probe *probe, const struct bench *bench, struct plan *plan,
		    struct plan_random *random);
	int (*begin)(struct bench *bench, const struct plan_point *point); /* or NULL */
	int (*sample)(struct bench *bench, const struct plan_point *point, double *value);
	void (*end)(struct bench *bench); /* or NULL; also after a failed begin */
};
extern const struct probe *const probes[]; /* ends with NULL */

/* A new point of a probe. */
struct plan_point probe_point(const struct probe *probe);

/* Since a look at the device's clock, less what looking costs; never negative. */
double bench_since_s(const struct bench *bench, struct gpu *gpu, double start_s);
int bench_open(struct bench *bench, struct gpu *gpu);
double bench_now_s(struct bench *bench);
int bench_call(struct bench *bench, const struct gpu_call *call);
int bench_finish(struct bench *bench);
/* The host's time in a call. */
int bench_time(struct bench *bench, const struct gpu_call *call, double *time_s);
/* The GPU's time for one of `repeats` calls, from start to start: they are queued
 * behind a blocker, so that the host is out of the way. */
int bench_span(struct bench *bench, const struct gpu_call *call, size_t repeats, double *time_s);
int bench_block(struct bench *bench);
int bench_release(struct bench *bench);
/* What gpu->why says goes to the bench. */
int bench_code(struct bench *bench, const struct gpu *gpu, int code);

/* The longest that a blocker holds. */
#define BENCH_BLOCK_S 1.0

#endif
