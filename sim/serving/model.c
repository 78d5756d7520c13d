/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/serving/model_parts.h"

/* Choosing a token reads and writes the logits this many times in fp32: temperature, softmax,
 * cumulated sums, a draw. */
static const double SAMPLING_PASSES = 4;

/* Up to this size TensorRT-LLM has all-reduces of its own, which can do more than the sum
 * (customAllReduceUtils.h, getMaxRequiredWorkspaceSize, for more than two GPUs). */
static const double FUSED_SUM_MAX_B = 8e6;
/* TensorRT-LLM fuses the all-reduces of networks with more features than these. */
enum { FUSED_SUM_FEATURES = 4096 };

/* ---- the network ---- */

static size_t last_product(const struct network *network)
{
	for (size_t i = network->layer_count; i-- > 0;)
		if (network->layers[i].op == LAYER_LINEAR)
			return i;
	return 0;
}

bool network_generates(const struct network *network)
{
	bool causal = false;
	for (size_t i = 0; i < network->layer_count; i++)
		causal |= network->layers[i].op == LAYER_ATTENTION &&
			  network->layers[i].attention.causal;
	return causal && network->vocabulary > 0 &&
	       network->layers[last_product(network)].channels == network->vocabulary;
}

/* Returns the layer whose output the kernel quantises with one scale for all; NULL: it does not. */
static const struct layer *quantised_by(const struct serving_model *model, const struct op *op)
{
	const struct network *network = model->spec.one_token;
	bool one_scale = model->spec.weights == SERVE_FP8 || model->spec.weights == SERVE_FP4;
	return network && one_scale && op->work.quantises
		       ? &network->layers[network->layers[op->layer].inputs[0]]
		       : NULL;
}

/* Returns true if the kernel before the op writes FP8 or FP4 itself. */
static bool is_written_quantised(const struct serving_model *model, const struct op *op)
{
	const struct layer *input = quantised_by(model, op);
	return input && model->spec.stack->written_quantised &&
	       (input->op == LAYER_ATTENTION || input->op == LAYER_GATE);
}

/* Returns the most rows whose all-reduces also add, normalise and quantise. */
static double fused_rows(const struct serving_model *model)
{
	const struct network *network = model->spec.one_token;
	size_t hidden = network->layers[1].channels;
	bool fuses = model->spec.stack->fused_sums && model->spec.shard &&
		     model->spec.spread <= model->spec.stages && hidden > FUSED_SUM_FEATURES;
	for (size_t i = 0; i < network->layer_count; i++)
		fuses &= network->layers[i].op != LAYER_QK_NORM;
	return fuses ? FUSED_SUM_MAX_B / ((double)hidden * model->element_B) : 0;
}

bool model_is_fused(const struct serving_model *model, const struct op *op, double rows)
{
	const struct layer *norm = quantised_by(model, op);
	if (rows > model->fused_rows)
		return false;
	if (!norm)
		norm = &model->spec.one_token->layers[op->layer];
	return norm->op == LAYER_RMS_NORM &&
	       model->spec.one_token->layers[norm->inputs[0]].op == LAYER_ADD;
}

bool model_is_left_out(const struct serving_model *model, const struct op *op)
{
	const struct network *network =
		model->spec.one_token ? model->spec.one_token : model->spec.network;
	enum layer_op layer = network->layers[op->layer].op;
	return op->pass != PASS_FORWARD || op->kernels == 0 || layer == LAYER_DROPOUT ||
	       is_written_quantised(model, op) || layer == LAYER_CROSS_ENTROPY ||
	       layer == LAYER_LOSSES || (model->spec.one_token && op->layer > model->head_layer);
}

static void add_attention(struct serving_model *model, const struct layer *layer)
{
	const struct attention_shape *shape = &layer->attention;
	struct attention own = {1,
				(double)shape->heads,
				(double)shape->kv_heads,
				(double)shape->head_size,
				(double)shape->value_size,
				(double)shape->latent,
				(double)shape->latent_value,
				shape->window > 0};
	model->token_B += model->kv_B * attention_token_count(shape);
	if (own.window)
		model->window = shape->window;
	for (size_t i = 0; i < model->attention_count; i++) {
		struct attention *other = &model->attentions[i];
		own.layers = other->layers;
		if (memcmp(&own, other, offsetof(struct attention, window)) == 0 &&
		    own.window == other->window) {
			other->layers++;
			return;
		}
	}
	own.layers = 1;
	FW_ASSERT(model->attention_count < ATTENTIONS_MAX);
	model->attentions[model->attention_count++] = own;
}

