/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A data-parallel training job.
 *
 * Each rank plays the program of a step (sim/training/gradients.h). At its begin the rank waits
 * for its input. The program hands gradients to the exchange. The rank updates a variable when
 * the gradient is reduced: in the program, behind all gradients, or when the host learns of it. The
 * next step begins when all variables are updated. Only collectives connect the ranks, so the
 * slowest rank sets the step time.
 *
 * Each step multiplies a rank's compute time by a random factor. It is normal with standard
 * deviation exchange.noise_ratio, at least 0.5, and has its own random stream. A straggler also
 * has its own slowdown_ratio.
 */
#pragma once

#include "sim/training/exchange.h"
#include "sim/training/input.h"
#include "sim/workload/step.h"

struct dp_rank {
	struct gpu_context *context;
	struct gpu *gpu;
	struct guest *guest;
	const struct route *to_device, *to_host; /* between the guest's node and the GPU's */
	struct input *input;                     /* NULL: synthetic data on the GPU */
	double slowdown_ratio; /* factor on compute time: 1, or more for a straggler */
	size_t process;        /* number of its host process, whose ranks are neighbours (life.h) */
};

struct dp;
struct dp_spec {
	struct exchange_host host; /* dp_new sets its functions; comm NULL: one rank */
	struct fabric *fabric;
	const char *name;              /* trace group */
	const struct program *program; /* of a step, on each rank; hands over host.gradients */
	bool ahead;                    /* the framework issues the next step ahead */
	double poller_ratio;           /* part of a core that a rank's poller uses */
	const struct driver_params *driver;
	const struct dma_params *dma;
	const struct dp_rank *ranks;
	bool across_machines; /* the job has ranks on several machines */
	uint64_t seed;
	/* Called when all ranks have ended a step; returns false to stop the job. The record
	 * covers the time from the end of the step before on the last rank to the end of this one.
	 */
	bool (*step_done)(void *ctx, const struct step_record *step);
	void *ctx;
};
/* Returns whether gradients are handed over only at the end of backward. */
bool dp_held_back(const struct exchange_params *exchange, size_t rank_count);
/* Returns whether updates are part of the program. On one GPU they are, unless an engine issues
 * each op when its inputs are ready (announce = computed): its threads issue updates on any number
 * of GPUs. */
bool dp_updates_in_stream(const struct exchange_params *exchange, size_t rank_count);
struct dp *dp_new(const struct dp_spec *spec);
void dp_start(struct dp *job); /* adds an event that starts the job now */
/* Returns what the slowest rank waits for, such as "step 4: rank 2 has computed 3 of 5 parts". */
const char *dp_waiting(const struct dp *job, struct arena *arena);
