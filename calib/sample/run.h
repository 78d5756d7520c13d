/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a plan: measures the points pass by pass, writes a line of the recording for each point, and
 * shows progress on stderr.
 *
 * This module is only the loop. The prober measures, on a clock of its own. Each point gets a share
 * of the remaining time (plan_share_s()), so a slow point shortens all later ones, not only the
 * last. The first pass always measures each point once. Later passes end at the time limit. A run
 * that ends by time limit or by the user is unfinished: its measurements are kept, and the same
 * recording can be continued. A line {"end":false,...} ends an unfinished sitting, {"end":true,...}
 * ends the recording.
 *
 * A test that cannot run here is recorded once, with the reason.
 */
#pragma once

#include "calib/sample/plan.h"
#include "calib/sample/record.h"

/* Results of a prober's functions. */
enum run_code {
	RUN_OK = 0,
	RUN_WAIVED = 1,  /* cannot be measured here */
	RUN_FAILED = 2,  /* nothing more can be measured */
	RUN_STOPPED = 3, /* the user stopped the run */
};

struct run_prober {
	void *context;
	double (*now_s)(void *context);
	bool (*stopped)(void *context);
	/* Prepares a point. No sample begins after `deadline_s`. */
	int (*begin)(void *context, const struct plan_point *point, double deadline_s);
	int (*sample)(void *context, const struct plan_point *point, double *value);
	/* called also after begin failed */
	void (*end)(void *context, const struct plan_point *point);
	/* Called before each point and once after the last; may be NULL. */
	int (*look)(void *context, struct record *record, double now_s, bool last);
	/* Stores the drift of each anchor, at most RECORD_DRIFTS_MOST, and returns their number;
	 * may be NULL. */
	size_t (*judge)(void *context, struct record_drift *drift);
	const char *why;   /* reason for the last code other than RUN_OK */
	double deadline_s; /* time a point may take beyond twice its share */
};

struct run {
	const struct run_prober *prober;
	const struct plan *plan;
	struct record *record;
	const char *program; /* name of the program in messages */
	const char *go_on;   /* ending of a message: "continue with `...`" */
	size_t passes;
	double budget_s;
	bool quiet;
};

/* Returns 0 on success. Returns 1 after an error, an interruption, too much drift, or when the time
 * limit ended the run before the last pass; stderr has the reason. */
int run_passes(const struct run *run);

/* Reports the state of a completed recording. Returns 0, or 1 if its machine drifted too much. */
int run_ended(const struct run *run, const char *path);
