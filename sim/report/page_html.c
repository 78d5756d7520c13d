/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes a report as one HTML page without scripts and references to other files. Parts can be
 * folded, and figures show their values below the mouse. */
#include "sim/base/utf8.h"
#include "sim/report/document.h"

void html_text(FILE *out, const char *text)
{
	static const char special[] = "&<>\"'";
	static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		uint32_t hidden = utf8_invisible((const unsigned char *)text);
		if (hidden) {
			fprintf(out, "\\u%04x", (unsigned)hidden);
			text += utf8_length((const unsigned char *)text) - 1;
			continue;
		}
		const char *at = strchr(special, c);
		if (at)
			fputs(entities[at - special], out);
		else if ((c < 32 && c != '\t' && c != '\n') || c == 127)
			fputs("\xEF\xBF\xBD", out);
		else
			fputc(c, out);
	}
}

/* Writes <tag attributes>text</tag> and a line end. The attributes are not escaped; they begin with
 * a space (" class=\"x\"") or are "". */
static void html_element(FILE *out, const char *tag, const char *attributes, const char *text)
{
	fprintf(out, "<%s%s>", tag, attributes);
	html_text(out, text);
	fprintf(out, "</%s>\n", tag);
}

struct page {
	FILE *out;
	const struct report *report;
	bool inside; /* of another page, which may have other figures */
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
		fprintf(page->out, "<li><a href=\"#part-%zu\">", ++part);
		html_text(page->out, block->text);
		fputs("</a><br>", page->out);
		html_text(page->out, report_brief_of(page->report, i));
		fputs("</li>\n", page->out);
	}
	fputs("</ol>\n</nav>\n", page->out);
}

static void write_figure(struct page *page, const struct block *block)
{
	const struct drawing *drawing = block->drawing;
	const char *message; /* writing SVG does not fail */
	size_t size;
	const unsigned char *image =
		image_render(page->report->arena, IMAGE_SVG, &drawing, 1, &size, &message);
	/* Inside of a page, SVG has no line <?xml ...?>. */
	const unsigned char *svg = memchr(image, '\n', size);
	fputs("<figure>", page->out);
	fwrite(svg, 1, size - (size_t)(svg - image), page->out);
	fputs("<figcaption>", page->out);
	if (!page->inside)
		fprintf(page->out, "<b>Figure %zu.</b> ", ++page->figure_count);
	html_text(page->out, block->text);
	fputs("</figcaption>\n</figure>\n", page->out);
}

static const char *tone_class(enum row_tone tone)
{
	static const char *const classes[] = {
		[TONE_PLAIN] = "",
		[TONE_SOFT] = " class=\"soft\"",
		[TONE_GOOD] = " class=\"good\"",
		[TONE_ALARM] = " class=\"alarm\"",
	};
	return classes[tone];
}

static void write_cell(struct page *page, const char *tag, const char *attributes, const char *text)
{
	fprintf(page->out, "<%s%s>", tag, attributes);
	html_text(page->out, text);
	fprintf(page->out, "</%s>", tag);
}

static void write_table(struct page *page, const struct block *block)
{
	const struct table *table = block->table;
	struct arena *arena = page->report->arena;
	size_t width = table->columns.count;
	fputs("<div class=\"wide\"><table>\n", page->out);
	html_element(page->out, "caption", "", block->text);
	fputs("<thead><tr>", page->out);
	for (size_t i = 0; i < width; i++)
		write_cell(page, "th",
			   table->columns.items[i].right ? " scope=\"col\" class=\"n\""
							 : " scope=\"col\"",
			   table->columns.items[i].title);
	fputs("</tr></thead>\n<tbody>\n", page->out);
	for (size_t i = 0; i < table->rows.count; i++) {
		const struct table_row *row = &table->rows.items[i];
		fprintf(page->out, "<tr%s>", tone_class(row->tone));
		for (size_t k = 0; k < row->count; k++) /* the last cell spans the rest */
			write_cell(page, "td",
				   k + 1 == row->count && k + 1 < width
					   ? arena_printf(arena, " colspan=\"%zu\"", width - k)
				   : table->columns.items[k].right ? " class=\"n\""
								   : "",
				   row->cells[k]);
		fputs("</tr>\n", page->out);
	}
	for (size_t i = 0; i < table->notes.list.count; i++) {
		fprintf(page->out, "<tr%s>", tone_class(TONE_SOFT));
		write_cell(page, "td", arena_printf(arena, " colspan=\"%zu\"", width),
			   notes_text(arena, &table->notes, i));
		fputs("</tr>\n", page->out);
	}
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

void report_html_blocks(FILE *out, const struct report *report)
{
	struct page page = {.out = out, .report = report, .inside = true};
	for (size_t i = 0; i < report->blocks.count; i++)
		write_block(&page, &report->blocks.items[i]);
}

void report_html(FILE *out, const void *ctx)
{
	const struct report *report = ctx;
	struct page page = {.out = out, .report = report};
	/* Writes everything from the doctype to <body>, with the style sheet. */
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n",
	      out);
	html_element(out, "title", "", report->title);
	fprintf(out, "<style>\n%s</style>\n</head>\n<body>\n", report->style ? report->style : "");
	html_element(out, "h1", "", report->title);
	html_element(out, "p", " class=\"by\"", report->by);
	bool summary = report_part_count(report) > 1;
	for (size_t i = 0; i < report->blocks.count; i++) {
		if (summary && page.part_count == 0 && report->blocks.items[i].kind == BLOCK_PART)
			write_summary(&page);
		write_block(&page, &report->blocks.items[i]);
	}
	fputs(page.part_count ? "</details>\n" : "", out);
	html_element(out, "footer", "",
		     "Whiskers at a bar or a point show the 90 % prediction interval. A prediction "
		     "is the result of a simulation with the parameters of this page. Test rows "
		     "never set a parameter.");
	fputs("</body>\n</html>\n", out);
}
