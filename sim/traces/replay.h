/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A recorded program as a workload: one recorded step, simulated again and again on any machine
 * with a local or a remote GPU.
 *
 * These things are replayed as recorded:
 * - the calls of each thread, with their order, streams, events and bytes;
 * - the time of each kernel on the GPU;
 * - the time of each thread between its calls.
 * These things follow from the simulated machine: the time of each call, the start of each kernel,
 * and all waits.
 *
 * A thread that waits for another thread makes no CUDA calls meanwhile, for example PyTorch's main
 * thread during backward. A recording shows only a gap. waits.c finds out which thread waits for
 * which other one, and which thread polls. */
#pragma once

#include "sim/base/param.h"
#include "sim/cuda/program.h"
#include "sim/traces/recorded_job.h"

enum calls_host { CALLS_HOST_DRIVER, CALLS_HOST_RECORDED };
struct calls_params {
	const char *gpu;         /* profile of the recorded GPU; "": that of the recording's name */
	double kernel_ratio;     /* factor of recorded GPU times */
	double think_ratio;      /* factor of recorded times between calls */
	double copies_ratio;     /* factor of the bytes of recorded copies */
	double clock_Hz;         /* clock of the recording's host; 0: clock of the simulated host */
	int host;                /* enum calls_host */
	double step_count;       /* number of the marked step, from 1; 0: the step of median time */
	double copy_B;           /* size of each copy; 0: as recorded */
	double arguments_B;      /* marshalled arguments of a call */
	double arithmetic_ratio; /* factor on the odds that arithmetic limits a kernel (rescale.h)
				  */
};
extern const struct param_table calls_table;

/* The part of a recording that is replayed. */
struct replay_step {
	double start_s, end_s;
	uint32_t thread; /* the thread that ends it */
	uint32_t step;   /* number in the mark */
	bool marked;     /* false: the whole recording */
};

/* Returns false after an error, if there is no such step or no call in it. */
bool replay_step_find(struct diag *diag, struct origin origin,
		      const struct recorded_calls *recorded, const struct calls_params *params,
		      struct replay_step *step);
/* Finds the same step in the recording of another rank. */
bool replay_step_like(struct diag *diag, struct origin origin,
		      const struct recorded_calls *recorded, const struct replay_step *like,
		      struct replay_step *step);

struct replay_spec {
	const struct recorded_calls *recorded;
	const struct replay_step *step;
	const struct calls_params *params;
	double host_clock_Hz; /* clock of the simulated host */
	/* The GPU of the recording and the simulated one (rescale.h); from NULL: unknown. */
	const struct gpu_params *from, *to;
	bool same_model; /* both are of the same file of topologies/gpus/ */
	/* The job and its rank that plays the program. NULL: collectives and messages are kernels
	 * that take their recorded time. */
	const struct recorded_job *job;
	size_t rank;
	bool independent; /* without a job: collectives and messages take no time */
};
/* Returns the program of the step. */
struct program *replay_program(struct arena *arena, const struct replay_spec *spec);
