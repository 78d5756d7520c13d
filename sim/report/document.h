/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A report as data: blocks of text, tables and figures in the order of reading.
 *
 * The parts of a report (part.h) add BLOCKS. One of two writers then shows them:
 * page_html.c writes one HTML page without scripts that holds its pictures itself, and
 * page_pdf.c writes pages for paper. Texts are plain. The writers escape them.
 *
 * Blocks between a BLOCK_FOLD and its BLOCK_UNFOLD are details, for example the numbers
 * behind a figure. An HTML page shows them on demand.
 */
#ifndef FARWIRE_REPORT_DOCUMENT_H
#define FARWIRE_REPORT_DOCUMENT_H

#include "plots/charts.h"
#include "sim/base/vec.h"
#include "sim/result/result.h"

enum block_kind {
	BLOCK_PART,    /* text: title */
	BLOCK_ANSWER,  /* text; alarm */
	BLOCK_HEADING, /* text */
	BLOCK_TEXT,    /* text */
	BLOCK_TABLE,   /* table; text: caption */
	BLOCK_FIGURE,  /* drawing; text: caption */
	BLOCK_FOLD,    /* text: summary of the details */
	BLOCK_UNFOLD,
};

enum row_tone {
	TONE_PLAIN,
	TONE_GROUP, /* one cell: a heading across the table */
	TONE_SUM,   /* sums up the rows above */
	TONE_SOFT,  /* for information */
	TONE_GOOD,
	TONE_ALARM,
};

struct report_row {
	enum row_tone tone;
	VEC(const char *) cells; /* fewer than columns: the last one spans the rest */
};

enum column_kind {
	COLUMN_TEXT,   /* may break */
	COLUMN_NAME,   /* stays on one line */
	COLUMN_NUMBER, /* on one line, to the right */
};

struct report_column {
	const char *title;
	enum column_kind kind;
};

struct report_table {
	struct arena *arena;
	VEC(struct report_column) columns;
	VEC(struct report_row) rows;
};

struct block {
	enum block_kind kind;
	const char *text;
	bool alarm;
	struct report_table *table;
	struct drawing *drawing;
	const unsigned char *image; /* of the drawing, as SVG, after report_render */
	size_t image_size;
};

struct report_request;
struct report {
	struct arena *arena;
	const char *title, *by; /* the question; the program and settings that made the report */
	VEC(struct block) blocks;
	/* Of parts that are predicted (report.h). */
	const struct report_request *request;
	const char *caption;                        /* below the figures of the present part */
	VEC(const struct prediction *) predictions; /* of its cases */
	struct diag *diag;                          /* why a part or a figure is missing */
	const char *broken;                         /* an invariant of a simulation; NULL: none */
	bool bound_broken;                          /* a dataset's claim does not hold */
	/* After report_render; NULL: it is HTML. */
	const unsigned char *pdf;
	size_t pdf_size;
};

#define REPORT_PRINTF(text, first) __attribute__((format(printf, text, first)))

struct report *report_new(struct arena *arena, const char *title, const char *by);
void report_add(struct report *report, enum block_kind kind, const char *format, ...)
	REPORT_PRINTF(3, 4);
void report_answer(struct report *report, bool alarm, const char *format, ...) REPORT_PRINTF(3, 4);
void report_figure(struct report *report, struct drawing *drawing, const char *format, ...)
	REPORT_PRINTF(3, 4);
/* Moves the blocks from items[first] on before all others: the answer comes first. */
void report_to_front(struct report *report, size_t first);
size_t report_part_count(const struct report *report);
/* The answer of the part that begins at blocks.items[part]; NULL if it has none. */
const struct block *report_answer_of(const struct report *report, size_t part);

/* ---- tables ---- */

/* A table under a caption. Columns are titles between bars: "name!|GPUs>|bottleneck". A title
 * that ends in > is of numbers, and one that ends in ! is of names. */
struct report_table *report_table(struct report *report, const char *columns, const char *caption,
				  ...) REPORT_PRINTF(3, 4);
/* The same, folded under a summary. */
struct report_table *report_folded(struct report *report, const char *summary, const char *columns,
				   const char *caption, ...) REPORT_PRINTF(4, 5);
/* Adds columns. */
void report_columns(struct report_table *table, const char *columns);
/* Begins a row with copies of cells, which a NULL ends: CELLS("a", "b"), CELLS(NULL). */
#define CELLS(...) ((const char *const[]){__VA_ARGS__, NULL})
void report_row(struct report_table *table, enum row_tone tone, const char *const *cells);
/* Cells that are added to the last row. */
void report_cell(struct report_table *table, const char *format, ...) REPORT_PRINTF(2, 3);
void report_figures(struct report_table *table, double value, int digits);
/* Two cells: value and 90 % interval. digits: of significance. */
void report_estimate(struct report_table *table, struct estimate estimate, double scale,
		     int digits);
/* Adds "FAIL: reason" unless ok; whether it did. */
bool report_failed(struct report_table *table, bool ok, const char *reason);

/* ---- numbers as people write them ---- */

/* Between a number and its unit in running text. */
#define NBSP "\xC2\xA0"

/* A number with significant digits and no exponent: "0.0123" "48.8" "1234"; NaN: "–". */
const char *figures(struct arena *arena, double value, int digits);
/* " (60.1 to 70.2)", or "" where there is no interval. */
const char *interval_words(struct arena *arena, struct estimate estimate, double scale, int digits);
bool has_interval(struct estimate estimate);
/* "95.3 % (94.1 to 96.0)" */
const char *percent_words(struct arena *arena, struct estimate ratio);
/* "340 images/s (330 to 350)", of a collective "12.5 GB/s". */
const char *throughput_words(struct arena *arena, const struct prediction *prediction, int digits);
/* "a" or "b" by count: one_or(1, "row", "rows"). */
const char *one_or(size_t count, const char *one, const char *many);

/* ---- writers ---- */

/* Draws all of it; NULL, or the message of the drawing library. */
const char *report_render(struct report *report, bool pdf);
/* Writes what was drawn; ctx: the report. */
void report_write(FILE *out, const void *ctx);

/* The two formats. The figures of HTML are rendered before. */
void report_html(FILE *out, const struct report *report);
/* NULL after an error of the drawing library (*message). */
unsigned char *report_pdf(const struct report *report, size_t *size, const char **message);

#endif
