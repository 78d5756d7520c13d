/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The neural network of a client or job. */
#include <string.h>

#include "sim/base/arena.h"
#include "sim/scenario/case.h"

static const struct network *read_network(struct case_reader *c, struct origin origin,
					  const char *name)
{
	size_t sequence = (size_t)c->params->sequence_count;
	const struct cfg_node *file;
	if (!case_group(c, origin, "models/networks", "model", name, "network", &file))
		return NULL;
	const struct network *network =
		network_read_sequence(c->reader.arena, c->reader.diag, file, sequence);
	if (network && sequence > 0 && network->sequence == 0)
		diag_error(c->reader.diag, case_said(c, "case.sequence"),
			   "case.sequence works only with networks of sequences, but '%s' takes "
			   "images (leave it out)",
			   network->name);
	return network;
}

/* The constants of a GPU generation, read once a case. */
static const struct kernel_params *read_kernels(struct case_reader *c,
						enum gpu_generation generation)
{
	struct reader *reader = &c->reader;
	if (c->kernels[generation])
		return c->kernels[generation];
	struct kernel_params *kernels = ARENA_NEW(reader->arena, struct kernel_params);
	const char *prefix =
		arena_printf(reader->arena, "kernels.%s", gpu_generation_name(generation));
	cfg_params(reader->resolution, reader->arena, reader->diag, NULL, prefix, prefix,
		   &kernel_table, NULL, 0, kernels);
	c->kernels[generation] = kernels;
	return kernels;
}

/* Kernel times of the network on the GPU: two fitted numbers, if there are any, or the law. */
static const struct efficiency_params *
read_efficiency(struct case_reader *c, const struct gpu_entry *gpu, const char *model)
{
	struct reader *reader = &c->reader;
	struct efficiency_params *efficiency = ARENA_NEW(reader->arena, struct efficiency_params);
	const char *prefix = arena_printf(reader->arena, "efficiency.%s.%s", gpu->like, model);
	cfg_params(reader->resolution, reader->arena, reader->diag, NULL, prefix, prefix,
		   &efficiency_table, NULL, 0, efficiency);
	if (!(efficiency->peak_ratio > 0))
		efficiency->kernels = read_kernels(c, (enum gpu_generation)gpu->params.generation);
	return efficiency;
}

void case_model(struct case_reader *c, struct job_entry *entry, struct origin origin,
		const char *name)
{
	const struct gpu_entry *gpus = c->scenario->topology.gpus;
	const char *like = gpus[entry->gpus[0]].like;
	entry->model = name;
	for (const struct job_entry *other = c->scenario->jobs; other != entry; other++)
		if (other->model && strcmp(other->model, name) == 0)
			entry->network = other->network;
	if (!entry->network)
		entry->network = read_network(c, origin, name);
	/* A file of the user is called by the name in it from here on. Entries with the same
	 * network share its efficiencies, so each parameter is recorded once. */
	if (entry->network)
		entry->model = entry->network->name;
	for (const struct job_entry *other = c->scenario->jobs; other != entry; other++)
		if (other->model && strcmp(other->model, entry->model) == 0 &&
		    strcmp(gpus[other->gpus[0]].like, like) == 0)
			entry->efficiency = other->efficiency;
	if (!entry->efficiency)
		entry->efficiency = read_efficiency(c, &gpus[entry->gpus[0]], entry->model);
}
