/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds single faults that explain measured times: of collectives, of a step, or of one path
 * (docs/diagnose.md).
 *
 * Suspects are generated from the topology (suspects.h). Each is simulated at all points. The
 * logarithms of measured and predicted times differ by the noise and by the error of the
 * prediction. Most of that error is common to all sizes, so that a fault is judged by level and
 * shape of the curve. The noise is the part of the difference that each size has for itself: the
 * scatter of the measurement, and the error of the prediction at one size. It is larger on machines
 * to which no fit belongs. */
#ifndef FARWIRE_ANALYSIS_DIAGNOSE_H
#define FARWIRE_ANALYSIS_DIAGNOSE_H

#include "sim/analysis/dataset.h"
#include "sim/analysis/suspects.h"
#include "sim/analysis/sweep.h"
#include "sim/analysis/transfer.h"

enum { DIAGNOSE_POINTS_MOST = 20, DIAGNOSE_TRANSFERS_MOST = 96, DIAGNOSE_RANGES = 3 };

struct size_range {
	const char *name; /* "small" */
	double from_B, to_B;
	size_t count, outside_count; /* points, and those outside of the prediction's interval */
	double ratio;                /* median of measured / predicted time */
	/* -1: most of its points are outside, and faster than predicted; 1: slower; 0: neither */
	int deviation;
};

struct diagnosis {
	enum measured measured;
	const struct dataset_row *const *rows; /* points, ascending by size in each curve */
	const char **labels;                   /* "all_reduce of 1 GiB on 8 GPUs" */
	double *size_B;                        /* 1 for a step */
	double *bus_ratio; /* bus bandwidth divided by size over time; 1: not a collective */
	size_t *curve;     /* number of the point's curve: its collective and number of GPUs */
	size_t curve_count;
	struct estimate *expected_s; /* without a fault */
	size_t count;
	const struct cfg_resolution *const *cases; /* parameters of the points without a fault */
	struct size_range ranges[DIAGNOSE_RANGES];
	struct suspect *suspects; /* descending by probability of the classes, with "no fault" */
	size_t suspect_count;     /* first suspects of classes */
	size_t hidden_count;      /* faults that these sizes cannot show */
	size_t simulated_count;
	bool explained;        /* the first one agrees with the curve within the errors */
	double noise_ratio;    /* standard deviation that each size has for itself */
	const char *noise_why; /* why it has this value, after "because"; NULL: it was given */
	double ratio;          /* median of measured / predicted time over all points */
	bool faster;           /* the log is faster than the prediction, which no fault explains */
};

struct diagnose_request {
	struct analysis_input input;   /* the settings of rows are added to its case */
	const struct dataset *dataset; /* a row's `group` is its curve */
	enum measured measured;
	const struct transfer *transfers; /* by row of the dataset; NULL: not of one path */
	double noise_ratio;  /* as in struct diagnosis; 0: that of the machine's distance */
	const char *journal; /* as in struct sweep_request; keeps the points with faults */
};

/* Returns the bus bandwidth of a point, or another bandwidth, at which it takes the time. */
double diagnosis_rate(const struct diagnosis *diagnosis, size_t point, double time_s);

/* Returns NULL after errors in diag or *fault. The caller removes the journal when it has written
 * the results. */
const struct diagnosis *diagnose(struct arena *arena, struct diag *diag,
				 const struct diagnose_request *request, struct sweep_fault *fault);

#endif
