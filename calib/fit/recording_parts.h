/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to the reader of recordings: its state, a line's fields, and the pieces that
 * lines are made of. Each piece is read up to its end; after what is wrong reading_fail()
 * has said so, or the JSON reader holds the error, and what is given is nothing.
 */
#ifndef FARWIRE_CALIB_FIT_RECORDING_PARTS_H
#define FARWIRE_CALIB_FIT_RECORDING_PARTS_H

#include "calib/fit/recording.h"
#include "sim/json/pull.h"

enum { RECORDING_BUCKETS = 4096 };

struct reading {
	struct arena *arena;
	struct diag *diag;
	struct jp_reader *in;
	struct recording *recording;
	size_t buckets[RECORDING_BUCKETS]; /* first point of each, plus 1 */
	double *samples;                   /* of the line that is read */
	size_t sample_count;
	int line; /* where it begins */
	uint64_t start_B;
	bool failed, header_seen;
};

/* A line as it comes: any of the kinds. */
struct line_fields {
	struct recording_point point;
	const char *unit, *waived, *why;
	double pass, lines;
	bool pass_seen, end_seen, end, samples_seen;
};

void reading_fail(struct reading *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
enum jp_token reading_next(struct reading *r);
const char *reading_text(struct reading *r, const char *what);
double reading_number(struct reading *r, const char *what);
bool reading_flag(struct reading *r, const char *what);
bool reading_skip(struct reading *r);
/* After a key: whether an object, or an array, begins. */
bool reading_opens(struct reading *r, enum jp_token bracket, const char *what);

/* The samples in r->samples are a pass of the line's point; sorts them. */
void reading_take_point(struct reading *r, const struct line_fields *fields);

#endif
