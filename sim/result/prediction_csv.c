/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/result/write.h"

/* The names of breakdown parts in all predictions, in order of appearance: a
 * column each. */
struct part_names {
	const char **items;
	size_t count;
};

static struct part_names part_names_of(struct arena *scratch,
				       const struct prediction *const *predictions, size_t count)
{
	struct part_names names = {ARENA_ARRAY(scratch, count * BREAKDOWN_MAX, const char *), 0};
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < predictions[i]->breakdown_count; k++) {
			const char *name = predictions[i]->breakdown[k].name;
			size_t at = 0;
			while (at < names.count && strcmp(names.items[at], name) != 0)
				at++;
			if (at == names.count)
				names.items[names.count++] = name;
		}
	}
	return names;
}

static double part_s(const struct prediction *prediction, const char *name)
{
	for (size_t k = 0; k < prediction->breakdown_count; k++)
		if (strcmp(prediction->breakdown[k].name, name) == 0)
			return prediction->breakdown[k].seconds;
	return NAN;
}

static void put_header(struct csv *csv, struct arena *scratch, struct part_names names)
{
	static const char *const fixed[] = {"case",
					    "verdict",
					    "reason",
					    "throughput_images_per_s",
					    "throughput_images_per_s_low",
					    "throughput_images_per_s_high",
					    "step_s",
					    "step_s_low",
					    "step_s_high",
					    "ratio",
					    "ratio_low",
					    "ratio_high",
					    "gpu_utilization",
					    "gpu_utilization_low",
					    "gpu_utilization_high",
					    "bottleneck",
					    "events",
					    "seed",
					    "version",
					    "draws",
					    "gpus",
					    "speedup",
					    "speedup_low",
					    "speedup_high",
					    "training_s",
					    "training_s_low",
					    "training_s_high",
					    "communication_s",
					    "collective",
					    "bus_bandwidth_Bps",
					    "bus_bandwidth_Bps_low",
					    "bus_bandwidth_Bps_high",
					    "choice"};
	for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
		csv_field(csv, fixed[i]);
	for (size_t i = 0; i < names.count; i++) {
		char *name = arena_printf(scratch, "%s_s", names.items[i]);
		for (char *at = name; *at; at++)
			if (*at == ' ')
				*at = '_';
		csv_field(csv, name);
	}
	csv_line(csv);
}

static void put_estimate(struct csv *csv, bool ok, struct estimate estimate)
{
	csv_number(csv, ok ? estimate.value : NAN);
	csv_number(csv, ok ? estimate.low : NAN);
	csv_number(csv, ok ? estimate.high : NAN);
}

static void put_count(struct csv *csv, uint64_t count)
{
	char text[24];
	snprintf(text, sizeof text, "%" PRIu64, count);
	csv_field(csv, text);
}

/* What only jobs have: empty of anything else. */
static void put_job(struct csv *csv, const struct prediction *prediction)
{
	bool job = prediction->gpu_count > 0, ok = job && prediction->ok;
	bool known = ok && prediction->communication_s > 0;
	if (job)
		put_count(csv, prediction->gpu_count);
	else
		csv_field(csv, NULL);
	put_estimate(csv, ok, prediction->speedup);
	put_estimate(csv, ok, prediction->training_s);
	csv_number(csv, known ? prediction->communication_s : NAN);
	csv_field(csv, prediction->collective);
	put_estimate(csv, ok && prediction->collective, prediction->throughput);
	csv_field(csv, prediction->choice);
}

void predictions_csv(FILE *out, const struct prediction *const *predictions, size_t count)
{
	struct arena *scratch = arena_new();
	struct part_names names = part_names_of(scratch, predictions, count);
	struct csv csv = {.out = out};
	put_header(&csv, scratch, names);
	for (size_t i = 0; i < count; i++) {
		const struct prediction *prediction = predictions[i];
		bool ok = prediction->ok;
		csv_field(&csv, prediction->name);
		csv_field(&csv, ok ? "ok" : "fail");
		csv_field(&csv, ok ? NULL : prediction->reason);
		put_estimate(&csv, ok && !prediction->collective, prediction->throughput);
		put_estimate(&csv, ok, prediction->step_s);
		put_estimate(&csv, ok, prediction->ratio);
		put_estimate(&csv, ok, prediction->gpu_utilization);
		csv_field(&csv, prediction->bottleneck);
		put_count(&csv, prediction->events_count);
		put_count(&csv, prediction->seed);
		csv_field(&csv, FARWIRE_VERSION);
		put_count(&csv, prediction->draws_count);
		put_job(&csv, prediction);
		for (size_t k = 0; k < names.count; k++)
			csv_number(&csv, ok ? part_s(prediction, names.items[k]) : NAN);
		csv_line(&csv);
	}
	arena_free(scratch);
}
