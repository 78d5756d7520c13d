/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/cuda/fuse.h"

/* A run has at most RUN_MOST launches, so that the launch queue is full at about the right time. A
 * call stands for at most REPEATS_MOST calls. */
enum { RUN_MOST = 64, REPEATS_MOST = 64 };
/* Beside a poller's queries, single launches and short runs compete for the driver's lock. */
enum { POLLED_LEAST = 4 };
/* Beside kernels of collectives, a fused kernel begins at most this much later than an unfused one.
 */
#define BESIDE_MOST_S 10e-6

struct fuser {
	struct arena *arena;
	const struct fuse_params *params;
	const struct call_thread *thread;
	uint32_t run_most;
	double late_most_s; /* by which a kernel may begin later than it would alone */
	VEC(struct item) items;
};

/* Kernels of a run. The times count from the begin of the run, on a GPU that was idle before. */
struct kernels {
	double sum_s, begin_s, end_s;
	double before_s; /* of sum_s, before the last launch that the GPU waited for */
	uint32_t count;
};

struct fused_span {              /* a run */
	size_t end;              /* index of the item behind the last launch */
	size_t calls_count;      /* all calls */
	double host_s;           /* work of the thread for all launches */
	const struct item *last; /* the last launch; NULL: there is none */
	struct kernels all, but_last;
};

static bool is_launch(const struct item *item)
{
	return item->kind == ITEM_CALL && item->call.kind == CALL_LAUNCH;
}

/* Returns the host work of an item that can be inside of a run; negative for other items. */
static double host_work_s(const struct fuser *f, const struct item *item)
{
	const struct cuda_call *call = &item->call;
	if (item->kind == ITEM_THINK)
		return item->work_s;
	if (item->kind != ITEM_CALL)
		return -1;
	if (call->in_dispatch)
		return 0;
	return is_launch(item) || driver_call_returns(call)
		       ? driver_call_work_s(f->params->driver, call)
		       : -1;
}

/* Adds the kernel of a launch up to which the thread works for host_s. */
static void add_kernel(const struct fuser *f, struct kernels *kernels, double host_s,
		       double duration_s)
{
	const struct gpu_params *gpu = f->params->gpu;
	double begin_s = host_s * f->params->work_ratio + gpu->launch_latency_s;
	if (kernels->count == 0)
		kernels->begin_s = begin_s;
	else if (begin_s < kernels->end_s + gpu->kernel_gap_s)
		begin_s = kernels->end_s + gpu->kernel_gap_s;
	else
		kernels->before_s = kernels->sum_s;
	kernels->end_s = begin_s + duration_s;
	kernels->sum_s += duration_s;
	kernels->count++;
}

static double gaps_s(const struct fuser *f, const struct kernels *kernels)
{
	return (kernels->count - 1) * f->params->gpu->kernel_gap_s;
}

/* Returns the begin of the kernels if they follow each other without other idle time than gaps. */
static double earliest_s(const struct fuser *f, const struct kernels *kernels)
{
	return kernels->end_s - kernels->sum_s - gaps_s(f, kernels);
}

static struct fused_span find_run(const struct fuser *f, size_t first)
{
	struct fused_span span = {0};
	double host_s = 0;
	size_t calls = 0;
	for (size_t i = first; i < f->thread->count && span.all.count < f->run_most; i++) {
		const struct item *item = &f->thread->items[i];
		double work_s = host_work_s(f, item);
		if (work_s < 0)
			break;
		host_s += work_s;
		calls += item->kind == ITEM_CALL ? 1U + item->call.repeats : 0;
		if (!is_launch(item))
			continue;
		struct fused_span next = span;
		if (span.last && (span.last->call.stream != item->call.stream ||
				  span.last->call.device != item->call.device))
			break;
		next.but_last = span.all;
		add_kernel(f, &next.all, host_s, item->call.duration_s);
		if (earliest_s(f, &next.all) - next.all.begin_s > f->late_most_s)
			break;
		next.end = i + 1;
		next.calls_count = calls;
		next.host_s = host_s;
		next.last = item;
		span = next;
	}
	return span;
}

static struct run_part part_of(const struct fuser *f, const struct kernels *kernels)
{
	return (struct run_part){
		.kernels_s = kernels->sum_s,
		.earliest_s = kernels->end_s - kernels->sum_s,
		.before_s = kernels->before_s,
		.least_s = kernels->begin_s + gaps_s(f, kernels),
		.count = kernels->count,
	};
}

/* Appends the run as one call. */
static void put_run(struct fuser *f, const struct fused_span *span)
{
	struct kernel_run *run = ARENA_NEW(f->arena, struct kernel_run);
	*run = (struct kernel_run){
		.host_s = span->host_s,
		.all = part_of(f, &span->all),
		.but_last = part_of(f, &span->but_last),
		.calls_count = (uint32_t)span->calls_count,
	};
	struct item *item = VEC_PUSH(f->arena, &f->items);
	*item = *span->last;
	item->call.run = run;
}

/* Appends a launch with the host work before it. */
static void put_launch(struct fuser *f, const struct fused_span *span)
{
	struct item *item = VEC_PUSH(f->arena, &f->items);
	*item = *span->last;
	item->call.host_s = (float)span->host_s;
	item->call.repeats = (span->calls_count - 1) & (REPEATS_MOST - 1);
}

static struct call_thread fuse(struct arena *arena, const struct call_thread *thread,
			       const struct fuse_params *params, enum fuse_mode mode,
			       uint32_t run_least)
{
	struct fuser f = {.arena = arena,
			  .params = params,
			  .thread = thread,
			  .run_most = mode == FUSE_HOST ? 1 : RUN_MOST,
			  .late_most_s = mode == FUSE_RUNS ? INFINITY : BESIDE_MOST_S};
	for (size_t i = 0; i < thread->count;) {
		const struct fused_span span = find_run(&f, i);
		if (span.all.count < run_least) {
			*VEC_PUSH(arena, &f.items) = thread->items[i++];
		} else if (span.all.count > 1) {
			put_run(&f, &span);
			i = span.end;
		} else if (span.calls_count <= REPEATS_MOST) {
			put_launch(&f, &span);
			i = span.end;
		} else {
			*VEC_PUSH(arena, &f.items) = thread->items[i++];
		}
	}
	return (struct call_thread){thread->name, f.items.items, f.items.count};
}

struct call_thread thread_fuse(struct arena *arena, const struct call_thread *thread,
			       const struct fuse_params *params, enum fuse_mode mode)
{
	return fuse(arena, thread, params, mode, 1);
}

/* Returns true if the program has collectives or messages. */
static bool has_peers(const struct program *program)
{
	for (size_t t = 0; t < program->thread_count; t++)
		for (size_t i = 0; i < program->threads[t].count; i++) {
			const struct item *item = &program->threads[t].items[i];
			if (item->kind == ITEM_CALL && call_has_peers(item->call.kind))
				return true;
		}
	return false;
}

const struct program *program_fuse(struct arena *arena, const struct program *program,
				   const struct fuse_params *params)
{
	struct program *fused = ARENA_NEW(arena, struct program);
	struct call_thread *threads = ARENA_ARRAY(arena, program->thread_count, struct call_thread);
	for (size_t t = 0; t < program->thread_count; t++)
		threads[t] = fuse(arena, &program->threads[t], params,
				  has_peers(program) ? FUSE_SHORT_RUNS : FUSE_RUNS,
				  program->poller.enabled ? POLLED_LEAST : 1);
	*fused = *program;
	fused->threads = threads;
	return fused;
}
