/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The document of reports and its two writers, without a simulation. */

#include "sim/base/arena.h"
#include "sim/report/document.h"
#include "tests/test.h"

/* Returns the output of `write` as text. */
static char *written(struct arena *arena, void (*write)(FILE *out, const void *ctx),
		     const void *ctx)
{
	FILE *file = tmpfile();
	write(file, ctx);
	long size = ftell(file);
	char *text = arena_alloc(arena, (size_t)size + 1);
	rewind(file);
	size_t got = fread(text, 1, (size_t)size, file);
	text[got] = '\0';
	fclose(file);
	return text;
}

static void put_page(FILE *out, const void *ctx)
{
	report_html(out, ctx);
}

static void text_is_escaped_for_html(void)
{
	struct arena *arena = arena_new();
	static const char *const texts[][2] = {
		{"a < b && \"c\" > 'd'",
		 "<h1>a &lt; b &amp;&amp; &quot;c&quot; &gt; &#39;d&#39;</h1>"},
		{"µs\t−1\n", "<h1>µs\t−1\n</h1>"},
		{"bell\a", "<h1>bell\xEF\xBF\xBD</h1>"}};
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		struct report *report = report_new(arena, texts[i][0], "");
		CHECK(strstr(written(arena, put_page, report), texts[i][1]) != NULL);
	}
	arena_free(arena);
}

static void numbers_have_the_requested_digits(void)
{
	struct arena *arena = arena_new();
	CHECK_TEXT(figures(arena, 48.8349, 3), "48.8");
	CHECK_TEXT(figures(arena, 0.0123456, 3), "0.0123");
	CHECK_TEXT(figures(arena, 9.996, 3), "10.0");
	CHECK_TEXT(figures(arena, 0.09996, 3), "0.100");
	CHECK_TEXT(figures(arena, 12345, 3), "12345");
	CHECK_TEXT(figures(arena, 0, 3), "0.00");
	CHECK_TEXT(figures(arena, -2.5, 2), "−2.5");
	CHECK_TEXT(figures(arena, NAN, 3), "–");
	CHECK_TEXT(interval_words(arena, (struct estimate){0.65, 0.6, 0.7}, 100, 3),
		   " (60.0 to 70.0)");
	CHECK_TEXT(interval_words(arena, (struct estimate){0.65, 0.65, 0.65}, 100, 3), "");
	CHECK_TEXT(interval_words(arena, (struct estimate){NAN, NAN, NAN}, 100, 3), "");
	arena_free(arena);
}

static struct drawing *picture(struct arena *arena)
{
	struct drawing *drawing = drawing_new(arena, 100, 50);
	draw_text(drawing, 10, 20, 9, ANCHOR_START, (struct paint){0, 1}, false, "µ < 1");
	return drawing;
}

static struct report *sample(struct arena *arena, size_t row_count)
{
	struct report *report = report_new(arena, "Is <b>it</b> fast?", "Predicted by a test.");
	report_add(report, BLOCK_PART, "first & only");
	report_answer(report, true, "No: %d %% of it.", 65);
	struct report_table *table =
		report_table(report, "name!|value>|why", "Of %zu rows.", row_count);
	report_row(table, TONE_GROUP, CELLS("all"));
	for (size_t i = 0; i < row_count; i++) {
		report_row(table, i % 2 ? TONE_PLAIN : TONE_ALARM, CELLS(NULL));
		report_cell(table, "row %zu", i);
		report_cell(table, "%zu", i * i);
		if (i % 3)
			report_cell(table, "because </td> of a long reason that goes on and on, so "
					   "that no line of a page could hold it whole");
	}
	report_add(report, BLOCK_FOLD, "more");
	report_figure(report, picture(arena), "a \"picture\"");
	report_add(report, BLOCK_UNFOLD, "%s", "");
	return report;
}

static size_t count_of(const char *text, const char *word)
{
	size_t count = 0;
	for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
		count++;
	return count;
}

