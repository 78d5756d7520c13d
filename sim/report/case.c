/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of a report about one case. */
#include "sim/analysis/reported.h"
#include "sim/report/answers.h"
#include "sim/report/part.h"
#include "sim/report/sweep_figures.h"
#include "sim/result/answer.h"
#include "sim/result/write.h"

/* Adds the answers of the prediction that matter most, in one sentence. */
static void answer(struct report *report, const struct prediction *p)
{
	static const enum answer numbers[] = {
		ANSWER_THROUGHPUT, ANSWER_BANDWIDTH,   ANSWER_REQUESTS, ANSWER_RATIO,
		ANSWER_SPEEDUP,    ANSWER_EFFICIENCY,  ANSWER_STEP,     ANSWER_TIME,
		ANSWER_LATENCY,    ANSWER_LATENCY_P99, ANSWER_TRAINING,
	};
	struct arena *arena = report->arena;
	const char *text = "", *more = "";
	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
		struct reported row = *answer_at(numbers[i]);
		struct estimate number = reported_of(&row, p);
		if (!(row.kinds & (unsigned)prediction_kind(p)) || !isfinite(number.value))
			continue;
		if (numbers[i] == ANSWER_THROUGHPUT)
			row.unit = throughput_unit(&p, 1);
		text = arena_printf(arena, "%s%s the %s is %s", text, *text ? "," : "", row.spoken,
				    reported_interval(arena, &row, number));
	}
	if (p->collective)
		more = p->choice ? arena_printf(arena, " The library chose %s.", p->choice) : "";
	else if (p->bottleneck && p->bottleneck[0])
		more = arena_printf(arena, " Bottleneck: %s.", p->bottleneck);
	if (p->ok)
		report_answer(report, false, "%s:%s.%s", p->name, text, more);
	else
		report_answer(report, true, "%s fails: %s.", p->name, p->reason);
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

static void numbers(struct report *report, const struct scenario *scenario,
		    const struct prediction *p)
{
	bool job = scenario->style != JOBS_PROGRAMS;
	report_add(report, BLOCK_TEXT, "Setup: %s.", predictions_setup(report->arena, &p, 1));
	if (p->ok)
		prediction_table(report, p);
	if (p->job_count > 1 && p->requests_count == 0)
		report_show(report, NULL, prediction_jobs(report->arena, p),
			    job ? "Each job." : "Each program.");
	if (p->ok && !p->collective)
		report_breakdown(report, &p, 1);
	if (p->ok && !job && p->waiting_call_count > 0)
		report_show(report, NULL, prediction_calls(report->arena, p, p->waiting_call_count),
			    "The forwarded calls of a step by kind, the longest total time first.");
	if (p->ok && !job && p->stage_count > 0)
		stages_table(report, p);
}

/* ---- scaling ---- */

static void scaling(struct report *report, const struct case_request *request,
		    const struct prediction *p)
{
	struct arena *arena = report->arena;
	struct scaling_request over_gpus = {
		.input = report_input(report, request, report->request->options.draws_count),
		.gpus = {NULL, {"report", 0}}};
	struct sweep_fault fault;
	const struct scaling *found = scaling_run(arena, report->diag, &over_gpus, &fault);
	report_break(report, fault.broken);
	if (!found)
		return; /* the report still has the case itself */
	struct chart_text text = report_text(report, arena_printf(arena, "Scaling of %s", p->name));
	report_add(report, BLOCK_HEADING, "Scaling to more GPUs");
	report_figure(report, scaling_chart(arena, text, found),
		      "Throughput and scaling efficiency over the number of GPUs, which fill "
		      "machine after machine. The dashed line is ideal linear scaling.");
	text.title = arena_printf(arena, "Parts of the step time of %s", p->name);
	report_figure(report, scaling_parts_chart(arena, text, found),
		      "The parts of one step, as the mean over the ranks.");
	report_results(report, scaling_table(arena, found), over_gpus.input.options.draws_count > 0,
		       "The numbers of these figures", NULL);
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
	answer(report, p);
	numbers(report, scenario, p);
	if (prediction_kind(p) == PREDICTION_TRAINING && scenario->style != JOBS_PROGRAMS &&
	    scenario->job_count == 1 && p->gpu_count > 1)
		scaling(report, request, p);
	report_topology(report, scenario, p, p->name);
	if (p->ok)
		report_timeline(report, scenario,
				p->job_count > 1
					? arena_printf(arena, "%s: %s", p->name, p->jobs[0].name)
					: p->name);
	report_resolution(report, p->resolution);
	return !report->broken;
}

bool report_brief(struct report *report, const struct case_request *request)
{
	const struct predict_options *options = &report->request->options;
	const struct prediction *p =
		predict_case(report->arena, report->diag, request, options, &report->broken);
	if (!p)
		return false;
	answer(report, p);
	if (p->remedy)
		report_add(report, BLOCK_TEXT, "Would help: %s.", p->remedy);
	if (p->ok && !p->collective)
		report_breakdown(report, &p, 1);
	if (!p->ok)
		return true;
	report_add(report, BLOCK_FOLD, "All numbers");
	report_add(report, BLOCK_TEXT, "Setup: %s.", predictions_setup(report->arena, &p, 1));
	prediction_table(report, p);
	report_add(report, BLOCK_UNFOLD, "%s", "");
	return true;
}
