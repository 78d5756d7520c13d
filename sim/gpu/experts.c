/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/gpu/experts.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "sim/base/diag.h"
#include "sim/base/hash.h"
#include "sim/gpu/kernel.h"

static const double expert_heights[EXPERT_HEIGHTS] = {16, 32, 64, 128};

/* ---- the spread of rows over experts ---- */

enum { EXPERTS_MAX = 1024, DRAWS = 5 };

struct spread {
	double rows[EXPERTS_MAX];
	size_t experts, ranks, held;
	double most; /* a token chooses an expert once */
	bool packed;
};

/* Returns a number in (0, 1), the same for each run. */
static double uniform(uint64_t *state)
{
	*state += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
	return ((double)(hash_spread(*state) >> 11) + 0.5) * 0x1p-53;
}

/* Returns the expert of a range with most rows (sign 1) or fewest (-1). fresh: with several, one
 * whose flag is false. */
static size_t extreme(const struct spread *s, size_t first, size_t count, double sign,
		      const bool *taken)
{
	size_t best = first + count;
	for (size_t i = first; i < first + count; i++)
		if (!(taken && taken[i]) &&
		    (best == first + count || (taken ? s->rows[i] <= s->rows[best]
						     : sign * s->rows[i] > sign * s->rows[best])))
			best = i;
	return best;
}

/* Adds rows to the experts with fewest, rank by rank, or takes some from those with most. */
static void adjust_by_rank(struct spread *s, double rows)
{
	double step = rows > 0 ? 1 : -1;
	for (size_t rank = 0; rows * step > 0; rank = (rank + 1) % s->ranks) {
		size_t i = extreme(s, rank * s->held, s->held, -step, NULL);
		if (step > 0 ? s->rows[i] >= s->most : s->rows[i] <= 0)
			continue;
		s->rows[i] += step;
		rows -= step;
	}
}

/* Adds rows to the experts with fewest, one to each, and begins again when all have one more.
 * Among equal ones the last come first, so that few tokens choose neighbours. */
static void fill_packed(struct spread *s, double rows)
{
	bool taken[EXPERTS_MAX] = {false};
	size_t count = 0;
	while (rows > 0) {
		if (count == s->experts) {
			memset(taken, 0, sizeof taken);
			count = 0;
		}
		size_t i = extreme(s, 0, s->experts, -1, taken);
		taken[i] = true;
		count++;
		if (s->rows[i] < s->most) {
			s->rows[i]++;
			rows--;
		}
	}
}

static void adjust(struct spread *s, double rows)
{
	if (s->packed && rows > 0)
		fill_packed(s, rows);
	else if (rows != 0)
		adjust_by_rank(s, rows);
}

/* Draws the rows of each expert from a power law. With few tokens most experts have no row. */
static void draw_power(struct spread *s, double tokens, double top, double exponent,
		       uint64_t *state)
{
	double total = tokens * top, count = (double)s->experts, sum = 0, rounded = 0, over = 0;
	double low = total > count ? 1 : 0.01, high = total > count ? tokens * 0.8 : 2;
	double from = pow(low, 1 - exponent), to = pow(high, 1 - exponent);
	for (size_t i = 0; i < s->experts; i++) {
		s->rows[i] = pow((to - from) * uniform(state) + from, 1 / (1 - exponent));
		sum += s->rows[i];
	}
	for (size_t i = 0; i < s->experts; i++) {
		double rows = nearbyint(s->rows[i] / sum * total);
		s->rows[i] = fmin(rows, s->most);
		over += rows - s->rows[i];
		rounded += rows;
	}
	adjust(s, over);
	adjust(s, total - rounded);
}

/* Each token takes neighbours of the experts that the token before it took. */
static void draw_uniform(struct spread *s, double tokens, double top)
{
	double count = (double)s->experts, stride = ceil(count / top);
	memset(s->rows, 0, sizeof s->rows);
	for (double i = 0; i < top; i++)
		if (tokens < stride) {
			for (double t = 0; t < tokens; t++)
				s->rows[(size_t)fmod(floor(t * stride / tokens) + i * stride,
						     count)]++;
		} else {
			for (size_t e = 0; e < s->experts; e++) {
				double first =
					fmod((double)e - i * stride + top * stride * count, count);
				if (first < tokens)
					s->rows[e] += floor((tokens - 1 - first) / count) + 1;
			}
		}
}

/* Returns the first expert of the rank with most rows. */
static size_t busiest(const struct spread *s)
{
	size_t best = 0;
	double most = -1;
	for (size_t rank = 0; rank < s->ranks; rank++) {
		double rows = 0;
		for (size_t i = 0; i < s->held; i++)
			rows += s->rows[rank * s->held + i];
		if (rows > most) {
			most = rows;
			best = rank * s->held;
		}
	}
	return best;
}

