/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of a report about a what-if: a prediction for every combination of its values, without
 * measurements. */
#include <math.h>

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

static bool has_epochs(const struct part *part)
{
	for (size_t i = 0; i < part->dataset->row_count; i++)
		if (isfinite(part->outcome->rows[i].prediction->training_s.value))
			return true;
	return false;
}

static bool trains(const struct part *part)
{
	return part_kinds(part) == PREDICTION_TRAINING;
}

static bool has_intervals(const struct part *part)
{
	for (size_t i = 0; i < part->dataset->row_count; i++)
		if (has_interval(part->outcome->rows[i].predicted))
			return true;
	return false;
}

static void heads(struct report_table *table, const struct part *part)
{
	for (size_t d = 0; d < part->dataset->dimension_count; d++)
		report_columns(table, part->dataset->dimensions[d].name);
	report_columns(
		table,
		arena_printf(part->arena, "%s>%s%s|step time (ms)>%s%s|bottleneck",
			     measure_words(part->dataset->measure),
			     has_intervals(part) ? "|90 % interval>" : "",
			     trains(part) ? "|speed-up>|scaling efficiency (%)>"
					  : "|ratio to local (%)>",
			     trains(part) ? "|exposed communication (ms)>|input wait (ms)>" : "",
			     has_epochs(part) ? "|training time (h)>" : ""));
}

static void cells(struct report_table *table, const struct part *part,
		  const struct row_outcome *row)
{
	const struct prediction *p = row->prediction;
	report_row(table, p->ok ? TONE_PLAIN : TONE_ALARM, CELLS(NULL));
	for (size_t d = 0; d < part->dataset->dimension_count; d++)
		report_cell(table, "%s", part->dataset->dimensions[d].values[row->row->at[d]].name);
	if (report_failed(table, p->ok, p->reason))
		return;
	if (has_intervals(part))
		report_estimate(table, row->predicted, 1, 4);
	else
		report_figures(table, row->predicted.value, 4);
	if (trains(part))
		report_figures(table, p->speedup.value, 3);
	report_figures(table, 100 * p->ratio.value, 3);
	report_figures(table, 1e3 * p->step_s.value, 4);
	if (trains(part)) {
		report_cell(table, "%.2f", fmax(0, 1e3 * prediction_part_s(p, PART_EXPOSED)));
		report_cell(table, "%.2f", fmax(0, 1e3 * prediction_part_s(p, PART_INPUT)));
	}
	if (has_epochs(part))
		report_figures(table, p->training_s.value / 3600, 3);
	report_cell(table, "%s", p->bottleneck);
}

void report_what_if(const struct part *part)
{
	report_answer(part->report, false,
		      "There are no measurements of these combinations. Predicted %s: %s.",
		      measure_words(part->dataset->measure), ranges(part));
	struct report_table *table = report_table(
		part->report, "", "The prediction for every combination.%s",
		trains(part) ? " Scaling efficiency is relative to ideal linear scaling. Exposed "
			       "communication and input wait are parts of the step time."
			     : "");
	heads(table, part);
	for (size_t i = 0; i < part->dataset->row_count; i++)
		cells(table, part, &part->outcome->rows[i]);
}
