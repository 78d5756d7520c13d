/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/import/reading.h"
#include "sim/base/lines.h"

enum { FILE_MAX_B = 16 << 20, QUOTE_MAX_B = 80 };

char *reading_file(struct reading *reading, const char *path, size_t *size_B)
{
	const struct origin origin = {path, 0};
	FILE *in = file_open(reading->diag, origin, path);
	if (!in)
		return NULL;
	VEC(char) text = {0};
	int c;
	while ((c = getc(in)) != EOF && c != 0 && text.count < FILE_MAX_B)
		*VEC_PUSH(reading->arena, &text) = (char)c;
	fclose(in);
	*VEC_PUSH(reading->arena, &text) = '\0';
	*size_B = text.count - 1;
	if (c != EOF)
		return diag_null(
			reading->diag, origin, "%s",
			c ? "the file is larger than 16 MiB (name a configuration, not data)"
			  : "the file contains a zero byte, so it is not text (name the text "
			    "file)");
	enum { MARK_B = 3 };
	bool marked = strncmp(text.items, "\xef\xbb\xbf", MARK_B) == 0; /* byte order mark */
	*size_B -= marked ? MARK_B : 0;
	return text.items + (marked ? MARK_B : 0);
}

struct lines *reading_lines(struct reading *reading, const char *path, const char *text)
{
	struct lines *lines = ARENA_NEW(reading->arena, struct lines);
	lines->from = text;
	lines->diag = reading->diag;
	lines->origin.file = path;
	lines->too_long = "the line is longer than 64 KiB (divide it)";
	return lines;
}

const char *reading_quote(struct reading *reading, const char *text)
{
	char *quote = arena_printf(reading->arena, "%.*s", QUOTE_MAX_B, text);
	for (char *c = quote; *c; c++)
		if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
			*c = '?';
	return quote;
}

static void write_lines(FILE *out, const void *ctx)
{
	const struct reading *reading = ctx;
	for (size_t i = 0; i < reading->lines.count; i++)
		fprintf(out, "%s\n", reading->lines.items[i]);
}

bool reading_done(struct reading *reading, const char *records, struct imported *imported)
{
	if (diag_count(reading->diag))
		return false;
	const char *summary = arena_printf(reading->arena, "%zu %s read: %zu used, %zu skipped",
					   reading->used_count + reading->skipped_count, records,
					   reading->used_count, reading->skipped_count);
	for (size_t i = 0; i < reading->notes.count; i++)
		summary = arena_printf(reading->arena, "%s\n%s", summary, reading->notes.items[i]);
	*imported = (struct imported){.write = write_lines, .ctx = reading, .summary = summary};
	return true;
}
