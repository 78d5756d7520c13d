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
	PARAM_NAMED(struct exchange_params, policy, &exchange_policy_registry, "horovod",
		    "when which gradients are reduced together",
		    "assumption: what most training code of 2018 to 2020 on several machines used"),
	PARAM_CHOICE(struct exchange_params, announce, announce_names, "issued",
		     "when the exchange hears of a gradient",
		     "issued: TensorFlow and PyTorch take a GPU op for done when it is enqueued; "
		     "computed: MXNet's engine waits for the stream behind each op"),
	PARAM_BOOL(struct exchange_params, overlap, "true",
		   "gradients are exchanged while backward goes on",
		   "Horovod, PyTorch DDP and TensorFlow hand over each gradient when it is ready"),
	PARAM_NUMBER(struct exchange_params, fusion_B, QUANTITY_BYTES, 0, 1e12, "64 MiB",
		     "Horovod's fusion buffer", "Horovod documentation: HOROVOD_FUSION_THRESHOLD"),
	PARAM_NUMBER(struct exchange_params, cycle_s, QUANTITY_TIME, 0, 10, "5 ms",
		     "cycle time: period of Horovod's background thread",
		     "Horovod documentation: HOROVOD_CYCLE_TIME, 5 ms up to release 0.19, 1 ms "
		     "since"),
	COST_ASSUMED(struct exchange_params, cycle_late_s, QUANTITY_TIME, 0, 10, "60 us",
		     "how late that thread wakes from its sleep",
		     "prctl(2): a timer slack of 50 us; assumption: 10 us to be scheduled"),
	PARAM_NUMBER(struct exchange_params, bucket_B, QUANTITY_BYTES, 1, 1e12, "25 MiB",
		     "size that makes a bucket full",
		     "PyTorch documentation, DistributedDataParallel: bucket_cap_mb"),
	PARAM_NUMBER(struct exchange_params, first_bucket_B, QUANTITY_BYTES, 1, 1e12, "1 MiB",
		     "... the first one", "PyTorch, reducer.hpp: kDefaultFirstBucketBytes"),
	COST_ASSUMED(struct exchange_params, negotiation_s, QUANTITY_TIME, 0, 1, "2 us",
		     "coordinator's work for each request of a rank",
		     "assumption: parsing a message of some 100 bytes, a look-up in a hash table"),
	COST_ASSUMED(struct exchange_params, cached_negotiation_s, QUANTITY_TIME, 0, 1, "1 us",
		     "work for each rank in a cycle when every tensor is in the response cache",
		     "assumption: a rank's share of a reduction of a few words on the host"),
	PARAM_BOOL(struct exchange_params, response_cache, "true",
		   "tensors that were negotiated once are agreed on by a bit each",
		   "Horovod changelog: since 0.16.0 (2019), HOROVOD_CACHE_CAPACITY 1024"),
	COST_ASSUMED(struct exchange_params, launch_s, QUANTITY_TIME, 0, 1, "10 us",
		     "host work that begins a collective on a rank",
		     "assumption: a launch of NCCL's kernel, two events, a stream's wait"),
	COST_SOURCED(struct exchange_params, copy_launch_s, QUANTITY_TIME, 0, 1, "6 us",
		     "host work that begins a gradient's copy into Horovod's fusion buffer, or out",
		     "driver.copy; Horovod up to 0.20 makes a cudaMemcpyAsync for each"),
	COST_ASSUMED(struct exchange_params, callback_s, QUANTITY_TIME, 0, 1, "30 us",
		     "end of a collective on the GPU to the framework's hearing of it",
		     "assumption: an interrupt and a thread that wakes (Horovod: an event with "
		     "blocking sync, a finalizer thread; TensorFlow's NCCL: the event poller)"),
	PARAM_NUMBER(struct exchange_params, fusion_copy_ratio, QUANTITY_RATIO, 0, 100, "2",
		     "GPU memory traffic for each byte copied into a buffer of several "
		     "gradients, and again out of it",
		     "a copy reads and writes; Horovod, MemcpyInFusionBuffer"),
	COST_ASSUMED(struct exchange_params, tensor_s, QUANTITY_TIME, 0, 1, "0 us",
		     "framework's work of handing over a gradient, one after the other",
		     "assumption: within the one-GPU step's own host work"),
	PARAM_NUMBER(struct exchange_params, gradient_element_B, QUANTITY_BYTES, 0, 8, "0 B",
		     "an element on the wire (compression: 2); 0: as the stack computes it",
		     "assumption: no compression, as Horovod and DDP by default"),
	COST_ASSUMED(
		struct exchange_params, noise_ratio, QUANTITY_RATIO, 0, 1, "0.005",
		"compute time noise: standard deviation of a rank's compute time from step to step",
		"assumption: clocks and hosts vary a step by some half a per cent"),
	COST_ASSUMED(struct exchange_params, gather_s, QUANTITY_TIME, 0, 10, "0 ms",
		     "further time of a step with more than one rank",
		     "assumption: none; fitted where scaling was measured"),
	PARAM_BOOL(struct exchange_params, waits_for_issued, "false",
		   "with announce = issued, a collective waits for all kernels that its GPUs have "
		   "been issued when the last rank's host comes to the gradient",
		   "Horovod, PyTorch and MXNet: for the gradient's own event"),
	COST_ASSUMED(
		struct exchange_params, stagger_s, QUANTITY_TIME, 0, 1, "0 us",
		"work of starting a rank's step, for each op of it, at 2.4 GHz: one thread "
		"starts the ranks of a guest in turn, when all may begin; 0: each starts itself",
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
