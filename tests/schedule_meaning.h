/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Executes a schedule symbolically to check that it implements its collective. */
#pragma once

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/collective/schedule.h"

/* The value of a chunk: how often it contains each worker's contribution. Values are never
 * modified, so a send is a pointer. NULL: no value. */

struct play {
	struct arena *arena;
	const struct schedule *schedule;
	size_t worker_count;
	const uint16_t **held; /* at index [rank * chunk_count + chunk] */
	const uint16_t **sent; /* by step */
	bool *awaited;         /* for a send: another step receives it or depends on it */
};

static inline const uint16_t **held_at(const struct play *play, size_t rank, size_t chunk)
{
	return &play->held[rank * play->schedule->chunk_count + chunk];
}

static inline void play_begin(struct play *play, const uint32_t *owner)
{
	const struct schedule *schedule = play->schedule;
	bool every = schedule->collective == COLLECTIVE_ALL_REDUCE ||
		     schedule->collective == COLLECTIVE_REDUCE_SCATTER;
	for (size_t rank = 0; rank < play->worker_count; rank++) {
		uint16_t *own = ARENA_ARRAY(play->arena, play->worker_count, uint16_t);
		own[rank] = 1;
		for (size_t chunk = 0; chunk < schedule->chunk_count; chunk++)
			if (every || owner[chunk] == rank)
				*held_at(play, rank, chunk) = own;
	}
}

static inline const char *play_complain(const struct play *play, size_t index, const char *what)
{
	const struct schedule_step *step = &play->schedule->steps[index];
	static const char *const kinds[] = {"send", "reduce", "copy"};
	return arena_printf(play->arena, "step %zu (rank %u, %s of chunk %u): %s", index,
			    step->rank, step->kind < 3 ? kinds[step->kind] : "?", step->chunk,
			    what);
}

/* Checks that a step uses only data that its rank has. */
static inline const char *check_step(const struct play *play, size_t index)
{
	const struct schedule *schedule = play->schedule;
	const struct schedule_step *step = &schedule->steps[index];
	if (step->kind > STEP_COPY || step->rank >= schedule->rank_count ||
	    step->chunk >= schedule->chunk_count || step->channel >= schedule->channel_count)
		return play_complain(play, index, "is out of range");
	for (size_t i = 0; i < step->after_count; i++) {
		size_t before = schedule->after[step->after_first + i];
		if (before >= index)
			return play_complain(play, index, "depends on a later step");
		const struct schedule_step *other = &schedule->steps[before];
		if (other->rank != step->rank &&
		    !(other->kind == STEP_SEND && other->peer == step->rank))
			return play_complain(play, index, "depends on a step of another rank");
		play->awaited[before] = true;
	}
	if (step->kind == STEP_SEND)
		return step->peer >= schedule->rank_count || step->peer == step->rank
			       ? play_complain(play, index, "has no other rank as receiver")
			       : NULL;
	if (step->source == NO_STEP)
		return step->kind == STEP_REDUCE ? play_complain(play, index, "has no source")
						 : NULL;
	if (step->source >= index)
		return play_complain(play, index, "comes before its source");
	const struct schedule_step *source = &schedule->steps[step->source];
	if (source->kind != STEP_SEND || source->peer != step->rank || source->chunk != step->chunk)
		return play_complain(play, index, "has a source that was not sent to its rank");
	play->awaited[step->source] = true;
	return NULL;
}

static inline const char *play_step(struct play *play, size_t index)
{
	const struct schedule_step *step = &play->schedule->steps[index];
	const uint16_t **held = held_at(play, step->rank, step->chunk);
	if (step->kind == STEP_SEND) {
		play->sent[index] = *held;
		return *held ? NULL
			     : play_complain(play, index, "the rank does not have the chunk");
	}
	if (step->source == NO_STEP)
		return NULL;
	const uint16_t *brought = play->sent[step->source];
	if (step->kind == STEP_COPY) {
		*held = brought;
		return NULL;
	}
	if (!*held)
		return play_complain(play, index, "the rank has no chunk to add to");
	uint16_t *sum = ARENA_ARRAY(play->arena, play->worker_count, uint16_t);
	for (size_t i = 0; i < play->worker_count; i++)
		sum[i] = (uint16_t)((*held)[i] + brought[i]);
	*held = sum;
	return NULL;
}

/* Returns true if the rank must have this chunk at the end: with all contributions (every) or with
 * its owner's. */
