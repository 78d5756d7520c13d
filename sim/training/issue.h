/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions with which frameworks write a thread's list of calls. */
#pragma once

#include "sim/training/framework.h"
#include "sim/training/ops.h"

struct exchange_params;
struct gradient_writer;

enum stack_call { /* one for each row of stack_calls.def */
#define STACK_CALL(field, kind, help, source) STACK_CALL_##kind,
#include "sim/training/stack_calls.def"
#undef STACK_CALL
		  STACK_CALL_COUNT
};

struct item_list {
	struct item *items;
	size_t count, room;
};

struct issuer {
	struct arena *arena;
	struct gradient_writer *gradients; /* NULL: they are not exchanged */
	bool spreads;                      /* the program is to be spread over several GPUs */
	const struct stack_params *stack;
	const struct gpu_params *gpu;
	const struct efficiency_params *efficiency;
	bool graph_begun;  /* the CUDA graph of the step has been launched (stack.cuda_graph) */
	size_t graph_item; /* the item that launches it */
	/* fractions of a call that are left for the next ops */
	double library_due, launch_due, hidden_due;
	double calls_due[STACK_CALL_COUNT]; /* the same for the calls of stack_calls.def */
	uint16_t calls_event;               /* event that those calls record */
	struct item_list items;
};

/* Appends an item and returns it; only its kind is set, the rest is zero. */
struct item *issue_item(struct issuer *issuer, enum item_kind kind);
/* Appends a call and returns it. */
struct cuda_call *issue_call(struct issuer *issuer, enum call_kind kind, uint16_t stream);
/* Appends the host work at the begin of a step, also for the network's variables. */
void issue_begin(struct issuer *issuer, const struct network *network);
/* Appends the executor's work for an op, its library calls, and its launches with their
 * calls. */
void issue_op(struct issuer *issuer, const struct op *op, uint16_t stream);
/* Appends a copy of size_B (0: only the events) on stream `copies`, after everything that was
 * issued to stream `compute`. When the poller or a callback notices the copy's end, it posts
 * the signal. Uses the events `event` and `event` + 1. */
void issue_copy_and_watch(struct issuer *issuer, enum call_kind kind, double size_B, bool pageable,
			  uint16_t compute, uint16_t copies, uint16_t event, uint16_t signal);
/* Appends a copy from or to pageable memory on stream 0. The host waits for it by a call of its own
 * (PyTorch, c10/cuda/CUDAFunctions.h, memcpy_and_sync). kind is an asynchronous copy. */
void issue_waiting_copy(struct issuer *issuer, enum call_kind kind, double size_B,
			const char *label);
/* Appends the calls with which a process starts, up to its weights on the GPU (start.c). */
void issue_start(struct issuer *issuer, const struct network *network);
/* Appends what the first use of the op adds: host work, and questions of a convolution. */
void issue_first_use(struct issuer *issuer, const struct op *op);
/* Appends the copy of gradients of size_B into the buffer of a bundle, or out of it. */
void issue_bundle_copy(struct issuer *issuer, const struct exchange_params *exchange, double size_B,
		       uint16_t stream);
void issue_await(struct issuer *issuer, uint32_t signal, uint32_t count);
/* Appends a watch of an event on the first GPU, which posts the signal. */
struct item *issue_watch(struct issuer *issuer, uint16_t event, uint32_t signal);

/* Returns the bytes of the input of one step in fp32. */
double input_B(const struct network *network, size_t batch);

struct issuer issuer_new(struct arena *arena, const struct step_spec *spec, uint16_t calls_event);
/* Returns the program of a step, whose counts and poller lock are set, with its main thread and, if
 * the stack has real input, the input's. `main` issued the first one. */
const struct program *issue_program(const struct issuer *main, const struct step_spec *spec,
				    const struct call_thread threads[2], struct program program);
