/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/analysis/solve.h"

const double SOLVE_TOLERANCE = 1e-3;
/* Tolerance for ends of intervals. It is larger than for values, because each evaluation takes
 * many runs. */
static const double SOLVE_END_TOLERANCE = 5e-3;

/* Numbers of grid points: in each decade of a logarithmic grid, in a whole logarithmic grid, and
 * in an even grid. A grid of whole numbers consists of powers of 2, which are common numbers of
 * GPUs and batch sizes. A range of at most WHOLE_MAX whole numbers is searched completely. */
enum { PER_DECADE = 4, GRID_MAX = 41, EVEN_GRID = 21, WHOLE_MAX = 16 };
/* The smallest grid point above 0 in a range that starts at 0, as a part of the high end. */
static const double LEAST_RATIO = 1e-6;

/* The value of the answer, or the end of its interval that is closer to missing (worse) or
 * meeting (better) the target. */
enum view { VIEW_VALUE, VIEW_WORSE, VIEW_BETTER };

struct solver {
	struct arena *arena;
	const struct solve_problem *problem;
	struct solution *solution;
	struct solve_point *points;
	VEC(struct solve_point) missing; /* evaluated points that are not on the grid */
	bool ended;                      /* evaluate returned false */
};

/* Returns by how much the target is met; -INFINITY if the case fails. */
static double margin_of(const struct solve_problem *p, enum view view, const struct estimate *y)
{
	bool low = (view == VIEW_WORSE) == p->at_least;
	double seen = view == VIEW_VALUE ? y->value : low ? y->low : y->high;
	if (isnan(y->value) || isnan(seen))
		return -INFINITY;
	return p->at_least ? seen - p->target : p->target - seen;
}

static bool evaluate(struct solver *s, const double *x, size_t count, bool with,
		     struct solve_answer *answers)
{
	if (s->ended)
		return false;
	s->solution->evaluations += with ? 0 : count;
	s->solution->interval_evaluations += with ? count : 0;
	s->ended = !s->problem->evaluate(s->problem->ctx, x, count, with, answers);
	return !s->ended;
}

/* Evaluates one value that is not on the grid. */
static struct solve_answer evaluate_one(struct solver *s, double x, bool with)
{
	struct solve_answer answer = {.y = ESTIMATE_NONE};
	if (evaluate(s, &x, 1, with, &answer) &&
	    !(margin_of(s->problem, VIEW_VALUE, &answer.y) >= 0)) {
		*VEC_PUSH(s->arena, &s->missing) = (struct solve_point){x, answer, with};
	}
	return answer;
}

/* ---- ranges ---- */

/* Usual ranges of quantities, for parameters whose present value is 0. */
static const struct usual {
	enum quantity quantity;
	double low, high;
} usual[] = {{QUANTITY_TIME, 1e-7, 1},
	     {QUANTITY_RATIO, 1e-6, 1},
	     {QUANTITY_BYTES, 1024, 1e12},
	     {QUANTITY_RATE, 1e6, 1e12},
	     {QUANTITY_FREQUENCY, 1e2, 1e10},
	     {QUANTITY_FLOP_RATE, 1e9, 1e16},
	     {QUANTITY_FLOP, 1e6, 1e15},
	     {QUANTITY_POWER, 10, 1e4},
	     {QUANTITY_TIME_PER_BYTE, 1e-12, 1e-7}};

static const double RANGE_FACTOR = 1000, WHOLE_FACTOR = 8;

bool solve_range_of(const struct cfg_param *param, struct solve_range *range)
{
	const struct param_row *row = param->row;
	double low = NAN, high = NAN;
	if (row->whole) {
		low = 1;
		high = fmax(param->value, 1) * WHOLE_FACTOR;
	} else if (param->value > 0) {
		low = param->value / RANGE_FACTOR;
		high = param->value * RANGE_FACTOR;
	} else {
		for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++)
			if (usual[i].quantity == row->quantity) {
				low = usual[i].low;
				high = usual[i].high;
			}
	}
	if (isnan(low))
		return false;
	low = fmax(low, row->min);
	high = fmin(high, row->max);
	*range = solve_range_between(param, low, high);
	return low < high;
}

struct solve_range solve_range_between(const struct cfg_param *param, double low, double high)
{
	const double few = 4; /* up to this quotient of the ends, an even grid is good enough */
	return (struct solve_range){.low = low,
				    .high = high,
				    .log = low >= 0 && high > few * low,
				    .whole = param->row->whole};
}

/* ---- the grid ---- */

