/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/training/shard.h"
#include "sim/training/network_shapes.h"

/* How a layer is split over the tensor group. */
enum split {
	SPLIT_NONE, /* each GPU computes the whole layer; with sequence parallelism, its tokens */
	SPLIT_FEATURES, /* each GPU has a part of the features or heads, of all tokens */
	SPLIT_ROWS,     /* a product that takes split features and gives a sum of whole ones */
	SPLIT_EXPERTS,  /* rows of tokens on their way through the experts */
};

/* Parallel cross-entropy reduces the largest logit, the logit of the target and the sum of
 * exponentials of each token, in fp32 (Megatron-LM, cross_entropy.py). Counted as elements of 2 B.
 */
enum { CROSS_ENTROPY_VALUES = 3 * 2 };

enum { QUERY_KEY_VALUE = 3 }; /* parts of a layer */

struct sharder {
	struct arena *arena;
	const struct shard_params *params;
	const struct network *from;
	struct layer *layers;
	enum split *splits;
	bool *routed;     /* layers of rows on their way through the experts */
	size_t *last_use; /* index of the last layer that takes this layer's output */
	VEC(struct shard_exchange) exchanges;
	const char *why;
};

/* ---- which layers are split ---- */

/* Returns the number of tensor groups that share the experts. */
static double groups_count(const struct sharder *s)
{
	return (double)(s->params->data_count > 1 ? s->params->data_count : 1);
}

/* Returns true if each GPU computes its part of the experts for all rows, as in model servers. */
static bool has_all_rows(const struct sharder *s)
{
	const struct shard_params *params = s->params;
	bool one_group = params->tensor_count > 1 && groups_count(s) < 2;
	return params->tensor_key && (one_group || params->gathers);
}

/* Returns the number of GPUs over which the features of the layer are split. */
static size_t features_by(const struct sharder *s, size_t index)
{
	size_t tensor = s->params->tensor_count;
	return s->routed[index] ? tensor * (size_t)groups_count(s) / s->params->expert_count
				: tensor;
}

/* Returns true if features of the layer may be split: they go through layers that keep the split
 * into matrix products, or into the loss. */
static bool may_split(const struct sharder *s, size_t index)
{
	bool used = false;
	for (size_t i = index + 1; i <= s->last_use[index]; i++) {
		const struct layer *layer = &s->from->layers[i];
		for (size_t k = 0; k < layer->input_count; k++) {
			if (layer->inputs[k] != index)
				continue;
			used = true;
			bool product = layer->op == LAYER_LINEAR &&
				       (layer->experts == 0 || has_all_rows(s)) &&
				       s->from->layers[index].op != LAYER_LINEAR;
			if (!product && layer->op != LAYER_CROSS_ENTROPY &&
			    !(layer_has(layer->op, KEEPS_SPLIT) && may_split(s, i)))
				return false;
		}
	}
	return used;
}

static enum split split_of(const struct sharder *s, size_t index)
{
	const struct layer *layer = &s->from->layers[index];
	enum split input = s->splits[layer->inputs[0]];
	switch (layer->op) {
	case LAYER_DISPATCH:
		return has_all_rows(s) ? SPLIT_NONE : SPLIT_EXPERTS;
	case LAYER_COMBINE:
	case LAYER_INPUT:
		return SPLIT_NONE;
	case LAYER_EMBEDDING:
		return SPLIT_ROWS;
	case LAYER_LINEAR:
		if (input == SPLIT_EXPERTS)
			return SPLIT_EXPERTS;
		if (input == SPLIT_FEATURES)
			return SPLIT_ROWS;
		return may_split(s, index) ? SPLIT_FEATURES : SPLIT_NONE;
	default:
		return input == SPLIT_ROWS ? SPLIT_NONE : input;
	}
}

/* ---- the sizes of a shard ---- */

size_t divisor_below(size_t count, size_t by)
{
	while (by > 1 && count % by != 0)
		by--;
	return by;
}

static void fails(struct sharder *s, const char *why)
{
	if (!s->why)
		s->why = why;
}

