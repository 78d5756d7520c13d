/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <sys/stat.h>

#include "sim/cfg/text.h"
#include "sim/base/lines.h"
#include "sim/base/utf8.h"

enum {
	INCLUDE_DEPTH_MAX = 16,
	INCLUDES_MAX = 1000,
	NESTING_MAX = 64,
	NAMES_MAX = 1024, /* maximum in one group, because libconfig's search is linear */
	TEXT_MAX_B = 16 * 1024 * 1024,
	/* names, numbers and texts, of which each takes a few hundred bytes of memory */
	WORDS_MAX = 1000000,
};

struct named {
	const char *name;
	size_t length;
	struct origin origin;
};

struct bracket {
	char open; /* 0: the group of the whole file */
	struct origin origin;
	VEC(struct named) names;
};

struct file {
	const struct file *by; /* the file that included this one */
	struct cfg_file_identity identity;
	const char *path, *at; /* `at` is the next byte */
	int line, depth;
};

struct scan {
	struct arena *scratch, *keep;
	struct diag *diag;
	struct cfg_source_text *source;
	VEC(struct bracket) brackets;
	char last; /* the last byte that is not a blank or a comment; 'a' stands for a word */
	size_t includes, words;
	bool lost; /* set after an error that would make further messages confusing */
};

static struct origin here(const struct file *file)
{
	return (struct origin){file->path, file->line};
}

#define FATAL(scan, origin, ...)                                                                   \
	((scan)->lost = true, diag_error((scan)->diag, (origin), __VA_ARGS__))

static void put(struct scan *scan, char c)
{
	*VEC_PUSH(scan->scratch, &scan->source->text) = c;
}

static void begin_line(struct scan *scan, const struct file *file)
{
	*VEC_PUSH(scan->scratch, &scan->source->lines) = here(file);
}

static void copy(struct scan *scan, struct file *file)
{
	char c = *file->at++;
	put(scan, c);
	if (c == '\n') {
		file->line++;
		begin_line(scan, file);
	}
}

