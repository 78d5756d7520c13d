/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads cases that serve requests. The clients of the case are the replicas. All replicas of one
 * network form a service, whose requests the group `serve` describes. A list of groups `serve`
 * describes several services. */
#include "sim/scenario/case.h"

/* A draw for each phase of arrivals takes less than a second. */
static const double PHASES_MAX = 1e7;

double case_replica_gpus(const struct case_params *params)
{
	double groups = params->tensor_count * fmax(1, params->data_count);
	return fmax(groups, params->expert_count) * params->pipeline_count;
}

const char *case_replica_key(const struct case_params *params)
{
	return params->tensor_count > 1   ? "case.tensor"
	       : params->expert_count > 1 ? "case.expert"
	       : params->data_count > 1   ? "case.data"
					  : "case.pipeline";
}

bool case_serves(const struct reader *c)
{
	return case_find_keys(c, "serve", NULL);
}

bool case_serves_rpc(const struct reader *c)
{
	bool rpc = false;
	for (size_t i = 0; i < c->scenario->service_count; i++)
		rpc |= c->scenario->services[i].params->pipeline == PIPELINE_RPC;
	return rpc;
}

void case_refuse_layout(struct reader *c)
{
	if (c->params->prefill_count > 0 && !case_serves(c))
		case_error(c, "case.prefill",
			   "case.prefill counts replicas of model servers (write a group serve, or "
			   "case.prefill=0)");
	if (case_replica_gpus(c->params) > 1 && !case_serves(c))
		case_error(c, case_replica_key(c->params),
			   "case.tensor, case.pipeline, case.data and case.expert split model "
			   "servers (write a group serve, or plan.tp and plan.ep for training)");
}

/* Replicas are spread over all GPUs by default. */
void case_serve_want(struct reader *c)
{
	const struct cfg_node *clients = cfg_child(c->group, "clients");
	double listed = clients ? (double)cfg_count(clients) : 1;
	struct origin origin;
	case_find_keys(c, "serve", &origin);
	if (case_is_job(c) || case_has_ranks(c) || c->params->calls[0])
		diag_error(c->diag, origin,
			   "serve: requests cannot be combined with case.gpus, case.jobs, "
			   "case.collective or case.calls (write case.copies for the number of "
			   "replicas)");
	if (!c->params->gpu[0])
		c->params->gpu = "spread";
	c->may_fold = false;
	c->gpus_wanted = (size_t)(listed * c->params->copies_count * case_replica_gpus(c->params));
}

void case_read_engine(struct reader *c)
{
	const struct cfg_node *file;
	if (!c->params->engine[0])
		return;
	if (!case_serves(c)) {
		case_error(c, "case.engine",
			   "case.engine is a model server, but the case serves no requests (add a "
			   "group serve, or leave case.engine out)");
		return;
	}
	case_group(c, case_origin_of(c, "case.engine"), "models/engines", "engine",
		   c->params->engine, "engine", &file);
	if (!file)
		return;
	c->scenario->engine = file;
	cfg_only(c->diag, file, CFG_KEYS("engine", "command", "serve", "stack", "library"));
	cfg_only(c->diag, cfg_child(file, "engine"), CFG_KEYS("help", "version", "source"));
	cfg_only(c->diag, cfg_child(file, "command"),
		 CFG_KEYS("run", "tensor", "pipeline", "data", "data_of_one", "expert", "batch",
			  "tokens", "memory", "weights", "kv", "no_prefix_cache", "prefill",
			  "decode"));
	case_defaults(c, cfg_child(file, "serve"), "serve", &serve_table);
	case_defaults(c, cfg_child(file, "stack"), "stack", &stack_table);
	case_defaults(c, cfg_child(file, "library"), "library", &library_table);
}

/* Returns the group that describes the requests of a network; NULL: the file has none. A group may
 * name the network as the case does, or as its file does. */
static const struct cfg_node *find_group(const struct reader *c, const struct job_entry *entry,
					 bool *own)
{
	const struct cfg_node *node = cfg_child(c->file, "serve");
	*own = node && cfg_is_list(node);
	if (!*own)
		return node;
	for (size_t i = 0; i < cfg_count(node); i++) {
		const char *name = cfg_text(cfg_child(cfg_at(node, i), "model"));
		name = name ? name : c->params->model;
		if (strcmp(name, entry->model) == 0 || strcmp(name, entry->model_given) == 0)
			return cfg_at(node, i);
	}
	return NULL;
}

