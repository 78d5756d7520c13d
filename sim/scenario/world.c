/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A scenario -> a world of hosts, links, GPUs and clients, run to its end. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/num.h"
#include "sim/workload/steady.h"
#include "sim/scenario/system.h"

/* Of a program alone: relative difference of steps that are the same, and relative
 * standard error at which their mean has settled. */
static const double REPEATS = 1e-4, SETTLED = 0.004;
/* The last: a round of the loss process (sim/transport/loss.h). */
enum { STEPS_TO_SETTLE = 6, LOSSES_TO_SETTLE = 16 };
/* Part of a step's work that the GPU must do in the time of a step to keep up with
 * the program, and steps' worth of work after which a program that outruns it for
 * good is measured all the same. */
static const double KEPT_UP = 0.98, WORK_OF_UNEQUALS = 4;

struct client {
	struct world *world;
	const struct client_entry *entry;
	struct gpu_context *context;
	struct cuda_process *process;
	struct remote_client *remote; /* NULL: local */
	struct player *player;
	struct client_run *run;
	struct remote_counters before; /* when the window opened */
	int64_t work_ps;               /* of the kernels of a step of its program */
	size_t first;                  /* no step before it began in the window */
	bool paused, warm;
	bool over; /* steady or failed */
};

struct world {
	struct arena *arena;
	const struct scenario *scenario;
	struct system system;
	struct client *clients;
	struct steady_limits limits;
	struct steady steady;            /* of several clients */
	struct steady_program *programs; /* room for them */
	size_t warm_count, over_count;
	uint64_t seed;
};

/* ---- from warm-up to the end ----
 *
 * A client is WARM when it has its warm-up steps behind it and the GPU keeps up
 * with it: a program that runs ahead issues its first steps into an empty
 * launch queue, faster than any GPU can do them. In a pool it then pauses for a
 * random part of a step, since tenants do not begin together and nothing but
 * chance sets their phases. When the last client is warm the WINDOW opens, over
 * which everything is measured; it closes when the client is steady in it. What
 * steady means for several is in sim/workload/steady.h.
 */

static void window_open(struct world *w)
{
	system_window_open(&w->system);
	for (size_t i = 0; i < w->scenario->client_count; i++)
		if (w->clients[i].remote)
			w->clients[i].before = remote_counters(w->clients[i].remote);
}

static double step_s(const struct client *client, size_t index)
{
	const struct step_record *step = player_step_at(client->player, index);
	return s_from_ps(step->end_ps - step->start_ps);
}

/* What the GPU did in a step, in steps of the program. */
static double step_work(const struct client *client, size_t index)
{
	const struct step_record *step = player_step_at(client->player, index);
	return client->work_ps > 0 ? (double)step->work_ps / (double)client->work_ps : 1;
}

static struct steady_step work_time(const void *client, size_t index)
{
	return (struct steady_step){step_s(client, index), step_work(client, index)};
}

static void client_warm(void *ctx, uint64_t arg)
{
	struct client *client = ctx;
	struct world *w = client->world;
	(void)arg;
	if (client->warm)
		return;
	client->warm = true;
	if (++w->warm_count < w->scenario->client_count)
		return;
	window_open(w);
	w->steady = steady_begin(&w->limits, engine_events_count(w->system.engine), work_time);
}

static void client_over(struct client *client)
{
	if (client->over)
		return;
	client->over = true;
	if (++client->world->over_count == client->world->scenario->client_count)
		engine_stop(client->world->system.engine);
}

static void client_failed(void *ctx, const char *reason)
{
	struct client *client = ctx;
	if (client->run->failed)
		return;
	client->run->failed = true;
	client->run->reason = reason;
	client_over(client);
	client_warm(client, 0);
}

static double work_since(const struct client *client, size_t first)
{
	double work = 0;
	for (size_t i = first; i < player_step_count(client->player); i++)
		work += step_work(client, i);
	return work;
}

