/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Why a better system is slower.
 *
 * More bandwidth or less latency usually makes a step shorter. It can become longer when the
 * library chooses another algorithm, or when messages meet a timer or a power state at a less
 * lucky time (docs/models/monotone.md). */
#pragma once

#include <math.h>
#include <string.h>

#include "sim/base/diag.h"
#include "sim/result/result.h"

/* A step that is longer by at most this ratio does not count as slower. */
#define SLOWER_RATIO 0.005
/* A wait explains a longer step if it grows by at least this part of the difference. */
#define EXPLAINED_RATIO 0.5
/* Waits among which the difference can be, in units of the difference. */
#define LONG_RATIO 2

/* By how much and why a better system is slower. */
struct slower {
	double ratio;          /* by how much the step is longer; 0: at most by SLOWER_RATIO */
	const char *mechanism; /* "algorithm", "batches of requests", or a key of struct
				  prediction.waits; NULL: unknown */
};

static inline double wait_s(const struct prediction *p, const char *name)
{
	for (size_t i = 0; i < p->wait_count; i++)
		if (strcmp(p->waits[i].name, name) == 0)
			return p->waits[i].seconds;
	return 0;
}

/* Returns true if Horovod's cycles fuse gradients into other collectives. */
static inline bool fuses_otherwise(const struct prediction *plain, const struct prediction *better,
				   double ratio)
{
	double more = better->collectives_count - plain->collectives_count;
	return wait_s(plain, WAIT_NAME_CYCLE) > 0 &&
	       fabs(more) >= EXPLAINED_RATIO * ratio * plain->collectives_count;
}

/* Returns the longest wait that is at least least_s: for a timer or idle state, or for other flows
 * if no such wait is that long. The waits on the longest chain of a step can grow while the sum of
 * all waits does not. */
static inline const char *long_wait(const struct prediction *better, double least_s)
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
static inline const char *wait_behind(const struct prediction *plain,
				      const struct prediction *better, double more_s)
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

static inline double part_grown_s(const struct prediction *plain, const struct prediction *better,
				  const char *part)
{
	return prediction_part_s(better, part) - prediction_part_s(plain, part);
}

/* Returns true if the requests of a model server are batched otherwise: they wait longer for a
 * place in a batch, share their kernels with more requests, or are in more iterations with calls.
 * Nothing else changes the kernels of a request. */
static inline bool batches_otherwise(const struct prediction *plain,
				     const struct prediction *better, double more_s)
{
	double least_s = EXPLAINED_RATIO * more_s;
	double queue_s = part_grown_s(plain, better, PART_QUEUE);
	double kernel_s = part_grown_s(plain, better, PART_KERNEL);
	double calls_s = part_grown_s(plain, better, PART_NETWORK);
	return queue_s >= least_s ||
	       (prediction_part_s(better, PART_QUEUE) > 0 && kernel_s >= least_s) ||
	       (queue_s > 0 && queue_s + kernel_s + calls_s >= least_s);
}

static inline struct slower slower_than(const struct prediction *plain,
					const struct prediction *better)
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
