/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predicts one point of a sweep, and converts it to and from a line of the journal.
 *
 * Every point is converted to a line and back, even without a journal. A sweep that was
 * resumed, or computed on many machines, therefore gives the same bytes as any other. Only the
 * sweep uses these functions. */
#pragma once

#include "sim/analysis/sweep.h"

struct sweep_task { /* shared by all points */
	struct sweep_request request;
	size_t point_count;
};

/* Returns the task of the request. Its points have no draws if only some of them have any. */
struct sweep_task sweep_task_of(const struct sweep_request *request);

/* Returns the case of a point. Its settings are in arena. */
struct case_request sweep_point_case(struct arena *arena, const struct sweep_task *task,
				     size_t index);

/* Keeps the recorded program of `scenario`, the case of a point, for the other points, if all
 * points use it. */
void sweep_keep_calls(struct sweep_task *task, const struct scenario *scenario);

struct sweep_result {
	const char *line; /* NULL: there are errors in diag, or an invariant broke */
	size_t size_B;
	const char *broken;
};
struct sweep_result sweep_point(struct arena *arena, struct diag *diag,
				const struct sweep_task *task, size_t index);

/* Returns the line of a point, with its line end; NULL: out of memory. */
const char *sweep_line(struct arena *arena, size_t index, const struct prediction *prediction);

/* Returns the prediction without clients, calls, links and parameters. */
struct prediction sweep_bare(const struct prediction *prediction);

/* Returns the prediction in the line and its index; NULL if the line is not a point. */
const struct prediction *sweep_point_read(struct arena *arena, const char *line, size_t size_B,
					  size_t *index);
