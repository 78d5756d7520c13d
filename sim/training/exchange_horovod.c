/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Horovod: a background thread on each rank wakes every cycle and tells the
 * coordinator (rank 0) which tensors have become ready there; those that are ready
 * on all ranks are answered, fused in order up to fusion_B, and launched.
 *
 * A cycle's exchange of messages is collective, so the threads of all ranks go
 * through cycles together and one clock stands for all. A cycle begins cycle_s
 * (and what a sleeping thread wakes late) after the one before began, or when its work is over if
 * that is later:
 *
 *   no response cache   a round trip (requests in, answers out), and the
 *                       coordinator's negotiation_s for each request of a rank
 *   response cache      a round trip (a bit vector reduced over all ranks), and
 *                       cached_negotiation_s a rank; if there are requests of tensors
 *                       never answered before, all of the above too
 *   then                launch_s for each answer
 *
 * Cycles in which there is nothing new are not simulated one by one.
 */
#include <string.h>

#include "sim/base/arena.h"
#include "sim/training/exchange_parts.h"

struct horovod {
	struct exchange base;
	uint32_t *ready_count; /* by tensor: ranks that have it, this step */
	bool *known;           /* by tensor: answered once */
	/* Of this step: tensors ready on all ranks, and those answered. */
	size_t complete_count, answered_count;
	/* Since the last cycle began; unknown: these need the coordinator. */
	size_t requests_count, unknown_count;
	int64_t cycle_ps, idle_ps; /* a cycle's least length; work of one without requests */
	int64_t begin_ps, next_ps; /* of the last cycle that was simulated, and after it */
	bool pending;              /* a cycle is to come or at work */
};

static void cycle(void *ctx, uint64_t arg);

static double round_trip_s(const struct horovod *h)
{
	const struct exchange_params *params = h->base.host.params;
	return h->base.host.network_round_trip_s +
	       (params->response_cache
			? params->cached_negotiation_s * (double)h->base.host.rank_count
			: 0);
}

/* The first cycle that begins now or later. */
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

static void launch(struct horovod *h, size_t first, size_t count)
{
	struct bundle *bundle = bundle_begin(&h->base, first, count);
	for (size_t t = first; t < first + count; t++)
		h->known[t] = true;
	for (size_t rank = 0; rank < h->base.host.rank_count; rank++)
		bundle_join(bundle, rank);
}

/* Fuses tensors [first, end) in order; a tensor larger than the buffer goes alone. */
static size_t fuse_and_launch(struct horovod *h, size_t first, size_t end)
{
	size_t answers_count = 0;
	while (first < end) {
		double size_B = exchange_tensor_B(&h->base.host, first);
		size_t next = first + 1;
		for (; next < end; next++) {
			size_B += exchange_tensor_B(&h->base.host, next);
			if (size_B > h->base.host.params->fusion_B)
				break;
		}
		launch(h, first, next - first);
		answers_count++;
		first = next;
	}
	return answers_count;
}

/* Negotiation is over: `end` tensors were complete when the cycle began. */
static void answer(void *ctx, uint64_t end)
{
	struct horovod *h = ctx;
	size_t first = h->answered_count, tensor_count = h->base.host.profile->tensor_count;
	h->answered_count = (size_t)end;
	if (h->answered_count == tensor_count) { /* nobody is in the next step yet */
		h->answered_count = h->complete_count = 0;
		memset(h->ready_count, 0, tensor_count * sizeof *h->ready_count);
	}
	size_t answers_count = fuse_and_launch(h, first, (size_t)end);
	h->next_ps =
		engine_now_ps(h->base.host.engine) + (int64_t)answers_count * h->base.launch_ps;
	if (h->next_ps < h->begin_ps + h->cycle_ps)
		h->next_ps = h->begin_ps + h->cycle_ps;
	h->pending = false;
	wake(h);
}

static void cycle(void *ctx, uint64_t arg)
{
	struct horovod *h = ctx;
	const struct exchange_host *host = &h->base.host;
	double work_s = round_trip_s(h) + host->params->negotiation_s * (double)h->unknown_count;
	(void)arg;
	if (host->params->response_cache && h->unknown_count > 0)
		work_s += host->network_round_trip_s;
	h->requests_count = h->unknown_count = 0;
	h->begin_ps = engine_now_ps(host->engine);
	engine_after(host->engine, ps_from_s(work_s), answer, h, h->complete_count);
}

static void horovod_ready(struct exchange *exchange, size_t rank, size_t first, size_t count)
{
	struct horovod *h = (struct horovod *)exchange;
	size_t complete_count = h->complete_count;
	(void)rank;
	for (size_t t = first; t < first + count; t++) {
		h->requests_count++;
		if (!exchange->host.params->response_cache || !h->known[t])
			h->unknown_count++;
		if (++h->ready_count[t] == exchange->host.rank_count)
			h->complete_count = t + 1;
	}
	if (h->complete_count > complete_count)
		exchange->host.gathered(exchange->host.ctx, complete_count,
					h->complete_count - complete_count);
	wake(h);
}

static struct exchange *horovod_new(const struct exchange_host *host)
{
	struct horovod *h = ARENA_NEW(host->arena, struct horovod);
	exchange_init(&h->base, &exchange_horovod, host);
	h->ready_count = ARENA_ARRAY(host->arena, host->profile->tensor_count, uint32_t);
	h->known = ARENA_ARRAY(host->arena, host->profile->tensor_count, bool);
	h->cycle_ps = ps_from_s(host->params->cycle_s + host->params->cycle_late_s);
	h->idle_ps = ps_from_s(round_trip_s(h));
	h->next_ps = engine_now_ps(host->engine);
	return &h->base;
}

const struct exchange_policy exchange_horovod = {
	.name = "horovod",
	.help = "a background thread's cycles, negotiation of what is ready everywhere, a fusion "
		"buffer",
	.new = horovod_new,
	.ready = horovod_ready,
};
