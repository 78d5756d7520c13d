/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading JSON token by token, in bounded memory.
 *
 * Recordings of programs are too large to be read whole: a trace of PyTorch's
 * profiler of a few steps is hundreds of megabytes, nearly all of which nobody
 * needs here. A pull reader hands out one token after the other and remembers
 * only where it is: the depth, and the text of the last token.
 *
 *   struct jp_reader *in = jp_open(arena, file);
 *   while (jp_next(in) == JP_KEY)
 *     if (strcmp(in->text, "size") == 0) ... jp_next(in) ...
 *     else jp_skip(in);
 *
 * Several values after one another are JSON Lines. The reader is as strict as
 * RFC 8259 about structure and lenient about what real writers do inside it:
 * NaN and Infinity are numbers, control characters may stand in texts.
 */
#ifndef FARWIRE_TRACES_JSON_PULL_H
#define FARWIRE_TRACES_JSON_PULL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum jp_token {
	JP_END,   /* of the file, between values */
	JP_ERROR, /* see error and line; for good */
	JP_OBJECT,
	JP_OBJECT_END,
	JP_ARRAY,
	JP_ARRAY_END,
	JP_KEY,    /* text */
	JP_TEXT,   /* text */
	JP_NUMBER, /* number, and text as it was written */
	JP_TRUE,
	JP_FALSE,
	JP_NULL,
};

enum {
	JP_DEPTH_MAX = 64,
	/* Longer texts lose their end (text_cut): nothing here needs it. */
	JP_TEXT_MAX_B = 4096,
};

struct arena;

struct jp_reader {
	FILE *in;
	int line;
	uint64_t values_count; /* that began at depth 0 */
	unsigned depth;
	char text[JP_TEXT_MAX_B];
	size_t text_B;
	bool text_cut;
	double number;
	const char *error;
	/* private */
	char brackets[JP_DEPTH_MAX];
	int state;
};

struct jp_reader *jp_open(struct arena *arena, FILE *in);
enum jp_token jp_next(struct jp_reader *reader);
/* After a key, or where a value may stand: passes over it, whatever it is. False
 * after an error. */
bool jp_skip(struct jp_reader *reader);
/* Passes over the rest of the innermost object or array. */
bool jp_leave(struct jp_reader *reader);

#endif