static void add_scan(struct serving_model *model, const struct layer *layer)
{
	struct recurrence *scans = &model->scans;
	scans->layers++;
	scans->macs += layer->macs;
	scans->moved_count += layer->input_count_total + layer->output_count;
	scans->weights_count += layer->tensors[0];
	scans->state_count += layer->state_count;
}

/* ---- kernels ---- */

static bool same_work(const struct kernel_work *a, const struct kernel_work *b)
{
	const struct kernel_product *x = &a->product, *y = &b->product;
	return a->form == b->form && a->type == b->type && a->flop == b->flop &&
	       a->bytes_B == b->bytes_B &&
	       (a->form != KERNEL_PRODUCT ||
		(x->m == y->m && x->n == y->n && x->k == y->k && x->count == y->count));
}

/* Returns true for the linear layers of blocks but routers. */
static bool is_of_block(const struct network *network, const struct layer *layer)
{
	bool last = layer + 1 == network->layers + network->layer_count;
	return layer->block > 0 && layer->op == LAYER_LINEAR && !last && layer[1].op != LAYER_ROUTE;
}

/* vLLM quantises neither logits nor routers. */
bool model_is_quantised(const struct serving_model *model, const struct network *network,
			const struct layer *layer)
{
	return is_of_block(network, layer) &&
	       (model->spec.weights != SERVE_MXFP4 || layer->experts > 0);
}

/* Returns the work of an op with weights of the model's type. The graph of the stack has products
 * in FP8 in place of int8 and fp4. An int4 weight is converted when a product loads it. */
static struct kernel_work with_weights(const struct serving_model *model, const struct op *op)
{
	const struct network *network = model->spec.one_token;
	struct kernel_work work = op->work;
	const struct kernel_product *p = &work.product;
	if (work.form != KERNEL_PRODUCT ||
	    !model_is_quantised(model, network, &network->layers[op->layer]))
		return work;
	double weight_B = work.type == NUMBER_FP8 ? 1 : model->element_B;
	work.bytes_B += p->n * p->k * p->count * (model->weight_B - weight_B);
	work.scaled_by_blocks =
		model->spec.weights == SERVE_FP8_BLOCK && gpu_has(model->spec.gpu, NUMBER_FP8);
	work.expands = model->spec.weights == SERVE_INT4 && work.grouped;
	if (work.type == NUMBER_FP8 && model->spec.weights == SERVE_INT8)
		work.type = NUMBER_INT8;
	else if (work.type == NUMBER_FP8 && model->spec.weights == SERVE_FP4)
		work.type = NUMBER_FP4;
	return work;
}

/* Returns the probability that a row uses a given expert of the layer, or 0 without experts. */
static double used_ratio(const struct layer *layer)
{
	return layer->op == LAYER_LINEAR && layer->experts > 0
		       ? fmin(1, tokens_of(layer) / (double)layer->experts)
		       : 0;
}

static void add_line(struct serving_model *model, struct kernel_family *family,
		     const struct op *from_op, const struct op *to_op)
{
	const struct kernel_work from = with_weights(model, from_op);
	const struct kernel_work to = with_weights(model, to_op);
	const struct layer *layer = &model->spec.one_token->layers[from_op->layer];
	double used = used_ratio(layer);
	bool fused = model_is_fused(model, from_op, 1);
	for (size_t i = 0; i < family->lines.count; i++) {
		struct linear_kernel *line = &family->lines.items[i];
		if (line->fused == fused && line->used_ratio == used &&
		    same_work(&line->from, &from) && same_work(&line->to, &to)) {
			line->kernels += from_op->kernels;
			return;
		}
	}
	*VEC_PUSH(model->arena, &family->lines) =
		(struct linear_kernel){from, to, from_op->kernels, fused, used};
}

/* Sets graphs[2] to those of that many rows and of twice as many. */
static void two_graphs(const struct serving_model *model, size_t rows, struct op_graph *graphs)
{
	for (size_t i = 0; i < 2; i++)
		graphs[i] = op_graph_new(model->arena, model->spec.one_token, (i + 1) * rows,
					 model->spec.stack, model->spec.gpu);
	FW_ASSERT(graphs[0].count == graphs[1].count);
}

