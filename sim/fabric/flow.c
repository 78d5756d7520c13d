/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Resources, flows, and their accounts.
 *
 * The remaining size of a flow is computed only when its limit changes. A flow that shares no
 * resource gets its rate at once, without the solver. Most messages of a simulation are such flows.
 */
#include <stdalign.h>

#include "sim/fabric/state.h"

enum { FLOWS_PER_BLOCK = 16 };

struct fabric *fabric_new(struct arena *arena, struct engine *engine)
{
	struct fabric *fabric = ARENA_NEW(arena, struct fabric);
	fabric->arena = arena;
	fabric->engine = engine;
	fabric->capacity_changes = 1;
	fabric->steps_most = 64;
	fabric->resource_names = names_new(arena);
	fabric->node_names = names_new(arena);
	fabric->link_names = names_new(arena);
	return fabric;
}

static void ending_over(struct fabric *fabric);

/* ---- resources ---- */

int fabric_resource_add(struct fabric *fabric, const char *name, double capacity)
{
	FW_ASSERT(capacity > 0 && isfinite(capacity));
	int index = names_add(fabric->resource_names, name);
	FW_ASSERT((size_t)index == fabric->resources.count); /* the name must be new */
	struct resource *resource = VEC_PUSH(fabric->arena, &fabric->resources);
	resource->capacity = resource->capacity_most = capacity;
	resource->level = INFINITY;
	return index;
}

static struct resource *resource_at(const struct fabric *fabric, int index)
{
	FW_ASSERT((size_t)index < fabric->resources.count); /* also refuses a negative index */
	return &fabric->resources.items[index];
}

static void solve_event(void *ctx, uint64_t arg)
{
	struct fabric *fabric = ctx;
	fabric->solve_due = false;
	fabric_settle(fabric);
}

void fabric_solve_later(struct fabric *fabric)
{
	if (fabric->solve_due || !fabric_is_due(fabric))
		return;
	fabric->solve_due = true;
	engine_do_after(fabric->engine, 0, solve_event, fabric, 0);
}

void fabric_capacity_set(struct fabric *fabric, int index, double capacity)
{
	struct resource *resource = resource_at(fabric, index);
	FW_ASSERT(capacity > 0 && isfinite(capacity));
	if (capacity == resource->capacity)
		return;
	ending_over(fabric);
	fabric->capacity_changes++;
	if (capacity < resource->capacity)
		fabric_uncover(fabric, index);
	if (capacity > resource->capacity_most)
		fabric_uncover_by(fabric, index);
	resource->capacity = capacity;
	resource->capacity_most = fmax(resource->capacity_most, capacity);
	for (size_t i = 0; i < resource->users.count; i++) {
		uint32_t slot = resource->users.items[i].slot;
		if (slot != NO_FLOW && fabric->flows.items[slot]->limit == LIMIT_ALONE &&
		    fabric->flows.items[slot]->rate > 0)
			fabric_flow_settle_alone(fabric, fabric->flows.items[slot]);
	}
	fabric_mark(fabric, index);
	fabric_solve_later(fabric);
}

double fabric_capacity(const struct fabric *fabric, int index)
{
	return resource_at(fabric, index)->capacity;
}

size_t fabric_resource_count(const struct fabric *fabric)
{
	return fabric->resources.count;
}

const char *fabric_resource_name(const struct fabric *fabric, int index)
{
	return names_at(fabric->resource_names, (size_t)index);
}

size_t fabric_flows_on(const struct fabric *fabric, int index)
{
	size_t count = resource_at(fabric, index)->flow_count;
	for (size_t i = 0; fabric->ending && i < fabric->ending->use_count; i++)
		count -= fabric->ending->uses[i].resource == index;
	return count;
}

double fabric_carried(struct fabric *fabric, int index)
{
	const struct resource *resource = resource_at(fabric, index);
	double carried = resource->carried;
	for (size_t i = 0; i < resource->users.count; i++) {
		const struct user *user = &resource->users.items[i];
		if (user->slot == NO_FLOW)
			continue;
		const struct flow *flow = fabric->flows.items[user->slot];
		if (flow == fabric->ending)
			continue;
		carried += user->per_unit * (flow->size - fabric_flow_remaining(fabric, flow));
	}
	return carried;
}

double fabric_carried_unused(const struct fabric *fabric, int index)
{
	const struct resource *resource = resource_at(fabric, index);
	return resource->flow_count == 0 ? resource->carried : -1;
}

double fabric_busy_s(struct fabric *fabric, int index)
{
	return s_from_ps(fabric_busy_ps(fabric, resource_at(fabric, index)));
}

/* ---- flows on resources ---- */

