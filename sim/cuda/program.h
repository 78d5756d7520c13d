/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A PROGRAM: the CUDA calls of one step, made by the threads of a process.
 *
 * Each THREAD is a list of items that are done in order: work on the thread's core, a CUDA
 * call, or a wait for a SIGNAL. A signal is a counter; a thread posts it to wake another
 * thread. All counters begin at 0 in each step. When every thread has reached the end of its
 * list, the step ends and all lists begin again.
 *
 * The poller is a further thread with a fixed rule (struct poller_params): while watched
 * events are pending, it queries each of them in turn, then sleeps. When it finds an event
 * complete, it posts the signal of the watch, but only if the step of the watch still lasts.
 * It may share a lock with the threads that record and watch events, as in TensorFlow.
 * Without a poller a watch costs nothing: the signal is posted when the GPU reaches the last
 * record of the event that the program had made before the watch.
 *
 * Frameworks (sim/training), recordings (sim/traces) and tests make programs;
 * sim/workload/player.h plays them.
 */
#pragma once

#include "sim/cuda/cuda.h"

enum item_kind {
	ITEM_THINK,     /* thread works for work_s on its core at the reference clock */
	ITEM_CALL,      /* thread makes a call */
	ITEM_POLL,      /* repeats a call, which is a query, until it is ready, and sleeps work_s in
			   between */
	ITEM_POST,      /* adds 1 to signal */
	ITEM_AWAIT,     /* waits until signal reaches `count` in this step */
	ITEM_WATCH,     /* gives event `call.event` to the poller, which posts signal at its end;
			   count > 0: under the poller's lock, the thread queries events, too */
	ITEM_GATE,      /* waits until the step may be issued (struct player_spec) */
	ITEM_STEP_MARK, /* sets the time at which the step counts for throughput (optional) */
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
	double sleep_s; /* time between two rounds while an event is pending */
	/* The poller holds a lock for each round, and a thread holds it from the record of an event
	 * to the end of its watch (sim/workload/poller.c). */
	bool lock;
};

/* GPUs of a job that do collectives together (sim/workload/group.h). */
struct program_group {
	const size_t *members; /* in ascending order, which is the order of ranks */
	size_t count;          /* at least 2 */
};

struct program {
	const struct call_thread *threads; /* thread i uses mainly device i % device_count */
	size_t thread_count;
	uint16_t device_count;              /* GPUs of the program; 0 means 1 */
	uint16_t stream_count, event_count; /* number of streams and events on each GPU */
	uint32_t signal_count;
	struct poller_params poller; /* the poller's thread index is thread_count */
	const struct cuda_renames
		*renames; /* NULL: calls name communicators and members themselves */
	/* Name of the rank in timelines, "rank 5, stage 1". Its GPU's times are counted, so that
	 * struct step_record has gpu_ps. NULL: they are not. */
	const char *role;
	double memory_B;     /* memory that the program takes on each GPU */
	double images_count; /* number of images in one step on all GPUs */
};

static inline size_t program_device_count(const struct program *program)
{
	return program->device_count > 1 ? program->device_count : 1;
}