/* Fills the family of the head, or of all other layers, from the two graphs of `rows`. */
static void fill_family(struct serving_model *model, struct kernel_family *family, size_t rows,
			const struct op_graph *graphs, bool head)
{
	const struct serving_model_spec *spec = &model->spec;
	family->from = (double)rows;
	family->to = 2 * (double)rows;
	for (size_t i = 0; i < graphs[0].count; i++) {
		const struct op *op = &graphs[0].ops[i];
		if (model_is_left_out(model, op) ||
		    spec->one_token->layers[op->layer].op == LAYER_ATTENTION ||
		    spec->one_token->layers[op->layer].op == LAYER_RECURRENT ||
		    (op->layer == model->head_layer) != head)
			continue;
		add_line(model, family, op, &graphs[1].ops[i]);
	}
}

static double between(double from, double to, double share)
{
	return from + (to - from) * share;
}

/* Takes experts that no row uses from a product of all experts. Rows choose experts at random and
 * independently, so an expert of which a row needs the part p is unused by n rows with the
 * probability (1 - p)^n. Its weights are not read, and the used experts have more rows each. */
static void leave_out_experts(struct kernel_work *work, const struct linear_kernel *line,
			      double rows)
{
	double unused_ratio = pow(1 - line->used_ratio, rows);
	double weights_B = 2 * line->from.bytes_B - line->to.bytes_B; /* bytes of no rows */
	work->bytes_B -= unused_ratio * fmax(0, weights_B);
	work->product.m /= 1 - unused_ratio;
	work->product.count *= 1 - unused_ratio;
}

static double family_s(const struct serving_model *model, const struct kernel_family *family,
		       double rows)
{
	double share = (rows - family->from) / (family->to - family->from), sum_s = 0;
	for (size_t i = 0; i < family->lines.count; i++) {
		const struct linear_kernel *line = &family->lines.items[i];
		struct kernel_work work = line->from;
		if (line->fused && rows <= model->fused_rows)
			continue;
		work.flop = between(work.flop, line->to.flop, share);
		work.bytes_B = between(work.bytes_B, line->to.bytes_B, share);
		if (work.form == KERNEL_PRODUCT) {
			const struct kernel_product *a = &line->from.product,
						    *b = &line->to.product;
			work.product = (struct kernel_product){
				between(a->m, b->m, share), between(a->n, b->n, share),
				between(a->k, b->k, share), between(a->count, b->count, share)};
			if (line->used_ratio > 0)
				leave_out_experts(&work, line, rows);
		}
		sum_s += line->kernels *
			 kernel_duration_s(model->spec.gpu, model->spec.efficiency, &work);
	}
	return sum_s;
}

/* Returns the shape of attention for sequences of equal lengths. Generated tokens, and drafted
 * ones, read the cached numbers of latent attention, which all heads share. Prompts expand them to
 * keys and values. */
static struct kernel_attention shape_of(const struct serving_model *model,
					const struct attention *attention, double sequences,
					double queries, const double keys[2], bool tokens)
{
	bool causal = queries > sequences;
	bool latent = attention->latent > 0 && (tokens || !causal);
	return (struct kernel_attention){
		.sequences = sequences,
		.queries = queries / sequences,
		.keys = fmax(keys[0], queries) / sequences,
		.heads = attention->heads,
		.kv_heads = latent ? 1 : attention->kv_heads,
		.head_size = latent ? attention->latent : attention->head_size,
		.value_size = latent ? attention->latent_value : attention->value_size,
		.window = attention->window ? (double)model->window : 0,
		.element_B = model->kv_B,
		.causal = causal,
		.latent = latent};
}

/* TensorRT-LLM multiplies in FP8 in attention of prompts if the KV cache is in FP8 and is read
 * there, because its blocks are reused (cpp/tensorrt_llm/thop/attentionOp.cpp, mFP8ContextFMHA;
 * _torch/attention_backend/trtllm.py, use_paged_context_fmha). Its latent attention does not. */
static bool multiplies_fp8(const struct serving_model *model)
{
	return model->spec.stack->written_quantised && model->spec.kv == SERVE_FP8 &&
	       gpu_has(model->spec.gpu, NUMBER_FP8);
}

/* Returns the time of a layer's attention for sequences of equal lengths, which have these queries,
 * keys and pairs of both together. */
