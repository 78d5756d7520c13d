/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads JSON with yajl, a parser that receives bytes and calls a function for each token. Only
 * this file uses that library.
 *
 * One line of the file is passed to yajl at a time, so the line of each token is known. The
 * tokens of a line wait in a queue until jp_next() takes them. Bytes that real writers use
 * against the grammar are changed before yajl gets them: see put_in_text() and put_word(). */
#include "sim/json/pull.h"

#include <yajl/yajl_parse.h>

/* A longer word is an error. The chunk leaves room for the largest change of a byte. */
enum { CHUNK_B = 1 << 14, WORD_MAX_B = 64 };
/* yajl refuses NaN, so NaN is replaced by this number. */
#define NOT_A_NUMBER "0.0e-0999"

struct token {
	enum jp_token kind;
	uint32_t text_at, text_B;
};

struct jp_feed {
	struct arena *arena;
	FILE *in;
	yajl_handle parser;
	const char *error; /* error that follows the waiting tokens */
	bool ended, line_ended;
	/* the queue of tokens */
	struct token tokens[CHUNK_B];
	size_t token_count, next;
	unsigned depth; /* depth after the last waiting token */
	char *texts;
	size_t texts_B, texts_room;
	/* bytes that are passed to yajl next */
	char chunk[CHUNK_B];
	size_t chunk_B;
	bool in_text;
	size_t text_B, text_max_B; /* characters of this text, and as many as are kept */
	unsigned escape_B;         /* characters that remain of an escape sequence */
	char word[WORD_MAX_B + 2];
	size_t word_B;
};

/* ---- bytes to yajl ---- */

static void put(struct jp_feed *feed, const char *bytes, size_t count)
{
	memcpy(feed->chunk + feed->chunk_B, bytes, count);
	feed->chunk_B += count;
}

static void put_byte(struct jp_feed *feed, int c)
{
	feed->chunk[feed->chunk_B++] = (char)c;
}

/* Control characters become escape sequences. The end of a long text is left out. */
static void put_in_text(struct jp_feed *feed, int c)
{
	char escaped[8];
	if (feed->escape_B > 0) {
		feed->escape_B -= 1;
		if (c == 'u' && feed->chunk_B && feed->chunk[feed->chunk_B - 1] == '\\')
			feed->escape_B = 4;
	} else if (c == '"') {
		feed->in_text = false;
	} else if (feed->text_B++ >= feed->text_max_B) {
		return;
	} else if (c == '\\') {
		feed->escape_B = 1;
	}
	if (c < 0x20)
		put(feed, escaped,
		    (size_t)snprintf(escaped, sizeof escaped, "\\u%04x", c ? c : ' '));
	else
		put_byte(feed, c);
}

/* Words for numbers that JSON does not have become numbers. */
static void put_word(struct jp_feed *feed)
{
	static const struct {
		const char *word, *number;
	} rows[] = {
		{"NaN", NOT_A_NUMBER}, {"nan", NOT_A_NUMBER},   {"-nan", NOT_A_NUMBER},
		{"Infinity", "1e999"}, {"-Infinity", "-1e999"}, {"inf", "1e999"},
		{"-inf", "-1e999"},
	};
	const char *text = feed->word;
	feed->word[feed->word_B] = '\0';
	feed->word_B = 0;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (strcmp(rows[i].word, text) == 0)
			text = rows[i].number;
	put(feed, text, strlen(text));
}

static bool is_wordly(int c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       c == '+' || c == '-' || c == '.';
}

static void put_outside(struct jp_feed *feed, int c)
{
	if (is_wordly(c)) {
		if (feed->word_B <= WORD_MAX_B) /* a longer one is an error anyway */
			feed->word[feed->word_B++] = (char)c;
		return;
	}
	if (feed->word_B > 0)
		put_word(feed);
	else if (c == ' ') /* a blank of the indentation */
		return;
	put_byte(feed, c);
	if (c == '"') {
		feed->in_text = true;
		feed->text_B = 0;
		feed->escape_B = 0;
	}
}

