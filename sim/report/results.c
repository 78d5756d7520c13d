/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables that other verbs print, in a report: the numbers behind a figure. */
#include <math.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/report/report.h"

static void fill_row(struct report_table *table, const struct result_table *result,
		     const struct result_cell *cells, bool intervals)
{
	struct arena *arena = table->arena;
	for (size_t k = 0; k < result->column_count; k++) {
		const struct result_column *column = &result->columns[k];
		struct estimate number = cells[k].number;
		if (column->text) {
			report_cell(table, "%s", cells[k].text ? cells[k].text : "–");
			continue;
		}
		report_cell(table, "%s",
			    isfinite(number.value)
				    ? quantity_format(arena, column->quantity, number.value)
				    : "–");
		if (column->interval && intervals)
			report_cell(table, "%s",
				    has_interval(number)
					    ? arena_printf(arena, "%s to %s",
							   quantity_format(arena, column->quantity,
									   number.low),
							   quantity_format(arena, column->quantity,
									   number.high))
					    : "");
	}
}

/* "step_s" -> "step": the unit stands with each number; keys stay as they are typed. */
static const char *heading(struct arena *arena, const struct result_column *column)
{
	static const char *const units[] = {"_s", "_Bps"};
	char *text = arena_strdup(arena, column->name);
	if (strchr(text, '.'))
		return text;
	if (strcmp(text, "images_per_s") == 0)
		return "images/s";
	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
		char *end = text + strlen(text) - strlen(units[i]);
		if (end > text && strcmp(end, units[i]) == 0)
			*end = '\0';
	}
	for (char *at = text; *at; at++)
		*at = *at == '_' ? ' ' : *at;
	return text;
}

static bool has_failed(const struct result_table *result, const struct result_cell *cells)
{
	for (size_t k = 0; k < result->column_count; k++)
		if (strcmp(result->columns[k].name, "verdict") == 0)
			return cells[k].text && strcmp(cells[k].text, "ok") != 0;
	return false;
}

void report_results(struct report *report, const struct result_table *result, bool intervals,
		    const char *summary)
{
	report_add(report, BLOCK_FOLD, "%s", summary);
	struct report_table *table = report_table(
		report, "%s.", intervals ? "With 90 % intervals" : "Without intervals");
	for (size_t k = 0; k < result->column_count; k++) {
		const struct result_column *column = &result->columns[k];
		report_column(table, heading(report->arena, column),
			      column->text ? COLUMN_TEXT : COLUMN_NUMBER);
		if (column->interval && intervals)
			report_column(table, "90 %", COLUMN_NUMBER);
	}
	for (size_t i = 0; i < result->row_count; i++) {
		const struct result_cell *cells = &result->cells[i * result->column_count];
		report_row(table, has_failed(result, cells) ? TONE_ALARM : TONE_PLAIN);
		fill_row(table, result, cells, intervals);
	}
	report_add(report, BLOCK_UNFOLD, "%s", "");
}
