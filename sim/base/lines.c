/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/base/lines.h"

#include <errno.h>
#include <sys/stat.h>
#include "sim/base/base.h"

FILE *file_once(const char *path, const char **why)
{
	FILE *in = fopen(path, "rb");
	if (!in)
		*why = strerror(errno);
	return in;
}

enum { NOTED_MAX_B = 1 << 30 }; /* all readers refuse a larger file */

/* Passes the content of the file to diag_reads. Returns false and sets errno if the file cannot be
 * read. */
static bool note_bytes(struct diag *diag, FILE *in)
{
	char block[1 << 14];
	size_t got, all_B = 0;
	while (all_B < NOTED_MAX_B && (got = fread(block, 1, sizeof block, in)) > 0) {
		diag_reads(diag, block, got);
		all_B += got;
	}
	if (ferror(in))
		return false;
	rewind(in);
	return true;
}

FILE *file_open(struct diag *diag, struct origin origin, const char *path)
{
	const char *why = "it is a pipe or a device, which may never end (name a file)";
	struct stat status;
	bool endless =
		stat(path, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode));
	FILE *in = endless ? NULL : file_once(path, &why);
	if (in && note_bytes(diag, in))
		return in;
	if (in) {
		why = strerror(errno);
		fclose(in);
	}
	if (origin.file && strcmp(origin.file, path) != 0)
		diag_error(diag, origin, "the file '%s' cannot be read: %s", path, why);
	else
		diag_error(diag, origin, "the file cannot be read: %s", why);
	return NULL;
}

static int next_byte(struct lines *lines)
{
	if (lines->in)
		return getc(lines->in);
	return *lines->from ? (unsigned char)*lines->from++ : EOF;
}

char *lines_next(struct lines *lines)
{
	static const char mark[] = "\xef\xbb\xbf"; /* a byte order mark */
	size_t length = 0;
	int c;
	while ((c = next_byte(lines)) != EOF && c != '\n') {
		if (c == '\0' || length + 1 == sizeof lines->text) {
			lines->origin.line++;
			diag_error(lines->diag, lines->origin, "%s",
				   c ? lines->too_long : lines->not_text);
			return NULL;
		}
		lines->text[length++] = (char)c;
	}
	if (c == EOF && length == 0)
		return NULL;
	if (length > 0 && lines->text[length - 1] == '\r')
		length--;
	lines->text[length] = '\0';
	lines->torn = c == EOF;
	bool marked = lines->origin.line++ == 0 && strncmp(lines->text, mark, sizeof mark - 1) == 0;
	return lines->text + (marked ? sizeof mark - 1 : 0);
}

size_t lines_words(char *text, const char *separators, const char **words, size_t most)
{
	size_t count = 0;
	while (count < most && *(text += strspn(text, separators))) {
		words[count++] = text;
		text += strcspn(text, separators);
		if (*text)
			*text++ = '\0';
	}
	return count;
}

size_t lines_cells(char *text, char separator, const char **cells, size_t most)
{
	size_t count = 0;
	for (char *next = text; next && count < most;) {
		char *quote = *next == '"' ? strchr(next + 1, '"') : NULL;
		char *cell = next + strspn(next, " \""),
		     *end = strchr(quote ? quote : next, separator);
		next = end ? end + 1 : NULL;
		end = end ? end : cell + strlen(cell);
		while (end > cell && strchr(" \"\r", end[-1]))
			end--;
		if (end >= cell)
			*end = '\0';
		cells[count++] = cell;
	}
	return count;
}

bool has_word(const char *list, const char *word)
{
	size_t length = strlen(word);
	for (const char *at = list; length && (at = strstr(at, word)); at += length)
		if ((at == list || strchr(" ,", at[-1])) && strchr(" ,=", at[length]))
			return true;
	return false;
}
