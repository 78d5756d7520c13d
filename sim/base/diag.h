/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Diagnostics: collects the errors in the user's input, each with its place.
 *
 * A reader does not stop at the first error. It continues as far as possible, and the user sees up
 * to DIAG_KEPT errors at once, in this form:
 *
 *   file:line: thing 'name': what is wrong (what to write instead)
 *
 * Programming errors are not diagnostics. FW_ASSERT reports them, also in release builds.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct arena;

/* The place where a value was written. file is NULL for a built-in value; line is 0 for a value
 * without a line (--set). */
struct origin {
	const char *file;
	int line;
};

struct diag;

/* number of errors whose texts are kept */
enum { DIAG_KEPT = 20 };

struct diag *diag_new(struct arena *arena);
/* Adds an error. diag_error is false, so that a reader that fails can return it; as a macro it
 * shows that to the analyzer. */
#define diag_error(...) (diag_add(__VA_ARGS__), diag_false())
/* The same for a reader that then returns NULL. */
#define diag_null(...) (diag_add(__VA_ARGS__), NULL)
void diag_add(struct diag *diag, struct origin origin, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static inline bool diag_false(void)
{
	return false;
}
/* Returns the number of errors, including those after the first DIAG_KEPT, which are only counted.
 * A repeated error about the same place counts once. */
size_t diag_count(const struct diag *diag);
/* Returns the text of an error as one line, "file:line: message". index must be smaller than
 * min(count, DIAG_KEPT). Control characters in quoted input are replaced by spaces. */
const char *diag_at(const struct diag *diag, size_t index);
/* Adds bytes that a reader has read to a hash (hash.h). Readers call it in the order of reading, so
 * that diag_read returns different values for different inputs. */
void diag_reads(struct diag *diag, const void *bytes, size_t size_B);
uint64_t diag_read(const struct diag *diag);
void diag_print(const struct diag *diag, FILE *out);

/* Returns the candidate that is nearest to word by edit distance (Damerau). If none is near
 * enough to be a likely typing error, it returns the shortest one that begins with the word or
 * contains it after a hyphen, or NULL. Callers use it for "did you mean 'x'?". */
const char *diag_nearest(const char *word, const char *const *candidates, size_t count);

/* Checks a contract inside the program. A violation prints the condition and aborts, also in
 * release builds. */
#define FW_ASSERT(condition)                                                                       \
	((condition) ? (void)0 : fw_assert_failed(#condition, __FILE__, __LINE__))
_Noreturn void fw_assert_failed(const char *condition, const char *file, int line);