static void lengths_fit(struct reader *c, const struct service_entry *service, const char *prefix)
{
	const struct serve_params *params = service->params;
	double limit = (double)service->network->sequence;
	double tokens = params->prompt_count + params->output_count;
	for (size_t i = 0; i < service->list.count; i++)
		tokens = fmax(i > 0 ? tokens : 0, (double)service->list.items[i].prompt +
							  (double)service->list.items[i].output);
	if (tokens > limit)
		case_error(c, arena_printf(c->arena, "%s.prompt", prefix),
			   "%s: a request has %g tokens in its prompt and output, but sequences of "
			   "%s have %g (write fewer tokens, or a larger case.sequence)",
			   prefix, tokens, service->network->name, limit);
}

static void groups_fit(struct reader *c, const struct service_entry *service)
{
	double tensor = c->params->tensor_count, expert = c->params->expert_count;
	double data = c->params->data_count, gpus = service->data * tensor;
	if (service->data > floor(service->data))
		case_error(c, "case.expert",
			   "case.expert=%g parts of the experts need as many GPUs, which are not "
			   "whole groups of case.tensor=%g (write case.expert=%g)",
			   expert, tensor, ceil(service->data) * tensor);
	else if (data > 0 && data != service->data)
		case_error(c, "case.expert",
			   "case.expert=%g parts of the experts need as many GPUs, which are not "
			   "case.data=%g groups of case.tensor=%g (write case.data=0, or smaller "
			   "case.expert)",
			   expert, data, tensor);
	else if (fmod(gpus, expert) > 0)
		case_error(c, "case.expert",
			   "the %g GPUs of a stage (case.tensor x case.data) are not divisible by "
			   "case.expert=%g (write case.expert=1 or case.expert=%g)",
			   gpus, expert, gpus);
}

/* Returns true if rows are gathered on all GPUs. DeepEP sends each one to its experts. */
static bool gathers(struct reader *c, const struct service_entry *service,
		    const struct library_params *library)
{
	double gpus = service->data * c->params->tensor_count;
	bool split = c->params->expert_count < gpus;
	int dispatch = service->params->dispatch;
	if (dispatch == DISPATCH_ALL_TO_ALL && split)
		case_error(c, arena_printf(c->arena, "%s.dispatch", service->prefix),
			   "%s.dispatch=all-to-all sends rows to whole experts, but %g GPUs have "
			   "%g parts of the experts (write case.expert=%g, or gather)",
			   service->prefix, gpus, c->params->expert_count, gpus);
	bool sends = dispatch == DISPATCH_ALL_TO_ALL ||
		     (dispatch == DISPATCH_AUTO && library->experts != EXPERTS_LIBRARY);
	return split || !sends;
}

/* Splits the layers of the network over the GPUs of a replica. */
static void split(struct reader *c, struct service_entry *service,
		  const struct library_params *library)
{
	struct shard_params params = {.tensor_count = (size_t)c->params->tensor_count,
				      .context_count = 1,
				      .expert_count = (size_t)c->params->expert_count,
				      .data_count = (size_t)service->data,
				      .imbalance_ratio = 1,
				      .tensor_key = "case.tensor"};
	const char *why = "only networks that generate tokens are split (write case.tensor=1)";
	const char *key = case_replica_key(c->params);
	if (service->stages > 1 && !service->one_token)
		case_error(c, "case.pipeline",
			   "case.pipeline needs a network that generates tokens, which '%s' is not "
			   "(write case.pipeline=1)",
			   service->network->name);
	if (service->params->pipeline == PIPELINE_RPC && service->stages > 1 &&
	    service->data * c->params->tensor_count > 1)
		case_error(c, key,
			   "%s: RPC servers have whole layers of all requests (write "
			   "case.tensor=1, case.data=1 and case.expert=1, or %s.pipeline=groups)",
			   key, service->prefix);
	groups_fit(c, service);
	if (diag_count(c->diag) > 0 || params.tensor_count * params.data_count == 1)
		return;
	params.gathers = service->data > 1 && gathers(c, service, library);
	if (params.expert_count * params.data_count > 1 &&
	    network_expert_top(service->network) == 0) {
		key = params.expert_count > 1 ? "case.expert" : "case.data";
		why = arena_printf(c->arena, "it has no experts (write %s=1)", key);
	} else if (service->one_token) {
		service->shard = shard_new(c->arena, service->one_token, &params, &why);
	}
	if (!service->shard)
		case_error(c, key, "%s: model '%s': %s", key, service->network->name, why);
}

