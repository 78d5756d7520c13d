/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Several tenants on one GPU: fractions, time slices, costs of switching. */
#include "tests/cuda_world.h"

static struct world w;

static void setup(void)
{
	memset(&w, 0, sizeof w);
	world_presets(&w);
}

/* Runs n kernels of us microseconds one after the other. The end of the last one is logged under
 * arg. */
static void train_of(struct gpu_context *context, int n, double us, uint64_t arg)
{
	struct gpu_stream *stream = gpu_stream_new(context, "s");

	for (int i = 0; i < n; i++)
		world_kernel(&w, stream, us, i == n - 1 ? arg : arg + 100);
}

/* A kernel of 10 us takes 40 us in a quarter of the GPU, although no other tenant runs. The gap
 * between kernels is 1 us, the launch latency 4 us. */
static void fraction_of_a_quarter_takes_four_times_as_long(void)
{
	setup();
	world_build(&w);
	train_of(gpu_context_new(w.gpu, "quarter", 0.25), 3, 10, 0);
	world_run(&w);
	CHECK_US(w.log_ps[0], 4 + 3 * 40 + 2 * 1);
	CHECK_NEAR(gpu_busy_s(w.gpu), 120 * US, 1e-9);
	world_release(&w);
}

/* A kernel of duration d takes d / f in a fraction f, rounded up to the picosecond. */
static void kernel_time_is_divided_by_the_fraction(void)
{
	for (int percent = 5; percent <= 100; percent += 19) {
		setup();
		world_build(&w);
		train_of(gpu_context_new(w.gpu, "part", percent / 100.0), 1, 10, 0);
		world_run(&w);
		CHECK(fabs((double)w.log_ps[0] - (4e6 + 1e9 / percent)) <= 1);
		world_release(&w);
	}
}

/* Two tenants with a half each run equal kernels. Both run at half speed, also when the other
 * tenant has finished. */
static void fraction_of_a_half_does_not_depend_on_the_other_tenant(void)
{
	struct gpu_context *a, *b;

	setup();
	world_build(&w);
	a = gpu_context_new(w.gpu, "a", 0.5);
	b = gpu_context_new(w.gpu, "b", 0.5);
	train_of(a, 4, 10, 0);
	train_of(b, 8, 10, 1);
	world_run(&w);
	CHECK_US(w.log_ps[0], 4 + 4 * 20 + 3);
	CHECK_US(w.log_ps[1], 4 + 8 * 20 + 7);
	CHECK_US(gpu_context_busy_ps(a), 80);
	CHECK_US(gpu_context_busy_ps(b), 160);
	CHECK_NEAR(gpu_busy_s(w.gpu), 160 * US, 1e-9);
	world_release(&w);
}

/* Tenants with the fractions 1/4 and 1. Max-min shares are 1/4 and 3/4. Kernels of 10 us at 1/4 and
 * of 30 us at 3/4 both take 40 us. Then the second tenant has the GPU for itself and takes 10 us
 * more. */
static void tenant_without_limit_gets_what_a_quarter_leaves(void)
{
	setup();
	world_build(&w);
	train_of(gpu_context_new(w.gpu, "quarter", 0.25), 1, 10, 0);
	train_of(w.context, 1, 40, 1);
	world_run(&w);
	CHECK_US(w.log_ps[0], 44);
	CHECK_US(w.log_ps[1], 54);
	world_release(&w);
}

/* Two kernels of 10 us at the same time, in a fraction of 1/2. */
static void fraction_limits_the_sum_of_a_tenants_kernels(void)
{
	struct gpu_context *half;

	setup();
	world_build(&w);
	half = gpu_context_new(w.gpu, "half", 0.5);
	train_of(half, 1, 10, 0);
	train_of(half, 1, 10, 1);
	world_run(&w);
	CHECK_US(w.log_ps[0], 44);
	CHECK_US(w.log_ps[1], 44);
	world_release(&w);
}

/* A switch of 0.1 ms after each slice of 2 ms takes 5 % more GPU time while both tenants have
 * kernels. Two trains of 10 kernels of 100 us get half of the GPU each: 2 x 105 us for each kernel.
 * The gap is 0. */
