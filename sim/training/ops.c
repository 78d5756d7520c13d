/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/training/ops.h"
#include "sim/training/ops_builder.h"

/* Largest number of elements that a full reduction sums in one kernel (TensorFlow 1.12,
 * reduction_gpu_kernels.cu.h, LaunchScalarReduction). */
#define ONE_KERNEL_REDUCTION_COUNT 4096.0
/* Largest number of inputs of one kernel of an n-ary sum (TensorFlow, aggregate_ops). */
enum { SUM_WIDTH = 8 };
/* Number of small kernels of a sparse softmax cross-entropy with its mean, of its gradient, and
 * of one moving average. */
enum { SOFTMAX_KERNELS = 6, SOFTMAX_GRAD_KERNELS = 2, MOVING_AVERAGE_KERNELS = 3 };

/* Appends an op of that many kernels, which share flop and bytes_B. Inputs that are NONE are left
 * out. */
static uint32_t add_op(struct builder *b, const char *name, bool library, uint32_t kernels,
		       double flop, double bytes_B, const uint32_t *inputs, uint32_t input_count)
{
	uint32_t index = (uint32_t)b->ops.count;
	struct op *op = VEC_PUSH(b->arena, &b->ops);
	uint32_t *kept = ARENA_ARRAY(b->arena, input_count ? input_count : 1, uint32_t);
	uint32_t count = 0;
	for (uint32_t i = 0; i < input_count; i++)
		if (inputs[i] != NONE)
			kept[count++] = inputs[i];
	double share = kernels ? 1.0 / kernels : 1.0;
	*op = (struct op){.name = name,
			  .layer = b->layer,
			  .pass = b->pass,
			  .library = library,
			  .kernels = kernels,
			  .work = {.flop = flop * share, .bytes_B = bytes_B * share},
			  .inputs = kept,
			  .input_count = count,
			  .update_of = NO_TENSOR};
	return index;
}

uint32_t builder_elementwise(struct builder *b, uint32_t op, double output_B)
{
	b->ops.items[op].elementwise = true;
	b->ops.items[op].output_B = output_B;
	return op;
}

double builder_B(const struct builder *b, double elements)
{
	return elements * b->batch * b->element_B;
}

double builder_output_B(const struct builder *b, size_t layer)
{
	double elements = b->network->layers[layer].output_count;
	return b->wide[layer] ? 4 * elements * b->batch : builder_B(b, elements);
}

double builder_inputs_B(const struct builder *b, const struct layer *layer)
{
	double sum_B = builder_B(b, layer->input_count_total);
	for (size_t i = 0; i < layer->input_count; i++)
		if (b->wide[layer->inputs[i]])
			sum_B += (4 - b->element_B) * b->batch *
				 b->network->layers[layer->inputs[i]].output_count;
	return sum_B;
}

uint32_t builder_change(struct builder *b, const char *what, double elements, uint32_t input)
{
	return builder_op(b, what, 1, elements * b->batch * (4 + b->element_B), input);
}

/* Returns true if the layer's output is fp32. Autocast runs products in 16 bits, layer norms and
 * powers in fp32, and other ops in the widest type of their inputs. Tables of embeddings are fp32
 * (PyTorch, autocast op reference). Libraries with fused layers keep 16 bits. */
static bool is_wide(const struct builder *b, const struct layer *layer)
{
	if (!b->stack->autocast || b->stack->fusion == FUSION_LAYER || b->element_B >= 4 ||
	    !b->network->has_tokens)
		return false;
	switch (layer->op) {
	case LAYER_EMBEDDING:
	case LAYER_POSITIONS:
	case LAYER_LAYER_NORM:
	case LAYER_GELU_NEW:
		return true;
	case LAYER_INPUT:
	case LAYER_CONV:
	case LAYER_TRANSPOSED_CONV:
	case LAYER_FC:
	case LAYER_LINEAR:
	case LAYER_ATTENTION:
	case LAYER_RECURRENT:
	case LAYER_ROUTE:
		return false;
	default:
		break;
	}
	for (size_t i = 0; i < layer->input_count; i++)
		if (b->wide[layer->inputs[i]])
			return true;
	return false;
}

const struct layer *builder_layer(const struct builder *b)
{
	return &b->network->layers[b->layer];
}

