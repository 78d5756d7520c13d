/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Training jobs on an artificial step, whose times can be computed by hand:
 *
 *   forward 10 ms, backward 4 ms (then tensor 0: 4 MB, update 1 ms) and 6 ms (then
 *   tensor 1: 8 MB, update 0.5 ms)
 *
 * Two GPUs are connected to a switch with 1 GB/s in each direction and no latency. A ring of two
 * ranks takes 2 (n - 1) / n S / B = S / B, so 4 ms and 8 ms, and 12 ms together.
 */
#pragma once

#include "sim/base/arena.h"
#include "sim/base/num.h"
#include "sim/engine/trace.h"
#include "sim/fabric/link.h"
#include "sim/workload/fused.h"
#include "tests/net.h"

#define MS 1e-3

enum { RANKS_MAX = 8, STEPS = 3, JOBS_MAX = 2 };
/* A kernel, a message and a delay are each rounded to a picosecond. */
static const int64_t SLACK_PS = 40;

static const struct step_segment segments[] = {
	{.name = "forward", .compute_s = 10 * MS},
	{.name = "b", .compute_s = 4 * MS, .tensor_first = 0, .tensor_count = 1},
	{.name = "a", .compute_s = 6 * MS, .tensor_first = 1, .tensor_count = 1},
};
static const struct step_tensor tensors[] = {
	{.name = "b", .elements_count = 1e6, .update_s = 1 * MS},
	{.name = "a", .elements_count = 2e6, .update_s = 0.5 * MS},
};
static const struct step_profile hand_made = {
	.segments = segments,
	.segment_count = 3,
	.forward_count = 1,
	.tensors = tensors,
	.tensor_count = 2,
	.step_s = 21.5 * MS,
	.images_count = 32,
	.element_B = 4,
};

struct job_world {
	struct arena *arena;
	struct engine *engine;
	struct fabric *fabric;
	struct host_params host_params;
	struct guest_params guest_params;
	struct gpu_params gpu_params;
	struct library_params library;
	struct exchange_params exchange;
	const struct step_profile *profile;
	size_t rank_count, job_count, step_count;
	uint32_t copies;                     /* ranks that each rank represents; 0: only itself */
	size_t server_count;                 /* 0 or 1 server in host memory */
	double round_trip_s, slowdown_ratio; /* of the first rank only */
	uint64_t seed;
	bool traced;
	/* bytes of a batch, copied from pinned host memory at 2 GB/s; 0: no input */
	double input_B;
	struct input_params input;
	struct dma_params dma;
	bool shared_wire; /* even and odd GPUs have separate switches, connected by one link */
	struct gpu *gpus[RANKS_MAX * JOBS_MAX];
	struct communicator *comm[JOBS_MAX];
	struct fused *job[JOBS_MAX];
};

static inline size_t policy_of(const char *name)
{
	for (size_t i = 0; i < exchange_policy_count(); i++)
		if (strcmp(exchange_policy_at(i)->name, name) == 0)
			return i;
	CHECK_TEXT("no such policy", name);
	return 0;
}

/* A library without latency or loss, whose kernels take no resources from others. */
static inline void free_library(struct job_world *b)
{
	net_presets(b->arena, &library_table, &b->library);
	b->library.algorithm = "ring";
	b->library.protocol = CHOOSE_SIMPLE;
	b->library.channels_count = 1;
	b->library.ring_search = false;
	b->library.latency_scale_ratio = 1e-30;
	b->library.nvlink_efficiency_ratio = 1;
	b->library.channel_bandwidth_Bps = 1e13;
	b->library.block_share_ratio = b->library.memory_traffic_ratio = 0;
}

