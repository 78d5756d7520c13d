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

#include <stdbool.h>
#include <stdint.h>

#include "sim/cuda/program.h"
#include "sim/gpu/kernel.h"
#include "sim/training/network.h"

struct stack_params {
	int framework;     /* index into the frameworks */
	double dispatch_s; /* host work of the executor for an op, at the reference clock */
	double calls_per_library_op_count; /* driver and library calls of a cuDNN or cuBLAS op
		besides the launches of its kernels; a fraction is spread evenly over the ops */
	double calls_per_launch_count;     /* driver and library calls for each kernel, its launch
		included */
	/* Further calls for each launch, by kind (stack_calls.def). Fractions are spread evenly. */
#define STACK_CALL(field, kind, help, source) double field;
#include "sim/training/stack_calls.def"
#undef STACK_CALL
	int l2_loss;         /* enum l2_loss: how weight decay enters the graph */
	bool poller;         /* a thread polls events */
	double poll_sleep_s; /* time between two rounds of the poller */
	bool sync_on_finish; /* a step ends with a synchronise, not with a polled event */
	bool real_input;     /* each step copies its input to the GPU */
	bool pinned_input;
	double events_per_step_count;  /* extra records and polls (several stream groups) */
	double session_s;              /* host work between two steps, at the reference clock */
	double optimiser_copies_count; /* 0: plain SGD, 1: momentum */
	double arguments_B;            /* marshalled arguments of a driver call */
	double library_arguments_B;    /* marshalled arguments of a library call */
	double workspace_B;
	int precision;               /* enum stack_precision */
	int tf32;                    /* enum stack_tf32 */
	bool autocast;               /* fp32 weights are cast in each step; some ops stay in fp32 */
	int layout;                  /* enum stack_layout */
	int fusion;                  /* enum stack_fusion */
	bool fused_averages;         /* batch norm's kernel also updates its moving averages */
	bool fused_attention;        /* scores stay inside one kernel (FlashAttention) */
	bool cudnn_attention;        /* fused attention is cuDNN's */
	bool fused_accumulation;     /* products add weights' gradients to fp32 sums */
	bool fp16_gradients;         /* gradients are exchanged in half precision */
	double update_tensors_count; /* tensors that one kernel updates */
	bool lamb;                   /* the update also needs the norm of the update (LAMB) */
	bool master_weights;         /* the optimiser has fp32 copies of 16-bit weights */
	bool separate_bias;          /* a kernel of its own adds the bias of a linear layer */
	bool lars;              /* the update needs the norms of weights and gradients (LARS) */
	double engine_wait_s;   /* time that the engine loses behind each op for which it waits */
	bool cuda_graph;        /* one CUDA graph holds forward and backward */
	double norm_gpus_count; /* GPUs over whose images batch norm takes its statistics */
	double norm_exchange_s; /* time in which two GPUs exchange such statistics */
	double xla_clusters_count; /* number of XLA clusters of backward; 0: no XLA */
};
enum stack_precision { PRECISION_FP32, PRECISION_FP16, PRECISION_BF16, PRECISION_FP8 };
/* Order of an image's elements: channels behind or before the pixels. */
enum stack_layout { LAYOUT_NHWC, LAYOUT_NCHW };
/* The products that use TF32 in place of fp32. */
enum stack_tf32 { TF32_NONE, TF32_CONVOLUTIONS, TF32_ALL };
/* The element-wise ops that are one kernel with their neighbours. */
enum stack_fusion { FUSION_NONE, FUSION_NORM, FUSION_LAYER, FUSION_ALL, FUSION_INFERENCE };
enum l2_loss {
	L2_LOSS_ALL,           /* one op for each trainable variable */
	L2_LOSS_NO_BATCH_NORM, /* one op for each trainable variable that is not batch norm's */
	L2_LOSS_SINGLE_OP,     /* one op for all trainable variables, concatenated */
	L2_LOSS_NONE,          /* no op; weight decay is inside the optimiser */
};
extern const struct param_table stack_table;
/* Returns the bytes of an element of an activation. */
double stack_element_B(const struct stack_params *stack);
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
	/* exchange of gradients by an exchange policy (gradients.h); NULL: none */
	struct gradient_writer *gradients;
};

struct framework {
	const char *name; /* "tensorflow-1" */
	const char *help;
	bool ahead; /* the host issues the next step without waiting for the GPU */
	/* Returns the ops' indices in the order in which the framework issues them. */
	const uint32_t *(*order)(struct arena *arena, const struct op_graph *graph);
	/* Builds the calls of one step. */
	const struct program *(*program)(struct arena *arena, const struct step_spec *spec);
};
REGISTRY_OF(struct framework, framework);

/* The frameworks of frameworks.def. */
#define FRAMEWORK(name) extern const struct framework name;
#include "sim/training/frameworks.def"
#undef FRAMEWORK
