/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The numbers that a prediction reports, by the names under which tables show them.
 *
 * `solve` takes one as its target ("ratio>=0.95"), `sensitivity` as the answer that
 * parameters move. The same word may mean different numbers for clients of a GPU,
 * for a training job and for a collective alone: "throughput" is images/s, or a bus
 * bandwidth; so a name is looked up for a kind of prediction.
 */
#ifndef FARWIRE_ANALYSIS_REPORTED_H
#define FARWIRE_ANALYSIS_REPORTED_H

#include "sim/result/result.h"
#include "sim/scenario/scenario.h"

struct reported {
	const char *name;   /* as a column of CSV: "images_per_s" */
	const char *also;   /* another name: "throughput"; or NULL */
	const char *spoken; /* in sentences: "throughput" */
	enum quantity quantity;
	const char *unit; /* that a count is of: "images/s"; or NULL */
	unsigned kinds;   /* of predictions that have it */
	size_t offset;    /* of a struct estimate in struct prediction */
	const char *part; /* or a part of the step's time */
};

/* The kind of prediction that the case will give. */
enum prediction_kind reported_kind(const struct scenario *scenario);

/* Blanks, - and _ are the same in names, a unit at their end may be left out. NULL
 * after an error at origin, which lists what there is. */
const struct reported *reported_find(struct arena *arena, struct diag *diag, struct origin origin,
				     enum prediction_kind kind, const char *name);
/* The one that a case is about: ratio, efficiency, bus bandwidth. */
const char *reported_main(enum prediction_kind kind);
/* NaN for failed predictions. */
struct estimate reported_of(const struct reported *reported, const struct prediction *prediction);
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
