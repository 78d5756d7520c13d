/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Streams: from the submission of an operation to its completion. internal.h lists the states. */
#include "sim/engine/trace.h"
#include "sim/gpu/gpu.h"
#include "sim/gpu/internal.h"

static void stream_advance(struct gpu_stream *stream);
static void stream_head_over(struct gpu_stream *stream);

/* ---- queues and pools ---- */

/* Returns NULL if no stream waits. */
static struct gpu_stream *stream_queue_pop(struct stream_queue *queue)
{
	struct gpu_stream *stream = queue->head;
	if (stream)
		queue->head = stream->next_waiting;
	return stream;
}

static struct gpu_waiter *waiter_new(struct gpu *gpu, event_fn *fn, void *ctx, uint64_t arg)
{
	struct gpu_waiter *waiter;
	POOL_TAKE(gpu->arena, waiter, gpu->free_waiters);
	*waiter = (struct gpu_waiter){.fn = fn, .ctx = ctx, .arg = arg};
	return waiter;
}

static void waiter_call(struct gpu *gpu, struct gpu_waiter *waiter)
{
	POOL_GIVE(waiter, gpu->free_waiters);
	waiter->fn(waiter->ctx, waiter->arg);
}

enum { OPS_TOGETHER = 8 }; /* number of operations that are allocated at once */

static struct queued_op *queued_op_new(struct gpu_context *context)
{
	struct queued_op *queued = context->free_ops;
	if (!queued) {
		queued = ARENA_ARRAY(context->gpu->arena, OPS_TOGETHER, struct queued_op);
		for (int i = 0; i + 1 < OPS_TOGETHER; i++)
			queued[i].next = &queued[i + 1];
	}
	context->free_ops = queued->next;
	return queued;
}

/* ---- kernels ---- */

static bool is_kernel(const struct gpu_op *op)
{
	return op->kind == GPU_OP_KERNEL ||
	       (op->kind == GPU_OP_COPY && op->direction == COPY_ON_DEVICE);
}

/* Returns the number of kernels for which the operation stands. */
static size_t kernels_of(const struct gpu_op *op)
{
	return op->kernels_count > 1 ? op->kernels_count : 1;
}

static size_t places_of(const struct gpu_op *op)
{
	return op->launched || op->kind == GPU_OP_MARK ? 0 : kernels_of(op);
}

static void stream_span(struct gpu_stream *stream, enum span_kind kind, const char *name)
{
	struct gpu *gpu = stream->context->gpu;
	struct trace *trace = engine_trace(gpu->engine);
	if (!trace)
		return;
	if (!stream->has_track) {
		stream->track = trace_track(
			trace, gpu->name,
			arena_printf(gpu->arena, "%s/%s", stream->context->name, stream->name));
		stream->has_track = true;
	}
	trace_span(trace, stream->track, kind, name, stream->start_ps, engine_now_ps(gpu->engine));
}

static void context_changed(struct gpu_context *context)
{
	if (context->changed)
		context->changed(context->changed_ctx, 0);
}

static void kernel_over(void *ctx, uint64_t arg);

static void kernel_run(struct gpu_stream *stream)
{
	struct gpu_context *context = stream->context;
	struct gpu *gpu = context->gpu;
	int64_t now_ps = engine_now_ps(gpu->engine);
	double duration_s = stream->head->op.duration_s;
	double slowed_ratio = gpu->competing_count > 1 ? gpu->slicing_ratio : 1;
	/* not zeroed, because flow_spec has room for many uses and few are set */
	struct flow_spec flow;
	stream->start_ps = now_ps;
	busy_clock_begin(&gpu->busy, now_ps);
	busy_clock_begin(&context->busy, now_ps);
	context_changed(context);
	if (duration_s <= 0) {
		engine_at(gpu->engine, now_ps, kernel_over, stream, 0);
		return;
	}
	flow.size = duration_s * slowed_ratio;
	flow.cap = flow.weight = 0;
	flow.alone_changes = 0;
	flow.done = kernel_over;
	flow.ctx = stream;
	flow.arg = 0;
	flow.use_count = 3;
	flow.uses[0] = (struct flow_use){gpu->compute, 1};
	flow.uses[1] = (struct flow_use){context->share, 1};
	flow.uses[2] = (struct flow_use){context->work, 1 / slowed_ratio};
	if (gpu->board >= 0)
		flow.uses[flow.use_count++] = (struct flow_use){gpu->board, 1};
	fabric_flow_start(gpu->fabric, &flow);
}

