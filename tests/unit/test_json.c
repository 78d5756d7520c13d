/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The JSON reader that returns tokens: its grammar, its limits and its line numbers. */
#include "tests/test.h"

#include <stdlib.h>

#include "sim/base/arena.h"
#include "sim/json/pull.h"

static struct arena *arena;

static void begin(void)
{
	arena = arena_new();
}

static FILE *file_of(const char *text)
{
	FILE *file = tmpfile();
	fputs(text, file);
	rewind(file);
	return file;
}

/* Returns a letter for each token: { } [ ] k t n T F N, E at the end, ! after an error. */
static const char *tokens_of(const char *text)
{
	static const char letters[] = "E!{}[]ktnTFN";
	static char found[256];
	FILE *file = file_of(text);
	struct jp_reader *json = jp_open(arena, file);
	size_t count = 0;
	enum jp_token token;
	do {
		token = jp_next(json);
		found[count++] = letters[token];
	} while (token != JP_END && token != JP_ERROR && count < sizeof found - 1);
	found[count] = '\0';
	fclose(file);
	return found;
}

static void json_reader_returns_each_token(void)
{
	begin();
	CHECK_TEXT(tokens_of(""), "E");
	CHECK_TEXT(tokens_of(" {\"a\": [1, -2.5e3, \"x\"], \"b\": {}, \"c\": null}\n[]"),
		   "{k[nnt]k{}kN}[]E");
	CHECK_TEXT(tokens_of("true false NaN"), "TFnE");
	CHECK_TEXT(tokens_of("{\"a\" 1}"), "{k!");
	CHECK_TEXT(tokens_of("[1 2]"), "[n!");
	CHECK_TEXT(tokens_of("[1,]"), "[n!");
	CHECK_TEXT(tokens_of("{,}"), "{!");
	CHECK_TEXT(tokens_of("[1}"), "[n!");
	CHECK_TEXT(tokens_of("]"), "!");
	CHECK_TEXT(tokens_of("[\"a"), "[!");
	CHECK_TEXT(tokens_of("[1"), "[n!");
	CHECK_TEXT(tokens_of("0x10"), "n!");
	CHECK_TEXT(tokens_of("nope"), "!");
	CHECK_TEXT(tokens_of("[1 2 3]"), "[n!");
	CHECK_TEXT(tokens_of("{xa\": 2}"), "{!");
	CHECK_TEXT(
		tokens_of("1111111111111111111111111111111111111111111111111111111111111111111111"),
		"!");
	CHECK_TEXT(tokens_of("\"\\q\""), "!");
	CHECK_TEXT(tokens_of("\"\\ud800x\""), "tE");
	arena_free(arena);
}

static void json_reader_decodes_texts_and_counts_lines(void)
{
	begin();
	FILE *file = file_of("\n{\"a\\n\\u00e9\\ud83d\\ude00\":\n 12.5}");
	struct jp_reader *json = jp_open(arena, file);
	CHECK(jp_next(json) == JP_OBJECT && json->line == 2);
	CHECK(jp_next(json) == JP_KEY);
	CHECK_TEXT(json->text, "a\n\xc3\xa9\xf0\x9f\x98\x80");
	CHECK(jp_next(json) == JP_NUMBER && json->line == 3);
	CHECK_NEAR(json->number, 12.5, 0);
	CHECK(json->values_count == 1);
	fclose(file);
	char *large = malloc(100003); /* a text longer than the limit, and too deep nesting */
	memset(large, 'x', 100002);
	large[0] = large[100001] = '"';
	large[100002] = '\0';
	json = jp_open(arena, file = file_of(large));
	CHECK(jp_next(json) == JP_TEXT && json->text_B == JP_TEXT_MAX_B - 1 &&
	      jp_next(json) == JP_END);
	fclose(file);
	memset(large, '[', 200);
	large[200] = '\0';
	json = jp_open(arena, file = file_of(large));
	CHECK(!jp_skip(json) && json->depth <= JP_DEPTH_MAX);
	CHECK(strstr(json->error, "too deep") != NULL);
	fclose(file);
	free(large);
	arena_free(arena);
}

/* Real files hold numbers and characters that JSON forbids; the reader accepts them. */
static void json_reader_accepts_nan_and_control_characters(void)
{
	static const char text[] = "[-nan, Infinity,-inf,\n\"a\tb\x01\", \"\\u0000\"]";
	begin();
	FILE *file = file_of(text);
	struct jp_reader *json = jp_open(arena, file);
	CHECK(jp_next(json) == JP_ARRAY);
	CHECK(jp_next(json) == JP_NUMBER && isnan(json->number));
	CHECK(jp_next(json) == JP_NUMBER && isinf(json->number) && json->number > 0);
	CHECK(jp_next(json) == JP_NUMBER && isinf(json->number) && json->number < 0);
	CHECK(jp_next(json) == JP_TEXT && json->line == 2);
	CHECK_TEXT(json->text, "a\tb\x01");
	CHECK(jp_next(json) == JP_TEXT && json->text_B == 1);
	CHECK(jp_next(json) == JP_ARRAY_END && jp_next(json) == JP_END);
	fclose(file);
	arena_free(arena);
}

/* A file that ends inside a value is torn; one that breaks the grammar before its end is not. */
static bool is_torn(const char *text)
{
	FILE *file = file_of(text);
	struct jp_reader *json = jp_open(arena, file);
	enum jp_token token;
	while ((token = jp_next(json)) != JP_ERROR && token != JP_END)
		;
	fclose(file);
	CHECK((token == JP_ERROR) == (json->error != NULL));
	return json->torn;
}

static void json_reader_says_whether_a_file_is_torn(void)
{
	begin();
	CHECK(is_torn("{\"a\": 1}\n{\"a\": 1"));
	CHECK(is_torn("{\"a\": \"te"));
	CHECK(is_torn("{\"a\": tru"));
	CHECK(!is_torn("{\"a\": 1}\n"));
	CHECK(!is_torn("{\"a\" 1}\n{"));
	CHECK(!is_torn("]"));
	arena_free(arena);
}

/* A line over 16 KiB goes to the parser in parts, which may end inside a text or an escape
 * sequence: each of 20,000 elements is there, as written. */
static void json_reader_returns_long_lines_whole(void)
{
	enum { ELEMENTS = 20000 };
	static const char element[] = "\"\\u00e9\\n\",";
	begin();
	FILE *file = tmpfile();
	fputc('[', file);
	for (size_t i = 0; i < ELEMENTS; i++)
		fputs(element, file);
	fputs("-12.5e1]", file);
	rewind(file);
	struct jp_reader *json = jp_open(arena, file);
	CHECK(jp_next(json) == JP_ARRAY);
	size_t same = 0;
	for (size_t i = 0; i < ELEMENTS; i++)
		same += jp_next(json) == JP_TEXT && strcmp(json->text, "\xc3\xa9\n") == 0;
	CHECK(same == ELEMENTS);
	CHECK(jp_next(json) == JP_NUMBER && json->line == 1);
	CHECK_TEXT(json->text, "-12.5e1");
	CHECK(jp_next(json) == JP_ARRAY_END && jp_next(json) == JP_END);
	CHECK(arena_used_B(arena) < 1 << 20);
	fclose(file);
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(json_reader_returns_each_token),
	TEST(json_reader_decodes_texts_and_counts_lines),
	TEST(json_reader_accepts_nan_and_control_characters),
	TEST(json_reader_says_whether_a_file_is_torn),
	TEST(json_reader_returns_long_lines_whole),
};

int main(void)
{
	return TEST_MAIN(tests);
}
