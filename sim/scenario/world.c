/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A scenario -> a world of hosts, links, GPUs and clients, run to its end. */
#include <math.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/scenario/scenario.h"

/* Most steps of a client, as a multiple of those asked for: it goes on beside
 * others that are not yet done, and while its host still runs ahead. */
enum { STEPS_BESIDE = 8 };
/* Relative change of the mean at which a client's steps are steady. */
static const double REPEATS = 1e-4, SETTLED = 0.004;
/* Share of a step's kernels' time that the GPU must have been busy. */
static const double KEPT_UP = 0.98;
/* The last: a round of the loss process (sim/transport/loss.h). */
enum { STEPS_TO_REPEAT = 2, STEPS_TO_SETTLE = 6, LOSSES_TO_SETTLE = 16 };

struct client {
	struct world *world;
	const struct client_entry *entry;
	struct gpu_context *context;
	struct cuda_process *process;
	struct remote_client *remote; /* NULL: local */
	struct player *player;
	struct client_run *run;
	double work_s; /* of a step's kernels */
	bool over;     /* steady, failed or out of steps */
};

struct world {
	struct arena *arena;
	const struct scenario *scenario;
	struct engine *engine;
	struct fabric *fabric;
	struct host **hosts;
	struct guest **guests;
	struct gpu **gpus;
	struct client *clients;
	size_t over_count;
	uint64_t seed;
	bool lossy; /* some link loses packets */
};

static void build_nodes(struct world *w)
{
	const struct topology *t = &w->scenario->topology;
	w->hosts = ARENA_ARRAY(w->arena, t->host_count + 1, struct host *);
	w->guests = ARENA_ARRAY(w->arena, t->guest_count + 1, struct guest *);
	w->gpus = ARENA_ARRAY(w->arena, t->gpu_count + 1, struct gpu *);
	for (size_t i = 0; i < t->host_count; i++) {
		fabric_node_add(w->fabric, t->hosts[i].name);
		w->hosts[i] = host_new(w->arena, w->engine, w->fabric, t->hosts[i].name,
				       &t->hosts[i].params);
	}
	for (size_t i = 0; i < t->guest_count; i++)
		w->guests[i] = guest_new(w->hosts[t->guests[i].host], t->guests[i].name,
					 fabric_node_add(w->fabric, t->guests[i].name),
					 &t->guests[i].params);
	for (size_t i = 0; i < t->gpu_count; i++)
		w->gpus[i] =
			gpu_new(w->arena, w->engine, w->fabric, t->gpus[i].name,
				fabric_node_add(w->fabric, t->gpus[i].name), &t->gpus[i].params);
	for (size_t i = 0; i < t->switch_count; i++)
		fabric_node_add(w->fabric, t->switches[i]);
}

/* The host whose NIC a link's end belongs to; NULL for switches and GPUs. */
static const struct host_params *host_at(const struct topology *t, const char *node)
{
	for (size_t i = 0; i < t->host_count; i++)
		if (strcmp(t->hosts[i].name, node) == 0)
			return &t->hosts[i].params;
	for (size_t i = 0; i < t->guest_count; i++)
		if (strcmp(t->guests[i].name, node) == 0)
			return &t->hosts[t->guests[i].host].params;
	return NULL;
}

/* A receiving NIC that interrupts for every packet may lose more of them. */
static void unmoderated_loss(const struct topology *t, const struct link_entry *link,
			     struct link_traits *traits)
{
	for (size_t direction = 0; direction < 2; direction++) {
		const struct host_params *receiver = host_at(t, link->ends[1 - direction]);
		if (receiver && !receiver->nic_moderation &&
		    traits->unmoderated_loss_ratio[direction] > 0)
			traits->loss_ratio[direction] = traits->unmoderated_loss_ratio[direction];
	}
}

static void build_links(struct world *w)
{
	const struct topology *t = &w->scenario->topology;
	for (size_t i = 0; i < t->link_count; i++) {
		const struct link_entry *link = &t->links[i];
		struct link_traits traits = link->traits;
		unmoderated_loss(t, link, &traits);
		w->lossy = w->lossy || traits.loss_ratio[0] > 0 || traits.loss_ratio[1] > 0;
		fabric_link_add(w->fabric, link->name, link->kind->name,
				fabric_node_find(w->fabric, link->ends[0]),
				fabric_node_find(w->fabric, link->ends[1]), &traits);
	}
}

static void client_over(struct client *client)
{
	if (client->over)
		return;
	client->over = true;
	if (++client->world->over_count == client->world->scenario->client_count)
		engine_stop(client->world->engine);
}

