/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Training jobs, or a collective repeated, on a system.
 *
 * What a step does on a GPU is first simulated call by call, as the local program of one
 * client (world.c); the job then has that step's segments on each GPU, its communicator, its input.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/base/num.h"
#include "sim/scenario/job_inputs.h"
#include "sim/workload/steady.h"
#include "sim/scenario/system.h"

/* Steps left out at least: the first fills queues, the second meets them full. */
enum { WARM_STEPS = 2, STEPS_TO_SETTLE = 6 };
/* Where a step has more events than EVENTS_LARGE, the mean need not be so certain. */
static const double REPEATS = 1e-6, SETTLED = 0.002, EVENTS_LARGE = 4e5;

struct job_client {
	struct job_world *world;
	const struct job_entry *entry;
	struct job_run *run;
	const struct step_profile *profile;
	struct communicator *comm;
	struct fused *job;
	size_t step_count, first;
	bool warm, over;
	/* of a collective's benchmark */
	int64_t begun_ps;
	struct fused_step *repetitions;
};

struct job_world {
	struct arena *arena;
	const struct scenario *scenario;
	struct system system;
	struct job_client *clients;
	struct steady_limits limits;
	struct steady steady;            /* of several jobs */
	struct steady_program *programs; /* room for them */
	struct job_inputs inputs;
	size_t warm_count, over_count;
	uint64_t seed;
};

static const struct fused_step *step_at(const struct job_client *client, size_t index)
{
	return client->repetitions ? &client->repetitions[index]
				   : fused_step_at(client->job, index);
}

static double step_s(const struct job_client *client, size_t index)
{
	const struct fused_step *step = step_at(client, index);
	return s_from_ps(step->end_ps - step->start_ps);
}

static struct steady_step step_time(const void *client, size_t index)
{
	return (struct steady_step){step_s(client, index), 1};
}

/* ---- from warm-up to the end, as for clients ---- */

static void job_warm(struct job_client *client)
{
	struct job_world *w = client->world;
	if (client->warm)
		return;
	client->warm = true;
	if (++w->warm_count < w->scenario->job_count)
		return;
	system_window_open(&w->system);
	w->steady = steady_begin(&w->limits, engine_events_count(w->system.engine), step_time);
}

static void job_over(struct job_client *client)
{
	if (client->over)
		return;
	client->over = true;
	if (++client->world->over_count == client->world->scenario->job_count)
		engine_stop(client->world->system.engine);
}

static void job_failed(void *ctx, const char *reason)
{
	struct job_client *client = ctx;
	if (client->run->failed)
		return;
	client->run->failed = true;
	client->run->reason = reason;
	job_over(client);
	job_warm(client);
}

static size_t window_first(struct job_client *client)
{
	const struct system *s = &client->world->system;
	while (client->first < client->step_count &&
	       (!s->open || step_at(client, client->first)->start_ps < s->opened_ps))
		client->first++;
	return client->first;
}

/* Whose steps are never equal. */
static bool is_noisy(const struct job_client *client)
{
	return client->world->system.lossy ||
	       (client->job && client->entry->exchange->noise_ratio > 0);
}

/* A job alone: two equal steps where no chance decides, a mean that has settled, or all that were
 * asked for. */
static bool is_steady(struct job_client *client)
{
	size_t first = window_first(client), count = client->step_count - first;
	double events = (double)engine_events_count(client->world->system.engine);
	double settled = SETTLED * fmax(1, events / (double)client->step_count / EVENTS_LARGE);
	if (count >= steady_steps_most(&client->world->limits))
		return true;
	if (!is_noisy(client) && count >= 2 &&
	    fabs(step_s(client, client->step_count - 1) - step_s(client, client->step_count - 2)) <=
		    REPEATS * step_s(client, client->step_count - 1))
		return true;
	return count >= STEPS_TO_SETTLE &&
	       steady_mean_settled(step_time, client, first, count, settled);
}

/* Several jobs end together, or their window begins anew. */
static void judge(struct job_world *w)
{
	size_t count = 0;
	for (size_t i = 0; i < w->scenario->job_count; i++) {
		struct job_client *client = &w->clients[i];
		if (client->over)
			continue;
		size_t first = window_first(client), steps = client->step_count - first;
		w->programs[count++] = (struct steady_program){
			.of = client,
			.first = first,
			.count = steps,
			.has_worked = steps > 0,
			.in_doubt = is_noisy(client) && steps < STEPS_TO_SETTLE,
		};
	}
	enum steady_verdict verdict =
		steady_judge(&w->steady, w->programs, count, engine_events_count(w->system.engine));
	if (verdict == STEADY_OPEN_ANEW)
		system_window_open(&w->system);
	for (size_t i = 0; verdict == STEADY_OVER && i < w->scenario->job_count; i++)
		job_over(&w->clients[i]);
}

