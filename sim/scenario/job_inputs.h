/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds the input pipelines of ranks: storages, which jobs may share, readers and copying
 * threads. */
#pragma once

#include "sim/base/vec.h"
#include "sim/scenario/system.h"

struct storage_place;

/* The reader of a rank. Ranks of one process share it and its copying threads. */
struct rank_reader {
	size_t host;
	struct storage *storage; /* NULL: no storage */
	struct input_process *process;
	unsigned number;
};

struct job_inputs {
	struct system *system;
	VEC(struct storage_place) storages;
	unsigned reader_count;
};

/* Returns the reader of a rank on that host. `before` is the reader of the previous rank; NULL:
 * it is the first rank. */
struct rank_reader job_inputs_reader(struct job_inputs *inputs, const struct job_entry *entry,
				     size_t host, const struct rank_reader *before);
/* Returns the storage of that name in the machine `host`, or the one that all machines share. */
struct storage *job_inputs_storage(struct job_inputs *inputs, const struct storage_params *params,
				   const char *name, size_t host);
/* Returns true if the ranks of these numbers are in one process. */
bool job_inputs_joined(const struct job_inputs *inputs, const struct job_entry *entry, size_t a,
		       size_t b);
/* Builds the input pipeline of a rank. batch_B is the number of bytes that a step copies to the
 * GPU. */
struct input *job_inputs_build(struct job_inputs *inputs, const struct scenario *scenario,
			       const struct job_entry *entry, size_t rank,
			       const struct rank_reader *reader, struct cpu *core, double batch_B);
