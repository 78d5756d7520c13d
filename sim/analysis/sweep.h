/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predicts a case over a grid of parameter values. */
#pragma once

#include "sim/analysis/analysis.h"

/* SWEEP_DRAWN: the usual most_drawn. With 8 draws it bounds what intervals cost by 144 runs, which
 * is less than six predictions with 24 draws. */
enum { AXES_MAX = 6, POINTS_MAX = 1000000, SWEEP_DRAWN = 16 };

/* The values of a parameter: "key=a,b,c", or N values from lo to hi as "key=lo:hi:logN" (equal
 * quotients) or "key=lo:hi:linN" (equal differences). Values have units as in files. */
struct sweep_axis {
	const char *key, *from;   /* from: the option that holds the text, for messages */
	const char *const *texts; /* by value: the setting "key=value" */
	const double *values;     /* SI units; for words their index */
	size_t count;
	enum quantity quantity; /* QUANTITY_COUNT for words and plain numbers */
	bool log, words;
	bool ranged; /* written as lo:hi */
};

/* Reads an axis from the option `from`, for example "--vary". Returns false after errors in
 * diag. */
bool sweep_axis_read(struct arena *arena, struct diag *diag, const char *from, const char *text,
		     struct sweep_axis *axis);

/* Returns false after errors in diag: a key that is varied twice, or too many points. */
bool sweep_axes_check(struct diag *diag, const struct sweep_axis *axes, size_t count);

struct sweep {
	const struct sweep_axis *axes;
	const char *const
		*words; /* words for each axis's parameter: "one-way latency of vswitch" */
	size_t axis_count;
	/* predictions in row-major order: the last axis varies fastest. They have no clients,
	 * links and parameters */
	const struct prediction **points;
	size_t point_count;
};

/* Returns the index of the point's value on an axis. */
size_t sweep_axis_index(const struct sweep *sweep, size_t point, size_t axis);

/* The points of a sweep as a list, in place of a grid. All ranks run the same sweep of a list, and
 * each of them gets all points, so that a search can decide alike on all ranks. */
struct sweep_list {
	const struct setting *const *settings; /* by point: setting_count settings */
	/* by point: the whole case, in place of settings. Its prediction has clients. NULL: none */
	const struct case_request *requests;
	size_t setting_count, point_count;
	/* Returns true if the point and all points behind it are not needed. `points` has the
	 * finished ones and is otherwise NULL. */
	bool (*ends)(const void *ctx, size_t point, const struct prediction *const *points);
	const void *ctx;
	const char **refused; /* by point: receives why it cannot be simulated; such a point is NULL
				 in struct sweep. NULL: such a point is an error */
};

struct sweep_request {
	struct analysis_input input;
	const struct sweep_axis *axes;
	size_t axis_count;
	const struct sweep_list *list; /* NULL: the grid of the axes */
	/* If there are more points, only the first and the fastest ones have draws, this many
	 * together; 0: all points have draws. */
	size_t most_drawn;
	const char *journal; /* path of a file in which finished points are stored, and from which
				they are taken if it exists (journal.h); NULL: none */
};

/* The reason why sweep_run returned NULL, in addition to the errors in diag. */
struct sweep_fault {
	const char *broken; /* message of a broken invariant; NULL: none */
	bool outside;       /* the file system failed, not the input */
};

/* Predicts every point with options.jobs threads. Returns NULL after errors: those of the first
 * point in order that has any. The results do not depend on the number of threads, the journal
 * or the ranks. The caller removes the journal when it has written the results.
 *
 * Ranks other than the first only compute points for it. They return NULL from the sweep of a
 * grid, and the points from that of a list. If the first rank fails, they return NULL without
 * errors, because the first rank reports them. */
const struct sweep *sweep_run(struct arena *arena, struct diag *diag,
			      const struct sweep_request *request, struct sweep_fault *fault);

/* Ends the work of several ranks. The first rank waits until all others have left, and ends their
 * sweeps that it does not run. Another rank tells the first one that it leaves, with the number of
 * a point on the first line of `text` and errors on the next ones. If the first rank waits for
 * points, it reports these errors. */
void sweep_leave(const struct ranks *ranks, const char *text);
