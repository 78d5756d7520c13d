/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cost and energy of a prediction. */
#pragma once

#include "sim/predict/draws.h"

/* Sets the costs of a point that has not failed. */
void costs_add(const struct scenario *scenario, struct point *point);
/* Sets the costs of a prediction, whose times and rates are set. */
void costs_summarize(struct arena *arena, const struct scenario *scenario,
		     const struct point *point, const struct draws *draws, struct prediction *p);
