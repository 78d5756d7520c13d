/* SPDX-License-Identifier: Apache-2.0 */
/* One JSON value written into memory: a line of a recording.
 *
 *   struct json json = {0};
 *   json_object(&json, NULL);
 *   json_word(&json, "test", "copy");
 *   json_object(&json, "x");
 *   json_number(&json, "size_B", 65536);
 *   json_close(&json);
 *   json_close(&json);             -> {"test":"copy","x":{"size_B":65536}}
 *
 * Keys are NULL in arrays and for the value itself. Whole numbers are
 * exact, others have nine digits; JSON has none for infinities and not-a-number:
 * those become null. When memory
 * runs out, `failed` is set and stays, and further calls do nothing.
 */
#ifndef FARWIRE_CALIB_JSON_H
#define FARWIRE_CALIB_JSON_H

#include <stdbool.h>
#include <stddef.h>

struct json {
	char *text; /* ends with a zero byte; free it with json_free() */
	size_t length, room;
	bool failed, comma;
	char open[16]; /* the brackets that are to be closed */
	size_t depth;
};

void json_object(struct json *json, const char *key);
void json_array(struct json *json, const char *key);
void json_close(struct json *json); /* the innermost object or array */
void json_word(struct json *json, const char *key, const char *value); /* NULL: null */
void json_number(struct json *json, const char *key, double value);
void json_truth(struct json *json, const char *key, bool value);
void json_newline(struct json *json); /* after a whole value */
void json_clear(struct json *json);   /* to write another; keeps the memory */
void json_free(struct json *json);

#endif
