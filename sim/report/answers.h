/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of predictions: which answers, under which names.
 *
 * `compare`, `sweep` and `scale` print a line for each prediction. A line depends on the
 * kind of the prediction (clients of a GPU, a training job, a collective alone). So each table
 * lists all columns that it may have, and shows those that any of its predictions has.
 */
#ifndef FARWIRE_REPORT_ANSWERS_H
#define FARWIRE_REPORT_ANSWERS_H

#include "sim/analysis/scaling.h"

/* Cases beside each other, the first one as 1. */
const struct result_table *
comparison_table(struct arena *arena, const struct prediction *const *predictions, size_t count);
/* A line for each point: its values of the axes, then its answers. */
const struct result_table *sweep_table(struct arena *arena, const struct sweep *sweep);
/* A line for each number of GPUs. */
const struct result_table *scaling_table(struct arena *arena, const struct scaling *scaling);

/* Throughput of a over that of b; NaN if either failed, or one counts images and the other
 * bytes. */
struct estimate throughput_quotient(const struct prediction *a, const struct prediction *b);

#endif
