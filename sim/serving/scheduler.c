/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The scheduler of a replica: which tokens of which requests an iteration processes.
 *
 * A request needs the keys and values of all its tokens before it gets its next token. So it has
 * tokens that are PENDING: those of its prompt and of its output that are not in the cache. After
 * the prompt there is one, the last token. After a preemption there are all.
 *
 * With speculative decoding, an iteration also checks tokens that were DRAFTED behind the last one.
 * A drafted token is right with a given probability if those before it are. So k drafted tokens at
 * probability a give (1 - a^(k + 1)) / (1 - a) tokens on average (Leviathan et al., Fast inference
 * from transformers via speculative decoding, ICML 2023, equation 1).
 */
#include "sim/base/list.h"
#include "sim/serving/internal.h"

static uint32_t pending_of(const struct query *q)
{
	return q->request->prompt + q->produced - q->cached;
}

static bool is_complete(const struct query *q)
{
	return q->produced == q->request->output;
}

/* ---- queue ---- */

/* Adds the waits since the last call to those of the present cause. It is called before the queue
 * or the cause changes. */
static void tally(struct replica *r)
{
	int64_t now_ps = serving_now_ps(r->serving);
	r->queue_sums_s[r->cause] += (double)r->waiting_count * s_from_ps(now_ps - r->tallied_ps);
	r->tallied_ps = now_ps;
}

void replica_enqueue(struct replica *r, struct query *q)
{
	tally(r);
	q->replica = r;
	q->since_ps = serving_now_ps(r->serving);
	QUEUE_PUSH(r, q, next);
	r->waiting_count++;
}

/* Takes the first request from the queue. Its copy in host memory is needed no longer. */
static struct query *queue_pop(struct replica *r)
{
	struct query *q = r->head;
	r->store->free_blocks += q->stored > 0 ? blocks_of(r, q->stored) : 0;
	q->stored = 0;
	r->head = q->next;
	r->waiting_count--;
	if (!q->begun)
		q->begun_ps = serving_now_ps(r->serving);
	q->begun = true;
	q->parts_ps[SERVE_QUEUE] += serving_now_ps(r->serving) - q->since_ps;
	return q;
}

/* The request's parts begin with the next iteration that ends. */
static void begin_parts(const struct replica *r, struct query *q)
{
	q->kernel_from_ps = r->kernel_sum_ps;
	q->exchange_from_ps = r->exchange_sum_ps;
	q->overhead_from_ps = r->overhead_sum_ps;
}

static void join(struct replica *r, struct query *q)
{
	begin_parts(r, q);
	r->running[r->running_count++] = q;
}

static void query_loaded(void *ctx, uint64_t arg)
{
	struct query *q = ctx;
	struct replica *r = q->replica;
	q->parts_ps[SERVE_TRANSFER] += serving_now_ps(r->serving) - q->since_ps;
	q->since_ps = serving_now_ps(r->serving);
	q->late = r->busy;
	q->cached = q->loading;
	r->loading_count--;
	join(r, q);
	replica_work(r);
}

/* Lets the first request of the queue, whose blocks are taken, wait until the keys and values that
 * the GPU lacks of its first tokens come from host memory. */
static void load(struct replica *r, uint32_t tokens)
{
	struct query *q = queue_pop(r);
	q->loading = tokens;
	q->since_ps = serving_now_ps(r->serving);
	r->loading_count++;
	replica_offload(r, tokens - q->cached, true, query_loaded, q);
}

/* Adds the iterations since the request was admitted to its parts. */
static void settle(struct replica *r, struct query *q)
{
	q->parts_ps[SERVE_KERNEL] += r->kernel_sum_ps - q->kernel_from_ps;
	q->parts_ps[SERVE_EXCHANGE] += r->exchange_sum_ps - q->exchange_from_ps;
	q->parts_ps[SERVE_OVERHEAD] += r->overhead_sum_ps - q->overhead_from_ps;
}

/* Takes the blocks of the request that was admitted last and puts it before the queue. */
static void preempt_last(struct replica *r)
{
	struct query *q = r->running[--r->running_count];
	settle(r, q);
	blocks_return(r, q);
	query_store(r, q);
	q->cached = q->fresh = q->drafted = 0;
	q->since_ps = serving_now_ps(r->serving);
	q->next = r->head;
	r->tail = r->head ? r->tail : q;
	r->head = q;
	r->waiting_count++;
	r->service->preempted_count++;
}

/* ---- an iteration ---- */

