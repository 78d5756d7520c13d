/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The time of an iteration of a model server, and the memory of a request.
 *
 * An iteration runs the forward pass once, over all tokens that it processes. The time of its
 * kernels follows from their shapes (sim/gpu/kernel.h):
 *
 *   rows        all layers except attention and the last product see a number of rows: the tokens
 *               of this iteration. Their work is linear in it.
 *   sequences   the last product (logits) and the choice of a token see one row a sequence
 *   contexts    attention reads the keys and values of all earlier tokens
 *
 * With tensor parallelism the replica's GPUs have parts of all layers (sim/training/shard.h). They
 * EXCHANGE sums: of all rows behind the embedding and behind each product that is split by rows.
 * Logits are gathered (vLLM's logits processor). Kernels wait for these collectives.
 *
 * With attention data parallelism, the GPUs are groups with requests of their own, each of which
 * splits all layers except the experts. The experts are shared by all groups, whose GPUs have a
 * part of the experts or of each expert. An iteration is that of the group with most rows. Its rows
 * are gathered from all groups and the sums are scattered, or all-to-alls carry them to their
 * experts and back.
 *
 * With a pipeline, the requests are as many groups as there are stages, which each pass all stages
 * in turn, at the same time as the others. So an iteration of all requests takes the time of all
 * layers for the rows of one group, and that of the messages between the stages. vLLM schedules the
 * next part of a prompt before the last one is complete (v1/core/sched/scheduler.py), so prompts
 * are spread over the stages, too.
 *
 * With stages over RPC, all requests pass all stages one after the other, as in llama.cpp. The
 * client sends each stage its inputs and takes its outputs back.
 *
 * With speculative decoding, a DRAFT network first runs for each drafted token of each sequence.
 * The iteration then checks all of them: they are rows with logits of their own, and queries of
 * attention.
 *
 * Low-rank ADAPTERS add two kernels to each linear layer in a block, for all adapters of the batch
 * together (SGMV of Punica, Chen et al., arXiv:2310.18547; S-LoRA, Sheng et al., arXiv:2311.03285).
 * Ranks are small, so memory limits them: they read and write the rows, and read the adapters.
 *
 * Networks that generate no tokens (images, BERT) have one iteration for a batch of samples.
 *
 * The rest of an iteration is OVERHEAD: host work, launches, forwarded calls and copies that
 * kernels do not hide. The caller plays a program of one iteration on a port for several times of
 * its kernels, and gives the results to model_overhead_set.
 */
#pragma once

#include "sim/cuda/program.h"
#include "sim/serving/requests.h"
#include "sim/training/shard.h"

struct iteration {
	double rows;      /* tokens, or samples of networks that generate none */
	double sequences; /* those that get their next token, and drafted tokens that are checked */
	double drafted;   /* drafted tokens that are checked, which are rows behind decode_rows */
	/* Attention has one query for a generated token, and many for a prompt. keys: tokens whose
	 * keys are read. pairs: pairs of a query and a key. [1] is for layers with a window. */
	double decode_rows, decode_keys[2];
	double prompt_rows, prompt_keys[2], prompt_pairs[2];
};

struct iteration_time {
	double kernel_s, exchange_s, overhead_s;
};

struct serving_model;
struct serving_part { /* GPUs of one kind, with this share of the layers */
	struct serving_model *model;
	double ratio;
};
struct serving_model_spec {
	const struct network *network;
	const struct network *one_token; /* the same with sequences of one token; NULL: it
					    generates no tokens */
	const struct stack_params *stack;
	const struct gpu_params *gpu;
	const struct efficiency_params *efficiency;
	enum served_type weights, kv;   /* number types of weights, and of keys and values */
	size_t rows_max, sequences_max; /* of an iteration, on one GPU */
	double time_ratios[2];          /* factors of times; [1] is for iterations with prompts */
	/* Groups of GPUs over which requests are spread, times the stages; 0: one */
	double spread;
	/* Stages of a pipeline, each with a part of the layers. Each one works on another part of
	 * the requests. passed_s returns the time in which the outputs of all stages but the last
	 * one are sent to the next ones. 0: one */
	double stages;
	double (*passed_s)(void *ctx, double size_B);
	/* Or all requests pass the stages together. rpc_s returns the time in which each stage gets
	 * its inputs from the client, and returns its outputs. The layers of a stage take the time
	 * of its GPU, whose model is in rpc_parts with the share of the layers. NULL: the requests
	 * pass them in groups */
	double (*rpc_s)(void *ctx, double in_B, double out_B);
	void *rpc_ctx;
	double rpc_graph_B; /* description of a layer's graph, which each iteration sends */
	const struct serving_part *rpc_parts;
	size_t rpc_part_count;
	/* Drafts draft_count tokens for each sequence; NULL: drafting takes no time. */
	struct serving_model *draft;
	double draft_count;
	/* All batches of up to graph_sizes requests have a CUDA graph, and powers of two up to
	 * graph_most. graph_sizes 0: all have one */
	double graph_sizes, graph_most;
	double adapters, lora; /* low-rank adapters of linear layers in blocks, and their rank */
	/* The replica has several GPUs, and one_token is the part of one GPU; NULL: one GPU.
	 * collective_s returns the time of a collective of a group of them. */
	const struct shard *shard;
	double (*collective_s)(void *ctx, enum shard_group group, enum collective collective,
			       double size_B);
	void *ctx;
};
/* Returns true if the network generates tokens: causal attention, and logits at its end. */
bool network_generates(const struct network *network);
struct serving_model *serving_model_new(struct arena *arena, const struct serving_model_spec *spec);

/* Returns the model of the network that drafts tokens; NULL: there is none. */
struct serving_model *serving_model_draft(const struct serving_model *model);
/* Returns the bytes of weights and activations, without the KV cache. */
double serving_model_memory_B(const struct serving_model *model);
double serving_model_token_B(const struct serving_model *model); /* KV cache of one token */
double serving_model_stages(const struct serving_model *model);  /* of its spec, at least 1 */
size_t serving_model_window(const struct serving_model *model);  /* tokens; 0: no window */

/* Returns the calls of an iteration of that many rows, whose kernels take scale times as long. Sets
 * *kernels_s to the sum of their times, without the gaps between them. graph: the stack's CUDA
 * graph is used. Prompts are processed without it. */
const struct program *serving_model_program(struct arena *arena, const struct serving_model *model,
					    size_t rows, double scale, bool graph,
					    double *kernels_s);

enum { OVERHEAD_POINTS = 24 };
/* Overhead for some times of the kernels, or for some batches. Between them it is linear, beyond
 * them constant. */
struct overhead {
	double at[OVERHEAD_POINTS], overhead_s[OVERHEAD_POINTS];
	size_t count;
};
/* [0] is for iterations that only generate tokens, [1] for those with prompts. The tables are
 * borrowed. */
void serving_model_overhead_set(struct serving_model *model, const struct overhead *tables[2]);
/* Times that several simulations of equal replicas share, also in several threads. Replicas with
 * the same key must have the same network, GPUs and settings, except for the load and the limits of
 * batches. */
struct serving_memo;
enum { MEMO_KEYS = 8 };
struct memo_key {
	size_t of[MEMO_KEYS];
};
/* The most that a replica used in a run: requests at a time, tokens of an iteration, blocks of the
 * KV cache. */
struct serving_use {
	double running, tokens, blocks;
};
enum { MEMO_LOADS = 9 };
struct memo_load { /* a layout without limits, and a load */
	double of[MEMO_LOADS];
};
struct serving_memo *serving_memo_new(void);
void serving_memo_free(struct serving_memo *memo);
/* Gives the model the times of an earlier one. Returns false if there was none. */
bool serving_memo_recall(struct serving_memo *memo, const struct memo_key *key,
			 struct serving_model *model, const struct overhead *tables[2]);
void serving_memo_keep(struct serving_memo *memo, const struct memo_key *key,
		       const struct serving_model *model);
/* Notes that a run missed its objectives, and what it used. */
void serving_memo_miss(struct serving_memo *memo, const struct memo_load *load,
		       const struct serving_use *use);
/* Returns true if a run at this load that missed its objectives used less than these limits. */
bool serving_memo_missed(struct serving_memo *memo, const struct memo_load *load,
			 const struct serving_use *limits);
/* Returns the time of an iteration. ctx is a struct serving_model. */
struct iteration_time serving_model_time(void *ctx, const struct iteration *iteration);