static void client_failed(void *ctx, const char *reason)
{
	struct client *client = ctx;
	if (client->run->failed)
		return;
	client->run->failed = true;
	client->run->reason = reason;
	client_over(client);
}

static double step_s(const struct player *player, size_t index)
{
	const struct step_record *step = player_step_at(player, index);
	return s_from_ps(step->end_ps - step->start_ps);
}

/* Where packets can be lost, two equal steps prove nothing, and few losses
 * nothing of the mean. */
static bool may_lose(const struct client *client)
{
	return client->world->lossy && client->remote &&
	       client->entry->guest != client->entry->server;
}

static bool too_few_losses(const struct client *client)
{
	return may_lose(client) && remote_counters(client->remote).losses_count < LOSSES_TO_SETTLE;
}

/* Whether the GPU did (about) a step's work in that step. */
static bool kept_up(const struct client *client, size_t index)
{
	return player_step_at(client->player, index)->gpu_busy_s >= KEPT_UP * client->work_s;
}

static bool repeats(const struct client *client, size_t count)
{
	double last = step_s(client->player, count - 1);
	return !may_lose(client) && count >= STEPS_TO_REPEAT && kept_up(client, count - 1) &&
	       kept_up(client, count - 2) &&
	       fabs(step_s(client->player, count - 2) - last) <= REPEATS * last;
}

/* The first step of those whose mean is taken. */
static size_t steady_first(const struct client *client, size_t count)
{
	size_t first = (size_t)client->world->scenario->steps_warmup_count;
	while (first + 1 < count && !kept_up(client, first))
		first++;
	return first;
}

static size_t steps_most(const struct scenario *scenario)
{
	return STEPS_BESIDE * (size_t)(scenario->steps_warmup_count + scenario->steps_count);
}

/* Steady: the last two steps took the same, or the mean's standard error is
 * small; or there are as many as were asked for. */
static bool is_steady(const struct client *client)
{
	const struct scenario *scenario = client->world->scenario;
	size_t warmup = (size_t)scenario->steps_warmup_count,
	       count = player_step_count(client->player);
	if (count < warmup + 1)
		return false;
	if (repeats(client, count) || count >= steps_most(scenario) ||
	    (count - warmup >= (size_t)scenario->steps_count && kept_up(client, count - 1)))
		return true;
	size_t first = steady_first(client, count), measured = count - first;
	if (measured < STEPS_TO_SETTLE || too_few_losses(client))
		return false;
	double sum = 0, squares = 0, n = (double)measured;
	for (size_t i = first; i < count; i++) {
		sum += step_s(client->player, i);
		squares += step_s(client->player, i) * step_s(client->player, i);
	}
	double variance = fmax(0, squares / n - (sum / n) * (sum / n)) * n / (n - 1);
	return sqrt(variance / n) <= SETTLED * sum / n;
}

static bool step_done(void *ctx, struct player *player, const struct step_record *record)
{
	struct client *client = ctx;
	(void)player;
	(void)record;
	if (is_steady(client))
		client_over(client);
	return client->world->over_count < client->world->scenario->client_count;
}

static void start_player(void *ctx, uint64_t arg)
{
	struct client *client = ctx;
	(void)arg;
	client->run->connect_s = s_from_ps(engine_now_ps(client->world->engine));
	player_start(client->player);
}

static struct cuda_process *build_process(struct world *w, struct client *client,
					  const struct call_stream *program)
{
	static const char *const pcie[] = {"pcie", "nvlink", "socket", NULL};
	const struct client_entry *entry = client->entry;
	const struct topology *t = &w->scenario->topology;
	int host = fabric_node_find(w->fabric, t->hosts[t->gpus[entry->gpu].host].name);
	int gpu = gpu_node(w->gpus[entry->gpu]);
	const struct cuda_process_spec spec = {
		.arena = w->arena,
		.engine = w->engine,
		.fabric = w->fabric,
		.context = client->context,
		.guest = w->guests[entry->server],
		.driver = &w->scenario->driver,
		.dma = &w->scenario->dma,
		.stream_count = program->stream_count,
		.event_count = program->event_count,
		.to_device = fabric_route(w->fabric, host, gpu, pcie),
		.to_host = fabric_route(w->fabric, gpu, host, pcie),
	};
	if (spec.to_device && spec.to_host)
		return cuda_process_new(&spec);
	client_failed(client, arena_printf(w->arena, "no route from host '%s' to GPU '%s'",
					   t->hosts[t->gpus[entry->gpu].host].name,
					   t->gpus[entry->gpu].name));
	return NULL;
}

