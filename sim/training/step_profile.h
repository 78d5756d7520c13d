/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a training step does on its GPU, as the exchange of gradients sees it.
 *
 * The kernels of a step, in the order in which the GPU does them, are cut into
 * SEGMENTS at each point where gradients become ready: first the forward pass
 * (which ends in no gradient), then backward, last layer first, then what is
 * left. The UPDATE of each variable (weight decay's sum, optimiser) is taken out
 * of that order: in data-parallel training it waits for the reduced gradient.
 *
 * Times come from the kernels of the op graph, stretched so that all segments
 * and updates add up to the step that one GPU alone was simulated to take
 * (solo_step_s: calls, launch gaps, polls and the end of step are in it), so a
 * job of one GPU takes just that.
 *
 * The host issues a segment's ops long before the GPU comes to them; issue_s is how
 * long that takes it (dispatch, launches), in the same order.
 *
 * With XLA (stack.xla_clusters_count > 0) the framework hears of gradients only
 * at the end of a cluster: backward has that many clusters of equal work, and
 * a gradient is ready when its cluster is over.
 */
#ifndef FARWIRE_TRAINING_STEP_PROFILE_H
#define FARWIRE_TRAINING_STEP_PROFILE_H

#include "sim/training/program.h"

struct step_segment {
	const char *name; /* of the op it ends with */
	double compute_s;
	double issue_s;                      /* host work, at the reference clock */
	uint32_t tensor_first, tensor_count; /* gradients ready at its end; of tensors */
};
struct step_tensor { /* in the order in which gradients become ready */
	const char *name;
	double elements_count;
	double update_s; /* once the gradient is reduced */
};
struct step_profile {
	const struct step_segment *segments;
	size_t segment_count, forward_count; /* the first ones are forward */
	const struct step_tensor *tensors;
	size_t tensor_count;
	double ops_count;
	double step_s; /* of all segments and updates */
	double images_count;
	double element_B; /* of a gradient: 2 with fp16 gradients, else 4 */
	double memory_B;  /* of GPU memory a process takes */
	double input_B;   /* of a step's batch of fp32 elements, as input.h takes it */
};
const struct step_profile *step_profile_new(struct arena *arena, const struct network *network,
					    size_t batch, const struct stack_params *stack,
					    const struct gpu_params *gpu,
					    const struct efficiency_params *efficiency,
					    const struct driver_params *driver, double solo_step_s);

#endif
