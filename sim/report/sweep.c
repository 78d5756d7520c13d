/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of a report about a sweep: one case over a grid of parameter values. */
#include "sim/report/answers.h"
#include "sim/report/chart_data.h"
#include "sim/report/part.h"
#include "sim/report/sweep_figures.h"

/* A report shows no table with more rows: farwire sweep --format csv writes it to a file. */
enum { ROWS_MAX = 2000 };

struct swept {
	struct arena *arena;
	const struct sweep *sweep;
	const struct reported *row; /* the main answer */
};

static struct estimate number_of(const struct swept *s, size_t point)
{
	return reported_of(s->row, s->sweep->points[point]);
}

static const char *number_words(const struct swept *s, size_t point)
{
	return reported_interval(s->arena, s->row, number_of(s, point));
}

static const char *axis_text(const struct swept *s, size_t axis, size_t index)
{
	return sweep_value_text(s->arena, &s->sweep->axes[axis], index);
}

static const char *place(const struct swept *s, size_t point)
{
	return sweep_place(s->arena, s->sweep, point);
}

/* Returns for example "one-way latency of wire (25 values from 1 us to 1 ms) and remoting
 * runtime (a, b)". */
static const char *axes_words(const struct swept *s)
{
	const char *text = "";
	for (size_t a = 0; a < s->sweep->axis_count; a++) {
		const struct sweep_axis *axis = &s->sweep->axes[a];
		const char *values = axis_text(s, a, 0);
		if (axis->ranged)
			values = arena_printf(s->arena, "%zu values from %s to %s", axis->count,
					      values, axis_text(s, a, axis->count - 1));
		for (size_t i = 1; i < axis->count && !axis->ranged; i++)
			values = arena_printf(s->arena, "%s, %s", values, axis_text(s, a, i));
		text = arena_printf(s->arena, "%s%s%s (%s)", text, a ? " and " : "",
				    s->sweep->words[a], values);
	}
	return text;
}

/* ---- the answer ---- */

static void answer(struct report *report, const struct swept *s)
{
	size_t count = s->sweep->point_count, low = count, high = count, failed = 0, why = 0;
	for (size_t i = 0; i < count; i++) {
		double number = number_of(s, i).value;
		if (isnan(number)) {
			why = failed ? why : i;
			failed += !s->sweep->points[i]->ok;
			continue;
		}
		low = low == count || number < number_of(s, low).value ? i : low;
		high = high == count || number > number_of(s, high).value ? i : high;
	}
	if (failed == count) {
		report_answer(report, true, "None of the %zu points works, over %s: %s.", count,
			      axes_words(s), s->sweep->points[0]->reason);
		return;
	}
	const char *range = "";
	if (low < count && number_of(s, low).value < 0.9995 * number_of(s, high).value)
		range = arena_printf(s->arena, ", the %s ranges from %s (%s) to %s (%s)",
				     s->row->spoken, number_words(s, low), place(s, low),
				     number_words(s, high), place(s, high));
	else if (low < count)
		range = arena_printf(s->arena, ", the %s is %s everywhere", s->row->spoken,
				     number_words(s, low));
	size_t best = 0;
	for (size_t i = 0; i < count; i++)
		if (throughput_quotient(s->sweep->points[i], s->sweep->points[best])
			    .estimate.value > 1)
			best = i;
	const char *chance = chance_words(
		s->arena,
		throughput_quotient(s->sweep->points[best], s->sweep->points[0]).above_one);
	if (*chance)
		range = arena_printf(s->arena, "%s; compared with the first point, %s is%s", range,
				     place(s, best), chance + 1);
	report_answer(report, false, "Over %s%s.%s", axes_words(s), range,
		      failed ? arena_printf(s->arena, " %zu of %zu points fail (%s: %s).", failed,
					    count, place(s, why), s->sweep->points[why]->reason)
			     : "");
}

/* ---- the part ---- */

bool report_sweep(struct report *report, const struct case_request *request,
		  const struct sweep_axis *axes, size_t axis_count)
{
	struct arena *arena = report->arena;
	size_t draws = report->request->options.draws_count;
	const struct sweep_request grid = {.input = report_input(report, request, draws),
					   .axes = axes,
					   .axis_count = axis_count,
					   .most_drawn = report->request->most_drawn};
	struct sweep_fault fault;
	const struct sweep *sweep = sweep_run(arena, report->diag, &grid, &fault);
	report_break(report, fault.broken);
	if (!sweep)
		return false;
	const struct swept s = {arena, sweep, sweep_main_answer(sweep)};
	const struct scenario *scenario = sweep_base(arena, &grid);
	const char *name = scenario ? scenario->name : sweep->points[0]->name;
	if (!report->title)
		report->title = arena_printf(arena, "How does the prediction depend on %s?",
					     sweep_words(arena, sweep));
	report_add(report, BLOCK_PART, "%s", name);
	answer(report, &s);
	report_figure(report,
		      sweep_chart(arena, report_text(report, report->request->title), sweep, NULL),
		      "The %s of %s over %s.%s", s.row->spoken, name, axes_words(&s),
		      draws ? "" : " The points have no intervals; --draws N adds them.");
	if (sweep->point_count <= ROWS_MAX)
		report_results(report, sweep_table(arena, sweep), draws > 0,
			       arena_printf(arena, "The numbers: %zu points", sweep->point_count),
			       NULL);
	if (scenario)
		report_resolution(report, scenario->resolution);
	return true;
}

bool report_curve(struct report *report, const struct case_request *request,
		  const struct curve_request *curve)
{
	struct arena *arena = report->arena;
	const char **refused = ARENA_ARRAY(arena, curve->count + 1, const char *);
	const char *text = arena_printf(arena, "%s=", curve->key), *why = NULL;
	const struct sweep_list list = {.settings = curve->settings,
					.setting_count = curve->setting_count,
					.point_count = curve->count,
					.refused = refused};
	const struct sweep_request request_all = {.input = report_input(report, request, 0),
						  .list = &list};
	struct sweep_fault fault;
	const struct sweep *all = sweep_run(arena, report->diag, &request_all, &fault);
	report_break(report, fault.broken);
	if (!all)
		return false;
	VEC(const struct prediction *) points = {0};
	for (size_t i = 0; i < curve->count; i++) {
		if (!all->points[i]) {
			why = arena_printf(arena, "%s: %s", curve->texts[i], refused[i]);
			continue;
		}
		text = arena_printf(arena, "%s%s%s", text, points.count ? "," : "",
				    curve->texts[i]);
		*VEC_PUSH(arena, &points) = all->points[i];
	}
	struct sweep_axis axis;
	if (points.count > 1 && sweep_axis_read(arena, report->diag, curve->key, text, &axis)) {
		const struct sweep sweep = {&axis, &curve->label, 1, points.items, points.count};
		report_figure(report, sweep_chart(arena, report_text(report, NULL), &sweep, NULL),
			      "The %s over %s, without intervals.",
			      sweep_main_answer(&sweep)->spoken, curve->label);
	}
	if (why)
		report_add(report, BLOCK_TEXT, "Values that the case refuses are left out (%s).",
			   why);
	return true;
}
