/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the neural network of a client or job, and the parameters of its kernel times. */
#include "sim/scenario/case.h"

/* Returns the shipped network of that name; NULL if there is none. */
static const struct network *shipped_network(struct reader *c, const char *name)
{
	const char *const *names;
	size_t count = data_names(c->arena, c->root, "models/networks", &names);
	const struct cfg_node *file;
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0 && case_group(c, case_origin(c), "models/networks",
							      "model", name, "network", &file))
			return network_read(c->arena, c->diag, file,
					    (size_t)c->params->sequence_count);
	return NULL;
}

/* A file of the user may have the name of a shipped network inside, but other layers. It becomes
 * "own-NAME", because fits of the shipped network must not act on it. */
static const struct network *with_own_name(struct reader *c, const struct network *network)
{
	const struct network *shipped = shipped_network(c, network->name);
	if (!shipped || (shipped->layer_count == network->layer_count &&
			 shipped->parameters_count == network->parameters_count &&
			 shipped->macs_count == network->macs_count &&
			 shipped->activations_count == network->activations_count))
		return network;
	struct network *own = ARENA_NEW(c->arena, struct network);
	*own = *network;
	own->name = arena_printf(c->arena, "own-%s", network->name);
	return own;
}

static const struct network *read_network(struct reader *c, struct origin origin, const char *name)
{
	size_t sequence = (size_t)c->params->sequence_count;
	const struct cfg_node *file;
	if (!case_group(c, origin, "models/networks", "model", name, "network", &file))
		return NULL;
	const struct network *network = network_read(c->arena, c->diag, file, sequence);
	if (network && strcmp(network->name, name) != 0)
		network = with_own_name(c, network);
	if (network && sequence > 0 && network->sequence == 0)
		case_error(c, "case.sequence",
			   "case.sequence works only with networks of sequences, but '%s' takes "
			   "images (leave it out)",
			   network->name);
	return network;
}

/* Returns the constants of a GPU generation, which are read once in a case. */
static const struct kernel_params *read_kernels(struct reader *c, enum gpu_generation generation)
{
	if (c->kernels[generation])
		return c->kernels[generation];
	struct kernel_params *kernels = ARENA_NEW(c->arena, struct kernel_params);
	const char *prefix = arena_printf(c->arena, "kernels.%s", gpu_generation_name(generation));
	reader_params(c, NULL, prefix, prefix, &kernel_table, kernels);
	c->kernels[generation] = kernels;
	return kernels;
}

const struct efficiency_params *case_efficiency(struct reader *c, const struct gpu_entry *gpu,
						const char *model)
{
	struct efficiency_params *efficiency = ARENA_NEW(c->arena, struct efficiency_params);
	const char *prefix = arena_printf(c->arena, "efficiency.%s.%s", gpu->like, model);
	reader_params(c, NULL, prefix, prefix, &efficiency_table, efficiency);
	if (!(efficiency->peak_ratio > 0)) {
		struct efficiency_params law;
		prefix = arena_printf(c->arena, "%s.%s", prefix, c->params->stack);
		reader_params(c, NULL, prefix, prefix, &law_table, &law);
		efficiency->law_ratio = law.law_ratio;
		efficiency->kernels = read_kernels(c, (enum gpu_generation)gpu->params.generation);
	}
	return efficiency;
}

const struct efficiency_params *case_kernel_law(struct reader *c, const struct gpu_entry *gpu)
{
	struct efficiency_params *law = ARENA_NEW(c->arena, struct efficiency_params);
	law->law_ratio = 1;
	law->alone = true;
	law->kernels = read_kernels(c, (enum gpu_generation)gpu->params.generation);
	return law;
}

const struct efficiency_params *scenario_at_slowest(struct arena *arena,
						    const struct scenario *scenario,
						    const struct job_entry *entry)
{
	const struct gpu_params *gpu = &scenario->topology.gpus[entry->gpus[0]].params;
	double n = fmax((double)entry->rank_count, scenario->params->slowest_of_count);
	double ratio = 1 - gpu->clock_spread_ratio * num_normal_quantile((n - 0.375) / (n + 0.25));
	if (!entry->efficiency || entry->efficiency->slowest_ratio == ratio)
		return entry->efficiency;
	struct efficiency_params *efficiency = ARENA_NEW(arena, struct efficiency_params);
	*efficiency = *entry->efficiency;
	efficiency->slowest_ratio = ratio;
	return efficiency;
}

