/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/base/table.h"

#include "sim/base/arena.h"
#include "sim/base/lines.h"
#include "tests/test.h"

static const char *printed(struct arena *arena, const struct table *table)
{
	char *text = arena_alloc(arena, 2000);
	FILE *out = tmpfile();
	if (!CHECK(out != NULL))
		return "";
	table_print(table, out);
	rewind(out);
	text[fread(text, 1, 1999, out)] = '\0';
	fclose(out);
	return text;
}

static void cells_align_by_column_and_utf8_width(void)
{
	struct arena *arena = arena_new();
	struct table *table = table_new(arena, "", 0);
	table_column(table, "placement", false);
	table_column(table, "images/s", true);
	table_column(table, "verdict", false);
	table_row(table);
	table_cell(table, "local");
	table_cell(table, "%.2f", 54.22);
	table_cell(table, "ok");
	table_row(table);
	table_cell(table, "same \xc2\xb5s"); /* eight bytes, seven characters */
	table_cell(table, "%d", 7);
	table_row(table);
	table_cell(table, "%s", "");
	table_cell(table, "%s", "");
	table_cell(table, "FAIL");
	table_row(table);
	CHECK_TEXT(printed(arena, table), "placement  images/s  verdict\n"
					  "----------------------------\n"
					  "local         54.22  ok\n"
					  "same \xc2\xb5s           7\n"
					  "                     FAIL\n"
					  "\n");
	arena_free(arena);
}

/* The last column has 50 - 6 = 44 characters; its lines need 44, 44 and 11. A longer word is not
 * broken. */
static void long_last_column_breaks_between_words(void)
{
	struct arena *arena = arena_new();
	struct table *table = table_new(arena, "", 0);
	table_line_width(table, 50);
	table_column(table, "name", false);
	table_column(table, "", false);
	table_row(table);
	table_cell(table, "ring");
	table_cell(table, "twelve bytes and eleven and so on, 44 in all "
			  "which are followed by 41 \xc2\xb5s of text, as many as ever fit");
	table_row(table);
	table_cell(table, "tree");
	table_cell(table, "0123456789012345678901234567890123456789012345678901234567 end");
	CHECK_TEXT(printed(arena, table),
		   "name\n"
		   "--------------------------------------------------\n"
		   "ring  twelve bytes and eleven and so on, 44 in all\n"
		   "      which are followed by 41 \xc2\xb5s of text, as many\n"
		   "      as ever fit\n"
		   "tree  0123456789012345678901234567890123456789012345678901234567\n"
		   "      end\n");
	arena_free(arena);
}

/* A table of exactly the line's width, here 4 + 2 + 4 = 10 characters, stays whole. One character
 * less divides it. */
static void a_table_that_just_fits_stays_whole(void)
{
	for (size_t width = 9; width <= 10; width++) {
		struct arena *arena = arena_new();
		struct table *table = table_new(arena, "n|s>|last", width);
		table_cells(table, CELLS("r", "1", "ok"));
		CHECK_TEXT(printed(arena, table), width == 10 ? "n  s  last\n"
								"----------\n"
								"r  1  ok\n"
							      : "n  s\n"
								"----\n"
								"r  1\n"
								"\n"
								"n  last\n"
								"-------\n"
								"r  ok\n");
		arena_free(arena);
	}
}

/* 12 characters hold the names (4), 2 blanks and the first column (4); the second would need 16. */
static void columns_that_do_not_fit_follow_below(void)
{
	struct arena *arena = arena_new();
	struct table *table = table_new(arena, "", 0);
	table_line_width(table, 12);
	table_column(table, "name", false);
	table_column(table, "step", true);
	table_column(table, "part", true);
	table_column(table, "verdict", false);
	table_row(table);
	table_cell(table, "ring");
	table_cell(table, "%d", 1);
	table_cell(table, "%d", 22);
	table_cell(table, "ok");
	CHECK_TEXT(printed(arena, table), "name  step\n"
					  "----------\n"
					  "ring     1\n"
					  "\n"
					  "name  part\n"
					  "----------\n"
					  "ring    22\n"
					  "\n"
					  "name  verdict\n"
					  "-------------\n"
					  "ring  ok\n");
	arena_free(arena);
}

