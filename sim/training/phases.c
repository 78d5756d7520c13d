/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/training/phases.h"

static const struct param_row phases_rows[] = {
	COST_ASSUMED(struct phases_params, process_s, QUANTITY_TIME, 0, 1e4, "4 s",
		     "work of starting a process and importing the framework, one core at 2.4 GHz",
		     "assumption: TensorFlow 1.x and its Python modules import in 2 to 3 s on a "
		     "core of 3.5 GHz when the files are in memory"),
	COST_ASSUMED(struct phases_params, context_s, QUANTITY_TIME, 0, 1e4, "3 s",
		     "work of making the context of a GPU and loading cuDNN, cuBLAS and their "
		     "kernels, one core at 2.4 GHz",
		     "assumption: users of PyTorch and TensorFlow wait 1 to 3 s at the first use "
		     "of a GPU"),
	COST_ASSUMED(struct phases_params, graph_op_s, QUANTITY_TIME, 0, 10, "0 ms",
		     "work of building, placing and initialising an op of the step, one core at "
		     "2.4 GHz",
		     "assumption: a framework without a graph issues its ops directly; 0 is exact, "
		     "because "
		     "nothing is built"),
	COST_ASSUMED(
		struct phases_params, autotune_ratio, QUANTITY_RATIO, 0, 1000, "0",
		"kernel time of the trials that choose algorithms, in kernel times of a step",
		"PyTorch: torch.backends.cudnn.benchmark is off by default; 0 is exact, because "
		"nothing is tried"),
	PARAM_WHOLE(struct phases_params, shuffle_count, 0, 1e9, "0",
		    "encoded images that a process reads before it makes its first batch",
		    "PyTorch: the sampler shuffles indices, not images"),
	PARAM_WHOLE(struct phases_params, evaluation_epochs_count, 0, 1e6, "0",
		    "number of epochs from one evaluation to the next; 0 turns evaluations off",
		    "tf_cnn_benchmarks evaluates in a run of its own"),
	PARAM_WHOLE(struct phases_params, evaluation_images_count, 1, 1e12, "50000",
		    "number of images of an evaluation", "ImageNet 2012's validation set"),
	PARAM_WHOLE(struct phases_params, checkpoint_epochs_count, 0, 1e6, "0",
		    "number of epochs from one checkpoint to the next; 0 turns them off",
		    "tf_cnn_benchmarks writes checkpoints only with --train_dir"),
	PARAM_BOOL(struct phases_params, checkpoint_end, "false",
		   "whether a checkpoint is written at the end of the training",
		   "tf_cnn_benchmarks writes checkpoints only with --train_dir"),
	PARAM_TEXT(struct phases_params, checkpoint_storage, "sata-ssd",
		   "storage to which the first rank writes checkpoints: a file of "
		   "models/storages/",
		   "assumption: a local disk"),
	COST_ASSUMED(struct phases_params, checkpoint_spB, QUANTITY_TIME_PER_BYTE, 0, 1e-5,
		     "1 ns/B",
		     "work of serialising and checksumming a byte of a checkpoint, one core at "
		     "2.4 GHz",
		     "assumption: a copy, a CRC and a buffered write"),
	COST_ASSUMED(struct phases_params, end_s, QUANTITY_TIME, 0, 1e4, "1 s",
		     "work of ending a process, one core at 2.4 GHz",
		     "assumption: releasing contexts and memory takes a third of making them"),
};
const struct param_table phases_table = PARAM_TABLE("phases", struct phases_params, phases_rows);

bool phases_has_checkpoints(const struct phases_params *params)
{
	return params->checkpoint_end || params->checkpoint_epochs_count > 0;
}
