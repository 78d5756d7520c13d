/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PyTorch's DistributedDataParallel. A bucket ends with the gradient that makes it as large as its
 * limit or larger (compute_bucket_assignment_by_size). Buckets follow the order in which gradients
 * become ready, because DDP reorders them so after the first step. */
#include "sim/training/exchange_parts.h"

static size_t buckets(const struct exchange_params *params, const double *sizes_B, size_t count,
		      struct exchange_bundle *bundles)
{
	size_t limit = (size_t)params->bucket_tensors_count, tensors = 0, bucket_count = 0,
	       first = 0;
	double size_B = 0;
	for (size_t t = 0; t < count; t++) {
		size_B += sizes_B[t];
		bool full = size_B >= (bucket_count ? params->bucket_B : params->first_bucket_B) ||
			    ++tensors == limit;
		if (full || t + 1 == count) {
			bundles[bucket_count++] =
				(struct exchange_bundle){.first = first, .end = t + 1};
			first = t + 1;
			size_B = 0;
			tensors = 0;
		}
	}
	return bucket_count;
}

const struct exchange_policy exchange_ddp = {
	.name = "ddp",
	.help = "PyTorch's buckets in the order of readiness; each is reduced when it is full",
	.updates_in_stream = true,
	.divide = buckets,
};
