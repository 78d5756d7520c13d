/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Machines and defaults for the cost model of the collective library. */
#pragma once

#include "sim/base/arena.h"
#include "sim/collective/library.h"
#include "sim/gpu/gpu.h"
#include "tests/test.h"

/* Eight A100s with NVSwitch, and two such machines with eight adapters of 25 GB/s each. */
static const struct comm_shape one_node = {.rank_count = 8,
					   .node_count = 1,
					   .rank_most = 8,
					   .inside = HOP_NVLINK,
					   .inside_Bps = 282e9,
					   .ring_count = 1,
					   .generation = GENERATION_AMPERE};

static struct comm_shape nodes(size_t node_count)
{
	struct comm_shape shape = one_node;
	shape.rank_count = 8 * node_count;
	shape.node_count = node_count;
	shape.network_Bps = 198e9;
	shape.ring_count = 8;
	return shape;
}

/* H100s have eighteen links of 25 GB/s to a switch. */
static inline struct comm_shape hopper(size_t gpus)
{
	return (struct comm_shape){.rank_count = gpus,
				   .node_count = 1,
				   .rank_most = gpus,
				   .inside = HOP_NVLINK,
				   .inside_Bps = 450e9,
				   .ring_count = 1,
				   .multicast = true,
				   .generation = GENERATION_HOPPER};
}

/* Returns the defaults of the rows. */
static struct library_params defaults(void)
{
	struct arena *arena = arena_new();
	struct library_params library = {.algorithm = "auto"};
	for (size_t i = 0; i < library_table.count; i++) {
		const struct param_row *row = &library_table.rows[i];
		char *field = (char *)&library + row->offset;
		if (row->kind == PARAM_KIND_NUMBER)
			CHECK(!quantity_parse(arena, row->quantity, row->preset, (double *)field));
		else if (row->kind == PARAM_KIND_BOOL)
			*(bool *)field = strcmp(row->preset, "true") == 0;
	}
	arena_free(arena);
	return library;
}

static struct collective_choice all_reduce(const struct library_params *library,
					   const struct comm_shape *shape, double size_B)
{
	return library_choose(library, shape, COLLECTIVE_ALL_REDUCE, size_B);
}