void experts_spread(struct kernel_experts *experts, enum experts_distribution distribution,
		    double exponent)
{
	FW_ASSERT(experts->experts <= EXPERTS_MAX);
	struct spread s = {.experts = (size_t)experts->experts,
			   .ranks = (size_t)(experts->experts / experts->held),
			   .held = (size_t)experts->held,
			   .most = experts->tokens,
			   .packed = distribution == EXPERTS_PACKED};
	bool seen[EXPERTS_MAX] = {false};
	uint64_t state = hash_count(hash_count(HASH_START, (uint64_t)experts->tokens),
				    (uint64_t)experts->experts);
	size_t draws = distribution == EXPERTS_UNIFORM ? 1 : DRAWS;
	experts->rows = experts->active = experts->distinct = 0;
	memset(experts->blocks, 0, sizeof experts->blocks);
	for (size_t draw = 0; draw < draws; draw++) {
		size_t first = 0;
		if (distribution == EXPERTS_UNIFORM) {
			draw_uniform(&s, experts->tokens, experts->top);
		} else {
			draw_power(&s, experts->tokens, experts->top, exponent, &state);
			first = busiest(&s);
		}
		for (size_t i = 0; i < s.held; i++) {
			double rows = s.rows[first + i];
			experts->rows += rows / (double)draws;
			experts->active += (rows > 0) / (double)draws;
			experts->distinct += rows > 0 && !seen[i];
			seen[i] |= rows > 0;
			for (size_t k = 0; k < EXPERT_HEIGHTS; k++)
				experts->blocks[k] +=
					ceil(rows / expert_heights[k]) / (double)draws;
		}
	}
}

/* ---- the law ---- */

/* A step of a block loads its tile's part of both matrices. That of a tall tile takes longer,
 * because it needs the tensor cores' larger instructions. */
#define TALL_ROWS   64
#define TALL_RATIO  2
#define STAGE_COUNT 3 /* steps that a block loads before it multiplies */
/* Contiguous bytes of weights below which memory loses bandwidth: a burst of DRAM. The loss is the
 * root of the ratio; an assumption between none and a burst for each part. */
#define RUN_B 128.0
/* A compiler that cannot prove that rows begin at multiples of 16 elements loads one by one
 * (Triton's divisibility of arguments). The rate is an assumption. */
#define ALIGNED_COUNT    16.0
#define UNALIGNED_BPS    5e9
#define INT4_TRITON      0.5 /* rate at which Triton's kernel expands weights, divided by CUDA's */
#define INT4_GROUP_B     (0.5 + 2.0 / 128) /* 16 bits of scale for 128 weights */
#define MXFP4_GROUP_B    (0.5 + 1.0 / 32)
#define CACHE_RATIO      8.0 /* bandwidth of the L2 cache divided by that of GDDR; an assumption */
#define SPARSE_TOKENS    4   /* with fewer tokens than experts / 4, no kernel sorts the rows */
#define INT4_CUDA_TOKENS 6   /* rows of an expert up to which vLLM's CUDA kernel is used */

double weight_element_B(enum weights_type weights, double element_B)
{
	return weights == WEIGHTS_INT4    ? INT4_GROUP_B
	       : weights == WEIGHTS_MXFP4 ? MXFP4_GROUP_B
					  : element_B;
}

struct tile {
	size_t height; /* index of expert_heights */
	double width, step_count, expand_ratio;
};

/* Returns the tile that vLLM's table of defaults gives (get_default_config in fused_moe.py;
 * PR 34846 changed it in 0.17), or FlashInfer for FP4. */
static struct tile tile_of(const struct experts_machine *machine, const struct kernel_experts *e)
{
	double t = e->tokens, mean = t * e->top / e->experts;
	size_t by_mean = mean <= 16 ? 0 : mean <= 32 ? 1 : 2;
	if (machine->fp4 || e->weights == WEIGHTS_MXFP4)
		return (struct tile){by_mean, 128, machine->fp4 ? 256 : 128, 1};
	if (e->weights == WEIGHTS_INT4 && t * e->top <= INT4_CUDA_TOKENS * e->held)
		return (struct tile){0, 128, 128, 1};
	if (e->weights == WEIGHTS_INT4)
		return (struct tile){t <= 20 ? 0 : t <= 40 ? 1 : 2, 64, 32, INT4_TRITON};
	if (e->scaled_by_blocks)
		return (struct tile){t <= 64 && !e->older ? 0 : 2, 128, 128, 1};
	if (e->older)
		return t <= e->held ? (struct tile){0, 32, 64, 1} : (struct tile){2, 64, 32, 1};
	return (struct tile){t <= 32    ? 0
			     : t <= 96  ? 1
			     : t <= 512 ? 2
					: 3,
			     t <= 64 ? 64 : 128, t <= 64 || machine->element_B < 2 ? 128 : 64, 1};
}

