/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Call files: a recorded program as JSON Lines, version 1 (docs/formats.md). */
#ifndef FARWIRE_TRACES_CALL_FILE_H
#define FARWIRE_TRACES_CALL_FILE_H

#include <stdio.h>

#include "sim/traces/recorded.h"

struct arena;
struct diag;

/* A file with more threads is broken. */
enum { RECORDED_THREADS_MAX = 4096 };

/* NULL after an error (in diag, with the line). */
const struct recorded_calls *call_file_read(struct arena *arena, struct diag *diag,
					    const char *path);
/* Settled calls, in the order of their begin. program: what was recorded, or
 * NULL. */
void call_file_write(FILE *out, struct arena *arena, const struct recorded_calls *recorded,
		     const char *program);

#endif
