/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/collective/schedule.h"
#include "sim/collective/fold.h"

static const struct collective_kind kinds[COLLECTIVE_COUNT] = {
	{"all_reduce", "every rank gets the sum of all ranks' buffers", "all_reduce",
	 COLLECTIVE_ALL_REDUCE},
	{"reduce_scatter", "every rank gets its part of that sum", "reduce_scatter",
	 COLLECTIVE_REDUCE_SCATTER},
	{"all_gather", "every rank gets all ranks' parts", "all_gather", COLLECTIVE_ALL_GATHER},
	{"broadcast", "every rank gets the root's buffer", "broadcast", COLLECTIVE_BROADCAST},
	{"all_to_all", "every rank sends another part to each rank", "alltoall",
	 COLLECTIVE_ALL_TO_ALL},
};
static const struct registry_row rows[COLLECTIVE_COUNT] = {
	REGISTRY_ROW(kinds[0]), REGISTRY_ROW(kinds[1]), REGISTRY_ROW(kinds[2]),
	REGISTRY_ROW(kinds[3]), REGISTRY_ROW(kinds[4]),
};
const struct registry collective_kind_registry = REGISTRY("collective", "collectives", rows);

const char *collective_name(enum collective collective)
{
	return collective_kind_at(collective)->name;
}

/* The formulas are those of nccl-tests, doc/PERFORMANCE.md. */
double collective_bus_ratio(enum collective collective, size_t rank_count)
{
	FW_ASSERT(rank_count > 0);
	double others_ratio = (double)(rank_count - 1) / (double)rank_count;
	switch (collective) {
	case COLLECTIVE_ALL_REDUCE:
		return 2 * others_ratio;
	case COLLECTIVE_REDUCE_SCATTER:
	case COLLECTIVE_ALL_GATHER:
	case COLLECTIVE_ALL_TO_ALL:
		return others_ratio;
	case COLLECTIVE_BROADCAST:
	case COLLECTIVE_COUNT:
		break;
	}
	return 1;
}

/* ---- building ---- */

/* A step during the search for classes. The label is a hash of its predecessors and their colours.
 */
struct seen_step {
	uint64_t label;
	uint32_t rank;
	uint32_t level; /* steps that come before it, one after the other */
};

struct schedule_builder {
	struct arena *arena;
	struct schedule schedule;
	VEC(struct schedule_step) steps;
	VEC(uint32_t) after;
	const struct fold *fold; /* NULL: not folded */
	bool merges;             /* schedule_merge was called */
	/* Used only while classes are searched. The id of a step is its index in `seen`. */
	VEC(struct seen_step) seen;
	/* Used after that. The id of a step contains its rank and its number at that rank. So the
	 * step of a represented rank refers to that of its representative. */
	unsigned number_bits;
	uint32_t *counts;                /* by rank: number of steps */
	VEC(struct schedule_loop) loops; /* by kept step */
	VEC(uint32_t) numbers;           /* by kept step: its number at its rank */
};

struct schedule_builder *schedule_builder_new(struct arena *arena, enum collective collective,
					      size_t rank_count, size_t channel_count,
					      size_t chunk_count, const double *chunk_B)
{
	FW_ASSERT(channel_count > 0 && channel_count <= UINT16_MAX);
	FW_ASSERT(rank_count < UINT32_MAX && chunk_count < UINT32_MAX);
	struct schedule_builder *builder = ARENA_NEW(arena, struct schedule_builder);
	builder->arena = arena;
	builder->schedule = (struct schedule){.collective = collective,
					      .rank_count = rank_count,
					      .channel_count = channel_count,
					      .chunk_count = chunk_count,
					      .chunk_B = chunk_B,
					      .merged_count = 1};
	return builder;
}

void schedule_reserve(struct schedule_builder *builder, size_t step_count, size_t after_count)
{
	FW_ASSERT(builder->steps.count == 0);
	if (builder->fold)
		return;
	builder->steps.items = ARENA_ARRAY(builder->arena, step_count, struct schedule_step);
	builder->steps.room = step_count;
	builder->after.items = ARENA_ARRAY(builder->arena, after_count, uint32_t);
	builder->after.room = after_count;
}

/* ---- folded ---- */

void schedule_fold(struct schedule_builder *builder, const struct fold *fold)
{
	if (!fold)
		return;
	FW_ASSERT(builder->steps.count == 0);
	FW_ASSERT(fold->rank_count == builder->schedule.rank_count);
	builder->fold = fold;
	builder->number_bits = 32;
	while (fold->rank_count > (size_t)1 << (32 - builder->number_bits))
		builder->number_bits--;
	builder->counts = ARENA_ARRAY(builder->arena, fold->rank_count, uint32_t);
}

