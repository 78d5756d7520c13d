/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/gpu/kernel.h"
#include "sim/gpu/gpu.h"

/* Tiles of a product that the blocks of a library's kernels compute, and the parts into which a
 * library splits k. Up to Ada they are CUTLASS's tiles. Libraries for Hopper and Blackwell have
 * kernels for each width (cuBLAS names them nvjet_..._128x72_...). */
static const double tile_sides[][2] = {
	{256, 128}, {128, 256}, {128, 128}, {128, 64}, {64, 128}, {64, 64}, {256, 64}, {64, 256},
	{128, 32},  {32, 128},  {128, 16},  {16, 128}, {64, 32},  {32, 64}, {64, 16},  {16, 64}};
static const double tile_heights[] = {64, 128, 192, 256};
static const double tile_widths[] = {8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256};
enum { SPLITS = 8 }; /* parts of k */
static const double split_counts[SPLITS] = {1, 2, 3, 4, 6, 8, 16, 32};
#define SPLIT_K_MIN 64.0
/* A square tile of twice this side loads registers as long as it multiplies. An assumption. */
#define REGISTER_SIDE  32.0
#define REFERENCE_SIDE 128.0
/* Attention: rows of a tile of queries (FlashAttention 2 on a paged cache has the smaller one), and
 * keys that a block takes at a time. */
#define QUERY_ROWS       128.0
#define QUERY_ROWS_PAGED 64.0
#define QUERY_ROWS_MIN   16.0
#define KEY_BLOCK        64.0
/* The kernel that writes new keys and values into a paged cache has a block for each token, with a
 * thread for each number up to this many (vLLM, reshape_and_cache_flash). An SM holds 2048 threads
 * (CUDA C++ Programming Guide). */
#define STORE_THREADS 512.0
#define HELD_THREADS  2048.0
/* An SM loads at most 64 bytes in a clock cycle (CUDA C++ Programming Guide). Elements that do not
 * begin at multiples of 16 bytes need loads of fewer bytes. */
#define ALIGNED_LOAD_B 16.0
#define CYCLE_LOAD_B   64.0
#define USUAL_CLOCK_HZ 1.5e9
/* vLLM's FP8 kernels for Hopper have tiles of 16 x 64 for up to FEW_ROWS, and also for up to
 * PAIRED_ROWS if there are FEW_COLUMNS at most. Otherwise they have 64 x 64, 64 x 128 and, for over
 * 128 rows, 128 x 128. Above PAIRED_ROWS, clusters of two SMs work on two tiles of one column
 * (csrc/quantization/w8a8/cutlass/c3x/scaled_mm_sm90_fp8_dispatch.cuh). */
#define FEW_ROWS    16.0
#define PAIRED_ROWS 64.0
#define FEW_COLUMNS 1280.0
/* Bandwidth of the L2 cache divided by that of the memory. An assumption, on GDDR. */
#define CACHE_RATIO 4.0
/* Used bytes divided by the size of the L2 cache where half of them are found. */
#define CACHE_HALF      1.05
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
/* Part of the fp32 rate at which a direct convolution multiplies. An assumption: an SM of Ampere
 * loads 32 elements and multiplies 128 in a clock cycle (CUDA C++ Programming Guide). */
#define DIRECT_RATIO 0.25
/* Part of its rate that a fused Winograd kernel keeps, which transforms between multiplications. */
#define FUSED_RATIO 0.8
/* Tile of an FFT convolution, and the frequencies of a real one. */
#define FFT_SIDE        32.0
#define FFT_FREQUENCIES (FFT_SIDE * (FFT_SIDE / 2 + 1))

double cache_hit_ratio(double used_B, double cache_B)
{
	if (!(cache_B > 0))
		return 0;
	double part = used_B / (cache_B * CACHE_HALF), square = part * part;
	double fourth = square * square;
	return 1 / (1 + fourth * fourth * fourth * fourth);
}

/* ---- the law ---- */

/* The GPU as a kernel uses it: the rate of multiplications and of loads of an SM, and the reached
 * bandwidth of memory. */
