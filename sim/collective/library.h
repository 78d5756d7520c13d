/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A collective library, such as NCCL, DDL or a parameter server, as a set of parameters.
 *
 * The protocols are NCCL's. LL uses stores of 8 bytes with a flag each: low latency, but half of
 * the bytes are flags. LL128 carries data in 120 of 128 bytes and needs NVLink's ordering. Simple
 * uses large slices and memory fences. Each protocol has a latency for each hop of a class of
 * links, and a goodput ratio. The defaults are those of NCCL's tuning model (src/graph/tuning.cc),
 * which NCCL uses to choose algorithm and protocol. library_choose does the same arithmetic.
 *
 * NCCL's channels are thread blocks, each of which drives a ring or a tree. Several blocks on the
 * same ring share its links, so here they form one channel of the schedule. A choice gives the
 * number of channels of its schedule and the number of blocks that drive them. Blocks limit the
 * bandwidth of a channel (channel_cap_Bps) and cost start time.
 *
 * NCCL measured its hop latencies on real systems, so they contain the latency of wires. Here links
 * have their own latency. A hop's own part is what remains after subtracting a usual wire
 * (wire_*_s), so a slower network adds only its difference.
 *
 * A file models/exchanges/x.cfg has these keys in its group `library`.
 */
#pragma once

#include "sim/base/param.h"
#include "sim/collective/algorithm.h"
#include "sim/gpu/gpu.h"

enum protocol { PROTOCOL_LL, PROTOCOL_LL128, PROTOCOL_SIMPLE, PROTOCOL_COUNT };
enum protocol_choice { CHOOSE_PROTOCOL_AUTO, CHOOSE_LL, CHOOSE_LL128, CHOOSE_SIMPLE };
/* Whose rules choose the algorithm: those of NCCL (choose.c), Open MPI or Gloo (choose_host.c). */
enum library_rules { RULES_NCCL, RULES_OPENMPI, RULES_GLOO };
/* The release of NCCL whose tables of latencies and of corrections apply (generation.c). */
enum nccl_tuning { TUNING_2_18, TUNING_2_8, TUNING_COUNT };
/* The first release of NCCL with this model of NVLink SHARP's bandwidth. */
enum nvls_model { NVLS_MODEL_2_17, NVLS_MODEL_2_28 };
/* Whether the kernels of a model server take part (shots.c): only in a model server, or always. */
enum custom_choice { CUSTOM_SERVING, CUSTOM_ON, CUSTOM_OFF };
enum custom_engine { ENGINE_VLLM, ENGINE_SGLANG, ENGINE_TENSORRT_LLM };
/* How all-to-alls carry tokens to experts (all_to_all.c): as the library's messages, from GPU to
 * GPU directly, or once to each node. */
enum experts_choice { EXPERTS_LIBRARY, EXPERTS_DIRECT, EXPERTS_NODES };
enum hop_class { HOP_NVLINK, HOP_PCI, HOP_NET, HOP_CLASS_COUNT };
const char *protocol_name(enum protocol protocol); /* for example "LL128" */

struct msccl;
struct collective_constants;

/* NCCL's model of latencies: the start of a collective and a hop including its wire, for rings
 * (0) and trees (1). */
struct nccl_latencies {
	double base_s[2][PROTOCOL_COUNT];
	double hop_s[2][HOP_CLASS_COUNT][PROTOCOL_COUNT];
};
extern const struct nccl_latencies nccl_latencies[TUNING_COUNT];

/* The rows in library.c describe each field. 0 in a bandwidth of channels or of a lane, and in
 * nvlink_planned, means that of the GPUs' generation (generation.c). */
