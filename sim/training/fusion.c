/* SPDX-License-Identifier: GPL-3.0-or-later */
/* XLA's fusion: elementwise neighbours become one kernel. With FUSION_LAYER only those of the same
 * layer do, as in libraries with a kernel for each layer.
 *
 * An op joins the group of each elementwise op whose output it reads. It cannot join if an op
 * outside that group already reads an output of the group. The reason: the fused op takes the
 * place of the group's last op, and its readers must come later. Within a group, no op reads
 * another op's output from memory. An output is written only if an op outside the group reads
 * it. For inference, pointwise ops join the group of a product, and a group has one product.
 * Updates are not fused with ops that make gradients, because the exchange runs between
 * them.
 */
#include "sim/training/ops.h"

struct fusion {
	const struct op_graph *graph;
	enum stack_fusion fusion;
	uint32_t *group; /* by op: number of its group, which is the index of the group's last op */
	bool *closed;    /* by group: an op outside reads one of its outputs */
	bool *product;   /* by group: it contains a product or a convolution */
	bool *leaves;    /* by op: an op outside its group reads its output */
	bool *stays;     /* by op: an op of its group reads its output */
};

static bool is_product(const struct op *op)
{
	return op->work.form == KERNEL_PRODUCT || op->work.form == KERNEL_CONVOLUTION;
}

static bool joins(const struct fusion *f, const struct op *op, uint32_t input)
{
	const struct op *from = &f->graph->ops[input];
	return op->elementwise && from->elementwise && !f->closed[f->group[input]] &&
	       !f->product[f->group[input]] &&
	       (f->fusion != FUSION_LAYER || op->layer == from->layer) &&
	       from->update_of == op->update_of;
}

/* Returns true if the kernel of a product, with what it already computes behind the product, can
 * also compute the op. */
static bool joins_product(const struct fusion *f, const struct op *op, uint32_t input)
{
	return op->pointwise && f->product[f->group[input]] && !f->closed[f->group[input]];
}

static void merge(struct fusion *f, uint32_t from, uint32_t into)
{
	for (size_t i = 0; from != into && i <= into; i++)
		if (f->group[i] == from)
			f->group[i] = into;
	f->product[into] |= f->product[from];
}

static void find_groups(struct fusion *f)
{
	for (uint32_t i = 0; i < f->graph->count; i++) {
		const struct op *op = &f->graph->ops[i];
		f->group[i] = i;
		f->product[i] = f->fusion >= FUSION_INFERENCE && is_product(op);
		for (uint32_t k = 0; k < op->input_count && !f->product[i]; k++)
			if (joins_product(f, op, op->inputs[k]))
				merge(f, f->group[op->inputs[k]], i);
		for (uint32_t k = 0; k < op->input_count && !f->product[i]; k++)
			if (f->group[op->inputs[k]] != i && joins(f, op, op->inputs[k]))
				merge(f, f->group[op->inputs[k]], i);
		for (uint32_t k = 0; k < op->input_count; k++) {
			bool inside = f->group[op->inputs[k]] == i;
			*(inside ? &f->stays[op->inputs[k]] : &f->leaves[op->inputs[k]]) = true;
			if (!inside)
				f->closed[f->group[op->inputs[k]]] = true;
		}
	}
}

/* Creates one op without work for each group, in the order of the groups' last ops.
 * where[group] is its index. */
static void collect(struct arena *arena, const struct fusion *f, struct op *ops, uint32_t *where,
		    size_t *count)
{
	const struct op_graph *graph = f->graph;
	size_t *inputs = ARENA_ARRAY(arena, graph->count, size_t);
	size_t *gradients = ARENA_ARRAY(arena, graph->count, size_t);
	for (size_t i = 0; i < graph->count; i++) {
		inputs[f->group[i]] += graph->ops[i].input_count;
		gradients[f->group[i]] += graph->ops[i].gradient_count;
	}
	for (size_t i = 0; i < graph->count; i++) {
		if (f->group[i] != i)
			continue;
		where[i] = (uint32_t)*count;
		ops[*count] = graph->ops[i];
		ops[*count].inputs = ARENA_ARRAY(arena, inputs[i] + 1, uint32_t);
		ops[*count].gradients = ARENA_ARRAY(arena, gradients[i] + 1, uint32_t);
		ops[*count].input_count = ops[*count].gradient_count = 0;
		ops[*count].work.flop = ops[*count].work.bytes_B = ops[*count].wait_s = 0;
		(*count)++;
	}
}

static void take_in(const struct fusion *f, uint32_t index, const uint32_t *where, struct op *group)
{
	const struct op *op = &f->graph->ops[index];
	uint32_t *inputs = (uint32_t *)group->inputs, *gradients = (uint32_t *)group->gradients;
	double saved_B = 0;
	for (uint32_t k = 0; k < op->input_count; k++) {
		uint32_t from = op->inputs[k];
		/* The smaller of both, because a moving average reads only a summary. */
		if (f->group[from] == f->group[index])
			saved_B += fmin(f->graph->ops[from].output_B, op->output_B);
		else
			inputs[group->input_count++] = where[f->group[from]];
	}
	if (f->stays[index] && !f->leaves[index])
		saved_B += op->output_B;
	for (uint32_t k = 0; k < op->gradient_count; k++)
		gradients[group->gradient_count++] = op->gradients[k];
	if (is_product(op)) {
		struct kernel_work sum = op->work;
		sum.flop = group->work.flop;
		sum.bytes_B = group->work.bytes_B;
		group->work = sum;
	}
	group->wait_s += op->wait_s;
	group->work.meets |= op->work.meets;
	group->work.flop += op->kernels * op->work.flop;
	group->work.bytes_B += op->kernels * op->work.bytes_B - saved_B;
}

/* op->work holds the work of all its kernels; changes it to the work of one kernel. */
static void share_out(struct op *op)
{
	op->kernels = op->elementwise ? 1 : op->kernels;
	/* XLA generates its own kernel */
	op->library = is_product(op) || (op->library && !op->elementwise);
	if (op->kernels > 1) {
		op->work.flop /= op->kernels;
		op->work.bytes_B /= op->kernels;
	}
}

struct op_graph op_graph_fuse(struct arena *arena, const struct op_graph *graph,
			      enum stack_fusion fusion)
{
	struct fusion f = {.graph = graph,
			   .fusion = fusion,
			   .group = ARENA_ARRAY(arena, graph->count, uint32_t),
			   .closed = ARENA_ARRAY(arena, graph->count, bool),
			   .product = ARENA_ARRAY(arena, graph->count, bool),
			   .leaves = ARENA_ARRAY(arena, graph->count, bool),
			   .stays = ARENA_ARRAY(arena, graph->count, bool)};
	struct op *ops = ARENA_ARRAY(arena, graph->count, struct op);
	uint32_t *where = ARENA_ARRAY(arena, graph->count, uint32_t);
	struct op_graph fused = *graph;
	fused.ops = ops;
	fused.count = 0;
	find_groups(&f);
	collect(arena, &f, ops, where, &fused.count);
	for (uint32_t i = 0; i < graph->count; i++)
		take_in(&f, i, where, &ops[where[f.group[i]]]);
	for (size_t i = 0; i < fused.count; i++)
		share_out(&ops[i]);
	fused.output = where[f.group[graph->output]];
	fused.loss = where[f.group[graph->loss]];
	return fused;
}
