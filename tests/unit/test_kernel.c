/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The law of kernel times. The expected times are derived by hand for a GPU of 10 SMs with
 * 10 Tflop/s, of which large products reach one half: an SM does 0.5e12 flop/s. */
#include "tests/kernel_law.h"
#include "tests/test.h"

static double duration_s(const struct kernel_work *work)
{
	struct gpu_params gpu = gpu_of(10);
	return kernel_duration_s(&gpu, &by_law, work);
}

static struct kernel_work product_of(double m, double n, double k)
{
	return (struct kernel_work){
		.flop = 2 * m * n * k, .form = KERNEL_PRODUCT, .product = {m, n, k, 1}};
}

static struct kernel_work convolution_of(size_t window, enum number_type type)
{
	struct kernel_work work = {.form = KERNEL_CONVOLUTION,
				   .type = type,
				   .convolution = {.images = 32,
						   .in_channels = 256,
						   .out_channels = 256,
						   .in_height = 32,
						   .in_width = 32,
						   .out_height = 32,
						   .out_width = 32,
						   .window = {window, window},
						   .stride = {1, 1}}};
	work.flop = 2.0 * 32 * 32 * 32 * 256 * 256 * (double)(window * window);
	return work;
}

/* A product on tensor cores, whose tiles all multiply at the same rate: 1 Tflop/s an SM in bf16. */
static struct gpu_params tensor_gpu(void)
{
	struct gpu_params gpu = gpu_of(10);
	gpu.bf16_flops = 10e12;
	return gpu;
}

static struct kernel_work tensor_product(double m, double n, double k)
{
	struct kernel_work work = product_of(m, n, k);
	work.type = NUMBER_BF16;
	return work;
}

static double tensor_s(const struct kernel_work *work)
{
	struct gpu_params gpu = tensor_gpu();
	return kernel_duration_s(&gpu, &by_law, work);
}

/* Ten tiles of 128 x 128 on ten SMs: 2 x 128 x 128 x 1000 / 0.5e12 = 65.536 us, and 1 us of
 * fill. */
static void one_wave_of_tiles_takes_their_arithmetic_and_fill(void)
{
	struct kernel_work work = tensor_product(1280, 128, 1000);
	CHECK_NEAR(tensor_s(&work), 66.536e-6, 1e-10);
	/* 33 us of bytes overlap; operands may be read more slowly than streams */
	work.bytes_B = 0.8e12 * 33e-6;
	CHECK_NEAR(tensor_s(&work), both(66.536e-6, 33e-6), 1e-10);
	struct kernel_params slow = half;
	slow.operand_ratio = 0.5;
	struct efficiency_params law = {.law_ratio = 1, .kernels = &slow};
	struct gpu_params gpu = tensor_gpu();
	CHECK_NEAR(kernel_duration_s(&gpu, &law, &work), both(66.536e-6, 66e-6), 1e-10);
	work.bytes_B = 0;
	law = by_law;
	law.law_ratio = 3; /* a fit may scale the law */
	CHECK_NEAR(kernel_duration_s(&gpu, &law, &work), 3 * 66.536e-6, 1e-10);
}

/* An SM multiplies a row of k of a tile of 128 x 128 in 65.536 ns. It loads its 256 elements of 2
 * bytes in the same time at 7.8125 GB/s, and stores 128 x 128 of them in 4.19 us. Tiles of 256 x
 * 128 load less for each multiplication: 5 of them take 131.072 ns of arithmetic and 98.304 ns of
 * loads. In two parts of k they fill the ten SMs. */
static void small_tiles_are_limited_by_their_loads(void)
{
	struct kernel_params slow = half;
	slow.load_Bps = 512 / 65.536e-9;
	struct efficiency_params law = {.law_ratio = 1, .kernels = &slow};
	struct gpu_params gpu = tensor_gpu();
	struct kernel_work work = tensor_product(1280, 128, 1000);
	double large_s =
		500 * both(131.072e-9, 98.304e-9) + 1e-6 + 2e-6 + 3.0 * 1280 * 128 * 4 / 0.8e12;
	CHECK_NEAR(kernel_duration_s(&gpu, &law, &work), large_s, 1e-10);
	work.plain = true; /* CUTLASS's kernels do not split k */
	double small_s = 1000 * both(65.536e-9, 65.536e-9) + 1e-6 + 128 * 128 * 2 / slow.load_Bps;
	CHECK_NEAR(kernel_duration_s(&gpu, &law, &work), small_s, 1e-10);
}

