/* SPDX-License-Identifier: Apache-2.0 */
/* Probes M3 and C2: kernels limited by memory bandwidth. M3 runs three kernels of BabelStream, on
 * data that fit the level-2 cache and on data that do not. C2 runs the two kinds that are frequent
 * in networks. size_B counts all bytes read and written. */
#include <math.h>
#include <string.h>

#include "calib/probe/probe.h"

#define SPAN_S       1e-3 /* approximate time of the work behind one blocker */
#define SLOW_Bps     1e12 /* assumed bandwidth, to choose the number of repetitions */
#define REPEATS_MOST 20
/* Divisible into one, two or three arrays of whole rows of 4 KiB. */
#define UNIT_B 24576.0

static const struct row {
	const char *test, *kernel;
	enum gpu_work_kind kind;
} rows[] = {
	{"memory", "copy", GPU_STREAM_COPY},         {"memory", "triad", GPU_STREAM_TRIAD},
	{"memory", "reduce_add", GPU_REDUCE_ADD},    {"pointwise", "elementwise", GPU_ELEMENTWISE},
	{"pointwise", "row_reduce", GPU_ROW_REDUCE},
};
#define ROWS_COUNT (sizeof(rows) / sizeof(rows[0]))

static void add_size(struct plan *plan, const struct row *row, const char *level, double size_B,
		     bool held_out)
{
	size_B = UNIT_B * fmax(1, round(size_B / UNIT_B));
	plan_add(plan, &(struct plan_point){
			       .is = {{"kernel", row->kernel}, {level ? "level" : NULL, level}},
			       .x = {{"size_B", size_B}},
			       .held_out = held_out,
		       });
}

static void add_memory(const struct bench *bench, struct plan *plan, struct plan_random *random)
{
	double l2_B = bench->facts.l2_B > 0 ? bench->facts.l2_B : 4e6;
	/* A cache keeps a part of data that are a few times larger than it. */
	double least_B = exp2(ceil(log2(8 * l2_B)));
	double most_B = fmax(bench->full ? 0x1p30 : 0x1p29, 4 * least_B);
	for (size_t i = 0; i < ROWS_COUNT; i++) {
		if (strcmp(rows[i].test, plan->test) != 0)
			continue;
		for (double size_B = 0x1p18; size_B <= l2_B / 2; size_B *= 2)
			add_size(plan, &rows[i], "l2", size_B, size_B * 2 > l2_B / 2);
		for (double size_B = least_B; size_B <= most_B; size_B *= 2)
			add_size(plan, &rows[i], "hbm", size_B,
				 size_B > least_B && size_B < most_B);
	}
}

static void add_pointwise(const struct bench *bench, struct plan *plan, struct plan_random *random)
{
	double step = bench->full ? 2 : 4;
	for (size_t i = 0; i < ROWS_COUNT; i++) {
		if (strcmp(rows[i].test, plan->test) != 0)
			continue;
		for (double size_B = 0x1p14; size_B <= 0x1p28; size_B *= step) {
			double between = 1 + (step - 1) * plan_random_part(random);
			add_size(plan, &rows[i], NULL, size_B, false);
			add_size(plan, &rows[i], NULL, size_B * between, true);
		}
	}
}

static int begin(struct bench *bench, const struct plan_point *point)
{
	const char *kernel = plan_point_word(point, "kernel");
	double size_B = plan_point_number(point, "size_B", 0);
	double repeats = floor(SPAN_S * SLOW_Bps / size_B);
	size_t i = 0;
	while (strcmp(rows[i].kernel, kernel) != 0)
		i++;
	return bench_work(bench, &(struct gpu_work){
					 .kind = rows[i].kind,
					 .bytes_B = (size_t)size_B,
					 .repeats = (size_t)fmin(fmax(repeats, 1), REPEATS_MOST),
				 });
}

const struct probe probe_memory = {
	.id = "M3",
	.test = "memory",
	.help = "copy, triad and reduction in the GPU's cache and memory",
	.add = add_memory,
	.begin = begin,
	.sample = bench_sample_work,
};
const struct probe probe_pointwise = {
	.id = "C2",
	.test = "pointwise",
	.help = "element-wise and row-reducing kernels",
	.add = add_pointwise,
	.begin = begin,
	.sample = bench_sample_work,
};