static size_t insert(double *grid, size_t count, double x)
{
	size_t at = count;
	for (size_t i = 0; i < count; i++)
		if (grid[i] == x)
			return count;
	for (; at > 0 && grid[at - 1] > x; at--)
		grid[at] = grid[at - 1];
	grid[at] = x;
	return count + 1;
}

static size_t whole_grid(const struct solve_range *range, double *grid)
{
	bool all = range->high - range->low < WHOLE_MAX;
	size_t count = insert(grid, 0, range->low);
	for (double x = all ? range->low : 1; x < range->high; x = all ? x + 1 : 2 * x)
		if (x > range->low && count < GRID_MAX)
			count = insert(grid, count, x);
	return insert(grid, count, range->high);
}

static size_t real_grid(const struct solve_range *range, double *grid)
{
	size_t count = 0, places = EVEN_GRID;
	double low = range->low, high = range->high;
	if (range->log && low == 0) {
		count = insert(grid, count, 0);
		low = high * LEAST_RATIO;
	}
	if (range->log)
		places = (size_t)fmin(ceil(PER_DECADE * log10(high / low)) + 1, GRID_MAX - 1);
	for (size_t i = 0; i < places; i++) {
		double t = (double)i / (double)(places - 1);
		double x = range->log ? low * pow(high / low, t) : low + (high - low) * t;
		count = insert(grid, count, i == 0 ? low : i + 1 == places ? high : x);
	}
	return count;
}

static size_t grid_of(const struct solve_problem *p, double grid[GRID_MAX + 2])
{
	size_t count = p->range.whole ? whole_grid(&p->range, grid) : real_grid(&p->range, grid);
	if (p->now > p->range.low && p->now < p->range.high)
		count = insert(grid, count, p->now);
	return count;
}

static void note_refused(struct solution *solution, double x, const char *reason)
{
	if (!solution->refused) {
		solution->refused = reason;
		solution->refused_low = x;
	}
	solution->refused_high = x;
}

/* Evaluates the grid. Returns false if all its values are refused. */
static bool look_over(struct solver *s)
{
	double grid[GRID_MAX + 2];
	struct solve_answer answers[GRID_MAX + 2] = {0};
	size_t count = grid_of(s->problem, grid), kept = 0;
	if (!evaluate(s, grid, count, s->problem->band, answers))
		return false;
	s->points = ARENA_ARRAY(s->arena, count, struct solve_point);
	for (size_t i = 0; i < count; i++) {
		if (answers[i].refused)
			note_refused(s->solution, grid[i], answers[i].reason);
		else
			s->points[kept++] =
				(struct solve_point){grid[i], answers[i], s->problem->band};
	}
	s->solution->points = s->points;
	s->solution->point_count = kept;
	return kept > 0;
}

static double margin_at(struct solver *s, size_t i, enum view view)
{
	struct solve_point *point = &s->points[i];
	if (view != VIEW_VALUE && !point->with && !isnan(point->answer.y.value) &&
	    evaluate(s, &point->x, 1, true, &point->answer))
		point->with = true;
	return margin_of(s->problem, view, &point->answer.y);
}

/* ---- one crossing ---- */

struct narrowing { /* the interval between a value that meets the target and one that misses it */
	struct solver *s;
	enum view view;
	bool log;
	double met, missed; /* the two values, or their logarithms */
	double met_margin, missed_margin;
	struct estimate y; /* answer at `met` */
	double width;      /* width of the interval at which narrowing stops */
};

static double place_of(const struct narrowing *n, double at)
{
	double x = n->log ? exp(at) : at;
	return n->s->problem->range.whole ? round(x) : x;
}

static bool is_narrow(const struct narrowing *n)
{
	return n->s->ended || fabs(n->missed - n->met) <= n->width;
}

/* Evaluates a value between the two. It replaces one of them. */
static double narrow_at(struct narrowing *n, double at)
{
	struct solve_answer answer = evaluate_one(n->s, place_of(n, at), n->view != VIEW_VALUE);
	double margin = margin_of(n->s->problem, n->view, &answer.y);
	if (margin >= 0) {
		n->met = at;
		n->met_margin = margin;
		n->y = answer.y;
	} else {
		n->missed = at;
		n->missed_margin = margin;
	}
	return margin;
}

/* Returns the margin at a value, for Brent's method. Steps smaller than half the tolerance are
 * enlarged, which closes the bracket from both sides. Values outside the bracket and values
 * after convergence need no run. A margin of 0 counts as met, so that the search finds the end
 * of a plateau. */
