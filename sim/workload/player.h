/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plays a program (sim/cuda/program.h) on a port, step after step.
 *
 * The number of polls follows from elapsed time, the poller's sleep and the round trip
 * of a query; nobody types it in.
 */
#ifndef FARWIRE_WORKLOAD_PLAYER_H
#define FARWIRE_WORKLOAD_PLAYER_H

#include <stdint.h>

#include "sim/cuda/program.h"

/* How a thread's time was spent, summed over a step. */
enum thread_time { TIME_THINK, TIME_CALL, TIME_WAIT, TIME_KIND_COUNT };

struct step_record {
	int64_t start_ps, end_ps;
	int64_t mark_ps;                    /* of the last ITEM_STEP_MARK; end_ps where none */
	double gpu_busy_s;                  /* of the context, in this step */
	double thread_s[TIME_KIND_COUNT];   /* of thread 0; they add up to the step */
	double gpu_idle_s[TIME_KIND_COUNT]; /* the context's idle time, by what
		thread 0 was doing meanwhile; adds up to the step less gpu_busy_s */
	uint64_t calls_count;               /* begun by the listed threads */
	uint64_t polls_count;               /* queries begun by the poller, besides */
	int64_t work_ps; /* what the GPU did of the context's kernels in this step, by their
		durations: not as much as was launched while a program runs further and
		further ahead */
};

struct player;
struct player_spec {
	struct arena *arena;
	struct engine *engine;
	const char *name; /* trace group */
	const struct program *program;
	struct cuda_port *port;
	struct guest *guest;
	bool guest_work; /* program says the bare machine's work: its guest's costs come on top */
	struct gpu_context *context;  /* for utilisation; NULL: reported as 0 */
	struct cuda_process *process; /* whose events are watched; needed only by
					 watches without a poller */
	uint32_t steps_max;           /* 0: as many as step_done lets it */
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
