/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/base/table.h"

#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/base/utf8.h"
#include "sim/base/vec.h"

/* Minimum width of the last column, in characters. Narrower columns would hold one word a line. */
enum { LAST_WIDTH_LEAST = 30 };

struct column {
	const char *title;
	bool right;
	size_t width; /* width of the widest cell, in characters */
};

struct row {
	const char **cells; /* one cell for each column; NULL is blank */
	size_t count;       /* number of cells filled so far */
};

struct table {
	struct arena *arena;
	VEC(struct column) columns;
	VEC(struct row) rows;
	size_t line_width; /* maximum line width in characters; 0: unlimited */
};

const char *text_visible(struct arena *arena, const char *text)
{
	const char *shown = text;
	for (size_t at = 0; shown[at];) {
		const unsigned char *here = (const unsigned char *)shown + at;
		size_t length = utf8_length(here);
		uint32_t code = utf8_invisible(here);
		if (code)
			shown = arena_printf(arena, "%.*s\\u%04x%s", (int)at, shown, (unsigned)code,
					     shown + at + length);
		at += length ? length : 1;
	}
	return shown;
}

struct table *table_new(struct arena *arena)
{
	struct table *table = ARENA_NEW(arena, struct table);
	table->arena = arena;
	return table;
}

/* Counts the characters of UTF-8 text: all bytes except continuation bytes. */
static size_t characters(const char *text, size_t bytes)
{
	size_t count = 0;
	for (size_t i = 0; i < bytes; i++)
		count += ((unsigned char)text[i] & 0xc0) != 0x80;
	return count;
}

static size_t width_of(const char *text)
{
	return characters(text, strlen(text));
}

void table_column(struct table *table, const char *title, bool right)
{
	FW_ASSERT(table->rows.count == 0);
	struct column *column = VEC_PUSH(table->arena, &table->columns);
	column->title = arena_strdup(table->arena, title);
	column->right = right;
	column->width = width_of(title);
}

void table_row(struct table *table)
{
	struct row *row = VEC_PUSH(table->arena, &table->rows);
	row->cells = ARENA_ARRAY(table->arena, table->columns.count, const char *);
}

void table_cell(struct table *table, const char *format, ...)
{
	FW_ASSERT(table->rows.count > 0);
	struct row *row = &table->rows.items[table->rows.count - 1];
	FW_ASSERT(row->count < table->columns.count);
	struct column *column = &table->columns.items[row->count];
	va_list args;
	va_start(args, format);
	const char *text = text_visible(table->arena, arena_vprintf(table->arena, format, args));
	va_end(args);
	row->cells[row->count++] = text;
	size_t width = width_of(text);
	if (width > column->width)
		column->width = width;
}

void table_line_width(struct table *table, size_t width)
{
	table->line_width = width;
}

static void put(FILE *out, char c, size_t count)
{
	while (count--)
		putc(c, out);
}

/* Writes the words of text that fit into width characters, at least one, and returns the rest. */
static const char *put_words(FILE *out, const char *text, size_t width)
{
	const char *end = text;
	while (*end) {
		const char *word = end + strspn(end, " "), *next = word + strcspn(word, " ");
		if (end > text && characters(text, (size_t)(next - text)) > width)
			break;
		end = next;
	}
	fwrite(text, 1, (size_t)(end - text), out);
	return end + strspn(end, " ");
}

/* Writes the text of the last column, broken between words. Further lines begin below the first. */
static void put_broken(FILE *out, const char *text, size_t indent, size_t width)
{
	for (;;) {
		text = put_words(out, text, width);
		if (!*text)
			return;
		putc('\n', out);
		put(out, ' ', indent);
	}
}

/* Returns the width of all columns before the last one, in characters. */
static size_t last_indent(const struct table *table)
{
	size_t indent = 0;
	for (size_t i = 0; i + 1 < table->columns.count; i++)
		indent += table->columns.items[i].width + 2;
	return indent;
}

/* Returns the width of the last column, in characters. */
static size_t last_width(const struct table *table)
{
	size_t width = table->columns.items[table->columns.count - 1].width;
	size_t indent = last_indent(table);
	if (table->line_width == 0 || indent + width <= table->line_width)
		return width;
	return table->line_width > indent + LAST_WIDTH_LEAST ? table->line_width - indent
							     : LAST_WIDTH_LEAST;
}

/* Puts two blanks between columns and none at the end of a line. */
static void print_line(const struct table *table, const char *const *cells, FILE *out)
{
	size_t owed = 0; /* blanks to write before the next text */
	for (size_t i = 0; i < table->columns.count; i++) {
		const struct column *column = &table->columns.items[i];
		const char *text = cells[i] ? cells[i] : "";
		size_t gap = i ? 2 : 0, pad = column->width - width_of(text);
		owed += gap + (column->right ? pad : 0);
		bool broken = !column->right && i + 1 == table->columns.count;
		if (*text) {
			put(out, ' ', owed);
			if (broken)
				put_broken(out, text, last_indent(table), last_width(table));
			else
				fputs(text, out);
			owed = 0;
		}
		if (!column->right)
			owed += pad;
	}
	putc('\n', out);
}

static void print_rule(const struct table *table, FILE *out)
{
	put(out, '-', last_indent(table) + last_width(table));
	putc('\n', out);
}

void table_print(const struct table *table, FILE *out)
{
	struct arena *scratch = arena_new();
	const char **titles = ARENA_ARRAY(scratch, table->columns.count, const char *);
	for (size_t i = 0; i < table->columns.count; i++)
		titles[i] = table->columns.items[i].title;
	print_line(table, titles, out);
	arena_free(scratch);
	print_rule(table, out);
	for (size_t i = 0; i < table->rows.count; i++)
		print_line(table, table->rows.items[i].cells, out);
}