static double brent_margin(double at, void *ctx)
{
	struct narrowing *n = ctx;
	double away = n->missed > n->met ? 1 : -1;
	double step = n->width / 2, beyond = (at - n->met) * away;
	double span = (n->missed - n->met) * away, margin;
	if (beyond <= 0)
		margin = n->met_margin;
	else if (beyond >= span)
		margin = n->missed_margin;
	else if (is_narrow(n))
		margin = beyond < span / 2 ? n->met_margin : n->missed_margin;
	else
		margin = narrow_at(n, n->met + away * fmin(fmax(beyond, step), span - step));
	return margin == 0 ? 1e-300 : isfinite(margin) ? margin : -1e300;
}

static void halve(struct narrowing *n)
{
	narrow_at(n, n->met + (n->missed - n->met) / 2);
}

static void narrow_real(struct narrowing *n)
{
	double met = n->met, missed = n->missed, root;
	double tolerance = n->view == VIEW_VALUE ? SOLVE_TOLERANCE : SOLVE_END_TOLERANCE;
	n->log = n->s->problem->range.log && met > 0 && missed > 0;
	if (n->log) {
		n->met = log(met);
		n->missed = log(missed);
		n->width = tolerance;
	} else {
		n->width = tolerance * fabs(missed - met);
	}
	while (!is_narrow(n) && !isfinite(n->missed_margin))
		halve(n); /* the case fails at `missed`, so interpolation is impossible */
	if (!is_narrow(n))
		num_root(brent_margin, n, fmin(n->met, n->missed), fmax(n->met, n->missed),
			 n->width, &root);
	while (!is_narrow(n))
		halve(n);
	n->met = place_of(n, n->met);
}

/* Returns the last value that meets the target between two neighbours of the grid. */
static struct narrowing narrow(struct solver *s, size_t met, size_t missed, enum view view)
{
	struct narrowing n = {
		.s = s, .view = view, .met = s->points[met].x, .missed = s->points[missed].x};
	n.met_margin = margin_at(s, met, view);
	n.missed_margin = margin_at(s, missed, view);
	n.y = s->points[met].answer.y;
	if (!s->problem->range.whole)
		narrow_real(&n);
	else
		while (fabs(n.missed - n.met) > 1 && !s->ended)
			narrow_at(&n, floor((n.met + n.missed) / 2));
	return n;
}

/* ---- the interval of a bound ---- */

/* Finds the bound for one end of the answer's interval, starting from the crossing (met, missed)
 * of the value. The worse end moves it into the region that meets the target, at most to `last`;
 * the better end moves it outwards. The steps double. Returns NaN if the search reaches `last`
 * without a bound. */
static double end_of(struct solver *s, size_t met, size_t missed, size_t last, enum view view)
{
	bool worse = view == VIEW_WORSE;
	size_t at = worse ? met : missed, before = worse ? missed : met, step = 1;
	bool up = at > before;
	for (;;) {
		bool holds = margin_at(s, at, view) >= 0;
		if (s->ended)
			return NAN;
		if (holds == worse)
			return narrow(s, worse ? at : before, worse ? before : at, view).met;
		if (at == last)
			return NAN;
		size_t left = up ? last - at : at - last, go = step < left ? step : left;
		before = at;
		at = up ? at + go : at - go;
		step *= 2;
	}
}

static struct solve_bound bound_of(struct solver *s, size_t met, size_t missed, size_t met_end,
				   size_t missed_end)
{
	struct narrowing n = narrow(s, met, missed, VIEW_VALUE);
	struct solve_bound bound = {
		.upper = missed > met, .x = {n.met, n.met, n.met}, .certain = NAN, .y = n.y};
	struct solve_answer answer;
	if (!s->problem->intervals || !evaluate(s, &n.met, 1, true, &answer))
		return bound;
	bound.y = answer.y;
	bound.certain = n.met;
	if (!(answer.y.low < answer.y.high))
		return bound;
	double certain = end_of(s, met, missed, met_end, VIEW_WORSE);
	bound.certain = bound.upper ? fmin(certain, n.met) : fmax(certain, n.met);
	if (isnan(certain))
		bound.certain = NAN;
	double possible = end_of(s, met, missed, missed_end, VIEW_BETTER);
	double inward = isnan(bound.certain) ? (bound.upper ? -INFINITY : INFINITY) : bound.certain;
	double outward = isnan(possible) ? (bound.upper ? INFINITY : -INFINITY) : possible;
	bound.x.low = fmin(n.met, bound.upper ? inward : outward);
	bound.x.high = fmax(n.met, bound.upper ? outward : inward);
	return bound;
}

/* ---- holes ---- */

/* Evaluates the whole number next to a bound, inside the region. Numbers of the grid were
 * evaluated before. */
