/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The JSON reader that returns tokens: its grammar, its limits and its line numbers. The writer:
 * its numbers and texts. */
#include "tests/test.h"

#include <stdlib.h>
#include <unistd.h>

#include "sim/base/arena.h"
#include "sim/json/document.h"
#include "sim/json/pull.h"
#include "sim/json/write.h"

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
	char digits[70]; /* numbers have at most 64 characters */
	for (int count = 64; count <= 65; count++) {
		snprintf(digits, sizeof digits, "%0*d", count, 0);
		digits[0] = '1';
		CHECK_TEXT(tokens_of(digits), count == 64 ? "nE" : "!");
	}
	CHECK_TEXT(tokens_of("\xef\xbb\xbf[1]"), "[n]E"); /* after a byte order mark */
	CHECK_TEXT(tokens_of("\xef\xbb[1]"), "!");
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
	/* An escape sequence that begins with the last kept character is whole. */
	snprintf(large + JP_TEXT_MAX_B, 20, "%s", "\\u00e9xyz\" 1");
	json = jp_open(arena, file = file_of(large));
	CHECK(jp_next(json) == JP_TEXT && json->text_B == JP_TEXT_MAX_B - 1 &&
	      jp_next(json) == JP_NUMBER && jp_next(json) == JP_END);
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
	static const char text[] =
		"[-nan, nan, NaN, Infinity, inf,-inf, -Infinity,\n\"a\tb\x01\", \"\\u0000\"]";
	begin();
	FILE *file = file_of(text);
	struct jp_reader *json = jp_open(arena, file);
	CHECK(jp_next(json) == JP_ARRAY);
	for (int i = 0; i < 3; i++)
		CHECK(jp_next(json) == JP_NUMBER && isnan(json->number));
	for (int i = 0; i < 2; i++)
		CHECK(jp_next(json) == JP_NUMBER && isinf(json->number) && json->number > 0);
	for (int i = 0; i < 2; i++)
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

static bool take_size(void *ctx, const struct json *value, struct origin origin)
{
	*(size_t *)ctx += json_size(value);
	return true;
}

/* One of two members with the same key would be lost. */
static void documents_have_each_key_once(void)
{
	static const struct {
		const char *text, *error;
		size_t size;
	} cases[] = {
		{"{\"a\": 1, \"b\": 1}", NULL, 2},
		{"{\"a\": 1,\n \"a\": 1}", ":2: the file is not JSON: the object has a key twice",
		 0},
	};
	begin();
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char path[] = "/tmp/farwire-test-XXXXXX";
		FILE *file = fdopen(mkstemp(path), "w");
		fputs(cases[i].text, file);
		fclose(file);
		struct diag *diag = diag_new(arena);
		size_t of_text = 0, of_file = 0;
		CHECK(json_text_read(cases[i].text, strlen(cases[i].text), take_size, &of_text) ==
		      !cases[i].error);
		CHECK(json_file_read(diag, path, take_size, &of_file) == !cases[i].error);
		CHECK(of_text == cases[i].size && of_file == cases[i].size);
		if (cases[i].error)
			CHECK(strstr(diag_at(diag, 0), cases[i].error) != NULL);
		unlink(path);
	}
	size_t none = 0;
	CHECK(!json_text_read("{} {\"a\": 1}", 11, take_size, &none) && none == 0);
	arena_free(arena);
}

static bool take_count(void *ctx, const struct json *value, struct origin origin)
{
	return json_count_of(value, ctx);
}

/* Counts are whole numbers without a sign that fit into 63 bits. */
static void counts_are_whole_numbers(void)
{
	static const struct {
		const char *text;
		bool count;
	} cases[] = {{"0", true},
		     {"9223372036854775807", true},
		     {"9223372036854775808", false},
		     {"99999999999999999999", false},
		     {"-1", false},
		     {"1.0", false},
		     {"1e3", false},
		     {"\"1\"", false},
		     {"1 2", false}};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		uint64_t count = 7;
		CHECK(json_text_read(cases[i].text, strlen(cases[i].text), take_count, &count) ==
		      cases[i].count);
		CHECK(count == (cases[i].count ? strtoull(cases[i].text, NULL, 10) : 7));
	}
}

