/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Converts predictions to the input of charts. */
#pragma once

#include "plots/charts.h"

/* Returns the indices by rising key. Equal keys keep their order; keys may be NULL. */
size_t *order_rising(struct arena *arena, const double *keys, size_t count);

/* Measurements of the same cases; both pointers are NULL if there are none. */
struct measured {
	const double *values; /* throughput; NaN for no measurement */
	const bool *test;     /* whether each value is a test row */
};

/* Jobs on different numbers of GPUs, in any order. */
struct scaling_curve chart_scaling_curve(struct arena *arena, const char *label,
					 const struct prediction *const *predictions, size_t count,
					 struct measured measured);
/* A collective with messages of different sizes, in any order: bus bandwidth over the size, for
 * chart_curves with these axes. */
extern const struct chart_axes bandwidth_axes;
struct curve chart_bandwidth_curve(struct arena *arena, const char *label,
				   const struct prediction *const *predictions,
				   const double *sizes_B, size_t count, struct measured measured);
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
