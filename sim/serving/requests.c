/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/serving/requests.h"

#include "sim/base/lines.h"
#include "sim/engine/engine.h"
#include "sim/training/network.h"

static const char *const batching_names[] = {"auto", "fixed", "dynamic", "continuous", NULL};
static const char *const type_names[] = {"auto", "bf16", "fp8", "int8", "fp4", "int4", NULL};
static const char *const mixing_names[] = {"auto", "on", "off", NULL};
static const char *const router_names[] = {"round-robin", "least-outstanding", NULL};

enum { TOKENS_MAX = 10000000, GROUPS_MAX = 1000000, LINE_MAX_B = 1022 };

static const char *const dispatch_names[] = {"auto", "gather", "all-to-all", NULL};
static const char *const pipeline_names[] = {"groups", "rpc", NULL};
static const struct param_row serve_rows[] = {
	PARAM_TEXT(struct serve_params, model, "",
		   "network that this service runs; empty means case.model"),
	PARAM_NUMBER(struct serve_params, rate_count, QUANTITY_COUNT, 1e-6, 1e9, "1",
		     "arrival rate in requests/s: mean number of requests per second"),
	PARAM_TEXT(struct serve_params, stages, "",
		   "stages of the arrival rate, each as its first second and its requests/s, for "
		   "example 0:5,60:20,120:5; the last one lasts until the end; they replace "
		   "serve.rate"),
	PARAM_NUMBER(struct serve_params, spread_ratio, QUANTITY_RATIO, 0, 100, "1",
		     "spread of the times between arrivals: their standard deviation over their "
		     "mean; 1 means Poisson arrivals, 0 equal times, more than 1 bursts",
		     "Poisson: many independent users"),
	PARAM_NUMBER(struct serve_params, on_s, QUANTITY_TIME, 0, 1e6, "0 s",
		     "mean length of the phases with arrivals; 0 means that there are no pauses"),
	PARAM_NUMBER(struct serve_params, off_s, QUANTITY_TIME, 0, 1e6, "0 s",
		     "mean length of the pauses between phases with arrivals; the mean rate stays "
		     "serve.rate"),
	PARAM_WHOLE(struct serve_params, concurrency_count, 0, 1000000, "0",
		    "number of clients in a closed loop, each of which sends its next request when "
		    "its last one has ended; serve.rate has no effect then; 0 means that requests "
		    "arrive at serve.rate"),
	PARAM_TEXT(struct serve_params, list, "",
		   "table of recorded requests, which replaces arrivals and lengths: time in s, "
		   "tokens of prompt and output; optionally a group, and the tokens with which its "
		   "prompts begin"),
	PARAM_WHOLE(struct serve_params, requests_count, 1, SERVE_REQUESTS_MAX, "2000",
		    "number of requests, the warm-up included"),
	PARAM_NUMBER(struct serve_params, warmup_ratio, QUANTITY_RATIO, 0, 0.9, "0.1",
		     "share of the requests that arrive before the measurement begins"),
	PARAM_NUMBER(struct serve_params, prompt_count, QUANTITY_COUNT, 1, TOKENS_MAX, "512",
		     "mean number of tokens of a prompt"),
	PARAM_NUMBER(struct serve_params, prompt_spread_ratio, QUANTITY_RATIO, 0, 100, "0",
		     "spread of prompt lengths: standard deviation over mean"),
	PARAM_WHOLE(struct serve_params, prefix_count, 0, TOKENS_MAX, "0",
		    "number of tokens with which all prompts begin (a system prompt), except for "
		    "those with a group in serve.list"),
	PARAM_NUMBER(struct serve_params, output_count, QUANTITY_COUNT, 1, TOKENS_MAX, "128",
		     "mean number of generated tokens of a request"),
	PARAM_NUMBER(struct serve_params, output_spread_ratio, QUANTITY_RATIO, 0, 100, "1",
		     "spread of output lengths: standard deviation over mean",
		     "assumption: answers end at random, which gives a spread of 1"),
	PARAM_CHOICE(struct serve_params, batching, batching_names, "auto",
		     "batching: fixed waits for a full batch, dynamic also ends the wait after "
		     "serve.delay, continuous lets requests join at each token; auto means "
		     "continuous for networks that generate tokens and dynamic for others",
		     "Triton's dynamic batcher; continuous batching of Orca and vLLM"),
	PARAM_WHOLE(struct serve_params, batch_count, 1, 65536, "256",
		    "largest batch: requests that a replica processes together",
		    "vLLM's max_num_seqs is 256"),
	PARAM_NUMBER(struct serve_params, delay_s, QUANTITY_TIME, 0, 3600, "0 s",
		     "longest time that the first request of a dynamic batch waits for others",
		     "Triton's max_queue_delay_microseconds is 0"),
	PARAM_WHOLE(
		struct serve_params, queue_count, 0, SERVE_REQUESTS_MAX, "0",
		"requests that may wait at a replica; further ones are refused; 0 means no limit",
		"Triton's max_queue_size is 0"),
	PARAM_WHOLE(struct serve_params, tokens_count, 1, TOKENS_MAX, "8192",
		    "tokens that an iteration processes at most",
		    "vLLM's max_num_batched_tokens for online serving"),
	PARAM_BOOL(struct serve_params, chunked_prefill, "true",
		   "whether prompts are cut where serve.tokens end; otherwise an iteration "
		   "processes whole prompts",
		   "vLLM since V1"),
	PARAM_CHOICE(struct serve_params, mixing, mixing_names, "auto",
		     "whether an iteration processes prompts together with generated tokens; off "
		     "processes prompts first, and auto means on if serve.chunked_prefill is true",
		     "vLLM; TensorRT-LLM also mixes whole prompts, and SGLang does not mix"),
	PARAM_CHOICE(
		struct serve_params, dispatch, dispatch_names, "auto",
		"how the rows of the groups of case.data reach experts: gather brings all rows "
		"to all GPUs and scatters the sums, all-to-all sends each row to its experts; "
		"auto means all-to-all with the exchanges of DeepEP, and otherwise gather",
		"vLLM's all2all_backend is allgather_reducescatter; SGLang and TensorRT-LLM also "
		"gather unless another backend is chosen"),
	PARAM_CHOICE(struct serve_params, pipeline, pipeline_names, "groups",
		     "how requests pass the stages of case.pipeline: in as many groups, each of "
		     "which is at another stage, or all together, with activations that the client "
		     "of llama.cpp's RPC servers takes from one stage to the next",
		     "vLLM, SGLang and TensorRT-LLM schedule a group for each stage"),
	PARAM_NUMBER(struct serve_params, rpc_graph_B, QUANTITY_BYTES, 0, 1e9, "0 B",
		     "description of a layer's graph, which the client sends to each RPC server in "
		     "each iteration; 0 means that servers compute the last graph again",
		     "llama.cpp: RPC_CMD_GRAPH_RECOMPUTE, which older versions do not have"),
	PARAM_BOOL(struct serve_params, overlap, "false",
		   "whether an iteration is planned while the GPU computes the last one, so that a "
		   "request that arrives in the meantime waits for one iteration more",
		   "vLLM without asynchronous scheduling plans it when the last one has ended"),
	PARAM_BOOL(
		struct serve_params, reserve_prompt, "true",
		"whether a request with a cut prompt is admitted only if the KV cache has blocks "
		"for its whole prompt; otherwise blocks for the first part suffice",
		"vLLM's scheduler_reserve_full_isl is true"),
	PARAM_BOOL(struct serve_params, reserve_output, "false",
		   "whether a request is admitted only if the KV cache has blocks for its prompt "
		   "and all of its output, so that no request is preempted",
		   "vLLM preempts; TensorRT-LLM's capacity scheduler guarantees no eviction"),
	PARAM_BOOL(struct serve_params, prefix_cache, "true",
		   "whether the KV cache keeps the tokens that the prompts of a group of "
		   "serve.list share, so that only the first of them processes these tokens",
		   "vLLM's enable_prefix_caching is true since V1"),
	PARAM_CHOICE(struct serve_params, weights, served_type_names, "auto",
		     "number type of weights in linear layers of blocks; auto means that of the "
		     "checkpoint (the network's key weights), otherwise stack.precision. fp8, int8 "
		     "and fp4 also multiply in this type. fp8_block has a scale for each 128 x "
		     "128. int4 multiplies in that of the stack. mxfp4 is int4 for experts only"),
	PARAM_CHOICE(struct serve_params, kv, type_names, "auto",
		     "number type of keys and values in the KV cache; auto means that of "
		     "activations, which is vLLM's kv_cache_dtype=auto"),
	COST_UNSEEN(2.5e-3, struct serve_params, request_host_s, QUANTITY_TIME, 0, 10, "0 s",
		    "host time of a request outside of the scheduler: HTTP, tokeniser, messages "
		    "between processes; it delays the first token",
		    "assumption: zero unless a file of models/engines states it; draws go up to "
		    "5 ms (95 %), half of what is assumed for servers in Python"),
	COST_UNSEEN(0.5e-3, struct serve_params, request_serial_s, QUANTITY_TIME, 0, 10, "0 s",
		    "further host time of a request in its process of the front end",
		    "assumption: zero unless a file of models/engines states it; draws go up to "
		    "1 ms (95 %), half of what is assumed for servers in Python"),
	PARAM_NUMBER(struct serve_params, prompt_host_s, QUANTITY_TIME, 0, 0.1, "0 s",
		     "host time of the front end for each token of a prompt: it reads, tokenises "
		     "and forwards the prompt",
		     "serve.request_serial has all of it; a file of models/engines states it"),
	COST_UNSEEN(5e-6, struct serve_params, sequence_host_s, QUANTITY_TIME, 0, 0.1, "0 s",
		    "host time of an iteration for each request that gets a token, in the engine: "
		    "scheduler, sampler",
		    "assumption: zero unless a file of models/engines states it; draws go up to "
		    "10 us (95 %), as for vLLM"),
	PARAM_WHOLE(struct serve_params, front_ends_count, 1, 1024, "1",
		    "processes of the front end of each replica, over which requests are spread "
		    "in turn; each takes requests and sends tokens, one after the other",
		    "vLLM's --api-server-count and SGLang's --tokenizer-worker-num are 1"),
	COST_UNSEEN(10e-6, struct serve_params, message_host_s, QUANTITY_TIME, 0, 0.1, "0 s",
		    "host time of the front end for each message with tokens to a client: it "
		    "decodes them, and builds and sends a chunk of JSON",
		    "assumption: zero unless a file of models/engines states it; draws go up to "
		    "20 us (95 %), a third of what Python takes"),
	PARAM_BOOL(struct serve_params, merges, "false",
		   "whether tokens of a request join its message that still waits for the front "
		   "end",
		   "vLLM and SGLang merge them; TensorRT-LLM does not"),
	PARAM_NUMBER(struct serve_params, merged_host_s, QUANTITY_TIME, 0, 0.1, "0 s",
		     "host time of the front end for tokens that join a message",
		     "serve.merges is false; a file of models/engines states it"),
	PARAM_WHOLE(struct serve_params, graph_sizes_count, 0, 65536, "0",
		    "number of requests up to which each batch size has a CUDA graph; 0 means "
		    "that all sizes have one if stack.cuda_graph is true",
		    "vLLM and SGLang pad a batch to the next size with a graph"),
	PARAM_WHOLE(struct serve_params, graph_most_count, 0, 65536, "0",
		    "largest batch size with a CUDA graph; above serve.graph_sizes only powers "
		    "of two have one",
		    "it has no effect if serve.graph_sizes is 0"),
	PARAM_WHOLE(struct serve_params, stream_interval_count, 1, TOKENS_MAX, "1",
		    "tokens of a request that are sent to its client together, except for the "
		    "first one",
		    "stream_interval of vLLM, SGLang and TensorRT-LLM is 1"),
	PARAM_NUMBER(struct serve_params, token_time_ratio, QUANTITY_RATIO, 0.01, 100, "1",
		     "factor of the time of iterations that only generate tokens, as a measured "
		     "server shows it",
		     "1 is the simulated time; draws multiply it by the error error.token"),
	PARAM_NUMBER(struct serve_params, prompt_time_ratio, QUANTITY_RATIO, 0.01, 100, "1",
		     "factor of the time of iterations that process prompts",
		     "1 is the simulated time; draws multiply it by the error error.prompt"),
	PARAM_NUMBER(struct serve_params, memory_ratio, QUANTITY_RATIO, 0.01, 1, "0.9",
		     "share of the GPU's memory that weights, activations and KV cache may use",
		     "vLLM's gpu_memory_utilization is 0.9"),
	PARAM_BOOL(struct serve_params, memory_free, "false",
		   "whether serve.memory is the share that the KV cache takes of the memory that "
		   "weights and activations leave, instead of a share for all of them",
		   "vLLM and SGLang state a share of all memory; TensorRT-LLM's "
		   "free_gpu_memory_fraction is one of the rest (_torch/pyexecutor/_util.py, "
		   "_cal_max_memory)"),
	PARAM_WHOLE(struct serve_params, block_count, 1, 4096, "16",
		    "tokens of a block of the KV cache", "vLLM's block_size is 16"),
	PARAM_WHOLE(
		struct serve_params, cache_blocks_count, 0, 1e9, "0",
		"blocks of the KV cache of each GPU over which requests are spread, as a server "
		"prints them; 0 means as many as serve.memory leaves",
		"vLLM's num_gpu_blocks_override is not set"),
	PARAM_NUMBER(struct serve_params, host_cache_B, QUANTITY_BYTES, 0, 1e15, "0 B",
		     "host memory of a replica for keys and values: those of shared prefixes are "
		     "copied to it, and those of preempted requests; 0 means that both are "
		     "processed again",
		     "vLLM's kv_offloading_size is not set"),
	PARAM_TEXT(struct serve_params, cache_host, "",
		   "host or guest whose memory has serve.host_cache for all replicas together, "
		   "which it exchanges over the network; empty means the host of each replica",
		   "LMCache's remote_url and Mooncake's store are not set"),
	PARAM_CHOICE(struct serve_params, router, router_names, "least-outstanding",
		     "router: replica that gets the next request, in turn or the one with the "
		     "fewest unfinished requests"),
	PARAM_TEXT(
		struct serve_params, draft, "",
		"network that drafts tokens for speculative decoding, with the vocabulary of the "
		"model; empty means that drafting takes no time, as with n-grams"),
	PARAM_WHOLE(struct serve_params, drafted_count, 0, 64, "0",
		    "tokens that are drafted for each request before an iteration, which checks "
		    "them all and keeps those up to the first wrong one; 0 means that nothing is "
		    "drafted",
		    "vLLM's num_speculative_tokens has no default"),
	PARAM_NUMBER(struct serve_params, acceptance_ratio, QUANTITY_RATIO, 0, 1, "0.7",
		     "probability that a drafted token is right if those before it are",
		     "assumption: Leviathan et al. 2023, table 3, have 0.53 to 0.82 for networks "
		     "that draft"),
	PARAM_WHOLE(struct serve_params, adapters_count, 0, 10000, "0",
		    "low-rank adapters (LoRA) of all linear layers in GPU memory; each request "
		    "uses one of them, chosen at random; 0 means none",
		    "vLLM's enable_lora is false"),
	PARAM_WHOLE(struct serve_params, adapter_rank_count, 1, 1024, "16",
		    "rank of the low-rank adapters", "vLLM's max_lora_rank is 16"),
	PARAM_NUMBER(struct serve_params, latency_slo_s, QUANTITY_TIME, 0, 1e6, "0 s",
		     "objective for the latency of a request; 0 means none"),
	PARAM_NUMBER(struct serve_params, first_slo_s, QUANTITY_TIME, 0, 1e6, "0 s",
		     "objective for the time to the first token; 0 means none"),
	PARAM_NUMBER(struct serve_params, between_slo_s, QUANTITY_TIME, 0, 1e6, "0 s",
		     "objective for a request's mean time between tokens; 0 means none"),
	PARAM_NUMBER(struct serve_params, slo_quantile_ratio, QUANTITY_RATIO, 0.01, 1, "0.99",
		     "share of the requests that must meet all objectives, at the highest load for "
		     "which `farwire plan` searches",
		     "MLPerf Inference limits the 99 % quantile"),
};
const struct param_table serve_table = PARAM_TABLE("serve", struct serve_params, serve_rows);

