/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Simulates a checkpoint of a plan on its system (docs/models/goodput.md).
 *
 * Each writing rank copies its part of the state to its host over the GPU's link. Then a thread of
 * it serialises these bytes and writes them to the storage of checkpoints. All ranks do this at the
 * same time, so they share links, cores, memory and the storage. After a failure all ranks read
 * their part at the same time.
 */
#pragma once

#include "sim/scenario/scenario.h"

struct checkpoint_times {
	double size_B; /* of the whole checkpoint */
	double copy_s, write_s, read_s;
	const char *why; /* why it cannot be written; NULL: it can */
};
/* The scenario has a long run. */
struct checkpoint_times checkpoint_simulate(const struct scenario *scenario);
/* Return the machines of the first job, their network links, and the spare machines. */
size_t checkpoint_machines(const struct scenario *scenario);
double checkpoint_links_count(const struct scenario *scenario);
size_t checkpoint_spares(const struct scenario *scenario);
