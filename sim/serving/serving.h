/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Model servers: requests arrive, a router gives them to replicas, and each replica processes
 * them in iterations.
 *
 *   SERVICE   a network with its requests; several services can share GPUs
 *   REPLICA   a process with the network on a GPU. It has a queue, and a cache for keys and
 *             values (KV cache) in blocks
 *   ROLE      a replica processes prompts, or generates tokens, or does both. Keys and values of a
 *             prompt that was processed elsewhere are sent first.
 *
 * A replica's scheduler is that of vLLM, or a fixed or dynamic batcher (scheduler.c). An iteration
 * is one event, so ten minutes of a large service take seconds. If memory for the next token is
 * short, the request that came last loses its blocks and is processed again later.
 *
 * Processes of a FRONT END take requests and send tokens to clients beside the iterations. Each
 * does one thing after the other, in the order in which they come (front_end_work). In Python a
 * process has one thread that runs, so the tokens of all its requests wait for each other: AsyncLLM
 * of vLLM (v1/engine/async_llm.py, v1/engine/output_processor.py: RequestOutputCollector merges),
 * the tokenizer manager of SGLang (srt/managers/tokenizer_manager.py: _wait_one_response takes the
 * last output), the proxy of TensorRT-LLM (executor/proxy.py: dispatch_result_task;
 * executor/result.py: _aresult_step takes one response after the other).
 */
#pragma once

#include "sim/gpu/gpu.h"
#include "sim/serving/model.h"

enum serve_role { ROLE_BOTH, ROLE_PREFILL, ROLE_DECODE };

struct serving;
struct serving_service_spec {
	const struct serve_params *params;
	struct request_list requests;
	bool generates; /* the network generates tokens; otherwise a request is one sample */
	uint64_t seed;  /* of the drafted tokens that are right */
};
struct serving_replica_spec {
	const char *name; /* in timelines */
	size_t service;
	enum serve_role role;
	struct iteration_time (*time)(void *ctx, const struct iteration *iteration);
	void *ctx;
	size_t block_count;        /* blocks of its KV cache; 0: the network needs none */
	size_t host_block_count;   /* blocks in host memory; 0: keys and values stay on the GPU */
	bool shares_host;          /* all replicas of the service share these blocks */
	size_t window;             /* tokens that layers with a window see; 0: all */
	struct gpu_stream *stream; /* a GPU that others use, too; NULL: its own GPU */
};
struct serving_spec {
	struct arena *arena;
	struct engine *engine;
	const struct serving_service_spec *services;
	size_t service_count;
	const struct serving_replica_spec *replicas;
	size_t replica_count;
	/* Sends the keys and values of that many tokens between two replicas, and then calls fn
	 * from an event. NULL: no replica has a role. */
	void (*transfer)(void *of, size_t from, size_t to, double tokens, event_fn *fn, void *ctx);
	/* Copies the keys and values of that many tokens of a replica from host memory, or to it,
	 * and then calls fn from an event. NULL: no replica has blocks in host memory. */
	void (*offload)(void *of, size_t replica, double tokens, bool to_gpu, event_fn *fn,
			void *ctx);
	void (*opened)(void *of); /* called when the first request that is measured arrives */
	void (*done)(void *of);   /* called when the run has ended */
	void *of;
	/* The run ends as soon as fewer than serve.slo_quantile of the requests can meet all
	 * objectives. false: it ends when all requests have ended. */
	bool verdict_only;
	bool missed; /* the objectives are known to be missed: the run ends at once */
};
struct serving *serving_new(const struct serving_spec *spec);
/* Begins the arrivals. */
void serving_begin(struct serving *serving);
/* Returns the number of requests that have neither ended nor been refused. */
size_t serving_left(const struct serving *serving);
bool serving_is_over(const struct serving *serving); /* done was called */

/* Returns true if the run ended early and would be the same with any limits above *use: no limit
 * and no lack of memory has changed what a replica did. There is one service. */
bool serving_missed(const struct serving *serving, struct serving_use *use);

/* ---- answers ---- */

enum { SERVE_QUANTILES = 4, SERVE_CDF_POINTS = 26 };
/* Each 5 %, and closer towards the end, where the latencies are that users notice. */
extern const double serve_cdf_shares[SERVE_CDF_POINTS];

/* From this value of overload_ratio on, a server cannot carry its load. */
#define OVERLOAD_LEAST 0.05
/* From this error_ratio on, results state it. */
#define ERROR_SHOWN 0.1

enum serve_part { /* causes of a request's latency */
		  SERVE_KERNEL,
		  SERVE_EXCHANGE, /* between the GPUs of a replica */
		  SERVE_OVERHEAD, /* host work, launches, forwarded calls */
		  SERVE_QUEUE,
		  SERVE_TRANSFER, /* of keys and values */
		  SERVE_OTHER,    /* waits for the others of a batch */
		  SERVE_PART_COUNT,
};
enum queue_cause { /* causes of waits in a replica's queue */
		   QUEUE_FOR_GPU,
		   QUEUE_FOR_MEMORY,    /* for blocks of the KV cache */
		   QUEUE_FOR_TRANSFERS, /* for blocks whose keys and values are being sent */
		   QUEUE_FOR_LIMIT,     /* serve.batch requests run */
		   QUEUE_FOR_OTHERS,    /* a fixed or dynamic batch is not full */
		   QUEUE_CAUSE_COUNT,
};
/* The answers of the requests that are measured. Quantiles are 50, 90, 95 and 99 %. Times are in
 * seconds; NaN: there are none. */
struct serving_answers {
	double requests_count, refused_count, preempted_count;
	/* tokens for each second in which a request gets them, mean over requests; requests that
	 * meet all objectives, NaN: there are none */
	double requests_per_s, tokens_per_s, user_tokens_per_s, goodput_per_s;
	double mean_s; /* mean latency; the parts add up to it */
	double parts_s[SERVE_PART_COUNT];
	double latency_s[SERVE_QUANTILES], first_s[SERVE_QUANTILES], between_s[SERVE_QUANTILES];
	double token_s[SERVE_QUANTILES]; /* of a request's mean time for a token after the first */
	double first_mean_s;             /* mean time to the first token */
	double token_mean_s; /* mean over requests of the time for each token after the first */
	double cache_tokens_count; /* tokens that the KV caches of the replicas hold together */
	double attainment_ratio;   /* share of requests that meet all objectives */
	double cdf_s[SERVE_CDF_POINTS];         /* quantiles serve_cdf_shares of the latency */
	double queue_ratios[QUEUE_CAUSE_COUNT]; /* shares of all waits in queues by cause */
	double front_end_ratio; /* part of the time in which the busiest front end worked */
	/* Requests by which the queues grew between the warm-up and the last arrival, and those
	 * that were refused, as a share of those that arrived. A few percent are
	 * usual, because queues vary. */
	double overload_ratio;
	/* Half width of the 90 % interval of the throughput because the run is finite, divided by
	 * the throughput. */
	double error_ratio;
	double latency_error_ratio; /* of the mean latency; NaN: overloaded, or fewer than 10
				       requests */
	/* Number of requests from which on the throughput is that of a steady state. 0: it is. */
	double wanted_count;
};
struct replica_run {                                 /* the result of one replica */
	const struct serving_answers *service, *all; /* answers of its service, and of all */
	double busy_ratio;     /* part of the window in which its kernels ran */
	double requests_per_s; /* requests that ended at this replica */
};
/* Sets runs[replica_count]. */
void serving_read(struct serving *serving, struct replica_run *runs);
