/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When the steps of programs that meet are steady.
 *
 * Programs that share a wire, a core or a GPU begin at random phases, and each then shifts
 * the others' until they have found places beside each other: for some tens of steps the
 * mean drifts, while now and then two steps of one program look the same. The wanted
 * result is the mean after that. So the programs are measured over one WINDOW after the other,
 * each twice as long as the one before, of which only the last counts:
 *
 *   2 steps     it is the last if all steps of all programs are equal: where steps are, the
 *               phases stay as they are, and so does all else
 *   4, 8, 16..  it is the last if, of each program, the four quarters of the window have the
 *               same mean, within what a drift may do in so many steps
 *
 * or if there are no steps left for a longer one: then it goes on to the last of them. A
 * window's length is that of the program with the fewest steps; the others go on meanwhile,
 * so that all of them are measured over the same time.
 *
 * A program alone has no such drift: its own kind says when it is steady.
 */
#ifndef FARWIRE_WORKLOAD_STEADY_H
#define FARWIRE_WORKLOAD_STEADY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct steady_step {
	double time_s, work; /* work: in steps of the program */
};

/* The step of a program, by its index. */
typedef struct steady_step steady_step_at(const void *of, size_t index);

struct steady_program {
	const void *of;
	size_t first, count; /* its steps that began in the window */
	bool has_worked;     /* the window may be the last */
	bool in_doubt;       /* chance decides: what has come of it yet proves nothing */
};

struct steady {
	steady_step_at *step;
	size_t steps_most;               /* in all windows */
	uint64_t events_most;            /* likewise */
	size_t window_count;             /* steps after which this window is judged */
	size_t before_count;             /* in the windows before */
	uint64_t began_events, at_event; /* when the first window opened, and this one */
};

/* The mean's relative standard error is that small: count steps, 2 or more, from first on,
 * that have nothing to do with each other. */
bool steady_mean_settled(steady_step_at *step, const void *of, size_t first, size_t count,
			 double ratio);

struct steady_limits {
	double steps_count;   /* most steps to measure; 0: a default */
	size_t program_count; /* that run together */
};

/* Most steps to measure: limits->steps_count or its default. */
size_t steady_steps_most(const struct steady_limits *limits);

/* events: number of events that the engine has run when the first window opens. */
struct steady steady_begin(const struct steady_limits *limits, uint64_t events,
			   steady_step_at *step);

enum steady_verdict { STEADY_GO_ON, STEADY_OPEN_ANEW, STEADY_OVER };

/* To be asked after each step of a program; programs: those that have not failed. */
enum steady_verdict steady_judge(struct steady *steady, const struct steady_program *programs,
				 size_t program_count, uint64_t events);

#endif