/* Returns the pairs of n new tokens with all earlier ones in the window and with themselves. */
static double pairs_of(double cached, double n, double window)
{
	double inside = fmin(n, window > cached ? window - cached : 0);
	return inside * cached + inside * (inside + 1) / 2 + (n - inside) * window;
}

static void take_part(const struct replica *r, struct query *q, uint32_t n, struct iteration *it)
{
	double cached = q->cached, tokens = n, all = cached + tokens;
	double window = r->spec->window ? (double)r->spec->window : all;
	q->fresh = n;
	it->rows += tokens;
	it->sequences += n == pending_of(q);
	if (n == 1 && q->produced > 0) {
		it->decode_rows++;
		it->decode_keys[0] += all;
		it->decode_keys[1] += fmin(all, window);
		return;
	}
	it->prompt_rows += tokens;
	it->prompt_keys[0] += all;
	it->prompt_keys[1] += fmin(all, window + tokens);
	it->prompt_pairs[0] += pairs_of(cached, tokens, all);
	it->prompt_pairs[1] += pairs_of(cached, tokens, window);
}

/* Lets the iteration check tokens that were drafted behind the request's last one, if the budget
 * and the cache have room for all of them. Returns their number. */
static uint32_t take_drafted(struct replica *r, struct query *q, uint32_t budget,
			     struct iteration *it)
{
	uint32_t n = (uint32_t)r->service->spec->params->drafted_count;
	r->limited |= n > budget;
	if (n == 0 || pending_of(q) != 1 || q->produced == 0 || n > budget ||
	    !blocks_take(r, q, q->cached + q->fresh + n))
		return 0;
	q->drafted = n;
	it->drafted += n;
	it->rows += n;
	it->sequences += n;
	return n;
}

/* Gives each running request, or each whose prompt is not processed yet, up to `budget` of its
 * pending tokens. Returns the rest of the budget; 0 if a request was preempted. */
static uint32_t go_on(struct replica *r, uint32_t budget, bool prompts, struct iteration *it)
{
	bool preempted = false;
	for (size_t i = 0; i < r->running_count && budget > 0; i++) {
		struct query *q = r->running[i];
		if (prompts && q->produced > 0 && pending_of(q) == 1)
			continue;
		uint32_t n = smaller(pending_of(q), budget);
		while (i < r->running_count && !blocks_take(r, q, q->cached + n)) {
			preempt_last(r);
			preempted = true;
		}
		if (i == r->running_count)
			break;
		take_part(r, q, n, it);
		budget -= n;
		budget -= take_drafted(r, q, budget, it);
	}
	return preempted ? 0 : budget;
}

/* Admits requests while the budget, the batch and memory allow it. whole: prompts are not cut; a
 * preempted request with its output so far may exceed the budget if it is the first. A cut prompt
 * gets the blocks of all its parts (serve.reserve_prompt) because other requests would take those
 * of its later parts, and it would be preempted. With serve.reserve_output a request gets the
 * blocks of all its tokens. With serve.overlap the iteration was planned when the last one began on
 * the GPU, so requests that came later wait for the next one. */
static void admit_more(struct replica *r, uint32_t budget, bool whole, struct iteration *it)
{
	const struct serve_params *params = r->service->spec->params;
	int64_t planned_ps = params->overlap && r->running_count > 0
				     ? r->kernel_since_ps - r->exchange_ps
				     : serving_now_ps(r->serving);
	while (r->head && r->head->since_ps <= planned_ps && budget > 0 &&
	       r->running_count + r->loading_count < r->running_most) {
		bool first = it->rows <= 0;
		struct query *q = r->head;
		prefix_find(r, q);
		uint32_t stored = tokens_stored(r, q);
		if (q->storing) {
			r->cause = QUEUE_FOR_TRANSFERS;
			break;
		}
		uint32_t pending = pending_of(q), n = whole ? pending : smaller(pending, budget);
		if (n > budget && !first) {
			r->limited = true;
			break;
		}
		uint32_t tokens = q->cached + (params->reserve_prompt ? pending : n);
		tokens = tokens < stored ? stored : tokens;
		if (params->reserve_output) /* the last token is not kept */
			tokens = q->request->prompt + q->request->output - 1;
		if (!blocks_take(r, q, tokens))
			break;
		if (stored > 0) {
			load(r, stored);
			continue;
		}
		join(r, queue_pop(r));
		if (whole && n == 1 && q->produced > 0)
			continue; /* its keys and values came from another replica */
		take_part(r, q, n, it);
		budget = n < budget ? budget - n : 0;
	}
	if (r->head && r->head->prefix) { /* others may evict the prefix while it waits */
		prefix_leave(r, r->head);
		r->head->cached = 0;
	}
	if (r->running_count + r->loading_count == r->running_most)
		r->cause = QUEUE_FOR_LIMIT;
}

