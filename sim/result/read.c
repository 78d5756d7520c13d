/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one door to jansson: predictions from a saved file. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/base/vec.h"
#include "sim/result/field.h"

struct reader {
	struct arena *arena;
	struct diag *diag;
	struct origin origin; /* of the value being read: its first line at best */
	size_t prediction;    /* its number, from 1, for messages */
	bool failed;
};

static void complain(struct reader *reader, const char *key, const char *what)
{
	diag_error(reader->diag, reader->origin, "prediction %zu, '%s': %s", reader->prediction,
		   key, what);
	reader->failed = true;
}

/* A text, or NULL for null and (unless it is needed) for nothing. */
static const char *text_of(struct reader *reader, const json_t *object, const char *key,
			   bool needed)
{
	const json_t *value = json_object_get(object, key);
	if (json_is_string(value))
		return arena_strdup(reader->arena, json_string_value(value));
	if (needed || (value && !json_is_null(value)))
		complain(reader, key, "is no text");
	return NULL;
}

/* A number; NaN for null or nothing. */
static double real_of(struct reader *reader, const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	if (!value || json_is_null(value))
		return NAN;
	if (json_is_number(value))
		return json_number_value(value);
	complain(reader, key, "is no number");
	return NAN;
}

static uint64_t count_of(struct reader *reader, const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	if (!value || json_is_null(value))
		return 0;
	if (json_is_integer(value) && json_integer_value(value) >= 0)
		return (uint64_t)json_integer_value(value);
	complain(reader, key, "is no count");
	return 0;
}

/* Results of older versions lack what is not needed. */
static struct estimate estimate_of(struct reader *reader, const json_t *object, const char *key,
				   bool needed)
{
	const json_t *value = json_object_get(object, key);
	if (json_is_object(value))
		return (struct estimate){real_of(reader, value, "value"),
					 real_of(reader, value, "low"),
					 real_of(reader, value, "high")};
	if (needed || value)
		complain(reader, key, "is missing, or no {value, low, high}");
	return (struct estimate){NAN, NAN, NAN};
}

static bool verdict_of(struct reader *reader, const json_t *object)
{
	const char *verdict = text_of(reader, object, "verdict", true);
	if (verdict && strcmp(verdict, "ok") != 0 && strcmp(verdict, "fail") != 0)
		complain(reader, "verdict", "is neither 'ok' nor 'fail'");
	return verdict && strcmp(verdict, "ok") == 0;
}

static void read_breakdown(struct reader *reader, json_t *object, struct prediction *prediction)
{
	json_t *breakdown = json_object_get(object, "breakdown");
	if (json_object_size(breakdown) > BREAKDOWN_MAX) {
		complain(reader, "breakdown", "has too many parts");
		return;
	}
	const char *name;
	json_t *value;
	json_object_foreach(breakdown, name, value)
	{
		struct breakdown_part *part = &prediction->breakdown[prediction->breakdown_count++];
		part->name = arena_strdup(reader->arena, name);
		part->seconds = real_of(reader, breakdown, name);
	}
}

static void read_fields(struct reader *reader, const json_t *object, struct fields fields,
			void *record);

static void *read_list(struct reader *reader, const json_t *list, struct fields fields,
		       size_t size_B, size_t *count)
{
	*count = json_array_size(list);
	char *records = arena_array(reader->arena, *count, size_B);
	for (size_t i = 0; i < *count; i++)
		read_fields(reader, json_array_get(list, i), fields, records + i * size_B);
	return records;
}

static void read_lists(struct reader *reader, json_t *object, struct prediction *prediction)
{
	read_breakdown(reader, object, prediction);
	prediction->clients = read_list(reader, json_object_get(object, "clients"), client_fields,
					sizeof *prediction->clients, &prediction->client_count);
	prediction->links = read_list(reader, json_object_get(object, "links"), link_fields,
				      sizeof *prediction->links, &prediction->link_count);
}

static void read_field(struct reader *reader, const json_t *object, const struct field *field,
		       void *to)
{
	switch (field->type) {
	case FIELD_TEXT:
		*(const char **)to = text_of(reader, object, field->json, field->needed);
		break;
	case FIELD_VERDICT:
		*(bool *)to = verdict_of(reader, object);
		break;
	case FIELD_COUNT:
		*(uint64_t *)to = count_of(reader, object, field->json);
		break;
	case FIELD_NUMBER:
		*(double *)to = real_of(reader, object, field->json);
		break;
	case FIELD_ESTIMATE:
		*(struct estimate *)to = estimate_of(reader, object, field->json, field->needed);
		break;
	default: /* the version is not used, the parameters stay behind */
		break;
	}
}

