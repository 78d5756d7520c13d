/* SPDX-License-Identifier: Apache-2.0 */
/* Samples one quantity until it is known precisely enough.
 *
 * The warm-up discards samples until their running median settles: the median of the last eight is
 * within 5 % of that of the eight before. Then samples are kept until half the width of the 95 %
 * interval of their median is below interval_ratio of the median. At least `least` samples are
 * kept. Sampling also ends after `most` samples, at the end of the point's time, or at the hard
 * deadline.
 *
 * The caller provides the clock, so that a simulated device can be sampled like a real one.
 */
#pragma once

#include <stddef.h>

#define SAMPLER_LEAST          30
#define SAMPLER_MOST           1000
#define SAMPLER_RATIO          0.01 /* relative to the median */
#define SAMPLER_RATIO_LATENCY  0.02
#define SAMPLER_WARM_UP_WINDOW 8
#define SAMPLER_WARM_UP_RATIO  0.05

struct sampler {
	double interval_ratio;
	size_t least, most;
	size_t warm_up_most; /* 0: no warm-up */
	double share_s;    /* time limit including warm-up; sampling ends here after at least three
			      samples */
	double deadline_s; /* time at which sampling always ends */
	void *context;
	/* Takes a sample. Returns 0, or a code for a failure. */
	int (*sample)(void *context, double *value);
	double (*now_s)(void *context);
};

enum sampler_stop {
	SAMPLER_INTERVAL, /* the interval is narrow enough */
	SAMPLER_COUNT,    /* `most` was reached */
	SAMPLER_TIME,
	SAMPLER_DEADLINE, /* fewer than three samples, possibly none */
	SAMPLER_FAILED,   /* `code` is the result of sample() */
};
/* Returns "interval", "count", "time", "deadline" or "failed". */
const char *sampler_stop_name(enum sampler_stop stop);

struct sampler_result {
	double *values; /* in the order of measurement; freed by the caller */
	size_t count;
	size_t thrown; /* discarded warm-up samples */
	enum sampler_stop stop;
	int code;
};

/* Runs the sampler. Returns -1 only if memory runs out. */
int sampler_run(const struct sampler *sampler, struct sampler_result *result);
