/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/base/lines.h"

#include <errno.h>
#include <sys/stat.h>
#include "sim/base/base.h"

FILE *file_open(struct diag *diag, struct origin origin, const char *path)
{
	struct stat status;
	bool endless =
		stat(path, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode));
	FILE *in = endless ? NULL : fopen(path, "rb");
	if (!in)
		diag_error(diag, origin, "the file cannot be read: %s",
			   endless ? "it is a pipe or a device, which may never end (name a file)"
				   : strerror(errno));
	return in;
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
