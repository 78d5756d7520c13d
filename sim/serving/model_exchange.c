/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collectives and messages of an iteration of a model server. */
#include "sim/serving/model_parts.h"

/* Returns the number of prompts of an iteration if they are equal. Then n prompts have rows x (keys
 * - rows / 2) / n pairs. */
double model_prompts(const struct iteration *it)
{
	double pairs = it->prompt_rows * (it->prompt_keys[0] - it->prompt_rows / 2);
	return it->prompt_rows > 0 ? pairs / it->prompt_pairs[0] : 0;
}

bool model_is_exchanged(const struct serving_model *model, const struct shard_exchange *exchange)
{
	return exchange->pass == PASS_FORWARD && exchange->layer <= model->head_layer;
}

double model_exchange_s(const struct serving_model *model, const struct shard_exchange *exchange,
			double rows)
{
	return model->spec.collective_s(model->spec.ctx, exchange->group, exchange->collective,
					exchange->elements_count * rows * model->element_B);
}

/* vLLM sends hidden features and the residual, a part from each GPU of the tensor group, which the
 * next stage gathers (distributed/parallel_state.py, send_tensor_dict). */
enum { PASSED_TENSORS = 2 };

static double sum_of_passes_s(const struct serving_model *model, double rows)
{
	const struct serving_model_spec *spec = &model->spec;
	double hidden = (double)spec->network->layers[1].channels;
	return spec->stages > 1 && !spec->rpc_s
		       ? spec->passed_s(spec->ctx,
					PASSED_TENSORS * rows * hidden * model->element_B)
		       : 0;
}

/* llama.cpp, ggml-rpc.cpp: a command has 9 B before its content, and a tensor is described by 296
 * B. A stage gets the features of each row in fp32, its position (4 B) and two places in the cache
 * (8 B each). The mask in fp32 has a number for each key that a row may see. A micro-batch has at
 * most 512 rows (common/common.h: n_ubatch). */
enum { RPC_COMMAND_B = 9, RPC_TENSOR_B = 296, RPC_INPUTS = 5, RPC_ROW_B = 4 + 2 * 8 };
static const double RPC_ROWS_MAX = 512;

/* Returns the time of the messages between the client and the stages on other machines. */
static double sum_of_rpc_s(const struct serving_model *model, const struct iteration *it)
{
	const struct serving_model_spec *spec = &model->spec;
	if (!spec->rpc_ctx)
		return 0;
	double hidden_B = 4 * it->rows * (double)spec->network->layers[1].channels;
	double prompts = model_prompts(it), layers = model->blocks / spec->stages;
	double keys = it->decode_keys[0] +
		      (prompts > 0 ? it->prompt_rows * it->prompt_keys[0] / prompts : 0);
	double batches = ceil(it->rows / RPC_ROWS_MAX);
	double in_B = (RPC_INPUTS + 2) * (RPC_COMMAND_B + RPC_TENSOR_B) +
		      layers * spec->rpc_graph_B +
		      (hidden_B + RPC_ROW_B * it->rows + 4 * keys) / batches;
	return batches * spec->rpc_s(spec->rpc_ctx, in_B, hidden_B / batches);
}

double model_exchanges_s(struct serving_model *model, const struct iteration *it)
{
	double rows = it->rows, sequences = it->sequences;
	const struct shard *shard = model->spec.shard;
	double *sums = &model->known_s[TIME_SUMS][(size_t)rows];
	double *gather = &model->known_s[TIME_GATHER][(size_t)sequences];
	if (*sums < 0) {
		*sums = sum_of_passes_s(model, rows);
		for (size_t i = 0; shard && i < shard->exchange_count; i++)
			if (model_is_exchanged(model, &shard->exchanges[i]))
				*sums += model_exchange_s(model, &shard->exchanges[i], rows);
	}
	if (*gather < 0)
		*gather = shard && sequences > 0
				  ? model->spec.collective_s(
					    model->spec.ctx, SHARD_TENSOR, COLLECTIVE_ALL_GATHER,
					    sequences * (double)model->spec.network->vocabulary *
						    model->element_B)
				  : 0;
	return *sums + *gather + sum_of_rpc_s(model, it);
}
