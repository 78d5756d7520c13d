/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A collective library: NCCL, DDL, a parameter server ... as parameters.
 *
 * PROTOCOLS are NCCL's: LL (8-byte stores with a flag each: low latency, half
 * the bytes are flags), LL128 (120 of 128 bytes are data, needs NVLink's
 * ordering), Simple (large slices, memory fences). Each has a latency for each
 * hop of a class of link and a goodput ratio. The defaults are those of NCCL's
 * own tuning model (src/graph/tuning.cc), by which it also chooses algorithm
 * and protocol: library_choose does the same arithmetic.
 * A file models/exchanges/x.cfg has a group `library` with these keys.
 */
#ifndef FARWIRE_COLLECTIVE_LIBRARY_H
#define FARWIRE_COLLECTIVE_LIBRARY_H

#include "sim/base/param.h"
#include "sim/collective/algorithm.h"

enum protocol { PROTOCOL_LL, PROTOCOL_LL128, PROTOCOL_SIMPLE, PROTOCOL_COUNT };
enum protocol_choice { CHOOSE_PROTOCOL_AUTO, CHOOSE_LL, CHOOSE_LL128, CHOOSE_SIMPLE };
enum hop_class { HOP_NVLINK, HOP_PCI, HOP_NET, HOP_CLASS_COUNT };
const char *protocol_name(enum protocol protocol); /* "LL128" */

struct library_params {
	const char *algorithm; /* of all-reduce: a name of algorithms.def, or "auto": as
				  NCCL chooses between ring and double tree */
	int protocol;          /* enum protocol_choice */
	double channels_count; /* 0: worked out from the links */
	double servers_count;  /* shards of a parameter server */
	bool server_on_cpu;    /* else in the memory of the first GPUs */
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
	double latency_scale_ratio; /* of all latencies above, for a system (fitted) */
	double start_s;             /* further cost of a collective: group launch, events */
	double channel_start_s;     /* ... and of each active channel */
	double nvlink_efficiency_ratio, pci_efficiency_ratio, net_efficiency_ratio; /* of the
		links' goodput that Simple reaches */
	double channel_bandwidth_Bps; /* most that one channel (one block) moves */
	double local_copy_ratio;      /* of a rank's last chunk that is copied locally */
	double cpu_reduce_Bps;        /* adding on a server's CPU, per core used */
	double cpu_reduce_threads_count;
	bool peer_to_peer; /* GPUs of a host reach each other over PCIe */
	bool gpudirect;    /* NICs reach GPU memory */
	double slice_B;    /* staged pieces; also the grain at which trees pipeline */
	double multiprocessor_ratio; /* of a GPU's multiprocessors that its kernels hold */
	double memory_traffic_ratio; /* bytes of GPU memory for each byte sent */
};
extern const struct param_table library_table;

/* What the library knows of the ranks when it chooses. */
struct comm_shape {
	size_t rank_count, node_count, rank_most; /* most ranks in a node */
	enum hop_class inside;                    /* the slowest class between ring neighbours */
	double inside_Bps;  /* goodput of a GPU to its ring neighbour, all channels */
	double network_Bps; /* goodput of a node, all its NICs; 0: one node */
	size_t ring_count;  /* rings that share nothing (NVLink sets, NICs) */
};

struct collective_choice {
	const struct algorithm *algorithm;
	enum protocol protocol;
	size_t channel_count, pipeline_count;
	double start_s;                    /* of each rank before its first step */
	double hop_s[HOP_CLASS_COUNT];
	double goodput_ratio[HOP_CLASS_COUNT]; /* protocol and efficiency, of the links' */
	double channel_cap_Bps;            /* 0: none */
};
struct collective_choice library_choose(const struct library_params *library,
					const struct comm_shape *shape,
					enum collective collective, double size_B);

#endif
