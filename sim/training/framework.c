/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/training/framework.h"

static const struct registry_row framework_rows[] = {
#define FRAMEWORK(name) REGISTRY_ROW(name),
#include "sim/training/frameworks.def"
#undef FRAMEWORK
};
const struct registry framework_registry = REGISTRY("framework", "frameworks", framework_rows);

static const char *const l2_loss_names[] = {"all", "no_batch_norm", "single_op", "none", NULL};

static const char *const graph_scope_names[] = {"none", "router", "attention", NULL};
static const char *const result_names[] = {"none", "outputs", "class", NULL};
static const char *const precision_names[] = {"fp32",  "fp16",  "bf16", "fp8",
					      "mxfp8", "nvfp4", NULL};
static const char *const tf32_names[] = {"none", "convolutions", "all", NULL};
static const char *const layout_names[] = {"nhwc", "nchw", NULL};
static const char *const fusion_names[] = {"none",      "norm",    "layer", "all",
					   "inference", "session", NULL};

#define CALLS_STATED                                                                               \
	"only stacks of eager PyTorch state the calls of each library; elsewhere 0 is exact, "     \
	"because stack.calls_per_library_op contains the calls"

static const struct param_row stack_rows[] = {
	PARAM_NAMED(struct stack_params, framework, &framework_registry, NULL,
		    "framework whose executor issues the ops"),
	COST_ASSUMED(
		struct stack_params, dispatch_s, QUANTITY_TIME, 0, 1, "5 us",
		"host work of an operator besides its driver calls (dispatcher, allocator and, in "
		"eager PyTorch, Python of its module), at the reference clock",
		"assumption: a few microseconds for each op, as framework profiles show"),
	COST_SOURCED(struct stack_params, autograd_ratio, QUANTITY_RATIO, 0, 100, "1",
		     "host work of an operator of the backward pass, divided by stack.dispatch; "
		     "what its forward operator does to record it is included",
		     "TensorFlow's executor issues both passes alike; the stacks of eager PyTorch "
		     "state what was measured"),
	COST_SOURCED(struct stack_params, update_ratio, QUANTITY_RATIO, 0, 100, "1",
		     "host work to update a tensor and to reset its gradient, divided by "
		     "stack.dispatch",
		     "TensorFlow has an operator for each tensor; the stacks of PyTorch state what "
		     "was measured"),
	COST_SOURCED(
		struct stack_params, variable_s, QUANTITY_TIME, 0, 1, "0 us",
		"host work of a step for each variable, before its first operator, at the "
		"reference clock",
		"only TensorFlow's sessions read variables by nodes of their own; its stacks state "
		"what was fitted; elsewhere 0 is exact, because there are no such nodes"),
	PARAM_BOOL(struct stack_params, forward_only, "false",
		   "whether a step is only a forward pass, as in an evaluation loop: there is no "
		   "dropout, and batch norm uses its moving averages",
		   "training unless the case says otherwise"),
	COST_ASSUMED(struct stack_params, calls_per_library_op_count, QUANTITY_COUNT, 0, 100, "3",
		     "calls of a cuDNN or cuBLAS op besides its launches (descriptors, workspace "
		     "size, set stream)",
		     "assumption; fitted to measured forwarded steps"),
	COST_SOURCED(
		struct stack_params, handle_calls_count, QUANTITY_COUNT, 0, 10, "0",
		"number of cuBLAS calls each time that an op asks for its handle; what exceeds "
		"stack.calls_per_library_op is a part of stack.dispatch",
		CALLS_STATED),
	COST_SOURCED(struct stack_params, epilogue_calls_count, QUANTITY_COUNT, 0, 40, "0",
		     "number of cuBLASLt calls besides its launch for a product that also adds a "
		     "bias (descriptors, layouts, preference, heuristic)",
		     CALLS_STATED),
	COST_SOURCED(struct stack_params, cudnn_calls_count, QUANTITY_COUNT, 0, 40, "0",
		     "number of cuDNN calls besides its launch for a convolution or a norm",
		     CALLS_STATED),
	PARAM_NUMBER(struct stack_params, calls_per_launch_count, QUANTITY_COUNT, 1, 100, "1",
		     "calls for each kernel, its launch included",
		     "by definition: only the launch"),
#define STACK_CALL(field, kind, help, source)                                                      \
	COST_SOURCED(struct stack_params, field, QUANTITY_COUNT, 0, 60, "0", help, source),
#include "sim/training/stack_calls.def"
#undef STACK_CALL
	PARAM_CHOICE(struct stack_params, l2_loss, l2_loss_names, "all",
		     "ops of the weight decay loss: one for each trainable variable (all), the "
		     "same without the variables of batch norm, one in total, or none",
		     "tf_cnn_benchmarks: all before 29 October 2018, then no_batch_norm"),
	PARAM_BOOL(struct stack_params, poller, "true",
		   "whether a thread polls events for completion", "TensorFlow gpu_event_mgr.cc"),
	PARAM_NUMBER(struct stack_params, poll_sleep_s, QUANTITY_TIME, 0, 1, "10 us",
		     "sleep of the poller between two rounds while an event is pending",
		     "TensorFlow gpu_event_mgr.cc: polling_active_delay_usecs"),
	PARAM_BOOL(
		struct stack_params, sync_on_finish, "false",
		"whether the host waits for the GPU at the end of a step; otherwise TensorFlow's "
		"poller finds the event behind the updates, and PyTorch does not wait",
		"direct_session.cc: TF_SYNC_ON_FINISH, which tf_cnn_benchmarks sets to 0"),
	PARAM_BOOL(struct stack_params, real_input, "false",
		   "whether each step copies its input to the GPU",
		   "tf_cnn_benchmarks without --data_dir makes input on the GPU"),
	PARAM_CHOICE(struct stack_params, result, result_names, "none",
		     "what PyTorch copies to the host, and waits for, behind a step of only a "
		     "forward pass: nothing (none), the network's outputs, or the number of the "
		     "largest output of each sample (class)",
		     "an evaluation loop leaves its outputs on the GPU"),
	PARAM_WHOLE(struct stack_params, context_count, 0, 1e8, "0",
		    "number of tokens whose keys and values are in the cache before a step of only "
		    "a forward pass; with case.sequence=1 a step generates one token",
		    "no cache, as in training"),
	PARAM_BOOL(
		struct stack_params, cold, "false",
		"whether each step is a whole process of PyTorch: it makes a CUDA context, loads "
		"code, copies the weights tensor by tensor, and then does the step",
		"a step is warm unless the case says otherwise"),
	COST_ASSUMED(
		struct stack_params, code_B, QUANTITY_BYTES, 0, 1e11, "100 MB",
		"size of the GPU code that a process loads (stack.cold)",
		"assumption: cold runs of four networks in PyTorch sent 67 to 155 MB more than "
		"their weights (gpuless)"),
	PARAM_WHOLE(struct stack_params, modules_count, 1, 10000, "36",
		    "number of modules in which a process loads its GPU code (stack.cold)",
		    "36 cuLibraryGetKernel at the start of makemore (Lupine, pull request 467)"),
	COST_ASSUMED(struct stack_params, first_use_s, QUANTITY_TIME, 0, 10, "200 us",
		     "host work at the first use of an op of cuDNN or cuBLAS (stack.cold)",
		     "assumption: a heuristic chooses an algorithm, and the driver loads a kernel"),
	PARAM_BOOL(struct stack_params, pinned_input, "true",
		   "whether the host memory of the input is pinned",
		   "TensorFlow's host allocator for GPU copies"),
	PARAM_NUMBER(struct stack_params, events_per_step_count, QUANTITY_COUNT, 0, 4096, "0",
		     "number of additional event records in a step, each of which the poller "
		     "queries (several stream groups)",
		     "TensorFlow with one stream group records events for copies only"),
	COST_ASSUMED(struct stack_params, session_s, QUANTITY_TIME, 0, 10, "300 us",
		     "host work between two steps, at the reference clock",
		     "assumption: a session.run or training loop in Python"),
	PARAM_NUMBER(struct stack_params, optimiser_copies_count, QUANTITY_COUNT, 0, 4, "0",
		     "size of the optimiser's state as a multiple of the weights: 0 for plain SGD, "
		     "1 for momentum",
		     "tf_cnn_benchmarks: --optimizer=sgd"),
	PARAM_BOOL(struct stack_params, foreach_optimiser, "false",
		   "whether each operation of the optimiser is a pass over all tensors, as in "
		   "PyTorch unless it is fused; no with lars, lamb or master_weights"),
	COST_ASSUMED(struct stack_params, arguments_B, QUANTITY_BYTES, 0, 4096, "120 B",
		     "marshalled arguments of a driver call",
		     "assumption: launches have about 10 arguments"),
	COST_ASSUMED(struct stack_params, library_arguments_B, QUANTITY_BYTES, 0, 4096, "120 B",
		     "marshalled arguments of a library call", "assumption"),
	COST_ASSUMED(struct stack_params, workspace_B, QUANTITY_BYTES, 0, 1e12, "128 MiB",
		     "GPU memory of the cuDNN workspace and of the CUDA context", "assumption"),
	PARAM_CHOICE(struct stack_params, precision, precision_names, "fp32",
		     "number type of products and activations: fp32, fp16, bf16, or, for matrix "
		     "products with activations in bf16, fp8 (a scale for each tensor), mxfp8 (for "
		     "32 elements) or nvfp4 (for 16)"),
	PARAM_CHOICE(struct stack_params, tf32, tf32_names, "none",
		     "fp32 products that use TF32 where the GPU has it: none, convolutions, all",
		     "PyTorch's notes on CUDA semantics: convolutions by default since 1.7, other "
		     "products not since 1.12; the stacks' files say which they use"),
	PARAM_BOOL(struct stack_params, autocast, "false",
		   "whether weights stay fp32 and are cast in each step; losses, softmax and layer "
		   "norms are then computed in fp32",
		   "PyTorch's autocast op reference; the stacks' files say which use it"),
	PARAM_CHOICE(struct stack_params, layout, layout_names, "nhwc",
		     "order of an image's elements; convolutions on tensor cores transpose images "
		     "in nchw",
		     "cuDNN developer guide: tensor cores compute in NHWC; the stacks' files say "
		     "which use NCHW"),
	PARAM_CHOICE(struct stack_params, fusion, fusion_names, "none",
		     "element-wise ops that share one kernel with their neighbours: none, norm "
		     "(batch norm with ReLU and addition), layer (those of a layer), all "
		     "(torch.compile, XLA), inference (TensorRT: also products) or session (ONNX "
		     "Runtime: also convolutions with ReLU)",
		     "eager frameworks launch a kernel for each op"),
	PARAM_BOOL(struct stack_params, fused_averages, "false",
		   "whether the kernel of batch norm also updates the moving averages; otherwise "
		   "separate kernels update them",
		   "TensorFlow 1 updates them by ops; PyTorch and MXNet pass them to cuDNN"),
	PARAM_BOOL(struct stack_params, persistent_norm, "false",
		   "whether batch norm is cuDNN's persistent kernel, which reads memory as fast as "
		   "a copy; `fusion = norm` implies it",
		   "PyTorch took CUDNN_BATCHNORM_SPATIAL_PERSISTENT for channels-last training in "
		   "fp16 (ATen, native/cudnn/BatchNorm.cpp), and its own kernels since 2.4"),
	PARAM_BOOL(struct stack_params, fused_attention, "true",
		   "whether one kernel computes attention and keeps no scores in GPU memory",
		   "PyTorch documentation, scaled_dot_product_attention: since 2.0 it takes "
		   "FlashAttention or memory-efficient attention where it can"),
	PARAM_BOOL(struct stack_params, cudnn_attention, "false",
		   "whether fused attention is cuDNN's kernel in place of FlashAttention",
		   "PyTorch takes FlashAttention; Transformer Engine takes cuDNN's on Hopper "
		   "(NVTE_FUSED_ATTN)"),
	PARAM_BOOL(struct stack_params, fused_accumulation, "false",
		   "whether the product that computes the gradient of a weight adds it to an fp32 "
		   "sum over micro-batches",
		   "Megatron-LM does, with gradient accumulation fusion; PyTorch does not"),
	PARAM_BOOL(struct stack_params, fp16_gradients, "false",
		   "whether gradients are exchanged in half precision",
		   "tf_cnn_benchmarks keeps fp32 variables, so their gradients are also fp32 "
		   "(variable_mgr.py); MXNet's fp16 kvstore exchanges fp16"),
	PARAM_NUMBER(
		struct stack_params, library_ratio, QUANTITY_RATIO, 0.3, 1.5, "1",
		"rate of products and convolutions divided by that of the libraries whose "
		"kernels set the GPU's constants",
		"assumption: a library of the GPU's first year is slower (calib/fits/mxnet.cfg: "
		"cuDNN 8.0 on A100)"),
	PARAM_WHOLE(struct stack_params, update_tensors_count, 1, 10000, "1",
		    "number of tensors that one kernel of the optimiser updates",
		    "a kernel for each tensor; MXNET_OPTIMIZER_AGGREGATION_SIZE, apex and "
		    "PyTorch's foreach optimisers take more"),
	PARAM_BOOL(struct stack_params, master_weights, "false",
		   "whether the whole network computes in 16 bits and the optimiser keeps fp32 "
		   "weights, of which its last kernels write 16-bit copies",
		   "apex documentation, amp: optimisation level O2"),
	PARAM_BOOL(struct stack_params, separate_bias, "false",
		   "whether a kernel of its own adds the bias of a linear layer of tokens",
		   "PyTorch adds it in the product since 1.12 (ATen, Linear.cpp), before only for "
		   "inputs of two dimensions; TensorFlow and OneFlow have an op bias_add"),
	PARAM_BOOL(struct stack_params, joined_products, "false",
		   "whether the linear layers of one input are one product: query, key and value, "
		   "and the gate and its other factor",
		   "training frameworks have a module for each; model servers join their weights "
		   "(vLLM, vllm/model_executor/layers/linear.py: QKVParallelLinear, "
		   "MergedColumnParallelLinear)"),
	PARAM_BOOL(
		struct stack_params, written_quantised, "false",
		"whether a server's attention and gates write the next product's input in FP8 or "
		"FP4 if one scale is known, and attention of prompts multiplies in FP8 if "
		"serve.kv is fp8",
		"vLLM quantises in a kernel before the product; TensorRT-LLM does not "
		"(_torch/modules/attention.py, _use_quantize_output; gated_mlp.py, "
		"_apply_activation)"),
	PARAM_BOOL(struct stack_params, fused_sums, "false",
		   "whether the all-reduce of a split product also adds the residual, normalises, "
		   "and quantises for the next product, in networks of more than 4096 features "
		   "that normalise neither queries nor keys",
		   "these are kernels of their own in vLLM; TensorRT-LLM fuses them for Llama "
		   "(_torch/models/modeling_llama.py, enable_fusion) but not for Qwen3 "
		   "(modeling_qwen3.py)"),
	PARAM_BOOL(struct stack_params, lamb, "false",
		   "whether the optimiser computes the norm of all gradients, and then the norms "
		   "of weights and updates (LAMB)",
		   "apex, FusedLAMB: multi_tensor_l2norm, two stages of multi_tensor_lamb"),
	PARAM_BOOL(struct stack_params, lars, "false",
		   "whether the optimiser first computes the norms of weights and gradients (LARS)",
		   "MXNet: multi_sum_sq of weights and of gradients, multi_lars"),
	COST_ASSUMED(struct stack_params, engine_wait_s, QUANTITY_TIME, 0, 1e-2, "0 us",
		     "time that a GPU loses because an engine waits for the stream behind forward, "
		     "backward and each kernel of the optimiser before it issues on",
		     "frameworks issue ahead of the GPU, so that 0 is exact; MXNet's engine waits "
		     "unless "
		     "MXNET_ASYNC_GPU_ENGINE is set"),
	COST_ASSUMED(struct stack_params, expert_call_s, QUANTITY_TIME, 0, 1e-2, "0 us",
		     "host work of a product or conversion of each further expert of a GPU, if the "
		     "library launches them one by one; 0 means that one kernel has all experts",
		     "engines have one kernel for all experts, so that 0 is exact; the stacks of "
		     "Transformer Engine, "
		     "whose GroupedLinear loops over experts, state an assumption"),
	PARAM_BOOL(struct stack_params, experts_wait, "false",
		   "whether the host waits in each forward pass of experts until it knows how many "
		   "rows each one gets; a CUDA graph never waits",
		   "engines launch kernels that read the numbers on the GPU; Megatron-Core waits "
		   "(token_dispatcher.py) unless experts have a fixed capacity"),
	PARAM_BOOL(
		struct stack_params, cuda_graph, "false",
		"whether one CUDA graph holds forward and backward, so that the host launches once",
		"eager frameworks launch kernel by kernel"),
	PARAM_CHOICE(
		struct stack_params, graph_scope, graph_scope_names, "none",
		"parts of a block with experts that CUDA graphs hold: none, the router with the "
		"counts of rows, or attention, too",
		"Megatron-LM, --cuda-graph-scope: moe_router and moe_preprocess, or attn, too"),
	PARAM_WHOLE(struct stack_params, norm_gpus_count, 1, 64, "1",
		    "number of GPUs of a machine over whose images batch norm takes its statistics",
		    "each GPU takes those of its own images; MLPerf's BN_GROUP"),
	COST_ASSUMED(struct stack_params, norm_exchange_s, QUANTITY_TIME, 0, 1e-3, "3 us",
		     "time in which two GPUs exchange the statistics of one batch norm",
		     "assumption: a write over NVLink, a fence, and a read of the flag, each about "
		     "1 us"),
	PARAM_WHOLE(struct stack_params, xla_clusters_count, 0, 1000, "0",
		    "number of clusters into which XLA compiles the backward pass; 0 means no XLA",
		    "assumption: no XLA unless the stack's file says so"),
};
const struct param_table stack_table = PARAM_TABLE("stack", struct stack_params, stack_rows);

