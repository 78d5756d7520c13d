/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of predictions for `compare`, `sweep` and `scale`.
 *
 * Each prediction is a row. The answers depend on the kind of the prediction: clients of a GPU, a
 * training job, or a collective. So a table shows the columns that any of its predictions has. */
#pragma once

#include "sim/analysis/dataset.h"
#include "sim/analysis/plan_search.h"
#include "sim/analysis/scaling.h"
#include "sim/predict/draws.h"

/* Returns a table with a row for each case and ratios to the first case. */
const struct result_table *
comparison_table(struct arena *arena, const struct prediction *const *predictions, size_t count);
/* Returns a table with a row for each point: its values on the axes, then its answers. */
/* Returns for example "one-way latency of wire and batch size". */
const char *sweep_words(struct arena *arena, const struct sweep *sweep);
const struct result_table *sweep_table(struct arena *arena, const struct sweep *sweep);
/* Returns a table with a row for each combination of a what-if: its values, then its answers. */
const struct result_table *grid_table(struct arena *arena, const struct dataset_outcome *outcome);
/* Returns a table with a row for each number of GPUs. */
const struct result_table *scaling_table(struct arena *arena, const struct scaling *scaling);
/* Returns a table with a row for each of the best plans. */
const struct result_table *plan_search_table(struct arena *arena, const struct plan_search *search);

/* Returns the throughput of a divided by that of b. Returns NaN if one of them failed, or if
 * they count samples, requests and bytes. The probability is NaN without intervals and for a == b.
 */
struct quotient throughput_quotient(const struct prediction *a, const struct prediction *b);
