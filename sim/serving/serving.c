/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arrivals, the router, and requests that go from one replica to another. */
#include "sim/serving/internal.h"

/* Returns the replica that gets the request. decode: it generates tokens only. */
static struct replica *route(struct serving *serving, struct service *service, bool decode)
{
	struct replica *best = NULL;
	size_t count = serving->spec.replica_count, *turn = &service->turns[decode];
	bool by_turn = service->spec->params->router == ROUTER_ROUND_ROBIN;
	for (size_t i = 0; i < count; i++) {
		struct replica *r = &serving->replicas[(*turn + i) % count];
		if (r->service != service || (r->spec->role == ROLE_DECODE) != decode)
			continue;
		if (!best || (!by_turn && r->outstanding_count < best->outstanding_count))
			best = r;
	}
	FW_ASSERT(best);
	*turn = (size_t)(best - serving->replicas) + 1;
	return best;
}

static void window_open(struct serving *serving)
{
	serving->open = true;
	serving->opened_ps = serving_now_ps(serving);
	for (size_t i = 0; i < serving->spec.replica_count; i++) {
		struct replica *r = &serving->replicas[i];
		int64_t ran_ps = r->busy ? serving->opened_ps - r->kernel_since_ps : 0;
		r->kernel_opened_ps = r->kernel_sum_ps + (ran_ps > 0 ? ran_ps : 0);
	}
	serving->spec.opened(serving->spec.of);
}

static void arrive(void *ctx, uint64_t index);

int64_t front_end_work(struct service *service, size_t index, int64_t work_ps)
{
	int64_t *free_ps = &service->free_ps[(uint32_t)index % (uint32_t)service->process_count];
	int64_t now_ps = serving_now_ps(service->serving);
	*free_ps = (now_ps > *free_ps ? now_ps : *free_ps) + work_ps;
	service->front_end_ps += work_ps;
	return *free_ps;
}

static void take(void *ctx, uint64_t index);

/* Lets a client send the next request, if there is one. Connections may be set up before. */
static void call_next(struct service *service, int64_t sent_ps)
{
	int64_t now_ps = serving_now_ps(service->serving);
	size_t index = service->called_count;
	if (index == service->spec->requests.count)
		return;
	service->called_count++;
	service->queries[index].arrival_ps = sent_ps;
	engine_do_at(service->serving->spec.engine, sent_ps > now_ps ? sent_ps : now_ps, take,
		     service, index);
}

/* Returns the time in which the front end reads a request. */
static double read_s(const struct service *service, size_t index)
{
	const struct serve_params *params = service->spec->params;
	return params->request_serial_s +
	       params->prompt_host_s * service->spec->requests.items[index].prompt;
}

/* Returns the requests that wait for the front end: to be taken, or to be answered to the end. */
static size_t front_end_waiting(const struct service *service)
{
	const struct serve_params *params = service->spec->params;
	int64_t now_ps = serving_now_ps(service->serving);
	size_t waiting = 0;
	for (size_t i = 0; i < service->called_count; i++) {
		const struct query *q = &service->queries[i];
		int64_t take_ps = ps_from_s(read_s(service, i) + params->request_host_s);
		waiting += now_ps <
			   (q->request ? q->end_ps - service->message_ps : q->since_ps - take_ps);
	}
	return waiting;
}

/* The front end takes a request, and sends it to the scheduler. */
static void take(void *ctx, uint64_t index)
{
	struct service *service = ctx;
	const struct serve_params *params = service->spec->params;
	bool open = !(params->concurrency_count > 0); /* clients do not wait for answers */
	bool last = index + 1 == service->spec->requests.count;
	if (open && index == service->first_measured)
		service->opened_waiting += front_end_waiting(service);
	if (open && last)
		service->arrivals_end_waiting += front_end_waiting(service);
	int64_t taken_ps = front_end_work(service, index, ps_from_s(read_s(service, index))) +
			   ps_from_s(params->request_host_s);
	service->queries[index].since_ps = taken_ps;
	if (open && !last)
		call_next(service, service->spec->requests.items[index + 1].arrival_ps);
	if (taken_ps > serving_now_ps(service->serving))
		engine_do_at(service->serving->spec.engine, taken_ps, arrive, service, index);
	else
		arrive(service, index);
}