/* From Hopper on, libraries have tiles of each width: for 80 columns one of 80. An SM does its
 * part in 2 x 128 x 80 x 1000 / 0.5e12 = 40.96 us and 1 us of fill, where older ones need at least
 * 46 us. CUTLASS's usual tiles need as long as on older ones. */
static void tiles_of_each_width_fit_better(void)
{
	struct gpu_params gpu = tensor_gpu(), hopper = gpu;
	hopper.generation = GENERATION_HOPPER;
	struct kernel_work work = tensor_product(1280, 80, 1000), plain = work;
	plain.plain = true;
	CHECK_NEAR(kernel_duration_s(&hopper, &by_law, &work), 41.96e-6, 1e-10);
	CHECK(kernel_duration_s(&gpu, &by_law, &work) > 45e-6);
	CHECK(kernel_duration_s(&hopper, &by_law, &plain) >=
	      kernel_duration_s(&gpu, &by_law, &work));
}

/* In a program the clock is lower than for a kernel by itself. */
static void kernels_alone_run_at_the_higher_clock(void)
{
	struct kernel_params low = half;
	low.sustained_ratio = 0.8;
	struct efficiency_params law = {.law_ratio = 1, .kernels = &low}, alone = law;
	alone.alone = true;
	struct gpu_params gpu = gpu_of(10);
	struct kernel_work work = product_of(1280, 128, 1000);
	work.type = NUMBER_TF32; /* four times as fast, on tensor cores */
	CHECK_NEAR(kernel_duration_s(&gpu, &alone, &work), 17.384e-6, 1e-10);
	CHECK_NEAR(kernel_duration_s(&gpu, &law, &work), 16.384e-6 / 0.8 + 1e-6, 1e-10);
}

/* One more row needs a second wave, unless tiles of half the size fill both. */
static void one_row_more_costs_at_most_a_wave(void)
{
	struct kernel_work fits = product_of(1280, 128, 1000), more = product_of(1281, 128, 1000);
	CHECK(duration_s(&more) > 1.1 * duration_s(&fits));
	CHECK(duration_s(&more) <= 2 * duration_s(&fits));
}

/* One tile of 128 x 128 with k = 10240 on one SM would take 671 us. Split into 8 parts of 1280 it
 * takes 83.9 us and 1 us of fill. The kernel that adds the parts takes 2 us, and 0.7 us for 9 x 128
 * x 128 x 4 B of partial sums. */
static void small_result_with_a_long_k_is_split(void)
{
	struct kernel_work work = product_of(128, 128, 10240);
	double split_s = 2.0 * 128 * 128 * 1280 / 0.5e12 + 3e-6 + 9.0 * 128 * 128 * 4 / 0.8e12;
	CHECK(duration_s(&work) <= split_s);
	CHECK(duration_s(&work) > 0.6 * split_s);
	/* A part of k has at least 64, so 96 stays whole. */
	work = product_of(128, 128, 96);
	double short_s = duration_s(&work);
	work.plain = true;
	CHECK_NEAR(short_s, duration_s(&work), 1e-15);
}

/* A window of 3 in fp32 uses Winograd's algorithm. It has up to 4 times fewer multiplications than
 * the direct product, and they run at the full rate. On tensor cores there is no such algorithm.
 * Tiles of 256 x 128 load fewer registers and need 0.917 of the time. */
