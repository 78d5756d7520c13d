/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>

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

static const char *part_column(struct arena *arena, const char *part)
{
	char *name = arena_printf(arena, "%s_s", part);
	for (char *at = name; *at; at++)
		if (*at == ' ')
			*at = '_';
	return name;
}

static struct result_cell cell_of(struct arena *arena, const struct field *field,
				  const struct record_place *record)
{
	switch (field->type) {
	case FIELD_VERDICT:
		return (struct result_cell){.text = record->ok ? "ok" : "fail"};
	case FIELD_COUNT:
		if (!field_is_filled(field, record))
			return (struct result_cell){.text = NULL};
		return (struct result_cell){
			.text = arena_printf(arena, "%" PRIu64, field_count(field, record))};
	case FIELD_NUMBER:
		return (struct result_cell){.number.value = field_number(field, record)};
	case FIELD_ESTIMATE:
		return (struct result_cell){.number = field_estimate(field, record)};
	case FIELD_VERSION:
		return (struct result_cell){.text = FARWIRE_VERSION};
	default:
		return (struct result_cell){.text = field_text(field, record)};
	}
}

void predictions_csv(FILE *out, const struct prediction *const *predictions, size_t count)
{
	struct arena *scratch = arena_new();
	struct part_names names = part_names_of(scratch, predictions, count);
	unsigned kinds = prediction_kinds(predictions, count);
	for (size_t i = 0; i < count; i++)
		kinds |= predictions[i]->currency ? PREDICTION_PRICED : 0U;
	bool steps = strcmp(throughput_unit(predictions, count), "steps/s") == 0;
	size_t most = prediction_fields.count, width = 0;
	const struct field **fields = ARENA_ARRAY(scratch, most, const struct field *);
	struct result_table *table = result_table_new(scratch, NULL, NULL);
	for (size_t i = 0; i < most; i++) {
		const struct field *field = &prediction_fields.rows[i];
		if (!field->csv || field_is_absent(field, kinds))
			continue;
		fields[width++] = field;
		bool throughput = strcmp(field->csv, "throughput_samples_per_s") == 0;
		bool text = field->type != FIELD_NUMBER && field->type != FIELD_ESTIMATE;
		result_columns(table, "%s:%s",
			       steps && throughput ? "throughput_steps_per_s" : field->csv,
			       text                            ? "text"
			       : field->type == FIELD_ESTIMATE ? "~"
							       : "");
	}
	for (size_t k = 0; k < names.count; k++)
		result_columns(table, "%s", part_column(scratch, names.items[k]));
	for (size_t i = 0; i < count; i++) {
		const struct prediction *p = predictions[i];
		const struct record_place record = {.at = p,
						    .ok = p->ok,
						    .kind = prediction_kind(p),
						    .priced = p->currency != NULL};
		result_row(table);
		for (size_t k = 0; k < width; k++)
			result_cell(table, cell_of(scratch, fields[k], &record));
		for (size_t k = 0; k < names.count; k++)
			result_number(table, p->ok ? part_s(p, names.items[k]) : NAN);
	}
	result_table_write(out, FORMAT_CSV, table);
	arena_free(scratch);
}
