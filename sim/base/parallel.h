/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls a function for each of several numbers, on several threads. */
#pragma once

#include <stddef.h>

/* Calls work(ctx, i) for each i below count, in ascending order, on up to `jobs` threads. The
 * caller is one of them. If the system starts fewer threads, these make all calls. Returns when all
 * calls have returned. */
void parallel_each(unsigned jobs, size_t count, void (*work)(void *ctx, size_t index), void *ctx);