/* False when the whole run is over. */
static bool step_over(struct job_client *client)
{
	struct job_world *w = client->world;
	bool alone = w->scenario->job_count == 1;
	size_t warm = (size_t)fmax(w->scenario->steps_warmup_count, WARM_STEPS);
	client->step_count++;
	if (alone && client->warm && is_steady(client))
		job_over(client);
	if (!alone && w->system.open)
		judge(w);
	if (client->step_count >= warm)
		job_warm(client);
	return w->over_count < w->scenario->job_count;
}

static bool job_step_done(void *ctx, struct fused *job, const struct fused_step *step)
{
	(void)job;
	(void)step;
	return step_over(ctx);
}

/* ---- a collective, repeated ---- */

static void repeat(void *ctx, uint64_t arg);

static void repetition_done(void *ctx, uint64_t arg)
{
	struct job_client *client = ctx;
	(void)arg;
	client->repetitions[client->step_count] =
		(struct fused_step){.start_ps = client->begun_ps,
				    .end_ps = engine_now_ps(client->world->system.engine)};
	if (step_over(client))
		repeat(client, 0);
}

static void repeat(void *ctx, uint64_t arg)
{
	struct job_client *client = ctx;
	const struct scenario *scenario = client->world->scenario;
	(void)arg;
	client->begun_ps = engine_now_ps(client->world->system.engine);
	const struct collective_request request = {
		.collective = (enum collective)scenario->collective,
		.size_B = scenario->collective_size_B,
		.label = collective_name((enum collective)scenario->collective),
		.done = repetition_done,
		.ctx = client,
	};
	uint64_t number = communicator_begin(client->comm, &request);
	for (size_t i = 0; i < client->entry->simulated_count; i++)
		communicator_arrive(client->comm, number, i);
}

/* ---- building ---- */

/* Whether a step of b's first GPU alone takes what one of a's takes. */
static bool alike(const struct topology *t, const struct job_entry *a, const struct job_entry *b)
{
	const struct gpu_entry *gpus[] = {&t->gpus[a->gpus[0]], &t->gpus[b->gpus[0]]};
	const struct guest_entry *guests[] = {&t->guests[a->guests[0]], &t->guests[b->guests[0]]};
	const struct host_entry *hosts[] = {&t->hosts[gpus[0]->host], &t->hosts[gpus[1]->host]};
	return a->network == b->network && a->batch_count == b->batch_count &&
	       a->efficiency == b->efficiency &&
	       memcmp(a->stack, b->stack, sizeof *a->stack) == 0 &&
	       memcmp(&gpus[0]->params, &gpus[1]->params, sizeof gpus[0]->params) == 0 &&
	       memcmp(&guests[0]->params, &guests[1]->params, sizeof guests[0]->params) == 0 &&
	       memcmp(&hosts[0]->params, &hosts[1]->params, sizeof hosts[0]->params) == 0;
}

static bool run_solo(struct job_world *w, struct job_client *client)
{
	struct world_outcome outcome = world_run(
		w->arena, scenario_job_solo(w->arena, w->scenario, client->entry), w->seed, NULL);
	const struct client_run *solo = &outcome.clients[0];
	if (outcome.broken)
		engine_fail(w->system.engine, "one GPU alone: %s", outcome.broken);
	if (solo->failed || outcome.broken) {
		job_failed(client, solo->failed ? solo->reason : outcome.broken);
		return false;
	}
	client->run->solo_step_s = client_step_s(solo);
	return true;
}

