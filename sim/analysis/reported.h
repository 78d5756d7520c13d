/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the answer of a prediction that a user names (the rows of sim/result/answers.def), and
 * reads targets such as "ratio>=0.95".
 *
 * The same word may mean different numbers for clients of a GPU, for a training job and for a
 * collective alone: "throughput" is images/s, or a bus bandwidth. So a name is looked up for a
 * kind of prediction.
 */
#ifndef FARWIRE_ANALYSIS_REPORTED_H
#define FARWIRE_ANALYSIS_REPORTED_H

#include "sim/result/answer.h"
#include "sim/scenario/scenario.h"

/* The kind of prediction that the case will give. */
enum prediction_kind reported_kind(const struct scenario *scenario);

/* Blanks, - and _ are the same in names, a unit at their end may be left out. NULL
 * after an error at origin, which lists what there is. */
const struct reported *reported_find(struct arena *arena, struct diag *diag, struct origin origin,
				     enum prediction_kind kind, const char *name);
/* The one that a case is about: ratio, efficiency, bus bandwidth. */
const char *reported_main(enum prediction_kind kind);
/* With its unit: "0.95", "12.5 GB/s", "340 images/s". */
const char *reported_text(struct arena *arena, const struct reported *reported, double value);

/* "ratio>=0.95": a reported number and what it shall be. */
struct target {
	const struct reported *reported;
	bool at_least; /* else at most */
	double value;
	const char *text; /* "ratio >= 0.95" */
};
/* False after an error at origin. */
bool target_read(struct arena *arena, struct diag *diag, struct origin origin,
		 enum prediction_kind kind, const char *text, struct target *target);

#endif
