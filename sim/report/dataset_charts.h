/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Charts of a dataset's rows, for `validate` and `report`. */
#pragma once

#include "plots/charts.h"
#include "sim/analysis/dataset.h"

/* Returns the profiles and the hash of all rows for a caption. */
const char *dataset_configuration(struct arena *arena,
				  const struct dataset_outcome *const *outcomes, size_t count);

/* Draws predictions against measurements of one measure, or of all for MEASURE_COUNT. Returns NULL
 * if there is no such row. A NULL title means "Predicted against measured ...". */
struct drawing *dataset_parity(struct arena *arena, const char *title, const char *caption,
			       const struct dataset_outcome *const *outcomes, size_t count,
			       enum measure measure);

struct dataset_chart {
	struct drawing *drawing;
	const char *caption;
};
/* Draws curves with measurements, a few curves in each chart. Rows that differ only in the number
 * of GPUs become a scaling curve. Rows that differ only in the size of a collective's message
 * become a curve of bus bandwidth. Sets *charts and returns their number. */
size_t dataset_charts(struct arena *arena, const char *caption,
		      const struct dataset_outcome *outcome, const struct dataset_chart **charts);