/* The step of one GPU alone, call by call, in the job's guest; or that of an equal job. */
static bool find_profile(struct job_world *w, struct job_client *client)
{
	const struct job_entry *entry = client->entry;
	const struct topology *t = &w->scenario->topology;
	for (struct job_client *other = w->clients; other != w->clients + w->scenario->job_count;
	     other++)
		if (other != client && other->profile && alike(t, other->entry, entry)) {
			client->profile = other->profile;
			client->run->solo_step_s = other->run->solo_step_s;
			return true;
		}
	client->run->solo_step_s = entry->solo_step_s;
	if (entry->solo_step_s <= 0 && !run_solo(w, client))
		return false;
	const struct step_host host = {
		.driver = &w->scenario->driver,
		.work_ratio = guest_alone_s(w->system.guests[entry->guests[0]], 1),
	};
	client->profile = step_profile_new(w->arena, entry->network, (size_t)entry->batch_count,
					   entry->stack, &t->gpus[entry->gpus[0]].params,
					   entry->efficiency, &host, client->run->solo_step_s);
	return true;
}

/* Workers, then servers: one after the other on the job's machines, in each in the
 * memory of its host, or of its first GPU, its second ... */
static struct comm_rank *comm_ranks(struct job_world *w, const struct job_entry *entry,
				    size_t *server_count)
{
	const struct topology *t = &w->scenario->topology;
	*server_count = library_has_servers(entry->library)
				? (size_t)fmax(1, entry->library->servers_count)
				: 0;
	struct comm_rank *ranks =
		ARENA_ARRAY(w->arena, entry->simulated_count + *server_count, struct comm_rank);
	size_t *firsts = ARENA_ARRAY(w->arena, entry->simulated_count, size_t), machines = 0;
	for (size_t i = 0; i < entry->simulated_count; i++) {
		ranks[i] = (struct comm_rank){.gpu = w->system.gpus[entry->gpus[i]],
					      .guest = w->system.guests[entry->guests[i]]};
		if (i == 0 ||
		    t->gpus[entry->gpus[i]].host != t->gpus[entry->gpus[firsts[machines - 1]]].host)
			firsts[machines++] = i;
	}
	FW_ASSERT(machines > 0);
	for (size_t s = 0; s < *server_count; s++) {
		size_t machine = s % machines, at = firsts[machine];
		size_t end = machine + 1 < machines ? firsts[machine + 1] : entry->simulated_count;
		if (!entry->library->server_on_cpu)
			at += s / machines % (end - at);
		ranks[entry->simulated_count + s] = ranks[at];
		if (entry->library->server_on_cpu)
			ranks[entry->simulated_count + s].gpu = NULL;
	}
	return ranks;
}

static bool build_communicator(struct job_world *w, struct job_client *client)
{
	const struct job_entry *entry = client->entry;
	struct communicator_spec spec = {
		.arena = w->arena,
		.engine = w->system.engine,
		.fabric = w->system.fabric,
		.name = entry->name,
		.library = entry->library,
		.rank_count = entry->simulated_count,
		.transport = entry->transport,
		.transport_params = entry->transport_params,
		.seed = w->seed,
		.failed = job_failed,
		.failed_ctx = client,
		.fold = w->system.topology->fold,
		.copies = w->system.copies,
		.top_node = w->system.top_node,
	};
	if (entry->rank_count == 1 && !library_has_servers(entry->library))
		return true;
	spec.ranks = comm_ranks(w, entry, &spec.server_count);
	client->comm = communicator_new(&spec);
	return client->comm != NULL;
}

/* A short message from the first rank to the last and back: wires, sockets, wake-ups. */
static double round_trip_s(struct job_world *w, const struct job_entry *entry)
{
	struct guest *a = w->system.guests[entry->guests[0]];
	const struct fold *fold = w->system.topology->fold;
	size_t last = fold ? fold_stand_in(fold, entry->rank_count - 1) : entry->rank_count - 1;
	struct guest *b = w->system.guests[entry->guests[last]];
	double latency_s = system_latency_s(&w->system, guest_node(a), guest_node(b));
	double vnics_s = guest_vnic_latency_s(a) + guest_vnic_latency_s(b);
	double wire_s = (fold || a != b) && latency_s >= 0 ? latency_s + vnics_s : 0;
	double work_s = guest_send_work_s(a, 1, 0) + guest_receive_work_s(b, 1, 0) +
			guest_params(b)->thread_wake_s;
	return 2 * (wire_s + work_s);
}

static bool memory_fits(struct job_world *w, struct job_client *client, size_t rank,
			struct gpu_context *context)
{
	const struct job_entry *entry = client->entry;
	if (gpu_memory_take(context, client->profile->memory_B))
		return true;
	struct gpu *gpu = w->system.gpus[entry->gpus[rank]];
	job_failed(client, arena_printf(w->arena,
					"out of GPU memory: %s at batch %g needs %.2f GB, GPU '%s' "
					"has %.2f GB",
					entry->network->name, entry->batch_count,
					client->profile->memory_B / 1e9, gpu_name(gpu),
					gpu_params(gpu)->memory_B / 1e9));
	return false;
}

