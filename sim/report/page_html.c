/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes a report as one HTML page without scripts and references to other files. Parts can be
 * folded, and figures show their values below the mouse. */
#include "sim/base/utf8.h"
#include "sim/report/document.h"

/* The style sheet is for screens, with lines of up to 60 em, and for A4. It uses system fonts, and
 * digits of equal width in tables. Folded tables are printed if the reader has unfolded them. */
static const char style[] =
	":root{color-scheme:light;--ink:#1b1f23;--soft:#57606a;--line:#d0d7de;--panel:#f6f8fa;--"
	"accent:#0072b2;--alarm:#b0400a;--good:#00704f}\n"
	"*{box-sizing:border-box}\n"
	"body{margin:0 auto;padding:2.2rem 1.4rem "
	"3rem;max-width:60em;color:var(--ink);background:#fff;font:16px/1.5 "
	"system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','DejaVu Sans',sans-serif}\n"
	"h1{font-size:1.75rem;line-height:1.2;margin:0 0 .3em}\n"
	"details.part{margin:2.6rem 0 0;padding-top:1.1rem;border-top:2px solid var(--ink)}\n"
	"h2{display:inline;font-size:1.35rem;line-height:1.25}\n"
	"h3{font-size:1.05rem;margin:1.9rem 0 .4rem}\n"
	"p{margin:.5rem 0 .8rem;max-width:48em}\n"
	"p.by{color:var(--soft);font-size:.85rem;margin:0 0 1.2rem}\n"
	"p.answer{font-size:1.15rem;line-height:1.45;border-left:4px solid var(--accent);"
	"background:var(--panel);padding:.7rem 1rem;margin:.8rem 0 1.2rem;max-width:none}\n"
	"p.answer.alarm{border-left-color:var(--alarm)}\n"
	"nav ol{padding-left:1.4rem}\n"
	"nav li{margin:.5rem 0}\n"
	"a{color:var(--accent)}\n"
	".wide{overflow-x:auto}\n"
	"table{border-collapse:collapse;font-size:.86rem;line-height:1.35;margin:.5rem 0 "
	"1rem;font-variant-numeric:tabular-nums lining-nums}\n"
	"caption{caption-side:top;text-align:left;color:var(--soft);padding:0 0 .35rem}\n"
	"th,td{padding:.22rem .6rem;border-bottom:1px solid "
	"var(--line);text-align:left;vertical-align:top}\n"
	"thead th{border-bottom:1.5px solid var(--ink);vertical-align:bottom;font-weight:600}\n"
	"th.n,td.n{text-align:right}\n"
	"td.n{white-space:nowrap}\n"
	"td:not([class]):not([colspan]){min-width:7em}\n"
	"tr.alarm td{color:var(--alarm)}\n"
	"tr.good td:first-child{color:var(--good);font-weight:600}\n"
	"tr.alarm td:first-child{font-weight:600}\n"
	"tr.soft td{color:var(--soft)}\n"
	"figure{margin:1.2rem 0 .6rem}\n"
	"figure svg{display:block;max-width:100%;height:auto;margin:0 auto}\n"
	"@media screen and (max-width:44em){figure{overflow-x:auto}figure svg{max-width:none}}\n"
	"figcaption{color:var(--soft);font-size:.86rem;margin-top:.3rem}\n"
	"figcaption b{color:var(--ink)}\n"
	"details{margin:.3rem 0 1rem}\n"
	"summary{cursor:pointer;color:var(--accent);font-size:.9rem}\n"
	"details.part>summary{color:var(--ink);font-size:1.1rem}\n"
	"footer{margin-top:3rem;padding-top:.6rem;border-top:1px solid var(--line);"
	"color:var(--soft);font-size:.8rem}\n"
	"@page{size:A4;margin:15mm 14mm}\n"
	"@media print{body{font-size:9.5pt;padding:0;max-width:none}\n"
	"details.part{break-before:page;border-top:0;padding-top:0;margin-top:0}\n"
	"details.part>summary{list-style:none}\n"
	"figure svg{max-height:240mm}\n"
	"h2,h3,summary,caption{break-after:avoid}\n"
	"figure,tr,p{break-inside:avoid}\n"
	"thead{display:table-header-group}\n"
	".wide{overflow:visible}\n"
	"table{font-size:7.8pt}\n"
	"td:not([class]):not([colspan]){min-width:0}\n"
	"th,td{padding:.15rem .4rem}\n"
	"a{color:inherit;text-decoration:none}\n"
	"details:not(.part):not([open]){display:none}}\n";

/* Writes & < > " ' as entities, and control characters except tab and line end as U+FFFD. All text
 * goes through this function, so file names and labels can contain any character. */
static void html_text(FILE *out, const char *text)
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
	fprintf(page->out, "<figcaption><b>Figure %zu.</b> ", ++page->figure_count);
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

void report_html(FILE *out, const void *ctx)
{
	const struct report *report = ctx;
	struct page page = {.out = out, .report = report};
	/* Writes everything from the doctype to <body>, with the style sheet. */
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n",
	      out);
	html_element(out, "title", "", report->title);
	fprintf(out, "<style>\n%s</style>\n</head>\n<body>\n", style);
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
