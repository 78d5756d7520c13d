/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The answer of `solve` in sentences, as a table and as a chart. */
#include "sim/predict/draws.h"
#include "sim/report/chart_data.h"
#include "sim/report/answers.h"

/* Returns for example "one-way latency of vswitch". */
static const char *words_of(struct arena *arena, const struct solving *s)
{
	return cfg_param_words(arena, s->key, s->param->row);
}

static const char *value_text(struct arena *arena, const struct solving *s, double x)
{
	return quantity_format(arena, s->param->row->quantity, x);
}

/* Returns for example "0.964 (0.95 to 0.97)". */
static const char *answer_text(struct arena *arena, const struct solving *s, struct estimate y)
{
	return isnan(y.value) ? "fails" : reported_interval(arena, s->target.reported, y);
}

static const struct solve_point *first_point(const struct solving *s)
{
	return &s->solution->points[0];
}

static const struct solve_point *last_point(const struct solving *s)
{
	return &s->solution->points[s->solution->point_count - 1];
}

/* Returns the bound's 90 % interval. An end outside of the searched range is infinite, unless the
 * range ends at the parameter's own limit. */
static struct estimate interval_of(const struct solving *s, const struct solve_bound *bound)
{
	const struct param_row *row = s->param->row;
	struct estimate x = bound->x;
	if (!isfinite(x.low) && first_point(s)->x <= row->min)
		x.low = row->min;
	if (!isfinite(x.high) && last_point(s)->x >= row->max)
		x.high = row->max;
	return x;
}

/* Returns for example " (34 us to 44 us)". */
static const char *interval_text(struct arena *arena, const struct solving *s,
				 const struct solve_bound *bound)
{
	const struct estimate x = interval_of(s, bound);
	if (!(x.low < x.high))
		return "";
	const char *low = isfinite(x.low) ? value_text(arena, s, x.low)
					  : arena_printf(arena, "below %s",
							 value_text(arena, s, first_point(s)->x));
	const char *high = isfinite(x.high) ? value_text(arena, s, x.high)
					    : arena_printf(arena, "over %s",
							   value_text(arena, s, last_point(s)->x));
	return arena_printf(arena, " (%s to %s)", low, high);
}

static const char *bound_text(struct arena *arena, const struct solving *s,
			      const struct solve_bound *bound, bool certain)
{
	if (certain)
		return value_text(arena, s, bound->certain);
	return arena_printf(arena, "%s%s", value_text(arena, s, bound->x.value),
			    interval_text(arena, s, bound));
}

/* Returns the regions that meet the target: "up to 38 us (34 us to 44 us)", "from 2 us on" or "from
 * 2 us to 38 us". If `certain`, these are the ones that meet it with 95 % certainty. */
static const char *regions_text(struct arena *arena, const struct solving *s, bool certain)
{
	const struct solution *solution = s->solution;
	const char *text = "";
	for (size_t i = 0; i < solution->bound_count; i++) {
		const struct solve_bound *bound = &solution->bounds[i], *last = bound;
		if (!bound->upper && i + 1 < solution->bound_count)
			last = &solution->bounds[++i];
		if (certain && (isnan(bound->certain) || isnan(last->certain)))
			continue;
		text = arena_printf(arena, "%s%s%s %s%s%s", text, *text ? ", and " : "",
				    bound->upper ? "up to" : "from",
				    bound_text(arena, s, bound, certain),
				    last != bound  ? " to "
				    : bound->upper ? ""
						   : " on",
				    last != bound ? bound_text(arena, s, last, certain) : "");
	}
	return text;
}

/* Says which values meet the target with 95 % certainty. */
static const char *certain_text(struct arena *arena, const struct solving *s)
{
	const struct solution *solution = s->solution;
	bool any = false;
	for (size_t i = 0; i < solution->bound_count; i++)
		any = any || solution->bounds[i].x.low < solution->bounds[i].x.high;
	if (!any)
		return "";
	const char *regions = regions_text(arena, s, true);
	if (!*regions)
		return " No searched value meets the target with 95 % certainty.";
	if (solution->bound_count > 1)
		return arena_printf(arena, " With 95 %% certainty it meets the target %s.",
				    regions);
	return arena_printf(arena, " %s meets the target with 95 %% certainty.",
			    value_text(arena, s, solution->bounds[0].certain));
}

/* Says how certain the answer is if there is no bound. */
static const char *surely(const struct solving *s, const struct solve_point *point)
{
	const struct estimate *y = &point->answer.y;
	if (!point->with || !(y->low < y->high))
		return ".";
	bool at_least = s->target.at_least, met = s->solution->met;
	double end = at_least == met ? y->low : y->high;
	bool holds = at_least ? end >= s->target.value : end <= s->target.value;
	if (met)
		return holds ? ", with 95 % certainty." : ", but not with 95 % certainty.";
	return holds ? ", but a better value is possible within the interval."
		     : ", with 95 % certainty.";
}

