/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/workload/player.h"
#include "sim/workload/player_internal.h"

/* Rounding error of the sum of a step's parts in seconds, relative to the time since the start. */
static const double slack_ratio = 1e-9;

/* ---- threads ---- */

static void thread_run(struct player_thread *thread);

/* Returns the record of the current step. A player without times keeps only this one. */
static struct step_record *record_of(struct player *player)
{
	return &player->records.items[player->records.count - 1];
}

static struct device_times device_times(const struct player *player)
{
	struct device_times times = {0};
	for (size_t i = 0; i < player->timed_count; i++) {
		struct cuda_process *process = player->spec.processes[i];
		times.busy_ps += gpu_context_busy_ps(cuda_process_context(process));
		times.exposed_ps += cuda_process_exposed_ps(process);
	}
	return times;
}

/* Returns a mean of the GPUs from their sum. */
static double mean_s(const struct player *player, int64_t sum_ps)
{
	return player->timed_count > 0 ? s_from_ps(sum_ps) / (double)player->timed_count : 0;
}

static int64_t devices_work_ps(const struct player *player)
{
	int64_t work_ps = 0;
	for (size_t i = 0; i < player->spec.device_count; i++)
		work_ps += gpu_context_work_ps(cuda_process_context(player->spec.processes[i]));
	return work_ps;
}

/* Counts the idle time of the GPUs in the last spent_ps, which thread 0 spent in the way `kind`. */
static void note_idle(struct player_thread *thread, enum thread_time kind, int64_t spent_ps)
{
	struct player *player = thread->player;
	if (thread->index != 0 || player->timed_count == 0 || spent_ps == 0)
		return;
	struct device_times now = device_times(player);
	player->idle_ps[kind] += spent_ps * (int64_t)player->timed_count -
				 (now.busy_ps - player->noted.busy_ps) -
				 (now.exposed_ps - player->noted.exposed_ps);
	player->noted = now;
}

/* Counts the time since thread->since_ps as time of that kind. */
static void thread_spent(struct player_thread *thread, enum thread_time kind, enum span_kind span,
			 const char *name)
{
	struct player *player = thread->player;
	int64_t now_ps = engine_now_ps(player->spec.engine);
	thread->spent_ps[kind] += now_ps - thread->since_ps;
	note_idle(thread, kind, now_ps - thread->since_ps);
	player_span(player, &thread->track, span, name, thread->since_ps);
	thread->since_ps = now_ps;
}

static void think_done(void *ctx, uint64_t arg)
{
	struct player_thread *thread = ctx;
	thread_spent(thread, TIME_THINK, SPAN_CPU, "think");
	thread_run(thread);
}

static void thread_call(struct player_thread *thread, const struct cuda_call *call);

/* Repeats the query of an ITEM_POLL after its sleep. */
static void poll_again(void *ctx, uint64_t arg)
{
	struct player_thread *thread = ctx;
	thread_spent(thread, TIME_WAIT, SPAN_WAIT, "sleep");
	thread_call(thread, &thread->program->items[thread->at - 1].call);
}

static void thread_call_done(void *ctx, uint64_t arg, enum call_result result)
{
	struct player_thread *thread = ctx;
	const struct item *item = &thread->program->items[thread->at - 1];
	const struct cuda_call *call = &item->call;
	thread_spent(thread, TIME_CALL, SPAN_CALL,
		     call->label ? call->label : call_kind_name(call->kind));
	if (item->kind == ITEM_POLL && result == CALL_NOT_READY) {
		int64_t sleep_ps = ps_from_s(item->work_s);
		engine_do_after(thread->player->spec.engine, sleep_ps > 0 ? sleep_ps : 1,
				poll_again, thread, 0);
		return;
	}
	thread->in_call = false;
	if (!thread->running) /* otherwise the call returned at once, and thread_run continues */
		thread_run(thread);
}

static void thread_woken(void *ctx, uint64_t arg)
{
	struct player_thread *thread = ctx;
	thread_spent(thread, TIME_WAIT, SPAN_WAIT, "wait");
	thread_run(thread);
}

/* ---- signals and watches ---- */

static void signal_post(struct player *player, uint32_t index)
{
	struct signal *signal = &player->signals[index];
	struct player_thread **link = &signal->waiting;
	signal->count++;
	while (*link) {
		struct player_thread *thread = *link;
		if (signal->count < thread->awaited_count) {
			link = &thread->next_waiting;
			continue;
		}
		*link = thread->next_waiting;
		engine_do_after(player->spec.engine, 0, thread_woken, thread, 0);
	}
}

