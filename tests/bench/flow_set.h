/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A random set of flows on random links, the same for a seed in C and C++. Hosts are in pods. Each
 * host and each pod has a link up and one down, whose capacities differ by at most a factor of a
 * hundred. Flows between any two hosts start at random times, some of them at the same time, and
 * some have a cap. */
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SET_HOSTS = 16,
	SET_PODS = 4,
	SET_FLOWS = 200,
	SET_ENDS = SET_HOSTS + SET_PODS, /* each with a link up and one down */
	SET_HOPS = 4,
};

struct set_flow {
	size_t from, to; /* hosts */
	double start_s, size_B;
	double cap_Bps;         /* 0: none */
	size_t links[SET_HOPS]; /* 2 * end + (0: up, 1: down) */
	size_t link_count;
};

struct flow_set {
	double capacity_Bps[2 * SET_ENDS];
	struct set_flow flows[SET_FLOWS];
};

static inline double set_uniform(uint64_t *state) /* splitmix64 (Steele et al., 2014) */
{
	uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static inline double set_spread(uint64_t *state, double low, double high)
{
	return low * pow(high / low, set_uniform(state));
}

static inline size_t set_below(uint64_t *state, size_t limit)
{
	return (size_t)(set_uniform(state) * (double)limit);
}

static inline void set_route(struct set_flow *flow)
{
	size_t pods[2] = {flow->from % SET_PODS, flow->to % SET_PODS};
	flow->link_count = 0;
	flow->links[flow->link_count++] = 2 * flow->from;
	if (pods[0] != pods[1]) {
		flow->links[flow->link_count++] = 2 * (SET_HOSTS + pods[0]);
		flow->links[flow->link_count++] = 2 * (SET_HOSTS + pods[1]) + 1;
	}
	flow->links[flow->link_count++] = 2 * flow->to + 1;
}

static inline void set_draw(struct flow_set *set, uint64_t seed)
{
	uint64_t state = seed;
	for (size_t i = 0; i < 2 * SET_ENDS; i++)
		set->capacity_Bps[i] = set_spread(&state, 1e8, 1e10);
	for (size_t i = 0; i < SET_FLOWS; i++) {
		struct set_flow *flow = &set->flows[i];
		flow->from = set_below(&state, SET_HOSTS);
		flow->to = (flow->from + 1 + set_below(&state, SET_HOSTS - 1)) % SET_HOSTS;
		flow->start_s = 0.01 * (double)set_below(&state, 10);
		if (set_uniform(&state) < 0.7)
			flow->start_s += 0.01 * set_uniform(&state);
		flow->size_B = floor(set_spread(&state, 1e5, 1e8));
		flow->cap_Bps = set_uniform(&state) < 0.3 ? set_spread(&state, 1e7, 1e9) : 0;
		set_route(flow);
	}
}
