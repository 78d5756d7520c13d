/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The record of a collective in a trace: its kind, its bytes and its group.
 *
 * PyTorch's profiler writes this in three ways, of which a trace has one or none:
 * - into the arguments of NCCL's kernel (since 2.3);
 * - into an event record_param_comms of the host, which contains the kernel's launch;
 * - as the shapes of the tensors of an event nccl:all_reduce, which also contains the launch (with
 *   record_shapes).
 * Sizes are those of the larger buffer of a rank, as in nccl-tests. */
#pragma once

#include "sim/json/document.h"
#include "sim/traces/recorded.h"

struct collective_record {
	const char *function;       /* "ncclAllReduce"; NULL: unknown */
	double in_count, out_count; /* elements of a rank's buffers; < 0: unknown */
	double group_count;         /* ranks of the group; <= 0: unknown */
	double first, stride;       /* first rank and distance of ranks; < 0: unknown */
	double peer;      /* other rank of a message, counted in the group; < 0: unknown */
	double element_B; /* size of an element; 0: unknown */
	double shapes_B;  /* bytes of the input tensors; < 0: unknown */
	bool uneven;      /* the ranks of the group are listed, but not evenly spaced */
};

struct collective_record collective_record_new(void);
/* Returns NULL for an unknown kind. Accepts names with and without "nccl:", "_" and capitals. */
const char *collective_function(const char *name);
/* Takes an argument of an event, if its key is about a collective. */
void collective_record_take(struct collective_record *record, const struct json *argument);
/* Fills a call. world_count is the number of ranks of the job, 0 if unknown. Returns false if the
 * record has no size or no usable group. It has a kind. */
bool collective_record_apply(const struct collective_record *record, uint32_t world_count,
			     struct recorded_call *call);