/* The first column takes 9 of 24 characters. */
static void wide_first_column_is_replaced_by_numbers_below(void)
{
	struct arena *arena = arena_new();
	struct table *table = table_new(arena, "", 0);
	table_line_width(table, 24);
	table_column(table, "plan", false);
	table_column(table, "memory", true);
	table_column(table, "step time", true);
	table_row(table);
	table_cell(table, "tp=1,pp=2");
	table_cell(table, "%d", 5);
	table_cell(table, "%d", 30);
	table_row(table);
	table_cell(table, "tp=2,pp=1");
	table_cell(table, "%d", 6);
	CHECK_TEXT(printed(arena, table), "#  plan       memory\n"
					  "--------------------\n"
					  "1  tp=1,pp=2       5\n"
					  "2  tp=2,pp=1       6\n"
					  "\n"
					  "#  step time\n"
					  "------------\n"
					  "1         30\n"
					  "2\n");
	arena_free(arena);
}

static void long_lines_break_between_words_and_short_ones_stay(void)
{
	char text[200] = "";
	FILE *out = tmpfile();
	if (!CHECK(out != NULL))
		return;
	lines_wrap(out, "twelve bytes and more\n\n  a  b\n  five words are too long\nend", 12);
	rewind(out);
	text[fread(text, 1, sizeof text - 1, out)] = '\0';
	fclose(out);
	CHECK_TEXT(text,
		   "twelve bytes\n  and more\n\n  a  b\n  five words\n    are too\n    long\nend");
}

/* A line that begins so far to the right that nothing would fit stays whole. */
static void deeply_indented_lines_stay_whole(void)
{
	static const char *const expected[] = {"    a b c", "    a b\n      c"};
	for (size_t width = 6; width < 8; width++) {
		char text[100] = "";
		FILE *out = tmpfile();
		if (!CHECK(out != NULL))
			return;
		lines_wrap(out, "    a b c", width);
		rewind(out);
		text[fread(text, 1, sizeof text - 1, out)] = '\0';
		fclose(out);
		CHECK_TEXT(text, expected[width - 6]);
	}
}

static void only_the_first_words_and_cells_are_taken(void)
{
	const char *parts[3] = {NULL};
	CHECK(lines_words((char[]){" a  b c"}, " ", parts, 2) == 2);
	CHECK_TEXT(parts[0], "a");
	CHECK_TEXT(parts[1], "b");
	CHECK(lines_cells((char[]){"\"a,b\" , c,d"}, ',', parts, 2) == 2);
	CHECK_TEXT(parts[0], "a,b");
	CHECK_TEXT(parts[1], "c");
	CHECK(parts[2] == NULL);
}

static void invisible_characters_are_shown_as_escapes(void)
{
	struct arena *arena = arena_new();
	CHECK_TEXT(text_visible(arena, "a\xe2\x80\xae"
				       "b\xef\xbb\xbf \xc2\xad"),
		   "a\\u202eb\\ufeff \\u00ad");
	CHECK_TEXT(text_visible(arena, "a\x7f"), "a\\x7f");
	CHECK_TEXT(text_visible(arena, "\xc3\xa9 \xe2\x82\xac \xff"),
		   "\xc3\xa9 \xe2\x82\xac \\xff");
	char bytes[60001] = "";
	memset(bytes, 0xff, sizeof bytes - 1);
	CHECK(strlen(text_visible(arena, bytes)) == 240000 && arena_used_B(arena) < 1000000);
	struct table *table = table_new(arena, "", 0);
	table_column(table, "case", false);
	table_row(table);
	table_cell(table, "%s", "\xe2\x80\x8bx");
	CHECK_TEXT(printed(arena, table), "case\n-------\n\\u200bx\n");
	arena_free(arena);
}

static void put_code(unsigned code, char *text)
{
	int further = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
	*text++ = (char)((0xff00 >> (further + 1) & 0xff) | code >> 6 * further);
	while (further-- > 0)
		*text++ = (char)(0x80 | (code >> 6 * further & 0x3f));
	*text = '\0';
}

/* Control characters, and Unicode's ignorable and bidirectional ones: each range ends where it
 * should. Bytes that are not UTF-8 (RFC 3629) are shown one by one. */
