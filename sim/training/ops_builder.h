/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to the op graph: what ops.c and ops_tokens.c need to write ops. */
#pragma once

#include "sim/training/ops.h"

#define NONE UINT32_MAX

struct builder {
	struct arena *arena;
	const struct network *network;
	const struct stack_params *stack;
	const struct gpu_params *gpu; /* NULL: TF32 is not used */
	double batch, element_B;
	double weight_B; /* size of an element of a variable */
	VEC(struct op) ops;
	uint32_t *forward;      /* by layer: the op that computes its output */
	uint32_t *gradient;     /* by layer: the op that computes the gradient of its output */
	uint32_t *tied;         /* by layer: the op that computes the gradient of its weights
				   in the layers that share them, or NONE */
	uint32_t *decay;        /* by trainable tensor: the op w * decay, or NONE */
	uint32_t *first_tensor; /* by layer: index of its first trainable tensor */
	bool *wide;             /* by layer: its output is fp32, although products are not */
	struct op_tensor *tensors;
	size_t tensor_count;
	VEC(uint32_t) losses; /* ops of the L2 losses */
	uint32_t layer;       /* the layer whose ops are written */
	enum op_pass pass;    /* pass of the next op */
};

/* Appends an op of the layer whose ops are written, with negligible arithmetic. Its kernels share
 * bytes_B. Its name is that of the layer with `what` behind it. The input NONE is left out. */
uint32_t builder_op(struct builder *b, const char *what, uint32_t kernels, double bytes_B,
		    uint32_t input);
/* Adds a kernel with several inputs likewise. */
uint32_t builder_inputs_op(struct builder *b, const char *what, double bytes_B,
			   const uint32_t *inputs, uint32_t input_count);
/* Adds a kernel that sums over rows likewise. */
uint32_t builder_reduction(struct builder *b, const char *what, double bytes_B, uint32_t input);
/* Adds a kernel of cuDNN or cuBLAS likewise. */
uint32_t builder_library(struct builder *b, const char *what, double flop, double bytes_B,
			 uint32_t input);
/* Marks an op as elementwise; output_B is what it writes. Returns the op. */
uint32_t builder_elementwise(struct builder *b, uint32_t op, double output_B);
/* Marks the gradients of the layer's tensors as complete after op, and updates them. Gradients to
 * which weight decay is added are complete later. */
void builder_complete(struct builder *b, uint32_t op);
/* Gives the work of update_tensors_count updates to the last of them. */
void builder_group_updates(struct op *ops, size_t count, const struct stack_params *stack);
/* Notes that the op computes a gradient of the layer's output, which is added to those of other
 * consumers. */
void builder_receive(struct builder *b, size_t layer, uint32_t op);
/* Adds the op that sums two gradients of a layer, of size_B each. */
uint32_t builder_sum(struct builder *b, size_t layer, uint32_t one, uint32_t other, double size_B);
/* Adds the kernel that casts a matrix of weights, or its gradient, between fp32 and 16 bits.
 * Returns input if the stack does not cast. */
uint32_t builder_cast(struct builder *b, const char *what, double elements, uint32_t input);
const struct layer *builder_layer(const struct builder *b);
/* Returns the bytes of that many elements of each sample, in the type of products. */
double builder_B(const struct builder *b, double elements);
/* Returns the bytes of a layer's output, and of all its inputs, in their own types. */
double builder_output_B(const struct builder *b, size_t layer);
double builder_inputs_B(const struct builder *b, const struct layer *layer);
/* Adds the kernel that casts the output of a layer, or its gradient, between fp32 and the type of
 * products. */
uint32_t builder_change(struct builder *b, const char *what, double elements, uint32_t input);

/* ---- ops_convolution.c ---- */

/* Returns the number of the layer's weights, which another layer may own. */
double convolution_weights(const struct builder *b, const struct layer *layer);
/* Makes op, which has the layer's arithmetic and bytes, its forward product. Returns the op whose
 * output is that of the layer. */
uint32_t convolution_forward(struct builder *b, const struct layer *layer, uint32_t op);
/* Adds the gradients of the filter and, unless the input is the image, of the input. Each of both
 * reads and writes bytes_B. */
void convolution_backward(struct builder *b, const struct layer *layer, double bytes_B);

/* ---- ops_tokens.c ---- */

/* Writes the ops of a layer of tokens. */
void tokens_forward(struct builder *b);
void tokens_backward(struct builder *b);

/* Adds element-wise kernels, which a compiler can fuse with their neighbours. */
uint32_t tokens_elementwise(struct builder *b, const char *what, uint32_t kernels, double read_B,
			    double write_B, uint32_t input);
/* Notes that the sides of a product's matrices that are contiguous in memory are these. */
void tokens_align(struct builder *b, uint32_t op, double one, double other);
/* Adds a kernel that computes matrix products. */
uint32_t tokens_product(struct builder *b, const char *what, struct kernel_product product,
			double bytes_B, uint32_t input);
/* Returns the number type of the layer's products. */
enum number_type tokens_product_type(const struct builder *b);

/* ---- ops_linear.c ---- */

uint32_t linear_forward(struct builder *b, const struct layer *layer, uint32_t input);
/* Adds the scan of a recurrent layer, with that many times the work of forward. */
uint32_t recurrent_scan(struct builder *b, const char *what, double times, uint32_t input);
void linear_backward(struct builder *b);

/* ---- ops_experts.c ---- */

/* Route, dispatch and combine. */
uint32_t experts_forward(struct builder *b, const struct layer *layer, uint32_t input);
void experts_backward(struct builder *b, const struct layer *layer, uint32_t gradient);
/* Adds what a gate does before its kernel, or what its gradient needs besides it. */
uint32_t experts_clamp(struct builder *b, const struct layer *layer, uint32_t input);
uint32_t experts_clamp_gradient(struct builder *b, const struct layer *layer, uint32_t gradient);
/* Returns true if operators behind the product add the biases of experts times probabilities. */
bool experts_weigh_bias(const struct builder *b, const struct layer *layer);
/* Adds these operators, or those of the gradients. */
uint32_t experts_bias(struct builder *b, const struct layer *layer, double out_count,
		      uint32_t input);