/* Returns "fp32, fp16 and bf16". */
static const char *types_of(struct arena *arena, const struct gpu_params *gpu)
{
	static const enum number_type types[] = {NUMBER_TF32, NUMBER_FP16, NUMBER_BF16, NUMBER_FP8,
						 NUMBER_FP4};
	const char *text = number_type_name(NUMBER_FP32);
	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
		if (gpu_has(gpu, types[i]))
			text = arena_printf(arena, "%s, %s", text, number_type_name(types[i]));
	return text;
}

const char *case_setting_or(const struct reader *c, const char *path, const char *file)
{
	const struct cfg_param *param = cfg_param_find(c->resolution, path);
	return param && param->source == CFG_SOURCE_SET ? path : file;
}

static struct origin precision_origin(struct reader *c)
{
	return case_origin_of(c, case_setting_or(c, "stack.precision", "case.stack"));
}

/* Reports an error if the stack computes in FP8, but the network has no layer that can: only linear
 * layers of repeated blocks do (docs/models/kernels.md). */
static void check_fp8(struct reader *c, const struct network *network)
{
	if (c->stack->precision < PRECISION_FP8)
		return;
	for (size_t i = 0; i < network->layer_count; i++)
		if (network->layers[i].op == LAYER_LINEAR && network->layers[i].block > 0)
			return;
	diag_error(c->diag, precision_origin(c),
		   "stack '%s' computes in %s, but network '%s' has no linear layers in repeated "
		   "blocks, and only those are quantised (write stack.precision=fp16 or bf16, or "
		   "another case.stack)",
		   c->params->stack, number_type_name(stack_needed_type(c->stack)), network->name);
}

void case_check_numbers(struct reader *c, const struct gpu_entry *gpu)
{
	struct arena *arena = c->arena;
	const struct gpu_params *params = &gpu->params;
	enum number_type type = stack_needed_type(c->stack);
	enum number_type instead = gpu_has(params, NUMBER_BF16)   ? NUMBER_BF16
				   : gpu_has(params, NUMBER_FP16) ? NUMBER_FP16
								  : NUMBER_FP32;
	const char *name = number_type_name(type);
	if (gpu_has(params, type) || diag_count(c->diag) > 0)
		return;
	const char *rate = "";
	if (gpu_generation_has(params->generation, type))
		rate = arena_printf(
			arena, "; if it has %s, write the rate %s = \"... TFLOPS\" into its file",
			name, name);
	diag_error(c->diag, precision_origin(c),
		   "stack '%s' computes in %s, but GPU '%s' (%s) has only %s (write "
		   "stack.precision=%s, or another case.stack%s)",
		   c->params->stack, name, gpu->profile,
		   gpu_generation_name((enum gpu_generation)params->generation),
		   types_of(arena, params), number_type_name(instead), rate);
}

void case_model(struct reader *c, struct job_entry *entry, struct origin origin, const char *name)
{
	const struct gpu_entry *gpus = c->scenario->topology.gpus;
	const char *like = gpus[entry->gpus[0]].like;
	entry->model = entry->model_given = name;
	for (const struct job_entry *other = c->scenario->jobs; other != entry; other++)
		if (other->model_given && strcmp(other->model_given, name) == 0)
			entry->network = other->network;
	if (!entry->network)
		entry->network = read_network(c, origin, name);
	/* From here on a network in a file of the user has the name given in that file. Entries
	 * with the same network share its efficiencies, so each parameter is recorded once. */
	if (entry->network)
		entry->model = entry->network->name;
	for (const struct job_entry *other = c->scenario->jobs; other != entry; other++)
		if (other->model && strcmp(other->model, entry->model) == 0 &&
		    strcmp(gpus[other->gpus[0]].like, like) == 0 && other->stack == entry->stack)
			entry->efficiency = other->efficiency;
	case_check_numbers(c, &gpus[entry->gpus[0]]);
	if (diag_count(c->diag) == 0)
		check_fp8(c, entry->network);
	if (!entry->efficiency)
		entry->efficiency = case_efficiency(c, &gpus[entry->gpus[0]], entry->model);
	entry->efficiency = scenario_at_slowest(c->arena, c->scenario, entry);
}