struct kernel_machine {
	double rate_flops, load_Bps, bandwidth_Bps, sm_count, fill_s, split_s, element_B;
	bool any_width;    /* libraries have tiles of each width */
	bool plain, lanes; /* lanes: CUDA cores multiply, no tensor cores */
	bool paired;       /* the library has one tile for each number of rows, in pairs of SMs */
	enum gpu_generation generation;
};

/* Returns the rate of arithmetic at the clock under load, divided by that at the clock of the
 * generation's reference GPU. Less power for each operation means a lower clock. The exponent is
 * at most 1, so a higher peak without more power never lowers the rate. */
static double power_ratio(const struct gpu_params *gpu, const struct kernel_params *kernels,
			  enum number_type type)
{
	double needed_W = gpu_needed_power_W(gpu, type);
	if (!(gpu->power_W > 0) || !(needed_W > 0))
		return 1;
	double ratio = pow(gpu->power_W / needed_W, kernels->power_exponent_count);
	return gpu_has_tensor_cores(gpu, type)
		       ? ratio
		       : fmin(ratio, gpu_generation_facts(gpu->generation)->lane_most_ratio);
}

/* Returns the rate of arithmetic in a program, which the power limits, divided by that of a kernel
 * by itself. */
static double clock_ratio(const struct gpu_params *gpu, const struct efficiency_params *efficiency,
			  enum number_type type)
{
	double ratio = efficiency_sustained_ratio(efficiency) *
		       power_ratio(gpu, efficiency->kernels, type);
	return fmin(1, ratio) * efficiency_slowest_ratio(efficiency);
}

static struct kernel_machine machine_of(const struct gpu_params *gpu,
					const struct efficiency_params *efficiency,
					const struct kernel_work *work)
{
	const struct kernel_params *kernels = efficiency->kernels;
	double library_ratio = work->library_ratio > 0 ? work->library_ratio : 1;
	double fp8_ratio = work->plain ? kernels->plain_fp8_ratio : kernels->product_fp8_ratio;
	const double ratios[] = {
		[NUMBER_FP32] = kernels->product_fp32_ratio,
		[NUMBER_TF32] = kernels->product_tf32_ratio,
		[NUMBER_FP16] = kernels->product_half_ratio,
		[NUMBER_BF16] = kernels->product_half_ratio,
		[NUMBER_FP8] = fp8_ratio,
		[NUMBER_INT8] = fp8_ratio,
		[NUMBER_FP4] = kernels->product_fp4_ratio,
	};
	enum number_type type = gpu_computed_in(gpu, work->type);
	double ratio = work->scaled_by_blocks ? kernels->product_block_ratio : ratios[type];
	if (work->form == KERNEL_ATTENTION)
		ratio = work->attention.sequences > 0 ? kernels->attention_forward_ratio
						      : kernels->attention_ratio;
	if (work->form == KERNEL_CUDNN_ATTENTION)
		ratio = kernels->cudnn_attention_ratio;
	if (gpu->generation == GENERATION_KEPLER)
		ratio *= KEPLER_CORE_RATIO;
	double misaligned_Bps = INFINITY, one_B = work->aligned_count * number_type_B(type);
	if (one_B > 0 && one_B < ALIGNED_LOAD_B)
		misaligned_Bps = CYCLE_LOAD_B *
				 (gpu->boost_clock_Hz > 0 ? gpu->boost_clock_Hz : USUAL_CLOCK_HZ) *
				 one_B / ALIGNED_LOAD_B;
	return (struct kernel_machine){
		.rate_flops = gpu_peak_flops(gpu, work->type) * ratio * library_ratio *
			      clock_ratio(gpu, efficiency, type) / gpu->multiprocessors_count,
		.load_Bps = fmin(kernels->load_Bps, misaligned_Bps) * library_ratio *
			    fmin(1, efficiency_sustained_ratio(efficiency)),
		.bandwidth_Bps = gpu->memory_bandwidth_Bps * gpu->memory_efficiency_ratio,
		.sm_count = gpu->multiprocessors_count,
		.fill_s = work->plain ? kernels->plain_fill_s : kernels->fill_s,
		.split_s = kernels->split_s,
		.element_B = number_type_B(type),
		.any_width = gpu->generation >= GENERATION_HOPPER &&
			     work->form == KERNEL_PRODUCT, /* cuDNN has the usual tiles */
		.plain = work->plain,
		.paired = work->plain && gpu->generation == GENERATION_HOPPER,
		.lanes = !gpu_has_tensor_cores(gpu, type),
		.generation = (enum gpu_generation)gpu->generation,
	};
}

