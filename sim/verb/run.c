/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire run: predicts cases. */
#include "sim/verb/verbs.h"

static void write_trace(FILE *out, const void *ctx)
{
	trace_write(out, ctx);
}

/* Draws the share of requests with less than each latency. */
static const struct drawing *draw_latencies(const struct command *command,
					    const struct prediction *const *predictions,
					    size_t count)
{
	struct arena *arena = command->arena;
	const struct chart_text text = command_chart_text(command, "Latency of requests");
	const struct chart_axes axes = {
		.x_label = "latency (s)", .y_label = "share of requests", .share = true};
	struct curve *curves = ARENA_ARRAY(arena, count, struct curve);
	for (size_t i = 0; i < count; i++) {
		const struct prediction *p = predictions[i];
		double *x = ARENA_ARRAY(arena, CDF_MAX, double);
		struct estimate *y = ARENA_ARRAY(arena, CDF_MAX, struct estimate);
		for (size_t k = 0; k < p->latency_cdf_count; k++) {
			double share = strtod(p->latency_cdf[k].name, NULL);
			x[k] = p->latency_cdf[k].seconds;
			y[k] = (struct estimate){share, share, share};
		}
		curves[i] = (struct curve){p->name, x, y, p->latency_cdf_count, NULL, NULL};
	}
	return chart_curves(arena, text, axes, curves, count);
}

static int draw(const struct command *command, const struct prediction *const *predictions,
		size_t count)
{
	const struct chart_text text = command_chart_text(command, "Parts of the step time");
	bool serving = prediction_kinds(predictions, count) == PREDICTION_SERVING;
	const struct drawing *drawing =
		serving ? draw_latencies(command, predictions, count)
			: chart_breakdown(command->arena, text, predictions, count);
	return command_draw(command, command->plot, &drawing, 1);
}

static int draw_timeline(const struct command *command, const struct trace *trace,
			 const struct drawing *drawing)
{
	int code = command_draw(command, command->timeline, &drawing, 1);
	return code == EXIT_DONE ? command_image_data(command, command->timeline,
						      pipeline_table(command->arena, trace,
								     command->all_ranks))
				 : code;
}

static int run(const struct command *command)
{
	int code = EXIT_DONE;
	bool traced = command->trace || command->timeline;
	struct trace *trace = traced ? trace_new(command->arena) : NULL;
	const struct prediction **predictions = command_predictions(command, trace, &code);
	if (!predictions)
		return code;
	size_t count = command_case_count(command);
	if (command->plot && prediction_kinds(predictions, count) == PREDICTION_COLLECTIVE)
		return command_stop(
			EXIT_USAGE,
			"--plot: one size of a collective gives no curve (write 'farwire sweep' "
			"instead of 'run', and --vary 'case.collective_size=1 KiB:1 GiB:log21')");
	const struct chart_text text = command_chart_text(command, "One step of the plan");
	const struct drawing *timeline =
		command->timeline ? chart_pipeline(command->arena, text, trace, command->all_ranks)
				  : NULL;
	if (command->timeline && !timeline && !predictions[0]->ok)
		return command_stop(
			EXIT_FAILED,
			"--timeline: there is no step to draw, because the first case failed: %s",
			predictions[0]->reason);
	if (command->timeline && !timeline)
		return command_stop(
			EXIT_USAGE,
			"--timeline: the first case has no plan (write --plan, or use --trace)");
	code = command_write_predictions(command, predictions, count);
	if (code == EXIT_DONE && command->trace)
		code = write_file(command->trace, write_trace, trace);
	if (code == EXIT_DONE && command->timeline)
		code = draw_timeline(command, trace, timeline);
	if (code == EXIT_DONE && command->plot)
		code = draw(command, predictions, count);
	return code;
}

const struct verb verb_run = {
	.name = "run",
	.words = "CASE...",
	.help = "predicts cases: throughput, ratio, step time and its parts",
	.examples = "  farwire run --topology t320-same-esxi --runtime asynchronous --program "
		    "client --batch 16\n"
		    "  farwire run case.cfg --set link.wire.latency='200 us' --format json -o "
		    "result.json\n",
	.options = CASE_OPTIONS ANSWER_OPTIONS "links timeline all-ranks trace",
	.run = run,
};
