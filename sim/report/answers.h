/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers of analyses as tables and charts.
 *
 * In tables of predictions, each prediction is a row. The answers depend on the kind of the
 * prediction: clients of a GPU, a training job, or a collective. So a table shows the columns that
 * any of its predictions has. The titles of the tables of `solve` and `sensitivity` say the answer
 * in a sentence. */
#pragma once

#include "plots/charts.h"
#include "sim/analysis/dataset.h"
#include "sim/analysis/plan_search.h"
#include "sim/analysis/scaling.h"
#include "sim/analysis/sensitivity.h"
#include "sim/analysis/serve_search.h"
#include "sim/analysis/solving.h"
#include "sim/predict/draws.h"

/* Returns a table with a row for each case and ratios to the first case. */
const struct result_table *
comparison_table(struct arena *arena, const struct prediction *const *predictions, size_t count);
/* Returns for example "one-way latency of wire and batch size". */
const char *sweep_words(struct arena *arena, const struct sweep *sweep);
/* Returns a table with a row for each point: its values on the axes, then its answers. */
const struct result_table *sweep_table(struct arena *arena, const struct sweep *sweep);
/* Returns a table with a row for each combination of a what-if: its values, then its answers. */
const struct result_table *grid_table(struct arena *arena, const struct dataset_outcome *outcome);
/* Returns a table with a row for each number of GPUs. */
const struct result_table *scaling_table(struct arena *arena, const struct scaling *scaling);
/* Returns a table with a row for each of the best plans. */
const struct result_table *plan_search_table(struct arena *arena, const struct plan_search *search);
/* Returns a table with a row for each of the best plans of several systems. Those of searches[i]
 * are on the system names[i]. *rows receives the predictions of its rows, the fastest first. */
const struct result_table *systems_table(struct arena *arena, const char *const *names,
					 const struct plan_search *const *searches, size_t count,
					 const struct prediction *const **rows);

/* Returns the table with its rows in another order, and a title that says which one is the best.
 * Rows that meet the target come first. The cheapest of these is the best one. It is the fastest
 * one if no price is known, or if the target is a cost or an energy. Each row is of one of the
 * predictions, and its first `lead` cells say which. */
const struct result_table *ranked_table(struct arena *arena, const struct result_table *table,
					const struct prediction *const *predictions, size_t lead,
					const struct target *target);

/* Returns true if the answer is a cost, a power or an energy. */
bool reported_is_cost(const struct reported *row);
/* Returns true if some prediction has a known cost. */
bool costs_are_known(const struct prediction *const *predictions, size_t count);
/* Draws throughput over cost for the rows of the table. Filled markers are of those that no other
 * one exceeds in both, among those that meet the target (NULL: none). */
struct drawing *cost_chart(struct arena *arena, struct chart_text text,
			   const struct result_table *table, size_t lead,
			   const struct prediction *const *predictions,
			   const struct target *target);

/* Returns the throughput of a divided by that of b. Returns NaN if one of them failed, or if
 * they count samples, requests and bytes. The probability is NaN without intervals and for a == b.
 */
struct quotient throughput_quotient(const struct prediction *a, const struct prediction *b);

/* Returns the cost of a sample of a divided by that of b, likewise. NaN if a price is not known. */
struct quotient cost_quotient(const struct prediction *a, const struct prediction *b);

/* Returns a table with a row for each of the best layouts, and then for those without a load. */
const struct result_table *serve_search_table(struct arena *arena,
					      const struct serve_search *search);
/* Draws tokens/s of a GPU over tokens/s of a user for all simulated loads. No other one has more
 * of both than filled markers. */
struct drawing *serve_search_chart(struct arena *arena, struct chart_text text,
				   const struct serve_search *search);

const struct result_table *solving_table(struct arena *arena, const struct solving *solving);
struct drawing *solving_chart(struct arena *arena, struct chart_text text,
			      const struct solving *solving);

const struct result_table *sensitivity_table(struct arena *arena, const struct sensitivity *found);
/* Draws a tornado chart. If title is NULL, the chart's title names the number and the case. */
struct drawing *sensitivity_chart(struct arena *arena, const char *title, const char *caption,
				  const struct sensitivity *found);
