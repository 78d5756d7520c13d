/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A thread of a framework on its guest's cores.
 *
 * While the guest's pool has a core for every thread that wants to run, work takes
 * what one core needs for it; with more threads than cores it is a flow that shares
 * the pool with all others (sim/host/host.h). The extra cost of CPU work in
 * a virtual machine applies to it. Work comes in pieces of some hundred microseconds: which of
 * the two holds is decided anew for each.
 */
#ifndef FARWIRE_WORKLOAD_WORKER_H
#define FARWIRE_WORKLOAD_WORKER_H

#include "sim/engine/engine.h"
#include "sim/host/host.h"

struct worker {
	struct engine *engine;
	struct fabric *fabric;
	struct guest *guest;
	double begun_count; /* threads; > 0 while it wants to run */
};

/* It wants to run from now on, until worker_rest. */
void worker_wake(struct worker *worker);
void worker_rest(struct worker *worker);
/* Does work_s > 0 (at the reference clock, as on the bare machine), then fn. One
 * piece at a time, while awake. */
void worker_do(struct worker *worker, double work_s, event_fn *fn, void *ctx, uint64_t arg);

#endif
