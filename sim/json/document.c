/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads JSON with jansson. Only this file uses that library. */
#include "sim/json/document.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { FILE_MAX_B = 256 << 20 }; /* a thousand predictions with all their parameters */

/* ---- reading ---- */

struct source {
	FILE *file;
	int line;
	size_t read_B;
};

/* jansson reads a whole buffer. With one byte in each buffer, it stops at the end of the value. */
static size_t next_byte(void *buffer, size_t room_B, void *ctx)
{
	struct source *source = ctx;
	int c = room_B && source->read_B <= FILE_MAX_B ? getc_unlocked(source->file) : EOF;
	if (c == EOF)
		return 0;
	source->read_B++;
	source->line += c == '\n';
	*(char *)buffer = (char)c;
	return 1;
}

/* Skips blanks. Returns false at the end of the file. */
static bool begins_value(struct source *source)
{
	char c;
	while (next_byte(&c, 1, source))
		if (!strchr(" \t\r\n", c) || !c) {
			source->read_B--;
			return ungetc((unsigned char)c, source->file) != EOF;
		}
	return false;
}

static bool read_values(struct source *source, struct diag *diag, const char *path, json_take *take,
			void *ctx)
{
	while (begins_value(source)) {
		struct origin origin = {path, source->line};
		json_error_t error;
		json_t *value = json_load_callback(
			next_byte, source, JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES, &error);
		if (!value && source->read_B <= FILE_MAX_B && !ferror(source->file)) {
			origin.line += error.line > 0 ? error.line - 1 : 0;
			diag_error(diag, origin, "the file is not JSON: %s", error.text);
		}
		bool taken = value && take(ctx, value, origin);
		json_decref(value);
		if (!taken)
			return false;
	}
	return true;
}

bool json_file_read(struct diag *diag, const char *path, json_take *take, void *ctx)
{
	struct source source = {.file = fopen(path, "rb"), .line = 1};
	struct stat status;
	if (source.file && fstat(fileno(source.file), &status) == 0 && S_ISREG(status.st_mode) &&
	    status.st_size > FILE_MAX_B)
		source.read_B = FILE_MAX_B + 1; /* refused before it is read */
	bool fine = source.file && read_values(&source, diag, path, take, ctx);
	if (source.read_B > FILE_MAX_B) {
		diag_error(diag, (struct origin){path, 0},
			   "the file is larger than 256 MiB (save fewer results in one file)");
		fine = false;
	} else if (!source.file || ferror(source.file)) {
		diag_error(diag, (struct origin){path, 0}, "the file cannot be read: %s",
			   strerror(errno));
		fine = false;
	}
	if (source.file)
		fclose(source.file);
	return fine;
}

bool json_text_read(const char *text, size_t size_B, json_take *take, void *ctx)
{
	json_t *value = json_loadb(text, size_B, JSON_REJECT_DUPLICATES, NULL);
	bool taken = value && take(ctx, value, (struct origin){0});
	json_decref(value);
	return taken;
}

/* ---- values ---- */

bool json_is_nothing(const struct json_t *value)
{
	return !value || json_is_null(value);
}

bool json_is_list(const struct json_t *value)
{
	return json_is_array(value);
}

bool json_is_record(const struct json_t *value)
{
	return json_is_object(value);
}

const char *json_text_of(const struct json_t *value)
{
	return json_string_value(value);
}

bool json_number_of(const struct json_t *value, double *number)
{
	*number = json_number_value(value);
	return json_is_number(value);
}

bool json_count_of(const struct json_t *value, uint64_t *count)
{
	*count = (uint64_t)json_integer_value(value);
	return json_is_integer(value) && json_integer_value(value) >= 0;
}

size_t json_size(const struct json_t *value)
{
	return json_is_record(value) ? json_object_size(value) : json_array_size(value);
}

const struct json_t *json_at(const struct json_t *list, size_t index)
{
	return json_array_get(list, index);
}

const struct json_t *json_member(const struct json_t *record, const char *key)
{
	return json_object_get(record, key);
}

const char *json_key_at(const struct json_t *record, size_t index)
{
	struct json_t *object = (struct json_t *)record; /* iterators change nothing */
	void *at = json_object_iter(object);
	while (index-- && at)
		at = json_object_iter_next(object, at);
	return at ? json_object_iter_key(at) : NULL;
}
