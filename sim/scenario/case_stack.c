/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the stack of a case: framework and benchmark code. */
#include "sim/base/arena.h"
#include "sim/scenario/case.h"

/* The group `input` of a stack's file sets the input parameters that the case does not set. */
static void apply_stack_input(struct case_reader *c, const struct cfg_node *group)
{
	enum { KEY_SIZE = 80 };
	struct reader *reader = &c->reader;
	const struct cfg_node *own = cfg_child(c->file, "input");
	const char **keys = ARENA_ARRAY(reader->arena, input_table.count, const char *);
	for (size_t i = 0; i < input_table.count; i++) {
		char key[KEY_SIZE];
		param_key(&input_table.rows[i], key, sizeof key);
		keys[i] = arena_strdup(reader->arena, key);
		const struct cfg_node *value = cfg_child(group, key);
		if (!value || cfg_child(own, key))
			continue;
		cfg_override_node(reader->resolution, arena_printf(reader->arena, "input.%s", key),
				  value);
		cfg_override_node(reader->resolution,
				  arena_printf(reader->arena, "input.*.%s", key), value);
	}
	if (group)
		cfg_only(reader->diag, group, keys, input_table.count);
}

const struct cfg_node *case_find_stack(struct case_reader *c)
{
	static const char *const known[] = {"stack", "input", "phases"};
	const struct cfg_node *file;
	const struct cfg_node *node = case_group(c, case_said(c, "case.stack"), "models/stacks",
						 "stack", c->params->stack, "stack", &file);
	if (!file)
		return NULL;
	cfg_only(c->reader.diag, file, known, sizeof known / sizeof known[0]);
	apply_stack_input(c, cfg_child(file, "input"));
	c->stack_phases = cfg_child(file, "phases");
	return node;
}

void case_read_stack(struct case_reader *c, const struct cfg_node *node)
{
	struct stack_params *stack = ARENA_NEW(c->reader.arena, struct stack_params);
	if (node)
		reader_params(&c->reader, node, "stack",
			      arena_printf(c->reader.arena, "stack '%s'", c->params->stack),
			      &stack_table, stack);
	if (stack->fusion == FUSION_INFERENCE && !case_serves(c))
		diag_error(
			c->reader.diag, case_said(c, "case.stack"),
			"stack.fusion is inference, which cannot train (write all, or add a group "
			"serve to the case)");
	c->stack = stack;
}
