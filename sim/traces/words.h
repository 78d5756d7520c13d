/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a text file as lines of words. */
#pragma once

#include <stdbool.h>

#include "sim/base/lines.h"

enum { WORDS_MAX = 64 };

struct words {
	struct lines lines;
	const char *separators;
	size_t count;
	const char *at[WORDS_MAX + 1];
};

/* Begins to read a file. */
struct words words_begin(struct diag *diag, FILE *in, const char *path, const char *separators);
/* Reads the next line. Returns false at the end or after an error. */
bool words_line(struct words *words);
/* Returns false after an error: the word is missing, or is not a number from 0 to `most`. A unit
 * of b (bytes) may follow. */
bool words_number(const struct words *words, size_t word, double most, double *value);
bool words_is(const struct words *words, size_t word, const char *text);
/* Reports an error in the present line. Returns false. */
bool words_fail(const struct words *words, const char *why);
