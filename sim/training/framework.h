/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A framework turns a network into a program: threads that make CUDA calls.
 *
 * The stack (a file in models/stacks) is part of the model: which kernels an op
 * becomes, how many driver and library calls each brings, which thread issues
 * them and in what order, who polls, how a step begins and ends.
 * One file for each framework (tf1.c, pytorch.c), one line each in frameworks.def.
 */
#ifndef FARWIRE_TRAINING_FRAMEWORK_H
#define FARWIRE_TRAINING_FRAMEWORK_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/cuda/program.h"
#include "sim/gpu/kernel.h"
#include "sim/training/network.h"

struct stack_params {
	int framework;     /* index into the frameworks */
	double dispatch_s; /* host work of the executor for an op, at the reference clock */
	double calls_per_library_op_count; /* driver and library calls that a
		cuDNN or cuBLAS op brings besides its kernels' launches; a fraction is
		spread evenly over the ops */
	double calls_per_launch_count;     /* calls a plain kernel brings, its launch included */
	int l2_loss;                       /* enum l2_loss: how weight decay enters the graph */
	bool poller;                       /* event-polling thread */
	double poll_sleep_s;
	bool real_input; /* each step copies its input to the GPU */
	bool pinned_input;
	double events_per_step_count;  /* extra records and polls (several stream groups) */
	double session_s;              /* host work between two steps */
	double optimiser_copies_count; /* 0: plain SGD, 1: momentum */
	double arguments_B;            /* marshalled arguments of a launch */
	double library_arguments_B;
	double workspace_B;
	int precision;             /* enum stack_precision */
	int tf32;                  /* enum stack_tf32 */
	bool autocast;             /* fp32 weights are cast in each step; some ops stay in fp32 */
	int fusion;                /* enum stack_fusion */
	bool fp16_gradients;       /* they are exchanged in half precision */
	double xla_clusters_count; /* of backward; 0: no XLA */
};
enum stack_precision { PRECISION_FP32, PRECISION_FP16, PRECISION_BF16, PRECISION_FP8 };
enum stack_tf32 { TF32_NONE, TF32_CONVOLUTIONS, TF32_ALL }; /* in place of fp32 */
/* Which neighbouring element-wise ops are one kernel. */
enum stack_fusion { FUSION_NONE, FUSION_NORM, FUSION_ALL };
enum l2_loss {
	L2_LOSS_ALL,           /* an op for each trainable variable */
	L2_LOSS_NO_BATCH_NORM, /* ... but batch norm's */
	L2_LOSS_SINGLE_OP,     /* one op for all of them, concatenated */
	L2_LOSS_NONE,          /* inside the optimiser */
};
extern const struct param_table stack_table;
/* Size of an element of an activation. */
double stack_element_B(const struct stack_params *stack);
/* Number type in which the stack computes convolutions, or other products. */
enum number_type stack_product_type(const struct stack_params *stack, bool convolution);

struct op_graph;
struct spread_params;

struct framework {
	const char *name; /* "tensorflow-1" */
	const char *help;
	bool ahead; /* begins to issue the next step without waiting for the GPU */
	/* The ops of a graph in the order in which it issues them. */
	const uint32_t *(*order)(struct arena *arena, const struct op_graph *graph);
	/* Builds the call stream of one step. spread: how its gradients are exchanged among
	 * several GPUs; NULL: it trains on one. */
	const struct program *(*program)(struct arena *arena, const struct network *network,
					 size_t batch, const struct stack_params *stack,
					 const struct gpu_params *gpu,
					 const struct efficiency_params *efficiency,
					 const struct spread_params *spread);
};
REGISTRY_OF(struct framework, framework);

#endif
