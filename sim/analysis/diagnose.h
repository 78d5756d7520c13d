/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds single faults that explain measured times of collectives (docs/diagnose.md).
 *
 * Suspects are generated from the topology: alike links once, adapters, a GPU, and variables of the
 * library. Each is simulated at all sizes. The logarithms of measured and predicted times differ by
 * the noise and by the error of the prediction. Most of that error is common to all sizes, so that
 * a fault is judged by level and shape of the curve. The noise is the part of the difference that
 * each size has for itself: the scatter of the measurement, and the error of the prediction at one
 * size. It is larger on machines to which no fit belongs. */
#ifndef FARWIRE_ANALYSIS_DIAGNOSE_H
#define FARWIRE_ANALYSIS_DIAGNOSE_H

#include "sim/analysis/dataset.h"
#include "sim/analysis/sweep.h"

enum { DIAGNOSE_POINTS_MOST = 20, DIAGNOSE_RANGES = 3 };

struct suspect {
	const char *what, *check; /* "link n0.nv0 at half its rate", and what to check next */
	const char *setting;      /* the case's setting, "case.degrade=n0.nv0=0.5"; "": no fault */
	double *time_s;           /* predicted, by point; NaN: the collective does not run */
	double distance;          /* squared, of the measured curve, in units of the errors */
	double probability;       /* that of its class, if it is the first of it; otherwise 0 */
	size_t alike_count;       /* further suspects with the same curve */
	const char *alike;        /* their `what`, separated by "; " */
	bool again;               /* the same fault as the suspect before, at another place */
};

struct size_range {
	const char *name; /* "small" */
	double from_B, to_B;
	size_t count, outside_count; /* points, and those outside of the prediction's interval */
	double ratio;                /* median of measured / predicted time */
	/* -1: most of its points are outside, and faster than predicted; 1: slower; 0: neither */
	int deviation;
};

struct diagnosis {
	const struct dataset_row *const *rows; /* points, ascending by size in each collective */
	double *size_B;
	struct estimate *expected_s; /* without a fault */
	size_t count;
	const struct cfg_resolution *const *cases; /* parameters of the points without a fault */
	struct size_range ranges[DIAGNOSE_RANGES];
	struct suspect *suspects; /* descending by probability of the classes, with "no fault" */
	size_t suspect_count;     /* first suspects of classes */
	size_t hidden_count;      /* faults that these sizes cannot show */
	size_t simulated_count;
	bool explained;     /* the first one agrees with the curve within the errors */
	double noise_ratio; /* standard deviation that each size has for itself */
	enum distance distance;
	double ratio; /* median of measured / predicted time over all points */
	bool faster;  /* the log is faster than the prediction, which no fault explains */
};

struct diagnose_request {
	struct analysis_input input; /* its case has no settings: those of the rows are complete */
	const struct dataset *dataset;
	double noise_ratio;  /* as in struct diagnosis; 0: that of the machine's distance */
	const char *journal; /* as in struct sweep_request; keeps the points with faults */
};

/* Returns NULL after errors in diag or *fault. The caller removes the journal when it has written
 * the results. */
const struct diagnosis *diagnose(struct arena *arena, struct diag *diag,
				 const struct diagnose_request *request, struct sweep_fault *fault);

#endif
