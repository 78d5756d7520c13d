/* SPDX-License-Identifier: Apache-2.0 */
/* A run: a plan's passes, one after the other, a line of the recording for each
 * point, progress and time left on stderr.
 *
 * What is measured, and on which clock, is the prober's; this is the loop around
 * it. A point has a part of the time that is left (plan_share_s()), so a slow one
 * takes from all that follow, not from the end alone. The first pass takes what
 * it takes: each point once, in any case. Later ones are cut when the time is
 * over, and so is a run that the user stops; both are UNFINISHED: what was measured
 * stays, and the same recording goes on where it stopped. A line {"end":false,...}
 * ends the sitting that was cut, {"end":true,...} the recording.
 *
 * A test that cannot run here is waived once, with its reason.
 */
#ifndef FARWIRE_CALIB_RUN_H
#define FARWIRE_CALIB_RUN_H

#include <stdbool.h>
#include <stddef.h>

#include "calib/sample/plan.h"
#include "calib/sample/record.h"

/* What a prober's functions give; SAMPLER_NO_MORE from sample() too. */
enum run_code {
	RUN_OK = 0,
	RUN_WAIVED = 1,  /* cannot be measured here */
	RUN_FAILED = 2,  /* nothing more can be */
	RUN_STOPPED = 3, /* by the user */
};

struct run_prober {
	void *context;
	double (*now_s)(void *context);
	bool (*stopped)(void *context);
	/* Gets `deadline_s`, after which no sample is begun. */
	int (*begin)(void *context, const struct plan_point *point, double deadline_s);
	int (*sample)(void *context, const struct plan_point *point, double *value);
	void (*end)(void *context, const struct plan_point *point); /* also after a failed begin */
	/* Or NULL. Before each point, and once after the last. */
	int (*look)(void *context, struct record *record, double now_s, bool last);
	/* Or NULL. How much each anchor drifted, up to RECORD_DRIFTS_MOST; how many. */
	size_t (*judge)(void *context, struct record_drift *drift);
	const char *why;   /* the last of its codes that was not RUN_OK */
	double deadline_s; /* of a point, beyond twice its share */
};

struct run {
	const struct run_prober *prober;
	const struct plan *plan;
	struct record *record;
	const char *program; /* whose messages these are */
	const char *go_on;   /* "go on with `...`" */
	size_t passes;
	double budget_s;
	bool quiet;
};

/* 0, or 1 after an error, an interruption, too much drift, or when the time was over
 * before the last pass; it says which on stderr. */
int run_passes(const struct run *run);

/* What there is to say of a recording that has ended: 0, or 1 where its machine drifted
 * too much. */
int run_ended(const struct run *run, const char *path);

#endif