static bool is_warmed_up(const struct client *client)
{
	size_t count = player_step_count(client->player);
	return (double)count >= client->world->scenario->steps_warmup_count &&
	       (step_work(client, count - 1) >= KEPT_UP ||
		work_since(client, 0) >= WORK_OF_UNEQUALS);
}

/* The first step that began in the window; the count of steps if none ended. */
static size_t window_first(struct client *client)
{
	const struct world *w = client->world;
	size_t count = client->player ? player_step_count(client->player) : 0;
	while (client->first < count &&
	       (!w->system.open ||
		player_step_at(client->player, client->first)->start_ps < w->system.opened_ps))
		client->first++;
	return client->first;
}

/* Where packets can be lost, two equal steps prove nothing, and few losses
 * nothing of the mean. */
static bool may_lose(const struct client *client)
{
	return client->world->system.lossy && client->remote &&
	       client->entry->guest != client->entry->server;
}

static bool too_few_losses(const struct client *client)
{
	return may_lose(client) && remote_counters(client->remote).losses_count < LOSSES_TO_SETTLE;
}

/* The last two steps took the same; one of them may be the warm-up's. */
static bool repeats(const struct client *client)
{
	size_t count = player_step_count(client->player);
	return !may_lose(client) && count >= 2 && step_work(client, count - 1) >= KEPT_UP &&
	       step_work(client, count - 2) >= KEPT_UP &&
	       fabs(step_s(client, count - 2) - step_s(client, count - 1)) <=
		       REPEATS * step_s(client, count - 1);
}

/* Of the time that a step's work takes, since where a program is ahead of the GPU, its
 * steps begin and end anywhere in it. */
static bool is_settled(const struct client *client, size_t first)
{
	size_t count = player_step_count(client->player) - first;
	return count >= STEPS_TO_SETTLE && !too_few_losses(client) &&
	       steady_mean_settled(work_time, client, first, count, SETTLED);
}

/* The GPU has done a step's work since, and several where it does not keep up. */
static bool has_worked(const struct client *client, size_t first)
{
	size_t count = player_step_count(client->player);
	if (count == first)
		return false;
	bool kept_up = step_work(client, count - 1) >= KEPT_UP;
	return work_since(client, first) >= (kept_up ? KEPT_UP : WORK_OF_UNEQUALS);
}

/* Alone: the last two steps are equal, or the mean has settled, or there are as many
 * steps as were asked for. */
static bool is_steady(struct client *client)
{
	size_t first = window_first(client), count = player_step_count(client->player);
	return has_worked(client, first) &&
	       (count - first >= steady_steps_most(&client->world->limits) || repeats(client) ||
		is_settled(client, first));
}

/* Several clients end together, or their window begins anew. */
static void judge(struct world *w)
{
	size_t count = 0;
	for (size_t i = 0; i < w->scenario->client_count; i++) {
		struct client *client = &w->clients[i];
		if (client->over)
			continue;
		size_t first = window_first(client);
		w->programs[count++] = (struct steady_program){
			.of = client,
			.first = first,
			.count = player_step_count(client->player) - first,
			.has_worked = has_worked(client, first),
			.in_doubt = too_few_losses(client),
		};
	}
	enum steady_verdict verdict =
		steady_judge(&w->steady, w->programs, count, engine_events_count(w->system.engine));
	if (verdict == STEADY_OPEN_ANEW)
		window_open(w);
	for (size_t i = 0; verdict == STEADY_OVER && i < w->scenario->client_count; i++)
		client_over(&w->clients[i]);
}

/* In a pool: where in its step the others find this client. */
static void pause_for_phase(struct client *client, const struct step_record *record)
{
	struct world *w = client->world;
	struct rng rng =
		rng_named(w->seed, arena_printf(w->arena, "phase of %s", client->entry->name));
	double step_ps = (double)(record->end_ps - record->start_ps);
	int64_t pause_ps = (int64_t)(rng_uniform(&rng) * step_ps);
	client->paused = true;
	player_pause(client->player, pause_ps);
	engine_after(w->system.engine, pause_ps, client_warm, client, 0);
}

