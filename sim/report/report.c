/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Begin and end of a report, and helpers of all parts. */
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
	return report;
}

/* Compares several cases. */
static void compare(struct report *report)
{
	const struct prediction *const *predictions = report->predictions.items;
	size_t count = report->predictions.count;
	const struct chart_text text = report_text(report, chart_bars_title(predictions, count));
	report_add(report, BLOCK_PART, "Comparison of the cases");
	report_comparison(report);
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
