/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/host/host.h"
#include "sim/host/internal.h"

static const char *const power_policies[] = {"balanced", "max_performance", NULL};

#define IVY_TOWN "Linux drivers/idle/intel_idle.c, ivt_cstates (Ivy Bridge-EN/EP)"

static const struct param_row host_rows[] = {
	PARAM_WHOLE(struct host_params, cores_count, 1, 4096, "8", "number of physical cores",
		    "Intel ARK: Xeon E5-2440 v2 has 8"),
	PARAM_NUMBER(struct host_params, clock_Hz, QUANTITY_FREQUENCY, 1e8, 1e10, "2.4 GHz",
		     "base clock of the cores",
		     "assumption: the reference clock, at which costs are given"),
	PARAM_NUMBER(struct host_params, turbo_clock_Hz, QUANTITY_FREQUENCY, 0, 1e10, "0 Hz",
		     "clock with turbo under load; 0 Hz means the base clock",
		     "assumption: no turbo unless the processor's is given"),
	PARAM_BOOL(struct host_params, turbo, "false",
		   "whether turbo is enabled; it acts only under power_policy max_performance",
		   "assumption: off unless a case sets it"),
	PARAM_CHOICE(struct host_params, power_policy, power_policies, "balanced",
		     "power policy of the host", "VMware: ESXi's default power policy is Balanced"),
	COST_ASSUMED(struct host_params, balanced_clock_ratio, QUANTITY_RATIO, 0.1, 1, "1",
		     "clock under the balanced policy, relative to the base clock",
		     "assumption: a loaded core is raised to its base clock"),
	PARAM_BOOL(struct host_params, c_states, "true", "whether idle cores sleep (C1E, C6)",
		   "default of server firmware"),
	COST_SOURCED(struct host_params, c1e_exit_s, QUANTITY_TIME, 0, 1e-2, "10 us",
		     "time to leave C-state C1E", IVY_TOWN),
	PARAM_NUMBER(struct host_params, c1e_residency_s, QUANTITY_TIME, 0, 1, "80 us",
		     "idle time after which a core is in C1E", IVY_TOWN),
	COST_SOURCED(struct host_params, c6_exit_s, QUANTITY_TIME, 0, 1e-2, "82 us",
		     "time to leave C-state C6", IVY_TOWN),
	PARAM_NUMBER(struct host_params, c6_residency_s, QUANTITY_TIME, 0, 1, "300 us",
		     "idle time after which a core is in C6", IVY_TOWN),
	COST_SOURCED(struct host_params, dram_bandwidth_Bps, QUANTITY_RATE, 1e6, 1e14, "38.4 GB/s",
		     "memory bandwidth of the host",
		     "Intel ARK: Xeon E5-2440 v2, three channels of DDR3-1600"),
	COST_ASSUMED(struct host_params, copy_rate_Bps, QUANTITY_RATE, 1e6, 1e12, "6 GB/s",
		     "copy bandwidth of one core at the reference clock",
		     "assumption: half of a pinned copy over PCIe gen3 x16, which is typical of "
		     "pageable copies"),
	PARAM_BOOL(struct host_params, nic_moderation, "true",
		   "whether the physical NIC limits its interrupts",
		   "default of the drivers of server NICs"),
	PARAM_NUMBER(struct host_params, nic_moderation_rate_Hz, QUANTITY_FREQUENCY, 10, 1e9,
		     "8 kHz", "maximum interrupts per second of the physical NIC",
		     "Linux e1000 documentation: InterruptThrottleRate 8000; evan-jones "
		     "ethernet-latency: 125 us round trip with throttling"),
	COST_SOURCED(
		struct host_params, oversubscription_cost_ratio, QUANTITY_RATIO, 0, 10, "4 %",
		"oversubscription cost: extra work while a pool has more runnable threads than "
		"cores",
		"derived: Linux runs a thread for 0.75 ms x (1 + log2 of 4 cores) = 2.25 ms "
		"(sched_min_granularity); a switch with refilled caches some 0.1 ms (Li et al., "
		"ExpCS 2007)"),
	COST_ASSUMED(struct host_params, virtual_disk_Bps, QUANTITY_RATE, 0, 1e14, "0 B/s",
		     "bandwidth of the disk of each virtual machine, on top of the storage's own "
		     "limit; 0 means no further limit",
		     "assumption: a virtual disk is as fast as the storage behind it; 0 is exact, "
		     "because "
		     "it means that there is no limit"),
	PARAM_NUMBER(struct host_params, peer_root_ratio, QUANTITY_RATIO, 0.001, 1, "1",
		     "part of PCIe's goodput that a GPU reaches in another GPU's memory if a root "
		     "complex forwards its requests",
		     "assumption: root complexes forward at the rate of their ports"),
	PARAM_NUMBER(struct host_params, peer_socket_ratio, QUANTITY_RATIO, 0.001, 1, "1",
		     "the same if the other GPU is at another processor",
		     "assumption: as host.peer_root"),
};
const struct param_table host_table = PARAM_TABLE("host", struct host_params, host_rows);

