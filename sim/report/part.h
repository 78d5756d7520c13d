/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions that the parts of a report share. */
#pragma once

#include "sim/report/report.h"

/* Returns this title with the caption of the current part. */
struct chart_text report_text(const struct report *report, const char *title);
/* Returns for example ", faster with a probability of 93 %"; "" if above_one is NaN. */
const char *chance_words(struct arena *arena, double above_one);

/* Returns the input for an analysis of the case with this number of draws. */
struct analysis_input report_input(const struct report *report, const struct case_request *request,
				   size_t draws);
/* Stores a broken invariant; the first one stays. */
void report_break(struct report *report, const char *broken);

/* Adds a result table. It is folded if there is a summary; caption NULL says whether it has
 * intervals. */
void report_results(struct report *report, const struct result_table *result, bool intervals,
		    const char *summary, const char *caption);
/* Adds tables of the case's settings, and, folded, of all parameters. */
void report_resolution(struct report *report, const struct cfg_resolution *resolution);

/* Adds a chart of the parts of the step time. */
void report_breakdown(struct report *report, const struct prediction *const *predictions,
		      size_t count);
/* Adds the topology with the links' utilisation in this prediction, which is called `label`. */
void report_topology(struct report *report, const struct scenario *scenario,
		     const struct prediction *prediction, const char *label);
/* Runs the scenario again and adds the timeline of one steady step of its first client or job. */
void report_timeline(struct report *report, const struct scenario *scenario, const char *label);
