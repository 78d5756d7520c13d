/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The answer of `solve` in sentences, as a table and as a chart. */
#ifndef FARWIRE_REPORT_SOLVING_WORDS_H
#define FARWIRE_REPORT_SOLVING_WORDS_H

#include "plots/charts.h"
#include "sim/analysis/solving.h"

const struct result_table *solving_table(struct arena *arena, const struct solving *solving);
struct drawing *solving_chart(struct arena *arena, struct chart_text text,
			      const struct solving *solving);

#endif