static void divides(struct sharder *s, size_t count, const char *things, const char *key, size_t by)
{
	bool given = s->params->tensor_key;
	const char *path = !given                   ? arena_printf(s->arena, "plan.%s", key)
			   : strcmp(key, "ep") == 0 ? "case.expert"
						    : s->params->tensor_key;
	if (count % by != 0)
		fails(s,
		      arena_printf(s->arena, "%zu %s are not divisible by %s (%zu): write %s=%zu",
				   count, things, given ? path : key, by, path,
				   divisor_below(count, by)));
}

/* Multiplies the layer's tokens by ratio. If the layer has no part_ratio, this gives a whole
 * number. */
static void scale_tokens(struct layer *layer, double ratio)
{
	double tokens = (double)layer->height * (double)layer->width * ratio;
	if (layer->part_ratio > 0)
		layer->part_ratio *= ratio;
	else
		layer->height = (size_t)(tokens + 0.5);
	layer->width = 1;
	layer->output_count *= ratio;
	layer->input_count_total *= ratio;
	layer->macs *= ratio;
	layer->scores_count *= ratio;
}

/* Returns how many GPUs have the same head of keys and values. A model server copies heads if the
 * tensor group has more GPUs (vLLM, model_executor/layers/linear.py, num_kv_head_replicas). */
static size_t copies_of(const struct sharder *s, const struct attention_shape *shape, size_t by)
{
	bool copied = s->params->tensor_key && shape->kv_heads > 0 && by % shape->kv_heads == 0;
	return copied ? by / shape->kv_heads : 1;
}

/* Returns the attention that takes the layer's query, key and value. */
static const struct attention_shape *attention_behind(const struct sharder *s, size_t index)
{
	const struct layer *layer = &s->from->layers[index + 1];
	while (layer->op == LAYER_QK_NORM || layer->op == LAYER_ROTARY)
		layer++;
	return &layer->attention;
}

/* Divides the features of the layer's output. */
static void split_features(struct sharder *s, size_t index)
{
	size_t by = features_by(s, index), copies = 1;
	struct layer *layer = &s->layers[index];
	struct attention_shape *shape = &layer->attention;
	double features = 0, before = 0;
	if (shape->heads > 0) {
		copies = copies_of(s, shape, by);
		divides(s, shape->heads, "heads", "tp", by);
		divides(s, shape->kv_heads * copies, "heads of keys and values", "tp", by);
		shape->heads /= by;
		shape->kv_heads = shape->kv_heads * copies / by;
	} else if (layer->part_count == QUERY_KEY_VALUE) {
		copies = copies_of(s, attention_behind(s, index), by);
	}
	for (size_t i = 0; i < layer->part_count; i++) {
		size_t own = i > 0 ? copies : 1;
		before += (double)layer->parts[i];
		/* a vocabulary is padded */
		layer->parts[i] = (layer->parts[i] * own + by - 1) / by;
		layer->tensors[i] *= (double)own;
		features += (double)layer->parts[i];
	}
	double parts = copies > 1 && features > 0 ? before / features : (double)by;
	for (size_t i = 0; i < layer->tensor_count && layer->op != LAYER_QK_NORM; i++)
		layer->tensors[i] /= i < layer->part_count ? (double)by : parts;
	layer->channels = (size_t)ceil((double)layer->channels / parts - 1e-9);
	layer->output_count /= parts;
	layer->macs /= parts;
	layer->scores_count /= (double)by;
	layer->state_count /= (double)by;
	if (layer->op != LAYER_LINEAR)
		layer->input_count_total /= parts;
}

/* Divides the features of the input of a product, or the rows of an embedding. */
static void split_rows(const struct sharder *s, size_t index)
{
	double by = (double)features_by(s, index);
	struct layer *layer = &s->layers[index];
	for (size_t i = 0; i < layer->tensor_count; i++)
		if (i < layer->part_count || layer->op == LAYER_EMBEDDING)
			layer->tensors[i] /= by; /* a bias is whole */
	layer->macs /= by;
	if (layer->op == LAYER_LINEAR)
		layer->input_count_total /= by;
}

