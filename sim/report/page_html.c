/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes a report as one HTML page. Parts can be folded, and figures show their values below the
 * mouse. */
#include <string.h>

#include "sim/report/html.h"
#include "sim/report/document.h"

struct page {
	FILE *out;
	const struct report *report;
	size_t part_count, figure_count;
};

/* If there are several parts, the page begins with a list of their answers. */
static void write_summary(const struct page *page)
{
	fputs("<nav>\n<h3>Contents</h3>\n<ol>\n", page->out);
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
	fputs("</ol>\n</nav>\n", page->out);
}

static void write_figure(struct page *page, const struct block *block)
{
	/* Inside of a page, SVG has no line <?xml ...?>. */
	const unsigned char *svg = memchr(block->image, '\n', block->image_size);
	fputs("<figure>", page->out);
	fwrite(svg, 1, block->image_size - (size_t)(svg - block->image), page->out);
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
		fprintf(page->out, "%s<details class=\"part\" id=\"part-%zu\" open>\n<summary>",
			page->part_count ? "</details>\n" : "", page->part_count + 1);
		page->part_count++;
		html_element(page->out, "h2", "", block->text);
		fputs("</summary>\n", page->out);
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
	struct page page = {.out = out, .report = report};
	html_begin(out, report->title);
	html_element(out, "h1", "", report->title);
	html_element(out, "p", " class=\"by\"", report->by);
	bool summary = report_part_count(report) > 1;
	for (size_t i = 0; i < report->blocks.count; i++) {
		if (summary && page.part_count == 0 && report->blocks.items[i].kind == BLOCK_PART)
			write_summary(&page);
		write_block(&page, &report->blocks.items[i]);
	}
	fputs(page.part_count ? "</details>\n" : "", out);
	html_element(
		out, "footer", "",
		"Whiskers at a bar or a point show the 90 % prediction interval. A prediction is "
		"the result of a simulation with the parameters of this page. Test rows never set "
		"a parameter.");
	html_end(out);
}
