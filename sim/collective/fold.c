/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/collective/fold.h"
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

/* Finds the first machine of each colour. Its leaf and pod represent as many as the machines that
 * it represents occupy on average. */
static void settle_near(struct arena *scratch, struct fold *fold)
{
	double *leaves = ARENA_ARRAY(scratch, fold->leaf_count, double);
	double *pods = ARENA_ARRAY(scratch, fold->pod_count, double);
	pick(scratch, fold->colours, fold->machine_count, NULL, fold->like, fold->count_of);
	if (fold->by_level) { /* all representatives are below the first leaf (cabling_leaf) */
		fold->leaf_count_of[0] = (uint32_t)fold->leaf_count;
		fold->pod_count_of[0] = (uint32_t)fold->pod_count;
		return;
	}
	for (size_t m = 0; m < fold->machine_count; m++) {
		double share = (double)fold->count_of[m] / (double)fold->machine_count;
		leaves[fold->leaf_of[m]] += share * (double)fold->leaf_count;
		pods[fold->pod_of[fold->leaf_of[m]]] += share * (double)fold->pod_count;
	}
	for (size_t leaf = 0; leaf < fold->leaf_count; leaf++)
		fold->leaf_count_of[leaf] = leaves[leaf] > 0 ? (uint32_t)fmax(1, leaves[leaf]) : 0;
	for (size_t pod = 0; pod < fold->pod_count; pod++)
		fold->pod_count_of[pod] = pods[pod] > 0 ? (uint32_t)fmax(1, pods[pod]) : 0;
}

static void settle_exact(struct arena *scratch, struct fold *fold)
{
	struct groups groups = group_colours(scratch, fold);
	bool *leaf_may = ARENA_ARRAY(scratch, fold->leaf_count, bool);
	bool *machine_may = ARENA_ARRAY(scratch, fold->machine_count, bool);
	pick(scratch, groups.pods, fold->pod_count, NULL, NULL, fold->pod_count_of);
	for (size_t leaf = 0; leaf < fold->leaf_count; leaf++)
		leaf_may[leaf] = fold->pod_count_of[fold->pod_of[leaf]] > 0;
	pick(scratch, groups.leaves, fold->leaf_count, leaf_may, NULL, fold->leaf_count_of);
	for (size_t m = 0; m < fold->machine_count; m++)
		machine_may[m] = fold->leaf_count_of[fold->leaf_of[m]] > 0;
	pick(scratch, fold->colours, fold->machine_count, machine_may, fold->like, fold->count_of);
}

/* Determines the representatives from the colours. */
static void settle(struct arena *arena, struct fold *fold)
{
	struct arena *scratch = arena_new();
	fold->like = ARENA_ARRAY(arena, fold->machine_count, uint32_t);
	fold->first_simulated = ARENA_ARRAY(arena, fold->machine_count, uint32_t);
	fold->count_of = ARENA_ARRAY(arena, fold->machine_count, uint32_t);
	fold->leaf_count_of = ARENA_ARRAY(arena, fold->leaf_count, uint32_t);
	fold->pod_count_of = ARENA_ARRAY(arena, fold->pod_count, uint32_t);
	(fold->near ? settle_near : settle_exact)(scratch, fold);
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

/* Mixes into the signature of each rank what its steps in these schedules meet. */
static void look_at_uses(struct fold *fold, const struct fold_use *uses, size_t use_count)
{
	for (size_t i = 0; i < use_count; i++) {
		struct arena *arena = arena_new();
		struct algorithm_spec spec = *uses[i].spec;
		spec.fold = fold;
		uses[i].algorithm->build(uses[i].algorithm, arena, &spec);
		arena_free(arena);
	}
}

static size_t place_of(const struct fold *fold, size_t rank)
{
	return rank - fold->first_rank[fold->machine_of[rank]];
}

/* Returns what a member of a part without schedules meets: its number, and for each member the
 * place and the distance, and the colour if it is in another machine. */
static uint64_t part_label(const struct fold *fold, const struct fold_part *part, size_t index)
{
	size_t own = fold->machine_of[part->members[index]];
	uint64_t label = fold_mix(part->label, index);
	for (size_t i = 0; i < part->count; i++) {
		size_t rank = part->members[i], machine = fold->machine_of[rank];
		uint64_t level = fold_distance(fold, own, machine);
		label = fold_mix(label, place_of(fold, rank) * 4 + level);
		if (level != FOLD_INSIDE)
			label = fold_mix(label, fold->colours[machine]);
	}
	return label;
}

/* Returns the classes of a part's members, whatever their order. */
static uint64_t part_classes(const struct fold *fold, const struct fold_part *part)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < part->count; i++)
		sum += fold_mix(fold->colours[fold->machine_of[part->members[i]]],
				place_of(fold, part->members[i]));
	return sum;
}

