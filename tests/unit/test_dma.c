/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/transport/dma.h"
#include "tests/net.h"

/* A host with a GPU on a link of 10 GB/s and 0.5 us, which the engines reach completely. A core
 * copies at 5 GB/s; memory has 100 GB/s. Chunks have 1 MB; setup takes 2 us. */
struct gpu_box {
	struct net *net;
	struct dma_params params;
	const struct route *routes[2]; /* to the device and from it */
};

static struct gpu_box box_with(double clock_Hz)
{
	struct gpu_box box = {.net = net_new()};
	struct net *net = box.net;
	net->host_params.clock_Hz = clock_Hz;
	net->host_params.copy_rate_Bps = 5e9;
	net->host_params.dram_bandwidth_Bps = 100e9;
	net_build(net);
	int host = fabric_node_find(net->fabric, "alpha");
	int gpu = fabric_node_add(net->fabric, "gpu");
	struct link_traits pcie = {
		.capacity_Bps = {10e9, 10e9}, .latency_s = 0.5e-6, .own_packets = true};
	fabric_link_add(net->fabric, "slot", link_kind_find("pcie"), host, gpu, &pcie);
	box.routes[0] = fabric_route(net->fabric, host, gpu, TRAFFIC_ANY);
	box.routes[1] = fabric_route(net->fabric, gpu, host, TRAFFIC_ANY);
	net_presets(net->arena, &dma_table, &box.params);
	box.params = (struct dma_params){
		.setup_s = 2e-6, .chunk_B = 1e6, .chunk_start_s = 0, .efficiency_ratio = 1};
	return box;
}

static struct gpu_box box_new(void)
{
	return box_with(REFERENCE_CLOCK_HZ);
}

static void copy(struct gpu_box *box, double size_B, bool to_device, bool pageable, uint64_t arg)
{
	struct net *net = box->net;
	struct dma_copy copy = {
		.engine = net->engine,
		.fabric = net->fabric,
		.arena = net->arena,
		.params = &box->params,
		.route = box->routes[to_device ? 0 : 1],
		.host = net->host[0],
		.core = pageable ? net->core[0] : NULL,
		.to_device = to_device,
		.pageable = pageable,
		.size_B = size_B,
		.done = net_delivered,
		.ctx = net,
		.arg = arg,
	};
	dma_start(&copy);
}

static double copy_s(struct gpu_box *box, double size_B, bool to_device, bool pageable)
{
	double start_s = net_now_s(box->net);
	copy(box, size_B, to_device, pageable, 0);
	net_run(box->net);
	return box->net->delivered_s[0] - start_s;
}

/* 10 MB take 2 + 1000 + 0.5 us in either direction; at 80 % efficiency 1250. */
static void pinned_copies_take_setup_transfer_and_latency(void)
{
	struct gpu_box box = box_new();
	CHECK_NEAR(copy_s(&box, 10e6, true, false), 1002.5e-6, 1e-9);
	CHECK_NEAR(copy_s(&box, 10e6, false, false), 1002.5e-6, 1e-9);
	CHECK_NEAR(copy_s(&box, 1, true, false), 2.5001e-6, 1e-6);
	CHECK_NEAR(fabric_carried(box.net->fabric, host_dram(box.net->host[0])), 20e6 + 1, 1e-9);
	box.params.efficiency_ratio = 0.8;
	CHECK_NEAR(copy_s(&box, 10e6, true, false), 1252.5e-6, 1e-9);
	CHECK(cpu_busy_s(box.net->core[0]) == 0);
	net_free(box.net);
}

/* For ten chunks of 1 MB staging takes 200 us each and moving 100, so the core is the bottleneck.
 * To the device this is 10 x 200 and the last move. From the device it is the first move, which
 * also crosses the link, and 10 x 200. Memory carries 3 B per byte. */
