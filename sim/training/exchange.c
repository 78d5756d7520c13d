/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/training/exchange.h"
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
		    "when and in which bundles gradients are reduced",
		    "assumption: most training code of 2018 to 2020 on several machines used it"),
	PARAM_CHOICE(struct exchange_params, announce, announce_names, "issued",
		     "when the framework announces a gradient to the exchange",
		     "issued: for TensorFlow and PyTorch a GPU op is done when it is enqueued; "
		     "computed: MXNet's engine waits for the stream after each op"),
	PARAM_BOOL(struct exchange_params, overlap, "true",
		   "whether gradients are exchanged during the backward pass",
		   "Horovod, PyTorch DDP and TensorFlow hand over each gradient when it is ready"),
	PARAM_NUMBER(struct exchange_params, fusion_B, QUANTITY_BYTES, 0, 1e12, "64 MiB",
		     "size of Horovod's fusion buffer",
		     "Horovod documentation: HOROVOD_FUSION_THRESHOLD"),
	PARAM_NUMBER(struct exchange_params, cycle_s, QUANTITY_TIME, 0, 10, "5 ms",
		     "time between two cycles of Horovod's background thread",
		     "Horovod documentation: HOROVOD_CYCLE_TIME, 5 ms up to release 0.19, 1 ms "
		     "since"),
	COST_ASSUMED(struct exchange_params, cycle_late_s, QUANTITY_TIME, 0, 10, "60 us",
		     "delay with which Horovod's background thread wakes from its sleep",
		     "prctl(2): a timer slack of 50 us; assumption: 10 us to be scheduled"),
	PARAM_NUMBER(struct exchange_params, bucket_B, QUANTITY_BYTES, 1, 1e12, "25 MiB",
		     "size at which a DDP bucket is full",
		     "PyTorch documentation, DistributedDataParallel: bucket_cap_mb"),
	PARAM_NUMBER(struct exchange_params, first_bucket_B, QUANTITY_BYTES, 1, 1e12, "1 MiB",
		     "size at which the first DDP bucket is full",
		     "PyTorch, reducer.hpp: kDefaultFirstBucketBytes"),
	PARAM_WHOLE(struct exchange_params, bucket_tensors_count, 0, 1e6, "0",
		    "number of gradients with which a DDP bucket is full; 0 means any number",
		    "PyTorch's buckets have no such limit; OneFlow: nccl_fusion_max_ops, 24"),
	COST_ASSUMED(struct exchange_params, negotiation_s, QUANTITY_TIME, 0, 1, "2 us",
		     "work of Horovod's coordinator for each request of a rank",
		     "assumption: parse a message of about 100 bytes, look up a hash table"),
	COST_ASSUMED(struct exchange_params, cached_negotiation_s, QUANTITY_TIME, 0, 1, "1 us",
		     "work of one exchange in which a Horovod cycle reduces the bits of its "
		     "response cache; a cycle has log2(ranks) of them",
		     "assumption: a send and a receive of MPI, about half of a latency of 2 us"),
	PARAM_BOOL(struct exchange_params, response_cache, "true",
		   "whether one bit represents each tensor that ranks have negotiated before",
		   "Horovod changelog: since 0.16.0 (2019), HOROVOD_CACHE_CAPACITY 1024"),
	COST_ASSUMED(struct exchange_params, launch_s, QUANTITY_TIME, 0, 1, "10 us",
		     "host work to launch a collective on a rank",
		     "assumption: one launch of NCCL's kernel, two events, one stream wait"),
	COST_SOURCED(struct exchange_params, copy_launch_s, QUANTITY_TIME, 0, 1, "6 us",
		     "host work to launch the copy of one gradient into or out of Horovod's "
		     "fusion buffer",
		     "driver.copy; Horovod up to 0.20 calls cudaMemcpyAsync for each gradient"),
	COST_ASSUMED(struct exchange_params, callback_s, QUANTITY_TIME, 0, 1, "30 us",
		     "delay from a collective's end on the GPU until the framework acts on it",
		     "assumption: an interrupt and a thread that wakes (Horovod: an event with "
		     "blocking sync, a finalizer thread; TensorFlow's NCCL: the event poller)"),
	PARAM_NUMBER(struct exchange_params, fusion_copy_ratio, QUANTITY_RATIO, 0, 100, "2",
		     "GPU memory traffic for each byte copied into or out of the buffer of a "
		     "bundle",
		     "a copy reads and writes; Horovod, MemcpyInFusionBuffer"),
	COST_UNSEEN(2e-6, struct exchange_params, tensor_s, QUANTITY_TIME, 0, 1, "0 us",
		    "work of the framework to pass one gradient to the exchange; a rank passes "
		    "them one after the other",
		    "assumption: part of the host work of a step on one GPU; draws go up to 4 us "
		    "(95 %), "
		    "as long as an operator in C++ takes"),
	PARAM_NUMBER(struct exchange_params, gradient_element_B, QUANTITY_BYTES, 0, 8, "0 B",
		     "bytes of a gradient's element on the network, 2 with compression; 0 means as "
		     "in the stack",
		     "assumption: no compression, the default of Horovod and DDP"),
	COST_ASSUMED(struct exchange_params, noise_ratio, QUANTITY_RATIO, 0, 1, "0.005",
		     "standard deviation of a rank's compute time from step to step",
		     "assumption: clocks and hosts change a step by about 0.5 %"),
	COST_UNSEEN(3e-3, struct exchange_params, gather_s, QUANTITY_TIME, 0, 10, "0 ms",
		    "additional time of each step in a job on several machines",
		    "assumption: no further time; draws go up to 6 ms (95 %), because the fits to "
		    "measured scaling of 2018 give 11 to 28 ms"),
	PARAM_BOOL(
		struct exchange_params, gather_inside, "false",
		"whether a job of several ranks inside one machine takes the time of gather, too",
		"c4140_v100: four GPUs of one machine lose nothing that is not simulated"),
	COST_ASSUMED(struct exchange_params, network_threads_count, QUANTITY_COUNT, 0, 1024, "0",
		     "number of threads in each machine that poll the network without pause, if "
		     "the job has several machines; each takes a core",
		     "assumption: threads wait in the kernel, as those of sockets do; 0 is exact, "
		     "because a "
		     "library either polls or waits"),
	PARAM_BOOL(struct exchange_params, waits_for_issued, "false",
		   "whether a collective waits for all kernels that its GPUs had received when the "
		   "last rank issued the gradient (with announce = issued)",
		   "Horovod, PyTorch and MXNet wait for the gradient's own event"),
	PARAM_BOOL(
		struct exchange_params, host_waits, "false",
		"whether the host waits for the reduced gradients of a step before it issues the "
		"next one, although its framework could issue ahead",
		"engines issue ahead; MXNet's AMP reads in each step whether the gradients are "
		"finite (contrib/amp/loss_scaler.py: asnumpy)"),
	COST_ASSUMED(struct exchange_params, stagger_s, QUANTITY_TIME, 0, 1, "0 us",
		     "work for each op at 2.4 GHz if one thread starts the steps of all ranks of a "
		     "guest in turn; 0 means that each rank starts its own",
		     "assumption: each rank is its own process or has its own threads; 0 is exact, "
		     "because "
		     "such ranks do not wait for a common thread"),
};
const struct param_table exchange_table =
	PARAM_TABLE("exchange", struct exchange_params, exchange_rows);

struct exchange_bundle *exchange_divide(struct arena *arena, const struct exchange_params *params,
					const double *sizes_B, size_t count, size_t *bundle_count)
{
	const struct exchange_policy *policy = exchange_policy_at((size_t)params->policy);
	struct exchange_bundle *bundles = ARENA_ARRAY(arena, count + 1, struct exchange_bundle);
	size_t divided = 0;
	*bundle_count = count > 0 ? policy->divide(params, sizes_B, count, bundles) : 0;
	for (size_t i = 0; i < *bundle_count; i++) {
		divided += bundles[i].end - bundles[i].first;
		bundles[i].size_B = 0;
		for (size_t t = bundles[i].first; t < bundles[i].end; t++)
			bundles[i].size_B += sizes_B[t];
	}
	FW_ASSERT(divided == count);
	return bundles;
}

double exchange_gradient_B(const struct exchange_params *params, double elements_count,
			   double element_B)
{
	/* at least one byte, because a collective cannot have 0 B */
	return fmax(1, elements_count * (params->gradient_element_B > 0 ? params->gradient_element_B
									: element_B));
}
