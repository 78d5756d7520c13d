/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A sweep over many ranks. The first has the queue, the journal and the output, and
 * computes as well. The others ask it for a few points at a time and send each back when
 * it is done, so that no rank waits for a slow one. Private to the sweep; sweep_help and
 * sweep_dismiss are in sweep.h.
 */
#ifndef FARWIRE_ANALYSIS_SWEEP_RANKS_H
#define FARWIRE_ANALYSIS_SWEEP_RANKS_H

#include "sim/analysis/ranks.h"
#include "sim/analysis/sweep_queue.h"

/* On the first rank: gives points of the queue to the others, which have jobs
 * threads each, until all of those have been told that none are left. */
void ranks_serve(const struct ranks *ranks, unsigned jobs, struct sweep_queue *queue);

#endif