/* ---- drawn requests ---- */

/* Returns a number of the gamma distribution with scale 1 and this shape (Marsaglia and Tsang, A
 * simple method for generating gamma variables, 2000). */
static double gamma_of(struct rng *rng, double shape)
{
	if (shape < 1)
		return gamma_of(rng, shape + 1) * pow(rng_uniform(rng), 1 / shape);
	double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
	for (;;) {
		double x = num_normal_quantile(rng_uniform(rng)), v = 1 + c * x;
		if (v <= 0)
			continue;
		v = v * v * v;
		if (log(rng_uniform(rng)) < x * x / 2 + d - d * v + d * log(v))
			return d * v;
	}
}

/* Returns a number with this mean and this ratio of standard deviation to mean. */
static double spread_around(struct rng *rng, double mean, double spread_ratio)
{
	if (!(spread_ratio > 0))
		return mean;
	if (!(spread_ratio > 1) && !(spread_ratio < 1))
		return -mean * log(rng_uniform(rng));
	double shape = 1 / (spread_ratio * spread_ratio);
	return mean * gamma_of(rng, shape) / shape;
}

static uint32_t draw_count(struct rng *rng, double mean, double spread_ratio, double most)
{
	double tokens = round(spread_around(rng, mean, spread_ratio));
	return (uint32_t)fmax(1, fmin(tokens, most));
}

