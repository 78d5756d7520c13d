/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The report about cases, datasets and recordings, with the answer first.
 *
 * A caller begins a report with a REQUEST, adds parts in any order, finishes it and hands it
 * to a writer (document.h). A part of a case is predicted here. A part of a dataset or a
 * recording is made from the answer of its analysis. */
#pragma once

#include "calib/fit/calibration.h"
#include "sim/analysis/dataset.h"
#include "sim/analysis/sweep.h"
#include "sim/report/caption.h"
#include "sim/report/document.h"

struct report_request {
	const char *title; /* the question; NULL: a title that fits the parts */
	struct caption caption;
	struct predict_options options; /* options for every case */
	struct watch watch;
	const char *data_root;
	size_t most_drawn; /* of the points of a sweep (struct sweep_request) */
};

struct report *report_begin(struct arena *arena, const struct report_request *request);

/* Both return false after errors in report->diag or a broken invariant (report->broken). */
bool report_case(struct report *report, const struct case_request *request);
bool report_sweep(struct report *report, const struct case_request *request,
		  const struct sweep_axis *axes, size_t axis_count);

/* Adds a short part about a case, for a page that asks again after each change: the answer, what
 * would help, and the parts of the step. The errors are those of report_case. */
bool report_brief(struct report *report, const struct case_request *request);
/* Adds the curve of the case's main answer over the values of a number, without intervals. Values
 * that the case refuses are left out. */
struct curve_request {
	const char *key, *label;               /* of the number */
	const char *const *texts;              /* its values, rising */
	const struct setting *const *settings; /* setting_count for each value */
	size_t count, setting_count;
};
bool report_curve(struct report *report, const struct case_request *request,
		  const struct curve_request *curve);

/* subject is the name of the dataset in captions. */
void report_dataset(struct report *report, const struct dataset_outcome *outcome,
		    const char *subject);

/* Adds a calibrated machine: parameters and fitted lines. */
void report_calibration(struct report *report, const struct calibration *calibration);
/* Sets the title, and puts a comparison first if there are several cases. */
void report_finish(struct report *report);
