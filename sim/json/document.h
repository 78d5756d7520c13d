/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads small JSON documents as trees of values; sim/json/pull.h reads large files.
 *
 * A missing value is NULL, and every function here accepts NULL. An object that has a key twice is
 * an error, because one of the two values would be lost. */
#pragma once

#include "sim/json/pull.h"

enum { JSON_MAX_B = 256 << 20 }; /* a thousand predictions with all their parameters */

struct json {
	enum jp_token
		kind;     /* JP_OBJECT, JP_ARRAY, JP_TEXT, JP_NUMBER, JP_TRUE, JP_FALSE, JP_NULL */
	int line;         /* line at which the value begins */
	const char *key;  /* of a member of an object */
	const char *text; /* of a text, or of a number as it is written */
	double number;
	size_t count; /* members of an object, or elements of an array */
	const struct json *items;
	const struct json **by_key; /* members in the order of keys; NULL with in->keeps_twins */
};

/* Returns the next value of a file, or the next element of the array or value of the key that was
 * read last. Returns NULL at the end of the file or array, and after an error, which is in->error:
 * also a value of more than max_B. JSON has one value, JSON Lines have many. */
const struct json *json_next(struct arena *arena, struct jp_reader *in, size_t max_B);

/* Receives a value that begins at origin, and is valid only while this function runs. Returns false
 * to end the reading. */
typedef bool json_take(void *ctx, const struct json *value, struct origin origin);

/* Calls take for each value of a file. Returns false if take has returned false, or after an error,
 * which is in diag: no file, more than 256 MiB, no JSON. */
bool json_file_read(struct diag *diag, const char *path, json_take *take, void *ctx);
/* Calls take for the one value of a text. Returns false if the text is not one value, or if take
 * has returned false. */
bool json_text_read(const char *text, size_t size_B, json_take *take, void *ctx);

bool json_is_nothing(const struct json *value); /* missing, or null */
bool json_is(const struct json *value, enum jp_token kind);
const char *json_text_of(const struct json *value); /* NULL if the value is not a text */
/* Returns false if the value is not a finite number. */
bool json_number_of(const struct json *value, double *number);
bool json_count_of(const struct json *value,
		   uint64_t *count); /* false if the value is not a whole number >= 0 */

/* Returns the number of members of an object or of elements of an array; 0 for other values. */
size_t json_size(const struct json *value);
const struct json *json_at(const struct json *list, size_t index);
const struct json *json_member(const struct json *object, const char *key);
