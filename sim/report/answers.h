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

#include "sim/result/result.h"

enum answer {
	ANSWER_NAME,
	ANSWER_GPUS,
	ANSWER_THROUGHPUT,
	ANSWER_TO_FIRST, /* throughput over that of the first prediction */
	ANSWER_RATIO,
	ANSWER_SPEEDUP,
	ANSWER_STEP,
	ANSWER_TRAINING, /* time of all epochs */
	ANSWER_INPUT,
	ANSWER_EXPOSED,
	ANSWER_STRAGGLER,
	ANSWER_UTILIZATION,
	ANSWER_CHOICE,
	ANSWER_BOTTLENECK,
	ANSWER_VERDICT, /* "ok", or the reason */
};

/* Sets of enum prediction_kind. */
enum {
	CLIENTS = PREDICTION_CLIENTS,
	TRAINING = PREDICTION_TRAINING,
	COLLECTIVE = PREDICTION_COLLECTIVE,
	ALL_KINDS = CLIENTS | TRAINING | COLLECTIVE
};

struct answer_column {
	struct result_column column;
	enum answer answer;
	unsigned kinds; /* of predictions that have it */
	bool wanted;    /* only where a case asks for it: left out if no cell has a value */
};

struct answers {
	const char *name, *title; /* of the table */
	const struct prediction *const *predictions;
	size_t count;
	const struct answer_column *columns;
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