static void read_fields(struct reader *reader, const json_t *object, struct fields fields,
			void *record)
{
	for (size_t i = 0; i < fields.count; i++)
		if (fields.rows[i].json)
			read_field(reader, object, &fields.rows[i],
				   (char *)record + fields.rows[i].offset);
}

static const struct prediction *read_one(struct reader *reader, json_t *object)
{
	struct prediction *prediction = ARENA_NEW(reader->arena, struct prediction);
	/* something else altogether: one message is enough */
	if (!text_of(reader, object, prediction_fields.rows[0].json, true))
		return prediction;
	read_fields(reader, object, prediction_fields, prediction);
	read_lists(reader, object, prediction);
	return prediction;
}

/* A thousand predictions with all their parameters. */
enum { FILE_MAX_B = 256 << 20 };

/* The whole file, NUL-terminated; NULL with errno, EFBIG past FILE_MAX_B. */
static char *read_text(struct arena *arena, const char *path, size_t *size_B)
{
	FILE *file = fopen(path, "rb");
	if (!file)
		return NULL;
	size_t room_B = 1 << 16;
	size_t count_B = 0;
	char *text = malloc(room_B);
	while (text) {
		count_B += fread(text + count_B, 1, room_B - count_B, file);
		if (count_B < room_B || count_B > FILE_MAX_B)
			break;
		room_B *= 2;
		char *larger = realloc(text, room_B);
		if (!larger)
			free(text);
		text = larger;
	}
	int error = ferror(file) ? errno : count_B > FILE_MAX_B ? EFBIG : 0;
	fclose(file);
	char *copy = text && !error ? arena_alloc(arena, count_B + 1) : NULL;
	if (copy)
		memcpy(copy, text, count_B);
	free(text);
	*size_B = count_B;
	errno = error ? error : ENOMEM;
	return copy;
}

struct predictions {
	VEC(const struct prediction *) list;
};

static void take(struct reader *reader, json_t *value, struct predictions *predictions)
{
	if (json_is_array(value)) {
		for (size_t i = 0; i < json_array_size(value); i++)
			take(reader, json_array_get(value, i), predictions);
		return;
	}
	reader->prediction++;
	const struct prediction *prediction = read_one(reader, value);
	*VEC_PUSH(reader->arena, &predictions->list) = prediction;
}

/* One JSON value after the other: an array is one, JSON Lines are many. */
static void read_values(struct reader *reader, const char *text, size_t size_B,
			struct predictions *predictions)
{
	size_t at = 0;
	while (!reader->failed) {
		for (; at < size_B && strchr(" \t\r\n", text[at]) && text[at]; at++)
			reader->origin.line += text[at] == '\n';
		if (at == size_B)
			return;
		json_error_t error;
		json_t *value = json_loadb(text + at, size_B - at,
					   JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES, &error);
		if (!value) {
			reader->origin.line += error.line > 0 ? error.line - 1 : 0;
			diag_error(reader->diag, reader->origin, "is no JSON: %s", error.text);
			reader->failed = true;
			return;
		}
		take(reader, value, predictions);
		json_decref(value);
		for (size_t end = at + (size_t)error.position; at < end; at++)
			reader->origin.line += text[at] == '\n';
	}
}

const struct prediction *const *predictions_read(struct arena *arena, struct diag *diag,
						 const char *path, size_t *count)
{
	struct reader reader = {.arena = arena, .diag = diag, .origin = {path, 0}};
	size_t size_B;
	const char *text = read_text(arena, path, &size_B);
	if (!text) {
		diag_error(diag, reader.origin, "%s%s",
			   errno == EFBIG ? "is larger than 256 MiB" : "cannot be read: ",
			   errno == EFBIG ? "" : strerror(errno));
		return NULL;
	}
	reader.origin.line = 1;
	struct predictions predictions = {0};
	read_values(&reader, text, size_B, &predictions);
	if (!reader.failed && predictions.list.count == 0) {
		reader.origin.line = 0;
		diag_error(diag, reader.origin,
			   "holds no prediction (save one with: farwire run CASE --format json)");
		reader.failed = true;
	}
	if (reader.failed)
		return NULL;
	*count = predictions.list.count;
	return predictions.list.items;
}

const struct prediction *prediction_read(struct arena *arena, const char *text, size_t size_B)
{
	struct reader reader = {.arena = arena, .diag = diag_new(arena)};
	json_t *value = json_loadb(text, size_B, JSON_REJECT_DUPLICATES, NULL);
	const struct prediction *prediction =
		json_is_object(value) ? read_one(&reader, value) : NULL;
	json_decref(value);
	return reader.failed ? NULL : prediction;
}
