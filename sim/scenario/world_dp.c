/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds data-parallel jobs and repeated collectives from a scenario's entries.
 *
 * A step on one GPU is first simulated call by call, as a program without other ranks. Each GPU
 * of the job then replays the segments of that step, with the job's communicator and input. */
#include "sim/cuda/fuse.h"
#include "sim/scenario/world.h"
#include "sim/workload/dp_job.h"
#include "sim/workload/life.h"

struct step_use { /* by job: its step, on each rank */
	const struct program *program;
	const struct gradients *gradients;
	double solo_step_s; /* of one GPU without other ranks */
};

bool world_alike(const struct topology *t, const struct job_entry *a, const struct job_entry *b)
{
	const struct gpu_entry *gpus[] = {&t->gpus[a->gpus[0]], &t->gpus[b->gpus[0]]};
	const struct guest_entry *guests[] = {&t->guests[a->guests[0]], &t->guests[b->guests[0]]};
	const struct host_entry *hosts[] = {&t->hosts[gpus[0]->host], &t->hosts[gpus[1]->host]};
	return a->network == b->network && a->batch_count == b->batch_count &&
	       a->efficiency == b->efficiency &&
	       memcmp(&gpus[0]->params, &gpus[1]->params, sizeof gpus[0]->params) == 0 &&
	       memcmp(&guests[0]->params, &guests[1]->params, sizeof guests[0]->params) == 0 &&
	       memcmp(&hosts[0]->params, &hosts[1]->params, sizeof hosts[0]->params) == 0;
}

/* Simulates one rank of the job on its first GPU, without input pipeline and exchange. Returns the
 * step time; negative if it failed. */
static double run_solo(struct world *w, struct job *job, const struct job_entry *entry)
{
	struct scenario alone = *w->scenario;
	struct job_entry solo = *entry;
	struct stack_params stack = *entry->stack;
	const char *why = NULL;
	stack.real_input = false; /* the job simulates the input pipelines itself */
	solo.rank_count = solo.simulated_count = 1;
	solo.efficiency = scenario_at_slowest(w->workload.arena, w->scenario, &solo);
	solo.servers = solo.guests;
	solo.fraction_ratio = solo.memory_ratio = 1;
	solo.stack = &stack;
	solo.guest_work = true;
	alone.whole_gpus = true;
	alone.style = JOBS_PROGRAMS;
	alone.steps_warmup_count = 1;
	double step_s = world_run_alone(w, alone, solo, "one GPU without other ranks", &why);
	if (why)
		job_failed(job, why);
	return step_s;
}

/* Returns true if the job has input that struct input copies to the GPU. */
static bool copies_input(const struct job_entry *entry)
{
	return strcmp(entry->input->source, "gpu") != 0;
}

/* Writes the program of a step, whose runs of kernels are fused unless a trace shows them. */
static void write_step(struct world *w, const struct job_entry *entry, struct step_use *use)
{
	struct arena *arena = w->workload.arena;
	const struct gradients_params params = {
		.held = dp_held_back(entry->exchange, entry->rank_count),
		.updates_in_stream = dp_updates_in_stream(entry->exchange, entry->rank_count),
		.driver = &w->scenario->driver,
	};
	struct stack_params stack = *entry->stack;
	stack.poller = false; /* struct dp_spec has its load */
	if (copies_input(entry))
		stack.real_input = false;
	struct step_spec spec = {
		.network = entry->network,
		.batch = (size_t)entry->batch_count,
		.stack = &stack,
		.gpu = &w->scenario->topology.gpus[entry->gpus[0]].params,
		.efficiency = entry->efficiency,
		.gradients = gradient_writer_new(arena, &params),
	};
	use->program = framework_at((size_t)stack.framework)->program(arena, &spec);
	use->gradients = gradient_writer_read(spec.gradients);
	const struct fuse_params fuse = {
		.driver = &w->scenario->driver,
		.gpu = spec.gpu,
		.work_ratio = guest_alone_s(w->system.guests[entry->guests[0]], 1),
	};
	if (w->scenario->params->fusing == FUSING_AUTO && !engine_trace(w->system.engine))
		use->program = program_fuse(arena, use->program, &fuse);
}

/* Returns true if a step of both jobs has the same program, and takes the same time. */
static bool same_step(const struct topology *t, const struct job_entry *a,
		      const struct job_entry *b)
{
	return world_alike(t, a, b) &&
	       dp_held_back(a->exchange, a->rank_count) ==
		       dp_held_back(b->exchange, b->rank_count) &&
	       dp_updates_in_stream(a->exchange, a->rank_count) ==
		       dp_updates_in_stream(b->exchange, b->rank_count) &&
	       copies_input(a) == copies_input(b);
}

/* Returns the step profile of one GPU without other ranks, in the job's guest. Equal jobs share
 * it. Returns NULL if the job has failed. */
