/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Questions that a report answers beyond the prediction: the longest round trip that keeps most of
 * the GPU, the most influential parameters, and the best of several cases. */
#include <math.h>

#include "sim/base/arena.h"
#include "sim/analysis/knobs.h"
#include "sim/report/answers.h"
#include "sim/report/measures.h"
#include "sim/report/part.h"
#include "sim/report/sensitivity.h"
#include "sim/report/solving_words.h"

/* The most events for all runs of one search, which take about 3 s on two cores. An event of a job
 * whose flows share links costs as much as EVENTS_OF_JOBS other events. */
#define EVENTS_MOST    50e6
#define EVENTS_OF_JOBS 4
enum { SOLVE_RUNS = 40, SWINGS_SHOWN = 6 };

static bool is_long(const struct scenario *scenario, const struct prediction *p, double runs)
{
	double weight = scenario->style != JOBS_PROGRAMS ? EVENTS_OF_JOBS : 1;
	return runs * weight * (double)p->events_count > EVENTS_MOST;
}

/* ---- the longest round trip ---- */

/* Returns the network link that carried the most bytes of the prediction, or NULL. */
static const struct link_entry *wire_of(const struct scenario *scenario, const struct prediction *p)
{
	const struct topology *t = &scenario->topology;
	const struct link_entry *wire = NULL;
	double most_B = 0;
	for (size_t i = 0; i < t->link_count && p->link_count == 2 * t->link_count; i++) {
		double carried_B = p->links[2 * i].carried_B + p->links[2 * i + 1].carried_B;
		if (t->links[i].kind->inside_host || !(carried_B > most_B))
			continue;
		wire = &t->links[i];
		most_B = carried_B;
	}
	return wire;
}

static const char *round_trip(struct arena *arena, double latency_s)
{
	return quantity_format(arena, QUANTITY_TIME, 2 * latency_s);
}

static const char *keeps_words(struct arena *arena, const struct solving *s,
			       const struct link_entry *wire, double ratio)
{
	const struct solution *solution = s->solution;
	const char *kept = arena_printf(arena, "%g" NBSP "%%", 100 * KEPT_RATIO);
	const char *now = round_trip(arena, wire->traits.latency_s);
	const struct solve_point *best = &solution->points[solution->best];
	const struct solve_point *last = &solution->points[solution->point_count - 1];
	if (!solution->bound_count && solution->met)
		return arena_printf(arena,
				    " It keeps %s with any round trip on link %s up to %s (now %s)",
				    kept, wire->name, round_trip(arena, last->x), now);
	if (!solution->bound_count && !isnan(best->answer.y.value))
		return arena_printf(
			arena,
			" No round trip on link %s is short enough to keep %s: at a round trip of "
			"%s (now %s) it keeps %s",
			wire->name, kept, round_trip(arena, best->x), now,
			percent_words(arena, (struct estimate){best->answer.y.value, NAN, NAN}));
	if (!solution->met || !solution->bound_count)
		return NULL; /* only in the middle of the range: no sentence */
	return arena_printf(arena, " A round trip of up to %s on link %s (now %s) %s %s",
			    round_trip(arena, solution->bounds[0].x.value), wire->name, now,
			    ratio < KEPT_RATIO ? "would keep" : "keeps", kept);
}

const char *report_keeps(struct report *report, const struct case_request *request,
			 const struct scenario *scenario, const struct prediction *p)
{
	struct arena *arena = report->arena;
	const struct link_entry *wire = wire_of(scenario, p);
	if (!p->ok || !wire || scenario->job_count != 1 || !scenario->jobs[0].runtime ||
	    scenario->jobs[0].fraction_ratio < 1 || !isfinite(p->ratio.value) ||
	    is_long(scenario, p, SOLVE_RUNS))
		return "";
	struct solving_request asked = {
		.input = report_input(report, request, 0),
		.target = {arena_printf(arena, "ratio>=%g", KEPT_RATIO), {"report", 0}},
		.key = {arena_printf(arena, "link.%s.latency", wire->name), {"report", 0}}};
	asked.input.watch = (struct watch){0};
	const char *broken;
	const struct solving *s = solving_run(arena, report->diag, &asked, &broken);
	const char *words = s ? keeps_words(arena, s, wire, p->ratio.value) : NULL;
	report_break(report, broken);
	return words ? arena_printf(arena,
				    "%s (%zu predictions without draws; `farwire solve` adds the "
				    "interval).",
				    words, s->solution->evaluations)
		     : "";
}

/* ---- the most influential parameters ---- */

