/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/training/exchange_parts.h"

/* ---- bundles ---- */

void exchange_init(struct exchange *exchange, const struct exchange_host *host,
		   exchange_take_fn *announced, exchange_take_fn *ready)
{
	exchange->announced = announced;
	exchange->ready = ready;
	exchange->host = *host;
	exchange->launch_ps = ps_from_s(host->params->launch_s);
	exchange->launcher_free_ps = ARENA_ARRAY(host->arena, host->rank_count, int64_t);
	exchange->launched_count = ARENA_ARRAY(host->arena, host->rank_count, size_t);
	exchange->over_count = ARENA_ARRAY(host->arena, host->rank_count, size_t);
}

struct exchange *exchange_new(const struct exchange_host *host)
{
	const struct exchange_policy *policy = exchange_policy_at((size_t)host->params->policy);
	return (policy->new ? policy->new : planned_new)(host);
}

void exchange_announced(struct exchange *exchange, size_t rank, size_t first, size_t count)
{
	exchange->announced(exchange, rank, first, count);
}

void exchange_ready(struct exchange *exchange, size_t rank, size_t first, size_t count)
{
	exchange->ready(exchange, rank, first, count);
}

double exchange_tensor_B(const struct exchange_host *host, size_t tensor)
{
	return exchange_gradient_B(host->params, host->gradients->tensors[tensor].elements_count,
				   host->element_B);
}

int64_t exchange_collective_ps(const struct exchange *exchange)
{
	return exchange->under_way_ps;
}

static void bundle_arrive(void *ctx, uint64_t rank)
{
	struct bundle *bundle = ctx;
	struct exchange *exchange = bundle->exchange;
	if (++bundle->arrived_count == exchange->host.rank_count &&
	    exchange->under_way_count++ == 0)
		exchange->under_way_since_ps = engine_now_ps(exchange->host.engine);
	communicator_arrive(exchange->host.comm, bundle->number, (size_t)rank);
}

static void bundle_copy_in(struct bundle *bundle, uint64_t rank)
{
	const struct exchange_host *host = &bundle->exchange->host;
	host->copy(host->ctx, (size_t)rank, bundle->copy_B, bundle_arrive, bundle, rank);
}

static void bundle_launched(void *ctx, uint64_t rank)
{
	struct bundle *bundle = ctx;
	struct exchange *exchange = bundle->exchange;
	exchange->launched_count[rank]++;
	if (!exchange->one_stream || exchange->over_count[rank] == bundle->index)
		bundle_copy_in(bundle, rank);
}

/* Called when the reduced gradients are in the rank's GPU memory and copied out of the buffer. */
static void bundle_reduced(void *ctx, uint64_t rank)
{
	struct bundle *bundle = ctx, *following = bundle->following;
	struct exchange *exchange = bundle->exchange;
	size_t first = bundle->first, count = bundle->count;
	if (++exchange->over_count[rank] < exchange->launched_count[rank] && exchange->one_stream)
		bundle_copy_in(following, rank);
	if (++bundle->reduced_count == exchange->host.rank_count) {
		if (exchange->last == bundle)
			exchange->last = NULL;
		POOL_GIVE(bundle, exchange->free);
	}
	exchange->host.reduced(exchange->host.ctx, (size_t)rank, first, count);
}

static void bundle_over(void *ctx, uint64_t arg, size_t rank)
{
	struct bundle *bundle = ctx;
	struct exchange *exchange = bundle->exchange;
	if (++bundle->over_count == exchange->host.rank_count && --exchange->under_way_count == 0)
		exchange->under_way_ps +=
			engine_now_ps(exchange->host.engine) - exchange->under_way_since_ps;
	exchange->host.copy(exchange->host.ctx, rank, bundle->copy_B, bundle_reduced, bundle, rank);
}

struct bundle *bundle_begin(struct exchange *exchange, size_t first, size_t count)
{
	struct bundle *bundle;
	POOL_TAKE(exchange->host.arena, bundle, exchange->free);
	*bundle = (struct bundle){.exchange = exchange,
				  .first = first,
				  .count = count,
				  .index = exchange->begun_count++};
	if (exchange->last)
		exchange->last->following = bundle;
	exchange->last = bundle;
	for (size_t t = first; t < first + count; t++)
		bundle->size_B += exchange_tensor_B(&exchange->host, t);
	bundle->copy_B = count > 1 ? bundle->size_B : 0;
	const struct collective_request request = {
		.collective = COLLECTIVE_ALL_REDUCE,
		.size_B = bundle->size_B,
		.turn = first,
		.label = exchange->host.gradients->tensors[first].name,
		.rank_done = bundle_over,
		.ctx = bundle,
	};
	bundle->number = communicator_begin(exchange->host.comm, &request);
	return bundle;
}

struct launch exchange_launch(struct exchange *exchange, size_t rank, size_t count)
{
	int64_t now_ps = engine_now_ps(exchange->host.engine);
	int64_t *free_ps = &exchange->launcher_free_ps[rank];
	int64_t copies_ps = count > 1 ? (int64_t)count * exchange->copy_launch_ps : 0;
	struct launch launch = {.launched_ps = (*free_ps > now_ps ? *free_ps : now_ps) + copies_ps +
					       exchange->launch_ps};
	launch.free_ps = *free_ps = launch.launched_ps + copies_ps;
	return launch;
}

void bundle_join(struct bundle *bundle, size_t rank, int64_t launched_ps)
{
	struct exchange *exchange = bundle->exchange;
	FW_ASSERT(bundle->joined_count < exchange->host.rank_count);
	bundle->joined_count++;
	if (launched_ps > engine_now_ps(exchange->host.engine))
		engine_at(exchange->host.engine, launched_ps, bundle_launched, bundle, rank);
	else
		bundle_launched(bundle, rank);
}
