/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/traces/replay.h"
#include "calib/sample/stats.h"
#include "sim/traces/replay_parts.h"

static const char *const host_choices[] = {"driver", "recorded", NULL};

static const struct param_row calls_rows[] = {
	PARAM_TEXT(struct calls_params, gpu, "",
		   "GPU of the recording: name of a file of topologies/gpus/; empty means the GPU "
		   "that the recording names"),
	PARAM_NUMBER(
		struct calls_params, kernel_ratio, QUANTITY_RATIO, 1e-3, 1e3, "1",
		"further factor on all recorded GPU times, which are scaled to this GPU if the "
		"GPU of the recording is known"),
	PARAM_NUMBER(struct calls_params, think_ratio, QUANTITY_RATIO, 0, 1e3, "1",
		     "factor on all recorded host times between two calls; 1 if this host is of "
		     "the recorded kind"),
	PARAM_NUMBER(struct calls_params, copies_ratio, QUANTITY_RATIO, 1e-9, 1e12, "1",
		     "factor on the bytes of all recorded copies, for example for another batch"),
	PARAM_NUMBER(struct calls_params, clock_Hz, QUANTITY_FREQUENCY, 0, 1e11, "0 Hz",
		     "core clock of the host on which the program was recorded; 0 Hz means that of "
		     "the host on which it runs"),
	PARAM_CHOICE(struct calls_params, host, host_choices, "driver",
		     "source of the host time of each recorded call: the driver's parameters "
		     "(driver), or the recording (recorded)"),
	PARAM_WHOLE(
		struct calls_params, step_count, 0, 1e9, "0",
		"number of the recorded step to replay, from 1; 0 means the step of median length"),
	PARAM_NUMBER(struct calls_params, copy_B, QUANTITY_BYTES, 0, 1e12, "0 B",
		     "size of each copy in place of the recorded one; 0 B means as recorded"),
	COST_ASSUMED(struct calls_params, arguments_B, QUANTITY_BYTES, 0, 65536, "120 B",
		     "size of the marshalled arguments of each recorded call whose recording does "
		     "not state it",
		     "assumption: the same as for a framework's launches"),
	COST_ASSUMED(struct calls_params, arithmetic_ratio, QUANTITY_RATIO, 1e-3, 1e3, "1",
		     "factor on the odds that arithmetic, and not memory, limits a kernel whose "
		     "time moves to another GPU",
		     "assumption: the class of each kernel states its odds"),
};
const struct param_table calls_table = PARAM_TABLE("calls", struct calls_params, calls_rows);

/* A synchronisation that took longer has waited for something. */
static const double WAITED_S = 20e-6;
enum { HANDLES_MAX = 60000 };
/* Handles that no recorder uses: an event that is never recorded, an event for which no thread
 * waits, and a stream for calls whose stream is unknown. */
enum { NEVER_RECORDED = -2, NEVER_AWAITED = -3, STREAM_UNKNOWN = -1 };

/* ---- handles ---- */

/* Returns the cell of the handle, or the empty cell for it. */
static size_t cell_of(const struct handles *handles, int64_t handle)
{
	size_t cell = (uint64_t)handle * 0x9e3779b97f4a7c15u >> 32 & (handles->size - 1);
	while (handles->cells[cell] && handles->list.items[handles->cells[cell] - 1] != handle)
		cell = (cell + 1) & (handles->size - 1);
	return cell;
}

static void rehash(struct arena *arena, struct handles *handles)
{
	handles->size = handles->size ? 2 * handles->size : 16;
	handles->cells = ARENA_ARRAY(arena, handles->size, uint32_t);
	for (size_t i = 0; i < handles->list.count; i++)
		handles->cells[cell_of(handles, handles->list.items[i])] = (uint32_t)i + 1;
}

