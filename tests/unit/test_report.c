/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The document of reports and its writer, without a simulation. */

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
		CHECK(strstr(written(arena, report_html, report), texts[i][1]) != NULL);
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
	struct table *table = report_table(report, "name|value>|why", "Of %zu rows.", row_count);
	table_cells(table, CELLS("all"));
	for (size_t i = 0; i < row_count; i++) {
		table_row(table);
		table_tone(table, i % 2 ? TONE_PLAIN : TONE_ALARM);
		table_cell(table, "row %zu", i);
		table_cell(table, "%zu", i * i);
		if (i % 3)
			table_cell(table, "because </td> of a long reason that goes on and on, so "
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
	const char *page = written(arena, report_html, report);
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
	/* head, a row of one cell and 4 rows; of three columns two cells are given, so the last
	 * spans the rest
	 */
	CHECK(count_of(page, "<tr") == 6 && count_of(page, "</tr>") == 6);
	CHECK(strstr(page, "<tr><td colspan=\"3\">all</td></tr>") != NULL);
	CHECK(strstr(page, "<td>row 3</td><td colspan=\"2\">9</td></tr>") != NULL);
	CHECK(count_of(page, "<details") == 2 && count_of(page, "</details>") == 2);
	CHECK(count_of(page, "<nav>") == 0); /* a single part needs no summary */
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
	const char *page = written(arena, report_html, report);
	CHECK(strstr(page, "<li><a href=\"#part-1\">one</a><br>yes, at 5.3 images/s.</li>") !=
	      NULL);
	CHECK(strstr(page, "before all") < strstr(page, "Contents"));
	CHECK(strstr(page, "Contents") < strstr(page, "id=\"part-1\""));
	CHECK(strstr(page, "</details>\n<details class=\"part\" id=\"part-2\" open>\n"
			   "<summary><h2>other</h2>") != NULL);
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(text_is_escaped_for_html),
	TEST(numbers_have_the_requested_digits),
	TEST(page_is_self_contained),
	TEST(several_parts_begin_with_a_summary),
};

int main(void)
{
	return TEST_MAIN(tests);
}