static void split_experts(struct sharder *s, struct layer *layer)
{
	double by = (double)s->params->expert_count, tensor = (double)s->params->tensor_count;
	/* each GPU of the tensor group dispatches its part of the tokens */
	double parts = has_all_rows(s) ? by / groups_count(s) : tensor;
	layer->part_ratio = s->params->tensor_key ? 1 : 0;
	scale_tokens(layer, s->params->imbalance_ratio / parts);
	if (layer->experts == 0)
		return;
	divides(s, layer->experts, "experts", "ep", s->params->expert_count);
	layer->experts /= s->params->expert_count;
	for (size_t i = 0; i < layer->tensor_count; i++)
		layer->tensors[i] /= by;
}

static void resize(struct sharder *s, size_t index)
{
	struct layer *layer = &s->layers[index];
	bool tokens = layer->op != LAYER_LOSSES && layer->op != LAYER_SELECT;
	if (s->params->context_count > 1 && tokens)
		scale_tokens(layer, 1 / (double)s->params->context_count);
	if (s->routed[index] && has_all_rows(s))
		split_experts(s, layer);
	else if (layer->op == LAYER_COMBINE && has_all_rows(s))
		scale_tokens(layer, groups_count(s));
	else if (layer->op == LAYER_COMBINE && s->params->tensor_key) {
		layer->part_ratio = 1;
		scale_tokens(layer, 1 / (double)s->params->tensor_count);
	}
	switch (s->splits[index]) {
	case SPLIT_FEATURES:
		split_features(s, index);
		break;
	case SPLIT_ROWS:
		split_rows(s, index);
		break;
	case SPLIT_EXPERTS:
		split_experts(s, layer);
		break;
	case SPLIT_NONE:
		if (s->params->sequence && tokens && layer->op != LAYER_INPUT)
			scale_tokens(layer, 1 / (double)s->params->tensor_count);
		break;
	}
}

/* ---- collectives ---- */

/* User buffers send the sums of a product in four parts. All but the last one are sent while
 * the product computes the next part (Megatron-Bridge, PipelineOverlapCfg: num_splits = 4). */
static const double pipelined_parts_count = 4;

static struct shard_exchange *exchange(struct sharder *s, size_t layer, enum op_pass pass,
				       bool before, enum shard_group group,
				       enum collective collective, double elements_count)
{
	struct shard_exchange *exchange = VEC_PUSH(s->arena, &s->exchanges);
	*exchange = (struct shard_exchange){
		.layer = layer,
		.pass = pass,
		.before = before,
		.beside = group == SHARD_CONTEXT,
		.group = group,
		.collective = collective,
		.elements_count = elements_count,
	};
	return exchange;
}

/* Returns the elements of a layer's output on all tokens of the context group's part. */
static double whole_count(const struct sharder *s, size_t layer)
{
	return s->from->layers[layer].output_count / (double)s->params->context_count;
}

/* The layer takes whole features and gives split ones. */
static void enter_split(struct sharder *s, size_t index)
{
	double count = whole_count(s, s->from->layers[index].inputs[0]);
	bool backward = s->params->overlap != OVERLAP_NONE;
	if (!s->params->sequence) {
		exchange(s, index, PASS_BACKWARD, false, SHARD_TENSOR, COLLECTIVE_ALL_REDUCE, count)
			->beside = backward;
		return;
	}
	exchange(s, index, PASS_FORWARD, true, SHARD_TENSOR, COLLECTIVE_ALL_GATHER, count)->beside =
		s->params->overlap == OVERLAP_ALL;
	exchange(s, index, PASS_BACKWARD, true, SHARD_TENSOR, COLLECTIVE_ALL_GATHER, count)
		->beside = backward;
	exchange(s, index, PASS_BACKWARD, false, SHARD_TENSOR, COLLECTIVE_REDUCE_SCATTER, count)
		->beside = backward;
}

/* The layer takes split features or a split vocabulary and gives sums of whole features. */
static void leave_split(struct sharder *s, size_t index)
{
	double count = whole_count(s, index);
	bool overlaps =
		s->params->overlap == OVERLAP_ALL && s->from->layers[index].op == LAYER_LINEAR;
	double last_count = overlaps ? count / pipelined_parts_count : count;
	if (!s->params->sequence) {
		exchange(s, index, PASS_FORWARD, false, SHARD_TENSOR, COLLECTIVE_ALL_REDUCE, count);
		return;
	}
	if (overlaps)
		exchange(s, index, PASS_FORWARD, false, SHARD_TENSOR, COLLECTIVE_REDUCE_SCATTER,
			 count - last_count)
			->beside = true;
	exchange(s, index, PASS_FORWARD, false, SHARD_TENSOR, COLLECTIVE_REDUCE_SCATTER,
		 last_count);
	exchange(s, index, PASS_BACKWARD, true, SHARD_TENSOR, COLLECTIVE_ALL_GATHER, count)
		->beside = overlaps;
}

