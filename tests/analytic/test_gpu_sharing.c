/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Several tenants on one GPU: fractions, time slices, settings at run time. */
#include "tests/cuda_world.h"

static struct world w;

static void setup(void)
{
	memset(&w, 0, sizeof w);
	world_presets(&w);
}

/* n kernels of us microseconds each, back to back; the last one's end under
 * arg. */
static void train_of(struct gpu_context *context, int n, double us, uint64_t arg)
{
	struct gpu_stream *stream = gpu_stream_new(context, "s");

	for (int i = 0; i < n; i++)
		world_kernel(&w, stream, us, i == n - 1 ? arg : arg + 100);
}

/* A quarter, alone: a kernel of 10 takes 40. Gap 1 between, latency 4. */
static void a_quarter_alone_is_four_times_slower(void)
{
	setup();
	world_build(&w);
	train_of(gpu_context_new(w.gpu, "quarter", 0.25), 3, 10, 0);
	world_run(&w);
	CHECK_US(w.log_ps[0], 4 + 3 * 40 + 2 * 1);
	CHECK_NEAR(gpu_busy_s(w.gpu), 120 * US, 1e-9);
	world_release(&w);
}

/* Whatever the fraction f, alone: d / f, rounded up to the picosecond. */
static void any_fraction_alone(void)
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

/* Two halves, equal work: both as on a GPU of half the speed, whether the
 * other is there or not. */
static void two_halves(void)
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
	CHECK_NEAR(gpu_context_busy_s(a), 80 * US, 1e-9);
	CHECK_NEAR(gpu_context_busy_s(b), 160 * US, 1e-9);
	CHECK_NEAR(gpu_busy_s(w.gpu), 160 * US, 1e-9);
	world_release(&w);
}

/* A quarter beside a whole: max-min gives 1/4 and 3/4. 10 at 1/4 and 30 at 3/4
 * both take 40; then the whole has the GPU to itself for 10 more. */
static void a_quarter_beside_a_whole(void)
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

/* A tenant's kernels together stay inside its fraction: 2 x 10 at 1/2. */
static void the_fraction_bounds_all_kernels_of_a_tenant(void)
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

/* Switching 0.1 ms every 2 ms: 5 % more GPU time while both have kernels. Two
 * trains of 10 x 100 at a half each: 2 x 105 a kernel. With gaps of 0. */
static void time_slices_cost_switches(void)
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

static int64_t seen_ps[2];

static void see_work(void *ctx, uint64_t arg)
{
	seen_ps[arg] = gpu_context_work_ps(ctx);
}

/* Work counts kernels by their own durations, a running one as far as it has
 * come. As above, seen after 315 us: one kernel of 100, and half of the next,
 * whatever sharing and switches have made of them. */
static void work_counts_what_is_done_of_a_running_kernel(void)
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

/* Alone, or beside a tenant with nothing to do, nothing is paid; two streams of
 * one tenant pay nothing either. */
static void no_switches_without_others(void)
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
	TEST(a_quarter_alone_is_four_times_slower),
	TEST(any_fraction_alone),
	TEST(two_halves),
	TEST(a_quarter_beside_a_whole),
	TEST(the_fraction_bounds_all_kernels_of_a_tenant),
	TEST(time_slices_cost_switches),
	TEST(work_counts_what_is_done_of_a_running_kernel),
	TEST(no_switches_without_others),
};

int main(void)
{
	return TEST_MAIN(tests);
}