struct rate_stages requests_stages(struct arena *arena, const char *text)
{
	VEC(struct rate_stage) stages = {0};
	for (bool more = true; more;) {
		struct rate_stage next;
		char colon;
		int length = 0;
		if (sscanf(text, "%lf%c%lf%n", &next.from_s, &colon, &next.rate_per_s, &length) <
			    3 ||
		    colon != ':' || !(next.rate_per_s >= 0 && next.rate_per_s <= 1e9) ||
		    (next.rate_per_s > 0 && next.rate_per_s < 1e-6))
			return (struct rate_stages){0};
		bool first = stages.count == 0;
		if (first ? next.from_s != 0
			  : !(next.from_s > stages.items[stages.count - 1].from_s) ||
				    !(next.from_s <= 1e6))
			return (struct rate_stages){0};
		*VEC_PUSH(arena, &stages) = next;
		text += length;
		more = *text++ == ',';
	}
	bool ends = !text[-1] && stages.items[stages.count - 1].rate_per_s > 0;
	return (struct rate_stages){stages.items, ends ? stages.count : 0};
}

/* Returns when that many requests have arrived on average. */
static double time_of(const struct rate_stages *stages, double requests)
{
	const struct rate_stage *stage = stages->items;
	for (size_t i = 1; i < stages->count; i++, stage++) {
		double arrive = stage->rate_per_s * (stage[1].from_s - stage->from_s);
		if (arrive > 0 && requests <= arrive)
			break;
		requests -= arrive;
	}
	return stage->from_s + requests / stage->rate_per_s;
}

