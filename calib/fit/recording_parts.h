/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to the reader of recordings: its state, the fields of a line, and the parts of a line.
 * Each function reads its part to the end. After an error, reading_fail() was called or the JSON
 * reader holds the error, and the result is empty.
 */
#pragma once

#include "calib/fit/recording.h"
#include "sim/json/pull.h"

enum { RECORDING_BUCKETS = 4096 };

struct reading {
	struct arena *arena;
	struct diag *diag;
	struct jp_reader *in;
	struct recording *recording;
	size_t buckets[RECORDING_BUCKETS]; /* first point of each bucket, plus 1 */
	double *samples;                   /* samples of the current line */
	size_t sample_count;
	int line; /* first line of the current record */
	uint64_t start_B;
	bool failed, header_seen;
};

/* The fields of a line of any kind. */
struct line_fields {
	struct recording_point point;
	const char *unit, *waived, *why;
	double pass, lines;
	bool pass_seen, end_seen, end, samples_seen;
};

/* Returns false. */
bool reading_fail(struct reading *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
enum jp_token reading_next(struct reading *r);
const char *reading_text(struct reading *r, const char *what);
double reading_number(struct reading *r, const char *what);
bool reading_flag(struct reading *r, const char *what);
bool reading_skip(struct reading *r);
/* Reads what follows a key. Returns true if an object or array begins, as requested by bracket. */
bool reading_opens(struct reading *r, enum jp_token bracket, const char *what);

/* Sorts r->samples and adds them as a pass of the line's point. */
void reading_take_point(struct reading *r, const struct line_fields *fields);
