/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The work for both event queues, in C and C++.
 *
 * Before including this, define
 *   static uint64_t pending_add(int64_t time_ps, work_fn *fn, void *ctx, uint64_t arg);
 *   static void pending_cancel(uint64_t id);
 *   static void pending_step(void);   takes the earliest event and calls it
 *   static int64_t pending_now_ps(void);
 * A program is called as NAME CASE PENDING STEPS. It prints the seconds for the steps, their
 * number, a sum that depends on the order of all events, and peak memory. */
#pragma once

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/clock.h"

enum { GAPS = 4096, MEAN_PS = 1000000, FAR = 1000000, TIMEOUT = 10 };

struct work {
	uint64_t random; /* xorshift64 (Marsaglia, 2003) */
	uint64_t sum;
	int64_t gaps_ps[GAPS]; /* exponential, mean MEAN_PS */
	uint64_t *timers;      /* for each event, the timer that it cancels */
};

static uint64_t work_random(struct work *work)
{
	work->random ^= work->random << 13;
	work->random ^= work->random >> 7;
	work->random ^= work->random << 17;
	return work->random;
}

static int64_t work_gap_ps(struct work *work)
{
	return work->gaps_ps[work_random(work) % GAPS];
}

static void work_note(struct work *work, uint64_t arg)
{
	work->sum = work->sum * 31 + arg;
}

/* Each event adds one, so the number of pending events is constant. */
static void work_hold(void *ctx, uint64_t arg)
{
	struct work *work = (struct work *)ctx;
	work_note(work, arg);
	pending_add(pending_now_ps() + work_gap_ps(work), work_hold, ctx, arg);
}

/* All events have the same time, which then repeats. */
static void work_burst(void *ctx, uint64_t arg)
{
	work_note((struct work *)ctx, arg);
	pending_add(pending_now_ps() + MEAN_PS, work_burst, ctx, arg);
}

/* One of ten events is a million times as far away. */
static void work_far(void *ctx, uint64_t arg)
{
	struct work *work = (struct work *)ctx;
	work_note(work, arg);
	int64_t gap_ps = work_gap_ps(work);
	if (work_random(work) % 10 == 0)
		gap_ps *= FAR;
	pending_add(pending_now_ps() + gap_ps, work_far, ctx, arg);
}

static void work_timeout(void *ctx, uint64_t arg)
{
	struct work *work = (struct work *)ctx;
	work_note(work, arg);
	work->timers[arg] = 0;
}

/* Each event has a timer, which the next event of its kind cancels and sets again. */
static void work_cancel(void *ctx, uint64_t arg)
{
	struct work *work = (struct work *)ctx;
	work_note(work, arg);
	if (work->timers[arg])
		pending_cancel(work->timers[arg]);
	work->timers[arg] =
		pending_add(pending_now_ps() + TIMEOUT * MEAN_PS, work_timeout, ctx, arg);
	pending_add(pending_now_ps() + work_gap_ps(work), work_cancel, ctx, arg);
}

static work_fn *work_find(const char *name)
{
	if (strcmp(name, "hold") == 0)
		return work_hold;
	if (strcmp(name, "burst") == 0)
		return work_burst;
	if (strcmp(name, "far") == 0)
		return work_far;
	return strcmp(name, "cancel") == 0 ? work_cancel : NULL;
}

static int work_main(int argc, char **argv)
{
	static struct work work = {88172645463325252u, 0, {0}, NULL};
	work_fn *fn = argc == 4 ? work_find(argv[1]) : NULL;
	if (!fn)
		return 2;
	uint64_t pending = strtoull(argv[2], NULL, 10), steps = strtoull(argv[3], NULL, 10);
	work.timers = (uint64_t *)calloc(pending, sizeof *work.timers);
	for (size_t i = 0; i < GAPS; i++)
		work.gaps_ps[i] = (int64_t)(-log(((double)i + 0.5) / GAPS) * MEAN_PS);
	for (uint64_t i = 0; i < pending; i++)
		pending_add(fn == work_burst ? 0 : work_gap_ps(&work), fn, &work, i);
	for (uint64_t i = 0; i < 2 * pending; i++) /* until the steady state */
		pending_step();
	double start_s = clock_s();
	for (uint64_t i = 0; i < steps; i++)
		pending_step();
	printf("%.6f %" PRIu64 " %016" PRIx64 " %.0f\n", clock_s() - start_s, steps, work.sum,
	       clock_peak_B());
	free(work.timers);
	return 0;
}