static void end_run(struct serving *serving)
{
	if (!serving->over)
		serving->spec.done(serving->spec.of);
	serving->over = true;
}

void query_missed(struct query *q)
{
	struct service *service = q->replica->service;
	double all = (double)(service->spec->requests.count - service->first_measured);
	if (!service->serving->spec.verdict_only || !q->measured || q->missed)
		return;
	q->missed = true;
	service->missed_count++;
	/* the same quotient as that of the answers */
	if ((all - (double)service->missed_count) / all < service->spec->params->slo_quantile_ratio)
		end_run(service->serving);
}

/* Notes that one more request has ended. Its client sends the next one in a closed loop. */
static void note_end(struct service *service)
{
	if (service->spec->params->concurrency_count > 0)
		call_next(service, serving_now_ps(service->serving));
	struct serving *serving = service->serving;
	FW_ASSERT(service->ended_count + service->refused_count <= service->arrived_count);
	if (service->ended_count + service->refused_count < service->spec->requests.count)
		return;
	if (++serving->closed_count == serving->spec.service_count)
		end_run(serving);
}

static void trace_query(const struct query *q)
{
	const struct serving_spec *spec = &q->replica->serving->spec;
	struct trace *trace = engine_trace(spec->engine);
	if (!trace)
		return;
	uint32_t track = trace_track(trace, q->replica->spec->name, "requests");
	trace_span(trace, track, SPAN_CALL,
		   arena_printf(spec->arena, "request %zu: %u tokens in, %u out",
				(size_t)(q - q->replica->service->queries) + 1,
				(unsigned)q->request->prompt, (unsigned)q->request->output),
		   q->arrival_ps, q->end_ps);
	trace_span(trace, track, SPAN_WAIT, "until the first token", q->arrival_ps, q->first_ps);
}

/* The client has all of its answer. */
static void answered(void *ctx, uint64_t arg)
{
	struct query *q = ctx;
	struct service *service = q->replica->service;
	trace_query(q);
	if (++service->ended_count == service->first_measured)
		service->warm_ps = q->end_ps;
	note_end(service);
}

void query_ended(struct query *q)
{
	struct replica *r = q->replica;
	int64_t now_ps = serving_now_ps(r->serving);
	q->end_ps = q->last_ps > now_ps ? q->last_ps : now_ps;
	q->parts_ps[SERVE_OVERHEAD] += q->end_ps - now_ps;
	r->ended_count += q->measured;
	if (!query_meets(q))
		query_missed(q);
	if (q->end_ps > now_ps)
		engine_do_at(r->serving->spec.engine, q->end_ps, answered, q, 0);
	else
		answered(q, 0);
}

/* Returns the number of requests in the queues of a service. */
static size_t waiting_of(const struct service *service)
{
	const struct serving *serving = service->serving;
	size_t waiting = 0;
	for (size_t i = 0; i < serving->spec.replica_count; i++)
		if (serving->replicas[i].service == service)
			waiting += serving->replicas[i].waiting_count;
	return waiting;
}

/* Returns true if the server refuses a request because its prompt is not cut and has more tokens
 * than an iteration. TensorRT-LLM does so without chunked prefill (llmapi/llm.py,
 * _check_arguments), and vLLM only starts if no prompt can be longer (config/scheduler.py). */
static bool is_too_long(const struct service *service, const struct serve_request *request)
{
	const struct serve_params *params = service->spec->params;
	return service->continuous && service->spec->generates && !params->chunked_prefill &&
	       (double)request->prompt > params->tokens_count;
}

