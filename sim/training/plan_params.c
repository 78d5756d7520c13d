/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parameters of a plan, and their text. */
#include "sim/training/plan.h"

static const char *const recompute_names[] = {"none", "selective", "full", NULL};
static const char *const buckets_names[] = {"megatron", "policy", NULL};
static const char *const overlap_names[] = {"none", "backward", "all", NULL};
static const char *const sharding_names[] = {"none", "optimizer", "gradients", "parameters", NULL};

static const struct param_row plan_rows[] = {
	PARAM_WHOLE(struct plan_params, tp_count, 1, 1024, "1",
		    "tensor parallelism: GPUs that split each layer"),
	PARAM_WHOLE(struct plan_params, cp_count, 1, 1024, "1",
		    "context parallelism: GPUs that split the tokens of each sequence"),
	PARAM_WHOLE(struct plan_params, pp_count, 1, 1024, "1",
		    "pipeline parallelism: stages of consecutive layers"),
	PARAM_WHOLE(struct plan_params, dp_count, 0, 131072, "0",
		    "data parallelism: copies of the network; 0 means all GPUs that are left"),
	PARAM_WHOLE(struct plan_params, ep_count, 1, 131072, "1",
		    "expert parallelism: GPUs that split the experts of a layer"),
	PARAM_WHOLE(struct plan_params, chunks_count, 1, 256, "1",
		    "parts of the network on each pipeline stage (virtual stages)"),
	PARAM_WHOLE(struct plan_params, micro_batch_count, 1, 1e6, "1",
		    "samples of a micro-batch, on each copy of the network"),
	PARAM_WHOLE(
		struct plan_params, global_batch_count, 0, 1e9, "0",
		"samples of a step on all GPUs; 0 means one micro-batch for each copy and stage"),
	PARAM_BOOL(
		struct plan_params, sequence_parallel, "true",
		"whether the tensor group also splits the layers between its products, by tokens",
		"Megatron-LM's scripts for its large models set --sequence-parallel"),
	PARAM_BOOL(struct plan_params, embedding_as_block, "false",
		   "whether the embedding takes the place of one block in the first part",
		   "Megatron-LM, --account-for-embedding-in-pipeline-split"),
	PARAM_BOOL(struct plan_params, loss_as_block, "false",
		   "whether logits and loss take the place of one block in the last part",
		   "Megatron-LM, --account-for-loss-in-pipeline-split"),
	PARAM_TEXT(struct plan_params, layout, "",
		   "blocks of each part of a pipeline, such as Et*3|(tt|)*29L: t is a block, E the "
		   "embedding, L logits and loss; empty means equal numbers",
		   "Megatron-LM, --pipeline-model-parallel-layout"),
	PARAM_CHOICE(struct plan_params, recompute, recompute_names, "none",
		     "activations that backward computes again: none, those of "
		     "plan.recompute_modules, or all"),
	PARAM_TEXT(struct plan_params, recompute_modules, "core_attn",
		   "what recompute=selective computes again, joined by +: core_attn (unfused "
		   "attention), layernorm (norms of blocks), moe_act (activations of experts)",
		   "Megatron-LM, --recompute-modules"),
	PARAM_BOOL(struct plan_params, early_stop, "false",
		   "whether full recomputation of a block stops at the last activation that "
		   "backward needs",
		   "PyTorch, torch.utils.checkpoint without reentrance: early stop; Megatron-LM "
		   "repeats the whole block"),
	PARAM_CHOICE(struct plan_params, sharding, sharding_names, "none",
		     "what a data-parallel group shares out: nothing, the optimizer's state (ZeRO "
		     "1), gradients, too (ZeRO 2), or parameters, too (ZeRO 3, FSDP)"),
	PARAM_WHOLE(struct plan_params, replicas_count, 1, 131072, "1",
		    "copies of what a data-parallel group shares out (hybrid sharding); gradients "
		    "are also reduced between them",
		    "PyTorch's FSDP: HYBRID_SHARD, with a copy in each machine"),
	PARAM_TEXT(struct plan_params, schedule, "auto",
		   "order of the passes in a pipeline stage; auto means 1f1b, or interleaved if "
		   "stages hold several parts",
		   "Megatron-LM, schedules.py"),
	PARAM_TEXT(struct plan_params, order, "tp-cp-dp-pp",
		   "order in which groups are filled with neighbouring ranks, innermost first",
		   "Megatron-LM, parallel_state.py: order tp-cp-ep-dp-pp"),
	PARAM_CHOICE(struct plan_params, overlap_tensor, overlap_names, "backward",
		     "collectives of tensor groups that run while products do: none, those of "
		     "gradients, or all (Transformer Engine's user buffers, tp_comm_overlap)",
		     "Megatron-LM overlaps those of gradients unless "
		     "--no-async-tensor-model-parallel-allreduce is set"),
	PARAM_BOOL(struct plan_params, overlap_gradients, "true",
		   "whether gradients are reduced during the last backward passes",
		   "Megatron-LM's scripts set --overlap-grad-reduce; PyTorch's FSDP always does"),
	PARAM_BOOL(
		struct plan_params, overlap_parameters, "false",
		"whether updated parameters are gathered during the first forward passes of the "
		"next step, if the optimizer's state is shared out",
		"Megatron-LM gathers them behind the update unless --overlap-param-gather is set"),
	PARAM_BOOL(struct plan_params, scatter_gather, "true",
		   "whether each GPU of a tensor group sends a part of an activation to the next "
		   "stage, which gathers the parts; sequence parallelism has the parts anyway",
		   "Megatron-LM, unless --no-scatter-gather-tensors-in-pipeline is set"),
	PARAM_CHOICE(struct plan_params, buckets, buckets_names, "megatron",
		     "buckets in which gradients are reduced: those of Megatron-LM (plan.bucket), "
		     "or of the exchange policy"),
	PARAM_WHOLE(struct plan_params, bucket_count, 1, 1e12, "40000000",
		    "parameters of a bucket of gradients; a group of many ranks has larger ones",
		    "Megatron-LM: max(40000000, 1000000 x dp)"),
	PARAM_NUMBER(struct plan_params, gradient_element_B, QUANTITY_BYTES, 1, 8, "4 B",
		     "size of an element of a reduced gradient",
		     "Megatron-LM accumulates and reduces bf16 training's gradients in fp32"),
	PARAM_NUMBER(
		struct plan_params, parameter_element_B, QUANTITY_BYTES, 0, 8, "0 B",
		"size of an element of a gathered parameter; 0 means the size of an activation's "
		"element",
		"Megatron-LM gathers the parameters' 16-bit copies; 1 B with --fp8-param-gather"),
	PARAM_NUMBER(struct plan_params, imbalance_ratio, QUANTITY_RATIO, 1, 1000, "1",
		     "rows of the busiest group of experts divided by their mean",
		     "assumption: routers are trained with a loss that balances experts"),
	PARAM_NUMBER(struct plan_params, fragmentation_ratio, QUANTITY_RATIO, 1, 10, "1.08",
		     "memory that the framework's allocator takes, divided by the tensors in it",
		     "assumption: PyTorch's allocator rounds sizes and keeps free blocks"),
	PARAM_NUMBER(struct plan_params, reserve_B, QUANTITY_BYTES, 0, 1e12, "1073741824 B",
		     "memory of a GPU that the framework cannot use: CUDA context, kernels, and "
		     "NCCL's buffers",
		     "assumption: half a GB of context and kernels, and NCCL's 4 MiB for each "
		     "channel, direction and protocol (NCCL_BUFFSIZE) of some 20 channels in three "
		     "communicators"),
	PARAM_BOOL(struct plan_params, anyway, "false",
		   "whether a plan that needs more memory than the GPUs have is predicted anyway",
		   "such a plan fails"),
};
const struct param_table plan_table = PARAM_TABLE("plan", struct plan_params, plan_rows);

