/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/host/cpu.h"
#include "sim/host/internal.h"
#include "sim/engine/trace.h"

/* Share of the core for service and for flows while both want it. */
#define SHARE_UNDER_CONTENTION 0.5
/* When flows have taken less than this part of an item's work from it since it last continued, it
 * continues for the last time, as if they went on like this. */
#define LOST_LEAST_RATIO (1.0 / 64)

/* Idle time, in units of a state's residency, from which all idle periods end in this state. */
#define SURE_IDLE_RATIO 2.0

struct cpu_item {
	double work_s;    /* duration at this core's clock */
	int64_t since_ps; /* of an item that waits: when it began to wait */
	const char *label;
	event_fn *fn;
	void *ctx;
	uint64_t arg;
};

struct cpu {
	struct engine *engine;
	struct fabric *fabric;
	int resource, pool;
	bool sleeps; /* the core sleeps when idle */
	bool spinning;
	bool halved; /* the flows' part of the core is halved */
	bool track_known;
	uint32_t track;
	double slowdown;
	/* Kept apart from the flags that are read together: reading a word after a write to a part
	 * of it stalls until the write is in the cache. */
	uint64_t serving; /* an item is running, stored in `running` */
	struct cpu_item running;
	VEC(struct cpu_item) items; /* those from index `first` on wait; empty if none waits */
	size_t first;
	VEC(struct cpu_item) woken; /* work of threads that wait for the running one to wait */
	struct event_id slice_over; /* then they wait no longer; valid while there are any */
	double busy_s;
	int64_t started_ps;    /* start of the running item, after the wake-up */
	double period_s;       /* core time that the running item has been given since carried_s */
	double carried_s;      /* core time of flows at the begin of this period */
	int64_t idle_since_ps; /* valid only while nothing is served */
	double flows_busy_s;   /* fabric_busy_s at idle_since_ps, for cores that sleep */
	struct cpu_spec spec;
	struct arena *arena;
	const char *group, *short_name, *name;
	struct guest *guest; /* whose cores the thread shares with others; NULL: its own core */
	double begun_count;  /* return value of guest_threads_begin */
};

static void sleeps_set(struct cpu *cpu)
{
	cpu->sleeps = !cpu->spinning && (cpu->spec.idle_count > 0 || cpu->spec.wake_s > 0);
}

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
	sleeps_set(cpu);
	return cpu;
}

/* Returns the time to leave the deepest idle state that was reached and to be scheduled again.
 * Call it only if no flow uses the core and it was idle until now. */
static __attribute__((noinline)) double wake_up_s(struct cpu *cpu)
{
	const struct cpu_spec *spec = &cpu->spec;
	double idle_s = s_from_ps(engine_now_ps(cpu->engine) - cpu->idle_since_ps);
	idle_s -= fabric_busy_s(cpu->fabric, cpu->resource) - cpu->flows_busy_s;
	if (idle_s < 1e-12)
		return 0;
	double exit_s = 0;
	for (size_t i = 0; i < spec->idle_count; i++) {
		const struct idle_state *state = &spec->idle[i];
		double share = (idle_s / state->residency_s - 1) / (SURE_IDLE_RATIO - 1);
		exit_s += (state->exit_s - exit_s) * fmin(fmax(share, 0), 1);
	}
	return exit_s + spec->wake_s;
}

static __attribute__((noinline)) void halve(struct cpu *cpu, bool halved)
{
	cpu->halved = halved;
	fabric_capacity_set(cpu->fabric, cpu->resource, halved ? SHARE_UNDER_CONTENTION : 1);
}

static void item_done(void *ctx, uint64_t arg);

static inline void item_start_at(struct cpu *cpu, int64_t start_ps, int64_t work_ps,
				 double carried_s)
{
	cpu->serving = true;
	cpu->started_ps = start_ps;
	cpu->period_s = cpu->running.work_s;
	cpu->carried_s = carried_s;
	engine_do_at(cpu->engine, start_ps + work_ps, item_done, cpu, 0);
}

static __attribute__((noinline)) void item_start_any(struct cpu *cpu)
{
	int64_t start_ps = engine_now_ps(cpu->engine);
	bool shared = fabric_flows_on(cpu->fabric, cpu->resource) > 0;
	if (shared != cpu->halved)
		halve(cpu, shared);
	if (!shared && cpu->sleeps && cpu->idle_since_ps < start_ps) {
		int64_t wake_ps = ps_from_s(wake_up_s(cpu));
		engine_wait_add(cpu->engine, WAIT_IDLE_STATE, wake_ps);
		start_ps += wake_ps;
	}
	item_start_at(cpu, start_ps, ps_from_s(cpu->running.work_s),
		      fabric_carried(cpu->fabric, cpu->resource));
}

