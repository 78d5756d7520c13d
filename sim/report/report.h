/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A report as data: parts with the answer first, tables, figures.
 *
 * report_case.c and report_dataset.c add BLOCKS in the order of reading; then
 * one of two writers shows them: report_html.c as one page without scripts,
 * which holds its pictures itself, or report_pdf.c as pages for paper. Texts are
 * plain: whatever a file or a label holds, the writers escape it.
 *
 * What stands between report_fold and report_unfold is for who wants to know
 * more: the numbers behind a figure, all parameters. A page shows it on demand.
 */
#ifndef FARWIRE_REPORT_REPORT_H
#define FARWIRE_REPORT_REPORT_H

#include "plots/charts.h"
#include "sim/base/vec.h"
#include "sim/analysis/dataset.h"
#include "sim/verb/verb.h"

/* ---- the document ---- */

enum block_kind {
	BLOCK_PART,    /* text: title */
	BLOCK_ANSWER,  /* text; alarm */
	BLOCK_HEADING, /* text */
	BLOCK_TEXT,    /* text */
	BLOCK_TABLE,   /* table; text: caption */
	BLOCK_FIGURE,  /* drawing; text: caption */
	BLOCK_FOLD,    /* text: what is inside */
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
	const unsigned char *image; /* of the drawing, as SVG, after report_images */
	size_t image_size;
};

struct report {
	struct arena *arena;
	const char *title, *by; /* the question; what made it */
	VEC(struct block) blocks;
	bool bound_broken; /* a dataset's claim does not hold */
};

#define REPORT_PRINTF(text, first) __attribute__((format(printf, text, first)))

struct report *report_new(struct arena *arena, const char *title, const char *by);
/* Moves the blocks from items[first] on before all others: the answer comes first. */
void report_to_front(struct report *report, size_t first);
void report_add(struct report *report, enum block_kind kind, const char *format, ...)
	REPORT_PRINTF(3, 4);
void report_answer(struct report *report, bool alarm, const char *format, ...) REPORT_PRINTF(3, 4);
void report_figure(struct report *report, struct drawing *drawing, const char *format, ...)
	REPORT_PRINTF(3, 4);
struct report_table *report_table(struct report *report, const char *format, ...)
	REPORT_PRINTF(2, 3);
void report_column(struct report_table *table, const char *title, enum column_kind kind);
void report_row(struct report_table *table, enum row_tone tone);
void report_cell(struct report_table *table, const char *format, ...) REPORT_PRINTF(2, 3);
/* value and 90 % interval: two cells, to so many significant digits. */
void report_estimate(struct report_table *table, struct estimate estimate, double scale,
		     int digits);
/* An empty table of a prediction's numbers, and its rows. */
struct report_table *report_quantities(struct report *report, const struct prediction *prediction);
void report_quantity(struct report_table *table, const char *what, struct estimate estimate,
		     double scale, const char *unit);
void report_count(struct report_table *table, const char *what, double count, int decimals,
		  const char *unit);
/* The answer of the part that begins at blocks.items[part]; NULL if it has none. */
const struct block *report_answer_of(const struct report *report, size_t part);

/* ---- numbers as people write them ---- */

/* Between a number and its unit in running text. */
#define NBSP "\xC2\xA0"

/* So many significant digits, no exponent: "0.0123" "48.8" "1234"; NaN: "–". */
const char *figures(struct arena *arena, double value, int digits);
/* " (60.1 to 70.2)", or "" where there is no interval. */
const char *interval_words(struct arena *arena, struct estimate estimate, double scale, int digits);
bool has_interval(struct estimate estimate);
/* "95.3 % (94.1 to 96.0)" */
const char *percent_words(struct arena *arena, struct estimate ratio);
/* "a" or "b" by count: one_or(1, "row", "rows"). */
const char *one_or(size_t count, const char *one, const char *many);

/* ---- parts; 0 or an exit code, having said why ---- */

int report_case(struct report *report, const struct command *command, size_t word,
		const struct prediction **prediction);
/* Of a case with jobs or a collective: the answer, numbers, scaling, breakdown. */
void report_job(struct report *report, const struct command *command,
		const struct case_request *request, const struct scenario *scenario,
		const struct prediction *prediction);
/* The same case over the values of --vary. */
int report_sweep(struct report *report, const struct command *command, size_t word);
int report_dataset(struct report *report, const struct command *command, const char *name);
int report_recording(struct report *report, const struct command *command, const char *path);

/* ---- what parts share ---- */

/* What is kept is worth a word down to there, as on the contours of maps. */
#define KEPT_RATIO 0.95

/* A verb's table, folded under a line that says what it is. */
void report_results(struct report *report, const struct result_table *result, bool intervals,
		    const char *summary);
/* Which of several predictions makes the most, and how many times each other. */
void report_comparison(struct report *report, const struct prediction *const *predictions,
		       size_t count);
/* A sentence: up to which round trip one forwarded program keeps KEPT_RATIO of its GPU, by
 * point predictions; "" of other cases, and where that would take long. */
const char *report_keeps(struct arena *arena, const struct command *command,
			 const struct case_request *request, const struct scenario *scenario,
			 const struct prediction *prediction);
/* The uncertain parameters that move the answer the most, one at a time; nothing where
 * that would be long. */
void report_hangs_on(struct report *report, const struct command *command,
		     const struct case_request *request, const struct scenario *scenario,
		     const struct prediction *prediction);
/* What a case chooses, its uncertain parameters, and all of them, folded. */
void report_rests_on(struct report *report, const struct command *command,
		     const struct cfg_resolution *resolution);

/* A path below the shipped data's folder as it stands there, others as they are. */
const char *shown_path(const struct command *command, const char *path);
/* Value, interval, status, origin and note of each parameter. */
struct report_table *report_parameters(struct report *report, const char *caption);
void report_parameter_add(struct report_table *table, const struct command *command,
			  const struct cfg_param *param);
/* Where a step's time goes: chart, and its numbers folded. */
void report_breakdown(struct report *report, const struct command *command,
		      const struct prediction *const *predictions, size_t count);
/* The topology with the links' use in that prediction (named `label`). */
void report_topology(struct report *report, const struct command *command,
		     const struct scenario *scenario, const struct prediction *prediction,
		     const char *label);
/* One steady step of the scenario's first client or job, run again. */
void report_timeline(struct report *report, const struct command *command,
		     const struct scenario *scenario, const char *label);

/* ---- writers ---- */

/* Renders the figures for report_html; NULL, or what the drawing library says. */
const char *report_images(struct report *report);
void report_html(FILE *out, const struct report *report);
/* NULL after an error of the drawing library (*message). */
unsigned char *report_pdf(const struct report *report, size_t *size, const char **message);

#endif
