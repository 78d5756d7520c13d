/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The KV cache of a replica: blocks on the GPU and in host memory.
 *
 * A copy of the keys and values of shared prefixes and of preempted requests is kept in HOST
 * MEMORY, if it has room. A request then waits for them to be loaded instead of processing its
 * tokens. Its blocks are taken before, and it counts as running, so that it cannot block others for
 * ever. The host memory is that of the replica, or a STORE that all replicas of a service share, as
 * with LMCache or Mooncake. Prefixes are copied as soon as they are complete (LMCache,
 * v1/cache_engine.py, store).
 */
#include "sim/serving/internal.h"

/* Frees the blocks of the prefix that was unused for the longest time. Returns false if all are in
 * use. */
static bool prefix_evict(struct replica *r)
{
	struct shared_prefix *oldest = NULL;
	for (size_t i = 0; r->prefixes && i < r->service->group_count; i++) {
		struct shared_prefix *prefix = &r->prefixes[i];
		if (prefix->blocks > 0 && prefix->users_count == 0 &&
		    (!oldest || prefix->used_ps < oldest->used_ps))
			oldest = prefix;
	}
	if (!oldest)
		return false;
	r->free_blocks += oldest->blocks;
	oldest->blocks = 0;
	return true;
}

/* ---- host memory ---- */

void replica_offload(struct replica *r, double tokens, bool to_gpu, event_fn *fn, void *ctx)
{
	const struct serving_spec *spec = &r->serving->spec;
	spec->offload(spec->of, (size_t)(r - r->serving->replicas), tokens, to_gpu, fn, ctx);
}

/* The same in host memory, where users do not keep blocks. */
static bool store_evict(const struct replica *r)
{
	struct stored_prefix *oldest = NULL;
	for (size_t i = 0; r->store->prefixes && i < r->service->group_count; i++) {
		struct stored_prefix *prefix = &r->store->prefixes[i];
		if (prefix->stored > 0 && prefix->storing == 0 &&
		    (!oldest || prefix->used_ps < oldest->used_ps))
			oldest = prefix;
	}
	if (!oldest)
		return false;
	r->store->free_blocks += oldest->stored;
	oldest->stored = 0;
	return true;
}

/* Takes blocks in host memory. Returns false if they are not free. */
static bool store_take(const struct replica *r, size_t blocks)
{
	while (blocks > r->store->free_blocks && store_evict(r))
		;
	if (blocks > r->store->free_blocks)
		return false;
	r->store->free_blocks -= blocks;
	return true;
}

static void prefix_stored(void *ctx, uint64_t arg)
{
	struct stored_prefix *prefix = ctx;
	prefix->stored += prefix->storing;
	prefix->storing = 0;
}

/* Begins to copy what host memory lacks of a prefix, if it has room. */
static void prefix_store(struct replica *r, const struct shared_prefix *prefix)
{
	struct stored_prefix *copy = prefix->store;
	uint32_t more = prefix->blocks > copy->stored ? prefix->blocks - copy->stored : 0;
	if (more == 0 || copy->storing > 0 || r->spec->host_block_count == 0)
		return;
	copy->storing = more; /* so that it is not evicted */
	if (store_take(r, more))
		replica_offload(r, more * r->service->spec->params->block_count, false,
				prefix_stored, copy);
	else
		copy->storing = 0;
}

size_t blocks_of(const struct replica *r, uint32_t tokens)
{
	return (size_t)ceil(tokens / r->service->spec->params->block_count);
}

static void query_stored(void *ctx, uint64_t arg)
{
	struct query *q = ctx;
	q->storing = false;
	replica_work(q->replica);
}

void query_store(struct replica *r, struct query *q)
{
	if (r->spec->host_block_count == 0 || q->cached == 0 ||
	    !store_take(r, blocks_of(r, q->cached)))
		return;
	q->stored = q->cached;
	q->storing = true;
	replica_offload(r, q->cached, false, query_stored, q);
}