static double attention_s(const struct serving_model *model, const struct attention *attention,
			  double sequences, double queries, const double keys[2],
			  const double pairs[2], bool tokens)
{
	if (!(queries > 0))
		return 0;
	size_t k = attention->window;
	struct kernel_attention shape =
		shape_of(model, attention, sequences, queries, keys, tokens);
	double features = attention_features(&shape);
	enum number_type type = stack_product_type(model->spec.stack, model->spec.gpu, false);
	bool fp8 = !tokens && !(attention->latent > 0) && multiplies_fp8(model);
	const struct kernel_work work = {
		.flop = 2 * pairs[k] * attention->heads * features,
		.bytes_B = model->element_B * attention->heads * queries * features +
			   model->kv_B * shape.kv_heads * keys[k] * attention_cached_count(&shape),
		.form = KERNEL_ATTENTION,
		.type = fp8                  ? NUMBER_FP8
			: type == NUMBER_FP8 ? NUMBER_BF16
					     : type,
		.attention = shape,
	};
	return attention->layers *
	       kernel_duration_s(model->spec.gpu, model->spec.efficiency, &work);
}

/* Returns the time of the scans of all recurrent layers, which read and write that many states. */
static double scans_s(const struct serving_model *model, double rows, double states)
{
	const struct recurrence *all = &model->scans;
	if (!(all->layers > 0) || !(rows > 0))
		return 0;
	const struct kernel_work work = {
		.flop = 2 * all->macs * rows / all->layers,
		.bytes_B = model->element_B / all->layers *
			   (all->moved_count * rows + all->weights_count +
			    2 * all->state_count * states),
		.form = KERNEL_ATTENTION,
		.type = NUMBER_BF16,
	};
	return all->layers * kernel_duration_s(model->spec.gpu, model->spec.efficiency, &work);
}

/* Returns the time of all kernels of a batch of a network that generates no tokens. */
static double batch_s(const struct serving_model *model, size_t batch)
{
	struct arena *scratch = arena_new();
	const struct serving_model_spec *spec = &model->spec;
	struct op_graph graph = op_graph_new(scratch, spec->network, batch, spec->stack, spec->gpu);
	double sum_s = 0;
	for (size_t i = 0; i < graph.count; i++)
		if (!model_is_left_out(model, &graph.ops[i]))
			sum_s += graph.ops[i].kernels *
				 kernel_duration_s(spec->gpu, spec->efficiency, &graph.ops[i].work);
	arena_free(scratch);
	return sum_s;
}

static double rows_s(struct serving_model *model, double rows)
{
	double *known = &model->known_s[TIME_BODY][(size_t)rows];
	if (*known < 0 && !model->spec.one_token)
		*known = batch_s(model, (size_t)rows);
	else if (*known < 0)
		*known = family_s(model, &model->body, rows);
	return *known;
}

static double head_s(struct serving_model *model, double sequences)
{
	double *known = &model->known_s[TIME_HEAD][(size_t)sequences];
	double logits_B = 4 * sequences * (double)model->spec.network->vocabulary;
	if (*known < 0)
		*known = family_s(model, &model->head, sequences) +
			 SAMPLING_PASSES * model_pass_s(model, 2 * logits_B);
	return *known;
}

/* Returns the time of the adapters of an iteration. Each of its requests uses one at random, so
 * n requests use A (1 - (1 - 1 / A)^n) different ones of A. */
static double adapters_s(const struct serving_model *model, double rows, double requests)
{
	double all = model->spec.adapters, rank = model->spec.lora, layers = model->adapted_layers;
	if (!(all > 0) || !(layers > 0))
		return 0;
	double used = all * (1 - pow(1 - 1 / all, fmax(1, requests)));
	double in = model->adapted_in / layers, out = model->adapted_out / layers;
	double down = rows * (in + rank) + used * rank * in;
	double up = rows * (rank + 2 * out) + used * rank * out; /* added to the product's output */
	return layers * (model_pass_s(model, model->element_B * down) +
			 model_pass_s(model, model->element_B * up));
}