static void kernel_over(void *ctx, uint64_t arg)
{
	struct gpu_stream *stream = ctx, *next;
	struct gpu_context *context = stream->context;
	struct gpu *gpu = context->gpu;
	const struct gpu_op *op = &stream->head->op;
	int64_t now_ps = engine_now_ps(gpu->engine);
	stream_span(stream, SPAN_KERNEL, op->label ? op->label : "kernel");
	/* A kernel that waited for this slot starts at the same time, so neither clock counts idle
	 * time in between. */
	busy_clock_end(&gpu->busy, now_ps);
	busy_clock_end(&context->busy, now_ps);
	context->kernels_done_count += kernels_of(op);
	context->work_done_ps += ps_from_s(op->duration_s);
	context->work_done_s += op->duration_s;
	if (--context->kernels_count == 0)
		gpu->competing_count--;
	next = stream_queue_pop(&context->ready);
	if (next)
		kernel_run(next);
	stream_head_over(stream);
}

static void kernel_due(void *ctx, uint64_t arg)
{
	struct gpu_stream *stream = ctx;
	struct gpu_context *context = stream->context;
	if (context->busy.running_count < context->concurrent_kernels)
		kernel_run(stream);
	else
		QUEUE_PUSH(&context->ready, stream, next_waiting);
}

/* Starts the kernel at the later of two times: launch latency after its submission, and gap after
 * the previous operation. A continued kernel starts at once. */
static void kernel_begin(struct gpu_stream *stream)
{
	struct gpu *gpu = stream->context->gpu;
	const struct gpu_op *op = &stream->head->op;
	int64_t start_ps = stream->head->earliest_ps;
	int64_t gaps_ps = (int64_t)kernels_of(op) * gpu->kernel_gap_ps;
	if (op->continued) {
		kernel_due(stream, 0);
		return;
	}
	if (stream->completed_count > 0 && stream->last_end_ps + gaps_ps > start_ps)
		start_ps = stream->last_end_ps + gaps_ps;
	if (start_ps > engine_now_ps(gpu->engine))
		engine_do_at(gpu->engine, start_ps, kernel_due, stream, 0);
	else
		kernel_due(stream, 0);
}

/* ---- copies over a link ---- */

static struct copy_engine *copy_engine_of(struct gpu_stream *stream)
{
	struct gpu *gpu = stream->context->gpu;
	bool second =
		gpu->params->copy_engines_count >= 2 && stream->head->op.direction == COPY_TO_HOST;
	return &gpu->copy_engines[second ? 1 : 0];
}

static void copy_run(struct copy_engine *copy_engine, struct gpu_stream *stream)
{
	const struct gpu_op *op = &stream->head->op;
	copy_engine->running = stream;
	stream->start_ps = engine_now_ps(stream->context->gpu->engine);
	op->start(op->start_ctx, 0, stream);
}

static void copy_begin(struct gpu_stream *stream)
{
	struct copy_engine *copy_engine = copy_engine_of(stream);
	if (copy_engine->running)
		QUEUE_PUSH(&copy_engine->waiting, stream, next_waiting);
	else
		copy_run(copy_engine, stream);
}

void gpu_copy_finished(struct gpu_stream *stream)
{
	struct copy_engine *copy_engine = copy_engine_of(stream);
	const struct gpu_op *op = &stream->head->op;
	struct gpu_stream *next;
	FW_ASSERT(copy_engine->running == stream && !stream->advancing);
	stream_span(stream, SPAN_COPY, op->label ? op->label : "copy");
	copy_engine->running = NULL;
	next = stream_queue_pop(&copy_engine->waiting);
	if (next)
		copy_run(copy_engine, next);
	stream_head_over(stream);
}

/* ---- collectives and messages ---- */

static void peers_begin(struct gpu_stream *stream)
{
	const struct gpu_op *op = &stream->head->op;
	stream->start_ps = engine_now_ps(stream->context->gpu->engine);
	op->start(op->start_ctx, 0, stream);
}

void gpu_peers_finished(struct gpu_stream *stream)
{
	const struct gpu_op *op = &stream->head->op;
	FW_ASSERT(op->kind == GPU_OP_PEERS && !stream->advancing);
	stream_span(stream, SPAN_WIRE, op->label ? op->label : "communication");
	stream_head_over(stream);
}

/* ---- events ---- */