static uint32_t handle_number(struct arena *arena, struct handles *handles, int64_t handle)
{
	if (2 * handles->list.count >= handles->size)
		rehash(arena, handles);
	uint32_t *cell = &handles->cells[cell_of(handles, handle)];
	if (*cell == 0) {
		*VEC_PUSH(arena, &handles->list) = handle;
		*cell = (uint32_t)handles->list.count;
	}
	return *cell - 1;
}

/* ---- choosing the step ---- */

static double median_of(struct arena *arena, const double *values, size_t count)
{
	double *sorted = ARENA_ARRAY(arena, count, double);
	memcpy(sorted, values, count * sizeof *values);
	stats_sort(sorted, count);
	return sorted[(count - 1) / 2];
}

static size_t median_step(const struct recorded_calls *recorded)
{
	struct arena *scratch = arena_new();
	size_t count = recorded->mark_count - 1, index = 0;
	double *lasted_s = ARENA_ARRAY(scratch, count, double);
	for (size_t i = 0; i < count; i++)
		lasted_s[i] = recorded->marks[i + 1].t_s - recorded->marks[i].t_s;
	double median_s = median_of(scratch, lasted_s, count);
	while (lasted_s[index] < median_s || lasted_s[index] > median_s)
		index++;
	arena_free(scratch);
	return index;
}

static void whole_recording(const struct recorded_calls *recorded, struct replay_step *step)
{
	*step = (struct replay_step){.start_s = INFINITY};
	for (size_t i = 0; i < recorded->call_count; i++) {
		step->start_s = fmin(step->start_s, recorded->calls[i].start_s);
		if (recorded->calls[i].end_s >= step->end_s) {
			step->end_s = recorded->calls[i].end_s;
			step->thread = recorded->calls[i].thread;
		}
	}
}

static bool in_step(const struct replay_step *step, const struct recorded_call *call)
{
	return !step->marked || (call->start_s >= step->start_s && call->start_s < step->end_s);
}

static bool handles_fit(struct diag *diag, struct origin origin,
			const struct recorded_calls *recorded, const struct replay_step *step)
{
	struct arena *scratch = arena_new();
	struct handles streams = {0}, events = {0};
	for (size_t i = 0; i < recorded->call_count; i++) {
		const struct recorded_call *call = &recorded->calls[i];
		if (in_step(step, call)) {
			handle_number(scratch, &streams, call->stream);
			handle_number(scratch, &events, call->event);
		}
	}
	const char *many = streams.list.count > HANDLES_MAX  ? "streams"
			   : events.list.count > HANDLES_MAX ? "events"
							     : NULL;
	if (many)
		diag_error(diag, origin,
			   "a step of the recording uses more than %d %s (record shorter steps)",
			   HANDLES_MAX, many);
	arena_free(scratch);
	return !many;
}

bool replay_step_find(struct diag *diag, struct origin origin,
		      const struct recorded_calls *recorded, const struct calls_params *params,
		      struct replay_step *step)
{
	size_t count = recorded->mark_count > 0 ? recorded->mark_count - 1 : 0;
	size_t wanted = (size_t)params->step_count;
	if (recorded->mark_count == 1 || wanted > count)
		return diag_error(
			diag, origin,
			"the recording has %zu complete steps%s (a step lasts from one mark to "
			"the next; record more marks)",
			count, wanted > count ? ", so calls.step is too large" : "");
	if (recorded->mark_count == 0) {
		whole_recording(recorded, step);
		return handles_fit(diag, origin, recorded, step);
	}
	size_t index = wanted ? wanted - 1 : median_step(recorded);
	const struct recorded_mark *mark = &recorded->marks[index];
	*step = (struct replay_step){mark->t_s, mark[1].t_s, mark->thread, mark->step, true};
	for (size_t i = 0; i < recorded->call_count; i++)
		if (in_step(step, &recorded->calls[i]))
			return handles_fit(diag, origin, recorded, step);
	return diag_error(
		diag, origin,
		"step %u of the recording contains no CUDA call (write another calls.step; "
		"steps are counted from 1)",
		(unsigned)mark->step);
}

