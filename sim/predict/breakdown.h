/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Divides the step time into parts by cause and finds the bottleneck. */
#pragma once

#include "sim/predict/predict.h"

/* Fills the fields of the prediction that follow from the jobs' steps in the window: breakdown,
 * bottleneck, counts of calls and timeouts, time of communication. The point must not have
 * failed. */
void breakdown_summarize(struct arena *arena, const struct point *point,
			 const struct scenario *scenario, struct prediction *prediction);
