/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/training/exchange.h"

#include <math.h>

#include "sim/training/exchange_parts.h"

static const struct registry_row policy_rows[] = {
#define EXCHANGE(name) REGISTRY_ROW(name),
#include "sim/training/exchanges.def"
#undef EXCHANGE
};
const struct registry exchange_policy_registry =
	REGISTRY("exchange policy", "exchange-policies", policy_rows);

/* In the order of enum announce. */
static const char *const announce_names[] = {"issued", "computed", NULL};

static const struct param_row exchange_rows[] = {
	PARAM_NAMED(
		struct exchange_params, policy, &exchange_policy_registry, "horovod",
		"policy that decides when gradients are exchanged and which are exchanged together",
		"assumption: what most training code of 2018 to 2020 on several machines used"),
	PARAM_CHOICE(
		struct exchange_params, announce, announce_names, "issued",
		"when a gradient is announced: when its kernel is issued, or when it is computed",
		"issued: TensorFlow and PyTorch take a GPU op for done when it is enqueued; "
		"computed: MXNet's engine waits for the stream behind each op"),
	PARAM_BOOL(struct exchange_params, overlap, "true",
		   "whether gradients are exchanged during the backward pass",
		   "Horovod, PyTorch DDP and TensorFlow hand over each gradient when it is ready"),
	PARAM_NUMBER(struct exchange_params, fusion_B, QUANTITY_BYTES, 0, 1e12, "64 MiB",
		     "size of Horovod's fusion buffer",
		     "Horovod documentation: HOROVOD_FUSION_THRESHOLD"),
	PARAM_NUMBER(struct exchange_params, cycle_s, QUANTITY_TIME, 0, 10, "5 ms",
		     "cycle time of Horovod's background thread",
		     "Horovod documentation: HOROVOD_CYCLE_TIME, 5 ms up to release 0.19, 1 ms "
		     "since"),
	COST_ASSUMED(struct exchange_params, cycle_late_s, QUANTITY_TIME, 0, 10, "60 us",
		     "time by which Horovod's background thread wakes too late from its sleep",
		     "prctl(2): a timer slack of 50 us; assumption: 10 us to be scheduled"),
	PARAM_NUMBER(struct exchange_params, bucket_B, QUANTITY_BYTES, 1, 1e12, "25 MiB",
		     "size at which a bucket of DDP is full",
		     "PyTorch documentation, DistributedDataParallel: bucket_cap_mb"),
	PARAM_NUMBER(struct exchange_params, first_bucket_B, QUANTITY_BYTES, 1, 1e12, "1 MiB",
		     "size at which the first bucket of DDP is full",
		     "PyTorch, reducer.hpp: kDefaultFirstBucketBytes"),
	COST_ASSUMED(
		struct exchange_params, negotiation_s, QUANTITY_TIME, 0, 1, "2 us",
		"work of Horovod's coordinator for each request of a rank",
		"assumption: parsing a message of about 100 bytes and a look-up in a hash table"),
	COST_ASSUMED(struct exchange_params, cached_negotiation_s, QUANTITY_TIME, 0, 1, "1 us",
		     "work for each rank in a cycle of Horovod when all tensors are in the "
		     "response cache",
		     "assumption: a rank's share of a reduction of a few words on the host"),
	PARAM_BOOL(struct exchange_params, response_cache, "true",
		   "whether ranks agree by one bit on each tensor that they negotiated before",
		   "Horovod changelog: since 0.16.0 (2019), HOROVOD_CACHE_CAPACITY 1024"),
	COST_ASSUMED(struct exchange_params, launch_s, QUANTITY_TIME, 0, 1, "10 us",
		     "host work to begin a collective on a rank",
		     "assumption: a launch of NCCL's kernel, two events, a stream's wait"),
	COST_SOURCED(struct exchange_params, copy_launch_s, QUANTITY_TIME, 0, 1, "6 us",
		     "host work to begin the copy of a gradient into Horovod's fusion buffer or "
		     "out of it",
		     "driver.copy; Horovod up to 0.20 makes a cudaMemcpyAsync for each"),
	COST_ASSUMED(struct exchange_params, callback_s, QUANTITY_TIME, 0, 1, "30 us",
		     "time from the end of a collective on the GPU until the framework is notified",
		     "assumption: an interrupt and a thread that wakes (Horovod: an event with "
		     "blocking sync, a finalizer thread; TensorFlow's NCCL: the event poller)"),
	PARAM_NUMBER(struct exchange_params, fusion_copy_ratio, QUANTITY_RATIO, 0, 100, "2",
		     "GPU memory traffic for each byte that is copied into a fusion buffer or "
		     "bucket, and again for each byte copied out of it",
		     "a copy reads and writes; Horovod, MemcpyInFusionBuffer"),
	COST_ASSUMED(struct exchange_params, tensor_s, QUANTITY_TIME, 0, 1, "0 us",
		     "framework's work to hand over one gradient; gradients are handed over one "
		     "after the other",
		     "assumption: within the one-GPU step's own host work"),
	PARAM_NUMBER(struct exchange_params, gradient_element_B, QUANTITY_BYTES, 0, 8, "0 B",
		     "size of a gradient's element in the exchange (with compression 2 B); 0 means "
		     "as the stack computes it",
		     "assumption: no compression, as Horovod and DDP by default"),
	COST_ASSUMED(struct exchange_params, noise_ratio, QUANTITY_RATIO, 0, 1, "0.005",
		     "relative standard deviation of a rank's compute time from step to step",
		     "assumption: clocks and hosts vary a step by some half a per cent"),
	COST_ASSUMED(struct exchange_params, gather_s, QUANTITY_TIME, 0, 10, "0 ms",
		     "additional time of a step with more than one rank",
		     "assumption: none; fitted where scaling was measured"),
	PARAM_BOOL(struct exchange_params, waits_for_issued, "false",
		   "whether a collective waits for all kernels issued on its GPUs before the last "
		   "rank's host reached the gradient; only with announce = issued",
		   "Horovod, PyTorch and MXNet: for the gradient's own event"),
	COST_ASSUMED(struct exchange_params, stagger_s, QUANTITY_TIME, 0, 1, "0 us",
		     "work of one thread that starts the ranks of a guest in turn, for each op of "
		     "a rank's step, at 2.4 GHz; 0 means that each rank starts itself",
		     "assumption: each rank is a process of its own, or has threads of its own"),
};
const struct param_table exchange_table =
	PARAM_TABLE("exchange", struct exchange_params, exchange_rows);

double exchange_bundle_B(const struct exchange_params *params)
{
	const struct exchange_policy *policy = exchange_policy_at((size_t)params->policy);
	if (policy->whole)
		return INFINITY;
	if (policy->bundle_offset == 0)
		return 0;
	return *(const double *)(const void *)((const char *)params + policy->bundle_offset);
}
