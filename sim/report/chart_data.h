/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predictions as what charts draw. */
#ifndef FARWIRE_REPORT_CHART_DATA_H
#define FARWIRE_REPORT_CHART_DATA_H

#include "plots/charts.h"
#include "sim/analysis/sensitivity.h"

/* Indices by rising key; equal ones, and all without keys (NULL), stay as they are. */
size_t *order_rising(struct arena *arena, const double *keys, size_t count);

/* What was measured of the same cases, or none of it: NULL. */
struct measured {
	const double *values; /* of throughput; NaN: none */
	const bool *test;     /* roles */
};

/* Jobs on more and more GPUs, in any order. */
struct scaling_curve chart_scaling_curve(struct arena *arena, const char *label,
					 const struct prediction *const *predictions, size_t count,
					 struct measured measured);
/* A collective with messages of these sizes, in any order. */
struct bandwidth_curve chart_bandwidth_curve(struct arena *arena, const char *label,
					     const struct prediction *const *predictions,
					     const double *sizes_B, size_t count,
					     struct measured measured);
/* Each case's own ratio: to the local GPU, or to as many GPUs alone; of collectives
 * the bus bandwidth over the first one's. */
struct ratio_bar *chart_bars(struct arena *arena, const struct prediction *const *predictions,
			     size_t count);
/* What those bars are, as a title. */
const char *chart_bars_title(const struct prediction *const *predictions, size_t count);

/* The parameters that move a number, one at a time. */
struct drawing *chart_swings(struct arena *arena, struct chart_text text,
			     const struct reported *reported, const struct sensitivity *found);

/* A parameter's values in the unit that an axis shows, and the axis's label. */
const double *chart_values(struct arena *arena, const char *key, enum quantity quantity,
			   const double *values, size_t count, const char **label);

#endif
