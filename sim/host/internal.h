/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the files of this folder only. */
#pragma once

#include "sim/host/host.h"

struct host_core {
	struct cpu *cpu; /* NULL until a virtual CPU is bound to it */
	size_t bound_count;
	bool reserved; /* a pinned guest uses this core */
};

/* Cores that threads share. */
struct core_pool {
	int resource;
	double cores_count, threads_count; /* threads_count: runnable threads */
};

struct host {
	struct arena *arena;
	struct engine *engine;
	struct fabric *fabric;
	const char *name;
	const struct host_params *params;
	double clock_Hz;
	int dram;
	struct host_core *cores;
	size_t core_count, reserved_count;
	struct core_pool pool; /* the cores that no pinned guest owns */
	struct dma_pool *dma_pool;
};

/* An interrupt line with a minimum time between two interrupts. */
struct interrupt_line {
	int64_t period_ps; /* 0: each message raises an interrupt */
	int64_t last_ps;   /* time of the last interrupt, which may be in the future */
	bool raised;       /* false until the first interrupt */
};

struct guest {
	struct host *host;
	const char *name;
	int node;
	const struct guest_params *params;
	struct cpu **vcpus; /* NULL until used */
	size_t vcpu_count, vcpu_next;
	bool settled;
	struct core_pool *pool; /* the host's pool or its own; NULL until settled */
	int quota;              /* resource that limits it to its virtual CPUs; -1: none */
	struct cpu *relay, *network_thread; /* cores of these threads; NULL until used */
	int disk;                           /* resource of its own disk; -1: none */
	double threads_count;               /* runnable threads of this guest */
	struct interrupt_line physical, own;
	uint64_t interrupts_count;
	struct reception *free;
	struct server_turn *server_turn; /* of sim/remoting; NULL until used */
};

/* Returns the core with the fewest virtual CPUs (the lowest index among equals) and binds one more
 * to it. Reserved cores are used only if there is no other. */
struct cpu *host_core_bind(struct host *host);
/* Reserves the core that host_core_bind would choose for a pinned guest. An unreserved core must
 * exist. */
struct cpu *host_core_reserve(struct host *host);

/* ---- pool.c ---- */
void pool_init(struct core_pool *pool, struct host *host, const char *name, double cores_count);
/* Chooses the guest's pool on first use: a pinned guest takes its cores. */
void guest_settle(struct guest *guest);
