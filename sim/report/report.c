/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Begin and end of a report, and helpers of all parts. */
#include "sim/cfg/text.h"
#include "sim/report/answers.h"
#include "sim/report/chart_data.h"
#include "sim/report/dataset_charts.h"
#include "sim/report/part.h"

struct report *report_begin(struct arena *arena, const struct report_request *request)
{
	const char *caption = caption_text(arena, &request->caption);
	struct report *report =
		report_new(arena, request->title, arena_printf(arena, "Predicted by %s.", caption));
	report->request = request;
	report->caption = caption;
	report->diag = diag_new(arena);
	const char *wrong, *path = arena_printf(arena, "%s/models/report.css", request->data_root);
	struct cfg_file_identity identity;
	report->style = cfg_file_load(arena, path, &identity, &wrong);
	if (!report->style)
		diag_error(report->diag, (struct origin){path, 0}, "%s", wrong);
	return report;
}

const char *chance_words(struct arena *arena, double above_one)
{
	const double certain = 0.995; /* 24 draws do not resolve more */
	if (!isfinite(above_one))
		return "";
	return arena_printf(arena, ", faster with a probability of %s%.0f %%",
			    above_one > certain ? "over " : "", 100 * fmin(above_one, 0.99));
}

/* Says which of several cases is the fastest, and its ratio to each other case. */
static void answer_comparison(struct report *report)
{
	const struct prediction *const *predictions = report->predictions.items;
	size_t count = report->predictions.count;
	struct arena *arena = report->arena;
	const struct prediction *best = NULL;
	const char *others = "", *failed = "";
	bool alike = true;
	for (size_t i = 0; i < count; i++) {
		const struct prediction *p = predictions[i];
		if (p->ok && (!best || throughput_quotient(p, best).estimate.value > 1))
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
		struct quotient to_best = throughput_quotient(best, predictions[i]);
		struct estimate times = to_best.estimate;
		alike &= !predictions[i]->ok || isfinite(times.value);
		if (predictions[i] == best || !isfinite(times.value))
			continue;
		others = arena_printf(arena, "%s%s%s times the throughput of %s%s%s", others,
				      *others ? ", " : ": ", figures(arena, times.value, 3),
				      predictions[i]->name, interval_words(arena, times, 1, 3),
				      chance_words(arena, to_best.above_one));
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

/* Compares several cases. */
static void compare(struct report *report)
{
	const struct prediction *const *predictions = report->predictions.items;
	size_t count = report->predictions.count;
	const struct chart_text text = report_text(report, chart_bars_title(predictions, count));
	report_add(report, BLOCK_PART, "Comparison of the cases");
	answer_comparison(report);
	report_figure(report,
		      chart_ratio_bars(report->arena, text,
				       chart_bars(report->arena, predictions, count), count),
		      "%s (predictions). The dashed line is at 95 %%.", text.title);
	report_results(report, comparison_table(report->arena, predictions, count),
		       report->request->options.draws_count > 0, "The numbers of this figure",
		       NULL);
}

/* Returns the question that the predictions answer. */
static const char *question(const struct report *report)
{
	size_t count = report->predictions.count;
	if (count > 1)
		return "Which of these cases is the fastest?";
	switch (prediction_kinds(report->predictions.items, count)) {
	case 0: /* datasets only */
		return "Predictions and measurements";
	case PREDICTION_TRAINING:
		return "How does this training scale?";
	case PREDICTION_COLLECTIVE:
		return "How fast is this collective?";
	case PREDICTION_SERVING:
		return "How fast are requests served?";
	default:
		return "What does a remote GPU cost?";
	}
}

/* Begins the report with one picture of all measured rows. */
static void draw_all_rows(struct report *report)
{
	size_t before = report->blocks.count, count = report->outcomes.count;
	struct caption caption = report->request->caption;
	caption.configuration = dataset_configuration(report->arena, report->outcomes.items, count);
	struct drawing *drawing =
		dataset_parity(report->arena, "All measured rows: predicted against measured",
			       caption_text(report->arena, &caption), report->outcomes.items, count,
			       MEASURE_COUNT);
	if (!drawing)
		return;
	report_figure(report, drawing,
		      "The rows of %zu measured datasets. Points on the diagonal have no error.",
		      count);
	report_to_front(report, before);
}

void report_finish(struct report *report)
{
	size_t before = report->blocks.count;
	if (!report->title)
		report->title = question(report);
	if (report->predictions.count > 1)
		compare(report);
	report_to_front(report, before);
	if (report->outcomes.count > 1)
		draw_all_rows(report);
}

void report_results(struct report *report, const struct result_table *result, bool intervals,
		    const char *summary, const char *caption)
{
	if (!caption)
		caption = intervals ? "With 90 % intervals" : "Without intervals";
	if (result->setup)
		caption = arena_printf(report->arena, "%s. Setup: %s", caption, result->setup);
	if (result->without_effect)
		caption = arena_printf(report->arena, "%s. Changes nothing here: %s", caption,
				       result->without_effect);
	report_show(report, summary, result_table_shown(report->arena, result),
		    arena_printf(report->arena, "%s.", caption));
}

struct chart_text report_text(const struct report *report, const char *title)
{
	return (struct chart_text){title, report->caption};
}

struct analysis_input report_input(const struct report *report, const struct case_request *request,
				   size_t draws)
{
	struct analysis_input input = {*request, report->request->options, report->request->watch};
	input.options.draws_count = draws;
	return input;
}

void report_break(struct report *report, const char *broken)
{
	if (!report->broken)
		report->broken = broken;
}

/* ---- tables of parameters ---- */

/* Returns a path in the data folder relative to it, and any other path unchanged. */
static const char *shown_path(const struct report *report, const char *path)
{
	const char *root = report->request->data_root;
	size_t length = strlen(root);
	if (strncmp(path, root, length) == 0 && path[length] == '/')
		return path + length + 1;
	return path;
}

static const char *origin_text(const struct report *report, const struct cfg_param *param)
{
	if (!param->origin.file)
		return "built in";
	const char *path = shown_path(report, param->origin.file);
	return param->origin.line ? arena_printf(report->arena, "%s:%d", path, param->origin.line)
				  : path;
}

/* A report always shows stack.real_input, because input that crosses the network has a large
 * effect. */
static bool is_chosen(const struct cfg_param *param)
{
	bool empty = param->text && !param->text[0];
	return (strncmp(param->path, "case.", 5) == 0 && !empty) ||
	       param->source == CFG_SOURCE_SET || strcmp(param->path, "stack.real_input") == 0;
}

/* Adds the settings of the case, or, folded below a summary, all parameters. */
static void add_parameters(struct report *report, const char *summary, const char *caption,
			   const struct cfg_resolution *resolution)
{
	static const char columns[] = "parameter|key|value>|90 % interval>|status|origin|note";
	struct arena *arena = report->arena;
	struct table *table = table_new(arena, columns, 0);
	report_show(report, summary, table, caption);
	for (size_t i = 0; i < cfg_param_count(resolution); i++) {
		const struct cfg_param *p = cfg_param_at(resolution, i);
		if (!summary && !is_chosen(p))
			continue;
		const char *interval =
			cfg_param_varies(p)
				? arena_printf(arena, "%s to %s", cfg_param_text(arena, p, p->low),
					       cfg_param_text(arena, p, p->high))
				: "";
		const char *status = p->prior ? arena_printf(arena, "%s; prior: %s", p->status,
							     prior_name(p->prior))
					      : p->status;
		table_cells(table, CELLS(cfg_param_words(arena, p->path, p->row), p->path,
					 cfg_param_text(arena, p, p->value), interval, status,
					 origin_text(report, p), p->note));
	}
}

void report_resolution(struct report *report, const struct cfg_resolution *resolution)
{
	report_add(report, BLOCK_HEADING, "Parameters behind the prediction");
	add_parameters(report, NULL, "The settings of this case.", resolution);
	add_parameters(
		report,
		arena_printf(report->arena, "All %zu parameters", cfg_param_count(resolution)),
		"Every parameter of the case.", resolution);
}
