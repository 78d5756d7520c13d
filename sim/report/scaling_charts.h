/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Charts of a case on more and more GPUs. */
#ifndef FARWIRE_REPORT_SCALING_CHARTS_H
#define FARWIRE_REPORT_SCALING_CHARTS_H

#include "plots/charts.h"
#include "sim/analysis/scaling.h"

/* Throughput with the ideal line, of a collective its bus bandwidth. */
struct drawing *scaling_chart(struct arena *arena, struct chart_text text,
			      const struct scaling *scaling);
/* What each step is made of; NULL for a collective. */
struct drawing *scaling_parts_chart(struct arena *arena, struct chart_text text,
				    const struct scaling *scaling);

#endif
