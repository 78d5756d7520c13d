/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads JSON token by token, in bounded memory.
 *
 * A trace of PyTorch's profiler has hundreds of megabytes, and an import needs only a small part
 * of it. This reader returns one token after the other. It keeps only its place: the depth, and
 * the text of the last token. sim/json/document.h reads small documents as a whole.
 *
 *   struct jp_reader *in = jp_open(arena, file);
 *   while (jp_next(in) == JP_KEY)
 *     if (strcmp(in->text, "size") == 0) ... jp_next(in) ...
 *     else jp_skip(in);
 *
 * Several values that follow each other are JSON Lines. The grammar is that of RFC 8259, with
 * two exceptions that real files need: NaN and Infinity are numbers, and texts may contain
 * control characters. */
#pragma once

#include "sim/base/base.h"

enum jp_token {
	JP_END,   /* end of the file, between two values */
	JP_ERROR, /* see error and line; every later token is JP_ERROR, too */
	JP_OBJECT,
	JP_OBJECT_END,
	JP_ARRAY,
	JP_ARRAY_END,
	JP_KEY,    /* text of the key */
	JP_TEXT,   /* text of the value */
	JP_NUMBER, /* number, and its text as written */
	JP_TRUE,
	JP_FALSE,
	JP_NULL,
};

enum {
	JP_DEPTH_MAX = 64,
	JP_TEXT_MAX_B = 4096, /* usual text_max_B */
};

struct arena;

struct jp_reader {
	int line;              /* line of the last token */
	uint64_t values_count; /* number of values that began at depth 0 */
	unsigned depth;
	const char *text; /* text of the last token, valid until the next token is read */
	size_t text_B;
	size_t text_max_B; /* the end of a longer text is left out; may be set before reading */
	double number;
	const char *error;
	bool keeps_twins;     /* json_next() accepts objects that have a key twice; may be set */
	bool torn;            /* the error is that the file ends inside a value */
	uint64_t read_B;      /* number of bytes read from the file */
	struct jp_feed *feed; /* private */
};

struct jp_reader *jp_open(struct arena *arena, FILE *in);
enum jp_token jp_next(struct jp_reader *reader);
/* Skips the next value, for example after a key. Returns false after an error. */
bool jp_skip(struct jp_reader *reader);
/* Skips the rest of the innermost object or array. Returns false after an error.
 * exported: tests/fuzz/json.c compares it with reading each token. */
bool jp_leave(struct jp_reader *reader);