static void switches_between_time_slices_cost_gpu_time(void)
{
	setup();
	w.gpu_params.switch_s = 100 * US;
	w.gpu_params.kernel_gap_s = 0;
	world_build(&w);
	train_of(w.context, 10, 100, 0);
	train_of(gpu_context_new(w.gpu, "b", 1), 10, 100, 1);
	world_run(&w);
	CHECK_US(w.log_ps[0], 4 + 10 * 210);
	CHECK_US(w.log_ps[1], 4 + 10 * 210);
	world_release(&w);
}

/* With MPS nothing is switched: two trains of 10 kernels of 100 us get half of the GPU each, which
 * is 200 us for each kernel. On instances of MIG with half of the SMs each, too. */
static void mps_and_mig_pay_no_switches(void)
{
	for (int sharing = SHARING_MPS; sharing <= SHARING_MIG; sharing++) {
		double part = sharing == SHARING_MIG ? 0.5 : 1;
		setup();
		w.gpu_params.sharing = sharing;
		w.gpu_params.switch_s = 100 * US;
		w.gpu_params.kernel_gap_s = 0;
		world_build(&w);
		train_of(gpu_context_new(w.gpu, "a", part), 10, 100, 0);
		train_of(gpu_context_new(w.gpu, "b", part), 10, 100, 1);
		world_run(&w);
		CHECK_US(w.log_ps[0], 4 + 10 * 200);
		CHECK_US(w.log_ps[1], 4 + 10 * 200);
		world_release(&w);
	}
}

/* A quarter of the SMs with half of 4 GB: 2 GB fit, and not one byte more. */
static void memory_share_is_apart_from_the_fraction(void)
{
	setup();
	world_build(&w);
	struct gpu_context *context = gpu_context_new(w.gpu, "quarter", 0.25);
	CHECK(!gpu_memory_take(context, 2e9));
	gpu_context_memory_set(context, 0.5);
	CHECK(gpu_memory_take(context, 2e9));
	CHECK(!gpu_memory_take(context, 1));
	train_of(context, 1, 10, 0);
	world_run(&w);
	CHECK_US(w.log_ps[0], 4 + 40);
	world_release(&w);
}

static int64_t seen_ps[2];

static void see_work(void *ctx, uint64_t arg)
{
	seen_ps[arg] = gpu_context_work_ps(ctx);
}

/* Work adds the durations that kernels have with the whole GPU; a running kernel counts for the
 * part that is done. With the tenants of the test above, after 315 us it is one kernel of 100 us
 * and half of the next one, without sharing and switches. */
static void work_includes_the_finished_part_of_a_running_kernel(void)
{
	setup();
	w.gpu_params.switch_s = 100 * US;
	w.gpu_params.kernel_gap_s = 0;
	world_build(&w);
	train_of(w.context, 10, 100, 0);
	train_of(gpu_context_new(w.gpu, "b", 1), 10, 100, 1);
	engine_at(w.engine, 319000000, see_work, w.context, 0);
	world_run(&w);
	CHECK_US(seen_ps[0], 150);
	CHECK_US(gpu_context_work_ps(w.context), 10 * 100);
	world_release(&w);
}

/* A tenant pays nothing for switches if no other tenant has work. Two streams of one tenant pay
 * nothing either. */
static void single_busy_tenant_pays_no_switches(void)
{
	setup();
	w.gpu_params.switch_s = 100 * US;
	world_build(&w);
	gpu_context_new(w.gpu, "idle", 1);
	train_of(w.context, 1, 100, 0);
	train_of(w.context, 1, 100, 1);
	world_run(&w);
	CHECK_US(w.log_ps[0], 204);
	CHECK_US(w.log_ps[1], 204);
	world_release(&w);
}

static const struct test tests[] = {
	TEST(fraction_of_a_quarter_takes_four_times_as_long),
	TEST(kernel_time_is_divided_by_the_fraction),
	TEST(fraction_of_a_half_does_not_depend_on_the_other_tenant),
	TEST(tenant_without_limit_gets_what_a_quarter_leaves),
	TEST(fraction_limits_the_sum_of_a_tenants_kernels),
	TEST(switches_between_time_slices_cost_gpu_time),
	TEST(mps_and_mig_pay_no_switches),
	TEST(memory_share_is_apart_from_the_fraction),
	TEST(work_includes_the_finished_part_of_a_running_kernel),
	TEST(single_busy_tenant_pays_no_switches),
};

int main(void)
{
	return TEST_MAIN(tests);
}
