/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The answers of `solve` and `sensitivity` as tables, whose titles say them in sentences, and as
 * charts. */
#pragma once

#include "plots/charts.h"
#include "sim/analysis/sensitivity.h"
#include "sim/analysis/solving.h"

const struct result_table *solving_table(struct arena *arena, const struct solving *solving);
struct drawing *solving_chart(struct arena *arena, struct chart_text text,
			      const struct solving *solving);

const struct result_table *sensitivity_table(struct arena *arena, const struct sensitivity *found);
/* Draws a tornado chart. If title is NULL, the chart's title names the number and the case. */
struct drawing *sensitivity_chart(struct arena *arena, const char *title, const char *caption,
				  const struct sensitivity *found);