/* Returns the time of that many blocks of a tile, which multiply rows of k and need bytes_B of
 * memory. expand_s: time in which a block expands a row of weights; unaligned: rows of k do not
 * begin at multiples of 16 elements. */
static double blocks_s(const struct experts_machine *machine, const struct kernel_params *kernels,
		       const struct tile *tile, double count, double k, double expand_s,
		       bool unaligned, double bytes_B)
{
	double height = expert_heights[tile->height];
	double row_s = 2 * height * tile->width / (machine->rate_flops * machine->ratio) + expand_s;
	if (unaligned)
		row_s = hypot(row_s, (height + tile->width) * machine->element_B / UNALIGNED_BPS);
	double step_s = kernels->experts_step_s * (height >= TALL_ROWS ? TALL_RATIO : 1);
	/* several blocks of an SM hide each other's loads, but none is faster than its steps */
	double time_s = hypot(count / machine->sm_count * (k * row_s + STAGE_COUNT * step_s),
			      ceil(k / tile->step_count) * step_s);
	double run_B = tile->step_count * machine->element_B;
	double memory_s = bytes_B * sqrt(fmax(1, RUN_B / run_B)) /
			  (machine->bandwidth_Bps * kernels->experts_operand_ratio);
	return hypot(time_s, memory_s);
}

/* Returns the time of a grouped product of the rows, k x n for each expert. */
static double grouped_s(const struct experts_machine *machine, const struct kernel_params *kernels,
			const struct kernel_experts *e, double n, double k)
{
	struct tile tile = tile_of(machine, e);
	double weight_B = weight_element_B(e->weights, machine->element_B);
	double expand_s = e->weights == WEIGHTS_SAME
				  ? 0
				  : tile.width / 2 / (kernels->dequantise_Bps * tile.expand_ratio);
	double hit_ratio = cache_hit_ratio(e->distinct * 3 * e->hidden * e->inner * weight_B,
					   machine->cache_B);
	double bytes_B = e->rows * (k * machine->element_B + n * 2) +
			 e->active * n * k * weight_B * (1 - hit_ratio * (1 - 1 / CACHE_RATIO));
	return blocks_s(machine, kernels, &tile, e->blocks[tile.height] * ceil(n / tile.width), k,
			expand_s, !e->older && fmod(k, ALIGNED_COUNT) != 0, bytes_B);
}

double experts_product_s(const struct experts_machine *machine, const struct kernel_params *kernels,
			 double rows, double columns, double k, double count, double bytes_B)
{
	double best_s = INFINITY;
	for (size_t i = 0; i < EXPERT_HEIGHTS; i++)
		for (double width = 64; width <= 128; width *= 2) {
			struct tile tile = {i, width, 64, 1};
			double blocks =
				count * ceil(rows / expert_heights[i]) * ceil(columns / width);
			best_s = fmin(best_s, blocks_s(machine, kernels, &tile, blocks, k, 0, false,
						       bytes_B));
		}
	return best_s;
}

/* Returns the bytes of the kernels beside the products: the activation, the sum of each token's
 * rows, zeros for rows of other GPUs, and quantisation. They process all rows of the layer.
 * FlashInfer's kernels for FP4 activate in the first product, and see only the GPU's rows. */
static double passes_B(const struct experts_machine *machine, const struct kernel_experts *e)
{
	double all = e->tokens * e->top, far = all - e->rows, quantised_B = 2 + machine->element_B;
	if (machine->fp4)
		return 2 * e->hidden * (e->rows + e->tokens) + quantised_B * e->tokens * e->hidden;
	double bytes_B = 2 * (3 * all * e->inner + (all + e->tokens) * e->hidden) +
			 2 * far * (e->hidden + (e->older ? 2 * e->inner : 0));
	if (machine->element_B < 2)
		bytes_B += quantised_B * (e->tokens * e->hidden + all * e->inner);
	return bytes_B;
}

double experts_s(const struct experts_machine *machine, const struct kernel_params *kernels,
		 const struct kernel_experts *e)
{
	bool sparse = !e->older && e->held == e->experts &&
		      e->tokens * e->top * SPARSE_TOKENS <= e->experts;
	int kernel_count = 4; /* two products, the activation and the sum */
	if (!machine->fp4)
		kernel_count += (sparse ? 0 : 2) + (machine->element_B < 2 ? 2 : 0) +
				(e->weights == WEIGHTS_SAME ? 0 : 4);
	double passes_s =
		passes_B(machine, e) / (machine->bandwidth_Bps * kernels->experts_pass_ratio);
	return grouped_s(machine, kernels, e, 2 * e->inner, e->hidden) +
	       grouped_s(machine, kernels, e, e->hidden, e->inner) + passes_s +
	       kernel_count * kernels->experts_kernel_s;
}
