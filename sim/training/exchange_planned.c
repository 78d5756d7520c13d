/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exchanges whose bundles are the same in every step. A rank launches a bundle when all its
 * gradients and those of the bundles before it are announced, and joins it when they are ready. */
#include "sim/training/exchange_parts.h"

struct planned {
	struct exchange base;
	const struct exchange_bundle *bundles;
	size_t count;
	struct bundle **open; /* bundles that some ranks have joined and some have not, or NULL */
	size_t *next;         /* by rank: the bundle that it joins next */
	size_t *next_launch;  /* by rank: the bundle that it launches next */
	int64_t *launched_ps; /* by rank and bundle */
};

static void join(struct planned *planned, size_t index, size_t rank)
{
	struct exchange *exchange = &planned->base;
	const struct exchange_bundle *own = &planned->bundles[index];
	struct bundle *bundle = planned->open[index];
	if (!bundle)
		bundle = planned->open[index] =
			bundle_begin(exchange, own->first, own->end - own->first);
	if (bundle->joined_count + 1 == exchange->host.rank_count) {
		planned->open[index] = NULL;
		exchange->host.gathered(exchange->host.ctx, own->first, own->end - own->first);
	}
	bundle_join(bundle, rank, planned->launched_ps[rank * planned->count + index]);
}

/* The host launches each bundle whose gradients are all announced. On the GPU the bundle still
 * waits for its gradients. */
static void announced(struct exchange *exchange, size_t rank, size_t first, size_t count)
{
	struct planned *planned = (struct planned *)exchange;
	size_t end = first + count, *next = &planned->next_launch[rank];
	for (; *next < planned->count && planned->bundles[*next].end <= end; (*next)++) {
		const struct exchange_bundle *own = &planned->bundles[*next];
		planned->launched_ps[rank * planned->count + *next] =
			exchange_launch(exchange, rank, own->end - own->first).launched_ps;
	}
	if (*next == planned->count)
		*next = 0;
}

static void ready(struct exchange *exchange, size_t rank, size_t first, size_t count)
{
	struct planned *planned = (struct planned *)exchange;
	size_t end = first + count, *next = &planned->next[rank];
	while (*next < planned->count && planned->bundles[*next].end <= end)
		join(planned, (*next)++, rank);
	if (*next == planned->count)
		*next = 0;
}

struct exchange *planned_new(const struct exchange_host *host)
{
	struct planned *planned = ARENA_NEW(host->arena, struct planned);
	size_t tensors = host->gradients->tensor_count, count;
	double *sizes_B = ARENA_ARRAY(host->arena, tensors, double);
	for (size_t t = 0; t < tensors; t++)
		sizes_B[t] = exchange_tensor_B(host, t);
	exchange_init(&planned->base, host, announced, ready);
	planned->bundles = exchange_divide(host->arena, host->params, sizes_B, tensors, &count);
	planned->count = count;
	planned->open = ARENA_ARRAY(host->arena, count, struct bundle *);
	planned->next = ARENA_ARRAY(host->arena, host->rank_count, size_t);
	planned->next_launch = ARENA_ARRAY(host->arena, host->rank_count, size_t);
	planned->launched_ps = ARENA_ARRAY(host->arena, host->rank_count * count, int64_t);
	return &planned->base;
}
