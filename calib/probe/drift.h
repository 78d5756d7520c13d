/* SPDX-License-Identifier: Apache-2.0 */
/* Drift anchors: three things that are measured again and again during a run. If
 * one of them gets slower or faster all along (Theil-Sen), so does what is
 * measured, in an order that nobody chose. */
#ifndef FARWIRE_CALIB_PROBE_DRIFT_H
#define FARWIRE_CALIB_PROBE_DRIFT_H

#include "calib/probe/probe.h"
#include "calib/sample/record.h"

#define DRIFT_ANCHORS      3
#define DRIFT_VISITS       256
#define DRIFT_VISITS_LEAST 4 /* fewer say nothing */

struct drift {
	double start_s, every_s, next_s;
	double times_s[DRIFT_VISITS];
	double medians_s[DRIFT_ANCHORS][DRIFT_VISITS];
	size_t visits, lines;
	bool absent[DRIFT_ANCHORS];
};

void drift_start(struct drift *drift, double now_s, double budget_s);
/* Measures the anchors where it is time, or at once: gpu_code. */
int drift_look(struct drift *drift, struct bench *bench, struct record *record, double now_s,
	       bool at_once);
/* How much each anchor changed from the first look to the last; how many, which is none
 * of few looks. */
size_t drift_judge(const struct drift *drift, struct record_drift *out);

#endif
