/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Computes the max-min fair rates of all flows from scratch, as simply as possible. Each step sums
 * again every resource with a newly fixed flow and visits every resource and flow. It is the
 * reference for the results and the speed of the fabric's solver. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "sim/fabric/fabric.h"

struct plain_flow { /* in the order of starting */
	const struct flow_spec *spec;
	double rate;
	bool fixed;
};

struct plain_user {
	size_t flow;
	double per_unit;
};

struct plain_resource {
	double capacity;
	struct plain_user *users;
	size_t user_count;
	double left, demand;
	size_t waiting;
	bool touched;
};

static inline double plain_weight(const struct plain_flow *flow)
{
	return flow->spec->weight > 0 ? flow->spec->weight : 1;
}

static inline void plain_measure(struct plain_resource *resource, const struct plain_flow *flows)
{
	resource->left = resource->capacity;
	resource->demand = 0;
	resource->waiting = 0;
	resource->touched = false;
	for (size_t i = 0; i < resource->user_count; i++) {
		const struct plain_flow *flow = &flows[resource->users[i].flow];
		if (flow->fixed) {
			resource->left -= resource->users[i].per_unit * flow->rate;
		} else {
			resource->demand += resource->users[i].per_unit * plain_weight(flow);
			resource->waiting++;
		}
	}
}

static inline void plain_fix(struct plain_resource *resources, struct plain_flow *flow, double rate)
{
	flow->fixed = true;
	flow->rate = rate;
	for (size_t u = 0; u < flow->spec->use_count; u++)
		resources[flow->spec->uses[u].resource].touched = true;
}

static inline size_t plain_fix_full(struct plain_resource *resources, size_t resource_count,
				    struct plain_flow *flows, double level)
{
	size_t fixed = 0;
	for (size_t r = 0; r < resource_count; r++) {
		const struct plain_resource *resource = &resources[r];
		if (resource->waiting == 0 ||
		    resource->left > resource->demand * level * (1 + 1e-12))
			continue;
		for (size_t i = 0; i < resource->user_count; i++) {
			struct plain_flow *flow = &flows[resource->users[i].flow];
			if (flow->fixed)
				continue;
			plain_fix(resources, flow, plain_weight(flow) * level);
			fixed++;
		}
	}
	return fixed;
}

static inline void plain_fill(struct plain_resource *resources, size_t resource_count,
			      struct plain_flow *flows, size_t flow_count)
{
	double level = 0;
	for (size_t waiting = flow_count; waiting > 0;) {
		double least = INFINITY;
		for (size_t r = 0; r < resource_count; r++) {
			if (resources[r].touched)
				plain_measure(&resources[r], flows);
			if (resources[r].waiting > 0)
				least = fmin(least, resources[r].left / resources[r].demand);
		}
		level = fmax(level, least);
		size_t fixed = 0;
		for (size_t f = 0; f < flow_count; f++) {
			double cap = flows[f].spec->cap;
			if (flows[f].fixed || cap <= 0 || cap > plain_weight(&flows[f]) * level)
				continue;
			plain_fix(resources, &flows[f], cap);
			fixed++;
		}
		if (fixed == 0)
			fixed = plain_fix_full(resources, resource_count, flows, level);
		if (fixed == 0)
			abort();
		waiting -= fixed;
	}
}

/* Computes flows[].rate. */
static inline void plain_solve(const struct fabric *fabric, struct plain_flow *flows,
			       size_t flow_count)
{
	size_t resource_count = fabric_resource_count(fabric), use_count = 0;
	struct plain_resource *resources = calloc(resource_count, sizeof *resources);
	for (size_t f = 0; f < flow_count; f++) {
		flows[f].fixed = false;
		use_count += flows[f].spec->use_count;
		for (size_t u = 0; u < flows[f].spec->use_count; u++)
			resources[flows[f].spec->uses[u].resource].user_count++;
	}
	struct plain_user *users = calloc(use_count + 1, sizeof *users), *next = users;
	if (!resources || !users)
		abort();
	for (size_t r = 0; r < resource_count; r++) {
		resources[r].capacity = fabric_capacity(fabric, (int)r);
		resources[r].users = next;
		next += resources[r].user_count;
		resources[r].user_count = 0;
		resources[r].touched = true;
	}
	for (size_t f = 0; f < flow_count; f++) {
		for (size_t u = 0; u < flows[f].spec->use_count; u++) {
			const struct flow_use *use = &flows[f].spec->uses[u];
			struct plain_resource *resource = &resources[use->resource];
			resource->users[resource->user_count++] =
				(struct plain_user){f, use->per_unit};
		}
	}
	plain_fill(resources, resource_count, flows, flow_count);
	free(users);
	free(resources);
}