/* Adds the flow to its resources. Returns false if no other flow uses them. */
static bool attach(struct fabric *fabric, struct flow *flow, const struct flow_spec *spec)
{
	const struct flow_use *given = &spec->uses[flow->use_count];
	struct resource *resource = resource_at(fabric, given->resource);
	FW_ASSERT(given->per_unit > 0 && given->per_unit < INFINITY);
	if (!fabric_covers(fabric, spec, flow->use_count))
		flow->solved_uses |= (uint64_t)1 << flow->use_count;
	size_t place = resource->users.count;
	FW_ASSERT(place == 0 || resource->users.items[place - 1].slot != flow->slot);
	FW_ASSERT(place < UINT32_MAX);
	*VEC_PUSH(fabric->arena, &resource->users) = (struct user){given->per_unit, flow->slot};
	flow->uses[flow->use_count++] =
		(struct use){given->per_unit, given->resource, (uint32_t)place};
	if (resource->flow_count++ == 0) {
		resource->busy_ps -= engine_now_ps(fabric->engine);
		return false;
	}
	if (resource->flow_count == 2 &&
	    fabric->flows.items[resource->users.items[place - 1].slot]->limit == LIMIT_ALONE)
		*VEC_PUSH(fabric->arena, &fabric->joining) = resource->users.items[place - 1].slot;
	if (resource->flow_count == 2 && resource->shared_ratio > 0)
		fabric_capacity_set(fabric, given->resource,
				    resource->capacity * resource->shared_ratio);
	return true;
}

static struct use *use_of(struct flow *flow, int resource)
{
	struct use *use = flow->uses;
	while (use->resource != resource)
		use++;
	return use;
}

/* Removes users that have ended. */
static void close_ranks(struct fabric *fabric, int index)
{
	struct resource *resource = &fabric->resources.items[index];
	struct user *users = resource->users.items;
	uint32_t left = 0;
	for (size_t i = 0; i < resource->users.count; i++) {
		if (users[i].slot == NO_FLOW)
			continue;
		use_of(fabric->flows.items[users[i].slot], index)->place = left;
		users[left++] = users[i];
	}
	resource->users.count = left;
}

static void drop_user(struct fabric *fabric, const struct use *use)
{
	enum { FEW = 4 };
	struct resource *resource = &fabric->resources.items[use->resource];
	struct user *users = resource->users.items;
	users[use->place].slot = NO_FLOW;
	resource->flow_count--;
	while (resource->users.count > 0 && users[resource->users.count - 1].slot == NO_FLOW)
		resource->users.count--;
	if (resource->users.count > 2 * (size_t)resource->flow_count + FEW)
		close_ranks(fabric, use->resource);
}

/* Returns the time by which others have delayed a flow that has moved `moved` units. */
static int64_t shared_ps(const struct fabric *fabric, const struct flow *flow, double moved)
{
	double alone_s = moved / flow->cap;
	for (size_t i = 0; i < flow->use_count; i++)
		alone_s = fmax(alone_s, moved * flow->uses[i].per_unit /
						fabric_capacity(fabric, flow->uses[i].resource));
	int64_t more_ps = engine_now_ps(fabric->engine) - flow->started_ps - ps_from_s(alone_s);
	return more_ps > 0 ? more_ps : 0;
}

/* Counts and checks the `moved` units of a flow that ends. */
static void account(struct fabric *fabric, const struct flow *flow, double moved)
{
	int64_t now_ps = engine_now_ps(fabric->engine);
	double least = moved * (1 - account_slack_ratio);
	double life_s = fabric_account_s(now_ps - flow->started_ps);
	bool wrong = least > fabric_flow_could(fabric, flow) ||
		     fabric_rate(fabric, flow) * (1 - account_slack_ratio) > flow->cap;
	if (flow->limit >= 0 && fabric->resources.items[flow->limit].shared)
		engine_wait_add(fabric->engine, WAIT_SHARED, shared_ps(fabric, flow, moved));
	for (size_t i = 0; i < flow->use_count; i++) {
		const struct use *use = &flow->uses[i];
		struct resource *resource = &fabric->resources.items[use->resource];
		resource->carried += use->per_unit * moved;
		wrong |= use->per_unit * least > resource->capacity * life_s;
	}
	if (wrong) /* the flow may be correct if capacities were larger before */
		fabric_flow_check(fabric, flow, moved);
}

/* Removes a flow from its resources. If it limited only itself, no other rate changes. */
static void detach(struct fabric *fabric, struct flow *flow)
{
	int64_t now_ps = engine_now_ps(fabric->engine);
	if (flow->limit == LIMIT_ALONE)
		engine_cancel(fabric->engine, flow->end);
	else
		fabric_pool_leave(fabric, flow);
	for (size_t i = 0; i < flow->use_count; i++) {
		struct use *use = &flow->uses[i];
		struct resource *resource = &fabric->resources.items[use->resource];
		drop_user(fabric, use);
		if (resource->flow_count == 1 && resource->shared_ratio > 0)
			fabric_capacity_set(fabric, use->resource, resource->capacity_most);
		if (resource->flow_count > 0)
			continue;
		resource->busy_ps += now_ps;
		resource->load = resource->own_load = resource->own_most = 0;
	}
	fabric_solve_later(fabric);
}

