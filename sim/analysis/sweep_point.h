/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One point of a sweep: computed, as a line of the journal, and read from one.
 *
 * Every point takes the way over its line, also the one that no journal keeps:
 * so a sweep that was resumed, or computed on many machines, has the same
 * bytes as one that was not. Private to the sweep.
 */
#ifndef FARWIRE_ANALYSIS_SWEEP_POINT_H
#define FARWIRE_ANALYSIS_SWEEP_POINT_H

#include "sim/analysis/sweep.h"

struct sweep_task { /* what all points share */
	struct sweep_request asked;
	size_t point_count;
};

/* The case of a point: request->settings are in arena. */
struct case_request sweep_point_case(struct arena *arena, const struct sweep_task *task,
				     size_t index);

/* Keeps the recorded program that scenario, the case of a point, plays, if all points play it. */
void sweep_keep_calls(struct sweep_task *task, const struct scenario *scenario);

struct sweep_result {
	const char *line; /* NULL: there are errors in diag, or broken */
	size_t size_B;
	const char *broken;
};
struct sweep_result sweep_point(struct arena *arena, struct diag *diag,
				const struct sweep_task *task, size_t index);

/* NULL: no such line. */
const struct prediction *sweep_point_read(struct arena *arena, const char *line, size_t size_B,
					  size_t *index);

#endif