static void swings_table(struct report *report, const struct sensitivity *found)
{
	struct arena *arena = report->arena;
	struct report_table *table = report_folded(
		report, "The numbers of this figure",
		arena_printf(arena,
			     "parameter|key|5 %% point>|95 %% point>|%s at 5 %% point>|at 95 %% "
			     "point>|measurement that would narrow it",
			     found->reported->spoken),
		"The first %zu of %zu parameters that change the answer; %zu are uncertain.",
		found->moving_count < SWINGS_SHOWN ? found->moving_count : SWINGS_SHOWN,
		found->moving_count, found->swing_count);
	for (size_t i = 0; i < found->moving_count && i < SWINGS_SHOWN; i++) {
		const struct swing *swing = &found->swings[i];
		const char *how = measure_of(swing->knob->name);
		report_row(table, TONE_PLAIN,
			   CELLS(swing_words(arena, swing), swing->knob->name,
				 swing_value(arena, swing, swing->low_x),
				 swing_value(arena, swing, swing->high_x),
				 swing_answer(arena, found, &swing->low),
				 swing_answer(arena, found, &swing->high), how ? how : ""));
	}
}

void report_swings(struct report *report, const struct case_request *request,
		   const struct scenario *scenario, const struct prediction *p)
{
	struct arena *arena = report->arena;
	double runs = 2 * (double)knobs_uncertain(arena, scenario).count;
	if (!p->ok || !p->draws_count || !(runs > 0) || is_long(scenario, p, runs))
		return;
	struct sensitivity_request asked = {.input = report_input(report, request, 0)};
	asked.input.watch = (struct watch){0};
	const char *broken;
	const struct sensitivity *found = sensitivity_find(arena, report->diag, &asked, &broken);
	report_break(report, broken);
	if (!found || !found->moving_count || isnan(found->now.number.value))
		return; /* no parameter changes it, or the case has no such number */
	const struct reported *reported = found->reported;
	const struct swing *first = &found->swings[0];
	const char *how = measure_of(first->knob->name);
	const char *title = arena_printf(arena, "Influence of parameters on the %s of %s",
					 reported->spoken, p->name);
	report_add(report, BLOCK_HEADING, "Most influential parameters");
	report_add(report, BLOCK_TEXT,
		   "The answer depends most on the %s: at %s the %s is %s, at %s it is %s.%s%s%s%s",
		   swing_words(arena, first), swing_value(arena, first, first->low_x),
		   reported->spoken, swing_answer(arena, found, &first->low),
		   swing_value(arena, first, first->high_x),
		   swing_answer(arena, found, &first->high),
		   how ? " A measurement narrows it: " : "", how ? how : "", how ? "." : "",
		   model_error_words(arena, scenario, reported, reported_of(reported, p)));
	report_figure(report, sensitivity_chart(arena, title, report->caption, found),
		      "The %s of %s with one uncertain parameter at a time at the ends of its "
		      "interval, largest effect first. The model error is not included.",
		      reported->spoken, p->name);
	swings_table(report, found);
}

/* ---- the best of several ---- */

void report_comparison(struct report *report)
{
	const struct prediction *const *predictions = report->predictions.items;
	size_t count = report->predictions.count;
	struct arena *arena = report->arena;
	const struct prediction *best = NULL;
	const char *others = "", *failed = "";
	bool alike = true;
	for (size_t i = 0; i < count; i++) {
		const struct prediction *p = predictions[i];
		if (p->ok && (!best || throughput_quotient(p, best).value > 1))
			best = p;
		if (!p->ok)
			failed =
				arena_printf(arena, "%s %s fails: %s.", failed, p->name, p->reason);
	}
	if (!best) {
		report_answer(report, true, "None of the %zu cases works.%s", count, failed);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		struct estimate times = throughput_quotient(best, predictions[i]);
		alike &= !predictions[i]->ok || isfinite(times.value);
		if (predictions[i] == best || !isfinite(times.value))
			continue;
		others = arena_printf(arena, "%s%s%s times the throughput of %s%s", others,
				      *others ? ", " : ": ", figures(arena, times.value, 3),
				      predictions[i]->name, interval_words(arena, times, 1, 3));
	}
	if (!alike) {
		report_answer(report, *failed,
			      "The cases count samples, requests and bytes, so that none is the "
			      "fastest.%s",
			      failed);
		return;
	}
	report_answer(report, *failed, "%s is the fastest of %zu cases, with %s%s.%s", best->name,
		      count, throughput_words(arena, best, 3), others, failed);
}
