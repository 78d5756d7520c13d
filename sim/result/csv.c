/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/table.h"
#include "sim/result/write.h"

void csv_field(struct csv *csv, const char *text)
{
	if (csv->filled)
		fputc(',', csv->out);
	csv->filled = true;
	if (!text)
		return;
	struct arena *scratch = arena_new();
	text = text_visible(scratch, text);
	bool quoted = strpbrk(text, ",\"") != NULL;
	if (quoted)
		fputc('"', csv->out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', csv->out);
		fputc(*text, csv->out);
	}
	if (quoted)
		fputc('"', csv->out);
	arena_free(scratch);
}

void csv_number(struct csv *csv, double value)
{
	csv_field(csv, NULL);
	if (isfinite(value))
		jw_number(csv->out, value);
}

void csv_line(struct csv *csv)
{
	fputs("\r\n", csv->out);
	csv->filled = false;
}
