/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/scenario/checkpoint.h"
#include "sim/scenario/fold.h"
#include "sim/scenario/world.h"

static const double fp32_B = 4;

struct checkpoint_run {
	const struct scenario *scenario;
	const struct job_entry *entry;
	struct system system;
	struct job_inputs inputs;
	struct storage_params storage;
	double part_B;  /* of the state that a rank writes or reads */
	size_t pending; /* ranks that are not ready */
	const char *why;
};

/* Returns the bytes of the whole state: fp32 weights, the optimizer's state, and the weights in the
 * number type of the products, unless FSDP casts them when it gathers them. */
static double state_B(const struct job_entry *entry)
{
	double element_B = stack_element_B(entry->stack);
	bool copy = element_B < fp32_B && entry->plan->params->sharding != SHARDING_PARAMETERS;
	double trained_count = entry->network->parameters_count - entry->network->frozen_count;
	return trained_count *
	       (fp32_B * (1 + entry->stack->optimiser_copies_count) + (copy ? element_B : 0));
}

/* Returns true if the simulated rank writes a part of the checkpoint. */
static bool writes(const struct checkpoint_run *run, size_t index)
{
	const struct fold *fold = run->scenario->topology.fold;
	size_t rank = fold ? fold->rank_of[index] : index;
	return run->scenario->run->checkpoint_sharded ||
	       plan_index(run->entry->plan, rank, AXIS_DATA) == 0;
}

static void ready(void *ctx, uint64_t arg)
{
	struct checkpoint_run *run = ctx;
	run->pending--;
}

static void copy(struct checkpoint_run *run, size_t index)
{
	const struct topology *t = run->system.topology;
	const struct program_gpu place = system_place(&run->system, run->entry, index);
	const struct dma_copy copy = {
		.engine = run->system.engine,
		.fabric = run->system.fabric,
		.arena = run->system.arena,
		.params = &run->scenario->dma,
		.route = place.to_host,
		.host = run->system.hosts[t->gpus[run->entry->gpus[index]].host],
		.size_B = run->part_B,
		.done = ready,
		.ctx = run,
	};
	dma_start(&copy);
}

static struct storage *storage_at(struct checkpoint_run *run, size_t index)
{
	return job_inputs_storage(&run->inputs, &run->storage,
				  run->scenario->run->checkpoint_storage,
				  run->system.topology->gpus[run->entry->gpus[index]].host);
}

static void write_part(struct checkpoint_run *run, size_t index)
{
	const struct storage_write write = {
		.guest = run->system.guests[run->entry->guests[index]],
		.size_B = run->part_B,
		.work_spB = run->scenario->run->checkpoint_work_spB,
		.done = ready,
		.ctx = run,
	};
	if (!storage_write(storage_at(run, index), &write))
		run->why = "there is no route to the storage of its checkpoints (write another "
			   "run.checkpoint_storage, or checkpoint_storage.node)";
}

static void read_part(struct checkpoint_run *run, size_t index)
{
	if (!storage_read(storage_at(run, index), run->system.guests[run->entry->guests[index]],
			  (unsigned)index, run->part_B, ready, run, 0))
		run->why = "there is no route from the storage of its checkpoints";
}

/* Returns the number of ranks of the whole job that read, if `all` is true, or that write. */
static double acting_count(const struct checkpoint_run *run, bool all)
{
	const struct job_entry *entry = run->entry;
	bool each = all || run->scenario->run->checkpoint_sharded;
	return (double)entry->rank_count / (each ? 1 : (double)entry->plan->sizes[AXIS_DATA]);
}

/* Lets all ranks, or only those that write, begin an action, and returns the time until the last
 * one is ready. In a folded topology, the storage that all machines share gets the part of its
 * bandwidth that is due to the simulated ranks. */
static double all_do(struct arena *arena, struct checkpoint_run *run, bool all,
		     void (*action)(struct checkpoint_run *run, size_t index))
{
	const struct job_entry *entry = run->entry;
	size_t acting = 0;
	for (size_t i = 0; i < entry->simulated_count; i++)
		acting += all || writes(run, i);
	run->storage = *entry->checkpoint;
	if (storage_is_shared(&run->storage))
		run->storage.bandwidth_Bps *= (double)acting / acting_count(run, all);
	system_build(&run->system, arena, run->scenario, NULL);
	run->inputs = (struct job_inputs){.system = &run->system};
	run->pending = acting;
	for (size_t i = 0; i < entry->simulated_count; i++)
		if (all || writes(run, i))
			action(run, i);
	engine_run(run->system.engine);
	if (run->pending > 0 && !run->why)
		run->why = "a checkpoint takes more than 23 days (write a faster "
			   "run.checkpoint_storage)";
	return s_from_ps(engine_now_ps(run->system.engine));
}

struct checkpoint_times checkpoint_simulate(const struct scenario *scenario)
{
	const struct job_entry *entry = &scenario->jobs[0];
	struct checkpoint_run run = {.scenario = scenario, .entry = entry};
	struct checkpoint_times times = {.size_B = state_B(entry)};
	run.part_B = times.size_B / acting_count(&run, false);
	struct arena *scratch = arena_new();
	times.copy_s = all_do(scratch, &run, false, copy);
	times.write_s = run.why ? 0 : all_do(scratch, &run, false, write_part);
	times.read_s = run.why ? 0 : all_do(scratch, &run, true, read_part);
	times.why = run.why;
	arena_free(scratch);
	return times;
}

size_t checkpoint_machines(const struct scenario *scenario)
{
	const struct topology *t = &scenario->topology;
	const struct job_entry *entry = &scenario->jobs[0];
	size_t count = t->fold ? t->fold->machine_count : 1;
	for (size_t i = 1; i < entry->simulated_count && !t->fold; i++)
		count += t->gpus[entry->gpus[i]].host != t->gpus[entry->gpus[i - 1]].host;
	return count;
}

size_t checkpoint_spares(const struct scenario *scenario)
{
	const double rounding = 1e-9;
	return (size_t)ceil(scenario->run->spare_ratio * (double)checkpoint_machines(scenario) -
			    rounding);
}

static bool is_in(const char *node, const char *host)
{
	size_t length = strlen(host);
	return strncmp(node, host, length) == 0 && (node[length] == '.' || node[length] == '\0');
}

double checkpoint_links_count(const struct scenario *scenario)
{
	const struct topology *t = &scenario->topology;
	const char *host = t->hosts[t->gpus[scenario->jobs[0].gpus[0]].host].name;
	double count = 0;
	for (size_t i = 0; i < t->link_count; i++)
		count += !t->links[i].kind->inside_host &&
			 (is_in(t->links[i].ends[0], host) || is_in(t->links[i].ends[1], host));
	return count * (double)checkpoint_machines(scenario);
}
