/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to the reader of recordings: its state, and the fields of a line. */
#pragma once

#include "calib/fit/recording.h"
#include "sim/json/document.h"

enum { RECORDING_BUCKETS = 4096 };

struct reading {
	struct arena *arena;
	struct diag *diag;
	struct recording *recording;
	size_t buckets[RECORDING_BUCKETS]; /* first point of each bucket, plus 1 */
	double *samples;                   /* samples of the current line */
	size_t sample_count;
	int line; /* first line of the current record */
	bool failed, header_seen;
};

struct line_fields { /* of a line with a point */
	struct recording_point point;
	const char *unit;
	double pass;
	bool pass_seen, samples_seen;
};

/* Reports the first error. Returns false. */
bool reading_fail(struct reading *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Sorts r->samples and adds them as a pass of the line's point. */
void reading_take_point(struct reading *r, const struct line_fields *fields);
