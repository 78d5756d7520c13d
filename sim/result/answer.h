/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The answers of a prediction, with one row each in answers.def.
 *
 * Tables list the answers that they show. `solve` takes one as its target ("ratio>=0.95"), and
 * `sensitivity` ranks parameters by their influence on one. The same number may have different
 * names for clients, training jobs and collective benchmarks, so a row says which kinds of
 * prediction have it. */
#pragma once

#include "sim/result/result.h"

enum answer {
#define ANSWER(id, ...) ANSWER_##id,
#include "sim/result/answers.def"
#undef ANSWER
	ANSWER_COUNT
};

struct reported {
	const char *name;    /* column of CSV: "samples_per_s" */
	const char *heading; /* heading of tables: "images/s" */
	unsigned kinds;      /* set of enum prediction_kind: predictions that have this answer */
	bool text;
	size_t offset;    /* offset in struct prediction of a text or a struct estimate */
	const char *part; /* name of a part of the step time, if the answer is one */
	enum quantity quantity;
	bool interval;      /* cells of tables show its interval */
	bool optional;      /* tables leave the column out if no prediction has a value */
	const char *also;   /* another name that users may write: "throughput"; NULL: none */
	const char *spoken; /* name in sentences: "throughput"; NULL: questions cannot ask for it */
	const char *unit;   /* unit of a count: "images/s"; NULL: none */
};
const struct reported *answer_at(enum answer answer);

/* Returns the number; NaN for failed predictions. Not for ANSWER_TO_FIRST, which needs two
 * predictions. */
struct estimate reported_of(const struct reported *reported, const struct prediction *prediction);
/* Returns the text of a text answer. The verdict is "ok", or the reason of the failure. */
const char *reported_text_of(const struct reported *reported, const struct prediction *prediction);