double stack_element_B(const struct stack_params *stack)
{
	return stack->precision == PRECISION_FP32 ? 4 : 2;
}

double stack_factor_B(const struct stack_params *stack)
{
	return stack->precision == PRECISION_FP8     ? 1
	       : stack->precision == PRECISION_MXFP8 ? 1 + 1.0 / 32
	       : stack->precision == PRECISION_NVFP4 ? 0.5 + 1.0 / 16
						     : stack_element_B(stack);
}

enum number_type stack_needed_type(const struct stack_params *stack)
{
	static const enum number_type types[] = {
		[PRECISION_FP32] = NUMBER_FP32, [PRECISION_FP16] = NUMBER_FP16,
		[PRECISION_BF16] = NUMBER_BF16, [PRECISION_FP8] = NUMBER_FP8,
		[PRECISION_MXFP8] = NUMBER_FP8, [PRECISION_NVFP4] = NUMBER_FP4};
	return types[stack->precision];
}

enum number_type stack_product_type(const struct stack_params *stack, const struct gpu_params *gpu,
				    bool convolution)
{
	bool tf32 = stack->tf32 == TF32_ALL || (convolution && stack->tf32 == TF32_CONVOLUTIONS);
	switch (stack->precision) {
	case PRECISION_FP16:
		return NUMBER_FP16;
	case PRECISION_BF16:
		return NUMBER_BF16;
	case PRECISION_FP8: /* Transformer Engine has no convolutions */
	case PRECISION_MXFP8:
		return convolution ? NUMBER_BF16 : NUMBER_FP8;
	case PRECISION_NVFP4:
		return convolution ? NUMBER_BF16 : NUMBER_FP4;
	default:
		return tf32 && gpu && gpu->tf32_flops > 0 ? NUMBER_TF32 : NUMBER_FP32;
	}
}