static void event_reached(struct gpu *gpu, struct gpu_event *event, uint64_t count)
{
	struct gpu_waiter *due = NULL, **due_end = &due, **link = &event->waiters;
	if (count > event->completed_count) {
		event->completed_count = count;
		event->completed_ps = engine_now_ps(gpu->engine);
	}
	while (*link) {
		struct gpu_waiter *waiter = *link;
		if (waiter->count > event->completed_count) {
			link = &waiter->next;
			continue;
		}
		*link = waiter->next;
		waiter->next = NULL;
		*due_end = waiter;
		due_end = &waiter->next;
	}
	while (due) {
		struct gpu_waiter *waiter = due;
		due = waiter->next;
		waiter_call(gpu, waiter);
	}
}

static void event_waiter_add(struct gpu *gpu, struct gpu_event *event, uint64_t count, event_fn *fn,
			     void *ctx, uint64_t arg)
{
	struct gpu_waiter *waiter = waiter_new(gpu, fn, ctx, arg), **link = &event->waiters;
	waiter->count = count;
	while (*link)
		link = &(*link)->next;
	*link = waiter;
}

void gpu_when_event(struct gpu_context *context, struct gpu_event *event, uint64_t count,
		    event_fn *fn, void *ctx, uint64_t arg)
{
	if (event->completed_count >= count)
		engine_after(context->gpu->engine, 0, fn, ctx, arg);
	else
		event_waiter_add(context->gpu, event, count, fn, ctx, arg);
}

static void wait_over(void *ctx, uint64_t arg)
{
	stream_head_over(ctx);
}

/* ---- the stream ---- */

/* Begins the head. Returns true if it is complete at once. */
static bool head_begin(struct gpu_stream *stream)
{
	struct queued_op *head = stream->head;
	stream->begun = true;
	if (is_kernel(&head->op)) {
		kernel_begin(stream);
		return false;
	}
	switch (head->op.kind) {
	case GPU_OP_COPY:
		copy_begin(stream);
		return false;
	case GPU_OP_PEERS:
		peers_begin(stream);
		return false;
	case GPU_OP_WAIT:
		if (head->op.event->completed_count >= head->count)
			return true;
		event_waiter_add(stream->context->gpu, head->op.event, head->count, wait_over,
				 stream, 0);
		return false;
	default:
		return true; /* a record completes at once */
	}
}

static void room_serve(struct gpu_context *context)
{
	while (context->room.head && context->places_count < context->queue_depth) {
		struct gpu_waiter *waiter = context->room.head;
		context->room.head = waiter->next;
		waiter_call(context->gpu, waiter);
	}
}

/* Removes the head and notifies all waiters. */
static void head_complete(struct gpu_stream *stream)
{
	struct gpu_context *context = stream->context;
	struct gpu *gpu = context->gpu;
	struct queued_op *head = stream->head;
	struct gpu_op op = head->op;
	uint64_t count = head->count;
	stream->head = head->next;
	POOL_GIVE(head, context->free_ops);
	stream->begun = false;
	stream->last_end_ps = engine_now_ps(gpu->engine);
	stream->completed_count++;
	context->in_flight_count--;
	context->places_count -= places_of(&op);
	if (op.kind == GPU_OP_RECORD)
		event_reached(gpu, op.event, count);
	if (op.done)
		op.done(op.ctx, op.arg);
	while (stream->idle.head && stream->idle.head->count <= stream->completed_count) {
		struct gpu_waiter *waiter = stream->idle.head;
		stream->idle.head = waiter->next;
		waiter_call(gpu, waiter);
	}
	room_serve(context);
}

/* Begins operations until one takes time. A callback may submit to the same stream. The nested call
 * then returns at once, and this loop continues with the new operation. */
static void stream_advance(struct gpu_stream *stream)
{
	if (stream->advancing)
		return;
	stream->advancing = true;
	while (stream->head && !stream->begun && head_begin(stream))
		head_complete(stream);
	stream->advancing = false;
	context_changed(stream->context);
}

static void stream_head_over(struct gpu_stream *stream)
{
	FW_ASSERT(stream->begun && !stream->advancing);
	stream->advancing = true;
	head_complete(stream);
	stream->advancing = false;
	stream_advance(stream);
}

struct gpu_stream *gpu_stream_new(struct gpu_context *context, const char *name)
{
	struct gpu_stream *stream = ARENA_NEW(context->gpu->arena, struct gpu_stream);
	stream->context = context;
	stream->name = arena_strdup(context->gpu->arena, name);
	if (context->last_stream)
		context->last_stream->next_stream = stream;
	else
		context->streams = stream;
	context->last_stream = stream;
	return stream;
}

bool gpu_has_room(const struct gpu_context *context)
{
	return context->places_count < context->queue_depth;
}

static void room_due(void *ctx, uint64_t arg)
{
	room_serve(ctx);
}

