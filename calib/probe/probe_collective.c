/* SPDX-License-Identifier: Apache-2.0 */
/* Probe X1: NCCL's collectives among all GPUs of the machine. They are in place and timed like
 * nccl-tests: the host's time of many calls divided by their number. */
#include "calib/probe/probe.h"

#define REPEATS_COUNT 10

static void add(const struct bench *bench, struct plan *plan, struct plan_random *random)
{
	static const char *const names[] = {"all_reduce", "all_gather", "reduce_scatter",
					    "broadcast"};
	double ranks = bench->facts.gpus_count < 2 ? 2 : bench->facts.gpus_count;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		for (double size_B = 1024; size_B <= 0x1p28; size_B *= bench->full ? 2 : 4) {
			plan_add(plan,
				 &(struct plan_point){
					 .is = {{"collective", names[i]}, {"library", "nccl"}},
					 .x = {{"size_B", size_B}, {"ranks", ranks}},
					 .interval_ratio = 0.02,
				 });
		}
}

static int sample(struct bench *bench, const struct plan_point *point, double *value)
{
	const struct gpu_collective what = {
		.collective = plan_point_word(point, "collective"),
		.size_B = (size_t)plan_point_number(point, "size_B", 1),
		.ranks = (size_t)plan_point_number(point, "ranks", 2),
		.repeats = REPEATS_COUNT,
	};
	return bench_code(bench, bench->gpu, bench->gpu->api->collective(bench->gpu, &what, value));
}

const struct probe probe_collective = {
	.id = "X1",
	.test = "collective",
	.help = "NCCL's collectives, on machines with two or more GPUs",
	.add = add,
	.sample = sample,
};
