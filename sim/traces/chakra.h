/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads an execution trace of Chakra (the .et file of one rank) as a recorded program.
 *
 * The file is a sequence of protobuf messages, each behind its length: the metadata, then a node
 * for each operation, with the nodes that it depends on (mlcommons/chakra, et_def.proto). The
 * messages are read here field by field, because fields are few and unknown ones are skipped.
 *
 * The nodes become a graph (graph.h). The GPU has a stream for kernels, one for collectives, one
 * for sends and one for receives. */
#pragma once

#include <stdio.h>

#include "sim/traces/profile.h"

struct diag;

/* world_count is the number of ranks of the job; 0: unknown. Returns NULL after an error. */
struct recorded_calls *chakra_read(struct arena *arena, struct diag *diag, FILE *in,
				   const char *path, uint32_t world_count,
				   struct profile_counts *counts);
