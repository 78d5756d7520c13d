/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/traces/words.h"

#include <stdlib.h>
#include <string.h>

bool words_fail(const struct words *words, const char *why)
{
	return diag_error(words->lines.diag, words->lines.origin, "%s", why);
}

struct words words_begin(struct diag *diag, FILE *in, const char *path, const char *separators)
{
	return (struct words){
		.lines = {.in = in,
			  .diag = diag,
			  .origin = {path, 0},
			  .too_long = "the line is longer than 64 KiB (divide it)",
			  .not_text = "the line contains a zero byte (name a text file)"},
		.separators = separators};
}

bool words_line(struct words *words)
{
	char *line = lines_next(&words->lines);
	words->count = line ? lines_words(line, words->separators, words->at, WORDS_MAX + 1) : 0;
	if (words->count > WORDS_MAX)
		return words_fail(words, "the line has more than 64 words");
	return line;
}

bool words_is(const struct words *words, size_t word, const char *text)
{
	return word < words->count && strcmp(words->at[word], text) == 0;
}

bool words_number(const struct words *words, size_t word, double most, double *value)
{
	if (word >= words->count)
		return words_fail(words, "a number is missing at the end of the line");
	char *end;
	*value = strtod(words->at[word], &end);
	bool good = end != words->at[word] && (!*end || strcmp(end, "b") == 0);
	return (good && *value >= 0 && *value <= most) ||
	       diag_error(words->lines.diag, words->lines.origin,
			  "'%.80s' must be a number from 0 to %.0f", words->at[word], most);
}
