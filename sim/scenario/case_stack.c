/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the stack of a case: framework and benchmark code. */
#include "sim/scenario/case.h"

void case_defaults(struct reader *c, const struct cfg_node *group, const char *name,
		   const struct param_table *table)
{
	enum { KEY_SIZE = 80 };
	const struct cfg_node *own = cfg_child(c->file, name);
	const char **keys = ARENA_ARRAY(c->arena, table->count, const char *);
	for (size_t i = 0; i < table->count; i++) {
		char key[KEY_SIZE];
		param_key(&table->rows[i], key, sizeof key);
		keys[i] = arena_strdup(c->arena, key);
		const struct cfg_node *value = cfg_child(group, key);
		if (!value || cfg_child(own, key))
			continue;
		cfg_override_node(c->resolution, arena_printf(c->arena, "%s.%s", name, key), value);
		cfg_override_node(c->resolution, arena_printf(c->arena, "%s.*.%s", name, key),
				  value);
	}
	if (group)
		cfg_only(c->diag, group, keys, table->count);
}

/* Returns true if the first network of the case takes sequences. */
static bool takes_sequences(struct reader *c)
{
	static const char *const lists[] = {"clients", "jobs"};
	const char *model = NULL;
	for (size_t i = 0; i < sizeof lists / sizeof lists[0] && !model; i++) {
		const struct cfg_node *list = cfg_child(c->group, lists[i]);
		if (list && cfg_is_list(list) && cfg_count(list) > 0)
			model = cfg_text(cfg_child(cfg_at(list, 0), "model"));
	}
	struct diag *diag = c->diag;
	const struct cfg_node *file;
	c->diag = diag_new(c->arena); /* case_model reports the errors */
	const struct cfg_node *network =
		case_group(c, case_origin_of(c, "case.model"), "models/networks", "model",
			   model ? model : c->params->model, "network", &file);
	c->diag = diag;
	return cfg_child(network, "sequence") != NULL;
}

/* Returns true if all GPUs that the case may use have tensor cores for the type. */
static bool all_have(const struct reader *c, enum number_type type)
{
	const struct topology *topology = &c->scenario->topology;
	double left = 0; /* GPUs of the replica that begins at the named one */
	bool any = false, all = !c->params->gpu[0] || strcmp(c->params->gpu, "spread") == 0;
	for (size_t i = 0; i < topology->gpu_count; i++) {
		const struct gpu_entry *gpu = &topology->gpus[i];
		if (strcmp(c->params->gpu, gpu->name) == 0)
			left = case_replica_gpus(c->params);
		if (!all && left-- <= 0)
			continue;
		any = true;
		if (!gpu_has_tensor_cores(&gpu->params, type))
			return false;
	}
	return any;
}

/* The default is what people train with today, in the first number type of the list for which the
 * GPUs have tensor cores. Older GPUs train in fp32. */
static const char *default_stack(struct reader *c)
{
	if (case_serves(c))
		return all_have(c, NUMBER_BF16) ? "serving" : "serving-fp16";
	bool sequences = takes_sequences(c);
	if (sequences && all_have(c, NUMBER_BF16))
		return "pytorch-bf16-adamw";
	if (all_have(c, NUMBER_FP16))
		return sequences ? "pytorch-fp16-adamw" : "pytorch-amp";
	return sequences ? "pytorch-adamw" : "pytorch";
}

const struct cfg_node *case_find_stack(struct reader *c)
{
	if (strcmp(c->params->stack, "auto") == 0) {
		c->params->stack = default_stack(c);
		cfg_param_choose(
			c->resolution, "case.stack", c->params->stack,
			"chosen by auto, for the network and the number types of the GPUs");
	}
	const struct cfg_node *file;
	const struct cfg_node *node =
		case_group(c, case_origin_of(c, "case.stack"), "models/stacks", "stack",
			   c->params->stack, "stack", &file);
	if (!file)
		return NULL;
	cfg_only(c->diag, file, CFG_KEYS("stack", "input", "phases"));
	case_defaults(c, cfg_child(file, "input"), "input", &input_table);
	c->stack_phases = cfg_child(file, "phases");
	case_read_engine(c);
	return node;
}

static const char *key_of(const struct reader *c, const char *prefix, const char *key)
{
	return case_setting_or(c, arena_printf(c->arena, "%s.%s", prefix, key), "case.stack");
}

/* Reads a stack, whose parameters are prefix.KEY. */
static const struct stack_params *read_stack(struct reader *c, const struct cfg_node *node,
					     const char *prefix, const char *name)
{
	struct stack_params *stack = ARENA_NEW(c->arena, struct stack_params);
	if (node)
		reader_params(c, node, prefix, arena_printf(c->arena, "stack '%s'", name),
			      &stack_table, stack);
	bool trains = !case_serves(c) && !stack->forward_only;
	if (trains && framework_at((size_t)stack->framework)->inference)
		case_error(c, key_of(c, prefix, "framework"),
			   "stack.framework is %s, which cannot train (write pytorch, or add a "
			   "group serve to the case or stack.forward_only=true)",
			   framework_at((size_t)stack->framework)->name);
	else if (trains && stack->fusion >= FUSION_INFERENCE)
		case_error(c, key_of(c, prefix, "fusion"),
			   "stack.fusion is %s, which cannot train (write all, or add a group "
			   "serve to the case or stack.forward_only=true)",
			   stack->fusion == FUSION_SESSION ? "session" : "inference");
	if (stack->forward_only && !case_serves(c) && case_job_shares(c))
		case_error(c, "case.gpus",
			   "stack.forward_only is a forward pass on one GPU (write case.gpus=1, or "
			   "several clients)");
	if (stack->context_count > 0 &&
	    (case_serves(c) || !stack->forward_only || !stack->fused_attention))
		case_error(c, key_of(c, prefix, "context"),
			   "stack.context is the cache of one forward pass with fused attention "
			   "(write "
			   "--stack pytorch-decode, or leave out stack.context)");
	if (stack->cold && (case_serves(c) || case_job_shares(c)))
		case_error(
			c, key_of(c, prefix, "cold"),
			"stack.cold is a process with one GPU (write case.gpus=1, or leave out the "
			"group serve)");
	if (stack->cold && !framework_at((size_t)stack->framework)->starts)
		case_error(
			c, key_of(c, prefix, "cold"),
			"stack.cold is known for PyTorch only (write --stack pytorch-inference, or "
			"another stack of PyTorch)");
	return stack;
}

void case_read_stack(struct reader *c, const struct cfg_node *node)
{
	c->stack = read_stack(c, node, "stack", c->params->stack);
}

const struct stack_params *case_client_stack(struct reader *c, const struct job_entry *client,
					     const char *name)
{
	const struct cfg_node *file, *node = case_group(c, client->origin, "models/stacks", "stack",
							name, "stack", &file);
	return read_stack(c, node, arena_printf(c->arena, "stack.%s", client->name), name);
}
