/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cost and energy of a prediction. */
#pragma once

#include "sim/predict/draws.h"

/* Return the power of all that the case uses, and what an hour of it costs, at that utilisation of
 * its GPUs. NAN: a price or the power limit of a GPU is not known. */
/* exported: tests compare them with sums by hand */
double costs_power_W(const struct costs *costs, double utilization);
/* exported: tests compare them with sums by hand */
double costs_hour_count(const struct costs *costs, double utilization);
/* Returns which value is missing and how to write it; NULL: none.
 * exported: tests read the text */
const char *costs_unknown(struct arena *arena, const struct costs *costs);
/* Sets the costs of a point that has not failed. */
void costs_add(const struct scenario *scenario, struct point *point);
/* Sets the costs of a prediction, whose times and rates are set. */
void costs_summarize(struct arena *arena, const struct scenario *scenario,
		     const struct point *point, const struct draws *draws, struct prediction *p);
