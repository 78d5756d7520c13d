/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/scenario/world.h"

struct storage_place {
	const struct storage_params *params;
	size_t host; /* the storage's host; shared storage: the host that used it first */
	struct storage *storage;
};

struct storage *job_inputs_storage(struct job_inputs *inputs, const struct storage_params *params,
				   const char *source, size_t host)
{
	if (!params)
		return NULL;
	const struct system *s = inputs->system;
	bool shared = storage_is_shared(params);
	for (size_t i = 0; i < inputs->storages.count; i++) {
		const struct storage_place *place = &inputs->storages.items[i];
		if (place->params == params && (shared || place->host == host))
			return place->storage;
	}
	struct storage_place *place = VEC_PUSH(s->arena, &inputs->storages);
	*place = (struct storage_place){
		.params = params,
		.host = host,
		.storage = storage_new(
			s->arena, s->engine, s->fabric,
			shared ? arena_printf(s->arena, "%s.%zu", source, inputs->storages.count)
			       : arena_printf(s->arena, "%s.%s.%zu", s->topology->hosts[host].name,
					      source, inputs->storages.count),
			params)};
	return place->storage;
}

struct rank_reader job_inputs_reader(struct job_inputs *inputs, const struct job_entry *entry,
				     size_t host, const struct rank_reader *before)
{
	if (before && entry->input->one_process && before->host == host)
		return *before;
	return (struct rank_reader){
		.host = host,
		.storage = job_inputs_storage(inputs, entry->storage, entry->input->source, host),
		.process = entry->input->one_process
				   ? input_process_new(inputs->system->arena, entry->input)
				   : NULL,
		.number = inputs->reader_count++};
}

bool job_inputs_joined(const struct job_inputs *inputs, const struct job_entry *entry, size_t a,
		       size_t b)
{
	const struct topology *t = inputs->system->topology;
	return entry->input->one_process &&
	       t->gpus[entry->gpus[a]].host == t->gpus[entry->gpus[b]].host;
}

/* Returns the part of its process's shuffle buffer that a rank reads, as a number of images.
 * Ranks of a process are neighbours. */
static double shuffle_share(const struct job_inputs *inputs, const struct scenario *scenario,
			    const struct job_entry *entry, size_t rank)
{
	size_t first = rank, end = rank + 1;
	if (!scenario->launch || !entry->storage)
		return 0;
	while (first > 0 && job_inputs_joined(inputs, entry, first - 1, rank))
		first--;
	while (end < entry->simulated_count && job_inputs_joined(inputs, entry, end, rank))
		end++;
	return scenario->phases->shuffle_count / (double)(end - first);
}

struct input *job_inputs_build(struct job_inputs *inputs, const struct scenario *scenario,
			       const struct job_entry *entry, size_t rank,
			       const struct rank_reader *reader, struct cpu *core, double batch_B)
{
	const struct system *s = inputs->system;
	const char *host = s->topology->hosts[reader->host].name;
	const struct input_spec spec = {
		.arena = s->arena,
		.engine = s->engine,
		.fabric = s->fabric,
		.name = arena_printf(s->arena, "%s input %zu", entry->name, rank),
		.params = entry->input,
		.process = reader->process,
		.storage = reader->storage,
		.reader = reader->number,
		.guest = s->guests[entry->guests[rank]],
		.core = core,
		.dma = &scenario->dma,
		.to_device = fabric_route(s->fabric, fabric_node_find(s->fabric, host),
					  gpu_node(s->gpus[entry->gpus[rank]]),
					  TRAFFIC_COPIES | TRAFFIC_PEERS),
		.batch_count = entry->batch_count,
		.batch_B = batch_B,
		.held = scenario->launch,
		.shuffle_count = shuffle_share(inputs, scenario, entry, rank),
	};
	return input_new(&spec);
}
