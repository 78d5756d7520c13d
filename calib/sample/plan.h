/* SPDX-License-Identifier: Apache-2.0 */
/* A plan: what is measured, in which order, and for how long.
 *
 * A point is one measurement: a test, words for its variant (`is`), and numbers for its conditions
 * (`x`, each name ends in its unit). A pass measures every point once. Each pass has its own random
 * order, so a drift or a temporary disturbance falls on unrelated points, not on neighbours.
 * Differences between passes become visible in intervals. Points, orders and random sizes follow
 * from the seed, so an interrupted run can be continued and a run can be repeated.
 *
 * Points with `held_out` are measured like the others, but fits do not use them. They judge the
 * fit.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PLAN_WORDS   4
#define PLAN_NUMBERS 6

struct plan_word {
	const char *key, *value; /* texts that outlive the plan */
};
struct plan_number {
	const char *key;
	double value;
};
struct plan_point {
	const char *test;
	struct plan_word is[PLAN_WORDS];    /* ends at the first entry without a key */
	struct plan_number x[PLAN_NUMBERS]; /* likewise */
	const char *unit;                   /* unit of the samples; NULL: "s" */
	double interval_ratio;              /* target width of the interval; 0: SAMPLER_RATIO */
	bool held_out;
	const void *owner; /* the probe that measures this point */
};

/* Writes the name for lists, messages and --only, for example "copy h2d pinned async rate
 * size_B=65536". A longer name is cut to `room`. */
void plan_point_name(const struct plan_point *point, char *text, size_t room);
/* Return a word or a number of a point. If the point has none of that name, they return NULL or the
 * fallback. */
const char *plan_point_word(const struct plan_point *point, const char *key);
double plan_point_number(const struct plan_point *point, const char *key, double fallback);

/* SplitMix64 (Steele, Lea, Flood 2014): a short generator with the same numbers on every machine.
 */
struct plan_random {
	uint64_t state;
};
/* exported: tests/fake_gpu uses it */
uint64_t plan_random_next(struct plan_random *random);
double plan_random_part(struct plan_random *random); /* in [0, 1) */

struct plan {
	uint64_t seed;
	struct plan_point *points;
	size_t count, room;
	bool failed; /* memory ran out; stays set */
	/* of the points added next that have no test */
	const char *test;
	const void *owner;
};

/* Adds a point. A point that the plan already contains is left out, because random sizes may
 * repeat. */
void plan_add(struct plan *plan, const struct plan_point *point);
/* Stores the order of a pass: a permutation of 0 .. count-1. */
void plan_shuffle(const struct plan *plan, size_t pass, size_t *order);
/* Returns the time limit of the next of `left` points when `left_s` remain. It is twice the
 * equal share, because many points need far less than theirs. It is at least PLAN_SHARE_LEAST_S,
 * which is enough for operations of microseconds. */
#define PLAN_SHARE_LEAST_S 2e-3
double plan_share_s(double left_s, size_t left);
void plan_free(struct plan *plan);

/* Writes the test and all words, for patterns: "copy.h2d.pinned". */
void plan_point_variant(const struct plan_point *point, char *text, size_t room);
/* Returns true if `text` matches a pattern of the shell. */
bool plan_matches(const char *pattern, const char *text);
