/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Changes a training step of one GPU into the step of a program that trains on several GPUs.
 *
 * Gradients are exchanged call by call, in the bundles of the exchange policy. The program
 * exchanges bundles on a separate stream, which waits for the compute stream by an event. So later
 * kernels overlap the exchange:
 *
 *   all-reduce      one ncclAllReduce of the bundle with all GPUs of the job. Updates are
 *                   issued after backward, as in PyTorch. Each update waits on the GPU for
 *                   its bundle.
 *   variables on    each GPU's bundle is copied to the program's host. The host adds them,
 *   the CPU         updates the variables and copies them back to each GPU. No update runs on
 *                   a GPU. The step ends when all GPUs have the new values.
 *
 * Each GPU of a program has its own threads, as in TensorFlow and PyTorch.
 */
#pragma once

#include "sim/cuda/program.h"
#include "sim/training/exchange.h"
#include "sim/training/issue.h"

struct spread_params {
	size_t device_count; /* GPUs of the program */
	const struct exchange_params *exchange;
	double element_B; /* size of a gradient's element in the stack */
	bool on_cpu;      /* the variables are on the CPU */
	double cpu_Bps;   /* bytes of gradients that the host adds in a second */
};

/* The exchange of one step, while a framework writes that step. */
/* stream, event and signal are the first ones that the framework does not use. */
struct spread *spread_new(struct arena *arena, const struct spread_params *params,
			  const struct op_graph *graph, uint16_t stream, uint16_t event,
			  uint32_t signal);

/* issue_op calls both functions. spread_before issues the calls that an op needs before it. It
 * returns false if the op must not be issued now: it is an update that spread_update issues
 * later, or that runs on the CPU. spread_behind issues the exchange of the bundles that end with
 * the op's gradients. */
bool spread_before(struct spread *spread, struct issuer *issuer, const struct op *op);
void spread_behind(struct spread *spread, struct issuer *issuer, const struct op *op);
/* Issues the updates, which were held back until now. They wait for gradients of all GPUs, and
 * later ops on the compute stream would have to wait for them. */
void spread_update(struct spread *spread, struct issuer *issuer);

/* Returns the program of all GPUs. `one` is the program of one GPU that a framework wrote with
 * this spread. */
const struct program *spread_program(struct arena *arena, const struct spread *spread,
				     const struct program *one);