static void try_next(struct solver *s, double x, double step)
{
	const struct solution *solution = s->solution;
	for (size_t i = 0; i < solution->point_count; i++)
		if (solution->points[i].x == x + step)
			return;
	if (x + step > solution->points[0].x &&
	    x + step < solution->points[solution->point_count - 1].x)
		evaluate_one(s, x + step, false);
}

static void try_inside(struct solver *s)
{
	const struct solution *solution = s->solution;
	if (!s->problem->range.whole)
		return;
	for (size_t i = 0; i < solution->bound_count; i++)
		try_next(s, solution->bounds[i].x.value, solution->bounds[i].upper ? -1 : 1);
	if (!solution->bound_count && solution->met) /* the whole grid meets the target */
		try_next(s, solution->points[solution->point_count - 1].x, -1);
}

/* Returns true if x is in a region that meets the target, according to the bounds. */
static bool is_inside(const struct solution *solution, double x)
{
	bool met = solution->met;
	for (size_t i = 0; i < solution->bound_count; i++) {
		const struct solve_bound *bound = &solution->bounds[i];
		if (bound->upper ? x > bound->x.value : x >= bound->x.value)
			met = !bound->upper;
	}
	return met;
}

static void find_holes(struct solver *s)
{
	struct solution *solution = s->solution;
	try_inside(s);
	struct solve_point *holes = ARENA_ARRAY(s->arena, s->missing.count + 1, struct solve_point);
	size_t count = 0;
	for (size_t i = 0; i < s->missing.count; i++) {
		const struct solve_point *point = &s->missing.items[i];
		size_t at = count;
		if (!is_inside(solution, point->x))
			continue;
		while (at > 0 && holes[at - 1].x >= point->x)
			at--;
		if (at < count && holes[at].x == point->x)
			continue;
		memmove(&holes[at + 1], &holes[at], (count - at) * sizeof *holes);
		holes[at] = *point;
		count++;
	}
	solution->holes = holes;
	solution->hole_count = count;
}

/* ---- the whole search ---- */

/* Returns the last of the consecutive grid points, upwards or downwards from i, that all meet or
 * all miss the target. */
static size_t run_end(struct solver *s, size_t i, bool up)
{
	bool met = margin_at(s, i, VIEW_VALUE) >= 0;
	for (;;) {
		size_t next = up ? i + 1 : i - 1;
		if (next >= s->solution->point_count ||
		    (margin_at(s, next, VIEW_VALUE) >= 0) != met)
			return i;
		i = next;
	}
}

static void find_bounds(struct solver *s)
{
	struct solution *solution = s->solution;
	struct solve_bound *bounds =
		ARENA_ARRAY(s->arena, solution->point_count, struct solve_bound);
	for (size_t i = 0; i + 1 < solution->point_count && !s->ended; i++) {
		bool met = margin_at(s, i, VIEW_VALUE) >= 0;
		bool next = margin_at(s, i + 1, VIEW_VALUE) >= 0;
		if (met != next)
			bounds[solution->bound_count++] =
				bound_of(s, met ? i : i + 1, met ? i + 1 : i,
					 run_end(s, met ? i : i + 1, !met),
					 run_end(s, met ? i + 1 : i, met));
	}
	solution->bounds = bounds;
}

static void find_extremes(struct solver *s)
{
	struct solution *solution = s->solution;
	for (size_t i = 1; i < solution->point_count; i++) {
		double margin = margin_at(s, i, VIEW_VALUE);
		if (margin > margin_at(s, solution->best, VIEW_VALUE))
			solution->best = i;
		if (margin < margin_at(s, solution->worst, VIEW_VALUE))
			solution->worst = i;
	}
	for (size_t i = 0; i < solution->point_count && s->problem->intervals; i++)
		if (solution->points[i].x == s->problem->now)
			margin_at(s, i, VIEW_WORSE); /* how certain the present value is */
	/* without a bound, the deciding grid point gets an interval */
	if (solution->bound_count == 0 && s->problem->intervals)
		margin_at(s, solution->met ? solution->worst : solution->best, VIEW_WORSE);
}

const struct solution *solve(struct arena *arena, const struct solve_problem *problem,
			     const char **refused)
{
	struct solver s = {
		.arena = arena, .problem = problem, .solution = ARENA_NEW(arena, struct solution)};
	*refused = NULL;
	if (!look_over(&s)) {
		*refused = s.solution->refused;
		return NULL;
	}
	s.solution->met = margin_at(&s, 0, VIEW_VALUE) >= 0;
	find_bounds(&s);
	find_holes(&s);
	find_extremes(&s);
	return s.ended ? NULL : s.solution;
}
