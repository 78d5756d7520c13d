/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A PLAN splits the training of a network over GPUs.
 *
 *   tp x cp x dp x pp = GPUs        groups of tensor, context, data and pipeline parallelism
 *   micro_batch x dp x m = batch    samples of a step; m micro-batches pass through the pipeline
 *
 * Ranks are numbered group by group, with the innermost first: `order`. Expert groups are made of
 * neighbouring ranks of a stage, as in Megatron-LM, whose names and defaults these are
 * (Megatron-Core's ModelParallelConfig and its parallel_state.py). A stage of the pipeline holds
 * `chunks` parts of the network, each with an equal number of blocks or as `layout` says. The
 * embedding, or logits and loss, can take the place of one block each. A network without repeated
 * blocks is cut into parts of about equal arithmetic. The part v of the network is on stage v mod
 * pp.
 */
#pragma once

#include "sim/base/registry.h"
#include "sim/cuda/fuse.h"
#include "sim/training/shard.h"

/* How much the ranks of a data-parallel group share out: ZeRO stages 1, 2 and 3 (Rajbhandari et
 * al., arXiv:1910.02054). The last one is FSDP. */
enum plan_sharding { SHARDING_NONE, SHARDING_OPTIMIZER, SHARDING_GRADIENTS, SHARDING_PARAMETERS };
/* Megatron-LM's buckets of gradients, or those of the exchange policy. */
enum plan_buckets { BUCKETS_MEGATRON, BUCKETS_POLICY };
enum plan_recomputation { RECOMPUTE_NONE, RECOMPUTE_SELECTIVE, RECOMPUTE_FULL };
/* Modules that selective recomputation computes again, as bits (plan.recompute_modules). */
enum plan_module {
	MODULE_CORE_ATTENTION = 1, /* unfused attention, from its scores */
	MODULE_NORMS = 2,          /* norms of blocks */
	MODULE_EXPERTS_GATE = 4,   /* activations of experts */
};

/* The rows in plan_params.c describe each field. */
struct plan_params {
	double tp_count, cp_count, pp_count, dp_count, ep_count, chunks_count;
	double micro_batch_count, global_batch_count;
	bool sequence_parallel, embedding_as_block, loss_as_block;
	int recompute; /* enum plan_recomputation */
	const char *recompute_modules;
	bool early_stop;
	int sharding; /* enum plan_sharding */
	double replicas_count;
	const char *schedule, *order, *layout;
	int overlap_tensor; /* enum tensor_overlap */
	bool overlap_gradients, overlap_parameters, scatter_gather;
	int buckets; /* enum plan_buckets */
	double bucket_count, gradient_element_B, parameter_element_B;
	double imbalance_ratio, fragmentation_ratio, reserve_B;
	bool anyway;
};
extern const struct param_table plan_table;

enum plan_axis { AXIS_TENSOR, AXIS_CONTEXT, AXIS_DATA, AXIS_PIPELINE, AXIS_COUNT };

struct training_plan {
	const struct plan_params *params;
	const struct pipeline_schedule *schedule;
	const struct shard *shard; /* what a GPU would hold without a pipeline */
	size_t sizes[AXIS_COUNT];
	enum plan_axis order[AXIS_COUNT]; /* innermost first */
	size_t rank_count, expert_count;
	unsigned modules;   /* enum plan_module */
	size_t chunk_count; /* parts of the network on each stage */
	size_t micro_batch; /* samples */
	size_t micro_batch_count;
	size_t played_count; /* of these, those in programs (plan_shorter) */
	size_t unit_count;   /* blocks, and what is before and behind them (plan_units.h) */
	const size_t *units; /* by layer: the unit that holds it */
	const size_t *parts; /* by layer: number of the part of the network that holds it */
};

/* Completes the plan of a job on rank_count GPUs. Returns NULL if it is impossible; then *why says
 * so and what is possible, for example "batch (100) is not divisible by dp x micro_batch (8): write
 * plan.global_batch=96". */
const struct training_plan *plan_new(struct arena *arena, const struct network *network,
				     const struct plan_params *params, size_t rank_count,
				     const char **why);

struct near_request {
	const struct network *network;
	const struct stack_params *stack;
	const struct plan_params *params;
	size_t rank_count;
	size_t tensor_most;   /* largest tensor group: the GPUs of a machine */
	double memory_most_B; /* of a GPU; INFINITY: any */
};
/* Returns the least changes after which the plan is possible and fits into GPU memory, for example
 * "tp=4,recompute=full". NULL: no three changes are enough. */
const char *plan_near(struct arena *arena, const struct near_request *request);

/* From some number of micro-batches on, each further period of them takes the same time. Returns
 * the plan with programs of that number and `periods` more periods, of the same memory and batch.
 */
struct training_plan plan_shorter(const struct training_plan *plan, size_t periods);
/* Returns NULL, or says that the passes of that many ranks through blocks are too many for memory,
 * or their messages too many for one step within events_most. Only played micro-batches count. */
const char *plan_too_large(struct arena *arena, const struct training_plan *plan,
			   size_t simulated_count, double events_most);

/* Returns the plan as text for --plan, with all keys but the global batch that are not defaults. */
const char *plan_text(struct arena *arena, const struct training_plan *plan);
/* Returns true if backward computes a layer of the network again. */
bool plan_recomputes(const struct training_plan *plan, const struct network *network,
		     const struct stack_params *stack, size_t layer);
/* Returns the floating-point operations of one sample that backward computes again, counted as in
 * network_model_flop. `network` is the whole network. */
double plan_recomputed_flop(const struct training_plan *plan, const struct network *network,
			    const struct stack_params *stack);
/* Returns the number of ranks that share out parameters, gradients or optimizer state. */
size_t plan_sharers(const struct training_plan *plan);
/* Returns the layer behind the unit that begins with layer `first`. */
size_t plan_unit_end(const struct training_plan *plan, size_t first);
/* Cuts a network at places where only one activation passes to the next layer. The units are what
 * is between all such places, and the parts have about equal arithmetic. Sets both by layer.
 * Returns the number of units; 0: there are too few places. */
size_t plan_cut(struct arena *arena, const struct network *network, size_t part_count,
		size_t *parts, size_t *units);
/* Reads the blocks of each part from a text of Megatron-LM, such as Et*3|(tt|)*29L. Returns NULL
 * and says why if it is not of that form, or has other numbers of parts or blocks. */
const size_t *plan_layout(struct arena *arena, const char *text, size_t part_count,
			  size_t block_count, const char **why);
/* Returns the number of parts of such a text; 0: it is not of that form, and *why says so. */
size_t plan_layout_parts(struct arena *arena, const char *text, const char **why);
/* Returns the samples of a step on all GPUs. */
double plan_batch(const struct training_plan *plan);
/* Returns the rank's index on the axis. */
size_t plan_index(const struct training_plan *plan, size_t rank, enum plan_axis axis);
/* Returns the rank that differs from `rank` only by its index on the axis. */
size_t plan_neighbour(const struct training_plan *plan, size_t rank, enum plan_axis axis,
		      size_t index);

/* Groups of ranks that do collectives together. */
enum plan_group {
	PLAN_TENSOR,
	PLAN_CONTEXT,
	PLAN_EXPERT,
	PLAN_DATA,        /* ranks with the same parameters, data and context, of one replica */
	PLAN_REPLICAS,    /* ranks with the same part of the parameters, one of each replica */
	PLAN_EXPERT_DATA, /* ranks with the same experts */
	PLAN_EMBEDDING,   /* first and last stage share the embedding's matrix */
	PLAN_GROUP_COUNT,
};
struct plan_groups {
	const struct program_group *groups; /* communicator i + 1 (sim/cuda/program.h) */
	size_t count;
	/* by kind and rank: number of its communicator; 0: the group has one rank */
	const uint32_t *of[PLAN_GROUP_COUNT];
};
struct plan_groups plan_groups(struct arena *arena, const struct training_plan *plan, bool tied);

/* ---- schedules ---- */

enum slot_kind {
	SLOT_FORWARD,
	SLOT_BACKWARD, /* gradients of activations; of weights, too, unless the schedule splits it
			*/
	SLOT_WEIGHTS,  /* gradients of weights */
};
struct slot { /* one pass of one micro-batch through one chunk */
	enum slot_kind kind;
	uint32_t micro, chunk;
};
struct slots {
	struct slot *items;
	size_t count, room;
};
struct pipeline_shape {
	size_t stage_count, chunk_count, micro_batch_count;
};
struct pipeline_schedule {
	const char *name, *help;
	bool splits_backward; /* has slots of SLOT_WEIGHTS */
	bool all_forward;     /* no backward pass begins before the last forward pass */
	/* Returns NULL, or says why the shape is impossible, as plan_new does. */
	const char *(*refuse)(struct arena *arena, const struct pipeline_shape *shape);
	/* Appends the slots of a stage in the order in which it runs them. */
	void (*write)(const struct pipeline_schedule *schedule, struct arena *arena,
		      const struct pipeline_shape *shape, size_t stage, struct slots *slots);
};
REGISTRY_OF(struct pipeline_schedule, pipeline_schedule);
extern const struct pipeline_schedule schedule_gpipe, schedule_1f1b, schedule_interleaved,
	schedule_zb_h1;
void slot_add(struct arena *arena, struct slots *slots, enum slot_kind kind, size_t micro,
	      size_t chunk);

/* Returns "F3", "B3" or "W3" for micro-batch 3, counted from 1, and "F3.2" for its second chunk. */
const char *slot_name(struct arena *arena, const struct slot *slot, size_t chunk_count);

/* ---- memory ---- */

enum memory_part {
	MEMORY_WEIGHTS,     /* also their copies in FP8, and those that FSDP gathers */
	MEMORY_GRADIENTS,   /* also the gathered ones */
	MEMORY_OPTIMIZER,   /* also weights in fp32 */
	MEMORY_ACTIVATIONS, /* the largest ones that are kept at a time */
	MEMORY_OTHER,       /* a block that is computed again, workspaces of libraries, reserve */
	MEMORY_PARTS,
};
/* Adds counters of these parts to a trace of the plan, for each GPU of which the trace has passes.
 * Activations grow with each forward pass, and go with the pass that needs them last. */
void plan_memory_trace(struct trace *trace, const struct training_plan *plan,
		       const struct stack_params *stack);
/* Returns the GPU memory in bytes of a rank of that stage (docs/models/plans.md). */
double plan_memory_B(const struct training_plan *plan, const struct stack_params *stack,
		     size_t stage);
/* Returns that of the stage that needs most. */
double plan_most_memory_B(const struct training_plan *plan, const struct stack_params *stack);

/* Returns the bytes that a GPU sends for an activation from that part of the network to the next
 * one. With sequence parallelism it sends its tokens. */
double plan_message_B(const struct training_plan *plan, const struct stack_params *stack,
		      size_t part);

/* ---- a rank's program ---- */

struct exchange_params;
struct plan_step {
	const struct training_plan *plan;
	const struct plan_groups *groups;
	const struct stack_params *stack;
	const struct gpu_params *gpu;
	const struct efficiency_params *efficiency;
	const struct fuse_params *fuse;         /* NULL: runs of kernels are not fused */
	const struct exchange_params *exchange; /* for BUCKETS_POLICY */
};
/* Writes the step of a rank. Rank i is member i of the job's group. Programs of ranks of one stage
 * on equal GPUs differ only in their communicators and in the peers of their messages. */
const struct program *plan_program(struct arena *arena, const struct plan_step *step, size_t rank);
/* Returns the program of rank `like`, which is of the same stage and has an equal GPU, with the
 * communicators and peers of `rank`. They share their calls. */
const struct program *plan_program_like(struct arena *arena, const struct plan_step *step,
					const struct program *program, size_t like, size_t rank);

/* ---- the least time of a step ---- */

struct unit_least { /* of a block, or of what is before or behind all of them, for a micro-batch */
	size_t first; /* its first layer */
	double forward_s, backward_s, weights_s;
	double gathered_B, reduced_B; /* of its parameters and gradients, without experts */
};
/* Returns the time of the kernels of each unit, and of the bytes of collectives that block them at
 * link_Bps, the bandwidth of all links of a GPU. It is the same for all stages, chunks and data
 * groups. step->groups can be NULL. */
const struct unit_least *plan_units_least(struct arena *arena, const struct plan_step *step,
					  double link_Bps, size_t *count);
struct plan_links {
	size_t machine_gpus;         /* of the job on one machine */
	double machine_Bps, gpu_Bps; /* of all links between machines, and of all links of a GPU */
};
/* Returns a time that no simulated step is below: the passes of the busiest stage, the bubble of
 * the pipeline, and the bytes of data groups over the links of a machine and of a GPU. */
double plan_least_s(const struct training_plan *plan, const struct unit_least *units, size_t count,
		    const struct plan_links *links);
/* Returns the time in which a machine sends a byte of each of its data groups, on average over
 * machines: each machine but one sends a byte of a gathered or reduced buffer. If `sent` is set,
 * the time is that of the busiest machine with NCCL's algorithms. In a ring each rank sends what
 * all ranks but one have. In a double tree of more than two machines, one that is not a leaf sends
 * a byte up and a byte down. */
double plan_data_s_per_B(const struct training_plan *plan, const struct plan_links *links,
			 bool sent);
/* Returns the end of a step in which passes begin in the order of the schedule as soon as their
 * inputs are there (sim/training/plan_timetable.c). A message between stages takes message_s.
 * Stages with one chunk receive it only when they wait for it. */
double plan_timetable_s(struct arena *arena, const struct training_plan *plan,
			const struct unit_least *units, size_t count,
			const struct plan_links *links, double message_s);
/* Returns the time of all passes of the busiest stage, without a bubble. */
double plan_busiest_s(const struct training_plan *plan, const struct unit_least *units,
		      size_t count);
