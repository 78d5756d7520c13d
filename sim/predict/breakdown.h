/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a step goes, the bottleneck, and what is counted beside it. */
#ifndef FARWIRE_PREDICT_BREAKDOWN_H
#define FARWIRE_PREDICT_BREAKDOWN_H

#include "sim/predict/predict.h"

/* Fills the parts of the prediction that come from the jobs' steps in the window: breakdown,
 * bottleneck, calls and timeouts, time of communication. The point has not failed. */
void breakdown_summarize(const struct point *point, const struct scenario *scenario,
			 struct prediction *prediction);

#endif
