/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A report as data: blocks of text, tables and figures in the order of reading.
 *
 * The parts of a report (part.h) add BLOCKS. page_html.c writes them as one HTML page
 * without scripts that holds its pictures itself. Texts are plain. The writer escapes them.
 *
 * Blocks between a BLOCK_FOLD and its BLOCK_UNFOLD are details, for example the numbers
 * behind a figure. The page shows them on demand. */
#pragma once

#include "plots/charts.h"
#include "sim/base/table.h"
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

struct block {
	enum block_kind kind;
	const char *text;
	bool alarm;
	const struct table *table;
	struct drawing *drawing;
};

struct dataset_outcome;
struct report_request;
struct report {
	struct arena *arena;
	const char *title; /* the question */
	const char *by;    /* the version and settings that made the report */
	const char *style; /* style sheet of the page; NULL: none */
	VEC(struct block) blocks;
	/* for the parts with predictions (report.h) */
	const struct report_request *request;
	const char *caption;                        /* text below the figures of the current part */
	VEC(const struct prediction *) predictions; /* predictions of all cases */
	VEC(const struct dataset_outcome *) outcomes; /* measured datasets */
	struct diag *diag;  /* reasons why a part or a figure is missing */
	const char *broken; /* the invariant that a simulation broke, or NULL */
	bool bound_broken;  /* a dataset's claim does not hold */
};

#define REPORT_PRINTF(text, first) __attribute__((format(printf, text, first)))

struct report *report_new(struct arena *arena, const char *title, const char *by);
void report_add(struct report *report, enum block_kind kind, const char *format, ...)
	REPORT_PRINTF(3, 4);
void report_answer(struct report *report, bool alarm, const char *format, ...) REPORT_PRINTF(3, 4);
void report_figure(struct report *report, struct drawing *drawing, const char *format, ...)
	REPORT_PRINTF(3, 4);
/* Moves the blocks from items[first] on to the front. */
void report_to_front(struct report *report, size_t first);
size_t report_part_count(const struct report *report);
/* Returns one sentence with the answer of the part that begins at blocks.items[part], or "". */
const char *report_brief_of(const struct report *report, size_t part);

/* ---- tables ---- */

/* Adds a table with a caption. It is folded if there is a summary. */
void report_show(struct report *report, const char *summary, const struct table *table,
		 const char *caption);
/* Adds a table with the titles of table_new, and a caption. The caller fills its rows. A row
 * with fewer cells than columns has a last cell that spans the rest. */
struct table *report_table(struct report *report, const char *columns, const char *caption, ...)
	REPORT_PRINTF(3, 4);

/* ---- numbers in text ---- */

/* The space between a number and its unit in text. */
#define NBSP "\xC2\xA0"

/* Formats a number with significant digits and without an exponent: "0.0123" "48.8" "1234"; "–" for
 * NaN. */
const char *figures(struct arena *arena, double value, int digits);
/* Returns for example " (60.1 to 70.2)", or "" without an interval. */
const char *interval_words(struct arena *arena, struct estimate estimate, double scale, int digits);
/* Returns for example "340 images/s (330 to 350)", or for a collective "12.5 GB/s". */
const char *throughput_words(struct arena *arena, const struct prediction *prediction, int digits);
/* Returns `one` if count is 1, and else `many`: one_or(2, "row", "rows") is "rows". */
const char *one_or(size_t count, const char *one, const char *many);

/* Writes text as HTML: & < > " ' as entities, and control characters except tab and line end as
 * U+FFFD. All text goes through this function, so file names and labels can contain any
 * character. */
void html_text(FILE *out, const char *text);
/* Writes only the blocks, as a part of another page. */
void report_html_blocks(FILE *out, const struct report *report);
/* Writes a struct report as HTML, for write_file. */
void report_html(FILE *out, const void *report);
