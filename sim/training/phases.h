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

/* The rows in phases.c describe each field. */
struct phases_params {
	double process_s, context_s, graph_op_s, autotune_ratio, shuffle_count;
	double evaluation_epochs_count, evaluation_images_count, checkpoint_epochs_count;
	bool checkpoint_end;
	const char *checkpoint_storage;
	double checkpoint_spB, end_s;
};
extern const struct param_table phases_table;

/* Returns true if the job writes a checkpoint at any time. */
bool phases_has_checkpoints(const struct phases_params *params);
