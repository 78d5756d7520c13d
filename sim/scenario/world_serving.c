/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds replicas of model servers from a scenario's entries.
 *
 * The overhead of iterations comes from runs of a program of one iteration, call by call, on the
 * replica's port: the local driver or a remoting runtime. Replicas on equal machines share it. */
#include "sim/scenario/world_serving.h"

/* The times of the kernels, as multiples of those of an iteration with one token, at which the
 * overhead is found first. Iterations take no less than one token; the half shows how fast the
 * overhead falls there. */
static const double scales[] = {0.5, 1, 2, 4, 16, 64};
enum { SCALE_COUNT = sizeof scales / sizeof scales[0], SCALE_ONE = 1 };
/* The interpolated time of an iteration may be this much too long. */
static const double TIME_TOLERANCE = 1e-3;

/* ---- the kind of job ---- */

static struct server *server_of(const struct job *job)
{
	return (struct server *)job;
}

static const struct service_entry *service_of(const struct server *server)
{
	return &server->world->scenario->services[server->entry->service];
}

static const char *waiting(const struct job *job, struct arena *arena)
{
	return arena_printf(arena, "%zu requests have not ended",
			    serving_left(server_of(job)->world->servers->serving));
}

static void read_run(struct job *job)
{
	struct server *server = server_of(job);
	struct servers *servers = server->world->servers;
	const struct scenario *scenario = server->world->scenario;
	if (!servers->serving || !serving_is_over(servers->serving))
		return;
	if (!servers->runs) {
		servers->runs =
			ARENA_ARRAY(job->workload->arena, scenario->job_count, struct replica_run);
		serving_read(servers->serving, servers->runs);
	}
	job->run->serving = &servers->runs[server->entry - scenario->jobs];
}

static void account(struct job *job)
{
	const struct server *server = server_of(job);
	size_t count = server->world->scenario->job_count * server->entry->rank_count;
	for (size_t i = 0; i < count; i++)
		if (server->to[i])
			communicator_account(server->to[i]);
	for (size_t i = 0; server->store && i < server->entry->rank_count; i++)
		if (server->store[i])
			connection_account(server->store[i], server->world->system.fabric);
}

static const struct job_kind server_kind = {
	.waiting = waiting, .read = read_run, .account = account};

void world_servers_failed(struct world *w, const char *reason)
{
	for (size_t i = 0; i < w->scenario->job_count; i++)
		if (w->servers->all[i])
			job_failed(&w->servers->all[i]->job, reason);
}

/* ---- overhead ---- */

/* Plays the program on the replica's port without other replicas. Returns the time of an
 * iteration; negative if it failed, with *why. */
static double play(struct server *server, const struct program *program, const char **why)
{
	struct scenario alone = *server->world->scenario;
	struct job_entry entry = *server->entry;
	entry.program = program;
	entry.rank_count = entry.simulated_count = 1;
	entry.fraction_ratio = entry.memory_ratio = 1;
	entry.library = NULL;
	alone.style = JOBS_PROGRAMS;
	return world_run_alone(server->world, alone, entry, "an iteration without other replicas",
			       why);
}

/* Adds a point to the table, which is in ascending order. */
static void put_point(struct overhead *table, double at, double overhead_s)
{
	size_t i = table->count++;
	for (; i > 0 && table->at[i - 1] > at; i--) {
		table->at[i] = table->at[i - 1];
		table->overhead_s[i] = table->overhead_s[i - 1];
	}
	table->at[i] = at;
	table->overhead_s[i] = overhead_s;
}

/* Plays an iteration and adds its overhead to the table. Returns false if the run failed. */
static bool add_point(struct server *server, struct overhead *table, size_t rows, double scale,
		      bool graph)
{
	struct arena *scratch = arena_new();
	double kernel_s;
	const struct program *program =
		serving_model_program(scratch, server->model, rows, scale, graph, &kernel_s);
	bool generates = service_of(server)->one_token;
	const char *why = NULL;
	double step_s = play(server, program, &why);
	if (step_s >= 0)
		put_point(table, generates ? kernel_s : (double)rows, fmax(0, step_s - kernel_s));
	else
		world_servers_failed(server->world, why);
	arena_free(scratch);
	return step_s >= 0;
}