double service_requests_count(const struct scenario *scenario, const struct service_entry *service)
{
	double time_s = 0;
	if (service->list.count > 0)
		return (double)service->list.count;
	if (service->params->stages[0])
		return service->params->requests_count;
	for (size_t i = 0; i < scenario->service_count; i++) {
		const struct serve_params *params = scenario->services[i].params;
		if (scenario->services[i].list.count == 0 && !params->stages[0])
			time_s = fmax(time_s, params->requests_count / params->rate_count);
	}
	return fmin(round(time_s * service->params->rate_count), SERVE_REQUESTS_MAX);
}

enum served_type service_weights(const struct service_entry *service)
{
	return service->params->weights != SERVE_AUTO ? (enum served_type)service->params->weights
						      : service->network->weights;
}

static void phases_fit(struct reader *c, const struct service_entry *service)
{
	const struct serve_params *params = service->params;
	double cycle_s = params->on_s + params->off_s;
	double count = service_requests_count(c->scenario, service);
	if (params->on_s > 0 && params->off_s > 0 && service->list.count == 0 &&
	    count / (params->rate_count * cycle_s) > PHASES_MAX)
		case_error(c, arena_printf(c->arena, "%s.on", service->prefix),
			   "%s.on and %s.off make more than %g phases until all requests have "
			   "arrived (write longer phases, or fewer requests)",
			   service->prefix, service->prefix, PHASES_MAX);
}

static void clients_fill_batches(struct reader *c, const struct serve_params *params,
				 const char *prefix)
{
	if (params->batching == BATCHING_FIXED && params->concurrency_count > 0 &&
	    params->concurrency_count < params->batch_count * (double)c->scenario->job_count)
		case_error(c, arena_printf(c->arena, "%s.batching", prefix),
			   "%s.batching=fixed waits for %g requests at each replica, more than %g "
			   "clients send (write dynamic, or a larger %s.concurrency)",
			   prefix, params->batch_count, params->concurrency_count, prefix);
}

static void stages_fit(struct reader *c, const struct serve_params *params, const char *prefix)
{
	const char *key = arena_printf(c->arena, "%s.stages", prefix);
	if (!params->stages[0])
		return;
	if (requests_stages(c->arena, params->stages).count == 0)
		case_error(
			c, key,
			"%s: '%s' has no stages that begin at rising times from 0 s on, at rates "
			"of 0 or 1e-6 to 1e9, and end with a rate above 0 (write for example "
			"0:5,60:20,120:5)",
			key, params->stages);
	if (params->concurrency_count > 0 || params->list[0] ||
	    (params->on_s > 0 && params->off_s > 0))
		case_error(c, key,
			   "%s cannot be combined with %s.concurrency, %s.list, or %s.on and "
			   "%s.off (leave either out)",
			   key, prefix, prefix, prefix, prefix);
}

static void read_draft(struct reader *c, struct service_entry *service)
{
	const struct serve_params *params = service->params;
	const char *key = arena_printf(c->arena, "%s.draft", service->prefix);
	const char *drafted = arena_printf(c->arena, "%s.drafted", service->prefix);
	const struct cfg_node *file;
	if (params->drafted_count > 0 &&
	    (!service->one_token || service->stages > 1 || params->batching == BATCHING_FIXED ||
	     params->batching == BATCHING_DYNAMIC))
		case_error(c, drafted,
			   "%s: tokens are drafted only in continuous batching, for networks that "
			   "generate tokens, without stages (write %s=0)",
			   drafted, drafted);
	if (!params->draft[0] || params->drafted_count < 1 ||
	    !case_group(c, case_origin_of(c, key), "models/networks", "model", params->draft,
			"network", &file))
		return;
	service->draft = network_read(c->arena, c->diag, file, (size_t)c->params->sequence_count);
	service->draft_token = network_read(c->arena, c->diag, file, 1);
	if (service->draft && (!network_generates(service->draft) ||
			       service->draft->vocabulary != service->network->vocabulary))
		case_error(c, key,
			   "%s: '%s' does not generate tokens of the vocabulary of '%s' (write a "
			   "network with the same vocabulary)",
			   key, params->draft, service->network->name);
}

/* Returns the guest whose memory has the keys and values of all replicas. */
static size_t find_store(struct reader *c, const struct serve_params *params, const char *prefix)
{
	const struct topology *topology = &c->scenario->topology;
	const char *key = arena_printf(c->arena, "%s.cache_host", prefix);
	if (!params->cache_host[0])
		return SIZE_MAX;
	if (!(params->host_cache_B > 0))
		case_error(c, key,
			   "%s: '%s' has no memory for keys and values (write %s.host_cache, for "
			   "example 100 GB)",
			   key, params->cache_host, prefix);
	for (size_t i = 0; i < topology->guest_count; i++)
		if (strcmp(topology->guests[i].name, params->cache_host) == 0)
			return i;
	for (size_t i = 0; i < topology->host_count; i++)
		if (strcmp(topology->hosts[i].name, params->cache_host) == 0 &&
		    topology->hosts[i].first_guest != SIZE_MAX)
			return topology->hosts[i].first_guest;
	const struct guest_entry *last = &topology->guests[topology->guest_count - 1];
	case_error(c, key,
		   "%s: no host or guest of topology '%s' is called '%s' (write for example '%s')",
		   key, topology->name, params->cache_host, last->name);
	return SIZE_MAX;
}

