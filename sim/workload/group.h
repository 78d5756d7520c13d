/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The GROUP of a job whose ranks are played call by call: its GPUs, and the collectives and
 * messages between them.
 *
 * Members are the GPUs of the job, numbered from 0 over all ranks. An all-reduce is one of
 * all members. The n-th collective that each member calls is the same one; a member that
 * calls another kind or size there fails the job, as it would hang a real one. A message
 * goes from a member to another. The n-th send from a to b meets the n-th receive at b from
 * a. Both GPUs are in it until the bytes have arrived, because NCCL's send and receive are
 * kernels that wait for each other. A message travels as a broadcast between the two GPUs,
 * with the library's protocols and hops.
 */
#ifndef FARWIRE_WORKLOAD_GROUP_H
#define FARWIRE_WORKLOAD_GROUP_H

#include "sim/collective/communicator.h"
#include "sim/cuda/program.h"

struct group;
struct group_spec {
	struct communicator_spec comm; /* ranks: the members; failed: also for calls that do not
					  match */
	const struct program *const *programs; /* of each rank: the messages that they hold */
	size_t program_count;
	const size_t *first_members; /* by rank: the number of its first GPU */
};
/* NULL: there is no way between two members; failed has been called. */
struct group *group_new(const struct group_spec *spec);
/* Opens the connections of all collectives and messages, then fn. */
void group_open(struct group *group, event_fn *fn, void *ctx, uint64_t arg);
/* Calls name their peers as members of the group. */
struct cuda_peers *group_peers(struct group *group);

/* Over all collectives and messages. */
struct communicator_counters group_counters(const struct group *group);
/* The library's choice for an all-reduce; NULL for 0 bytes. */
const char *group_choice_text(struct group *group, double size_B);
/* Tells the fabric what the messages have carried, once, at the end of a run. */
void group_account(const struct group *group);
const char *group_waiting(const struct group *group, struct arena *arena);

#endif
