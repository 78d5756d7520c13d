/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/traces/json_pull.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/arena.h"

/* What may come next. */
enum state {
	WANT_VALUE,
	WANT_VALUE_OR_END, /* after [ */
	WANT_KEY,
	WANT_KEY_OR_END, /* after { */
	WANT_COMMA,      /* after a member or an element: a comma or the end */
	FAILED,
};

struct jp_reader *jp_open(struct arena *arena, FILE *in)
{
	struct jp_reader *reader = ARENA_NEW(arena, struct jp_reader);
	reader->in = in;
	reader->line = 1;
	reader->state = WANT_VALUE;
	/* What some editors put before a text: the byte order mark of UTF-8. */
	int c = getc(in);
	if (c == 0xef && getc(in) == 0xbb)
		c = getc(in) == 0xbf ? getc(in) : '?';
	if (c != EOF)
		ungetc(c, in);
	return reader;
}

static enum jp_token fail(struct jp_reader *reader, const char *error)
{
	if (reader->state != FAILED)
		reader->error = ferror(reader->in) ? "cannot be read" : error;
	reader->state = FAILED;
	return JP_ERROR;
}

static int next_char(struct jp_reader *reader)
{
	int c = getc(reader->in);
	reader->line += c == '\n';
	return c;
}

static int next_visible(struct jp_reader *reader)
{
	int c;
	do
		c = next_char(reader);
	while (c == ' ' || c == '\t' || c == '\n' || c == '\r');
	return c;
}

static void push_back(struct jp_reader *reader, int c)
{
	reader->line -= c == '\n';
	ungetc(c, reader->in);
}

/* ---- texts ---- */

static void text_add(struct jp_reader *reader, int c)
{
	if (reader->text_B + 1 < JP_TEXT_MAX_B)
		reader->text[reader->text_B++] = (char)c;
	else
		reader->text_cut = true;
}

static void text_add_code(struct jp_reader *reader, unsigned code)
{
	if (code < 0x80) {
		text_add(reader, (int)code);
	} else if (code < 0x800) {
		text_add(reader, (int)(0xc0 | code >> 6));
		text_add(reader, (int)(0x80 | (code & 0x3f)));
	} else if (code < 0x10000) {
		text_add(reader, (int)(0xe0 | code >> 12));
		text_add(reader, (int)(0x80 | (code >> 6 & 0x3f)));
		text_add(reader, (int)(0x80 | (code & 0x3f)));
	} else {
		text_add(reader, (int)(0xf0 | code >> 18));
		text_add(reader, (int)(0x80 | (code >> 12 & 0x3f)));
		text_add(reader, (int)(0x80 | (code >> 6 & 0x3f)));
		text_add(reader, (int)(0x80 | (code & 0x3f)));
	}
}

/* Four hexadecimal digits, or UINT32_MAX. */
static unsigned hex_code(struct jp_reader *reader)
{
	static const char digits[] = "0123456789abcdef";
	unsigned code = 0;
	for (int i = 0; i < 4; i++) {
		int c = next_char(reader);
		const char *digit =
			c > 0 && c < 128 ? strchr(digits, c >= 'A' && c <= 'F' ? c + 32 : c) : NULL;
		if (!digit)
			return UINT32_MAX;
		code = code << 4 | (unsigned)(digit - digits);
	}
	return code;
}

static bool escape(struct jp_reader *reader)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	int c = next_char(reader);
	const char *known = c > 0 ? strchr(from, c) : NULL;
	if (known) {
		text_add(reader, to[known - from]);
		return true;
	}
	unsigned code = c == 'u' ? hex_code(reader) : UINT32_MAX;
	if (code >= 0xd800 && code < 0xdc00) { /* the first half of a pair */
		unsigned second = next_char(reader) == '\\' && next_char(reader) == 'u'
					  ? hex_code(reader)
					  : UINT32_MAX;
		if (second < 0xdc00 || second > 0xdfff)
			return false;
		code = 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00);
	}
	if (code == UINT32_MAX)
		return false;
	text_add_code(reader, code ? code : 0xfffd);
	return true;
}

static bool read_text(struct jp_reader *reader)
{
	reader->text_B = 0;
	reader->text_cut = false;
	for (int c = next_char(reader); c != '"'; c = next_char(reader)) {
		if (c == EOF) {
			fail(reader, "the file ends inside a text");
			return false;
		}
		if (c != '\\') {
			text_add(reader, c ? c : ' ');
		} else if (!escape(reader)) {
			fail(reader, "a text holds an escape that JSON does not know");
			return false;
		}
	}
	reader->text[reader->text_B] = '\0';
	return true;
}

/* ---- numbers and words ---- */

static bool is_wordly(int c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       c == '+' || c == '-' || c == '.';
}