/* Makes the request a user of the first blocks of its group's prefix. */
static void prefix_use(struct query *q, struct shared_prefix *prefix, uint32_t blocks)
{
	prefix->users_count += !q->prefix;
	q->prefix = prefix;
	q->prefix_blocks = blocks;
}

/* Returns the whole blocks that a request can share. It processes at least one token itself. */
static uint32_t blocks_shared(const struct replica *r, const struct query *q)
{
	const struct serve_request *request = q->request;
	return smaller(request->shared, request->prompt - 1) / r->service->block;
}

void prefix_find(struct replica *r, struct query *q)
{
	if (!r->prefixes || q->cached > 0)
		return;
	struct shared_prefix *prefix = &r->prefixes[q->request->group];
	uint32_t blocks = smaller(blocks_shared(r, q), prefix->blocks);
	if (blocks == 0)
		return;
	prefix_use(q, prefix, blocks);
	q->cached = blocks * r->service->block;
}

void prefix_keep(struct replica *r, struct query *q)
{
	if (!r->prefixes || r->spec->role == ROLE_DECODE)
		return;
	struct shared_prefix *prefix = &r->prefixes[q->request->group];
	uint32_t block = r->service->block;
	uint32_t least = blocks_shared(r, q) * block; /* a later turn may share more */
	uint32_t blocks = smaller(r->service->longest[q->request->group], q->cached) / block;
	if (blocks <= prefix->blocks || q->prefix_blocks < prefix->blocks || q->cached < least)
		return;
	q->blocks -= blocks - prefix->blocks;
	prefix->blocks = blocks;
	prefix_use(q, prefix, blocks);
	prefix_store(r, prefix);
}

void prefix_leave(struct replica *r, struct query *q)
{
	if (!q->prefix)
		return;
	q->prefix->users_count--;
	q->prefix->used_ps = q->prefix->store->used_ps = serving_now_ps(r->serving);
	q->prefix = NULL;
	q->prefix_blocks = 0;
}

bool blocks_take(struct replica *r, struct query *q, uint32_t tokens)
{
	if (r->spec->block_count == 0)
		return true;
	uint32_t block = r->service->block;
	if (tokens <= (uint64_t)block * (q->blocks + q->prefix_blocks))
		return true;
	uint32_t all = (tokens + block - 1) / block - q->prefix_blocks;
	r->limited |= all - q->blocks > r->free_blocks;
	while (all - q->blocks > r->free_blocks && prefix_evict(r))
		;
	if (all - q->blocks > r->free_blocks && q->prefix && q->prefix->users_count == 1) {
		r->free_blocks += q->prefix->blocks - q->prefix_blocks; /* what it does not share */
		q->prefix->blocks = q->prefix_blocks;
	}
	if (all - q->blocks > r->free_blocks) {
		r->cause = all - q->blocks > r->free_blocks + r->leaving_blocks
				   ? QUEUE_FOR_MEMORY
				   : QUEUE_FOR_TRANSFERS;
		return false;
	}
	r->free_blocks -= all - q->blocks;
	if (r->free_blocks < r->least_blocks)
		r->least_blocks = r->free_blocks;
	q->blocks = all;
	return true;
}

void blocks_return(struct replica *r, struct query *q)
{
	r->free_blocks += q->blocks;
	q->blocks = 0;
	prefix_leave(r, q);
	FW_ASSERT(r->free_blocks <= r->spec->block_count);
}

uint32_t tokens_stored(const struct replica *r, const struct query *q)
{
	if (r->spec->host_block_count == 0)
		return 0;
	if (q->cached > 0)
		return q->stored > q->cached ? q->stored : 0;
	uint32_t block = r->service->block;
	uint32_t shared = r->prefixes ? smaller(blocks_shared(r, q),
						r->prefixes[q->request->group].store->stored)
				      : 0;
	return q->stored > shared * block ? q->stored : shared * block;
}
