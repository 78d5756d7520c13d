/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PyTorch's DistributedDataParallel. A bucket ends with the tensor that makes it as large
 * as its limit or larger (compute_bucket_assignment_by_size). Buckets follow the order in
 * which gradients become ready, because DDP reorders them so after the first step. */
#include "sim/base/arena.h"
#include "sim/training/exchange_parts.h"

static struct exchange *ddp_new(const struct exchange_host *host)
{
	const struct exchange_params *params = host->params;
	size_t *ends = ARENA_ARRAY(host->arena, host->profile->tensor_count, size_t), count = 0;
	size_t limit = (size_t)params->bucket_tensors_count, tensors = 0;
	double size_B = 0;
	for (size_t t = 0; t < host->profile->tensor_count; t++) {
		size_B += exchange_tensor_B(host, t);
		bool full = size_B >= (count ? params->bucket_B : params->first_bucket_B) ||
			    ++tensors == limit;
		if (full || t + 1 == host->profile->tensor_count) {
			ends[count++] = t + 1;
			size_B = 0;
			tensors = 0;
		}
	}
	return planned_new(&exchange_ddp, host, ends, count);
}

const struct exchange_policy exchange_ddp = {
	.name = "ddp",
	.help = "PyTorch's buckets in the order of readiness; each is reduced when it is full",
	.bundle_offset = offsetof(struct exchange_params, bucket_B),
	.updates_in_stream = true,
	.new = ddp_new,
	.announced = planned_announced,
	.ready = planned_ready,
};
