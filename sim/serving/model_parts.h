/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of a serving model, which only model.c and model_program.c use. */
#pragma once

#include "sim/serving/model.h"

/* Kernels whose work is linear in the number of rows. */
struct linear_kernel {
	struct kernel_work from, to; /* at the family's two numbers of rows */
	double kernels;
	bool fused; /* the all-reduce of a few rows does their work */
	/* Probability that a row uses an expert of the GPU; 0: the kernels have no experts. */
	double used_ratio;
};
struct kernel_family {
	VEC(struct linear_kernel) lines;
	double from, to; /* rows */
};

struct attention { /* layers with equal heads */
	double layers, heads, kv_heads, head_size, value_size, latent, latent_value;
	bool window;
};
enum { ATTENTIONS_MAX = 8 };

/* Sums over all recurrent layers: numbers of a token, of weights, and of a sequence. */
struct recurrence {
	double layers, macs, moved_count, weights_count, state_count;
};

enum model_time {              /* times that the model keeps */
		  TIME_BODY,   /* kernels of these rows */
		  TIME_SUMS,   /* collectives and messages between stages of these rows */
		  TIME_HEAD,   /* kernels of these sequences */
		  TIME_GATHER, /* collectives of these sequences */
		  MODEL_TIME_COUNT
};

struct serving_model {
	struct arena *arena;
	struct serving_model_spec spec;
	double element_B, token_B, memory_B;
	double weight_B, kv_B; /* bytes of a weight in blocks, and of a key or value */
	size_t head_layer;     /* the product that computes logits; layers behind it are left out */
	double blocks;
	size_t window;
	struct attention attentions[ATTENTIONS_MAX];
	size_t attention_count;
	struct recurrence scans;
	struct kernel_family body, head;
	double fused_rows; /* most rows whose all-reduces do more than sums (model_is_fused) */
	/* Linear layers with adapters: their number, and the sums of their inputs and outputs. */
	double adapted_layers, adapted_in, adapted_out;
	/* By number of rows, or of sequences; below 0: not computed yet. */
	double *known_s[MODEL_TIME_COUNT];
	const struct overhead *tables[2];
};

/* Returns the largest number of rows or sequences of model->known_s[time]. */
size_t model_time_most(const struct serving_model *model, enum model_time time);
/* Returns true if an iteration has no kernels of the op. */
bool model_is_left_out(const struct serving_model *model, const struct op *op);
/* Returns true if the all-reduce before the op does its work: it adds the residual, normalises the
 * sum of these rows, and may quantise it. */
bool model_is_fused(const struct serving_model *model, const struct op *op, double rows);
/* Returns true if a layer's weights are of the type of weights. */
bool model_is_quantised(const struct serving_model *model, const struct network *network,
			const struct layer *layer);
double model_memory_B(const struct serving_model *model); /* without that of the draft */
/* Returns the time of an element-wise kernel of these bytes. */
double model_pass_s(const struct serving_model *model, double bytes_B);
/* Returns true if a forward pass up to the logits has this collective. */
bool model_is_exchanged(const struct serving_model *model, const struct shard_exchange *exchange);
double model_prompts(const struct iteration *iteration); /* their number if they are equal */
/* Returns the time of all collectives and messages of an iteration. */
double model_exchanges_s(struct serving_model *model, const struct iteration *iteration);
double model_exchange_s(const struct serving_model *model, const struct shard_exchange *exchange,
			double rows);
