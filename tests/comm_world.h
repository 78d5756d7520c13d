/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A small world for tests of collectives: hosts with one guest each, their GPUs, and a
 * communicator. Every cost is zero until a test sets it, and each test adds its own links. Sizes
 * are in bytes and bandwidths in GB/s, so that a byte takes a thousandth of a microsecond. */
#pragma once

#include "sim/collective/communicator.h"
#include "sim/collective/level.h"
#include "sim/fabric/link.h"
#include "tests/net.h"

enum { COMM_HOSTS_MAX = 128, COMM_RANKS_MAX = 1024, COMM_LOG = 64 };

struct comm_world {
	struct arena *arena;
	struct engine *engine;
	struct fabric *fabric;
	struct host_params host_params;
	struct guest_params guest_params;
	struct gpu_params gpu_params;
	struct library_params library;
	struct host *hosts[COMM_HOSTS_MAX];
	struct guest *guests[COMM_HOSTS_MAX];
	size_t host_count;
	struct gpu *gpus[COMM_RANKS_MAX];
	size_t gpu_count;
	struct comm_rank ranks[COMM_RANKS_MAX];
	size_t rank_count, server_count, machine_count; /* machine_count: processes of two levels */
	bool training;
	const char *transport; /* NULL: no transport */
	char transport_params[TRANSPORT_PARAMS_SIZE_MAX] __attribute__((aligned(16)));
	struct communicator *comm;
	const char *reason; /* reason of a failure */
	double opened_s;    /* -1: not opened */
	/* The following arrays are indexed by the `log` number of a collective (comm_all,
	 * comm_begin). */
	int64_t done_ps[COMM_LOG]; /* -1: not done */
	int64_t rank_done_ps[COMM_LOG][COMM_RANKS_MAX];
	size_t rank_order[COMM_LOG][COMM_RANKS_MAX], rank_done_count[COMM_LOG];
};

/* Returns a table of latencies that this library uses from now on and that a test may change. */
static inline struct nccl_latencies *comm_world_latencies(struct library_params *library)
{
	static struct nccl_latencies table;
	table = library->own_latencies ? *library->own_latencies : nccl_latencies[library->tuning];
	library->own_latencies = &table;
	return &table;
}

static inline void comm_world_free_library(struct library_params *library)
{
	library->algorithm = "ring";
	library->protocol = CHOOSE_SIMPLE;
	library->channels_count = 1;
	struct nccl_latencies *table = comm_world_latencies(library);
	table->base_s[0][PROTOCOL_SIMPLE] = table->base_s[1][PROTOCOL_SIMPLE] = 0;
	for (size_t class = 0; class < HOP_CLASS_COUNT; class ++)
		table->hop_s[0][class][PROTOCOL_SIMPLE] = table->hop_s[1][class][PROTOCOL_SIMPLE] =
			0;
	library->channel_net_s = 0;
	library->wire_nvlink_s = library->wire_pci_s = library->wire_net_s = 0;
	library->nvlink_efficiency_ratio = library->pci_efficiency_ratio = 1;
	library->net_efficiency_ratio = library->tree_ratio = 1;
	library->channel_bandwidth_Bps = library->channel_tree_Bps = 1e13;
	library->plateau_ratio = library->ll_nodes_ratio = 1;
	library->net_overhead_s = 0;
	library->block_simple_ratio = 1;
	library->block_copy_Bps = library->memory_traffic_ratio = 0;
	library->block_share_ratio = library->kernel_loss_ratio = 0;
	library->gpudirect = true;
	library->p2p_level = PATH_SYS;
	library->net_gdr_level = PATH_SYS;
}

static inline struct comm_world *comm_world_new(void)
{
	struct arena *arena = arena_new();
	struct comm_world *w = ARENA_NEW(arena, struct comm_world);
	num_init();
	w->arena = arena;
	w->engine = engine_new(arena, &(struct engine_limits){0});
	w->fabric = fabric_new(arena, w->engine);
	net_presets(arena, &host_table, &w->host_params);
	w->host_params.c_states = false;
	w->host_params.nic_moderation = false;
	w->host_params.dram_bandwidth_Bps = 1e15;
	struct guest_params *guest = &w->guest_params;
	net_presets(arena, &guest_table, guest);
	guest->vcpu_wake_s = guest->vnic_packet_s = guest->vnic_latency_s = 0;
	guest->firewall_packet_s = guest->selinux_call_s = 0;
	guest->send_s = guest->receive_s = guest->packet_s = 0;
	guest->byte_spB = guest->thread_wake_s = 0;
	w->gpu_params = (struct gpu_params){
		.peer_access = true,
		.fp32_flops = 1e12,
		.memory_bandwidth_Bps = 100e9,
		.memory_B = 16e9,
		.memory_efficiency_ratio = 1,
		.copy_engines_count = 2,
		.queue_depth_count = 1024,
		.concurrent_kernels_count = 128,
		.multiprocessors_count = 20,
		.slice_s = 2e-3,
	};
	net_presets(arena, &library_table, &w->library);
	comm_world_free_library(&w->library);
	w->opened_s = -1;
	for (size_t i = 0; i < COMM_LOG; i++)
		w->done_ps[i] = -1;
	return w;
}