/* Returns true if the all-reduce behind the experts also adds up these parts: those of experts,
 * before the rows of a token are combined, and those of a shared expert (vLLM, SharedFusedMoE). */
static bool is_summed_later(const struct sharder *s, size_t index)
{
	const struct layer *layers = s->from->layers, *next = &layers[index + 1];
	bool last = index + 1 == s->from->layer_count;
	return layers[index].experts > 0 ||
	       (!last && has_all_rows(s) && groups_count(s) < 2 && next->op == LAYER_ADD &&
		layers[next->inputs[0]].op == LAYER_COMBINE && next->inputs[1] == index);
}

static void tensor_exchanges(struct sharder *s, size_t index)
{
	const struct layer *layer = &s->from->layers[index];
	enum split own = s->splits[index], input = s->splits[layer->inputs[0]];
	if (layer->op == LAYER_CROSS_ENTROPY && own == SPLIT_FEATURES)
		exchange(s, index, PASS_FORWARD, false, SHARD_TENSOR, COLLECTIVE_ALL_REDUCE,
			 CROSS_ENTROPY_VALUES * (double)layer->height * (double)layer->width /
				 (double)s->params->context_count);
	else if (own == SPLIT_FEATURES && input != SPLIT_FEATURES)
		enter_split(s, index);
	else if (own == SPLIT_ROWS
			 ? !is_summed_later(s, index)
			 : layer->op == LAYER_COMBINE && input == SPLIT_ROWS && groups_count(s) < 2)
		leave_split(s, index);
}

static void context_exchanges(struct sharder *s, size_t index)
{
	const struct layer *layer = &s->layers[index];
	double tokens =
		(double)s->from->layers[index].height * (double)s->from->layers[index].width;
	double count = tokens * attention_token_count(&layer->attention);
	if (layer->op != LAYER_ATTENTION)
		return;
	exchange(s, index, PASS_FORWARD, true, SHARD_CONTEXT, COLLECTIVE_ALL_GATHER, count);
	exchange(s, index, PASS_BACKWARD, true, SHARD_CONTEXT, COLLECTIVE_ALL_GATHER, count);
	exchange(s, index, PASS_BACKWARD, false, SHARD_CONTEXT, COLLECTIVE_REDUCE_SCATTER, count);
}

/* Brings the rows of all groups to all GPUs, and the sums back. Each GPU of a tensor group brings a
 * part of its rows, and takes the sums of these. The group then gathers them. vLLM does so with its
 * default, allgather_reducescatter (device_communicators/all2all.py, AgRsAll2AllManager, with
 * is_sequence_parallel), SGLang without moe_a2a_backend (layers/dp_attention.py, dp_gather and
 * dp_reduce_scatter_tensor), and TensorRT-LLM without MNNVL (fused_moe_cutlass.py, allgather and
 * reducescatter). */
static void gather_exchanges(struct sharder *s, size_t index, bool dispatch)
{
	double count = whole_count(s, dispatch ? s->from->layers[index].inputs[0] : index);
	if (groups_count(s) > 1 && has_all_rows(s))
		exchange(s, index, PASS_FORWARD, dispatch, SHARD_EXPERT,
			 dispatch ? COLLECTIVE_ALL_GATHER : COLLECTIVE_REDUCE_SCATTER,
			 groups_count(s) * count);
	if (groups_count(s) > 1 && s->params->tensor_count > 1 && !dispatch)
		exchange(s, index, PASS_FORWARD, false, SHARD_TENSOR, COLLECTIVE_ALL_GATHER, count);
}