/* With stages, times are first drawn at a rate of 1 request/s. The n-th of these seconds then takes
 * as long as the stages need for a request. */
struct request_list requests_draw(struct arena *arena, const struct serve_params *params,
				  uint64_t seed, const char *name, double tokens_max)
{
	struct rng gaps = rng_named(seed, arena_printf(arena, "arrivals of %s", name));
	struct rng lengths = rng_named(seed, arena_printf(arena, "lengths of %s", name));
	bool pauses = params->on_s > 0 && params->off_s > 0;
	double on_ratio = pauses ? params->on_s / (params->on_s + params->off_s) : 1;
	const struct rate_stages stages = requests_stages(arena, params->stages);
	double rate = stages.count > 0 ? 1 : params->rate_count;
	double now_s = 0, left_s = pauses ? spread_around(&gaps, params->on_s, 1) : INFINITY;
	size_t count = (size_t)params->requests_count;
	struct request_list list = {ARENA_ARRAY(arena, count, struct serve_request), count};
	for (size_t i = 0; i < count; i++) {
		struct serve_request *request = &list.items[i];
		double gap_s = spread_around(&gaps, on_ratio / rate, params->spread_ratio);
		for (; gap_s > left_s; left_s = spread_around(&gaps, params->on_s, 1)) {
			gap_s -= left_s;
			now_s += left_s + spread_around(&gaps, params->off_s, 1);
		}
		now_s += gap_s;
		left_s -= gap_s;
		request->arrival_ps = ps_from_s(stages.count > 0 ? time_of(&stages, now_s) : now_s);
		request->shared = (uint32_t)params->prefix_count;
		request->prompt = draw_count(&lengths, params->prompt_count,
					     params->prompt_spread_ratio, fmax(1, tokens_max - 1));
		request->output =
			draw_count(&lengths, params->output_count, params->output_spread_ratio,
				   fmax(1, tokens_max - request->prompt));
	}
	return list;
}

