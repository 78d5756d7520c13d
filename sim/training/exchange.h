/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exchange policies: when which gradients are reduced together.
 *
 * One file for each (exchange_horovod.c ...), one line each in exchanges.def:
 *   after_backward  all gradients in one collective when backward is over (DDL;
 *                   no overlap)
 *   per_tensor      each gradient alone as soon as it is ready (TensorFlow's
 *                   own replicated variables and parameter servers)
 *   horovod         a background thread wakes every cycle, the coordinator finds
 *                   out which tensors are ready on ALL ranks (negotiation), and
 *                   those are fused in buffers of at most fusion_B
 *   ddp             PyTorch: buckets of bucket_B in the order of readiness, the
 *                   first one smaller; a bucket is reduced when it is full on a rank
 * A rank ARRIVES at a collective when its gradients are ready, so the slowest
 * rank decides. `overlap = false` holds everything back until the rank's backward
 * is over.
 * A file models/exchanges/x.cfg has a group `exchange` with these keys, a group
 * `library` (sim/collective/library.h), and may have groups tcp or rdma.
 */
#ifndef FARWIRE_TRAINING_EXCHANGE_H
#define FARWIRE_TRAINING_EXCHANGE_H

#include "sim/base/param.h"
#include "sim/collective/communicator.h"
#include "sim/engine/engine.h"
#include "sim/training/step_profile.h"

struct exchange_params {
	int policy; /* index into the exchanges */
	bool overlap;
	double fusion_B, cycle_s;      /* horovod */
	double bucket_B, first_bucket_B; /* ddp */
	double negotiation_s; /* coordinator's work for each tensor and rank in a cycle
				 (Horovod without a response cache) */
	double cached_negotiation_s; /* ... for each rank and cycle, when every tensor is known */
	bool response_cache;
	double launch_s;         /* host work that begins a collective on each rank */
	double fusion_copy_ratio; /* copies of a fused buffer through GPU memory, in and out: 2 */
	double tensor_s;         /* framework's work for each tensor, on the rank's path */
	double gradient_element_B; /* 0: as the stack computes them (compression: 2) */
	double noise_ratio;      /* standard deviation of a rank's compute time, each step */
	double gather_s;         /* further time of a step with more than one rank (fitted) */
};
extern const struct param_table exchange_table;

/* One step's exchange over all ranks of a job; made anew for each step by a
 * policy. The job calls ready and backward_over, the policy calls reduced. */
struct exchange_host { /* what a policy may use; of the job */
	struct arena *arena;
	struct engine *engine;
	const struct exchange_params *params;
	const struct step_profile *profile;
	struct communicator *comm;
	size_t rank_count;
	double network_round_trip_s; /* of a small message between the farthest ranks */
	/* Tensors [first, first + count) are reduced at rank, in GPU memory. */
	void (*reduced)(void *ctx, size_t rank, size_t first, size_t count);
	void *ctx;
};
struct exchange; /* begins with a const struct exchange_policy * */
struct exchange_policy {
	const char *name, *help;
	struct exchange *(*new)(const struct exchange_host *host);
	void (*step_begin)(struct exchange *exchange); /* all ranks have begun a new step */
	/* Gradients [first, first + count) are ready on rank. */
	void (*ready)(struct exchange *exchange, size_t rank, size_t first, size_t count);
	void (*backward_over)(struct exchange *exchange, size_t rank);
};
size_t exchange_policy_count(void);
const struct exchange_policy *exchange_policy_at(size_t index);

#endif
