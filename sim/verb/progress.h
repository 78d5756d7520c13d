/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reports the progress of long work on stderr: points done, points a second, time left.
 * On a terminal that is one line that changes. Elsewhere it is a line every ten seconds,
 * so that the log of a batch job stays short.
 */
#ifndef FARWIRE_VERB_PROGRESS_H
#define FARWIRE_VERB_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

struct progress {
	const char *things; /* "points" */
	const char *from;   /* whose things were done before; NULL: nothing was */
	bool quiet, terminal;
	bool begun;
	size_t done; /* of them, when last told */
	double began_s, told_s;
};

struct progress progress_new(const char *things, const char *from, bool quiet);
/* before: done by an earlier run. Where fewer are done than before, others have begun.
 * ctx: a struct progress. */
void progress_tell(void *ctx, size_t before, size_t done, size_t count);
/* Ends the line of a terminal, also after an error. */
void progress_end(struct progress *progress);

#endif
