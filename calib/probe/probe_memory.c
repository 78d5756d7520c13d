/* SPDX-License-Identifier: Apache-2.0 */
/* Probe M3: two kernels of BabelStream, on data that do not fit the level-2 cache. size_B counts
 * all bytes read and written. */
#include "calib/probe/probe.h"

#define SPAN_S       1e-3 /* approximate time of the work behind one blocker */
#define SLOW_Bps     1e12 /* assumed bandwidth, to choose the number of repetitions */
#define REPEATS_MOST 20
/* Divisible into two or three arrays of whole rows of 4 KiB. */
#define UNIT_B 24576.0

static const char *const kernels[] = {[GPU_STREAM_COPY] = "copy", [GPU_STREAM_TRIAD] = "triad"};

static void add(const struct bench *bench, struct plan *plan, struct plan_random *random)
{
	double l2_B = bench->facts.l2_B > 0 ? bench->facts.l2_B : 4e6;
	/* A cache keeps a part of data that are a few times larger than it. */
	double least_B = exp2(ceil(log2(8 * l2_B)));
	double most_B = fmax(bench->full ? 0x1p30 : 0x1p29, 4 * least_B);
	for (size_t kind = GPU_STREAM_COPY; kind <= GPU_STREAM_TRIAD; kind++)
		for (double size_B = least_B; size_B <= most_B; size_B *= 2) {
			plan_add(plan, &(struct plan_point){
					       .is = {{"kernel", kernels[kind]}, {"level", "hbm"}},
					       .x = {{"size_B", UNIT_B * round(size_B / UNIT_B)}},
					       .held_out = size_B > least_B && size_B < most_B,
				       });
		}
}

static int begin(struct bench *bench, const struct plan_point *point)
{
	double size_B = plan_point_number(point, "size_B", 0);
	double repeats = floor(SPAN_S * SLOW_Bps / size_B);
	bool copy = strcmp(plan_point_word(point, "kernel"), kernels[GPU_STREAM_COPY]) == 0;
	return bench_work(bench, &(struct gpu_work){
					 .kind = copy ? GPU_STREAM_COPY : GPU_STREAM_TRIAD,
					 .bytes_B = (size_t)size_B,
					 .repeats = (size_t)fmin(fmax(repeats, 1), REPEATS_MOST),
				 });
}

const struct probe probe_memory = {
	.id = "M3",
	.test = "memory",
	.help = "copy and triad in the GPU's memory",
	.add = add,
	.begin = begin,
	.sample = bench_sample_work,
};