static bool build_ranks(struct job_world *w, struct job_client *client, struct fused_rank *ranks)
{
	const struct job_entry *entry = client->entry;
	struct rank_reader reader = {0};
	for (size_t i = 0; i < entry->simulated_count; i++) {
		struct gpu *gpu = w->system.gpus[entry->gpus[i]];
		struct guest *guest = w->system.guests[entry->guests[i]];
		const char *name = arena_printf(w->arena, "%s.%zu", entry->name, i);
		struct cpu *core = guest_core(guest);
		ranks[i] = (struct fused_rank){
			.context = gpu_context_new(gpu, name, 1),
			.gpu = gpu,
			.guest = guest,
			.core = core,
			.slowdown_ratio = i == 0 ? entry->straggler_ratio : 1,
		};
		if (!memory_fits(w, client, i, ranks[i].context))
			return false;
		if (strcmp(entry->input->source, "gpu") == 0)
			continue;
		size_t host = w->scenario->topology.gpus[entry->gpus[i]].host;
		reader = job_inputs_reader(&w->inputs, entry, host, i > 0 ? &reader : NULL);
		if (reader.storage && !storage_reaches(reader.storage, guest)) {
			job_failed(client,
				   arena_printf(w->arena, "no route from '%s' to storage '%s'%s%s",
						guest_name(guest), entry->input->source,
						entry->storage->node[0] ? " at " : "",
						entry->storage->node));
			return false;
		}
		ranks[i].input = job_inputs_build(&w->inputs, w->scenario, entry, i, &reader, core,
						  client->profile->input_B);
	}
	return true;
}

static void build_job(struct job_world *w, struct job_client *client)
{
	const struct job_entry *entry = client->entry;
	if (!find_profile(w, client) || !build_communicator(w, client))
		return;
	struct fused_rank *ranks = ARENA_ARRAY(w->arena, entry->simulated_count, struct fused_rank);
	if (!build_ranks(w, client, ranks))
		return;
	const struct fused_spec spec = {
		.arena = w->arena,
		.engine = w->system.engine,
		.fabric = w->system.fabric,
		.name = entry->name,
		.profile = client->profile,
		.exchange = entry->exchange,
		.comm = client->comm,
		.ranks = ranks,
		.rank_count = entry->simulated_count,
		.copies = fold_counts(w->arena, w->system.topology->fold),
		.all_count = entry->rank_count,
		.network_round_trip_s = round_trip_s(w, entry),
		.seed = w->seed,
		.step_done = job_step_done,
		.ctx = client,
	};
	client->job = fused_new(&spec);
	if (client->comm)
		client->run->choice = communicator_choice_text(client->comm, COLLECTIVE_ALL_REDUCE,
							       entry->network->parameters_count *
								       client->profile->element_B);
}

static void build_benchmark(struct job_world *w, struct job_client *client)
{
	const struct scenario *scenario = w->scenario;
	size_t warm = (size_t)fmax(scenario->steps_warmup_count, WARM_STEPS);
	if (client->entry->rank_count < 2) {
		job_failed(client, "a collective needs two GPUs at least");
		return;
	}
	if (!build_communicator(w, client))
		return;
	client->repetitions =
		ARENA_ARRAY(w->arena, warm + steady_steps_most(&w->limits) + 2, struct fused_step);
	client->run->choice = communicator_choice_text(
		client->comm, (enum collective)scenario->collective, scenario->collective_size_B);
}

static void start_job(void *ctx, uint64_t arg)
{
	struct job_client *client = ctx;
	(void)arg;
	if (client->repetitions)
		repeat(client, 0);
	else
		fused_start(client->job);
}

static void open_job(void *ctx, uint64_t arg)
{
	struct job_client *client = ctx;
	(void)arg;
	if (client->comm)
		communicator_open(client->comm, start_job, client, 0);
	else
		start_job(client, 0);
}

