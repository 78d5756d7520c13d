/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs a sweep on several ranks. Rank 0 has the queue, the journal and the output, and computes
 * points, too. The other ranks take a few points at a time and send each one back when it is
 * finished, so that no rank waits for a slower one. Only the sweep uses this function;
 * sweep_help and sweep_dismiss are in sweep.h. */
#pragma once

#include "sim/analysis/ranks.h"
#include "sim/analysis/sweep_queue.h"

/* Runs on rank 0: gives points of the queue to the other ranks, each with `jobs` threads, until
 * all these threads have been told that no point is left. */
void ranks_serve(const struct ranks *ranks, unsigned jobs, struct sweep_queue *queue);
