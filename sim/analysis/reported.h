/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the answer of a prediction that a user names (a row of sim/result/answers.def), and
 * reads targets such as "ratio>=0.95".
 *
 * A word may mean different numbers for clients, training jobs and collective benchmarks.
 * "throughput", for example, means images/s or a bus bandwidth. A name is therefore resolved for
 * a kind of prediction, and its throughput counts what the case counts. */
#pragma once

#include "sim/result/answer.h"
#include "sim/scenario/scenario.h"

/* The kind of the predictions of a case, and the unit of their throughput. */
struct reporting {
	enum prediction_kind kind;
	const char *unit; /* unit of the throughput of training: "steps/s"; NULL: "images/s" */
};
struct reporting reporting_of(struct arena *arena, const struct scenario *scenario);

/* Finds an answer by name. Blanks, - and _ are equivalent, and a unit at the end may be omitted.
 * Returns NULL after an error at origin, which lists the possible names. */
const struct reported *reported_find(struct arena *arena, struct diag *diag, struct origin origin,
				     struct reporting reporting, const char *name);
/* Returns the name of the main answer of a kind: "ratio", "efficiency" or "bus_bandwidth_Bps". */
const char *reported_main(enum prediction_kind kind);
/* Formats a value with its unit: "0.95", "12.5 GB/s", "340 images/s". */
const char *reported_text(struct arena *arena, const struct reported *reported, double value);

/* Returns for example "12.5 GB/s (11 to 13)", or the value if there is no interval. */
const char *reported_interval(struct arena *arena, const struct reported *reported,
			      struct estimate number);

/* A condition such as "ratio>=0.95". */
struct target {
	const struct reported *reported;
	bool at_least; /* true: at least value; false: at most value */
	double value;
	const char *text; /* "ratio >= 0.95" */
};
/* Reads a target. Returns false after an error at origin. */
bool target_read(struct arena *arena, struct diag *diag, struct origin origin,
		 struct reporting reporting, const char *text, struct target *target);