/* Starts the item `running`, whose work takes work_ps. */
static inline void item_start(struct cpu *cpu, int64_t work_ps)
{
	int64_t now_ps = engine_now_ps(cpu->engine);
	double carried_s = fabric_carried_unused(cpu->fabric, cpu->resource);
	bool slept = cpu->sleeps && cpu->idle_since_ps < now_ps;
	if (slept || cpu->halved || carried_s < 0)
		item_start_any(cpu);
	else
		item_start_at(cpu, now_ps, work_ps, carried_s);
}

static __attribute__((noinline)) void item_trace(struct cpu *cpu)
{
	struct trace *trace = engine_trace(cpu->engine);
	const char *label = cpu->running.label;
	if (!label)
		return;
	if (!cpu->track_known) {
		cpu->track = trace_track(trace, cpu->group, cpu->short_name);
		cpu->track_known = true;
	}
	trace_span(trace, cpu->track, SPAN_CPU, label, cpu->started_ps, engine_now_ps(cpu->engine));
}

/* Starts the first waiting item. */
static __attribute__((noinline)) void item_next(struct cpu *cpu)
{
	cpu->running = cpu->items.items[cpu->first++];
	engine_wait_add(cpu->engine, WAIT_CORE, engine_now_ps(cpu->engine) - cpu->running.since_ps);
	if (cpu->first == cpu->items.count)
		cpu->first = cpu->items.count = 0;
	item_start(cpu, ps_from_s(cpu->running.work_s));
}

static void core_rests(struct cpu *cpu)
{
	if (cpu->halved)
		halve(cpu, false);
	if (cpu->sleeps)
		cpu->flows_busy_s = fabric_busy_s(cpu->fabric, cpu->resource);
}

static inline void item_over(struct cpu *cpu)
{
	cpu->serving = false;
	cpu->busy_s += cpu->running.work_s;
	cpu->idle_since_ps = engine_now_ps(cpu->engine);
}

static void woken_start(void *ctx, uint64_t over);

/* Gives the item the time that flows have taken from it. Returns false if that is nothing. */
static bool item_continues(struct cpu *cpu)
{
	double carried_s = fabric_carried(cpu->fabric, cpu->resource);
	double lost_s =
		fmin(carried_s - cpu->carried_s, cpu->period_s * (1 - SHARE_UNDER_CONTENTION));
	if (!(lost_s > 0))
		return false;
	bool last = lost_s < cpu->running.work_s * LOST_LEAST_RATIO;
	double more_s = last ? lost_s * cpu->period_s / (cpu->period_s - lost_s) : lost_s;
	bool shared = fabric_flows_on(cpu->fabric, cpu->resource) > 0;
	if (shared != cpu->halved)
		halve(cpu, shared);
	cpu->period_s = last ? 0 : lost_s;
	cpu->carried_s = carried_s;
	engine_do_after(cpu->engine, ps_from_s(more_s), item_done, cpu, 0);
	return true;
}

static __attribute__((noinline)) void item_done_any(struct cpu *cpu)
{
	if (item_continues(cpu))
		return;
	event_fn *fn = cpu->running.fn;
	void *fn_ctx = cpu->running.ctx;
	uint64_t fn_arg = cpu->running.arg;
	item_over(cpu);
	if (engine_trace(cpu->engine))
		item_trace(cpu);
	if (cpu->items.count > 0)
		item_next(cpu);
	else
		core_rests(cpu);
	fn(fn_ctx, fn_arg);
	if (!cpu->serving && cpu->woken.count > 0) /* does the thread go on in this instant? */
		engine_do_after(cpu->engine, 0, woken_start, cpu, 0);
}

/* The fast path: usually no item waits and no trace is recorded. */
static void item_done(void *ctx, uint64_t arg)
{
	struct cpu *cpu = ctx;
	if (cpu->items.count + cpu->woken.count > 0 || cpu->halved || cpu->sleeps ||
	    engine_trace(cpu->engine) ||
	    fabric_carried_unused(cpu->fabric, cpu->resource) != cpu->carried_s) {
		item_done_any(cpu);
		return;
	}
	item_over(cpu);
	cpu->running.fn(cpu->running.ctx, cpu->running.arg);
}

static inline void item_set(struct cpu_item *item, double work_s, const char *label, event_fn *fn,
			    void *ctx, uint64_t arg)
{
	item->work_s = work_s;
	item->label = label;
	item->fn = fn;
	item->ctx = ctx;
	item->arg = arg;
}