static double slope(const struct overhead *table, size_t i)
{
	return (table->overhead_s[i + 1] - table->overhead_s[i]) /
	       (table->at[i + 1] - table->at[i]);
}

/* Adds points between which the time of an iteration is linear. The time is convex in that of the
 * kernels, because the longer of host and GPU decides. So between two points it is below their
 * line, and above the lines through the points beside them. A point is added where these two lines
 * meet, if that is far below. Returns false if a run failed. */
static bool refine(struct server *server, struct overhead *table, bool graph)
{
	double one_s = table->at[SCALE_ONE];
	for (size_t i = SCALE_ONE; i + 2 < table->count && table->count < OVERHEAD_POINTS;) {
		double before = slope(table, i - 1), own = slope(table, i);
		double behind = slope(table, i + 1), share = (behind - own) / (behind - before);
		double length_s = share * (table->at[i + 1] - table->at[i]);
		double at_s = table->at[i] + length_s;
		double time_s = at_s + table->overhead_s[i] + own * length_s;
		if (!(own > before && behind > own &&
		      (own - before) * length_s > TIME_TOLERANCE * time_s))
			i++;
		else if (!add_point(server, table, 1, at_s / one_s, graph))
			return false;
	}
	return true;
}

/* Returns NULL if a run failed. */
static const struct overhead *find_overhead(struct server *server, bool graph)
{
	const struct service_entry *service = service_of(server);
	struct overhead *table = ARENA_NEW(server->world->workload.arena, struct overhead);
	size_t most = (size_t)service->params->batch_count, rows = 1;
	for (size_t i = 0; service->one_token && i < SCALE_COUNT; i++)
		if (!add_point(server, table, 1, scales[i], graph))
			return NULL;
	while (!service->one_token && table->count < OVERHEAD_POINTS) {
		if (!add_point(server, table, rows, 1, graph))
			return NULL;
		if (rows == most)
			break;
		rows += rows < 2 ? 1 : rows / 2;
		rows = rows < most && table->count + 1 < OVERHEAD_POINTS ? rows : most;
	}
	return !service->one_token || refine(server, table, graph) ? table : NULL;
}

/* Returns the number of the entry's first GPU in its machine; SIZE_MAX: there are more machines. */
static size_t place_in_machine(const struct topology *t, const struct job_entry *entry)
{
	size_t first = entry->gpus[0], host = t->gpus[first].host, at = 0;
	while (at < first && t->gpus[first - at - 1].host == host)
		at++;
	return t->gpus[first + entry->rank_count - 1].host == host ? at : SIZE_MAX;
}

/* Returns true if iterations on the two entries take the same time. */
static bool same_place(const struct topology *t, const struct job_entry *a,
		       const struct job_entry *b)
{
	if (!world_alike(t, a, b))
		return false;
	size_t place = place_in_machine(t, a);
	if (a->rank_count > 1 && a != b && (place == SIZE_MAX || place != place_in_machine(t, b)))
		return false;
	for (size_t i = 1; i < a->rank_count; i++) /* stages over RPC may differ */
		if (strcmp(t->gpus[a->gpus[i]].profile, t->gpus[b->gpus[i]].profile) != 0)
			return false;
	return !a->runtime || (a->guests[0] == b->guests[0] && a->servers[0] == b->servers[0]);
}

/* Returns a replica whose iterations take the same time, and which has a model; or NULL. */
static const struct server *equal_one(const struct world *w, const struct job_entry *entry)
{
	for (size_t i = 0; i < w->scenario->job_count; i++) {
		const struct server *other = w->servers->all[i];
		if (other && other->model &&
		    same_place(&w->scenario->topology, other->entry, entry))
			return other;
	}
	return NULL;
}

