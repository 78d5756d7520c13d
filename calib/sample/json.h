/* SPDX-License-Identifier: Apache-2.0 */
/* Writes one JSON value into memory: a line of a recording.
 *
 *   struct json json = {0};
 *   json_object(&json, NULL);
 *   json_word(&json, "test", "copy");
 *   json_object(&json, "x");
 *   json_number(&json, "size_B", 65536);
 *   json_close(&json);
 *   json_close(&json);             -> {"test":"copy","x":{"size_B":65536}}
 *
 * Keys are NULL for elements of arrays and for the value itself. Whole numbers are written exactly,
 * other numbers with nine digits. Infinities and NaN become null, because JSON cannot express them.
 * When memory runs out, `failed` is set permanently, and further calls do nothing.
 */
#ifndef FARWIRE_CALIB_JSON_H
#define FARWIRE_CALIB_JSON_H

#include <stdbool.h>
#include <stddef.h>

struct json {
	char *text; /* terminated by a zero byte; freed by json_free() */
	size_t length, room;
	bool failed, comma;
	char open[16]; /* closing brackets still to be written */
	size_t depth;
};

void json_object(struct json *json, const char *key);
void json_array(struct json *json, const char *key);
void json_close(struct json *json); /* closes the innermost object or array */
/* a NULL value is written as null */
void json_word(struct json *json, const char *key, const char *value);
void json_number(struct json *json, const char *key, double value);
void json_truth(struct json *json, const char *key, bool value);
void json_newline(struct json *json); /* call it after a complete value */
void json_clear(struct json *json);   /* prepares for another value; keeps the memory */
void json_free(struct json *json);

#endif