/* Returns true if the thread has to wait. */
static bool signal_await(struct player_thread *thread, const struct item *item)
{
	struct signal *signal = &thread->player->signals[item->signal];
	struct player_thread **link = &signal->waiting;
	if (signal->count >= item->count)
		return false;
	while (*link)
		link = &(*link)->next_waiting;
	thread->awaited_count = item->count;
	thread->next_waiting = NULL;
	*link = thread;
	return true;
}

void player_watch_done(struct player *player, uint32_t signal, uint32_t step)
{
	if (step == player->step && !player->stopped)
		signal_post(player, signal);
}

/* arg contains the step (upper 32 bits) and the signal (lower 32 bits). */
static void watched_event_reached(void *ctx, uint64_t arg)
{
	player_watch_done(ctx, (uint32_t)arg, (uint32_t)(arg >> 32));
}

/* Returns the number of records of the call's event that the player has issued since the start. */
static uint64_t *records_count(struct player *player, const struct cuda_call *call)
{
	return &player->records_counts[(size_t)call->device * player->spec.program->event_count +
				       call->event];
}

/* Returns true if the thread has to wait. */
static bool watch_begin(struct player_thread *thread, const struct item *item)
{
	struct player *player = thread->player;
	uint16_t event = item->call.event;
	if (player->spec.program->poller.enabled)
		return poller_watch(thread, item);
	FW_ASSERT(item->call.device < player->spec.device_count);
	struct cuda_process *process = player->spec.processes[item->call.device];
	gpu_when_event(cuda_process_context(process), cuda_process_event(process, event),
		       *records_count(player, &item->call), watched_event_reached, player,
		       (uint64_t)player->step << 32 | item->signal);
	return false;
}

void player_queried(struct player_thread *thread)
{
	thread_spent(thread, TIME_CALL, SPAN_CALL, "queries of events");
	thread_run(thread);
}

/* ---- steps ---- */

static void step_begin(void *ctx, uint64_t arg)
{
	struct player *player = ctx;
	const struct player_spec *spec = &player->spec;
	struct step_record *record = record_of(player);
	size_t thread_count = spec->program->thread_count;
	record->start_ps = engine_now_ps(spec->engine);
	record->mark_ps = -1;
	player->before = player->noted = device_times(player);
	player->work_before_ps = devices_work_ps(player);
	if (spec->program->role)
		cuda_process_times(spec->processes[0], player->gpu_before_ps);
	for (unsigned i = 0; i < spec->program->signal_count; i++)
		player->signals[i].count = 0;
	player->threads_left = thread_count;
	for (size_t i = 0; i < thread_count; i++) {
		struct player_thread *thread = &player->threads[i];
		thread->at = 0;
		thread->since_ps = record->start_ps;
		for (int kind = 0; kind < TIME_KIND_COUNT; kind++)
			thread->spent_ps[kind] = 0;
	}
	for (size_t i = 0; i < thread_count; i++)
		thread_run(&player->threads[i]);
}

static void record_add(struct player *player)
{
	if (player->spec.untimed)
		player->records.count = 0;
	*VEC_PUSH(player->spec.arena, &player->records) = (struct step_record){0};
}

/* Fails the run if the times of thread 0 do not add up to the step, to the picosecond, or those of
 * the GPU, which are in seconds, to within rounding errors. */
static void check_step(struct player *player, const struct player_thread *first)
{
	const struct step_record *record = record_of(player);
	int64_t step_ps = record->end_ps - record->start_ps, parts_ps = 0;
	double step_s = s_from_ps(step_ps), parts_s = record->gpu_busy_s + record->exposed_s;
	for (int kind = 0; kind < TIME_KIND_COUNT; kind++) {
		parts_ps += first->spent_ps[kind];
		parts_s += record->gpu_idle_s[kind];
	}
	if (parts_ps != step_ps)
		engine_fail(player->spec.engine,
			    "%s: step %u takes %.12f s, but its parts add up to %.12f s",
			    player->spec.name, player->step, step_s, s_from_ps(parts_ps));
	if (player->timed_count > 0 &&
	    (record->gpu_busy_s < 0 ||
	     fabs(parts_s - step_s) > slack_ratio * s_from_ps(record->end_ps)))
		engine_fail(player->spec.engine,
			    "%s: step %u takes %.12f s, but the GPU's times add up to %.12f s, "
			    "%.12f s of it busy",
			    player->spec.name, player->step, step_s, parts_s, record->gpu_busy_s);
}

/* Sets the times of the GPU in this step. Fails the run if they do not add up to it, or if those of
 * kernels are not the time in which the GPU was busy. */
