/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/json/document.h"
#include "sim/result/field.h"

struct result_reader {
	struct arena *arena;
	struct diag *diag;
	struct origin origin; /* origin of the current value: file and first line of its record */
	VEC(const struct prediction *) predictions;
	bool failed;
};

static void complain(struct result_reader *reader, const char *key, const char *what)
{
	diag_error(reader->diag, reader->origin, "prediction %zu: '%s' %s",
		   reader->predictions.count + 1, key, what);
	reader->failed = true;
}

/* Returns a text. Null gives NULL; a missing text gives NULL unless it is needed. */
static const char *text_of(struct result_reader *reader, const struct json *record, const char *key,
			   bool needed)
{
	const struct json *value = json_member(record, key);
	if (json_text_of(value))
		return arena_strdup(reader->arena, json_text_of(value));
	if (needed || !json_is_nothing(value))
		complain(reader, key, "must be a text");
	return NULL;
}

static double real_of(struct result_reader *reader, const struct json *record, const char *key)
{
	const struct json *value = json_member(record, key);
	double number;
	if (json_number_of(value, &number))
		return number;
	if (!json_is_nothing(value))
		complain(reader, key, "must be a number");
	return NAN;
}

static uint64_t count_of(struct result_reader *reader, const struct json *record, const char *key)
{
	const struct json *value = json_member(record, key);
	uint64_t count;
	if (json_count_of(value, &count))
		return count;
	if (!json_is_nothing(value))
		complain(reader, key, "must be a whole number");
	return 0;
}

/* Only needed estimates must exist, because results of older versions lack the others. */
static struct estimate estimate_of(struct result_reader *reader, const struct json *record,
				   const char *key, bool needed)
{
	const struct json *value = json_member(record, key);
	if (json_is(value, JP_OBJECT))
		return (struct estimate){real_of(reader, value, "value"),
					 real_of(reader, value, "low"),
					 real_of(reader, value, "high")};
	if (needed || value)
		complain(reader, key, "must be an object with value, low and high");
	return ESTIMATE_NONE;
}

static bool verdict_of(struct result_reader *reader, const struct json *record)
{
	const char *verdict = text_of(reader, record, "verdict", true);
	if (verdict && strcmp(verdict, "ok") != 0 && strcmp(verdict, "fail") != 0)
		complain(reader, "verdict", "must be 'ok' or 'fail'");
	return verdict && strcmp(verdict, "ok") == 0;
}

static void read_fields(struct result_reader *reader, const struct json *record,
			struct fields fields, void *to);

static void read_list(struct result_reader *reader, const struct json *list,
		      const struct field *field, char *record)
{
	const struct list *kind = field->list;
	size_t count = json_size(list);
	if (kind->most && count > kind->most) {
		complain(reader, field->json, "has too many parts");
		return;
	}
	char *items = arena_array(reader->arena, count, kind->item_B);
	*(void **)(void *)(record + field->offset) = items;
	for (size_t i = 0; i < count; i++) {
		struct breakdown_part *part = (void *)(items + i * kind->item_B);
		const char *name = field->type == FIELD_PARTS ? list->items[i].key : NULL;
		if (field->type == FIELD_LIST)
			read_fields(reader, json_at(list, i), *kind->fields, part);
		else
			*part = (struct breakdown_part){
				arena_strdup(reader->arena, name ? name : ""),
				real_of(reader, list, name ? name : "")};
	}
	*(size_t *)(void *)(record + field->count_offset) = count;
}

static void read_field(struct result_reader *reader, const struct json *record,
		       const struct field *field, char *of)
{
	void *to = of + field->offset;
	switch (field->type) {
	case FIELD_TEXT:
		*(const char **)to = text_of(reader, record, field->json, field->needed);
		break;
	case FIELD_VERDICT:
		*(bool *)to = verdict_of(reader, record);
		break;
	case FIELD_COUNT:
		*(uint64_t *)to = count_of(reader, record, field->json);
		break;
	case FIELD_NUMBER:
		*(double *)to = real_of(reader, record, field->json);
		break;
	case FIELD_ESTIMATE:
		*(struct estimate *)to = estimate_of(reader, record, field->json, field->needed);
		break;
	case FIELD_PARTS:
	case FIELD_LIST:
		read_list(reader, json_member(record, field->json), field, of);
		break;
	default: /* the version is not used, and parameters are not read */
		break;
	}
}

static void read_fields(struct result_reader *reader, const struct json *record,
			struct fields fields, void *to)
{
	for (size_t i = 0; i < fields.count; i++)
		if (fields.rows[i].json)
			read_field(reader, record, &fields.rows[i], to);
}

static const struct prediction *read_one(struct result_reader *reader, const struct json *record)
{
	struct prediction *prediction = ARENA_NEW(reader->arena, struct prediction);
	/* the file is something else: report only one error */
	if (!text_of(reader, record, prediction_fields.rows[0].json, true))
		return prediction;
	read_fields(reader, record, prediction_fields, prediction);
	return prediction;
}

static bool take(void *ctx, const struct json *value, struct origin origin)
{
	struct result_reader *reader = ctx;
	reader->origin = origin;
	if (!json_is(value, JP_ARRAY)) {
		const struct prediction *prediction = read_one(reader, value);
		*VEC_PUSH(reader->arena, &reader->predictions) = prediction;
		return !reader->failed;
	}
	for (size_t i = 0; i < json_size(value); i++)
		take(reader, json_at(value, i), origin);
	return !reader->failed;
}

const struct prediction *const *predictions_read(struct arena *arena, struct diag *diag,
						 const char *path, size_t *count)
{
	struct result_reader reader = {.arena = arena, .diag = diag};
	if (!json_file_read(diag, path, take, &reader))
		return NULL;
	*count = reader.predictions.count;
	if (*count == 0)
		diag_error(diag, (struct origin){path, 0},
			   "the file contains no prediction (save one with farwire run CASE "
			   "--format json)");
	return *count ? reader.predictions.items : NULL;
}

const struct prediction *prediction_read(struct arena *arena, const char *text, size_t size_B)
{
	struct result_reader reader = {.arena = arena, .diag = diag_new(arena)};
	bool one = json_text_read(text, size_B, take, &reader) && reader.predictions.count == 1;
	return one ? reader.predictions.items[0] : NULL;
}
