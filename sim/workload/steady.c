/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/workload/steady.h"

/* Relative differences. Steps are equal up to REPEATS. The means of a window's quarters are equal
 * up to DRIFTS for each step of the window, at most SETTLED. A mean with so little drift changes by
 * less than 1 % in the next 64 steps. */
static const double REPEATS = 1e-6, SETTLED = 0.005, DRIFTS = 1e-4;
enum { WINDOW_FIRST = 2, QUARTERS = 4 };
/* Defaults of a case that sets no number of steps. */
enum { STEPS_ALONE = 16, STEPS_TOGETHER = 128, EVENTS_TOGETHER = 20 * 1000 * 1000 };

bool steady_mean_settled(steady_step_at *step_at, const void *of, size_t first, size_t count,
			 double ratio)
{
	double sum = 0, squares = 0, n = (double)count;
	for (size_t i = first; i < first + count; i++) {
		struct steady_step step = step_at(of, i);
		double work_s = step.time_s / step.work; /* INFINITY without work */
		sum += work_s;
		squares += work_s * work_s;
	}
	double variance = fmax(0, squares / n - (sum / n) * (sum / n)) * n / (n - 1);
	return sqrt(variance / n) <= ratio * sum / n;
}

size_t steady_steps_most(const struct steady_limits *limits)
{
	if (limits->steps_count > 0)
		return (size_t)limits->steps_count;
	return limits->program_count > 1 ? STEPS_TOGETHER : STEPS_ALONE;
}

struct steady steady_begin(const struct steady_limits *limits, uint64_t events,
			   steady_step_at *step)
{
	return (struct steady){
		.step = step,
		.steps_most = steady_steps_most(limits),
		.events_most = limits->steps_count > 0 ? UINT64_MAX : EVENTS_TOGETHER,
		.window_count = WINDOW_FIRST,
		.began_events = events,
		.at_event = events,
	};
}

struct step_range {
	double least_s, most_s;
};

/* Returns the least and the greatest mean time of a step's work over the parts of a program's
 * window. */
static struct step_range range_of(const struct steady *s, const struct steady_program *program,
				  size_t parts)
{
	struct step_range range = {INFINITY, 0};
	for (size_t p = 0; p < parts; p++) {
		double time_s = 0, work = 0;
		for (size_t i = program->count * p / parts; i < program->count * (p + 1) / parts;
		     i++) {
			struct steady_step step = s->step(program->of, program->first + i);
			time_s += step.time_s;
			work += step.work;
		}
		range.least_s = fmin(range.least_s, time_s / work); /* INFINITY without work */
		range.most_s = fmax(range.most_s, time_s / work);
	}
	return range;
}

static bool within(struct step_range range, double ratio)
{
	return range.most_s - range.least_s <= ratio * range.least_s;
}

static bool is_settled(const struct steady *s, const struct steady_program *programs,
		       size_t program_count, size_t step_count)
{
	struct step_range all = {INFINITY, 0};
	bool repeats = step_count < QUARTERS;
	for (size_t i = 0; i < program_count; i++) {
		struct step_range range =
			range_of(s, &programs[i], repeats ? programs[i].count : QUARTERS);
		all.least_s = fmin(all.least_s, range.least_s);
		all.most_s = fmax(all.most_s, range.most_s);
		if (programs[i].in_doubt ||
		    (!repeats && !within(range, fmin(SETTLED, DRIFTS * (double)step_count))))
			return false;
	}
	return !repeats || within(all, REPEATS);
}

enum steady_verdict steady_judge(struct steady *s, const struct steady_program *programs,
				 size_t program_count, uint64_t events)
{
	size_t least = SIZE_MAX;
	for (size_t i = 0; i < program_count; i++) {
		if (!programs[i].has_worked)
			return STEADY_GO_ON;
		least = programs[i].count < least ? programs[i].count : least;
	}
	if (least == 0)
		return STEADY_GO_ON;
	uint64_t events_used = events - s->began_events, window_events = events - s->at_event;
	size_t used = s->before_count + least;
	if (used >= s->steps_most || (least >= WINDOW_FIRST && events_used >= s->events_most))
		return STEADY_OVER;
	if (least < s->window_count)
		return STEADY_GO_ON;
	if (is_settled(s, programs, program_count, least))
		return STEADY_OVER;
	s->window_count *= 2;
	if (used + s->window_count > s->steps_most ||
	    events_used + 2 * window_events > s->events_most)
		return STEADY_GO_ON;
	s->before_count = used;
	s->at_event = events;
	return STEADY_OPEN_ANEW;
}
