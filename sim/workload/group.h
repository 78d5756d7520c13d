/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The GROUP of a job whose ranks are simulated call by call: its GPUs, and the collectives and
 * messages between them.
 *
 * Members are the GPUs of the job, numbered from 0 over all ranks. A communicator is a set of
 * members that do collectives together: number 0 has all members, the others have some of them. The
 * n-th collectives of its members are the same collective. If their kinds or sizes differ, the
 * job fails; a real job would hang. A message goes from one member to another. The n-th send
 * from a to b matches the n-th receive at b from a. It occupies both GPUs until the bytes have
 * arrived, because NCCL's send and receive are kernels that wait for each other. A message
 * travels as a broadcast between the two GPUs, with the library's protocols and hops.
 *
 * With a fold (sim/collective/fold.h), members are the simulated ranks, and calls and groups name
 * any ranks. A communicator then has the fold of its part of the job.
 */
#pragma once

#include "sim/collective/communicator.h"
#include "sim/cuda/program.h"

struct group;
/* Sets the collective of that kind of call. Returns false for other kinds. */
bool group_collective(enum call_kind kind, enum collective *collective);
struct group_spec {
	/* ranks are the members; failed is also called for calls that do not match. */
	struct communicator_spec comm;
	const struct program *const
		*programs; /* by rank: the program, in which group_new finds messages */
	size_t program_count;
	const size_t *first_members;        /* by rank: member number of its first GPU */
	const struct program_group *groups; /* communicator i + 1 has the members of groups[i] */
	size_t group_count;
};
/* Returns NULL after it has called failed, if no route connects two members. */
struct group *group_new(const struct group_spec *spec);
/* Opens the connections of all collectives and messages, then calls fn. */
void group_open(struct group *group, event_fn *fn, void *ctx, uint64_t arg);
/* cuda_call.peer is a member number of the group. */
struct cuda_peers *group_peers(struct group *group);

/* Returns the sum over all collectives and messages. */
struct communicator_counters group_counters(const struct group *group);
/* Returns the library's choice for an all-reduce, or NULL for 0 bytes. */
const char *group_choice_text(struct group *group, double size_B);
/* Adds the bytes of all messages to the fabric's counters. Call it once, at the end of a run. */
void group_account(const struct group *group);
/* Returns what the group waits for. */
const char *group_waiting(const struct group *group, struct arena *arena);