void gpu_when_room(struct gpu_context *context, event_fn *fn, void *ctx, uint64_t arg)
{
	struct gpu_waiter *waiter = waiter_new(context->gpu, fn, ctx, arg);
	QUEUE_PUSH(&context->room, waiter, next);
	if (gpu_has_room(context))
		engine_after(context->gpu->engine, 0, room_due, context, 0);
}

void gpu_submit(struct gpu_stream *stream, const struct gpu_op *op)
{
	struct gpu_context *context = stream->context;
	struct gpu *gpu = context->gpu;
	struct queued_op *queued;
	FW_ASSERT(places_of(op) == 0 || gpu_has_room(context));
	queued = queued_op_new(context);
	queued->op = *op;
	if (is_kernel(op)) {
		queued->earliest_ps =
			engine_now_ps(gpu->engine) +
			(op->earliest_s > 0 ? ps_from_s(op->earliest_s) : gpu->launch_latency_ps);
		if (context->kernels_count++ == 0)
			gpu->competing_count++;
	} else if (op->kind == GPU_OP_RECORD) {
		queued->count = ++op->event->recorded_count;
		op->event->stream = stream;
	} else if (op->kind == GPU_OP_WAIT) {
		queued->count = op->event->recorded_count;
	}
	QUEUE_PUSH(stream, queued, next);
	stream->submitted_count++;
	context->in_flight_count++;
	context->places_count += places_of(op);
	stream_advance(stream);
}

bool gpu_extend(struct gpu_stream *stream, const struct gpu_op *kernel)
{
	struct queued_op *last = stream->head ? stream->tail : NULL;
	if (!last || (stream->begun && last == stream->head) || last->op.kind != GPU_OP_KERNEL ||
	    last->op.kernels_count < 2 || last->op.done || last->op.label != kernel->label ||
	    last->op.duration_s < s_from_ps(stream->context->gpu->launch_latency_ps))
		return false;
	last->op.duration_s += kernel->duration_s;
	last->op.kernels_count++;
	stream->context->places_count++;
	return true;
}

void gpu_mark(struct gpu_stream *stream, event_fn *fn, void *ctx, uint64_t arg)
{
	struct gpu_op op = {.kind = GPU_OP_MARK, .done = fn, .ctx = ctx, .arg = arg};
	if (!stream->head || stream->tail->op.done) {
		gpu_submit(stream, &op);
		return;
	}
	stream->tail->op.done = fn;
	stream->tail->op.ctx = ctx;
	stream->tail->op.arg = arg;
}

/* ---- waiting for several streams ---- */

bool gpu_stream_idle(const struct gpu_stream *stream)
{
	return stream->completed_count == stream->submitted_count;
}

bool gpu_context_idle(const struct gpu_context *context)
{
	return context->in_flight_count == 0;
}

/* A wait for several streams. */
struct idle_join {
	struct gpu *gpu;
	size_t streams_count; /* streams that are not idle yet */
	struct gpu_waiter *waiter;
	struct idle_join *next;
};

static void stream_idle_add(struct gpu_stream *stream, event_fn *fn, void *ctx, uint64_t arg)
{
	struct gpu_waiter *waiter = waiter_new(stream->context->gpu, fn, ctx, arg);
	waiter->count = stream->submitted_count;
	QUEUE_PUSH(&stream->idle, waiter, next);
}

static void join_stream_idle(void *ctx, uint64_t arg)
{
	struct idle_join *join = ctx;
	struct gpu *gpu = join->gpu;
	if (--join->streams_count > 0)
		return;
	POOL_GIVE(join, gpu->free_joins);
	waiter_call(gpu, join->waiter);
}

void gpu_when_idle(struct gpu_context *context, struct gpu_stream *stream, event_fn *fn, void *ctx,
		   uint64_t arg)
{
	struct gpu *gpu = context->gpu;
	struct idle_join *join;
	FW_ASSERT(!stream || stream->context == context);
	if (stream ? gpu_stream_idle(stream) : gpu_context_idle(context)) {
		engine_after(gpu->engine, 0, fn, ctx, arg);
		return;
	}
	if (stream) {
		stream_idle_add(stream, fn, ctx, arg);
		return;
	}
	POOL_TAKE(gpu->arena, join, gpu->free_joins);
	*join = (struct idle_join){.gpu = gpu, .waiter = waiter_new(gpu, fn, ctx, arg)};
	for (struct gpu_stream *each = context->streams; each; each = each->next_stream) {
		if (gpu_stream_idle(each))
			continue;
		join->streams_count++;
		stream_idle_add(each, join_stream_idle, join, 0);
	}
}