/* Returns the row's value as text; NULL: it is the default. */
static const char *value_text(struct arena *arena, const struct param_row *row, const void *field)
{
	double number = row->kind == PARAM_KIND_NUMBER ? *(const double *)field : 0;
	const char *text;
	switch (row->kind) {
	case PARAM_KIND_NUMBER:
		text = arena_printf(arena, row->quantity == QUANTITY_BYTES ? "%.9g B" : "%.9g",
				    number);
		return number == strtod(row->preset, NULL) ? NULL : text;
	case PARAM_KIND_BOOL:
		text = *(const bool *)field ? "true" : "false";
		break;
	case PARAM_KIND_TEXT:
		text = *(const char *const *)field;
		break;
	default:
		text = row->choices[*(const int *)field];
		break;
	}
	return strcmp(text, row->preset) == 0 ? NULL : text;
}

const char *plan_text(struct arena *arena, const struct training_plan *plan)
{
	static const char *const keys[] = {"tp", "pp", "dp", "micro_batch", "global_batch"};
	const char *text = arena_printf(arena, "tp=%zu,pp=%zu,dp=%zu,micro_batch=%zu",
					plan->sizes[AXIS_TENSOR], plan->sizes[AXIS_PIPELINE],
					plan->sizes[AXIS_DATA], plan->micro_batch);
	for (size_t i = 0; i < plan_table.count; i++) {
		const struct param_row *row = &plan_table.rows[i];
		const char *value =
			value_text(arena, row, (const char *)plan->params + row->offset);
		char key[64];
		param_key(row, key, sizeof key);
		for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++)
			if (strcmp(key, keys[k]) == 0)
				value = NULL;
		if (value)
			text = arena_printf(arena, "%s,%s=%s", text, key, value);
	}
	return text;
}
