/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/collective/generation.h"

/* src/platform-aws.cpp of aws-ofi-nccl: 150 us for p3dn, 75 us for p4d and p5, 35 us later. */
double efa_planned_s(const struct comm_shape *shape)
{
	if (shape->efa_generation == 0)
		return 0;
	if (shape->efa_generation >= 3)
		return 35e-6;
	return shape->host_memory_only ? 150e-6 : 75e-6;
}

/* The first generation sends and receives, in segments without an order. Later ones write to memory
 * of the receiver in order (src/platform-aws.cpp, default_protocol and configure_ep_inorder). */
bool efa_keeps_order(const struct comm_shape *shape)
{
	return shape->efa_generation != 1;
}

/* The tuner has regions of size and ranks, of which these are the borders at some numbers of ranks
 * (src/tuner/nccl_ofi_regions.cpp). From small sizes on: tree with LL, tree with LL128, ring with
 * LL128, NVLS tree, ring with Simple. Between two rows the borders are straight lines. Left out is
 * one island of ring with LL128, of 1 to 2 GiB at 256 ranks. */
enum { BORDERS = 4 };
struct border {
	double ranks, until_B[BORDERS];
};
static const struct border p5[] = {
	{16, {0, 31457280, 31457280, INFINITY}},
	{17, {0, 31457280, 1073741824, 1073741824}},
	{32, {0, 37748736, 1416425385, 1416425385}},
	{64, {0, 117440512, 2147483648, 2147483648}},
	{128, {0, 301989888, 2147483648, 6442450944}},
	{256, {0, 301989888, 301989888, 12884901888}},
	{512, {0, 335544320, 335544320, 25769803776}},
	{1024, {0, 536870912, 536870912, 51539607552}},
	{2048, {0, 402653184, 402653184, INFINITY}},
};
static const struct border p5en[] = {
	{16, {262144, 14680064, 33554432, 33554432}},
	{32, {262144, 34153618, 536870912, 536870912}},
	{128, {262144, 150994944, 536870912, 3067833783}},
	{256, {262144, 165375415, 165375415, 6442450944}},
	{768, {262144, 222897298, 222897298, 17179869184}},
	{1024, {262144, 251658240, 251658240, INFINITY}},
};

/* Left out are some MiB of NVLS tree below ring with LL128 at 64 ranks. The plugin interpolates in
 * logarithms. Rows at powers of two keep straight lines within 11 % of that. */
static const struct border p6_b200[] = {
	{16, {393216, 4718592, 4718592, INFINITY}},
	{32, {393216, 18350080, 133693440, 435159040}},
	{64, {393216, 40370176, 120061952, 1072693248}},
	{128, {393216, 57147392, 57147392, 2311800330}},
	{256, {393216, 72876032, 72876032, 4982245179}},
	{512, {393216, 84074285, 84074285, 10737418240}},
	{1024, {393216, 96993280, 96993280, 22732444432}},
	{2048, {393216, 106430464, 106430464, INFINITY}},
};

static double border_B(const struct border *rows, size_t count, double ranks, size_t column)
{
	for (size_t i = 1; i < count; i++) {
		const struct border *a = &rows[i - 1], *b = &rows[i];
		double from_B = a->until_B[column], to_B = b->until_B[column];
		if (ranks <= a->ranks)
			return from_B;
		if (ranks < b->ranks)
			return from_B +
			       (to_B - from_B) * (ranks - a->ranks) / (b->ranks - a->ranks);
	}
	return rows[count - 1].until_B[column];
}

/* The tables of generations 2 to 4. Since the last one exists, the tuner leaves up to two machines
 * to NCCL (num_nodes <= 2). */
static const struct {
	const struct border *rows;
	size_t row_count, node_least;
} tuners[] = {
	{p5, sizeof p5 / sizeof p5[0], 2},
	{p5en, sizeof p5en / sizeof p5en[0], 2},
	{p6_b200, sizeof p6_b200 / sizeof p6_b200[0], 3},
};

bool efa_tuned(const struct comm_shape *shape, double size_B, enum cost_model *cost,
	       enum protocol *protocol)
{
	static const enum cost_model costs[] = {COST_TREE, COST_TREE, COST_RING, COST_MULTICAST,
						COST_RING};
	static const enum protocol protocols[] = {PROTOCOL_LL, PROTOCOL_LL128, PROTOCOL_LL128,
						  PROTOCOL_SIMPLE, PROTOCOL_SIMPLE};
	int t = shape->efa_generation - 2;
	if (t < 0 || t >= (int)(sizeof tuners / sizeof tuners[0]) ||
	    shape->node_count < tuners[t].node_least || shape->rank_count != 8 * shape->node_count)
		return false;
	size_t i = 0;
	while (i < BORDERS &&
	       size_B > border_B(tuners[t].rows, tuners[t].row_count, (double)shape->rank_count, i))
		i++;
	*cost = costs[i];
	*protocol = protocols[i];
	return true;
}