bool replay_step_like(struct diag *diag, struct origin origin,
		      const struct recorded_calls *recorded, const struct replay_step *like,
		      struct replay_step *step)
{
	struct calls_params params = {0};
	for (size_t i = 0; like->marked && i + 1 < recorded->mark_count; i++)
		if (recorded->marks[i].step == like->step)
			params.step_count = (double)i + 1;
	if (params.step_count > 0 || !like->marked)
		return replay_step_find(diag, origin, recorded, &params, step);
	return diag_error(diag, origin,
			  "the recording of rank %u has no step %u, which another rank has (record "
			  "the same steps of all ranks)",
			  (unsigned)recorded->rank, (unsigned)like->step);
}

/* ---- items ---- */

/* Returns the kind of call that replays this one. It differs from the function's kind if the
 * recording lacks something that the kind needs. */
static enum call_kind played_kind(const struct replay *r, const struct replay_call *call)
{
	const struct recorded_call *recorded = call->call;
	bool waited = recorded->end_s - recorded->start_s >= WAITED_S;
	uint32_t peer;
	switch (call->use.kind) {
	case CALL_ALL_REDUCE:
	case CALL_ALL_GATHER:
	case CALL_REDUCE_SCATTER:
	case CALL_ALL_TO_ALL:
	case CALL_BROADCAST:
	case CALL_SEND:
	case CALL_RECEIVE:
		if (r->job && recorded_has_peers(recorded) &&
		    recorded_job_peer(r->job, r->rank, recorded, &peer))
			return call->use.kind;
		return recorded->gpu_s < 0 || r->independent ? CALL_LIBRARY : CALL_LAUNCH;
	case CALL_LAUNCH:
	case CALL_MEMSET_ASYNC: /* without GPU work: captured into a graph */
		return recorded->gpu_s < 0 ? CALL_LIBRARY : call->use.kind;
	case CALL_EVENT_SYNCHRONIZE:
		return recorded->event < 0 && waited ? CALL_DEVICE_SYNCHRONIZE : call->use.kind;
	case CALL_STREAM_SYNCHRONIZE:
		return recorded->stream < 0 ? CALL_DEVICE_SYNCHRONIZE : call->use.kind;
	case CALL_LIBRARY:
	case CALL_MALLOC: /* an unknown function that started a kernel */
		return recorded->gpu_s > 0 ? CALL_LAUNCH : call->use.kind;
	default:
		return call->use.kind;
	}
}

/* Returns true if the call waits for nothing, so its recorded time is host work. */
static bool returns_by_itself(const struct cuda_call *call)
{
	switch (call->kind) {
	case CALL_MEMCPY_H2D:
	case CALL_MEMCPY_D2H:
	case CALL_EVENT_SYNCHRONIZE:
	case CALL_STREAM_SYNCHRONIZE:
	case CALL_DEVICE_SYNCHRONIZE:
	case CALL_FREE:
		return false;
	case CALL_MEMCPY_H2D_ASYNC:
	case CALL_MEMCPY_D2H_ASYNC:
		return !call->pageable;
	default:
		return true;
	}
}

/* Returns the median time of a function's calls in a thread. Names are compared by address, because
 * call_file_read keeps each name only once. */
static double median_time_s(struct replay *r, const struct replay_thread *thread,
			    const char *function)
{
	for (size_t i = 0; i < r->medians.count; i++)
		if (r->medians.items[i].function == function &&
		    r->medians.items[i].thread == thread)
			return r->medians.items[i].time_s;
	struct arena *scratch = arena_new();
	double *times_s = ARENA_ARRAY(scratch, thread->count, double);
	size_t count = 0;
	for (size_t i = 0; i < thread->count; i++)
		if (thread->calls[i].call->function == function)
			times_s[count++] =
				thread->calls[i].call->end_s - thread->calls[i].call->start_s;
	struct function_median *median = VEC_PUSH(r->arena, &r->medians);
	*median = (struct function_median){function, thread, median_of(scratch, times_s, count)};
	arena_free(scratch);
	return median->time_s;
}