/* Returns what distinguishes the replica and its draft from others of a search. The overhead of
 * networks that generate no tokens is known up to the largest batch. */
static struct memo_key memo_key(const struct server *server, const struct serving_model *model)
{
	const struct case_params *params = server->world->scenario->params;
	const struct service_entry *service = service_of(server);
	return (struct memo_key){{(size_t)params->tensor_count, (size_t)params->pipeline_count,
				  (size_t)params->expert_count, (size_t)params->data_count,
				  server->entry->gpus[0], server->entry->runtime != NULL,
				  serving_model_draft(model) == NULL,
				  service->one_token ? 0 : (size_t)service->params->batch_count}};
}

/* Finds the overhead of iterations of a model on the replica, in place of its own. Returns false if
 * a run failed. */
static bool find_tables(struct server *server, struct serving_model *model)
{
	struct serving_memo *memo = server->world->scenario->memo;
	const struct memo_key key = memo_key(server, model);
	if (memo && serving_memo_recall(memo, &key, model, server->tables)) {
		server->model = model;
		serving_model_overhead_set(model, server->tables);
		return true;
	}
	bool generates = service_of(server)->one_token;
	bool graph = generates && server->entry->stack->cuda_graph;
	server->model = model;
	server->tables[1] = find_overhead(server, false);
	server->tables[0] =
		graph && server->tables[1] ? find_overhead(server, true) : server->tables[1];
	serving_model_overhead_set(model, server->tables);
	return server->tables[0] != NULL;
}

/* Gives the replica the overhead of an equal one, or finds it. */
static bool set_overhead(struct server *server)
{
	struct serving_model *model = server->model, *draft = serving_model_draft(model);
	const struct server *equal = equal_one(server->world, server->entry);
	if (equal->tables[0]) {
		memcpy(server->tables, equal->tables, sizeof server->tables);
		serving_model_overhead_set(model, server->tables);
		return true;
	}
	return (!draft || find_tables(server, draft)) && find_tables(server, model);
}

/* ---- services ---- */

/* Returns the most tokens of a request: those that have learned positions. A network with others
 * takes longer requests than the sequences of its training. */
static double tokens_most(const struct network *network)
{
	for (size_t i = 0; i < network->layer_count; i++)
		if (network->layers[i].op == LAYER_POSITIONS)
			return (double)network->sequence;
	return INFINITY;
}

/* Draws the requests of a service when its first replica is built. */
static struct serving_service_spec *find_service(struct world *w, size_t index)
{
	const struct service_entry *entry = &w->scenario->services[index];
	struct serving_service_spec *service = &w->servers->services[index];
	if (service->params)
		return service;
	*service = (struct serving_service_spec){.params = entry->params,
						 .requests = entry->list,
						 .generates = entry->one_token != NULL,
						 .seed = w->workload.seed};
	struct serve_params drawn = *entry->params;
	drawn.requests_count = service_requests_count(w->scenario, entry);
	if (service->requests.count == 0)
		service->requests =
			requests_draw(w->workload.arena, &drawn, w->workload.seed,
				      entry->network->name, tokens_most(entry->network));
	for (size_t i = 0; i < service->requests.count && !service->generates; i++)
		service->requests.items[i].prompt = service->requests.items[i].output = 1;
	return service;
}

/* Returns the most tokens of a prompt; *all: of prompt and output. */
static size_t longest(const struct serving_service_spec *service, size_t *all)
{
	size_t prompt = 1;
	*all = 1;
	for (size_t i = 0; i < service->requests.count; i++) {
		const struct serve_request *request = &service->requests.items[i];
		size_t tokens = (size_t)request->prompt + request->output;
		prompt = request->prompt > prompt ? request->prompt : prompt;
		*all = tokens > *all ? tokens : *all;
	}
	return prompt;
}

