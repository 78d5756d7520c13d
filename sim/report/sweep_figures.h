/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A sweep as a drawing: curves over one axis, a map over two. */
#ifndef FARWIRE_REPORT_SWEEP_FIGURES_H
#define FARWIRE_REPORT_SWEEP_FIGURES_H

#include "plots/charts.h"
#include "sim/analysis/scaling.h"

/* A text without a title gets one. */
struct drawing *sweep_chart(struct arena *arena, struct chart_text text, const struct sweep *sweep);

/* Throughput over the number of GPUs with the ideal line; of a collective its bus bandwidth. */
struct drawing *scaling_chart(struct arena *arena, struct chart_text text,
			      const struct scaling *scaling);
/* The parts of each step; NULL for a collective. */
struct drawing *scaling_parts_chart(struct arena *arena, struct chart_text text,
				    const struct scaling *scaling);

#endif