static void winograd_speeds_up_fp32_convolutions_only(void)
{
	struct kernel_work three = convolution_of(3, NUMBER_FP32);
	double direct_s = three.flop / (10e12 * 0.5 * half.convolution_ratio);
	CHECK(duration_s(&three) < 0.5 * direct_s);
	CHECK(duration_s(&three) > 0.9 * direct_s * half.convolution_ratio / 4);
	three.type = NUMBER_FP16;
	CHECK(duration_s(&three) >= 0.9 * direct_s / 8);
	/* a stride of 2 has no such algorithm */
	struct kernel_work strided = convolution_of(3, NUMBER_FP32);
	strided.convolution.stride[0] = strided.convolution.stride[1] = 2;
	CHECK(duration_s(&strided) >= 0.9 * direct_s);
}

/* F(4 x 4, 3 x 3) has 36 numbers for each of 8 x 8 x 32 tiles and 256 channels on both sides, and
 * for each pair of channels. They are written and read again, in 4 bytes. The bytes overlap
 * with the arithmetic. */
static void winograd_writes_and_reads_its_transformed_tiles(void)
{
	struct kernel_work work = convolution_of(3, NUMBER_FP32);
	struct gpu_params gpu = gpu_of(10), fast = gpu;
	fast.memory_bandwidth_Bps = 1e30;
	double time_s = kernel_duration_s(&gpu, &by_law, &work);
	double arithmetic_s = kernel_duration_s(&fast, &by_law, &work);
	double tiles = 8 * 8 * 32;
	double bytes_s = 2 * 4 * 36 * (tiles * (256 + 256) + 256 * 256) / 0.8e12;
	CHECK_NEAR(time_s, both(arithmetic_s, bytes_s), 1e-10);
}

/* The three parts of a convolution of equal sides have the same arithmetic and the same times
 * within waves. */
static void gradients_of_a_convolution_take_as_long_as_its_forward_pass(void)
{
	struct kernel_work work = convolution_of(1, NUMBER_FP16);
	double forward_s = duration_s(&work);
	work.convolution.part = CONVOLUTION_DATA;
	CHECK_NEAR(duration_s(&work), forward_s, 1e-12);
	work.convolution.part = CONVOLUTION_FILTER;
	CHECK(fabs(duration_s(&work) / forward_s - 1) < 0.3);
}

/* The matrices of the three parts of a convolution with unequal sides, strides 2 and 1, and a
 * window of 3 x 5: outputs x channels x window, and with the window divided by the strides for the
 * gradient of the data. As a product of these sides it would take half of the time. */
static void convolution_is_a_product_of_its_own_sides(void)
{
	const struct kernel_product products[] = {
		[CONVOLUTION_FORWARD] = {8 * 16 * 16, 128, 15 * 64, 1},
		[CONVOLUTION_DATA] = {8 * 32 * 48, 64, 15 * 128 / 6.0, 1},
		[CONVOLUTION_FILTER] = {15 * 64, 128, 8 * 16 * 16, 1},
	};
	for (int part = CONVOLUTION_FORWARD; part <= CONVOLUTION_FILTER; part++) {
		const struct kernel_work
			convolution = {.form = KERNEL_CONVOLUTION,
				       .type = NUMBER_FP16,
				       .convolution = {.part = (enum convolution_part)part,
						       .images = 8,
						       .in_channels = 64,
						       .out_channels = 128,
						       .in_height = 32,
						       .in_width = 48,
						       .out_height = 16,
						       .out_width = 16,
						       .window = {3, 5},
						       .stride = {2, 3}}},
			product = {.form = KERNEL_PRODUCT,
				   .type = NUMBER_FP16,
				   .product = products[part]};
		CHECK_NEAR(duration_s(&convolution), 2 * duration_s(&product), 1e-12);
	}
}

/* A window of 7 uses FFTs of 32 x 32, whose tiles have 26 x 26 outputs: 4 for 52 x 52. Each of the
 * 32 x 17 frequencies has a complex product, which is 4 real ones. The tiles are written and read
 * in 8 bytes. One row more needs 6 tiles. */
