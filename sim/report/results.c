/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Result tables in a report, folded below the figure that shows their numbers. */
#include <math.h>
#include <string.h>

#include "sim/base/notes.h"
#include "sim/report/part.h"

static void fill_row(struct report_table *table, const struct result_table *result,
		     const struct result_cell *cells, bool intervals, struct notes *notes)
{
	struct arena *arena = table->arena;
	for (size_t k = 0; k < result->column_count; k++) {
		enum quantity quantity = result->columns[k].quantity;
		struct estimate number = cells[k].number;
		const char *text = result->columns[k].text ? cells[k].text
				   : isfinite(number.value)
					   ? quantity_format(arena, quantity, number.value)
					   : NULL;
		if (is_verdict(&result->columns[k]) && text && strcmp(text, "ok") != 0)
			text = notes_cell(arena, notes, text);
		report_cell(table, "%s", text ? text : "–");
		if (!result->columns[k].interval || !intervals)
			continue;
		bool known = has_interval(number);
		report_cell(table, "%s%s%s",
			    known ? quantity_format(arena, quantity, number.low) : "",
			    known ? " to " : "",
			    known ? quantity_format(arena, quantity, number.high) : "");
	}
}

static bool has_failed(const struct result_table *result, const struct result_cell *cells)
{
	for (size_t k = 0; k < result->column_count; k++)
		if (is_verdict(&result->columns[k]))
			return cells[k].text && strcmp(cells[k].text, "ok") != 0;
	return false;
}

void report_results(struct report *report, const struct result_table *result, bool intervals,
		    const char *summary, const char *caption)
{
	if (!caption)
		caption = intervals ? "With 90 % intervals" : "Without intervals";
	if (result->setup)
		caption = arena_printf(report->arena, "%s. Setup: %s", caption, result->setup);
	if (result->without_effect)
		caption = arena_printf(report->arena, "%s. Changes nothing here: %s", caption,
				       result->without_effect);
	struct report_table *table = summary ? report_folded(report, summary, "", "%s.", caption)
					     : report_table(report, "", "%s.", caption);
	for (size_t k = 0; k < result->column_count; k++) {
		const struct result_column *column = &result->columns[k];
		report_columns(
			table,
			arena_printf(report->arena, "%s%s%s", result_heading(report->arena, column),
				     column->text ? "" : ">",
				     column->interval && intervals ? "|90 % interval>" : ""));
	}
	struct notes notes = {0};
	for (size_t i = 0; i < result->row_count; i++) {
		const struct result_cell *cells = &result->cells[i * result->column_count];
		report_row(table, has_failed(result, cells) ? TONE_ALARM : TONE_PLAIN, CELLS(NULL));
		fill_row(table, result, cells, intervals, &notes);
	}
	for (size_t i = 0; i < notes.list.count; i++)
		report_row(table, TONE_SOFT, CELLS(notes_text(report->arena, &notes, i)));
}
