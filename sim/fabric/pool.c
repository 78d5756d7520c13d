/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keeps the flows that one full resource limits: its pool.
 *
 * All flows of a pool have one level (rate over weight). The clock of a pool is the integral of its
 * level over time. A flow of `remaining` units ends when the clock has advanced by remaining over
 * weight, so a new level changes neither that point nor the order of ends. A heap has the flows of
 * a pool in this order, and only the first has an event. This is the virtual time of fair queueing
 * (Parekh and Gallager, IEEE/ACM Transactions on Networking 1(3), 1993).
 *
 * Pools meet on resources. A pair sums up what the flows of a pool demand of another resource, so
 * a new level changes the load there without a look at the flows.
 */
#include <float.h>

#include "sim/fabric/state.h"

static const int64_t delay_max_ps = (int64_t)1 << 62;

/* ---- heaps ---- */

static bool precedes(const struct fabric *fabric, const struct ranking *ranking, struct ranked one,
		     struct ranked other)
{
	if (one.key != other.key || ranking == &fabric->due)
		return one.key < other.key;
	return fabric->flows.items[one.item]->order < fabric->flows.items[other.item]->order;
}

static void put(struct fabric *fabric, struct ranking *ranking, size_t at, struct ranked item)
{
	ranking->heap.items[at] = item;
	if (ranking != &fabric->due)
		fabric->flows.items[item.item]->heap_at = (uint32_t)at;
}

/* Puts an item at a free place, or above or below it. */
static void sift(struct fabric *fabric, struct ranking *ranking, size_t at, struct ranked item)
{
	const struct ranked *heap = ranking->heap.items;
	size_t count = ranking->heap.count;
	for (; at > 0 && precedes(fabric, ranking, item, heap[(at - 1) / 2]); at = (at - 1) / 2)
		put(fabric, ranking, at, heap[(at - 1) / 2]);
	for (size_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
		if (child + 1 < count && precedes(fabric, ranking, heap[child + 1], heap[child]))
			child++;
		if (!precedes(fabric, ranking, heap[child], item))
			break;
		put(fabric, ranking, at, heap[child]);
		at = child;
	}
	put(fabric, ranking, at, item);
}

void fabric_rank(struct fabric *fabric, struct ranking *ranking, double key, uint32_t item)
{
	*VEC_PUSH(fabric->arena, &ranking->heap) = (struct ranked){key, item};
	sift(fabric, ranking, ranking->heap.count - 1, (struct ranked){key, item});
}

static void drop(struct fabric *fabric, struct ranking *ranking, size_t at)
{
	struct ranked last = ranking->heap.items[--ranking->heap.count];
	if (at < ranking->heap.count)
		sift(fabric, ranking, at, last);
}

struct ranked fabric_rank_first(struct fabric *fabric, struct ranking *ranking)
{
	struct ranked first = ranking->heap.items[0];
	drop(fabric, ranking, 0);
	return first;
}

/* ---- pairs ---- */

static struct pool_pair *pair_find(struct fabric *fabric, int pool, int on)
{
	const struct resource *of = &fabric->resources.items[pool];
	const struct resource *there = &fabric->resources.items[on];
	bool by_row = of->rows.count < there->columns.count;
	size_t count = by_row ? of->rows.count : there->columns.count;
	const struct pool_pair_ref *refs = by_row ? of->rows.items : there->columns.items;
	int other = by_row ? on : pool;
	for (size_t i = 0; i < count; i++)
		if (refs[i].other == other)
			return &fabric->pairs.items[refs[i].pair];
	return NULL;
}

static struct pool_pair *pair_add(struct fabric *fabric, int pool, int on)
{
	struct resource *of = &fabric->resources.items[pool];
	struct resource *there = &fabric->resources.items[on];
	uint32_t index = fabric->pair_free;
	if (index == 0) {
		(void)VEC_PUSH(fabric->arena, &fabric->pairs);
		index = (uint32_t)fabric->pairs.count;
	}
	FW_ASSERT(fabric->pairs.items);
	struct pool_pair *pair = &fabric->pairs.items[--index];
	fabric->pair_free = pair->free_next;
	*pair = (struct pool_pair){.pool = pool,
				   .on = on,
				   .row_at = (uint32_t)of->rows.count,
				   .column_at = (uint32_t)there->columns.count};
	*VEC_PUSH(fabric->arena, &of->rows) = (struct pool_pair_ref){on, index};
	*VEC_PUSH(fabric->arena, &there->columns) = (struct pool_pair_ref){pool, index};
	return pair;
}

