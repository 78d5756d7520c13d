/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writing a thread's list of calls: what frameworks have in common. */
#ifndef FARWIRE_TRAINING_ISSUE_H
#define FARWIRE_TRAINING_ISSUE_H

#include "sim/base/vec.h"
#include "sim/training/ops.h"

struct spread;

struct issuer {
	struct arena *arena;
	struct spread *spread; /* exchange of gradients among several GPUs; NULL: none */
	const struct stack_params *stack;
	const struct gpu_params *gpu;
	const struct efficiency_params *efficiency;
	double library_due, launch_due; /* fractions of calls not yet made */
	VEC(struct item) items;
};

/* Appends an item and returns it, zeroed but for its kind. */
struct item *issue_item(struct issuer *issuer, enum item_kind kind);
/* Appends a call and returns it. */
struct cuda_call *issue_call(struct issuer *issuer, enum call_kind kind, uint16_t stream);
/* The executor's work for an op, its library calls, and its launches, each
 * with the calls that come with it. */
void issue_op(struct issuer *issuer, const struct op *op, uint16_t stream);
/* Copies size_B (0: no copy, the events alone) on stream `copies`, after all
 * that was issued to stream `compute`, and posts signal when the poller (or a
 * callback) has seen it. Uses the events `event` and `event` + 1. */
void issue_copy_and_watch(struct issuer *issuer, enum call_kind kind, double size_B, bool pageable,
			  uint16_t compute, uint16_t copies, uint16_t event, uint16_t signal);
void issue_await(struct issuer *issuer, uint16_t signal, uint32_t count);

/* One step's input of a batch, bytes in fp32. */
double input_B(const struct network *network, size_t batch);

#endif
