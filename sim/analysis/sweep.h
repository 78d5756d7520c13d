/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A case over a grid of parameter values. */
#ifndef FARWIRE_ANALYSIS_SWEEP_H
#define FARWIRE_ANALYSIS_SWEEP_H

#include "sim/analysis/analysis.h"

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
	bool ranged; /* given as lo:hi */
};

/* from: the option that holds text, "--vary". False after errors in diag. */
bool sweep_axis_read(struct arena *arena, struct diag *diag, const char *from, const char *text,
		     struct sweep_axis *axis);

/* False with errors in diag: a key twice, too many points. */
bool sweep_axes_check(struct diag *diag, const struct sweep_axis *axes, size_t count);

struct sweep {
	const struct sweep_axis *axes;
	const char *const *words; /* of each axis's parameter: "one-way latency of vswitch" */
	size_t axis_count;
	/* Row-major, the last axis fastest; without jobs, links and parameters. */
	const struct prediction **points;
	size_t point_count;
};

/* Which value of an axis a point has. */
size_t sweep_axis_index(const struct sweep *sweep, size_t point, size_t axis);

struct ranks;
struct sweep_request {
	struct analysis_input input;
	const struct sweep_axis *axes;
	size_t axis_count;
	const char *journal;       /* a file in which finished points are kept (journal.h), and from
				      which they are taken if it is there; NULL: none */
	const struct ranks *ranks; /* other processes that compute as well; NULL: none */
};

/* Why there is no sweep, beside what diag holds. */
struct sweep_fault {
	const char *broken; /* an invariant of the simulation; NULL: none */
	bool outside;       /* the file system's fault, no input error */
};

/* Predicts every point, options.jobs at a time. NULL after errors (of the
 * first point in order that has any). The answer does not depend on jobs,
 * journal and ranks. The journal stays: the caller removes it when the
 * results of the sweep are written. */
const struct sweep *sweep_run(struct arena *arena, struct diag *diag,
			      const struct sweep_request *request, struct sweep_fault *fault);

/* The part of the other ranks while the first one is in sweep_run: they compute
 * points until none are left. diag: errors that this rank has found in its input
 * already, if any. */
void sweep_help(struct diag *diag, const struct sweep_request *request);
/* Ends the other ranks where the first one has no sweep. */
void sweep_dismiss(const struct ranks *ranks, unsigned jobs);

#endif
