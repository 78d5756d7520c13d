/* SPDX-License-Identifier: GPL-3.0-or-later */
/* NCCL's constants that depend on the generation of the GPUs, and its model of NVLink SHARP. */
#include "sim/collective/generation.h"
#include "sim/gpu/gpu.h"

/* src/graph/tuning.cc of NCCL 2.28 (perChMaxTreeBws, perChMaxRingLL128Bws, llMaxBws), topo.h
 * (SM*_NVLINK_BW) and search.cc (speedArrayIntra). Two blocks serve each ring that the search
 * finds. GPUs before Ampere have Ampere's constants, because later tables hardly differ.
 *
 * NCCL's model limits blocks with Simple in trees only. In a ring, two blocks have to carry the
 * largest bandwidth that the search gives to a ring between nodes: 48 GB/s on Hopper, 96 GB/s on
 * Blackwell (search.cc, sm90SpeedArrayInter and sm100SpeedArrayInter). */
struct constants {
	double block_Bps, tree_Bps, ll128_Bps, ll_Bps, ll_net_Bps;
	double lane_Bps;      /* goodput of the links of one ring that the search finds */
	double ll_scale;      /* part of the links' goodput that LL reaches, relative to Ampere */
	double planned_ratio; /* part of the links' goodput that the search hands out to rings */
	double reached_ratio; /* goodput that a link reaches, relative to planned_ratio of Ampere */
	double multicast_planned_ratio; /* nvlsEfficiency; 0: no NVLink SHARP */
	double multicast_blocks;        /* NVLS_NCHANNELS */
	double multicast_tree_Bps[2];   /* perChMaxNVLSTreeBws, two nodes and more */
	double speeds_Bps[13];          /* bandwidths that the search tries, from the largest */
};

static const struct constants ampere = {12e9, 12e9, 10e9, 3.5e9, 1.4e9, 25e9, 1,
					0.85, 1,    0,    0,     {0},   {0}};
/* 20.6 of a link's 25 GB/s; twelve rings of 30 GB/s. */
static const struct constants hopper = {
	24e9,
	19.35e9,
	18.35e9,
	5.9e9,
	2.8e9,
	37.5e9,
	1.52,
	0.8,
	0.97,
	0.85,
	16,
	{57.7e9, 45.5e9},
	{60e9, 50e9, 40e9, 30e9, 24e9, 20e9, 15e9, 12e9, 11e9, 6e9, 3e9}};
/* 40.1 of a link's 50 GB/s. */
static const struct constants blackwell = {
	48e9,
	35e9,
	20e9,
	8.8e9,
	2.8e9,
	25e9,
	1.52,
	0.8,
	0.94,
	0.74,
	24,
	{96e9, 43.8e9},
	{90e9, 80e9, 70e9, 60e9, 50e9, 45e9, 40e9, 30e9, 24e9, 20e9, 19e9, 18e9}};

static const struct constants *constants_of(int generation)
{
	if (generation >= GENERATION_BLACKWELL)
		return &blackwell;
	return generation >= GENERATION_HOPPER ? &hopper : &ampere;
}

static void preset(double *value, double constant)
{
	if (*value <= 0)
		*value = constant;
}

void library_resolve(struct library_params *lib, int generation)
{
	const struct constants *k = constants_of(generation);
	preset(&lib->channel_bandwidth_Bps, k->block_Bps);
	preset(&lib->channel_tree_Bps, k->tree_Bps);
	preset(&lib->channel_ll128_Bps, k->ll128_Bps);
	preset(&lib->channel_ll_Bps, k->ll_Bps);
	preset(&lib->channel_ll_net_Bps, k->ll_net_Bps);
	preset(&lib->lane_Bps, k->lane_Bps);
	preset(&lib->nvlink_planned_ratio, k->planned_ratio);
	lib->ll_ratio *= k->ll_scale;
	lib->nvlink_efficiency_ratio *= k->reached_ratio;
	lib->latencies = lib->own_latencies ? *lib->own_latencies : nccl_latencies[lib->tuning];
}

/* src/graph/tuning.cc, baseLat and hwLat: LL, LL128 and Simple, over NVLink, PCIe and a network.
 * The releases from 2.18 to 2.22 differ only for trees with Simple: their 28 us for a hop contained
 * the time of a chunk of 256 KiB at 12 GB/s. This time is simulated here, so all releases have the
 * numbers of 2.22 without it. */
