/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The gradients of a data-parallel step, while a framework writes the program of one GPU.
 *
 * The program has four marks (sim/cuda/cuda.h): the begin of the step, each HAND-OVER of gradients
 * that have become ready, a wait for reduced gradients if the optimiser runs on the same stream,
 * and the end. The exchange policy decides what happens in between (exchange.h), so a program does
 * not depend on it, except for two facts: whether gradients are held back until the end of
 * backward, and whether updates are part of the program or are issued when gradients are reduced.
 *
 * With XLA (stack.xla_clusters_count > 0) backward has that many clusters of equal work, and the
 * framework hands over a gradient only at the end of its cluster.
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

struct gradients_params {
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

/* Frameworks call these: before the first op; issue_op calls them before each op, which returns
 * false if the op must not be issued now, and behind it; behind the last op. */
void gradients_begin(struct gradient_writer *writer, struct issuer *issuer,
		     const struct op_graph *graph);
bool gradients_before(struct gradient_writer *writer, struct issuer *issuer, const struct op *op);
void gradients_behind(struct gradient_writer *writer, struct issuer *issuer, const struct op *op);
void gradients_end(struct gradient_writer *writer, struct issuer *issuer);
