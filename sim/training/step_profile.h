/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The step profile: the kernels of a training step and the points where gradients are ready.
 *
 * The kernels of a step, in the order in which the GPU runs them, are cut into SEGMENTS. A
 * segment ends at each point where gradients become ready. The order is forward (without
 * gradients), backward from the last layer, then the remaining kernels. The UPDATE of each
 * variable (sum with weight decay, optimiser) is kept apart, because in data-parallel training
 * it waits for the reduced gradient.
 *
 * A segment also has the HOST WORK of issuing its kernels: the executor's work for each op,
 * and its driver calls. One thread issues segments one after the other. The kernels of a
 * segment start when the thread has begun to issue it and the segment before has ended. The
 * last kernel starts after the whole segment has been issued. A segment with more than
 * PIECE_KERNELS kernels is cut, so that a GPU that waits for its host waits at the right place.
 *
 * The times of kernels come from the op graph. One factor scales them such that this rule
 * gives solo_step_s on a single GPU whose host has free cores. solo_step_s comes from a
 * simulation call by call, so it includes gaps, polls and the end of the step.
 *
 * With XLA (stack.xla_clusters_count > 0) backward has that many clusters of equal work. The
 * framework announces a gradient only at the end of its cluster.
 */
#pragma once

#include "sim/training/framework.h"

enum { PIECE_KERNELS = 64 };

struct step_segment {
	const char *name; /* name of its last op */
	double compute_s;
	double host_s; /* work to issue the segment, at the reference clock on bare metal */
	double last_s; /* duration of its last kernel, which is part of compute_s */
	uint32_t tensor_first, tensor_count; /* tensors whose gradients are ready at its end */
};
struct step_tensor { /* in the order in which gradients become ready */
	const char *name;
	double elements_count;
	double update_s;      /* GPU time of the update after the gradient is reduced */
	double update_host_s; /* work to issue the update */
};
struct step_profile {
	const struct step_segment *segments;
	size_t segment_count;
	size_t forward_count; /* the first segments belong to the forward pass */
	const struct step_tensor *tensors;
	size_t tensor_count;
	double ops_count;    /* number of ops of the graph */
	double step_s;       /* step time of a single GPU (solo_step_s) */
	double begin_host_s; /* host work before the first segment is issued */
	double poller_ratio; /* part of a core that the poller uses */
	bool ahead;          /* the host issues the next step without waiting for the GPU */
	double images_count;
	double element_B; /* bytes of a gradient's element: 2 with fp16 gradients, else 4 */
	double memory_B;  /* GPU memory of a process */
	double input_B;   /* size of one batch in fp32, for input_spec.batch_B */
};
struct step_host {
	const struct driver_params *driver;
	double work_ratio; /* time for a unit of work on a core that nothing else uses */
};
/* Creates the step profile of a stack on a GPU. host NULL: issuing costs nothing. solo_step_s is
 * the step time of the same step on a single GPU. */
const struct step_profile *step_profile_new(struct arena *arena, const struct network *network,
					    size_t batch, const struct stack_params *stack,
					    const struct gpu_params *gpu,
					    const struct efficiency_params *efficiency,
					    const struct step_host *host, double solo_step_s);
