/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A framework's thread on the cores of its guest.
 *
 * If the guest's pool has a core for every running thread, work takes the time of one core. With
 * more threads than cores, work is a flow that shares the pool with all others (sim/host/host.h).
 * Each call of worker_do decides this again; its work is about 100 us. In a virtual machine the
 * extra cost of CPU work is added.
 */
#pragma once

#include "sim/engine/engine.h"
#include "sim/host/host.h"

struct worker {
	struct engine *engine;
	struct fabric *fabric;
	struct guest *guest;
	double begun_count; /* return value of guest_threads_begin; 0 while the thread rests */
};

/* From worker_wake to worker_rest, the thread counts as running. */
void worker_wake(struct worker *worker);
void worker_rest(struct worker *worker);
/* Does work_s > 0 (at the reference clock on bare metal), then calls fn. The thread must be awake,
 * and a second call must wait for fn. */
void worker_do(struct worker *worker, double work_s, event_fn *fn, void *ctx, uint64_t arg);