static void large_windows_use_fourier_transforms(void)
{
	for (int more = 0; more < 2; more++) {
		struct kernel_work work = convolution_of(7, NUMBER_FP32);
		double tiles = 32 * (more ? 6 : 4);
		const struct kernel_work product = {.form = KERNEL_PRODUCT,
						    .product = {tiles, 256, 256, 32 * 17}};
		work.convolution.out_height = 52 + more;
		work.convolution.out_width = 52;
		CHECK_NEAR(duration_s(&work),
			   both(4 * duration_s(&product),
				2 * 8 * 32 * 17 * (tiles * 512 + 256 * 256) / 0.8e12),
			   1e-12);
	}
}

/* A window of 5 and 30 x 30 outputs: F(2 x 2, 5 x 5) has 36 numbers for each of 15 x 15 tiles, less
 * work than 4 tiles of an FFT. From a window of 17 on the product is direct, at half of the rate.
 */
static void windows_between_use_winograd_and_large_ones_nothing(void)
{
	struct kernel_work work = convolution_of(5, NUMBER_FP32),
			   product = {.form = KERNEL_PRODUCT,
				      .product = {15 * 15 * 32, 256, 256, 36}};
	work.convolution.out_height = work.convolution.out_width = 30;
	CHECK_NEAR(
		duration_s(&work),
		both(duration_s(&product), 2 * 4 * 36 * (15 * 15 * 32 * 512 + 256 * 256) / 0.8e12),
		1e-12);
	for (size_t window = 16; window <= 17; window++) {
		work = convolution_of(window, NUMBER_FP32);
		product.product = (struct kernel_product){32 * 32 * 32, 256,
							  (double)(window * window) * 256, 1};
		double direct_s = 2 * duration_s(&product);
		CHECK(window == 16 ? duration_s(&work) < 0.5 * direct_s
				   : fabs(duration_s(&work) / direct_s - 1) < 1e-12);
	}
}

/* With slow memory, F(2 x 2, 3 x 3) keeps its 16 x 16 tiles of each image on the chip, at 0.8 of
 * the rate of its 16 products. The gradient of the filter cannot, so it is computed directly. */
static void fused_winograd_needs_no_memory_for_tiles(void)
{
	struct gpu_params gpu = gpu_of(10);
	gpu.memory_bandwidth_Bps = 1e8;
	struct kernel_work work = convolution_of(3, NUMBER_FP32),
			   product = {.form = KERNEL_PRODUCT,
				      .product = {16 * 16 * 32, 256, 256, 16}};
	double fused_s = kernel_duration_s(&gpu, &by_law, &product) / 0.8;
	CHECK_NEAR(kernel_duration_s(&gpu, &by_law, &work), fused_s, 1e-12);
	work.convolution.part = CONVOLUTION_DATA;
	CHECK_NEAR(kernel_duration_s(&gpu, &by_law, &work), fused_s, 1e-12);
	work.convolution.part = CONVOLUTION_FILTER;
	product.product = (struct kernel_product){9 * 256, 256, 32 * 32 * 32, 1};
	CHECK_NEAR(kernel_duration_s(&gpu, &by_law, &work),
		   2 * kernel_duration_s(&gpu, &by_law, &product), 1e-12);
}

/* A GPU without TF32, bf16 or FP8 computes in fp32, and one without FP8 in bf16. */
static void missing_number_types_fall_back_to_wider_ones(void)
{
	struct kernel_work work = product_of(1280, 128, 1000);
	double fp32_s = duration_s(&work);
	struct gpu_params old = gpu_of(10);
	work.type = NUMBER_TF32;
	CHECK(duration_s(&work) < 0.5 * fp32_s);
	old.tf32_flops = 0;
	CHECK_NEAR(kernel_duration_s(&old, &by_law, &work), fp32_s, 1e-15);
	work.type = NUMBER_FP8;
	CHECK_NEAR(kernel_duration_s(&old, &by_law, &work), fp32_s, 1e-15);
	old.bf16_flops = old.fp16_flops;
	work.type = NUMBER_BF16;
	double bf16_s = kernel_duration_s(&old, &by_law, &work);
	work.type = NUMBER_FP8;
	CHECK_NEAR(kernel_duration_s(&old, &by_law, &work), bf16_s, 1e-15);
	/* with FP8, at the same peak and half of the part of it, twice the time less the fill */
	struct kernel_params low = half;
	low.product_fp8_ratio = 0.25;
	low.fill_s = 0;
	struct efficiency_params by_low = {.law_ratio = 1, .kernels = &low};
	work.type = NUMBER_BF16;
	bf16_s = kernel_duration_s(&old, &by_low, &work);
	old.fp8_flops = old.bf16_flops;
	work.type = NUMBER_FP8;
	CHECK_NEAR(kernel_duration_s(&old, &by_low, &work), 2 * bf16_s, 1e-12);
}