/* Returns the time of two activities that overlap: the longer one, and 19 % more if both are
 * equal. */
static double overlapped(double a, double b)
{
	double x = a * a, y = b * b;
	return sqrt(sqrt(x * x + y * y));
}

/* Returns the time in which an SM multiplies a column and a row of a tile. On CUDA cores, loads of
 * operands into registers take the places of multiplications, and a smaller tile needs more of
 * them for each multiplication. The rate is that of tiles of 128 x 128. */
static double multiply_s(const struct kernel_machine *machine, double height, double width)
{
	double time_s = 2 * height * width / machine->rate_flops;
	if (!machine->lanes)
		return time_s;
	return time_s * (1 + REGISTER_SIDE * (1 / height + 1 / width)) /
	       (1 + REGISTER_SIDE * 2 / REFERENCE_SIDE);
}

struct tile_search { /* of the tiles of a product, by the number of parts of k */
	size_t count;
	double rows[SPLITS];     /* of a part of k */
	double blocks_s[SPLITS]; /* least time of the blocks so far */
};

/* Lowers the times of a search to those with these tiles. Blocks run in waves over the SMs. A block
 * loads the rows and columns of its tile while it multiplies, and stores the result. */
static void try_tiles(const struct kernel_machine *machine, const struct kernel_product *p,
		      double height, double width, struct tile_search *search)
{
	double together = machine->paired && p->m > PAIRED_ROWS ? 2 : 1;
	double tiles = ceil(p->m / height / together) * together * ceil(p->n / width) * p->count;
	double own_s = multiply_s(machine, height, width), row_s = 0;
	double load_s = (height + width) * machine->element_B / machine->load_Bps;
	double store_s = height * width * fmax(2, machine->element_B) / machine->load_Bps;
	double least_s = own_s > load_s ? own_s : load_s; /* of row_s */
	for (size_t i = 0; i < search->count && (i == 0 || tiles <= machine->sm_count); i++) {
		double *best_s = &search->blocks_s[i], rows = search->rows[i];
		double waves = ceil(tiles * split_counts[i] / machine->sm_count);
		double whole = i == 0 ? store_s : 0;
		if (waves * (least_s * rows + machine->fill_s + whole) >= *best_s)
			continue;
		row_s = row_s > 0 ? row_s : overlapped(own_s, load_s);
		*best_s = fmin(*best_s, waves * (row_s * rows + machine->fill_s + whole));
	}
}

/* Returns the time of products, with the time for their bytes in memory, for the best tiles and
 * parts of k. The parts are added in another kernel. */
static double product_s(const struct kernel_machine *machine, struct kernel_product product,
			double memory_s)
{
	const struct kernel_product *p = &product;
	struct tile_search search = {0};
	double best_s = INFINITY;
	for (size_t i = 0; i < SPLITS; i++) {
		double rows = p->k / split_counts[i];
		if (i > 0 && (machine->plain || rows < SPLIT_K_MIN))
			break;
		search.rows[i] = fmax(rows, SPLIT_K_MIN);
		search.blocks_s[search.count++] = INFINITY;
	}
	/* grouped products, as those of experts, have the usual tiles */
	bool any_width = machine->any_width && !machine->plain && product.count <= 1;
	double few = product.n <= FEW_COLUMNS ? PAIRED_ROWS : FEW_ROWS;
	if (machine->paired)
		try_tiles(machine, p, p->m > REFERENCE_SIDE ? 128 : (p->m > few ? 64 : 16),
			  p->m > PAIRED_ROWS ? 128 : 64, &search);
	for (size_t i = 0; !machine->paired && !any_width && i < COUNT_OF(tile_sides); i++)
		try_tiles(machine, p, tile_sides[i][0], tile_sides[i][1], &search);
	for (size_t i = 0; !machine->paired && any_width && i < COUNT_OF(tile_heights); i++)
		for (size_t j = 0; j < COUNT_OF(tile_widths); j++) {
			try_tiles(machine, p, tile_heights[i], tile_widths[j], &search);
			try_tiles(machine, p, tile_widths[j], tile_heights[i], &search);
		}
	for (size_t i = 0; i < search.count; i++) {
		double split = split_counts[i], bytes = 4 * p->m * p->n * p->count;
		double sums_s = machine->split_s + (split + 1) * bytes / machine->bandwidth_Bps;
		double parts_s = overlapped(search.blocks_s[i], memory_s);
		best_s = fmin(best_s, parts_s + (i > 0 ? sums_s : 0));
	}
	return best_s;
}

