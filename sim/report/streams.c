/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The forwarded programs of a recording: measured and predicted step times. No fit uses them. */
#include "sim/report/part.h"

static void add_table(struct report *report, const struct streams *streams)
{
	struct arena *arena = report->arena;
	struct table *table =
		report_table(report,
			     "program|calls|kernels>|bytes copied per step>|one-way "
			     "latency>|bandwidth>|measured>|predicted>|error (%)>",
			     "Step times of forwarded programs. Calls wait for each answer (sync), "
			     "only if they must (async), or travel in batches of 16.");
	for (size_t i = 0; i < streams->count; i++) {
		const struct stream *s = &streams->items[i];
		table_cells(table,
			    CELLS(s->program, s->mode,
				  quantity_format(arena, QUANTITY_TIME, s->kernel_s),
				  quantity_format(arena, QUANTITY_BYTES, s->copied_B),
				  quantity_format(arena, QUANTITY_TIME, s->latency_s),
				  s->rate_Bps > 0
					  ? quantity_format(arena, QUANTITY_RATE, s->rate_Bps)
					  : "no limit",
				  quantity_format(arena, QUANTITY_TIME, s->measured_s),
				  quantity_format(arena, QUANTITY_TIME, s->predicted.value)));
		table_cell(table, "%s%.1f", s->error_ratio < 0 ? "−" : "+",
			   100 * fabs(s->error_ratio));
	}
}

static void add_figure(struct report *report, const struct streams *streams)
{
	struct arena *arena = report->arena;
	size_t count = streams->count;
	const char *title =
		arena_printf(arena, "%zu forwarded programs that no fit used: median error %.1f %%",
			     count, 100 * streams->median_ratio);
	struct parity_point *parity = ARENA_ARRAY(arena, count + 1, struct parity_point);
	for (size_t i = 0; i < count; i++) {
		parity[i] = (struct parity_point){
			.label = arena_printf(arena, "%s %s, kernels of %.0f us, %.0f us one way",
					      streams->items[i].program, streams->items[i].mode,
					      1e6 * streams->items[i].kernel_s,
					      1e6 * streams->items[i].latency_s),
			.measured = 1e6 * streams->items[i].measured_s,
			.predicted = estimate_scaled(streams->items[i].predicted, 1e6),
			.test = true,
		};
	}
	report_figure(
		report,
		chart_parity(arena,
			     (struct chart_text){
				     title, "steps of the test `stream`: measured with the probe's "
					    "forwarder, and predicted with the fitted parameters"},
			     "us", parity, count),
		"%s. Points on the diagonal have no error.", title);
}

struct streams report_streams(struct report *report, const struct calibration *calibration)
{
	const struct report_request *request = report->request;
	const struct recording *recording = calibration->recording;
	const struct streams streams = streams_predict(report->arena, report->diag, calibration,
						       request->data_root, request->options.seed);
	if (streams.count > 0) {
		report_add(report, BLOCK_HEADING, "Forwarded programs");
		report_add(report, BLOCK_TEXT,
			   "For %zu programs forwarded to %s, which set no parameter, the median "
			   "error of the step time is %s" NBSP "%%; the largest is %s" NBSP "%%.",
			   streams.count, recording->gpu ? recording->gpu : recording->cpu,
			   figures(report->arena, 100 * streams.median_ratio, 2),
			   figures(report->arena, 100 * streams.most_ratio, 2));
		add_figure(report, &streams);
		add_table(report, &streams);
	}
	return streams;
}
