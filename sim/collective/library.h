/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A collective library: NCCL, DDL, a parameter server ... as parameters.
 *
 * PROTOCOLS are NCCL's: LL (8-byte stores with a flag each: low latency, half
 * the bytes are flags), LL128 (120 of 128 bytes are data, needs NVLink's
 * ordering), Simple (large slices, memory fences). Each has a latency for each
 * hop of a class of link and a goodput ratio. The defaults are those of NCCL's
 * own tuning model (src/graph/tuning.cc), by which it also chooses algorithm
 * and protocol: library_choose does the same arithmetic.
 *
 * A CHANNEL is one ring or tree of the schedule, and a BLOCK is a thread block of the
 * collective's kernel. NCCL drives each channel with one block and lays several channels
 * over the same ring. They share its links, so they travel as one channel here: a
 * choice says how many channels its schedule has and how many blocks drive them. Blocks
 * bound what a channel moves (channel_cap_Bps), and each adds to the time of the start.
 * Users know NCCL's count, which is the number of blocks: the key library.channels and
 * reports ("24 channels") give that one.
 *
 * NCCL measured its hops on systems with wires of their own, and the wires'
 * latency is inside. Here links have theirs, so a hop's own part is what is
 * left when a usual wire (wire_*_s) is taken away: a slower network adds what it
 * is slower by.
 * A file models/exchanges/x.cfg has a group `library` with these keys.
 */
#ifndef FARWIRE_COLLECTIVE_LIBRARY_H
#define FARWIRE_COLLECTIVE_LIBRARY_H

#include "sim/base/param.h"
#include "sim/collective/algorithm.h"

enum protocol { PROTOCOL_LL, PROTOCOL_LL128, PROTOCOL_SIMPLE, PROTOCOL_COUNT };
enum protocol_choice { CHOOSE_PROTOCOL_AUTO, CHOOSE_LL, CHOOSE_LL128, CHOOSE_SIMPLE };
/* NCCL's correction for trees of middle sizes, by release. */
enum tree_correction { TREE_CORRECTION_2_18, TREE_CORRECTION_2_8 };
enum hop_class { HOP_NVLINK, HOP_PCI, HOP_NET, HOP_CLASS_COUNT };
const char *protocol_name(enum protocol protocol); /* "LL128" */