static double groups_of(const struct kernel_convolution *c)
{
	return fmax(1, c->groups);
}

/* Returns the products to which a convolution is equal if its matrix is not stored in memory
 * (implicit GEMM): one for each group. */
static struct kernel_product implicit_product(const struct kernel_convolution *c)
{
	double window = (double)(c->window[0] * c->window[1]), groups = groups_of(c);
	double outputs = c->images * c->out_height * c->out_width;
	double in = c->in_channels / groups, out = c->out_channels / groups;
	switch (c->part) {
	case CONVOLUTION_DATA: /* an input takes part in window / stride outputs */
		return (struct kernel_product){c->images * c->in_height * c->in_width, in,
					       window * out / (double)(c->stride[0] * c->stride[1]),
					       groups};
	case CONVOLUTION_FILTER:
		return (struct kernel_product){window * in, out, outputs, groups};
	default:
		return (struct kernel_product){outputs, out, window * in, groups};
	}
}

/* Returns the time of a direct convolution, which libraries have for groups (cuDNN: conv2d, dgrad2d
 * and wgrad2d_grouped_direct_kernel; PyTorch: conv_depthwise2d). CUDA cores multiply, and each
 * multiplication loads an element. The filter's gradient sums over pixels. */
static double direct_s(const struct gpu_params *gpu, const struct kernel_params *kernels,
		       const struct kernel_work *work, double bytes_s)
{
	const struct kernel_convolution *c = &work->convolution;
	if (c->groups < 2)
		return INFINITY;
	double reads = c->part == CONVOLUTION_FILTER ? kernels->reduction_ratio : 1;
	return overlapped(work->flop / (gpu->fp32_flops * DIRECT_RATIO), bytes_s / reads);
}

/* A convolution in another domain. Tiles of side x side outputs become `points` products, each
 * with `flops` real multiplications for each number, and with elements of size_B. fused: the tiles
 * stay on the chip. */
struct domain {
	double side, points, flops, size_B;
	bool fused;
};

static double domain_s(const struct kernel_machine *machine, const struct kernel_work *work,
		       const struct domain *domain)
{
	const struct kernel_convolution *c = &work->convolution;
	double tiles =
		ceil(c->out_height / domain->side) * ceil(c->out_width / domain->side) * c->images;
	double groups = groups_of(c), in = c->in_channels / groups, out = c->out_channels / groups;
	double count = domain->points * groups;
	struct kernel_product product = {tiles, out, in, count};
	if (c->part == CONVOLUTION_DATA)
		product = (struct kernel_product){tiles, in, out, count};
	if (c->part == CONVOLUTION_FILTER)
		product = (struct kernel_product){in, out, tiles, count};
	double time_s = product_s(machine, product, 0) * domain->flops;
	double bytes_B = work->bytes_B;
	if (domain->fused)
		time_s /= FUSED_RATIO;
	else /* each transformed tile is written and read again */
		bytes_B += 2 * domain->size_B * domain->points *
			   (tiles * (c->in_channels + c->out_channels) + in * c->out_channels);
	return overlapped(time_s, bytes_B / machine->bandwidth_Bps);
}

/* Winograd's minimal filtering F(m x m, r x r) needs (m + r - 1)^2 multiplications in place of
 * m^2 r^2 (Lavin and Gray, arXiv:1509.09308). cuDNN has it in fp32 for windows of 3 and 5 with
 * stride 1. It is fused only for F(2 x 2, 3 x 3) and not for the filter's gradient. Larger windows
 * can also use FFTs of 32 x 32 tiles, whose complex products are 4 real ones each. */
