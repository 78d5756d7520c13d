/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/collective/fold.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/collective/algorithm.h"
#include "sim/fabric/link.h"

enum fold_level fold_level(const struct fold *fold, size_t a, size_t b)
{
	uint32_t leaf_a = fold->leaf_of[a], leaf_b = fold->leaf_of[b];
	if (a == b)
		return FOLD_INSIDE;
	if (leaf_a == leaf_b)
		return FOLD_LEAF;
	return fold->pod_of[leaf_a] == fold->pod_of[leaf_b] ? FOLD_POD : FOLD_TOP;
}

/* Maximum number of switch levels of the network. */
enum { SWITCHES_MOST = 4 };

static size_t switches_above(struct fabric *fabric, int top, int from, unsigned traffic,
			     int switches[SWITCHES_MOST])
{
	const struct route *route = fabric_route(fabric, from, top, traffic);
	size_t count = 0;
	for (size_t i = 0; route && i < route->count; i++) {
		int nodes[2], link = route->hops[i].link;
		fabric_link_nodes(fabric, link, &nodes[0], &nodes[1]);
		if (fabric_link_kind(fabric, link)->inside_host)
			continue;
		FW_ASSERT(count < SWITCHES_MOST);
		switches[count++] = nodes[1 - route->hops[i].direction];
	}
	return count;
}

int fold_meeting(struct fabric *fabric, int top, int from, int to, enum fold_level level,
		 unsigned traffic)
{
	int above[2][SWITCHES_MOST];
	FW_ASSERT(level > FOLD_INSIDE);
	size_t count = switches_above(fabric, top, from, traffic, above[0]);
	if (count == 0 || count != switches_above(fabric, top, to, traffic, above[1]))
		return -1;
	size_t at = (size_t)level < count ? (size_t)level - 1 : count - 1;
	while (at + 1 < count && above[0][at] != above[1][at])
		at++;
	return above[0][at];
}

/* ---- representatives ---- */

/* Items are sorted by colour, then by number. */
struct coloured {
	uint64_t colour;
	uint32_t item;
};

static int by_colour(const void *a, const void *b)
{
	const struct coloured *x = a, *y = b;
	if (x->colour != y->colour)
		return x->colour < y->colour ? -1 : 1;
	return x->item < y->item ? -1 : x->item > y->item;
}

/* Colours of leaves and pods from their content, independent of the order. */
struct groups {
	uint64_t *leaves, *pods;
};

static struct groups group_colours(struct arena *arena, const struct fold *fold)
{
	struct groups groups = {ARENA_ARRAY(arena, fold->leaf_count, uint64_t),
				ARENA_ARRAY(arena, fold->pod_count, uint64_t)};
	for (size_t m = 0; m < fold->machine_count; m++)
		groups.leaves[fold->leaf_of[m]] += fold_mix(1, fold->colours[m]);
	for (size_t leaf = 0; leaf < fold->leaf_count; leaf++)
		if (groups.leaves[leaf])
			groups.pods[fold->pod_of[leaf]] += fold_mix(2, groups.leaves[leaf]);
	return groups;
}

static struct coloured *sorted(struct arena *arena, const uint64_t *colours, size_t count)
{
	struct coloured *list = ARENA_ARRAY(arena, count + 1, struct coloured);
	for (size_t i = 0; i < count; i++)
		list[i] = (struct coloured){colours[i], (uint32_t)i};
	qsort(list, count, sizeof *list, by_colour);
	return list;
}

static size_t count_colours(const uint64_t *colours, size_t count)
{
	struct arena *arena = arena_new();
	const struct coloured *list = sorted(arena, colours, count);
	size_t distinct = 0;
	for (size_t i = 0; i < count; i++)
		distinct += i == 0 || list[i].colour != list[i - 1].colour;
	arena_free(arena);
	return distinct;
}

/* Finds the first item of each colour among those that may be representatives, and the number of
 * items of that colour. */
static void pick(struct arena *scratch, const uint64_t *colours, size_t count, const bool *may,
		 uint32_t *stands, uint32_t *counts)
{
	const struct coloured *list = sorted(scratch, colours, count);
	for (size_t i = 0, end; i < count; i = end) {
		size_t first = i;
		for (end = i + 1; end < count && list[end].colour == list[i].colour;)
			end++;
		while (may && first + 1 < end && !may[list[first].item])
			first++;
		counts[list[first].item] = (uint32_t)(end - i);
		for (size_t k = i; stands && k < end; k++)
			stands[list[k].item] = list[first].item;
	}
}

