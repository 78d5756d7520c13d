/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of a report about a recording of a probe: the error of predictions for the programs that
 * the probe forwarded. No fit uses these programs. */
#include "sim/report/part.h"

void report_recording(struct report *report, const struct calibration *calibration)
{
	const struct recording *recording = calibration->recording;
	const char *device = recording->gpu ? recording->gpu : recording->cpu;
	report_add(report, BLOCK_PART, "Forwarded programs: %s", device);
	size_t answer = report->blocks.count;
	report_answer(report, false, "%s", "");
	report_add(report, BLOCK_TEXT,
		   "%s: %zu samples in %zu passes on %s, %s; recording %.16s. The parameters were "
		   "fitted to separate measurements of calls, kernels and forwarding. The steps "
		   "below were measured as well, and are predicted with these parameters.",
		   shown_path(report, recording->path), recording->sample_count,
		   recording->pass_count, recording->date, recording->cpu, recording->hash);
	struct streams error = report_streams(report, calibration);
	report->blocks.items[answer].text =
		error.count == 0
			? "The recording has no forwarded programs (the probe's test `stream`)."
			: arena_printf(
				  report->arena,
				  "For %zu programs forwarded to %s, which set no parameter, the "
				  "median error of the step time is %s" NBSP
				  "%%; the largest is %s" NBSP "%%.",
				  error.count, device,
				  figures(report->arena, 100 * error.median_ratio, 2),
				  figures(report->arena, 100 * error.most_ratio, 2));
}