static void plan_continuous(struct replica *r, struct iteration *it)
{
	const struct serve_params *params = r->service->spec->params;
	bool mixed = params->mixing == MIXING_ON ||
		     (params->mixing == MIXING_AUTO && params->chunked_prefill);
	uint32_t budget = go_on(r, (uint32_t)params->tokens_count, !mixed, it);
	admit_more(r, budget, !params->chunked_prefill, it);
	if (it->rows <= 0 && !mixed)
		go_on(r, UINT32_MAX, false, it);
}

static void alarm_rings(void *ctx, uint64_t arg)
{
	struct replica *r = ctx;
	r->alarm = false;
	replica_work(r);
}

/* Returns true if a fixed or dynamic batch can begin. */
static bool batch_is_there(struct replica *r)
{
	const struct serve_params *params = r->service->spec->params;
	if (!r->head)
		return false;
	if (r->waiting_count >= r->running_most || service_is_closed(r->service))
		return true;
	if (params->batching == BATCHING_FIXED)
		return false;
	int64_t at_ps = r->head->since_ps + ps_from_s(params->delay_s);
	if (serving_now_ps(r->serving) >= at_ps)
		return true;
	if (!r->alarm)
		engine_do_at(r->serving->spec.engine, at_ps, alarm_rings, r, 0);
	r->alarm = true;
	return false;
}

/* A batch runs until all its requests are complete. Their blocks are taken at its begin. */
static void plan_batch(struct replica *r, struct iteration *it)
{
	if (r->running_count == 0 && !batch_is_there(r)) {
		r->cause = QUEUE_FOR_OTHERS;
		return;
	}
	for (bool begins = r->running_count == 0;
	     begins && r->head && r->running_count < r->running_most;) {
		const struct serve_request *request = r->head->request;
		if (!blocks_take(r, r->head, request->prompt + request->output - 1))
			break;
		join(r, queue_pop(r));
	}
	for (size_t i = 0; i < r->running_count; i++)
		if (!is_complete(r->running[i]))
			take_part(r, r->running[i], pending_of(r->running[i]), it);
}

/* ---- the end of an iteration ---- */

/* Lets the front end send the request's new tokens to its client. */
static void send_tokens(struct query *q)
{
	struct service *service = q->replica->service;
	const struct serve_params *params = service->spec->params;
	size_t index = (size_t)(q - service->queries);
	if (q->first_ps > 0 && !is_complete(q) &&
	    q->produced - q->sent < (uint32_t)params->stream_interval_count)
		return;
	q->sent = q->produced;
	if (params->merges &&
	    q->last_ps > serving_now_ps(q->replica->serving) + service->message_ps) {
		front_end_work(service, index, service->merged_ps);
		return;
	}
	int64_t sent_ps = front_end_work(service, index, service->message_ps);
	if (q->first_ps == 0) {
		q->first_ps = sent_ps;
		if (params->first_slo_s > 0 &&
		    s_from_ps(sent_ps - q->arrival_ps) > params->first_slo_s)
			query_missed(q);
	} else if (q->measured)
		gap_note(service, sent_ps - q->last_ps);
	q->last_ps = sent_ps;
}

static void token_is_there(struct query *q)
{
	q->produced++;
	/* drafted tokens that are right come at the same time, and need no further iteration */
	const struct serve_params *params = q->replica->service->spec->params;
	for (; q->drafted > 0 && !is_complete(q) &&
	       rng_uniform(&q->replica->service->accepted) < params->acceptance_ratio;
	     q->drafted--, q->cached++)
		q->produced++;
	q->drafted = 0;
	send_tokens(q);
}

/* Returns true if another replica generates the other tokens of the request. */
static bool goes_away(const struct replica *r, const struct query *q)
{
	return r->spec->role == ROLE_PREFILL && q->produced > 0 && !is_complete(q);
}

/* Returns true if the request leaves the replica. */
static bool leaves(struct replica *r, struct query *q, bool batch_over)
{
	bool away = goes_away(r, q), over = is_complete(q) && batch_over;
	if (!away && !over)
		return false;
	settle(r, q);
	r->outstanding_count--;
	if (over) {
		blocks_return(r, q);
		query_ended(q);
	} else {
		prefix_leave(r, q); /* the blocks that it shares stay */
		query_hand_over(q);
	}
	return true;
}