/* Half of the part of the peak is twice the time of products that nothing else limits. Each of the
 * three parts belongs to its own products. */
static void fp8_fp4_and_plain_products_have_parts_of_the_peak_of_their_own(void)
{
	struct gpu_params gpu = gpu_of(10);
	gpu.fp8_flops = gpu.fp4_flops = gpu.fp16_flops;
	struct kernel_work work = product_of(4096, 4096, 4096);
	for (int i = 0; i < 3; i++) {
		struct kernel_params low = half;
		struct efficiency_params by_low = {.law_ratio = 1, .kernels = &low};
		work.type = i == 1 ? NUMBER_FP4 : NUMBER_FP8;
		work.plain = i == 2;
		low.fill_s = low.plain_fill_s = 0;
		double before_s = kernel_duration_s(&gpu, &by_low, &work);
		double *own[] = {&low.product_fp8_ratio, &low.product_fp4_ratio,
				 &low.plain_fp8_ratio};
		*own[i] /= 2;
		CHECK_NEAR(kernel_duration_s(&gpu, &by_low, &work), 2 * before_s, 0.01 * before_s);
		*own[i] *= 2;
		*own[(i + 1) % 3] /= 2;
		*own[(i + 2) % 3] /= 2;
		CHECK_NEAR(kernel_duration_s(&gpu, &by_low, &work), before_s, 1e-12);
	}
}

/* 1e12 flop at a quarter of 80 Tflop/s are 50 ms; a pass of 800 MB takes 1 ms. */
/* A 1 x 1 convolution has 2 x 32 x 1024 x 256 x 256 = 4.295 Gflop, which are 0.43 ms with TF32 and
 * about four times as long in fp32. Transposes of 8 MB take 10 us at 0.8 TB/s. With transposes
 * of 1.6 GB (2 ms), or with tensor cores of half the rate, the library computes in fp32. */
static void tf32_is_used_only_where_it_is_faster(void)
{
	struct kernel_work work = convolution_of(1, NUMBER_TF32);
	double plain_s = duration_s(&work);
	work.convolution.transposed_B = 8e6;
	CHECK_NEAR(duration_s(&work), plain_s + 10e-6, 1e-9);
	work.convolution.transposed_B = 1.6e9;
	struct kernel_work wide = convolution_of(1, NUMBER_FP32);
	CHECK(duration_s(&wide) > 3 * plain_s);
	CHECK_NEAR(duration_s(&work), duration_s(&wide), 1e-9);
	struct gpu_params gpu = gpu_of(10);
	gpu.tf32_flops = gpu.fp32_flops / 2;
	work = product_of(1024, 1024, 1024);
	double fp32_s = kernel_duration_s(&gpu, &by_law, &work);
	work.type = NUMBER_TF32;
	CHECK_NEAR(kernel_duration_s(&gpu, &by_law, &work), fp32_s, 1e-9);
}

static void attention_and_passes_take_flop_and_bytes(void)
{
	struct kernel_work attention = {
		.form = KERNEL_ATTENTION, .type = NUMBER_FP16, .flop = 1e12};
	CHECK_NEAR(duration_s(&attention), 50e-3, 1e-12);
	struct kernel_params constants = half;
	constants.cudnn_attention_ratio = 0.5; /* cuDNN's is twice as fast here */
	struct gpu_params gpu = gpu_of(10);
	attention.form = KERNEL_CUDNN_ATTENTION;
	CHECK_NEAR(kernel_duration_s(
			   &gpu, &(struct efficiency_params){.law_ratio = 1, .kernels = &constants},
			   &attention),
		   25e-3, 1e-12);
	struct kernel_work pass = {.form = KERNEL_PASS, .flop = 1e12, .bytes_B = 800e6};
	CHECK_NEAR(duration_s(&pass), 1e-3, 1e-12);
}

