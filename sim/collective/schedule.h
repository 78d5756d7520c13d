/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A collective as a schedule: a directed graph of sends, reductions and copies
 * on chunks.
 *
 * Each RANK has a buffer that is cut into the same CHUNKS. A step belongs to a
 * rank and begins when the rank has arrived and all steps it comes AFTER are
 * over:
 *
 *   SEND    the rank's present value of a chunk travels to `peer`; over when
 *           it lies in a receive buffer there (the receive is the edge from the
 *           send to the step at the peer that takes it)
 *   REDUCE  adds what send `source` brought to the rank's own chunk
 *   COPY    stores what send `source` brought as the rank's own chunk; without
 *           a source it is a copy inside the rank's memory
 *
 * Sends of one rank to one peer on one CHANNEL travel one behind the other, in
 * the order in which they may begin; different channels (rings, trees) travel
 * side by side and share what links they share.
 *
 * Any graph can be run (communicator.h) and any can be checked by its meaning
 * (tests/schedule_meaning.h), so a new algorithm is only a file that builds one.
 */
#ifndef FARWIRE_COLLECTIVE_SCHEDULE_H
#define FARWIRE_COLLECTIVE_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/registry.h"

struct arena;

enum collective {
	COLLECTIVE_ALL_REDUCE,
	COLLECTIVE_REDUCE_SCATTER, /* rank r ends with the sum of its own part */
	COLLECTIVE_ALL_GATHER,
	COLLECTIVE_BROADCAST,
	COLLECTIVE_ALL_TO_ALL,
	COLLECTIVE_COUNT,
};
struct collective_kind {
	const char *name, *help;
	const char *measured; /* its name in nccl-tests */
	enum collective collective;
};
REGISTRY_OF(struct collective_kind, collective_kind);
const char *collective_name(enum collective collective); /* "all_reduce" */
/* Bus bandwidth over algorithm bandwidth for n ranks, as nccl-tests defines
 * them: algorithm bandwidth is size / time with size the whole buffer (of
 * all_gather and reduce_scatter the larger one). */
double collective_bus_ratio(enum collective collective, size_t rank_count);

enum step_kind { STEP_SEND, STEP_REDUCE, STEP_COPY };

#define NO_STEP UINT32_MAX

/* A step that is done again and again, of a folded schedule (fold.h). Of a send: `rounds`
 * times it sends `span` chunks one behind the other; each round but the first comes
 * after the same round of `carried`, a reduction or copy of its own rank that has as many
 * and takes, each time, all that its source sent. Others come after the last round. */
struct schedule_loop {
	uint32_t rounds; /* 0: no loop */
	uint32_t span, carried;
};

struct schedule_step {
	uint8_t kind; /* enum step_kind */
	uint16_t channel;
	uint32_t rank;
	uint32_t peer; /* of a send: the receiver */
	uint32_t chunk;
	uint32_t source;                   /* of a reduction or copy: the send; NO_STEP: none */
	uint32_t after_first, after_count; /* of schedule.after; a source is not listed */
};

struct schedule {
	enum collective collective;
	size_t rank_count, channel_count, chunk_count, step_count;
	const double *chunk_B;             /* size of each chunk */
	const struct schedule_step *steps; /* every step behind all it comes after */
	const uint32_t *after;
	/* Of a folded one ranks are the simulated ones, peers any. By step; NULL: no loops. */
	const struct schedule_loop *loops;
};

struct fold;
struct schedule_builder;
struct schedule_builder *schedule_builder_new(struct arena *arena, enum collective collective,
					      size_t rank_count, size_t channel_count,
					      size_t chunk_count, const double *chunk_B);
/* The schedule is only counted while the fold's classes are sought, else only the simulated
 * ranks' steps are kept. NULL: nothing is folded. Before the first step. */
void schedule_fold(struct schedule_builder *builder, const struct fold *fold);
bool schedule_is_folded(const struct schedule_builder *builder);
/* Of a folded schedule: the send that was added, and the reduction or copy that its rank
 * adds next, are a loop; and so is the latter. */
void schedule_repeat(struct schedule_builder *builder, uint32_t step, size_t rounds, size_t span);
/* Room for so many steps and edges in all, so that large schedules are built
 * without growing. Optional, before the first step. */
void schedule_reserve(struct schedule_builder *builder, size_t step_count, size_t after_count);
/* Each returns the new step's index. NO_STEP among after[count] is left out. A
 * step comes after steps of its own rank or sends to it: a rank knows no others. */
uint32_t schedule_send(struct schedule_builder *builder, size_t rank, size_t peer, size_t chunk,
		       size_t channel, const uint32_t *after, size_t after_count);
uint32_t schedule_reduce(struct schedule_builder *builder, size_t rank, size_t chunk,
			 size_t channel, uint32_t source, const uint32_t *after,
			 size_t after_count);
uint32_t schedule_copy(struct schedule_builder *builder, size_t rank, size_t chunk, size_t channel,
		       uint32_t source, const uint32_t *after, size_t after_count);
const struct schedule *schedule_finish(struct schedule_builder *builder);

#endif
