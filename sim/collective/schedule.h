/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A collective as a schedule: a directed graph of sends, reductions and copies of chunks.
 *
 * Each rank has a buffer that is divided into the same chunks. A step belongs to a rank. It begins
 * when the rank has arrived and all steps that it depends on have ended:
 *
 *   SEND    the rank's current value of a chunk travels to `peer`; the step ends when
 *           it is in a receive buffer there (the receive is the edge from the send to
 *           the step at the peer that uses it)
 *   REDUCE  adds the data of send `source` to the rank's own chunk
 *   COPY    stores the data of send `source` as the rank's own chunk; without a
 *           source it is a copy inside the rank's memory
 *
 * Sends of one rank to one peer on one channel follow each other in the order in which they may
 * begin. Different channels (rings, trees) run in parallel and share common links.
 *
 * Any graph can be executed (communicator.h) and checked symbolically (tests/schedule_meaning.h),
 * so a new algorithm is only a file that builds a graph.
 */
#pragma once

#include "sim/base/base.h"
#include "sim/base/registry.h"

enum collective {
	COLLECTIVE_ALL_REDUCE,
	COLLECTIVE_REDUCE_SCATTER, /* rank r gets the sum of its own part */
	COLLECTIVE_ALL_GATHER,
	COLLECTIVE_BROADCAST,
	COLLECTIVE_ALL_TO_ALL,
	COLLECTIVE_COUNT,
};
struct collective_kind {
	const char *name, *help;
	const char *measured; /* name of the collective in nccl-tests */
	enum collective collective;
};
REGISTRY_OF(struct collective_kind, collective_kind);
const char *collective_name(enum collective collective); /* for example "all_reduce" */
/* Returns bus bandwidth divided by algorithm bandwidth for n ranks, as defined by nccl-tests.
 * Algorithm bandwidth is size / time, where size is the whole buffer (the larger one for all_gather
 * and reduce_scatter). */
double collective_bus_ratio(enum collective collective, size_t rank_count);

enum step_kind { STEP_SEND, STEP_REDUCE, STEP_COPY };

#define NO_STEP UINT32_MAX

/* A repeated step of a folded schedule (fold.h). A send sends `span` chunks in sequence, `rounds`
 * times. Each round except the first follows the same round of `carried`. That is a reduction or
 * copy of its own rank with as many rounds, which uses all chunks of its source in each round.
 * Other steps follow the last round. */
struct schedule_loop {
	uint32_t rounds; /* 0: not repeated */
	uint32_t span, carried;
};

struct schedule_step {
	uint8_t kind; /* enum step_kind */
	bool twin;    /* a send that uses nothing at the sender; see schedule.c */
	uint16_t channel;
	uint32_t rank;
	uint32_t peer; /* sends only: the receiver */
	uint32_t chunk;
	uint32_t source;                   /* reductions and copies only: the send; NO_STEP: none */
	uint32_t after_first, after_count; /* range in schedule.after; a source is not listed */
};

struct schedule {
	enum collective collective;
	size_t rank_count, channel_count, chunk_count, step_count;
	const double *chunk_B; /* size of each chunk */
	double merged_count;   /* number of rounds of a ring for which one message stands */
	/* No rank begins before all have arrived: rounds are merged, or machines are nearly alike
	 * and a rank would not wait for some others. */
	bool together;
	const struct schedule_step *steps; /* every step comes after the steps that it depends on */
	const uint32_t *after;
	/* For folded schedules, where ranks are the simulated ones and peers any ranks. By step;
	 * NULL: no loops. */
	const struct schedule_loop *loops;
};

struct fold;
struct schedule_builder;
struct schedule_builder *schedule_builder_new(struct arena *arena, enum collective collective,
					      size_t rank_count, size_t channel_count,
					      size_t chunk_count, const double *chunk_B);
/* Only counts the schedule while the fold's classes are searched; otherwise keeps only the steps of
 * simulated ranks. NULL: nothing is folded. Call it before the first step. */
void schedule_fold(struct schedule_builder *builder, const struct fold *fold);
bool schedule_is_folded(const struct schedule_builder *builder);
/* Sets the number of rounds of a ring for which one message stands. */
void schedule_merge(struct schedule_builder *builder, double round_count);
/* Folded schedules only: the last added send, and the reduction or copy that its rank adds next,
 * form a loop; and so does the latter. */
void schedule_repeat(struct schedule_builder *builder, uint32_t step, size_t rounds, size_t span);
/* Reserves room for steps and edges, so that large schedules are built without growing. Optional;
 * call it before the first step. */
void schedule_reserve(struct schedule_builder *builder, size_t step_count, size_t after_count);
/* Return the index of the new step. NO_STEP in after[count] is ignored. A step may depend only on
 * steps of its own rank and on sends to it, because a rank cannot observe others. */
uint32_t schedule_send(struct schedule_builder *builder, size_t rank, size_t peer, size_t chunk,
		       size_t channel, const uint32_t *after, size_t after_count);
uint32_t schedule_reduce(struct schedule_builder *builder, size_t rank, size_t chunk,
			 size_t channel, uint32_t source, const uint32_t *after,
			 size_t after_count);
uint32_t schedule_copy(struct schedule_builder *builder, size_t rank, size_t chunk, size_t channel,
		       uint32_t source, const uint32_t *after, size_t after_count);
const struct schedule *schedule_finish(struct schedule_builder *builder);