static bool step_done(void *ctx, struct player *player, const struct step_record *record)
{
	struct client *client = ctx;
	struct world *w = client->world;
	(void)player;
	bool alone = w->scenario->client_count == 1;
	if (alone && client->warm && is_steady(client))
		client_over(client);
	if (!alone && w->system.open)
		judge(w);
	if (!client->warm && !client->paused && is_warmed_up(client)) {
		if (alone)
			client_warm(client, 0);
		else
			pause_for_phase(client, record);
	}
	return w->over_count < w->scenario->client_count;
}

static void start_player(void *ctx, uint64_t arg)
{
	struct client *client = ctx;
	(void)arg;
	client->run->connect_s = s_from_ps(engine_now_ps(client->world->system.engine));
	player_start(client->player);
	if (client->world->scenario->client_count == 1 &&
	    client->world->scenario->steps_warmup_count < 1)
		client_warm(client, 0);
}

static struct cuda_process *build_process(struct world *w, struct client *client,
					  const struct program *program)
{
	const struct client_entry *entry = client->entry;
	const struct topology *t = &w->scenario->topology;
	int host = fabric_node_find(w->system.fabric, t->hosts[t->gpus[entry->gpu].host].name);
	int gpu = gpu_node(w->system.gpus[entry->gpu]);
	const struct cuda_process_spec spec = {
		.arena = w->arena,
		.engine = w->system.engine,
		.fabric = w->system.fabric,
		.context = client->context,
		.guest = w->system.guests[entry->server],
		.driver = &w->scenario->driver,
		.guest_work = entry->guest_work,
		.dma = &w->scenario->dma,
		.stream_count = program->stream_count,
		.event_count = program->event_count,
		.to_device =
			fabric_route(w->system.fabric, host, gpu, TRAFFIC_COPIES | TRAFFIC_PEERS),
		.to_host =
			fabric_route(w->system.fabric, gpu, host, TRAFFIC_COPIES | TRAFFIC_PEERS),
	};
	if (spec.to_device && spec.to_host)
		return cuda_process_new(&spec);
	client_failed(client, arena_printf(w->arena, "no route from host '%s' to GPU '%s'",
					   t->hosts[t->gpus[entry->gpu].host].name,
					   t->gpus[entry->gpu].name));
	return NULL;
}

/* What a file most often lacks where there is no route: a link of the guest's own. */
static const char *unlinked(struct world *w, const struct client_entry *entry)
{
	const struct topology *t = &w->scenario->topology;
	const size_t ends[] = {entry->guest, entry->server};
	for (size_t e = 0; e < 2; e++) {
		const char *guest = t->guests[ends[e]].name;
		bool linked = false;
		for (size_t i = 0; i < t->link_count; i++)
			linked = linked || strcmp(t->links[i].ends[0], guest) == 0 ||
				 strcmp(t->links[i].ends[1], guest) == 0;
		if (!linked)
			return arena_printf(w->arena,
					    " (no link ends at '%s': those of a network end at "
					    "guests, not at their hosts)",
					    guest);
	}
	return "";
}

static struct cuda_port *build_port(struct world *w, struct client *client)
{
	const struct client_entry *entry = client->entry;
	if (!entry->runtime)
		return local_port_new(w->arena, client->process);
	const struct remote_spec spec = {
		.arena = w->arena,
		.engine = w->system.engine,
		.fabric = w->system.fabric,
		.name = entry->name,
		.params = entry->runtime,
		.transport = entry->transport,
		.transport_params = entry->transport_params,
		.client = w->system.guests[entry->guest],
		.server = w->system.guests[entry->server],
		.process = client->process,
		.seed = w->seed,
		.failed = client_failed,
		.failed_ctx = client,
	};
	client->remote = remote_client_new(&spec);
	if (client->remote)
		return remote_port(client->remote);
	client_failed(client, arena_printf(w->arena, "no route from '%s' to '%s' for %s%s",
					   guest_name(w->system.guests[entry->guest]),
					   guest_name(w->system.guests[entry->server]),
					   entry->transport->name, unlinked(w, entry)));
	return NULL;
}

