/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Horovod: a background thread on each rank wakes every cycle and sends a request to the
 * coordinator (rank 0) for each tensor that the rank has announced. When all ranks have
 * announced a tensor, the coordinator answers. It fuses tensors in order up to fusion_B;
 * an ANSWER names the tensors that one collective reduces.
 *
 * All ranks exchange messages in a cycle, so their threads go through cycles together and
 * one clock is enough. A cycle begins cycle_s + cycle_late_s after the previous one began,
 * or when the last rank has finished the work of the previous one, if that is later. The
 * work of a cycle:
 *
 *   no response cache   one round trip (requests and answers), and negotiation_s of the
 *                       coordinator for each request of a rank
 *   response cache      all ranks reduce a bit vector (CacheCoordinator::sync in
 *                       response_cache.cc calls MPI_Allreduce): ceil(log2 ranks) exchanges
 *                       between pairs of ranks, each of half a round trip and
 *                       cached_negotiation_s. If tensors are requested that were never
 *                       answered before, the work of the row above is added
 *   then                each rank performs the answers one after the other. It waits until
 *                       its GPU has computed ALL gradients of an answer, then it launches
 *                       the copies and the collective. With announce = issued it polls:
 *                       check, sleep cycle_late_s, and so on. It also sleeps once after
 *                       the check that succeeds
 *
 * A thread that waits takes part in no cycle. Tensors that are announced meanwhile are
 * answered together in the next cycle. Cycles without requests are not simulated.
 */
#include "sim/training/exchange_parts.h"

struct horovod_answer {
	struct bundle *bundle;
	size_t end, count; /* tensors [end - count, end) */
};

/* The background thread of a rank. */
struct performer {
	size_t at;        /* index of the answer that it performs */
	size_t computed;  /* tensors that the GPU has computed in this step */
	bool busy;        /* the thread launches, or sleeps before it launches */
	int64_t since_ps; /* time at which the thread began with this answer */
};

struct horovod {
	struct exchange base;
	uint32_t *announced_count; /* by tensor: ranks that have announced it in this step */
	uint32_t *computed_count;  /* by tensor: ranks that have computed it in this step */
	bool *known;               /* by tensor: the coordinator has answered it before */
	/* Tensors of this step: announced on all ranks; answered; computed on all ranks; passed
	 * to exchange_host.gathered. */
	size_t complete_count, answered_count, gathered_count, reported_count;
	size_t taken_count; /* tensors of this step that a cycle has found complete */
	int64_t since_ps;   /* time at which the first tensor behind these was complete */
	/* Requests since the last cycle began, and those of them that need the coordinator. */
	size_t requests_count, unknown_count;
	struct horovod_answer *answers; /* answers of this cycle */
	size_t answer_count;
	size_t performing_count; /* ranks that have not performed all answers of this cycle */
	struct performer *performers;
	int64_t look_ps;           /* time between two polls; 0: a rank waits without polling */
	int64_t cycle_ps;          /* minimum time between the begins of two cycles */
	int64_t idle_ps;           /* work of a cycle without requests */
	int64_t begin_ps, next_ps; /* begin of the last simulated cycle, and of the one after it */
	bool pending;              /* a cycle is scheduled or runs */
};

static void cycle(void *ctx, uint64_t arg);

/* Returns the work of a cycle without requests. */
static double idle_s(const struct exchange_host *host)
{
	if (!host->params->response_cache)
		return host->network_round_trip_s;
	double exchanges_count = ceil(log2((double)host->all_count));
	return exchanges_count *
	       (host->network_round_trip_s / 2 + host->params->cached_negotiation_s);
}

/* If there are requests, schedules the first cycle that begins now or later. */
static void wake(struct horovod *h)
{
	int64_t now_ps = engine_now_ps(h->base.host.engine), at_ps = h->next_ps;
	int64_t period_ps = h->cycle_ps > h->idle_ps ? h->cycle_ps : h->idle_ps;
	if (h->pending || h->requests_count == 0)
		return;
	h->pending = true;
	if (at_ps < now_ps && period_ps > 0)
		at_ps += (now_ps - at_ps + period_ps - 1) / period_ps * period_ps;
	engine_at(h->base.host.engine, at_ps > now_ps ? at_ps : now_ps, cycle, h, 0);
}

