/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/base/table.h"
#include "sim/result/write.h"

const char *part_label(const char *key)
{
	static const char *const labels[][2] = {
		{PART_KERNEL, "kernels"},
		{PART_ISSUE, "host launch overhead"},
		{PART_NETWORK, "network round trips"},
		{PART_LOST, "retransmission"},
		{PART_SESSION, "session and context"},
		{PART_COPY, "host-GPU copies"},
		{PART_EXPOSED, "exposed communication"},
		{PART_INPUT, "input wait"},
		{PART_STRAGGLER, "straggler wait"},
		{PART_QUEUE, "queueing"},
		{PART_TRANSFER, "transfer of keys and values"},
		{PART_BATCH, "wait for the batch"},
		{PART_TENSOR, "exposed tensor parallelism"},
		{PART_CONTEXT, "exposed context parallelism"},
		{PART_EXPERT, "exposed expert parallelism"},
		{PART_DATA, "exposed data parallelism"},
		{PART_PIPELINE, "exposed pipeline messages"},
	};
	for (size_t i = 0; i < sizeof labels / sizeof labels[0]; i++)
		if (strcmp(labels[i][0], key) == 0)
			return labels[i][1];
	return key;
}

double prediction_part_s(const struct prediction *prediction, const char *name)
{
	double sum_s = 0;
	bool exposed = strcmp(name, PART_EXPOSED) == 0;
	for (size_t i = 0; i < prediction->breakdown_count; i++) {
		const struct breakdown_part *part = &prediction->breakdown[i];
		if (exposed ? ends_in(part->name, " exposed") : strcmp(part->name, name) == 0)
			sum_s += part->seconds;
	}
	return sum_s;
}

enum prediction_kind prediction_kind(const struct prediction *prediction)
{
	return prediction->requests_count > 0 ? PREDICTION_SERVING
	       : prediction->gpu_count == 0   ? PREDICTION_PROGRAMS
	       : prediction->collective       ? PREDICTION_COLLECTIVE
					      : PREDICTION_TRAINING;
}

unsigned prediction_kinds(const struct prediction *const *predictions, size_t count)
{
	unsigned kinds = 0;
	for (size_t i = 0; i < count; i++)
		kinds |= (unsigned)prediction_kind(predictions[i]);
	return kinds;
}

const char *predictions_without_effect(struct arena *arena,
				       const struct prediction *const *predictions, size_t count)
{
	const char *found = NULL, *next = count ? predictions[0]->without_effect : NULL;
	while (next) {
		const char *end = strstr(next, ", ");
		int length = (int)(end ? (size_t)(end - next) : strlen(next));
		const char *one = arena_printf(arena, ", %.*s, ", length, next);
		bool all = true;
		for (size_t i = 1; i < count && all; i++) {
			const char *other = predictions[i]->without_effect;
			all = other && strstr(arena_printf(arena, ", %s, ", other), one);
		}
		if (all)
			found = arena_printf(arena, "%s%s%.*s", found ? found : "",
					     found ? ", " : "", length, next);
		next = end ? end + 2 : NULL;
	}
	return found;
}

void predictions_write(FILE *out, enum output_format format,
		       const struct prediction *const *predictions, size_t count)
{
	switch (format) {
	case FORMAT_TABLE:
		predictions_table(out, predictions, count, 0, false);
		break;
	case FORMAT_CSV:
		predictions_csv(out, predictions, count);
		break;
	case FORMAT_JSON: {
		struct json_writer json = jw_begin(out, JSON_PRETTY);
		jw_open(&json, NULL, '[');
		for (size_t i = 0; i < count; i++)
			prediction_json(&json, predictions[i]);
		jw_close(&json);
		jw_end(&json);
		break;
	}
	case FORMAT_JSONL:
		for (size_t i = 0; i < count; i++) {
			struct json_writer json = jw_begin(out, JSON_LINE);
			prediction_json(&json, predictions[i]);
			jw_end(&json);
		}
		break;
	}
}
