/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps of many micro-batches.
 *
 * A pipeline schedule repeats: once all stages are busy, each further period of micro-batches adds
 * the same time, kernels, messages and waits. So a plan with many micro-batches is run with a few
 * of them, with a period more, and with another one. If both periods add the same time, all times
 * and counters of the run are extended by the periods that are left. Otherwise longer runs follow,
 * until they would cost as much as the whole step, which is then simulated. A run with a trace, or
 * on links that lose packets, is never extended, nor one whose forward passes all come first: a
 * host that is ahead of the GPU fills the launch queue only after many of them.
 *
 * Valid if the rate does not change later. It would change if the host were ahead of the GPU in the
 * first micro-batches, and fell behind only after those that are simulated. */
#pragma once

#include "sim/scenario/scenario.h"

/* Returns the outcome of world_run for the scenario, extended if that is possible. trace can be
 * NULL. */
struct world_outcome periods_run(struct arena *arena, const struct scenario *scenario,
				 uint64_t seed, struct trace *trace);
/* Returns false if all micro-batches of the plan are simulated in each case. */
bool periods_may_extend(const struct training_plan *plan);
