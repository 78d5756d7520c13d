/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collectives by direct access to the memory of all peers, as in the kernels of vLLM, TensorRT-LLM
 * and PyTorch's symmetric memory, and in NCCL's own for registered windows. In one shot, each rank
 * reads the whole buffer of each peer and adds. In two shots, each rank first adds its part of all
 * buffers, and then reads the other parts of the sum. The messages here go the other way, from the
 * memory that is read to its reader. */
#include "sim/collective/constants.h"
#include "sim/collective/generation.h"
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
	if (algorithm->collective != COLLECTIVE_ALL_GATHER)
		add_all(builder, arena, n, chunks > 1, last);
	bool gathers = chunks > 1 && algorithm->collective != COLLECTIVE_REDUCE_SCATTER;
	for (size_t rank = 0; rank < n && gathers; rank++)
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

const struct algorithm algorithm_direct_reduce_scatter = {
	.name = "direct_reduce_scatter",
	.help = "reduce-scatter in which each rank reads and adds its part of all buffers",
	.collective = COLLECTIVE_REDUCE_SCATTER,
	.cost = COST_SHOTS,
	.variant = true,
	.build = build,
};

const struct algorithm algorithm_direct_all_gather = {
	.name = "direct_all_gather",
	.help = "all-gather in which each rank stores its part in the buffers of all others",
	.collective = COLLECTIVE_ALL_GATHER,
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

/* ---- NCCL's kernels for symmetric windows (2.27 and later) ---- */

/* NCCL's model of them, until Hopper and from Blackwell on (2.29, src/sym_kernels.cc,
 * queryModel_lsa): latency with LL and without, for all-reduces and other collectives; bandwidth of
 * a GPU, also through a switch that adds; and bandwidth of a block, in units of 2^30 B/s. */
struct windows {
	double ll_s[2], latency_s[2], reach_gib, multicast_gib, block_gib[2];
};
static const struct windows hopper = {{4.5e-6, 4.5e-6}, {7.8e-6, 7.8e-6}, 320, 480, {65, 44}};
static const struct windows blackwell = {{11e-6, 8.5e-6}, {19.5e-6, 13e-6}, 600, 1000, {55, 55}};

/* NCCL counts LL's bytes nine times: flags and data, and the work on them. Its model subtracts 1 us
 * from the time of the bytes; its smooth minimum and maximum are plain ones here. */
static double window_s(double latency_s, double bus_B, double reach_gib)
{
	return latency_s + fmax(0, bus_B / (reach_gib * 1073741824) - 1e-6);
}

bool windows_choose(struct library_params *lib, const struct comm_shape *shape,
		    enum collective collective, double size_B, struct collective_choice *choice)
{
	bool reduces_all = collective == COLLECTIVE_ALL_REDUCE;
	if (!lib->symmetric || lib->protocol != CHOOSE_PROTOCOL_AUTO || shape->node_count > 1 ||
	    strcmp(lib->algorithm, "auto") != 0 || shape->rank_count < 2 ||
	    shape->inside != HOP_NVLINK || !shape->peer_access ||
	    (shape->rank_count > 2 && !shape->multicast) ||
	    (!reduces_all && collective != COLLECTIVE_ALL_GATHER &&
	     collective != COLLECTIVE_REDUCE_SCATTER))
		return false;
	const struct windows *w = shape->generation >= GENERATION_BLACKWELL ? &blackwell : &hopper;
	double n = (double)shape->rank_count, laps = reduces_all ? 2 : 1;
	bool multicast = reduces_all && multicast_may(lib, shape, false);
	double ll_s =
		window_s(w->ll_s[!reduces_all], 9 * size_B * (reduces_all ? n : 1), w->reach_gib);
	double plain_s = multicast
				 ? window_s(w->latency_s[0], size_B * (1 + 1 / n), w->multicast_gib)
				 : window_s(w->latency_s[!reduces_all], laps * size_B * (n - 1) / n,
					    w->reach_gib);
	bool ll = ll_s < plain_s;
	library_reach(lib, shape);
	double part = lib->nvlink_efficiency_ratio, hops = reduces_all && !ll ? 2 : 1;
	choice->algorithm = collective == COLLECTIVE_ALL_GATHER ? &algorithm_direct_all_gather
			    : !reduces_all                      ? &algorithm_direct_reduce_scatter
			    : ll                                ? &algorithm_one_shot
			    : multicast                         ? &algorithm_nvls
								: &algorithm_two_shot;
	choice->protocol = ll ? PROTOCOL_LL : PROTOCOL_SIMPLE;
	choice->predicted_s = ll ? ll_s : plain_s;
	choice->channel_count = choice->pipeline_count = 1;
	choice->block_count = (size_t)ceil(w->reach_gib / w->block_gib[!reduces_all]);
	choice->start_s = lib->start_s - hops * lib->wire_nvlink_s +
			  lib->latency_scale_ratio * (ll ? w->ll_s : w->latency_s)[!reduces_all];
	if (ll) { /* half of the bytes are flags */
		part /= 2;
	} else if (multicast) { /* no copies and rounds; the schedule as in generation.c */
		choice->block_count =
			(size_t)ceil((shape->generation >= GENERATION_BLACKWELL ? 32 : 16) / n);
		choice->pipeline_count = (size_t)fmin(64, ceil(size_B / n / 16384));
		part = lib->nvls_efficiency_ratio * 2 * (n - 1) / (n + 1);
	} else {
		part = fmin(part, w->reach_gib * 1073741824 / shape->inside_Bps);
	}
	for (int k = 0; k < HOP_CLASS_COUNT; k++)
		choice->goodput_ratio[k] = part;
	return true;
}
