/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Solves for the value of a parameter at which an answer meets a target.
 *
 * The function is the simulator. A run is expensive. There are no derivatives, and there may be
 * jumps, plateaus, and values at which the simulated system fails. The search therefore has two
 * steps. A coarse grid over the whole range shows between which neighbours the target is met and
 * missed. This pair is a CROSSING. There may be none, one, or several if the answer is not
 * monotone. Each crossing is then narrowed to TOLERANCE by Brent's method, or by bisection if an
 * end fails or the values are whole numbers. The end that meets the target is the BOUND.
 *
 * The search assumes at most one crossing between two neighbours of the grid. Results for whole
 * numbers may alternate (odd ones fail), so the next whole number inside a bound is evaluated,
 * too. A value that contradicts the bounds is a HOLE.
 *
 * The answer has a 90 % interval, so the bound has one, too. Two more searches find its ends.
 * One uses the worse end of the answer's interval: up to its crossing the target is met with 95
 * % certainty. The other uses the better end: beyond its crossing the target is missed with 95 %
 * certainty. Intervals are computed only where these searches need them. */
#pragma once

#include "sim/cfg/cfg.h"
#include "sim/result/result.h"

struct solve_range {
	double low, high;
	bool log;   /* grid points have equal distances of their logarithms; a low end of 0 is an
		       additional grid point */
	bool whole; /* the range has only whole numbers */
};
/* Sets the default range: from a thousandth to a thousand times the present value, or for whole
 * numbers from 1 to 8 times the value, inside the row's bounds. For a present value of 0 it is
 * the usual range of the quantity. Returns false if there is none. */
bool solve_range_of(const struct cfg_param *param, struct solve_range *range);
/* Returns the range between low and high, low <= high. It is logarithmic if the ends are far
 * apart and not negative. */
struct solve_range solve_range_between(const struct cfg_param *param, double low, double high);

struct solve_answer {
	struct estimate y; /* value NaN: the case fails, so it meets no target */
	bool refused;      /* the value is not valid and is left out of the range */
	const char *reason;
};
struct solve_problem {
	/* Computes the answers at x[count], in ascending order. If `with` is true, answers have
	 * intervals; otherwise low = value = high. Returns false to end the search. */
	bool (*evaluate)(void *ctx, const double *x, size_t count, bool with,
			 struct solve_answer *answers);
	void *ctx;
	struct solve_range range;
	double now; /* the present value, which becomes a grid point; NaN: none */
	double target;
	bool at_least;  /* true: the answer must be at least the target; false: at most */
	bool intervals; /* also search for the interval of each bound */
	bool band;      /* compute intervals on the whole grid, for a plot */
};

struct solve_point {
	double x;
	struct solve_answer answer;
	bool with; /* the answer's interval was computed */
};
struct solve_bound {
	bool upper;        /* true: the target is met below the bound; false: above it */
	struct estimate x; /* the last value that meets the target, with its 90 % interval; an end
			      is infinite if it leaves the region or the range */
	double certain; /* the end up to which the target is met with 95 % certainty; NaN: nowhere
			   in this region, or no intervals */
	struct estimate y; /* answer at x.value */
};
struct solution {
	const struct solve_point *points; /* the grid in ascending order, without refused values */
	size_t point_count;
	/* bounds in ascending order; upper and lower bounds alternate */
	const struct solve_bound *bounds;
	size_t bound_count;               /* 0: the target is met everywhere or nowhere */
	bool met;                         /* the first grid point meets the target */
	size_t best, worst;               /* indices of points; a failed point is the worst */
	const char *refused;              /* reason why values were left out; NULL: none was */
	double refused_low, refused_high; /* smallest and largest refused value */
	/* Evaluated values that miss the target or fail although the bounds include them, in
	 * ascending order. There may be more of them. */
	const struct solve_point *holes;
	size_t hole_count;
	size_t evaluations; /* number of evaluations, with and without intervals */
	size_t interval_evaluations;
};
/* Relative width to which bounds are narrowed. */
extern const double SOLVE_TOLERANCE;

/* Returns NULL if evaluate returned false, or if all values are refused; *refused is then the
 * reason. */
const struct solution *solve(struct arena *arena, const struct solve_problem *problem,
			     const char **refused);
