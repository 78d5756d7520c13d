/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/host/cpu.h"

#include <stdbool.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/engine/trace.h"

/* While service and flows both want the core, each gets this share. */
#define SHARE_UNDER_CONTENTION 0.5

struct item {
	double work_s; /* at this core's clock */
	const char *label;
	event_fn *fn;
	void *ctx;
	uint64_t arg;
};

struct cpu {
	struct arena *arena;
	struct engine *engine;
	struct fabric *fabric;
	struct cpu_spec spec;
	const char *group, *short_name, *name;
	int resource, pool;
	double slowdown;
	bool spinning;
	bool serving; /* `running` */
	bool halved;  /* the flows' part of the core is cut */
	struct item running;
	struct item *items; /* that wait, a ring: room is a power of two */
	size_t room, first, count;
	int64_t started_ps;    /* of the running item, wake-up over */
	int64_t idle_since_ps; /* meaningful while not serving */
	double flows_busy_s;   /* fabric_busy_s at idle_since_ps */
	double busy_s;
	bool track_known;
	uint32_t track;
};

struct cpu *cpu_new(struct arena *arena, struct engine *engine, struct fabric *fabric,
		    const char *group, const char *name, const struct cpu_spec *spec)
{
	FW_ASSERT(spec->clock_Hz > 0 && spec->idle_count <= IDLE_STATES_MAX);
	struct cpu *cpu = ARENA_NEW(arena, struct cpu);
	cpu->arena = arena;
	cpu->engine = engine;
	cpu->fabric = fabric;
	cpu->spec = *spec;
	cpu->group = arena_strdup(arena, group);
	cpu->short_name = arena_strdup(arena, name);
	cpu->name = arena_printf(arena, "%s.%s", group, name);
	cpu->resource = fabric_resource_add(fabric, cpu->name, 1);
	cpu->pool = -1;
	cpu->slowdown = REFERENCE_CLOCK_HZ / spec->clock_Hz;
	cpu->room = 8;
	cpu->items = ARENA_ARRAY(arena, cpu->room, struct item);
	return cpu;
}

static bool sleeps(const struct cpu *cpu)
{
	return !cpu->spinning && (cpu->spec.idle_count > 0 || cpu->spec.wake_s > 0);
}

/* Time to leave the deepest idle state that was reached, and to be scheduled
 * again: 0 if the core was at work until now. */
static double wake_up_s(struct cpu *cpu)
{
	const struct cpu_spec *spec = &cpu->spec;
	if (!sleeps(cpu))
		return 0;
	if (fabric_flows_on(cpu->fabric, cpu->resource) > 0)
		return 0;
	double idle_s = s_from_ps(engine_now_ps(cpu->engine) - cpu->idle_since_ps);
	idle_s -= fabric_busy_s(cpu->fabric, cpu->resource) - cpu->flows_busy_s;
	if (idle_s < 1e-12)
		return 0;
	double exit_s = 0;
	for (size_t i = 0; i < spec->idle_count; i++) {
		if (idle_s >= spec->idle[i].residency_s)
			exit_s = spec->idle[i].exit_s;
	}
	return exit_s + spec->wake_s;
}

static void halve(struct cpu *cpu, bool halved)
{
	cpu->halved = halved;
	fabric_capacity_set(cpu->fabric, cpu->resource, halved ? SHARE_UNDER_CONTENTION : 1);
}

static void item_done(void *ctx, uint64_t arg);

/* Starts `running`, wake_s from now. */
static void item_start(struct cpu *cpu, double wake_s)
{
	bool shared = fabric_flows_on(cpu->fabric, cpu->resource) > 0;
	if (shared != cpu->halved)
		halve(cpu, shared);
	cpu->serving = true;
	cpu->started_ps = engine_now_ps(cpu->engine);
	if (wake_s > 0)
		cpu->started_ps += ps_from_s(wake_s);
	double work_s = cpu->running.work_s;
	double taken_s = shared ? work_s / SHARE_UNDER_CONTENTION : work_s;
	engine_do_at(cpu->engine, cpu->started_ps + ps_from_s(taken_s), item_done, cpu, 0);
}

static void item_trace(struct cpu *cpu, const char *label)
{
	struct trace *trace = engine_trace(cpu->engine);
	if (!trace || !label)
		return;
	if (!cpu->track_known) {
		cpu->track = trace_track(trace, cpu->group, cpu->short_name);
		cpu->track_known = true;
	}
	trace_span(trace, cpu->track, SPAN_CPU, label, cpu->started_ps, engine_now_ps(cpu->engine));
}

static void core_rests(struct cpu *cpu)
{
	if (cpu->halved)
		halve(cpu, false);
	cpu->idle_since_ps = engine_now_ps(cpu->engine);
	if (sleeps(cpu))
		cpu->flows_busy_s = fabric_busy_s(cpu->fabric, cpu->resource);
}

static void item_done(void *ctx, uint64_t arg)
{
	(void)arg;
	struct cpu *cpu = ctx;
	event_fn *fn = cpu->running.fn;
	void *fn_ctx = cpu->running.ctx;
	uint64_t fn_arg = cpu->running.arg;
	cpu->serving = false;
	cpu->busy_s += cpu->running.work_s;
	item_trace(cpu, cpu->running.label);
	if (cpu->count > 0) {
		cpu->running = cpu->items[cpu->first];
		cpu->first = (cpu->first + 1) & (cpu->room - 1);
		cpu->count--;
		item_start(cpu, 0);
	} else {
		core_rests(cpu);
	}
	fn(fn_ctx, fn_arg);
}

static void ring_grow(struct cpu *cpu)
{
	struct item *items = ARENA_ARRAY(cpu->arena, cpu->room * 2, struct item);
	for (size_t i = 0; i < cpu->count; i++)
		items[i] = cpu->items[(cpu->first + i) & (cpu->room - 1)];
	cpu->items = items;
	cpu->room *= 2;
	cpu->first = 0;
}

void cpu_serve(struct cpu *cpu, double work_s, const char *label, event_fn *fn, void *ctx,
	       uint64_t arg)
{
	FW_ASSERT(work_s >= 0 && fn != NULL);
	struct item *item = &cpu->running;
	if (cpu->serving) {
		if (cpu->count == cpu->room)
			ring_grow(cpu);
		item = &cpu->items[(cpu->first + cpu->count++) & (cpu->room - 1)];
	}
	item->work_s = work_s * cpu->slowdown;
	item->label = label;
	item->fn = fn;
	item->ctx = ctx;
	item->arg = arg;
	if (!cpu->serving)
		item_start(cpu, wake_up_s(cpu));
}

void cpu_spin(struct cpu *cpu)
{
	cpu->spinning = true;
}

void cpu_wake_raise(struct cpu *cpu, double wake_s)
{
	if (wake_s > cpu->spec.wake_s)
		cpu->spec.wake_s = wake_s;
}

double cpu_slowdown(const struct cpu *cpu)
{
	return cpu->slowdown;
}

int cpu_resource(const struct cpu *cpu)
{
	return cpu->resource;
}

void cpu_pool_set(struct cpu *cpu, int resource)
{
	cpu->pool = resource;
}

int cpu_pool(const struct cpu *cpu)
{
	return cpu->pool;
}

double cpu_busy_s(const struct cpu *cpu)
{
	return cpu->busy_s;
}

const char *cpu_name(const struct cpu *cpu)
{
	return cpu->name;
}
