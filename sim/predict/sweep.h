/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A case over a grid of parameter values. */
#ifndef FARWIRE_PREDICT_SWEEP_H
#define FARWIRE_PREDICT_SWEEP_H

#include "sim/predict/predict.h"

enum { AXES_MAX = 6, POINTS_MAX = 1000000 };

/* Values of a parameter: "key=a,b,c", or "key=lo:hi:logN" and "key=lo:hi:linN" for N
 * values from lo to hi with equal quotients or differences. Values carry units
 * as in files. */
struct sweep_axis {
	const char *key, *from;   /* from: the option, for messages */
	const char *const *texts; /* as settings: "key=value" */
	const double *values;     /* SI; the index for words */
	size_t count;
	enum quantity quantity; /* QUANTITY_COUNT for words and numbers */
	bool log, words;
};

/* from: the option that holds text, "--vary". False after errors in diag. */
bool sweep_axis_read(struct arena *arena, struct diag *diag, const char *from, const char *text,
		     struct sweep_axis *axis);

struct sweep {
	const struct sweep_axis *axes;
	size_t axis_count;
	/* Row-major, the last axis fastest; without clients, links and parameters. */
	const struct prediction **points;
	size_t point_count;
};

/* Predicts every point, options->jobs at a time. NULL after errors (of the
 * first point in order that has any). The answer does not depend on jobs.
 * progress (may be NULL) is told the points done. */
const struct sweep *sweep_run(struct arena *arena, struct diag *diag,
			      const struct case_request *request, const struct sweep_axis *axes,
			      size_t axis_count, const struct predict_options *options,
			      void (*progress)(size_t done, size_t count), const char **broken);

#endif
