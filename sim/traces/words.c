/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/traces/words.h"

#include <stdlib.h>
#include <string.h>

bool words_fail(const struct words *words, const char *why)
{
	return diag_error(words->diag, words->origin, "%s", why);
}

bool words_line(struct words *words)
{
	char *rest = NULL;
	words->count = 0;
	if (!fgets(words->text, sizeof words->text, words->in))
		return false;
	words->origin.line++;
	if (!strchr(words->text, '\n') && !feof(words->in))
		return words_fail(words, "the line is too long or contains a zero byte");
	bool marked = words->origin.line == 1 && strncmp(words->text, "\xef\xbb\xbf", 3) == 0;
	char *text = words->text + (marked ? 3 : 0); /* without a byte order mark */
	for (char *word = strtok_r(text, words->separators, &rest); word;
	     word = strtok_r(NULL, words->separators, &rest)) {
		if (words->count == WORDS_MAX)
			return words_fail(words, "the line has more than 64 words");
		words->at[words->count++] = word;
	}
	return true;
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
	       diag_error(words->diag, words->origin, "'%.80s' must be a number from 0 to %.0f",
			  words->at[word], most);
}
