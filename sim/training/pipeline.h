/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A training step on a pipeline: each GPU holds a stage of the network.
 *
 * The network is cut between layers where one activation passes, so that the stages have
 * about equal work. A batch is cut into micro-batches. Each rank plays the GPipe schedule
 * (Huang et al., arXiv 1811.06965): all forward passes, then all backward passes in the
 * opposite order, then the updates. Activations and their gradients travel by ncclSend and
 * ncclRecv on two streams of their own, one for each direction. So a stage computes the next
 * micro-batch while the previous one is on its way.
 */
#ifndef FARWIRE_TRAINING_PIPELINE_H
#define FARWIRE_TRAINING_PIPELINE_H

#include "sim/training/framework.h"

struct pipeline_params {
	size_t stage_count, stage; /* stage: of this rank */
	size_t micro_batch_count;
};

/* Layers after which the network can be cut: one activation passes there. Fills cuts with the
 * last layer of each stage but the last; false: there are too few such layers. */
bool pipeline_cut(struct arena *arena, const struct network *network, size_t stage_count,
		  size_t *cuts);
/* The step of a stage; batch: of a step, a multiple of the micro-batches. The stages are
 * members 0, 1 ... of the job's group. */
const struct program *pipeline_program(struct arena *arena, const struct network *network,
				       size_t batch, const struct stack_params *stack,
				       const struct gpu_params *gpu,
				       const struct efficiency_params *efficiency,
				       const struct pipeline_params *pipeline);

#endif
