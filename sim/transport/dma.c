/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/transport/dma.h"
#include "sim/transport/path.h"

static const struct param_row dma_rows[] = {
	COST_ASSUMED(struct dma_params, setup_s, QUANTITY_TIME, 0, 1e-2, "1.5 us",
		     "time of a copy engine to start a copy",
		     "assumption: fetching the command and the first read across PCIe"),
	COST_ASSUMED(struct dma_params, chunk_B, QUANTITY_BYTES, 4096, 1e12, "512 KiB",
		     "staging buffer size: each of the two pinned buffers of pageable copies",
		     "assumption: drivers use staging buffers of 64 KiB to a few MiB"),
	COST_ASSUMED(struct dma_params, chunk_start_s, QUANTITY_TIME, 0, 1e-2, "5 us",
		     "cost of each staged chunk of a pageable copy",
		     "assumption: starting the engine and checking its end"),
	COST_SOURCED(struct dma_params, efficiency_ratio, QUANTITY_RATIO, 0.01, 1, "87 %",
		     "copy efficiency: part of the PCIe route's goodput that a copy engine reaches",
		     "derived: gearshifft pull request 82, P100 on gen3 x16: 12.15 and 12.89 GB/s "
		     "of 14.4 GB/s after packet headers"),
};
const struct param_table dma_table = PARAM_TABLE("dma", struct dma_params, dma_rows);

enum { BUFFERS = 2 };

/* A pageable copy has two stages for each chunk: stage 0 copies it from its source into a buffer,
 * stage 1 from the buffer to its destination. One stage is the core's (staging), the other the
 * engine's. */
struct dma_state {
	struct dma_state *next; /* next state in the free list */
	struct dma_pool *pool;
	struct dma_copy copy;
	uint64_t chunk_count;
	uint64_t started[2], ended[2]; /* by stage: number of chunks */
};

struct dma_pool {
	struct dma_state *free;
};

static void finished(void *ctx, uint64_t arg)
{
	struct dma_state *state = ctx;
	POOL_GIVE(state, state->pool->free);
	state->copy.done(state->copy.ctx, state->copy.arg);
}

/* Does the engine's part: moves size_B over the route to or from memory. */
static void engine_move(struct dma_state *state, double size_B, event_fn *done, uint64_t arg)
{
	const struct dma_copy *copy = &state->copy;
	struct flow_spec flow = {.size = size_B, .done = done, .ctx = state, .arg = arg};
	route_uses(copy->fabric, copy->route, 0, size_B, &flow);
	double wire = fabric_flow_alone(copy->fabric, &flow); /* infinite without links */
	if (copy->params->efficiency_ratio < 1 && copy->route->count > 0)
		flow.cap = wire * copy->params->efficiency_ratio;
	flow_use_add(&flow, host_dram(copy->host), DRAM_PER_DMA);
	fabric_flow_start(copy->fabric, &flow);
}

static void last_entered(void *ctx, uint64_t arg)
{
	struct dma_state *state = ctx;
	engine_after(state->copy.engine, ps_from_s(state->copy.route->latency_s), finished, state,
		     0);
}

static void pinned_start(void *ctx, uint64_t arg)
{
	struct dma_state *state = ctx;
	engine_move(state, state->copy.size_B, last_entered, 0);
}

/* ---- pageable ---- */

static double chunk_size_B(const struct dma_state *state, uint64_t index)
{
	double before_B = (double)index * state->copy.params->chunk_B;
	return fmin(state->copy.params->chunk_B, state->copy.size_B - before_B);
}

static int engine_stage(const struct dma_state *state)
{
	return state->copy.to_device ? 1 : 0;
}

static void chunks_advance(struct dma_state *state);

static void stage_ended(void *ctx, uint64_t stage)
{
	struct dma_state *state = ctx;
	state->ended[stage]++;
	if (state->ended[1] < state->chunk_count)
		chunks_advance(state);
	else if (engine_stage(state) == 1)
		last_entered(state, 0);
	else
		finished(state, 0);
}

/* A chunk that the engine reads from the device is in the buffer one latency after it has left. */
static void engine_ended(void *ctx, uint64_t stage)
{
	struct dma_state *state = ctx;
	if (stage == 0)
		engine_after(state->copy.engine, ps_from_s(state->copy.route->latency_s),
			     stage_ended, state, stage);
	else
		stage_ended(state, stage);
}

static void engine_start(void *ctx, uint64_t stage)
{
	struct dma_state *state = ctx;
	double size_B = chunk_size_B(state, state->started[stage] - 1);
	engine_move(state, size_B, engine_ended, stage);
}

static void core_start(struct dma_state *state, uint64_t stage)
{
	const struct dma_copy *copy = &state->copy;
	double copy_rate_Bps = host_params(copy->host)->copy_rate_Bps;
	struct flow_spec flow = {
		.size = chunk_size_B(state, state->started[stage] - 1),
		.done = stage_ended,
		.ctx = state,
		.arg = stage,
	};
	flow_use_add(&flow, cpu_resource(copy->core), cpu_slowdown(copy->core) / copy_rate_Bps);
	if (cpu_pool(copy->core) >= 0)
		flow_use_add(&flow, cpu_pool(copy->core), 1 / copy_rate_Bps);
	flow_use_add(&flow, host_dram(copy->host), DRAM_PER_COPY);
	fabric_flow_start(copy->fabric, &flow);
}

/* Starts everything that can start: a stage handles one chunk at a time, stage 1 only chunks that
 * stage 0 has finished, stage 0 only with a free buffer. */
static void chunks_advance(struct dma_state *state)
{
	for (int stage = 1; stage >= 0; stage--) {
		uint64_t limit = stage == 1 ? state->ended[0] : state->ended[1] + BUFFERS;
		limit = limit < state->chunk_count ? limit : state->chunk_count;
		bool idle = state->started[stage] == state->ended[stage];
		if (!idle || state->started[stage] >= limit)
			continue;
		state->started[stage]++;
		if (stage == engine_stage(state))
			engine_after(state->copy.engine,
				     ps_from_s(state->copy.params->chunk_start_s), engine_start,
				     state, (uint64_t)stage);
		else
			core_start(state, (uint64_t)stage);
	}
}

static void pageable_start(void *ctx, uint64_t arg)
{
	struct dma_state *state = ctx;
	chunks_advance(state);
}

void dma_start(const struct dma_copy *copy)
{
	FW_ASSERT(copy->size_B > 0 && copy->route && copy->host && copy->done);
	FW_ASSERT(!copy->pageable || copy->core);
	struct dma_pool **pool = host_dma_pool(copy->host);
	if (!*pool)
		*pool = ARENA_NEW(copy->arena, struct dma_pool);
	struct dma_state *state;
	POOL_TAKE(copy->arena, state, (*pool)->free);
	*state = (struct dma_state){.pool = *pool, .copy = *copy};
	state->chunk_count = (uint64_t)ceil(copy->size_B / copy->params->chunk_B);
	engine_after(copy->engine, ps_from_s(copy->params->setup_s),
		     copy->pageable ? pageable_start : pinned_start, state, 0);
}
