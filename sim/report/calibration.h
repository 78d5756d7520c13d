/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A calibration in words and charts, for its page and for verbs. */
#ifndef FARWIRE_REPORT_CALIBRATION_H
#define FARWIRE_REPORT_CALIBRATION_H

#include "calib/fit/calibration.h"
#include "plots/charts.h"

/* "launching a kernel takes 2.1 us (...); pinned copies to the GPU reach 25 GB/s from 4 KiB
 * up ...": the numbers that people ask for first; "" if there are none. */
const char *calibration_words(struct arena *arena, const struct calibration *calibration);
/* "pinned copies to the GPU from 4 MiB up: ..." of each line, and how well it meets points that
 * no fit has seen. Sentences in arena; returns how many. */
size_t calibration_sentences(struct arena *arena, const struct calibration *calibration,
			     const char *const **sentences);
/* Its lines and rooflines, one drawing each; returns how many. */
size_t calibration_drawings(struct arena *arena, const struct calibration *calibration,
			    const struct drawing *const **drawings);

#endif
