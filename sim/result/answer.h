/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The answers that a prediction gives, one row each in answers.def.
 *
 * Tables list the answers that they show, `solve` takes one as its target ("ratio>=0.95") and
 * `sensitivity` as the number that parameters move. The same number may have different names in
 * a case of clients, a training job and a collective alone, so a row says which kinds of
 * prediction have it.
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
	const char *name;    /* as a column of CSV: "images_per_s" */
	const char *heading; /* for people: "images/s" */
	unsigned kinds;      /* of predictions that have it */
	bool text;
	size_t offset;    /* of a text or a struct estimate in struct prediction */
	const char *part; /* or a part of the step's time */
	enum quantity quantity;
	bool interval;      /* cells of tables have it */
	bool optional;      /* tables leave it out if no prediction has a value */
	const char *also;   /* another name: "throughput"; or NULL */
	const char *spoken; /* in sentences: "throughput"; NULL: it cannot be asked for */
	const char *unit;   /* of a count: "images/s"; or NULL */
};
const struct reported *answer_at(enum answer answer);

/* NaN for failed predictions. Not of ANSWER_TO_FIRST, which needs two predictions. */
struct estimate reported_of(const struct reported *reported, const struct prediction *prediction);
/* Of a text. The verdict is "ok", or the reason of the failure. */
const char *reported_text_of(const struct reported *reported, const struct prediction *prediction);

#endif
