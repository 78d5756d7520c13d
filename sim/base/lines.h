/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a text file or a text in memory line by line, and divides lines into words. */
#pragma once

#include "sim/base/diag.h"

enum { LINES_MAX_B = 65536 };

struct lines {
	FILE *in;         /* NULL: `from` is read */
	const char *from; /* what is left of a text in memory */
	struct diag *diag;
	struct origin origin; /* of the line that was read last */
	/* Errors: a line is longer than 64 KiB or contains a zero byte. */
	const char *too_long, *not_text;
	bool torn; /* the last line has no line feed */
	char text[LINES_MAX_B];
};

/* Opens a file that is read from its begin to its end once, such as a log; `-` is not stdin. Sets
 * *why to the reason and returns NULL if it cannot be read. */
FILE *file_once(const char *path, const char **why);
/* Opens a file that may be read again, and passes its content to diag_reads, so that the journal of
 * a sweep notices a change. A pipe or a device is refused, because it may never end. Returns NULL
 * after an error at origin, which is in diag. */
FILE *file_open(struct diag *diag, struct origin origin, const char *path);
/* Returns the next line without its end and without a byte order mark. It is valid until the next
 * call. Returns NULL at the end and after an error, which is in diag. */
char *lines_next(struct lines *lines);
/* Divides a text in place at any of the separators. Returns the number of words, at most `most`. */
size_t lines_words(char *text, const char *separators, const char **words, size_t most);
/* Divides a row of a table in place at each separator outside of quotes, without the blanks and
 * quotes around cells. Returns the number of cells, at most `most`. */
size_t lines_cells(char *text, char separator, const char **cells, size_t most);
/* Returns true if the word is in a list of words, which blanks or commas divide. The words of
 * "a=1,b" are a and b. An empty word is in no list. */
bool has_word(const char *list, const char *word);
