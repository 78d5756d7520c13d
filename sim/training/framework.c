/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/training/framework.h"

#include "sim/training/frameworks.h"

static const struct registry_row framework_rows[] = {
#define FRAMEWORK(name) REGISTRY_ROW(name),
#include "sim/training/frameworks.def"
#undef FRAMEWORK
};
const struct registry framework_registry = REGISTRY("framework", "frameworks", framework_rows);

static const char *const l2_loss_names[] = {"all", "no_batch_norm", "single_op", "none", NULL};

static const struct param_row stack_rows[] = {
	PARAM_NAMED(struct stack_params, framework, &framework_registry, NULL,
		    "framework whose executor issues the ops", ""),
	COST_ASSUMED(struct stack_params, dispatch_s, QUANTITY_TIME, 0, 1, "5 us",
		     "executor's host work for each op, at the reference clock",
		     "assumption: a few microseconds an op, as framework profiles show"),
	COST_ASSUMED(struct stack_params, calls_per_library_op_count, QUANTITY_COUNT, 0, 100, "3",
		     "number of calls of a cuDNN or cuBLAS op in addition to its launches "
		     "(descriptors, workspace size, set stream)",
		     "assumption: fitted where forwarded steps were measured"),
	PARAM_NUMBER(struct stack_params, calls_per_launch_count, QUANTITY_COUNT, 1, 100, "1",
		     "number of calls for a kernel without library, including its launch",
		     "by definition: only the launch"),
	PARAM_CHOICE(struct stack_params, l2_loss, l2_loss_names, "all",
		     "ops of the weight decay's loss: one for each trainable variable, the same "
		     "without those of batch norm, one op in all, or none",
		     "tf_cnn_benchmarks: all before 29 October 2018, then no_batch_norm"),
	PARAM_BOOL(struct stack_params, poller, "true",
		   "whether a thread polls events for completion", "TensorFlow gpu_event_mgr.cc"),
	PARAM_NUMBER(struct stack_params, poll_sleep_s, QUANTITY_TIME, 0, 1, "10 us",
		     "time for which the poller sleeps between polls while an event is pending",
		     "TensorFlow gpu_event_mgr.cc: polling_active_delay_usecs"),
	PARAM_BOOL(struct stack_params, real_input, "false",
		   "whether each step copies its input to the GPU",
		   "tf_cnn_benchmarks without --data_dir makes input on the GPU"),
	PARAM_BOOL(struct stack_params, pinned_input, "true",
		   "whether the input is in pinned host memory",
		   "TensorFlow's host allocator for GPU copies"),
	PARAM_NUMBER(struct stack_params, events_per_step_count, QUANTITY_COUNT, 0, 4096, "0",
		     "number of additional event records in each step, each of which is polled "
		     "(several stream groups)",
		     "TensorFlow with one stream group records events for copies only"),
	COST_ASSUMED(struct stack_params, session_s, QUANTITY_TIME, 0, 10, "300 us",
		     "host work between two steps, at the reference clock",
		     "assumption: a session.run or training loop in Python"),
	PARAM_NUMBER(struct stack_params, optimiser_copies_count, QUANTITY_COUNT, 0, 4, "0",
		     "size of the optimiser's state, in copies of the weights: 0 for plain SGD, 1 "
		     "for momentum",
		     "tf_cnn_benchmarks: --optimizer=sgd"),
	COST_ASSUMED(struct stack_params, arguments_B, QUANTITY_BYTES, 0, 4096, "120 B",
		     "size of the marshalled arguments of a driver call",
		     "assumption: launches of about 10 arguments"),
	COST_ASSUMED(struct stack_params, library_arguments_B, QUANTITY_BYTES, 0, 4096, "120 B",
		     "size of the marshalled arguments of a library call", "assumption"),
	COST_ASSUMED(struct stack_params, workspace_B, QUANTITY_BYTES, 0, 1e12, "128 MiB",
		     "GPU memory of the cuDNN workspace and the context", "assumption"),
	PARAM_BOOL(struct stack_params, fp16, "false",
		   "whether arithmetic and tensors are in half precision", ""),
	PARAM_BOOL(struct stack_params, fp16_gradients, "false",
		   "whether gradients are exchanged in half precision",
		   "tf_cnn_benchmarks keeps fp32 variables, so their gradients are fp32 too "
		   "(variable_mgr.py); MXNet's fp16 kvstore takes fp16"),
	PARAM_WHOLE(struct stack_params, xla_clusters_count, 0, 1000, "0",
		    "number of clusters into which XLA compiles the backward pass; 0 means no XLA",
		    "assumption: no XLA unless the stack's file says so"),
};
const struct param_table stack_table = PARAM_TABLE("stack", struct stack_params, stack_rows);
