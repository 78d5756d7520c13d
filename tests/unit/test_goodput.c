/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The description of a long run that follows from a plan: two machines of eight GPUs, which compute
 * a small network. */
#include "sim/base/num.h"
#include "tests/case_points.h"

#define WHEN(gpu, host, link, software)                                                            \
	"run.gpu_mtbf=" gpu, "run.host_mtbf=" host, "run.link_mtbf=" link,                         \
		"run.software_mtbf=" software

static const struct settings plan = {{"case.topology=dgx-h100", "case.model=gpt2", "case.gpus=16",
				      "case.stack=pytorch-bf16-adamw", "case.exchange=nccl-2.18",
				      "plan.tp=1", "plan.dp=16", "plan.global_batch=16"}};

static double named(const struct breakdown_part *parts, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(parts[i].name, name) == 0)
			return parts[i].seconds;
	return NAN;
}

static double noted(const struct point *point, const char *name)
{
	return named(point->checkpoint, point->checkpoint_count, name);
}

/* 16 GPUs, two machines, 16 adapters or two machines' software fail each 25 h, which takes the job
 * 7 s to notice. All lost time is that of this cause. Young's interval is the root of 2 C M. */
static void lost_time_is_that_of_the_cause_that_fails(void)
{
	static const char *const names[] = {"gpu", "host", "link", "software"};
	static const char *const rates[] = {"400h", "50h", "400h", "50h"};
	struct arena *arena = arena_new();
	for (size_t cause = 0; cause < FAILURE_CAUSE_COUNT; cause++) {
		const char *mtbf[FAILURE_CAUSE_COUNT];
		for (size_t i = 0; i < FAILURE_CAUSE_COUNT; i++)
			mtbf[i] = arena_printf(arena, "run.%s_mtbf=%s", names[i],
					       i == cause ? rates[i] : "0s");
		struct point point = POINT(arena, plan, "case.job_steps=1e7", "run.hang=0",
					   "run.detect=7 s", mtbf[0], mtbf[1], mtbf[2], mtbf[3]);
		double between_s = noted(&point, "between failures");
		double pause_s = noted(&point, "pause"), lost_s = 0;
		CHECK_NEAR(between_s, 25 * 3600, 1e-9);
		CHECK_NEAR(noted(&point, "Young's interval"), sqrt(2 * pause_s * between_s), 1e-9);
		CHECK(point.failures_count > 1);
		CHECK_NEAR(named(point.phases, point.phase_count, "detection"),
			   7 * point.failures_count, 1e-9);
		for (size_t i = 0; i < point.phase_count; i++)
			if (i >= LONGRUN_LOST)
				lost_s += point.phases[i].seconds;
		for (size_t i = 0; i < FAILURE_CAUSE_COUNT; i++) {
			CHECK_TEXT(point.causes[i].name, failure_cause_name((enum failure_cause)i));
			CHECK_NEAR(point.causes[i].seconds, i == cause ? lost_s : 0, 1e-9);
		}
	}
	arena_free(arena);
}

/* 16 GPUs, two machines, 16 adapters and two machines' software each fail once in 100 h. */
static void all_causes_of_failures_count(void)
{
	struct arena *arena = arena_new();
	struct point point =
		POINT(arena, plan, "case.job_steps=1000", WHEN("1600h", "200h", "1600h", "200h"));
	CHECK_NEAR(noted(&point, "between failures"), 25 * 3600, 1e-9);
	point = POINT(arena, plan, "case.job_steps=1000", WHEN("0s", "200h", "0s", "300h"));
	CHECK_NEAR(noted(&point, "between failures"), 60 * 3600, 1e-9);
	arena_free(arena);
}

