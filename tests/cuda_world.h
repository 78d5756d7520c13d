/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A small world for tests of GPUs and CUDA calls, with numbers that are easy to add by hand. All
 * times are in microseconds.
 *
 * GPU: launch latency 4, gap 1, no cost of slicing, queue of 1024. Host: cores at the reference
 * clock that never sleep; no virtualisation. Driver: launch and memset 5, copies 6, record 2, wait
 * 1, query 3, synchronise 2, malloc 50, free 40, get 0.5, create 7, library 0.25, wake 1.5. PCIe:
 * 10 GB/s without packets or latency, a DMA engine without setup time.
 */
#pragma once

#include "sim/base/arena.h"
#include "sim/fabric/link.h"
#include "sim/workload/player.h"
#include "sim/transport/dma.h"
#include "tests/test.h"

#define US               1e-6
#define CHECK_US(ps, us) CHECK_NEAR((double)(ps) / 1e6, (us), 1e-9)

enum { WORLD_LOG_MAX = 32768 };

struct world {
	/* gpu_arena belongs to the GPU, so that tests can measure its allocations */
	struct arena *arena, *gpu_arena;
	struct engine *engine;
	struct fabric *fabric;
	struct gpu_params gpu_params;
	struct host_params host_params;
	struct guest_params guest_params;
	struct driver_params driver_params;
	struct dma_params dma_params;
	struct gpu *gpu;
	struct gpu_context *context; /* a tenant with fraction 1 */
	struct host *host;
	struct guest *guest;
	bool guest_work;               /* the process has its guest's costs in addition */
	double kernel_ratio;           /* factor of the durations of the process's kernels; 0: 1 */
	int64_t log_ps[WORLD_LOG_MAX]; /* by arg: time of the last call of world_log */
	size_t log_count;
};

static inline void world_log(void *ctx, uint64_t arg)
{
	struct world *world = ctx;

	world->log_ps[arg] = engine_now_ps(world->engine);
	world->log_count++;
}

static inline void world_presets(struct world *world)
{
	world->gpu_params = (struct gpu_params){
		.peer_access = true,
		.fp32_flops = 1e12,
		.memory_bandwidth_Bps = 100e9,
		.memory_B = 4e9,
		.memory_efficiency_ratio = 0.8,
		.kernel_floor_s = 2 * US,
		.kernel_gap_s = 1 * US,
		.launch_latency_s = 4 * US,
		.copy_engines_count = 2,
		.queue_depth_count = 1024,
		.concurrent_kernels_count = 128,
		.slice_s = 2e-3,
		.traffic_lump_s = 10 * US,
	};
	world->host_params = (struct host_params){
		.cores_count = 8,
		.clock_Hz = REFERENCE_CLOCK_HZ,
		.balanced_clock_ratio = 1,
		.dram_bandwidth_Bps = 100e9,
		.copy_rate_Bps = 5e9,
	};
	world->guest_params = (struct guest_params){.kind = GUEST_BARE, .vnic = VNIC_NONE};
	world->driver_params = (struct driver_params){
		.launch_s = 5 * US,
		.memset_s = 5 * US,
		.copy_s = 6 * US,
		.record_s = 2 * US,
		.wait_event_s = 1 * US,
		.query_s = 3 * US,
		.synchronize_s = 2 * US,
		.malloc_s = 50 * US,
		.free_s = 40 * US,
		.get_s = 0.5 * US,
		.create_s = 7 * US,
		.library_s = 0.25 * US,
		.sync_wake_s = 1.5 * US,
	};
	world->dma_params = (struct dma_params){.chunk_B = 1e6, .efficiency_ratio = 1};
}

/* Builds the world from the current parameters. */
static inline void world_build(struct world *world)
{
	const struct link_traits pcie = {.capacity_Bps = {10e9, 10e9}};
	int host_node, gpu_node;

	world->arena = arena_new();
	world->gpu_arena = arena_new();
	world->engine = engine_new(world->arena, &(struct engine_limits){0});
	world->fabric = fabric_new(world->arena, world->engine);
	host_node = fabric_node_add(world->fabric, "host");
	gpu_node = fabric_node_add(world->fabric, "gpu0");
	fabric_link_add(world->fabric, "slot", link_kind_find("pcie"), host_node, gpu_node, &pcie);
	world->host =
		host_new(world->arena, world->engine, world->fabric, "host", &world->host_params);
	world->guest = guest_new(world->host, "guest", host_node, &world->guest_params);
	world->gpu = gpu_new(world->gpu_arena, world->engine, world->fabric, "gpu0", gpu_node,
			     &world->gpu_params);
	world->context = gpu_context_new(world->gpu, "tenant", 1);
}

static inline void world_release(struct world *world)
{
	arena_free(world->gpu_arena);
	arena_free(world->arena);
}

static inline struct cuda_process *world_process(struct world *world, uint16_t stream_count,
						 uint16_t event_count)
{
	int host_node = guest_node(world->guest), node = gpu_node(world->gpu);
	struct cuda_process_spec spec = {
		.arena = world->gpu_arena,
		.engine = world->engine,
		.fabric = world->fabric,
		.context = world->context,
		.guest = world->guest,
		.guest_work = world->guest_work,
		.kernel_ratio = world->kernel_ratio > 0 ? &world->kernel_ratio : NULL,
		.driver = &world->driver_params,
		.dma = &world->dma_params,
		.stream_count = stream_count,
		.event_count = event_count,
		.to_device = fabric_route(world->fabric, host_node, node, TRAFFIC_ANY),
		.to_host = fabric_route(world->fabric, node, host_node, TRAFFIC_ANY),
	};

	return cuda_process_new(&spec);
}

/* Submits a kernel of `us` microseconds; its end is recorded under arg. */
static inline void world_kernel(struct world *world, struct gpu_stream *stream, double us,
				uint64_t arg)
{
	struct gpu_op op = {
		.kind = GPU_OP_KERNEL,
		.duration_s = us * US,
		.done = world_log,
		.ctx = world,
		.arg = arg,
	};

	gpu_submit(stream, &op);
}

static inline void world_run(struct world *world)
{
	enum engine_end end = engine_run(world->engine);

	if (!test_check(end == ENGINE_DRAINED, "the engine drains", __FILE__, __LINE__) &&
	    engine_failure(world->engine))
		printf("  %s\n", engine_failure(world->engine));
}
