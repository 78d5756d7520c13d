/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reports the progress of long work on stderr: points done, points a second, time left.
 * On a terminal that is one line that changes. Elsewhere it is a line every ten seconds,
 * so that the log of a batch job stays short. Work of less than a second is not reported. As long
 * as the first point is not done, the seconds are counted. SIGINT and SIGTERM end the program with
 * a line that says how to go on. */
#pragma once

#include "sim/base/base.h"

struct progress {
	const char *things; /* "points" */
	const char *from;   /* file that has the points of an earlier run; NULL: none */
	bool quiet, terminal;
	bool begun, shown;
	size_t done;             /* finished things at the last call of progress_tell */
	const char *best, *told; /* names of progress_best: the last one, and the printed one */
	double best_s;
	double made_s, began_s, called_s, printed_s; /* called_s: last call of progress_tell */
	struct watcher *watcher;                     /* NULL: none */
};

/* from: the journal in which points are kept, or NULL. */
struct progress progress_new(const char *things, const char *from, bool quiet);
/* Reports that `done` of `count` points are done, `before` of them by an earlier run. If done is
 * smaller than in the last call, another series of points has begun. ctx is a struct progress. */
void progress_tell(void *ctx, size_t before, size_t done, size_t count);
/* Sets what is printed as the fastest plan so far. The name must remain. ctx is a struct progress.
 */
void progress_best(void *ctx, const char *name, double step_s);
/* Ends the line on a terminal. Call it also after an error. */
void progress_end(struct progress *progress);