static const char *same_everywhere(struct arena *arena, const struct solving *s)
{
	const struct solution *solution = s->solution;
	const struct solve_point *worst = &solution->points[solution->worst];
	const struct solve_point *best = &solution->points[solution->best];
	const char *from = value_text(arena, s, first_point(s)->x);
	const char *to = value_text(arena, s, last_point(s)->x);
	if (solution->met)
		return arena_printf(
			arena,
			"%s meets the target %s %sfrom %s to %s (%s); the worst value is %s, at "
			"%s%s",
			s->name, s->target.text, solution->hole_count ? "" : "everywhere ", from,
			to, words_of(arena, s), answer_text(arena, s, worst->answer.y),
			value_text(arena, s, worst->x), surely(s, worst));
	if (isnan(best->answer.y.value))
		return arena_printf(arena, "%s fails everywhere from %s to %s (%s): %s.", s->name,
				    from, to, words_of(arena, s), best->answer.reason);
	return arena_printf(arena,
			    "%s does not meet the target %s from %s to %s (%s); the best value is "
			    "%s, at %s%s",
			    s->name, s->target.text, from, to, words_of(arena, s),
			    answer_text(arena, s, best->answer.y), value_text(arena, s, best->x),
			    surely(s, best));
}

/* Says why the case fails beyond a bound; "" if it does not fail. */
static const char *failure_text(struct arena *arena, const struct solving *s)
{
	const struct solution *solution = s->solution;
	for (size_t i = 0; i < solution->point_count && solution->bound_count; i++)
		if (isnan(solution->points[i].answer.y.value))
			return arena_printf(arena, " At %s it fails: %s.",
					    value_text(arena, s, solution->points[i].x),
					    solution->points[i].answer.reason);
	return "";
}

/* Returns the exceptions inside of the answer's regions: " Among the tried values, 27 and 29
 * fail: ...". */
static const char *holes_text(struct arena *arena, const struct solving *s)
{
	const struct solution *solution = s->solution;
	const struct solve_point *first = solution->holes;
	size_t count = solution->hole_count;
	const char *list = "";
	if (!count)
		return "";
	for (size_t i = 0; i < count; i++)
		list = arena_printf(arena, "%s%s%s", list,
				    i == 0          ? ""
				    : i + 1 < count ? ", "
						    : " and ",
				    value_text(arena, s, solution->holes[i].x));
	if (isnan(first->answer.y.value))
		return arena_printf(arena, " Among the tried values, %s %s: %s.", list,
				    count == 1 ? "fails" : "fail", first->answer.reason);
	return arena_printf(arena, " Among the tried values, %s %s: %s at %s.", list,
			    count == 1 ? "misses the target" : "miss the target",
			    answer_text(arena, s, first->answer.y), value_text(arena, s, first->x));
}

/* Returns for example ", so that it meets the target with a probability of 12 %"; "" without an
 * interval. */
static const char *chance_to_meet(struct arena *arena, const struct solving *s, struct estimate y)
{
	double above = quotient_apart(y, estimate_exact(s->target.value)).above_one;
	if (!isfinite(above))
		return "";
	return arena_printf(arena, ", so that it meets the target with a probability of %.0f %%",
			    100 * (s->target.at_least ? above : 1 - above));
}

/* Describes the search. */
static const char *search_text(struct arena *arena, const struct solving *s)
{
	const struct solution *solution = s->solution;
	const char *now = "", *refused = "";
	if (s->least < s->most)
		now = arena_printf(arena,
				   "The case has values from %s to %s; each value of the search "
				   "replaces all of them. ",
				   value_text(arena, s, s->least), value_text(arena, s, s->most));
	for (size_t i = 0; i < solution->point_count && !*now; i++)
		if (solution->points[i].x == s->param->value)
			now = arena_printf(arena, "The case has %s, which gives %s%s. ",
					   value_text(arena, s, s->param->value),
					   answer_text(arena, s, solution->points[i].answer.y),
					   chance_to_meet(arena, s, solution->points[i].answer.y));
	if (solution->refused)
		refused = arena_printf(arena, " Not searched: %s to %s (%s).",
				       value_text(arena, s, solution->refused_low),
				       value_text(arena, s, solution->refused_high),
				       solution->refused);
	return arena_printf(arena,
			    "%sSearched: %s to %s%s, %zu values, then refined %s; %zu runs and %zu "
			    "intervals.%s",
			    now, value_text(arena, s, first_point(s)->x),
			    value_text(arena, s, last_point(s)->x),
			    s->range.whole ? ""
			    : s->range.log ? " (logarithmic steps)"
					   : " (linear steps)",
			    solution->point_count,
			    s->param->row->whole ? "to the whole number" : "to 0.1 %",
			    solution->evaluations, solution->interval_evaluations, refused);
}

static const char *solving_words(struct arena *arena, const struct solving *s)
{
	const struct solution *solution = s->solution;
	bool monotone = solution->bound_count <= 1 && !solution->hole_count;
	const char *pieces = monotone ? "" : " The result is not monotone.";
	if (!solution->bound_count)
		return arena_printf(arena, "%s%s%s\n%s", same_everywhere(arena, s), pieces,
				    holes_text(arena, s), search_text(arena, s));
	return arena_printf(arena, "%s meets the target %s with the %s %s.%s%s%s%s\n%s", s->name,
			    s->target.text, words_of(arena, s), regions_text(arena, s, false),
			    certain_text(arena, s), pieces, holes_text(arena, s),
			    failure_text(arena, s), search_text(arena, s));
}