/* Returns the name of an op of the layer whose ops are written. */
static const char *op_name(struct builder *b, const char *what)
{
	return arena_printf(b->arena, "%s%s", builder_layer(b)->name, what);
}

uint32_t builder_op(struct builder *b, const char *what, uint32_t kernels, double bytes_B,
		    uint32_t input)
{
	return add_op(b, op_name(b, what), false, kernels, 0, bytes_B, &input, 1);
}

uint32_t builder_inputs_op(struct builder *b, const char *what, double bytes_B,
			   const uint32_t *inputs, uint32_t input_count)
{
	return add_op(b, op_name(b, what), false, 1, 0, bytes_B, inputs, input_count);
}

uint32_t builder_reduction(struct builder *b, const char *what, double bytes_B, uint32_t input)
{
	uint32_t op = builder_op(b, what, 1, bytes_B, input);
	b->ops.items[op].work.reduces = true;
	return op;
}

uint32_t builder_library(struct builder *b, const char *what, double flop, double bytes_B,
			 uint32_t input)
{
	return add_op(b, op_name(b, what), true, 1, flop, bytes_B, &input, 1);
}

/* Returns the size of a ReLU's bits divided by that of its output, or 0 if it has no bits. A norm
 * with its ReLU in one kernel keeps a bit for each element, and backward reads it in place of the
 * output (cuDNN: reserve space of CUDNN_BATCHNORM_OPS_BN_ACTIVATION; MXNet and OneFlow: bitmask).
 */
static double mask_passes(const struct builder *b, const struct layer *layer)
{
	enum layer_op input = b->network->layers[layer->inputs[0]].op;
	bool masked = b->stack->fusion == FUSION_NORM && layer->op == LAYER_RELU &&
		      !b->stack->forward_only && (input == LAYER_BATCH_NORM || input == LAYER_ADD);
	return masked ? 1 / (8 * b->element_B) : 0;
}

/* Returns multiples of the sizes of the layer's inputs and of its output. */
static double traffic_B(const struct builder *b, const struct layer *layer, const double ratios[2])
{
	return ratios[0] * builder_inputs_B(b, layer) +
	       ratios[1] * builder_output_B(b, (size_t)(layer - b->network->layers));
}

/* Returns by how much slower than cuDNN's kernels the layer's are. In bf16 PyTorch has batch norm
 * of its own (ATen, Normalization.cpp). In NCHW it takes 2.3 times as long for its bytes in
 * ResNet-50 on an H100 (calib/trace/kernels_summary.py). */
static double slowness(const struct builder *b, const struct layer *layer)
{
	const struct stack_params *stack = b->stack;
	bool own = layer->op == LAYER_BATCH_NORM && stack->precision == PRECISION_BF16 &&
		   stack->layout == LAYOUT_NCHW && stack->fusion == FUSION_NONE &&
		   !stack->forward_only;
	return own ? 2.3 : 1;
}

/* Returns the bytes of GPU memory that the layer's forward op reads and writes. */
static double forward_B(const struct builder *b, const struct layer *layer)
{
	const double *ratios = layer_kind(layer->op)->forward;
	if (layer_has(layer->op, PRODUCT))
		return traffic_B(b, layer, ratios) + convolution_weights(b, layer) * b->element_B;
	/* with fixed statistics, batch norm need not read its input for them */
	double saved = b->stack->forward_only && layer->op == LAYER_BATCH_NORM;
	return slowness(b, layer) *
	       traffic_B(b, layer,
			 (double[]){ratios[0], ratios[1] + mask_passes(b, layer) - saved});
}

/* Returns true if the op can be one kernel with its neighbours. cuDNN fuses batch norm with the
 * addition and the ReLU after it. A compiler fuses all. */
static bool is_elementwise(const struct builder *b, enum layer_op op)
{
	bool normalises = op == LAYER_BATCH_NORM || op == LAYER_RELU || op == LAYER_ADD;
	bool other = op == LAYER_BIAS || op == LAYER_DROPOUT || op == LAYER_INSTANCE_NORM ||
		     op == LAYER_SIGMOID || op == LAYER_SCALE;
	return normalises || (b->stack->fusion != FUSION_NORM && other);
}

uint32_t builder_cast(struct builder *b, const char *what, double elements, uint32_t input)
{
	if (!b->stack->autocast || b->element_B >= b->weight_B)
		return input;
	uint32_t op = builder_op(b, what, 1, elements * (b->element_B + b->weight_B), input);
	b->ops.items[op].of_variables = input == NONE;
	return op;
}