static __attribute__((noinline)) void item_wait(struct cpu *cpu, double work_s, const char *label,
						event_fn *fn, void *ctx, uint64_t arg)
{
	if (cpu->items.count == cpu->items.room && cpu->first > cpu->items.count / 2) {
		VEC_DROP(&cpu->items, cpu->first);
		cpu->first = 0;
	}
	struct cpu_item *item = VEC_PUSH(cpu->arena, &cpu->items);
	item->since_ps = engine_now_ps(cpu->engine);
	item_set(item, work_s, label, fn, ctx, arg);
}

struct cpu *cpu_shared_new(struct guest *guest)
{
	struct host *host = guest->host;
	struct cpu *cpu = ARENA_NEW(host->arena, struct cpu);
	cpu->engine = host->engine;
	cpu->fabric = host->fabric;
	cpu->guest = guest;
	return cpu;
}

static void shared_done(void *ctx, uint64_t arg)
{
	struct cpu *cpu = ctx;
	struct cpu_item over = cpu->running;
	guest_threads_end(cpu->guest, cpu->begun_count);
	cpu->serving = false;
	over.fn(over.ctx, over.arg);
}

/* If the guest has a core for every running thread, work takes the time of one core. Otherwise it
 * is a flow that shares the cores with all others. */
static void shared_serve(struct cpu *cpu, double work_s, event_fn *fn, void *ctx, uint64_t arg)
{
	FW_ASSERT(!cpu->serving);
	cpu->serving = true;
	cpu->running = (struct cpu_item){.fn = fn, .ctx = ctx, .arg = arg};
	cpu->begun_count = guest_threads_begin(cpu->guest, 1);
	if (work_s <= 0 || !guest_is_crowded(cpu->guest)) {
		engine_do_after(cpu->engine, ps_from_s(guest_alone_s(cpu->guest, work_s)),
				shared_done, cpu, 0);
		return;
	}
	struct flow_spec flow = {.done = shared_done, .ctx = cpu};
	guest_work_flow(cpu->guest, work_s, 1, &flow);
	fabric_flow_start(cpu->fabric, &flow);
}

void cpu_serve(struct cpu *cpu, double work_s, const char *label, event_fn *fn, void *ctx,
	       uint64_t arg)
{
	FW_ASSERT(work_s >= 0 && fn != NULL);
	if (cpu->guest) {
		shared_serve(cpu, work_s, fn, ctx, arg);
		return;
	}
	work_s *= cpu->slowdown;
	if (cpu->serving) {
		item_wait(cpu, work_s, label, fn, ctx, arg);
	} else {
		item_set(&cpu->running, work_s, label, fn, ctx, arg);
		item_start(cpu, ps_from_s(work_s));
	}
}

/* Lets the woken threads run, unless the running one goes on and its slice is not over. */
static void woken_start(void *ctx, uint64_t over)
{
	struct cpu *cpu = ctx;
	if (cpu->woken.count == 0 || (cpu->serving && !over))
		return;
	if (!over)
		engine_cancel(cpu->engine, cpu->slice_over);
	size_t count = cpu->woken.count;
	cpu->woken.count = 0;
	for (size_t i = 0; i < count; i++) {
		const struct cpu_item item = cpu->woken.items[i];
		cpu_serve(cpu, item.work_s, item.label, item.fn, item.ctx, item.arg);
	}
}

void cpu_serve_woken(struct cpu *cpu, double slice_s, double work_s, const char *label,
		     event_fn *fn, void *ctx, uint64_t arg)
{
	if (!cpu->serving && cpu->woken.count == 0) {
		cpu_serve(cpu, work_s, label, fn, ctx, arg);
		return;
	}
	if (cpu->woken.count == 0)
		cpu->slice_over =
			engine_after(cpu->engine, ps_from_s(slice_s), woken_start, cpu, 1);
	item_set(VEC_PUSH(cpu->arena, &cpu->woken), work_s, label, fn, ctx, arg);
}

bool cpu_is_free(struct cpu *cpu)
{
	if (cpu->guest)
		return guest_has_core(cpu->guest);
	bool slept = cpu->sleeps && cpu->idle_since_ps < engine_now_ps(cpu->engine);
	return !cpu->serving && !slept && !cpu->halved &&
	       fabric_flows_on(cpu->fabric, cpu->resource) == 0;
}

void cpu_spin(struct cpu *cpu)
{
	cpu->spinning = true;
	sleeps_set(cpu);
}

void cpu_polled(struct cpu *cpu)
{
	if (cpu->serving)
		return;
	cpu->idle_since_ps = engine_now_ps(cpu->engine);
	core_rests(cpu);
}

void cpu_wake_raise(struct cpu *cpu, double wake_s)
{
	if (wake_s > cpu->spec.wake_s)
		cpu->spec.wake_s = wake_s;
	sleeps_set(cpu);
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
