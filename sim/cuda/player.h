/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plays a program's call stream on a port, step after step.
 *
 * Each thread walks its list of items: think time on its core, a CUDA call, or
 * a wait for a SIGNAL of another thread (a counter that threads post; how
 * executors hand work to one another). When every thread that takes part in
 * the step has reached the end of its list, the step is over and all begin
 * again. Polling threads are not lists but a rule (struct poller): while any
 * registered event is pending, query every pending one in turn, then sleep.
 * When an event is seen complete, its signal is posted. So the number of polls
 * follows from elapsed time, delay and round trip; nobody types it in. An event
 * that is seen complete only in a later step than it was watched in posts
 * nothing: signals count within a step.
 *
 * Without a poller a watch costs nothing: its signal is posted the moment the
 * GPU reaches the last record of the event that this player has issued.
 */
#ifndef FARWIRE_CUDA_PLAYER_H
#define FARWIRE_CUDA_PLAYER_H

#include <stdint.h>

#include "sim/cuda/cuda.h"

enum item_kind {
	ITEM_THINK, /* work_s on the thread's core at the reference clock */
	ITEM_CALL,  /* call */
	ITEM_POLL,  /* call, a query: again and again until it says ready, work_s apart */
	ITEM_POST,  /* signal: adds 1 */
	ITEM_AWAIT, /* signal: waits until its count in this step reaches `count` */
	ITEM_WATCH, /* hands event `call.event` to the poller; when seen complete, posts signal */
	ITEM_STEP_MARK, /* the moment at which throughput is counted (optional) */
};

struct item {
	enum item_kind kind;
	uint32_t signal, count;
	double work_s;
	struct cuda_call call;
};

struct call_thread {
	const char *name;
	const struct item *items;
	size_t count;
};

struct poller_params {
	bool enabled;
	double sleep_s; /* between sweeps while any event is pending */
};

struct call_stream {
	const struct call_thread *threads;
	size_t thread_count;
	uint16_t stream_count, event_count;
	uint32_t signal_count;
	struct poller_params poller; /* its thread index is thread_count */
	double memory_B;             /* GPU memory a process takes */
	double images_count;         /* work units a step */
};

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
	const struct call_stream *program;
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
