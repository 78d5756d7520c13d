/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of a report about a what-if: a prediction for every combination of its values, without
 * measurements. */

#include <math.h>

#include "sim/report/dataset.h"

/* Returns in low and high the smallest and largest prediction of the judged rows with this value of
 * the first dimension. low > high means that all of them fail. */
static struct estimate range_of(const struct part *part, size_t value)
{
	struct estimate range = {NAN, INFINITY, -INFINITY};
	for (size_t i = 0; i < part->dataset->row_count; i++) {
		const struct row_outcome *row = &part->outcome->rows[i];
		bool counts = row->row->judged || part->dataset->what_if;
		if (row->row->at[0] != value || !counts || !row->prediction->ok)
			continue;
		range.low = fmin(range.low, row->predicted.value);
		range.high = fmax(range.high, row->predicted.value);
	}
	return range;
}

const char *part_ranges(const struct part *part)
{
	const struct grid_dimension *first = &part->dataset->dimensions[0];
	struct arena *arena = part->arena;
	const char *text = "";
	for (size_t v = 0; v < first->value_count; v++) {
		const struct estimate range = range_of(part, v);
		const char *low = figures(arena, range.low, 4),
			   *high = figures(arena, range.high, 4);
		bool one = range.high - range.low < 0.0005 * range.high;
		text = arena_printf(arena, "%s%s%s ", text, v ? "; " : "", first->values[v].name);
		text = range.low > range.high
			       ? arena_printf(arena, "%sfails", text)
			       : arena_printf(arena, "%s%s%s%s", text, one ? "" : low,
					      one ? "" : " to ", high);
	}
	return arena_printf(arena, "Predicted %s: %s. ", measures[part->dataset->measure].words,
			    text);
}

void report_what_if(const struct part *part)
{
	report_answer(part->report, false, "There are no measurements of these combinations. %s",
		      part_ranges(part));
	rows_of_grid(
		part,
		part_kinds(part) == PREDICTION_TRAINING
			? "The prediction for every combination. Scaling efficiency is relative "
			  "to ideal linear scaling. Exposed communication and input wait are "
			  "parts of the step time"
			: "The prediction for every combination");
}