/* A checkpoint follows a whole number of steps, one or more, and at most those of the run. */
static void intervals_are_whole_steps(void)
{
	static const double asked[] = {2.4, 2.6, 0.1, 5000}, steps[] = {2, 3, 1, 1000};
	struct arena *arena = arena_new();
	double step_s = POINT(arena, plan, NULL).step_s;
	for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
		const char *interval =
			arena_printf(arena, "run.checkpoint_interval=%.12g s", asked[i] * step_s);
		struct point point = POINT(arena, plan, "case.job_steps=1000", interval);
		CHECK_NEAR(noted(&point, "interval") / step_s, steps[i], 1e-9);
	}
	arena_free(arena);
}

/* Steps stop for the agreement on a checkpoint and its copy to the host, and without asynchronous
 * checkpoints also until it is written. */
static void steps_stop_until_a_synchronous_checkpoint_is_written(void)
{
	struct arena *arena = arena_new();
	struct point one = POINT(arena, plan, "case.job_steps=1000", "run.checkpoint_plan=3 s");
	struct point other = POINT(arena, plan, "case.job_steps=1000", "run.checkpoint_plan=3 s",
				   "run.checkpoint_asynchronous=false");
	double copied_s = 3 + noted(&one, "copy to the host");
	CHECK(noted(&one, "write") > 0);
	CHECK_NEAR(noted(&one, "pause"), copied_s, 1e-12);
	CHECK_NEAR(noted(&other, "pause"), copied_s + noted(&other, "write"), 1e-12);
	arena_free(arena);
}

/* A draw has one rate of each cause. After n observed failures it is gamma(n + 1/2) / n times that
 * of the mean time, and each cause has a random number of its own. Some hundred failures show it to
 * 10 %. */
static void a_draw_has_rates_of_a_gamma_distribution(void)
{
	static const char *const failing[FAILURE_CAUSE_COUNT][2] = {
		{"run.gpu_mtbf=1600h", "run.gpu_failures=1"},
		{"run.host_mtbf=200h", "run.host_failures=1"},
		{"run.link_mtbf=1600h", "run.link_failures=1"},
		{"run.software_mtbf=200h", "run.software_failures=1"}};
	struct arena *arena = arena_new();
	const struct draw_value draw = {"run.detect", 0};
	for (uint64_t seed = 1; seed <= 4; seed++) {
		size_t cause = seed - 1;
		const char *const more[] = {"case.job_steps=1e9",
					    "run.schedule=0 s",
					    "run.start=0 s",
					    "run.connect=0 s",
					    "run.hang=0",
					    "run.repair=0 s",
					    "run.checkpoint_interval=100 s",
					    WHEN("0s", "0s", "0s", "0s"),
					    failing[cause][0],
					    failing[cause][1],
					    NULL};
		struct setting settings[32];
		size_t count = 0;
		for (size_t i = 0; plan.texts[i]; i++)
			settings[count++] = (struct setting){plan.texts[i], {"test", 0}};
		for (size_t i = 0; more[i]; i++)
			settings[count++] = (struct setting){more[i], {"test", 0}};
		const struct case_request request = {.settings = settings,
						     .setting_count = count,
						     .draws = &draw,
						     .draw_count = 1,
						     .data_root = data_root_find(arena)};
		struct diag *diag = diag_new(arena);
		const struct scenario *scenario = case_read(arena, diag, &request);
		diag_print(diag, stdout);
		if (!CHECK(scenario != NULL))
			break;
		struct point point = predict_point(arena, scenario, seed, false, NULL, NULL);
		struct rng rng = rng_named(seed, "rates of failures");
		double chance = 0;
		for (size_t i = 0; i <= cause; i++)
			chance = rng_uniform(&rng);
		double factor = num_gamma_quantile(chance, 1.5);
		CHECK_NEAR(point.failures_count, factor * point.elapsed_s / 360e3, 0.1);
	}
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(all_causes_of_failures_count),
	TEST(lost_time_is_that_of_the_cause_that_fails),
	TEST(intervals_are_whole_steps),
	TEST(steps_stop_until_a_synchronous_checkpoint_is_written),
	TEST(a_draw_has_rates_of_a_gamma_distribution),
};

int main(void)
{
	return TEST_MAIN(tests);
}