struct library_params {
	const char *algorithm; /* of all-reduce: a name of algorithms.def, or "auto": as
				  NCCL chooses between ring and double tree */
	int protocol;          /* enum protocol_choice */
	double channels_count; /* 0: worked out from the links */
	double servers_count;  /* shards of a parameter server */
	bool server_on_cpu;    /* else in the memory of the machines' GPUs */
	/* One collective's start on each rank (launch, first synchronisation). */
	double base_ring_ll_s, base_ring_ll128_s, base_ring_simple_s;
	double base_tree_ll_s, base_tree_ll128_s, base_tree_simple_s;
	/* Each hop, ring, by class of link, then tree. */
	double ring_nvlink_ll_s, ring_nvlink_ll128_s, ring_nvlink_simple_s;
	double ring_pci_ll_s, ring_pci_ll128_s, ring_pci_simple_s;
	double ring_net_ll_s, ring_net_ll128_s, ring_net_simple_s;
	double tree_nvlink_ll_s, tree_nvlink_ll128_s, tree_nvlink_simple_s;
	double tree_pci_ll_s, tree_pci_ll128_s, tree_pci_simple_s;
	double tree_net_ll_s, tree_net_ll128_s, tree_net_simple_s;
	double wire_nvlink_s, wire_pci_s, wire_net_s; /* of the links, inside the hops above */
	double latency_scale_ratio;  /* of all latencies above, for a system (fitted) */
	double simple_scale_ratio;   /* ... of Simple's hops once more (fitted) */
	double ll_nodes_scale_ratio; /* ... of LL's inside a node, with several (fitted) */
	double start_s;              /* further cost of a collective: group launch, events */
	double channel_start_s;      /* ... and of each active channel */
	double nvlink_efficiency_ratio, pci_efficiency_ratio, net_efficiency_ratio; /* of the
		links' goodput that Simple reaches */
	double channel_bandwidth_Bps; /* most that one channel (one block) moves: Simple */
	double channel_tree_Bps, channel_ll128_Bps, channel_ll_Bps, channel_ll_net_Bps;
	/* The part of it that blocks reach on a system (fitted). */
	double block_ll_ratio, block_ll128_ratio, block_simple_ratio;
	/* The part of a tree's block for each direction, up and down; with LL and LL128. */
	double tree_split_ratio, tree_split_ll_ratio;
	double tree_ratio, ll128_goodput_ratio, ll_ratio; /* of the goodput: trees; each protocol */
	double ll128_alone_ratio; /* LL128, too, where a node has one rank */
	double ll128_tree_ratio;  /* ... in a tree inside one node */
	int tree_correction;      /* enum tree_correction */
	double ll_nodes_ratio;    /* hops of LL inside a node, with several nodes */
	double plateau_ratio;     /* ... of a ring with Simple, all its hops */
	double net_overhead_s;    /* least of a ring's hop inside a node, with several; Simple: 3 */
	double net_steps_more_count; /* of an all-reduce by ring, beyond 2 (nodes - 1) */
	double lane_Bps;             /* of links' goodput that one pair of channels serves */
	double channels_most_count;
	double channel_least_ll_B, channel_least_ll128_B, channel_least_simple_B; /* with
		less than this for each, fewer channels work; LL rings: for each rank */
	bool ll128;              /* the library has it */
	bool ring_search;        /* rings over the widest links; else ranks in their order */
	double local_copy_ratio; /* of a rank's last chunk that is copied locally */
	double cpu_reduce_Bps;   /* adding on a server's CPU, per core used */
	double cpu_reduce_threads_count; /* of one sum */
	double cpu_sum_inputs_count;     /* gradients that a pass over memory adds up */
	double cpu_after_ratio; /* bytes read and written behind the sum for each of its own */
	double at_once_count;   /* collectives that a rank may be in at a time */
	bool peer_to_peer;      /* GPUs of a host reach each other over PCIe */
	bool gpudirect;         /* NICs reach GPU memory */
	bool gpudirect_root; /* ... also across a root complex, not below one PCIe switch alone */
	bool pxn;            /* a GPU's messages may leave by another's adapter, over NVLink */
	double send_ll_B;    /* messages up to this size travel with LL inside a node */
	double slice_B;      /* staged pieces; also the grain at which trees pipeline */
	double piece_ll_B, piece_ll128_B; /* ... with LL and LL128, for each channel */
	double step_ll_B;                 /* ... through sockets at least */
	/* The fraction of one multiprocessor that each of its blocks occupies, and the further
	 * loss of other kernels, as a fraction of the whole GPU. */
	double block_share_ratio, kernel_loss_ratio;
	double memory_traffic_ratio; /* bytes of GPU memory for each byte sent */
};
extern const struct param_table library_table;
/* Whether its algorithm has servers beside the ranks. */
bool library_has_servers(const struct library_params *library);

/* Properties of the ranks that the library uses for its choice. */
struct comm_shape {
	size_t rank_count, node_count, rank_most; /* most ranks in a node */
	enum hop_class inside;                    /* the slowest class between ring neighbours */
	double inside_Bps;  /* goodput of a GPU to its ring neighbour, all channels; 0: no
			       neighbours inside */
	double network_Bps; /* goodput of a node, all its NICs; 0: one node */
	size_t ring_count;  /* rings that share nothing (NVLink sets, NICs) */
	bool socket;        /* between nodes through sockets */
};

struct collective_choice {
	const struct algorithm *algorithm;
	enum protocol protocol;
	size_t channel_count, pipeline_count; /* of the schedule */
	size_t block_count;                   /* reported as NCCL's channels */
	double start_s;                       /* of each rank before its first step */
	double hop_s[HOP_CLASS_COUNT];
	double goodput_ratio[HOP_CLASS_COUNT];   /* protocol and efficiency, of the links' */
	double channel_cap_Bps[HOP_CLASS_COUNT]; /* of a channel; 0: none */
	double predicted_s;                      /* the library's own guess, by which it chose */
};
struct collective_choice library_choose(const struct library_params *library,
					const struct comm_shape *shape, enum collective collective,
					double size_B);

#endif