static inline void setup(struct job_world *b, const char *policy)
{
	*b = (struct job_world){.arena = arena_new(),
				.profile = &hand_made,
				.rank_count = 2,
				.job_count = 1,
				.step_count = STEPS,
				.slowdown_ratio = 1,
				.seed = 1};
	net_presets(b->arena, &host_table, &b->host_params);
	net_presets(b->arena, &guest_table, &b->guest_params);
	b->gpu_params = (struct gpu_params){.peer_access = true,
					    .fp32_flops = 1e12,
					    .memory_bandwidth_Bps = 100e9,
					    .memory_B = 16e9,
					    .memory_efficiency_ratio = 0.8,
					    .kernel_gap_s = 1e-6,
					    .launch_latency_s = 4e-6,
					    .copy_engines_count = 2,
					    .queue_depth_count = 1024,
					    .concurrent_kernels_count = 128,
					    .multiprocessors_count = 5,
					    .slice_s = 2e-3};
	free_library(b);
	net_presets(b->arena, &input_table, &b->input);
	b->input.source = "host";
	b->input.staged = b->input.pinned = true;
	b->input.feed_s = 0;
	b->dma = (struct dma_params){.chunk_B = 1e6, .efficiency_ratio = 1};
	net_presets(b->arena, &exchange_table, &b->exchange);
	b->exchange.policy = (int)policy_of(policy);
	b->exchange.noise_ratio = b->exchange.launch_s = b->exchange.fusion_copy_ratio = 0;
	b->exchange.announce = ANNOUNCE_COMPUTED;
	b->exchange.cycle_late_s = b->exchange.copy_launch_s = b->exchange.callback_s = 0;
	b->exchange.negotiation_s = b->exchange.cached_negotiation_s = 0;
}

static inline void comm_failed(void *ctx, const char *reason)
{
	CHECK_TEXT(reason, "no failure");
}

static inline bool step_done(void *ctx, struct fused *job, const struct step_record *step)
{
	const struct job_world *b = ctx;
	double parts_s = step->kernel_s + step->exposed_s + step->input_s + step->straggler_s +
			 step->other_s;
	CHECK_NEAR(parts_s, s_from_ps(step->end_ps - step->start_ps), 1e-12);
	CHECK(step->gpu_busy_s <= step->kernel_s * (1 + 1e-12));
	return fused_step_count(job) < b->step_count;
}

static inline void build_wires(struct job_world *b)
{
	const struct link_traits wire = {.capacity_Bps = {1e9, 1e9}};
	const struct link_traits slot = {.capacity_Bps = {2e9, 2e9}};
	const struct link_traits wide = {.capacity_Bps = {1e15, 1e15}};
	int even = fabric_node_add(b->fabric, "even"), odd = even;
	if (b->shared_wire) {
		odd = fabric_node_add(b->fabric, "odd");
		fabric_link_add(b->fabric, "between", link_kind_find("nvlink"), even, odd, &wire);
	}
	for (size_t i = 0; i < b->rank_count * b->job_count; i++) {
		const char *name = arena_printf(b->arena, "gpu%zu", i);
		int node = fabric_node_add(b->fabric, name);
		fabric_link_add(b->fabric, arena_printf(b->arena, "port%zu", i),
				link_kind_find("nvlink"), node, i % 2 ? odd : even,
				b->shared_wire ? &wide : &wire);
		fabric_link_add(b->fabric, arena_printf(b->arena, "slot%zu", i),
				link_kind_find("pcie"), fabric_node_find(b->fabric, "host"), node,
				&slot);
		b->gpus[i] = gpu_new(b->arena, b->engine, b->fabric, name, node, &b->gpu_params);
	}
}

static inline struct input *build_input(struct job_world *b, struct gpu *gpu, struct guest *guest)
{
	const struct input_spec spec = {
		.arena = b->arena,
		.engine = b->engine,
		.fabric = b->fabric,
		.name = gpu_name(gpu),
		.params = &b->input,
		.guest = guest,
		.core = guest_core(guest),
		.dma = &b->dma,
		.to_device = fabric_route(b->fabric, guest_node(guest), gpu_node(gpu), TRAFFIC_ANY),
		.batch_count = b->profile->images_count,
		.batch_B = b->input_B};
	return b->input_B > 0 ? input_new(&spec) : NULL;
}

