/* SPDX-License-Identifier: Apache-2.0 */
/* A team of threads that do the same work at once, round after round. The caller is the first
 * member, so a team of one creates no thread. The time of a round is from the first start to the
 * last end. It does not contain the time to wake the other threads. */
#pragma once

#include <stddef.h>

#define TEAM_MOST 16

struct team;
/* Returns NULL if memory or threads are missing. work() gets the index of its member and returns 0
 * or a code. */
struct team *team_new(size_t count, int (*work)(void *context, size_t member), void *context);
/* Runs one round. Returns 0, or the first member's nonzero code. */
int team_round(struct team *team, double *span_s);
void team_free(struct team *team); /* accepts NULL */
