/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the parts of a report share. */
#ifndef FARWIRE_REPORT_PART_H
#define FARWIRE_REPORT_PART_H

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/report/report.h"

/* The share of the local GPU's throughput that counts as kept, as on the contours of maps. */
#define KEPT_RATIO 0.95

/* A figure's title over the caption of the part. */
struct chart_text report_text(const struct report *report, const char *title);
/* What an analysis of the case takes, with these draws. */
struct analysis_input report_input(const struct report *report, const struct case_request *request,
				   size_t draws);
/* The case under further settings. */
struct case_request report_with(struct arena *arena, const struct case_request *request,
				const char *const *settings, size_t count);
/* Keeps a broken invariant, unless there is one already. */
void report_break(struct report *report, const char *broken);

/* An empty table of a prediction's numbers, and its rows. */
struct report_table *report_quantities(struct report *report, const struct prediction *prediction);
void report_quantity(struct report_table *table, const char *what, struct estimate estimate,
		     double scale, const char *unit);
void report_count(struct report_table *table, const char *what, double count, int decimals,
		  const char *unit);

/* The part of a case with jobs or a collective, but what follows in report_case. */
void report_job(struct report *report, const struct case_request *request,
		const struct scenario *scenario, const struct prediction *prediction);
/* A result table, folded under a summary. */
void report_results(struct report *report, const struct result_table *result, bool intervals,
		    const char *summary);
/* The fastest of several cases, and how many times as fast as each other it is. */
void report_comparison(struct report *report);
/* A sentence: up to which round trip one forwarded program keeps KEPT_RATIO of its GPU, by
 * point predictions; "" of other cases, and where that would take long. */
const char *report_keeps(struct report *report, const struct case_request *request,
			 const struct scenario *scenario, const struct prediction *prediction);
/* The uncertain parameters that move the answer the most, one at a time; nothing where
 * that would take long. */
void report_swings(struct report *report, const struct case_request *request,
		   const struct scenario *scenario, const struct prediction *prediction);

/* A path below the shipped data's folder as it stands there, others as they are. */
const char *shown_path(const struct report *report, const char *path);
/* A table of parameters: value, interval, status, origin and note of each that is wanted (NULL:
 * all), folded if there is a summary. */
void report_parameters(struct report *report, const char *summary, const char *caption,
		       const struct cfg_param *const *params, size_t count);
/* The parameters that a case chooses, the uncertain ones, and all of them, folded. */
void report_resolution(struct report *report, const struct cfg_resolution *resolution);

/* The parts of a step's time: chart, and its numbers folded. */
void report_breakdown(struct report *report, const struct prediction *const *predictions,
		      size_t count);
/* The topology with the links' use in that prediction (named `label`). */
void report_topology(struct report *report, const struct scenario *scenario,
		     const struct prediction *prediction, const char *label);
/* One steady step of the scenario's first client or job, run again. */
void report_timeline(struct report *report, const struct scenario *scenario, const char *label);
/* The forwarded programs of a recording: a figure and a table. */
struct streams report_streams(struct report *report, const struct calibration *calibration);

#endif
