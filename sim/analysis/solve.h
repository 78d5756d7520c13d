/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Solves for the value of a parameter at which a number meets a target.
 *
 * The function is the simulator: costly, and with no derivative, here and there with
 * jumps, plateaus, and places where the simulated system fails. So a SEARCH goes in two
 * steps. A coarse grid over the whole range shows between which neighbours the target
 * is met and missed: none, one, or several such CROSSINGS, where the answer is not
 * monotone. Each is then narrowed by Brent's method (by halving where an end fails,
 * and over whole numbers) to TOLERANCE, and the end that meets the target is the
 * BOUND. The search assumes at most one crossing between two neighbours of the grid. Whole
 * numbers may alternate (odd ones fail), so the next one inside is tried as well. A value that
 * contradicts the answer is a HOLE in it.
 *
 * The number has a 90 % interval, so the bound has one, too. Two more searches find its
 * ends. Where the worse end of the number's interval crosses, the target is met with 95 %
 * certainty up to there. Where the better end crosses, it is missed with 95 % certainty
 * beyond. Intervals are computed only where these searches go.
 */
#ifndef FARWIRE_ANALYSIS_SOLVE_H
#define FARWIRE_ANALYSIS_SOLVE_H

#include "sim/cfg/cfg.h"
#include "sim/result/result.h"

struct arena;

struct solve_range {
	double low, high;
	bool log;   /* searched by equal quotients; a low of 0 is a place of its own */
	bool whole; /* whole numbers alone */
};
/* The default range: a thousandth to a thousand times the value (whole numbers: 1 to 8 times
 * it), inside the row's bounds; around 0 the usual range of the quantity. False where there is
 * none. */
bool solve_range_of(const struct cfg_param *param, struct solve_range *range);
/* low < high, or equal. Logarithmic where they are far apart and not negative. */
struct solve_range solve_range_between(const struct cfg_param *param, double low, double high);

struct solve_answer {
	struct estimate y; /* value NaN: it fails there, which meets no target */
	bool refused;      /* there is no such thing: left out of the range */
	const char *reason;
};
struct solve_problem {
	/* Answers at x[count], rising; with: interval (else low = value = high). False
	 * ends the search. */
	bool (*evaluate)(void *ctx, const double *x, size_t count, bool with,
			 struct solve_answer *answers);
	void *ctx;
	struct solve_range range;
	double now; /* the present value, a place of the grid; NaN: none */
	double target;
	bool at_least;  /* else at most */
	bool intervals; /* seek the ends of the interval, too */
	bool band;      /* intervals on all of the grid, for a plot */
};

struct solve_point {
	double x;
	struct solve_answer answer;
	bool with; /* its interval is known */
};
struct solve_bound {
	bool upper;        /* met up to it, else from it on */
	struct estimate x; /* the last value that meets the target; its 90 % interval, an
			      infinity where it leaves the region or the range */
	double certain;    /* the end of the interval that meets it with 95 % certainty; NaN:
			      nowhere in this region, or without intervals */
	struct estimate y; /* the answer at x */
};
struct solution {
	const struct solve_point *points; /* of the grid, by rising x, none refused */
	size_t point_count;
	const struct solve_bound *bounds; /* by rising x; upper and lower ones alternate */
	size_t bound_count;               /* 0: met everywhere or nowhere */
	bool met;                         /* at the first point */
	size_t best, worst;               /* points; failed ones are worst, and best if all are */
	const char *refused;              /* why values were left out, or NULL: none was */
	double refused_low, refused_high; /* the least and largest of these */
	/* Values that miss the target, or fail, in between of those that meet it, by rising x.
	 * Not all there may be: those that were tried. */
	const struct solve_point *holes;
	size_t hole_count;
	size_t evaluations; /* of values, and of intervals */
	size_t interval_evaluations;
};
/* The relative width to which bounds are narrowed. */
extern const double SOLVE_TOLERANCE;

/* NULL where evaluate ended it, or where every value is refused (*refused says why). */
const struct solution *solve(struct arena *arena, const struct solve_problem *problem,
			     const char **refused);

#endif