/* Returns the host work of a call, or 0 if the driver's parameters give it. A recorded time counts
 * at most as the median of its function's calls, because a full launch queue can delay a call. */
static double host_work_s(struct replay *r, const struct replay_thread *thread,
			  const struct replay_call *call, const struct cuda_call *cuda)
{
	const struct recorded_call *recorded = call->call;
	double own_s = recorded->end_s - recorded->start_s;
	if (call->use.host == HOST_OWN)
		return own_s * r->host_ratio;
	if (r->params->host != CALLS_HOST_RECORDED || !returns_by_itself(cuda))
		return 0;
	return fmin(own_s, median_time_s(r, thread, recorded->function)) * r->host_ratio;
}

static struct cuda_call cuda_call_of(struct replay *r, const struct replay_thread *thread,
				     const struct replay_call *call)
{
	const struct recorded_call *recorded = call->call;
	struct cuda_call cuda = {.kind = played_kind(r, call),
				 .arguments_B = recorded->arguments_B > 0
							? recorded->arguments_B
							: (float)r->params->arguments_B,
				 .compressibility = recorded->compressibility,
				 .label = recorded->label};
	bool is_async = cuda.kind == CALL_MEMCPY_H2D_ASYNC || cuda.kind == CALL_MEMCPY_D2H_ASYNC;
	bool is_copy = is_async || cuda.kind == CALL_MEMCPY_H2D || cuda.kind == CALL_MEMCPY_D2H;
	cuda.stream = (uint16_t)handle_number(
		r->arena, &r->streams, recorded->stream < 0 ? STREAM_UNKNOWN : recorded->stream);
	if (call_has_peers(cuda.kind)) {
		cuda.payload_B = recorded->size_B;
		(void)recorded_job_peer(r->job, r->rank, recorded, &cuda.peer);
	}
	if (is_copy) {
		cuda.payload_B = r->params->copy_B > 0
					 ? r->params->copy_B
					 : round(recorded->size_B * r->params->copies_ratio);
		cuda.pageable = recorded->memory == MEMORY_PAGEABLE ||
				(recorded->memory == MEMORY_UNKNOWN && !is_async);
	} else if (recorded->gpu_s > 0 &&
		   (cuda.kind == CALL_LAUNCH || cuda.kind == CALL_MEMSET_ASYNC)) {
		/* Synchronising calls have no duration, even if they contain a launch: their kernel
		 * would never run. */
		cuda.duration_s = recorded->gpu_s * r->params->kernel_ratio;
		if (r->rescaling.from)
			cuda.duration_s =
				rescale_s(r->arena, &r->rescaling, recorded_kernel_name(recorded),
					  cuda.duration_s);
	}
	if (cuda.kind == CALL_LAUNCH)
		function_mark_library(recorded->function, &cuda);
	int64_t unknown = cuda.kind == CALL_EVENT_RECORD ? NEVER_AWAITED : NEVER_RECORDED;
	cuda.event = (uint16_t)handle_number(r->arena, &r->events,
					     recorded->event < 0 ? unknown : recorded->event);
	cuda.host_s = (float)host_work_s(r, thread, call, &cuda);
	return cuda;
}

struct items {
	VEC(struct item) list;
};

static struct item *add_item(struct replay *r, struct items *items, enum item_kind kind)
{
	struct item *item = VEC_PUSH(r->arena, &items->list);
	item->kind = kind;
	return item;
}

static void add_wait(struct replay *r, struct items *items, uint32_t await)
{
	if (!await)
		return;
	struct item *item = add_item(r, items, ITEM_AWAIT);
	item->signal = await - 1;
	item->count = 1;
}