/* 8 MB take 10 us at 0.8 TB/s. Meeting takes 10 us, too, so both overlap to 2^(1/4) x 10 us. A
 * large batch norm hides its meeting. */
static void batch_norms_take_at_least_the_time_to_meet(void)
{
	struct kernel_params constants = half;
	constants.meeting_s = 10e-6;
	const struct efficiency_params law = {.law_ratio = 1, .kernels = &constants};
	struct gpu_params gpu = gpu_of(10);
	struct kernel_work norm = {.form = KERNEL_PASS, .bytes_B = 8e6, .meets = true};
	CHECK_NEAR(kernel_duration_s(&gpu, &law, &norm), 11.892e-6, 1e-4);
	norm.meets = false;
	CHECK_NEAR(kernel_duration_s(&gpu, &law, &norm), 10e-6, 1e-12);
	norm = (struct kernel_work){.form = KERNEL_PASS, .bytes_B = 800e6, .meets = true};
	CHECK_NEAR(kernel_duration_s(&gpu, &law, &norm), 1e-3, 1e-6);
}

/* The gradient of a filter of 3 x 3 has two more kernels of 2 us and their gaps of 1 us. */
static void filter_gradients_of_windows_clear_and_add_their_parts(void)
{
	struct gpu_params plain = gpu_of(10), gpu = plain;
	gpu.kernel_floor_s = 2e-6;
	gpu.kernel_gap_s = 1e-6;
	for (size_t window = 1; window <= 3; window += 2) {
		struct kernel_work work = convolution_of(window, NUMBER_FP16);
		work.convolution.part = CONVOLUTION_FILTER;
		double more_s = kernel_duration_s(&gpu, &by_law, &work) -
				kernel_duration_s(&plain, &by_law, &work);
		CHECK_NEAR(more_s, window == 1 ? 2e-6 : 8e-6, 1e-6);
	}
}

/* At 0.8 of its clock a GPU takes 1 / 0.8 of the time for arithmetic, by the law and with fitted
 * numbers. Bytes take as long as before. */
static void slowest_clock_stretches_arithmetic_only(void)
{
	struct gpu_params gpu = gpu_of(10);
	struct efficiency_params slow = by_law, fitted = {.peak_ratio = 0.5};
	const struct kernel_work attention = {.flop = 4e9, .form = KERNEL_ATTENTION};
	const struct kernel_work pass = {.form = KERNEL_PASS, .bytes_B = 800e6};
	slow.slowest_ratio = fitted.slowest_ratio = 0.8;
	CHECK_NEAR(kernel_duration_s(&gpu, &slow, &attention), 1.6e-3 / 0.8, 1e-9);
	CHECK_NEAR(kernel_duration_s(&gpu, &fitted, &attention), 0.8e-3 / 0.8, 1e-9);
	CHECK_NEAR(kernel_duration_s(&gpu, &slow, &pass), 1e-3, 1e-9);
}

/* A larger k is never faster, and more SMs are never slower. */
static void time_rises_with_work_and_falls_with_sms(void)
{
	for (double k = 64; k <= 8192; k *= 2) {
		struct kernel_work work = product_of(1000, 700, k),
				   more = product_of(1000, 700, 2 * k);
		CHECK(duration_s(&more) > duration_s(&work));
		for (double sms = 8; sms <= 128; sms *= 2) {
			struct gpu_params few = gpu_of(sms), many = gpu_of(2 * sms);
			CHECK(kernel_duration_s(&many, &by_law, &work) <=
			      kernel_duration_s(&few, &by_law, &work));
		}
	}
}

