/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/report/slower.h"

#include <math.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/report/sweep_figures.h"

/* A wait explains a longer step if it grows by at least this part of the difference. */
#define EXPLAINED_RATIO 0.5
/* Waits among which the difference can be, in units of the difference. */
#define LONG_RATIO 2

static double wait_s(const struct prediction *p, const char *name)
{
	for (size_t i = 0; i < p->wait_count; i++)
		if (strcmp(p->waits[i].name, name) == 0)
			return p->waits[i].seconds;
	return 0;
}

/* Returns true if Horovod's cycles fuse gradients into other collectives. */
static bool fuses_otherwise(const struct prediction *plain, const struct prediction *better,
			    double ratio)
{
	double more = better->collectives_count - plain->collectives_count;
	return wait_s(plain, WAIT_NAME_CYCLE) > 0 &&
	       fabs(more) >= EXPLAINED_RATIO * ratio * plain->collectives_count;
}

/* Returns the longest wait that is at least least_s: for a timer or idle state, or for other flows
 * if no such wait is that long. The waits on the longest chain of a step can grow while the sum of
 * all waits does not. */
static const char *long_wait(const struct prediction *better, double least_s)
{
	const char *found = NULL;
	double most_s = least_s;
	for (size_t i = 0; i < better->wait_count; i++) {
		const struct breakdown_part *wait = &better->waits[i];
		FW_ASSERT(wait->name);
		bool timer = strcmp(wait->name, WAIT_NAME_CORE) != 0 &&
			     strcmp(wait->name, WAIT_NAME_SHARED) != 0;
		if (!timer || wait->seconds < most_s)
			continue;
		most_s = wait->seconds;
		found = wait->name;
	}
	return found || wait_s(better, WAIT_NAME_SHARED) < least_s ? found : WAIT_NAME_SHARED;
}

/* Returns the wait that grew most, by at least EXPLAINED_RATIO of the difference. If none did,
 * returns a wait that is LONG_RATIO times as long as the difference. NULL: there is none. */
static const char *wait_behind(const struct prediction *plain, const struct prediction *better,
			       double more_s)
{
	const char *found = NULL;
	double most_s = EXPLAINED_RATIO * more_s;
	for (size_t i = 0; i < better->wait_count; i++) {
		const char *name = better->waits[i].name;
		double grown_s = better->waits[i].seconds - wait_s(plain, name);
		if (grown_s < most_s)
			continue;
		most_s = grown_s;
		found = name;
	}
	return found ? found : long_wait(better, LONG_RATIO * more_s);
}

/* Returns true if the requests of a model server wait longer for a place in a batch. */
static bool batches_otherwise(const struct prediction *plain, const struct prediction *better,
			      double more_s)
{
	return prediction_part_s(better, PART_QUEUE) - prediction_part_s(plain, PART_QUEUE) >=
	       EXPLAINED_RATIO * more_s;
}

struct slower slower_than(const struct prediction *plain, const struct prediction *better)
{
	struct slower slower = {0};
	double more_s = better->step_s.value - plain->step_s.value;
	if (!plain->ok || !better->ok || !(more_s > SLOWER_RATIO * plain->step_s.value))
		return slower;
	slower.ratio = more_s / plain->step_s.value;
	if (plain->choice && better->choice && strcmp(plain->choice, better->choice) != 0)
		slower.mechanism = "algorithm";
	else if (fuses_otherwise(plain, better, slower.ratio))
		slower.mechanism = WAIT_NAME_CYCLE;
	else if (batches_otherwise(plain, better, more_s))
		slower.mechanism = "batches of requests";
	else
		slower.mechanism = wait_behind(plain, better, more_s);
	return slower;
}

/* Returns 1 if larger values of the axis are better, -1 if smaller ones are, and 0 if neither is
 * so. */
static int direction(const struct sweep_axis *axis)
{
	static const char *const more[] = {"bandwidth", "fp32", "fp16",       "tf32",
					   "bf16",      "fp8",  "boost_clock"},
				 *const less[] = {"latency", "collective_size"};
	const char *last = strrchr(axis->key, '.');
	if (axis->words || !last)
		return 0;
	for (size_t i = 0; i < sizeof more / sizeof more[0]; i++)
		if (strstr(last, more[i]))
			return 1;
	for (size_t i = 0; i < sizeof less / sizeof less[0]; i++)
		if (strcmp(last + 1, less[i]) == 0)
			return -1;
	return 0;
}

static const char *words(struct arena *arena, const struct sweep_axis *axis, size_t neighbour,
			 struct slower slower)
{
	return arena_printf(arena, "%.1f %% slower than at %s: %s", 100 * slower.ratio,
			    sweep_value_text(arena, axis, neighbour),
			    slower.mechanism ? slower.mechanism : "no mechanism explains it");
}

/* Compares the point with the next worse value of the axis. */
static const char *compared(struct arena *arena, const struct sweep *sweep, size_t point,
			    size_t axis_index)
{
	const struct sweep_axis *axis = &sweep->axes[axis_index];
	size_t index = sweep_axis_index(sweep, point, axis_index), stride = 1, worse = index;
	int sign = direction(axis);
	for (size_t a = axis_index + 1; a < sweep->axis_count; a++)
		stride *= sweep->axes[a].count;
	for (size_t i = 0; i < axis->count && sign != 0; i++) {
		double better_by = sign * (axis->values[index] - axis->values[i]);
		double best_by = sign * (axis->values[index] - axis->values[worse]);
		if (better_by > 0 && (worse == index || better_by < best_by))
			worse = i;
	}
	if (worse == index)
		return NULL;
	struct slower slower = slower_than(sweep->points[point - index * stride + worse * stride],
					   sweep->points[point]);
	return slower.ratio > 0 ? words(arena, axis, worse, slower) : NULL;
}

const char *const *sweep_slower(struct arena *arena, const struct sweep *sweep)
{
	const char **texts = ARENA_ARRAY(arena, sweep->point_count + 1, const char *);
	bool any = false;
	for (size_t i = 0; i < sweep->point_count; i++)
		for (size_t a = 0; a < sweep->axis_count && !texts[i]; a++) {
			texts[i] = compared(arena, sweep, i, a);
			any = any || texts[i];
		}
	return any ? texts : NULL;
}
