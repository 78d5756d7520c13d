/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writing JSON, member by member, straight to a file.
 *
 *   struct json json = json_begin(out, true);
 *   json_open(&json, NULL, '{');
 *   json_text(&json, "case", "same_lan");
 *   json_open_flat(&json, "step", '{');       // stays on one line
 *   json_real(&json, "value", 0.25);
 *   json_close(&json);
 *   json_close(&json);                        // {"case": ..., "step": {...}}
 *   json_end(&json);
 *
 * key is NULL inside an array and at the top. Numbers are written with the
 * fewest digits that read back as the same double; NaN and infinities are
 * null, and so is a NULL text. Bytes that are no UTF-8 become U+FFFD, since a
 * file name may hold anything and JSON may not. Errors of the file are left to
 * its owner (output_commit).
 */
#ifndef FARWIRE_RESULT_JSON_H
#define FARWIRE_RESULT_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { JSON_DEPTH_MAX = 16 };

struct json {
	FILE *out;
	bool pretty; /* members on lines of their own, indented; else one line */
	int depth;
	struct {
		char bracket; /* that closes it */
		bool flat, filled;
	} level[JSON_DEPTH_MAX];
};

struct json json_begin(FILE *out, bool pretty);
void json_end(struct json *json); /* the last newline; all is closed (asserted) */
/* bracket: '{' or '['. */
void json_open(struct json *json, const char *key, char bracket);
void json_open_flat(struct json *json, const char *key, char bracket);
void json_close(struct json *json);
void json_text(struct json *json, const char *key, const char *text);
void json_real(struct json *json, const char *key, double value);
void json_count(struct json *json, const char *key, uint64_t count);
void json_flag(struct json *json, const char *key, bool flag);
void json_null(struct json *json, const char *key);

/* The bare pieces: a quoted text, a number. */
void json_string(FILE *out, const char *text);
void json_number(FILE *out, double value);

#endif
