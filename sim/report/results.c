/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Result tables in a report, folded below the figure that shows their numbers. */
#include "sim/report/part.h"

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
	report_show(report, summary, result_table_shown(report->arena, result),
		    arena_printf(report->arena, "%s.", caption));
}
