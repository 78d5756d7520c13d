/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of predictions: which answers, under which names.
 *
 * `compare`, `sweep` and `scale` print a line for each prediction. What a line
 * can say depends on what is predicted (clients of a GPU, a training job, a
 * collective alone), so a verb lists all columns that it knows and those stay
 * that any of its predictions has.
 */
#ifndef FARWIRE_REPORT_ANSWERS_H
#define FARWIRE_REPORT_ANSWERS_H

#include "sim/result/answer.h"

struct answers {
	const char *name, *title; /* of the table */
	const struct prediction *const *predictions;
	size_t count;
	const enum answer *columns;
	size_t column_count;
	/* Columns before them, and their cells: count * lead_count. */
	const struct result_column *lead;
	const struct result_cell *lead_cells;
	size_t lead_count;
};
const struct result_table *answers_table(struct arena *arena, const struct answers *answers);

/* Cases beside each other, the first one as 1: what `compare` prints. */
const struct result_table *
comparison_table(struct arena *arena, const struct prediction *const *predictions, size_t count);

/* Quotient of two throughputs, draw by draw (sim/predict/draws.h). NaN for predictions of
 * which one counts images and the other bytes, and failed ones. */
struct estimate throughput_quotient(const struct prediction *a, const struct prediction *b);

#endif