static void pair_drop(struct fabric *fabric, struct pool_pair *pair)
{
	struct resource *of = &fabric->resources.items[pair->pool];
	struct resource *there = &fabric->resources.items[pair->on];
	struct pool_pair_ref row = of->rows.items[--of->rows.count];
	of->rows.items[pair->row_at] = row;
	fabric->pairs.items[row.pair].row_at = pair->row_at;
	struct pool_pair_ref column = there->columns.items[--there->columns.count];
	there->columns.items[pair->column_at] = column;
	fabric->pairs.items[column.pair].column_at = pair->column_at;
	pair->free_next = fabric->pair_free;
	fabric->pair_free = (uint32_t)(pair - fabric->pairs.items) + 1;
}

static void demand_add(struct fabric *fabric, int pool, int on, double demand, int sign)
{
	struct pool_pair *pair = pair_find(fabric, pool, on);
	if (!pair)
		pair = pair_add(fabric, pool, on);
	pair->count += (uint32_t)sign;
	pair->demand += demand;
	if (pair->count == 0)
		pair_drop(fabric, pair);
}

void fabric_use_count(struct fabric *fabric, const struct flow *flow, const struct use *use,
		      int sign)
{
	struct resource *resource = &fabric->resources.items[use->resource];
	double demand = sign * use->per_unit * flow->weight;
	double load = sign * use->per_unit * fabric_rate(fabric, flow);
	resource->load += load;
	if (flow->limit == LIMIT_OWN) {
		resource->own_count += (uint32_t)sign;
		resource->own_load = resource->own_count > 0 ? resource->own_load + load : 0;
		resource->own_most = fmax(resource->own_most, flow->rate / flow->weight);
	} else if (flow->limit == use->resource) {
		resource->limit_count += (uint32_t)sign;
		resource->demand = resource->limit_count > 0 ? resource->demand + demand : 0;
	} else {
		demand_add(fabric, flow->limit, use->resource, demand, sign);
	}
	fabric_mark(fabric, use->resource);
}

/* ---- clocks and ends ---- */

int64_t fabric_duration_ps(double size, double rate)
{
	double ps = size / rate * (double)PS_PER_S;
	ps -= ps * 8 * DBL_EPSILON;
	if (ps > (double)delay_max_ps)
		return delay_max_ps;
	int64_t whole = (int64_t)ps; /* ceil(ps) without the call */
	return whole + ((double)whole < ps);
}

static int64_t end_ps_of(const struct fabric *fabric, const struct flow *flow)
{
	int64_t now_ps = engine_now_ps(fabric->engine);
	double left = fabric_flow_remaining(fabric, flow);
	int64_t delay_ps = left > 0 ? fabric_duration_ps(left, fabric_rate(fabric, flow)) : 0;
	return delay_ps < INT64_MAX - now_ps ? now_ps + delay_ps : INT64_MAX;
}

void fabric_pool_tick(struct fabric *fabric, struct resource *pool)
{
	int64_t now_ps = engine_now_ps(fabric->engine);
	if (pool->limit_count == 0)
		pool->clock = 0;
	else if (pool->clock_ps != now_ps)
		pool->clock += pool->level * s_from_ps(now_ps - pool->clock_ps);
	pool->clock_ps = now_ps;
}

void fabric_pool_touch(struct fabric *fabric, int index)
{
	struct resource *pool = &fabric->resources.items[index];
	if (!pool->touched)
		*VEC_PUSH(fabric->arena, &fabric->touched) = index;
	pool->touched = true;
}

static void pool_ended(void *ctx, uint64_t index)
{
	struct fabric *fabric = ctx;
	struct resource *pool = &fabric->resources.items[index];
	fabric_pool_tick(fabric, pool);
	fabric_pool_touch(fabric, (int)index);
	fabric_solve_later(fabric);
	do {
		engine_cancel(fabric->engine, pool->end);
		pool->end = (struct event_id){0};
		uint32_t slot = fabric_rank_first(fabric, &pool->flows).item;
		struct flow *flow = fabric->flows.items[slot];
		flow->heap_at = NO_FLOW;
		fabric_flow_ended(flow, (uintptr_t)fabric);
		pool = &fabric->resources.items[index];
	} while (pool->flows.heap.count > 0 &&
		 fabric_flow_remaining(fabric,
				       fabric->flows.items[pool->flows.heap.items[0].item]) <= 0);
}