/* ---- recorded requests ---- */

struct list_reader {
	struct arena *arena;
	struct diag *diag;
	const char *path;
	double prefix; /* tokens with which all prompts without a group begin */
	VEC(struct serve_request) requests;
	int64_t last_ps;
};

static void read_line(struct list_reader *r, const char *line, int number)
{
	double time_s, prompt, output, group = 0, shared = 0;
	char rest;
	struct origin origin = {r->path, number};
	int found = sscanf(line, "%lf%c", &time_s, &rest);
	bool nan = found == 1 || (found == 2 && isspace((unsigned char)rest));
	bool named = isalpha((unsigned char)line[0]) && !nan;
	if (line[0] == '#' || !line[0] || (number == 1 && named))
		return;
	found = sscanf(line, "%lf %lf %lf %lf %lf %c", &time_s, &prompt, &output, &group, &shared,
		       &rest);
	if ((found != 3 && found != 5) || !(group >= 0 && group <= GROUPS_MAX) ||
	    !(shared >= 0 && shared <= prompt) || group > floor(group) || shared > floor(shared) ||
	    !(time_s >= 0 && time_s < 1e6) || !(prompt >= 1 && prompt <= TOKENS_MAX) ||
	    !(output >= 1 && output <= TOKENS_MAX) || prompt > floor(prompt) ||
	    output > floor(output)) {
		diag_error(r->diag, origin,
			   "a request needs a time from 0 to 1e6 s and two whole numbers of tokens "
			   "from 1 on (write for example: 0.25, 512, 128, separated by tabs), and "
			   "may have a group from 0 to %d and the tokens that its prompts share",
			   GROUPS_MAX);
		return;
	}
	struct serve_request request = {ps_from_s(time_s), (uint32_t)prompt, (uint32_t)output,
					(uint32_t)group,
					(uint32_t)(found == 5 ? shared : r->prefix)};
	if (request.arrival_ps < r->last_ps)
		diag_error(r->diag, origin,
			   "the request arrives before the request above it (sort the lines by "
			   "time)");
	r->last_ps = request.arrival_ps;
	*VEC_PUSH(r->arena, &r->requests) = request;
}