/* Of all its calls; no more than time there is, for those that will never end. */
static int64_t work_of(const struct program *program)
{
	int64_t work_ps = 0;
	for (size_t t = 0; t < program->thread_count; t++)
		for (size_t i = 0; i < program->threads[t].count; i++)
			if (program->threads[t].items[i].kind == ITEM_CALL) {
				double duration_s = program->threads[t].items[i].call.duration_s;
				int64_t left_ps = INT64_MAX - work_ps;
				int64_t call_ps = ps_from_s(duration_s);
				work_ps += call_ps < left_ps ? call_ps : left_ps;
			}
	return work_ps;
}

static const struct program *build_program(struct world *w, const struct client_entry *entry)
{
	const struct recorded_program *recorded = entry->recorded;
	if (recorded) {
		struct host *host = guest_host(w->system.guests[entry->guest]);
		struct program *program = replay_program(w->arena, recorded->calls, &recorded->step,
							 recorded->params, host_clock_Hz(host));
		program->images_count = entry->batch_count;
		return program;
	}
	return framework_at((size_t)entry->stack->framework)
		->program(w->arena, entry->network, (size_t)entry->batch_count, entry->stack,
			  &w->scenario->topology.gpus[entry->gpu].params, entry->efficiency);
}

static void build_client(struct world *w, struct client *client)
{
	const struct client_entry *entry = client->entry;
	const struct gpu_params *gpu = &w->scenario->topology.gpus[entry->gpu].params;
	const struct program *program = build_program(w, entry);
	client->work_ps = work_of(program);
	client->context =
		gpu_context_new(w->system.gpus[entry->gpu], entry->name, entry->fraction_ratio);
	if (!gpu_memory_take(client->context, program->memory_B)) {
		client_failed(
			client,
			arena_printf(w->arena,
				     "out of GPU memory: %s at batch %g needs %.2f GB, GPU "
				     "'%s' has %.2f GB%s",
				     entry->network->name, entry->batch_count,
				     program->memory_B / 1e9, gpu_name(w->system.gpus[entry->gpu]),
				     gpu->memory_B * entry->fraction_ratio / 1e9,
				     w->scenario->client_count > 1 ? " for it and its neighbours"
								   : ""));
		return;
	}
	client->process = build_process(w, client, program);
	struct cuda_port *port = client->process ? build_port(w, client) : NULL;
	if (!port)
		return;
	const struct player_spec spec = {
		.arena = w->arena,
		.engine = w->system.engine,
		.name = entry->name,
		.program = program,
		.port = port,
		.guest = w->system.guests[entry->guest],
		.guest_work = entry->guest_work,
		.context = client->context,
		.process = client->process,
		.step_done = step_done,
		.ctx = client,
	};
	client->player = player_new(&spec);
	if (client->remote)
		remote_connect(client->remote, start_player, client, 0);
	else
		engine_after(w->system.engine, 0, start_player, client, 0);
}

static void read_clients(const struct world *w, struct world_outcome *outcome)
{
	for (size_t i = 0; i < w->scenario->client_count; i++) {
		struct client *client = &w->clients[i];
		struct client_run *run = client->run;
		run->step_count = client->player ? player_step_count(client->player) : 0;
		struct step_record *steps =
			ARENA_ARRAY(w->arena, run->step_count + 1, struct step_record);
		for (size_t k = 0; k < run->step_count; k++)
			steps[k] = *player_step_at(client->player, k);
		run->steps = steps;
		if (client->remote)
			run->remote = remote_counters(client->remote);
		run->window_stalled_s = run->remote.stalled_s - client->before.stalled_s;
		run->window_timeouts_count =
			run->remote.timeouts_count - client->before.timeouts_count;
		run->steady_first = window_first(client);
		run->steady_count = run->step_count - run->steady_first;
		run->steady_work = client->player ? work_since(client, run->steady_first) : 0;
		if (!run->failed && run->steady_work <= 0) {
			run->failed = true;
			run->reason = outcome->broken ? outcome->broken : "no step was finished";
		}
	}
}

