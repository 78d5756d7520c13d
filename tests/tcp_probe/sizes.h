/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes from least to most, each `step` times the previous one, and `random_count` sizes in
 * between. The random sizes are uniform over the octaves and held out from fits. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "calib/sample/plan.h"

struct sizes {
	double size_B[64];
	bool held_out[64];
	size_t count;
};
struct sizes sizes_between(double least_B, double most_B, double step, size_t random_count,
			   struct plan_random *random);
