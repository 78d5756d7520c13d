/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parameters of a collective library. The defaults are the constants of NCCL's tuning model,
 * src/graph/tuning.cc, of 2.18 to 2.22; generation.c has its tables of latencies. The library uses
 * these constants for its choice, so they are settings. The difference of a real system from them
 * is in latency_scale, simple_scale, ll_nodes_scale and block_*, which are costs. wire_* is the
 * part of them that belongs to the simulated wire: a slower or faster link accounts for its own
 * latency. */

#include "sim/collective/library.h"

#define TUNING "NCCL 2.20, src/graph/tuning.cc"

static const char *const protocol_choices[] = {"auto", "ll", "ll128", "simple", NULL};

static const char *const custom_choices[] = {"serving", "on", "off", NULL};

static const char *const engines[] = {"vllm", "sglang", "tensorrt_llm", NULL};

static const char *const experts_choices[] = {"library", "direct", "nodes", NULL};

static const char *const tunings[] = {"2.18", "2.8", NULL};

static const char *const nvls_models[] = {"2.17", "2.28", NULL};

static const char *const library_rules[] = {"nccl", "openmpi", "gloo", NULL};

static const char *const path_levels[] = {"loc", "nvl", "pix", "pxb", "phb", "sys", NULL};

static const struct param_row rows[] = {
	PARAM_TEXT(struct library_params, name, "",
		   "name of the library in results; empty means that of library.rules",
		   "by definition: a name has no effect on times"),
	PARAM_BOOL(struct library_params, by_generation, "true",
		   "whether collectives have the constants that were measured inside machines "
		   "on GPUs of their generation (collectives.GENERATION); otherwise those of "
		   "NCCL's model",
		   "NCCL 2.27 on A100, H100, B200 and L40S"),
	PARAM_CHOICE(struct library_params, custom_all_reduce, custom_choices, "serving",
		     "whether small all-reduces of 2, 4, 6 or 8 GPUs with access to each other use "
		     "one_shot and two_shot, as in vLLM: serving (model servers do), on, off",
		     "vLLM: on unless --disable-custom-all-reduce is given"),
	PARAM_CHOICE(struct library_params, engine, engines, "vllm",
		     "model server whose sizes decide between one_shot, two_shot and the library "
		     "(vllm, sglang, tensorrt_llm)",
		     "assumption: vLLM, with which the model of servers was compared"),
	COST_ASSUMED(struct library_params, one_shot_s, QUANTITY_TIME, 0, 1, "5 us",
		     "time of an all-reduce in one shot without its bytes",
		     "assumption: a kernel, and signals to all peers before and after it"),
	COST_ASSUMED(struct library_params, two_shot_s, QUANTITY_TIME, 0, 1, "9 us",
		     "time of an all-reduce in two shots without its bytes",
		     "assumption: as one shot, and signals and a read between the shots"),
	COST_ASSUMED(struct library_params, shot_Bps, QUANTITY_RATE, 1e6, 1e14, "300 GB/s",
		     "bandwidth at which the kernel of one_shot and two_shot reads its peers, "
		     "unless the links limit it",
		     "assumption: 36 blocks with 8 GB/s each"),
	PARAM_CHOICE(struct library_params, experts, experts_choices, "library",
		     "how all-to-alls carry tokens to their experts: library (its messages), "
		     "direct (each to its GPU at once), nodes (once to each machine, then inside)",
		     "DeepEP: direct in its kernels for few tokens, nodes in those for many"),
	PARAM_WHOLE(struct library_params, experts_top_count, 1, 1024, "8",
		    "number of experts of a token, with library.experts=nodes; a job whose network "
		    "has experts takes their number",
		    "assumption: 8, as in DeepSeek-V3, Qwen3 and Kimi"),
	PARAM_WHOLE(struct library_params, experts_nodes_count, 0, 1e6, "0",
		    "largest number of machines with experts of a token, with "
		    "library.experts=nodes; 0 means any",
		    "assumption: routers choose among all experts (DeepSeek-V3: 4 machines)"),
	PARAM_WHOLE(struct library_params, experts_blocks_count, 1, 1024, "20",
		    "SMs that the exchange of experts occupies, unless library.experts is library",
		    "DeepEP, deep_ep/buffer.py: num_sms"),
	COST_ASSUMED(struct library_params, experts_start_s, QUANTITY_TIME, 0, 1, "20 us",
		     "time of an exchange of experts without its bytes, unless library.experts is "
		     "library",
		     "assumption: a kernel of two phases, in each of which all SMs wait for each "
		     "other, and a round of counts between the GPUs"),
	PARAM_TEXT(struct library_params, algorithm, "auto",
		   "algorithm of all-reduce; auto means NCCL's choice of ring, double_tree or nvls",
		   "NCCL 2.4 and later"),
	PARAM_TEXT(struct library_params, msccl, "",
		   "XML file with an algorithm of MSCCL, used for its collective and sizes; empty "
		   "means none",
		   "assumption: the library has only its own algorithms"),
	PARAM_CHOICE(struct library_params, protocol, protocol_choices, "auto",
		     "protocol (LL, LL128 or Simple); auto means the fastest one in NCCL's model",
		     "NCCL 2.5 and later"),
	PARAM_CHOICE(struct library_params, rules, library_rules, "nccl",
		     "library whose rules choose the algorithm if library.algorithm is auto",
		     "assumption: GPUs use NCCL"),
	PARAM_BOOL(struct library_params, host_memory, "false",
		   "whether ranks have their buffers in host memory and add on their cores; "
		   "otherwise they use their GPUs",
		   "assumption: the buffers are those of GPUs"),
	PARAM_NUMBER(struct library_params, host_copy_Bps, QUANTITY_RATE, 0, 1e13, "0 GB/s",
		     "bandwidth at which Open MPI's and Gloo's ranks copy buffers of GPUs to host "
		     "memory before a collective and back after it; 0 means no copies",
		     "assumption: the buffers are in host memory"),
	PARAM_NUMBER(struct library_params, eager_B, QUANTITY_BYTES, 0, 1e12, "0 B",
		     "largest message through sockets that is sent without the consent of the "
		     "receiver; 0 means that no message waits for it",
		     "NCCL: its proxies have buffers for all messages"),
	PARAM_NUMBER(struct library_params, stagger_s, QUANTITY_TIME, 0, 1, "0 us",
		     "time by which each rank begins a collective after the rank before it",
		     "assumption: kernels of a collective start together"),
	PARAM_NUMBER(struct library_params, queued_B, QUANTITY_BYTES, 0, 1e12, "192 KiB",
		     "bytes of a connection that wait in the adapter's queue, in front of a "
		     "request or consent for another message",
		     "Linux, tcp_small_queue_check: sends while at most two packets of 64 KiB "
		     "are queued"),
	PARAM_WHOLE(struct library_params, channels_count, 0, 1024, "0",
		    "number of channels (thread blocks on a GPU); 0 means computed from the links",
		    "NCCL: result of its search for rings"),
	PARAM_WHOLE(struct library_params, servers_count, 1, 4096, "1",
		    "number of shards of a parameter server", "one server, as in most examples"),
	PARAM_BOOL(struct library_params, server_on_cpu, "true",
		   "whether parameter servers keep variables in host memory; otherwise they use "
		   "the machines' GPUs in turn: the first GPU of each machine, then the second of "
		   "each",
		   "TensorFlow: local_parameter_device=cpu by default in tf_cnn_benchmarks"),
	PARAM_BOOL(struct library_params, local_sum_on_cpu, "false",
		   "whether two-level servers add the gradients of a machine's GPUs in host "
		   "memory; otherwise its GPUs add them, in turn",
		   "TensorFlow: local_parameter_device=gpu; MXNet: dist_device_sync"),
	PARAM_NUMBER(struct library_params, shard_least_B, QUANTITY_BYTES, 0, 1e15, "0 B",
		     "size from which two-level servers divide a tensor over all servers; smaller "
		     "ones are on one server each, in turn",
		     "assumption: equal shards; a framework's exchange sets its own"),
	PARAM_NUMBER(struct library_params, wire_nvlink_s, QUANTITY_TIME, 0, 1, "0.5 us",
		     "wire latency that is part of a hop over NVLink",
		     "assumption: two nvlink links at their default latency, with a switch between "
		     "them"),
	PARAM_NUMBER(struct library_params, wire_pci_s, QUANTITY_TIME, 0, 1, "0.6 us",
		     "wire latency that is part of a hop over PCIe",
		     "assumption: two pcie links at their default latency"),
	PARAM_NUMBER(struct library_params, wire_net_s, QUANTITY_TIME, 0, 1, "1.5 us",
		     "wire latency that is part of a hop over a network",
		     "assumption: InfiniBand through a switch (two links of 0.4 us) and a PCIe "
		     "link at each end"),
	COST_SOURCED(struct library_params, latency_scale_ratio, QUANTITY_RATIO, 0.01, 100, "1",
		     "factor on all of NCCL's latencies on this system, relative to its model",
		     "assumption: 1, for the systems that NCCL was tuned on"),
	COST_SOURCED(struct library_params, simple_scale_ratio, QUANTITY_RATIO, 0.01, 100, "1",
		     "factor on the latency of hops with Simple on this system, in addition to "
		     "latency_scale",
		     "assumption: 1, for the systems that NCCL was tuned on"),
	COST_SOURCED(struct library_params, ll_nodes_scale_ratio, QUANTITY_RATIO, 0.01, 100, "1",
		     "factor on the latency of hops with LL inside a node of a job with several "
		     "nodes, in addition to latency_scale and ll_nodes",
		     "assumption: 1, for the systems that NCCL was tuned on"),
	COST_ASSUMED(struct library_params, start_s, QUANTITY_TIME, 0, 1, "0 us",
		     "extra time of a collective on each rank: group launch, events",
		     "assumption: zero; 0 is exact, because the latencies of the library's model "
		     "contain the start, and latency_scale has a prior"),
	COST_UNSEEN(0.1e-6, struct library_params, channel_start_s, QUANTITY_TIME, 0, 1, "0 us",
		    "extra time of a collective for each active channel",
		    "assumption: zero; draws go up to 0.2 us (95 %), a tenth of the 1 to 2.7 us "
		    "that fits of a library without generation constants give"),
	COST_GENERATION(
		struct library_params, channel_net_s, QUANTITY_TIME, 0, 1, "1.6 us",
		"extra time of a collective between machines for each active channel, because one "
		"proxy thread of a rank serves its channels in turn; none over sockets, whose "
		"proxies are simulated",
		"assumption: geometric mean of the times of a channel that the fits nccl-a100 "
		"(0.97 "
		"us) and nccl-v100 (2.7 us) find"),
	COST_SOURCED(
		struct library_params, nvlink_efficiency_ratio, QUANTITY_RATIO, 0.01, 1, "0.85",
		"NVLink efficiency: part of NVLink's goodput that the library reaches; 0.97 times "
		"as much on Hopper and 0.94 on Blackwell",
		"NCCL 2.28, src/graph/topo.h: 20 GB/s for a link of a V100 or an A100, of "
		"23.5 after framing; 20.6 of 25 on Hopper, 40.1 of 50 on Blackwell"),
	PARAM_NUMBER(struct library_params, nvlink_planned_ratio, QUANTITY_RATIO, 0, 1, "0",
		     "part of NVLink's goodput in the library's model; 0 means that of the GPU's "
		     "generation",
		     "NCCL 2.28, src/graph/topo.h: 20 GB/s for a link of a V100 or an A100; "
		     "search.cc: 12 rings of 30 GB/s for an H100's 18 links"),
	PARAM_BOOL(
		struct library_params, nvls, "true",
		"whether all-reduces of at least three GPUs of one machine may use NVLink SHARP, "
		"from Hopper on (NCCL_NVLS_ENABLE)",
		"NCCL 2.17 and later, src/transport/nvls.cc"),
	PARAM_CHOICE(struct library_params, nvls_model, nvls_models, "2.17",
		     "first release of NCCL whose model of NVLink SHARP's bandwidth decides "
		     "between it and rings: 2.17 (until 2.27) or 2.28",
		     "NCCL 2.20 and 2.29, src/graph/tuning.cc"),
	PARAM_BOOL(struct library_params, symmetric, "false",
		   "whether buffers are in symmetric windows (ncclCommWindowRegister), so that "
		   "NCCL's kernels on them serve all-reduces, all-gathers and reduce-scatters of "
		   "one machine whose GPUs all have NVLink to each other",
		   "NCCL 2.27 and later: off, because programs have to register their buffers"),
	PARAM_NUMBER(struct library_params, nvls_latency_s, QUANTITY_TIME, 0, 1, "25 us",
		     "latency of NVLink SHARP in the library's model",
		     "NCCL 2.28, src/graph/tuning.cc, hwLat; 2.18 to 2.20 have 23 us"),
	COST_ASSUMED(struct library_params, nvls_start_s, QUANTITY_TIME, 0, 1, "20 us",
		     "time to start a collective with NVLink SHARP, without its first round",
		     "assumption: the model's 25 us without the time of a chunk"),
	COST_ASSUMED(struct library_params, nvls_round_s, QUANTITY_TIME, 0, 1, "4 us",
		     "time between two chunks of a block with NVLink SHARP in which its links are "
		     "idle",
		     "assumption: a barrier of all GPUs through the switch, there and back"),
	COST_SOURCED(struct library_params, nvls_efficiency_ratio, QUANTITY_RATIO, 0.01, 1, "0.7",
		     "part of NVLink's goodput that NVLink SHARP reaches",
		     "NCCL 2.28, src/graph/tuning.cc, nvlsEfficiency: 0.85 of the 20.6 GB/s of an "
		     "H100's link, whose goodput is 25 GB/s"),
	COST_SOURCED(struct library_params, pci_efficiency_ratio, QUANTITY_RATIO, 0.01, 1, "0.83",
		     "PCIe efficiency: part of PCIe's goodput that the library reaches",
		     "NCCL 2.18, src/graph/topo.h: 12 GB/s for generation 3 x16, of 14.4 after "
		     "framing"),
	COST_ASSUMED(struct library_params, net_efficiency_ratio, QUANTITY_RATIO, 0.01, 1, "0.97",
		     "network efficiency: part of the network's goodput that the library reaches",
		     "assumption: NCCL uses an adapter's full bandwidth; ib_write_bw reaches 96.6 "
		     "of 99.4 Gbit/s over EDR (NVIDIA forum 273376)"),
	PARAM_NUMBER(struct library_params, channel_bandwidth_Bps, QUANTITY_RATE, 0, 1e13, "0 GB/s",
		     "maximum bandwidth of a channel's thread block with Simple; 0 means that of "
		     "the GPU's generation",
		     "NCCL 2.28, src/graph/search.cc: two blocks serve a ring of at most 24 GB/s "
		     "on Ampere, 48 on Hopper and 96 on Blackwell between machines"),
	PARAM_NUMBER(struct library_params, channel_tree_Bps, QUANTITY_RATE, 0, 1e13, "0 GB/s",
		     "maximum bandwidth of a channel's thread block in a tree, where it adds data "
		     "of several children; 0 means that of the GPU's generation",
		     TUNING ", perChMaxTreeBws of Ampere, one node: 24 GB/s for two blocks"),
	PARAM_NUMBER(struct library_params, channel_ll128_Bps, QUANTITY_RATE, 0, 1e13, "0 GB/s",
		     "maximum bandwidth of a channel's thread block with LL128, without flags; 0 "
		     "means that of the GPU's generation",
		     TUNING ", perChMaxRingLL128Bws of Ampere: 20 GB/s for each ring found, which "
			    "two blocks serve"),
	PARAM_NUMBER(struct library_params, channel_ll_Bps, QUANTITY_RATE, 0, 1e13, "0 GB/s",
		     "maximum bandwidth of a channel's thread block with LL, without flags; 0 "
		     "means that of the GPU's generation",
		     TUNING ", llMaxBws: 87.7 GB/s over 24 channels of an A100, 39 over 12 of a "
			    "V100"),
	PARAM_NUMBER(struct library_params, channel_ll_net_Bps, QUANTITY_RATE, 0, 1e13, "0 GB/s",
		     "maximum bandwidth of a channel's thread block with LL across nodes, where a "
		     "CPU thread takes its bytes; 0 means that of the GPU's generation",
		     TUNING ", llMaxBws: 22.5 GB/s for two nodes, over 16 channels"),
	COST_SOURCED(struct library_params, block_ll_ratio, QUANTITY_RATIO, 0.01, 10, "1",
		     "part of a channel's bandwidth that this system reaches with LL inside a node",
		     "assumption: 1, for the systems that NCCL was tuned on"),
	COST_SOURCED(struct library_params, block_ll128_ratio, QUANTITY_RATIO, 0.01, 10, "1",
		     "part of a channel's bandwidth that this system reaches with LL128",
		     "assumption: 1, for the systems that NCCL was tuned on"),
	COST_SOURCED(struct library_params, block_simple_ratio, QUANTITY_RATIO, 0.01, 10, "1",
		     "part of a channel's bandwidth that this system reaches with Simple",
		     "assumption: 1, for the systems that NCCL was tuned on"),
	COST_SOURCED(struct library_params, tree_split_ratio, QUANTITY_RATIO, 0.01, 1, "0.5",
		     "part of a block's bandwidth for each direction of a tree with Simple, whose "
		     "threads are divided between reduction (up) and broadcast (down)",
		     "NCCL 2.8, src/collectives/device/all_reduce.h"),
	COST_SOURCED(struct library_params, tree_split_ll_ratio, QUANTITY_RATIO, 0.01, 1, "0.3",
		     "part of a block's bandwidth for the direction of a tree with fewer threads, "
		     "with LL and LL128",
		     "NCCL 2.8, src/collectives/device/all_reduce.h: 70 % up, 30 % down"),
	COST_SOURCED(struct library_params, tree_ratio, QUANTITY_RATIO, 0.01, 1, "0.92",
		     "part of the links' goodput that trees reach", TUNING),
	COST_SOURCED(struct library_params, ll_ratio, QUANTITY_RATIO, 0.01, 1, "0.25",
		     "part of the links' goodput that LL reaches, because half of its bytes are "
		     "flags and its stores of 8 B do not fill links; 1.52 times as much from "
		     "Hopper on",
		     TUNING ": a quarter of the bus bandwidth; NCCL 2.28: 141 of 371 GB/s on "
			    "Hopper"),
	COST_SOURCED(struct library_params, ll128_alone_ratio, QUANTITY_RATIO, 0.01, 1, "0.7",
		     "part of the links' goodput that LL128 reaches if a node has one rank, whose "
		     "GPU sends and receives through one adapter",
		     TUNING),
	COST_SOURCED(struct library_params, ll128_tree_ratio, QUANTITY_RATIO, 0.01, 1, "0.778",
		     "part of the links' goodput that LL128 reaches in a tree inside one node",
		     TUNING ": 7/9"),
	PARAM_CHOICE(struct library_params, tuning, tunings, "2.18",
		     "release of NCCL whose tables give the latencies of its model and its "
		     "correction of trees at medium sizes",
		     "NCCL, src/graph/tuning.cc: baseLat, hwLat, treeCorrectionFactor"),
	PARAM_NUMBER(
		struct library_params, ll_nodes_ratio, QUANTITY_RATIO, 1, 10, "1.8",
		"factor on the latency of hops with LL inside a node of a job with several nodes",
		TUNING),
	COST_SOURCED(struct library_params, net_overhead_s, QUANTITY_TIME, 0, 1, "1 us",
		     "time to post a message to the network, which each hop of a ring waits for if "
		     "there are several nodes (three times with Simple)",
		     TUNING ", getNetOverhead: 1 us, on AMD's processors 2 us"),
	PARAM_WHOLE(struct library_params, net_steps_more_count, 0, 2, "2",
		    "number of network steps of a ring all-reduce in the library's model, in "
		    "addition to 2 (nodes - 1)",
		    TUNING ": 2 nodes"),
	PARAM_NUMBER(struct library_params, plateau_ratio, QUANTITY_RATIO, 1, 10, "1.4",
		     "factor on the latency of all hops of a ring with Simple if there are several "
		     "nodes",
		     TUNING ", the plateau effect: 1.4 from Ampere on, 1.9 before"),
	PARAM_NUMBER(
		struct library_params, lane_Bps, QUANTITY_RATE, 0, 1e13, "0 GB/s",
		"link bandwidth for which the library creates one pair of channels; 0 means that "
		"of the GPU's generation",
		"NCCL: 24 channels on an A100 with 12 links of 23.5 GB/s, 12 on a V100 with 6"),
	PARAM_WHOLE(struct library_params, channels_most_count, 1, 1024, "32",
		    "maximum number of channels", "NCCL: MAXCHANNELS 32"),
	PARAM_BOOL(struct library_params, ll128, "true", "whether the library supports LL128",
		   "NCCL 2.5 and later"),
	PARAM_BOOL(
		struct library_params, ring_search, "true",
		"whether rings use the widest links; otherwise they follow the order of the ranks",
		"NCCL 2.0 and later"),
	PARAM_BOOL(
		struct library_params, own_sockets, "true",
		"whether the library opens sockets of its own on the adapter nearest to each GPU; "
		"false: messages between machines take the sockets of MPI",
		"NCCL, src/transport/net_socket.cc"),
	COST_ASSUMED(struct library_params, block_copy_Bps, QUANTITY_RATE, 0, 1e13, "0 GB/s",
		     "bandwidth at which a thread block copies the last piece of its data inside "
		     "its GPU's memory; 0 means no copy",
		     "assumption: the last receive stores the data in place; 0 is exact, because a "
		     "bandwidth near 0 would stop a collective"),
	COST_ASSUMED(struct library_params, cpu_reduce_Bps, QUANTITY_RATE, 1e6, 1e13, "4 GB/s",
		     "bandwidth at which a core adds to a sum on a parameter server's CPU",
		     "assumption: two reads and a write at 12 GB/s of memory bandwidth per core"),
	PARAM_WHOLE(struct library_params, cpu_reduce_threads_count, 1, 1024, "8",
		    "number of threads that add one tensor on a parameter server's CPU",
		    "assumption: part of the framework's thread pool"),
	PARAM_WHOLE(struct library_params, cpu_sum_inputs_count, 2, 1024, "2",
		    "number of gradients that one pass over memory adds; 2 means that each is "
		    "added to the sum when it arrives",
		    "by definition: an addition has two operands"),
	PARAM_NUMBER(struct library_params, cpu_after_ratio, QUANTITY_RATIO, 0, 100, "0",
		     "memory traffic of the server's CPU after the sum (mean, update of the "
		     "variable) per byte of the sum",
		     "assumption: the GPU makes the update"),
	PARAM_WHOLE(struct library_params, at_once_count, 1, 64, "1",
		    "number of collectives in which a rank may take part at the same time; they "
		    "begin in order",
		    "NCCL: kernels follow each other on one stream"),
	PARAM_CHOICE(
		struct library_params, p2p_level, path_levels, "sys",
		"longest path on which GPUs access each other's memory: loc (never), nvl (NVLink), "
		"pix (one PCIe switch), pxb (several), phb (a root complex), sys (any); farther "
		"GPUs exchange data in host memory",
		"NCCL, NCCL_P2P_LEVEL: SYS by default on x86-64 processors of today "
		"(src/graph/paths.cc)"),
	PARAM_BOOL(struct library_params, acs, "false",
		   "whether PCIe switches have ACS on, so that requests between two of their "
		   "devices go up to the root complex and down again; in a VM they always do",
		   "NCCL's documentation, troubleshooting: ACS must be off"),
	PARAM_BOOL(struct library_params, shm, "true",
		   "whether GPUs of a machine that do not access each other's memory exchange data "
		   "in host memory; otherwise they use the network (NCCL_SHM_DISABLE=1)",
		   "NCCL: NCCL_SHM_DISABLE is 0 by default"),
	PARAM_BOOL(struct library_params, gpudirect, "true",
		   "whether network adapters access GPU memory (GPUDirect RDMA)",
		   "NVIDIA GPUDirect RDMA: data centre GPUs and ConnectX adapters"),
	PARAM_CHOICE(struct library_params, net_gdr_level, path_levels, "pxb",
		     "longest path between GPU and network adapter on which GPUDirect is used: loc "
		     "or nvl (never), pix (one PCIe switch), pxb (several), phb (a root complex), "
		     "sys (any)",
		     "NCCL, NCCL_NET_GDR_LEVEL: PXB by default (src/graph/paths.cc)"),
	PARAM_WHOLE(struct library_params, cross_nic_count, 0, 2, "2",
		    "whether messages may change the rail: 0 no, 1 yes, 2 only if necessary",
		    "NCCL, NCCL_CROSS_NIC: 2 by default"),
	PARAM_BOOL(
		struct library_params, collnet, "false",
		"whether all-reduces between machines may use switches that add (link.NAME.sharp)",
		"NCCL 2.6 and later, NCCL_COLLNET_ENABLE: 0 by default"),
	PARAM_BOOL(
		struct library_params, efa_tuner, "true",
		"whether the tuner of the plugin for Amazon's EFA chooses algorithm and protocol "
		"of all-reduces on EFA of generations 2 to 4",
		"aws-ofi-nccl 1.11 and later, src/tuner"),
	PARAM_BOOL(struct library_params, pxn, "true",
		   "whether a GPU's messages may leave through another GPU's memory, over NVLink, "
		   "by the adapter on the receiver's rail",
		   "NCCL 2.12 and later: PXN, on unless NCCL_PXN_DISABLE is set"),
	PARAM_WHOLE(struct library_params, socket_threads_count, 0, 16, "0",
		    "threads that send the sockets of a connection (NCCL_SOCKET_NTHREADS); 0 means "
		    "as NCCL decides: 2 on AWS, 4 on Google's adapters, otherwise 1",
		    "NCCL 2.28, src/transport/net_socket.cc, ncclNetSocketGetNsockNthread"),
	PARAM_WHOLE(struct library_params, socket_sockets_count, 0, 64, "0",
		    "sockets of each of these threads (NCCL_NSOCKS_PERTHREAD); 0 means as NCCL "
		    "decides: 8 on AWS, otherwise 1",
		    "NCCL 2.28, src/transport/net_socket.cc, ncclNetSocketGetNsockNthread"),
	PARAM_WHOLE(struct library_params, queue_pairs_count, 1, 128, "1",
		    "queue pairs of a channel between two ranks, over which a message is divided "
		    "(NCCL_IB_QPS_PER_CONNECTION); ECMP hashes each one",
		    "NCCL, src/transport/net_ib.cc: IB_QPS_PER_CONNECTION is 1"),
	PARAM_NUMBER(struct library_params, buffer_B, QUANTITY_BYTES, 0, 1e12, "4 MiB",
		     "buffer of a channel for Simple (NCCL_BUFFSIZE), which bounds the bytes in "
		     "flight to another machine over rdma; 0 means no bound",
		     "NCCL, src/init.cc: DEFAULT_BUFFSIZE is 2^22 bytes in 8 steps"),
	PARAM_NUMBER(struct library_params, slice_B, QUANTITY_BYTES, 1024, 1e12, "512 KiB",
		     "size of staged pieces, and of the pieces of a pipelined tree",
		     "NCCL 2.18: a buffer of 4 MiB in 8 steps"),
	PARAM_NUMBER(struct library_params, block_share_ratio, QUANTITY_RATIO, 0, 1, "1",
		     "part of an SM that each of a collective's thread blocks occupies while it "
		     "runs; 0 means that copy engines move the bytes",
		     "NCCL: a block of about 500 threads for each channel, one on an SM"),
	COST_UNSEEN(
		0.01, struct library_params, kernel_loss_ratio, QUANTITY_RATIO, 0, 0.95, "0",
		"part of a GPU that other kernels lose while a collective runs, in addition "
		"to the blocks and memory traffic of the collective",
		"assumption: zero; draws go up to 0.02 (95 %), half of what was fitted to NCCL 1"),
	PARAM_NUMBER(struct library_params, memory_traffic_ratio, QUANTITY_RATIO, 0, 10, "3",
		     "bytes of GPU memory that are read or written for each byte sent",
		     "a ring reads its own and the received value and writes one at the peer"),
};

const struct param_table library_table = PARAM_TABLE("library", struct library_params, rows);

const char *protocol_name(enum protocol protocol)
{
	static const char *const names[PROTOCOL_COUNT] = {"LL", "LL128", "Simple"};
	return names[protocol];
}

const char *library_name(const struct library_params *library)
{
	static const char *const names[] = {"NCCL", "Open MPI", "Gloo"};
	if (library->name[0])
		return library->name;
	return library_has_servers(library) ? "parameter servers" : names[library->rules];
}

bool library_has_servers(const struct library_params *library)
{
	const struct algorithm *algorithm = algorithm_find(library->algorithm);
	return algorithm && algorithm->servers;
}
