/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds the machines of tests of rings link by link. */
#pragma once

#include "sim/base/arena.h"
#include "sim/collective/rings.h"
#include "sim/fabric/link.h"
#include "tests/test.h"

struct site {
	struct arena *arena;
	struct fabric *fabric;
	struct ring_place ranks[1024];
	size_t rank_count;
};

static inline void site_open(struct site *site)
{
	site->arena = arena_new();
	site->fabric = fabric_new(site->arena, engine_new(site->arena, NULL));
	site->rank_count = 0;
}

/* Without framing, goodput equals capacity. */
static inline void join(struct site *site, const char *kind, int a, int b, double capacity_Bps)
{
	struct link_traits traits = {
		.capacity_Bps = {capacity_Bps, capacity_Bps},
		.latency_s = 1e-6,
	};
	const char *name =
		arena_printf(site->arena, "%s%zu", kind, fabric_link_count(site->fabric));
	fabric_link_add(site->fabric, name, link_kind_find(kind), a, b, &traits);
}

static inline int node(struct site *site, const char *what)
{
	return fabric_node_add(site->fabric, arena_printf(site->arena, "%s%zu", what,
							  fabric_node_count(site->fabric)));
}

static inline void add_rank(struct site *site, int gpu, int host)
{
	site->ranks[site->rank_count++] = (struct ring_place){.gpu_node = gpu, .host_node = host};
}

static inline struct rings found(struct site *site)
{
	return rings_find(site->arena, site->fabric, site->ranks, site->rank_count, TRAFFIC_RDMA,
			  NULL, true, false);
}