/* Jobs do not begin together: nothing but chance sets their phases. */
static void begin(struct job_world *w, struct job_client *client)
{
	int64_t delay_ps = 0;
	if (w->scenario->job_count > 1) {
		struct rng rng = rng_named(
			w->seed, arena_printf(w->arena, "phase of %s", client->entry->name));
		delay_ps = ps_from_s(rng_uniform(&rng) * client->run->solo_step_s);
	}
	engine_after(w->system.engine, delay_ps, open_job, client, 0);
}

/* ---- reading ---- */

static void read_jobs(struct job_world *w, const struct world_outcome *outcome)
{
	for (size_t i = 0; i < w->scenario->job_count; i++) {
		struct job_client *client = &w->clients[i];
		struct job_run *run = client->run;
		struct fused_step *steps =
			ARENA_ARRAY(w->arena, client->step_count + 1, struct fused_step);
		for (size_t k = 0; k < client->step_count; k++)
			steps[k] = *step_at(client, k);
		run->steps = steps;
		run->step_count = client->step_count;
		run->steady_first = window_first(client);
		run->steady_count = run->step_count - run->steady_first;
		if (client->comm)
			run->comm = *communicator_counters(client->comm);
		if (!run->failed && run->steady_count == 0) {
			run->failed = true;
			run->reason = outcome->broken ? outcome->broken : "no step was finished";
		}
	}
}

/* What the first unfinished job waits for; at a limit of the run all of them have failed. */
static const char *unfinished(struct job_world *w, bool limit)
{
	const char *first = NULL;
	for (struct job_client *c = w->clients + w->scenario->job_count; c-- > w->clients;) {
		if (c->over)
			continue;
		first = arena_printf(w->arena, "job '%s' waits: %s", c->entry->name,
				     c->job ? fused_waiting(c->job, w->arena)
					    : communicator_waiting(c->comm, w->arena));
		if (limit)
			job_failed(c, system_no_end(&w->system, first));
	}
	return first;
}

static int by_name(const void *a, const void *b)
{
	const struct job_client *const *left = a, *const *right = b;
	return strcmp((*left)->entry->name, (*right)->entry->name);
}

/* In the order of their names, so that a file's order decides nothing. */
static void build_jobs(struct job_world *w, struct job_run *runs)
{
	size_t count = w->scenario->job_count;
	struct job_client **order = ARENA_ARRAY(w->arena, count, struct job_client *);
	w->clients = ARENA_ARRAY(w->arena, count, struct job_client);
	w->programs = ARENA_ARRAY(w->arena, count, struct steady_program);
	for (size_t i = 0; i < count; i++) {
		runs[i].entry = &w->scenario->jobs[i];
		w->clients[i] =
			(struct job_client){.world = w, .entry = runs[i].entry, .run = &runs[i]};
		order[i] = &w->clients[i];
	}
	qsort(order, count, sizeof *order, by_name);
	for (size_t i = 0; i < count; i++) {
		(w->scenario->collective >= 0 ? build_benchmark : build_job)(w, order[i]);
		if (!order[i]->run->failed)
			begin(w, order[i]);
	}
}

struct world_outcome job_world_run(struct arena *arena, const struct scenario *scenario,
				   uint64_t seed, struct trace *trace)
{
	struct job_world *w = ARENA_NEW(arena, struct job_world);
	*w = (struct job_world){.arena = arena,
				.scenario = scenario,
				.seed = seed,
				.limits = {scenario->steps_count, scenario->job_count}};
	system_build(&w->system, arena, scenario, trace);
	struct world_outcome outcome = {
		.jobs = ARENA_ARRAY(arena, scenario->job_count, struct job_run),
		.job_count = scenario->job_count};
	w->inputs.system = &w->system;
	build_jobs(w, outcome.jobs);
	enum engine_end end =
		w->over_count < scenario->job_count ? engine_run(w->system.engine) : ENGINE_DRAINED;
	const char *waiting = unfinished(w, end == ENGINE_EVENTS || end == ENGINE_TIME);
	system_read(&w->system, &outcome);
	for (size_t i = 0; i < scenario->job_count; i++)
		if (w->clients[i].comm)
			communicator_account(w->clients[i].comm);
	system_check(&w->system, end, waiting, &outcome);
	read_jobs(w, &outcome);
	return outcome;
}

double job_run_step_s(const struct job_run *run)
{
	const struct fused_step *first = &run->steps[run->steady_first];
	const struct fused_step *last = first + run->steady_count - 1;
	return s_from_ps(last->end_ps - first->start_ps) / (double)run->steady_count;
}