/* Returns the bytes of the keys and values that are in the cache for a sequence. */
static double cache_B(const struct network *network, const struct stack_params *stack)
{
	double count = 0;
	for (size_t i = 0; i < network->layer_count; i++) {
		const struct layer *layer = &network->layers[i];
		if (layer->op == LAYER_ATTENTION)
			count += attention_token_count(&layer->attention);
	}
	return count * stack->context_count * stack_element_B(stack);
}

double stack_memory_B(const struct network *network, size_t batch, const struct stack_params *stack)
{
	double element_B = stack_element_B(stack);
	if (stack->forward_only) {
		/* without autocast, the weights are what the products read */
		double unused_B = stack->autocast || element_B >= 4 ? 0 : 4;
		return network_forward_B(network, batch, element_B, stack->workspace_B,
					 stack->fused_attention) -
		       unused_B * network->parameters_count +
		       cache_B(network, stack) * (double)batch;
	}
	/* Autocast casts each gradient to fp32, and the optimiser takes it so. */
	double wider_B = stack->autocast && element_B < 4 ? 4 - element_B : 0;
	if (stack->master_weights) /* both gradients exist when one is converted */
		wider_B = 4;
	return network_memory_B(network, batch, element_B, stack->optimiser_copies_count,
				stack->workspace_B, stack->fused_attention) +
	       network->parameters_count * wider_B;
}

double stack_poller_ratio(const struct stack_params *stack, double query_s)
{
	return stack->poller ? query_s / (query_s + stack->poll_sleep_s) : 0;
}
