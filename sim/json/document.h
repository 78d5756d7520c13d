/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads small JSON documents as a whole; sim/json/pull.h reads large files.
 *
 * A value is valid only while the json_take function that received it runs. A missing value is
 * NULL, and every function here accepts NULL. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/diag.h"

struct json_t; /* a value of jansson */

/* Receives a value that begins at origin. Returns false to end the reading. */
typedef bool json_take(void *ctx, const struct json_t *value, struct origin origin);

/* Calls take for each value of a file: JSON has one, JSON Lines have many. Returns false if take
 * has returned false, or after an error, which is in diag: no file, more than 256 MiB, no JSON,
 * the same key twice in an object. */
bool json_file_read(struct diag *diag, const char *path, json_take *take, void *ctx);
/* Calls take for the one value of a text. Returns false if the text is not one value, or if take
 * has returned false. */
bool json_text_read(const char *text, size_t size_B, json_take *take, void *ctx);

bool json_is_nothing(const struct json_t *value); /* missing, or null */
bool json_is_list(const struct json_t *value);
bool json_is_record(const struct json_t *value);      /* an object */
const char *json_text_of(const struct json_t *value); /* NULL if the value is not a text */
bool json_number_of(const struct json_t *value, double *number);
bool json_count_of(const struct json_t *value,
		   uint64_t *count); /* false if the value is not a whole number >= 0 */

/* Returns the number of members of an object or of elements of an array; 0 for other values. */
size_t json_size(const struct json_t *value);
const struct json_t *json_at(const struct json_t *list, size_t index);
const struct json_t *json_member(const struct json_t *record, const char *key);
const char *json_key_at(const struct json_t *record, size_t index);
