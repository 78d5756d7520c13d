/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The forms of lines in a network file: the keys of each op, and the layers that a line becomes.
 * docs/models/networks.md explains each key. Layers of images:
 *
 *   { op = "conv"; kernel = 3; out = 64; stride = 2; pad = "valid"; groups = 32; batch_norm = true;
 *     instance_norm = true; bias = true; relu = true; activation = "silu";
 *     tied = "a"; }                          with the weights and biases of the conv "a"
 *   { op = "transposed_conv"; kernel = 2; out = 64; stride = 2; }      sides grow by the stride
 *   { op = "fc"; out = 1000; bias = true; }  { op = "batch_norm"; relu = true; }  { op = "relu"; }
 *   { op = "max_pool"; kernel = 3; stride = 2; }  { op = "avg_pool"; ... }  { op = "global_pool"; }
 *   { op = "upsample"; factor = 2; }           sides grow by the factor
 *   { op = "squeeze_excite"; hidden = 16; activation = "relu"; }
 *   { op = "add"; from = ["a", "b"]; relu = true; }
 *   { op = "concat"; from = ["a", "b"]; flat = true; }     flat: shapes may differ
 *   { op = "lrn"; }  { op = "dropout"; }  { op = "softmax"; }
 *   { op = "regression"; }                     a loss of each value, such as smooth L1
 *
 * Layers of tokens:
 *
 *   { op = "embedding"; out = 768; positions = 1024; segments = 2; }
 *   { op = "class_token"; positions = true; }      pixels become tokens, and one more is added
 *   { op = "pixels"; sides = [24, 24]; }           tokens become pixels
 *   { op = "select"; tokens = 1; }                 the first tokens, or share = 0.15 of them
 *   { op = "linear"; out = 3072; bias = true; activation = "gelu"; }
 *   { op = "linear"; tied = "embed"; }             with the matrix of that embedding
 *   { op = "layer_norm"; bias = false; }  { op = "rms_norm"; }
 *   { op = "attention"; heads = 32; kv_heads = 8; head_size = 128; causal = true; window = 128;
 *     mask = true; bias = true; separate = true; rotary = true; qk_norm = true; sinks = true;
 *     dropout = true; lora = 16;                                 with adapters of that rank (LoRA)
 *     gate = true; }                                             queries bring factors of outputs
 *   { op = "latent_attention"; heads = 128; head_size = 192; kv_rank = 512; q_rank = 1536;
 *     rope = 64; value_size = 128; causal = true; }              head_size includes rope
 *   { op = "recurrent"; in = 12352; hidden = 4096; state = 128; weights = 10; bias = true; }
 *                              numbers of the state, and further weights, of each hidden feature
 *   { op = "mlp"; hidden = 3072; bias = true; activation = "gelu"; }
 *   { op = "gated_mlp"; hidden = 14336; bias = true; }
 *   { op = "experts"; experts = 8; top = 2; hidden = 14336; bias = true; shared = 2048;
 *     activation = "relu"; }                                     without it, experts are gated
 *                              clamp = true;                     limits the inputs of gates
 *   { op = "cross_entropy"; }  { op = "losses"; from = ["a", "b"]; }
 *
 * Each line has a name. One line can become several layers: an attention "attn" becomes
 * "attn/qkv", "attn/rotary", "attn/core" and "attn/out", and "attn" means the last of them.
 */
#pragma once

#include "sim/training/network_reader.h"

enum { FORM_REQUIRED_MAX = 3, FORM_KEYS_MAX = 14 };

struct expansion; /* one line while it becomes layers */
struct form {
	const char *op;
	void (*expand)(struct expansion *x);
	enum layer_op layer;                     /* the layer that it becomes, or the main one */
	bool joins;                              /* takes 2 to LAYER_INPUTS_MAX inputs, not one */
	const char *required[FORM_REQUIRED_MAX]; /* keys that the user must write */
	const char *keys[FORM_KEYS_MAX];         /* keys that the form allows in addition */
};

/* Returns the form of a line's op; NULL after an error. */
const struct form *form_read(struct network_reader *reader, const struct cfg_node *node,
			     const char *name);
/* Reads the keys of line `index`. Returns NULL after an error. */
struct expansion *expansion_new(struct network_reader *reader, size_t index,
				const struct form *form);
/* Appends the layers of the line, whose inputs are inputs[count]. Returns false after an error. */
bool expansion_append(struct expansion *x, const size_t *inputs, size_t count);
