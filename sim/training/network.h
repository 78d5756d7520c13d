/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A network is a list of layers. Shapes, parameters, gradient tensors, multiply-accumulate
 * operations (MACs), activations and memory follow from the layers.
 *
 * A file models/networks/<name>.cfg has a group `network` with name, source and `layers`. If its
 * samples are images, it has image (pixels of a side, [height, width], or [depth, height, width] of
 * a volume), channels and classes.
 * If they are sequences, it has sequence (tokens) and vocabulary. `layers` is a list of groups
 * such as
 *   { name = "conv1"; op = "conv"; kernel = [7, 7]; out = 64; stride = 2;
 *     pad = "same"; batch_norm = true; relu = true; from = "input"; }
 *
 * - frozen = true: only adapters (lora of an attention) are trained.
 * - Ops are those of images and those of tokens (network_forms.h).
 * - A group { name = "block"; repeat = 12; layers = ( ... ); } stands for its layers, 12 times
 *   (network_reader.h).
 * - `from` is a name or a list of names of earlier layers, so there are no loops. The default is
 *   the layer before; for the first layer it is "input". Each layer except the last must be the
 *   input of another one.
 * - A conv or fc with batch_norm (scale = false: without gamma), bias or relu becomes several
 *   layers: "conv1", "conv1/batch_norm", "conv1/relu". So does an add with relu. In `from`,
 *   "conv1" names the last of them.
 * - kernel and stride are one number, [height, width], or [depth, height, width] in a network of
 *   volumes. pad is "same" (the default) or "valid". A global_pool is an avg_pool as large as its
 *   input.
 * docs/models/networks.md describes the rest.
 */
#pragma once

#include "sim/cfg/cfg.h"

enum layer_op {
	LAYER_INPUT,
	LAYER_CONV,
	LAYER_FC,
	LAYER_BATCH_NORM,
	LAYER_BIAS,
	LAYER_RELU,
	LAYER_MAX_POOL,
	LAYER_AVG_POOL,
	LAYER_ADD,
	LAYER_CONCAT,
	LAYER_LRN,
	LAYER_DROPOUT,
	LAYER_SOFTMAX,
	LAYER_TRANSPOSED_CONV,
	LAYER_INSTANCE_NORM,
	LAYER_SIGMOID,
	LAYER_SCALE,    /* multiplies each channel of its first input by a value of the second */
	LAYER_UPSAMPLE, /* interpolates pixels */
	LAYER_PIXELS,   /* tokens become pixels */
	LAYER_REGRESSION,
	/* Layers of tokens: network_forms.h says how files write them. */
	LAYER_EMBEDDING,
	LAYER_POSITIONS,
	LAYER_CLASS_TOKEN,
	LAYER_SELECT,
	LAYER_LINEAR,
	LAYER_LAYER_NORM,
	LAYER_RMS_NORM,
	LAYER_QK_NORM,
	LAYER_ROTARY,
	LAYER_ATTENTION,
	LAYER_RECURRENT, /* a state that each token updates and reads */
	LAYER_GELU,
	LAYER_GELU_NEW, /* written out in tanh and powers, each an op of its own */
	LAYER_SILU,
	LAYER_TANH,
	LAYER_GATE,
	LAYER_ROUTE,
	LAYER_DISPATCH,
	LAYER_COMBINE,
	LAYER_CROSS_ENTROPY,
	LAYER_LOSSES,
	LAYER_OP_COUNT,
};

/* Properties that all layers with an op share (network_shapes.c has the table). */
enum layer_trait {
	NEEDS_INPUT = 1 << 0,  /* backward needs its inputs */
	NEEDS_OUTPUT = 1 << 1, /* backward needs its output */
	IN_PLACE = 1 << 2,     /* the output overwrites the input */
	POINTWISE = 1 << 3,    /* inference engines can compute it in the kernel of a product */
	KEEPS_SPLIT = 1 << 4,  /* split features of its input stay split */
	LIBRARY = 1 << 5,      /* images: it calls cuDNN or cuBLAS */
	PRODUCT = 1 << 6,      /* images: it multiplies matrices, or is a convolution */
};
struct layer_kind {
	const char *name;
	unsigned traits;
	/* Images: bytes of inputs and outputs that forward and backward read and write. The values
	 * are multiples of the sizes of the layer's inputs and of its output. */
	double forward[2], backward[2];
};
const struct layer_kind *layer_kind(enum layer_op op);
bool layer_has(enum layer_op op, enum layer_trait trait);

enum { SIDES = 3 }; /* height, width, depth; the depth of images and tokens is 1 */
enum { LAYER_INPUTS_MAX = 8, LAYER_TENSORS_MAX = 6, LAYER_PARTS_MAX = 3 };

struct attention_shape {
	size_t heads, kv_heads, head_size; /* head_size: of queries and keys */
	size_t value_size;                 /* of values */
	/* Latent attention: numbers of a token in the cache, whose first ones are its value; 0:
	 * keys and values of all heads. They do not depend on heads. */
	size_t latent, latent_value;
	size_t window; /* tokens that each token sees, itself included; 0: all */
	bool causal;   /* a token does not see later ones */
	bool mask;     /* a kernel adds a mask that hides padding to the scores */
	bool dropout;  /* dropout of the attention probabilities */
};

/* Returns the numbers of a token that attention caches. */
double attention_token_count(const struct attention_shape *shape);

/* Tokens that the scan of a recurrent layer processes between reading and writing the state (Mamba
 * 2, arXiv:2405.21060, and flash-linear-attention have chunks of 64 to 256). */
enum { SCAN_TOKENS = 128 };

