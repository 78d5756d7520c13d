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
 * A rank ARRIVES at a collective when its gradients are computed, so the slowest
 * rank decides. `overlap = false` holds everything back until the rank's backward
 * is over.
 *
 * ANNOUNCE says when the exchange hears of a gradient: when the op that makes it has been
 * ISSUED, as executors do that take a GPU op for done when it is enqueued, or when
 * the GPU has COMPUTED it. The host's part (negotiation, launching) begins then; the GPU's
 * part waits for the gradients in any case.
 *
 * With waits_for_issued a gradient that is announced when issued comes to its collective
 * when the LAST rank has issued it, and the collective then waits for all kernels that
 * each GPU has been issued by that time, not for the gradient's alone. Where one thread starts the
 * ranks of a process one after the other (stagger_s), on the first ranks many
 * kernels of backward stand before it.
 *
 * What a rank does for each collective: its host launches it (launch_s, one after
 * the other), several gradients are copied into one buffer (fusion_copy_ratio, by
 * Horovod with a launch of copy_launch_s for each),
 * it arrives, and the buffer is copied out again. A copy takes GPU time like any
 * kernel. The framework hears of the end callback_s later and issues the updates
 * then; where they are ordered on the GPU alone (updates_in_stream) it does not wait.
 * A file models/exchanges/x.cfg has a group `exchange` with these keys, a group
 * `library` (sim/collective/library.h), and may have groups tcp or rdma.
 */
#ifndef FARWIRE_TRAINING_EXCHANGE_H
#define FARWIRE_TRAINING_EXCHANGE_H

#include "sim/base/param.h"
#include "sim/collective/communicator.h"
#include "sim/engine/engine.h"
#include "sim/training/step_profile.h"

enum announce { ANNOUNCE_ISSUED, ANNOUNCE_COMPUTED };

struct exchange_params {
	int policy;   /* index into the exchanges */
	int announce; /* enum announce */
	bool overlap;
	double fusion_B, cycle_s;        /* horovod */
	double cycle_late_s;             /* its sleep ends that much late */
	double bucket_B, first_bucket_B; /* ddp */
	double negotiation_s;            /* coordinator's work for each tensor and rank in a cycle
					    (Horovod without a response cache) */
	double cached_negotiation_s; /* ... for each rank and cycle, when every tensor is known */
	bool response_cache;
	double launch_s;           /* host work that begins a collective on each rank */
	double copy_launch_s;      /* ... that begins a gradient's copy into the buffer, or out */
	double callback_s;         /* end of a collective on the GPU to the framework's hearing */
	double fusion_copy_ratio;  /* GPU memory traffic for each byte copied into a buffer of
				      several gradients, and again out of it: 2 */
	double tensor_s;           /* framework's work for each tensor, on the rank's path */
	double gradient_element_B; /* 0: as the stack computes them (compression: 2) */
	double noise_ratio;        /* standard deviation of a rank's compute time, each step */
	double gather_s;           /* further time of a step with more than one rank (fitted) */
	bool waits_for_issued;
	double stagger_s; /* work that starts a rank's step, for each op of it, by one thread
			     for all ranks of a guest */
};
extern const struct param_table exchange_table;

/* The exchange of a job's gradients. Ranks are never more than a step apart: none
 * ends a step before all have handed over all that step's gradients. */
struct exchange_host { /* what a policy may use; of the job */
	struct arena *arena;
	struct engine *engine;
	const struct exchange_params *params;
	const struct step_profile *profile;
	struct communicator *comm;
	size_t rank_count;
	/* Ranks for which each stands (sim/collective/fold.h; NULL: itself), and all of them. */
	const uint32_t *copies;
	size_t all_count;
	double network_round_trip_s; /* of a small message between the farthest ranks */
	/* Copies size_B in rank's GPU memory, behind what it copied before, then fn;
	 * 0 B: in its turn, at no cost, maybe within the call. */
	void (*copy)(void *ctx, size_t rank, double size_B, event_fn *fn, void *fn_ctx,
		     uint64_t fn_arg);
	/* The last rank has handed over tensors [first, first + count) that go together. */
	void (*gathered)(void *ctx, size_t first, size_t count);
	/* Tensors [first, first + count) are reduced at rank, in GPU memory. */
	void (*reduced)(void *ctx, size_t rank, size_t first, size_t count);
	void *ctx;
};
struct exchange;
struct exchange_policy {
	const char *name, *help;
	bool whole;             /* nothing before backward is over, whatever overlap says */
	bool updates_in_stream; /* they wait on the GPU, for all gradients; the host for none */
	struct exchange *(*new)(const struct exchange_host *host);
	/* Gradients [first, first + count) are announced on rank, which announces each
	 * step's in order; the first ones begin its next step. */
	void (*announced)(struct exchange *exchange, size_t rank, size_t first, size_t count);
	/* They are computed: announced before. */
	void (*ready)(struct exchange *exchange, size_t rank, size_t first, size_t count);
};
void exchange_announced(struct exchange *exchange, size_t rank, size_t first, size_t count);
void exchange_ready(struct exchange *exchange, size_t rank, size_t first, size_t count);
/* Time in which a collective that all ranks had arrived at was under way. */
int64_t exchange_collective_ps(const struct exchange *exchange);
REGISTRY_OF(struct exchange_policy, exchange_policy);

#endif
