/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/json/document.h"
#include "sim/base/lines.h"

#include <sys/stat.h>

enum { TEXT_MAX_B = 1 << 20 }; /* the end of a longer text is left out */

/* ---- reading ---- */

static int by_key(const void *a, const void *b)
{
	const struct json *x = *(struct json *const *)a, *y = *(struct json *const *)b;
	int order = strcmp(x->key, y->key);
	return order ? order : (x > y) - (x < y); /* they are in one array, in their order */
}

static void sort_members(struct arena *arena, struct jp_reader *in, struct json *object)
{
	object->by_key = ARENA_ARRAY(arena, object->count, const struct json *);
	for (size_t i = 0; i < object->count; i++)
		object->by_key[i] = &object->items[i];
	qsort(object->by_key, object->count, sizeof(const struct json *), by_key);
	for (size_t i = 1; i < object->count && !in->error; i++)
		if (strcmp(object->by_key[i]->key, object->by_key[i - 1]->key) == 0) {
			in->error = "the object has a key twice";
			in->line = object->by_key[i]->line;
		}
}

/* Reads the value that begins with a token, and lies before the byte end_B. */
static void build(struct arena *arena, struct jp_reader *in, enum jp_token token, uint64_t end_B,
		  struct json *to)
{
	VEC(struct json) items = {0};
	to->kind = token;
	to->line = in->line;
	to->number = in->number;
	if (token == JP_TEXT || token == JP_NUMBER)
		to->text = arena_strdup(arena, in->text);
	if (token != JP_OBJECT && token != JP_ARRAY)
		return;
	for (token = jp_next(in); token != JP_OBJECT_END && token != JP_ARRAY_END && !in->error;
	     token = jp_next(in)) {
		struct json *item = VEC_PUSH(arena, &items);
		if (token == JP_KEY) {
			item->key = arena_strdup(arena, in->text);
			token = jp_next(in);
		}
		build(arena, in, token, end_B, item);
		if (in->read_B > end_B && !in->error)
			in->error = "the value is too long";
	}
	to->items = items.items;
	to->count = items.count;
	if (to->kind == JP_OBJECT && !in->keeps_twins && !in->error)
		sort_members(arena, in, to);
}

const struct json *json_next(struct arena *arena, struct jp_reader *in, size_t max_B)
{
	FW_ASSERT(in);
	uint64_t end_B = in->read_B + max_B;
	enum jp_token token = in->error ? JP_ERROR : jp_next(in);
	if (token == JP_END || token == JP_ERROR || token == JP_ARRAY_END)
		return NULL;
	struct json *value = ARENA_NEW(arena, struct json);
	build(arena, in, token, end_B, value);
	return in->error ? NULL : value;
}

/* Calls take for each value. Returns false if it has, or after an error. */
static bool take_values(struct jp_reader *in, const char *path, json_take *take, void *ctx)
{
	bool taken = true, more = true;
	in->text_max_B = TEXT_MAX_B;
	while (taken && more && in->read_B <= JSON_MAX_B) {
		struct arena *arena = arena_new();
		const struct json *value = json_next(arena, in, JSON_MAX_B);
		more = value != NULL;
		if (value)
			taken = take(ctx, value, (struct origin){path, value->line});
		arena_free(arena);
	}
	return taken && !in->error;
}

bool json_file_read(struct diag *diag, const char *path, json_take *take, void *ctx)
{
	const char *why = "";
	FILE *file = file_once(path, &why);
	struct arena *arena = arena_new();
	struct jp_reader *in = file ? jp_open(arena, file) : NULL;
	struct stat status;
	if (file && fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode) &&
	    status.st_size > JSON_MAX_B)
		in->read_B = JSON_MAX_B + 1; /* refused before it is read */
	bool fine = file && take_values(in, path, take, ctx);
	if (file && in->read_B > JSON_MAX_B) {
		diag_error(diag, (struct origin){path, 0},
			   "the file is larger than 256 MiB (save fewer results in one file)");
		fine = false;
	} else if (!file || ferror(file)) {
		diag_error(diag, (struct origin){path, 0}, "the file cannot be read: %s",
			   file ? strerror(errno) : why);
		fine = false;
	} else if (in->error) {
		diag_error(diag, (struct origin){path, in->line}, "the file is not JSON: %s",
			   in->error);
	}
	if (file)
		fclose(file);
	arena_free(arena);
	return fine;
}

bool json_text_read(const char *text, size_t size_B, json_take *take, void *ctx)
{
	FILE *file = fmemopen((char *)text, size_B, "r");
	struct arena *arena = arena_new();
	struct jp_reader *in = file ? jp_open(arena, file) : NULL;
	if (in)
		in->text_max_B = TEXT_MAX_B;
	const struct json *value = file ? json_next(arena, in, JSON_MAX_B) : NULL;
	bool taken = value && !json_next(arena, in, JSON_MAX_B) && !in->error &&
		     take(ctx, value, (struct origin){0});
	if (file)
		fclose(file);
	arena_free(arena);
	return taken;
}

/* ---- values ---- */

bool json_is(const struct json *value, enum jp_token kind)
{
	return value && value->kind == kind;
}

bool json_is_nothing(const struct json *value)
{
	return !value || value->kind == JP_NULL;
}

const char *json_text_of(const struct json *value)
{
	return json_is(value, JP_TEXT) ? value->text : NULL;
}

bool json_number_of(const struct json *value, double *number)
{
	bool is_number = json_is(value, JP_NUMBER) && isfinite(value->number);
	if (is_number)
		*number = value->number;
	return is_number;
}

bool json_count_of(const struct json *value, uint64_t *count)
{
	bool whole = json_is(value, JP_NUMBER) && !value->text[strspn(value->text, "0123456789")];
	uint64_t read = whole ? strtoull(value->text, NULL, 10) : 0;
	if (!whole || read > INT64_MAX) /* too large a number is read as UINT64_MAX */
		return false;
	*count = read;
	return true;
}

size_t json_size(const struct json *value)
{
	return value ? value->count : 0;
}

const struct json *json_at(const struct json *list, size_t index)
{
	return index < json_size(list) ? &list->items[index] : NULL;
}

const struct json *json_member(const struct json *object, const char *key)
{
	size_t low = 0, high = json_is(object, JP_OBJECT) ? object->count : 0, count = high;
	if (count && !object->by_key) {
		while (low < count && strcmp(object->items[low].key, key) != 0)
			low++;
		return json_at(object, low);
	}
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (strcmp(object->by_key[middle]->key, key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	bool found = low < count && strcmp(object->by_key[low]->key, key) == 0;
	return found ? object->by_key[low] : NULL;
}
