/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Equal machines are simulated once.
 *
 * All ranks of a job are in MACHINES, machines at leaves, leaves in pods. Two machines are
 * ALIKE when everything that can ever reach them is alike. They are of one kind. The k-th rank
 * of each does the same steps in the same order. The peers of these steps are at the same place
 * of machines that are alike, the same number of levels up. Their leaf and pod hold equally
 * many machines of each class. Machines that are alike at the start of a simulation stay alike,
 * so one machine of each class is simulated and represents all (docs/models/symmetry.md).
 *
 * Colours find the classes (the coarsest equitable partition). All machines of a kind begin
 * with one colour. Each round mixes into it what the machine sees, the colours of its peers,
 * until a round finds no more colours than the one before. A round reads the algorithm's own
 * schedule, which is counted instead of kept (schedule.c), so there is no second description of
 * an algorithm. Any difference, a slow machine or a last leaf that is not full, spreads in this
 * way as far as it matters. */
#ifndef FARWIRE_COLLECTIVE_FOLD_H
#define FARWIRE_COLLECTIVE_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/hash.h"
#include "sim/fabric/fabric.h"

struct algorithm;
struct algorithm_spec;

struct fold {
	size_t rank_count, machine_count;
	const uint32_t *machine_of; /* by rank; those of a machine follow each other */
	const uint32_t *first_rank; /* by machine; one more of them */
	const uint32_t *kind_of;    /* by machine */
	const uint32_t *leaf_of;    /* by machine */
	const uint32_t *pod_of;     /* by leaf */
	size_t leaf_count, pod_count;
	/* The representative of a machine: the first one like it below the first leaf like its
	 * own in the first pod like its own. */
	uint32_t *like;            /* by machine */
	uint32_t *first_simulated; /* by machine that stands for others: its first rank among
				      those that are simulated */
	uint32_t *count_of;        /* by machine: of those for which it stands; 0: none */
	uint32_t *leaf_count_of;   /* by leaf of such a machine: leaves like it */
	uint32_t *pod_count_of;    /* by pod of such a leaf */
	size_t class_count;        /* machines that are simulated */
	size_t simulated_count;    /* ranks that are simulated */
	uint32_t *rank_of;         /* by simulated rank */
	uint64_t algorithms;       /* whose schedules the classes are good for: a bit for each */
	/* While classes are sought: by machine, by rank; else NULL. */
	uint64_t *colours, *signatures;
};

/* How far up two machines' ways meet. */
enum fold_level { FOLD_INSIDE, FOLD_LEAF, FOLD_POD, FOLD_TOP };
enum fold_level fold_level(const struct fold *fold, size_t machine_a, size_t machine_b);
/* The switch where the ways of two real machines meet, so far up (above FOLD_INSIDE): from and
 * to are nodes of those that stand for them, top is the topmost switch. -1: there is no way. */
int fold_meeting(struct fabric *fabric, int top, int from, int to, enum fold_level level,
		 unsigned traffic);

/* The simulated rank that stands for a rank. */
static inline uint32_t fold_stand_in(const struct fold *fold, size_t rank)
{
	uint32_t machine = fold->machine_of[rank];
	return fold->first_simulated[fold->like[machine]] +
	       ((uint32_t)rank - fold->first_rank[machine]);
}
static inline bool fold_is_simulated(const struct fold *fold, size_t rank)
{
	uint32_t machine = fold->machine_of[rank];
	return fold->like[machine] == machine;
}
/* Machines for which that of a simulated rank stands. */
static inline uint32_t fold_count(const struct fold *fold, size_t simulated)
{
	return fold->count_of[fold->machine_of[fold->rank_of[simulated]]];
}
/* ... of all of them; NULL if fold is. */
const uint32_t *fold_counts(struct arena *arena, const struct fold *fold);

/* One machine of each kind stands for all of it: to find out what a library makes of
 * them. The fields down to pod_count are given. */
void fold_by_kind(struct arena *arena, struct fold *fold);
/* Classes with which all of these schedules can be played; false if there would be more than
 * classes_most. `specs` have no fold. */
struct fold_use {
	const struct algorithm *algorithm;
	const struct algorithm_spec *spec;
};
bool fold_find(struct arena *arena, struct fold *fold, const struct fold_use *uses,
	       size_t use_count, size_t classes_most);

/* Mixes a value into a hash. */
static inline uint64_t fold_mix(uint64_t hash, uint64_t value)
{
	return hash_spread(hash * 0x9E3779B97F4A7C15u + value + 0x632BE59BD9B4E019u);
}

#endif
