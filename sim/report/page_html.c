/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes a report as one HTML page. */
#include "sim/base/arena.h"
#include "sim/report/html.h"
#include "sim/report/document.h"

/* Drawings are in points, and HTML is in pixels. */
static const double px_per_pt = 96.0 / 72.0;

struct page {
	FILE *out;
	const struct report *report;
	struct arena *scratch;
	size_t part_count, figure_count;
};

/* If there are several parts, the page begins with a list of their answers. */
static void write_summary(const struct page *page)
{
	fputs("<ol class=\"parts\">\n", page->out);
	for (size_t i = 0, part = 0; i < page->report->blocks.count; i++) {
		const struct block *block = &page->report->blocks.items[i];
		if (block->kind != BLOCK_PART)
			continue;
		const struct block *answer = report_answer_of(page->report, i);
		fprintf(page->out, "<li><a href=\"#part-%zu\">", ++part);
		html_text(page->out, block->text);
		fputs("</a><br>", page->out);
		html_text(page->out, answer ? answer->text : "");
		fputs("</li>\n", page->out);
	}
	fputs("</ol>\n", page->out);
}

static void write_figure(struct page *page, const struct block *block)
{
	fputs("<figure>\n", page->out);
	html_image(page->out, "image/svg+xml", block->image, block->image_size,
		   drawing_width(block->drawing) * px_per_pt, block->text);
	fprintf(page->out, "<figcaption><b>Figure %zu.</b> ", ++page->figure_count);
	html_text(page->out, block->text);
	fputs("</figcaption>\n</figure>\n", page->out);
}

static const char *tone_class(enum row_tone tone)
{
	static const char *const classes[] = {
		[TONE_PLAIN] = "",
		[TONE_GROUP] = " class=\"group\"",
		[TONE_SUM] = " class=\"sum\"",
		[TONE_SOFT] = " class=\"soft\"",
		[TONE_GOOD] = " class=\"good\"",
		[TONE_ALARM] = " class=\"alarm\"",
	};
	return classes[tone];
}

static const char *kind_class(enum column_kind kind)
{
	static const char *const classes[] = {
		[COLUMN_TEXT] = "",
		[COLUMN_NAME] = " class=\"k\"",
		[COLUMN_NUMBER] = " class=\"n\"",
	};
	return classes[kind];
}

static void write_row(struct page *page, const struct report_table *table,
		      const struct report_row *row)
{
	fprintf(page->out, "<tr%s>", tone_class(row->tone));
	const char *tag = row->tone == TONE_GROUP ? "th" : "td";
	for (size_t i = 0; i < row->cells.count; i++) {
		bool last = i + 1 == row->cells.count && i + 1 < table->columns.count;
		fprintf(page->out, "<%s", tag);
		if (last)
			fprintf(page->out, " colspan=\"%zu\"", table->columns.count - i);
		fprintf(page->out, "%s>", last ? "" : kind_class(table->columns.items[i].kind));
		html_text(page->out, row->cells.items[i]);
		fprintf(page->out, "</%s>", tag);
	}
	fputs("</tr>\n", page->out);
}

static void write_table(struct page *page, const struct block *block)
{
	const struct report_table *table = block->table;
	fputs("<div class=\"wide\"><table>\n", page->out);
	html_element(page->out, "caption", "", block->text);
	fputs("<thead><tr>", page->out);
	for (size_t i = 0; i < table->columns.count; i++) {
		fprintf(page->out, "<th scope=\"col\"%s>",
			kind_class(table->columns.items[i].kind));
		html_text(page->out, table->columns.items[i].title);
		fputs("</th>", page->out);
	}
	fputs("</tr></thead>\n<tbody>\n", page->out);
	for (size_t i = 0; i < table->rows.count; i++)
		write_row(page, table, &table->rows.items[i]);
	fputs("</tbody>\n</table></div>\n", page->out);
}

static void write_block(struct page *page, const struct block *block)
{
	switch (block->kind) {
	case BLOCK_PART:
		html_element(page->out, "h2",
			     arena_printf(page->scratch, " id=\"part-%zu\"", ++page->part_count),
			     block->text);
		break;
	case BLOCK_ANSWER:
		html_element(page->out, "p",
			     block->alarm ? " class=\"answer alarm\"" : " class=\"answer\"",
			     block->text);
		break;
	case BLOCK_HEADING:
		html_element(page->out, "h3", "", block->text);
		break;
	case BLOCK_TEXT:
		html_element(page->out, "p", "", block->text);
		break;
	case BLOCK_TABLE:
		write_table(page, block);
		break;
	case BLOCK_FIGURE:
		write_figure(page, block);
		break;
	case BLOCK_FOLD:
		fputs("<details>\n", page->out);
		html_element(page->out, "summary", "", block->text);
		break;
	case BLOCK_UNFOLD:
		fputs("</details>\n", page->out);
		break;
	}
}

void report_html(FILE *out, const struct report *report)
{
	struct page page = {.out = out, .report = report, .scratch = arena_new()};
	html_begin(out, report->title);
	html_element(out, "h1", "", report->title);
	html_element(out, "p", " class=\"by\"", report->by);
	if (report_part_count(report) > 1)
		write_summary(&page);
	for (size_t i = 0; i < report->blocks.count; i++)
		write_block(&page, &report->blocks.items[i]);
	html_element(
		out, "footer", "",
		"Whiskers at a bar or a point show the 90 % prediction interval. A prediction is "
		"the result of a simulation with the parameters of this page. Test rows never set "
		"a parameter.");
	html_end(out);
	arena_free(page.scratch);
}
