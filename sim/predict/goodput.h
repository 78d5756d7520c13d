/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Adds the whole run of a plan to a point: its failures, checkpoints and restarts
 * (sim/training/longrun.h). */
#pragma once

#include "sim/predict/predict.h"

/* Sets elapsed_s and the other numbers of the long run. The point has not failed, and the scenario
 * has a long run. A draw plays one run with rates from the distributions of their observed
 * failures; otherwise the numbers are means of many runs. */
void goodput_add(struct arena *arena, const struct scenario *scenario, uint64_t seed,
		 struct point *point);