static struct cuda_port *build_port(struct world *w, struct client *client)
{
	const struct client_entry *entry = client->entry;
	if (!entry->runtime)
		return local_port_new(w->arena, client->process);
	const struct remote_spec spec = {
		.arena = w->arena,
		.engine = w->engine,
		.fabric = w->fabric,
		.name = entry->name,
		.params = entry->runtime,
		.transport = entry->transport,
		.transport_params = entry->transport_params,
		.client = w->guests[entry->guest],
		.server = w->guests[entry->server],
		.process = client->process,
		.seed = w->seed,
		.failed = client_failed,
		.failed_ctx = client,
	};
	client->remote = remote_client_new(&spec);
	if (client->remote)
		return remote_port(client->remote);
	client_failed(client,
		      arena_printf(w->arena, "no route from '%s' to '%s' for %s",
				   guest_name(w->guests[entry->guest]),
				   guest_name(w->guests[entry->server]), entry->transport->name));
	return NULL;
}

static double work_of(const struct call_stream *program)
{
	double work_s = 0;
	for (size_t t = 0; t < program->thread_count; t++)
		for (size_t i = 0; i < program->threads[t].count; i++)
			if (program->threads[t].items[i].kind == ITEM_CALL)
				work_s += program->threads[t].items[i].call.duration_s;
	return work_s;
}

static void build_client(struct world *w, struct client *client)
{
	const struct client_entry *entry = client->entry;
	const struct gpu_params *gpu = &w->scenario->topology.gpus[entry->gpu].params;
	const struct call_stream *program =
		framework_at((size_t)entry->stack->framework)
			->program(w->arena, entry->network, (size_t)entry->batch_count,
				  entry->stack, gpu, entry->efficiency);
	client->work_s = work_of(program);
	client->context = gpu_context_new(w->gpus[entry->gpu], entry->name, entry->fraction_ratio);
	if (!gpu_memory_take(client->context, program->memory_B)) {
		client_failed(client,
			      arena_printf(w->arena,
					   "out of GPU memory: %s at batch %g needs %.2f GB, GPU "
					   "'%s' has %.2f GB%s",
					   entry->network->name, entry->batch_count,
					   program->memory_B / 1e9, gpu_name(w->gpus[entry->gpu]),
					   gpu->memory_B * entry->fraction_ratio / 1e9,
					   w->scenario->client_count > 1
						   ? " for it and its neighbours"
						   : ""));
		return;
	}
	client->process = build_process(w, client, program);
	struct cuda_port *port = client->process ? build_port(w, client) : NULL;
	if (!port)
		return;
	const struct player_spec spec = {
		.arena = w->arena,
		.engine = w->engine,
		.name = entry->name,
		.program = program,
		.port = port,
		.guest = w->guests[entry->guest],
		.context = client->context,
		.process = client->process,
		.steps_max = (uint32_t)steps_most(w->scenario),
		.step_done = step_done,
		.ctx = client,
	};
	client->player = player_new(&spec);
	if (client->remote)
		remote_connect(client->remote, start_player, client, 0);
	else
		engine_after(w->engine, 0, start_player, client, 0);
}

/* The window of one client: its own steady steps. */
static void own_window(const struct client *client)
{
	struct client_run *run = client->run;
	size_t count = run->step_count;
	run->steady_first =
		repeats(client, count) ? count - STEPS_TO_REPEAT : steady_first(client, count);
	run->steady_count = count - run->steady_first;
}

/* Of several clients: their steps between the last one's first steady step and
 * the first one's last step, if there are any. */
static void common_window(const struct world *w)
{
	int64_t from_ps = 0, to_ps = INT64_MAX;
	for (size_t i = 0; i < w->scenario->client_count; i++) {
		const struct client_run *run = w->clients[i].run;
		if (run->failed)
			continue;
		int64_t first_ps =
			run->steps[steady_first(&w->clients[i], run->step_count)].start_ps;
		int64_t last_ps = run->steps[run->step_count - 1].end_ps;
		from_ps = first_ps > from_ps ? first_ps : from_ps;
		to_ps = last_ps < to_ps ? last_ps : to_ps;
	}
	for (size_t i = 0; i < w->scenario->client_count; i++) {
		struct client_run *run = w->clients[i].run;
		size_t first = 0, last = run->step_count;
		while (first < last && run->steps[first].start_ps < from_ps)
			first++;
		while (last > first && run->steps[last - 1].end_ps > to_ps)
			last--;
		if (last > first) {
			run->steady_first = first;
			run->steady_count = last - first;
		}
	}
}

