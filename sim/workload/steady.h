/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds out when the steps of several programs are steady.
 *
 * Programs that share a link, a core or a GPU begin at random phases. Then they shift each
 * other's phases. For some tens of steps the mean drifts, although two successive steps of a
 * program may be equal. The result must be the mean after that. So programs are measured over one
 * WINDOW after the other. Each window is twice as long as the one before, and only the last one
 * counts. A window is the last one if
 *
 *   2 steps         all steps of all programs are equal, because then the phases do not change
 *   4, 8, 16 ...    for each program, the means of the four quarters of the window are equal
 *                   within a tolerance, which grows with the number of steps up to a maximum
 *   any length      there are no steps left for a longer one; it then uses all steps that are left
 *
 * The length of a window is counted in steps of the program with the fewest steps. The others
 * continue meanwhile, so all programs are measured over the same time.
 *
 * A single program has no such drift; its kind of job defines when it is steady.
 */
#pragma once

#include "sim/base/base.h"

struct steady_step {
	double time_s;
	double work; /* kernel work in units of the work of one step */
};

/* Returns a step of the program `of`. */
typedef struct steady_step steady_step_at(const void *of, size_t index);

struct steady_program {
	const void *of;
	size_t first, count; /* the program's steps that began in the window */
	bool has_worked; /* the program's GPUs have done enough work for this window to be the last
			  */
	bool in_doubt;   /* steps are random, and there are too few for a mean */
};

struct steady {
	steady_step_at *step;
	size_t steps_most;     /* maximum in all windows */
	uint64_t events_most;  /* maximum in all windows */
	size_t window_count;   /* number of steps after which this window is judged */
	size_t before_count;   /* steps in the windows before */
	uint64_t began_events; /* events of the engine when the first window opened */
	uint64_t at_event;     /* events of the engine when this window opened */
};

/* Returns true if the relative standard error of the mean of `count` steps (at least 2) from
 * `first` on is at most ratio. The steps are assumed to be independent. */
bool steady_mean_settled(steady_step_at *step, const void *of, size_t first, size_t count,
			 double ratio);

struct steady_limits {
	double steps_count;   /* maximum number of measured steps; 0: a default */
	size_t program_count; /* programs that run together */
};

/* Returns limits->steps_count or its default. */
size_t steady_steps_most(const struct steady_limits *limits);

/* events is the number of events that the engine has run when the first window opens. */
struct steady steady_begin(const struct steady_limits *limits, uint64_t events,
			   steady_step_at *step);

enum steady_verdict { STEADY_GO_ON, STEADY_OPEN_ANEW, STEADY_OVER };

/* Call this after each step of a program. programs are all programs that have not failed. The
 * caller continues, opens the next window, or ends all programs. */
enum steady_verdict steady_judge(struct steady *steady, const struct steady_program *programs,
				 size_t program_count, uint64_t events);