static size_t rows_most(const struct serving_service_spec *service)
{
	const struct serve_params *params = service->params;
	size_t all, prompt = longest(service, &all), batch = (size_t)params->batch_count;
	size_t tokens = (size_t)params->tokens_count, drafted = (size_t)params->drafted_count;
	if (!service->generates)
		return batch;
	if (params->batching == BATCHING_FIXED || params->batching == BATCHING_DYNAMIC)
		return batch * prompt;
	if (!params->chunked_prefill && all > tokens)
		tokens = all;
	batch *= 1 + drafted;
	return tokens > batch ? tokens : batch;
}

/* ---- memory ---- */

static size_t tenants_on(const struct scenario *scenario, size_t gpu)
{
	size_t count = 0;
	for (size_t i = 0; i < scenario->job_count; i++)
		count += scenario->jobs[i].gpus[0] == gpu;
	return count;
}

/* Takes the GPU's memory and returns the blocks of the KV cache; 0: it is too small, and the jobs
 * have failed. */
static bool take_memory(struct server *server, const struct serving_service_spec *service,
			size_t *block_count)
{
	struct world *w = server->world;
	const struct job_entry *entry = server->entry;
	const struct gpu_entry *gpu = &w->scenario->topology.gpus[entry->gpus[0]];
	double share =
		fmin(entry->memory_ratio, 1 / (double)tenants_on(w->scenario, entry->gpus[0]));
	double ratio = service->params->memory_ratio;
	bool of_rest = service->params->memory_free;
	double own_B = gpu->params.memory_B * (of_rest ? 1 : ratio) * share;
	const struct service_entry *of = &w->scenario->services[entry->service];
	double model_B = serving_model_memory_B(server->model);
	double left_B = (own_B - model_B) * (of_rest ? ratio : 1);
	double token_B = serving_model_token_B(server->model);
	double stages = serving_model_stages(server->model);
	size_t all;
	longest(service, &all);
	*block_count = 0;
	if (left_B >= 0 && service->generates)
		*block_count = (size_t)(left_B / token_B / service->params->block_count);
	if (*block_count > 0 && service->params->cache_blocks_count > 0)
		*block_count = (size_t)service->params->cache_blocks_count;
	/* each stage has the keys and values of all tokens in its layers */
	double tokens = (double)*block_count * service->params->block_count * stages;
	bool experts = network_expert_top(entry->network) > 0;
	const char *reason = NULL;
	const char *hint = !service->generates ? ""
			   : service->params->pipeline == PIPELINE_RPC
				   ? " (write a larger case.pipeline)"
			   : w->scenario->topology.gpu_count == 1
				   ? " (write --set serve.weights=int8 or int4, or take a GPU "
				     "with more memory)"
			   : experts ? " (write a larger case.expert)"
				     : " (write a larger case.tensor)";
	if (left_B < 0)
		reason = arena_printf(w->workload.arena,
				      "out of GPU memory: %s needs %.2f GB for weights and "
				      "activations, but a replica on GPU '%s' may use %.2f GB%s",
				      entry->network->name, model_B / 1e9, gpu->name, own_B / 1e9,
				      hint);
	else if (service->generates && tokens < (double)all)
		reason = arena_printf(w->workload.arena,
				      "out of GPU memory: a request of %zu tokens does not fit the "
				      "KV cache of %.0f tokens on GPU '%s'",
				      all, tokens, gpu->name);
	/* each group has keys and values of its own requests, and each stage those of its layers */
	*block_count = (size_t)((double)*block_count * of->data * stages);
	if (reason)
		world_servers_failed(w, reason);
	return !reason;
}

/* Returns the blocks of the KV cache in host memory, to which each GPU sends its part of a token.
 */
