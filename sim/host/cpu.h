/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A CPU core: short work in order, long work as flows.
 *
 * Calls, messages and interrupts are service items. They run one after the other in the order of
 * arrival. Bulk work, for example copying a gigabyte, is a flow. It uses the core's resource at a
 * number of core-seconds per byte. While an item is served beside flows, they get at most half of
 * the core, as a fair scheduler divides time between two runnable tasks. The item gets what they do
 * not use: at its end, it continues for the time that the flows have used meanwhile.
 *
 * Limit: a flow that starts during an item sees the whole core until the item would have ended
 * without it. Items take microseconds.
 *
 * An idle core must first wake up. It leaves its C-state, which depends on the length of the idle
 * time. A halted virtual CPU must also be scheduled again. Idle time is the time since the last
 * service (or the start of the run), minus the time in which flows used the core. A core on which a
 * thread polls (cpu_spin) never sleeps.
 *
 * Work is given in seconds at the reference clock REFERENCE_CLOCK_HZ. It takes work * reference /
 * clock.
 */
#pragma once

#include "sim/base/base.h"
#include "sim/engine/engine.h"
#include "sim/fabric/fabric.h"

struct cpu;

/* All costs of host work are given at this clock. */
#define REFERENCE_CLOCK_HZ 2.4e9

enum { IDLE_STATES_MAX = 4 };

struct idle_state {
	/* The state is entered after at least this idle time, and always after SURE_IDLE_RATIO
	 * times it. */
	double residency_s;
	double exit_s; /* added when work arrives */
};

struct cpu_spec {
	double clock_Hz; /* after power policy and turbo are applied */
	double wake_s;   /* added to every wake-up from idle (halted vCPU) */
	struct idle_state idle[IDLE_STATES_MAX]; /* sorted, deepest state last */
	size_t idle_count;
};

/* Returns a core for a thread that shares the cores of its guest's pool with other threads. The
 * guest's extra cost of work is added. The thread counts as running while it works. */
struct guest;
struct cpu *cpu_shared_new(struct guest *guest);
struct cpu *cpu_new(struct arena *arena, struct engine *engine, struct fabric *fabric,
		    const char *group, const char *name, const struct cpu_spec *spec);
/* Queues work_s seconds of work (at the reference clock) and calls fn when it is done. label is its
 * name in the trace; it is borrowed, and NULL leaves the item out of the trace. */
void cpu_serve(struct cpu *cpu, double work_s, const char *label, event_fn *fn, void *ctx,
	       uint64_t arg);
/* Queues work of a thread that is woken on the core of the thread that wakes it. Linux lets the
 * running thread go on until it waits or its time slice of slice_s has ended. So the work begins
 * when the core has nothing else to do, and after slice_s at the latest. It stays in order. */
void cpu_serve_woken(struct cpu *cpu, double slice_s, double work_s, const char *label,
		     event_fn *fn, void *ctx, uint64_t arg);
/* Returns true if work that begins now takes its nominal time, unless other work comes. */
bool cpu_is_free(struct cpu *cpu);
/* Declares that a thread polls on this core from now on. The core then never sleeps. */
void cpu_spin(struct cpu *cpu);
/* Declares that a thread has polled on this core until now, so the core has not slept. */
void cpu_polled(struct cpu *cpu);
/* Declares that a virtual CPU that takes wake_s to be scheduled again also runs here. The largest
 * wake_s applies. */
void cpu_wake_raise(struct cpu *cpu, double wake_s);
/* Returns the core-seconds of this core for one second of work at the reference clock. */
double cpu_slowdown(const struct cpu *cpu);
int cpu_resource(const struct cpu *cpu);
/* Sets the pool of cores (host.h) that this core belongs to, or -1 for none. Flows on the core also
 * use the pool, in core-seconds at the reference clock. */
void cpu_pool_set(struct cpu *cpu, int resource);
int cpu_pool(const struct cpu *cpu);
/* Seconds of service so far, as work at this core's clock. Wake-ups are not included, nor flows,
 * which fabric_carried counts. */
/* exported: tests check the time that a core is charged */
double cpu_busy_s(const struct cpu *cpu);
