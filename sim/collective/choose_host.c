/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Choices of libraries for buffers in host memory: Open MPI and Gloo.
 *
 * Open MPI's choice: the fixed rules of its component coll_tuned, release 4.1
 * (ompi/mca/coll/tuned/coll_tuned_decision_fixed.c), for floats whose order of addition is free.
 *
 * A rule holds for fewer ranks and bytes than it names, and the first one that holds decides. For
 * all_gather and all_to_all the bytes are those of one rank's part. The rules for 64 ranks and more
 * are left out; the last ones before them are taken. Algorithms without segments are used where
 * Open MPI passes a segment size of 0. Bruck's algorithms and the butterfly are replaced by
 * algorithms with the same bytes: the linear one, the ring or recursive halving. Scatter followed
 * by all-gather and the k-nomial tree are replaced by the binomial tree.
 *
 * Gloo has one algorithm for each collective (gloo/allreduce.cc, allgather.cc, broadcast.cc,
 * alltoall.cc). Its ring divides each part into at least two segments, so that one is sent while
 * the other is added. Two rings on the same connections do the same. PyTorch reduces the whole
 * buffer for a reduce-scatter (ProcessGroupGloo.cpp, reduce_scatter_tensor_coalesced). */

#include "sim/collective/algorithm.h"
#include "sim/collective/library.h"
#include "sim/collective/pattern.h"

#define ANY 1e300

struct rule {
	double ranks_below, bytes_below;
	const struct algorithm *algorithm;
	bool at_once; /* all-to-all: with all peers at the same time */
};

static const struct rule all_reduce[] = {
	{4, 8, &algorithm_ring, false},
	{4, 4096, &algorithm_recursive_doubling, false},
	{4, 8192, &algorithm_ring, false},
	{4, 16384, &algorithm_recursive_doubling, false},
	{4, 262144, &algorithm_ring, false},
	{4, ANY, &algorithm_halving_doubling, false},
	{8, 16, &algorithm_ring, false},
	{16, 8192, &algorithm_recursive_doubling, false},
	{16, ANY, &algorithm_halving_doubling, false},
	{32, 64, &algorithm_ring, false},
	{32, 4096, &algorithm_recursive_doubling, false},
	{64, 128, &algorithm_ring, false},
	{ANY, ANY, &algorithm_halving_doubling, false},
};
static const struct rule reduce_scatter[] = {
	{4, 65536, &algorithm_reduce_scatter, false},
	{4, 131072, &algorithm_recursive_halving, false},
	{4, ANY, &algorithm_reduce_scatter, false},
	{32, 262144, &algorithm_recursive_halving, false},
	{32, ANY, &algorithm_reduce_scatter, false},
	{ANY, 524288, &algorithm_recursive_halving, false},
	{ANY, ANY, &algorithm_reduce_scatter, false},
};
static const struct rule all_gather[] = {
	{32, ANY, &algorithm_doubling_all_gather, false},
	{ANY, 1024, &algorithm_doubling_all_gather, false},
	{ANY, ANY, &algorithm_all_gather, false},
};
static const struct rule broadcast[] = {
	{4, ANY, &algorithm_linear_broadcast, false}, /* other trees of three ranks are the same */
	{8, 8192, &algorithm_binomial_broadcast, false},
	{8, ANY, &algorithm_linear_broadcast, false}, /* and a chain of fan-out 4 */
	{16, 32768, &algorithm_binomial_broadcast, false},
	{16, ANY, &algorithm_linear_broadcast, false},
	{ANY, ANY, &algorithm_binomial_broadcast, false},
};
static const struct rule all_to_all[] = {
	{3, 32768, &algorithm_all_to_all, false},   {3, 262144, &algorithm_all_to_all, true},
	{3, ANY, &algorithm_all_to_all, false},     {8, 524288, &algorithm_all_to_all, true},
	{8, 1048576, &algorithm_all_to_all, false}, {ANY, ANY, &algorithm_all_to_all, true},
};

static const struct rule *const tables[COLLECTIVE_COUNT] = {
	[COLLECTIVE_ALL_REDUCE] = all_reduce, [COLLECTIVE_REDUCE_SCATTER] = reduce_scatter,
	[COLLECTIVE_ALL_GATHER] = all_gather, [COLLECTIVE_BROADCAST] = broadcast,
	[COLLECTIVE_ALL_TO_ALL] = all_to_all,
};

static const struct algorithm *const gloo[COLLECTIVE_COUNT] = {
	[COLLECTIVE_ALL_REDUCE] = &algorithm_ring,
	[COLLECTIVE_REDUCE_SCATTER] = &algorithm_ring,
	[COLLECTIVE_ALL_GATHER] = &algorithm_all_gather,
	[COLLECTIVE_BROADCAST] = &algorithm_binomial_broadcast,
	[COLLECTIVE_ALL_TO_ALL] = &algorithm_all_to_all,
};

static const struct rule *rule_of(enum collective collective, double ranks, double bytes)
{
	const struct rule *rule = tables[collective];
	while (ranks >= rule->ranks_below || bytes >= rule->bytes_below)
		rule++;
	return rule;
}

/* Returns the number of peers to which a rank of an all-to-all sends at the same time. */
static size_t peers_at_once(const struct library_params *library, bool all, size_t ranks)
{
	size_t peers = ranks > 1 ? ranks - 1 : 1, given = (size_t)library->channels_count;
	if (given > 0)
		return given < peers ? given : peers;
	return all ? peers : 1;
}

/* All costs of messages are those of sockets and cores. Buffers of GPUs are copied to host memory
 * before and back after the collective; here both copies are before it. A rank of an all-gather
 * copies only its own part to host memory. */
struct collective_choice host_choose(const struct library_params *library,
				     const struct comm_shape *shape, enum collective collective,
				     double size_B)
{
	size_t n = shape->rank_count;
	bool of_gloo = library->rules == RULES_GLOO;
	bool parts = collective == COLLECTIVE_ALL_GATHER || collective == COLLECTIVE_ALL_TO_ALL;
	double sent_ratio = collective == COLLECTIVE_ALL_GATHER ? 1 / (double)n : 1;
	const struct rule *rule =
		rule_of(collective, (double)n, parts ? size_B / (double)n : size_B);
	const struct algorithm *own = algorithm_find(library->algorithm);
	struct collective_choice choice = {.algorithm =
						   of_gloo ? gloo[collective] : rule->algorithm,
					   .protocol = PROTOCOL_SIMPLE,
					   .channel_count = 1,
					   .pipeline_count = 1,
					   .start_s = library->start_s};
	for (int k = 0; k < HOP_CLASS_COUNT; k++)
		choice.goodput_ratio[k] = 1;
	if (collective == COLLECTIVE_REDUCE_SCATTER && pattern_power(n) != n && !of_gloo)
		choice.algorithm = &algorithm_reduce_scatter;
	if (collective == COLLECTIVE_ALL_GATHER && pattern_power(n) != n)
		choice.algorithm = &algorithm_all_gather;
	if (own && own->collective == collective)
		choice.algorithm = own;
	if (library->host_copy_Bps > 0)
		choice.start_s += (1 + sent_ratio) * size_B / library->host_copy_Bps;
	if (collective == COLLECTIVE_ALL_TO_ALL)
		choice.channel_count = peers_at_once(library, rule->at_once || of_gloo, n);
	else if (of_gloo && choice.algorithm == &algorithm_ring)
		choice.channel_count = 2;
	return choice;
}