static double fastest_domain_s(const struct kernel_machine *machine, const struct kernel_work *work)
{
	const struct kernel_convolution *c = &work->convolution;
	double window = (double)c->window[0], best_s = INFINITY;
	if (c->window[0] != c->window[1] || c->stride[0] * c->stride[1] != 1 || window < 3 ||
	    window > FFT_SIDE / 2)
		return best_s;
	struct domain domains[4];
	size_t count = 0;
	if (c->window[0] == 3) {
		if (c->part != CONVOLUTION_FILTER)
			domains[count++] = (struct domain){2, 16, 1, 4, true};
		domains[count++] = (struct domain){2, 16, 1, 4, false};
		domains[count++] = (struct domain){4, 36, 1, 4, false};
	}
	if (c->window[0] == 5)
		domains[count++] = (struct domain){2, 36, 1, 4, false};
	if (c->window[0] > 3)
		domains[count++] =
			(struct domain){FFT_SIDE + 1 - window, FFT_FREQUENCIES, 4, 8, false};
	for (size_t i = 0; i < count; i++)
		best_s = fmin(best_s, domain_s(machine, work, &domains[i]));
	return best_s;
}

double attention_features(const struct kernel_attention *a)
{
	return a->head_size + (a->value_size > 0 ? a->value_size : a->head_size);
}

double attention_cached_count(const struct kernel_attention *a)
{
	return a->latent ? a->head_size : attention_features(a);
}

/* Returns the time of a block that works on that many rows of queries and on `keys` keys. */
static double attention_block_s(const struct kernel_machine *machine,
				const struct kernel_attention *a, double rows, double keys)
{
	double taken = fmax(ceil(keys / KEY_BLOCK), 1) * KEY_BLOCK;
	return overlapped(2 * rows * taken * attention_features(a) / machine->rate_flops,
			  taken * attention_cached_count(a) * a->element_B / machine->load_Bps) +
	       machine->fill_s;
}

/* fmax of numbers without the call. */
static double greater(double a, double b)
{
	return a > b ? a : b;
}

/* Returns false if overlapped(a, b) is certainly not below the limit. */
static bool may_be_less(double a, double b, double limit)
{
	const double rounding = 1e-9; /* far above that of the roots */
	double x = a * a, y = b * b, z = limit * limit;
	return x * x + y * y < z * z * (1 + rounding);
}

/* Returns the mean over tiles of the keys that a tile sees. The tiles' last queries see from
 * `first` to all keys, but no tile sees more than `seen`. */
static double mean_keys(double first, double keys, double seen)
{
	double cut = fmin(fmax(seen, first), keys);
	if (first >= keys)
		return fmin(keys, seen);
	return ((cut - first) * (first + cut) / 2 + (keys - cut) * fmin(seen, keys)) /
	       (keys - first);
}

/* Attention of prompts and of single tokens, by the kernels that vLLM takes by default:
 * FlashAttention 2 up to Ada, FlashAttention 3 on Hopper, TensorRT-LLM's in FlashInfer on
 * Blackwell. A block works on a tile of queries and passes over their keys. FlashAttention 3 fills
 * a tile with heads that share keys, and splits the keys where blocks are few. The others do so for
 * single tokens only, and FlashAttention 2 only if heads share keys (flash_api.cpp,
 * seqlenq_ngroups_swapped). Blocks with more keys take longer, and SMs are idle while the last ones
 * run. */
