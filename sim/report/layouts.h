/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The layouts of model servers that a search found, as a table and as a chart. */
#pragma once

#include "plots/charts.h"
#include "sim/analysis/serve_search.h"

/* Returns a table with a row for each of the best layouts, and then for those without a load. */
const struct result_table *serve_search_table(struct arena *arena,
					      const struct serve_search *search);
/* Draws tokens/s of a GPU over tokens/s of a user for all simulated loads. No other one has more
 * of both than filled markers. */
struct drawing *serve_search_chart(struct arena *arena, struct chart_text text,
				   const struct serve_search *search);
