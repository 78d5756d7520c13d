/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The CUDA driver: the cost of a call on its host thread, the operation that it adds to the GPU's
 * queue, and the time at which it returns. */
#include "sim/base/hash.h"
#include "sim/cuda/driver_internal.h"
#include "sim/engine/trace.h"
#include "sim/transport/dma.h"

/* The action that follows a call's work on the host. */
enum driver_action {
	ACTION_RETURN,
	ACTION_SUBMIT,      /* enters the launch queue when there is room */
	ACTION_QUERY,       /* queries the state */
	ACTION_SYNCHRONIZE, /* waits for the GPU */
};

struct driver_rule {
	const char *name;
	size_t cost_offset; /* offset of the cost in struct driver_params */
	enum driver_action action;
};

/* Rows are found by kind, so their order has no effect. The assertion finds a missing one. */
static const struct driver_rule call_rules[CALL_KIND_COUNT] = {
#define CALL_ROW(kind, name, cost, action)                                                         \
	[CALL_##kind] = {name, offsetof(struct driver_params, cost), action},
#include "sim/cuda/cuda_call_kinds.def"
#undef CALL_ROW
};

enum {
	CALL_ROW_COUNT = 0
#define CALL_ROW(kind, name, cost, action) +1
#include "sim/cuda/cuda_call_kinds.def"
#undef CALL_ROW
};
_Static_assert((int)CALL_ROW_COUNT == (int)CALL_KIND_COUNT, "one row for each kind of call");

const char *call_kind_name(enum call_kind kind)
{
	FW_ASSERT((unsigned)kind < CALL_KIND_COUNT);
	return call_rules[kind].name;
}

static void local_call(struct cuda_port *port, unsigned thread, struct cpu *core,
		       const struct cuda_call *call, call_done_fn *done, void *ctx, uint64_t arg)
{
	if (call->in_dispatch)
		done(ctx, arg, CALL_OK);
	else
		driver_call((struct cuda_process *)port, core, call, done, ctx, arg);
}

struct cuda_process *cuda_process_new(const struct cuda_process_spec *spec)
{
	struct cuda_process *process = ARENA_NEW(spec->arena, struct cuda_process);

	process->port.call = local_call;
	process->spec = *spec;
	process->work_ratio = spec->guest_work ? guest_work_ratio(spec->guest) : 1;
	process->interrupt_s = spec->guest_work ? guest_interrupt_s(spec->guest) : 0;
	process->streams = ARENA_ARRAY(spec->arena, spec->stream_count, struct gpu_stream *);
	for (unsigned i = 0; i < spec->stream_count; i++)
		process->streams[i] =
			gpu_stream_new(spec->context, arena_printf(spec->arena, "stream %u", i));
	process->events = ARENA_ARRAY(spec->arena, spec->event_count, struct gpu_event);
	process->waiting_end = &process->waiting;
	process->clock.kind = GPU_HOST;
	if (spec->role)
		gpu_context_watch(spec->context, clock_set, process);
	return process;
}

struct cuda_port *cuda_process_port(struct cuda_process *process)
{
	return &process->port;
}

struct gpu_context *cuda_process_context(struct cuda_process *process)
{
	return process->spec.context;
}

struct gpu_stream *cuda_process_stream(struct cuda_process *process, uint16_t index)
{
	FW_ASSERT(index < process->spec.stream_count);
	return process->streams[index];
}

struct gpu_event *cuda_process_event(struct cuda_process *process, uint16_t index)
{
	FW_ASSERT(index < process->spec.event_count);
	return &process->events[index];
}

static struct gpu_stream *call_stream_of(const struct call_state *state)
{
	FW_ASSERT(state->call.stream < state->process->spec.stream_count);
	return state->process->streams[state->call.stream];
}

/* ---- returning ---- */

static void call_return(struct call_state *state, enum call_result result)
{
	call_done_fn *done = state->done;
	void *ctx = state->ctx;
	uint64_t arg = state->arg;

	POOL_GIVE(state, state->process->free_calls);
	done(ctx, arg, result);
}

static void call_woken(void *ctx, uint64_t arg)
{
	call_return(ctx, CALL_OK);
}

/* Called when the GPU work that the call waited for has ended. */
static void call_gpu_done(void *ctx, uint64_t arg)
{
	struct call_state *state = ctx;
	struct cuda_process *process = state->process;
	double wake_s = process->spec.driver->sync_wake_s * process->work_ratio;

	clock_wait(process, false);
	cpu_polled(state->core);
	cpu_serve(state->core, wake_s + process->interrupt_s, NULL, call_woken, state, 0);
}

/* ---- copies ---- */

static void copy_over(void *ctx, uint64_t arg)
{
	struct copy_job *job = ctx;
	struct gpu_stream *stream = job->stream;

	POOL_GIVE(job, job->process->free_jobs);
	gpu_copy_finished(stream);
}

static void copy_start(void *ctx, uint64_t arg, struct gpu_stream *stream)
{
	struct copy_job *job = ctx;
	const struct cuda_process_spec *spec = &job->process->spec;
	struct dma_copy copy = {
		.engine = spec->engine,
		.fabric = spec->fabric,
		.arena = spec->arena,
		.params = spec->dma,
		.route = job->to_device ? spec->to_device : spec->to_host,
		.host = guest_host(spec->guest),
		.core = job->pageable ? job->core : NULL,
		.to_device = job->to_device,
		.pageable = job->pageable,
		.size_B = job->size_B,
		.done = copy_over,
		.ctx = job,
	};

	job->stream = stream;
	if (job->size_B > 0)
		dma_start(&copy);
	else
		engine_after(spec->engine, 0, copy_over, job, 0);
}

static bool is_copy_to_device(enum call_kind kind)
{
	return kind == CALL_MEMCPY_H2D || kind == CALL_MEMCPY_H2D_ASYNC;
}

static struct copy_job *copy_job_new(const struct call_state *state)
{
	struct cuda_process *process = state->process;
	struct copy_job *job;
	POOL_TAKE(process->spec.arena, job, process->free_jobs);
	*job = (struct copy_job){
		.process = process,
		.core = state->core,
		.size_B = state->call.payload_B,
		.to_device = is_copy_to_device(state->call.kind),
		.pageable = state->call.pageable,
	};
	return job;
}

/* ---- collectives and messages ---- */

static int64_t exposed_since_ps(const struct cuda_process *process)
{
	int64_t time_ps = engine_now_ps(process->spec.engine) - process->peers_since_ps;

	return time_ps - (gpu_context_busy_ps(process->spec.context) - process->peers_busy_ps);
}

int64_t cuda_process_exposed_ps(const struct cuda_process *process)
{
	return process->exposed_ps + (process->peer_ops_count > 0 ? exposed_since_ps(process) : 0);
}

/* Tells both ends of a message in the trace. Messages of a pair have tickets in their order. */
static void trace_ends(const struct peer_op *op)
{
	bool sends = op->call.kind == CALL_SEND;
	uint64_t self = op->process->spec.member, peer = op->call.peer;
	uint64_t message = (uintptr_t)op->process->spec.peers;
	if (!sends && op->call.kind != CALL_RECEIVE)
		return;
	message = hash_spread(message ^ hash_spread(sends ? self : peer));
	message = hash_spread(message ^ hash_spread(sends ? peer : self) ^ op->call.tag);
	trace_message(engine_trace(op->process->spec.engine), hash_spread(message ^ op->ticket) | 1,
		      sends);
}

static void peer_op_over(void *ctx, uint64_t arg)
{
	struct peer_op *op = ctx;
	struct cuda_process *process = op->process;
	struct gpu_stream *stream = op->stream;

	clock_count(process); /* while all_begun_ps is valid */
	if (process->peer_ops_count == 1)
		process->exposed_ps += exposed_since_ps(process);
	process->peer_ops_count--;
	trace_ends(op);
	POOL_GIVE(op, process->free_peer_ops);
	gpu_peers_finished(stream);
}

static void peer_op_start(void *ctx, uint64_t arg, struct gpu_stream *stream)
{
	struct peer_op *op = ctx;
	struct cuda_process *process = op->process;
	struct cuda_peers *peers = process->spec.peers;

	op->stream = stream;
	if (process->peer_ops_count++ == 0) {
		process->peers_since_ps = engine_now_ps(process->spec.engine);
		process->peers_busy_ps = gpu_context_busy_ps(process->spec.context);
	}
	op->all_begun_ps = peers->begin(peers, process->spec.member, op->ticket, &op->call,
					peer_op_over, op, 0);
}

uint32_t cuda_renamed(const struct cuda_renames *renames, const struct cuda_call *call)
{
	bool message = call->kind == CALL_SEND || call->kind == CALL_RECEIVE;
	if (!renames)
		return call->peer;
	return (message ? renames->members : renames->communicators)[call->peer];
}

static struct peer_op *peer_op_new(struct cuda_process *process, const struct cuda_call *call)
{
	struct cuda_peers *peers = process->spec.peers;
	struct peer_op *op;
	FW_ASSERT(peers != NULL);
	POOL_TAKE(process->spec.arena, op, process->free_peer_ops);
	*op = (struct peer_op){
		.process = process,
		.call = *call,
	};
	op->call.peer = cuda_renamed(process->spec.renames, call);
	op->ticket = peers->join(peers, process->spec.member, &op->call);
	return op;
}

/* ---- submission ---- */

/* Returns true if the call returns only when its copy is complete. Copies of pageable memory wait
 * even when they are asynchronous, because the driver stages them in the caller's thread (CUDA
 * documentation, "API synchronization behavior"). */
static bool waits_for_copy(const struct cuda_call *call)
{
	switch (call->kind) {
	case CALL_MEMCPY_H2D:
	case CALL_MEMCPY_D2H:
		return true;
	case CALL_MEMCPY_H2D_ASYNC:
	case CALL_MEMCPY_D2H_ASYNC:
		return call->pageable;
	default:
		return false;
	}
}

/* Returns the factor of the durations of kernels. */
static double kernel_ratio(const struct cuda_process *process)
{
	return process->spec.kernel_ratio ? *process->spec.kernel_ratio : 1;
}

static void call_op(struct call_state *state, struct gpu_op *op)
{
	const struct cuda_call *call = &state->call;

	op->label = call->label;
	switch (call->kind) {
	case CALL_MEMCPY_H2D:
	case CALL_MEMCPY_D2H:
	case CALL_MEMCPY_H2D_ASYNC:
	case CALL_MEMCPY_D2H_ASYNC:
		op->kind = GPU_OP_COPY;
		op->direction = is_copy_to_device(call->kind) ? COPY_TO_DEVICE : COPY_TO_HOST;
		op->start = copy_start;
		op->start_ctx = copy_job_new(state);
		break;
	case CALL_EVENT_RECORD:
		op->kind = GPU_OP_RECORD;
		op->event = cuda_process_event(state->process, call->event);
		break;
	case CALL_STREAM_WAIT_EVENT:
		op->kind = GPU_OP_WAIT;
		op->event = cuda_process_event(state->process, call->event);
		break;
	default: /* a launch, a memset, a collective or a message */
		op->kind = call_has_peers(call->kind) ? GPU_OP_PEERS : GPU_OP_KERNEL;
		if (op->kind == GPU_OP_PEERS) {
			op->start = peer_op_start;
			op->start_ctx = peer_op_new(state->process, call);
		} else {
			op->duration_s = call->duration_s * kernel_ratio(state->process);
		}
		break;
	}
}

static void call_submit(void *ctx, uint64_t arg)
{
	struct call_state *state = ctx;
	struct gpu_context *context = state->process->spec.context;
	struct gpu_op op = {0};
	bool waits = waits_for_copy(&state->call);

	if (!gpu_has_room(context)) {
		gpu_when_room(context, call_submit, state, 0);
		return;
	}
	call_op(state, &op);
	if (state->call.run && gpu_extend(call_stream_of(state), &op)) {
		call_return(state, CALL_OK);
		return;
	}
	if (waits) {
		clock_wait(state->process, true);
		op.done = call_gpu_done;
		op.ctx = state;
	}
	gpu_submit(call_stream_of(state), &op);
	if (!waits)
		call_return(state, CALL_OK);
}

/* ---- queries and synchronisation ---- */

static void call_query(struct call_state *state)
{
	struct engine *engine = state->process->spec.engine;
	bool ready;

	if (state->call.kind == CALL_EVENT_QUERY) {
		const struct gpu_event *event =
			cuda_process_event(state->process, state->call.event);
		ready = event->completed_count >= event->recorded_count;
		if (ready && event->recorded_count > 0)
			engine_wait_add(engine, WAIT_POLL,
					engine_now_ps(engine) - event->completed_ps);
	} else {
		ready = gpu_stream_idle(call_stream_of(state));
	}
	call_return(state, ready ? CALL_OK : CALL_NOT_READY);
}

/* Returns at once if there is nothing to wait for. */
static void call_synchronize(struct call_state *state)
{
	struct gpu_context *context = state->process->spec.context;
	enum call_kind kind = state->call.kind;
	struct gpu_event *event = kind == CALL_EVENT_SYNCHRONIZE
					  ? cuda_process_event(state->process, state->call.event)
					  : NULL;
	struct gpu_stream *stream = kind == CALL_STREAM_SYNCHRONIZE ? call_stream_of(state) : NULL;
	if (event    ? event->completed_count >= event->recorded_count
	    : stream ? gpu_stream_idle(stream)
		     : gpu_context_idle(context)) {
		call_return(state, CALL_OK);
		return;
	}
	clock_wait(state->process, true);
	if (event)
		gpu_when_event(context, event, event->recorded_count, call_gpu_done, state, 0);
	else
		gpu_when_idle(context, stream, call_gpu_done, state, 0);
}

static void call_work(struct call_state *state);

/* A run of launches holds the lock at no time, because most of its work is the thread's own. */
static bool takes_lock(const struct call_state *state)
{
	return call_rules[state->call.kind].action != ACTION_RETURN && !state->call.run;
}

static void lock_release(struct cuda_process *process)
{
	struct call_state *next = process->waiting;

	process->locked = next != NULL;
	if (!next)
		return;
	process->waiting = next->next;
	if (!process->waiting)
		process->waiting_end = &process->waiting;
	call_work(next);
}

static void call_host_done(void *ctx, uint64_t arg)
{
	struct call_state *state = ctx;

	if (takes_lock(state))
		lock_release(state->process);
	if (state->call.run && state->submitted) {
		call_return(state, CALL_OK);
		return;
	}
	switch (call_rules[state->call.kind].action) {
	case ACTION_RETURN:
		call_return(state, CALL_OK);
		break;
	case ACTION_SUBMIT:
		call_submit(state, 0);
		break;
	case ACTION_QUERY:
		call_query(state);
		break;
	case ACTION_SYNCHRONIZE:
		call_synchronize(state);
		break;
	}
}

/* Returns the earliest start of the kernels if all of them take `ratio` times as long. */
static double part_earliest_s(const struct run_part *part, double ratio)
{
	double earliest_s = part->earliest_s - (ratio - 1) * part->before_s;
	return earliest_s > part->least_s ? earliest_s : part->least_s;
}

/* Begins a run of launches. Its kernels are one operation, which the GPU may begin at once, if the
 * thread's work takes its nominal time. Otherwise the last kernel is submitted when the thread has
 * done the work for all launches. */
static void run_begin(void *ctx, uint64_t arg)
{
	struct call_state *state = ctx;
	struct cuda_process *process = state->process;
	const struct kernel_run *run = state->call.run;
	double ratio = kernel_ratio(process);
	if (!gpu_has_room(process->spec.context)) {
		gpu_when_room(process->spec.context, run_begin, state, 0);
		return;
	}
	state->submitted = cpu_is_free(state->core);
	const struct run_part *part = state->submitted ? &run->all : &run->but_last;
	const struct gpu_op op = {.kind = GPU_OP_KERNEL,
				  .label = state->call.label,
				  .duration_s = part->kernels_s * ratio,
				  .kernels_count = (uint16_t)part->count,
				  .earliest_s = part_earliest_s(part, ratio)};
	gpu_submit(call_stream_of(state), &op);
	double work_s = run->host_s * process->work_ratio;
	cpu_serve(state->core, work_s, "launches", call_host_done, state, 0);
}

double driver_call_work_s(const struct driver_params *params, const struct cuda_call *call)
{
	size_t offset = call_rules[call->kind].cost_offset;
	if (call->host_s > 0)
		return (double)call->host_s;
	if (call->in_graph)
		return 0;
	if (call->nodes > 0)
		return params->graph_s + call->nodes * params->graph_node_s;
	return *(const double *)(const void *)((const char *)params + offset);
}

double cuda_process_work_s(const struct cuda_process *process, const struct cuda_call *call)
{
	return driver_call_work_s(process->spec.driver, call);
}

bool driver_call_returns(const struct cuda_call *call)
{
	return call_rules[call->kind].action == ACTION_RETURN;
}

/* The driver works for the call on the host. */
static void call_work(struct call_state *state)
{
	double cost_s = driver_call_work_s(state->process->spec.driver, &state->call) *
			state->process->work_ratio;

	cpu_serve(state->core, cost_s, call_kind_name(state->call.kind), call_host_done, state, 0);
}

/* Called when the stream reaches a mark; arg is its kind and its hand-over. */
static void mark_reached(void *ctx, uint64_t arg)
{
	struct cuda_process *process = ctx;
	struct cuda_peers *peers = process->spec.peers;
	const struct cuda_call call = {.kind = (enum call_kind)(arg >> 32), .peer = (uint32_t)arg};
	peers->begin(peers, process->spec.member, 0, &call, NULL, NULL, 0);
}

/* Submits a mark, which takes no time of the host. */
static void mark_submit(struct cuda_process *process, const struct cuda_call *call)
{
	struct gpu_op op = {.launched = true};
	if (call->kind == CALL_STEP_BEGIN || call->kind == CALL_REDUCED) {
		op.kind = GPU_OP_PEERS;
		op.start = peer_op_start;
		op.start_ctx = peer_op_new(process, call);
	} else {
		process->spec.peers->join(process->spec.peers, process->spec.member, call);
		gpu_mark(process->streams[call->stream], mark_reached, process,
			 (uint64_t)call->kind << 32 | call->peer);
		return;
	}
	gpu_submit(process->streams[call->stream], &op);
}

void driver_call(struct cuda_process *process, struct cpu *core, const struct cuda_call *call,
		 call_done_fn *done, void *ctx, uint64_t arg)
{
	struct call_state *state;
	FW_ASSERT((unsigned)call->kind < CALL_KIND_COUNT);
	if (call_is_mark(call->kind)) {
		mark_submit(process, call);
		done(ctx, arg, CALL_OK);
		return;
	}
	POOL_TAKE(process->spec.arena, state, process->free_calls);
	state->process = process;
	state->core = core;
	state->call = *call;
	state->done = done;
	state->ctx = ctx;
	state->arg = arg;
	if (call->run) {
		run_begin(state, 0);
	} else if (!takes_lock(state)) {
		call_work(state);
	} else if (!process->locked) {
		process->locked = true;
		call_work(state);
	} else {
		state->next = NULL;
		*process->waiting_end = state;
		process->waiting_end = &state->next;
	}
}