static void read_service(struct reader *c, struct service_entry *service,
			 const struct job_entry *entry, const char *model)
{
	struct serve_params *params = ARENA_NEW(c->arena, struct serve_params);
	bool own;
	const struct cfg_node *group = find_group(c, entry, &own), *file;
	const char *prefix = own ? arena_printf(c->arena, "serve.%s", model) : "serve";
	service->prefix = prefix;
	service->params = params;
	service->network = entry->network;
	if (own && !group)
		diag_error(c->diag, entry->origin,
			   "serve: no group describes the requests of model '%s' (write serve = ( "
			   "{ model = \"%s\"; rate = ...; }, ... ))",
			   model, model);
	if (!reader_params(c, group, prefix, prefix, &serve_table, params))
		return;
	clients_fill_batches(c, params, prefix);
	stages_fit(c, params, prefix);
	struct origin origin = case_origin_of(c, arena_printf(c->arena, "%s.list", prefix));
	if (params->list[0])
		service->list = requests_read(c->arena, c->diag, origin,
					      case_file_path(c, origin, params->list),
					      params->prefix_count);
	if (network_generates(entry->network)) {
		case_group(c, entry->origin, "models/networks", "model", entry->model_given,
			   "network", &file);
		service->one_token = network_read(c->arena, c->diag, file, 1);
		lengths_fit(c, service, prefix);
	} else if (params->batching == BATCHING_CONTINUOUS) {
		diag_error(c->diag,
			   case_origin_of(c, arena_printf(c->arena, "%s.batching", prefix)),
			   "%s.batching is continuous, but '%s' generates no tokens (write dynamic "
			   "or fixed)",
			   prefix, model);
	}
	service->store = find_store(c, params, prefix);
	service->stages = c->params->pipeline_count;
	service->data =
		case_replica_gpus(c->params) / c->params->pipeline_count / c->params->tensor_count;
	service->spread = service->data * (params->pipeline == PIPELINE_RPC ? 1 : service->stages);
	read_draft(c, service);
}

static void roles_fit(struct reader *c, size_t index)
{
	const struct scenario *scenario = c->scenario;
	size_t counts[3] = {0};
	const struct job_entry *last = NULL;
	for (size_t i = 0; i < scenario->job_count; i++)
		if (scenario->jobs[i].service == index) {
			counts[scenario->jobs[i].role]++;
			last = &scenario->jobs[i];
		}
	bool apart = counts[ROLE_PREFILL] + counts[ROLE_DECODE] > 0;
	if (!apart)
		return;
	if (counts[ROLE_PREFILL] == 0 || counts[ROLE_DECODE] == 0 || counts[ROLE_BOTH] > 0)
		diag_error(c->diag, last->origin,
			   "the clients of model '%s' have %zu times the role prefill, %zu times "
			   "decode and %zu times both (write prefill and decode, or only both)",
			   last->model, counts[ROLE_PREFILL], counts[ROLE_DECODE],
			   counts[ROLE_BOTH]);
	if (!scenario->services[index].one_token)
		diag_error(c->diag, last->origin,
			   "model '%s' generates no tokens, so its clients have no role (leave "
			   "role out)",
			   last->model);
}

static void gpus_fit(struct reader *c)
{
	const struct scenario *scenario = c->scenario;
	bool *taken = ARENA_ARRAY(c->arena, scenario->topology.gpu_count, bool);
	for (size_t i = 0; i < scenario->job_count; i++)
		for (size_t k = 0; k < scenario->jobs[i].rank_count; k++) {
			bool *own = &taken[scenario->jobs[i].gpus[k]];
			if (scenario->jobs[i].rank_count > 1 &&
			    (*own || scenario->jobs[i].fraction_ratio < 1))
				diag_error(c->diag, scenario->jobs[i].origin,
					   "client '%s': a replica with several GPUs needs whole "
					   "ones of its own, but '%s' is shared (write fewer "
					   "case.copies, or another gpu)",
					   scenario->jobs[i].name,
					   scenario->topology.gpus[scenario->jobs[i].gpus[k]].name);
			*own = true;
		}
}