/* Returns the time in which a batch norm combines its statistics with those of other GPUs, in
 * exchanges between pairs of GPUs. */
static double norm_wait_s(const struct builder *b, const struct layer *layer)
{
	return layer->op == LAYER_BATCH_NORM
		       ? ceil(log2(fmax(1, b->stack->norm_gpus_count))) * b->stack->norm_exchange_s
		       : 0;
}

/* Returns true if the layer's kernels sum, or visit elements in another order than that of memory:
 * norms, poolings, and the gradients of biases. The persistent norms of cuDNN stream. */
static bool sums(const struct builder *b, const struct layer *layer)
{
	const struct stack_params *stack = b->stack;
	return (layer->op == LAYER_BATCH_NORM && stack->fusion != FUSION_NORM &&
		!stack->persistent_norm && !stack->forward_only) ||
	       layer->op == LAYER_INSTANCE_NORM || layer->op == LAYER_MAX_POOL ||
	       (layer->op == LAYER_BIAS && b->pass == PASS_BACKWARD);
}

static bool meets(const struct builder *b, const struct layer *layer)
{
	return layer->op == LAYER_BATCH_NORM && !b->stack->forward_only;
}

/* Returns true if inference does not compute the layer: there is no dropout, and for inference
 * engines batch norm with fixed statistics is part of the weights before it (TensorRT, developer
 * guide; torch.compile's freezing; ONNX Runtime, conv_bn_fusion.cc). */
static bool vanishes(const struct builder *b, const struct layer *layer)
{
	if (b->stack->forward_only && layer->op == LAYER_DROPOUT)
		return true;
	return b->stack->fusion >= FUSION_INFERENCE && layer->op == LAYER_BATCH_NORM &&
	       b->network->layers[layer->inputs[0]].op == LAYER_CONV;
}

/* Returns true if the kernel of a product before the layer can compute it. ONNX Runtime has the
 * kernel of a convolution add and take the ReLU (conv_activation_fusion.cc), but that of another
 * product only add the bias (matmul_add_fusion.cc). */
static bool is_pointwise(const struct builder *b, const struct layer *layer)
{
	const struct layer *layers = b->network->layers, *from = &layers[layer->inputs[0]];
	const struct layer *last = &layers[b->network->layer_count - 1];
	if (b->stack->fusion != FUSION_SESSION || layer->op == LAYER_BIAS)
		return layer_has(layer->op, POINTWISE);
	if (from->op == LAYER_BIAS)
		from = &layers[from->inputs[0]];
	return !b->network->has_tokens && from->op != LAYER_FC &&
	       (layer->op == LAYER_RELU ||
		(layer->op == LAYER_ADD && layer < last && layer[1].op == LAYER_RELU));
}

/* Marks the op of the layer's output if the layer has dropout. */
static void mark_random(struct builder *b)
{
	const struct layer *layer = builder_layer(b);
	bool attention = layer->op == LAYER_ATTENTION && layer->attention.dropout;
	if (!b->stack->forward_only && (layer->op == LAYER_DROPOUT || attention))
		b->ops.items[b->forward[b->layer]].random = true;
}

static void forward_layer(struct builder *b)
{
	const struct layer *layer = builder_layer(b);
	uint32_t *output = &b->forward[b->layer];
	double channels_B = (double)layer->channels * 4;
	uint32_t inputs[LAYER_INPUTS_MAX] = {0};
	for (size_t i = 0; i < layer->input_count; i++)
		inputs[i] = b->forward[layer->inputs[i]];
	b->wide[b->layer] = is_wide(b, layer);
	if (layer->op == LAYER_INPUT) {
		*output = NONE;
		return;
	}
	if (vanishes(b, layer)) {
		*output = inputs[0];
		return;
	}
	if (layer->op >= LAYER_EMBEDDING) {
		tokens_forward(b);
		b->ops.items[*output].pointwise = is_pointwise(b, layer);
		return;
	}
	*output =
		add_op(b, layer->name, layer_has(layer->op, LIBRARY),
		       layer->op == LAYER_SOFTMAX ? SOFTMAX_KERNELS : 1, 2 * layer->macs * b->batch,
		       forward_B(b, layer), inputs, (uint32_t)layer->input_count);
	b->ops.items[*output].wait_s = norm_wait_s(b, layer);
	b->ops.items[*output].work.reduces = sums(b, layer);
	b->ops.items[*output].work.meets = meets(b, layer);
	b->ops.items[*output].pointwise = is_pointwise(b, layer);
	if (layer_has(layer->op, PRODUCT))
		*output = convolution_forward(b, layer, *output);
	if (is_elementwise(b, layer->op))
		builder_elementwise(b, *output, builder_output_B(b, b->layer));
	bool averages = !b->stack->fused_averages && !b->stack->forward_only;
	for (size_t i = 0; averages && i < layer->state_tensor_count; i++)
		builder_elementwise(b,
				    builder_op(b, ".moving", MOVING_AVERAGE_KERNELS,
					       3.0 * MOVING_AVERAGE_KERNELS * channels_B, *output),
				    channels_B);
}