static const struct step_use *find_profile(struct world *w, struct job *job,
					   const struct job_entry *entry)
{
	const struct scenario *scenario = w->scenario;
	const struct topology *t = &scenario->topology;
	struct arena *arena = w->workload.arena;
	if (!w->profiles)
		w->profiles = ARENA_ARRAY(arena, scenario->job_count, struct step_use);
	struct step_use *own = &w->profiles[entry - scenario->jobs];
	for (size_t i = 0; i < scenario->job_count; i++)
		if (w->profiles[i].program && same_step(t, &scenario->jobs[i], entry)) {
			*own = w->profiles[i];
			return own;
		}
	own->solo_step_s = entry->solo_step_s > 0 ? entry->solo_step_s : run_solo(w, job, entry);
	if (own->solo_step_s < 0)
		return NULL;
	write_step(w, entry, own);
	return own;
}

/* Sets the group of a job: its workers, then its parameter servers, then for two-level servers a
 * process on each machine. Servers are placed on the job's machines in turn. On each machine a
 * server is in the host's memory, or on the first GPU, the second, and so on. */
static void comm_ranks(struct world *w, const struct job_entry *entry,
		       struct communicator_spec *spec)
{
	const struct topology *t = &w->scenario->topology;
	size_t count = entry->simulated_count, machines = 0;
	bool servers = library_has_servers(entry->library);
	spec->server_count = servers ? (size_t)fmax(1, entry->library->servers_count) : 0;
	struct comm_rank *ranks =
		ARENA_ARRAY(w->workload.arena, 2 * count + spec->server_count, struct comm_rank);
	size_t *firsts = ARENA_ARRAY(w->workload.arena, count, size_t);
	for (size_t i = 0; i < count; i++) {
		ranks[i] = (struct comm_rank){.gpu = w->system.gpus[entry->gpus[i]],
					      .guest = w->system.guests[entry->guests[i]]};
		if (entry->library->host_memory)
			ranks[i].gpu = NULL;
		if (i == 0 ||
		    t->gpus[entry->gpus[i]].host != t->gpus[entry->gpus[firsts[machines - 1]]].host)
			firsts[machines++] = i;
	}
	FW_ASSERT(machines > 0);
	for (size_t s = 0; s < spec->server_count; s++) {
		size_t machine = s % machines, at = firsts[machine];
		size_t end = machine + 1 < machines ? firsts[machine + 1] : count;
		if (!entry->library->server_on_cpu)
			at += s / machines % (end - at);
		ranks[count + s] = ranks[at];
		if (entry->library->server_on_cpu)
			ranks[count + s].gpu = NULL;
	}
	if (servers && algorithm_find(entry->library->algorithm)->machines)
		spec->machine_count = machines;
	for (size_t m = 0; m < spec->machine_count; m++)
		ranks[count + spec->server_count + m].guest = ranks[firsts[m]].guest;
	spec->ranks = ranks;
}

/* Sets *comm; NULL if the job has a single rank. Returns false if the job has failed. */
static bool build_communicator(struct world *w, struct job *job, const struct job_entry *entry,
			       struct communicator **comm)
{
	struct communicator_spec spec = system_communicator(&w->system, entry);
	spec.seed = w->workload.seed;
	spec.failed = job_failed;
	spec.failed_ctx = job;
	spec.training = w->scenario->style != JOBS_COLLECTIVE;
	*comm = NULL;
	if (entry->rank_count == 1)
		return true;
	comm_ranks(w, entry, &spec);
	*comm = communicator_new(&spec);
	return *comm != NULL;
}

/* Returns the round trip of a short message between the first and the last rank: links, sockets
 * and wake-ups. */
static double round_trip_s(struct world *w, const struct job_entry *entry)
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

static bool across_machines(const struct world *w, const struct job_entry *entry)
{
	const struct host *first = guest_host(w->system.guests[entry->guests[0]]);
	bool across = w->system.topology->fold != NULL;
	for (size_t i = 1; i < entry->simulated_count && !across; i++)
		across = guest_host(w->system.guests[entry->guests[i]]) != first;
	return across;
}

static bool build_input(struct world *w, struct job *job, const struct job_entry *entry,
			size_t index, struct rank_reader *reader, struct dp_rank *rank,
			double input_B)
{
	size_t host = w->scenario->topology.gpus[entry->gpus[index]].host;
	*reader = job_inputs_reader(&w->inputs, entry, host, index > 0 ? reader : NULL);
	if (reader->storage && !storage_reaches(reader->storage, rank->guest)) {
		job_failed(job,
			   arena_printf(w->workload.arena,
					"no route from '%s' to storage '%s' at %s%s",
					guest_name(rank->guest), entry->input->source,
					entry->storage->node, fabric_route_hint(w->system.fabric)));
		return false;
	}
	rank->input = job_inputs_build(&w->inputs, w->scenario, entry, index, reader,
				       guest_core(rank->guest), input_B);
	return true;
}

