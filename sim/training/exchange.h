/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exchange policies: when and in which bundles the ranks of a job reduce their gradients.
 *
 * Each policy is a struct in a file of its own and one line in exchanges.def. It acts on
 * data-parallel ranks, on programs that use remote GPUs, and on plans with plan.buckets = policy:
 *   after_backward  one collective reduces all gradients after backward (DDL), without
 *                   overlap
 *   per_tensor      one collective for each gradient, as soon as the gradient is ready
 *                   (TensorFlow's own replicated variables and parameter servers)
 *   horovod         a background thread wakes every cycle. The coordinator finds out
 *                   which tensors are ready on ALL ranks (negotiation). These are fused
 *                   into buffers of at most fusion_B
 *   ddp             PyTorch: buckets of bucket_B in the order of readiness; the first one
 *                   is smaller. A rank joins a bucket's collective when the bucket is full
 * A rank ARRIVES at a collective when its gradients are computed, so the slowest rank
 * decides when the collective begins. `overlap = false` delays everything until the rank
 * has finished backward.
 *
 * `announce` sets when the framework announces a gradient to the exchange. With `issued`
 * that is when the framework has enqueued the op that makes the gradient. With `computed`
 * it is when the GPU has computed the gradient. Negotiation and launching on the host begin
 * then. The GPU's part of the collective waits for the computed gradients in both cases.
 *
 * waits_for_issued has an effect only with `announce = issued`. A gradient is then
 * announced when the LAST rank has issued it. The collective waits for all kernels that
 * each GPU was issued by that time, not only for those of the gradient. One thread may start
 * the ranks of a process one after the other (stagger_s). Then the first ranks have
 * issued many later kernels of backward by that time.
 *
 * For each collective, a rank does this:
 *   1. its host launches the collective: launch_s, one collective after the other
 *   2. if there are several gradients, the GPU copies them into one buffer
 *      (fusion_copy_ratio); Horovod launches each of these copies (copy_launch_s)
 *   3. it arrives at the collective
 *   4. if there are several gradients, the GPU copies them out of the buffer
 * A copy takes GPU time like any kernel. The framework learns of the end callback_s later
 * and then issues the updates. With updates_in_stream the host does not wait, because only
 * the GPU orders the updates.
 *
 * A file models/exchanges/x.cfg has a group `exchange` with these keys and a group
 * `library` (sim/collective/library.h). It may also have groups tcp or rdma.
 */
#pragma once

#include "sim/base/param.h"
#include "sim/collective/communicator.h"
#include "sim/engine/engine.h"
#include "sim/training/gradients.h"

enum announce { ANNOUNCE_ISSUED, ANNOUNCE_COMPUTED };

/* The rows in exchange.c describe each field. */
struct exchange_params {
	int policy;   /* index into the exchanges */
	int announce; /* enum announce */
	bool overlap;
	double fusion_B, cycle_s, cycle_late_s;                /* horovod */
	double bucket_B, first_bucket_B, bucket_tensors_count; /* ddp */
	double negotiation_s, cached_negotiation_s;            /* horovod */
	bool response_cache;
	double launch_s, copy_launch_s, callback_s, fusion_copy_ratio, tensor_s;
	double gradient_element_B, noise_ratio, gather_s, network_threads_count;
	bool gather_inside, waits_for_issued, host_waits;
	double stagger_s;
};
extern const struct param_table exchange_table;

/* The job's side of an exchange. A rank ends a step only after all ranks have handed over all
 * gradients of that step, so ranks are at most one step apart. */
struct exchange_host {
	struct arena *arena;
	struct engine *engine;
	const struct exchange_params *params;
	const struct gradients *gradients;
	double element_B; /* bytes of a gradient's element: 2 with fp16 gradients, else 4 */
	struct communicator *comm;
	size_t rank_count;
	/* By rank: how many ranks it represents (sim/collective/fold.h); NULL: 1 each.
	 * all_count is the sum. */
	const uint32_t *copies;
	size_t all_count;
	double network_round_trip_s; /* small message between the two farthest ranks */
	/* Copies size_B within the GPU memory of rank, after its earlier copies, then calls fn.
	 * A copy of 0 B waits for its turn, costs nothing, and may call fn before it returns. */
	void (*copy)(void *ctx, size_t rank, double size_B, event_fn *fn, void *fn_ctx,
		     uint64_t fn_arg);
	/* Called when the last rank has handed over tensors [first, first + count). */
	void (*gathered)(void *ctx, size_t first, size_t count);
	/* Called when the reduced tensors [first, first + count) are in rank's GPU memory. */
	void (*reduced)(void *ctx, size_t rank, size_t first, size_t count);
	void *ctx;
};
struct exchange;
struct exchange_bundle { /* gradients [first, end), by readiness, that one collective reduces */
	size_t first, end;
	double size_B; /* set by exchange_divide() */
};
struct exchange_policy {
	const char *name, *help;
	bool whole;             /* the exchange begins after backward, even with overlap */
	bool updates_in_stream; /* updates wait for all gradients on the GPU, not on the host */
	/* Divides `count` gradients, whose sizes are given in the order in which they become ready,
	 * into bundles, and sets their first and end in the order in which they are exchanged. A
	 * bundle waits for its gradients and for the bundles before it. Returns the number of
	 * bundles. These are the bundles of every step, unless the policy has the function below.
	 * Programs that write their collectives as calls (spread programs, plans) always have
	 * them. */
	size_t (*divide)(const struct exchange_params *params, const double *sizes_B, size_t count,
			 struct exchange_bundle *bundles);
	/* For a policy that decides during the step, or NULL. */
	struct exchange *(*new)(const struct exchange_host *host);
};
/* Returns an exchange by the policy of host->params. */
struct exchange *exchange_new(const struct exchange_host *host);
/* Call this when rank announces gradients [first, first + count). A rank announces the gradients of
 * each step in order; first = 0 begins its next step. */
void exchange_announced(struct exchange *exchange, size_t rank, size_t first, size_t count);
/* Call this when rank has computed these gradients, which it has announced before. */
void exchange_ready(struct exchange *exchange, size_t rank, size_t first, size_t count);
/* Returns the time of all steps that have ended in which at least one collective ran at which all
 * ranks had arrived. */
int64_t exchange_collective_ps(const struct exchange *exchange);
REGISTRY_OF(struct exchange_policy, exchange_policy);
/* Returns the bundles of the policy of params, in the order in which they are exchanged. */
struct exchange_bundle *exchange_divide(struct arena *arena, const struct exchange_params *params,
					const double *sizes_B, size_t count, size_t *bundle_count);

/* Returns the bytes of a gradient on the network, at least 1. element_B is that of the stack. */
double exchange_gradient_B(const struct exchange_params *params, double elements_count,
			   double element_B);
