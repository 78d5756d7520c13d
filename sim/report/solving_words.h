/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The answer of `solve` in sentences, as a table and as a chart. */
#pragma once

#include "plots/charts.h"
#include "sim/analysis/solving.h"

const struct result_table *solving_table(struct arena *arena, const struct solving *solving);
struct drawing *solving_chart(struct arena *arena, struct chart_text text,
			      const struct solving *solving);