static void parse(struct jp_feed *feed)
{
	const unsigned char *bytes = (const unsigned char *)feed->chunk;
	if (!feed->error && yajl_parse(feed->parser, bytes, feed->chunk_B) == yajl_status_error) {
		char *error = (char *)yajl_get_error(feed->parser, 0, bytes, feed->chunk_B);
		error[strcspn(error, "\n")] = '\0';
		feed->error = strstr(error, ": ") ? strstr(error, ": ") + 2 : error;
	}
	feed->chunk_B = 0;
}

/* Passes the next line of the file to yajl, or a part of a long line. */
static void feed_line(struct jp_reader *reader)
{
	struct jp_feed *feed = reader->feed;
	int c = 0;
	feed->token_count = feed->next = feed->texts_B = 0;
	reader->line += feed->line_ended;
	feed->text_max_B = reader->text_max_B;
	while (c != '\n' && feed->chunk_B < CHUNK_B - 2 * WORD_MAX_B &&
	       (c = getc_unlocked(feed->in)) != EOF) {
		reader->read_B++;
		if (feed->in_text)
			put_in_text(feed, c);
		else
			put_outside(feed, c);
	}
	feed->line_ended = c == '\n';
	parse(feed);
	if (c != EOF || feed->error)
		return;
	feed->ended = true;
	if (!feed->in_text) { /* ends a last number */
		put_outside(feed, '\n');
		parse(feed);
	}
	if (feed->in_text || feed->depth > 0) {
		reader->torn = !ferror(feed->in);
		feed->error = feed->in_text ? "the file ends inside a text"
					    : "the file ends in the middle of a value";
	}
}

/* ---- tokens from yajl ---- */

static int add(struct jp_feed *feed, enum jp_token kind, const void *text, size_t text_B)
{
	size_t most_B = feed->text_max_B > 0 ? feed->text_max_B - 1 : 0;
	size_t kept_B = text_B < most_B ? text_B : most_B;
	FW_ASSERT(feed->token_count < CHUNK_B);
	while (feed->texts_B + kept_B >= feed->texts_room) {
		size_t room = feed->texts_room;
		feed->texts = vec_grow(feed->arena, feed->texts, room, &feed->texts_room, 1);
	}
	feed->tokens[feed->token_count++] =
		(struct token){kind, (uint32_t)feed->texts_B, (uint32_t)kept_B};
	char *to = feed->texts + feed->texts_B;
	memcpy(to, text, kept_B);
	to[kept_B] = '\0';
	feed->texts_B += kept_B + 1;
	return 1;
}

static int on_truth(void *feed, int truth)
{
	return add(feed, truth ? JP_TRUE : JP_FALSE, "", 0);
}

static int on_number(void *ctx, const char *text, size_t text_B)
{
	struct jp_feed *feed = ctx;
	if (text_B <= WORD_MAX_B)
		return add(feed, JP_NUMBER, text, text_B);
	feed->error = "a number has more than 64 characters";
	return 0;
}

/* a zero character would end the text early */
static int add_text(struct jp_feed *feed, enum jp_token kind, const unsigned char *text,
		    size_t text_B)
{
	add(feed, kind, text, text_B);
	struct token *token = &feed->tokens[feed->token_count - 1];
	char *kept = feed->texts + token->text_at;
	for (char *zero = kept; (zero = memchr(zero, '\0', token->text_B - (size_t)(zero - kept)));)
		*zero = '?';
	return 1;
}

static int on_text(void *feed, const unsigned char *text, size_t text_B)
{
	return add_text(feed, JP_TEXT, text, text_B);
}

static int on_key(void *feed, const unsigned char *text, size_t text_B)
{
	return add_text(feed, JP_KEY, text, text_B);
}

static int enter(struct jp_feed *feed, enum jp_token kind)
{
	if (feed->depth < JP_DEPTH_MAX) {
		feed->depth++;
		return add(feed, kind, "", 0);
	}
	feed->error = "the text is nested too deeply";
	return 0;
}

