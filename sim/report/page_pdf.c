/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes a report as PDF pages with the proportions of A4. Folded parts are printed, too,
 * except long lists that only an HTML page has. */
#include <math.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/report/document.h"

/* Lengths are in points. The text is as wide as the charts. */
static const double page_width = 720, page_height = 1018;
static const double margin = 40, foot = 34;
static const double text_size = 10, cell_size = 7.6, cell_pad = 5, row_pad = 2.2;
static const double smallest_ratio = 0.5; /* of the text in wide tables to other text */
static const double text_least = 40;      /* least width of a column whose text may break */
static const double leading = 1.35;

static const struct paint ink = {0x1B1F23, 1}, soft = {0x57606A, 1}, rule = {0xD0D7DE, 1};
static const struct paint panel = {0xF6F8FA, 1}, alarm = {0xB0400A, 1}, good = {0x00704F, 1};
static const struct paint accent = {0x0072B2, 1};

enum { CELL_LINES_MAX = 12 };

struct press {
	struct arena *arena;
	const struct report *report;
	struct drawing *page;
	double y; /* top of the next block */
	VEC(struct drawing *) pages;
	size_t part_count, figure_count;
};

/* ---- pages ---- */

static void page_new(struct press *press)
{
	press->page = drawing_new(press->arena, page_width, page_height);
	press->y = margin;
	*VEC_PUSH(press->arena, &press->pages) = press->page;
}

static bool page_begun(const struct press *press)
{
	return press->page && press->y > margin;
}

/* Begins a new page if this page has less room than `height`. */
static void need(struct press *press, double height)
{
	if (!press->page ||
	    (page_begun(press) && press->y + height > drawing_height(press->page) - foot - 12))
		page_new(press);
}

/* ---- texts ---- */

static void put_text(struct press *press, const char *text, double size, bool bold,
		     struct paint paint, double indent)
{
	const char *lines[64];
	size_t count = text_wrap(press->arena, text, size, bold, page_width - 2 * margin - indent,
				 64, lines);
	for (size_t i = 0; i < count; i++) {
		need(press, size * leading);
		press->y += size * leading;
		draw_text(press->page, margin + indent, press->y - size * 0.3, size, ANCHOR_START,
			  paint, bold, lines[i]);
	}
}

static void put_answer(struct press *press, const struct block *block)
{
	const char *lines[64];
	double size = text_size + 1.5, indent = 14;
	size_t count = text_wrap(press->arena, block->text, size, false,
				 page_width - 2 * margin - 2 * indent, 64, lines);
	double height = (double)count * size * leading + 14;
	need(press, height);
	draw_rectangle(press->page, margin, press->y, page_width - 2 * margin, height, panel);
	draw_rectangle(press->page, margin, press->y, 3, height, block->alarm ? alarm : accent);
	for (size_t i = 0; i < count; i++)
		draw_text(press->page, margin + indent,
			  press->y + 7 + size * leading * ((double)i + 0.75), size, ANCHOR_START,
			  ink, false, lines[i]);
	press->y += height + 10;
}

/* ---- tables ---- */

struct layout {
	const struct report_table *table;
	double *widths; /* widths of the columns, with padding */
	double *lefts;
	double size; /* of the text in cells */
};

/* Returns the width of the widest word, or of the whole text if it must not break. */
static double text_needs(struct arena *arena, const char *text, bool bold, bool words)
{
	double widest = 0;
	if (!words)
		return text_width(text, cell_size, bold);
	while (*text) {
		size_t length = strcspn(text, " ");
		const char *word = arena_printf(arena, "%.*s", (int)length, text);
		widest = fmax(widest, text_width(word, cell_size, bold));
		text += length + (text[length] == ' ');
	}
	return widest;
}

static double column_needs(struct arena *arena, const struct report_table *table, size_t column,
			   bool words)
{
	double width = text_needs(arena, table->columns.items[column].title, true, words);
	for (size_t i = 0; i < table->rows.count; i++) {
		const struct report_row *row = &table->rows.items[i];
		bool spans = column + 1 == row->cells.count && column + 1 < table->columns.count;
		if (column < row->cells.count && !spans)
			width = fmax(width, text_needs(arena, row->cells.items[column], column == 0,
						       words));
	}
	return width + 2 * cell_pad;
}

/* Narrows the widest columns to a common width, but no column below its least width, until the sum
 * fits. */
static double give_way(double *widths, const double *least, size_t count, double room)
{
	double low = 0, high = room, sum = 0;
	for (int pass = 0; pass < 40; pass++) {
		double most = (low + high) / 2, total = 0;
		for (size_t i = 0; i < count; i++)
			total += fmin(widths[i], fmax(most, least[i]));
		if (total > room)
			high = most;
		else
			low = most;
	}
	for (size_t i = 0; i < count; i++)
		sum += widths[i] = fmin(widths[i], fmax(low, least[i]));
	return sum;
}

/* Sets the widths of the columns. If the full widths do not fit, columns of text become narrower,
 * and then all columns, down to their widest words. If these do not fit, the text becomes smaller.
 */
