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

enum protocol { PROTOCOL_LL, PROTOCOL_LL128, PROTOCOL_SIMPLE, PROTOCOL_COUNT };
enum protocol_choice { CHOOSE_PROTOCOL_AUTO, CHOOSE_LL, CHOOSE_LL128, CHOOSE_SIMPLE };
/* Whose rules choose the algorithm: those of NCCL (choose.c), Open MPI or Gloo (choose_host.c). */
enum library_rules { RULES_NCCL, RULES_OPENMPI, RULES_GLOO };
/* The release of NCCL whose table corrects trees of medium sizes. */
enum tree_correction { TREE_CORRECTION_2_18, TREE_CORRECTION_2_8 };
enum hop_class { HOP_NVLINK, HOP_PCI, HOP_NET, HOP_CLASS_COUNT };
const char *protocol_name(enum protocol protocol); /* for example "LL128" */

struct msccl;

struct library_params {
	const char *name; /* name in results; "": that of the rules (library_name) */
	/* algorithm of all-reduce: a name of algorithms.def, or "auto": NCCL's choice of ring,
	 * double tree or NVLink SHARP */
	const char *algorithm;
	const char *msccl;          /* file with an algorithm of MSCCL; "": none */
	const struct msccl *script; /* its content; NULL: none */
	int protocol;               /* enum protocol_choice */
	int rules;                  /* enum library_rules */
	bool host_memory;           /* ranks have their buffers in host memory; GPUs are not used */
	/* Rate at which GPUs' buffers are copied to host memory and back; 0: they are there. */
	double host_copy_Bps;
	/* Larger messages through sockets wait for the receiver's consent; 0: none do. */
	double eager_B;
	double stagger_s;      /* time by which each rank begins after the one before it */
	double queued_B;       /* bytes of one connection that wait in an adapter's queue */
	double channels_count; /* 0: computed from the links */
	double servers_count;  /* number of shards of a parameter server */
	bool server_on_cpu;    /* false: in the memory of the machines' GPUs */
	/* Two-level servers: whether a machine's GPUs add in host memory, and the size from which
	 * a tensor is divided over all servers. */
	bool local_sum_on_cpu;
	double shard_least_B;
	/* Start of a collective on each rank (launch, first synchronisation). */
	double base_ring_ll_s, base_ring_ll128_s, base_ring_simple_s;
	double base_tree_ll_s, base_tree_ll128_s, base_tree_simple_s;
	/* Latency of each hop by class of link, for rings and then for trees. */
	double ring_nvlink_ll_s, ring_nvlink_ll128_s, ring_nvlink_simple_s;
	double ring_pci_ll_s, ring_pci_ll128_s, ring_pci_simple_s;
	double ring_net_ll_s, ring_net_ll128_s, ring_net_simple_s;
	double tree_nvlink_ll_s, tree_nvlink_ll128_s, tree_nvlink_simple_s;
	double tree_pci_ll_s, tree_pci_ll128_s, tree_pci_simple_s;
	double tree_net_ll_s, tree_net_ll128_s, tree_net_simple_s;
	/* latency of the links that is contained in the hops above */
	double wire_nvlink_s, wire_pci_s, wire_net_s;
	double latency_scale_ratio; /* fitted factor of a system on all latencies above */
	double simple_scale_ratio;  /* further fitted factor on hops with Simple */
	/* further factor on hops with LL inside one of several nodes (fitted) */
	double ll_nodes_scale_ratio;
	double start_s;         /* extra cost of a collective: group launch, events */
	double channel_start_s; /* extra cost of each active channel */
	/* part of the links' goodput that Simple reaches */
	double nvlink_efficiency_ratio, pci_efficiency_ratio, net_efficiency_ratio;
	double nvlink_planned_ratio; /* the same for NVLink in the library's model */
	/* NVLink SHARP: whether it is used, its latency in the library's model, and its costs */
	bool nvls;
	double nvls_latency_s, nvls_chunk_B, nvls_start_s, nvls_round_s, nvls_efficiency_ratio;
	/* Maximum bandwidth of one channel (one block) with Simple. Here and below, 0 means that of
	 * the GPUs' generation (generation.c). */
	double channel_bandwidth_Bps;
	double channel_tree_Bps, channel_ll128_Bps, channel_ll_Bps, channel_ll_net_Bps;
	/* Part of these bandwidths that blocks reach on a system (fitted). */
	double block_ll_ratio, block_ll128_ratio, block_simple_ratio;
	/* Part of a tree's block for each direction, up and down: Simple; LL and LL128. */
	double tree_split_ratio, tree_split_ll_ratio;
	/* part of the goodput that trees and each protocol reach */
	double tree_ratio, ll128_goodput_ratio, ll_ratio;
	double ll128_alone_ratio; /* further factor of LL128 if a node has one rank */
	double ll128_tree_ratio;  /* further factor of LL128 in a tree inside one node */
	int tree_correction;      /* enum tree_correction */
	double ll_nodes_ratio;    /* factor on hops with LL inside one of several nodes */
	double plateau_ratio;     /* factor on all hops of a ring with Simple and several nodes */
	/* minimum latency of a ring's hop inside one of several nodes; three times for Simple */
	double net_overhead_s;
	/* network steps of a ring all-reduce in addition to 2 (nodes - 1) */
	double net_steps_more_count;
	double lane_Bps; /* goodput of links that one pair of channels serves */
	double channels_most_count;
	/* with fewer bytes per channel, fewer channels work; for LL rings, per rank */
	double channel_least_ll_B, channel_least_ll128_B, channel_least_simple_B;
	bool ll128;            /* the library supports LL128 */
	bool ring_search;      /* rings over the widest links; false: ranks in their order */
	double block_copy_Bps; /* of a block that copies inside its GPU's memory; 0: no copy */
	double cpu_reduce_Bps; /* bandwidth of additions on a server's CPU, per core */
	double cpu_reduce_threads_count; /* threads that compute one sum */
	double cpu_sum_inputs_count;     /* gradients that one pass over memory adds */
	double cpu_after_ratio; /* bytes read and written after the sum per byte of the sum */
	double at_once_count;   /* collectives in which a rank may take part at the same time */
	bool acs;               /* requests between PCIe devices pass the root complex */
	bool gpudirect;         /* NICs access GPU memory */
	bool shm;               /* GPUs that do not reach each other use host memory */
	int p2p_level;          /* enum path_level: the farthest GPU whose memory a GPU accesses */
	int net_gdr_level;      /* enum path_level: the farthest NIC that accesses GPU memory */
	/* NCCL_CROSS_NIC: 1: messages leave by the sender's own adapter, even across rails */
	double cross_nic_count;
	bool collnet;   /* switches of the network add, where they can */
	bool efa_tuner; /* the plugin for EFA chooses algorithm and protocol */
	/* a GPU's messages may leave through another GPU's adapter, over NVLink */
	bool pxn;
	double send_ll_B; /* messages up to this size use LL inside a node */
	double slice_B;   /* size of staged pieces, and of the pieces of a pipelined tree */
	/* size of a tree's pieces with LL and LL128, per channel */
	double piece_ll_B, piece_ll128_B;
	double step_ll_B; /* minimum size of a piece through sockets */
	/* Part of an SM that each block occupies, and further part of the GPU that kernels beside
	 * it lose. */
	double block_share_ratio, kernel_loss_ratio;
	double message_blocks_count; /* blocks of a message */
	double memory_traffic_ratio; /* bytes of GPU memory traffic per byte sent */
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
	bool far_adapter;   /* no GPU reaches its adapter through PCIe switches only */
	/* of the network: generation of EFA (0: another network); adapters access only host memory
	 */
	int efa_generation;
	bool host_memory_only;
	bool network_adds; /* switches of the network add (SHARP) */
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