static bool has_l2_loss(const struct builder *b, const struct layer *layer)
{
	switch (b->stack->l2_loss) {
	case L2_LOSS_NONE:
		return false;
	case L2_LOSS_NO_BATCH_NORM:
		return layer->op != LAYER_BATCH_NORM && layer->op != LAYER_INSTANCE_NORM;
	default:
		return true;
	}
}

static void push_loss(struct builder *b, uint32_t op)
{
	uint32_t *slot = VEC_PUSH(b->arena, &b->losses);
	*slot = op;
}

/* Adds the ops of weight decay: its gradient or its loss. They need only the variables, so they
 * are ready when a step begins. */
static void decay_ops(struct builder *b, bool gradient)
{
	for (size_t i = 0; i < b->network->layer_count; i++) {
		const struct layer *layer = &b->network->layers[i];
		b->layer = (uint32_t)i;
		for (size_t t = 0; !layer->frozen && t < layer->tensor_count; t++) {
			uint32_t number = b->first_tensor[i] + (uint32_t)t;
			double size_B = layer->tensors[t] * b->weight_B;
			if (!has_l2_loss(b, layer)) {
				b->decay[number] = NONE;
			} else if (gradient) {
				b->decay[number] = builder_elementwise(
					b, builder_op(b, ".decay", 1, 2 * size_B, NONE), size_B);
			} else {
				uint32_t kernels =
					layer->tensors[t] > ONE_KERNEL_REDUCTION_COUNT ? 2 : 1;
				push_loss(b, builder_op(b, ".l2", kernels, size_B, NONE));
			}
		}
	}
}

static uint32_t l2_loss(struct builder *b, uint32_t loss)
{
	if (b->stack->l2_loss == L2_LOSS_SINGLE_OP) {
		double size_B = b->network->parameters_count * b->weight_B;
		uint32_t all = add_op(b, "l2.concat", false, 1, 0, 2 * size_B, NULL, 0);
		push_loss(b, add_op(b, "l2", false, 2, 0, size_B, &all, 1));
	} else {
		decay_ops(b, false);
	}
	uint32_t count = (uint32_t)b->losses.count;
	if (count == 0)
		return loss;
	uint32_t sum = add_op(b, "l2.sum", false, (count + SUM_WIDTH - 1) / SUM_WIDTH, 0,
			      8.0 * count, b->losses.items, count);
	return add_op(b, "loss.total", false, 2, 0, 16, (uint32_t[]){loss, sum}, 2);
}

uint32_t builder_sum(struct builder *b, size_t layer, uint32_t one, uint32_t other, double size_B)
{
	const char *name = arena_printf(b->arena, "%s.grad_sum", b->network->layers[layer].name);
	uint32_t inputs[] = {one, other};
	return builder_elementwise(b, add_op(b, name, false, 1, 0, 3 * size_B, inputs, 2), size_B);
}

/* Notes that op computes a gradient of the layer's output. If several layers use that output, a
 * further op sums their gradients. */
void builder_receive(struct builder *b, size_t layer, uint32_t op)
{
	if (b->gradient[layer] == NONE) {
		b->gradient[layer] = op;
		return;
	}
	b->gradient[layer] =
		builder_sum(b, layer, b->gradient[layer], op, builder_output_B(b, layer));
}

