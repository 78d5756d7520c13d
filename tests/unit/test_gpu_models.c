/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of GPUs, as nvidia-smi prints them, lead to the profile of that GPU or are refused. */
#include <string.h>

#include "sim/base/arena.h"
#include "sim/gpu/gpu.h"
#include "sim/gpu/kernel.h"
#include "sim/gpu/models.h"
#include "tests/test.h"

static void names_of_the_driver_lead_to_their_profiles(void)
{
	static const struct {
		const char *name, *profile;
	} rows[] = {
		{"NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000-server"},
		{"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "rtx-pro-6000"},
		{"NVIDIA H20", "h20"},
		{"NVIDIA H200", "h200-sxm"},
		{"NVIDIA H800", "h800-sxm5"},
		{"NVIDIA H800 PCIe", "h800-pcie"},
		{"NVIDIA A800-SXM4-80GB", "a800-sxm4-80"},
		{"NVIDIA A800 80GB PCIe", "a800-pcie-80"},
		{"NVIDIA L4", "l4"},
		{"NVIDIA L20", "l20"},
		{"NVIDIA L40", "l40"},
		{"NVIDIA L40S", "l40s"},
		{"NVIDIA A40", "a40"},
		{"NVIDIA RTX A6000", "rtx-a6000"},
		{"NVIDIA RTX A5000", "rtx-a5000"},
		{"NVIDIA A10", "a10"},
		{"NVIDIA A2", "a2"},
		{"NVIDIA A16", "a16"},
		{"NVIDIA A10G", "a10g"},
		{"NVIDIA GeForce RTX 2080 Ti", "rtx-2080ti"},
		{"NVIDIA GeForce RTX 3070", "rtx-3070"},
		{"NVIDIA GeForce RTX 3080", "rtx-3080"},
		{"NVIDIA GeForce RTX 3090", "rtx-3090"},
		{"NVIDIA GeForce RTX 3090 Ti", "rtx-3090-ti"},
		{"NVIDIA GeForce RTX 4080", "rtx-4080"},
		{"NVIDIA GeForce RTX 5080", "rtx-5080"},
		{"NVIDIA GeForce GTX 1080 Ti", "gtx-1080ti"},
		{"GeForce GTX 1080", "gtx-1080"},
		{"NVIDIA GeForce RTX 4090 D", "rtx-4090-d"},
		{"NVIDIA GeForce RTX 4090", "rtx-4090"},
		{"NVIDIA GeForce RTX 5090 D", "rtx-5090-d"},
		{"NVIDIA A100-SXM-64GB", "a100-sxm4-64"},
		{"A100-SXM4-40GB", "a100-sxm4-40"},
		{"NVIDIA GH200 480GB", "gh200-96"},
		{"NVIDIA GH200 120GB", "gh200-96"},
		{"NVIDIA GH200 144G HBM3e", "gh200-144"},
		{"Tesla V100-PCIE-16GB", "v100-pcie"},
		{"Tesla V100-PCIE-32GB", "v100-pcie-32"},
		{"Tesla V100-SXM2-32GB", "v100-sxm2-32"},
		{"Tesla P100-PCIE-12GB", "p100-pcie-12"},
		{"Tesla P100-PCIE-16GB", "p100-pcie"},
		{"Tesla P40", "p40"},
		{"Tesla T4", "t4"},
		{" nvidia h100 80GB hbm3 ", "h100-sxm5"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct gpu_model *model = gpu_model_by_name(rows[i].name);
		if (!CHECK(model && strcmp(model->profile, rows[i].profile) == 0))
			printf("  %s: %s\n", rows[i].name, model ? model->profile : "refused");
	}
}

/* None of these is a GPU of the table, although the name of one is a part of theirs. Names of GPUs
 * that may get a file are invented, so that a new file changes no row. */
static void other_gpus_are_refused_with_the_reason_and_the_nearest(void)
{
	static const struct {
		const char *name, *why, *nearest;
	} rows[] = {
		{"NVIDIA GeForce RTX 4090 Laptop GPU", "a laptop GPU has", "rtx-4090"},
		{"NVIDIA GeForce RTX 3080 Laptop GPU", "a laptop GPU has", "rtx-3080"},
		{"NVIDIA L40 with Max-Q Design", "a Max-Q GPU has", "l40"},
		{"NVIDIA H100 80GB HBM3 MIG 1g.10gb", "a MIG slice has", "h100-sxm5"},
		{"NVIDIA A100-SXM4-40GB MIG 3g.20gb", "a MIG slice has", "a100-sxm4-40"},
		{"GRID A100-10C", "a virtual GPU has", "a100-sxm4-40"},
		{"NVIDIA GeForce RTX 3090 Tie", "no file of topologies/gpus", "rtx-3090"},
		{"NVIDIA GeForce RTX 5099", "no file of topologies/gpus", "rtx-5090"},
		{"Tesla V100-DGXS-32GB", "no file of topologies/gpus", "v100-sxm2"},
		{"NVIDIA A1", "no file of topologies/gpus", "a100-sxm4-40"},
		{"", "no file of topologies/gpus", "gtx-1050ti"},
	};
	struct arena *arena = arena_new();
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		CHECK(!gpu_model_by_name(rows[i].name));
		const char *why = gpu_model_refusal(arena, rows[i].name);
		if (!CHECK(strncmp(why, rows[i].why, strlen(rows[i].why)) == 0 &&
			   strcmp(gpu_model_nearest(rows[i].name), rows[i].nearest) == 0))
			printf("  %s: %s\n", rows[i].name, why);
	}
	arena_free(arena);
}

/* The H800 has the chip of an H100, but another device number; GH200 has two names and one number.
 */
static void device_numbers_lead_to_profiles(void)
{
	CHECK(strcmp(gpu_model_by_device(0x2324)->profile, "h800-sxm5") == 0);
	CHECK(strcmp(gpu_model_by_device(0x2342)->profile, "gh200-96") == 0);
	CHECK(strcmp(gpu_model_by_device(0x2bb5)->profile, "rtx-pro-6000-server") == 0);
	CHECK(!gpu_model_by_device(0) && !gpu_model_by_device(0x2717)); /* a laptop's 4090 */
	CHECK(strcmp(gpu_model_by_device(0x1e04)->profile, "rtx-2080ti") == 0); /* two numbers */
	CHECK(strcmp(gpu_model_by_device(0x1e07)->profile, "rtx-2080ti") == 0);
	CHECK(gpu_model_by_profile("gh200-96")->device == 0x2342);
	CHECK(!gpu_model_by_profile("my.cfg"));
}

/* A GPU draws what its arithmetic needs, but at most the limit of its board. One of the two may be
 * unknown. Twice the rate needs twice the power. */
static void arithmetic_and_board_limit_the_power(void)
{
	struct gpu_params gpu = {.generation = GENERATION_AMPERE,
				 .fp32_flops = 20e12,
				 .fp16_flops = 300e12,
				 .bf16_flops = 300e12};
	double needed_W = gpu_needed_power_W(&gpu, NUMBER_BF16);
	CHECK(needed_W > 0);
	CHECK_NEAR(gpu_full_power_W(&gpu, NUMBER_BF16), needed_W, 1e-12); /* no limit is known */
	gpu.power_W = 2 * needed_W;
	CHECK_NEAR(gpu_full_power_W(&gpu, NUMBER_BF16), needed_W, 1e-12);
	gpu.power_W = needed_W / 2;
	CHECK_NEAR(gpu_full_power_W(&gpu, NUMBER_BF16), needed_W / 2, 1e-12);
	CHECK_NEAR(gpu_full_power_W(&gpu, NUMBER_FP8), needed_W / 2, 1e-12); /* none of its own */
	/* CUDA cores have their own power for an operation */
	CHECK_NEAR(gpu_needed_power_W(&gpu, NUMBER_FP32),
		   20 * gpu_generation_facts(GENERATION_AMPERE)->lane_power_W, 1e-12);
	gpu.bf16_flops *= 2;
	CHECK_NEAR(gpu_needed_power_W(&gpu, NUMBER_BF16), 2 * needed_W, 1e-12);
}

/* A type without a rate is computed in the next wider one that has a rate. */
static void missing_types_are_computed_in_wider_ones(void)
{
	struct gpu_params gpu = {
		.fp32_flops = 1, .bf16_flops = 2, .fp8_flops = 4, .int8_flops = 4, .fp4_flops = 8};
	CHECK(gpu_computed_in(&gpu, NUMBER_FP4) == NUMBER_FP4);
	gpu.fp4_flops = 0;
	CHECK(gpu_computed_in(&gpu, NUMBER_FP4) == NUMBER_FP8);
	CHECK(gpu_computed_in(&gpu, NUMBER_INT8) == NUMBER_INT8);
	gpu.fp8_flops = gpu.int8_flops = 0;
	CHECK(gpu_computed_in(&gpu, NUMBER_FP4) == NUMBER_BF16);
	CHECK(gpu_computed_in(&gpu, NUMBER_FP8) == NUMBER_BF16);
	CHECK(gpu_computed_in(&gpu, NUMBER_INT8) == NUMBER_BF16);
	gpu.bf16_flops = 0;
	CHECK(gpu_computed_in(&gpu, NUMBER_INT8) == NUMBER_FP32);
	CHECK(gpu_computed_in(&gpu, NUMBER_TF32) == NUMBER_FP32);
}

/* A generation without half precision has it if its rate is above that of single precision. */
static void half_precision_must_be_faster(void)
{
	struct gpu_params gpu = {
		.generation = GENERATION_KEPLER, .fp32_flops = 4e12, .fp16_flops = 4e12};
	CHECK(gpu_has(&gpu, NUMBER_FP32) && !gpu_has(&gpu, NUMBER_FP16));
	gpu.fp16_flops = 4.1e12;
	CHECK(gpu_has(&gpu, NUMBER_FP16));
	gpu.generation = GENERATION_VOLTA;
	gpu.fp16_flops = 0;
	CHECK(gpu_has(&gpu, NUMBER_FP16));
}

static const struct test tests[] = {
	TEST(missing_types_are_computed_in_wider_ones),
	TEST(half_precision_must_be_faster),
	TEST(arithmetic_and_board_limit_the_power),
	TEST(names_of_the_driver_lead_to_their_profiles),
	TEST(other_gpus_are_refused_with_the_reason_and_the_nearest),
	TEST(device_numbers_lead_to_profiles),
};

int main(void)
{
	return TEST_MAIN(tests);
}
