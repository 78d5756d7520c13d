/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A core: short work in order, long work as flows.
 *
 * Calls, messages and interrupts are SERVICE: they run one after the other, in
 * the order in which they came. Bulk work (copying a gigabyte) is a FLOW that
 * uses the core's resource at so many core-seconds a byte.
 * Rule when both want the core: a service item that starts while flows are on
 * the core gets half of it (takes twice as long) and the flows the other half
 * until the item ends, as a fair scheduler divides time between two runnable
 * tasks; otherwise whoever is there has it all.
 *
 * (A flow that starts in the middle of an item sees the whole core until the
 * next item starts: items are microseconds.)
 *
 * A core that has been idle must wake up first: leaving its C-state (by how
 * long it was idle) and, for a halted virtual CPU, being scheduled again. Idle
 * is the time since its last service, less the time in which flows were on it;
 * before the first service it counts from the start of the run. A core on
 * which a thread spins (cpu_spin) never goes to sleep.
 *
 * Work is given in seconds at the reference clock REFERENCE_CLOCK_HZ and takes
 * work * reference / clock.
 */
#ifndef FARWIRE_HOST_CPU_H
#define FARWIRE_HOST_CPU_H

#include <stddef.h>
#include <stdint.h>

#include "sim/engine/engine.h"
#include "sim/fabric/fabric.h"

struct arena;
struct cpu;

/* All costs of host work are stated at this clock. */
#define REFERENCE_CLOCK_HZ 2.4e9

enum { IDLE_STATES_MAX = 4 };

struct idle_state {
	double residency_s; /* entered when idle for at least this long */
	double exit_s;      /* added when work comes */
};

struct cpu_spec {
	double clock_Hz; /* as power policy and turbo leave it */
	double wake_s;   /* added to every wake-up from idle (a halted vCPU) */
	struct idle_state idle[IDLE_STATES_MAX]; /* deepest last */
	size_t idle_count;
};

struct cpu *cpu_new(struct arena *arena, struct engine *engine, struct fabric *fabric,
		    const char *group, const char *name, const struct cpu_spec *spec);
/* Queues work_s seconds (at the reference clock) and calls fn when done. label
 * names it in the trace (borrowed, may be NULL: not traced). */
void cpu_serve(struct cpu *cpu, double work_s, const char *label, event_fn *fn, void *ctx,
	       uint64_t arg);
/* A thread polls on this core from now on: no wake-ups any more. */
void cpu_spin(struct cpu *cpu);
/* A virtual CPU that needs wake_s to be scheduled again also runs here: the
 * largest such time holds. */
void cpu_wake_raise(struct cpu *cpu, double wake_s);
/* Core-seconds of this core for one second of work at the reference clock. */
double cpu_slowdown(const struct cpu *cpu);
int cpu_resource(const struct cpu *cpu);
/* The pool of cores (host.h) that this one is of: flows on the core count there,
 * too, in core-seconds at the reference clock. -1: of none. */
void cpu_pool_set(struct cpu *cpu, int resource);
int cpu_pool(const struct cpu *cpu);
/* Seconds of service so far, as work at this core's clock: without wake-ups,
 * and without flows, which are in fabric_carried. */
/* exported: tests check the time that a core is charged */
double cpu_busy_s(const struct cpu *cpu);

#endif