static inline bool wanted(const struct play *play, size_t rank, size_t chunk, const uint32_t *owner,
			  const uint32_t *target, bool *every)
{
	*every = false;
	switch (play->schedule->collective) {
	case COLLECTIVE_ALL_REDUCE:
		*every = true;
		return true;
	case COLLECTIVE_REDUCE_SCATTER:
		*every = true;
		return owner[chunk] == rank;
	case COLLECTIVE_ALL_TO_ALL:
		return target[chunk] == rank;
	case COLLECTIVE_ALL_GATHER:
	case COLLECTIVE_BROADCAST:
	case COLLECTIVE_COUNT:
		break;
	}
	return true;
}

static inline const char *check_end(const struct play *play, size_t rank, size_t chunk,
				    const uint32_t *owner, const uint32_t *target)
{
	bool every;
	if (!wanted(play, rank, chunk, owner, target, &every))
		return NULL;
	const uint16_t *held = *held_at(play, rank, chunk);
	if (!held)
		return arena_printf(play->arena, "rank %zu ends without chunk %zu", rank, chunk);
	for (size_t i = 0; i < play->worker_count; i++) {
		unsigned expected = every || owner[chunk] == i;
		if (held[i] != expected)
			return arena_printf(play->arena,
					    "rank %zu ends with chunk %zu in which rank %zu's "
					    "contribution is %u times, not %u",
					    rank, chunk, i, held[i], expected);
	}
	return NULL;
}

/* Executes the schedule symbolically and counts the contributions in each rank's chunks at the end.
 * Returns NULL if the collective is correct, else a description of the error.
 *
 * For an all-reduce, every chunk of every worker must contain every worker's contribution exactly
 * once. The first `worker_count` ranks are workers; ranks after them only help and have no data at
 * first. For all_gather, chunk c starts at rank owner[c]; for reduce_scatter it must end there; for
 * broadcast owner[c] is the root; for all_to_all chunk c goes from owner[c] to target[c]. Both
 * arrays may be NULL for an all-reduce.
 *
 * The steps are executed in the order of the array. A schedule that is correct in every order
 * allowed by its edges has no race (tests/property/test_schedules.c tries many orders). */
static inline const char *schedule_meaning(struct arena *arena, const struct schedule *schedule,
					   size_t worker_count, const uint32_t *owner,
					   const uint32_t *target)
{
	FW_ASSERT(worker_count > 0 && worker_count <= schedule->rank_count);
	FW_ASSERT(owner || schedule->collective == COLLECTIVE_ALL_REDUCE);
	FW_ASSERT(target || schedule->collective != COLLECTIVE_ALL_TO_ALL);
	struct play play = {.arena = arena, .schedule = schedule, .worker_count = worker_count};
	play.held =
		ARENA_ARRAY(arena, schedule->rank_count * schedule->chunk_count, const uint16_t *);
	play.sent = ARENA_ARRAY(arena, schedule->step_count, const uint16_t *);
	play.awaited = ARENA_ARRAY(arena, schedule->step_count, bool);
	play_begin(&play, owner);
	for (size_t i = 0; i < schedule->step_count; i++) {
		const char *wrong = check_step(&play, i);
		if (!wrong)
			wrong = play_step(&play, i);
		if (wrong)
			return wrong;
	}
	for (size_t i = 0; i < schedule->step_count; i++)
		if (schedule->steps[i].kind == STEP_SEND && !play.awaited[i])
			return play_complain(&play, i, "no step receives it");
	for (size_t rank = 0; rank < worker_count; rank++)
		for (size_t chunk = 0; chunk < schedule->chunk_count; chunk++) {
			const char *wrong = check_end(&play, rank, chunk, owner, target);
			if (wrong)
				return wrong;
		}
	return NULL;
}

/* Bytes that a rank sends in all. */
static inline double schedule_sent_B(const struct schedule *schedule, size_t rank)
{
	double sent_B = 0;
	for (size_t i = 0; i < schedule->step_count; i++) {
		const struct schedule_step *step = &schedule->steps[i];
		if (step->kind == STEP_SEND && step->rank == rank)
			sent_B += schedule->chunk_B[step->chunk];
	}
	return sent_B;
}

/* Bytes that a rank receives in all. */
static inline double schedule_received_B(const struct schedule *schedule, size_t rank)
{
	double received_B = 0;
	for (size_t i = 0; i < schedule->step_count; i++) {
		const struct schedule_step *step = &schedule->steps[i];
		if (step->kind == STEP_SEND && step->peer == rank)
			received_B += schedule->chunk_B[step->chunk];
	}
	return received_B;
}
