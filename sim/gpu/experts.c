/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/gpu/experts.h"
#include "sim/base/hash.h"
#include "sim/gpu/kernel.h"

static const double expert_heights[EXPERT_HEIGHTS] = {16, 32, 64, 128};

/* ---- the spread of rows over experts ---- */

enum { EXPERTS_MAX = 1024, DRAWS = 5, FACTOR_BITS = 60 };
/* Popularity of the most popular expert divided by that of the least popular one. The benchmark
 * draws from 0.01 to 2 if each expert has one row at most. */
#define POPULARITY_RATIO 200.0

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

/* Returns the rows by which the experts of a range are below a level. sign -1: above -level. */
static double rows_to_level(const struct spread *s, size_t first, size_t count, double sign,
			    double level)
{
	double rows = 0;
	for (size_t i = first; i < first + count; i++)
		rows += fmax(0, level - sign * s->rows[i]);
	return rows;
}

/* Adds rows to the experts of a range with fewest (sign 1), or takes rows from those with most
 * (sign -1), until they have equally many. Returns the rows that found no place. */
static double level_out(struct spread *s, size_t first, size_t count, double sign, double rows)
{
	double level = sign > 0 ? 0 : -s->most, bound = level + s->most, high = bound;
	while (level < high) {
		double middle = ceil((level + high) / 2);
		if (rows_to_level(s, first, count, sign, middle) <= rows)
			level = middle;
		else
			high = middle - 1;
	}
	rows -= rows_to_level(s, first, count, sign, level);
	for (size_t i = first; i < first + count; i++)
		s->rows[i] = sign * fmax(level, sign * s->rows[i]);
	for (size_t i = 0; i < count && rows > 0 && level < bound; i++) {
		/* packed: the last ones, so that few tokens choose neighbours */
		double *own = &s->rows[s->packed ? first + count - 1 - i : first + i];
		if (sign * *own == level) {
			*own += sign;
			rows--;
		}
	}
	return rows;
}

/* Adds rows, or takes them: equal parts of each rank, or of all experts together. */
static void adjust(struct spread *s, double rows)
{
	double sign = rows < 0 ? -1 : 1, left = fabs(rows);
	size_t ranks = s->packed && rows > 0 ? 1 : s->ranks, held = s->experts / ranks;
	while (left > 0)
		for (size_t rank = 0; rank < ranks; rank++) {
			double part = ceil(left / (double)(ranks - rank));
			left += level_out(s, rank * held, held, sign, part) - part;
		}
}

/* Draws how often tokens choose each expert, at least 1, from a power law. Returns the sum. */
static double draw_popularity(struct spread *s, double ratio, double exponent, uint64_t *state,
			      double *popularity)
{
	double to = pow(ratio, 1 - exponent), sum = 0;
	for (size_t i = 0; i < s->experts; i++) {
		popularity[i] = pow((to - 1) * uniform(state) + 1, 1 / (1 - exponent));
		sum += popularity[i];
	}
	return sum;
}

/* Sets the rows to the rounded products of popularity and a factor. Returns their sum. */
static double scale_rows(struct spread *s, const double *popularity, double factor)
{
	double sum = 0;
	for (size_t i = 0; i < s->experts; i++) {
		s->rows[i] = fmin(floor(popularity[i] * factor + 0.5), s->most);
		sum += s->rows[i];
	}
	return sum;
}

/* Draws rows as the benchmark of vLLM does (aiconfigurator), which chooses the range of the power
 * law by the number of tokens. */
static void draw_benchmark(struct spread *s, double total, double exponent, uint64_t *state,
			   double *popularity)
{
	bool many = total > (double)s->experts;
	double ratio = fmax(many ? s->most * 0.8 : POPULARITY_RATIO, 1);
	double sum = draw_popularity(s, ratio, exponent, state, popularity);
	adjust(s, total - scale_rows(s, popularity, total / sum));
}

/* Gives the experts rows by their popularity, which is the same for all numbers of tokens. One
 * factor decides all rows (Sainte-Lague's method), so with more tokens no expert has fewer. */
static void draw_power(struct spread *s, double total, double exponent, uint64_t *state,
		       double *popularity)
{
	double low = 0, high = s->most + 1;
	draw_popularity(s, POPULARITY_RATIO, exponent, state, popularity);
	for (int i = 0; i < FACTOR_BITS; i++) {
		double middle = (low + high) / 2;
		if (scale_rows(s, popularity, middle) <= total)
			low = middle;
		else
			high = middle;
	}
	adjust(s, total - scale_rows(s, popularity, low));
}

