/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A training step as a graph of framework ops, each with its GPU kernels. All frameworks
 * (tf1.c, pytorch.c) compute the same graph. They differ in the order and in the threads in
 * which they issue it.
 *
 * Work of an op at batch B. e is the bytes of an element, x and y are the elements of its
 * input and output for one image, w is the elements of its weights:
 *   convolution, fully connected   2 MAC B flop, (x + y) B e + w e bytes;
 *       backward: the same again for the filter and for the data
 *   batch norm    forward 3 y B e bytes (two reads, a write), backward 5
 *   ReLU          2 forward, 3 backward;   add of n: n + 1;   bias: 2, grad 1
 *   pooling       x + y forward, 2 (x + y) backward (max), x + y (average)
 *   L2 loss of a tensor of w elements: w e bytes, in one kernel up to 4096 elements, else
 *       in two (partial sums, then their sum), as in the device-wide reductions of
 *       TensorFlow and CUB
 *   its gradient, w * decay: 2 w e;   sum with the layer's gradient: 3 w e
 *   SGD update    3 w e (momentum: 5 w e; LARS: 2 w e more). With update_tensors_count > 1,
 *       the last of that many updates has the work of all, and the others have no kernel
 *   moving mean and variance of a batch norm: 3 small kernels each
 *
 * Data-parallel training needs two facts of each op: which trainable tensors have complete
 * gradients after it (gradients), and which tensor's reduced gradient it uses (update_of).
 *
 * With XLA (stack.xla_clusters_count > 0) elementwise neighbours are one kernel (fusion.c).
 * Values between them are neither written to memory nor read.
 */
#pragma once

#include "sim/training/framework.h"

#define NO_TENSOR UINT32_MAX

/* A pipeline runs ops of PASS_FORWARD and PASS_BACKWARD for each micro-batch, and those of
 * PASS_UPDATE (weight decay, updates) once in a step. */
enum op_pass { PASS_FORWARD, PASS_BACKWARD, PASS_UPDATE };

struct op {
	const char *name;
	uint32_t layer; /* the layer of the network to which the op belongs */
	enum op_pass pass;
	bool library;            /* the op calls cuDNN or cuBLAS */
	bool random;             /* draws random numbers: dropout */
	bool epilogue;           /* the product adds a bias itself, so cuBLASLt computes it */
	bool elementwise;        /* XLA can fuse it with its neighbours */
	bool pointwise;          /* inference engines can compute it in the kernel of a product */
	bool weights;            /* computes only gradients of weights */
	bool inner;              /* its kernels belong to the operator before it */
	bool captured;           /* a CUDA graph of a part of the block holds it */
	bool of_variables;       /* casts a weight, so it can run when the step begins */
	uint32_t kernels;        /* number of launches */
	struct kernel_work work; /* work of each kernel */
	double wait_s;           /* time in which its kernel waits for other GPUs */
	double host_s;           /* host work besides that of the operator */
	double result_B;         /* copied to the host, which waits for it; 0: nothing is */
	double output_B;         /* set only for elementwise ops and products */
	const uint32_t *inputs;  /* ops that must be issued before this op */
	uint32_t input_count;
	const uint32_t *gradients; /* tensors whose gradients are complete after this op */
	uint32_t gradient_count;
	uint32_t update_of; /* tensor whose reduced gradient the op uses, or NO_TENSOR */
};

struct op_tensor { /* trainable */
	const char *name;
	double elements_count;
};

struct op_graph {
	const struct op *ops; /* in program order */
	size_t count;
	size_t output; /* the last op of the forward pass */
	size_t loss;   /* the op whose output the step fetches */
	const struct op_tensor *tensors;
	size_t tensor_count;
};

struct op_graph op_graph_new(struct arena *arena, const struct network *network, size_t batch,
			     const struct stack_params *stack, const struct gpu_params *gpu);
/* Returns a new graph of the same work in which elementwise neighbours are fused, as by XLA. With
 * FUSION_LAYER only those of the same layer are, with FUSION_INFERENCE also pointwise ops and the
 * product before them. */
struct op_graph op_graph_fuse(struct arena *arena, const struct op_graph *graph,
			      enum stack_fusion fusion);