static void cycle_over(struct horovod *h)
{
	h->next_ps = engine_now_ps(h->base.host.engine);
	if (h->next_ps < h->begin_ps + h->cycle_ps)
		h->next_ps = h->begin_ps + h->cycle_ps;
	h->pending = false;
	h->answer_count = 0;
	wake(h);
}

static void perform(struct horovod *h, size_t rank);

static void performed(void *ctx, uint64_t rank)
{
	struct horovod *h = ctx;
	h->performers[rank].busy = false;
	h->performers[rank].at++;
	h->performers[rank].since_ps = engine_now_ps(h->base.host.engine);
	perform(h, (size_t)rank);
}

static void launch(void *ctx, uint64_t rank)
{
	struct horovod *h = ctx;
	struct bundle *bundle = h->answers[h->performers[rank].at].bundle;
	struct launch times = exchange_launch(&h->base, (size_t)rank, bundle->count);
	bundle_join(bundle, (size_t)rank, times.launched_ps);
	if (times.free_ps > engine_now_ps(h->base.host.engine))
		engine_at(h->base.host.engine, times.free_ps, performed, h, rank);
	else
		performed(h, rank);
}

/* Performs the rank's current answer if all its gradients are computed. Otherwise
 * horovod_ready calls this function again. */
static void perform(struct horovod *h, size_t rank)
{
	struct performer *performer = &h->performers[rank];
	if (performer->at == h->answer_count) {
		if (--h->performing_count == 0)
			cycle_over(h);
		return;
	}
	if (performer->computed < h->answers[performer->at].end)
		return;
	performer->busy = true;
	if (h->look_ps > 0) {
		int64_t waited_ps = engine_now_ps(h->base.host.engine) - performer->since_ps;
		int64_t looks = (waited_ps + h->look_ps - 1) / h->look_ps;
		engine_at(h->base.host.engine, performer->since_ps + (looks + 1) * h->look_ps,
			  launch, h, rank);
	} else {
		launch(h, rank);
	}
}

static void push_answer(struct horovod *h, size_t first, size_t count)
{
	for (size_t t = first; t < first + count; t++)
		h->known[t] = true;
	h->answers[h->answer_count++] =
		(struct horovod_answer){bundle_begin(&h->base, first, count), first + count, count};
}

/* Fuses tensors [first, end) in order; a tensor larger than the buffer gets its own answer. */
static void fuse(struct horovod *h, size_t first, size_t end)
{
	while (first < end) {
		double size_B = exchange_tensor_B(&h->base.host, first);
		size_t next = first + 1;
		for (; next < end; next++) {
			size_B += exchange_tensor_B(&h->base.host, next);
			if (size_B > h->base.host.params->fusion_B)
				break;
		}
		push_answer(h, first, next - first);
		first = next;
	}
}

/* Called at the end of negotiation. `end` is the number of tensors that all ranks had
 * announced when the cycle began. */
static void answer(void *ctx, uint64_t end)
{
	struct horovod *h = ctx;
	size_t first = h->answered_count, tensor_count = h->base.host.gradients->tensor_count;
	h->answered_count = (size_t)end;
	if (h->answered_count == tensor_count) { /* no rank is in the next step yet */
		h->answered_count = h->complete_count = h->taken_count = 0;
		memset(h->announced_count, 0, tensor_count * sizeof *h->announced_count);
	}
	h->answer_count = 0;
	fuse(h, first, (size_t)end);
	h->performing_count = h->base.host.rank_count;
	for (size_t rank = 0; rank < h->base.host.rank_count; rank++) {
		h->performers[rank].at = 0;
		h->performers[rank].since_ps = engine_now_ps(h->base.host.engine);
		perform(h, rank);
	}
}

static void cycle(void *ctx, uint64_t arg)
{
	struct horovod *h = ctx;
	const struct exchange_host *host = &h->base.host;
	double work_s = idle_s(host) + host->params->negotiation_s * (double)h->unknown_count;
	if (host->params->response_cache && h->unknown_count > 0)
		work_s += host->network_round_trip_s;
	h->requests_count = h->unknown_count = 0;
	h->begin_ps = engine_now_ps(host->engine);
	if (h->complete_count > h->taken_count)
		engine_wait_add(host->engine, WAIT_CYCLE, h->begin_ps - h->since_ps);
	h->taken_count = h->complete_count;
	engine_after(host->engine, ps_from_s(work_s), answer, h, h->complete_count);
}

