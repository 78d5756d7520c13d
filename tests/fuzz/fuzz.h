/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A fuzz target: bytes that nobody checked go in, a promise must hold.
 *
 *   FUZZ_TARGET(data, size_B) { ... FUZZ_CHECK(what must hold); ... }
 *
 * One source makes two programs. With clang and -DFARWIRE_LIBFUZZER (`make fuzz`) libFuzzer
 * invents inputs and keeps those that reach new code. Without it, with any compiler, the
 * program replays tests/fuzz/corpus/<target>/, which is how `make test` guards every bug that
 * was found once: a crash, a broken promise, a sanitizer's report or a time-out is a failed
 * test, and the last file that it names is the input.
 *
 * Readers of files get them from a folder in memory where there is one (/dev/shm).
 */
#ifndef FARWIRE_TESTS_FUZZ_H
#define FARWIRE_TESTS_FUZZ_H

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
#include "sim/base/vec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_B);

/* libconfig 1.5 forgets the text it was reading when a parse fails. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libconfig";
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

/* Whether errors, if there are some, are each a line that a terminal may show. */
static inline bool fuzz_readable(const struct diag *diag)
{
	for (size_t i = 0; i < diag_count(diag) && i < 20; i++)
		for (const char *c = diag_at(diag, i); *c; c++)
			if ((unsigned char)*c < ' ' || *c == 0x7f)
				return false;
	return true;
}

/* NULL came with an error, anything else without one. */
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

/* The input as a text: up to its first zero byte. */
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

/* The path in arena of a file of that name in a folder of this process. */
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

/* Such a file, to be written. */
static inline FILE *fuzz_create(struct arena *arena, const char *name)
{
	FILE *file = fopen(fuzz_path(arena, name), "wb");
	FUZZ_CHECK(file != NULL);
	return file;
}

/* Writes such a file. */
static inline const char *fuzz_file(struct arena *arena, const char *name, const void *data,
				    size_t size_B)
{
	FILE *file = fuzz_create(arena, name);
	FUZZ_CHECK(fwrite(data, 1, size_B, file) == size_B && fclose(file) == 0);
	return fuzz_path(arena, name);
}

/* The bytes as a file that is open. */
static inline FILE *fuzz_open(const uint8_t *data, size_t size_B)
{
	static const char empty[] = "\n";
	FILE *in = size_B ? fmemopen((void *)(uintptr_t)data, size_B, "rb")
			  : fmemopen((void *)(uintptr_t)empty, 1, "rb");
	FUZZ_CHECK(in != NULL);
	return in;
}

/* Cuts off the next part of *text, parts being between lines "---"; "" after the last. */
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

static inline int fuzz_by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static inline bool fuzz_replay(const char *path)
{
	struct stat status;
	FILE *file = fopen(path, "rb");
	if (!file || fstat(fileno(file), &status) != 0)
		return false;
	/* of its own size, so that a sanitizer sees a step past its end */
	uint8_t *bytes = malloc((size_t)status.st_size + (status.st_size == 0));
	size_t size_B = bytes ? fread(bytes, 1, (size_t)status.st_size, file) : 0;
	fclose(file);
	printf("  %s\n", path);
	fflush(stdout);
	LLVMFuzzerTestOneInput(bytes, size_B);
	free(bytes);
	return true;
}

/* fuzz/units [FILE...]: these, or else the corpus of that name. */
int main(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];
	struct arena *arena = arena_new();
	VEC(char *) paths = {0};
	num_init();
	for (int i = 1; i < argc; i++)
		*VEC_PUSH(arena, &paths) = argv[i];
	const char *corpus = arena_printf(arena, "tests/fuzz/corpus/%s", name);
	DIR *folder = argc == 1 ? opendir(corpus) : NULL;
	for (struct dirent *entry; folder && (entry = readdir(folder));)
		if (entry->d_name[0] != '.')
			*VEC_PUSH(arena, &paths) =
				arena_printf(arena, "%s/%s", corpus, entry->d_name);
	if (folder)
		closedir(folder);
	if (paths.count > 0)
		qsort(paths.items, paths.count, sizeof *paths.items, fuzz_by_name);
	bool fine = paths.count > 0;
	for (size_t i = 0; i < paths.count && fine; i++)
		fine = fuzz_replay(paths.items[i]);
	printf("%s fuzz.%s\n", fine ? "ok" : "FAIL", name);
	arena_free(arena);
	return !fine;
}

#else

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	num_init();
	return 0;
}

#endif
#endif