static struct layout lay_out(struct press *press, const struct report_table *table)
{
	size_t count = table->columns.count;
	struct layout layout = {table, ARENA_ARRAY(press->arena, count + 1, double),
				ARENA_ARRAY(press->arena, count + 1, double), cell_size};
	struct arena *scratch = arena_new();
	double *least = ARENA_ARRAY(scratch, count + 1, double);
	double room = page_width - 2 * margin, sum = 0;
	for (size_t i = 0; i < count; i++) {
		sum += layout.widths[i] = column_needs(scratch, table, i, false);
		least[i] =
			table->columns.items[i].kind == COLUMN_TEXT ? text_least : layout.widths[i];
	}
	if (sum > room)
		sum = give_way(layout.widths, least, count, room);
	for (size_t i = 0; i < count && sum > room; i++) {
		layout.widths[i] = column_needs(scratch, table, i, false);
		least[i] = column_needs(scratch, table, i, true);
	}
	if (sum > room)
		sum = give_way(layout.widths, least, count, room);
	double padding = 2 * cell_pad, paddings = padding * (double)count;
	double ratio = sum > room ? (room - paddings) / (sum - paddings) : 1;
	layout.size *= fmax(ratio, smallest_ratio);
	for (size_t i = 0; i < count && ratio < 1; i++)
		layout.widths[i] = padding + (layout.widths[i] - padding) * ratio;
	for (size_t i = 0; i < count; i++)
		layout.lefts[i] = i == 0 ? margin : layout.lefts[i - 1] + layout.widths[i - 1];
	layout.lefts[count] = count ? layout.lefts[count - 1] + layout.widths[count - 1] : margin;
	arena_free(scratch);
	return layout;
}

struct look {
	struct paint paint;
	bool bold, first_bold;
};

static struct look tone_look(enum row_tone tone)
{
	switch (tone) {
	case TONE_GROUP:
		return (struct look){ink, true, true};
	case TONE_SUM:
	case TONE_SOFT:
		return (struct look){soft, false, false};
	case TONE_ALARM:
		return (struct look){alarm, false, true};
	case TONE_GOOD:
	case TONE_PLAIN:
		break;
	}
	return (struct look){ink, false, tone == TONE_GOOD};
}

/* Draws the cells, or only measures them if draw is false. Returns the height. */
static double put_cells(struct press *press, const struct layout *layout, const char *const *cells,
			size_t count, enum row_tone tone, bool bold, bool draw)
{
	double tallest = 0, pitch = layout->size * leading;
	struct look look = tone_look(tone);
	for (size_t i = 0; i < count; i++) {
		const struct report_table *table = layout->table;
		bool spans = i + 1 == count && i + 1 < table->columns.count;
		bool right = table->columns.items[i].kind == COLUMN_NUMBER && !spans;
		double left = layout->lefts[i];
		double end = spans ? page_width - margin : left + layout->widths[i];
		bool heavy = bold || look.bold || (i == 0 && look.first_bold);
		const char *lines[CELL_LINES_MAX];
		size_t line_count =
			text_wrap(press->arena, cells[i], layout->size, heavy,
				  end - left - 2 * cell_pad + 0.01, CELL_LINES_MAX, lines);
		tallest = fmax(tallest, (double)line_count);
		for (size_t k = 0; draw && k < line_count; k++)
			draw_text(press->page, right ? end - cell_pad : left + cell_pad,
				  press->y + row_pad / 2 + pitch * ((double)k + 0.76), layout->size,
				  right ? ANCHOR_END : ANCHOR_START,
				  tone == TONE_GOOD && i == 0 ? good : look.paint, heavy, lines[k]);
	}
	return fmax(tallest, 1) * pitch + row_pad;
}

static void put_head(struct press *press, const struct layout *layout)
{
	const struct report_table *table = layout->table;
	const char **titles = ARENA_ARRAY(press->arena, table->columns.count + 1, const char *);
	for (size_t i = 0; i < table->columns.count; i++)
		titles[i] = table->columns.items[i].title;
	press->y += put_cells(press, layout, titles, table->columns.count, TONE_PLAIN, true, true);
	draw_line(press->page, margin, press->y,
		  fmin(layout->lefts[table->columns.count], page_width - margin), press->y, ink,
		  0.9, DASH_SOLID);
}

static void put_table(struct press *press, const struct block *block)
{
	const struct report_table *table = block->table;
	struct layout layout = lay_out(press, table);
	double right = fmin(layout.lefts[table->columns.count], page_width - margin);
	need(press, 90);
	put_text(press, block->text, text_size - 1, false, soft, 0);
	press->y += 3;
	put_head(press, &layout);
	for (size_t i = 0; i < table->rows.count; i++) {
		const struct report_row *row = &table->rows.items[i];
		double height = put_cells(press, &layout, row->cells.items, row->cells.count,
					  row->tone, false, false);
		const struct drawing *before = press->page;
		need(press, height);
		if (press->page != before)
			put_head(press, &layout);
		if (row->tone == TONE_GROUP)
			draw_rectangle(press->page, margin, press->y, right - margin, height,
				       panel);
		put_cells(press, &layout, row->cells.items, row->cells.count, row->tone, false,
			  true);
		press->y += height;
		draw_line(press->page, margin, press->y, right, press->y, rule, 0.5, DASH_SOLID);
	}
	press->y += 14;
}

