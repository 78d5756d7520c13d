/* SPDX-License-Identifier: Apache-2.0 */
/* Probe C1: matrix products of random data in several types and shapes: squares, narrow shapes and
 * random shapes, of which a fifth are held out. A product under 500 us is repeated in a graph for
 * about a millisecond, at most 20 times, because launches from the host are too slow for short
 * kernels. All products are measured from start to start, including the gap. */
#include "calib/probe/probe.h"

#define SPAN_S       1e-3
#define REPEATS_MOST 20
#define LEAST        64.0
#define MOST         8192.0
#define RANDOM_FULL  60
#define RANDOM_QUICK 15
#define HELD_OUT_NTH 5

struct gemm_shape {
	double m, n, k;
};

static void add_shape(struct plan *plan, struct gemm_shape shape, bool held_out)
{
	static const char *const types[] = {"fp32", "tf32", "fp16", "bf16", "fp8"};
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		plan_add(plan, &(struct plan_point){
				       .is = {{"type", types[i]}},
				       .x = {{"m", shape.m}, {"n", shape.n}, {"k", shape.k}},
				       .held_out = held_out,
			       });
}

/* Returns a random multiple of 8, as tensor cores prefer, with a uniform distribution over the
 * octaves. */
static double side(struct plan_random *random)
{
	return 8 * floor(LEAST * pow(MOST / LEAST, plan_random_part(random)) / 8);
}

static void add(const struct bench *bench, struct plan *plan, struct plan_random *random)
{
	static const struct gemm_shape skinny[] = {
		{16, 4096, 4096}, {64, 4096, 4096},  {256, 4096, 1024},
		{4096, 64, 4096}, {4096, 4096, 64},  {32, 8192, 2048},
		{12544, 64, 576}, {3136, 256, 1152}, {784, 512, 4608},
	};
	int count = bench->full ? RANDOM_FULL : RANDOM_QUICK;
	double most = bench->full ? MOST : MOST / 2;
	for (double size = 128; size <= most; size *= 2) {
		add_shape(plan, (struct gemm_shape){size, size, size}, false);
		if (bench->full)
			add_shape(plan, (struct gemm_shape){1.5 * size, 1.5 * size, 1.5 * size},
				  false);
	}
	for (size_t i = 0; i < sizeof(skinny) / sizeof(skinny[0]); i++)
		add_shape(plan, skinny[i], false);
	for (int i = 0; i < count; i++) {
		struct gemm_shape shape;
		shape.m = side(random);
		shape.n = side(random);
		shape.k = side(random);
		add_shape(plan, shape, i % HELD_OUT_NTH == 0);
	}
}

static int make(struct bench *bench, const struct plan_point *point, size_t repeats)
{
	const struct gpu_work work = {
		.kind = GPU_GEMM,
		.type = plan_point_word(point, "type"),
		.m = (size_t)plan_point_number(point, "m", 1),
		.n = (size_t)plan_point_number(point, "n", 1),
		.k = (size_t)plan_point_number(point, "k", 1),
		.repeats = repeats,
		.as_graph = repeats > 1,
	};
	return bench_work(bench, &work);
}

static int begin(struct bench *bench, const struct plan_point *point)
{
	double once_s = 0;
	int code = make(bench, point, 1);
	for (int i = 0; i < 3 && code == GPU_OK; i++) /* the first run loads the kernel */
		code = bench_sample_work(bench, point, &once_s);
	double repeats = fmin(fmax(floor(SPAN_S / fmax(once_s, 1e-9)), 1), REPEATS_MOST);
	if (code == GPU_OK && repeats > 1)
		code = make(bench, point, (size_t)repeats);
	return code;
}

const struct probe probe_gemm = {
	.id = "C1",
	.test = "gemm",
	.help = "matrix products in several types and shapes",
	.add = add,
	.begin = begin,
	.sample = bench_sample_work,
};