static void horovod_announced(struct exchange *exchange, size_t rank, size_t first, size_t count)
{
	struct horovod *h = (struct horovod *)exchange;
	size_t copies = exchange->host.copies ? exchange->host.copies[rank] : 1;
	if (first == 0)
		h->performers[rank].computed = 0;
	for (size_t t = first; t < first + count; t++) {
		h->requests_count++;
		if (!exchange->host.params->response_cache || !h->known[t])
			h->unknown_count += copies;
		if (++h->announced_count[t] < exchange->host.rank_count)
			continue;
		if (h->complete_count == h->taken_count)
			h->since_ps = engine_now_ps(exchange->host.engine);
		h->complete_count = t + 1;
	}
	wake(h);
}

/* Calls exchange_host.gathered for tensors that all ranks have computed. Tensors of one answer
 * are passed together. */
static void report_gathered(struct horovod *h)
{
	const struct exchange_host *host = &h->base.host;
	size_t count = h->gathered_count, reported_count = h->reported_count;
	for (size_t i = 0; i < h->answer_count; i++) {
		size_t first = h->answers[i].end - h->answers[i].count;
		if (count > first && count < h->answers[i].end)
			count = first;
	}
	if (count > reported_count) {
		h->reported_count = count;
		host->gathered(host->ctx, reported_count, count - reported_count);
	}
	if (h->reported_count ==
	    host->gradients->tensor_count) { /* no rank is in the next step yet */
		h->gathered_count = h->reported_count = 0;
		memset(h->computed_count, 0,
		       host->gradients->tensor_count * sizeof *h->computed_count);
	}
}

static void horovod_ready(struct exchange *exchange, size_t rank, size_t first, size_t count)
{
	struct horovod *h = (struct horovod *)exchange;
	struct performer *performer = &h->performers[rank];
	for (size_t t = first; t < first + count; t++)
		if (++h->computed_count[t] == exchange->host.rank_count)
			h->gathered_count = t + 1;
	report_gathered(h);
	bool waits = h->performing_count > 0 && !performer->busy &&
		     performer->at < h->answer_count &&
		     performer->computed < h->answers[performer->at].end;
	performer->computed = first + count;
	if (waits)
		perform(h, rank);
}

static struct exchange *horovod_new(const struct exchange_host *host)
{
	struct horovod *h = ARENA_NEW(host->arena, struct horovod);
	exchange_init(&h->base, host, horovod_announced, horovod_ready);
	h->base.one_stream = true;
	h->base.copy_launch_ps = ps_from_s(host->params->copy_launch_s);
	h->announced_count = ARENA_ARRAY(host->arena, host->gradients->tensor_count, uint32_t);
	h->computed_count = ARENA_ARRAY(host->arena, host->gradients->tensor_count, uint32_t);
	h->answers = ARENA_ARRAY(host->arena, host->gradients->tensor_count, struct horovod_answer);
	h->performers = ARENA_ARRAY(host->arena, host->rank_count, struct performer);
	if (host->params->announce == ANNOUNCE_ISSUED)
		h->look_ps = ps_from_s(host->params->cycle_late_s);
	h->known = ARENA_ARRAY(host->arena, host->gradients->tensor_count, bool);
	h->cycle_ps = ps_from_s(host->params->cycle_s + host->params->cycle_late_s);
	h->idle_ps = ps_from_s(idle_s(host));
	h->next_ps = engine_now_ps(host->engine);
	return &h->base;
}

/* Programs that write their collectives as calls fill the fusion buffer in the order of readiness.
 */
static size_t buffers(const struct exchange_params *params, const double *sizes_B, size_t count,
		      struct exchange_bundle *bundles)
{
	size_t buffer_count = 0, first = 0;
	double size_B = 0;
	for (size_t t = 0; t < count; t++) {
		size_B += sizes_B[t];
		if (t + 1 == count || size_B + sizes_B[t + 1] > params->fusion_B) {
			bundles[buffer_count++] =
				(struct exchange_bundle){.first = first, .end = t + 1};
			first = t + 1;
			size_B = 0;
		}
	}
	return buffer_count;
}

const struct exchange_policy exchange_horovod = {
	.name = "horovod",
	.help = "a background thread negotiates in cycles which gradients are ready on all ranks, "
		"and fuses them in a buffer",
	.divide = buffers,
	.new = horovod_new,
};