static void thread_items(struct replay *r, const struct replay_thread *thread,
			 struct call_thread *program)
{
	struct items items = {0};
	for (size_t i = 0; i <= thread->count; i++) {
		const struct replay_call *call = &thread->calls[i];
		add_wait(r, &items, call->awaits[0]);
		if (call->think_s > 0)
			add_item(r, &items, ITEM_THINK)->work_s =
				call->think_s * r->params->think_ratio * r->host_ratio;
		add_wait(r, &items, call->awaits[1]);
		if (i < thread->count && call->role != ROLE_ASKED) {
			struct item *item = add_item(
				r, &items, call->role == ROLE_POLL ? ITEM_POLL : ITEM_CALL);
			item->work_s = call->sleep_s;
			item->call = cuda_call_of(r, thread, call);
			if (call->signal)
				add_item(r, &items, ITEM_POST)->signal = call->signal - 1;
		}
	}
	*program = (struct call_thread){
		arena_printf(r->arena, "thread %u", (unsigned)thread->recorded), items.list.items,
		items.list.count};
}

/* ---- the program ---- */

/* Collects the step's calls by thread. The thread that ends the step is the first one. */
static void gather(struct replay *r)
{
	const struct recorded_calls *recorded = r->recorded;
	r->threads = ARENA_ARRAY(r->arena, recorded->thread_count + 1, struct replay_thread);
	size_t *counts = ARENA_ARRAY(r->arena, recorded->thread_count + 1, size_t);
	struct replay_thread **places =
		ARENA_ARRAY(r->arena, recorded->thread_count + 1, struct replay_thread *);
	for (size_t i = 0; i < recorded->call_count; i++)
		counts[recorded->calls[i].thread] += in_step(r->step, &recorded->calls[i]);
	for (uint32_t turn = 0; turn <= recorded->thread_count; turn++) {
		uint32_t index = turn ? turn - 1 : r->step->thread;
		if (!counts[index] || places[index])
			continue;
		struct replay_thread *thread = places[index] = &r->threads[r->thread_count++];
		thread->recorded = index;
		thread->calls = ARENA_ARRAY(r->arena, counts[index] + 1, struct replay_call);
	}
	for (size_t i = 0; i < recorded->call_count; i++) {
		const struct recorded_call *call = &recorded->calls[i];
		struct replay_thread *thread = places[call->thread];
		if (thread && in_step(r->step, call))
			thread->calls[thread->count++] =
				(struct replay_call){.call = call, .use = function_use(call)};
	}
}

struct program *replay_program(struct arena *arena, const struct replay_spec *spec)
{
	const struct calls_params *params = spec->params;
	double clock_Hz = params->clock_Hz > 0 ? params->clock_Hz : spec->host_clock_Hz;
	struct replay r = {.arena = arena,
			   .params = params,
			   .rescaling = {spec->from,
					 spec->to,
					 spec->same_model,
					 params->arithmetic_ratio,
					 {0}},
			   .step = spec->step,
			   .recorded = spec->recorded,
			   .job = spec->job,
			   .rank = spec->rank,
			   .independent = spec->independent,
			   .host_ratio = clock_Hz / REFERENCE_CLOCK_HZ};
	gather(&r);
	replay_find_waits(&r);
	struct call_thread *threads = ARENA_ARRAY(arena, r.thread_count, struct call_thread);
	for (size_t i = 0; i < r.thread_count; i++)
		thread_items(&r, &r.threads[i], &threads[i]);
	struct program *program = ARENA_NEW(arena, struct program);
	*program = (struct program){.threads = threads,
				    .thread_count = r.thread_count,
				    .stream_count = (uint16_t)r.streams.list.count,
				    .event_count = (uint16_t)r.events.list.count,
				    .signal_count = r.signal_count,
				    .memory_B = spec->recorded->memory_B};
	return program;
}
