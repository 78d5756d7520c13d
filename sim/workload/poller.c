/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The event-polling thread. It queries all pending events one after the other (a round), then
 * sleeps, as TensorFlow 1's EventMgr (PollLoop in gpu_event_mgr.cc). An event that is added during
 * a round is queried at the round's end. One that is added during a sleep is queried after it. */
#include <string.h>

#include "sim/base/vec.h"
#include "sim/workload/player_internal.h"

/* Marshalled arguments of a query: only the event's handle. */
#define QUERY_ARGUMENTS_B 8.0F

static void poller_sweep(void *ctx, uint64_t arg);

static void poller_query(struct player *player);

static void poller_answer(void *ctx, uint64_t arg, enum call_result result)
{
	struct player *player = ctx;
	struct poller *poller = &player->poller;
	struct watch watch = poller->watches[poller->at];

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
	poller_query(player);
}

/* Queries the next event of the round, or sleeps at its end. */
static void poller_query(struct player *player)
{
	struct poller *poller = &player->poller;
	struct cuda_port *port = player->spec.port;
	unsigned thread = (unsigned)player->spec.program->thread_count;

	if (player->stopped || poller->count == 0) {
		poller->active = false;
		return;
	}
	if (poller->at == poller->count) {
		engine_do_after(player->spec.engine,
				ps_from_s(player->spec.program->poller.sleep_s), poller_sweep,
				player, 0);
		return;
	}
	poller->query.device = poller->watches[poller->at].device;
	poller->query.event = poller->watches[poller->at].event;
	poller->since_ps = engine_now_ps(player->spec.engine);
	player->records[player->step].polls_count++;
	port->call(port, thread, poller->core, &poller->query, poller_answer, player, 0);
}

static void poller_sweep(void *ctx, uint64_t arg)
{
	struct player *player = ctx;

	player->poller.at = 0;
	poller_query(player);
}

void poller_init(struct player *player)
{
	struct poller *poller = &player->poller;

	poller->core = guest_core(player->spec.guest);
	poller->query =
		(struct cuda_call){.kind = CALL_EVENT_QUERY, .arguments_B = QUERY_ARGUMENTS_B};
	poller->track.name = "poller";
}

void poller_watch(struct player *player, const struct item *watch)
{
	struct poller *poller = &player->poller;

	poller->watches = vec_grow(player->spec.arena, poller->watches, poller->count,
				   &poller->room, sizeof *poller->watches);
	poller->watches[poller->count++] = (struct watch){
		.device = watch->call.device,
		.event = watch->call.event,
		.signal = watch->signal,
		.step = player->step,
	};
	if (poller->active)
		return;
	poller->active = true;
	engine_after(player->spec.engine, 0, poller_sweep, player, 0);
}
