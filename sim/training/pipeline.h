/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A training step on a pipeline: each GPU holds a stage of the network.
 *
 * The network is cut into stages of about equal work, at places where only one activation
 * passes from layer to layer. A batch is cut into micro-batches. Each rank follows the GPipe
 * schedule (Huang et al., arXiv 1811.06965): all forward passes, then all backward passes,
 * then the updates. Activations and their gradients travel by ncclSend and ncclRecv on two
 * separate streams, one for each direction. So a stage computes the next micro-batch while the
 * previous one is on its way.
 */
#pragma once

#include "sim/training/framework.h"

struct pipeline_params {
	size_t stage_count, stage; /* number of stages, and this rank's stage */
	size_t micro_batch_count;
};

/* Sets cuts[i] to the last layer of stage i, for all stages except the last one. Returns false if
 * there are too few layers after which only one activation passes. */
bool pipeline_cut(struct arena *arena, const struct network *network, size_t stage_count,
		  size_t *cuts);
/* Writes the step of a stage. The batch is the images of a step on all stages, a multiple of
 * micro_batch_count. Stage i is member i of the job's group. */
const struct program *pipeline_program(struct arena *arena, const struct step_spec *spec,
				       const struct pipeline_params *pipeline);
