/* SPDX-License-Identifier: Apache-2.0 */
/* A host probe measures one property of a machine without using its GPU. There is one, of
 * copies in memory; other tools measure network and storage (docs/calibration.md). A probe adds
 * points to the plan and takes one sample of a point at a time. The sampler (calib/sample) decides
 * the number of samples, the plan decides the order.
 *
 * The bench holds the state of the current point. Functions return a host_code. For codes other
 * than HOST_OK, bench->why has the reason.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "calib/sample/plan.h"

enum host_code {
	HOST_OK = 0,
	HOST_WAIVED, /* cannot be measured here */
	HOST_FAILED,
	HOST_STOPPED, /* the user stopped the probe */
};

#define HOST_WHY 200
struct host_bench {
	bool full;
	size_t core_count;
	void *own; /* state of the probe at the current point, `own_B` bytes that begin as zeros */
	char why[HOST_WHY];
};

struct host_probe {
	const char *test, *help;
	size_t own_B;
	void (*add)(const struct host_bench *bench, struct plan *plan, struct plan_random *random);
	int (*begin)(struct host_bench *bench, const struct plan_point *point);
	int (*sample)(struct host_bench *bench, const struct plan_point *point, double *value);
	void (*end)(struct host_bench *bench); /* called also after begin failed; may be NULL */
};
extern const struct host_probe *const host_probes[]; /* terminated by NULL */

/* ---- for the probes ---- */

/* Returns sizes from least to most, each `step` times the previous one, and `random_count` sizes in
 * between. The random sizes are uniform over the octaves and held out from fits. */
struct host_sizes {
	double size_B[64];
	bool held_out[64];
	size_t count;
};
struct host_sizes host_sizes(double least_B, double most_B, double step, size_t random_count,
			     struct plan_random *random);
int host_fail(struct host_bench *bench, int code, const char *why);

/* The probes of probes.def. */
#define HOST_PROBE(name) extern const struct host_probe name;
#include "calib/host/probes.def"
#undef HOST_PROBE
