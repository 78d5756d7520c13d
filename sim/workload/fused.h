/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A data-parallel training job with fused steps: runs of kernels are simulated as one.
 *
 * A thread of each rank issues the segments of a step on its guest's cores. The rank waits for
 * its input and computes the issued segments on its GPU. They are flows on the GPU's compute
 * engine, so other tenants and the kernels of the collective library slow them. The rank hands
 * gradients to the exchange. It updates a variable when the gradient is reduced and the update
 * has been issued, and begins the next step when all variables are updated. Only collectives
 * connect the ranks, so the slowest rank sets the step time.
 *
 * Each step multiplies a rank's compute time by a random factor. It is normal with standard
 * deviation exchange.noise_ratio, at least 0.5, and has its own random stream. A straggler also
 * has its own slowdown_ratio.
 */
#pragma once

#include "sim/training/exchange.h"
#include "sim/training/input.h"
#include "sim/workload/step.h"

struct fused_rank {
	struct gpu_context *context;
	struct gpu *gpu;
	struct guest *guest;
	struct cpu *core;
	struct input *input;   /* NULL: synthetic data on the GPU */
	double slowdown_ratio; /* factor on compute time: 1, or more for a straggler */
};

struct fused;
struct fused_spec {
	struct arena *arena;
	struct engine *engine;
	struct fabric *fabric;
	const char *name; /* trace group */
	const struct step_profile *profile;
	const struct exchange_params *exchange;
	struct communicator *comm; /* NULL: one rank, nothing to exchange */
	const struct fused_rank *ranks;
	size_t rank_count;
	/* By rank: how many ranks it represents (sim/collective/fold.h); NULL: 1 each.
	 * all_count is the sum. */
	const uint32_t *copies;
	size_t all_count;
	double network_round_trip_s;
	bool across_machines; /* the job has ranks on several machines */
	uint64_t seed;
	/* Called when all ranks have ended a step; returns false to stop the job. The record
	 * covers the time from the end of the step before on the last rank to the end of this one.
	 */
	bool (*step_done)(void *ctx, struct fused *job, const struct step_record *step);
	void *ctx;
};
struct fused *fused_new(const struct fused_spec *spec);
void fused_start(struct fused *job); /* adds an event that starts the job now */
/* exported: tests check that all steps were run */
size_t fused_step_count(const struct fused *job);
const struct step_record *fused_step_at(const struct fused *job, size_t index);

/* Returns what the slowest rank waits for, such as "step 4: rank 2 has computed 3 of 5 parts". */
const char *fused_waiting(const struct fused *job, struct arena *arena);
