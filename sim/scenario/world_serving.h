/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replicas of model servers under construction, which world_serving.c and world_keys.c share. */
#pragma once

#include "sim/scenario/world.h"

struct server {         /* a replica */
	struct job job; /* first */
	struct world *world;
	const struct job_entry *entry;
	struct serving_model *model;
	const struct overhead *tables[2]; /* of serving_model_overhead_set */
	struct gpu_context *context;
	int64_t opened_ps;
	size_t passed_count; /* requests whose keys and values it has sent */
	/* By replica, then by GPU of this one: towards those that generate tokens. */
	struct communicator **to;
	/* By GPU: to the host of serve.cache_host; NULL: it is the GPU's own host. */
	struct connection **store;
};

struct servers {
	struct serving *serving;
	struct server **all; /* by job of the scenario */
	struct serving_service_spec *services;
	struct serving_replica_spec *replicas;
	struct replica_run *runs;
	size_t opening_count; /* communicators that are not open yet */
};

/* Returns true if an earlier run of the search shows that this one misses its objectives. */
bool world_verdict_known(const struct world *w);
/* Keeps for later runs that this one has missed its objectives, if it has. */
void world_verdict_keep(const struct world *w);

/* Functions of struct serving_spec, of which a world is `of`. */
/* Each GPU of a replica sends its part to its counterpart. */
void world_keys_transfer(void *of, size_t from, size_t to, double tokens, event_fn *fn, void *ctx);
/* Each GPU of a replica that has a part of the tokens copies it over PCIe, from pinned memory or to
 * it. With serve.cache_host, the part then travels to that host, or first from there. */
void world_keys_offload(void *of, size_t replica, double tokens, bool to_gpu, event_fn *fn,
			void *ctx);
/* Connects each replica for prompts with each one that generates tokens of the same service, and
 * the host of each GPU with that of serve.cache_host. Calls `begin` for each open connection.
 * Returns false if two of them have no route. */
bool world_keys_connect(struct world *w, event_fn *begin);
