/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/base/table.h"
#include "sim/base/base.h"
#include "sim/base/utf8.h"

/* Minimum width of the last column, in characters. Narrower columns would hold one word a line. */
enum { LAST_WIDTH_LEAST = 30 };
/* A first column that takes more than this part of the line is not repeated below. */
enum { FIRST_PART = 3 };

bool ends_in(const char *text, const char *ending)
{
	size_t length = strlen(text), tail = strlen(ending);
	return length >= tail && strcmp(text + length - tail, ending) == 0;
}

const char *text_visible(struct arena *arena, const char *text)
{
	size_t size_B = 0, used = 0;
	while (text[size_B] >= ' ' && text[size_B] < 0x7f)
		size_B++;
	if (!text[size_B])
		return text;
	size_B = strlen(text);
	/* one byte becomes at most four */
	char *shown = ARENA_ARRAY(arena, 4 * size_B + 1, char);
	for (size_t at = 0; at < size_B;) {
		const unsigned char *here = (const unsigned char *)text + at;
		bool control = *here < ' ' || *here == 0x7f;
		size_t length = control ? 0 : utf8_length(here), step = length ? length : 1;
		uint32_t code = utf8_invisible(here);
		if (code || !length)
			used += (size_t)snprintf(shown + used, 4 * size_B + 1 - used,
						 code ? "\\u%04x" : "\\x%02x",
						 code ? (unsigned)code : *here);
		else
			memcpy(shown + used, here, step);
		used += code || !length ? 0 : step;
		at += step;
	}
	return shown;
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

/* Writes a line, broken between words. Further lines are indented. */
static void wrap_line(FILE *out, const char *line, size_t width)
{
	enum { INDENT = 2 };
	size_t indent = strspn(line, " ");
	if (indent + INDENT >= width || width_of(line) <= width) {
		fputs(line, out);
		return;
	}
	put(out, ' ', indent);
	for (line = put_words(out, line + indent, width - indent); *line;) {
		putc('\n', out);
		put(out, ' ', indent + INDENT);
		line = put_words(out, line, width - indent - INDENT);
	}
}

void lines_wrap(FILE *out, const char *text, size_t width)
{
	struct arena *scratch = arena_new();
	while (*text) {
		size_t length = strcspn(text, "\n");
		wrap_line(out, arena_printf(scratch, "%.*s", (int)length, text), width);
		text += length;
		if (*text == '\n')
			putc(*text++, out);
	}
	arena_free(scratch);
}

void table_column(struct table *table, const char *title, bool right)
{
	FW_ASSERT(table->rows.count == 0);
	struct table_column *column = VEC_PUSH(table->arena, &table->columns);
	column->title = arena_strdup(table->arena, title);
	column->right = right;
	column->width = width_of(title);
}

struct table *table_new(struct arena *arena, const char *titles, size_t line_width)
{
	struct table *table = ARENA_NEW(arena, struct table);
	table->arena = arena;
	table->line_width = line_width;
	while (*titles) {
		size_t length = strcspn(titles, "|");
		bool right = titles[length - 1] == '>';
		table_column(table, arena_printf(arena, "%.*s", (int)length - right, titles),
			     right);
		titles += length + (titles[length] == '|');
	}
	return table;
}

void table_cells(struct table *table, const char *const *cells)
{
	table_row(table);
	while (*cells)
		table_cell(table, "%s", *cells++);
}

void table_row(struct table *table)
{
	struct table_row *row = VEC_PUSH(table->arena, &table->rows);
	row->cells = ARENA_ARRAY(table->arena, table->columns.count, const char *);
}

void table_cell(struct table *table, const char *format, ...)
{
	FW_ASSERT(table->rows.count > 0);
	struct table_row *row = &table->rows.items[table->rows.count - 1];
	FW_ASSERT(row->count < table->columns.count);
	struct table_column *column = &table->columns.items[row->count];
	va_list args;
	va_start(args, format);
	const char *text = text_visible(table->arena, arena_vprintf(table->arena, format, args));
	va_end(args);
	row->cells[row->count++] = text;
	size_t width = width_of(text);
	if (width > column->width)
		column->width = width;
}

/* ---- notes ---- */

/* A phrase has at most this number of bytes; a longer clause says too little in a cell. */
enum { PHRASE_MOST = 36 };

/* Returns the length of the reason's first clause, or 0 if it is too long for a cell. */
static size_t phrase_length(const char *reason)
{
	static const char *const ends[] = {":", " (", ",", ";", " '", " from '", " of '", " on '"};
	size_t length = strlen(reason);
	for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
		const char *at = strstr(reason, ends[i]);
		if (at && (size_t)(at - reason) < length)
			length = (size_t)(at - reason);
	}
	return length <= PHRASE_MOST ? length : 0;
}

static const char *skip_varied(const char *text)
{
	text += strspn(text, "0123456789.");
	return *text == '(' ? text + strcspn(text, ")") : text;
}

/* Compares two reasons without their numbers and without text between parentheses. */
static bool alike(const char *a, const char *b)
{
	for (a = skip_varied(a), b = skip_varied(b); *a && *a == *b;) {
		a = skip_varied(a + 1);
		b = skip_varied(b + 1);
	}
	return *a == *b;
}