/* Mixes into the signatures what the members of a part meet. The order of parts without schedules
 * has no influence. Schedules by level do not distinguish peers, but parts of machines that are
 * alike must have the same classes, because one of them stands for all. */
static bool look_at_part(struct fold *fold, const struct fold_part *part)
{
	if (part->use_count == 0) {
		for (size_t i = 0; i < part->count; i++)
			fold->signatures[part->members[i]] += part_label(fold, part, i);
		return true;
	}
	struct arena *arena = arena_new();
	struct fold *own = fold_part(arena, fold, part->members, part->count);
	if (own) {
		own->signatures = ARENA_ARRAY(arena, part->count, uint64_t);
		own->colours = ARENA_ARRAY(arena, own->machine_count, uint64_t);
		for (size_t i = 0; i < part->count; i++)
			own->colours[own->machine_of[i]] =
				fold->colours[fold->machine_of[part->members[i]]];
		look_at_uses(own, part->uses, part->use_count);
		uint64_t label = part->label;
		if (fold->by_level)
			label = fold_mix(label, part_classes(fold, part));
		for (size_t i = 0; i < part->count; i++) {
			uint64_t *signature = &fold->signatures[part->members[i]];
			*signature = fold_mix(fold_mix(*signature, label), own->signatures[i]);
		}
	}
	arena_free(arena);
	return own != NULL;
}

/* Mixes into each machine's colour what its ranks meet. */
static bool look_at_peers(struct fold *fold, const struct fold_search *search)
{
	look_at_uses(fold, search->uses, search->use_count);
	for (size_t i = 0; i < search->part_count; i++)
		if (!look_at_part(fold, &search->parts[i]))
			return false;
	for (size_t r = 0; r < fold->rank_count; r++) {
		uint64_t *colour = &fold->colours[fold->machine_of[r]];
		*colour = fold_mix(*colour, fold->signatures[r]);
	}
	return true;
}

static void look_at_groups(struct fold *fold)
{
	struct arena *arena = arena_new();
	struct groups groups = group_colours(arena, fold);
	for (size_t m = 0; m < fold->machine_count && !fold->near; m++) {
		uint32_t leaf = fold->leaf_of[m];
		fold->colours[m] = fold_mix(fold_mix(fold->colours[m], groups.leaves[leaf]),
					    groups.pods[fold->pod_of[leaf]]);
	}
	arena_free(arena);
}

static bool parts_fit(const struct fold *fold, const struct fold_search *search)
{
	struct arena *arena = arena_new();
	bool fit = true;
	for (size_t i = 0; fit && i < search->part_count; i++)
		fit = fold_part(arena, fold, search->parts[i].members, search->parts[i].count);
	arena_free(arena);
	return fit;
}

