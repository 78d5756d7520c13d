/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/cuda/fuse.h"

#include <math.h>

#include "sim/base/arena.h"
#include "sim/base/vec.h"

/* A run has at least RUN_LEAST launches, so that it saves operations, and at most RUN_MOST, so that
 * the launch queue is full at about the right time. */
enum { RUN_LEAST = 4, RUN_MOST = 64 };

struct fuser {
	struct arena *arena;
	const struct fuse_params *params;
	const struct call_thread *thread;
	double late_most_s; /* by which a kernel may begin later than it would alone */
	VEC(struct item) items;
};

/* A run. The last four fields are those of the kernels except the last one; the times count from
 * the begin of the run, on a GPU that was idle before. */
struct span {
	size_t end;              /* index of the item behind the last launch */
	size_t calls_count;      /* all calls */
	double host_s;           /* work of the thread for all launches */
	const struct item *last; /* the last launch; NULL: there is none */
	double kernels_s, begin_s, end_s;
	double before_s; /* of kernels_s, before the last launch that the GPU waited for */
	uint32_t kernels_count;
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

/* Adds the last kernel to those before it, because another follows. host_s is that of its launch.
 */
static void add_last(const struct fuser *f, struct span *span)
{
	const struct gpu_params *gpu = f->params->gpu;
	double begin_s = span->host_s * f->params->work_ratio + gpu->launch_latency_s;
	if (span->kernels_count == 0)
		span->begin_s = begin_s;
	else if (begin_s < span->end_s + gpu->kernel_gap_s)
		begin_s = span->end_s + gpu->kernel_gap_s;
	else
		span->before_s = span->kernels_s;
	span->end_s = begin_s + span->last->call.duration_s;
	span->kernels_s += span->last->call.duration_s;
	span->kernels_count++;
}

/* Returns the begin of the kernels if they follow each other without other idle time than gaps. */
static double earliest_s(const struct fuser *f, const struct span *span)
{
	return span->end_s - span->kernels_s -
	       (span->kernels_count - 1) * f->params->gpu->kernel_gap_s;
}

static struct span find_run(const struct fuser *f, size_t first)
{
	struct span span = {0};
	double host_s = 0;
	size_t calls = 0;
	for (size_t i = first; i < f->thread->count && span.kernels_count + 1 < RUN_MOST; i++) {
		const struct item *item = &f->thread->items[i];
		double work_s = host_work_s(f, item);
		if (work_s < 0)
			break;
		host_s += work_s;
		calls += item->kind == ITEM_CALL ? 1U + item->call.repeats : 0;
		if (!is_launch(item))
			continue;
		struct span next = span;
		if (span.last && (span.last->call.stream != item->call.stream ||
				  span.last->call.device != item->call.device))
			break;
		if (span.last)
			add_last(f, &next);
		if (span.last && earliest_s(f, &next) - next.begin_s > f->late_most_s)
			break;
		next.end = i + 1;
		next.calls_count = calls;
		next.host_s = host_s;
		next.last = item;
		span = next;
	}
	return span;
}

/* Appends the run as one call. */
static void put_run(struct fuser *f, const struct span *span)
{
	struct kernel_run *run = ARENA_NEW(f->arena, struct kernel_run);
	*run = (struct kernel_run){
		.host_s = span->host_s,
		.kernels_s = span->kernels_s,
		.earliest_s = span->end_s - span->kernels_s,
		.before_s = span->before_s,
		.least_s = span->begin_s + (span->kernels_count - 1) * f->params->gpu->kernel_gap_s,
		.kernels_count = span->kernels_count,
		.calls_count = (uint32_t)span->calls_count,
	};
	struct item *item = VEC_PUSH(f->arena, &f->items);
	*item = *span->last;
	item->call.run = run;
}

static struct call_thread fuse_thread(struct fuser *f)
{
	size_t runs = 0;
	for (size_t i = 0; i < f->thread->count;) {
		const struct span span = find_run(f, i);
		if (span.kernels_count + 1 >= RUN_LEAST) {
			put_run(f, &span);
			i = span.end;
			runs++;
			continue;
		}
		*VEC_PUSH(f->arena, &f->items) = f->thread->items[i++];
	}
	return runs > 0 ? (struct call_thread){f->thread->name, f->items.items, f->items.count}
			: *f->thread;
}

/* Returns true if the program has collectives or messages, whose kernels slow down others. */
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
	/* Kernels beside those of collectives take longer, so they must run at about their time. */
	const double beside_s = 10e-6;
	struct program *fused = ARENA_NEW(arena, struct program);
	struct call_thread *threads = ARENA_ARRAY(arena, program->thread_count, struct call_thread);
	double late_most_s = has_peers(program) ? beside_s : INFINITY;
	for (size_t t = 0; t < program->thread_count; t++) {
		struct fuser f = {.arena = arena,
				  .params = params,
				  .thread = &program->threads[t],
				  .late_most_s = late_most_s};
		threads[t] = fuse_thread(&f);
	}
	*fused = *program;
	fused->threads = threads;
	return fused;
}