static void count_times(struct player *player, struct step_record *record)
{
	int64_t *times_ps = ARENA_ARRAY(player->spec.arena, GPU_TIME_COUNT, int64_t), sum_ps = 0;
	double busy_s = record->gpu_busy_s;
	cuda_process_times(player->spec.processes[0], times_ps);
	for (int k = 0; k < GPU_TIME_COUNT; k++) {
		times_ps[k] -= player->gpu_before_ps[k];
		sum_ps += times_ps[k];
	}
	record->gpu_ps = times_ps;
	if (sum_ps != record->end_ps - record->start_ps ||
	    fabs(s_from_ps(times_ps[GPU_COMPUTES]) - busy_s) >
		    slack_ratio * s_from_ps(record->end_ps))
		engine_fail(player->spec.engine,
			    "%s: step %u takes %.12f s, with %.12f s of kernels; the GPU's times "
			    "add up to %.12f s, with %.12f s of kernels",
			    player->spec.name, player->step,
			    s_from_ps(record->end_ps - record->start_ps), busy_s, s_from_ps(sum_ps),
			    s_from_ps(times_ps[GPU_COMPUTES]));
}

static void step_end(struct player *player)
{
	const struct player_spec *spec = &player->spec;
	struct step_record *record = record_of(player);
	struct player_thread *first = &player->threads[0];
	bool goes_on;
	record->end_ps = engine_now_ps(spec->engine);
	if (record->mark_ps < 0)
		record->mark_ps = record->end_ps;
	/* the other threads have waited until the end of the step */
	first->spent_ps[TIME_WAIT] += record->end_ps - first->since_ps;
	note_idle(first, TIME_WAIT, record->end_ps - first->since_ps);
	for (int kind = 0; kind < TIME_KIND_COUNT; kind++) {
		record->thread_s[kind] = s_from_ps(first->spent_ps[kind]);
		record->gpu_idle_s[kind] = mean_s(player, player->idle_ps[kind]);
		player->idle_ps[kind] = 0;
	}
	struct device_times now = device_times(player);
	record->gpu_busy_s = mean_s(player, now.busy_ps - player->before.busy_ps);
	record->exposed_s = mean_s(player, now.exposed_ps - player->before.exposed_ps);
	record->work_ps = (double)(devices_work_ps(player) - player->work_before_ps);
	check_step(player, first);
	if (spec->program->role)
		count_times(player, record);
	player->step++;
	player->pause_ps = 0;
	goes_on = !spec->step_done || spec->step_done(spec->ctx, player, record);
	record_add(player);
	if (goes_on && (spec->steps_max == 0 || player->step < spec->steps_max))
		engine_after(spec->engine, player->pause_ps, step_begin, player, 0);
	else
		player->stopped = true;
}

static void thread_call(struct player_thread *thread, const struct cuda_call *call)
{
	struct player *player = thread->player;
	if (call->kind == CALL_EVENT_RECORD)
		(*records_count(player, call))++;
	record_of(player)->calls_count += call->run ? call->run->calls_count : 1U + call->repeats;
	thread->in_call = true;
	player->spec.port->call(player->spec.port, thread->index, thread->core, call,
				thread_call_done, thread, 0);
}

/* Returns true if the call records an event that the thread watches next, under the lock. */
static bool needs_lock(const struct player_thread *thread, const struct cuda_call *call)
{
	const struct poller_params *poller = &thread->player->spec.program->poller;
	return call->kind == CALL_EVENT_RECORD && poller->enabled && poller->lock &&
	       thread->at < thread->program->count &&
	       thread->program->items[thread->at].kind == ITEM_WATCH;
}

void player_locked(void *ctx, uint64_t arg)
{
	struct player_thread *thread = ctx;
	thread_spent(thread, TIME_WAIT, SPAN_WAIT, "lock of the poller");
	thread_call(thread, &thread->program->items[thread->at - 1].call);
}

/* Begins an item. Returns true if the thread has to wait for its end. */
static bool thread_item(struct player_thread *thread, const struct item *item)
{
	struct player *player = thread->player;
	switch (item->kind) {
	case ITEM_THINK:
		if (item->work_s <= 0)
			return false;
		cpu_serve(thread->core, item->work_s * player->work_ratio, NULL, think_done, thread,
			  0);
		return true;
	case ITEM_CALL:
	case ITEM_POLL:
		if (needs_lock(thread, &item->call) && !poller_lock(thread))
			return true;
		thread_call(thread, &item->call);
		return thread->in_call;
	case ITEM_POST:
		signal_post(player, item->signal);
		return false;
	case ITEM_AWAIT:
		return signal_await(thread, item);
	case ITEM_WATCH:
		return watch_begin(thread, item);
	case ITEM_GATE:
		player->spec.gate(player->spec.gate_ctx, thread_woken, thread, 0);
		return true;
	case ITEM_STEP_MARK:
		record_of(player)->mark_ps = engine_now_ps(player->spec.engine);
		return false;
	}
	return false;
}