static double attention_s(struct kernel_machine machine, const struct kernel_params *kernels,
			  const struct kernel_attention *a, double memory_s)
{
	bool token = a->queries <= 1, paged = machine.generation < GENERATION_HOPPER;
	double group = a->heads / a->kv_heads;
	bool shares = machine.generation == GENERATION_HOPPER || (token && (!paged || group > 1));
	double packed = shares ? group : 1, all = a->queries * packed, best_s = INFINITY;
	double rows = fmin(paged ? QUERY_ROWS_PAGED : QUERY_ROWS,
			   ceil(all / QUERY_ROWS_MIN) * QUERY_ROWS_MIN);
	double span = fmin(fmax(rows / packed, 1), a->queries);
	double seen = a->window > 0 ? a->window + span : INFINITY, last = fmin(a->keys, seen);
	double mean = a->causal ? mean_keys(a->keys - a->queries + span, a->keys, seen) : last;
	machine.fill_s = token ? kernels->token_fill_s : kernels->attention_fill_s;
	if (token)
		machine.load_Bps = kernels->token_load_Bps;
	double parts = a->sequences * a->heads / packed * ceil(all / rows);
	double key_s = fmax(2 * rows * attention_features(a) / machine.rate_flops,
			    attention_cached_count(a) * a->element_B / machine.load_Bps);
	size_t count = shares ? COUNT_OF(split_counts) : 1, first = 0;
	/* the first number of blocks that fills the GPU is often the best; others are then skipped
	 */
	while (first + 1 < count && parts * split_counts[first] < machine.sm_count)
		first++;
	for (size_t k = 0; k < count; k++) {
		double split = split_counts[(first + k) % count];
		double sums_s = split > 1 ? machine.split_s : 0;
		double waves = parts * split / machine.sm_count;
		double least_s = greater(mean / split, KEY_BLOCK) * key_s + machine.fill_s;
		if (!may_be_less(greater(waves, 1) * least_s, memory_s, best_s - sums_s))
			continue;
		double longest_s = attention_block_s(&machine, a, rows, last / split);
		double mean_s = mean != last ? attention_block_s(&machine, a, rows, mean / split)
					     : longest_s;
		double time_s = fmin(ceil(waves) * longest_s,
				     fmax(longest_s, waves * mean_s + longest_s / 2));
		best_s = fmin(best_s, overlapped(time_s, memory_s) + sums_s);
	}
	return best_s + (token ? kernels->token_floor_s : kernels->attention_floor_s);
}

static double fused_experts_s(const struct gpu_params *gpu,
			      const struct efficiency_params *efficiency,
			      const struct kernel_work *work)
{
	const struct kernel_params *kernels = efficiency->kernels;
	enum number_type type = gpu_computed_in(gpu, work->type);
	bool eight = type == NUMBER_FP8 || type == NUMBER_INT8 || type == NUMBER_FP4;
	double peak_flops = gpu_peak_flops(gpu, type) * clock_ratio(gpu, efficiency, type);
	const struct experts_machine machine = {
		.rate_flops = peak_flops / gpu->multiprocessors_count,
		.bandwidth_Bps = gpu->memory_bandwidth_Bps * gpu->memory_efficiency_ratio,
		.cache_B = efficiency->alone ? gpu->cache_B : 0,
		.sm_count = gpu->multiprocessors_count,
		.element_B = number_type_B(type),
		.ratio = !eight ? kernels->experts_half_ratio
			 : work->form == KERNEL_EXPERTS && work->experts.scaled_by_blocks
				 ? kernels->experts_block_ratio
				 : kernels->experts_fp8_ratio,
		.fp4 = type == NUMBER_FP4,
	};
	if (work->form == KERNEL_PRODUCT)
		return experts_product_s(&machine, kernels, &work->product, work->bytes_B,
					 work->expands);
	return experts_s(&machine, kernels, &work->experts);
}

/* Returns the time of reading repeated_B, which a benchmark uses again and again, divided by the
 * time from memory. */
static double cached_time_ratio(const struct gpu_params *gpu,
				const struct efficiency_params *efficiency, double repeated_B)
{
	if (!efficiency->alone || !(repeated_B > 0))
		return 1;
	return 1 - cache_hit_ratio(repeated_B, gpu->cache_B) * (1 - 1 / CACHE_RATIO);
}

/* Attention, and before it the kernel that writes the new keys and values into the cache, which is
 * part of FlashAttention's call in vLLM. Its blocks are of one token each and wait for memory
 * twice, so their latency limits them. */
static double fused_attention_s(const struct gpu_params *gpu,
				const struct efficiency_params *efficiency,
				const struct kernel_work *work,
				const struct kernel_machine *machine)
{
	const struct kernel_attention *a = &work->attention;
	double tokens = a->sequences * a->queries, numbers = a->kv_heads * a->head_size;
	double written_B = tokens * a->kv_heads * attention_cached_count(a) *
			   (machine->element_B + a->element_B);
	double memory_s = work->bytes_B / machine->bandwidth_Bps;
	double written_s = written_B / machine->bandwidth_Bps;
	memory_s *= cached_time_ratio(gpu, efficiency, work->repeated_B);
	written_s *= cached_time_ratio(gpu, efficiency, written_B);
	double blocks_s = tokens * fmin(STORE_THREADS, numbers) / HELD_THREADS / machine->sm_count *
			  efficiency->kernels->attention_store_s;
	double time_s = attention_s(*machine, efficiency->kernels, a, memory_s);
	return gpu->generation > GENERATION_HOPPER ? time_s
						   : time_s + overlapped(blocks_s, written_s);
}

