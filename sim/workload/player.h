/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plays a program (sim/cuda/program.h) on a port, step after step.
 *
 * The number of polls is a result: it follows from elapsed time, the poller's sleep and
 * the round trip of a query.
 */
#ifndef FARWIRE_WORKLOAD_PLAYER_H
#define FARWIRE_WORKLOAD_PLAYER_H

#include <stdint.h>

#include "sim/cuda/program.h"
#include "sim/workload/step.h"

struct player;
struct player_spec {
	struct arena *arena;
	struct engine *engine;
	const char *name; /* trace group */
	const struct program *program;
	struct cuda_port *port;
	struct guest *guest;
	bool guest_work; /* program says the bare machine's work: its guest's costs come on top */
	/* By device of the program: the process on that GPU, whose time is counted and whose
	 * events are watched. device_count = 0: the GPU's times are reported as 0. */
	struct cuda_process *const *processes;
	size_t device_count;
	uint32_t steps_max; /* 0: as many as step_done lets it */
	/* Called after each step; returns false to stop this player. */
	bool (*step_done)(void *ctx, struct player *player, const struct step_record *record);
	void *ctx;
};
struct player *player_new(const struct player_spec *spec);
/* Begins the first step (by an event at now). */
void player_start(struct player *player);
/* From within step_done: the next step begins that much later. */
void player_pause(struct player *player, int64_t pause_ps);
size_t player_step_count(const struct player *player);
const struct step_record *player_step_at(const struct player *player, size_t index);

/* "thread 'main' at cudaMemcpy, item 12 of 40": what a step that is not over waits for. */
const char *player_waiting(const struct player *player, struct arena *arena);

#endif