static double clock_of(const struct host_params *params)
{
	if (params->power_policy == POWER_BALANCED)
		return params->clock_Hz * params->balanced_clock_ratio;
	if (params->turbo && params->turbo_clock_Hz > params->clock_Hz)
		return params->turbo_clock_Hz;
	return params->clock_Hz;
}

struct host *host_new(struct arena *arena, struct engine *engine, struct fabric *fabric,
		      const char *name, const struct host_params *params)
{
	struct host *host = ARENA_NEW(arena, struct host);
	host->arena = arena;
	host->engine = engine;
	host->fabric = fabric;
	host->name = arena_strdup(arena, name);
	host->params = params;
	host->clock_Hz = clock_of(params);
	if (fabric_node_find(fabric, name) < 0)
		fabric_node_add(fabric, name);
	host->dram = fabric_resource_add(fabric, arena_printf(arena, "%s.dram", name),
					 params->dram_bandwidth_Bps);
	host->core_count = (size_t)params->cores_count;
	FW_ASSERT(host->core_count > 0);
	host->cores = ARENA_ARRAY(arena, host->core_count, struct host_core);
	pool_init(&host->pool, host, arena_printf(arena, "%s.pool", name),
		  (double)host->core_count);
	return host;
}

static struct cpu *core_make(struct host *host, size_t index)
{
	const struct host_params *params = host->params;
	struct cpu_spec spec = {.clock_Hz = host->clock_Hz};
	if (params->c_states) {
		spec.idle[0] = (struct idle_state){params->c1e_residency_s, params->c1e_exit_s};
		spec.idle[1] = (struct idle_state){params->c6_residency_s, params->c6_exit_s};
		spec.idle_count = 2;
	}
	struct cpu *cpu = cpu_new(host->arena, host->engine, host->fabric, host->name,
				  arena_printf(host->arena, "core %zu", index), &spec);
	cpu_pool_set(cpu, host->pool.resource);
	return cpu;
}

/* Returns the core for the next virtual CPU. */
static struct host_core *core_next(struct host *host)
{
	struct host_core *best = NULL;
	for (size_t i = 0; i < host->core_count; i++) {
		struct host_core *core = &host->cores[i];
		if (core->reserved && host->reserved_count < host->core_count)
			continue;
		if (!best || core->bound_count < best->bound_count)
			best = core;
	}
	FW_ASSERT(best);
	best->bound_count++;
	if (!best->cpu)
		best->cpu = core_make(host, (size_t)(best - host->cores));
	return best;
}

struct cpu *host_core_bind(struct host *host)
{
	return core_next(host)->cpu;
}

struct cpu *host_core_reserve(struct host *host)
{
	FW_ASSERT(host->reserved_count < host->core_count);
	struct host_core *core = core_next(host);
	core->reserved = true;
	host->reserved_count++;
	return core->cpu;
}

const struct host_params *host_params(const struct host *host)
{
	return host->params;
}

const char *host_name(const struct host *host)
{
	return host->name;
}

int host_dram(const struct host *host)
{
	return host->dram;
}

double host_clock_Hz(const struct host *host)
{
	return host->clock_Hz;
}

struct dma_pool **host_dma_pool(struct host *host)
{
	return &host->dma_pool;
}
