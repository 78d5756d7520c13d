/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/result/field.h"
#include "sim/result/write.h"

/* The names of the breakdown parts in all predictions, in order of first appearance. Each is a
 * column. */
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

static void put_header(struct csv *csv, struct arena *scratch, struct part_names names,
		       unsigned kinds, bool steps)
{
	for (size_t i = 0; i < prediction_fields.count; i++) {
		const struct field *field = &prediction_fields.rows[i];
		if (!field->csv || field_is_absent(field, kinds))
			continue;
		const char *name = field->csv;
		if (steps && strcmp(name, "throughput_images_per_s") == 0)
			name = "throughput_steps_per_s";
		csv_field(csv, name);
		if (field->type == FIELD_ESTIMATE) {
			csv_field(csv, arena_printf(scratch, "%s_low", name));
			csv_field(csv, arena_printf(scratch, "%s_high", name));
		}
	}
	for (size_t i = 0; i < names.count; i++) {
		char *name = arena_printf(scratch, "%s_s", names.items[i]);
		for (char *at = name; *at; at++)
			if (*at == ' ')
				*at = '_';
		csv_field(csv, name);
	}
	csv_line(csv);
}

static void put_estimate(struct csv *csv, struct estimate estimate)
{
	struct estimate shown = estimate_output(estimate);
	csv_number(csv, shown.value);
	csv_number(csv, shown.low);
	csv_number(csv, shown.high);
}

static void put_count(struct csv *csv, uint64_t count)
{
	csv_field(csv, NULL);
	fprintf(csv->out, "%" PRIu64, count);
}

static void put_field(struct csv *csv, const struct field *field, const struct record *record)
{
	switch (field->type) {
	case FIELD_VERDICT:
		csv_field(csv, record->ok ? "ok" : "fail");
		break;
	case FIELD_COUNT:
		if (field_is_filled(field, record))
			put_count(csv, field_count(field, record));
		else
			csv_field(csv, NULL);
		break;
	case FIELD_NUMBER:
		csv_number(csv, field_number(field, record));
		break;
	case FIELD_ESTIMATE:
		put_estimate(csv, field_estimate(field, record));
		break;
	case FIELD_VERSION:
		csv_field(csv, FARWIRE_VERSION);
		break;
	default:
		csv_field(csv, field_text(field, record));
		break;
	}
}

void predictions_csv(FILE *out, const struct prediction *const *predictions, size_t count)
{
	struct arena *scratch = arena_new();
	struct part_names names = part_names_of(scratch, predictions, count);
	struct csv csv = {.out = out};
	unsigned kinds = prediction_kinds(predictions, count);
	put_header(&csv, scratch, names, kinds,
		   strcmp(throughput_unit(predictions, count), "steps/s") == 0);
	for (size_t i = 0; i < count; i++) {
		const struct prediction *prediction = predictions[i];
		const struct record record = {.at = prediction,
					      .ok = prediction->ok,
					      .kind = prediction_kind(prediction)};
		for (size_t k = 0; k < prediction_fields.count; k++)
			if (prediction_fields.rows[k].csv &&
			    !field_is_absent(&prediction_fields.rows[k], kinds))
				put_field(&csv, &prediction_fields.rows[k], &record);
		for (size_t k = 0; k < names.count; k++)
			csv_number(&csv, prediction->ok ? part_s(prediction, names.items[k]) : NAN);
		csv_line(&csv);
	}
	arena_free(scratch);
}