static size_t host_blocks(const struct server *server, const struct serving_service_spec *service)
{
	const struct service_entry *of = service_of(server);
	double parts = (double)server->entry->rank_count / (of->data * of->stages);
	double block_B =
		service->params->block_count * parts * serving_model_token_B(server->model);
	bool keeps = service->generates && block_B > 0; /* recurrent layers keep no tokens */
	return keeps ? (size_t)(service->params->host_cache_B / block_B) : 0;
}

/* ---- a replica ---- */

static struct servers *servers_new(struct world *w)
{
	struct arena *arena = w->workload.arena;
	const struct scenario *scenario = w->scenario;
	struct servers *servers = ARENA_NEW(arena, struct servers);
	servers->all = ARENA_ARRAY(arena, scenario->job_count, struct server *);
	servers->services =
		ARENA_ARRAY(arena, scenario->service_count, struct serving_service_spec);
	servers->replicas = ARENA_ARRAY(arena, scenario->job_count, struct serving_replica_spec);
	return servers;
}

/* Returns the model of the draft network, which is whole on each GPU of the replica. Its steps are
 * in the same iteration, so the host does not think between them. */
static struct serving_model *draft_model(struct world *w, const struct service_entry *of,
					 struct serving_model_spec spec)
{
	struct stack_params *stack = ARENA_NEW(w->workload.arena, struct stack_params);
	*stack = *spec.stack;
	stack->session_s = 0;
	spec.stack = stack;
	spec.network = of->draft;
	spec.one_token = of->draft_token;
	spec.shard = NULL;
	spec.adapters = 0;
	return serving_model_new(w->workload.arena, &spec);
}

/* Returns NULL if the jobs have failed. */
static struct serving_model *build_model(struct world *w, const struct job_entry *entry,
					 const struct serving_service_spec *service)
{
	const struct service_entry *of = &w->scenario->services[entry->service];
	const char *why = NULL;
	double spread = of->spread;
	const struct serve_params *params = service->params;
	double sequences = params->batch_count * (1 + params->drafted_count);
	struct serving_model_spec spec = {
		.network = entry->network,
		.one_token = of->shard ? of->shard->network : of->one_token,
		.stack = entry->stack,
		.gpu = &w->scenario->topology.gpus[entry->gpus[0]].params,
		.efficiency = entry->efficiency,
		.weights = service_weights(of),
		.kv = (enum served_type)params->kv,
		.rows_max = (size_t)ceil((double)rows_most(service) / spread),
		.sequences_max = (size_t)ceil(sequences / spread),
		.draft_count = params->drafted_count,
		.graph_sizes = params->graph_sizes_count,
		.graph_most = params->graph_most_count,
		.adapters = params->adapters_count,
		.lora = params->adapter_rank_count,
		.spread = spread,
		.stages = of->stages,
		.passed_s = world_passed_s,
		.rpc_graph_B = params->rpc_graph_B,
		.time_ratios = {params->token_time_ratio, params->prompt_time_ratio},
		.shard = of->shard,
		.collective_s = world_tensor_s,
	};
	const struct server *equal = equal_one(w, entry);
	if (equal)
		return equal->model;
	if (params->pipeline == PIPELINE_RPC && of->stages > 1) {
		spec.rpc_s = world_rpc_s;
		world_rpc_split(w, entry, &spec);
		spec.rpc_ctx = world_rpc(w, entry, &why);
	} else if (of->shard || of->stages > 1)
		spec.ctx = world_tensor_group(w, entry, (size_t)of->stages,
					      (size_t)w->scenario->params->tensor_count, &why);
	if (why)
		world_servers_failed(w, why);
	if (of->draft_token)
		spec.draft = draft_model(w, of, spec);
	return why ? NULL : serving_model_new(w->workload.arena, &spec);
}

