/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/cfg/cfg.h"
#include "sim/result/field.h"
#include "sim/result/write.h"

static void put_origin(struct json_writer *json, const struct cfg_param *param)
{
	struct arena *scratch = arena_new();
	const char *text = param->origin.file;
	if (param->source == CFG_SOURCE_DRAW)
		text = "draw";
	else if (!text)
		text = param->source == CFG_SOURCE_SET ? "--set" : "default";
	else if (param->origin.line > 0)
		text = arena_printf(scratch, "%s:%d", text, param->origin.line);
	jw_text(json, "origin", text);
	arena_free(scratch);
}

static void put_parameter(struct json_writer *json, const struct cfg_param *param)
{
	jw_open_flat(json, NULL, '{');
	jw_text(json, "key", param->path);
	bool number = param->row->kind == PARAM_KIND_NUMBER;
	if (param->row->kind == PARAM_KIND_BOOL)
		jw_flag(json, "value", param->value != 0);
	else if (number)
		jw_real(json, "value", param->value);
	else
		jw_text(json, "value", param->text);
	jw_text(json, "unit", number ? quantity_unit(param->row->quantity) : NULL);
	put_origin(json, param);
	if (number) {
		jw_real(json, "low", param->low);
		jw_real(json, "high", param->high);
		jw_text(json, "prior", param->prior ? prior_name(param->prior) : NULL);
	}
	jw_text(json, "status", param->status);
	jw_text(json, "note", param->note);
	jw_close(json);
}

static void resolution_json(struct json_writer *json, const char *key,
			    const struct cfg_resolution *resolution)
{
	jw_open(json, key, '[');
	size_t count = resolution ? cfg_param_count(resolution) : 0;
	for (size_t i = 0; i < count; i++)
		put_parameter(json, cfg_param_at(resolution, i));
	jw_close(json);
}

static void put_parts(struct json_writer *json, const struct field *field,
		      const struct record_place *record)
{
	size_t count;
	const struct breakdown_part *parts = field_items(field, record->at, &count);
	jw_open_flat(json, field->json, '{');
	for (size_t i = 0; i < count; i++)
		jw_real(json, parts[i].name, record->ok ? parts[i].seconds : NAN);
	jw_close(json);
}

static void put_fields(struct json_writer *json, struct fields fields,
		       const struct record_place *record);

static void put_list(struct json_writer *json, const struct field *field,
		     const struct record_place *record)
{
	const struct fields *fields = field->list->fields;
	size_t count;
	const char *items = field_items(field, record->at, &count);
	struct record_place item = *record;
	item.kind = record->kind == PREDICTION_SERVING ? PREDICTION_SERVING : PREDICTION_PROGRAMS;
	jw_open(json, field->json, '[');
	for (size_t i = 0; i < count; i++) {
		item.at = items + i * field->list->item_B;
		if (fields == &job_fields)
			item.ok = ((const struct job_prediction *)item.at)->ok;
		(fields == &link_fields || fields == &error_fields ? jw_open_flat
								   : jw_open)(json, NULL, '{');
		put_fields(json, *fields, &item);
		jw_close(json);
	}
	jw_close(json);
}

static void put_field(struct json_writer *json, const struct field *field,
		      const struct record_place *record)
{
	switch (field->type) {
	case FIELD_TEXT:
		jw_text(json, field->json, field_text(field, record));
		break;
	case FIELD_VERDICT:
		jw_text(json, field->json, record->ok ? "ok" : "fail");
		break;
	case FIELD_COUNT:
		if (field_is_filled(field, record))
			jw_count(json, field->json, field_count(field, record));
		else
			jw_null(json, field->json);
		break;
	case FIELD_NUMBER:
		jw_real(json, field->json, field_number(field, record));
		break;
	case FIELD_ESTIMATE:
		jw_open_estimate(json, field->json, field_estimate(field, record));
		jw_text(json, "unit", field_unit(field, record));
		jw_close(json);
		break;
	case FIELD_VERSION:
		jw_text(json, field->json, FARWIRE_VERSION);
		break;
	case FIELD_PARTS:
		put_parts(json, field, record);
		break;
	case FIELD_LIST:
		put_list(json, field, record);
		break;
	case FIELD_PARAMETERS:
		resolution_json(json, field->json,
				((const struct prediction *)record->at)->resolution);
		break;
	}
}

static void put_fields(struct json_writer *json, struct fields fields,
		       const struct record_place *record)
{
	for (size_t i = 0; i < fields.count; i++)
		if (fields.rows[i].json &&
		    !field_is_absent(&fields.rows[i],
				     record->kind | (record->priced ? PREDICTION_PRICED : 0U)))
			put_field(json, &fields.rows[i], record);
}

void prediction_json(struct json_writer *json, const struct prediction *prediction)
{
	const char *unit = throughput_unit(&prediction, 1);
	jw_open(json, NULL, '{');
	put_fields(json, prediction_fields,
		   &(struct record_place){prediction, prediction->ok, prediction_kind(prediction),
					  strcmp(unit, "sequences/s") == 0,
					  strcmp(unit, "steps/s") == 0,
					  prediction->currency != NULL});
	jw_close(json);
}
