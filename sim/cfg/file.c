/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <sys/stat.h>

#include "sim/cfg/text.h"
#include "sim/base/lines.h"

enum { FILE_MAX_B = 16 * 1024 * 1024 };

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
		if (text.count > FILE_MAX_B) {
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
	return status->st_size > 0 && status->st_size <= FILE_MAX_B ? (size_t)status->st_size : 0;
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
