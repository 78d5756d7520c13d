/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The event-polling thread. It queries all pending events one after the other (a round), then
 * sleeps, as TensorFlow 1's EventMgr (PollLoop in gpu_event_mgr.cc). An event that is added during
 * a round is queried at the round's end. One that is added during a sleep is queried after it.
 *
 * With a lock, as in TensorFlow, the poller holds it for a whole round, so a thread that records an
 * event waits for the round's end. The thread adds its event under the lock. Behind a copy it
 * also queries the oldest events, up to the first that is not complete (EventMgr::ThenExecute).
 * Threads get the lock before the poller. One that has slept for the lock must wake up. */
#include "sim/workload/player_internal.h"

/* Marshalled arguments of a query: only the event's handle. */
#define QUERY_ARGUMENTS_B 8.0F

static void poller_begin(void *ctx, uint64_t arg);
static void poller_sweep(void *ctx, uint64_t arg);

static void poller_query(struct player *player);

static void lock_release(struct player *player)
{
	struct poller *poller = &player->poller;
	struct player_thread *thread = poller->waiting;
	poller->querying = NULL;
	poller->locked = false;
	if (thread) {
		poller->waiting = thread->next_waiting;
		poller->locked = thread->holds_lock = true;
		cpu_serve(thread->core, guest_params(player->spec.guest)->thread_wake_s, "wake-up",
			  player_locked, thread, 0);
	} else if (poller->waits) {
		poller->waits = false;
		poller->locked = true;
		cpu_serve(poller->core, guest_params(player->spec.guest)->thread_wake_s, "wake-up",
			  poller_sweep, player, 0);
	}
}

/* Ends the queries of a thread. */
static void thread_queried(struct player *player)
{
	struct player_thread *thread = player->poller.querying;
	thread->holds_lock = false;
	lock_release(player);
	player_queried(thread);
}

static void poller_answer(void *ctx, uint64_t arg, enum call_result result)
{
	struct player *player = ctx;
	struct poller *poller = &player->poller;
	struct event_watch watch = poller->watches[poller->at];
	if (!poller->querying)
		player_span(player, &poller->track, SPAN_CALL, call_kind_name(CALL_EVENT_QUERY),
			    poller->since_ps);
	if (result == CALL_OK) {
		poller->count--;
		memmove(&poller->watches[poller->at], &poller->watches[poller->at + 1],
			(poller->count - poller->at) * sizeof *poller->watches);
		player_watch_done(player, watch.signal, watch.step);
	} else {
		poller->at++;
	}
	if (poller->querying && (result != CALL_OK || poller->count == 0))
		thread_queried(player);
	else
		poller_query(player);
}

/* Ends a round: the poller sleeps, or waits for a watch if none is left. */
static void round_end(struct player *player)
{
	struct poller *poller = &player->poller;
	poller->active = !player->stopped && poller->count > 0;
	if (poller->active)
		engine_do_after(player->spec.engine,
				ps_from_s(player->spec.program->poller.sleep_s), poller_begin,
				player, 0);
	if (poller->locked)
		lock_release(player);
}

static void poller_query(struct player *player)
{
	struct poller *poller = &player->poller;
	struct cuda_port *port = player->spec.port;
	unsigned thread = (unsigned)player->spec.program->thread_count;
	struct cpu *core = poller->core;
	if (player->stopped || poller->at == poller->count) {
		round_end(player);
		return;
	}
	if (poller->querying) {
		thread = poller->querying->index;
		core = poller->querying->core;
	}
	poller->query.device = poller->watches[poller->at].device;
	poller->query.event = poller->watches[poller->at].event;
	poller->since_ps = engine_now_ps(player->spec.engine);
	player->records.items[player->step].polls_count++;
	port->call(port, thread, core, &poller->query, poller_answer, player, 0);
}

/* Begins a round with the lock, if there is one. */
static void poller_sweep(void *ctx, uint64_t arg)
{
	struct player *player = ctx;
	player->poller.at = 0;
	poller_query(player);
}

static void poller_begin(void *ctx, uint64_t arg)
{
	struct player *player = ctx;
	struct poller *poller = &player->poller;
	poller->waits = poller->locked;
	if (poller->waits)
		return;
	poller->locked = player->spec.program->poller.lock;
	poller_sweep(player, 0);
}

bool poller_lock(struct player_thread *thread)
{
	struct poller *poller = &thread->player->poller;
	struct player_thread **link = &poller->waiting;
	if (!poller->locked) {
		poller->locked = thread->holds_lock = true;
		return true;
	}
	while (*link)
		link = &(*link)->next_waiting;
	thread->next_waiting = NULL;
	*link = thread;
	return false;
}

void poller_init(struct player *player)
{
	struct poller *poller = &player->poller;
	poller->core = guest_core(player->spec.guest);
	poller->query =
		(struct cuda_call){.kind = CALL_EVENT_QUERY, .arguments_B = QUERY_ARGUMENTS_B};
	poller->track.name = "poller";
}

bool poller_watch(struct player_thread *thread, const struct item *watch)
{
	struct player *player = thread->player;
	struct poller *poller = &player->poller;
	poller->watches = vec_grow(player->spec.arena, poller->watches, poller->count,
				   &poller->room, sizeof *poller->watches);
	poller->watches[poller->count++] = (struct event_watch){
		.device = watch->call.device,
		.event = watch->call.event,
		.signal = watch->signal,
		.step = player->step,
	};
	if (!poller->active)
		engine_after(player->spec.engine, 0, poller_begin, player, 0);
	poller->active = true;
	if (!thread->holds_lock)
		return false;
	if (watch->count == 0) {
		thread->holds_lock = false;
		lock_release(player);
		return false;
	}
	poller->querying = thread;
	poller_sweep(player, 0);
	return true;
}
