/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A framework turns a network into a program: threads that make CUDA calls.
 *
 * The stack (a file in models/stacks) is part of the model. Framework and stack determine
 * - the kernels of each op and the driver and library calls around them,
 * - the thread that issues them, and in which order,
 * - the polling, and how a step begins and ends.
 * Each framework is one file (tf1.c, pytorch.c) and one line in frameworks.def.
 */
#pragma once

#include "sim/cuda/program.h"
#include "sim/gpu/kernel.h"
#include "sim/training/network.h"

/* The rows in framework.c describe each field. */
struct stack_params {
	int framework; /* index into the frameworks */
	double dispatch_s, autograd_ratio, update_ratio, variable_s;
	double calls_per_library_op_count, calls_per_launch_count;
	double handle_calls_count, epilogue_calls_count, cudnn_calls_count;
	/* Further calls for each launch, by kind (stack_calls.def). Fractions are spread evenly. */
#define STACK_CALL(field, kind, help, source) double field;
#include "sim/training/stack_calls.def"
#undef STACK_CALL
	int l2_loss; /* enum l2_loss */
	bool forward_only, poller;
	double poll_sleep_s;
	bool sync_on_finish, real_input, pinned_input;
	int result; /* enum stack_result */
	bool cold;
	double context_count;
	double code_B, modules_count, first_use_s;
	double events_per_step_count, session_s, optimiser_copies_count;
	double arguments_B, library_arguments_B, workspace_B;
	int precision, tf32; /* enum stack_precision, enum stack_tf32 */
	bool autocast;
	int layout, fusion; /* enum stack_layout, enum stack_fusion */
	bool fused_averages, persistent_norm, fused_attention, cudnn_attention, fused_accumulation,
		fp16_gradients;
	double update_tensors_count, library_ratio;
	bool foreach_optimiser, lamb, master_weights, separate_bias, joined_products, lars;
	bool written_quantised, fused_sums;
	double engine_wait_s, expert_call_s;
	bool experts_wait, cuda_graph;
	int graph_scope; /* enum stack_graph_scope */
	double norm_gpus_count, norm_exchange_s, xla_clusters_count;
};
/* From PRECISION_FP8 on, factors of products in blocks are quantised; other values are bf16. */
enum stack_precision {
	PRECISION_FP32,
	PRECISION_FP16,
	PRECISION_BF16,
	PRECISION_FP8,
	PRECISION_MXFP8,
	PRECISION_NVFP4
};
/* Order of an image's elements: channels behind or before the pixels. */
enum stack_layout { LAYOUT_NHWC, LAYOUT_NCHW };
/* The products that use TF32 in place of fp32. */
enum stack_tf32 { TF32_NONE, TF32_CONVOLUTIONS, TF32_ALL };
/* The element-wise ops that are one kernel with their neighbours. */
enum stack_fusion {
	FUSION_NONE,
	FUSION_NORM,
	FUSION_LAYER,
	FUSION_ALL,
	FUSION_INFERENCE, /* this and the next cannot train */
	FUSION_SESSION
};
/* The parts of a block with experts that CUDA graphs hold, if no graph holds the whole step. */
enum stack_graph_scope {
	GRAPH_NONE,
	GRAPH_ROUTER,    /* the norm before the router, the router, and the counts of the rows */
	GRAPH_ATTENTION, /* attention with its norm and sum, too */
};
/* The result of a step of only a forward pass, which is copied to the host and awaited. */
enum stack_result {
	RESULT_NONE,
	RESULT_OUTPUTS, /* the outputs of the network's last layer */
	RESULT_CLASS,   /* the number of the largest output of each sample, found on the GPU */
};
enum l2_loss {
	L2_LOSS_ALL,           /* one op for each trainable variable */
	L2_LOSS_NO_BATCH_NORM, /* one op for each trainable variable that is not batch norm's */
	L2_LOSS_SINGLE_OP,     /* one op for all trainable variables, concatenated */
	L2_LOSS_NONE,          /* no op; weight decay is inside the optimiser */
};
extern const struct param_table stack_table;
/* Returns the bytes of an element of an activation. */
double stack_element_B(const struct stack_params *stack);
/* Returns the bytes of an element of a product's factor with its part of the scales: a byte for 32
 * elements in MXFP8, and for 16 in NVFP4 (OCP Microscaling Formats 1.0; Transformer Engine). */
double stack_factor_B(const struct stack_params *stack);
/* Returns the number type that the stack needs: its precision. TF32 is not needed, because fp32
 * products do without it. */
enum number_type stack_needed_type(const struct stack_params *stack);
/* Returns the number type in which the stack computes convolutions, or other products, on the
 * GPU. If gpu is NULL, it has no TF32. */
enum number_type stack_product_type(const struct stack_params *stack, const struct gpu_params *gpu,
				    bool convolution);

/* Returns the part of a core that the poller uses: one query of query_s, then a sleep, and so on.
 */
double stack_poller_ratio(const struct stack_params *stack, double query_s);

/* Returns the GPU memory of a training step with that stack (network_memory_B). */
double stack_memory_B(const struct network *network, size_t batch,
		      const struct stack_params *stack);

struct op_graph;
struct spread_params;

struct step_spec { /* what a framework turns into calls */
	const struct network *network;
	size_t batch;
	const struct stack_params *stack;
	const struct gpu_params *gpu;
	const struct efficiency_params *efficiency;
	/* how several GPUs exchange gradients; NULL: the program trains on one GPU */
	const struct spread_params *spread;
	/* of a data-parallel rank (gradients.h); NULL: another program */
	struct gradient_writer *gradients;
};

struct framework {
	const char *name; /* "tensorflow-1" */
	const char *help;
	bool ahead;     /* the host issues the next step without waiting for the GPU */
	bool starts;    /* writes the start of a process (stack.cold) */
	bool pool;      /* other threads issue the ops that need only variables */
	bool inference; /* cannot train */
	/* Builds the calls of one step. */
	const struct program *(*program)(struct arena *arena, const struct step_spec *spec);
};
REGISTRY_OF(struct framework, framework);

/* The frameworks of frameworks.def. */
#define FRAMEWORK(name) extern const struct framework name;
#include "sim/training/frameworks.def"
#undef FRAMEWORK
