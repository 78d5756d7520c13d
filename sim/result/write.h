/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Declarations that the writers of this folder share. */
#pragma once

#include "sim/result/result.h"

void prediction_json(struct json_writer *json, const struct prediction *prediction);
void predictions_csv(FILE *out, const struct prediction *const *predictions, size_t count);

/* Opens the object of an estimate with value, low and high. The caller adds the unit, if there is
 * one, and closes it. */
void jw_open_estimate(struct json_writer *json, const char *key, struct estimate estimate);

/* Prints the goodput of a long run, its failures and its checkpoints. */
void prediction_long_run(FILE *out, struct arena *scratch, const struct prediction *prediction);

/* Formats the estimate times scale with this number of decimals and the unit: "87.1 %". */
const char *fixed_text(struct arena *arena, struct estimate estimate, int decimals, double scale,
		       const char *unit);
/* Formats a time in days, hours or minutes if it is long. */
const char *duration_text(struct arena *arena, struct estimate time_s);

/* Returns a table with a row for each job or client. */
struct table *prediction_jobs(struct arena *arena, const struct prediction *prediction);
/* Returns the first `most` of the waiting calls. */
struct table *prediction_calls(struct arena *arena, const struct prediction *prediction,
			       size_t most);

/* Formats "0.953 (0.947..0.961)"; one number if there is no interval; "-" for NaN. The numbers
 * have the unit that `like` would have (units.h); NaN: each has its own. */
const char *estimate_text_like(struct arena *arena, enum quantity quantity,
			       struct estimate estimate, double like);
/* Formats a throughput with four significant digits and without an exponent, from 0.1 upwards, and
 * without an interval below 0.001. */
const char *rate_text(struct arena *arena, struct estimate estimate);

/* Prints the cost and the energy of a prediction with prices, and nothing for others. */
void costs_print(FILE *out, struct arena *scratch, const struct prediction *prediction);
