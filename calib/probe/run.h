/* SPDX-License-Identifier: Apache-2.0 */
/* A run of the probes: the plan's passes, a line of the recording for each point,
 * drift anchors in between (a launch, a copy of 64 MiB, a matrix product: what
 * must not change while the rest is measured), progress on stderr. */
#ifndef FARWIRE_CALIB_PROBE_RUN_H
#define FARWIRE_CALIB_PROBE_RUN_H

#include "calib/probe/probe.h"
#include "calib/sample/record.h"

struct run_options {
	const char *const *only; /* patterns, or none: everything */
	size_t only_count;
	uint64_t seed;
	size_t passes;
	double budget_s;
	bool quiet;
};

/* All points that the options ask for. */
int run_plan(const struct bench *bench, const struct run_options *options, struct plan *plan);
/* 0, or 1 after an error, an interruption or too much drift; it says which. */
int run_all(struct bench *bench, const struct run_options *options, const struct plan *plan,
	    struct record *record);
/* From now on SIGINT and SIGTERM end a run after the sample under way. */
void run_catch_signals(void);
/* Ends the program by the signal that ended the run, if one did: with all closed. */
void run_end_by_signal(void);

#endif
