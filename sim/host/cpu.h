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
 * A core that has been idle must wake up first: leaving its C-state (by how
 * long it was idle) and, for a halted virtual CPU, being scheduled again.
 * Work is given in seconds at the reference clock REFERENCE_CLOCK_HZ and takes
 * work * reference / clock.
 */
#ifndef FARWIRE_HOST_CPU_H
#define FARWIRE_HOST_CPU_H

#include <stdint.h>

#include "sim/engine/engine.h"
#include "sim/fabric/fabric.h"

struct cpu;

/* All costs of host work are stated at this clock. */
#define REFERENCE_CLOCK_HZ 2.4e9

enum { IDLE_STATES_MAX = 4 };

struct idle_state {
	double residency_s; /* entered when idle for at least this long */
	double exit_s;	    /* added when work comes */
};

struct cpu_spec {
	double clock_Hz; /* as power policy and turbo leave it */
	double wake_s;	 /* added to every wake-up from idle (a halted vCPU) */
	struct idle_state idle[IDLE_STATES_MAX]; /* deepest last */
	size_t idle_count;
};

struct cpu *cpu_new(struct arena *arena, struct engine *engine,
		    struct fabric *fabric, const char *group, const char *name,
		    const struct cpu_spec *spec);
/* Queues work_s seconds (at the reference clock) and calls fn when done. label
 * names it in the trace (borrowed, may be NULL: not traced). */
void cpu_serve(struct cpu *cpu, double work_s, const char *label, event_fn *fn,
	       void *ctx, uint64_t arg);
/* Core-seconds of this core for one second of work at the reference clock. */
double cpu_slowdown(const struct cpu *cpu);
int cpu_resource(const struct cpu *cpu);
/* Seconds of service so far (without flows; those are in fabric_carried). */
double cpu_busy_s(const struct cpu *cpu);
const char *cpu_name(const struct cpu *cpu);

#endif
