/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/json/write.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/utf8.h"

/* Ends the program if a caller breaks the contract. */
static void require(bool holds)
{
	if (!holds)
		abort();
}

static void put_escaped(FILE *out, unsigned char byte)
{
	static const char special[] = "\"\\\n\r\t", letters[] = "\"\\nrt";
	const char *at = strchr(special, byte);
	if (at)
		fprintf(out, "\\%c", letters[at - special]);
	else
		fprintf(out, "\\u%04x", byte);
}

static bool is_plain(unsigned char byte)
{
	return byte >= 0x20 && byte < 0x7F && byte != '"' && byte != '\\';
}

static void put_string(FILE *out, const char *text)
{
	fputc('"', out);
	for (const unsigned char *at = (const unsigned char *)text; *at;) {
		size_t length = 0;
		while (is_plain(at[length]))
			length++;
		size_t bytes = length ? length : utf8_length(at);
		uint32_t hidden = length ? 0 : utf8_invisible(at);
		if (hidden > 0xFFFF)
			fprintf(out, "\\u%04x\\u%04x", (unsigned)(0xD7C0 + (hidden >> 10)),
				(unsigned)(0xDC00 + (hidden & 0x3FF)));
		else if (hidden)
			fprintf(out, "\\u%04x", (unsigned)hidden);
		else if (length || bytes > 1)
			fwrite(at, 1, bytes, out);
		else if (bytes == 1)
			put_escaped(out, *at);
		else
			fputs("\\ufffd", out);
		at += bytes ? bytes : 1;
	}
	fputc('"', out);
}

void jw_number(FILE *out, double value)
{
	if (!isfinite(value)) {
		fputs("null", out);
		return;
	}
	char text[40];
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	fputs(text, out);
}

struct json_writer jw_begin(FILE *out, enum json_style style)
{
	return (struct json_writer){.out = out, .style = style};
}

void jw_end(struct json_writer *json)
{
	require(json->depth == 0);
	fputc('\n', json->out);
}

static bool on_one_line(const struct json_writer *json)
{
	return json->style != JSON_PRETTY || (json->depth > 0 && json->level[json->depth - 1].flat);
}

static void put_line(const struct json_writer *json)
{
	fputc('\n', json->out);
	for (int i = 0; i < json->depth; i++)
		fputs("  ", json->out);
}

static void put_key(struct json_writer *json, const char *key)
{
	if (json->depth > 0) {
		bool filled = json->level[json->depth - 1].filled;
		json->level[json->depth - 1].filled = true;
		if (filled)
			fputs(on_one_line(json) && json->style != JSON_DENSE ? ", " : ",",
			      json->out);
		if (!on_one_line(json))
			put_line(json);
	}
	require((key != NULL) == (json->depth > 0 && json->level[json->depth - 1].bracket == '}'));
	if (key) {
		put_string(json->out, key);
		fputs(json->style == JSON_DENSE ? ":" : ": ", json->out);
	}
}

static void open_level(struct json_writer *json, const char *key, char bracket, bool flat)
{
	require(json->depth < JSON_DEPTH_MAX && (bracket == '{' || bracket == '['));
	flat = flat || on_one_line(json);
	put_key(json, key);
	fputc(bracket, json->out);
	json->level[json->depth].bracket = bracket == '{' ? '}' : ']';
	json->level[json->depth].flat = flat;
	json->level[json->depth].filled = false;
	json->depth++;
}

void jw_open(struct json_writer *json, const char *key, char bracket)
{
	open_level(json, key, bracket, false);
}

void jw_open_flat(struct json_writer *json, const char *key, char bracket)
{
	open_level(json, key, bracket, true);
}

void jw_close(struct json_writer *json)
{
	require(json->depth > 0);
	bool line = json->level[json->depth - 1].filled && !on_one_line(json);
	json->depth--;
	if (line)
		put_line(json);
	fputc(json->level[json->depth].bracket, json->out);
}

void jw_text(struct json_writer *json, const char *key, const char *text)
{
	put_key(json, key);
	if (text)
		put_string(json->out, text);
	else
		fputs("null", json->out);
}

void jw_real(struct json_writer *json, const char *key, double value)
{
	put_key(json, key);
	if (json->style != JSON_DENSE || !isfinite(value))
		jw_number(json->out, value);
	else if (fabs(value) < 0x1p53 && value <= floor(value))
		fprintf(json->out, "%.0f", value);
	else
		fprintf(json->out, "%.9g", value);
}

static void put_whole(FILE *out, uint64_t value, size_t least_digits)
{
	char text[20];
	size_t at = sizeof text;
	for (; value || at > sizeof text - least_digits; value /= 10)
		text[--at] = (char)('0' + value % 10);
	fwrite(text + at, 1, sizeof text - at, out);
}

void jw_count(struct json_writer *json, const char *key, uint64_t count)
{
	put_key(json, key);
	put_whole(json->out, count, 1);
}

void jw_seconds(struct json_writer *json, const char *key, double time_s)
{
	const uint64_t ns_per_s = 1000000000;
	if (!(time_s >= 0 && time_s < 4e6)) {
		jw_digits(json, key, "%.9f", time_s);
		return;
	}
	uint64_t time_ns = (uint64_t)(time_s * 1e9 + 0.5);
	put_key(json, key);
	put_whole(json->out, time_ns / ns_per_s, 1);
	fputc('.', json->out);
	put_whole(json->out, time_ns % ns_per_s, 9);
}

void jw_flag(struct json_writer *json, const char *key, bool flag)
{
	put_key(json, key);
	fputs(flag ? "true" : "false", json->out);
}

void jw_null(struct json_writer *json, const char *key)
{
	put_key(json, key);
	fputs("null", json->out);
}

void jw_digits(struct json_writer *json, const char *key, const char *format, ...)
{
	va_list args;
	put_key(json, key);
	va_start(args, format);
	vfprintf(json->out, format, args);
	va_end(args);
}