static void copy_bytes(struct scan *scan, struct file *file, size_t count)
{
	while (count--)
		copy(scan, file);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\f';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '*';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static size_t word_length(const char *at)
{
	size_t length = 0;
	while (is_letter(at[length]) || is_digit(at[length]) || at[length] == '_' ||
	       at[length] == '-')
		length++;
	return length;
}

/* Returns true if the word at `at` is the name of a setting, which '=' or ':' follows. */
static bool names_setting(const char *at)
{
	while (is_blank(*at) || *at == '\n')
		at++;
	return *at == '=' || *at == ':';
}

/* ---- the parts of a file ---- */

static void scan_block_comment(struct scan *scan, struct file *file)
{
	const char *end = strstr(file->at + 2, "*/");
	if (!end) {
		FATAL(scan, here(file), "the comment that starts here is not closed (write */)");
		return;
	}
	copy_bytes(scan, file, (size_t)(end + 2 - file->at));
}

/* Libconfig refuses a comment that the end of the text ends, so that a line feed is added. */
static void scan_line_comment(struct scan *scan, struct file *file)
{
	copy_bytes(scan, file, strcspn(file->at, "\n"));
	if (*file->at)
		return;
	put(scan, '\n');
	begin_line(scan, file);
}

static void scan_string(struct scan *scan, struct file *file)
{
	const char *end = file->at + 1;
	while (*end && *end != '"' && *end != '\n')
		end += end[0] == '\\' && end[1] && end[1] != '\n' ? 2 : 1;
	if (*end != '"') {
		FATAL(scan, here(file),
		      "the text that starts here is not closed on its line (is a \" missing?)");
		return;
	}
	copy_bytes(scan, file, (size_t)(end + 1 - file->at));
	scan->last = '"';
}

static void note_name(struct scan *scan, const struct file *file, size_t length)
{
	struct bracket *group = &scan->brackets.items[scan->brackets.count - 1];
	if (group->open && group->open != '{')
		return;
	for (size_t i = 0; i < group->names.count; i++) {
		const struct named *before = &group->names.items[i];
		if (before->length == length && memcmp(before->name, file->at, length) == 0) {
			diag_error(scan->diag, here(file),
				   "'%.*s' is set twice in this group, first at %s:%d (remove one "
				   "of them)",
				   (int)length, file->at, before->origin.file, before->origin.line);
			return;
		}
	}
	if (group->names.count == NAMES_MAX) {
		FATAL(scan, here(file),
		      "more than %d settings in one group (divide it into several groups)",
		      NAMES_MAX);
		return;
	}
	*VEC_PUSH(scan->scratch, &group->names) = (struct named){file->at, length, here(file)};
}

static bool same_word(const char *at, size_t length, const char *word)
{
	if (length != strlen(word))
		return false;
	for (size_t i = 0; i < length; i++)
		if ((at[i] | 0x20) != word[i])
			return false;
	return true;
}

static void scan_word(struct scan *scan, struct file *file)
{
	size_t length = word_length(file->at);
	int shown = length > 40 ? 40 : (int)length;
	if (names_setting(file->at + length)) {
		note_name(scan, file, length);
	} else if (same_word(file->at, length, "yes") || same_word(file->at, length, "no") ||
		   same_word(file->at, length, "on") || same_word(file->at, length, "off")) {
		diag_error(scan->diag, here(file), "'%.*s' is not a value (write true or false)",
			   shown, file->at);
	} else if (strchr("=:,([", scan->last) && scan->last &&
		   !same_word(file->at, length, "true") && !same_word(file->at, length, "false")) {
		diag_error(scan->diag, here(file), "text needs quotes (write \"%.*s\")", shown,
			   file->at);
	}
	copy_bytes(scan, file, length);
	scan->last = 'a';
}

static void check_integer(struct scan *scan, const struct file *file, size_t length)
{
	const char *digits = file->at + (*file->at == '-' || *file->at == '+');
	bool hex = digits[0] == '0' && (digits[1] | 0x20) == 'x';
	bool is_long = file->at[length - 1] == 'L';
	uint64_t most = (is_long ? (uint64_t)INT64_MAX : (uint64_t)INT32_MAX) + (*file->at == '-');
	errno = 0;
	unsigned long long value = strtoull(digits, NULL, hex ? 16 : 10);
	if (errno == 0 && value <= most)
		return;
	if (is_long)
		diag_error(scan->diag, here(file),
			   "the integer %.*s does not fit into 64 bits (write a number with a "
			   "point, such as 1.0e20)",
			   length > 40 ? 40 : (int)length, file->at);
	else
		diag_error(scan->diag, here(file),
			   "the integer %.*s does not fit into 32 bits (write a quantity in "
			   "quotes, such "
			   "as \"4 GiB\", or a number with a point, such as 4294967296.0)",
			   length > 40 ? 40 : (int)length, file->at);
}

/* Returns the length of the number at `at`; sets *whole if it is an integer. */
static size_t number_length(const char *at, bool *whole)
{
	const char *from = at;
	at += *at == '-' || *at == '+';
	*whole = true;
	if (at[0] == '0' && (at[1] | 0x20) == 'x') {
		at += 2;
		at += strspn(at, "0123456789abcdefABCDEF");
	} else {
		at += strspn(at, "0123456789");
		if (*at == '.') {
			*whole = false;
			at += 1 + strspn(at + 1, "0123456789");
		}
		size_t sign = (*at == 'e' || *at == 'E') && (at[1] == '-' || at[1] == '+');
		if ((*at == 'e' || *at == 'E') && is_digit(at[1 + sign])) {
			*whole = false;
			at += 1 + sign + strspn(at + 1 + sign, "0123456789");
		}
	}
	if (*whole)
		at += *at == 'L' ? 1 + (at[1] == 'L') : 0;
	return (size_t)(at - from);
}

static void scan_number(struct scan *scan, struct file *file)
{
	bool whole;
	size_t length = number_length(file->at, &whole);
	const char *after = file->at + length;
	while (is_blank(*after))
		after++;
	bool comment = after[0] == '/' && (after[1] == '/' || after[1] == '*');
	bool starts = is_letter(*after) || *after == '%' || *after == '/' || (*after & 0x80);
	size_t unit = starts && !comment ? strcspn(after, " \t\r\n\f,;=:(){}[]\"#") : 0;
	if (unit && !names_setting(after + unit)) {
		diag_error(scan->diag, here(file),
			   "a quantity with a unit needs quotes (write \"%.*s %.*s\")",
			   length > 40 ? 40 : (int)length, file->at, unit > 40 ? 40 : (int)unit,
			   after);
		length = (size_t)(after + unit - file->at);
	} else if (whole) {
		check_integer(scan, file, length);
	}
	copy_bytes(scan, file, length);
	scan->last = '1';
}

static void scan_open(struct scan *scan, struct file *file)
{
	if (scan->brackets.count > NESTING_MAX) {
		FATAL(scan, here(file), "groups and lists are nested deeper than %d (nest fewer)",
		      NESTING_MAX);
		return;
	}
	struct bracket *bracket = VEC_PUSH(scan->scratch, &scan->brackets);
	*bracket = (struct bracket){.open = *file->at, .origin = here(file)};
	scan->last = *file->at;
	copy(scan, file);
}

static char closing(char open)
{
	return open == '{' ? '}' : open == '(' ? ')' : ']';
}

static void scan_close(struct scan *scan, struct file *file)
{
	char c = *file->at;
	const struct bracket *open = &scan->brackets.items[scan->brackets.count - 1];
	if (!open->open || open->origin.file != file->path) {
		FATAL(scan, here(file), "'%c' has no opening bracket (remove it)", c);
		return;
	}
	if (closing(open->open) != c) {
		FATAL(scan, here(file), "'%c' cannot close the '%c' of line %d (write '%c')", c,
		      open->open, open->origin.line, closing(open->open));
		return;
	}
	if (c != '}' && scan->last == ',')
		diag_error(scan->diag, here(file), "a comma stands before '%c' (remove it)", c);
	scan->brackets.count--;
	scan->last = c;
	copy(scan, file);
}

/* ---- includes ---- */

static const char *reason(struct arena *scratch, int error)
{
	char text[200] = "";
	if (strerror_r(error, text, sizeof text) != 0 || !*text)
		return arena_printf(scratch, "cannot be read (error %d)", error);
	return arena_printf(scratch, "cannot be read: %s", text);
}

/* Reads all of in. likely_B is the size that the file system reports; the file may hold more or
 * less. */
static const char *read_all(struct arena *scratch, FILE *in, size_t likely_B, const char **wrong)
{
	size_t room = likely_B + 2; /* one byte to detect the end, one for the terminator */
	VEC(char) text = {arena_alloc(scratch, room), 0, room};
	for (;;) {
		VEC_PUSH(scratch, &text);
		text.count--; /* keep one byte of room for the terminator */
		size_t got = fread(text.items + text.count, 1, text.room - text.count, in);
		text.count += got;
		if (got == 0)
			break;
		if (text.count > TEXT_MAX_B) {
			*wrong = "is larger than 16 MiB (split it with @include)";
			return NULL;
		}
	}
	if (ferror(in)) {
		*wrong = reason(scratch, errno);
		return NULL;
	}
	*VEC_PUSH(scratch, &text) = '\0';
	if (strlen(text.items) + 1 != text.count) {
		*wrong = "is not a text file (it contains a zero byte)";
		return NULL;
	}
	return text.items;
}

static size_t likely_size(const struct stat *status)
{
	return status->st_size > 0 && status->st_size <= TEXT_MAX_B ? (size_t)status->st_size : 0;
}

const char *cfg_file_load(struct arena *scratch, const char *path,
			  struct cfg_file_identity *identity, const char **wrong)
{
	struct stat status;
	if (stat(path, &status) == 0 && S_ISFIFO(status.st_mode)) {
		*wrong = "cannot be read twice (name a file, not a pipe)";
		return NULL;
	}
	const char *why;
	FILE *in = file_once(path, &why);
	if (!in) {
		*wrong = arena_printf(scratch, "cannot be read: %s", why);
		return NULL;
	}
	const char *text = NULL;
	if (fstat(fileno(in), &status) != 0) {
		*wrong = reason(scratch, errno);
	} else if (S_ISDIR(status.st_mode)) {
		*wrong = "is a directory (give a file)";
	} else {
		identity->device = (unsigned long long)status.st_dev;
		identity->node = (unsigned long long)status.st_ino;
		text = read_all(scratch, in, likely_size(&status), wrong);
	}
	fclose(in);
	return text;
}

static const char *beside(struct arena *keep, const char *path, const char *name, size_t length)
{
	const char *slash = strrchr(path, '/');
	if (*name == '/' || !slash)
		return arena_printf(keep, "%.*s", (int)length, name);
	return arena_printf(keep, "%.*s%.*s", (int)(slash + 1 - path), path, (int)length, name);
}

static bool in_progress(const struct file *file, const struct cfg_file_identity *identity)
{
	for (; file; file = file->by)
		if (file->identity.device == identity->device &&
		    file->identity.node == identity->node)
			return true;
	return false;
}

static void scan_file(struct scan *scan, struct file *file);

static void include(struct scan *scan, struct file *by, const char *name, size_t length)
{
	struct file file = {.by = by, .line = 1, .depth = by->depth + 1};
	file.path = beside(scan->keep, by->path, name, length);
	if (file.depth > INCLUDE_DEPTH_MAX || ++scan->includes > INCLUDES_MAX) {
		FATAL(scan, here(by), "@include \"%s\": %s", file.path,
		      file.depth > INCLUDE_DEPTH_MAX
			      ? "it is nested more than 16 files deep (include it from a higher "
				"file)"
			      : "it is the 1001st include (use at most 1000)");
		return;
	}
	const char *wrong;
	file.at = cfg_file_load(scan->scratch, file.path, &file.identity, &wrong);
	if (!file.at) {
		diag_error(scan->diag, here(by), "@include \"%s\": it %s", file.path, wrong);
		return;
	}
	if (in_progress(by, &file.identity)) {
		FATAL(scan, here(by),
		      "@include \"%s\": this file includes itself through others (remove one "
		      "@include)",
		      file.path);
		return;
	}
	put(scan, '\n');
	begin_line(scan, &file);
	scan_file(scan, &file);
	put(scan, '\n');
	begin_line(scan, by);
}

static void scan_include(struct scan *scan, struct file *file)
{
	static const char word[] = "@include";
	const char *at = file->at;
	if (strncmp(at, word, sizeof word - 1) != 0) {
		FATAL(scan, here(file), "'@' is valid only in @include \"file.cfg\"");
		return;
	}
	at += sizeof word - 1;
	while (is_blank(*at))
		at++;
	size_t length = *at == '"' ? strcspn(at + 1, "\"\n") : 0;
	if (length == 0 || length > 4000 || at[1 + length] != '"') {
		FATAL(scan, here(file),
		      "@include needs a file name in quotes (write @include "
		      "\"file.cfg\")");
		return;
	}
	const char *name = at + 1;
	at += length + 2;
	while (is_blank(*at))
		at++;
	if (*at && *at != '\n' && *at != '#' && *at != '/') {
		FATAL(scan, here(file), "nothing may follow @include \"%.*s\" on its line%s",
		      (int)length, name, *at == ';' ? " (remove the ';')" : "");
		return;
	}
	file->at = at;
	include(scan, file, name, length);
}

/* ---- the whole text ---- */

static void scan_other(struct scan *scan, struct file *file)
{
	char c = *file->at;
	if (c & 0x80) {
		size_t length = utf8_length((const unsigned char *)file->at);
		FATAL(scan, here(file),
		      "'%.*s' may stand only in texts and comments (write plain blanks, ASCII "
		      "letters and the quote \")",
		      length ? (int)length : 1, file->at);
		return;
	}
	if (!is_blank(c) && c != '\n') {
		if (scan->last && strchr("=:", scan->last) && strchr(";,", c))
			diag_error(scan->diag, here(file),
				   "a value is missing before '%c' (write name = value;)", c);
		scan->last = c;
	}
	copy(scan, file);
}

static void scan_next(struct scan *scan, struct file *file)
{
	const char *at = file->at;
	bool sign = *at == '-' || *at == '+' || *at == '.';
	bool word = *at == '"' || is_letter(*at) || is_digit(*at) || strchr("{([", *at);
	if (word && ++scan->words > WORDS_MAX)
		FATAL(scan, here(file),
		      "more than %d names and values in all files (use smaller files)", WORDS_MAX);
	else if (*at == '#' || (at[0] == '/' && at[1] == '/'))
		scan_line_comment(scan, file);
	else if (at[0] == '/' && at[1] == '*')
		scan_block_comment(scan, file);
	else if (*at == '"')
		scan_string(scan, file);
	else if (*at == '@')
		scan_include(scan, file);
	else if (is_letter(*at))
		scan_word(scan, file);
	else if (is_digit(*at) || (sign && (is_digit(at[1]) || (at[1] == '.' && is_digit(at[2])))))
		scan_number(scan, file);
	else if (strchr("{([", *at))
		scan_open(scan, file);
	else if (strchr("})]", *at))
		scan_close(scan, file);
	else
		scan_other(scan, file);
}

static void scan_file(struct scan *scan, struct file *file)
{
	size_t open_before = scan->brackets.count;
	if (strncmp(file->at, "\xef\xbb\xbf", 3) == 0)
		file->at += 3; /* a UTF-8 byte order mark */
	while (*file->at && !scan->lost) {
		scan_next(scan, file);
		if (scan->source->text.count > TEXT_MAX_B)
			FATAL(scan, here(file),
			      "more than 16 MiB with all includes (use smaller files)");
	}
	if (scan->lost || scan->brackets.count == open_before)
		return;
	const struct bracket *open = &scan->brackets.items[scan->brackets.count - 1];
	FATAL(scan, open->origin, "the '%c' that opens here is not closed (write '%c')", open->open,
	      closing(open->open));
}

bool cfg_source_expand(struct arena *scratch, struct arena *keep, struct diag *diag,
		       const char *path, const char *given, struct cfg_source_text *source)
{
	size_t errors_before = diag_count(diag);
	struct scan scan = {.scratch = scratch, .keep = keep, .diag = diag, .source = source};
	struct file file = {.path = arena_strdup(keep, path), .at = given, .line = 1};
	if (!given) {
		const char *wrong;
		file.at = cfg_file_load(scratch, path, &file.identity, &wrong);
		if (!file.at)
			return diag_error(diag, (struct origin){file.path, 0}, "%s", wrong);
	}
	VEC_PUSH(scratch, &scan.brackets);
	begin_line(&scan, &file);
	scan_file(&scan, &file);
	put(&scan, '\0');
	return diag_count(diag) == errors_before;
}

struct origin cfg_source_origin(const struct cfg_source_text *source, unsigned line)
{
	if (line == 0 || line > source->lines.count)
		return (struct origin){source->lines.items[0].file, 0};
	return source->lines.items[line - 1];
}
