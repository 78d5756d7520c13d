/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The phases of a training job around its steps (sim/training/phases.h), simulated.
 *
 * A launch run is a run of the world in which each job passes all of its phases, but only its
 * first few steps. Host work is a flow on the pool of cores of a guest, trials are kernels on the
 * GPUs, and a checkpoint is a flow to a storage. The input pipeline starts when the graph is built.
 * So jobs of one machine compete for cores and disks in these phases, too. A phase begins when all
 * processes of the job have ended the phase before.
 *
 * The prediction adds the time of the other steps, which is that of a steady step each
 * (sim/predict/point.c).
 */
#pragma once

#include "sim/host/storage.h"
#include "sim/training/phases.h"
#include "sim/workload/dp.h"
#include "sim/workload/job.h"

struct life_spec {
	const struct phases_params *params;
	struct dp_spec steps; /* inputs are held until their phase begins (input.h) */
	size_t steps_count;   /* number of steps in this run, > 0 */
	double checkpoint_B;
	struct storage *storage; /* storage of checkpoints; NULL: no checkpoints */
};
/* Begins the job of ranks_job_new (dp_job.h) at the current time. The spec is copied; the ranks are
 * borrowed. */
void life_begin(struct job *job, const struct life_spec *spec);

/* Call this when the job has ended a step. Returns false when there are no more steps. */
bool life_step_over(struct life *life);
/* Returns what an unfinished job waits for, for example "phase 'graph' of 2 processes". NULL: it
 * waits for its steps. */
const char *life_waiting(const struct life *life, struct arena *arena);
