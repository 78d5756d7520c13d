/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by player.c (threads, signals, steps) and poller.c. */
#pragma once

#include "sim/engine/trace.h"
#include "sim/workload/player.h"

struct player_track {
	const char *name;
	uint32_t number;
	bool known;
};

struct player_thread {
	struct player *player;
	const struct call_thread *program;
	unsigned index;
	struct cpu *core;
	size_t at;                         /* index of the next item */
	bool running;                      /* thread_run is running */
	bool in_call;                      /* a call has not returned */
	bool holds_lock;                   /* the poller's */
	int64_t since_ps;                  /* spent_ps is complete up to this time */
	int64_t spent_ps[TIME_KIND_COUNT]; /* time spent in this step, by kind */
	uint32_t awaited_count;
	struct player_thread *next_waiting; /* next that waits for the same signal or the lock */
	struct player_track track;
};

struct signal {
	uint64_t count; /* number of posts in this step */
	struct player_thread *waiting;
};

/* Sums of the times of the program's GPUs since the start. */
struct device_times {
	int64_t busy_ps, exposed_ps;
};

/* An event that the poller queries. */
struct event_watch {
	uint16_t device;
	uint16_t event;
	uint32_t signal;
	uint32_t step; /* step in which the watch began */
};

struct poller {
	struct event_watch *watches; /* pending watches, in the order in which they were added */
	size_t count, room;
	size_t at;   /* the watch that is queried now */
	bool active; /* the poller queries or sleeps; otherwise it waits for a watch */
	bool locked; /* a thread or the poller holds the lock */
	bool waits;  /* the poller waits for the lock */
	struct player_thread *waiting;  /* threads that wait for the lock, in order */
	struct player_thread *querying; /* thread that makes the queries; NULL: the poller */
	struct cpu *core;
	struct cuda_call query;
	int64_t since_ps; /* begin of the query */
	struct player_track track;
};

struct player {
	struct player_spec spec;
	size_t timed_count; /* GPUs whose times are counted */
	double work_ratio;  /* factor of the threads' work in the guest */
	struct player_thread *threads;
	struct signal *signals;
	uint64_t *records_counts;        /* by device and event: records issued since the start */
	VEC(struct step_record) records; /* of the ended steps and the current one */
	uint32_t step;                   /* the current step, which is the number of ended steps */
	size_t threads_left;             /* threads that have not reached the end of their lists */
	int64_t pause_ps;                /* pause before the next step */
	struct device_times before;      /* times when the step began */
	int64_t work_before_ps;
	int64_t gpu_before_ps[GPU_TIME_COUNT]; /* as struct step_record's gpu_ps */
	struct device_times noted;             /* times when note_idle was last called */
	int64_t idle_ps[TIME_KIND_COUNT];      /* of this step's gpu_idle_s, for all GPUs */
	bool stopped;
	struct poller poller;
};

void poller_init(struct player *player);
/* Takes the lock before the record of an event that the thread watches next. Returns false if
 * another holds it: the thread waits, and player_locked continues it. */
bool poller_lock(struct player_thread *thread);
void player_locked(void *ctx, uint64_t arg);
/* Gives the watch of the thread's current item to the poller. Returns true if the thread then
 * queries events; player_queried continues it. */
bool poller_watch(struct player_thread *thread, const struct item *watch);
void player_queried(struct player_thread *thread);

/* Call this when a watched event is complete. It posts the signal if the step in which the watch
 * began still lasts. */
void player_watch_done(struct player *player, uint32_t signal, uint32_t step);

void player_span_add(struct player *player, struct player_track *track, enum span_kind kind,
		     const char *name, int64_t start_ps);
/* Adds a span from start_ps to now if there is a trace. */
static inline void player_span(struct player *player, struct player_track *track,
			       enum span_kind kind, const char *name, int64_t start_ps)
{
	if (engine_trace(player->spec.engine))
		player_span_add(player, track, kind, name, start_ps);
}
