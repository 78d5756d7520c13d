/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A fuzz target is a function that gets unchecked bytes. It must hold its conditions for all of
 * them.
 *
 *   FUZZ_TARGET(data, size_B) { ... FUZZ_CHECK(condition that must hold); ... }
 *
 * One source makes two programs. With clang and -DFARWIRE_LIBFUZZER (`make fuzz`) libFuzzer
 * invents inputs and keeps those that reach new code. Without it, with any compiler, the program
 * replays the inputs in tests/fuzz/corpus/TARGET.tar. `make test` does this, so that no bug that
 * was found once returns. A crash, a false condition, a report of a sanitizer or a time-out is a
 * failed test, and the last name that the program prints is the input.
 *
 * An archive is a plain tar. The first command lists the inputs of a target, the second prints
 * one of them:
 *
 *   tar tf tests/fuzz/corpus/json.tar
 *   tar xOf tests/fuzz/corpus/json.tar NAME
 *
 * Readers of files get the bytes in a folder in memory (/dev/shm), if it exists. */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/base/num.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_B);

/* libconfig 1.5 does not free the text it was reading if a parse fails. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libconfig\nleak:strbuf_append"; /* as a shared library, and linked statically
						      */
}

static inline void fuzz_check(bool holds, const char *what, int line)
{
	if (holds)
		return;
	printf("  line %d: does not hold: %s\n", line, what);
	fflush(stdout);
	abort();
}
#define FUZZ_CHECK(condition) fuzz_check((condition), #condition, __LINE__)

/* Returns whether each error is a line that a terminal can show. */
static inline bool fuzz_readable(const struct diag *diag)
{
	for (size_t i = 0; i < diag_count(diag) && i < 20; i++)
		for (const char *c = diag_at(diag, i); *c; c++)
			if ((unsigned char)*c < ' ' || *c == 0x7f)
				return false;
	return true;
}

/* Checks that NULL came with an error and any other result without one. */
#define FUZZ_CHECK_ANSWER(answer, diag)                                                            \
	FUZZ_CHECK(((answer) == NULL) == (diag_count(diag) > 0) && fuzz_readable(diag))

#define FUZZ_TARGET(data, size_B)                                                                  \
	static void fuzz_one(const uint8_t *data, size_t size_B);                                  \
	int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)                             \
	{                                                                                          \
		fuzz_one(bytes, count);                                                            \
		return 0;                                                                          \
	}                                                                                          \
	static void fuzz_one(const uint8_t *data, size_t size_B)

/* Returns the input as a text, up to its first zero byte. */
static inline char *fuzz_text(struct arena *arena, const uint8_t *data, size_t size_B)
{
	char *text = arena_alloc(arena, size_B + 1);
	memcpy(text, data, size_B);
	return text;
}

/* ---- files ---- */

static char fuzz_folder[64];

static inline void fuzz_remove(const char *path)
{
	DIR *folder = opendir(path);
	for (struct dirent *entry; folder && (entry = readdir(folder));) {
		char inner[1024];
		int length = snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
		if (entry->d_name[0] != '.' && length < (int)sizeof inner)
			fuzz_remove(inner);
	}
	if (folder)
		closedir(folder);
	remove(path);
}

static inline void fuzz_folder_remove(void)
{
	fuzz_remove(fuzz_folder);
}

/* Returns the path of a file with this name in the folder of this process. */
static inline const char *fuzz_path(struct arena *arena, const char *name)
{
	if (!fuzz_folder[0]) {
		bool memory = access("/dev/shm", W_OK) == 0;
		snprintf(fuzz_folder, sizeof fuzz_folder, "%s/farwire-fuzz-XXXXXX",
			 memory ? "/dev/shm" : "/tmp");
		FUZZ_CHECK(mkdtemp(fuzz_folder) != NULL);
		atexit(fuzz_folder_remove);
	}
	return arena_printf(arena, "%s/%s", fuzz_folder, name);
}

/* Opens a file with this name for writing. */
static inline FILE *fuzz_create(struct arena *arena, const char *name)
{
	FILE *file = fopen(fuzz_path(arena, name), "wb");
	FUZZ_CHECK(file != NULL);
	return file;
}