/* Returns the bytes of GPU memory that the layer's backward op reads and writes. */
static double backward_B(const struct builder *b, const struct layer *layer)
{
	double mask = mask_passes(b, layer);
	if (mask > 0)
		return (2 + mask) * builder_B(b, layer->output_count);
	return slowness(b, layer) * traffic_B(b, layer, layer_kind(layer->op)->backward);
}

/* The gradient of a channel's scale is a sum over its pixels of gradient times input. */
static void scale_backward(struct builder *b, const struct layer *layer, uint32_t gradient)
{
	double out_B = builder_output_B(b, b->layer);
	uint32_t product =
		builder_elementwise(b, builder_op(b, ".grad_gate", 1, 3 * out_B, gradient), out_B);
	builder_receive(b, layer->inputs[1], builder_reduction(b, ".grad_sum", out_B, product));
	builder_receive(
		b, layer->inputs[0],
		builder_elementwise(b, builder_op(b, ".grad", 1, 2 * out_B, gradient), out_B));
}

static void backward_layer(struct builder *b)
{
	const struct layer *layer = builder_layer(b);
	uint32_t gradient = b->gradient[b->layer];
	if (layer->op >= LAYER_EMBEDDING) {
		tokens_backward(b);
		return;
	}
	switch (layer->op) {
	case LAYER_INPUT:
		return;
	case LAYER_CONV:
	case LAYER_TRANSPOSED_CONV:
	case LAYER_FC:
		convolution_backward(b, layer, forward_B(b, layer));
		return;
	case LAYER_SCALE:
		scale_backward(b, layer, gradient);
		return;
	case LAYER_ADD: /* the gradient passes unchanged, but in the type of each input */
		for (size_t i = 0; i < layer->input_count; i++) {
			bool narrows = b->wide[b->layer] && !b->wide[layer->inputs[i]];
			builder_receive(b, layer->inputs[i],
					narrows ? builder_change(b, ".grad_down",
								 layer->output_count, gradient)
						: gradient);
		}
		return;
	case LAYER_CONCAT:
		for (size_t i = 0; i < layer->input_count; i++) {
			double part =
				builder_B(b, b->network->layers[layer->inputs[i]].output_count);
			builder_receive(b, layer->inputs[i],
					builder_op(b, ".slice", 1, 2 * part, gradient));
		}
		return;
	default:
		break;
	}
	uint32_t op = add_op(b, op_name(b, ".grad"), layer_has(layer->op, LIBRARY),
			     layer->op == LAYER_SOFTMAX ? SOFTMAX_GRAD_KERNELS : 1, 0,
			     backward_B(b, layer), &gradient, 1);
	b->ops.items[op].wait_s = norm_wait_s(b, layer);
	b->ops.items[op].work.reduces = sums(b, layer);
	b->ops.items[op].work.meets = meets(b, layer);
	/* A bias's gradient is a sum over its layer's output. */
	if (is_elementwise(b, layer->op) && layer->op != LAYER_BIAS)
		builder_elementwise(b, op, builder_B(b, layer->output_count));
	builder_receive(b, layer->inputs[0], layer->op == LAYER_BIAS ? gradient : op);
	builder_complete(b, op);
}

static void number_tensors(struct builder *b)
{
	size_t count = 0;
	for (size_t i = 0; i < b->network->layer_count; i++) {
		b->first_tensor[i] = (uint32_t)count;
		b->forward[i] = b->gradient[i] = b->tied[i] = NONE;
		if (!b->network->layers[i].frozen)
			count += b->network->layers[i].tensor_count;
	}
	b->decay = ARENA_ARRAY(b->arena, count + 1, uint32_t);
	b->tensors = ARENA_ARRAY(b->arena, count + 1, struct op_tensor);
	for (size_t i = 0; i < b->network->layer_count; i++) {
		const struct layer *layer = &b->network->layers[i];
		for (size_t t = 0; !layer->frozen && t < layer->tensor_count; t++)
			b->tensors[b->tensor_count++] =
				(struct op_tensor){layer->name, layer->tensors[t]};
	}
}

/* Adds the waits of an engine that waits for its stream behind forward, backward and each kernel of
 * the optimiser. */
static void add_waits(struct op_graph *graph, const struct stack_params *stack)
{
	struct op *ops = (struct op *)graph->ops, *backward = ops;
	for (size_t i = 0; i < graph->count; i++) {
		if (ops[i].update_of != NO_TENSOR)
			ops[i].wait_s += ops[i].kernels * stack->engine_wait_s;
		else if (ops[i].kernels > 0)
			backward = &ops[i];
	}
	ops[graph->output].wait_s += stack->engine_wait_s;
	backward->wait_s += stack->engine_wait_s;
}

