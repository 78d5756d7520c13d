/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that do the same work at once, round after round; the caller is the
 * first of them, so a team of one has no thread beside. The time of a round is
 * from the first start to the last end, so waking the others is not in it. */
#ifndef FARWIRE_CALIB_HOST_TEAM_H
#define FARWIRE_CALIB_HOST_TEAM_H

#include <stddef.h>

#define TEAM_MOST 16

struct team;
/* NULL: no memory or no thread. work() gives 0 or a code, for which member it is told. */
struct team *team_new(size_t count, int (*work)(void *context, size_t member), void *context);
/* One round: 0, or the first member's code that is not. */
int team_round(struct team *team, double *span_s);
void team_free(struct team *team); /* or NULL */

#endif