static void arrive(void *ctx, uint64_t index)
{
	struct service *service = ctx;
	struct serving *serving = service->serving;
	const struct serve_request *request = &service->spec->requests.items[index];
	struct query *q = &service->queries[index];
	double limit = service->spec->params->queue_count;
	service->arrived_count++;
	q->request = request;
	q->parts_ps[SERVE_OVERHEAD] = serving_now_ps(serving) - q->arrival_ps;
	q->measured = index >= service->first_measured;
	if (index == service->first_measured) {
		service->opened_ps = serving_now_ps(serving);
		service->opened_waiting += waiting_of(service);
	}
	if (service_is_closed(service))
		service->arrivals_end_waiting += waiting_of(service);
	if (q->measured && !serving->open)
		window_open(serving);
	struct replica *r = route(serving, service, false);
	if ((limit > 0 && (double)r->waiting_count >= limit) || is_too_long(service, request)) {
		q->refused = true;
		service->refused_count++;
		note_end(service);
	} else {
		r->outstanding_count++;
		replica_enqueue(r, q);
		replica_work(r);
	}
	if (service_is_closed(service)) /* partial batches wait no longer */
		for (size_t i = 0; i < serving->spec.replica_count; i++)
			replica_work(&serving->replicas[i]);
}

/* ---- from a replica for prompts to one for tokens ---- */

struct passage {
	struct query *query;
	struct replica *from, *to;
	uint32_t blocks;
};

static void passage_over(void *ctx, uint64_t arg)
{
	struct passage *passage = ctx;
	struct query *q = passage->query;
	q->parts_ps[SERVE_TRANSFER] += serving_now_ps(passage->to->serving) - q->since_ps;
	passage->from->free_blocks += passage->blocks;
	passage->from->leaving_blocks -= passage->blocks;
	FW_ASSERT(passage->from->free_blocks <= passage->from->spec->block_count);
	replica_enqueue(passage->to, q);
	replica_work(passage->to);
	replica_work(passage->from);
}

void query_hand_over(struct query *q)
{
	struct serving *serving = q->replica->serving;
	struct passage *passage = ARENA_NEW(serving->spec.arena, struct passage);
	struct replica *to = route(serving, q->replica->service, true);
	*passage = (struct passage){q, q->replica, to, q->blocks};
	q->replica->leaving_blocks += q->blocks;
	q->blocks = 0;
	q->since_ps = serving_now_ps(serving);
	to->outstanding_count++;
	serving->spec.transfer(serving->spec.of, (size_t)(q->replica - serving->replicas),
			       (size_t)(to - serving->replicas), q->cached, passage_over, passage);
}

/* ---- begin ---- */

/* Returns the number of groups of requests, if some share tokens that replicas keep. */
static size_t groups_of(const struct serving_service_spec *spec)
{
	size_t count = 0;
	bool shares = false;
	for (size_t i = 0; i < spec->requests.count && spec->params->prefix_cache; i++) {
		const struct serve_request *request = &spec->requests.items[i];
		shares |= request->shared > 0;
		if (request->group >= count)
			count = (size_t)request->group + 1;
	}
	return shares ? count : 0;
}

/* Notes how much of a conversation, prompt and output, a later turn begins with. */
static void find_longest(struct service *service, struct arena *arena)
{
	service->longest = ARENA_ARRAY(arena, service->group_count, uint32_t);
	for (size_t i = 0; service->group_count > 0 && i < service->spec->requests.count; i++) {
		const struct serve_request *request = &service->spec->requests.items[i];
		uint32_t *longest = &service->longest[request->group];
		if (request->shared > *longest)
			*longest = request->shared;
	}
}

static void service_init(struct serving *serving, size_t index)
{
	struct service *service = &serving->services[index];
	const struct serving_service_spec *spec = &serving->spec.services[index];
	double warm = spec->params->warmup_ratio * (double)spec->requests.count;
	int batching = spec->params->batching;
	size_t processes = 0; /* each replica that takes requests has a front end of its own */
	for (size_t i = 0; i < serving->spec.replica_count; i++)
		if (serving->spec.replicas[i].service == index &&
		    serving->spec.replicas[i].role != ROLE_DECODE)
			processes += (size_t)spec->params->front_ends_count;
	FW_ASSERT(spec->requests.count > 0 && processes > 0);
	*service = (struct service){
		.spec = spec,
		.serving = serving,
		.queries = ARENA_ARRAY(serving->spec.arena, spec->requests.count, struct query),
		.first_measured = (size_t)warm,
		.group_count = groups_of(spec),
		.continuous = batching == BATCHING_CONTINUOUS ||
			      (batching == BATCHING_AUTO && spec->generates),
		.free_ps = ARENA_ARRAY(serving->spec.arena, processes, int64_t),
		.process_count = processes,
		.block = (uint32_t)spec->params->block_count,
		.message_ps = ps_from_s(spec->params->message_host_s),
		.merged_ps = ps_from_s(spec->params->merged_host_s),
		.accepted = rng_named(spec->seed, "accepted tokens"),
		.gaps = gaps_new(serving->spec.arena)};
	find_longest(service, serving->spec.arena);
}

