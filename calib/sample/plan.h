/* SPDX-License-Identifier: Apache-2.0 */
/* What to measure, in which order, and how long.
 *
 * A POINT is one thing to measure: a test, words that say which variant (`is`),
 * numbers that say where (`x`, each name ends in its unit). A PASS measures every
 * point once, in an order of its own: what drifts or disturbs for a while then
 * falls on unlike points, not on neighbours, and what differs from pass to pass
 * shows in intervals. Points, orders and random sizes follow from the seed, so
 * that an interrupted run can go on, and a run be repeated.
 *
 * Points marked `held_out` are measured like the others, but no fit sees them:
 * they judge it.
 */
#ifndef FARWIRE_CALIB_PLAN_H
#define FARWIRE_CALIB_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
	struct plan_word is[PLAN_WORDS]; /* up to the first without a key */
	struct plan_number x[PLAN_NUMBERS];
	const char *unit;      /* of the samples; NULL: "s" */
	double interval_ratio; /* to be reached; 0: SAMPLER_RATIO */
	size_t most;           /* samples of a pass, and no warm-up; 0: as many as it takes */
	bool held_out;
	const void *owner; /* the probe that knows how */
};

/* Adds to a point; texts that outlive it. */
void plan_point_is(struct plan_point *point, const char *key, const char *value);
void plan_point_at(struct plan_point *point, const char *key, double value);

/* "copy h2d pinned async rate size_B=65536", for lists, messages and --only;
 * cut where `room` ends. */
void plan_point_name(const struct plan_point *point, char *text, size_t room);
/* A word or number of a point; NULL, the fallback: it has none of that name. */
const char *plan_point_word(const struct plan_point *point, const char *key);
double plan_point_number(const struct plan_point *point, const char *key, double fallback);

/* SplitMix64 (Steele, Lea, Flood 2014): a whole generator in three lines, the
 * same on every machine. */
struct plan_random {
	uint64_t state;
};
uint64_t plan_random_next(struct plan_random *random);
double plan_random_part(struct plan_random *random);                /* in [0, 1) */
size_t plan_random_below(struct plan_random *random, size_t bound); /* bound > 0 */

struct plan {
	uint64_t seed;
	struct plan_point *points;
	size_t count, room;
	bool failed; /* out of memory, stays */
};

/* A point that is there already (a random size may be no other) is left out. */
void plan_add(struct plan *plan, const struct plan_point *point);
/* The order of a pass: `order` gets each of 0 .. count-1 once. */
void plan_shuffle(const struct plan *plan, size_t pass, size_t *order);
/* How long the next of `left` points may take if `left_s` are left: most points
 * need far less than their part, so a slow one may take four parts. Enough for
 * what takes microseconds in any case. */
#define PLAN_SHARE_LEAST_S 2e-3
double plan_share_s(double left_s, size_t left);
void plan_free(struct plan *plan);

/* "copy.h2d.pinned": its test and all its words, for patterns. */
void plan_point_variant(const struct plan_point *point, char *text, size_t room);
/* Whether `text` matches a pattern of *, ? and plain characters. */
bool plan_matches(const char *pattern, const char *text);

#endif