static double sum_of_kernels_s(struct serving_model *model, const struct iteration *it)
{
	double sum_s = rows_s(model, it->rows);
	if (!model->spec.one_token)
		return sum_s;
	if (it->sequences > 0)
		sum_s += head_s(model, it->sequences);
	double prompts = model_prompts(it);
	double queries = 1 + (it->drafted > 0 ? it->drafted / it->decode_rows : 0);
	const double pairs[] = {queries * it->decode_keys[0], queries * it->decode_keys[1]};
	for (size_t i = 0; i < model->attention_count; i++) {
		const struct attention *attention = &model->attentions[i];
		sum_s += attention_s(model, attention, it->decode_rows,
				     it->decode_rows + it->drafted, it->decode_keys, pairs, true) +
			 attention_s(model, attention, prompts, it->prompt_rows, it->prompt_keys,
				     it->prompt_pairs, false);
	}
	return sum_s + adapters_s(model, it->rows, it->decode_rows + prompts) +
	       scans_s(model, it->decode_rows + it->drafted, it->decode_rows) +
	       scans_s(model, it->prompt_rows, prompts + it->prompt_rows / SCAN_TOKENS);
}

/* ---- a new model ---- */

/* Returns the bytes of a number of that type with its part of a scale; AUTO: those of the stack. */
static double type_B(enum served_type type, double stack_B)
{
	static const enum number_type types[] = {
		[SERVE_BF16] = NUMBER_BF16, [SERVE_FP8] = NUMBER_FP8,
		[SERVE_INT8] = NUMBER_INT8, [SERVE_FP4] = NUMBER_FP4,
		[SERVE_INT4] = NUMBER_FP4,  [SERVE_FP8_BLOCK] = NUMBER_FP8};
	if (type == SERVE_MXFP4)
		return weight_element_B(WEIGHTS_MXFP4, stack_B);
	return type == SERVE_AUTO ? stack_B : number_type_B(types[type]);
}

size_t model_time_most(const struct serving_model *model, enum model_time time)
{
	return time < TIME_HEAD ? model->spec.rows_max : model->spec.sequences_max;
}

static double *unknown_times(struct arena *arena, size_t count)
{
	double *times = ARENA_ARRAY(arena, count + 1, double);
	for (size_t i = 0; i <= count; i++)
		times[i] = -1;
	return times;
}

static void learn_tokens(struct serving_model *model)
{
	const struct network *network = model->spec.one_token;
	double all_rows = 1; /* rows that use all experts of the GPU */
	model->head_layer = last_product(network);
	for (size_t i = 0; i < network->layer_count; i++) {
		const struct layer *layer = &network->layers[i];
		model->blocks += i > 0 && layer->block > 0 && layer->block != layer[-1].block;
		if (layer->op == LAYER_ATTENTION)
			add_attention(model, layer);
		if (layer->op == LAYER_RECURRENT)
			add_scan(model, layer);
		if (is_of_block(network, layer) && layer->experts <= 1) {
			model->adapted_layers++;
			model->adapted_in += layer->tensors[0] / (double)layer->parts[0];
			model->adapted_out += (double)layer->channels;
		}
		if (layer->op == LAYER_LINEAR && layer->experts > 0)
			all_rows = fmax(all_rows, (double)layer->experts / tokens_of(layer));
	}
	model->fused_rows = fused_rows(model);
	struct op_graph graphs[2];
	size_t rows = (size_t)ceil(all_rows);
	two_graphs(model, rows, graphs);
	fill_family(model, &model->body, rows, graphs, false);
	if (rows > 1)
		two_graphs(model, 1, graphs);
	fill_family(model, &model->head, 1, graphs, true);
}

struct serving_model *serving_model_new(struct arena *arena, const struct serving_model_spec *spec)
{
	struct serving_model *model = ARENA_NEW(arena, struct serving_model);
	struct efficiency_params *efficiency = ARENA_NEW(arena, struct efficiency_params);
	*efficiency = *spec->efficiency;
	efficiency->served = true;
	struct stack_params *stack = ARENA_NEW(arena, struct stack_params);
	*stack = *spec->stack;
	stack->forward_only = true;
	bool multiplied = spec->weights != SERVE_AUTO && spec->weights != SERVE_BF16 &&
			  spec->weights != SERVE_INT4 && spec->weights != SERVE_MXFP4;
	stack->precision = multiplied                    ? PRECISION_FP8
			   : spec->weights == SERVE_BF16 ? PRECISION_BF16
							 : stack->precision;
	*model = (struct serving_model){
		.arena = arena,
		.spec = *spec,
		.element_B = stack_element_B(stack),
		.weight_B = type_B(spec->weights,
				   stack->precision == PRECISION_FP8 ? 1 : stack_element_B(stack)),
		.kv_B = type_B(spec->kv, stack_element_B(stack))};
	for (enum model_time i = 0; i < MODEL_TIME_COUNT; i++)
		model->known_s[i] = unknown_times(arena, model_time_most(model, i));
	model->spec.efficiency = efficiency;
	model->spec.stack = stack;
	model->spec.spread = fmax(1, spec->spread);
	model->spec.stages = fmax(1, spec->stages);
	if (spec->one_token)
		learn_tokens(model);
	model->memory_B = model_memory_B(model);
	return model;
}

