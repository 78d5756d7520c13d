/* SPDX-License-Identifier: Apache-2.0 */
/* A run of the probes. It measures the passes of the plan, writes a line of the recording for each
 * point, and shows progress on stderr. In between it measures the drift anchors (a launch, a copy
 * of 64 MiB, a matrix product), which must not change during the run. */
#pragma once

#include "calib/probe/probe.h"
#include "calib/sample/record.h"

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