struct layer {
	const char *name;
	enum layer_op op;
	size_t inputs[LAYER_INPUTS_MAX]; /* indices of earlier layers */
	size_t input_count;
	size_t channels, height, width, depth; /* shape of the output for one image */
	double output_count;                   /* elements of the output for one image */
	double input_count_total;              /* elements of all inputs for one image */
	double macs; /* multiply-accumulates of the forward pass for one image */
	double tensors[LAYER_TENSORS_MAX]; /* elements of each trainable tensor */
	size_t tensor_count;
	size_t state_tensor_count; /* tensors without training: moving mean and variance */
	size_t window[SIDES], stride[SIDES]; /* of a convolution or pool */
	size_t groups; /* of a convolution: parts of the channels that do not mix */
	bool frozen;   /* its tensors are not trained */
	bool clamps;   /* a gate limits its inputs */
	/* Linear layers: output features of the matrix products that share the input, such
	 * as query, key and value. */
	size_t parts[LAYER_PARTS_MAX], part_count;
	size_t experts;    /* matrices of which each token uses one; 0: a single matrix */
	double part_ratio; /* part of its tokens that the layer has; 0: all of them */
	size_t expert_top; /* experts, route, dispatch and combine: rows of each token */
	size_t tied_to;    /* the embedding or conv whose weights the layer uses; 0: its own */
	size_t block;      /* number of the innermost repetition that holds the layer; 0: none */
	struct attention_shape attention; /* only for attention, rotary and qk_norm */
	double state_count;               /* recurrent: numbers of a sequence's state */
	double scores_count; /* attention: query-key pairs of all heads, including masked pairs */
	/* Data that one sample keeps for the backward pass, without the scores of attention. */
	double kept_count;  /* number of elements that backward needs */
	double steps_count; /* those between the kernels of a layer that one kernel could compute */
	bool product_keeps, other_keeps; /* who keeps the output: products, or other layers */
	double kept_B; /* bytes whose size does not depend on the data type, such as masks */
};

/* Returns the tokens or pixels of a layer's output. */
double tokens_of(const struct layer *layer);

/* Number type in which model servers keep weights, or keys and values; AUTO: that of the stack. */
enum served_type {
	SERVE_AUTO,
	SERVE_BF16,
	SERVE_FP8,
	SERVE_INT8,
	SERVE_FP4,
	SERVE_INT4,
	SERVE_FP8_BLOCK, /* each block of 128 x 128 weights has a scale */
	SERVE_MXFP4      /* SERVE_INT4 for experts, AUTO for other layers */
};
extern const char *const served_type_names[]; /* ends with NULL */

struct network {
	const char *name, *source;
	enum served_type weights;                      /* of the published checkpoint */
	size_t image_height, image_width, image_depth; /* 0: samples are sequences */
	size_t image_channels, classes;
	size_t sequence,
		vocabulary;         /* tokens of a sample, and their kinds; 0: samples are images */
	bool frozen;                /* only adapters are trained */
	double frozen_count;        /* parameters that are not trained */
	bool has_tokens;            /* has layers of tokens, as language models and ViT */
	const struct layer *layers; /* in topological order; [0] is the input */
	size_t layer_count;
	double parameters_count, gradient_tensors_count, macs_count;
	double activations_count; /* elements of one sample kept for backward (kept_count) */
	double activations_B;     /* further bytes of one sample (kept_B) */
	double fused_B;           /* bytes that attention also keeps if it is fused */
	/* elements and bytes that attention keeps if it is not fused */
	double scores_count, scores_B;
};

/* Reads the file, which must have only the group `network`. Returns NULL after errors, which are
 * in diag: unknown ops, keys or names, a `from` that names a later layer, wrong sizes, shapes
 * that do not fit. Sequences have `sequence` tokens; 0: as many as in the file. */
const struct network *network_read(struct arena *arena, struct diag *diag,
				   const struct cfg_node *file, size_t sequence);

/* Returns true for the layers that compute a loss, which inference leaves out. */
bool layer_is_loss(const struct layer *layer);
/* Returns the number of experts of a token, or 0 if the network has none. */
size_t network_expert_top(const struct network *network);
/* Returns the number of outputs of a sample: what the losses of training take as input. */
double network_outputs_count(const struct network *network);
/* Returns the floating-point operations of one sample in a training step, as model FLOP/s and MFU
 * count them: those of the forward pass's matrix products and convolutions, and unless
 * forward_only, twice as many for backward. Backward of a frozen linear layer computes only the
 * gradients of its inputs, so it has as many as forward. Attention counts all pairs of tokens, also
 * those that a mask excludes (Chowdhery et al., PaLM, arXiv:2204.02311, appendix B). */
double network_model_flop(const struct network *network, bool forward_only);

/* Returns the GPU memory of a training step in bytes, the sum of
 * - variables, the optimiser's state (optimiser_copies_count times the size of the variables)
 *   and moving averages, all in fp32;
 * - gradients of element_B bytes each (4 for fp32), and the same for a cast copy of the weights
 *   if element_B is less than 4;
 * - for each image of the batch, the activations kept for backward and the gradients that the
 *   largest layer holds at once;
 * - workspace_B. */
double network_memory_B(const struct network *network, size_t batch, double element_B,
			double optimiser_copies_count, double workspace_B, bool fused_attention);
/* Returns the GPU memory of a forward pass in bytes: variables in fp32, a cast copy of them if
 * element_B is less than 4, inputs and output of the largest layer, and workspace_B. */
double network_forward_B(const struct network *network, size_t batch, double element_B,
			 double workspace_B, bool fused_attention);
