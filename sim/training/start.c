/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The calls with which a process of PyTorch starts: context, code, weights.
 *
 * A process makes a context, loads the code of its kernels in modules, and creates the handles of
 * cuBLAS and cuDNN. module.to("cuda") copies one tensor after the other from pageable memory and
 * waits for each. The caching allocator asks the driver for blocks (c10/cuda,
 * CUDACachingAllocator.h): tensors up to 1 MiB share blocks of 2 MiB, those below 10 MiB share
 * blocks of 20 MiB, and larger ones have blocks of their own. Files are not read here: their
 * content is in the host's memory.
 */
#include "sim/training/issue.h"

#define MIB            1048576.0
#define SMALL_B        (1 * MIB)
#define SMALL_BLOCK_B  (2 * MIB)
#define MEDIUM_B       (10 * MIB)
#define MEDIUM_BLOCK_B (20 * MIB)
#define ROUND_B        512.0
/* Handles of cuBLAS and cuDNN. */
enum { HANDLE_COUNT = 2 };
/* Answered calls for each module: 228 cuKernelGetParamInfo for 36 libraries (Lupine, pull request
 * 467), and the look-up of its kernel. */
enum { CALLS_PER_MODULE = 7 };
/* Answered calls of a convolution at its first use: its algorithm and the size of its workspace
 * (ATen, Conv_v7.cpp). */
enum { CALLS_OF_FIRST_USE = 2 };

struct blocks { /* bytes that are left in the last block of each size */
	double small_B, medium_B;
};

static void allocate(struct issuer *issuer, struct blocks *blocks, double size_B)
{
	double rounded_B = ceil(size_B / ROUND_B) * ROUND_B;
	double none_B = 0, *left_B = &none_B, block_B = rounded_B;
	if (rounded_B <= SMALL_B) {
		left_B = &blocks->small_B;
		block_B = SMALL_BLOCK_B;
	} else if (rounded_B < MEDIUM_B) {
		left_B = &blocks->medium_B;
		block_B = MEDIUM_BLOCK_B;
	}
	if (*left_B < rounded_B) {
		issue_call(issuer, CALL_MALLOC, 0);
		*left_B = block_B;
	}
	*left_B -= rounded_B;
}

static void copy_tensor(struct issuer *issuer, struct blocks *blocks, double size_B)
{
	allocate(issuer, blocks, size_B);
	issue_waiting_copy(issuer, CALL_MEMCPY_H2D_ASYNC, size_B, "weights");
}

static void copy_weights(struct issuer *issuer, const struct network *network)
{
	const struct stack_params *stack = issuer->stack;
	double element_B = stack->autocast ? 4 : stack_element_B(stack);
	struct blocks blocks = {0};
	for (size_t i = 0; i < network->layer_count; i++) {
		const struct layer *layer = &network->layers[i];
		for (size_t k = 0; k < layer->tensor_count; k++)
			copy_tensor(issuer, &blocks, layer->tensors[k] * element_B);
		for (size_t k = 0; k < layer->state_tensor_count; k++)
			copy_tensor(issuer, &blocks, (double)layer->channels * 4);
		if (layer->state_tensor_count > 0) /* batch norm counts its batches in an int64 */
			copy_tensor(issuer, &blocks, 8);
	}
}

void issue_start(struct issuer *issuer, const struct network *network)
{
	const struct stack_params *stack = issuer->stack;
	issue_call(issuer, CALL_CREATE_CONTEXT, 0);
	for (size_t i = 0; i < (size_t)stack->modules_count; i++) {
		struct cuda_call *module = issue_call(issuer, CALL_MEMCPY_H2D, 0);
		module->payload_B = stack->code_B / stack->modules_count;
		module->pageable = true;
		module->label = "GPU code";
		for (size_t k = 0; k < CALLS_PER_MODULE; k++)
			issue_call(issuer, CALL_GET_ATTRIBUTE, 0);
	}
	for (size_t i = 0; i < HANDLE_COUNT; i++)
		issue_call(issuer, CALL_CREATE_HANDLE, 0);
	copy_weights(issuer, network);
}

void issue_first_use(struct issuer *issuer, const struct op *op)
{
	if (!op->library)
		return;
	issue_item(issuer, ITEM_THINK)->work_s = issuer->stack->first_use_s;
	for (size_t i = 0; op->work.form == KERNEL_CONVOLUTION && i < CALLS_OF_FIRST_USE; i++)
		issue_call(issuer, CALL_GET_VALUE, 0);
}
