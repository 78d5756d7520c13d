/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exchanges whose bundles are the same in every step. A rank launches a bundle when all its
 * gradients are announced, and joins it when they are ready. */
#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/training/exchange_parts.h"

struct planned {
	struct exchange base;
	const size_t *ends;
	size_t count;
	struct bundle **open; /* bundles that some ranks have joined and some have not, or NULL */
	size_t *next;         /* by rank: the bundle that it joins next */
	size_t *next_launch;  /* by rank: the bundle that it launches next */
	int64_t *launched_ps; /* by rank and bundle */
};

struct exchange *planned_new(const struct exchange_policy *policy, const struct exchange_host *host)
{
	struct planned *planned = ARENA_NEW(host->arena, struct planned);
	size_t tensors = host->gradients->tensor_count;
	size_t *ends = ARENA_ARRAY(host->arena, tensors, size_t), count = policy->ends(host, ends);
	FW_ASSERT(count > 0 && ends[count - 1] == tensors);
	exchange_init(&planned->base, policy, host);
	planned->ends = ends;
	planned->count = count;
	planned->open = ARENA_ARRAY(host->arena, count, struct bundle *);
	planned->next = ARENA_ARRAY(host->arena, host->rank_count, size_t);
	planned->next_launch = ARENA_ARRAY(host->arena, host->rank_count, size_t);
	planned->launched_ps = ARENA_ARRAY(host->arena, host->rank_count * count, int64_t);
	return &planned->base;
}

static void join(struct planned *planned, size_t index, size_t rank)
{
	struct exchange *exchange = &planned->base;
	size_t first = index ? planned->ends[index - 1] : 0;
	size_t count = planned->ends[index] - first;
	struct bundle *bundle = planned->open[index];
	if (!bundle)
		bundle = planned->open[index] = bundle_begin(exchange, first, count);
	if (bundle->joined_count + 1 == exchange->host.rank_count) {
		planned->open[index] = NULL;
		exchange->host.gathered(exchange->host.ctx, first, count);
	}
	bundle_join(bundle, rank, planned->launched_ps[rank * planned->count + index]);
}

/* The host launches each bundle whose gradients are all announced. On the GPU the bundle still
 * waits for its gradients. */
void planned_announced(struct exchange *exchange, size_t rank, size_t first, size_t count)
{
	struct planned *planned = (struct planned *)exchange;
	size_t announced = first + count, *next = &planned->next_launch[rank];
	for (; *next < planned->count && planned->ends[*next] <= announced; (*next)++) {
		size_t begin = *next ? planned->ends[*next - 1] : 0;
		planned->launched_ps[rank * planned->count + *next] =
			exchange_launch(exchange, rank, planned->ends[*next] - begin).launched_ps;
	}
	if (*next == planned->count)
		*next = 0;
}

void planned_ready(struct exchange *exchange, size_t rank, size_t first, size_t count)
{
	struct planned *planned = (struct planned *)exchange;
	size_t ready = first + count, *next = &planned->next[rank];
	while (*next < planned->count && planned->ends[*next] <= ready)
		join(planned, (*next)++, rank);
	if (*next == planned->count)
		*next = 0;
}

/* ---- the policies ---- */

static size_t all_gradients(const struct exchange_host *host, size_t *ends)
{
	ends[0] = host->gradients->tensor_count;
	return 1;
}

const struct exchange_policy exchange_after_backward = {
	.name = "after_backward",
	.help = "one collective reduces all gradients after backward (IBM DDL)",
	.whole = true,
	.ends = all_gradients,
};

static size_t each_gradient(const struct exchange_host *host, size_t *ends)
{
	for (size_t i = 0; i < host->gradients->tensor_count; i++)
		ends[i] = i + 1;
	return host->gradients->tensor_count;
}

const struct exchange_policy exchange_per_tensor = {
	.name = "per_tensor",
	.help = "one collective for each gradient as soon as it is ready (TensorFlow's replicated "
		"variables, parameter servers)",
	.ends = each_gradient,
};

/* PyTorch's DistributedDataParallel. A bucket ends with the tensor that makes it as large as its
 * limit or larger (compute_bucket_assignment_by_size). Buckets follow the order in which gradients
 * become ready, because DDP reorders them so after the first step. */
static size_t buckets(const struct exchange_host *host, size_t *ends)
{
	const struct exchange_params *params = host->params;
	size_t limit = (size_t)params->bucket_tensors_count, tensors = 0, count = 0;
	double size_B = 0;
	for (size_t t = 0; t < host->gradients->tensor_count; t++) {
		size_B += exchange_tensor_B(host, t);
		bool full = size_B >= (count ? params->bucket_B : params->first_bucket_B) ||
			    ++tensors == limit;
		if (full || t + 1 == host->gradients->tensor_count) {
			ends[count++] = t + 1;
			size_B = 0;
			tensors = 0;
		}
	}
	return count;
}

const struct exchange_policy exchange_ddp = {
	.name = "ddp",
	.help = "PyTorch's buckets in the order of readiness; each is reduced when it is full",
	.bundle_offset = offsetof(struct exchange_params, bucket_B),
	.updates_in_stream = true,
	.ends = buckets,
};
