/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Folding: equal machines are simulated once.
 *
 * The ranks of a job are on machines, machines are at leaves, and leaves are in pods. Two machines
 * are equal when everything that can influence them is equal. They are of the same kind. The k-th
 * rank of each makes the same steps in the same order, with peers at the same place of equal
 * machines, the same number of levels up. Their leaf and pod contain equally many machines of each
 * class. Machines that are equal at the start of a simulation stay equal. So one machine of each
 * class is simulated and represents all of them (docs/models/symmetry.md).
 *
 * Classes are found by colouring (the coarsest equitable partition). At first all machines of a
 * kind have one colour. Each round mixes the colours of a machine's peers into its colour, until a
 * round finds no more colours than the round before. A round uses the algorithm's own schedule,
 * which is counted but not stored (schedule.c), so no algorithm is described twice. A difference,
 * such as a slow machine or an incomplete last leaf, spreads as far as it has influence.
 */
#pragma once

#include "sim/base/hash.h"
#include "sim/fabric/fabric.h"

struct algorithm;
struct algorithm_spec;

struct fold {
	size_t rank_count, machine_count;
	const uint32_t *machine_of; /* by rank; ranks of a machine are consecutive */
	const uint32_t *first_rank; /* by machine; has one more entry */
	const uint32_t *kind_of;    /* by machine */
	const uint32_t *leaf_of;    /* by machine */
	const uint32_t *pod_of;     /* by leaf */
	size_t leaf_count, pod_count;
	/* The representative of a machine: the first equal machine below the first equal leaf in
	 * the first equal pod. */
	uint32_t *like;            /* by machine */
	uint32_t *first_simulated; /* by representative: its first rank among the simulated ranks */
	/* by machine: number of machines it represents; 0: not simulated */
	uint32_t *count_of;
	uint32_t *leaf_count_of; /* by leaf of a representative: number of equal leaves */
	uint32_t *pod_count_of;  /* by pod of such a leaf: number of equal pods */
	size_t class_count;      /* number of simulated machines */
	size_t simulated_count;  /* number of simulated ranks */
	uint32_t *rank_of;       /* by simulated rank */
	/* Results are approximate: machines are alike at any place below leaves, rounds of long
	 * rings are merged, and by_level may be set. */
	bool near;
	/* Machines are alike that do the same steps after as many others, whatever their peers
	 * are. A machine of a double tree is alike to those of its heights in the two trees. */
	bool by_level;
	/* set of algorithms for whose schedules the classes are valid, as bits */
	uint64_t algorithms;
	/* Used while searching for classes, by machine and by rank; otherwise NULL. */
	uint64_t *colours, *signatures;
};

/* The level at which the routes of two machines meet. */
enum fold_level { FOLD_INSIDE, FOLD_LEAF, FOLD_POD, FOLD_TOP };
enum fold_level fold_level(const struct fold *fold, size_t machine_a, size_t machine_b);
/* Returns this level as far as machines that differ in it are not alike. */
static inline uint64_t fold_distance(const struct fold *fold, size_t machine_a, size_t machine_b)
{
	enum fold_level level = fold_level(fold, machine_a, machine_b);
	return fold->near && level != FOLD_INSIDE ? FOLD_TOP : level;
}
/* Returns the switch where the routes of two real machines meet at a level above FOLD_INSIDE. from
 * and to are nodes of their representatives; top is the topmost switch. Returns -1 if there is no
 * route. */
int fold_meeting(struct fabric *fabric, int top, int from, int to, enum fold_level level,
		 unsigned traffic);

/* Returns the simulated rank that represents a rank. */
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
/* Returns the number of machines that the machine of a simulated rank represents. */
static inline uint32_t fold_count(const struct fold *fold, size_t simulated)
{
	return fold->count_of[fold->machine_of[fold->rank_of[simulated]]];
}
/* Returns that number for all simulated ranks; NULL if fold is NULL. */
const uint32_t *fold_counts(struct arena *arena, const struct fold *fold);

/* Simulates one machine of each kind, to find out what a library chooses for them. The fields up to
 * pod_count are given. */
void fold_by_kind(struct arena *arena, struct fold *fold);
/* An algorithm that the ranks of a communicator use. The spec has no fold. */
struct fold_use {
	const struct algorithm *algorithm;
	const struct algorithm_spec *spec;
};
/* A communicator of some ranks, or two ranks that send messages to each other. */
struct fold_part {
	size_t label;          /* kind of the part; parts are in the order of their labels */
	const size_t *members; /* ranks; those of a machine are consecutive */
	size_t count;
	const struct fold_use *uses; /* none: only the places of its ranks differ */
	size_t use_count;
};
struct fold_search {
	const struct fold_use *uses; /* algorithms of all ranks together */
	size_t use_count;
	const size_t *programs; /* by rank: number of its program; NULL: all are equal */
	const struct fold_part *parts;
	size_t part_count;
	size_t classes_most;
};
/* Finds classes with which all of these schedules can be simulated. Returns false if there are
 * more than classes_most, or if a part has equal machines that hold different places of it. */
bool fold_find(struct arena *arena, struct fold *fold, const struct fold_search *search);
/* Returns the fold of a part's ranks, which are numbered in the order of members: ranks of like
 * machines of the whole fold are represented by the first of them. Returns NULL if such machines
 * hold different places of the part. */
struct fold *fold_part(struct arena *arena, const struct fold *fold, const size_t *members,
		       size_t count);

/* Mixes a value into a hash. */
static inline uint64_t fold_mix(uint64_t hash, uint64_t value)
{
	return hash_spread(hash * 0x9E3779B97F4A7C15u + value + 0x632BE59BD9B4E019u);
}