/* Reads the efficiencies of the GPUs of stages over RPC, which may be different ones. Other
 * replicas need equal GPUs, because they split layers, or let stages work at the same time. */
static void kinds_fit(struct reader *c)
{
	const struct topology *topology = &c->scenario->topology;
	for (size_t i = 0; i < c->scenario->job_count; i++) {
		const struct job_entry *job = &c->scenario->jobs[i];
		struct service_entry *of =
			(struct service_entry *)&c->scenario->services[job->service];
		const struct gpu_entry *first = &topology->gpus[job->gpus[0]];
		for (size_t k = 1; k < job->rank_count; k++) {
			const struct gpu_entry *gpu = &topology->gpus[job->gpus[k]];
			if (strcmp(gpu->profile, first->profile) == 0)
				continue;
			if (of->params->pipeline != PIPELINE_RPC) {
				diag_error(c->diag, job->origin,
					   "client '%s': the GPUs of a replica must be equal, but "
					   "'%s' is %s and '%s' is %s (write another case.gpu, or "
					   "%s.pipeline=rpc for stages on different GPUs)",
					   job->name, first->name, first->profile, gpu->name,
					   gpu->profile, of->prefix);
				return;
			}
			if (!of->efficiencies)
				of->efficiencies = ARENA_ARRAY(c->arena, topology->gpu_count,
							       const struct efficiency_params *);
			of->efficiencies[job->gpus[k]] = case_efficiency(c, gpu, job->model);
			case_check_numbers(c, gpu);
		}
	}
}

/* Keys and values, and sums of split products, travel as messages of the library that
 * case.exchange names. */
static void read_library(struct reader *c, struct job_entry *jobs)
{
	size_t apart = SIZE_MAX;
	for (size_t i = c->scenario->job_count; i-- > 0;)
		if (jobs[i].role != ROLE_BOTH || jobs[i].rank_count > 1 ||
		    c->scenario->services[jobs[i].service].params->cache_host[0])
			apart = i;
	if (apart == SIZE_MAX)
		return;
	case_jobs_want(c);
	case_find_exchange(c, 0, &jobs[apart]);
	if (jobs[apart].library && library_has_servers(jobs[apart].library))
		case_error(c, "case.exchange",
			   "exchange '%s' exchanges gradients over parameter servers, which carry "
			   "no messages of model servers (write case.exchange=nccl-2.18, for "
			   "example)",
			   c->params->exchange);
	if (jobs[apart].library && jobs[apart].library->custom_all_reduce == CUSTOM_SERVING) {
		struct library_params *own = ARENA_NEW(c->arena, struct library_params);
		*own = *jobs[apart].library;
		own->custom_all_reduce = CUSTOM_ON;
		jobs[apart].library = own;
	}
	for (size_t i = 0; i < c->scenario->job_count; i++) {
		jobs[i].library =
			case_library_experts(c, "library", jobs[apart].library, jobs[i].network);
		jobs[i].exchange = jobs[apart].exchange;
		jobs[i].exchange_name = jobs[apart].exchange_name;
		if (jobs[i].transport)
			continue;
		jobs[i].transport = c->transport;
		jobs[i].transport_params = c->transport_params;
	}
}

void case_read_services(struct reader *c)
{
	struct scenario *scenario = c->scenario;
	struct job_entry *jobs = (struct job_entry *)scenario->jobs;
	struct service_entry *services =
		ARENA_ARRAY(c->arena, scenario->job_count + 1, struct service_entry);
	scenario->style = JOBS_SERVING;
	scenario->memo = c->request->memo;
	scenario->verdict_only = c->request->verdict_only;
	scenario->services = services;
	for (size_t i = 0; i < scenario->job_count; i++) {
		size_t k = 0;
		while (k < scenario->service_count && services[k].network != jobs[i].network)
			k++;
		jobs[i].service = k;
		if (k < scenario->service_count)
			continue;
		scenario->service_count++;
		services[k].network = jobs[i].network;
		read_service(c, &services[k], &jobs[i], jobs[i].model);
	}
	for (size_t i = 0; i < scenario->service_count; i++)
		roles_fit(c, i);
	for (size_t i = 0; i < scenario->service_count && diag_count(c->diag) == 0; i++)
		phases_fit(c, &services[i]);
	gpus_fit(c);
	kinds_fit(c);
	read_library(c, jobs);
	for (size_t i = 0; i < scenario->service_count && diag_count(c->diag) == 0; i++)
		split(c, &services[i], jobs[0].library);
}