static void all_invisible_characters_and_wrong_bytes_are_escaped(void)
{
	static const unsigned ranges[][2] = {
		{0x80, 0x9f},      {0xad, 0xad},     {0x34f, 0x34f},   {0x61c, 0x61c},
		{0x115f, 0x1160},  {0x17b4, 0x17b5}, {0x180b, 0x180f}, {0x200b, 0x200f},
		{0x2028, 0x202e},  {0x2060, 0x206f}, {0x3164, 0x3164}, {0xfe00, 0xfe0f},
		{0xfeff, 0xfeff},  {0xffa0, 0xffa0}, {0xfff9, 0xfffb}, {0x1d173, 0x1d17a},
		{0xe0000, 0xe0fff}};
	static const char *const wrong[][2] = {
		{"\x80", "\\x80"},
		{"\xc1\xbf", "\\xc1\\xbf"},
		{"\xe0\x9f\xbf", "\\xe0\\x9f\\xbf"},
		{"\xed\xa0\x80", "\\xed\\xa0\\x80"},
		{"\xf0\x8f\xbf\xbf", "\\xf0\\x8f\\xbf\\xbf"},
		{"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
		{"\xf5\x80\x80\x80", "\\xf5\\x80\\x80\\x80"},
		{"\xe2\x82", "\\xe2\\x82"},
		{"\x1b\x7f\n", "\\x1b\\x7f\\x0a"},
	};
	static const unsigned plain[] = {0x7ff, 0x800, 0xd7ff, 0xe000, 0xffff, 0x10000, 0x10ffff};
	struct arena *arena = arena_new();
	char text[8], shown[16];
	for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
		for (unsigned end = 0; end < 2; end++) {
			unsigned inside = ranges[i][end], outside = inside + (end ? 1 : -1U);
			put_code(inside, text);
			snprintf(shown, sizeof shown, "\\u%04x", inside);
			CHECK_TEXT(text_visible(arena, text), shown);
			put_code(outside, text);
			if (outside > 0x9f)
				CHECK_TEXT(text_visible(arena, text), text);
		}
	for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
		put_code(plain[i], text);
		CHECK_TEXT(text_visible(arena, text), text);
	}
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
		CHECK_TEXT(text_visible(arena, wrong[i][0]), wrong[i][1]);
	arena_free(arena);
}

/* A case of 100 characters of reason would make every row as wide. */
static void failed_cells_are_short_and_reasons_follow_below(void)
{
	struct arena *arena = arena_new();
	struct table *table = table_new(arena, "batch>|verdict", 0);
	table_row(table);
	table_cell(table, "16");
	table_cell(table, "ok");
	static const char *const reasons[] = {
		"out of memory: 64 need 7.67 GB, GPU 'g' has 4.29 (write --batch 34)",
		"out of memory: 80 need 9.51 GB, GPU 'g' has 4.29 (take less)",
		"call timeout: no answer",
		"the ranks of this job wait for each other forever",
		"call timeout: no answer",
	};
	for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
		table_row(table);
		table_cell(table, "%zu", i);
		table_cell_failed(table, reasons[i]);
	}
	CHECK_TEXT(printed(arena, table),
		   "batch  verdict\n"
		   "--------------------------------\n"
		   "   16  ok\n"
		   "    0  failed: out of memory [1]\n"
		   "    1  failed: out of memory [1]\n"
		   "    2  failed: call timeout [2]\n"
		   "    3  failed [3]\n"
		   "    4  failed: call timeout [2]\n"
		   "\n"
		   "[1] out of memory: 64 need 7.67 GB, GPU 'g' has 4.29 (write --batch 34); other "
		   "rows have other numbers\n"
		   "[2] call timeout: no answer\n"
		   "[3] the ranks of this job wait for each other forever\n");
	arena_free(arena);
}

static void only_whole_words_are_in_a_list(void)
{
	CHECK(has_word("nic0 nic10", "nic10") && has_word("n0.nic0=0.5,nv1", "nv1"));
	CHECK(has_word("n0.nic0=0.5,nv1", "n0.nic0"));
	CHECK(!has_word("nic0 nic10", "nic1")); /* it is followed by a digit */
	CHECK(!has_word("n0.nic0", "nic0"));    /* a point comes before it */
	CHECK(!has_word("a b", "") && !has_word("", "a"));
}

static const struct test tests[] = {TEST(only_whole_words_are_in_a_list),
				    TEST(failed_cells_are_short_and_reasons_follow_below),
				    TEST(a_table_that_just_fits_stays_whole),
				    TEST(all_invisible_characters_and_wrong_bytes_are_escaped),
				    TEST(columns_that_do_not_fit_follow_below),
				    TEST(wide_first_column_is_replaced_by_numbers_below),
				    TEST(long_lines_break_between_words_and_short_ones_stay),
				    TEST(deeply_indented_lines_stay_whole),
				    TEST(only_the_first_words_and_cells_are_taken),
				    TEST(invisible_characters_are_shown_as_escapes),
				    TEST(cells_align_by_column_and_utf8_width),
				    TEST(long_last_column_breaks_between_words)};

int main(void)
{
	return TEST_MAIN(tests);
}
