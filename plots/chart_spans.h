/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of spans over time. Private to plots/.
 *
 * Thousands of spans become few shapes. Where spans of a row overlap, the shortest is in front (a
 * wait inside a call). Spans that are too narrow to be seen are joined to a block, whose colours
 * share its height as the spans share its time. So each colour covers the same part of a row as its
 * spans take of the time. */
#pragma once

#include "plots/style.h"

enum { SPAN_KINDS_MAX = 16 };

struct row_kind {
	const char *name;  /* of its spans, for the chart that fills rows */
	const char *label; /* in the legend; NULL: none */
	struct look look;
};

struct chart_span {
	double from, to; /* in the unit of the axis */
	size_t kind;     /* index of a kind */
	const char *name;
};

struct span_row {
	const char *group, *label; /* neighbours of one group have its name once; NULL: none */
	VEC(struct chart_span) spans;
};

struct span_chart {
	struct span_row *rows;
	size_t row_count;
	double end; /* of the time axis, which begins at 0 */
	const char *time_label;
	const struct row_kind *kinds;
	size_t kind_count;
	size_t pass_count; /* the first kinds are passes; pieces of a pass stay together */
	size_t rare;       /* kind that is visible however short it is; SIZE_MAX: none */
	const char *note;  /* below the chart; NULL: none */
};
struct drawing *spans_draw(struct arena *arena, struct chart_text text,
			   const struct span_chart *chart);