static inline void build_job(struct job_world *b, size_t index, struct guest *guest)
{
	const char *name = arena_printf(b->arena, "job%zu", index);
	struct comm_rank places[RANKS_MAX + 1] = {0};
	struct fused_rank ranks[RANKS_MAX] = {0};
	uint32_t *copies = ARENA_ARRAY(b->arena, b->rank_count, uint32_t);
	for (size_t i = 0; i < b->rank_count; i++) {
		copies[i] = b->copies;
		struct gpu *gpu = b->gpus[index * b->rank_count + i];
		places[i] = (struct comm_rank){.gpu = gpu, .guest = guest};
		ranks[i] = (struct fused_rank){.context = gpu_context_new(gpu, name, 1),
					       .gpu = gpu,
					       .guest = guest,
					       .core = guest_core(guest),
					       .input = build_input(b, gpu, guest),
					       .slowdown_ratio = i ? 1 : b->slowdown_ratio};
	}
	places[b->rank_count].guest = guest;
	const struct communicator_spec comm = {.arena = b->arena,
					       .engine = b->engine,
					       .fabric = b->fabric,
					       .name = name,
					       .library = &b->library,
					       .ranks = places,
					       .rank_count = b->rank_count,
					       .server_count = b->server_count,
					       .seed = b->seed,
					       .failed = comm_failed};
	b->comm[index] = b->rank_count > 1 ? communicator_new(&comm) : NULL;
	const struct fused_spec spec = {.arena = b->arena,
					.engine = b->engine,
					.fabric = b->fabric,
					.name = name,
					.profile = b->profile,
					.exchange = &b->exchange,
					.comm = b->comm[index],
					.ranks = ranks,
					.rank_count = b->rank_count,
					.all_count =
						b->rank_count * (b->copies > 0 ? b->copies : 1),
					.copies = b->copies > 0 ? copies : NULL,
					.network_round_trip_s = b->round_trip_s,
					.seed = b->seed,
					.step_done = step_done,
					.ctx = b};
	b->job[index] = fused_new(&spec);
	fused_start(b->job[index]);
}

static inline void run(struct job_world *b)
{
	b->engine = engine_new(b->arena, &(struct engine_limits){0});
	if (b->traced)
		engine_trace_set(b->engine, trace_new(b->arena));
	b->fabric = fabric_new(b->arena, b->engine);
	struct host *host = host_new(b->arena, b->engine, b->fabric, "host", &b->host_params);
	struct guest *guest =
		guest_new(host, "os", fabric_node_find(b->fabric, "host"), &b->guest_params);
	build_wires(b);
	for (size_t i = 0; i < b->job_count; i++)
		build_job(b, i, guest);
	CHECK(engine_run(b->engine) == ENGINE_DRAINED);
	for (size_t i = 0; i < b->job_count; i++)
		CHECK(fused_step_count(b->job[i]) == b->step_count);
}

static inline void release(struct job_world *b)
{
	arena_free(b->arena);
}

static inline const struct step_record *step_of(const struct job_world *b, size_t index)
{
	return fused_step_at(b->job[0], index);
}

static inline double step_ms(const struct job_world *b, size_t index)
{
	return s_from_ps(step_of(b, index)->end_ps - step_of(b, index)->start_ps) / MS;
}

static inline void check_step(const struct job_world *b, size_t index, double ms)
{
	const struct step_record *step = step_of(b, index);
	double off_ps = (double)(step->end_ps - step->start_ps) - ms * 1e9;
	if (!CHECK(fabs(off_ps) <= (double)SLACK_PS))
		printf("    step %zu took %.12g ms, not %.12g\n", index, step_ms(b, index), ms);
}
