/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads small JSON documents whole; sim/json/pull.h reads large files.
 *
 * A value lives while the function that takes it runs. A value that is missing is NULL, and
 * every function here accepts it.
 */
#ifndef FARWIRE_JSON_DOCUMENT_H
#define FARWIRE_JSON_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/diag.h"

struct json_t; /* a value; jansson's */

/* Takes a value that begins at origin; false ends the reading. */
typedef bool json_take(void *ctx, const struct json_t *value, struct origin origin);

/* Gives the values of a file to take, one after another: JSON has one, JSON Lines have many.
 * False after an error, which is in diag: no file, more than 256 MiB, no JSON, the same key
 * twice in an object; or after take was false. */
bool json_file_read(struct diag *diag, const char *path, json_take *take, void *ctx);
/* The same of a text that is one value. False if it is not. */
bool json_text_read(const char *text, size_t size_B, json_take *take, void *ctx);

bool json_is_nothing(const struct json_t *value); /* missing, or null */
bool json_is_list(const struct json_t *value);
bool json_is_record(const struct json_t *value);      /* an object */
const char *json_text_of(const struct json_t *value); /* NULL: not a text */
bool json_number_of(const struct json_t *value, double *number);
bool json_count_of(const struct json_t *value, uint64_t *count); /* a whole number >= 0 */

/* Members of an object, elements of an array; of anything else there are 0. */
size_t json_size(const struct json_t *value);
const struct json_t *json_at(const struct json_t *list, size_t index);
const struct json_t *json_member(const struct json_t *record, const char *key);
const char *json_key_at(const struct json_t *record, size_t index);

#endif
