/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parameters of a collective library, as rows. NCCL's constants are those of
 * its tuning model, src/graph/tuning.cc, of 2.18 to 2.22, which agree but for trees with
 * Simple: their 28 us for a hop held the time of a chunk, which later releases, and the
 * rows here, leave out. The library chooses by them, so they are settings; that
 * a system may differ from them is in latency_scale, simple_scale, ll_nodes_scale and
 * block_*, which are costs. wire_* says how much of them is the wire that is simulated: what a
 * link takes more or less belongs to the link. */

#include "sim/collective/library.h"

#define TUNING "NCCL 2.20, src/graph/tuning.cc"
#define LATER  "NCCL 2.22, src/graph/tuning.cc"

#define HOP_ROW(field_, preset_, what_)                                                            \
	PARAM_NUMBER(struct library_params, field_, QUANTITY_TIME, 0, 1, preset_,                  \
		     "latency of a hop: " what_, TUNING ", hwLat")
#define BASE_ROW(field_, preset_, what_)                                                           \
	PARAM_NUMBER(struct library_params, field_, QUANTITY_TIME, 0, 1, preset_,                  \
		     "start of a collective: " what_, TUNING ", baseLat")

static const char *const protocol_choices[] = {"auto", "ll", "ll128", "simple", NULL};

static const char *const tree_corrections[] = {"2.18", "2.8", NULL};

