/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A PROGRAM: the CUDA calls of one training step, as the threads of a process make them.
 *
 * A program has THREADS. Each is a list of items that are done in order: work on the
 * thread's core, a CUDA call, or a wait for a SIGNAL. A signal is a counter that
 * threads post within a step, as executors do to hand work to one another. When every
 * thread has reached the end of its list, the step is over and all lists begin again.
 *
 * A polling thread is not a list but a rule (struct poller_params): while any watched
 * event is pending, it queries each pending one in turn, then sleeps. When it sees an
 * event complete, it posts the event's signal. An event that it sees complete in a
 * later step than the one of its watch posts nothing. Without a poller a watch costs
 * nothing: its signal is posted at the moment in which the GPU reaches the last record
 * of the event that the program has made.
 *
 * Frameworks (sim/training), recordings (sim/traces) and tests make programs;
 * sim/workload/player.h plays them.
 */
#ifndef FARWIRE_CUDA_PROGRAM_H
#define FARWIRE_CUDA_PROGRAM_H

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

struct program {
	const struct call_thread *threads; /* thread i uses device i % device_count first of all */
	size_t thread_count;
	uint16_t device_count;              /* GPUs that it holds; 0: one */
	uint16_t stream_count, event_count; /* on each of them */
	uint32_t signal_count;
	struct poller_params poller; /* its thread index is thread_count */
	double memory_B;             /* that it takes of each GPU */
	double images_count;         /* work units a step, of all GPUs together */
};

static inline size_t program_device_count(const struct program *program)
{
	return program->device_count > 1 ? program->device_count : 1;
}

#endif
