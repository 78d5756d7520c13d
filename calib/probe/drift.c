/* SPDX-License-Identifier: Apache-2.0 */
#include "calib/probe/drift.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calib/sample/stats.h"

#define EVERY_S      30.0
#define LOOKS_LEAST  8 /* minimum number of visits within the time budget */
#define COPY_B       ((size_t)64 << 20)
#define SAMPLES_MOST 41

struct anchor {
	const char *name;
	size_t thrown, count;
};
static const struct anchor anchors[DRIFT_ANCHORS] = {
	{"call.launch", 10, 41}, {"copy.h2d", 2, 9}, {"gemm", 2, 9}};

void drift_start(struct drift *drift, double now_s, double budget_s)
{
	*drift = (struct drift){.start_s = now_s, .next_s = now_s};
	drift->every_s = fmin(EVERY_S, budget_s / LOOKS_LEAST);
}

static int sample(struct bench *bench, size_t anchor, double *value)
{
	const struct gpu_call launch = {.kind = GPU_LAUNCH};
	const struct gpu_call copy = {
		.kind = GPU_COPY, .direction = GPU_H2D, .async = true, .size_B = COPY_B};
	const struct gpu_call work = {.kind = GPU_WORK};
	if (anchor > 0)
		return bench_span(bench, anchor == 1 ? &copy : &work, 2, value);
	int code = bench_finish(bench);
	return code == GPU_OK ? bench_time(bench, &launch, value) : code;
}

static int look(struct drift *drift, size_t anchor, struct bench *bench, struct record *record)
{
	const struct plan_point point = {.test = "drift", .is = {{"anchor", anchors[anchor].name}}};
	double values[SAMPLES_MOST];
	int code = GPU_OK;
	if (anchor == 2)
		code = bench_square(bench);
	for (size_t i = 0; i < anchors[anchor].thrown && code == GPU_OK; i++)
		code = sample(bench, anchor, &values[0]);
	for (size_t i = 0; i < anchors[anchor].count && code == GPU_OK; i++)
		code = sample(bench, anchor, &values[i]);
	if (code == GPU_WAIVED)
		drift->absent[anchor] = true;
	if (code != GPU_OK)
		return code == GPU_WAIVED ? GPU_OK : code;
	while (record_has(record, &point, drift->lines))
		drift->lines++;
	if (record_samples(record, &(struct record_samples){
					   .point = &point,
					   .pass = drift->lines,
					   .t_s = drift->times_s[drift->visits] - drift->start_s,
					   .unit = "s",
					   .stop = "count",
					   .values = values,
					   .count = anchors[anchor].count,
				   }) != 0) {
		snprintf(bench->why, GPU_WHY, "%.190s", record->why);
		return GPU_FAILED;
	}
	stats_sort(values, anchors[anchor].count);
	drift->medians_s[anchor][drift->visits] =
		stats_median_sorted(values, anchors[anchor].count);
	return GPU_OK;
}

int drift_look(struct drift *drift, struct bench *bench, struct record *record, double now_s,
	       bool at_once)
{
	if ((now_s < drift->next_s && !at_once) || drift->visits == DRIFT_VISITS)
		return GPU_OK;
	drift->next_s = now_s + drift->every_s;
	drift->times_s[drift->visits] = now_s;
	for (size_t i = 0; i < DRIFT_ANCHORS; i++) {
		int code = drift->absent[i] ? GPU_OK : look(drift, i, bench, record);
		if (code != GPU_OK)
			return code;
	}
	drift->visits++;
	drift->lines++;
	return GPU_OK;
}

size_t drift_judge(const struct drift *drift, struct record_drift *out)
{
	size_t count = 0;
	if (drift->visits < DRIFT_VISITS_LEAST)
		return 0;
	double span_s = drift->times_s[drift->visits - 1] - drift->times_s[0];
	for (size_t i = 0; i < DRIFT_ANCHORS; i++) {
		double sorted[DRIFT_VISITS];
		int failed;
		if (drift->absent[i])
			continue;
		memcpy(sorted, drift->medians_s[i], drift->visits * sizeof(*sorted));
		stats_sort(sorted, drift->visits);
		double slope =
			stats_slope(drift->times_s, drift->medians_s[i], drift->visits, &failed);
		double median_s = stats_median_sorted(sorted, drift->visits);
		out[count++] = (struct record_drift){anchors[i].name,
						     median_s > 0 ? slope * span_s / median_s : 0};
	}
	return count;
}