static const struct param_row rows[] = {
	PARAM_TEXT(struct library_params, algorithm, "auto",
		   "of all-reduce: an algorithm's name, or auto: ring or double_tree, as NCCL "
		   "chooses",
		   "NCCL 2.4 and later"),
	PARAM_CHOICE(struct library_params, protocol, protocol_choices, "auto",
		     "LL, LL128 or Simple, or the fastest by NCCL's model", "NCCL 2.5 and later"),
	PARAM_WHOLE(struct library_params, channels_count, 0, 1024, "0",
		    "number of channels, each with one thread block on a GPU; 0: computed from the "
		    "links",
		    "NCCL: from its search for rings"),
	PARAM_WHOLE(struct library_params, servers_count, 1, 4096, "1",
		    "shards of a parameter server", "one server, as in most examples"),
	PARAM_BOOL(struct library_params, server_on_cpu, "true",
		   "parameter servers keep variables in host memory (else on the machines' GPUs, "
		   "the first of each, then the second)",
		   "TensorFlow: local_parameter_device=cpu by default in tf_cnn_benchmarks"),
	BASE_ROW(base_ring_ll_s, "6.6 us", "ring, LL"),
	BASE_ROW(base_ring_ll128_s, "14.0 us", "ring, LL128"),
	BASE_ROW(base_ring_simple_s, "8.4 us", "ring, Simple"),
	BASE_ROW(base_tree_ll_s, "6.8 us", "tree, LL"),
	BASE_ROW(base_tree_ll128_s, "14.0 us", "tree, LL128"),
	PARAM_NUMBER(struct library_params, base_tree_simple_s, QUANTITY_TIME, 0, 1, "8.4 us",
		     "start of a collective: tree, Simple", LATER ", baseLat"),
	HOP_ROW(ring_nvlink_ll_s, "0.6 us", "ring, NVLink, LL"),
	HOP_ROW(ring_nvlink_ll128_s, "1.9 us", "ring, NVLink, LL128"),
	HOP_ROW(ring_nvlink_simple_s, "3.4 us", "ring, NVLink, Simple"),
	HOP_ROW(ring_pci_ll_s, "1.0 us", "ring, PCIe, LL"),
	HOP_ROW(ring_pci_ll128_s, "2.5 us", "ring, PCIe, LL128"),
	HOP_ROW(ring_pci_simple_s, "5.7 us", "ring, PCIe, Simple"),
	HOP_ROW(ring_net_ll_s, "2.7 us", "ring, network, LL"),
	HOP_ROW(ring_net_ll128_s, "4.0 us", "ring, network, LL128"),
	HOP_ROW(ring_net_simple_s, "14.0 us", "ring, network, Simple"),
	HOP_ROW(tree_nvlink_ll_s, "0.6 us", "tree, NVLink, LL"),
	HOP_ROW(tree_nvlink_ll128_s, "1.25 us", "tree, NVLink, LL128"),
	PARAM_NUMBER(struct library_params, tree_nvlink_simple_s, QUANTITY_TIME, 0, 1, "4.0 us",
		     "latency of a hop: tree, NVLink, Simple", LATER ", hwLat"),
	HOP_ROW(tree_pci_ll_s, "1.0 us", "tree, PCIe, LL"),
	HOP_ROW(tree_pci_ll128_s, "1.9 us", "tree, PCIe, LL128"),
	PARAM_NUMBER(struct library_params, tree_pci_simple_s, QUANTITY_TIME, 0, 1, "4.0 us",
		     "latency of a hop: tree, PCIe, Simple", LATER ", hwLat"),
	HOP_ROW(tree_net_ll_s, "5.0 us", "tree, network, LL"),
	HOP_ROW(tree_net_ll128_s, "8.5 us", "tree, network, LL128"),
	PARAM_NUMBER(struct library_params, tree_net_simple_s, QUANTITY_TIME, 0, 1, "14.0 us",
		     "latency of a hop: tree, network, Simple", LATER ", hwLat"),
	PARAM_NUMBER(
		struct library_params, wire_nvlink_s, QUANTITY_TIME, 0, 1, "1 us",
		"latency of the wire that a hop over NVLink contains",
		"assumption: two nvlink links at their default latency, a switch between them"),
	PARAM_NUMBER(struct library_params, wire_pci_s, QUANTITY_TIME, 0, 1, "0.6 us",
		     "latency of the wire that a hop over PCIe contains",
		     "assumption: two pcie links at their default latency"),
	PARAM_NUMBER(struct library_params, wire_net_s, QUANTITY_TIME, 0, 1, "1.5 us",
		     "latency of the wire that a hop over a network contains",
		     "assumption: InfiniBand through a switch (two links of 0.4 us) and a PCIe "
		     "link at each end"),
	COST_SOURCED(struct library_params, latency_scale_ratio, QUANTITY_RATIO, 0.01, 100, "1",
		     "all of NCCL's latencies on this system over those of its model",
		     "assumption: 1, the systems that NCCL was tuned on"),
	COST_SOURCED(
		struct library_params, simple_scale_ratio, QUANTITY_RATIO, 0.01, 100, "1",
		"hops with Simple on this system over those of the model, beyond latency_scale",
		"assumption: 1, the systems that NCCL was tuned on"),
	COST_SOURCED(struct library_params, ll_nodes_scale_ratio, QUANTITY_RATIO, 0.01, 100, "1",
		     "hops with LL inside a node on this system over those of the model, beyond "
		     "latency_scale and ll_nodes, when there are several nodes",
		     "assumption: 1, the systems that NCCL was tuned on"),
	COST_ASSUMED(struct library_params, start_s, QUANTITY_TIME, 0, 1, "0 us",
		     "further cost of a collective on each rank: group launch, events",
		     "assumption: none"),
	COST_ASSUMED(struct library_params, channel_start_s, QUANTITY_TIME, 0, 1, "0 us",
		     "further cost of a collective for each active channel", "assumption: none"),
	COST_SOURCED(struct library_params, nvlink_efficiency_ratio, QUANTITY_RATIO, 0.01, 1,
		     "0.85", "of NVLink's goodput that the library reaches",
		     "NCCL 2.18, src/graph/topo.h: 20 GB/s for a V100's or an A100's link, of "
		     "23.5 after framing"),
	COST_SOURCED(struct library_params, pci_efficiency_ratio, QUANTITY_RATIO, 0.01, 1, "0.83",
		     "of PCIe's goodput that the library reaches",
		     "NCCL 2.18, src/graph/topo.h: 12 GB/s for generation 3 x16, of 14.4 after "
		     "framing"),
	COST_ASSUMED(struct library_params, net_efficiency_ratio, QUANTITY_RATIO, 0.01, 1, "0.97",
		     "of the network's goodput that the library reaches",
		     "assumption: NCCL takes an adapter's rate as it is; 96.6 of 99.4 Gbit/s by "
		     "ib_write_bw over EDR (NVIDIA forum 273376)"),
	PARAM_NUMBER(struct library_params, channel_bandwidth_Bps, QUANTITY_RATE, 1e6, 1e13,
		     "12 GB/s", "most that a channel's thread block moves, Simple",
		     TUNING ", perChMaxTreeBws of Ampere, taken for rings too: 24 GB/s for each "
			    "tree found, which two blocks serve"),
	PARAM_NUMBER(struct library_params, channel_tree_Bps, QUANTITY_RATE, 1e6, 1e13, "12 GB/s",
		     "... in a tree, where it adds from several children",
		     TUNING ", perChMaxTreeBws of Ampere, one node: 24 GB/s for two blocks"),
	PARAM_NUMBER(struct library_params, channel_ll128_Bps, QUANTITY_RATE, 1e6, 1e13, "10 GB/s",
		     "... with LL128, flags not counted",
		     TUNING ", perChMaxRingLL128Bws of Ampere: 20 GB/s for each ring found, which "
			    "two blocks serve"),
	PARAM_NUMBER(struct library_params, channel_ll_Bps, QUANTITY_RATE, 1e6, 1e13, "3.5 GB/s",
		     "... with LL, flags not counted",
		     TUNING ", llMaxBws: 87.7 GB/s over 24 channels of an A100, 39 over 12 of a "
			    "V100"),
	PARAM_NUMBER(struct library_params, channel_ll_net_Bps, QUANTITY_RATE, 1e6, 1e13,
		     "1.4 GB/s", "... with LL across nodes, which hands its bytes to a CPU thread",
		     TUNING ", llMaxBws: 22.5 GB/s for two nodes, over 16 channels"),
	COST_SOURCED(struct library_params, block_ll_ratio, QUANTITY_RATIO, 0.01, 10, "1",
		     "of what the library takes a channel to move, what this system reaches: LL, "
		     "inside a "
		     "node",
		     "assumption: 1, the systems that NCCL was tuned on"),
	COST_SOURCED(struct library_params, block_ll128_ratio, QUANTITY_RATIO, 0.01, 10, "1",
		     "of what the library takes a channel to move, what this system reaches: LL128",
		     "assumption: 1, the systems that NCCL was tuned on"),
	COST_SOURCED(
		struct library_params, block_simple_ratio, QUANTITY_RATIO, 0.01, 10, "1",
		"of what the library takes a channel to move, what this system reaches: Simple",
		"assumption: 1, the systems that NCCL was tuned on"),
	COST_SOURCED(struct library_params, tree_split_ratio, QUANTITY_RATIO, 0.01, 1, "0.5",
		     "of a block's rate, each way, in a tree, whose threads it splits between "
		     "reduction (up) and broadcast (down): Simple",
		     "NCCL 2.8, src/collectives/device/all_reduce.h"),
	COST_SOURCED(struct library_params, tree_split_ll_ratio, QUANTITY_RATIO, 0.01, 1, "0.3",
		     "... with LL and LL128, of the way that has fewer threads",
		     "NCCL 2.8, src/collectives/device/all_reduce.h: 70 % up, 30 % down"),
	COST_SOURCED(struct library_params, tree_ratio, QUANTITY_RATIO, 0.01, 1, "0.92",
		     "of the links' goodput that trees reach", TUNING),
	PARAM_NUMBER(struct library_params, ll128_goodput_ratio, QUANTITY_RATIO, 0.01, 1, "0.92",
		     "of the links' goodput that LL128 reaches",
		     TUNING ": 0.92, of 120 data bytes in 128"),
	COST_SOURCED(struct library_params, ll_ratio, QUANTITY_RATIO, 0.01, 1, "0.25",
		     "of the links' goodput that LL reaches: half of its bytes are flags, and "
		     "stores of 8 B do not fill links",
		     TUNING ": a quarter of the bus bandwidth"),
	COST_SOURCED(struct library_params, ll128_alone_ratio, QUANTITY_RATIO, 0.01, 1, "0.7",
		     "of the links' goodput that LL128 reaches where a node has one rank, whose "
		     "GPU sends and receives through one adapter",
		     TUNING),
	COST_SOURCED(struct library_params, ll128_tree_ratio, QUANTITY_RATIO, 0.01, 1, "0.778",
		     "of the links' goodput that LL128 reaches in a tree inside one node",
		     TUNING ": 7/9"),
	PARAM_CHOICE(struct library_params, tree_correction, tree_corrections, "2.18",
		     "release of NCCL whose table corrects its model of trees at middle sizes",
		     "NCCL, src/graph/tuning.cc, treeCorrectionFactor"),
	PARAM_NUMBER(struct library_params, ll_nodes_ratio, QUANTITY_RATIO, 1, 10, "1.8",
		     "hops of LL inside a node take this many times as long when there are several "
		     "nodes",
		     TUNING),
	COST_SOURCED(struct library_params, net_overhead_s, QUANTITY_TIME, 0, 1, "1 us",
		     "posting a message to the network, which each hop of a ring waits for when "
		     "there are several nodes (Simple: three times)",
		     TUNING ", getNetOverhead: 1 us, on AMD's processors 2 us"),
	PARAM_WHOLE(struct library_params, net_steps_more_count, 0, 2, "2",
		    "steps of an all-reduce by ring that the library takes to cross the network, "
		    "beyond 2 "
		    "(nodes - 1)",
		    TUNING ": 2 nodes"),
	PARAM_NUMBER(struct library_params, plateau_ratio, QUANTITY_RATIO, 1, 10, "1.4",
		     "all hops of a ring with Simple take this many times as long when there are "
		     "several nodes",
		     TUNING ", the plateau effect: 1.4 from Ampere on, 1.9 before"),
	PARAM_NUMBER(
		struct library_params, lane_Bps, QUANTITY_RATE, 1e6, 1e13, "25 GB/s",
		"bandwidth for which the library sets up a pair of channels",
		"NCCL: 24 channels on an A100 with 12 links of 23.5 GB/s, 12 on a V100 with 6"),
	PARAM_WHOLE(struct library_params, channels_most_count, 1, 1024, "32", "most channels",
		    "NCCL: MAXCHANNELS 32"),
	PARAM_NUMBER(struct library_params, channel_least_ll_B, QUANTITY_BYTES, 0, 1e12, "4 KiB",
		     "with fewer bytes for each channel (and rank of a ring) fewer work: LL",
		     "NCCL 2.18: 512 threads, 8 B each"),
	PARAM_NUMBER(struct library_params, channel_least_ll128_B, QUANTITY_BYTES, 0, 1e12, "5 KiB",
		     "with fewer bytes for each channel fewer work: LL128",
		     "NCCL 2.18: 640 threads, 8 B each"),
	PARAM_NUMBER(struct library_params, channel_least_simple_B, QUANTITY_BYTES, 0, 1e12,
		     "32 KiB", "with fewer bytes for each channel fewer work: Simple",
		     "NCCL 2.18: 512 threads, 64 B each"),
	PARAM_BOOL(struct library_params, ll128, "true", "the library has LL128",
		   "NCCL 2.5 and later"),
	PARAM_BOOL(struct library_params, ring_search, "true",
		   "rings are laid over the widest links (else the ranks in their order)",
		   "NCCL 2.0 and later"),
	COST_ASSUMED(struct library_params, local_copy_ratio, QUANTITY_RATIO, 0, 10, "0",
		     "of a rank's last chunk that is copied within its memory at the end",
		     "assumption: none, since the last receive stores where it should"),
	COST_ASSUMED(struct library_params, cpu_reduce_Bps, QUANTITY_RATE, 1e6, 1e13, "4 GB/s",
		     "bytes that a core adds to a sum, on a parameter server's CPU",
		     "assumption: two reads and a write of a core's 12 GB/s of memory"),
	PARAM_WHOLE(struct library_params, cpu_reduce_threads_count, 1, 1024, "8",
		    "threads that add up one tensor on a parameter server's CPU",
		    "assumption: part of the framework's thread pool"),
	PARAM_WHOLE(struct library_params, cpu_sum_inputs_count, 2, 1024, "2",
		    "gradients that one pass over memory adds up there; 2: each is added to the "
		    "sum when it comes",
		    "by definition: an addition has two operands"),
	PARAM_NUMBER(struct library_params, cpu_after_ratio, QUANTITY_RATIO, 0, 100, "0",
		     "bytes that the server's CPU reads and writes behind the sum (mean, update of "
		     "the variable) for each byte of it",
		     "assumption: the update is the GPU's"),
	PARAM_WHOLE(struct library_params, at_once_count, 1, 64, "1",
		    "collectives that a rank may be in at a time; they begin in order",
		    "NCCL: kernels follow each other on one stream"),
	PARAM_BOOL(struct library_params, peer_to_peer, "true",
		   "GPUs of a host reach each other's memory over PCIe",
		   "CUDA: GPUs under one root complex"),
	PARAM_BOOL(struct library_params, gpudirect, "true",
		   "network adapters reach GPU memory (GPUDirect RDMA)",
		   "NVIDIA GPUDirect RDMA: data centre GPUs and ConnectX adapters"),
	PARAM_BOOL(struct library_params, gpudirect_root, "false",
		   "... also across a root complex; false: below common PCIe switches alone",
		   "NCCL, NCCL_NET_GDR_LEVEL: PXB by default (src/graph/paths.cc)"),
	PARAM_BOOL(struct library_params, pxn, "true",
		   "a GPU's messages may leave through the memory of another, over NVLink, by the "
		   "adapter on the receiver's rail",
		   "NCCL 2.12 and later: PXN, on unless NCCL_PXN_DISABLE is set"),
	PARAM_NUMBER(
		struct library_params, send_ll_B, QUANTITY_BYTES, 0, 1e12, "16 KiB",
		"messages from rank to rank (all-to-all) up to this size travel with LL inside "
		"a node",
		"NCCL 2.14 and later: NCCL_P2P_LL_THRESHOLD; over networks LL has no buffers "
		"unless NCCL_ALLOC_P2P_NET_LL_BUFFERS is set"),
	PARAM_NUMBER(struct library_params, slice_B, QUANTITY_BYTES, 1024, 1e12, "512 KiB",
		     "staged pieces, and the grain at which trees pipeline",
		     "NCCL 2.18: a buffer of 4 MiB in 8 steps"),
	PARAM_NUMBER(struct library_params, piece_ll_B, QUANTITY_BYTES, 8, 1e12, "64 B",
		     "grain at which trees pipeline with LL, for each channel",
		     "assumption: threads hand on their 8 B as they come, some at a time"),
	PARAM_NUMBER(struct library_params, piece_ll128_B, QUANTITY_BYTES, 120, 1e12, "1920 B",
		     "grain at which trees pipeline with LL128, for each channel",
		     "NCCL: a warp's 16 lines of 120 B, which it hands on by itself"),
	PARAM_NUMBER(struct library_params, step_ll_B, QUANTITY_BYTES, 8, 1e12, "32 KiB",
		     "least that trees with LL or LL128 hand on through sockets, or all that a "
		     "channel has, if that is less",
		     "NCCL: its proxy sends a step of LL's buffer, 512 threads x 8 lines x 8 B"),
	PARAM_NUMBER(struct library_params, block_share_ratio, QUANTITY_RATIO, 0, 1, "1",
		     "of a multiprocessor that each of a collective's thread blocks holds while it "
		     "runs; 0: "
		     "copy engines move the bytes",
		     "NCCL: a block of some 500 threads for each channel, one on a multiprocessor"),
	COST_ASSUMED(struct library_params, kernel_loss_ratio, QUANTITY_RATIO, 0, 0.95, "0",
		     "of a GPU that kernels beside a collective lose beyond its blocks and its "
		     "memory traffic",
		     "assumption: none; where a library is found to take more, it is fitted"),
	PARAM_NUMBER(struct library_params, memory_traffic_ratio, QUANTITY_RATIO, 0, 10, "3",
		     "bytes of GPU memory that are read or written for each byte sent",
		     "a ring reads the own and the received value and writes one at the peer"),
};

const struct param_table library_table = PARAM_TABLE("library", struct library_params, rows);

const char *protocol_name(enum protocol protocol)
{
	static const char *const names[PROTOCOL_COUNT] = {"LL", "LL128", "Simple"};
	return names[protocol];
}

bool library_has_servers(const struct library_params *library)
{
	const struct algorithm *algorithm = algorithm_find(library->algorithm);
	return algorithm && algorithm->servers;
}
