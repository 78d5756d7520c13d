/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "sim/result/write.h"

const char *part_label(const char *key)
{
	static const char *const labels[][2] = {
		{PART_KERNEL, "kernels"},
		{PART_ISSUE, "host launch overhead"},
		{PART_NETWORK, "network round trips"},
		{PART_LOST, "retransmission"},
		{PART_COPY, "host-GPU copies"},
		{PART_EXPOSED, "exposed communication"},
		{PART_INPUT, "input wait"},
		{PART_STRAGGLER, "straggler wait"},
		{PART_QUEUE, "queueing"},
		{PART_TRANSFER, "transfer of keys and values"},
		{PART_BATCH, "wait for the batch"},
	};
	for (size_t i = 0; i < sizeof labels / sizeof labels[0]; i++)
		if (strcmp(labels[i][0], key) == 0)
			return labels[i][1];
	return key;
}

double prediction_part_s(const struct prediction *prediction, const char *name)
{
	for (size_t i = 0; i < prediction->breakdown_count; i++)
		if (strcmp(prediction->breakdown[i].name, name) == 0)
			return prediction->breakdown[i].seconds;
	return 0;
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

void predictions_write(FILE *out, enum output_format format,
		       const struct prediction *const *predictions, size_t count)
{
	switch (format) {
	case FORMAT_TABLE:
		predictions_table(out, predictions, count);
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
