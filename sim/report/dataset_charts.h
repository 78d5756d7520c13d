/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Charts of a dataset's rows, for `validate` and `report`. */
#ifndef FARWIRE_REPORT_DATASET_CHARTS_H
#define FARWIRE_REPORT_DATASET_CHARTS_H

#include "plots/charts.h"
#include "sim/analysis/dataset.h"

/* How people see a measure: "images/s", "us"; the number times the scale is in it. */
struct shown_unit {
	const char *name;
	double scale;
};
struct shown_unit measure_shown(enum measure measure);

/* Measured rows of one measure against predictions; NULL if there is none.
 * title: NULL, or in place of "Predicted against measured ...". */
struct drawing *dataset_parity(struct arena *arena, const char *title, const char *caption,
			       const struct dataset_outcome *const *outcomes, size_t count,
			       enum measure measure);

/* Rows that differ in nothing but the number of GPUs as scaling curves, those
 * that differ in the size of a collective's message as curves of bus bandwidth,
 * with what was measured; a few curves a chart. */
struct dataset_chart {
	struct drawing *drawing;
	const char *caption;
};
size_t dataset_charts(struct arena *arena, const char *caption,
		      const struct dataset_outcome *outcome, const struct dataset_chart **charts);

#endif