struct request_list requests_read(struct arena *arena, struct diag *diag, struct origin origin,
				  const char *path, double prefix)
{
	enum { ERRORS_MAX = 10 };
	struct list_reader r = {.arena = arena, .diag = diag, .path = path, .prefix = prefix};
	struct lines *lines = ARENA_NEW(arena, struct lines);
	size_t before = diag_count(diag);
	FILE *file = file_open(diag, origin, path);
	if (!file)
		return (struct request_list){0};
	*lines = (struct lines){.in = file,
				.diag = diag,
				.origin = {path, 0},
				.too_long = "the line is longer than 1 KiB (write a request)",
				.not_text = "the line contains a NUL byte (write text)"};
	for (const char *line; (line = lines_next(lines));) {
		if (strlen(line) > LINE_MAX_B) {
			diag_error(diag, lines->origin, "%s", lines->too_long);
			break;
		}
		read_line(&r, line, lines->origin.line);
		if (r.requests.count > SERVE_REQUESTS_MAX)
			diag_error(diag, lines->origin,
				   "the table has more than %d requests (leave some out)",
				   SERVE_REQUESTS_MAX);
		if (diag_count(diag) >= before + ERRORS_MAX ||
		    r.requests.count > SERVE_REQUESTS_MAX)
			break;
	}
	if (ferror(file))
		diag_error(diag, origin, "serve.list: the file '%s' cannot be read", path);
	fclose(file);
	if (r.requests.count == 0 && diag_count(diag) == before)
		diag_error(diag, (struct origin){path, 1},
			   "the table of requests is empty (write a line for each request)");
	if (diag_count(diag) > before)
		return (struct request_list){0};
	return (struct request_list){r.requests.items, r.requests.count};
}
