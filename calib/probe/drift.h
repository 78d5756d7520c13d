/* SPDX-License-Identifier: Apache-2.0 */
/* Drift anchors: three measurements that are repeated during the whole run. If one of them changes
 * steadily (Theil-Sen slope), so do the other measurements, which are in random order. */
#pragma once

#include "calib/probe/probe.h"
#include "calib/sample/record.h"

#define DRIFT_ANCHORS      3
#define DRIFT_VISITS       256
#define DRIFT_VISITS_LEAST 4 /* with fewer visits the drift is not judged */

struct drift {
	double start_s, every_s, next_s;
	double times_s[DRIFT_VISITS];
	double medians_s[DRIFT_ANCHORS][DRIFT_VISITS];
	size_t visits, lines;
	bool absent[DRIFT_ANCHORS];
};

void drift_start(struct drift *drift, double now_s, double budget_s);
/* Measures the anchors if they are due, or always with at_once. Returns a gpu_code. */
int drift_look(struct drift *drift, struct bench *bench, struct record *record, double now_s,
	       bool at_once);
/* Stores the change of each anchor between the first and the last visit. Returns the number of
 * anchors stored, which is 0 after too few visits. */
size_t drift_judge(const struct drift *drift, struct record_drift *out);
