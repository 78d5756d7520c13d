/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All-reduce by direct access to the memory of all peers, as in the kernels of vLLM, TensorRT-LLM
 * and PyTorch's symmetric memory. In one shot, each rank reads the whole buffer of each peer and
 * adds. In two shots, each rank first adds its part of all buffers, and then reads the other parts
 * of the sum. The messages here go the other way, from the memory that is read to its reader. */
#include "sim/collective/constants.h"
#include "sim/collective/pattern.h"
#include "sim/gpu/gpu.h"

/* Sends `chunk` of one rank to all others, and lets them add or store it. */
static void reach_all(struct schedule_builder *builder, size_t rank_count, size_t rank,
		      size_t chunk, uint32_t *last)
{
	uint32_t before = last[rank];
	for (size_t peer = 0; peer < rank_count; peer++) {
		if (peer == rank)
			continue;
		uint32_t sent = schedule_send(builder, rank, peer, chunk, 0, &before, 1);
		schedule_copy(builder, peer, chunk, 0, sent, NULL, 0);
	}
}

/* Adds the chunks step * rank of all other ranks at each rank. A rank adds after all have read its
 * own value. last: by rank, its last sum. */
static void add_all(struct schedule_builder *builder, struct arena *arena, size_t rank_count,
		    size_t step, uint32_t *last)
{
	uint32_t *sends = pattern_last(arena, rank_count * rank_count);
	for (size_t rank = 0; rank < rank_count; rank++)
		for (size_t peer = 0; peer < rank_count; peer++)
			if (peer != rank)
				sends[rank * rank_count + peer] =
					schedule_send(builder, rank, peer, step * peer, 0, NULL, 0);
	for (size_t rank = 0; rank < rank_count; rank++)
		for (size_t peer = 0; peer < rank_count; peer++)
			if (peer != rank)
				last[rank] = schedule_reduce(
					builder, rank, step * rank, 0,
					sends[peer * rank_count + rank],
					last[rank] == NO_STEP ? &sends[rank * rank_count]
							      : &last[rank],
					last[rank] == NO_STEP ? rank_count : 1);
}

static const struct schedule *build(const struct algorithm *algorithm, struct arena *arena,
				    const struct algorithm_spec *spec)
{
	size_t n = spec->rank_count, chunks = algorithm->variant ? n : 1;
	struct schedule_builder *builder =
		pattern_begin(algorithm, arena, spec, 1, chunks, 4 * n * (n - 1));
	uint32_t *last = pattern_last(arena, n);
	add_all(builder, arena, n, chunks > 1, last);
	for (size_t rank = 0; rank < n && chunks > 1; rank++)
		reach_all(builder, n, rank, rank, last);
	return schedule_finish(builder);
}

const struct algorithm algorithm_one_shot = {
	.name = "one_shot",
	.help = "all-reduce in which each rank reads and adds the buffers of all others",
	.collective = COLLECTIVE_ALL_REDUCE,
	.cost = COST_SHOTS,
	.build = build,
};

const struct algorithm algorithm_two_shot = {
	.name = "two_shot",
	.help = "all-reduce in which each rank adds its part, and then reads the parts of others",
	.collective = COLLECTIVE_ALL_REDUCE,
	.cost = COST_SHOTS,
	.variant = true,
	.build = build,
};

/* Sizes of buffers from which on the engine leaves an all-reduce to NCCL, for 2, 4, 6 and 8 GPUs:
 * vLLM 0.19 (vllm/distributed/device_communicators/all_reduce_utils.py), SGLang
 * (device_communicators/custom_all_reduce.py, _MAX_CAR_SIZE) and TensorRT-LLM
 * (customAllReduceUtils.h, getMaxRequiredWorkspaceSize). From Hopper on, vLLM's include PyTorch's
 * kernels on symmetric memory, which it takes for larger buffers. */
static double most_B(const struct comm_shape *shape, int engine)
{
	static const double mib = 1 << 20;
	static const double hopper[] = {8, 32, 64, 64}, blackwell[] = {2, 32, 128, 128};
	size_t index = shape->rank_count / 2 - 1;
	if (engine == ENGINE_TENSORRT_LLM)
		return index == 0 ? 16e6 : 8e6;
	if (engine == ENGINE_SGLANG)
		return 8 * mib;
	if (shape->generation >= GENERATION_BLACKWELL)
		return blackwell[index] * mib;
	return (shape->generation >= GENERATION_HOPPER ? hopper[index] : 8) * mib;
}

const struct algorithm *shots_find(const struct library_params *lib, const struct comm_shape *shape,
				   double size_B)
{
	size_t n = shape->rank_count;
	if (lib->custom_all_reduce != CUSTOM_ON || shape->node_count > 1 || n % 2 > 0 || n > 8 ||
	    !shape->peer_access || (n > 2 && !shape->multicast) ||
	    size_B >= most_B(shape, lib->engine))
		return NULL;
	/* vLLM's and SGLang's csrc/custom_all_reduce.cuh; TensorRT-LLM's thop/allreduceOp.cpp,
	 * which also wants NVLink */
	bool tensorrt = lib->engine == ENGINE_TENSORRT_LLM;
	if (tensorrt && shape->inside != HOP_NVLINK)
		return NULL;
	double step_B = tensorrt ? 500e3 : 256 * 1024;
	bool one = n == 2 || size_B < (n <= 4 ? 2 : 1) * step_B;
	return one ? &algorithm_one_shot : &algorithm_two_shot;
}

void shots_settle(const struct library_params *lib, const struct comm_shape *shape,
		  struct collective_choice *choice)
{
	double peers = fmax(1, (double)shape->rank_count - 1);
	choice->protocol = PROTOCOL_SIMPLE;
	choice->channel_count = choice->pipeline_count = 1;
	choice->block_count = 36; /* csrc/custom_all_reduce.cuh, block_limit */
	choice->start_s =
		lib->start_s + (choice->algorithm->variant ? lib->two_shot_s : lib->one_shot_s);
	choice->goodput_ratio[HOP_NVLINK] = lib->nvlink_efficiency_ratio;
	choice->goodput_ratio[HOP_PCI] = lib->pci_efficiency_ratio;
	choice->goodput_ratio[HOP_NET] = lib->net_efficiency_ratio;
	for (int k = 0; k < HOP_CLASS_COUNT; k++)
		choice->channel_cap_Bps[k] = lib->shot_Bps / peers;
}
