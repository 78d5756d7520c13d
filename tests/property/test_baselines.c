/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A baseline that is found in the store equals the one that would be computed, and it does not
 * depend on the wire and the runtime. */
#include <string.h>

#include "sim/predict/baselines.h"
#include "tests/case_points.h"

struct variant {
	const char *settings[3];
	bool same; /* as without these settings */
};
static const struct variant variants[] = {
	{{"case.fraction=1"}, true},
	{{"link.lan-port.latency=3 us"}, true},
	{{"link.lan-port.bandwidth=3 Gbit/s", "link.client-port.latency=7 us"}, true},
	{{"runtime.handoff=1 us"}, true},
	{{"tcp.streams=3"}, true},
	{{"link.slot.lanes=4"}, false},
	{{"host.esxi2.turbo=false"}, false},
	{{"gpu.gtx-1050ti.memory_bandwidth=50 GB/s"}, false},
	{{"gpu.gpu0.profile=gtx-1080"}, false},
	{{"driver.launch=50 us"}, false},
	{{"case.batch=8"}, false},
	{{"case.model=alexnet"}, false},
	{{"stack.real_input=true"}, false},
};
enum { VARIANTS_COUNT = sizeof variants / sizeof *variants };

static const struct scenario *scenario_with(struct arena *arena, const struct variant *variant)
{
	const char *more[24] = {TUNED};
	size_t count = 0;
	while (more[count])
		count++;
	for (size_t i = 0; i < 3 && variant->settings[i]; i++)
		more[count++] = variant->settings[i];
	return scenario_of(arena, &same_lan, more);
}

static void baseline_keys_differ_if_the_baseline_can_differ(void)
{
	struct arena *arena = arena_new();
	uint64_t keys[VARIANTS_COUNT];
	for (size_t i = 0; i < VARIANTS_COUNT; i++) {
		const struct scenario *scenario = scenario_with(arena, &variants[i]);
		if (!scenario)
			break;
		keys[i] = baseline_key(scenario, 0, 1);
		if (!CHECK((keys[i] == keys[0]) == variants[i].same))
			printf("  %s\n", variants[i].settings[0]);
	}
	const struct scenario *scenario = scenario_with(arena, &variants[0]);
	CHECK(scenario && baseline_key(scenario, 0, 2) != keys[0]);
	arena_free(arena);
}

/* Two programs of a case use two GPUs of one server. In two other cases the program's GPU is once a
 * P100 and once a GTX 1080, whose kernels are like those of a P100, and another GPU is the other
 * one. */
static void baseline_keys_differ_by_gpu(void)
{
	static const struct settings pool = {{"case.topology=gpu-pool", "case.model=resnet50"}};
	static const char *const places[] = {"case.copies=2", "case.gpu=spread", NULL};
	static const char *const profiles[][6] = {
		{"case.gpu=gpu2", "gpu.gpu1.profile=gtx-1080", "gpu.gpu2.profile=p100-sxm2",
		 "gpu.gpu3.profile=gtx-1080", NULL},
		{"case.gpu=gpu2", "gpu.gpu1.profile=gtx-1080", "gpu.gpu2.profile=gtx-1080",
		 "gpu.gpu3.profile=p100-sxm2", NULL}};
	struct arena *arena = arena_new();
	const struct scenario *two = scenario_of(arena, &pool, places);
	const struct scenario *p100 = scenario_of(arena, &pool, profiles[0]);
	const struct scenario *gtx = scenario_of(arena, &pool, profiles[1]);
	if (two) {
		CHECK(two->jobs[0].servers[0] == two->jobs[1].servers[0]);
		CHECK(baseline_key(two, 0, 1) != baseline_key(two, 1, 1));
	}
	if (p100 && gtx)
		CHECK(baseline_key(p100, 0, 1) != baseline_key(gtx, 0, 1));
	arena_free(arena);
}

/* The first prediction stores the baseline or finds that of an equal case. The second one finds it.
 */
static void check_known(struct baselines *baselines, struct arena *arena,
			const struct scenario *scenario, const char *name)
{
	struct point alone = predict_point(arena, scenario, 1, true, NULL, NULL);
	for (int i = 0; i < 2; i++) {
		struct point known = predict_point(arena, scenario, 1, true, baselines, NULL);
		if (!CHECK(alone.ratio == known.ratio && alone.step_s == known.step_s))
			printf("  %s: %.17g, known %.17g\n", name, alone.ratio, known.ratio);
	}
}

static void stored_baseline_equals_the_computed_one(void)
{
	struct baselines *baselines = baselines_new();
	for (size_t i = 0; i < VARIANTS_COUNT; i++) {
		struct arena *arena = arena_new();
		const struct scenario *scenario = scenario_with(arena, &variants[i]);
		if (scenario)
			check_known(baselines, arena, scenario, variants[i].settings[0]);
		arena_free(arena);
	}
	baselines_free(baselines);
}

/* ---- jobs: the step of a single GPU ---- */

static const struct settings job = {{"case.topology=dgx1-v100-ethernet", "case.model=alexnet",
				     "case.batch=16", "case.gpus=16", "case.steps=2"}};
static const struct variant job_variants[] = {
	{{"case.straggler=1"}, true},
	{{"case.gpus=9"}, true},
	{{"case.exchange=ddp"}, true},
	{{"exchange.fusion=1 MiB"}, true},
	{{"library.kernel_loss=0.1"}, true},
	{{"input.source=sata-ssd-raid0"}, true},
	{{"link.*.latency=9 us"}, false}, /* also of PCIe */
	{{"gpu.*.memory_bandwidth=500 GB/s"}, false},
	{{"driver.launch=50 us"}, false},
	{{"stack.dispatch=50 us"}, false},
	{{"case.batch=8"}, false},
	{{"case.model=googlenet"}, false},
};
enum { JOB_VARIANTS_COUNT = sizeof job_variants / sizeof *job_variants };

static void solo_keys_differ_if_the_step_of_one_gpu_can_differ(void)
{
	struct arena *arena = arena_new();
	uint64_t first = 0;
	for (size_t i = 0; i < JOB_VARIANTS_COUNT; i++) {
		const struct scenario *scenario = scenario_of(
			arena, &job, (const char *[]){job_variants[i].settings[0], NULL});
		if (!scenario)
			break;
		uint64_t key = baseline_solo_key(scenario, 1);
		first = i == 0 ? key : first;
		if (!CHECK((key == first) == job_variants[i].same))
			printf("  %s\n", job_variants[i].settings[0]);
	}
	arena_free(arena);
}

static void stored_solo_step_equals_the_computed_one(void)
{
	struct baselines *baselines = baselines_new();
	for (size_t i = 0; i < JOB_VARIANTS_COUNT; i++) {
		struct arena *arena = arena_new();
		const struct scenario *scenario = scenario_of(
			arena, &job, (const char *[]){job_variants[i].settings[0], NULL});
		if (scenario)
			check_known(baselines, arena, scenario, job_variants[i].settings[0]);
		arena_free(arena);
	}
	baselines_free(baselines);
}

static const struct test tests[] = {TEST(baseline_keys_differ_if_the_baseline_can_differ),
				    TEST(baseline_keys_differ_by_gpu),
				    TEST(stored_baseline_equals_the_computed_one),
				    TEST(solo_keys_differ_if_the_step_of_one_gpu_can_differ),
				    TEST(stored_solo_step_equals_the_computed_one)};

int main(void)
{
	return TEST_MAIN(tests);
}