/* Adds a host "h<n>" with a guest "g<n>", whose node is also that of a NIC. */
static inline size_t comm_host(struct comm_world *w)
{
	size_t n = w->host_count++;
	w->hosts[n] = host_new(w->arena, w->engine, w->fabric, arena_printf(w->arena, "h%zu", n),
			       &w->host_params);
	const char *name = arena_printf(w->arena, "g%zu", n);
	w->guests[n] =
		guest_new(w->hosts[n], name, fabric_node_add(w->fabric, name), &w->guest_params);
	return n;
}

/* Adds a worker on a new GPU "u<rank>" of a host. */
static inline size_t comm_gpu(struct comm_world *w, size_t host)
{
	size_t n = w->gpu_count++;
	const char *name = arena_printf(w->arena, "u%zu", n);
	w->gpus[n] = gpu_new(w->arena, w->engine, w->fabric, name, fabric_node_add(w->fabric, name),
			     &w->gpu_params);
	w->ranks[w->rank_count++] = (struct comm_rank){.gpu = w->gpus[n], .guest = w->guests[host]};
	return n;
}

/* Adds a server in the memory of a host. Call it after adding all workers. */
static inline void comm_server(struct comm_world *w, size_t host)
{
	w->ranks[w->rank_count + w->server_count++] = (struct comm_rank){.guest = w->guests[host]};
}

/* Adds a link without framing and with the same bandwidth in both directions. Nodes are created on
 * first use. */
static inline int comm_link(struct comm_world *w, const char *kind, const char *a, const char *b,
			    double rate_Bps, double latency_s)
{
	const struct link_traits traits = {
		.capacity_Bps = {rate_Bps, rate_Bps},
		.latency_s = latency_s,
		.own_packets = strcmp(kind, "nvlink") == 0 || strcmp(kind, "pcie") == 0,
	};
	const char *names[] = {a, b};
	for (size_t i = 0; i < 2; i++)
		if (fabric_node_find(w->fabric, names[i]) < 0)
			fabric_node_add(w->fabric, names[i]);
	return fabric_link_add(w->fabric, arena_printf(w->arena, "%s-%s", a, b),
			       link_kind_find(kind), fabric_node_find(w->fabric, a),
			       fabric_node_find(w->fabric, b), &traits);
}

/* Connects GPUs of one host to an NVLink switch; two links of latency_s / 2 lie between two GPUs.
 */
static inline void comm_star(struct comm_world *w, size_t count, double rate_Bps, double latency_s)
{
	size_t host = comm_host(w);
	for (size_t i = 0; i < count; i++) {
		size_t n = comm_gpu(w, host);
		comm_link(w, "nvlink", gpu_name(w->gpus[n]), "switch", rate_Bps, latency_s / 2);
	}
}

static inline void comm_failed(void *ctx, const char *reason)
{
	struct comm_world *w = ctx;
	w->reason = reason;
}

static inline struct communicator *comm_make(struct comm_world *w, const char *name)
{
	const struct communicator_spec spec = {
		.arena = w->arena,
		.engine = w->engine,
		.fabric = w->fabric,
		.name = name,
		.library = &w->library,
		.ranks = w->ranks,
		.rank_count = w->rank_count,
		.server_count = w->server_count,
		.machine_count = w->machine_count,
		.transport = w->transport ? transport_kind_find(w->transport) : NULL,
		.transport_params = w->transport_params,
		.seed = 1,
		.failed = comm_failed,
		.failed_ctx = w,
		.training = w->training,
	};
	return communicator_new(&spec);
}

static inline void comm_rank_done(void *ctx, uint64_t arg, size_t rank)
{
	struct comm_world *w = ctx;
	w->rank_done_ps[arg][rank] = engine_now_ps(w->engine);
	w->rank_order[arg][w->rank_done_count[arg]++] = rank;
}

static inline void comm_done(void *ctx, uint64_t arg)
{
	struct comm_world *w = ctx;
	w->done_ps[arg] = engine_now_ps(w->engine);
}

/* Begins a collective, whose times are recorded under `log`. */
static inline uint64_t comm_begin(struct comm_world *w, struct communicator *comm,
				  enum collective collective, double size_B, uint64_t log)
{
	const struct collective_request request = {
		.collective = collective,
		.size_B = size_B,
		.rank_done = comm_rank_done,
		.done = comm_done,
		.ctx = w,
		.arg = log,
	};
	return communicator_begin(comm, &request);
}

/* Begins a collective at which all ranks arrive now. */
static inline void comm_all(struct comm_world *w, struct communicator *comm,
			    enum collective collective, double size_B, uint64_t log)
{
	uint64_t number = comm_begin(w, comm, collective, size_B, log);
	for (size_t i = 0; i < w->rank_count; i++)
		communicator_arrive(comm, number, i);
}

static inline void comm_opened(void *ctx, uint64_t arg)
{
	struct comm_world *w = ctx;
	w->opened_s = s_from_ps(engine_now_ps(w->engine));
}

static inline void comm_run(struct comm_world *w)
{
	enum engine_end end = engine_run(w->engine);
	if (!CHECK(end == ENGINE_DRAINED) && engine_failure(w->engine))
		printf("  %s\n", engine_failure(w->engine));
	CHECK(fabric_flow_count(w->fabric) == 0);
}
