/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pull reader of JSON: skipping a value gives the same as reading it, and reading ends. */
#include "sim/json/pull.h"
#include "tests/fuzz/fuzz.h"

/* Reads to the end. With skip it skips each value at depth 0, otherwise it reads each token. */
static struct jp_reader *read_all(struct arena *arena, const uint8_t *data, size_t size_B,
				  bool skip)
{
	FILE *in = fuzz_open(data, size_B);
	struct jp_reader *reader = jp_open(arena, in);
	for (size_t tokens = 0;; tokens++) {
		FUZZ_CHECK(tokens <= 2 * size_B + 1);
		FUZZ_CHECK(reader->depth <= JP_DEPTH_MAX);
		enum jp_token token = jp_next(reader);
		if (token == JP_END || token == JP_ERROR)
			break;
		FUZZ_CHECK(strlen(reader->text) == reader->text_B);
		FUZZ_CHECK(reader->text_B < JP_TEXT_MAX_B);
		if (skip && (token == JP_OBJECT || token == JP_ARRAY) && !jp_leave(reader))
			break;
	}
	FUZZ_CHECK((reader->error != NULL) == (jp_next(reader) == JP_ERROR));
	fclose(in);
	return reader;
}

FUZZ_TARGET(data, size_B)
{
	struct arena *arena = arena_new();
	const struct jp_reader *by_token = read_all(arena, data, size_B, false);
	const struct jp_reader *by_value = read_all(arena, data, size_B, true);
	FUZZ_CHECK(by_token->values_count == by_value->values_count);
	FUZZ_CHECK(by_token->line == by_value->line);
	FUZZ_CHECK(strcmp(by_token->error ? by_token->error : "",
			  by_value->error ? by_value->error : "") == 0);
	arena_free(arena);
}
