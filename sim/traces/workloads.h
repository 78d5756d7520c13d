/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads workloads of other simulators as recorded programs.
 *
 * Text workloads of ASTRA-sim 1 and SimAI (AICB): line 1 has the parallelism, line 2 the number of
 * layers. Each further line is a layer: its name, a dependency, three passes, and the time of the
 * update. A pass (forward, input gradients, weight gradients) is a computation, a kind of
 * collective and its bytes. Rank 0 is the recorded rank. The order of passes is that of
 * ASTRA-sim (Workload.cc): collectives of weight gradients run beside the backward pass, and the
 * step ends with the updates. Other collectives let the next computation wait.
 *
 * GOAL, the schedules of LogGOPSim: for each rank its sends, receives and computations, and which
 * of them requires which. */
#pragma once

#include <stdio.h>

#include "sim/traces/profile.h"

struct diag;

/* parts: all-gathers have the bytes of one rank (ASTRA-sim), not of all (SimAI). These functions
 * return NULL after an error. */
struct recorded_calls *layers_read(struct arena *arena, struct diag *diag, FILE *in,
				   const char *path, bool parts, struct profile_counts *counts);
struct recorded_calls *goal_read(struct arena *arena, struct diag *diag, FILE *in, const char *path,
				 struct profile_counts *counts);
