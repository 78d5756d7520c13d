/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A calibration in sentences and charts, for reports and verbs. */
#pragma once

#include "calib/fit/calibration.h"
#include "plots/charts.h"

/* Returns the most important numbers, "launching a kernel takes 2.1 us (...); pinned copies to the
 * GPU reach 25 GB/s from 4 KiB up ...", or "" if the calibration has none of them. */
const char *calibration_words(struct arena *arena, const struct calibration *calibration);
/* Sets *sentences to one sentence for each piece of each line and one for its held-out points.
 * Returns their number. */
size_t calibration_sentences(struct arena *arena, const struct calibration *calibration,
			     const char *const **sentences);
/* Returns the points of these drawings as a table. */
const struct result_table *calibration_points(struct arena *arena,
					      const struct calibration *const *calibrations,
					      size_t count);
/* Draws each line, the products of all number types together, and attention. Returns the number of
 * drawings. */
struct calibration_drawing {
	struct drawing *drawing;
	const char *caption;
};
size_t calibration_drawings(struct arena *arena, const struct calibration *calibration,
			    const struct calibration_drawing **drawings);
