/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sensitivities as a table, whose title says them in sentences, and as a chart. */
#pragma once

#include "plots/charts.h"
#include "sim/analysis/sensitivity.h"

/* Returns the words for the swing's parameter, and texts of its value and of the answer there. */
const char *swing_words(struct arena *arena, const struct swing *swing);
const char *swing_value(struct arena *arena, const struct swing *swing, double value);
const char *swing_answer(struct arena *arena, const struct sensitivity *found,
			 const struct case_answer *answer);
const struct result_table *sensitivity_table(struct arena *arena, const struct sensitivity *found);
/* Draws a tornado chart. If title is NULL, the chart's title names the number and the case. */
struct drawing *sensitivity_chart(struct arena *arena, const char *title, const char *caption,
				  const struct sensitivity *found);
