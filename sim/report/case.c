/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of a report about one case. */
#include "sim/analysis/reported.h"
#include "sim/report/part.h"
#include "sim/result/answer.h"
#include "sim/result/write.h"

/* Returns for example "resnet50, batch 16, over t320-same-esxi (runtime flexdirect-1.11, tcp)". */
static const char *subject(struct arena *arena, const struct scenario *scenario)
{
	const struct job_entry *client = &scenario->jobs[0];
	const char *what =
		arena_printf(arena, "%s, batch %g", client->network->name, client->batch_count);
	if (scenario->job_count > 1)
		what = arena_printf(arena, "%zu programs (%s)", scenario->job_count, what);
	if (client->rank_count > 1)
		what = arena_printf(arena, "%s per GPU, on %zu GPUs", what, client->rank_count);
	if (!client->runtime)
		return arena_printf(arena, "%s, with local GPU%s on %s", what,
				    client->rank_count > 1 ? "s" : "", scenario->topology.name);
	return arena_printf(arena, "%s, over %s (runtime %s, %s)", what, scenario->topology.name,
			    scenario->params->runtime, client->transport->name);
}

static void answer(struct report *report, const struct scenario *scenario,
		   const struct prediction *p)
{
	struct arena *arena = report->arena;
	const struct job_entry *client = &scenario->jobs[0];
	const char *who = subject(arena, scenario);
	const char *rate = figures(arena, p->throughput.value, 3);
	const char *binds = p->ok ? arena_printf(arena, "Bottleneck: %s.", p->bottleneck) : "";
	if (!p->ok)
		report_answer(report, true, "%s fails: %s.", who, p->reason);
	else if (!isfinite(p->ratio.value))
		report_answer(report, false, "%s trains at %s. %s", who,
			      throughput_words(arena, p, 3), binds);
	else if (scenario->job_count > 1)
		report_answer(
			report, false,
			"%s: each reaches %s of the throughput that it has alone on the local "
			"GPU; together they reach %s %s with a GPU utilisation of %s. %s",
			who, percent_words(arena, p->ratio), rate, throughput_unit(&p, 1),
			percent_words(arena, p->gpu_utilization), binds);
	else if (p->gpu_count > 0)
		report_answer(report, false, "%s, trains at %s, a scaling efficiency of %s. %s",
			      who, throughput_words(arena, p, 3), percent_words(arena, p->ratio),
			      binds);
	else if (!client->runtime && client->fraction_ratio == 1)
		report_answer(report, false, "%s, trains at %s; this is the baseline. %s", who,
			      throughput_words(arena, p, 3), binds);
	else
		report_answer(
			report, false,
			"%s reaches %s of the local GPU's throughput: %s %s instead of %s. %s", who,
			percent_words(arena, p->ratio), rate, throughput_unit(&p, 1),
			figures(arena, p->throughput.value / p->ratio.value, 3), binds);
}

/* ---- numbers ---- */

/* Adds the parts of the step on each stage of a plan, and on the rank that computes longest. */
static void stages_table(struct report *report, const struct prediction *p)
{
	const char *columns = "ranks|number>|GPU memory (GB)>";
	for (size_t k = 0; k < p->stages[0].part_count; k++)
		columns = arena_printf(report->arena, "%s|%s (ms)>", columns,
				       part_label(p->stages[0].parts[k].name));
	struct table *table =
		report_table(report, columns,
			     "The parts of a step on the ranks of each stage, and on the rank that "
			     "computes longest. They add up to the step.");
	for (size_t i = 0; i < p->stage_count; i++) {
		const struct stage_prediction *stage = &p->stages[i];
		table_cells(table, CELLS(stage->name));
		table_cell(table, "%.0f", (double)stage->rank_count);
		table_cell(table, "%.1f", 1e-9 * stage->memory_B);
		for (size_t k = 0; k < stage->part_count; k++)
			table_cell(table, "%.2f", 1e3 * stage->parts[k].seconds);
	}
}

/* Adds each answer that the prediction has (sim/result/answers.def). */
static void prediction_table(struct report *report, const struct prediction *p)
{
	struct arena *arena = report->arena;
	const char *draws =
		p->draws_count
			? arena_printf(arena, "with 90 %% intervals from %zu draws (seed %llu)",
				       p->draws_count, (unsigned long long)p->seed)
			: "without intervals (--draws 0)";
	struct table *table = report_table(report, "quantity|value>|90 % interval>",
					   "The prediction %s; %s.", draws, p->evidence);
	for (enum answer i = 0; i < ANSWER_COUNT; i++) {
		struct reported row = *answer_at(i);
		if (row.text || !row.spoken || !(row.kinds & (unsigned)prediction_kind(p)))
			continue;
		struct estimate number = reported_of(&row, p);
		if (i == ANSWER_THROUGHPUT)
			row.unit = throughput_unit(&p, 1);
		if (!isfinite(number.value))
			continue;
		table_cells(table, CELLS(row.spoken, reported_text(arena, &row, number.value)));
		row.unit = NULL;
		table_cell(table, "%s",
			   has_interval(number)
				   ? arena_printf(arena, "%s to %s",
						  reported_text(arena, &row, number.low),
						  reported_text(arena, &row, number.high))
				   : "none");
	}
}

void report_numbers(struct report *report, const struct scenario *scenario,
		    const struct prediction *p)
{
	bool job = scenario->style != JOBS_PROGRAMS;
	report_add(report, BLOCK_TEXT, "Setup: %s.", predictions_setup(report->arena, &p, 1));
	if (p->ok)
		prediction_table(report, p);
	if (p->job_count > 1 && p->requests_count == 0)
		report_show(report, NULL, prediction_jobs(report->arena, p),
			    job ? "Each job." : "Each program.");
}

static void report_programs(struct report *report, const struct scenario *scenario,
			    const struct prediction *p)
{
	answer(report, scenario, p);
	report_numbers(report, scenario, p);
	if (p->ok)
		report_breakdown(report, &p, 1);
	if (p->ok && p->waiting_call_count > 0)
		report_show(report, NULL, prediction_calls(report->arena, p, p->waiting_call_count),
			    "The forwarded calls of a step by kind, the longest total time first.");
	if (p->ok && p->stage_count > 0)
		stages_table(report, p);
}

bool report_case(struct report *report, const struct case_request *request)
{
	struct arena *arena = report->arena;
	const struct scenario *scenario = case_read(arena, report->diag, request);
	const struct prediction *p =
		scenario ? predict_case(arena, report->diag, request, &report->request->options,
					&report->broken)
			 : NULL;
	if (!p)
		return false;
	*VEC_PUSH(arena, &report->predictions) = p;
	report_add(report, BLOCK_PART, "%s", p->name);
	if (scenario->style != JOBS_PROGRAMS)
		report_job(report, request, scenario, p);
	else
		report_programs(report, scenario, p);
	report_topology(report, scenario, p, p->name);
	if (p->ok)
		report_timeline(report, scenario,
				p->job_count > 1
					? arena_printf(arena, "%s: %s", p->name, p->jobs[0].name)
					: p->name);
	report_resolution(report, p->resolution);
	return !report->broken;
}
