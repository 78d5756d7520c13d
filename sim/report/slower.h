/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Why a better system is slower.
 *
 * More bandwidth or less latency usually makes a step shorter. It can become longer when the
 * library chooses another algorithm, or when messages meet a timer or a power state at a less
 * lucky time (docs/models/monotone.md). Sweeps name the mechanism. */
#pragma once

#include "sim/analysis/sweep.h"

/* A step that is longer by at most this ratio does not count as slower. */
#define SLOWER_RATIO 0.005

/* By how much and why a better system is slower. */
struct slower {
	double ratio;          /* by how much the step is longer; 0: at most by SLOWER_RATIO */
	const char *mechanism; /* "algorithm", "batches of requests", or a key of struct
				  prediction.waits; NULL: unknown */
};
/* exported: a test compares random systems */
struct slower slower_than(const struct prediction *plain, const struct prediction *better);

/* Returns a text for each point of the sweep that is better than its neighbour on an axis but
 * slower, and otherwise NULL: "1.2 % slower than at 10 Gbit/s: idle states". Returns NULL if no
 * point has a text. */
const char *const *sweep_slower(struct arena *arena, const struct sweep *sweep);
