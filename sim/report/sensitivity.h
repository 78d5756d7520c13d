/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sensitivities as a table, whose title says them in sentences, and as a chart. */
#pragma once

#include "plots/charts.h"
#include "sim/analysis/sensitivity.h"

const struct result_table *sensitivity_table(struct arena *arena, const struct sensitivity *found);
/* Draws a tornado chart. If title is NULL, the chart's title names the number and the case. */
struct drawing *sensitivity_chart(struct arena *arena, const char *title, const char *caption,
				  const struct sensitivity *found);
