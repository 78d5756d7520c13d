/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Copies between host memory and GPU memory by a copy engine.
 *
 * The engine reads pinned memory at the bandwidth of the PCIe route. Pageable memory goes through a
 * pinned staging buffer: a core copies a chunk (which uses the core, and the host's memory twice),
 * and the engine moves it. There are two buffers, so chunk i+1 is staged while chunk i is moved.
 * Each copy has a setup time, and each staged chunk its own cost.
 */
#pragma once

#include "sim/base/param.h"
#include "sim/fabric/fabric.h"
#include "sim/host/host.h"

struct dma_params {
	double setup_s, chunk_B, chunk_start_s, efficiency_ratio;
};
extern const struct param_table dma_table;

struct dma_copy {
	struct engine *engine;
	struct fabric *fabric;
	struct arena *arena;
	const struct dma_params *params;
	const struct route *route; /* route from source node to destination node */
	struct host *host;         /* host whose memory is read or written */
	struct cpu *core;          /* core that stages pageable chunks; NULL for pinned memory */
	bool to_device;
	bool pageable;
	double size_B; /* > 0 */
	event_fn *done;
	void *ctx;
	uint64_t arg;
};

/* Starts a copy; the struct is copied. Repeated copies allocate no memory, because states are
 * pooled in the arena. */
void dma_start(const struct dma_copy *copy);
