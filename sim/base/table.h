/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of texts, for terminals and pages. table_print aligns columns, with numbers to the right,
 * and counts widths in UTF-8 characters. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "sim/base/vec.h"

struct arena;

enum row_tone {
	TONE_PLAIN,
	TONE_SOFT, /* row that only informs */
	TONE_GOOD,
	TONE_ALARM,
};

struct table_column {
	const char *title;
	bool right;
	size_t width; /* width of the widest cell, in characters */
};

struct table_row {
	const char **cells; /* one cell for each column; NULL is blank */
	size_t count;       /* number of cells filled so far */
	enum row_tone tone;
};

/* Footnotes. The cell of a failed case has a short phrase and the number of a note, and the note
 * below the table has the whole reason. Reasons that differ only in numbers and in the text between
 * parentheses share a note. */
struct note {
	const char *reason; /* of the first case that has the note */
	size_t count;       /* number of different reasons that share it */
};
struct notes {
	VEC(struct note) list;
};
/* Returns the text of note number `index`, which counts from 0: "[1] out of GPU memory: ...". */
const char *notes_text(struct arena *arena, const struct notes *notes, size_t index);

struct table { /* other files only read it */
	struct arena *arena;
	VEC(struct table_column) columns;
	VEC(struct table_row) rows;
	size_t line_width; /* maximum line width in characters; 0: unlimited */
	struct notes notes;
};

/* Returns the text with its invisible characters (utf8.h) as "\u202e". Bytes that are not UTF-8 and
 * control characters become "\xff" and "\x1b". */
const char *text_visible(struct arena *arena, const char *text);
/* Returns true if the text ends in `ending`. */
bool ends_in(const char *text, const char *ending);

/* Writes text and breaks lines of more than width characters between words. Further lines have two
 * more blanks at their beginning. */
void lines_wrap(FILE *out, const char *text, size_t width);

/* Returns a table with the titles between bars. A ">" at the end of a title aligns its cells to the
 * right: "link|utilisation>". line_width: see table_line_width. */
struct table *table_new(struct arena *arena, const char *titles, size_t line_width);
/* Adds a column; right aligns its cells to the right, for numbers. Call it before the first row. */
void table_column(struct table *table, const char *title, bool right);
/* Adds a row of these cells, a list that ends with NULL: CELLS("a", "b"). */
#define CELLS(...) ((const char *const[]){__VA_ARGS__, NULL})
void table_cells(struct table *table, const char *const *cells);
/* table_row starts the next row, and table_cell fills its cells from left to right. Missing cells
 * at the end of a row are blank. Texts are copied. */
void table_row(struct table *table);
void table_cell(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Fills a cell with a short verdict. The whole reason follows below the table, as a note. */
void table_cell_failed(struct table *table, const char *reason);
/* Sets the tone of the last row, which pages show as a colour. */
void table_tone(struct table *table, enum row_tone tone);
/* Limits lines to width characters. Columns that do not fit follow below, as a second table that
 * begins with the same first column, or with the numbers of rows if that column is wide. A long
 * text in the last column is broken between words and continues below its beginning. 0 leaves lines
 * whole. */
void table_line_width(struct table *table, size_t width);
void table_print(const struct table *table, FILE *out);
