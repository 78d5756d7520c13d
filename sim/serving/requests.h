/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests of a service: when they arrive, and how many tokens they have.
 *
 * The times between arrivals, and the numbers of tokens, follow gamma distributions. Their spread
 * is the standard deviation over the mean: 0 gives equal values, 1 an exponential distribution
 * (Poisson arrivals), more gives bursts. Besides, arrivals may alternate between on and off
 * phases, whose lengths are exponential. A list in a file replaces all of this. With a closed loop
 * of N clients, only the numbers of tokens count: each client sends its next request when its last
 * one has ended.
 */
#pragma once

#include "sim/base/base.h"
#include "sim/base/param.h"

enum { SERVE_REQUESTS_MAX = 10000000 };
enum serve_batching { BATCHING_AUTO, BATCHING_FIXED, BATCHING_DYNAMIC, BATCHING_CONTINUOUS };
enum serve_mixing { MIXING_AUTO, MIXING_ON, MIXING_OFF };
/* How the rows of all groups reach experts: all rows are gathered, or each is sent. AUTO: it is
 * sent if the library has kernels for this. */
enum serve_dispatch { DISPATCH_AUTO, DISPATCH_GATHER, DISPATCH_ALL_TO_ALL };
/* How requests pass stages: in groups, each at another stage, or together over RPC. */
enum serve_pipeline { PIPELINE_GROUPS, PIPELINE_RPC };
enum serve_router { ROUTER_ROUND_ROBIN, ROUTER_LEAST_OUTSTANDING };

struct serve_params { /* the group `serve` of a case */
	const char *model;
	const char *stages;
	double rate_count, spread_ratio, on_s, off_s, concurrency_count;
	const char *list;
	double requests_count, warmup_ratio;
	double prompt_count, prompt_spread_ratio, prefix_count, output_count, output_spread_ratio;
	int batching; /* enum serve_batching */
	double batch_count, delay_s, queue_count, tokens_count;
	int mixing;             /* enum serve_mixing */
	int dispatch, pipeline; /* enum serve_dispatch, serve_pipeline */
	double rpc_graph_B;
	bool chunked_prefill, overlap, reserve_prompt, reserve_output, prefix_cache, memory_free;
	double memory_ratio, block_count, cache_blocks_count, host_cache_B;
	const char *cache_host;
	int weights, kv; /* enum served_type */
	double request_host_s, request_serial_s, prompt_host_s, sequence_host_s;
	double graph_sizes_count, graph_most_count;
	double front_ends_count, message_host_s, merged_host_s, stream_interval_count;
	bool merges;
	double token_time_ratio, prompt_time_ratio;
	int router; /* enum serve_router */
	const char *draft;
	double drafted_count, acceptance_ratio;
	double adapters_count, adapter_rank_count;
	double latency_slo_s, first_slo_s, between_slo_s, slo_quantile_ratio;
};
extern const struct param_table serve_table;

struct serve_request {
	int64_t arrival_ps;
	uint32_t prompt, output; /* tokens, each at least 1 */
	/* Number of a group of requests, whose prompts begin with the same `shared` tokens. */
	uint32_t group, shared;
};
struct rate_stages { /* each lasts until the next one begins, and the last one on and on */
	struct rate_stage {
		double from_s, rate_per_s;
	} * items;
	size_t count;
};
struct request_list {
	struct serve_request *items; /* in the order of arrival */
	size_t count;
};

/* Returns the requests of a service. Numbers of tokens that are drawn are cut such that prompt and
 * output together have at most tokens_max tokens. */
struct request_list requests_draw(struct arena *arena, const struct serve_params *params,
				  uint64_t seed, const char *name, double tokens_max);
/* Returns the stages of serve.stages, for example "0:5,60:20"; their number is 0 if the text is
 * malformed: times do not rise from 0, a rate is neither 0 nor 1e-6 to 1e9, or the last rate is 0.
 */
struct rate_stages requests_stages(struct arena *arena, const char *text);
/* Reads a table with a line for each request: time in s, tokens of the prompt and of the output,
 * separated by tabs. A line may go on with the number of a group and the tokens with which all
 * prompts of the group begin. Without these, the prompt begins with `prefix` tokens of group 0.
 * Lines that begin with '#' and a first line of column names are skipped. Returns an empty list
 * after errors, which are in diag. */
struct request_list requests_read(struct arena *arena, struct diag *diag, struct origin origin,
				  const char *path, double prefix);