/* ---- iterations ---- */

void serving_model_overhead_set(struct serving_model *model, const struct overhead *tables[2])
{
	model->tables[0] = tables[0];
	model->tables[1] = tables[1];
}

static double overhead_at(const struct overhead *table, double x)
{
	size_t i = 0;
	while (i + 1 < table->count && table->at[i + 1] <= x)
		i++;
	if (i + 1 == table->count || x <= table->at[0])
		return table->overhead_s[i];
	return between(table->overhead_s[i], table->overhead_s[i + 1],
		       (x - table->at[i]) / (table->at[i + 1] - table->at[i]));
}

/* Returns the part of an iteration of the GPU with most rows. */
static struct iteration part_of(const struct iteration *all, double spread)
{
	struct iteration part = *all;
	double decode = fmin(spread, fmax(1, part.decode_rows)); /* a request is in one part */
	part.rows = ceil(part.rows / spread);
	part.sequences = ceil(part.sequences / spread);
	part.decode_rows /= decode;
	part.drafted /= decode;
	part.prompt_rows /= spread;
	for (int k = 0; k < 2; k++) {
		part.decode_keys[k] /= decode;
		part.prompt_keys[k] /= spread;
		part.prompt_pairs[k] /= spread;
	}
	return part;
}

static void add_time(struct iteration_time *sum, struct iteration_time more, double count)
{
	sum->kernel_s += count * more.kernel_s;
	sum->exchange_s += count * more.exchange_s;
	sum->overhead_s += count * more.overhead_s;
}

/* Adds the time in which the draft network processes the prompts of an iteration, and drafts the
 * tokens that it checks, one after the other. */
static void add_drafting(const struct serving_model *model, const struct iteration *all,
			 struct iteration_time *time)
{
	struct serving_model *draft = model->spec.draft;
	struct iteration prompts = *all, step = *all;
	prompts.rows = all->prompt_rows;
	prompts.sequences = prompts.drafted = prompts.decode_rows = 0;
	step.rows = step.sequences = all->drafted / model->spec.draft_count;
	step.drafted = step.prompt_rows = 0;
	if (draft && prompts.rows > 0)
		add_time(time, serving_model_time(draft, &prompts), 1);
	if (draft && step.rows > 0)
		add_time(time, serving_model_time(draft, &step), model->spec.draft_count);
}

/* Returns true if the iteration may be in a CUDA graph: it only generates tokens, for a number of
 * requests for which a graph was captured. */
static bool has_graph(const struct serving_model_spec *spec, const struct iteration *iteration)
{
	double requests = ceil(iteration->decode_rows), power = exp2(ceil(log2(requests)));
	return !(iteration->prompt_rows > 0) &&
	       (!(spec->graph_sizes > 0) || requests <= spec->graph_sizes ||
		(requests >= power && requests <= spec->graph_most));
}

struct iteration_time serving_model_time(void *ctx, const struct iteration *all)
{
	struct serving_model *model = ctx;
	const struct iteration part = part_of(all, model->spec.spread), *iteration = &part;
	bool prompts = iteration->prompt_rows > 0;
	const struct overhead *table = model->tables[!has_graph(&model->spec, iteration)];
	double kernel_s = model->spec.rpc_part_count > 0 ? 0 : sum_of_kernels_s(model, iteration);
	for (size_t i = 0; i < model->spec.rpc_part_count; i++)
		kernel_s += model->spec.rpc_parts[i].ratio *
			    sum_of_kernels_s(model->spec.rpc_parts[i].model, iteration);
	double sums_s = model_exchanges_s(model, iteration);
	double at = model->spec.one_token ? kernel_s + sums_s : iteration->rows;
	double ratio = model->spec.time_ratios[prompts];
	struct iteration_time time = {ratio * kernel_s, ratio * sums_s,
				      ratio * overhead_at(table, at)};
	add_drafting(model, all, &time);
	return time;
}
