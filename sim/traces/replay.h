/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A recorded program as a workload: its calls of one step, to be played again and again on any
 * machine, with a local or a remote GPU.
 *
 * These things replay as recorded: which calls each thread makes, in which order, on which
 * streams and events, with which bytes; how long each kernel runs on the GPU; what the threads
 * did between their calls. These follow from the simulated machine: how long calls take, when
 * kernels start, which operation waits for which.
 *
 * Threads that wait for one another make no CUDA calls meanwhile (for example PyTorch's main
 * thread during backward). A recording shows this as an ordinary gap. waits.c finds out which
 * thread waits for which, and which thread polls. */
#ifndef FARWIRE_TRACES_REPLAY_H
#define FARWIRE_TRACES_REPLAY_H

#include "sim/base/param.h"
#include "sim/traces/recorded.h"
#include "sim/cuda/program.h"

enum calls_host { CALLS_HOST_DRIVER, CALLS_HOST_RECORDED };
struct calls_params {
	double kernel_ratio; /* of GPU times here to those recorded */
	double think_ratio;  /* of the threads' own work */
	double clock_Hz;     /* of the host that recorded; 0: as the one simulated */
	int host;            /* enum calls_host */
	double step_count;   /* which of the marked steps, from 1 on; 0: the median one */
	double arguments_B;  /* marshalled, of a call */
};
extern const struct param_table calls_table;

/* The part of the recording that is played. */
struct replay_step {
	double start_s, end_s;
	uint32_t thread; /* that ends it */
	uint32_t step;   /* as marked */
	bool marked;     /* else all of it */
};

struct arena;
struct diag;
struct origin;

/* False after an error: no such step, or nothing in it. */
bool replay_step_find(struct diag *diag, struct origin origin,
		      const struct recorded_calls *recorded, const struct calls_params *params,
		      struct replay_step *step);
/* Its call stream. host_clock_Hz: of the simulated machine. */
struct program *replay_program(struct arena *arena, const struct recorded_calls *recorded,
			       const struct replay_step *step, const struct calls_params *params,
			       double host_clock_Hz);

#endif