/* Attention is arithmetic only: 4e9 flop at a fourth of 10 Tflop/s take 1.6 ms. */
static void cores_of_kepler_need_35_percent_more_time(void)
{
	struct gpu_params gpu = gpu_of(10);
	const struct kernel_work work = {.flop = 4e9, .form = KERNEL_ATTENTION};
	gpu.generation = GENERATION_MAXWELL;
	CHECK_NEAR(kernel_duration_s(&gpu, &by_law, &work), 1.6e-3, 1e-12);
	gpu.generation = GENERATION_KEPLER;
	CHECK_NEAR(kernel_duration_s(&gpu, &by_law, &work), 1.35 * 1.6e-3, 1e-12);
}

/* Measured rates of a network take the place of the law. */
static void fitted_efficiency_replaces_the_law(void)
{
	struct efficiency_params fitted = {.peak_ratio = 0.25, .kernels = NULL};
	struct gpu_params gpu = gpu_of(10);
	struct kernel_work work = product_of(1280, 128, 1000);
	CHECK_NEAR(kernel_duration_s(&gpu, &fitted, &work), work.flop / 2.5e12, 1e-12);
	/* bytes that take longer decide, and half of the time is not added */
	work.bytes_B = 0.8e12 * work.flop / 1e12;
	CHECK_NEAR(kernel_duration_s(&gpu, &fitted, &work), work.flop / 1e12, 1e-12);
}

/* 256 rows by 128 columns are two tiles of 128 x 128 on a pair of SMs: 1000 rows of k at 65.536 ns,
 * 1 us of fill, and the stored tile. 257 rows need two pairs, on the same ten SMs. 641 rows by 256
 * columns need 12 tiles, so two waves. */
static void fp8_kernels_of_hopper_use_pairs_of_sms(void)
{
	struct gpu_params gpu = tensor_gpu();
	gpu.generation = GENERATION_HOPPER;
	struct kernel_work work = tensor_product(256, 128, 1000);
	work.plain = true;
	CHECK_NEAR(kernel_duration_s(&gpu, &by_law, &work), 66.536e-6, 1e-10);
	work.product.m = 257;
	CHECK_NEAR(kernel_duration_s(&gpu, &by_law, &work), 66.536e-6, 1e-10);
	work.product = (struct kernel_product){641, 256, 1000, 1};
	CHECK_NEAR(kernel_duration_s(&gpu, &by_law, &work), 2 * 66.536e-6, 1e-10);
	/* few rows have tiles of 16 x 64, and more of them only with few columns */
	work.product = (struct kernel_product){16, 1344, 1000, 1};
	CHECK_NEAR(kernel_duration_s(&gpu, &by_law, &work), 3 * (4.096e-6 + 1e-6), 1e-10);
	work.product = (struct kernel_product){64, 640, 1000, 1};
	CHECK_NEAR(kernel_duration_s(&gpu, &by_law, &work), 4 * (4.096e-6 + 1e-6), 1e-10);
	work.product = (struct kernel_product){17, 1344, 1000, 1};
	CHECK_NEAR(kernel_duration_s(&gpu, &by_law, &work), 3 * (16.384e-6 + 1e-6), 1e-10);
}

/* A benchmark that finds its weights in the L2 cache reads them at four times the bandwidth. 0.2 GB
 * take 250 us at 0.8 TB/s. From a cache of half of the bytes, one of 30,000 is found. */
static void repeated_weights_come_from_the_cache(void)
{
	struct gpu_params gpu = gpu_of(10);
	struct efficiency_params alone = by_law;
	struct kernel_work work = product_of(128, 128, 64);
	double blocks_s = 64 * 65.536e-9 + 1e-6;
	alone.alone = true;
	work.bytes_B = 0.2e9;
	work.repeated_B = 0.2e9;
	gpu.cache_B = 0.1e9;
	double from_memory_s = kernel_duration_s(&gpu, &alone, &work);
	gpu.cache_B = 0.3e9;
	CHECK(from_memory_s >= 250e-6 * (1 - 0.75 / 30000));
	CHECK(kernel_duration_s(&gpu, &alone, &work) < 63e-6 + blocks_s);
	CHECK_NEAR(kernel_duration_s(&gpu, &by_law, &work), from_memory_s, 3e-5);
	struct kernel_work quantise = {.bytes_B = 0.2e9, .quantises = true};
	CHECK_NEAR(kernel_duration_s(&gpu, &alone, &quantise), 1e-3, 1e-9);
}

