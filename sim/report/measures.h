/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The measurement that would narrow a parameter's interval (measures.def), and the remaining model
 * error. */
#pragma once

#include "sim/analysis/reported.h"

/* Returns NULL if no shipped tool measures the parameter. */
const char *measure_of(const char *path);
/* Returns a sentence, after a space, with the interval that the model error alone gives to the
 * number. Returns "" if the model error does not affect it, or if there is no interval. */
const char *model_error_words(struct arena *arena, const struct scenario *scenario,
			      const struct reported *reported, struct estimate now);
