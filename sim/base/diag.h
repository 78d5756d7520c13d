/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is wrong with the input, and where.
 *
 * Input errors are collected, not printed one by one: a reader goes on after
 * an error as far as makes sense, and the user sees up to 20 of them at once,
 * each as
 *
 *   file:line: thing 'name': what is wrong (what to write instead)
 *
 * Programmer errors are FW_ASSERTs and stay on in release builds.
 */
#ifndef FARWIRE_BASE_DIAG_H
#define FARWIRE_BASE_DIAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct arena;

/* Where a value was written. file NULL: built in; line 0: no line (a --set). */
struct origin {
	const char *file;
	int line;
};

struct diag;

/* Errors whose texts are kept. */
enum { DIAG_KEPT = 20 };

struct diag *diag_new(struct arena *arena);
void diag_error(struct diag *diag, struct origin origin, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Errors seen, also those past the twentieth, which are counted only. What was said already, of the
 * same place, counts once. */
size_t diag_count(const struct diag *diag);
/* The text of error index < min(count, DIAG_KEPT), "file:line: what": one line without control
 * characters, whatever it quotes. */
const char *diag_at(const struct diag *diag, size_t index);
/* A reader says what it read, in order, so that diag_read can tell other input
 * from this: a hash (hash.h) of all of it. */
void diag_reads(struct diag *diag, const void *bytes, size_t size_B);
uint64_t diag_read(const struct diag *diag);
void diag_print(const struct diag *diag, FILE *out);

/* The nearest of count candidates to word by edit distance (Damerau), or NULL
 * when none is near enough to be a likely slip: for "did you mean 'x'?". */
const char *diag_nearest(const char *word, const char *const *candidates, size_t count);

/* A broken contract inside the program: prints and aborts, in release too. */
#define FW_ASSERT(condition)                                                                       \
	((condition) ? (void)0 : fw_assert_failed(#condition, __FILE__, __LINE__))
_Noreturn void fw_assert_failed(const char *condition, const char *file, int line);

#endif
