/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writing JSON, member by member, straight to a file.
 *
 *   struct json_writer json = jw_begin(out, true);
 *   jw_open(&json, NULL, '{');
 *   jw_text(&json, "case", "same_lan");
 *   jw_open_flat(&json, "step", '{');       // stays on one line
 *   jw_real(&json, "value", 0.25);
 *   jw_close(&json);
 *   jw_close(&json);                        // {"case": ..., "step": {...}}
 *   jw_end(&json);
 *
 * key is NULL inside an array and at the top. Numbers are written with the
 * fewest digits that read back as the same double; NaN and infinities are
 * null, and so is a NULL text. Bytes that are not UTF-8 become U+FFFD, since a
 * file name may hold anything and JSON may not. Errors of the file are left to
 * its owner (output_commit).
 */
#ifndef FARWIRE_JSON_WRITE_H
#define FARWIRE_JSON_WRITE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { JSON_DEPTH_MAX = 16 };

struct json_writer {
	FILE *out;
	bool pretty; /* members on lines of their own, indented; else one line */
	int depth;
	struct {
		char bracket; /* that closes it */
		bool flat, filled;
	} level[JSON_DEPTH_MAX];
};

struct json_writer jw_begin(FILE *out, bool pretty);
void jw_end(struct json_writer *json); /* the last newline; all is closed (asserted) */
/* bracket: '{' or '['. */
void jw_open(struct json_writer *json, const char *key, char bracket);
void jw_open_flat(struct json_writer *json, const char *key, char bracket);
void jw_close(struct json_writer *json);
void jw_text(struct json_writer *json, const char *key, const char *text);
void jw_real(struct json_writer *json, const char *key, double value);
void jw_count(struct json_writer *json, const char *key, uint64_t count);
void jw_flag(struct json_writer *json, const char *key, bool flag);
void jw_null(struct json_writer *json, const char *key);

/* The bare pieces: a quoted text, a number. */
void jw_string(FILE *out, const char *text);
void jw_number(FILE *out, double value);

#endif
