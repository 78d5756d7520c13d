/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every shipped GPU file can be read and agrees with calib/measured/facts_gpus.tsv. The test must
 * run from the root folder. */
#include <stdio.h>
#include <stdlib.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/cfg/cfg.h"
#include "sim/gpu/gpu.h"
#include "tests/test.h"

static const struct {
	const char *row, *profile;
} profiles[] = {
	{"GTX 1050 Ti", "gtx-1050ti"},      {"GTX 1080", "gtx-1080"},
	{"K80 (one die)", "k80"},           {"P100-SXM2", "p100-sxm2"},
	{"P100-PCIe", "p100-pcie"},         {"V100-SXM2-16GB", "v100-sxm2"},
	{"A100-SXM4-80GB", "a100-sxm4-80"}, {"H100-SXM5-80GB", "h100-sxm5"},
	{"H200-SXM", "h200-sxm"},
};
enum { PROFILE_COUNT = sizeof(profiles) / sizeof(profiles[0]) };

static bool read_profile(struct arena *arena, const char *profile, struct gpu_params *params)
{
	struct diag *diag = diag_new(arena);
	const char *path = arena_printf(arena, "topologies/gpus/%s.cfg", profile);
	const struct cfg_node *file = cfg_read(arena, diag, path);
	static const char *const also[] = {"like"};
	bool good = file != NULL && cfg_child(file, "gpu") != NULL &&
		    cfg_params(cfg_resolution_new(arena), arena, diag, cfg_child(file, "gpu"),
			       "gpu", "gpu", &gpu_table, also, 1, params);

	diag_print(diag, stdout);
	return good;
}

static void check_row(const char *profile, double fp32_tflops, const char *fp16_tflops,
		      double memory_GBps, double memory_GB)
{
	struct arena *arena = arena_new();
	struct gpu_params params;

	if (CHECK(read_profile(arena, profile, &params))) {
		CHECK_NEAR(params.fp32_flops, fp32_tflops * 1e12, 1e-12);
		CHECK_NEAR(params.fp16_flops,
			   strcmp(fp16_tflops, "NA") == 0 ? 0 : strtod(fp16_tflops, NULL) * 1e12,
			   1e-12);
		CHECK_NEAR(params.memory_bandwidth_Bps, memory_GBps * 1e9, 1e-12);
		/* GB of GPU memory are GiB */
		CHECK_NEAR(params.memory_B, memory_GB * 1073741824, 1e-12);
	}
	arena_free(arena);
}

static void shipped_gpus_match_published_facts(void)
{
	FILE *facts = fopen("calib/measured/facts_gpus.tsv", "r");
	char line[512], row[64], fp16[16];
	double fp32, bandwidth, memory;
	size_t rows = 0;

	if (!CHECK(facts != NULL))
		return;
	while (fgets(line, sizeof line, facts) != NULL) {
		if (sscanf(line, "%63[^\t]\t%lf\t%15[^\t]\t%lf\t%lf", row, &fp32, fp16, &bandwidth,
			   &memory) != 5)
			continue;
		for (size_t i = 0; i < PROFILE_COUNT; i++)
			if (strcmp(row, profiles[i].row) == 0) {
				check_row(profiles[i].profile, fp32, fp16, bandwidth, memory);
				rows++;
			}
	}
	fclose(facts);
	CHECK(rows == PROFILE_COUNT);
}

static const struct test tests[] = {TEST(shipped_gpus_match_published_facts)};

int main(void)
{
	return TEST_MAIN(tests);
}