/* Returns for example "failed: out of GPU memory [1]". */
static const char *notes_cell(struct arena *arena, struct notes *notes, const char *reason)
{
	size_t index = 0;
	reason = reason ? reason : "no reason given";
	while (index < notes->list.count && !alike(notes->list.items[index].reason, reason))
		index++;
	if (index == notes->list.count)
		*VEC_PUSH(arena, &notes->list) = (struct note){arena_strdup(arena, reason), 1};
	else if (strcmp(notes->list.items[index].reason, reason) != 0)
		notes->list.items[index].count++;
	int length = (int)phrase_length(reason);
	return arena_printf(arena, "failed%s%.*s [%zu]", length ? ": " : "", length, reason,
			    index + 1);
}

const char *notes_text(struct arena *arena, const struct notes *notes, size_t index)
{
	const struct note *note = &notes->list.items[index];
	return arena_printf(arena, "[%zu] %s%s", index + 1, note->reason,
			    note->count > 1 ? "; other rows have other numbers" : "");
}

void table_cell_failed(struct table *table, const char *reason)
{
	table_cell(table, "%s", notes_cell(table->arena, &table->notes, reason));
}

void table_tone(struct table *table, enum row_tone tone)
{
	table->rows.items[table->rows.count - 1].tone = tone;
}

void table_line_width(struct table *table, size_t width)
{
	table->line_width = width;
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

/* The columns first to end - 1 of a table, beside its first column. A table that is too wide for
 * the line is printed as several blocks. */
struct column_block {
	const struct table *table;
	size_t first, end;
};

static bool has_column(struct column_block block, size_t index)
{
	return index == 0 || (index >= block.first && index < block.end);
}

static size_t last_indent(struct column_block block)
{
	size_t indent = 0;
	for (size_t i = 0; i + 1 < block.end; i++)
		if (has_column(block, i))
			indent += block.table->columns.items[i].width + 2;
	return indent;
}

static size_t last_width(struct column_block block)
{
	size_t width = block.table->columns.items[block.end - 1].width;
	size_t indent = last_indent(block), line = block.table->line_width;
	size_t least = width < LAST_WIDTH_LEAST ? width : LAST_WIDTH_LEAST;
	if (line == 0 || indent + width <= line)
		return width;
	return line > indent + least ? line - indent : least;
}

/* Returns the block that begins with a column: as many columns as fit into the line, at least one.
 * The last column of the table may be broken. */
static struct column_block block_at(const struct table *table, size_t first)
{
	size_t count = table->columns.count;
	struct column_block block = {table, first, count};
	if (table->line_width == 0)
		return block;
	size_t width = table->columns.items[0].width;
	for (block.end = first; block.end < count; block.end++) {
		const struct table_column *column = &table->columns.items[block.end];
		size_t least = column->width;
		if (block.end + 1 == count && !column->right && least > LAST_WIDTH_LEAST)
			least = LAST_WIDTH_LEAST;
		width += 2 + least;
		if (block.end > first && width > table->line_width)
			break;
	}
	return block;
}

/* Puts two blanks between columns and none at the end of a line. */
static void print_line(struct column_block block, const char *const *cells, FILE *out)
{
	size_t owed = 0; /* blanks to write before the next text */
	for (size_t i = 0; i < block.end; i++) {
		if (!has_column(block, i))
			continue;
		const struct table_column *column = &block.table->columns.items[i];
		const char *text = cells[i] ? cells[i] : "";
		size_t gap = i ? 2 : 0, pad = column->width - width_of(text);
		owed += gap + (column->right ? pad : 0);
		bool broken = !column->right && i + 1 == block.end;
		if (*text) {
			put(out, ' ', owed);
			if (broken)
				put_broken(out, text, last_indent(block), last_width(block));
			else
				fputs(text, out);
			owed = 0;
		}
		if (!column->right)
			owed += pad;
	}
	putc('\n', out);
}

/* Returns a table whose first column numbers the rows. */
static struct table *numbered(struct arena *arena, const struct table *table)
{
	struct table *new = table_new(arena, "#>", table->line_width);
	for (size_t i = 0; i < table->columns.count; i++)
		*VEC_PUSH(arena, &new->columns) = table->columns.items[i];
	for (size_t i = 0; i < table->rows.count; i++) {
		table_row(new);
		table_cell(new, "%zu", i + 1);
		memcpy(new->rows.items[i].cells + 1, table->rows.items[i].cells,
		       table->columns.count * sizeof *table->rows.items[i].cells);
	}
	return new;
}

static void print_notes(const struct table *table, struct arena *scratch, FILE *out)
{
	for (size_t i = 0; i < table->notes.list.count; i++) {
		const char *note = text_visible(scratch, notes_text(scratch, &table->notes, i));
		fputs(i ? "" : "\n", out);
		lines_wrap(out, note, table->line_width ? table->line_width : (size_t)-1);
		putc('\n', out);
	}
}

void table_print(const struct table *table, FILE *out)
{
	struct arena *scratch = arena_new();
	const struct table *given = table;
	if (block_at(table, 1).end < table->columns.count &&
	    table->columns.items[0].width > table->line_width / FIRST_PART)
		table = numbered(scratch, table);
	const char **titles = ARENA_ARRAY(scratch, table->columns.count, const char *);
	for (size_t i = 0; i < table->columns.count; i++)
		titles[i] = table->columns.items[i].title;
	for (struct column_block block = block_at(table, 1);; block = block_at(table, block.end)) {
		print_line(block, titles, out);
		put(out, '-', last_indent(block) + last_width(block));
		putc('\n', out);
		for (size_t i = 0; i < block.table->rows.count; i++)
			print_line(block, block.table->rows.items[i].cells, out);
		if (block.end >= table->columns.count)
			break;
		putc('\n', out);
	}
	print_notes(given, scratch, out);
	arena_free(scratch);
}
