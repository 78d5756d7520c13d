/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The answers of a prediction, with one row each in answers.def.
 *
 * Tables show answers as columns. `solve` has one of them as its target ("ratio>=0.95"), and
 * `sensitivity` as the number that parameters change. The same number can have different names for
 * clients, a training job and a collective. So each row has the kinds of prediction that it is for.
 */
#ifndef FARWIRE_RESULT_ANSWER_H
#define FARWIRE_RESULT_ANSWER_H

#include "sim/result/result.h"

enum answer {
#define ANSWER(id, ...) ANSWER_##id,
#include "sim/result/answers.def"
#undef ANSWER
	ANSWER_COUNT
};

struct reported {
	const char *name;    /* column of CSV: "images_per_s" */
	const char *heading; /* for people: "images/s" */
	unsigned kinds;      /* of predictions that have it */
	bool text;
	size_t offset;    /* of a text or a struct estimate in struct prediction */
	const char *part; /* or a part of the step's time */
	enum quantity quantity;
	bool interval;      /* cells have an interval */
	bool optional;      /* a table without any value leaves out the column */
	const char *also;   /* another name: "throughput"; or NULL */
	const char *spoken; /* in sentences: "throughput"; NULL if no verb accepts it */
	const char *unit;   /* of a count: "images/s"; or NULL */
};
const struct reported *answer_at(enum answer answer);

/* Returns NaN for a failed prediction. Not for ANSWER_TO_FIRST, which needs two predictions. */
struct estimate reported_of(const struct reported *reported, const struct prediction *prediction);
/* Returns an answer that is a text. The verdict is "ok" or the reason of the failure. */
const char *reported_text_of(const struct reported *reported, const struct prediction *prediction);

#endif
