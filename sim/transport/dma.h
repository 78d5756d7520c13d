/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Copies between host memory and GPU memory by a copy engine.
 *
 * Pinned memory is read by the engine at the rate of the PCIe route. Pageable
 * memory goes through a pinned staging buffer: a core copies the chunk
 * (using the core and the host's memory twice), the engine moves it, and chunk
 * i+1 is staged while chunk i is moved (two buffers). Each copy has a set-up
 * time, and each chunk a cost of its own.
 */
#ifndef FARWIRE_TRANSPORT_DMA_H
#define FARWIRE_TRANSPORT_DMA_H

#include <stdbool.h>

#include "sim/base/param.h"
#include "sim/fabric/fabric.h"
#include "sim/host/host.h"

struct dma_params {
	double setup_s;          /* engine's start of a copy */
	double chunk_B;          /* staging buffer */
	double chunk_start_s;    /* cost of each staged chunk (synchronising) */
	double efficiency_ratio; /* of the PCIe link's goodput that an engine reaches */
};
extern const struct param_table dma_table;

struct dma_copy {
	struct engine *engine;
	struct fabric *fabric;
	struct arena *arena;
	const struct dma_params *params;
	const struct route *route; /* from source node to destination node */
	struct host *host;         /* whose memory it reads or writes */
	struct cpu *core;          /* stages pageable chunks; NULL if pinned */
	bool to_device;
	bool pageable;
	double size_B; /* > 0 */
	event_fn *done;
	void *ctx;
	uint64_t arg;
};

/* Starts it; the struct is copied. No memory is kept per copy: states are
 * pooled in the arena. */
void dma_start(const struct dma_copy *copy);

#endif
