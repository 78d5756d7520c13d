/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/base/diag.h"
#include "sim/base/base.h"
#include "sim/base/hash.h"
#include "sim/base/table.h"

#include <unistd.h>

enum { WORD_MAX = 127 };

struct diag {
	struct arena *arena;
	size_t count;
	const char *texts[DIAG_KEPT];
	uint64_t read;
};

struct diag *diag_new(struct arena *arena)
{
	struct diag *diag = ARENA_NEW(arena, struct diag);
	diag->arena = arena;
	diag->read = HASH_START;
	return diag;
}

void diag_reads(struct diag *diag, const void *bytes, size_t size_B)
{
	diag->read = hash_bytes(diag->read, bytes, size_B);
}

uint64_t diag_read(const struct diag *diag)
{
	return diag->read;
}

static bool is_reported(const struct diag *diag, const char *text)
{
	for (size_t i = 0; i < diag->count && i < DIAG_KEPT; i++)
		if (strcmp(diag->texts[i], text) == 0)
			return true;
	return false;
}

void diag_add(struct diag *diag, struct origin origin, const char *format, ...)
{
	if (diag->count >= DIAG_KEPT) {
		diag->count++;
		return;
	}
	va_list args;
	va_start(args, format);
	const char *what = arena_vprintf(diag->arena, format, args);
	va_end(args);
	char *text;
	if (origin.file && origin.line > 0)
		text = arena_printf(diag->arena, "%s:%d: %s", origin.file, origin.line, what);
	else
		text = arena_printf(diag->arena, "%s%s%s", origin.file ? origin.file : "",
				    origin.file ? ": " : "", what);
	for (char *c = text; *c; c++) /* quoted input must not send control codes to the terminal */
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = ' ';
	const char *shown = text_visible(diag->arena, text);
	if (!is_reported(diag, shown))
		diag->texts[diag->count++] = shown;
}

size_t diag_count(const struct diag *diag)
{
	return diag->count;
}

const char *diag_at(const struct diag *diag, size_t index)
{
	FW_ASSERT(index < diag->count && index < DIAG_KEPT);
	return diag->texts[index];
}

void diag_print(const struct diag *diag, FILE *out)
{
	size_t kept = diag->count < DIAG_KEPT ? diag->count : DIAG_KEPT;
	for (size_t i = 0; i < kept; i++)
		fprintf(out, "%s\n", diag->texts[i]);
	if (diag->count > kept)
		fprintf(out, "... and %zu more\n", diag->count - kept);
}

static int lower(char c)
{
	return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : (unsigned char)c;
}

static int min_int(int a, int b)
{
	return a < b ? a : b;
}

/* Returns the number of edits (insert, delete, replace, swap of neighbours) from a to b, ignoring
 * the case of ASCII letters. Both texts have at most WORD_MAX bytes. */
static int edit_distance(const char *a, const char *b)
{
	int rows[3][WORD_MAX + 1] = {0};
	int *two_above = rows[0], *above = rows[1], *row = rows[2];
	int b_length = (int)strlen(b);
	for (int j = 0; j <= b_length; j++)
		above[j] = j;
	for (int i = 1; a[i - 1]; i++) {
		row[0] = i;
		for (int j = 1; j <= b_length; j++) {
			int differ = lower(a[i - 1]) != lower(b[j - 1]);
			row[j] = min_int(above[j - 1] + differ, min_int(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
			    lower(a[i - 2]) == lower(b[j - 1]))
				row[j] = min_int(row[j], two_above[j - 2] + 1);
		}
		int *spare = two_above;
		two_above = above;
		above = row;
		row = spare;
	}
	return above[b_length];
}

/* Returns the shortest candidate that begins with the word, or else contains it after a hyphen:
 * "mlperf-h100" for "h100". NULL: there is none, or the word is too short to mean anything. */
static const char *shortest_with(const char *word, const char *const *candidates, size_t count)
{
	const char *best = NULL;
	size_t least = SIZE_MAX;
	for (size_t i = 0; i < count && strlen(word) >= 3; i++) {
		const char *found = strstr(candidates[i], word);
		size_t whole = strlen(candidates[i]);
		size_t length = whole + (found == candidates[i] ? 0 : WORD_MAX);
		bool begins = found && (found == candidates[i] || found[-1] == '-');
		if (begins && whole <= WORD_MAX && length < least) {
			best = candidates[i];
			least = length;
		}
	}
	return best;
}

const char *diag_nearest(const char *word, const char *const *candidates, size_t count)
{
	size_t length = strlen(word);
	if (length == 0 || length > WORD_MAX)
		return NULL;
	int best_distance = 1 + (length < 4 ? 1 : min_int(4, ((int)length + 1) / 3));
	const char *best = NULL;
	for (size_t i = 0; i < count; i++) {
		size_t candidate_length = strlen(candidates[i]);
		if (candidate_length == 0 || candidate_length > WORD_MAX)
			continue;
		int distance = edit_distance(word, candidates[i]);
		/* a word that needs as many edits as it has letters is a different word */
		if (distance < best_distance && distance < (int)candidate_length &&
		    distance < (int)length) {
			best = candidates[i];
			best_distance = distance;
		}
	}
	return best ? best : shortest_with(word, candidates, count);
}

_Noreturn void fw_assert_failed(const char *condition, const char *file, int line)
{
	/* not to stderr, which sim/verb/command.c replaces */
	dprintf(STDERR_FILENO, "farwire: internal error: condition violated at %s:%d: %s\n", file,
		line, condition);
	abort();
}