static void read_clients(const struct world *w, struct world_outcome *outcome)
{
	for (size_t i = 0; i < w->scenario->client_count; i++) {
		const struct client *client = &w->clients[i];
		struct client_run *run = client->run;
		run->step_count = client->player ? player_step_count(client->player) : 0;
		struct step_record *steps =
			ARENA_ARRAY(w->arena, run->step_count + 1, struct step_record);
		for (size_t k = 0; k < run->step_count; k++)
			steps[k] = *player_step_at(client->player, k);
		run->steps = steps;
		if (client->remote)
			run->remote = remote_counters(client->remote);
		if (!run->failed && run->step_count <= (size_t)w->scenario->steps_warmup_count) {
			run->failed = true;
			run->reason = outcome->broken ? outcome->broken : "no step was finished";
		}
		if (!run->failed)
			own_window(client);
	}
	if (w->scenario->client_count > 1)
		common_window(w);
}

static struct world_outcome read_outcome(struct world *w, struct world_outcome outcome)
{
	const struct topology *t = &w->scenario->topology;
	outcome.end_s = s_from_ps(engine_now_ps(w->engine));
	outcome.events_count = engine_events_count(w->engine);
	outcome.client_count = w->scenario->client_count;
	outcome.gpu_busy_s = ARENA_ARRAY(w->arena, t->gpu_count + 1, double);
	for (size_t i = 0; i < t->gpu_count; i++)
		outcome.gpu_busy_s[i] = gpu_busy_s(w->gpus[i]);
	outcome.link_count = 2 * fabric_link_count(w->fabric);
	outcome.links = ARENA_ARRAY(w->arena, outcome.link_count + 1, struct link_use);
	for (size_t i = 0; i < outcome.link_count; i++) {
		int resource = fabric_link_resource(w->fabric, (int)(i / 2), (int)(i % 2));
		outcome.links[i] =
			(struct link_use){.link = fabric_resource_name(w->fabric, resource),
					  .carried_B = fabric_carried(w->fabric, resource),
					  .capacity_Bps = fabric_capacity(w->fabric, resource),
					  .busy_s = fabric_busy_s(w->fabric, resource)};
	}
	read_clients(w, &outcome);
	return outcome;
}

/* What must hold of every run, whatever was simulated. */
static void check(struct world *w, enum engine_end end, struct world_outcome *outcome)
{
	if (end == ENGINE_FAILED)
		outcome->broken = engine_failure(w->engine);
	else if (end == ENGINE_EVENTS || end == ENGINE_TIME)
		outcome->broken = "the run reached its limit of events or simulated time";
	double now_s = s_from_ps(engine_now_ps(w->engine));
	for (size_t i = 0; i < fabric_resource_count(w->fabric) && !outcome->broken; i++) {
		double carried = fabric_carried(w->fabric, (int)i);
		/* a capacity may have changed in between, but never above its first value */
		if (carried > fabric_capacity(w->fabric, (int)i) * now_s * (1 + 1e-6) + 1 &&
		    fabric_flows_on(w->fabric, (int)i) == 0)
			outcome->broken = arena_printf(
				w->arena,
				"resource '%s' carried %.17g units in %.17g s, above its capacity",
				fabric_resource_name(w->fabric, (int)i), carried, now_s);
	}
}

struct world_outcome world_run(struct arena *arena, const struct scenario *scenario, uint64_t seed,
			       struct trace *trace)
{
	static const struct engine_limits limits = {.events_max = 400000000,
						    .time_max_ps = 2000000 * PS_PER_S};
	struct world *w = ARENA_NEW(arena, struct world);
	*w = (struct world){.arena = arena, .scenario = scenario, .seed = seed};
	w->engine = engine_new(arena, &limits);
	engine_trace_set(w->engine, trace);
	w->fabric = fabric_new(arena, w->engine);
	build_nodes(w);
	build_links(w);
	struct world_outcome outcome = {
		.clients = ARENA_ARRAY(arena, scenario->client_count + 1, struct client_run)};
	w->clients = ARENA_ARRAY(arena, scenario->client_count + 1, struct client);
	for (size_t i = 0; i < scenario->client_count; i++) {
		outcome.clients[i].entry = &scenario->clients[i];
		w->clients[i] = (struct client){
			.world = w, .entry = &scenario->clients[i], .run = &outcome.clients[i]};
		build_client(w, &w->clients[i]);
	}
	enum engine_end end =
		w->over_count < scenario->client_count ? engine_run(w->engine) : ENGINE_DRAINED;
	check(w, end, &outcome);
	return read_outcome(w, outcome);
}
