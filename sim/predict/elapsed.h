/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time of a training job from launch to end.
 *
 *   elapsed = phases before the steps + first steps      (simulated, sim/workload/life.h)
 *           + (all steps - first steps) * steady step    (the window of the point's own run)
 *           + evaluations + checkpoints + end
 *
 * An evaluation takes for each batch the kernels of a forward pass, or the slowest stage of the
 * input pipeline if that is longer. One checkpoint is simulated, and all take the same time.
 */
#pragma once

#include "sim/predict/predict.h"

/* Runs the launch of the point's jobs and sets elapsed_s of each job and of the point, and its
 * phases. The point has not failed. */
void elapsed_add(struct arena *arena, const struct scenario *scenario, uint64_t seed,
		 struct point *point);