static enum jp_token read_word(struct jp_reader *reader, int c)
{
	static const struct {
		const char *word;
		enum jp_token token;
		double number;
	} words[] = {
		{"true", JP_TRUE, 0},
		{"false", JP_FALSE, 0},
		{"null", JP_NULL, 0},
		{"NaN", JP_NUMBER, NAN},
		{"nan", JP_NUMBER, NAN},
		{"-nan", JP_NUMBER, NAN},
		{"Infinity", JP_NUMBER, INFINITY},
		{"inf", JP_NUMBER, INFINITY},
		{"-Infinity", JP_NUMBER, -INFINITY},
		{"-inf", JP_NUMBER, -INFINITY},
	};
	reader->text_B = 0;
	for (; is_wordly(c); c = next_char(reader)) {
		if (reader->text_B > 64)
			return fail(reader, "a word that is no value of JSON");
		text_add(reader, c);
	}
	if (c != EOF)
		push_back(reader, c);
	reader->text[reader->text_B] = '\0';
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (strcmp(words[i].word, reader->text) == 0) {
			reader->number = words[i].number;
			return words[i].token;
		}
	const char *digits = reader->text + (reader->text[0] == '-');
	char *end = reader->text;
	if (digits[0] >= '0' && digits[0] <= '9' && digits[1] != 'x' && digits[1] != 'X')
		reader->number = strtod(reader->text, &end);
	if (end == reader->text || *end)
		return fail(reader, reader->text_B ? "a word that is no value of JSON"
						   : "a character where a value should be");
	return JP_NUMBER;
}

/* ---- structure ---- */

static void value_over(struct jp_reader *reader)
{
	reader->state = reader->depth ? WANT_COMMA : WANT_VALUE;
}

static enum jp_token enter(struct jp_reader *reader, char bracket)
{
	if (reader->depth == JP_DEPTH_MAX)
		return fail(reader, "is nested too deep");
	reader->brackets[reader->depth++] = bracket;
	reader->state = bracket == '{' ? WANT_KEY_OR_END : WANT_VALUE_OR_END;
	return bracket == '{' ? JP_OBJECT : JP_ARRAY;
}

static enum jp_token leave(struct jp_reader *reader, int c)
{
	char open = reader->brackets[reader->depth - 1];
	if (open != (c == '}' ? '{' : '['))
		return fail(reader, "brackets do not match");
	reader->depth--;
	value_over(reader);
	return c == '}' ? JP_OBJECT_END : JP_ARRAY_END;
}

static enum jp_token read_value(struct jp_reader *reader, int c)
{
	reader->values_count += reader->depth == 0;
	if (c == '{' || c == '[')
		return enter(reader, (char)c);
	if (c == '"') {
		if (!read_text(reader))
			return JP_ERROR;
		value_over(reader);
		return JP_TEXT;
	}
	enum jp_token token = read_word(reader, c);
	if (token != JP_ERROR)
		value_over(reader);
	return token;
}

static enum jp_token read_key(struct jp_reader *reader, int c)
{
	if (c != '"')
		return fail(reader, "a key is missing");
	if (!read_text(reader))
		return JP_ERROR;
	if (next_visible(reader) != ':')
		return fail(reader, "no ':' after a key");
	reader->state = WANT_VALUE;
	return JP_KEY;
}

enum jp_token jp_next(struct jp_reader *reader)
{
	if (reader->state == FAILED)
		return JP_ERROR;
	int c = next_visible(reader);
	if (c == EOF)
		return reader->depth == 0 && !ferror(reader->in)
			       ? JP_END
			       : fail(reader, "the file ends in the middle of a value");
	bool closes = c == '}' || c == ']';
	if (closes && reader->depth > 0 && reader->state != WANT_VALUE && reader->state != WANT_KEY)
		return leave(reader, c);
	if (reader->state == WANT_COMMA) {
		if (c != ',')
			return fail(reader, "a comma is missing");
		bool object = reader->brackets[reader->depth - 1] == '{';
		reader->state = object ? WANT_KEY : WANT_VALUE;
		c = next_visible(reader);
		if (c == EOF)
			return fail(reader, "the file ends in the middle of a value");
	}
	if (reader->state == WANT_KEY || reader->state == WANT_KEY_OR_END)
		return read_key(reader, c);
	return read_value(reader, c);
}

bool jp_leave(struct jp_reader *reader)
{
	for (unsigned outside = reader->depth - 1; reader->depth > outside;)
		if (jp_next(reader) == JP_ERROR)
			return false;
	return true;
}

bool jp_skip(struct jp_reader *reader)
{
	enum jp_token token = jp_next(reader);
	if (token == JP_OBJECT || token == JP_ARRAY)
		return jp_leave(reader);
	return token != JP_ERROR;
}