static bool build_ranks(struct world *w, struct job *job, const struct job_entry *entry,
			struct dp_rank *ranks)
{
	struct rank_reader reader = {0};
	for (size_t i = 0; i < entry->simulated_count; i++) {
		const struct program_gpu place = system_place(&w->system, entry, i);
		const char *name = arena_printf(w->workload.arena, "%s.%zu", entry->name, i);
		ranks[i] = (struct dp_rank){
			.context = gpu_context_new(place.gpu, name, 1),
			.gpu = place.gpu,
			.guest = w->system.guests[entry->guests[i]],
			.to_device = place.to_device,
			.to_host = place.to_host,
			.slowdown_ratio = i == 0 ? entry->straggler_ratio : 1,
			.process = i == 0 ? 0
					  : ranks[i - 1].process +
						    !job_inputs_joined(&w->inputs, entry, i - 1, i),
		};
		if (copies_input(entry) &&
		    !build_input(w, job, entry, i, &reader, &ranks[i],
				 input_B(entry->network, (size_t)entry->batch_count)))
			return false;
	}
	return true;
}

/* Returns the random start time of a job within a step, because several jobs are not
 * synchronised. */
static int64_t delay_ps(struct world *w, const struct job_entry *entry, double solo_step_s)
{
	if (w->scenario->job_count == 1)
		return 0;
	struct rng rng = rng_named(w->workload.seed,
				   arena_printf(w->workload.arena, "phase of %s", entry->name));
	return ps_from_s(rng_uniform(&rng) * solo_step_s);
}

/* ---- jobs from their launch on (sim/workload/life.h) ---- */

/* Returns the size of a checkpoint: the variables and the optimiser's state in fp32. */
static double checkpoint_B(const struct job_entry *entry)
{
	const double fp32_B = 4;
	return entry->network->parameters_count * fp32_B *
	       (1 + entry->stack->optimiser_copies_count);
}

static void launch_job(struct world *w, struct job *job, const struct job_entry *entry,
		       const struct dp_spec *spec)
{
	const struct life_spec life = {
		.params = w->scenario->phases,
		.steps = *spec,
		.steps_count = (size_t)fmin(LAUNCH_STEPS, scenario_job_steps(w->scenario, entry)),
		.checkpoint_B = checkpoint_B(entry),
		.storage = job_inputs_storage(&w->inputs, entry->checkpoint,
					      w->scenario->phases->checkpoint_storage,
					      w->scenario->topology.gpus[entry->gpus[0]].host),
	};
	job->run->forward_s = spec->host.gradients->forward_s;
	life_begin(job, &life);
}

/* ---- the whole job ---- */

struct job *world_dp(struct world *w, const struct job_entry *entry, struct job_run *run)
{
	struct arena *arena = w->workload.arena;
	struct job *job = ranks_job_new(&w->workload, run, entry->name);
	const struct step_use *use = find_profile(w, job, entry);
	struct communicator *comm;
	if (!use)
		return job;
	run->solo_step_s = use->solo_step_s;
	if (!build_communicator(w, job, entry, &comm))
		return job;
	struct dp_rank *ranks = ARENA_ARRAY(arena, entry->simulated_count, struct dp_rank);
	if (!build_ranks(w, job, entry, ranks))
		return job;
	const struct dp_spec spec = {
		.host = {.arena = arena,
			 .engine = w->system.engine,
			 .params = entry->exchange,
			 .gradients = use->gradients,
			 .element_B = entry->stack->fp16_gradients ? 2 : 4,
			 .comm = comm,
			 .rank_count = entry->simulated_count,
			 .copies = fold_counts(arena, w->system.topology->fold),
			 .all_count = entry->rank_count,
			 .network_round_trip_s = round_trip_s(w, entry)},
		.fabric = w->system.fabric,
		.name = entry->name,
		.program = use->program,
		.ahead = framework_at((size_t)entry->stack->framework)->ahead &&
			 !entry->stack->sync_on_finish,
		.poller_ratio = stack_poller_ratio(entry->stack,
						   guest_alone_s(w->system.guests[entry->guests[0]],
								 w->scenario->driver.query_s)),
		.driver = &w->scenario->driver,
		.dma = &w->scenario->dma,
		.ranks = ranks,
		.across_machines = across_machines(w, entry),
		.seed = w->workload.seed,
	};
	if (comm)
		run->choice = communicator_choice_text(comm, COLLECTIVE_ALL_REDUCE,
						       entry->network->parameters_count *
							       spec.host.element_B);
	if (w->scenario->launch)
		launch_job(w, job, entry, &spec);
	else
		dp_job_begin(job, &spec, delay_ps(w, entry, use->solo_step_s));
	return job;
}

struct job *world_collective(struct world *w, const struct job_entry *entry, struct job_run *run)
{
	const struct scenario *scenario = w->scenario;
	struct job *job = ranks_job_new(&w->workload, run, entry->name);
	if (entry->rank_count < 2) {
		job_failed(job, "a collective needs at least two GPUs (write case.gpus=2 or more)");
		return job;
	}
	struct collective_spec spec = {.rank_count = entry->simulated_count,
				       .collective = scenario->collective,
				       .size_B = scenario->collective_size_B};
	if (!build_communicator(w, job, entry, &spec.comm))
		return job;
	run->choice = communicator_choice_text(spec.comm, spec.collective, spec.size_B);
	collective_job_begin(job, &spec);
	return job;
}