/* Times are rounded to the nearest nanosecond. Other numbers have the fewest of 15 to 17 digits
 * that read back as the same double; dense ones have 9. A character above U+FFFF is two escapes:
 * U+1D173 is 0xd800 + (0xd173 >> 10), 0xdc00 + (0xd173 & 0x3ff). */
static void json_writer_rounds_times_and_keeps_numbers(void)
{
	static const struct {
		double value;
		const char *seconds, *line, *dense;
	} cases[] = {
		{0, "0.000000000", "0", "0"},
		{1.9999999996, "2.000000000", "1.9999999996", "2"},
		{1.6e-9, "0.000000002", "1.6e-09", "1.6e-09"},
		{1.4e-9, "0.000000001", "1.4e-09", "1.4e-09"},
		{-1.5, "-1.500000000", "-1.5", "-1.5"},
		{3999999.5, "3999999.500000000", "3999999.5", "3999999.5"},
		{5e6, "5000000.000000000", "5000000", "5000000"},
		{1.0 / 3, "0.333333333", "0.3333333333333333", "0.333333333"},
		{0.1 + 0.2, "0.300000000", "0.30000000000000004", "0.3"},
		{0x1p53 - 1, "9007199254740991.000000000", "9007199254740991", "9007199254740991"},
		{INFINITY, "inf", "null", "null"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char text[200] = "", wanted[200];
		FILE *out = fmemopen(text, sizeof text, "w");
		struct json_writer json = jw_begin(out, JSON_LINE);
		jw_open(&json, NULL, '[');
		jw_seconds(&json, NULL, cases[i].value);
		jw_real(&json, NULL, cases[i].value);
		jw_close(&json);
		jw_end(&json);
		json = jw_begin(out, JSON_DENSE);
		jw_real(&json, NULL, cases[i].value);
		fclose(out);
		snprintf(wanted, sizeof wanted, "[%s, %s]\n%s", cases[i].seconds, cases[i].line,
			 cases[i].dense);
		CHECK_TEXT(text, wanted);
	}
}

static void json_writer_escapes_texts_and_indents(void)
{
	char text[400] = "";
	FILE *out = fmemopen(text, sizeof text, "w");
	struct json_writer json = jw_begin(out, JSON_PRETTY);
	jw_open(&json, NULL, '{');
	jw_text(&json, "a", "\"\\\n\r\t\x01\x7f \xc3\xa9");
	jw_text(&json, "b", "\xf0\x9d\x85\xb3\xe2\x80\x8b\xff");
	jw_open(&json, "c", '[');
	jw_close(&json);
	jw_open_flat(&json, "d", '{');
	jw_count(&json, "n", UINT64_MAX);
	jw_flag(&json, "f", false);
	jw_close(&json);
	jw_open(&json, "e", '[');
	jw_null(&json, NULL);
	jw_text(&json, NULL, NULL);
	jw_close(&json);
	jw_close(&json);
	jw_end(&json);
	fclose(out);
	CHECK_TEXT(text, "{\n"
			 "  \"a\": \"\\\"\\\\\\n\\r\\t\\u0001\\u007f \xc3\xa9\",\n"
			 "  \"b\": \"\\ud834\\udd73\\u200b\\ufffd\",\n"
			 "  \"c\": [],\n"
			 "  \"d\": {\"n\": 18446744073709551615, \"f\": false},\n"
			 "  \"e\": [\n    null,\n    null\n  ]\n"
			 "}\n");
}

static const struct test tests[] = {
	TEST(json_writer_rounds_times_and_keeps_numbers),
	TEST(json_writer_escapes_texts_and_indents),
	TEST(documents_have_each_key_once),
	TEST(counts_are_whole_numbers),
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
