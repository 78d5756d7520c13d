/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The gradients of a step, while a framework writes the program of one GPU. Updates are held back
 * until all other ops are issued, because they wait for gradients of all GPUs, and later ops on the
 * compute stream would have to wait for them.
 *
 * The program of a DATA-PARALLEL RANK has four marks (sim/cuda/cuda.h): the begin of the step, each
 * HAND-OVER of gradients that have become ready, a wait for reduced gradients if the optimiser runs
 * on the same stream, and the end. The exchange policy decides what happens in between
 * (exchange.h), so a program does not depend on it, except for two facts: whether gradients are
 * held back until the end of backward, and whether updates are part of the program or are issued
 * when gradients are reduced. With XLA (stack.xla_clusters_count > 0) backward has that many
 * clusters of equal work, and the framework hands over a gradient only at the end of its cluster.
 *
 * A SPREAD program trains on several GPUs. It exchanges gradients call by call, in the bundles of
 * the exchange policy, on a separate stream that waits for the compute stream by an event. So later
 * kernels overlap the exchange:
 *
 *   all-reduce      one ncclAllReduce of the bundle with all GPUs of the job. Updates are
 *                   issued after backward, as in PyTorch. Each update waits on the GPU for
 *                   its bundle.
 *   variables on    each GPU's bundle is copied to the program's host. The host adds them,
 *   the CPU         updates the variables and copies them back to each GPU. No update runs on
 *                   a GPU. The step ends when all GPUs have the new values.
 *
 * Each GPU of a spread program has its own threads, as in TensorFlow and PyTorch.
 */
#pragma once

#include "sim/training/issue.h"

struct gradient { /* in the order in which gradients become ready */
	const char *name;
	double elements_count;
	/* GPU time and host work of its update, if the program has no updates */
	double update_s, update_host_s;
};

/* Gradients that are handed over together: [first, first + count). */
struct hand_over {
	uint32_t first, count;
};

struct exchange_params;
struct spread_params {
	size_t device_count; /* GPUs of the program */
	const struct exchange_params *exchange;
	double element_B; /* size of a gradient's element in the stack */
	bool on_cpu;      /* the variables are on the CPU */
	double cpu_Bps;   /* bytes of gradients that the host adds in a second */
};

struct gradients_params {
	const struct spread_params
		*spread;        /* NULL: a data-parallel rank; it has the other fields */
	bool held;              /* all gradients are handed over at the end of backward */
	bool updates_in_stream; /* the program has the updates */
	const struct driver_params *driver;
};

struct gradients {
	const struct gradient *tensors;
	size_t tensor_count;
	const struct hand_over *hand_overs;
	size_t hand_over_count;
	double ops_count;            /* number of ops of the graph */
	double forward_s, compute_s; /* GPU time of forward, and of the step without updates */
};

/* Returns the writer for one program, which `program` of a framework takes with its step_spec. */
struct gradient_writer *gradient_writer_new(struct arena *arena,
					    const struct gradients_params *params);
/* Returns what the program has handed over; call it when the program is written. */
const struct gradients *gradient_writer_read(struct gradient_writer *writer);

/* The first stream, event and signal that the framework does not use. */
struct gradients_first {
	uint16_t stream, event;
	uint32_t signal;
};
/* Frameworks call these with issuer->gradients, which may be NULL: before the first op, and behind
 * the last one. issue_op calls gradients_before, which returns false if the op must not be issued
 * now, and gradients_behind. */
void gradients_begin(struct issuer *issuer, const struct op_graph *graph,
		     const struct gradients_first *first);
bool gradients_before(struct issuer *issuer, const struct op *op);
void gradients_behind(struct issuer *issuer, const struct op *op);
void gradients_end(struct issuer *issuer);
/* Returns the program of all GPUs, if that of one GPU is to be spread. */
const struct program *gradients_program(const struct issuer *issuer, const struct program *one);