/* ---- slots ---- */

/* Allocates a block of flows of one class, which have room for equally many uses. */
static void flow_block_add(struct fabric *fabric, uint32_t class)
{
	size_t size = sizeof(struct flow) + ((size_t)2 << class) * sizeof(struct use);
	size = (size + alignof(struct flow) - 1) / alignof(struct flow) * alignof(struct flow);
	unsigned char *block = arena_array(fabric->arena, FLOWS_PER_BLOCK, size);
	FW_ASSERT(fabric->flows.count < UINT32_MAX - FLOWS_PER_BLOCK);
	uint32_t first = (uint32_t)fabric->flows.count;
	for (uint32_t i = 0; i < FLOWS_PER_BLOCK; i++) {
		struct flow *flow = (void *)(block + i * size);
		flow->slot = first + i;
		flow->serial = 1;
		flow->class = class;
		flow->free_next = i + 1 < FLOWS_PER_BLOCK ? first + i + 2 : 0;
		flow->limit = LIMIT_ALONE;
		*VEC_PUSH(fabric->arena, &fabric->flows) = flow;
	}
	fabric->flow_free[class] = first + 1;
}

static struct flow *flow_take(struct fabric *fabric, size_t use_count)
{
	uint32_t class = 0;
	while ((size_t)2 << class < use_count)
		class ++;
	if (fabric->flow_free[class] == 0)
		flow_block_add(fabric, class);
	struct flow *flow = fabric->flows.items[fabric->flow_free[class] - 1];
	fabric->flow_free[class] = flow->free_next;
	flow->active = true;
	flow->order = fabric->flows_started++;
	fabric->active_count++;
	return flow;
}

static void flow_give_back(struct fabric *fabric, struct flow *flow)
{
	fabric->active_count--;
	fabric->flows_over++;
	flow->active = false;
	flow->serial = flow->serial == UINT32_MAX ? 1 : flow->serial + 1;
	flow->free_next = fabric->flow_free[flow->class];
	fabric->flow_free[flow->class] = flow->slot + 1;
}

static struct flow *flow_find(const struct fabric *fabric, struct flow_id id)
{
	if (id.serial == 0)
		return NULL;
	struct flow *flow = fabric->flows.items[id.slot];
	bool over = !flow->active || flow == fabric->ending;
	return !over && flow->serial == id.serial ? flow : NULL;
}

/* ---- life cycle of a flow ---- */

void flow_use_add(struct flow_spec *flow, int resource, double per_unit)
{
	if (per_unit <= 0)
		return;
	for (size_t i = 0; i < flow->use_count; i++) {
		if (flow->uses[i].resource == resource) {
			flow->uses[i].per_unit += per_unit;
			return;
		}
	}
	FW_ASSERT(flow->use_count < FLOW_USES_MAX);
	flow->uses[flow->use_count++] = (struct flow_use){resource, per_unit};
}

/* Removes the flow that has ended in this event, if no equal one has taken its place. */
static void ending_over(struct fabric *fabric)
{
	struct flow *flow = fabric->ending;
	fabric->ending = NULL;
	if (!flow)
		return;
	detach(fabric, flow);
	flow_give_back(fabric, flow);
}

/* A flow that a full resource limits together with others is often followed by an equal one in the
 * same event, for example the next piece of a long message. Then no rate changes, so the flow is
 * removed only after its followers had their turn. The event of the solver keeps the clock until
 * then. */
void fabric_flow_ended(void *ctx, uint64_t arg)
{
	struct flow *flow = ctx;
	struct fabric *fabric = (struct fabric *)(uintptr_t)arg;
	event_fn *done = flow->done;
	void *done_ctx = flow->ctx;
	uint64_t done_arg = flow->arg;
	int limit = flow->limit;
	bool stays = done && !fabric->has_cables && !fabric->has_pauses && limit >= 0 &&
		     fabric->resources.items[limit].limit_count > 1;
	account(fabric, flow, flow->size);
	fabric->ending = flow;
	if (!stays)
		ending_over(fabric);
	if (done)
		done(done_ctx, done_arg);
	ending_over(fabric);
}