/* Adds the ops of weight decay, of the backward pass and of the updates. Returns the op whose
 * output the step fetches. */
static uint32_t add_training(struct builder *b)
{
	uint32_t last = (uint32_t)b->network->layer_count - 1;
	b->layer = last;
	b->pass = PASS_UPDATE;
	uint32_t loss = l2_loss(b, b->forward[last]);
	decay_ops(b, true);
	b->gradient[last] = b->forward[last];
	b->pass = PASS_BACKWARD;
	for (b->layer = last + 1; b->layer-- > 0;)
		if (b->gradient[b->layer] != NONE)
			backward_layer(b);
	return loss;
}

/* Returns true if a layer from `first` to the end of its block routes rows to experts. */
static bool block_routes(const struct network *network, size_t first)
{
	const struct layer *layers = network->layers;
	for (size_t i = first; i < network->layer_count && layers[i].block == layers[first].block;
	     i++)
		if (layers[i].op == LAYER_ROUTE)
			return true;
	return false;
}

/* Marks the ops that stack.graph_scope names. Attention ends with the sum behind it. */
static void mark_captured(struct arena *arena, struct op_graph *graph,
			  const struct network *network, const struct stack_params *stack)
{
	if (stack->graph_scope == GRAPH_NONE)
		return;
	bool *captured = ARENA_ARRAY(arena, network->layer_count, bool), attends = true;
	for (size_t i = 1; i < network->layer_count; i++) {
		const struct layer *layer = &network->layers[i];
		if (layer->block != layer[-1].block)
			attends = true;
		captured[i] = layer->block > 0 && (attends ? stack->graph_scope == GRAPH_ATTENTION
							   : block_routes(network, i));
		attends &= layer->op != LAYER_ADD;
	}
	for (size_t i = 0; i < graph->count; i++) {
		struct op *op = (struct op *)&graph->ops[i];
		op->captured = op->pass != PASS_UPDATE && captured[op->layer];
	}
}

struct op_graph op_graph_new(struct arena *arena, const struct network *network, size_t batch,
			     const struct stack_params *stack, const struct gpu_params *gpu)
{
	FW_ASSERT(batch > 0 && network->layer_count > 1);
	size_t layers = network->layer_count;
	struct builder b = {.arena = arena,
			    .network = network,
			    .stack = stack,
			    .gpu = gpu,
			    .batch = (double)batch,
			    .element_B = stack_element_B(stack),
			    .weight_B = stack->autocast ? 4 : stack_element_B(stack),
			    .forward = ARENA_ARRAY(arena, layers, uint32_t),
			    .gradient = ARENA_ARRAY(arena, layers, uint32_t),
			    .tied = ARENA_ARRAY(arena, layers, uint32_t),
			    .first_tensor = ARENA_ARRAY(arena, layers, uint32_t),
			    .wide = ARENA_ARRAY(arena, layers, bool)};
	number_tensors(&b);
	for (; b.layer < layers; b.layer++) {
		forward_layer(&b);
		mark_random(&b);
	}
	uint32_t loss = stack->forward_only ? b.forward[layers - 1] : add_training(&b);
	struct op_graph graph = {.ops = b.ops.items,
				 .count = b.ops.count,
				 .output = b.forward[layers - 1],
				 .loss = loss,
				 .tensors = b.tensors,
				 .tensor_count = stack->forward_only ? 0 : b.tensor_count};
	/* cuDNN computes batch norm with ReLU only in training (cudnnBatchNormalizationForward*) */
	bool fuses = stack->fusion != FUSION_NONE &&
		     !(stack->fusion == FUSION_NORM && stack->forward_only);
	if (stack->xla_clusters_count > 0 || fuses)
		graph = op_graph_fuse(arena, &graph, (enum stack_fusion)stack->fusion);
	for (size_t i = 0; i < graph.count; i++)
		((struct op *)graph.ops)[i].work.library_ratio = stack->library_ratio;
	builder_group_updates((struct op *)graph.ops, graph.count, stack);
	add_waits(&graph, stack);
	mark_captured(arena, &graph, network, stack);
	return graph;
}