static int leave(struct jp_feed *feed, enum jp_token kind)
{
	feed->depth--;
	return add(feed, kind, "", 0);
}

#define ON(what, answer)                                                                           \
	static int on_##what(void *feed)                                                           \
	{                                                                                          \
		return answer;                                                                     \
	}
ON(null, add(feed, JP_NULL, "", 0))
ON(object, enter(feed, JP_OBJECT))
ON(object_end, leave(feed, JP_OBJECT_END))
ON(array, enter(feed, JP_ARRAY))
ON(array_end, leave(feed, JP_ARRAY_END))

/* Allocates yajl's memory in the arena. The size of a block is stored before it. */
static void *take_memory(void *arena, size_t size_B)
{
	size_t *block = arena_alloc(arena, 2 * sizeof(size_t) + size_B);
	block[0] = size_B;
	return block + 2;
}

static void *grow_memory(void *arena, void *old, size_t size_B)
{
	size_t old_B = old ? ((size_t *)old)[-2] : 0;
	void *grown = take_memory(arena, size_B);
	if (old)
		memcpy(grown, old, old_B < size_B ? old_B : size_B);
	return grown;
}

static void leave_memory(void *arena, void *block)
{
}

/* ---- the reader ---- */

struct jp_reader *jp_open(struct arena *arena, FILE *in)
{
	static const yajl_callbacks callbacks = {
		.yajl_null = on_null,
		.yajl_boolean = on_truth,
		.yajl_number = on_number,
		.yajl_string = on_text,
		.yajl_start_map = on_object,
		.yajl_map_key = on_key,
		.yajl_end_map = on_object_end,
		.yajl_start_array = on_array,
		.yajl_end_array = on_array_end,
	};
	yajl_alloc_funcs memory = {take_memory, grow_memory, leave_memory, arena};
	struct jp_reader *reader = ARENA_NEW(arena, struct jp_reader);
	struct jp_feed *feed = reader->feed = ARENA_NEW(arena, struct jp_feed);
	feed->arena = arena;
	feed->in = in;
	feed->parser = yajl_alloc(&callbacks, &memory, feed);
	yajl_config(feed->parser, yajl_allow_multiple_values, 1);
	yajl_config(feed->parser, yajl_dont_validate_strings, 1);
	reader->line = 1;
	reader->text_max_B = JP_TEXT_MAX_B;
	/* Some editors begin a file with the byte order mark of UTF-8. */
	int c = getc(in);
	if (c == 0xef && getc(in) == 0xbb)
		c = getc(in) == 0xbf ? getc(in) : '?';
	if (c != EOF)
		ungetc(c, in);
	return reader;
}

static enum jp_token fail(struct jp_reader *reader)
{
	if (!reader->error)
		reader->error =
			ferror(reader->feed->in) ? "the file cannot be read" : reader->feed->error;
	return JP_ERROR;
}

static void take_token(struct jp_reader *reader, const struct token *token)
{
	bool opens = token->kind == JP_OBJECT || token->kind == JP_ARRAY;
	bool closes = token->kind == JP_OBJECT_END || token->kind == JP_ARRAY_END;
	reader->values_count += reader->depth == 0;
	reader->depth += opens;
	reader->depth -= closes;
	reader->text = reader->feed->texts + token->text_at;
	reader->text_B = token->text_B;
	if (token->kind == JP_NUMBER)
		reader->number =
			strcmp(reader->text, NOT_A_NUMBER) == 0 ? NAN : strtod(reader->text, NULL);
}

enum jp_token jp_next(struct jp_reader *reader)
{
	struct jp_feed *feed = reader->feed;
	while (feed->next == feed->token_count && !feed->error && !feed->ended)
		feed_line(reader);
	if (feed->next < feed->token_count) {
		const struct token *token = &feed->tokens[feed->next++];
		take_token(reader, token);
		return token->kind;
	}
	return feed->error || ferror(feed->in) ? fail(reader) : JP_END;
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
