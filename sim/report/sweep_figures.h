/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Charts of sweeps (curves over one axis, or maps over two) and of scaling. */
#pragma once

#include "plots/charts.h"
#include "sim/analysis/reported.h"
#include "sim/analysis/scaling.h"

/* Returns the case without the axes. If this is not a complete case, it gets the first value of
 * each axis. Returns NULL if that is not complete either. */
const struct scenario *sweep_base(struct arena *arena, const struct sweep_request *request);
/* Returns the text of one value of an axis: "25 us", "10 Gbit/s", "rdma". */
const char *sweep_value_text(struct arena *arena, const struct sweep_axis *axis, size_t index);
/* Returns the values of a point: "one-way latency of wire = 1 us, batch = 16". */
const char *sweep_place(struct arena *arena, const struct sweep *sweep, size_t point);
/* Returns the answer that a sweep is about, by the kinds of its predictions. */
const struct reported *sweep_main_answer(const struct sweep *sweep);
/* Draws the target's answer with a line at its value, or without a target the main answer. Two axes
 * of numbers become a map. If text has no title, the chart has one that fits the sweep. */
struct drawing *sweep_chart(struct arena *arena, struct chart_text text, const struct sweep *sweep,
			    const struct target *target);

/* Draws throughput over the number of GPUs with the ideal line, or a collective's bus bandwidth. */
struct drawing *scaling_chart(struct arena *arena, struct chart_text text,
			      const struct scaling *scaling);
/* Draws the parts of the step time for each number of GPUs. Returns NULL for a collective. */
struct drawing *scaling_parts_chart(struct arena *arena, struct chart_text text,
				    const struct scaling *scaling);