static void page_is_self_contained(void)
{
	struct arena *arena = arena_new();
	struct report *report = sample(arena, 4);
	CHECK(report_render(report, false) == NULL);
	const char *page = written(arena, put_page, report);
	CHECK(strncmp(page, "<!DOCTYPE html>", 15) == 0);
	CHECK(strstr(page, "<h1>Is &lt;b&gt;it&lt;/b&gt; fast?</h1>") != NULL);
	CHECK(strstr(page, "<p class=\"answer alarm\">No: 65 % of it.</p>") != NULL);
	CHECK(strstr(page, "</b> a &quot;picture&quot;</figcaption>") != NULL);
	CHECK(strstr(page, "because &lt;/td&gt; of") != NULL);
	CHECK(strstr(page, "<figure>\n<svg xmlns") && strstr(page, ">µ &lt; 1</text>"));
	CHECK(strstr(page, "<?xml") == NULL);
	CHECK(count_of(page, "://") == count_of(page, "xmlns=\"http://")); /* only of the SVG */
	CHECK(strstr(page, "<script") == NULL);
	CHECK(strstr(page, "@import") == NULL);
	CHECK(strstr(page, "url(") == NULL);
	/* head, group and 4 rows; of three columns two cells are given, so the last spans the rest
	 */
	CHECK(count_of(page, "<tr") == 6 && count_of(page, "</tr>") == 6);
	CHECK(strstr(page, "<tr class=\"group\"><th colspan=\"3\">all</th></tr>") != NULL);
	CHECK(strstr(page, "<td class=\"k\">row 3</td><td colspan=\"2\">9</td></tr>") != NULL);
	CHECK(count_of(page, "<details") == 2 && count_of(page, "</details>") == 2);
	CHECK(count_of(page, "<nav>") == 0); /* a single part needs no summary */
	arena_free(arena);
}

static struct report *with_details(struct arena *arena, bool details, bool on_demand)
{
	struct report *report = report_new(arena, "one", "by");
	report_add(report, BLOCK_PART, "part");
	if (details) {
		struct report_table *table =
			report_folded(report, "All rows", "row!", "A long list.");
		for (int i = 0; i < 200; i++)
			report_row(table, TONE_PLAIN, CELLS("row"));
	}
	if (on_demand)
		report_on_demand(report);
	report_add(report, BLOCK_TEXT, "end");
	return report;
}

static void pdf_leaves_out_details_on_demand(void)
{
	struct arena *arena = arena_new();
	const struct report *reports[] = {with_details(arena, false, false),
					  with_details(arena, true, true),
					  with_details(arena, true, false)};
	unsigned char *pdfs[3];
	size_t sizes[3];
	const char *message = NULL;
	for (size_t i = 0; i < 3; i++)
		pdfs[i] = report_pdf(reports[i], &sizes[i], &message);
	CHECK(sizes[0] == sizes[1] && memcmp(pdfs[0], pdfs[1], sizes[0]) == 0);
	CHECK(sizes[2] > sizes[1]);
	CHECK(strstr(written(arena, put_page, reports[1]), "A long list.") != NULL);
	arena_free(arena);
}

static void several_parts_begin_with_a_summary(void)
{
	struct arena *arena = arena_new();
	struct report *report = report_new(arena, "two", "by");
	report_add(report, BLOCK_TEXT, "before all parts");
	report_add(report, BLOCK_PART, "one");
	report_answer(report, false, "yes, at 5.3 images/s. The rest is in the part.");
	report_add(report, BLOCK_PART, "other");
	CHECK_TEXT(report_brief_of(report, 1), "yes, at 5.3 images/s.");
	CHECK_TEXT(report_brief_of(report, 3), ""); /* it has no answer */
	report->blocks.items[2].brief = "yes";
	const char *page = written(arena, put_page, report);
	CHECK(strstr(page, "<li><a href=\"#part-1\">one</a><br>yes</li>") != NULL);
	CHECK(strstr(page, "before all") < strstr(page, "Contents"));
	CHECK(strstr(page, "Contents") < strstr(page, "id=\"part-1\""));
	CHECK(strstr(page, "</details>\n<details class=\"part\" id=\"part-2\" open>\n"
			   "<summary><h2>other</h2>") != NULL);
	arena_free(arena);
}

