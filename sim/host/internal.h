/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What host.c and guest.c share: nobody else includes this. */
#ifndef FARWIRE_HOST_INTERNAL_H
#define FARWIRE_HOST_INTERNAL_H

#include <stddef.h>

#include "sim/host/host.h"

struct host_core {
	struct cpu *cpu; /* NULL until a virtual CPU is bound to it */
	size_t bound_count;
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
	size_t core_count;
	struct dma_pool *dma_pool;
};

/* The core with the fewest virtual CPUs, the lowest of equals; counts one more. */
struct cpu *host_core_bind(struct host *host);

#endif