const struct nccl_latencies nccl_latencies[TUNING_COUNT] = {
	[TUNING_2_18] =
		{.base_s = {{6.6e-6, 14e-6, 8.4e-6}, {6.8e-6, 14e-6, 8.4e-6}},
		 .hop_s = {{{0.6e-6, 1.9e-6, 3.4e-6},
			    {1e-6, 2.5e-6, 5.7e-6},
			    {2.7e-6, 4e-6, 14e-6}},
			   {{0.6e-6, 1.25e-6, 4e-6}, {1e-6, 1.9e-6, 4e-6}, {5e-6, 8.5e-6, 14e-6}}}},
	[TUNING_2_8] = {.base_s = {{3.6e-6, 10e-6, 8.4e-6}, {4.4e-6, 4.4e-6, 8.4e-6}},
			.hop_s = {{{0.47e-6, 1.9e-6, 3.4e-6},
				   {1e-6, 2.5e-6, 5.7e-6},
				   {2.7e-6, 4e-6, 9.6e-6}},
				  {{0.52e-6, 1.25e-6, 4e-6},
				   {1e-6, 1.9e-6, 4e-6},
				   {5e-6, 8.5e-6, 14e-6}}}},
};

/* Trees deviate from the model at medium sizes. NCCL corrects this with a table from 64 B on, with
 * a column for each power of two: treeCorrectionFactor. */
double tree_correction_ratio(const struct library_params *lib, enum protocol protocol,
			     double size_B)
{
	enum { COLUMNS = 23 };
	static const double ll128_of_2_8[COLUMNS] = {
		1,  1,  1,  1,  1,  .9, .8, .8, .8, .7,  .6,  .6,
		.6, .5, .6, .6, .7, .7, .8, .9, .9, .92, .92,
	};
	static const double table[PROTOCOL_COUNT][COLUMNS] = {
		{1,  1,  1,  1,  .9, .8, .7, .7, .7, .7, .6, .5,
		 .4, .4, .5, .6, .7, .8, .9, 1,  1,  1,  1},
		{1,  1,  1,  1,  1,  .9, .8, .8, .8, .7, .6, .6,
		 .6, .6, .6, .6, .8, .9, .9, .9, .9, 1,  1},
		{.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
		 .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9},
	};
	int column = size_B < 64 ? 0 : ilogb(size_B / 64);
	if (column >= COLUMNS)
		return 1;
	bool of_2_8 = lib->tuning == TUNING_2_8 && protocol == PROTOCOL_LL128;
	return (of_2_8 ? ll128_of_2_8 : table[protocol])[column];
}

/* ---- NVLink SHARP ----
 *
 * Each rank is the head of a part of the buffer: it loads the sum of the part through the switch,
 * which reads the values of all GPUs, and stores it to all of them. A link carries the whole buffer
 * once for the others' parts, and its own part once more: 1 + 1/ranks of the buffer each way. */

bool multicast_may(const struct library_params *lib, const struct comm_shape *shape, bool tree)
{
	bool simple = lib->protocol == CHOOSE_PROTOCOL_AUTO || lib->protocol == CHOOSE_SIMPLE;
	bool across = shape->node_count > 1;
	return lib->nvls && simple && shape->multicast && across == tree && !shape->socket &&
	       shape->rank_most > 2 && shape->rank_count == shape->rank_most * shape->node_count &&
	       constants_of(shape->generation)->multicast_planned_ratio > 0;
}

/* Latency of a hop between nodes in a tree of NVLink SHARP, from 2.28 on (hwLatencies). */
static const double NVLS_TREE_HOP_S = 20.9e-6;

/* Returns the bandwidth of each head in NCCL's search (ncclTopoSearchTryNvls): a GPU's links carry
 * that of each head once, and its own twice. */
static double head_Bps(const struct comm_shape *shape)
{
	const struct constants *k = constants_of(shape->generation);
	double links_Bps = ampere.planned_ratio * k->reached_ratio * shape->inside_Bps;
	for (const double *speed = k->speeds_Bps; *speed > 0; speed++)
		if (((double)shape->rank_most + 1) * *speed <= links_Bps)
			return *speed;
	return links_Bps / ((double)shape->rank_most + 1);
}

/* NCCL 2.17 to 2.27 take 5/6 of the bandwidth of all heads, and across more than two nodes half of
 * a head's share of the adapters. Later releases plan a bus bandwidth: each head has twice the
 * generation's part of its links, without what it sends to itself. Inside a node the search's
 * largest bandwidth bounds it, and across nodes its share of the adapters, of which two nodes count
 * twice (src/graph/tuning.cc of 2.20 and 2.29). */