/* Without a limit to their age, calls may wait for more that never come. */
static bool waits_for_batch(struct client *client)
{
	size_t batched_count = client->remote ? remote_batched_count(client->remote) : 0;
	if (batched_count > 0)
		client_failed(client,
			      arena_printf(client->world->arena,
					   "waits for calls in a batch that is not full (%zu), "
					   "and with runtime.batch_wait = 0 no age sends it",
					   batched_count));
	return batched_count > 0;
}

/* What the first unfinished client waits for; at a limit of the run all of them have failed. */
static const char *unfinished(struct world *w, enum engine_end end)
{
	bool limit = end == ENGINE_EVENTS || end == ENGINE_TIME;
	const char *first = NULL;
	for (struct client *c = w->clients + w->scenario->client_count; c-- > w->clients;) {
		if (c->over || (end == ENGINE_DRAINED && waits_for_batch(c)))
			continue;
		first = arena_printf(w->arena, "client '%s' waits: %s%s%s", c->entry->name,
				     player_waiting(c->player, w->arena), c->remote ? "; " : "",
				     c->remote ? remote_waiting(c->remote, w->arena) : "");
		if (limit)
			client_failed(c, system_no_end(&w->system, first));
	}
	return first;
}

static int by_name(const void *a, const void *b)
{
	const struct client *const *left = a, *const *right = b;
	return strcmp((*left)->entry->name, (*right)->entry->name);
}

/* In the order of their names, so that a file's order decides nothing: who is built first
 * gets the first core of a server, and goes first in a tie. */
static void build_clients(struct world *w, struct client_run *runs)
{
	size_t count = w->scenario->client_count;
	struct client **order = ARENA_ARRAY(w->arena, count + 1, struct client *);
	w->clients = ARENA_ARRAY(w->arena, count + 1, struct client);
	w->programs = ARENA_ARRAY(w->arena, count + 1, struct steady_program);
	for (size_t i = 0; i < count; i++) {
		runs[i].entry = &w->scenario->clients[i];
		w->clients[i] =
			(struct client){.world = w, .entry = runs[i].entry, .run = &runs[i]};
		order[i] = &w->clients[i];
	}
	qsort(order, count, sizeof *order, by_name);
	for (size_t i = 0; i < count; i++)
		build_client(w, order[i]);
}

struct world_outcome world_run(struct arena *arena, const struct scenario *scenario, uint64_t seed,
			       struct trace *trace)
{
	if (scenario->job_count > 0)
		return job_world_run(arena, scenario, seed, trace);
	struct world *w = ARENA_NEW(arena, struct world);
	*w = (struct world){.arena = arena,
			    .scenario = scenario,
			    .seed = seed,
			    .limits = {scenario->steps_count, scenario->client_count}};
	system_build(&w->system, arena, scenario, trace);
	struct world_outcome outcome = {
		.clients = ARENA_ARRAY(arena, scenario->client_count + 1, struct client_run),
		.client_count = scenario->client_count};
	build_clients(w, outcome.clients);
	enum engine_end end = w->over_count < scenario->client_count ? engine_run(w->system.engine)
								     : ENGINE_DRAINED;
	const char *waiting = unfinished(w, end);
	system_read(&w->system, &outcome);
	for (size_t i = 0; i < scenario->client_count; i++)
		if (w->clients[i].remote)
			remote_account(w->clients[i].remote);
	system_check(&w->system, end, waiting, &outcome);
	read_clients(w, &outcome);
	return outcome;
}

double client_step_s(const struct client_run *run)
{
	const struct step_record *first = &run->steps[run->steady_first];
	const struct step_record *last = first + run->steady_count - 1;
	return s_from_ps(last->end_ps - first->start_ps) / run->steady_work;
}