bool fold_find(struct arena *arena, struct fold *fold, const struct fold_search *search)
{
	struct arena *scratch = arena_new();
	size_t before = 0, now, most = search->classes_most;
	bool fits = true;
	begin(scratch, fold);
	fold->algorithms = 0;
	for (size_t i = 0; i < search->use_count; i++)
		fold->algorithms |= algorithm_bit(search->uses[i].algorithm);
	fold->signatures = ARENA_ARRAY(scratch, fold->rank_count, uint64_t);
	now = count_colours(fold->colours, fold->machine_count);
	while (fits && now > before && now <= most) {
		before = now;
		for (size_t r = 0; r < fold->rank_count; r++)
			fold->signatures[r] = search->programs ? search->programs[r] : 0;
		fits = look_at_peers(fold, search);
		look_at_groups(fold);
		now = count_colours(fold->colours, fold->machine_count);
	}
	fold->signatures = NULL;
	fits = fits && now <= most;
	if (fits)
		settle(arena, fold);
	fold->colours = NULL;
	arena_free(scratch);
	return fits && parts_fit(fold, search);
}

/* ---- parts ---- */

/* Sets the machines of a part, and by machine the place of its first member in the whole fold.
 * Returns their number. */
static size_t part_machines(struct fold *part, const struct fold *fold, const size_t *members,
			    uint32_t *machine_of, uint32_t *first_rank, uint32_t *whole)
{
	size_t count = 0;
	for (size_t i = 0; i < part->rank_count; i++) {
		uint32_t machine = fold->machine_of[members[i]];
		if (count == 0 || whole[count - 1] != machine) {
			first_rank[count] = (uint32_t)i;
			whole[count++] = machine;
		}
		machine_of[i] = (uint32_t)count - 1;
	}
	first_rank[count] = (uint32_t)part->rank_count;
	return count;
}

/* Returns true if two machines of a part hold the same places of the whole fold's machines. */
static bool same_places(const struct fold *part, const struct fold *fold, const size_t *members,
			size_t a, size_t b)
{
	uint32_t first_a = part->first_rank[a], first_b = part->first_rank[b];
	size_t count = part->first_rank[a + 1] - first_a;
	if (part->first_rank[b + 1] - first_b != count)
		return false;
	for (size_t i = 0; i < count; i++)
		if (place_of(fold, members[first_a + i]) != place_of(fold, members[first_b + i]))
			return false;
	return true;
}

struct fold *fold_part(struct arena *arena, const struct fold *fold, const size_t *members,
		       size_t count)
{
	struct fold *part = ARENA_NEW(arena, struct fold);
	uint32_t *machine_of = ARENA_ARRAY(arena, count, uint32_t);
	uint32_t *first_rank = ARENA_ARRAY(arena, count + 1, uint32_t);
	uint32_t *whole = ARENA_ARRAY(arena, count, uint32_t);
	*part = (struct fold){.rank_count = count,
			      .near = fold->near,
			      .by_level = fold->by_level,
			      .algorithms = UINT64_MAX};
	part->machine_of = machine_of;
	part->first_rank = first_rank;
	part->machine_count = part_machines(part, fold, members, machine_of, first_rank, whole);
	uint32_t *leaf_of = ARENA_ARRAY(arena, part->machine_count, uint32_t);
	part->leaf_of = leaf_of;
	part->pod_of = fold->pod_of;
	part->like = ARENA_ARRAY(arena, part->machine_count, uint32_t);
	part->first_simulated = ARENA_ARRAY(arena, part->machine_count, uint32_t);
	part->count_of = ARENA_ARRAY(arena, part->machine_count, uint32_t);
	part->rank_of = ARENA_ARRAY(arena, count, uint32_t);
	for (uint32_t m = 0; m < part->machine_count; m++) {
		uint32_t like = 0;
		leaf_of[m] = fold->leaf_of[whole[m]];
		while (fold->like[whole[like]] != fold->like[whole[m]])
			like++;
		part->like[m] = like;
		if (!same_places(part, fold, members, like, m))
			return NULL;
		if (like < m)
			continue;
		part->class_count++;
		part->count_of[m] = fold->count_of[fold->like[whole[m]]];
		part->first_simulated[m] = (uint32_t)part->simulated_count;
		for (uint32_t r = first_rank[m]; r < first_rank[m + 1]; r++)
			part->rank_of[part->simulated_count++] = r;
	}
	return part;
}