/* An all-to-all's size is the buffer of one GPU. */
static void expert_exchanges(struct sharder *s, size_t index)
{
	const struct layer *layer = &s->from->layers[index];
	bool dispatch = layer->op == LAYER_DISPATCH;
	if (!dispatch && layer->op != LAYER_COMBINE)
		return;
	double rows = s->layers[dispatch ? index : layer->inputs[0]].output_count;
	if (has_all_rows(s)) {
		gather_exchanges(s, index, dispatch);
		return;
	}
	exchange(s, index, PASS_FORWARD, !dispatch, SHARD_EXPERT, COLLECTIVE_ALL_TO_ALL, rows);
	exchange(s, index, PASS_BACKWARD, dispatch, SHARD_EXPERT, COLLECTIVE_ALL_TO_ALL, rows);
	gather_exchanges(s, index, dispatch);
}

/* ---- the whole ---- */

static void check(struct sharder *s)
{
	size_t cp = s->params->context_count, tp = s->params->tensor_count;
	divides(s, s->from->sequence, "tokens of a sequence", "cp", cp);
	if (s->params->sequence)
		divides(s, s->from->sequence / cp, "tokens of a GPU", "tp", tp);
	for (size_t i = 0; i < s->from->layer_count; i++)
		if (s->from->layers[i].experts > 0 && tp > 1 && !s->params->sequence &&
		    !s->params->tensor_key)
			fails(s, "a network of experts with tp above 1 needs sequence parallelism "
				 "(write plan.sequence_parallel=true)");
}

/* A network without tokens is not split. */
static const struct shard *whole(struct sharder *s, const char **why)
{
	const struct shard_params *params = s->params;
	struct shard *shard = ARENA_NEW(s->arena, struct shard);
	*shard = (struct shard){.network = s->from};
	*why = NULL;
	if (params->tensor_count == 1 && params->context_count == 1 && params->expert_count == 1)
		return shard;
	*why = arena_printf(s->arena,
			    "network '%s' has no tokens to split (write plan.tp=1, plan.cp=1 and "
			    "plan.ep=1, or choose a transformer)",
			    s->from->name);
	return NULL;
}

const struct shard *shard_new(struct arena *arena, const struct network *network,
			      const struct shard_params *params, const char **why)
{
	struct shard_params own = *params;
	own.sequence = params->sequence && params->tensor_count > 1;
	struct sharder s = {.arena = arena,
			    .params = &own,
			    .from = network,
			    .layers = ARENA_ARRAY(arena, network->layer_count, struct layer),
			    .splits = ARENA_ARRAY(arena, network->layer_count, enum split),
			    .routed = ARENA_ARRAY(arena, network->layer_count, bool),
			    .last_use = ARENA_ARRAY(arena, network->layer_count, size_t)};
	if (network->sequence == 0)
		return whole(&s, why);
	check(&s);
	memcpy(s.layers, network->layers, network->layer_count * sizeof *s.layers);
	for (size_t i = 0; i < network->layer_count; i++)
		for (size_t k = 0; k < network->layers[i].input_count; k++)
			s.last_use[network->layers[i].inputs[k]] = i;
	for (size_t i = 0; i < network->layer_count; i++) {
		const struct layer *layer = &network->layers[i];
		s.splits[i] = split_of(&s, i);
		s.routed[i] = layer->op == LAYER_DISPATCH ||
			      (layer->op != LAYER_COMBINE && s.routed[layer->inputs[0]]);
		s.layers[i].kept_count = s.layers[i].kept_B = s.layers[i].steps_count = 0;
		resize(&s, i);
		if (own.tensor_count > 1)
			tensor_exchanges(&s, i);
		if (own.context_count > 1)
			context_exchanges(&s, i);
		if (own.expert_count > 1 || own.data_count > 1)
			expert_exchanges(&s, i);
	}
	*why = s.why;
	if (s.why)
		return NULL;
	struct network *part = ARENA_NEW(arena, struct network);
	*part = (struct network){.name = network->name,
				 .source = network->source,
				 .sequence = network->sequence,
				 .vocabulary = network->vocabulary,
				 .layer_count = network->layer_count};
	network_totals(part, s.layers);
	struct shard *shard = ARENA_NEW(arena, struct shard);
	*shard = (struct shard){part, s.exchanges.items, s.exchanges.count};
	return shard;
}