static void trace_iteration(const struct replica *r)
{
	struct trace *trace = engine_trace(r->serving->spec.engine);
	if (!trace)
		return;
	uint32_t track = trace_track(trace, r->spec->name, "iterations");
	int64_t end_ps = serving_now_ps(r->serving), kernels_ps = end_ps - r->kernel_ps;
	int64_t exchange_ps = kernels_ps - r->exchange_ps;
	trace_span(trace, track, SPAN_CALL, r->label, exchange_ps - r->overhead_ps, end_ps);
	if (r->overhead_ps > 0)
		trace_span(trace, track, SPAN_CPU, "overhead", exchange_ps - r->overhead_ps,
			   exchange_ps);
	if (r->exchange_ps > 0)
		trace_span(trace, track, SPAN_WIRE, "collectives", exchange_ps, kernels_ps);
	trace_span(trace, track, SPAN_KERNEL, "kernels", kernels_ps, end_ps);
}

static void iteration_over(void *ctx, uint64_t arg)
{
	struct replica *r = ctx;
	size_t kept = 0;
	bool batch_over = true;
	if (r->spec->stream) /* others may have slowed down the kernels */
		r->kernel_ps = serving_now_ps(r->serving) - r->kernel_since_ps;
	trace_iteration(r);
	r->kernel_sum_ps += r->kernel_ps;
	r->exchange_sum_ps += r->exchange_ps;
	r->overhead_sum_ps += r->overhead_ps;
	r->busy = false;
	for (size_t i = 0; i < r->running_count; i++) {
		struct query *q = r->running[i];
		if (q->late) {
			q->parts_ps[SERVE_QUEUE] += serving_now_ps(r->serving) - q->since_ps;
			begin_parts(r, q);
		}
		q->late = false;
		q->cached += q->fresh;
		prefix_keep(r, q);
		if (q->fresh > 0 && pending_of(q) == 0)
			token_is_there(q);
		q->fresh = 0;
		batch_over &= is_complete(q) || goes_away(r, q);
	}
	batch_over |= r->service->continuous;
	for (size_t i = 0; i < r->running_count; i++)
		if (!leaves(r, r->running[i], batch_over))
			r->running[kept++] = r->running[i];
	r->running_count = kept;
	replica_work(r);
}

static void kernels_begin(void *ctx, uint64_t arg)
{
	struct replica *r = ctx;
	const struct gpu_op op = {.kind = GPU_OP_KERNEL,
				  .label = "iteration",
				  .duration_s = s_from_ps(r->kernel_ps),
				  .continued = true,
				  .done = iteration_over,
				  .ctx = r};
	gpu_submit(r->spec->stream, &op);
}

void replica_work(struct replica *r)
{
	struct iteration it = {0};
	if (r->busy)
		return;
	tally(r);
	if (r->service->continuous || r->running_count == 0)
		r->cause = QUEUE_FOR_GPU;
	const struct serve_params *params = r->service->spec->params;
	if (r->service->continuous)
		plan_continuous(r, &it);
	else
		plan_batch(r, &it);
	if (r->running_count + r->loading_count > r->most_running)
		r->most_running = r->running_count + r->loading_count;
	if (it.rows > r->most_rows)
		r->most_rows = it.rows;
	if (it.rows <= 0)
		return;
	struct iteration_time time = r->spec->time(r->spec->ctx, &it);
	r->kernel_ps = ps_from_s(time.kernel_s);
	r->exchange_ps = ps_from_s(time.exchange_s);
	r->overhead_ps =
		ps_from_s(time.overhead_s + (it.sequences - it.drafted) * params->sequence_host_s);
	r->busy = true;
	struct engine *engine = r->serving->spec.engine;
	if (engine_trace(engine))
		r->label = arena_printf(r->serving->spec.arena,
					"%.0f tokens of prompts, %.0f of outputs", it.prompt_rows,
					it.decode_rows);
	int64_t others_ps = r->exchange_ps + r->overhead_ps;
	r->kernel_since_ps = serving_now_ps(r->serving) + others_ps;
	if (r->spec->stream)
		engine_do_after(engine, others_ps, kernels_begin, r, 0);
	else
		engine_do_after(engine, r->kernel_ps + others_ps, iteration_over, r, 0);
}
