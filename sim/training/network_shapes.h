/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The values of one line of a network file, and the arithmetic that turns them into a layer.
 * Only the network reader includes this file.
 *
 * Shapes are channels x height x width of one image. These are TensorFlow's rules for a side
 * of an output:
 *   pad "same"    ceil(input / stride), for each kernel
 *   pad "valid"   floor((input - kernel) / stride) + 1; the kernel must not be larger than
 *                 the input
 * A transposed convolution has the input's side times the stride, for each kernel.
 * MACs include the products with the zeros that "same" puts around an input, as in published
 * tables.
 */
#pragma once

#include "sim/training/network.h"

/* Maximum of sides, channels and units; a larger number is certainly a typing error. */
enum { LAYER_SIZE_MAX = 1000000 };

/* The keys of a line. Without the key: 1 for sides, true for same and scale, else 0, false, NULL.
 */
struct line_keys {
	size_t kernel[SIDES], stride[SIDES], sides[SIDES]; /* height, width, depth */
	bool pad;                                          /* it is "same" */
	bool batch_norm, instance_norm, scale, relu, flat;
	size_t groups, factor;
	size_t out, heads, kv_heads, head_size, window, hidden, experts, top, shared, tokens;
	size_t positions, segments, lora;
	size_t q_rank, kv_rank, rope, value_size, in, state, weights;
	bool own_positions; /* `positions` is the number of tokens */
	bool bias, qkv_bias, causal, mask, separate, rotary, qk_norm, sinks, gate, dropout, clamp;
	double share;
	const char *activation, *tied;
};

struct layer_spec {
	const char *name;
	struct origin origin;
	enum layer_op op;
	const struct line_keys *keys; /* of the line that it is made from */
	bool global;                  /* the pool is as large as its input */
	size_t rows;  /* rows of an embedding's matrix, number of tokens to select, or the features
			 that an RMS norm takes; 0: all */
	bool adapter; /* its tensors are trained in a frozen network */
	bool bias;    /* a linear layer or a layer norm has one */
};

/* Sets all fields of layer except name, op and inputs, which the caller has set. layers contains
 * its inputs. Returns false after an error. */
bool layer_derive(struct diag *diag, const struct layer_spec *spec, const struct layer *layers,
		  struct layer *layer);

/* Sets the network's totals from its layers, and what each layer keeps. */
void network_totals(struct network *network, struct layer *layers);
