/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pools of cores: work shared by several threads. */
#include "sim/host/internal.h"

/* Largest rounding error of a thread count, which is a sum of fractions. */
static const double ROUNDING = 1e-9;

/* Returns the seconds of work at the reference clock that a core does per second. */
static double core_speed(const struct host *host)
{
	return host->clock_Hz / REFERENCE_CLOCK_HZ;
}

static bool is_crowded(const struct core_pool *pool)
{
	return pool->threads_count > pool->cores_count + ROUNDING;
}

/* A thread that wants to run for a part of the time adds that part of the switching cost. */
static double pool_capacity(const struct core_pool *pool, const struct host *host)
{
	double excess = fmin(fmax(pool->threads_count - pool->cores_count, 0), 1);
	double useful = 1 / (1 + host->params->oversubscription_cost_ratio *
					 (is_crowded(pool) ? excess : 0));
	return pool->cores_count * core_speed(host) * useful;
}

void pool_init(struct core_pool *pool, struct host *host, const char *name, double cores_count)
{
	*pool = (struct core_pool){.cores_count = cores_count};
	pool->resource = fabric_resource_add(host->fabric, name, pool_capacity(pool, host));
}

static void pool_update(const struct core_pool *pool, const struct host *host)
{
	double capacity = pool_capacity(pool, host);
	if (fabric_capacity(host->fabric, pool->resource) != capacity)
		fabric_capacity_set(host->fabric, pool->resource, capacity);
}

/* A pinned guest that finds fewer free cores than it has virtual CPUs is not isolated: it uses the
 * host's pool like any other guest. If all cores are taken, the pool keeps one core for the
 * remaining threads. */
static void take_cores(struct guest *guest, const char *name)
{
	struct host *host = guest->host;
	guest->pool = ARENA_NEW(host->arena, struct core_pool);
	pool_init(guest->pool, host, name, (double)guest->vcpu_count);
	for (size_t i = 0; i < guest->vcpu_count; i++) {
		guest->vcpus[i] = host_core_reserve(host);
		cpu_pool_set(guest->vcpus[i], guest->pool->resource);
	}
	host->pool.cores_count = fmax(1, (double)(host->core_count - host->reserved_count));
	pool_update(&host->pool, host);
}

void guest_settle(struct guest *guest)
{
	if (guest->settled)
		return;
	guest->settled = true;
	struct host *host = guest->host;
	guest->pool = &host->pool;
	const char *name = arena_printf(host->arena, "%s.vcpus", guest->name);
	if (guest->params->pinned && host->reserved_count + guest->vcpu_count <= host->core_count)
		take_cores(guest, name);
	else if (guest->vcpu_count < host->core_count)
		guest->quota = fabric_resource_add(host->fabric, name,
						   (double)guest->vcpu_count * core_speed(host));
}

int guest_pool(struct guest *guest)
{
	guest_settle(guest);
	return guest->pool->resource;
}

double guest_threads_count(struct guest *guest)
{
	guest_settle(guest);
	return fmin((double)guest->vcpu_count, guest->pool->cores_count);
}

double guest_work_ratio(const struct guest *guest)
{
	return guest->params->kind == GUEST_VM ? 1 + guest->params->work_cost_ratio : 1;
}

double guest_interrupt_s(const struct guest *guest)
{
	return guest->params->kind == GUEST_VM ? guest->params->interrupt_s : 0;
}

static double threads_running(struct guest *guest, double threads_count)
{
	double most = guest_threads_count(guest);
	return threads_count > 0 ? fmin(threads_count, most) : most;
}

void guest_work_add(struct guest *guest, double work_s, double threads_count,
		    struct flow_spec *flow)
{
	double per_unit = work_s * guest_work_ratio(guest);
	double most = threads_running(guest, threads_count) * core_speed(guest->host) / per_unit;
	flow->cap = flow->cap > 0 ? fmin(flow->cap, most) : most;
	flow_use_add(flow, guest->pool->resource, per_unit);
	if (guest->quota >= 0)
		flow_use_add(flow, guest->quota, per_unit);
}

void guest_work_flow(struct guest *guest, double work_s, double threads_count,
		     struct flow_spec *flow)
{
	FW_ASSERT(work_s > 0);
	double unit_s = 1 / guest->host->params->copy_rate_Bps;
	flow->size = work_s / unit_s;
	flow->weight = threads_running(guest, threads_count);
	guest_work_add(guest, unit_s, threads_count, flow);
}

double guest_threads_begin(struct guest *guest, double threads_count)
{
	double begun = threads_running(guest, threads_count);
	guest->pool->threads_count += begun;
	guest->threads_count += begun;
	pool_update(guest->pool, guest->host);
	return begun;
}

void guest_threads_end(struct guest *guest, double begun_count)
{
	guest->pool->threads_count -= begun_count;
	guest->threads_count -= begun_count;
	FW_ASSERT(guest->pool->threads_count >= -ROUNDING && guest->threads_count >= -ROUNDING);
	pool_update(guest->pool, guest->host);
}

void guest_cores_take(struct guest *guest, double cores_count)
{
	guest_settle(guest);
	guest->pool->cores_count = fmax(1, guest->pool->cores_count - cores_count);
	pool_update(guest->pool, guest->host);
}

bool guest_is_crowded(struct guest *guest)
{
	guest_settle(guest);
	return is_crowded(guest->pool) ||
	       guest->threads_count > (double)guest->vcpu_count + ROUNDING;
}

bool guest_has_core(struct guest *guest)
{
	guest_settle(guest);
	return guest->pool->threads_count + 1 <= guest->pool->cores_count + ROUNDING &&
	       guest->threads_count + 1 <= (double)guest->vcpu_count + ROUNDING;
}

double guest_alone_s(struct guest *guest, double work_s)
{
	return work_s * guest_work_ratio(guest) / core_speed(guest->host);
}