struct job *world_replica(struct world *w, const struct job_entry *entry, struct job_run *run)
{
	const struct scenario *scenario = w->scenario;
	struct server *server = ARENA_NEW(w->workload.arena, struct server);
	size_t index = (size_t)(entry - scenario->jobs), blocks;
	if (!w->servers)
		w->servers = servers_new(w);
	job_init(&server->job, &w->workload, &server_kind, entry->name, run);
	server->world = w;
	server->entry = entry;
	server->to = ARENA_ARRAY(w->workload.arena, scenario->job_count * entry->rank_count,
				 struct communicator *);
	w->servers->all[index] = server;
	struct serving_service_spec *service = find_service(w, entry->service);
	server->model = build_model(w, entry, service);
	if (!server->model || !take_memory(server, service, &blocks) || !set_overhead(server))
		return &server->job;
	struct gpu *gpu = w->system.gpus[entry->gpus[0]];
	struct gpu_stream *stream = NULL;
	if (tenants_on(scenario, entry->gpus[0]) > 1 || entry->fraction_ratio < 1)
		stream = gpu_stream_new(gpu_context_new(gpu, entry->name, entry->fraction_ratio),
					"compute");
	w->servers->replicas[index] = (struct serving_replica_spec){
		.name = entry->name,
		.service = entry->service,
		.role = (enum serve_role)entry->role,
		.time = serving_model_time,
		.ctx = server->model,
		.block_count = blocks,
		.host_block_count = host_blocks(server, service),
		.shares_host = w->scenario->services[entry->service].store != SIZE_MAX,
		.window = serving_model_window(server->model),
		.stream = stream};
	return &server->job;
}

/* ---- begin and end ---- */

static void begin(void *ctx, uint64_t arg)
{
	struct world *w = ctx;
	if (w->servers->opening_count == 0 || --w->servers->opening_count == 0)
		serving_begin(w->servers->serving);
}

static void opened(void *of)
{
	struct world *w = of;
	for (size_t i = 0; i < w->scenario->job_count; i++) {
		w->servers->all[i]->opened_ps = engine_now_ps(w->system.engine);
		job_warm(&w->servers->all[i]->job);
	}
}

static void keep(const struct server *server, const struct serving_model *model)
{
	const struct memo_key key = memo_key(server, model);
	serving_memo_keep(server->world->scenario->memo, &key, model);
}

static void done(void *of)
{
	struct world *w = of;
	world_verdict_keep(w);
	for (size_t i = 0; w->scenario->memo && i < w->scenario->job_count; i++) {
		const struct server *server = w->servers->all[i];
		struct serving_model *draft = serving_model_draft(server->model);
		if (equal_one(w, server->entry) != server)
			continue; /* it has the model of an equal one */
		keep(server, server->model);
		if (draft)
			keep(server, draft);
	}
	for (size_t i = 0; i < w->scenario->job_count; i++) {
		struct server *server = w->servers->all[i];
		*VEC_PUSH(w->workload.arena, &server->job.steps) = (struct step_record){
			.start_ps = server->opened_ps, .end_ps = engine_now_ps(w->system.engine)};
		job_end(&server->job);
	}
}

void world_serving_begin(struct world *w)
{
	const struct scenario *scenario = w->scenario;
	for (size_t i = 0; i < scenario->job_count; i++)
		if (w->servers->all[i]->job.run->failed) {
			world_servers_failed(w, w->servers->all[i]->job.run->reason);
			return;
		}
	const struct serving_spec spec = {
		.arena = w->workload.arena,
		.engine = w->system.engine,
		.services = w->servers->services,
		.service_count = scenario->service_count,
		.replicas = w->servers->replicas,
		.replica_count = scenario->job_count,
		.transfer = world_keys_transfer,
		.offload = world_keys_offload,
		.verdict_only = scenario->verdict_only,
		.missed = world_verdict_known(w),
		.opened = opened,
		.done = done,
		.of = w,
	};
	w->servers->serving = serving_new(&spec);
	if (!world_keys_connect(w, begin)) {
		world_servers_failed(
			w, "no route connects the replicas between which keys and values travel");
		return;
	}
	if (w->servers->opening_count == 0)
		begin(w, 0);
}