static size_t pages_of(const unsigned char *pdf, size_t size)
{
	size_t count = 0;
	for (size_t i = 0; i + 12 < size; i++)
		count += memcmp(pdf + i, "/Type /Page ", 12) == 0;
	return count;
}

/* A long table continues on further pages; a short one shares a page with its figure. */
static void long_table_continues_on_further_pdf_pages(void)
{
	struct arena *arena = arena_new();
	size_t size = 0, again = 0, longer = 0;
	const char *message = NULL;
	const unsigned char *pdf = report_pdf(sample(arena, 4), &size, &message);
	const unsigned char *same = report_pdf(sample(arena, 4), &again, &message);
	const unsigned char *more = report_pdf(sample(arena, 200), &longer, &message);
	CHECK(pdf && same && more && message == NULL);
	CHECK(size > 8 && memcmp(pdf, "%PDF-", 5) == 0);
	CHECK(size == again && memcmp(pdf, same, size) == 0);
	CHECK(pages_of(pdf, size) == 1);
	CHECK(pages_of(more, longer) > 3);
	arena_free(arena);
}

/* The last cell of a row that is shorter than its table reaches to the page's edge. So 40 sentences
 * of one line each fit on one page, although their column is narrow. */
static void last_cell_of_a_short_row_spans_the_remaining_columns(void)
{
	struct arena *arena = arena_new();
	struct report *report = report_new(arena, "short rows", "by");
	struct report_table *table = report_table(report, "a|b|c", "%s", "");
	const char *message = NULL;
	size_t size = 0;
	for (size_t i = 0; i < 40; i++) {
		report_row(table, TONE_PLAIN, CELLS(NULL));
		report_cell(table,
			    "a sentence of a hundred characters, which has room on one line of "
			    "the page but in no single column");
	}
	const unsigned char *pdf = report_pdf(report, &size, &message);
	CHECK(pdf && pages_of(pdf, size) == 1);
	arena_free(arena);
}

/* Returns the number of pages of `count` figures of this height. */
static size_t pages_of_figures(size_t count, double height)
{
	struct arena *arena = arena_new();
	struct report *report = report_new(arena, "figures", "by");
	const char *message = NULL;
	size_t size = 0;
	for (size_t i = 0; i < count; i++)
		report_figure(report, drawing_new(arena, 700, height), "figure");
	const unsigned char *pdf = report_pdf(report, &size, &message);
	size_t pages = pdf ? pages_of(pdf, size) : 0;
	arena_free(arena);
	return pages;
}

/* A page has room for 972 points: three figures of 250 and the title fit, or one of 600. One of
 * 2000 gets a page of its own size after the title page. */
static void figures_share_pages_if_they_fit(void)
{
	CHECK(pages_of_figures(3, 250) == 1);
	CHECK(pages_of_figures(4, 250) == 2);
	CHECK(pages_of_figures(3, 600) == 3);
	CHECK(pages_of_figures(1, 2000) == 2);
}

static const struct test tests[] = {
	TEST(text_is_escaped_for_html),
	TEST(numbers_have_the_requested_digits),
	TEST(page_is_self_contained),
	TEST(several_parts_begin_with_a_summary),
	TEST(pdf_leaves_out_details_on_demand),
	TEST(long_table_continues_on_further_pdf_pages),
	TEST(last_cell_of_a_short_row_spans_the_remaining_columns),
	TEST(figures_share_pages_if_they_fit),
};

int main(void)
{
	return TEST_MAIN(tests);
}
