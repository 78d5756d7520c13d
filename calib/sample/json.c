/* SPDX-License-Identifier: Apache-2.0 */
#include "calib/sample/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put(struct json *json, const char *bytes, size_t count)
{
	if (json->failed)
		return;
	if (json->length + count + 1 > json->room) {
		size_t room = 2 * (json->length + count) + 256;
		char *text = realloc(json->text, room);
		if (!text) {
			json->failed = true;
			return;
		}
		json->text = text;
		json->room = room;
	}
	memcpy(json->text + json->length, bytes, count);
	json->length += count;
	json->text[json->length] = '\0';
}

static void put_string(struct json *json, const char *string)
{
	put(json, "\"", 1);
	for (const char *c = string; *c; c++) {
		unsigned char byte = (unsigned char)*c;
		char escape[8];
		if (byte == '"' || byte == '\\') {
			escape[0] = '\\';
			escape[1] = *c;
			put(json, escape, 2);
		} else if (byte < 0x20 || byte >= 0x7f) {
			/* Invalid UTF-8 is escaped byte by byte. */
			snprintf(escape, sizeof(escape), "\\u%04x", byte);
			put(json, escape, 6);
		} else {
			put(json, c, 1);
		}
	}
	put(json, "\"", 1);
}

static void begin(struct json *json, const char *key)
{
	if (json->comma)
		put(json, ",", 1);
	json->comma = true;
	if (key) {
		put_string(json, key);
		put(json, ":", 1);
	}
}

static void open_with(struct json *json, const char *key, const char *bracket, char closing)
{
	if (json->depth == sizeof(json->open)) {
		json->failed = true;
		return;
	}
	begin(json, key);
	put(json, bracket, 1);
	json->open[json->depth++] = closing;
	json->comma = false;
}

void json_object(struct json *json, const char *key)
{
	open_with(json, key, "{", '}');
}

void json_array(struct json *json, const char *key)
{
	open_with(json, key, "[", ']');
}

void json_close(struct json *json)
{
	if (json->depth == 0) {
		json->failed = true;
		return;
	}
	put(json, &json->open[--json->depth], 1);
	json->comma = json->depth > 0;
}

void json_word(struct json *json, const char *key, const char *value)
{
	begin(json, key);
	if (value)
		put_string(json, value);
	else
		put(json, "null", 4);
}

void json_number(struct json *json, const char *key, double value)
{
	char text[40];
	begin(json, key);
	if (isfinite(value)) {
		bool whole =
			fabs(value) < 0x1p53 && !(value < floor(value) || value > floor(value));
		snprintf(text, sizeof(text), whole ? "%.0f" : "%.9g", value);
		put(json, text, strlen(text));
	} else {
		put(json, "null", 4);
	}
}

void json_truth(struct json *json, const char *key, bool value)
{
	begin(json, key);
	put(json, value ? "true" : "false", value ? 4 : 5);
}

void json_newline(struct json *json)
{
	put(json, "\n", 1);
}

void json_clear(struct json *json)
{
	json->length = 0;
	json->depth = 0;
	json->comma = false;
	json->failed = false;
	if (json->text)
		json->text[0] = '\0';
}

void json_free(struct json *json)
{
	free(json->text);
	*json = (struct json){0};
}