static double law_of_type_s(const struct gpu_params *gpu,
			    const struct efficiency_params *efficiency,
			    const struct kernel_work *work)
{
	const struct kernel_params *kernels = efficiency->kernels;
	struct kernel_machine machine = machine_of(gpu, efficiency, work);
	double bytes_s = work->bytes_B / machine.bandwidth_Bps;
	double operands_s = bytes_s / kernels->operand_ratio;
	operands_s *= cached_time_ratio(gpu, efficiency, work->repeated_B);
	switch (work->form) {
	case KERNEL_EXPERTS:
		return fused_experts_s(gpu, efficiency, work);
	case KERNEL_PRODUCT:
		if (work->grouped)
			return fused_experts_s(gpu, efficiency, work);
		return product_s(&machine, work->product, operands_s);
	case KERNEL_CONVOLUTION: {
		double time_s =
			overlapped(product_s(&machine, implicit_product(&work->convolution), 0) /
					   kernels->convolution_ratio,
				   bytes_s);
		/* cuDNN clears a workspace and adds parts, each in a kernel (kernels.md) */
		const struct kernel_convolution *c = &work->convolution;
		if (c->part == CONVOLUTION_FILTER && c->window[0] * c->window[1] > 1)
			time_s += 2 * (gpu->kernel_floor_s + gpu->kernel_gap_s);
		if (gpu_computed_in(gpu, work->type) == NUMBER_FP32)
			time_s = fmin(time_s, fastest_domain_s(&machine, work));
		return fmin(time_s, direct_s(gpu, kernels, work, bytes_s));
	}
	case KERNEL_ATTENTION:
	case KERNEL_CUDNN_ATTENTION:
		if (work->attention.sequences > 0)
			return fused_attention_s(gpu, efficiency, work, &machine);
		return overlapped(work->flop / machine.rate_flops / machine.sm_count, bytes_s);
	default:
		bytes_s /= work->reduces     ? kernels->reduction_ratio
			   : work->quantises ? kernels->quantise_ratio
					     : 1;
		return work->meets ? overlapped(bytes_s, kernels->meeting_s) : bytes_s;
	}
}

/* TF32 is allowed, not demanded, so a library takes fp32 where that is faster: on GPUs whose tensor
 * cores have hardly a higher rate in TF32. A convolution in fp32 needs no transposes. */
static double law_s(const struct gpu_params *gpu, const struct efficiency_params *efficiency,
		    const struct kernel_work *work)
{
	double time_s = law_of_type_s(gpu, efficiency, work);
	if (gpu_computed_in(gpu, work->type) != NUMBER_TF32)
		return time_s;
	struct kernel_work wide = *work;
	wide.type = NUMBER_FP32;
	if (work->form == KERNEL_CONVOLUTION)
		time_s += work->convolution.transposed_B /
			  machine_of(gpu, efficiency, work).bandwidth_Bps;
	return fmin(time_s, law_of_type_s(gpu, efficiency, &wide));
}

double kernel_duration_s(const struct gpu_params *gpu, const struct efficiency_params *efficiency,
			 const struct kernel_work *work)
{
	if (!(efficiency->peak_ratio > 0))
		return law_s(gpu, efficiency, work) * efficiency->law_ratio + gpu->kernel_floor_s;
	double compute_s = 0;
	double memory_s =
		work->bytes_B / (gpu->memory_bandwidth_Bps * gpu->memory_efficiency_ratio);
	if (work->flop > 0)
		compute_s = (work->flop + efficiency->half_work_flop) /
			    (gpu_peak_flops(gpu, work->type) * efficiency->peak_ratio *
			     efficiency_slowest_ratio(efficiency));
	return fmax(compute_s, memory_s) + gpu->kernel_floor_s;
}
