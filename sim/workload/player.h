/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plays a program (sim/cuda/program.h) on a port, step after step.
 *
 * The number of polls is a result: it follows from elapsed time, the poller's sleep and
 * the round trip of a query.
 */
#pragma once

#include "sim/cuda/program.h"
#include "sim/workload/step.h"

struct player;
struct player_spec {
	struct arena *arena;
	struct engine *engine;
	const char *name;  /* trace group */
	const char *track; /* of the first thread; NULL: as the thread is called */
	const struct program *program;
	struct cuda_port *port;
	struct guest *guest;
	bool untimed;      /* records contain 0 for the times of GPUs */
	bool shares_cores; /* threads share the guest's pool of cores, whose extra cost is added */
	bool guest_work; /* the program's work is for bare metal; the guest's extra cost is added */
	/* By device of the program: the process on that GPU. Its times are counted and its events
	 * are watched. With device_count = 0 the records contain 0 for the times of GPUs. */
	struct cuda_process *const *processes;
	size_t device_count;
	/* For programs with an ITEM_GATE: calls fn from a later event when the thread may go on. */
	void (*gate)(void *ctx, event_fn *fn, void *fn_ctx, uint64_t fn_arg);
	void *gate_ctx;
	uint32_t steps_max; /* 0: no maximum; step_done ends the player */
	/* Called after each step; returns false to stop this player. */
	bool (*step_done)(void *ctx, struct player *player, const struct step_record *record);
	void *ctx;
};
struct player *player_new(const struct player_spec *spec);
/* Adds an event that begins the first step now. */
void player_start(struct player *player);
/* Delays the next step by pause_ps. Call it only from step_done. */
void player_pause(struct player *player, int64_t pause_ps);
size_t player_step_count(const struct player *player);
const struct step_record *player_step_at(const struct player *player, size_t index);

/* Returns what the current step waits for, such as "step 3, thread 'main' at cudaMemcpy, item 12 of
 * 40". */
const char *player_waiting(const struct player *player, struct arena *arena);
