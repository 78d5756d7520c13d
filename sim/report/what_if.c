/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of a report about a what-if: a prediction for every combination of its values, without
 * measurements. */

#include "sim/report/dataset.h"

/* Returns the range of predictions for each value of the first dimension: "pods on Calico 220 to
 * 1067; ...". */
static const char *ranges(const struct part *part)
{
	const struct grid_dimension *first = &part->dataset->dimensions[0];
	struct arena *arena = part->arena;
	const char *text = "";
	for (size_t v = 0; v < first->value_count; v++) {
		const struct estimate range = part_range(part, v);
		const char *low = figures(arena, range.low, 4),
			   *high = figures(arena, range.high, 4);
		bool one = range.high - range.low < 0.0005 * range.high;
		text = arena_printf(arena, "%s%s%s ", text, v ? "; " : "", first->values[v].name);
		text = range.low > range.high
			       ? arena_printf(arena, "%sfails", text)
			       : arena_printf(arena, "%s%s%s%s", text, one ? "" : low,
					      one ? "" : " to ", high);
	}
	return text;
}

void report_what_if(const struct part *part)
{
	report_answer(part->report, false,
		      "There are no measurements of these combinations. Predicted %s: %s.",
		      measures[part->dataset->measure].words, ranges(part));
	rows_of_grid(
		part,
		part_kinds(part) == PREDICTION_TRAINING
			? "The prediction for every combination. Scaling efficiency is relative "
			  "to ideal linear scaling. Exposed communication and input wait are "
			  "parts of the step time"
			: "The prediction for every combination");
}
