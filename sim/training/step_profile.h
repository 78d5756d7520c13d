/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a training step does on its GPU, as the exchange of gradients sees it.
 *
 * The kernels of a step, in the order in which the GPU does them, are cut into
 * SEGMENTS at each point where gradients become ready: first the forward pass
 * (which ends in no gradient), then backward, last layer first, then what is
 * left. The UPDATE of each variable (weight decay's sum, optimiser) is taken out
 * of that order: in data-parallel training it waits for the reduced gradient.
 *
 * Beside its kernels a segment has the HOST WORK of issuing them: the executor's for
 * each op, and its calls in the driver. A thread issues segments one after the other;
 * a segment's kernels run when it has been begun to be issued and the one before is
 * done, and its last kernel not before it has been issued. Long ones (forward) are cut into pieces
 * of PIECE_KERNELS, so that a GPU that waits for its host waits where it really does.
 *
 * The kernels' times come from the op graph, stretched such that a GPU alone, whose
 * host has cores to spare, takes by that rule the step that it was simulated to take
 * call by call (solo_step_s: gaps, polls and the end of step are in it).
 *
 * With XLA (stack.xla_clusters_count > 0) the framework hears of gradients only
 * at the end of a cluster: backward has that many clusters of equal work, and
 * a gradient is ready when its cluster is over.
 */
#ifndef FARWIRE_TRAINING_STEP_PROFILE_H
#define FARWIRE_TRAINING_STEP_PROFILE_H

#include "sim/training/framework.h"

enum { PIECE_KERNELS = 64 };

struct step_segment {
	const char *name; /* of the op it ends with */
	double compute_s;
	double host_s; /* work of issuing it, at the reference clock on the bare machine */
	double last_s; /* of compute_s: its last kernel */
	uint32_t tensor_first, tensor_count; /* gradients ready at its end; of tensors */
};
struct step_tensor { /* in the order in which gradients become ready */
	const char *name;
	double elements_count;
	double update_s;      /* once the gradient is reduced */
	double update_host_s; /* work of issuing that */
};
struct step_profile {
	const struct step_segment *segments;
	size_t segment_count, forward_count; /* the first ones are forward */
	const struct step_tensor *tensors;
	size_t tensor_count;
	double ops_count;    /* of the graph */
	double step_s;       /* of a GPU alone */
	double begin_host_s; /* work before the first segment is issued */
	double poller_ratio; /* of a core, while the step lasts */
	bool ahead;          /* the host goes on to the next step without waiting for the GPU */
	double images_count;
	double element_B; /* of a gradient: 2 with fp16 gradients, else 4 */
	double memory_B;  /* of GPU memory a process takes */
	double input_B;   /* of a step's batch of fp32 elements, as input.h takes it */
};
struct step_host { /* NULL: issuing costs nothing */
	const struct driver_params *driver;
	double work_ratio; /* time of a core to itself for a unit of work */
};
const struct step_profile *step_profile_new(struct arena *arena, const struct network *network,
					    size_t batch, const struct stack_params *stack,
					    const struct gpu_params *gpu,
					    const struct efficiency_params *efficiency,
					    const struct step_host *host, double solo_step_s);

#endif