bool schedule_is_folded(const struct schedule_builder *builder)
{
	return builder->fold != NULL;
}

void schedule_merge(struct schedule_builder *builder, double round_count)
{
	builder->schedule.merged_count = round_count;
	builder->schedule.together = round_count > 1;
	builder->merges = true;
}

static uint32_t folded_rank(const struct schedule_builder *builder, uint32_t step)
{
	return (uint32_t)((uint64_t)step >> builder->number_bits);
}

static uint32_t folded_number(const struct schedule_builder *builder, uint32_t step)
{
	return step & (uint32_t)(((uint64_t)1 << builder->number_bits) - 1);
}

/* Mixes into a label where another rank is, as seen from a rank. */
static uint64_t look(const struct schedule_builder *builder, uint64_t label, size_t rank,
		     size_t other)
{
	const struct fold *fold = builder->fold;
	uint32_t own = fold->machine_of[rank], machine = fold->machine_of[other];
	uint64_t level = fold->by_level && !builder->merges ? fold_level(fold, own, machine)
							    : fold_distance(fold, own, machine);
	if (!fold->by_level)
		label = fold_mix(label, fold->colours[machine]);
	return fold_mix(label, (other - fold->first_rank[machine]) * 4 + level);
}

/* Returns the level of a step that follows another one. A message counts more than all steps of a
 * rank, and one through more switches counts more. */
static uint32_t level_after(const struct schedule_builder *builder, const struct seen_step *before,
			    size_t rank)
{
	static const uint32_t of_way[] = {1 << 8, 1 << 16, 2 << 16, 3 << 16};
	const uint32_t *machine_of = builder->fold->machine_of;
	if (before->rank == rank)
		return before->level + 1;
	return before->level +
	       of_way[fold_level(builder->fold, machine_of[before->rank], machine_of[rank])];
}

static uint32_t see(struct schedule_builder *builder, const struct schedule_step *step,
		    const uint32_t *after, size_t after_count)
{
	uint64_t *signature = &builder->fold->signatures[step->rank], size, label;
	uint32_t level = 0;
	memcpy(&size, &builder->schedule.chunk_B[step->chunk], sizeof size);
	label = fold_mix(size, (uint64_t)step->kind << 16 | step->channel);
	if (step->kind == STEP_SEND)
		label = look(builder, label, step->rank, step->peer);
	for (size_t i = 0; i <= after_count; i++) {
		uint32_t before = i < after_count ? after[i] : step->source;
		if (before == NO_STEP)
			continue;
		const struct seen_step *seen = &builder->seen.items[before];
		label = fold_mix(look(builder, label, step->rank, seen->rank),
				 builder->fold->by_level ? seen->level : seen->label);
		uint32_t follows = level_after(builder, seen, step->rank);
		level = follows > level ? follows : level;
	}
	*signature = fold_mix(*signature, label);
	FW_ASSERT(builder->seen.count < NO_STEP);
	*VEC_PUSH(builder->arena, &builder->seen) = (struct seen_step){label, step->rank, level};
	return (uint32_t)builder->seen.count - 1;
}

static void add_after(struct schedule_builder *builder, struct schedule_step *step,
		      const uint32_t *after, size_t after_count)
{
	FW_ASSERT(builder->after.count + after_count < UINT32_MAX);
	step->after_first = (uint32_t)builder->after.count;
	for (size_t i = 0; i < after_count; i++) {
		if (after[i] == NO_STEP)
			continue;
		FW_ASSERT(builder->fold || after[i] < builder->steps.count);
		*VEC_PUSH(builder->arena, &builder->after) = after[i];
		step->after_count++;
	}
}

static void keep(struct schedule_builder *builder, struct schedule_step step, const uint32_t *after,
		 size_t after_count)
{
	add_after(builder, &step, after, after_count);
	*VEC_PUSH(builder->arena, &builder->numbers) = builder->counts[step.rank];
	step.rank = fold_stand_in(builder->fold, step.rank);
	*VEC_PUSH(builder->arena, &builder->steps) = step;
	*VEC_PUSH(builder->arena, &builder->loops) = (struct schedule_loop){0};
}

static uint32_t add_folded(struct schedule_builder *builder, struct schedule_step step,
			   const uint32_t *after, size_t after_count)
{
	if (builder->fold->signatures)
		return see(builder, &step, after, after_count);
	uint32_t number = builder->counts[step.rank];
	FW_ASSERT(((uint64_t)number + 1) >> builder->number_bits == 0);
	uint32_t id = (uint32_t)((uint64_t)step.rank << builder->number_bits) | number;
	if (fold_is_simulated(builder->fold, step.rank))
		keep(builder, step, after, after_count);
	builder->counts[step.rank]++;
	return id;
}

