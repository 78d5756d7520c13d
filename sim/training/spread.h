/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A training step of one GPU, made into the step of a program that trains on several.
 *
 * Gradients are exchanged call by call. Those that are complete behind the same op, and the
 * following ones up to bundle_B, are a BUNDLE. The program puts it on a stream of its own,
 * behind the compute stream (an event), so that later kernels overlap it:
 *
 *   all-reduce      one ncclAllReduce of the bundle with all GPUs of the job. Updates follow
 *                   behind backward, as PyTorch's optimiser does; each waits for its bundle on
 *                   the GPU.
 *   variables on    the bundle is copied to the program's host, which adds those of all its
 *   the CPU         GPUs, updates the variables and copies them back to each GPU. No update
 *                   runs on a GPU, and the step ends when the new values are there.
 *
 * Each GPU of a program has threads of its own, as each has in TensorFlow and PyTorch.
 */
#ifndef FARWIRE_TRAINING_SPREAD_H
#define FARWIRE_TRAINING_SPREAD_H

#include "sim/cuda/program.h"
#include "sim/training/issue.h"

struct spread_params {
	size_t device_count; /* GPUs that the program holds */
	double bundle_B;     /* 0: each op's gradients by themselves; INFINITY: all together */
	double element_B;    /* of a gradient */
	bool on_cpu;         /* the variables */
	double cpu_Bps;      /* bytes of gradients that the host adds up in a second */
};

struct spread; /* of the step that a framework is writing */
/* stream, event and signal: the first that the framework does not use. */
struct spread *spread_new(struct arena *arena, const struct spread_params *params,
			  const struct op_graph *graph, uint16_t stream, uint16_t event,
			  uint32_t signal);

/* Called by issue_op. Before: what has to be issued in front of the op; false: the op is not
 * done on the GPU. Behind: what follows from its gradients. */
bool spread_before(struct spread *spread, struct issuer *issuer, const struct op *op);
void spread_behind(struct spread *spread, struct issuer *issuer, const struct op *op);
/* Issues the updates, which were held back: they wait for gradients of all GPUs, and what is
 * issued behind them on the compute stream would wait, too. */
void spread_update(struct spread *spread, struct issuer *issuer);

/* The program of all GPUs, from that of one, which was written with the spread. */
const struct program *spread_program(struct arena *arena, const struct spread *spread,
				     const struct program *one);

#endif