static void thread_run(struct player_thread *thread)
{
	const struct call_thread *program = thread->program;
	thread->running = true;
	while (thread->at < program->count) {
		const struct item *item = &program->items[thread->at++];
		if (thread_item(thread, item)) {
			thread->running = false;
			return;
		}
	}
	thread->running = false;
	if (--thread->player->threads_left == 0)
		step_end(thread->player);
}

/* ---- life cycle ---- */

static void check_program(const struct player_spec *spec)
{
	const struct program *program = spec->program;
	FW_ASSERT(program->thread_count > 0);
	FW_ASSERT(spec->device_count == 0 || spec->device_count == program_device_count(program));
	for (size_t t = 0; t < program->thread_count; t++) {
		for (size_t i = 0; i < program->threads[t].count; i++) {
			const struct item *item = &program->threads[t].items[i];
			bool signals = item->kind == ITEM_POST || item->kind == ITEM_AWAIT ||
				       item->kind == ITEM_WATCH;
			bool events =
				item->kind == ITEM_WATCH ||
				(item->kind == ITEM_CALL && (item->call.kind == CALL_EVENT_RECORD));
			FW_ASSERT(!signals || item->signal < program->signal_count);
			FW_ASSERT(!events || item->call.event < program->event_count);
		}
	}
}

struct player *player_new(const struct player_spec *spec)
{
	const struct program *program = spec->program;
	struct player *player = ARENA_NEW(spec->arena, struct player);
	check_program(spec);
	player->spec = *spec;
	player->timed_count = spec->untimed ? 0 : spec->device_count;
	player->work_ratio = spec->guest_work ? guest_work_ratio(spec->guest) : 1;
	player->threads = ARENA_ARRAY(spec->arena, program->thread_count, struct player_thread);
	for (size_t i = 0; i < program->thread_count; i++) {
		struct player_thread *thread = &player->threads[i];
		thread->player = player;
		thread->program = &program->threads[i];
		thread->index = (unsigned)i;
		thread->core = spec->port->core ? spec->port->core(spec->port, (unsigned)i) : NULL;
		if (spec->shares_cores)
			thread->core = cpu_shared_new(spec->guest);
		else if (!thread->core)
			thread->core = guest_core(spec->guest);
		thread->track.name = i == 0 && spec->track ? spec->track : program->threads[i].name;
	}
	player->signals = ARENA_ARRAY(spec->arena, program->signal_count, struct signal);
	player->records_counts = ARENA_ARRAY(
		spec->arena, program_device_count(program) * program->event_count, uint64_t);
	record_add(player);
	if (program->poller.enabled)
		poller_init(player);
	return player;
}

void player_start(struct player *player)
{
	engine_after(player->spec.engine, 0, step_begin, player, 0);
}

void player_pause(struct player *player, int64_t pause_ps)
{
	FW_ASSERT(pause_ps >= 0);
	player->pause_ps = pause_ps;
}

size_t player_step_count(const struct player *player)
{
	return player->step;
}

const struct step_record *player_step_at(const struct player *player, size_t index)
{
	FW_ASSERT(index < player->step);
	return &player->records.items[index];
}

static const char *item_name(const struct item *item)
{
	switch (item->kind) {
	case ITEM_CALL:
	case ITEM_POLL:
		return call_kind_name(item->call.kind);
	case ITEM_AWAIT:
		return "the wait for a signal";
	default:
		return "host work";
	}
}

const char *player_waiting(const struct player *player, struct arena *arena)
{
	for (size_t i = 0; player->threads_left > 0 && i < player->spec.program->thread_count;
	     i++) {
		const struct player_thread *thread = &player->threads[i];
		const struct call_thread *program = thread->program;
		if (thread->at < program->count || thread->in_call)
			return arena_printf(arena, "step %u, thread '%s' at %s, item %zu of %zu",
					    player->step, program->name,
					    item_name(&program->items[thread->at - 1]), thread->at,
					    program->count);
	}
	return arena_printf(arena, "step %u, which has not begun or has just ended", player->step);
}

void player_span_add(struct player *player, struct player_track *track, enum span_kind kind,
		     const char *name, int64_t start_ps)
{
	struct trace *trace = engine_trace(player->spec.engine);
	if (!track->known) {
		track->number = trace_track(trace, player->spec.name, track->name);
		track->known = true;
	}
	trace_span(trace, track->number, kind, name, start_ps, engine_now_ps(player->spec.engine));
}
