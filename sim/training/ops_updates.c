/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ops of the optimiser: a kernel for each tensor, for groups of tensors, or passes over all. */
#include "sim/training/ops_builder.h"

/* LARS reads weights and gradients once more. Kernels for all tensors compute the squares of
 * weights, those of gradients, and the rates. */
enum { LARS_PASSES = 2, LARS_KERNELS = 3 };
/* FusedLAMB reads gradients for their norm, writes updates beside Adam's states, reads weights and
 * updates for their norms, and reads both again to write weights. */
enum { LAMB_PASSES = 6 };
/* PyTorch's optimisers do each operation for all tensors in a pass of its own ("foreach"), unless
 * they are fused. SGD with momentum scales the momentum, adds the gradient and moves the weights: 2
 * + 3 + 3 arrays. AdamW decays the weights (2), mixes the mean (3) and the squares (2 + 3), and
 * moves the weights by a quotient of both (2 + 2 + 2 + 4) (torch/optim/adam.py,
 * _multi_tensor_adam). */
enum { FOREACH_COPIES = 3 };
static const double foreach_passes[FOREACH_COPIES] = {3, 8, 20};

static uint32_t tensor_op(struct builder *b, const char *what, uint32_t number, double passes,
			  const uint32_t *inputs, uint32_t input_count)
{
	double size_B = b->tensors[number].elements_count * b->weight_B;
	return builder_elementwise(
		b, builder_inputs_op(b, what, passes * size_B, inputs, input_count), size_B);
}

/* Returns how often the optimiser reads or writes an array of the tensor's size. With master
 * weights these arrays are fp32. In addition, gradients are converted to fp32, and weights to 16
 * bits. */
static double update_passes(const struct builder *b)
{
	const struct stack_params *stack = b->stack;
	size_t copies = (size_t)stack->optimiser_copies_count;
	if (stack->foreach_optimiser && copies < FOREACH_COPIES)
		return foreach_passes[copies];
	double passes = 3 + 2 * stack->optimiser_copies_count + (stack->lars ? LARS_PASSES : 0) +
			(stack->lamb ? LAMB_PASSES : 0);
	return stack->master_weights ? (4 * passes + 2 * (4 + b->weight_B)) / b->weight_B : passes;
}

/* Adds the op that updates a tensor. If weight decay is part of the loss, an op before it adds
 * the gradient of weight decay. */
static void update(struct builder *b, uint32_t number, uint32_t gradient)
{
	b->pass = PASS_UPDATE;
	if (b->decay[number] != NONE) {
		uint32_t *tensor = ARENA_NEW(b->arena, uint32_t);
		*tensor = number;
		gradient = tensor_op(b, ".grad_add", number, 3,
				     (uint32_t[]){gradient, b->decay[number]}, 2);
		b->ops.items[gradient].gradients = tensor;
		b->ops.items[gradient].gradient_count = 1;
	}
	uint32_t op = tensor_op(b, ".update", number, update_passes(b), &gradient, 1);
	b->ops.items[op].update_of = number;
	b->pass = PASS_BACKWARD;
}

void builder_complete(struct builder *b, uint32_t op)
{
	uint32_t first = b->first_tensor[b->layer], count = 0;
	uint32_t all = builder_layer(b)->frozen ? 0 : (uint32_t)builder_layer(b)->tensor_count;
	if (all == 0)
		return;
	uint32_t *tensors = ARENA_ARRAY(b->arena, all, uint32_t);
	for (uint32_t t = first; t < first + all; t++)
		if (b->decay[t] == NONE)
			tensors[count++] = t;
	b->ops.items[op].gradients = tensors;
	b->ops.items[op].gradient_count = count;
	for (uint32_t t = first; t < first + all; t++)
		update(b, t, op);
}

/* Gives the work of update_tensors_count updates to the last of them. */
void builder_group_updates(struct op *ops, size_t count, const struct stack_params *stack)
{
	struct op *last = NULL;
	double members_count = 0;
	uint32_t kernels = stack->lars || stack->lamb ? 1 + LARS_KERNELS : 1;
	for (size_t i = 0; i < count; i++) {
		struct op *op = &ops[i];
		if (op->update_of == NO_TENSOR)
			continue;
		if (last && members_count < stack->update_tensors_count) {
			op->work.bytes_B += last->work.bytes_B;
			last->kernels = 0;
		} else {
			members_count = 0;
			kernels = last ? 1 : kernels;
		}
		op->kernels = kernels;
		members_count++;
		last = op;
	}
	for (size_t i = 0; (stack->lars || stack->lamb) && i < count; i++)
		if (ops[i].update_of != NO_TENSOR && ops[i].kernels > 1)
			ops[i].work.bytes_B /= ops[i].kernels;
}