void fabric_pool_end_set(struct fabric *fabric, int index)
{
	struct resource *pool = &fabric->resources.items[index];
	int64_t end_ps = INT64_MAX;
	pool->touched = false;
	pool->shared = pool->flow_count > 1;
	if (pool->flows.heap.count > 0)
		end_ps = end_ps_of(fabric, fabric->flows.items[pool->flows.heap.items[0].item]);
	if (pool->end.serial != 0 && pool->end_ps == end_ps && pool->flows.heap.count > 0)
		return;
	engine_cancel(fabric->engine, pool->end);
	pool->end = (struct event_id){0};
	pool->end_ps = end_ps;
	if (pool->flows.heap.count > 0)
		pool->end = engine_at(fabric->engine, end_ps, pool_ended, fabric, (uint64_t)index);
}

/* ---- flows ---- */

void fabric_pool_follow(struct fabric *fabric, struct flow *flow)
{
	struct resource *pool = &fabric->resources.items[flow->limit];
	fabric_pool_tick(fabric, pool);
	flow->end_clock = pool->clock + flow->remaining / flow->weight;
	fabric_rank(fabric, &pool->flows, flow->end_clock, flow->slot);
	fabric_pool_touch(fabric, flow->limit);
}

static void end_add(struct fabric *fabric, struct flow *flow)
{
	flow->end = engine_at(fabric->engine, end_ps_of(fabric, flow), fabric_flow_ended, flow,
			      (uintptr_t)fabric);
}

void fabric_pool_join(struct fabric *fabric, struct flow *flow, int limit)
{
	flow->limit = limit;
	if (limit == LIMIT_OWN) {
		bool same = flow->rate == flow->cap && flow->end.serial != 0;
		flow->rate = flow->cap;
		if (!same)
			end_add(fabric, flow);
	} else {
		struct resource *pool = &fabric->resources.items[limit];
		double most = flow->cap / flow->weight;
		fabric_pool_follow(fabric, flow);
		pool->cap_least = pool->limit_count > 0 ? fmin(pool->cap_least, most) : most;
	}
	for (uint64_t left = flow->solved_uses; left;)
		fabric_use_count(fabric, flow, fabric_use_take(flow, &left), 1);
}

void fabric_pool_leave(struct fabric *fabric, struct flow *flow)
{
	int limit = flow->limit;
	flow->remaining = fabric_flow_remaining(fabric, flow);
	flow->updated_ps = engine_now_ps(fabric->engine);
	for (uint64_t left = limit == LIMIT_ALONE ? 0 : flow->solved_uses; left;)
		fabric_use_count(fabric, flow, fabric_use_take(flow, &left), -1);
	engine_cancel(fabric->engine, flow->end);
	flow->end = (struct event_id){0};
	flow->rate = 0;
	flow->limit = LIMIT_ALONE;
	if (limit < 0)
		return;
	struct resource *pool = &fabric->resources.items[limit];
	if (flow->heap_at == 0) { /* the event of the end, which may be due now, is this flow's */
		engine_cancel(fabric->engine, pool->end);
		pool->end = (struct event_id){0};
	}
	if (flow->heap_at != NO_FLOW)
		drop(fabric, &pool->flows, flow->heap_at);
	if (pool->limit_count == 0)
		pool->level = INFINITY;
	fabric_pool_touch(fabric, limit);
}

void fabric_flow_settle_alone(struct fabric *fabric, struct flow *flow)
{
	double rate = flow->cap, capacity = 0, per_unit = 0;
	for (size_t i = 0; i < flow->use_count; i++) {
		const struct use *use = &flow->uses[i];
		const struct resource *resource = &fabric->resources.items[use->resource];
		if (resource->capacity == capacity && use->per_unit == per_unit)
			continue; /* same values as those of the previous resource */
		capacity = resource->capacity;
		per_unit = use->per_unit;
		double most = capacity / per_unit;
		rate = most < rate ? most : rate;
	}
	if (rate == flow->rate)
		return;
	flow->remaining = fabric_flow_remaining(fabric, flow);
	flow->updated_ps = engine_now_ps(fabric->engine);
	flow->rate = rate;
	engine_cancel(fabric->engine, flow->end);
	end_add(fabric, flow);
}