/* Returns true if the flow that has just ended uses the same as the given one. */
static bool follows(const struct fabric *fabric, const struct flow_spec *spec)
{
	const struct flow *flow = fabric->ending;
	if (!flow || flow->use_count != spec->use_count ||
	    flow->cap != (spec->cap > 0 ? spec->cap : INFINITY) ||
	    flow->weight != (spec->weight > 0 ? spec->weight : 1))
		return false;
	for (size_t i = 0; i < spec->use_count; i++)
		if (flow->uses[i].resource != spec->uses[i].resource ||
		    flow->uses[i].per_unit != spec->uses[i].per_unit)
			return false;
	return true;
}

/* Lets a flow take the place and the rate of the equal one that has just ended. */
static struct flow_id follow(struct fabric *fabric, const struct flow_spec *spec)
{
	struct flow *flow = fabric->ending;
	fabric->ending = NULL;
	fabric->flows_started++;
	fabric->flows_over++;
	flow->serial = flow->serial == UINT32_MAX ? 1 : flow->serial + 1;
	flow->size = flow->remaining = spec->size;
	flow->started_ps = engine_now_ps(fabric->engine);
	flow->done = spec->done;
	flow->ctx = spec->ctx;
	flow->arg = spec->arg;
	fabric_pool_follow(fabric, flow);
	fabric_solve_later(fabric);
	return (struct flow_id){flow->slot, flow->serial};
}

struct flow_id fabric_flow_start(struct fabric *fabric, const struct flow_spec *spec)
{
	FW_ASSERT(spec->size > 0 && spec->size < INFINITY);
	FW_ASSERT(spec->cap >= 0 && spec->weight >= 0 && spec->weight < INFINITY);
	FW_ASSERT(spec->use_count <= FLOW_USES_MAX);
	FW_ASSERT(spec->use_count > 0 || spec->cap > 0);
	struct flow_spec divided;
	if (fabric->has_cables) {
		divided = *spec;
		fabric_cables_choose(fabric, &divided);
		spec = &divided;
	}
	if (follows(fabric, spec))
		return follow(fabric, spec);
	ending_over(fabric);
	struct flow *flow = flow_take(fabric, spec->use_count);
	flow->size = flow->remaining = spec->size;
	flow->rate = 0;
	flow->weight = spec->weight > 0 ? spec->weight : 1;
	flow->cap = flow->own_cap = spec->cap > 0 ? spec->cap : INFINITY;
	flow->paused_at = -1;
	flow->started_ps = flow->updated_ps = engine_now_ps(fabric->engine);
	flow->end = (struct event_id){0};
	flow->done = spec->done;
	flow->ctx = spec->ctx;
	flow->arg = spec->arg;
	flow->use_count = 0;
	flow->solved_uses = 0;
	bool meets = false;
	for (size_t i = 0; i < spec->use_count; i++)
		meets |= attach(fabric, flow, spec);
	int64_t now_ps = flow->started_ps;
	if (meets) {
		*VEC_PUSH(fabric->arena, &fabric->joining) = flow->slot;
	} else if (spec->alone_changes == fabric->capacity_changes &&
		   spec->alone_ps <= INT64_MAX - now_ps) {
		flow->rate = spec->alone_rate;
		flow->end = engine_at(fabric->engine, now_ps + spec->alone_ps, fabric_flow_ended,
				      flow, (uintptr_t)fabric);
	} else {
		fabric_flow_settle_alone(fabric, flow);
	}
	fabric_solve_later(fabric);
	return (struct flow_id){flow->slot, flow->serial};
}

bool fabric_flow_cap_set(struct fabric *fabric, struct flow_id id, double cap)
{
	ending_over(fabric);
	struct flow *flow = flow_find(fabric, id);
	if (!flow)
		return false;
	FW_ASSERT(cap >= 0);
	FW_ASSERT(cap > 0 || flow->use_count > 0);
	double cap_new = cap > 0 ? cap : INFINITY;
	if (cap_new != flow->own_cap) {
		flow->cap = flow->own_cap = cap_new;
		fabric_flow_place_again(fabric, flow);
		fabric_solve_later(fabric);
	}
	return true;
}

bool fabric_flow_cancel(struct fabric *fabric, struct flow_id id)
{
	ending_over(fabric);
	struct flow *flow = flow_find(fabric, id);
	if (!flow)
		return false;
	double left = fabric_flow_remaining(fabric, flow);
	account(fabric, flow, flow->size - left);
	detach(fabric, flow);
	flow_give_back(fabric, flow);
	return true;
}

double fabric_flow_rate(struct fabric *fabric, struct flow_id id)
{
	ending_over(fabric);
	fabric_settle(fabric);
	const struct flow *flow = flow_find(fabric, id);
	return flow ? fabric_rate(fabric, flow) : 0;
}

size_t fabric_flow_count(const struct fabric *fabric)
{
	return fabric->active_count - (fabric->ending != NULL);
}