/* Returns the replica's host memory for keys and values. */
static struct store *store_of(struct service *service, const struct serving_replica_spec *spec)
{
	struct arena *arena = service->serving->spec.arena;
	if (spec->shares_host && service->store)
		return service->store;
	struct store *store = ARENA_NEW(arena, struct store);
	store->free_blocks = spec->host_block_count;
	if (service->group_count > 0)
		store->prefixes = ARENA_ARRAY(arena, service->group_count, struct stored_prefix);
	return spec->shares_host ? service->store = store : store;
}

struct serving *serving_new(const struct serving_spec *spec)
{
	struct serving *serving = ARENA_NEW(spec->arena, struct serving);
	*serving = (struct serving){
		.spec = *spec,
		.services = ARENA_ARRAY(spec->arena, spec->service_count, struct service),
		.replicas = ARENA_ARRAY(spec->arena, spec->replica_count, struct replica)};
	for (size_t i = 0; i < spec->service_count; i++)
		service_init(serving, i);
	for (size_t i = 0; i < spec->replica_count; i++) {
		const struct serving_replica_spec *own = &spec->replicas[i];
		struct service *service = &serving->services[own->service];
		size_t most = (size_t)service->spec->params->batch_count;
		serving->replicas[i] =
			(struct replica){.spec = own,
					 .service = service,
					 .serving = serving,
					 .running = ARENA_ARRAY(spec->arena, most, struct query *),
					 .running_most = most,
					 .free_blocks = own->block_count,
					 .least_blocks = own->block_count,
					 .store = store_of(service, own)};
		if (!(service->group_count > 0 && own->block_count > 0))
			continue;
		struct replica *r = &serving->replicas[i];
		r->prefixes = ARENA_ARRAY(spec->arena, service->group_count, struct shared_prefix);
		for (size_t k = 0; k < service->group_count; k++)
			r->prefixes[k].store = &r->store->prefixes[k];
	}
	return serving;
}

static void end_at_once(void *ctx, uint64_t arg)
{
	window_open(ctx);
	end_run(ctx);
}

void serving_begin(struct serving *serving)
{
	if (serving->spec.missed) {
		engine_do_after(serving->spec.engine, 0, end_at_once, serving, 0);
		return;
	}
	for (size_t i = 0; i < serving->spec.service_count; i++) {
		struct service *service = &serving->services[i];
		size_t clients = (size_t)service->spec->params->concurrency_count;
		for (size_t k = 0; k < clients; k++)
			call_next(service, 0);
		if (clients == 0)
			call_next(service, service->spec->requests.items[0].arrival_ps);
	}
}

bool serving_is_over(const struct serving *serving)
{
	return serving->over;
}

bool serving_missed(const struct serving *serving, struct serving_use *use)
{
	const struct service *service = &serving->services[0];
	const struct serve_params *params = service->spec->params;
	bool limited = !service->continuous || service->refused_count > 0;
	*use = (struct serving_use){0};
	for (size_t i = 0; i < serving->spec.replica_count; i++) {
		const struct replica *r = &serving->replicas[i];
		limited |= r->limited;
		use->running = fmax(use->running, (double)r->most_running);
		use->tokens = fmax(use->tokens, r->most_rows);
		use->blocks = fmax(use->blocks, (double)(r->spec->block_count - r->least_blocks));
	}
	return serving_left(serving) > 0 && service->missed_count > 0 && !limited &&
	       use->running < params->batch_count && use->tokens < params->tokens_count;
}

size_t serving_left(const struct serving *serving)
{
	size_t left = 0;
	for (size_t i = 0; i < serving->spec.service_count; i++) {
		const struct service *service = &serving->services[i];
		left += service->spec->requests.count - service->ended_count -
			service->refused_count;
	}
	return left;
}
