/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads and writes call files: a recorded program as JSON Lines, version 1 (docs/formats.md). The
 * call files of several ranks, one after the other, are a call file of their job. */
#pragma once

#include "sim/traces/recorded.h"

struct diag;

/* A file with more threads in a rank is refused. */
enum { RECORDED_THREADS_MAX = 4096 };

/* Returns NULL after an error, which is in diag with its line. */
const struct recorded_calls *call_file_read(struct arena *arena, struct diag *diag,
					    const char *path);
/* Writes settled calls (recorded_calls_settle) in the order in which they begin. program is the
 * name of the recorded program, or NULL. */
void call_file_write(FILE *out, struct arena *arena, const struct recorded_calls *recorded,
		     const char *program);