/* ---- figures and pages ---- */

/* Puts a figure with its caption. A figure that is too large gets a page of its own size. */
static double figure_height(const struct block *block)
{
	return drawing_height(block->drawing) + 34;
}

static bool is_too_large(const struct block *block)
{
	return drawing_width(block->drawing) > page_width ||
	       margin + figure_height(block) > page_height - foot - 12;
}

static void put_figure(struct press *press, const struct block *block)
{
	struct drawing *drawing = block->drawing;
	double height = drawing_height(drawing);
	if (is_too_large(block)) {
		drawing_resize(drawing, fmax(page_width, drawing_width(drawing)),
			       fmax(page_height, height + 90));
		*VEC_PUSH(press->arena, &press->pages) = drawing;
		press->page = drawing; /* the table with its numbers follows */
		press->y = height + 4;
	} else {
		need(press, figure_height(block));
		draw_drawing(press->page, 0, press->y, drawing);
		press->y += height + 4;
	}
	put_text(press,
		 arena_printf(press->arena, "Figure %zu. %s", ++press->figure_count, block->text),
		 text_size - 1, false, soft, 0);
	press->y += 10;
}

/* A heading stays on the page of the next block. */
static void put_heading(struct press *press, const struct block *block, const struct block *next)
{
	bool figure = next && next->kind == BLOCK_FIGURE;
	if (figure && is_too_large(next))
		return; /* the figure has a page and a title of its own */
	need(press, figure ? fmin(figure_height(next) + 30, page_height - margin - foot - 12) : 60);
	press->y += page_begun(press) ? 8 : 0;
	put_text(press, block->text, text_size + 1, true, ink, 0);
	press->y += 3;
}

static void put_title(struct press *press)
{
	const struct report *report = press->report;
	need(press, 0);
	put_text(press, report->title, 19, true, ink, 0);
	put_text(press, report->by, text_size - 1.5, false, soft, 0);
	press->y += 14;
	size_t parts = report_part_count(report);
	for (size_t i = 0, part = 0; parts > 1 && i < report->blocks.count; i++) {
		const struct block *block = &report->blocks.items[i];
		if (block->kind != BLOCK_PART)
			continue;
		put_text(press, arena_printf(press->arena, "%zu. %s", ++part, block->text),
			 text_size, true, ink, 0);
		put_text(press, report_brief_of(report, i), text_size, false, ink, 14);
		press->y += 7;
	}
	if (parts > 1)
		press->page = NULL;
}

static void put_block(struct press *press, const struct block *block, const struct block *next)
{
	switch (block->kind) {
	case BLOCK_PART:
		if (press->part_count++ > 0)
			press->page = NULL;
		need(press, 60);
		put_text(press, block->text, 14, true, ink, 0);
		press->y += 6;
		break;
	case BLOCK_ANSWER:
		put_answer(press, block);
		break;
	case BLOCK_HEADING:
	case BLOCK_FOLD:
		put_heading(press, block, next);
		break;
	case BLOCK_TEXT:
		put_text(press, block->text, text_size, false, ink, 0);
		press->y += 7;
		break;
	case BLOCK_TABLE:
		put_table(press, block);
		break;
	case BLOCK_FIGURE:
		put_figure(press, block);
		break;
	case BLOCK_UNFOLD:
		break;
	}
}

unsigned char *report_pdf(const struct report *report, size_t *size, const char **message)
{
	struct press press = {.arena = report->arena, .report = report};
	put_title(&press);
	for (size_t i = 0; i < report->blocks.count; i++)
		if (report->blocks.items[i].kind == BLOCK_FOLD && report->blocks.items[i].on_demand)
			while (report->blocks.items[i].kind != BLOCK_UNFOLD)
				i++;
		else
			put_block(&press, &report->blocks.items[i],
				  i + 1 < report->blocks.count ? &report->blocks.items[i + 1]
							       : NULL);
	for (size_t i = 0; i < press.pages.count; i++) {
		struct drawing *page = press.pages.items[i];
		double y = drawing_height(page) - foot + 6;
		draw_text(page, margin, y, 7.5, ANCHOR_START, soft, false, press.report->title);
		draw_text(page, page_width - margin, y, 7.5, ANCHOR_END, soft, false,
			  arena_printf(press.arena, "%zu / %zu", i + 1, press.pages.count));
	}
	const struct drawing **pages =
		ARENA_ARRAY(report->arena, press.pages.count, const struct drawing *);
	for (size_t i = 0; i < press.pages.count; i++)
		pages[i] = press.pages.items[i];
	return image_render(report->arena, IMAGE_PDF, pages, press.pages.count, size, message);
}