/* Writes a file with this name. */
static inline const char *fuzz_file(struct arena *arena, const char *name, const void *data,
				    size_t size_B)
{
	FILE *file = fuzz_create(arena, name);
	FUZZ_CHECK(fwrite(data, 1, size_B, file) == size_B && fclose(file) == 0);
	return fuzz_path(arena, name);
}

/* Returns the bytes as an open file. */
static inline FILE *fuzz_open(const uint8_t *data, size_t size_B)
{
	static const char empty[] = "\n";
	FILE *in = size_B ? fmemopen((void *)(uintptr_t)data, size_B, "rb")
			  : fmemopen((void *)(uintptr_t)empty, 1, "rb");
	FUZZ_CHECK(in != NULL);
	return in;
}

/* Removes the next part from *text and returns it. Parts are separated by lines "---"; after the
 * last one it returns "". */
static inline char *fuzz_part(char **text)
{
	char *part = *text, *end = strstr(part, "\n---\n");
	*text = end ? end + 5 : part + strlen(part);
	if (end)
		end[1] = '\0';
	return part;
}

/* ---- replay ---- */

#ifndef FARWIRE_LIBFUZZER

/* Reads a whole file. The caller frees the result, which is NULL after an error. */
static inline uint8_t *fuzz_read(const char *path, size_t *size_B)
{
	struct stat status;
	FILE *file = fopen(path, "rb");
	if (!file || fstat(fileno(file), &status) != 0)
		return NULL;
	uint8_t *bytes = malloc((size_t)status.st_size + 1);
	*size_B = bytes ? fread(bytes, 1, (size_t)status.st_size, file) : 0;
	fclose(file);
	return bytes;
}

/* Runs the target on a copy of exactly this size, so that a sanitizer detects reads past the end.
 */
static inline void fuzz_replay(const char *name, const uint8_t *bytes, size_t size_B)
{
	uint8_t *own = malloc(size_B + (size_B == 0));
	FUZZ_CHECK(own != NULL);
	memcpy(own, bytes, size_B);
	printf("  %s\n", name);
	fflush(stdout);
	LLVMFuzzerTestOneInput(own, size_B);
	free(own);
}

/* Replays the files of a ustar archive in their order, or only prints their names. Returns whether
 * the archive is complete and contains a file. A header of 512 bytes has the name at 0 and the size
 * in octal at 124. The content follows, padded to 512 bytes, and a zero block ends the archive. */
static inline bool fuzz_replay_archive(const char *path, bool only_names)
{
	enum { BLOCK_B = 512, SIZE_AT = 124, MAGIC_AT = 257 };
	size_t archive_B = 0, at = 0, count = 0, size_B = 0;
	uint8_t *archive = fuzz_read(path, &archive_B);
	for (; at + BLOCK_B <= archive_B && archive[at]; count++) {
		const char *header = (const char *)archive + at;
		size_B = strtoul(header + SIZE_AT, NULL, 8);
		if (memcmp(header + MAGIC_AT, "ustar", 5) != 0 || size_B > archive_B - at - BLOCK_B)
			break;
		if (only_names)
			printf("%s\n", header);
		else
			fuzz_replay(header, archive + at + BLOCK_B, size_B);
		at += BLOCK_B + (size_B + BLOCK_B - 1) / BLOCK_B * BLOCK_B;
	}
	bool whole = count > 0 && at + BLOCK_B <= archive_B && !archive[at];
	free(archive);
	return whole;
}

/* fuzz/units [--list | FILE...]: replays these files, or the corpus of the target, or prints the
 * names of the corpus. */
int main(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];
	bool only_names = argc > 1 && strcmp(argv[1], "--list") == 0, fine = true;
	char corpus[256];
	snprintf(corpus, sizeof corpus, "tests/fuzz/corpus/%s.tar", name);
	num_init();
	if (argc == 1 || only_names)
		fine = fuzz_replay_archive(corpus, only_names);
	for (int i = 1; i < argc && !only_names && fine; i++) {
		size_t size_B = 0;
		uint8_t *bytes = fuzz_read(argv[i], &size_B);
		fine = bytes != NULL;
		if (fine)
			fuzz_replay(argv[i], bytes, size_B);
		free(bytes);
	}
	if (!only_names || !fine)
		printf("%s fuzz.%s\n", fine ? "ok" : "FAIL", name);
	return !fine;
}

#else

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	num_init();
	return 0;
}

#endif