struct library_params {
	const char *name, *algorithm, *msccl;
	const struct msccl *script; /* content of the file msccl; NULL: none */
	bool by_generation;
	int custom_all_reduce, engine; /* enum custom_choice, enum custom_engine */
	double one_shot_s, two_shot_s, shot_Bps;
	int experts; /* enum experts_choice */
	double experts_top_count, experts_nodes_count, experts_blocks_count, experts_start_s;
	/* By generation: constants.h; NULL: NCCL's own. Then the time of a message of an all-to-all
	 * with it, and of all of them if they use Simple. */
	const struct collective_constants *constants[GENERATION_COUNT];
	double message_s, message_simple_s;
	int protocol, rules; /* enum protocol_choice, enum library_rules */
	bool host_memory;
	double host_copy_Bps, eager_B, stagger_s, queued_B, channels_count;
	double servers_count;
	bool server_on_cpu, local_sum_on_cpu;
	double shard_least_B;
	double wire_nvlink_s, wire_pci_s, wire_net_s;
	double latency_scale_ratio, simple_scale_ratio, ll_nodes_scale_ratio;
	double start_s, channel_start_s, channel_net_s;
	double nvlink_efficiency_ratio, pci_efficiency_ratio, net_efficiency_ratio;
	double nvlink_planned_ratio;
	bool nvls, symmetric;
	int nvls_model; /* enum nvls_model */
	double nvls_latency_s, nvls_start_s, nvls_round_s, nvls_efficiency_ratio;
	double channel_bandwidth_Bps;
	double channel_tree_Bps, channel_ll128_Bps, channel_ll_Bps, channel_ll_net_Bps;
	double block_ll_ratio, block_ll128_ratio, block_simple_ratio;
	double tree_split_ratio, tree_split_ll_ratio;
	double tree_ratio, ll_ratio, ll128_alone_ratio, ll128_tree_ratio;
	int tuning; /* enum nccl_tuning */
	/* NULL: nccl_latencies[tuning]. library_resolve copies them to latencies. */
	const struct nccl_latencies *own_latencies;
	struct nccl_latencies latencies;
	double ll_nodes_ratio, plateau_ratio, net_overhead_s, net_steps_more_count;
	double lane_Bps, channels_most_count;
	bool ll128, ring_search, own_sockets;
	double block_copy_Bps;
	double cpu_reduce_Bps, cpu_reduce_threads_count, cpu_sum_inputs_count, cpu_after_ratio;
	double at_once_count;
	bool acs, gpudirect, shm;
	int p2p_level, net_gdr_level; /* enum path_level */
	double cross_nic_count;
	bool collnet, efa_tuner, pxn;
	double socket_threads_count, socket_sockets_count;
	double queue_pairs_count, buffer_B;
	double slice_B, block_share_ratio, kernel_loss_ratio, memory_traffic_ratio;
};
extern const struct param_table library_table;
/* Returns true if its algorithm has servers besides the ranks. */
bool library_has_servers(const struct library_params *library);
const char *library_name(const struct library_params *library); /* "NCCL" */

/* The properties of the ranks that the library uses for its choice. */
struct comm_shape {
	size_t rank_count, node_count, rank_most; /* rank_most: ranks of the largest node */
	/* slowest class of link between ring neighbours */
	enum hop_class inside;
	/* goodput of a GPU to its ring neighbour over all channels; 0: no neighbour inside */
	double inside_Bps;
	double network_Bps; /* goodput of a node over all its NICs; 0: one node */
	size_t ring_count;  /* rings without common links (NVLink sets, NICs) */
	bool socket;        /* the nodes communicate through sockets */
	bool staged;        /* messages between nodes pass host memory, without sockets */
	bool far_adapter;   /* in some machine no GPU reaches its adapter by PCIe switches only */
	/* of the network: generation of EFA (0: another network); adapters access only host memory
	 */
	int efa_generation;
	bool host_memory_only;
	bool network_adds; /* switches of the network add (SHARP) */
	int provider;      /* enum link_provider, of the network */
	bool peer_access;  /* all GPUs of a node access each other's memory */
	bool multicast;    /* an NVSwitch connects all GPUs of a node */
	int generation;    /* enum gpu_generation: the oldest GPU */
};

struct collective_choice {
	const struct algorithm *algorithm;
	enum protocol protocol;
	/* number of channels and pipeline pieces of the schedule */
	size_t channel_count, pipeline_count;
	size_t turn; /* two-level servers only, as in algorithm_spec */
	bool whole;
	size_t block_count; /* NCCL's channels, for reports */
	double start_s;     /* time of each rank before its first step */
	double hop_s[HOP_CLASS_COUNT];
	/* part of the links' goodput, from protocol and efficiency */
	double goodput_ratio[HOP_CLASS_COUNT];
	double channel_cap_Bps[HOP_CLASS_COUNT]; /* maximum bandwidth of a channel; 0: unlimited */
	double copy_spB; /* seconds per byte of a rank's last message for its local copy */
	/* the library's own prediction, which decided the choice */
	double predicted_s;
};
/* The rules of Open MPI and Gloo. */
struct collective_choice host_choose(const struct library_params *library,
				     const struct comm_shape *shape, enum collective collective,
				     double size_B);
struct collective_choice library_choose(const struct library_params *library,
					const struct comm_shape *shape, enum collective collective,
					double size_B);
