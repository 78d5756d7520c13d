/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A job whose ranks play a recording of one of its ranks, or of several.
 *
 * Rank i plays the recording of rank i. If that rank was not recorded, it plays another one, in
 * turn. The groups of a recorded rank say which groups the other ranks have: a group of `count`
 * ranks with the distance `stride` repeats, so that all groups together cover the job. This is how
 * frameworks number the ranks of tensor, data and pipeline parallelism. A group whose ranks span
 * the recorded job spans a job of another size, too. So data parallelism grows with the job, and
 * tensor parallelism does not. */
#pragma once

#include "sim/cuda/program.h"
#include "sim/traces/recorded.h"

struct diag;
struct origin;

struct recorded_shape {
	uint32_t count, stride;
	uint32_t first_communicator; /* 0 for the group of all ranks */
};

struct recorded_job {
	size_t rank_count;
	const struct recorded_calls **ranks; /* by rank of the job: what it plays */
	struct recorded_shape *shapes;
	size_t shape_count;
	const struct program_group *groups; /* communicator i + 1 has the members of groups[i] */
	size_t group_count;
	/* With a fold, by shape and simulated rank: number of its communicator. Otherwise NULL. */
	const uint32_t *const *of;
};

/* Returns true if the call is a collective of known size, or a message. */
bool recorded_has_peers(const struct recorded_call *call);
/* Returns true if a rank of the recording has such a call in its recorded program. */
bool recorded_calls_peers(const struct recorded_calls *recorded);
/* Returns true if a rank sends a message to another one. */
bool recorded_has_messages(const struct recorded_calls *recorded);
/* Returns the number of a rank's communicator of that shape; 0: all ranks. */
uint32_t recorded_job_group(const struct recorded_job *job, const struct recorded_shape *shape,
			    size_t rank);
/* Returns NULL after an error. */
const struct recorded_job *recorded_job_new(struct arena *arena, struct diag *diag,
					    struct origin origin,
					    const struct recorded_calls *recorded,
					    size_t rank_count);
/* Sets the communicator of a collective, or the other rank of a message. Returns false if the group
 * has only one rank, so there is nothing to simulate. */
bool recorded_job_peer(const struct recorded_job *job, size_t rank,
		       const struct recorded_call *call, uint32_t *peer);
