/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A training step as a graph of framework ops, each with the GPU kernels it
 * becomes. Frameworks (tf1.c, pytorch.c) differ in the order and the threads
 * in which they issue it, not in what has to be computed.
 *
 * Work of an op at batch B, with e bytes an element, x and y the elements of
 * its input and output for one image, w its weights:
 *   convolution, fully connected   2 MAC B flop, (x + y) B e + w e bytes;
 *       backward: the same again for the filter and for the data
 *   batch norm    forward 3 y B e bytes (two reads, a write), backward 5
 *   ReLU          2 forward, 3 backward;   add of n: n + 1;   bias: 2, grad 1
 *   pooling       x + y forward, 2 (x + y) backward (max), x + y (average)
 *   L2 loss of a tensor of w elements: w e bytes in one kernel up to 4096
 *       elements, in two beyond (partial sums, then their sum), as TensorFlow's
 *       and CUB's device-wide reductions do
 *   its gradient, w * decay: 2 w e;   sum with the layer's gradient: 3 w e
 *   SGD update    3 w e (momentum: 5 w e)
 *   moving mean and variance of a batch norm: 3 small kernels each
 *
 * Data-parallel training looks into the graph: ops say which trainable tensors'
 * gradients they complete, and which ops come after the gradient is reduced.
 *
 * With XLA (stack.xla_clusters_count > 0) neighbours that work element by element
 * are one kernel (fusion.c): what one hands to the next is neither written nor
 * read.
 */
#ifndef FARWIRE_TRAINING_OPS_H
#define FARWIRE_TRAINING_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/training/framework.h"

#define NO_TENSOR UINT32_MAX

/* When a pipeline does an op: for each micro-batch, or once a step (weight decay, updates). */
enum op_pass { PASS_FORWARD, PASS_BACKWARD, PASS_UPDATE };

struct op {
	const char *name;
	uint32_t layer; /* of the network, to which it belongs */
	enum op_pass pass;
	bool library;     /* cuDNN or cuBLAS */
	bool elementwise; /* XLA can make it one kernel with its neighbours */
	uint32_t kernels; /* launches, each of `work` */
	struct kernel_work work;
	double output_B;        /* of an elementwise op */
	const uint32_t *inputs; /* ops that must have been issued */
	uint32_t input_count;
	const uint32_t *gradients; /* tensors whose gradients are complete behind it */
	uint32_t gradient_count;
	uint32_t update_of; /* tensor whose reduced gradient it takes in; or NO_TENSOR */
};

struct op_tensor { /* trainable */
	const char *name;
	double elements_count;
};

struct op_graph {
	const struct op *ops; /* in the order in which a program creates them */
	size_t count;
	size_t output; /* the last op of the forward pass */
	size_t loss;   /* the op whose output the step fetches */
	const struct op_tensor *tensors;
	size_t tensor_count;
};

struct op_graph op_graph_new(struct arena *arena, const struct network *network, size_t batch,
			     const struct stack_params *stack);
/* The same work with elementwise neighbours fused, as XLA does. */
struct op_graph op_graph_fuse(struct arena *arena, const struct op_graph *graph);

#endif