static void pageable_copies_overlap_staging_and_transfer(void)
{
	struct gpu_box box = box_new();
	CHECK_NEAR(copy_s(&box, 10e6, true, true), 2102.5e-6, 1e-9);
	CHECK_NEAR(copy_s(&box, 10e6, false, true), 2102.5e-6, 1e-9);
	CHECK_NEAR(fabric_carried(box.net->fabric, host_dram(box.net->host[0])), 60e6, 1e-9);
	CHECK_NEAR(fabric_carried(box.net->fabric, cpu_resource(box.net->core[0])), 4e-3, 1e-9);
	CHECK_NEAR(fabric_carried(box.net->fabric, cpu_pool(box.net->core[0])), 4e-3, 1e-9);
	/* Each chunk costs 150 us more at the engine, so its 250 us are the bottleneck. The first
	 * chunk is staged in 200, then ten moves follow. */
	box.params.chunk_start_s = 150e-6;
	CHECK_NEAR(copy_s(&box, 10e6, true, true), 2e-6 + 200e-6 + 2500e-6 + 0.5e-6, 1e-9);
	/* A single incomplete chunk has no overlap. */
	box.params.chunk_start_s = 0;
	CHECK_NEAR(copy_s(&box, 5e5, true, true), 2e-6 + 100e-6 + 50e-6 + 0.5e-6, 1e-9);
	/* The last chunk of 2.5 MB is a half: 500 us of staging, and a move of 50 or of 100. */
	CHECK_NEAR(copy_s(&box, 2.5e6, true, true), (2 + 500 + 50 + 0.5) * 1e-6, 1e-9);
	CHECK_NEAR(copy_s(&box, 2.5e6, false, true), (2 + 100 + 0.5 + 500) * 1e-6, 1e-9);
	net_free(box.net);
}

/* Two buffers: if moves are slower than staging, the core is at most two chunks ahead. So its last
 * chunk is staged when the third last move has ended. */
static void staging_is_at_most_two_chunks_ahead(void)
{
	struct gpu_box box = box_new();
	box.params.chunk_start_s = 900e-6; /* 1000 us per move */
	copy(&box, 4e6, true, true, 0);
	engine_run(box.net->engine);
	/* 2 + 200 + 4 x 1000 + 0.5. */
	CHECK_NEAR(box.net->delivered_s[0], 4202.5e-6, 1e-9);
	double busy_s = fabric_busy_s(box.net->fabric, cpu_resource(box.net->core[0]));
	CHECK_NEAR(busy_s, 4 * 200e-6, 1e-9);
	net_free(box.net);
}

/* Two copies share one direction of the link, but not opposite directions. */
static void copies_share_one_direction_only(void)
{
	struct gpu_box box = box_new();
	copy(&box, 10e6, true, false, 0);
	copy(&box, 10e6, true, false, 1);
	net_run(box.net);
	CHECK_NEAR(box.net->delivered_s[0], 2002.5e-6, 1e-9);
	CHECK_NEAR(box.net->delivered_s[1], 2002.5e-6, 1e-9);
	double start_s = net_now_s(box.net);
	copy(&box, 10e6, true, false, 2);
	copy(&box, 10e6, false, false, 3);
	net_run(box.net);
	CHECK_NEAR(box.net->delivered_s[2] - start_s, 1002.5e-6, 1e-9);
	CHECK_NEAR(box.net->delivered_s[3] - start_s, 1002.5e-6, 1e-9);
	net_free(box.net);
}

/* A thousand copies in sequence take no more memory than a few. */
static void repeated_copies_take_no_more_memory(void)
{
	struct gpu_box box = box_new();
	for (int i = 0; i < 20; i++)
		copy_s(&box, 3e6, i % 2 == 0, true);
	size_t used_B = arena_used_B(box.net->arena);
	for (int i = 0; i < 100; i++) {
		box.net->delivered_count = 0;
		copy_s(&box, 3e6, i % 2 == 0, true);
	}
	CHECK(arena_used_B(box.net->arena) == used_B);
	net_free(box.net);
}

/* At half the clock a core stages a chunk in 400 us: ten of these and the last move. */
static void slow_core_slows_pageable_copies(void)
{
	struct gpu_box box = box_with(REFERENCE_CLOCK_HZ / 2);
	CHECK_NEAR(copy_s(&box, 10e6, true, true), 4102.5e-6, 1e-9);
	CHECK_NEAR(copy_s(&box, 10e6, true, false), 1002.5e-6, 1e-9);
	net_free(box.net);
}

static const struct test tests[] = {
	TEST(pinned_copies_take_setup_transfer_and_latency),
	TEST(pageable_copies_overlap_staging_and_transfer),
	TEST(staging_is_at_most_two_chunks_ahead),
	TEST(copies_share_one_direction_only),
	TEST(repeated_copies_take_no_more_memory),
	TEST(slow_core_slows_pageable_copies),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
