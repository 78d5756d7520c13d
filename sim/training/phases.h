/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The phases of a training job around its steps.
 *
 * From launch to end a job passes these phases (docs/models/jobs.md):
 *
 *   process start   the interpreter starts and imports the framework
 *   CUDA contexts   the driver makes a context on each GPU and loads libraries and kernels
 *   graph           the framework builds and places the graph of a step
 *   first batch     the input pipeline fills its shuffle buffer and makes the first batch
 *   autotuning      the GPU times the algorithms among which a library chooses
 *   steps           all steps, warm-up included
 *   evaluation      forward passes over the images of a validation set
 *   checkpoints     the variables are written to a storage
 *   end             the framework and the driver release what they hold
 *
 * The costs belong to a stack, so a file of models/stacks may have a group `phases`.
 */
#pragma once

#include "sim/base/param.h"

struct phases_params {
	double process_s;      /* work of one thread of a process, at the reference clock */
	double context_s;      /* further work for each GPU of the process */
	double graph_op_s;     /* further work for each op of the step and each GPU */
	double autotune_ratio; /* kernel time of all trials, in kernel times of a step */
	double shuffle_count;  /* encoded images that a process reads before its first batch */
	double evaluation_epochs_count; /* epochs from one evaluation to the next; 0: none */
	double evaluation_images_count;
	double checkpoint_epochs_count; /* epochs from one checkpoint to the next; 0: none */
	bool checkpoint_end;            /* the job writes one more checkpoint after the last step */
	const char *checkpoint_storage; /* a file of models/storages/ */
	double checkpoint_spB; /* further work per byte of a checkpoint, besides the copy */
	double end_s;          /* work of one thread of a process at the end */
};
extern const struct param_table phases_table;

/* Returns true if the job writes a checkpoint at any time. */
bool phases_has_checkpoints(const struct phases_params *params);