/* Two groups of 128 channels are two products with half of the columns and of k. */
static void groups_of_a_convolution_are_products(void)
{
	struct kernel_work grouped = convolution_of(1, NUMBER_FP16);
	grouped.convolution.groups = 2;
	struct kernel_work products = {.form = KERNEL_PRODUCT,
				       .type = NUMBER_FP16,
				       .product = {32 * 32 * 32, 128, 128, 2}};
	grouped.flop /= 2;
	CHECK_NEAR(duration_s(&grouped), 2 * duration_s(&products), 1e-10);
}

/* A depthwise convolution of 9 weights: 2 x 9 x 32 x 32 x 32 x 256 flop at a quarter of the 10
 * Tflop/s of CUDA cores take 60.4 us. The filter's gradient reads memory as a reduction does. */
static void depthwise_convolutions_run_on_cuda_cores(void)
{
	struct kernel_params kernels = half;
	kernels.reduction_ratio = 0.5;
	struct efficiency_params law = {.law_ratio = 1, .kernels = &kernels};
	struct gpu_params gpu = gpu_of(10);
	struct kernel_work work = convolution_of(3, NUMBER_FP16);
	work.convolution.groups = 256;
	work.flop = 2.0 * 9 * 32 * 32 * 32 * 256;
	CHECK_NEAR(kernel_duration_s(&gpu, &law, &work), work.flop / 2.5e12, 1e-10);
	work.bytes_B = 0.8e12 * 50e-6;
	CHECK_NEAR(kernel_duration_s(&gpu, &law, &work), both(work.flop / 2.5e12, 50e-6), 1e-10);
	work.convolution.part = CONVOLUTION_FILTER;
	CHECK_NEAR(kernel_duration_s(&gpu, &law, &work), both(work.flop / 2.5e12, 100e-6), 1e-10);
}

int main(void)
{
	static const struct test tests[] = {
		TEST(one_wave_of_tiles_takes_their_arithmetic_and_fill),
		TEST(small_tiles_are_limited_by_their_loads),
		TEST(tiles_of_each_width_fit_better),
		TEST(kernels_alone_run_at_the_higher_clock),
		TEST(one_row_more_costs_at_most_a_wave),
		TEST(small_result_with_a_long_k_is_split),
		TEST(winograd_speeds_up_fp32_convolutions_only),
		TEST(winograd_writes_and_reads_its_transformed_tiles),
		TEST(gradients_of_a_convolution_take_as_long_as_its_forward_pass),
		TEST(convolution_is_a_product_of_its_own_sides),
		TEST(large_windows_use_fourier_transforms),
		TEST(windows_between_use_winograd_and_large_ones_nothing),
		TEST(fused_winograd_needs_no_memory_for_tiles),
		TEST(missing_number_types_fall_back_to_wider_ones),
		TEST(fp8_fp4_and_plain_products_have_parts_of_the_peak_of_their_own),
		TEST(tf32_is_used_only_where_it_is_faster),
		TEST(attention_and_passes_take_flop_and_bytes),
		TEST(batch_norms_take_at_least_the_time_to_meet),
		TEST(filter_gradients_of_windows_clear_and_add_their_parts),
		TEST(slowest_clock_stretches_arithmetic_only),
		TEST(time_rises_with_work_and_falls_with_sms),
		TEST(cores_of_kepler_need_35_percent_more_time),
		TEST(fitted_efficiency_replaces_the_law),
		TEST(fp8_kernels_of_hopper_use_pairs_of_sms),
		TEST(repeated_weights_come_from_the_cache),
		TEST(groups_of_a_convolution_are_products),
		TEST(depthwise_convolutions_run_on_cuda_cores),
	};
	return TEST_MAIN(tests);
}