void schedule_repeat(struct schedule_builder *builder, uint32_t step, size_t rounds, size_t span)
{
	const struct fold *fold = builder->fold;
	if (fold->signatures) {
		struct seen_step *seen = &builder->seen.items[step];
		seen->label = fold_mix(fold_mix(seen->label, rounds), span);
		fold->signatures[seen->rank] = fold_mix(fold->signatures[seen->rank], seen->label);
		return;
	}
	if (!fold_is_simulated(fold, folded_rank(builder, step)))
		return;
	/* the step that was added last */
	builder->loops.items[builder->loops.count - 1] =
		(struct schedule_loop){(uint32_t)rounds, (uint32_t)span, NO_STEP};
}

/* Converts ids to indices of the array. */
static void find_steps(struct schedule_builder *builder)
{
	const struct fold *fold = builder->fold;
	struct arena *scratch = arena_new();
	uint32_t *firsts = ARENA_ARRAY(scratch, fold->simulated_count + 1, uint32_t);
	uint32_t *places = ARENA_ARRAY(scratch, builder->steps.count + 1, uint32_t);
	for (size_t i = 0; i < fold->simulated_count; i++)
		firsts[i + 1] = firsts[i] + builder->counts[fold->rank_of[i]];
	for (size_t i = 0; i < builder->steps.count; i++)
		places[firsts[builder->steps.items[i].rank] + builder->numbers.items[i]] =
			(uint32_t)i;
	for (size_t i = 0; i < builder->after.count; i++) {
		uint32_t *id = &builder->after.items[i];
		uint32_t stand_in = fold_stand_in(fold, folded_rank(builder, *id));
		*id = places[firsts[stand_in] + folded_number(builder, *id)];
	}
	for (size_t i = 0; i < builder->steps.count; i++) {
		struct schedule_step *step = &builder->steps.items[i];
		struct schedule_loop *loop = &builder->loops.items[i];
		if (loop->rounds > 0 && step->kind == STEP_SEND)
			loop->carried = places[firsts[step->rank] + builder->numbers.items[i] + 1];
		if (step->source == NO_STEP)
			continue;
		uint32_t stand_in = fold_stand_in(fold, folded_rank(builder, step->source));
		step->source = places[firsts[stand_in] + folded_number(builder, step->source)];
	}
	arena_free(scratch);
	builder->schedule.rank_count = fold->simulated_count;
	for (size_t i = 0; i < builder->loops.count; i++)
		if (builder->loops.items[i].rounds > 0)
			builder->schedule.loops = builder->loops.items;
}

/* Returns the twin of a send to that rank. twins holds the last twin of each step, or 0; until all
 * twins are there, the source of a twin is the twin before it. */
static uint32_t twin_of(struct schedule_builder *builder, uint32_t *twins, uint32_t send,
			uint32_t rank)
{
	uint32_t peer = builder->fold->rank_of[rank], twin = twins[send];
	while (twin && builder->steps.items[twin].peer != peer)
		twin = builder->steps.items[twin].source;
	if (twin)
		return twin;
	struct schedule_step step = builder->steps.items[send];
	step.twin = true;
	step.peer = peer;
	step.source = twins[send];
	twins[send] = (uint32_t)builder->steps.count;
	*VEC_PUSH(builder->arena, &builder->steps) = step;
	*VEC_PUSH(builder->arena, &builder->loops) = (struct schedule_loop){0};
	return twins[send];
}

/* If machines are nearly alike, a send of a representative may go to another class than a receiver
 * that waits for it. This receiver gets a twin of the send, which loads only its own end, and
 * waits for both. */
static void add_twins(struct schedule_builder *builder)
{
	struct arena *scratch = arena_new();
	size_t count = builder->steps.count;
	uint32_t *twins = ARENA_ARRAY(scratch, count + 1, uint32_t);
	for (size_t i = 0; i < count; i++) {
		struct schedule_step step = builder->steps.items[i];
		if (step.source == NO_STEP || builder->loops.items[i].rounds > 0 ||
		    fold_stand_in(builder->fold, builder->steps.items[step.source].peer) ==
			    step.rank)
			continue;
		uint32_t first = (uint32_t)builder->after.count;
		for (uint32_t k = 0; k < step.after_count; k++) {
			uint32_t before = builder->after.items[step.after_first + k];
			*VEC_PUSH(builder->arena, &builder->after) = before;
		}
		*VEC_PUSH(builder->arena, &builder->after) = step.source;
		step.source = twin_of(builder, twins, step.source, step.rank);
		step.after_first = first;
		step.after_count++;
		builder->steps.items[i] = step;
	}
	for (size_t i = count; i < builder->steps.count; i++)
		builder->steps.items[i].source = NO_STEP;
	arena_free(scratch);
}

