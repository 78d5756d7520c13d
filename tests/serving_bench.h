/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A service of one network whose times of iterations are given. So a replica is a queue with a
 * known answer. */
#pragma once

#include <math.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/num.h"
#include "sim/engine/engine.h"
#include "sim/serving/serving.h"
#include "tests/test.h"

enum { REPLICAS_MAX = 4 };

struct bench {
	struct arena *arena;
	struct engine *engine;
	struct serve_params params;
	struct serving_service_spec service;
	struct serving_replica_spec replicas[REPLICAS_MAX];
	struct serving *serving;
	struct replica_run runs[REPLICAS_MAX];
	struct rng rng;
	double iterations;
	size_t opened, done;
	size_t host_blocks;
	bool verdict_only;
	bool apart; /* the first replica processes prompts, and the second one generates tokens */
};

static void opened(void *of)
{
	((struct bench *)of)->opened++;
}

static void done(void *of)
{
	struct bench *b = of;
	b->done++;
	engine_stop(b->engine);
}

/* Keys and values are at the other replica at once. */
static void transfer(void *of, size_t from, size_t to, double tokens, event_fn *fn, void *ctx)
{
	engine_do_after(((struct bench *)of)->engine, 0, fn, ctx, 0);
}

/* A token's keys and values take 0.1 ms to host memory and back. */
static void offload(void *of, size_t replica, double tokens, bool to_gpu, event_fn *fn, void *ctx)
{
	engine_do_after(((struct bench *)of)->engine, ps_from_s(1e-4 * tokens), fn, ctx, 0);
}

/* 1 ms for each token. */
static struct iteration_time by_rows(void *ctx, const struct iteration *it)
{
	((struct bench *)ctx)->iterations++;
	return (struct iteration_time){1e-3 * it->rows, 0, 0};
}

/* Exponential with a mean of 1 s, whatever the batch. */
static inline struct iteration_time by_chance(void *ctx, const struct iteration *it)
{
	struct bench *b = ctx;
	return (struct iteration_time){-log(rng_uniform(&b->rng)), 0, 0};
}

static struct bench bench_of(size_t requests)
{
	struct bench b = {.arena = arena_new()};
	const struct engine_limits limits = {.events_max = 0};
	b.engine = engine_new(b.arena, &limits);
	b.rng = rng_named(7, "services");
	b.params = (struct serve_params){.model = "",
					 .front_ends_count = 1,
					 .list = "",
					 .stages = "",
					 .rate_count = 1,
					 .spread_ratio = 1,
					 .requests_count = (double)requests,
					 .warmup_ratio = 0.1,
					 .prompt_count = 1,
					 .output_count = 1,
					 .batching = BATCHING_DYNAMIC,
					 .batch_count = 1,
					 .tokens_count = 8192,
					 .chunked_prefill = true,
					 .reserve_prompt = true,
					 .block_count = 16,
					 .router = ROUTER_ROUND_ROBIN};
	return b;
}

/* Runs all requests on that many replicas and returns the answers. */
static struct serving_answers run(struct bench *b, size_t replicas, size_t block_count,
				  struct iteration_time (*time)(void *, const struct iteration *))
{
	b->service.params = &b->params;
	if (b->service.requests.count == 0)
		b->service.requests = requests_draw(b->arena, &b->params, 11, "test", 1e9);
	for (size_t i = 0; i < replicas; i++)
		b->replicas[i] = (struct serving_replica_spec){.time = time,
							       .ctx = b,
							       .block_count = block_count,
							       .host_block_count = b->host_blocks,
							       .role = !b->apart ? ROLE_BOTH
								       : i == 0  ? ROLE_PREFILL
										 : ROLE_DECODE};
	const struct serving_spec spec = {.arena = b->arena,
					  .engine = b->engine,
					  .services = &b->service,
					  .service_count = 1,
					  .replicas = b->replicas,
					  .replica_count = replicas,
					  .opened = opened,
					  .done = done,
					  .transfer = transfer,
					  .offload = offload,
					  .verdict_only = b->verdict_only,
					  .of = b};
	b->serving = serving_new(&spec);
	serving_begin(b->serving);
	engine_run(b->engine);
	serving_read(b->serving, b->runs);
	return *b->runs[0].all;
}