double multicast_guess_s(const struct library_params *lib, const struct comm_shape *shape,
			 double net_hop_s, double size_B)
{
	const struct constants *k = constants_of(shape->generation);
	double heads = (double)shape->rank_most, each_Bps = head_Bps(shape), part = 5.0 / 6;
	bool two = shape->node_count == 2, more = shape->node_count > 2;
	double outside_Bps = lib->net_efficiency_ratio * shape->network_Bps / heads;
	if (lib->nvls_model == NVLS_MODEL_2_28) {
		double ranks = (double)shape->rank_count;
		each_Bps *= k->multicast_planned_ratio * 2 * (heads - 1) / heads;
		outside_Bps = two || more ? fmin(outside_Bps * (two ? 2 : 1),
						 k->multicast_tree_Bps[two ? 0 : 1])
					  : k->speeds_Bps[0];
		part = ranks / (2 * (ranks - 1));
		if (two || more) {
			net_hop_s += NVLS_TREE_HOP_S -
				     lib->latencies.hop_s[true][HOP_NET][PROTOCOL_SIMPLE];
			if (shape->generation >= GENERATION_BLACKWELL)
				part *= tree_correction_ratio(lib, PROTOCOL_SIMPLE, size_B);
		}
	} else if (more) {
		outside_Bps /= 2;
	}
	each_Bps = outside_Bps > 0 ? fmin(each_Bps, outside_Bps) : each_Bps;
	return lib->latency_scale_ratio * lib->nvls_latency_s +
	       2 * (double)ilogb((double)shape->node_count) * net_hop_s +
	       size_B / (part * each_Bps * heads);
}

/* Returns the bytes of a round, in which each block works on one chunk of each head. NCCL takes
 * smaller chunks for smaller messages, and for trees over four or more nodes (calcCollChunking,
 * src/enqueue.cc). The plugin for EFA raises the limit (src/platform-aws.cpp). */
static double round_B(const struct comm_shape *shape, double chunks, double size_B)
{
	static const struct {
		double rounds, chunk_B;
	} inside[] = {{64, 65536}, {8, 32768}, {2, 16384}, {0, 0}},
	  across[] = {{32, 262144}, {16, 131072}, {4, 65536}, {1, 32768}};
	bool tree = shape->node_count > 1, efa = shape->efa_generation >= 2;
	double chunk_B = efa && tree ? 524288 : 131072; /* NCCL_NVLS_CHUNKSIZE: 128 KiB */
	if (shape->node_count >= 4 && !efa)
		chunk_B = fmin(chunk_B, 65536);
	for (size_t i = 0; i < sizeof across / sizeof across[0]; i++)
		if (size_B < (tree ? across : inside)[i].rounds * chunks * chunk_B)
			chunk_B = fmin(chunk_B, (tree ? across : inside)[i].chunk_B);
	return fmin(size_B, chunks * chunk_B);
}

void multicast_settle(const struct library_params *lib, const struct comm_shape *shape,
		      struct collective_choice *choice, double size_B)
{
	double ranks = (double)shape->rank_most;
	double blocks = constants_of(shape->generation)->multicast_blocks;
	double part_B = round_B(shape, blocks * ranks, size_B);
	double links_Bps = lib->nvls_efficiency_ratio * shape->inside_Bps;
	double round_s = lib->nvls_round_s + part_B * (1 + 1 / ranks) / links_Bps;
	choice->channel_count = 1;
	choice->block_count = (size_t)blocks;
	choice->pipeline_count = (size_t)ceil(size_B / part_B);
	choice->start_s = lib->latency_scale_ratio * lib->nvls_start_s + lib->start_s +
			  blocks * lib->channel_start_s;
	/* A block copies its chunks to buffers of the switch first, and the last results back. */
	if (lib->block_copy_Bps > 0) {
		choice->copy_spB = ranks / (blocks * lib->block_copy_Bps);
		choice->start_s += part_B / (blocks * lib->block_copy_Bps);
	}
	choice->channel_cap_Bps[HOP_NVLINK] =
		part_B / ranks / round_s / (choice->algorithm->paired ? 2 : 1);
	/* The schedule sends 2 (ranks - 1) / ranks of the buffer over each link. */
	choice->goodput_ratio[HOP_NVLINK] =
		lib->nvls_efficiency_ratio * 2 * (ranks - 1) / (ranks + 1);
}
