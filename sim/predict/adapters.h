/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds adapters of a machine that carry nothing although others of the machine do. */
#pragma once

#include "sim/predict/predict.h"

/* Returns how many adapters of the first job's machine carry nothing, and why. Returns NULL if all
 * of them carry bytes, or none does. */
const char *idle_adapters(struct arena *arena, const struct scenario *scenario,
			  const struct world_outcome *outcome);