/* Returns the first expert of the rank with the largest sum. */
static size_t busiest(const struct spread *s, const double *values)
{
	size_t best = 0;
	double most = -1;
	for (size_t rank = 0; rank < s->ranks; rank++) {
		double sum = 0;
		for (size_t i = 0; i < s->held; i++)
			sum += values[rank * s->held + i];
		if (sum > most) {
			most = sum;
			best = rank * s->held;
		}
	}
	return best;
}

/* Sets the rows of all experts. Returns the first expert of the rank with most rows, or with the
 * most popular experts, which does not depend on the number of tokens. */
static size_t draw(struct spread *s, enum experts_distribution distribution, double total,
		   double exponent, uint64_t *state)
{
	double popularity[EXPERTS_MAX] = {0};
	switch (distribution) {
	case EXPERTS_UNIFORM:
		memset(s->rows, 0, sizeof s->rows);
		adjust(s, total);
		return 0;
	case EXPERTS_POWER:
		draw_power(s, total, exponent, state, popularity);
		return busiest(s, popularity);
	default:
		draw_benchmark(s, total, exponent, state, popularity);
		return busiest(s, s->rows);
	}
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
	uint64_t state = hash_count(HASH_START, (uint64_t)experts->experts);
	size_t draws = distribution == EXPERTS_UNIFORM ? 1 : DRAWS;
	experts->rows = experts->active = experts->distinct = 0;
	memset(experts->blocks, 0, sizeof experts->blocks);
	for (size_t i = 0; i < draws; i++) {
		size_t first =
			draw(&s, distribution, experts->tokens * experts->top, exponent, &state);
		for (size_t own = 0; own < s.held; own++) {
			double rows = s.rows[first + own];
			experts->rows += rows / (double)draws;
			experts->active += (rows > 0) / (double)draws;
			experts->distinct += rows > 0 && !seen[own];
			seen[own] |= rows > 0;
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

/* Returns the time of reading weights divided by that of long runs. */
static double run_cost(const struct tile *tile, double weight_B)
{
	return sqrt(fmax(1, RUN_B / (tile->step_count * weight_B)));
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
	/* several blocks of an SM hide each other's work, but each loads and expands step by step
	 */
	double time_s = hypot(count / machine->sm_count * (k * row_s + STAGE_COUNT * step_s),
			      ceil(k / tile->step_count) * step_s + k * expand_s);
	return hypot(time_s, bytes_B / (machine->bandwidth_Bps * kernels->experts_operand_ratio));
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
			expand_s, !e->older && fmod(k, ALIGNED_COUNT) != 0,
			bytes_B * run_cost(&tile, weight_B));
}

static double product_of_s(const struct experts_machine *machine,
			   const struct kernel_params *kernels, const struct kernel_product *p,
			   double bytes_B, const struct tile *tile, bool expands)
{
	double blocks =
		p->count * ceil(p->m / expert_heights[tile->height]) * ceil(p->n / tile->width);
	double weight_B = expands ? INT4_GROUP_B : machine->element_B;
	double expand_s =
		expands ? tile->width / 2 / (kernels->dequantise_Bps * tile->expand_ratio) : 0;
	return blocks_s(machine, kernels, tile, blocks, p->k, expand_s, false,
			bytes_B * run_cost(tile, weight_B));
}

double experts_product_s(const struct experts_machine *machine, const struct kernel_params *kernels,
			 const struct kernel_product *product, double bytes_B, bool expands)
{
	static const struct tile cuda = {0, 128, 128, 1};
	double best_s = INFINITY, widest = expands ? 64 : 128;
	double shortest = expands ? 32 : 64, longest = expands ? 32 : machine->fp4 ? 256 : 128;
	if (expands && product->m <= INT4_CUDA_TOKENS)
		return product_of_s(machine, kernels, product, bytes_B, &cuda, true);
	for (size_t i = 0; i < EXPERT_HEIGHTS; i++)
		for (double width = 64; width <= widest; width *= 2)
			for (double step = shortest; step <= longest; step *= 2) {
				struct tile tile = {i, width, step, expands ? INT4_TRITON : 1};
				best_s = fmin(best_s, product_of_s(machine, kernels, product,
								   bytes_B, &tile, expands));
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