/* Returns true if each rank waits for messages of all others, also by way of third ones. Near folds
 * can lose such a way: in a ring of the machines A A B B, the one that stands for A can be the
 * receiver of an A, and would never wait for a B. */
static bool all_wait_for_all(const struct schedule_builder *builder)
{
	struct arena *scratch = arena_new();
	size_t n = builder->schedule.rank_count, waits_count = n;
	bool *waits = ARENA_ARRAY(scratch, n * n, bool), changed = true;
	for (size_t i = 0; i < n; i++)
		waits[i * n + i] = true;
	while (changed) {
		changed = false;
		for (size_t i = 0; i < builder->steps.count; i++) {
			const struct schedule_step *step = &builder->steps.items[i];
			if (step->source == NO_STEP)
				continue;
			bool *own = &waits[step->rank * n];
			const bool *of = &waits[builder->steps.items[step->source].rank * n];
			for (size_t k = 0; k < n; k++)
				if (of[k] && !own[k]) {
					own[k] = changed = true;
					waits_count++;
				}
		}
	}
	arena_free(scratch);
	return waits_count == n * n;
}

/* ---- steps ---- */

static uint32_t add(struct schedule_builder *builder, struct schedule_step step,
		    const uint32_t *after, size_t after_count)
{
	const struct schedule *schedule = &builder->schedule;
	size_t index = builder->steps.count;
	FW_ASSERT(index < NO_STEP);
	FW_ASSERT(step.rank < schedule->rank_count && step.chunk < schedule->chunk_count &&
		  step.channel < schedule->channel_count);
	if (builder->fold)
		return add_folded(builder, step, after, after_count);
	add_after(builder, &step, after, after_count);
	*VEC_PUSH(builder->arena, &builder->steps) = step;
	return (uint32_t)index;
}

uint32_t schedule_send(struct schedule_builder *builder, size_t rank, size_t peer, size_t chunk,
		       size_t channel, const uint32_t *after, size_t after_count)
{
	FW_ASSERT(peer < builder->schedule.rank_count && peer != rank);
	return add(builder,
		   (struct schedule_step){.kind = STEP_SEND,
					  .channel = (uint16_t)channel,
					  .rank = (uint32_t)rank,
					  .peer = (uint32_t)peer,
					  .chunk = (uint32_t)chunk,
					  .source = NO_STEP},
		   after, after_count);
}

static uint32_t take(struct schedule_builder *builder, enum step_kind kind, size_t rank,
		     size_t chunk, size_t channel, uint32_t source, const uint32_t *after,
		     size_t after_count)
{
	FW_ASSERT(builder->fold || source == NO_STEP || source < builder->steps.count);
	return add(builder,
		   (struct schedule_step){.kind = (uint8_t)kind,
					  .channel = (uint16_t)channel,
					  .rank = (uint32_t)rank,
					  .chunk = (uint32_t)chunk,
					  .source = source},
		   after, after_count);
}

uint32_t schedule_reduce(struct schedule_builder *builder, size_t rank, size_t chunk,
			 size_t channel, uint32_t source, const uint32_t *after, size_t after_count)
{
	FW_ASSERT(source != NO_STEP);
	return take(builder, STEP_REDUCE, rank, chunk, channel, source, after, after_count);
}

uint32_t schedule_copy(struct schedule_builder *builder, size_t rank, size_t chunk, size_t channel,
		       uint32_t source, const uint32_t *after, size_t after_count)
{
	return take(builder, STEP_COPY, rank, chunk, channel, source, after, after_count);
}

const struct schedule *schedule_finish(struct schedule_builder *builder)
{
	if (builder->fold && !builder->fold->signatures)
		find_steps(builder);
	if (builder->fold && !builder->fold->signatures && builder->fold->near) {
		add_twins(builder);
		builder->schedule.together |=
			builder->schedule.collective != COLLECTIVE_BROADCAST &&
			!all_wait_for_all(builder);
	}
	builder->schedule.steps = builder->steps.items;
	builder->schedule.step_count = builder->steps.count;
	builder->schedule.after = builder->after.items;
	return &builder->schedule;
}