/* ---- table ---- */

static double or_none(double value)
{
	return isfinite(value) ? value : NAN;
}

static void add_row(struct result_table *table, const struct solving *s,
		    const struct solve_bound *bound)
{
	const struct solution *solution = s->solution;
	const struct solve_point *extreme =
		&solution->points[solution->met ? solution->worst : solution->best];
	struct estimate x = bound ? interval_of(s, bound) : estimate_exact(extreme->x);
	result_row(table);
	result_text(table, s->target.text);
	result_text(table, bound           ? (bound->upper ? "up to" : "from")
			   : solution->met ? (solution->hole_count ? "in parts" : "everywhere")
					   : "nowhere");
	result_estimate(table, (struct estimate){x.value, or_none(x.low), or_none(x.high)});
	result_number(table, bound ? bound->certain : NAN);
	result_estimate(table, bound ? bound->y : extreme->answer.y);
	result_number(table, first_point(s)->x);
	result_number(table, last_point(s)->x);
}

const struct result_table *solving_table(struct arena *arena, const struct solving *s)
{
	enum quantity quantity = s->param->row->quantity;
	const struct reported *reported = s->target.reported;
	struct result_table *table = result_table_new(arena, "solve", solving_words(arena, s));
	result_columns(table, "target:text|holds:text");
	const struct result_column own[] = {
		{s->key, quantity, false, true, words_of(arena, s)},
		{"certain", quantity, false, false, "with 95 % certainty"},
		{reported->name, reported->quantity, false, !reported->part, reported->heading},
		{"searched_from", quantity, false, false, "searched from"},
		{"searched_to", quantity, false, false, "searched to"}};
	for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
		result_column(table, own[i]);
	table->setup = s->setup;
	for (size_t i = 0; i < s->solution->bound_count; i++)
		add_row(table, s, &s->solution->bounds[i]);
	if (!s->solution->bound_count)
		add_row(table, s, NULL);
	return table;
}

/* ---- chart ---- */

/* Merges the grid and the bounds by rising x, so that the curve passes through the marks. */
static size_t curve_of(const struct solving *s, double *x, struct estimate *y)
{
	const struct solution *solution = s->solution;
	size_t count = 0, next = 0;
	for (size_t i = 0; i < solution->point_count; i++) {
		for (; next < solution->bound_count &&
		       solution->bounds[next].x.value < solution->points[i].x;
		     next++) {
			x[count] = solution->bounds[next].x.value;
			y[count++] = solution->bounds[next].y;
		}
		x[count] = solution->points[i].x;
		y[count++] = solution->points[i].answer.y;
	}
	return count;
}

struct drawing *solving_chart(struct arena *arena, struct chart_text text, const struct solving *s)
{
	const struct solution *solution = s->solution;
	const struct reported *reported = s->target.reported;
	size_t most = solution->point_count + solution->bound_count;
	double *x = ARENA_ARRAY(arena, most, double);
	struct estimate *y = ARENA_ARRAY(arena, most, struct estimate);
	struct curve *curves = ARENA_ARRAY(arena, solution->bound_count + 1, struct curve);
	size_t count = curve_of(s, x, y);
	double most_y = s->target.value;
	for (size_t i = 0; i < count; i++)
		most_y = fmax(most_y, y[i].value);
	const struct chart_unit unit = chart_unit(s->param->row->quantity, last_point(s)->x),
				unit_y = chart_unit(reported->quantity, most_y);
	for (size_t i = 0; i < count; i++) {
		x[i] *= unit.factor;
		y[i] = estimate_scaled(y[i], unit_y.factor);
	}
	const struct chart_axes axes = {
		.x_label = chart_label(arena, words_of(arena, s), unit.name),
		.y_label = chart_label(arena, reported->spoken,
				       reported->unit ? reported->unit : unit_y.name),
		.x_log = s->range.log,
		.goal = s->target.value * unit_y.factor,
		.goal_label = s->target.text};
	curves[0] = (struct curve){"", x, y, count, NULL, NULL};
	for (size_t i = 0; i < solution->bound_count; i++) { /* a point on the line of the target */
		double *at = ARENA_NEW(arena, double);
		struct estimate *goal = ARENA_NEW(arena, struct estimate);
		*at = solution->bounds[i].x.value * unit.factor;
		*goal = estimate_exact(axes.goal);
		curves[i + 1] = (struct curve){
			arena_printf(arena, "%s %s", solution->bounds[i].upper ? "up to" : "from",
				     bound_text(arena, s, &solution->bounds[i], false)),
			at,
			goal,
			1,
			NULL,
			NULL};
	}
	return chart_curves(arena, text, axes, curves, solution->bound_count + 1);
}
