/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes a command that repeats a run.
 *
 * When an invariant breaks, the message ends with the version and this command. It runs the same
 * point with the same seed and the exact values of all drawn parameters, in quotes that a shell
 * takes. */
#pragma once

#include "sim/scenario/scenario.h"

/* Returns one line: "what (farwire 0.2.0: farwire run 'case.cfg' --seed 3 --draws 0 --set ...)".
 * `scenario` was read from the request. */
const char *reproducible(struct arena *arena, const struct case_request *request,
			 const struct scenario *scenario, uint64_t seed, const char *what);