/* Determines the representatives from the colours. */
static void settle(struct arena *arena, struct fold *fold)
{
	struct arena *scratch = arena_new();
	struct groups groups = group_colours(scratch, fold);
	bool *leaf_may = ARENA_ARRAY(scratch, fold->leaf_count, bool);
	bool *machine_may = ARENA_ARRAY(scratch, fold->machine_count, bool);
	fold->like = ARENA_ARRAY(arena, fold->machine_count, uint32_t);
	fold->first_simulated = ARENA_ARRAY(arena, fold->machine_count, uint32_t);
	fold->count_of = ARENA_ARRAY(arena, fold->machine_count, uint32_t);
	fold->leaf_count_of = ARENA_ARRAY(arena, fold->leaf_count, uint32_t);
	fold->pod_count_of = ARENA_ARRAY(arena, fold->pod_count, uint32_t);
	pick(scratch, groups.pods, fold->pod_count, NULL, NULL, fold->pod_count_of);
	for (size_t leaf = 0; leaf < fold->leaf_count; leaf++)
		leaf_may[leaf] = fold->pod_count_of[fold->pod_of[leaf]] > 0;
	pick(scratch, groups.leaves, fold->leaf_count, leaf_may, NULL, fold->leaf_count_of);
	for (size_t m = 0; m < fold->machine_count; m++)
		machine_may[m] = fold->leaf_count_of[fold->leaf_of[m]] > 0;
	pick(scratch, fold->colours, fold->machine_count, machine_may, fold->like, fold->count_of);
	arena_free(scratch);
	fold->class_count = fold->simulated_count = 0;
	for (size_t m = 0; m < fold->machine_count; m++) {
		if (fold->count_of[m] == 0)
			continue;
		fold->class_count++;
		fold->first_simulated[m] = (uint32_t)fold->simulated_count;
		fold->simulated_count += fold->first_rank[m + 1] - fold->first_rank[m];
	}
	fold->rank_of = ARENA_ARRAY(arena, fold->simulated_count, uint32_t);
	for (size_t m = 0; m < fold->machine_count; m++)
		for (uint32_t r = fold->first_rank[m];
		     fold->count_of[m] > 0 && r < fold->first_rank[m + 1]; r++)
			fold->rank_of[fold_stand_in(fold, r)] = r;
}

const uint32_t *fold_counts(struct arena *arena, const struct fold *fold)
{
	if (!fold)
		return NULL;
	uint32_t *counts = ARENA_ARRAY(arena, fold->simulated_count, uint32_t);
	for (size_t i = 0; i < fold->simulated_count; i++)
		counts[i] = fold_count(fold, i);
	return counts;
}

/* ---- colours ---- */

static void begin(struct arena *arena, struct fold *fold)
{
	fold->colours = ARENA_ARRAY(arena, fold->machine_count, uint64_t);
	for (size_t m = 0; m < fold->machine_count; m++)
		fold->colours[m] = fold_mix(fold_mix(0, fold->kind_of[m]),
					    fold->first_rank[m + 1] - fold->first_rank[m]);
}

void fold_by_kind(struct arena *arena, struct fold *fold)
{
	struct arena *scratch = arena_new();
	begin(scratch, fold);
	settle(arena, fold);
	fold->colours = NULL;
	arena_free(scratch);
}

/* Mixes into each machine's colour the peers of its ranks in these schedules. */
static void look_at_peers(struct fold *fold, const struct fold_use *uses, size_t use_count)
{
	for (size_t i = 0; i < use_count; i++) {
		struct arena *arena = arena_new();
		struct algorithm_spec spec = *uses[i].spec;
		spec.fold = fold;
		uses[i].algorithm->build(arena, &spec);
		arena_free(arena);
	}
	for (size_t r = 0; r < fold->rank_count; r++) {
		uint64_t *colour = &fold->colours[fold->machine_of[r]];
		*colour = fold_mix(*colour, fold->signatures[r]);
	}
}

static void look_at_groups(struct fold *fold)
{
	struct arena *arena = arena_new();
	struct groups groups = group_colours(arena, fold);
	for (size_t m = 0; m < fold->machine_count; m++) {
		uint32_t leaf = fold->leaf_of[m];
		fold->colours[m] = fold_mix(fold_mix(fold->colours[m], groups.leaves[leaf]),
					    groups.pods[fold->pod_of[leaf]]);
	}
	arena_free(arena);
}

bool fold_find(struct arena *arena, struct fold *fold, const struct fold_use *uses,
	       size_t use_count, size_t classes_most)
{
	struct arena *scratch = arena_new();
	size_t before = 0, now;
	begin(scratch, fold);
	fold->algorithms = 0;
	for (size_t i = 0; i < use_count; i++)
		fold->algorithms |= algorithm_bit(uses[i].algorithm);
	fold->signatures = ARENA_ARRAY(scratch, fold->rank_count, uint64_t);
	now = count_colours(fold->colours, fold->machine_count);
	while (now > before && now <= classes_most) {
		before = now;
		memset(fold->signatures, 0, fold->rank_count * sizeof *fold->signatures);
		look_at_peers(fold, uses, use_count);
		look_at_groups(fold);
		now = count_colours(fold->colours, fold->machine_count);
	}
	fold->signatures = NULL;
	if (now <= classes_most)
		settle(arena, fold);
	fold->colours = NULL;
	arena_free(scratch);
	return now <= classes_most;
}
