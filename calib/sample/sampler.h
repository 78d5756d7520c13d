/* SPDX-License-Identifier: Apache-2.0 */
/* How often to measure one thing.
 *
 * First the warm-up: samples are thrown away until their running median settles
 * (the median of the last eight within 5 % of that of the eight before). Then
 * samples are kept until the 95 % interval of their median is as narrow as asked
 * (half of it, over the median), but at least `least` of them; or until there
 * are `most`, or the point's time is spent, or the hard deadline is over.
 *
 * The clock is the caller's, so that a device with a clock of its own can be
 * sampled as a real one is.
 */
#ifndef FARWIRE_CALIB_SAMPLER_H
#define FARWIRE_CALIB_SAMPLER_H

#include <stddef.h>

#define SAMPLER_NO_MORE        (-1)
#define SAMPLER_LEAST          30
#define SAMPLER_MOST           1000
#define SAMPLER_RATIO          0.01 /* of the median */
#define SAMPLER_RATIO_LATENCY  0.02
#define SAMPLER_WARM_UP_WINDOW 8
#define SAMPLER_WARM_UP_RATIO  0.05

struct sampler {
	double interval_ratio;
	size_t least, most;
	size_t warm_up_most; /* 0: none */
	double share_s;      /* spent in all, warm-up included: then it stops ... */
	double deadline_s;   /* ... as soon as there are three samples; then in any case */
	void *context;
	/* 0, SAMPLER_NO_MORE where there is nothing left to measure, or another code:
	 * it failed. */
	int (*sample)(void *context, double *value);
	double (*now_s)(void *context);
};

enum sampler_stop {
	SAMPLER_INTERVAL, /* as narrow as asked */
	SAMPLER_COUNT,    /* or nothing left to measure */
	SAMPLER_TIME,
	SAMPLER_DEADLINE, /* fewer than three samples, maybe none */
	SAMPLER_FAILED,   /* what sample() gave is in `code` */
};
/* "interval", "count", "time", "deadline", "failed" */
const char *sampler_stop_name(enum sampler_stop stop);

struct sampler_result {
	double *values; /* in the order of measuring; the caller frees them */
	size_t count;
	size_t thrown; /* warm-up */
	enum sampler_stop stop;
	int code;
};

/* Only memory can run out: -1. */
int sampler_run(const struct sampler *sampler, struct sampler_result *result);

#endif
