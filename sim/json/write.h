/* SPDX-License-Identifier: Apache-2.0 */
/* Writes JSON, member by member, straight to a file.
 *
 *   struct json_writer json = jw_begin(out, JSON_PRETTY);
 *   jw_open(&json, NULL, '{');
 *   jw_text(&json, "case", "same_lan");
 *   jw_open_flat(&json, "step", '{');       // stays on one line
 *   jw_real(&json, "value", 0.25);
 *   jw_close(&json);
 *   jw_close(&json);                        // {"case": ..., "step": {...}}
 *   jw_end(&json);
 *
 * key is NULL inside an array and at the top. NaN and infinities are null, and so is a NULL
 * text. Bytes that are not UTF-8 become U+FFFD, because a file name may hold any bytes and JSON
 * may not. The owner of the file looks for its errors. This writer needs only the C library and
 * sim/base/utf8.h, since farwire-probe is built with it on machines that have nothing else.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { JSON_DEPTH_MAX = 16 };

enum json_style {
	JSON_LINE, /* one line; numbers have the fewest digits that read back as the same double */
	JSON_PRETTY, /* numbers as in JSON_LINE; members on lines of their own, indented */
	JSON_DENSE,  /* one line without blanks; whole numbers are exact, others have 9 digits */
};

struct json_writer {
	FILE *out;
	enum json_style style;
	int depth;
	struct {
		char bracket; /* bracket that closes the object or array */
		bool flat, filled;
	} level[JSON_DEPTH_MAX];
};

struct json_writer jw_begin(FILE *out, enum json_style style);
void jw_end(struct json_writer
		    *json); /* writes the last newline; asserts that all brackets are closed */
/* Opens an object or an array; bracket is '{' or '['. */
void jw_open(struct json_writer *json, const char *key, char bracket);
void jw_open_flat(struct json_writer *json, const char *key, char bracket);
void jw_close(struct json_writer *json);
void jw_text(struct json_writer *json, const char *key, const char *text);
void jw_real(struct json_writer *json, const char *key, double value);
void jw_count(struct json_writer *json, const char *key, uint64_t count);
/* Writes a time with nine decimals, without the cost of printf. */
void jw_seconds(struct json_writer *json, const char *key, double time_s);
void jw_flag(struct json_writer *json, const char *key, bool flag);
void jw_null(struct json_writer *json, const char *key);
/* Writes a number with a format of printf. */
void jw_digits(struct json_writer *json, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Writes a number without a key, as in CSV. */
void jw_number(FILE *out, double value);
