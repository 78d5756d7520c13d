/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counts the training steps that a search of plans simulates, for its progress.
 *
 * The search first simulates a step of many plans, then several steps and draws of the best ones.
 * So plans differ in work, while steps take about the same time. The number of all steps is an
 * estimate until the first part ends. Several threads may call these functions. */
#pragma once

#include <pthread.h>

#include "sim/predict/predict.h"

struct plan_meter {
	pthread_mutex_t lock;
	struct watch watch; /* is told the numbers of steps */
	void (*tell_best)(void *ctx, const char *name, double step_s); /* ctx: that of watch */
	size_t before, done, total, point_steps; /* before: those of an earlier run */
};

/* Begins a part of the search. point_steps: those of each of its plans, without draws; expected and
 * later are as below. */
void plan_meter_begin(struct plan_meter *m, size_t point_steps, size_t expected, size_t later);
/* Sets the steps expected until the end of this part, at least those that are done, and those of
 * later parts. */
void plan_meter_expect(struct plan_meter *m, size_t expected, size_t later);
/* Tells the fastest plan so far. */
void plan_meter_best(struct plan_meter *m, const char *name, double step_s);
/* Functions for struct watch with the meter as ctx: a plan or a draw has been simulated. */
void plan_meter_point(void *ctx, size_t before, size_t done, size_t count);
void plan_meter_draw(void *ctx, size_t before, size_t done, size_t count);
/* Counts the steps that are expected, but were not needed, as done. */
void plan_meter_end(struct plan_meter *m);
