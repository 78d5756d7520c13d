/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Converts predictions to the input of charts. */
#pragma once

#include "plots/charts.h"

/* Returns the indices by rising key. Equal keys keep their order; keys may be NULL. */
size_t *order_rising(struct arena *arena, const double *keys, size_t count);

/* A job on different numbers of GPUs, or a collective with messages of different sizes, in any
 * order. */
struct prediction_line {
	const char *label;
	const struct prediction *const *predictions;
	size_t count;
	const double *sizes_B;  /* of a collective's messages; NULL: the number of GPUs varies */
	const double *measured; /* throughputs, NaN for no measurement; NULL: none at all */
	const bool *test;       /* whether each measurement is a test row; NULL: none is */
};
/* Draws jobs as scaling curves, or collectives as curves of bus bandwidth over the size or over the
 * number of GPUs. All lines are of one sort. */
struct drawing *chart_lines(struct arena *arena, struct chart_text text,
			    const struct prediction_line *lines, size_t count);
/* exported: tests check the order and the numbers of one line */
struct scaling_curve chart_scaling_curve(struct arena *arena, const struct prediction_line *line);
/* exported: tests check the order and the numbers of one line */
struct curve chart_bandwidth_curve(struct arena *arena, const struct prediction_line *line);
/* Returns a bar for the ratio of each case: to local, or scaling efficiency. For collectives it is
 * the bus bandwidth relative to the first case. */
struct ratio_bar *chart_bars(struct arena *arena, const struct prediction *const *predictions,
			     size_t count);
/* Returns the title for these bars. */
const char *chart_bars_title(const struct prediction *const *predictions, size_t count);

/* The unit of a quantity in plots whose largest value is `largest`, in SI units. */
struct chart_unit {
	double factor;    /* from SI units */
	const char *name; /* NULL: none */
};
struct chart_unit chart_unit(enum quantity quantity, double largest);
/* Returns for example "one-way latency of vswitch (us)". unit may be NULL. */
const char *chart_label(struct arena *arena, const char *words, const char *unit);
