/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of this folder share: nobody else includes this. */
#ifndef FARWIRE_HOST_INTERNAL_H
#define FARWIRE_HOST_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/host/host.h"

struct host_core {
	struct cpu *cpu; /* NULL until a virtual CPU is bound to it */
	size_t bound_count;
	bool reserved; /* by a pinned guest */
};

/* Cores that threads share. */
struct core_pool {
	int resource;
	double cores_count, threads_count; /* threads: runnable */
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
	struct core_pool pool; /* of the cores that no pinned guest has */
	struct dma_pool *dma_pool;
};

/* An interrupt line with a least distance between two. */
struct line {
	int64_t period_ps; /* 0: an interrupt whenever something comes */
	int64_t last_ps;   /* of the last interrupt, maybe still due */
	bool raised;       /* ever */
};

struct guest {
	struct host *host;
	const char *name;
	int node;
	const struct guest_params *params;
	struct cpu **vcpus; /* NULL until used */
	size_t vcpu_count, vcpu_next;
	bool settled;
	struct core_pool *pool; /* the host's or its own; NULL until settled */
	int quota;              /* resource that holds it to its virtual CPUs; -1: none */
	double threads_count;   /* of its own that want to run */
	struct line physical, own;
	uint64_t interrupts_count;
	struct reception *free;
};

/* The core with the fewest virtual CPUs, the lowest of equals, among those that are
 * not reserved while there are such; counts one more. */
struct cpu *host_core_bind(struct host *host);
/* Reserves the next such core for a pinned guest. There must be one. */
struct cpu *host_core_reserve(struct host *host);

/* pool.c */
void pool_init(struct core_pool *pool, struct host *host, const char *name, double cores_count);
/* On first use: a pinned guest takes its cores. */
void guest_settle(struct guest *guest);

#endif
