/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random cases (tests/random_case.h) are compared with better ones. */
#include "tests/random_case.h"

enum { CASES = 8 };
static const double slower_ratio = 0.005;

struct improvement {
	const char *name;
	const char *prefix, *suffix; /* of the path of the parameter */
	double factor;
};

static const struct improvement improvements[] = {
	{"bandwidth x 1.006", "link.", "-port.bandwidth", 1.006},
	{"bandwidth x 1.3", "link.", "-port.bandwidth", 1.3},
	{"bandwidth x 2", "link.", "-port.bandwidth", 2},
	{"latency x 0.5", "link.", "-port.latency", 0.5},
	{"GPU x 1.02", "gpu.", "", 1.02},
	{"GPU x 1.3", "gpu.", "", 1.3},
	{"size x 0.98", "", ".collective_size", 0.98},
	{"size x 0.5", "", ".collective_size", 0.5},
	{"batch x 0.5", "", ".batch", 0.5},
};
enum { IMPROVEMENTS = sizeof improvements / sizeof improvements[0] };

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);
	return n >= m && strcmp(text + n - m, end) == 0;
}

static bool applies(const struct improvement *improvement, const struct cfg_param *param)
{
	if (strncmp(param->path, improvement->prefix, strlen(improvement->prefix)) != 0)
		return false;
	if (strcmp(improvement->prefix, "gpu.") == 0)
		return ends_with(param->path, ".fp32") || ends_with(param->path, ".fp16") ||
		       ends_with(param->path, ".boost_clock") ||
		       ends_with(param->path, ".memory_bandwidth");
	return ends_with(param->path, improvement->suffix);
}

static size_t improve(struct arena *arena, const struct scenario *scenario,
		      const struct improvement *improvement, const char *only,
		      struct draw_value **draws)
{
	size_t count = 0;
	*draws = ARENA_ARRAY(arena, cfg_param_count(scenario->resolution), struct draw_value);
	for (size_t i = 0; i < cfg_param_count(scenario->resolution); i++) {
		const struct cfg_param *param = cfg_param_at(scenario->resolution, i);
		double value = param->value * improvement->factor;
		if (!applies(improvement, param) || (only && !strstr(param->path, only)))
			continue;
		if (param->row->whole)
			value = floor(value);
		if (value < param->row->min || !(value > 0))
			continue;
		(*draws)[count++] = (struct draw_value){param->path, value};
	}
	return count;
}

static size_t comparisons, slower;
static struct {
	size_t n, bad;
} per[IMPROVEMENTS];

static double slowdown(const struct point *a, const struct point *b)
{
	double sum = 0;
	for (size_t i = 0; i < a->job_count; i++)
		sum += log(b->jobs[i].step_s / a->jobs[i].step_s);
	return exp(sum / (double)a->job_count) - 1;
}

static bool compare(struct arena *arena, uint64_t seed, struct random_case *c,
		    const struct scenario *scenario, const struct point *before, size_t k,
		    const char *only)
{
	struct draw_value *draws;
	size_t count = improve(arena, scenario, &improvements[k], only, &draws);
	if (count == 0)
		return true;
	const struct scenario *better = random_case_read(c, draws, count);
	if (!better)
		return true;
	struct point after = predict_point(arena, better, 1, false, NULL, NULL);
	if (after.failed || after.broken)
		return true;
	double by = slowdown(before, &after);
	comparisons++;
	per[k].n++;
	if (by <= slower_ratio)
		return true;
	slower++;
	per[k].bad++;
	printf("  seed %d %s %s (%zu): slower by %.2f %%: %g -> %g s; %s; jobs %zu\n", (int)seed,
	       improvements[k].name, only ? only : "all", count, 100 * by, before->step_s,
	       after.step_s, after.outcome.jobs[0].choice, before->job_count);
	return false;
}

static bool better_is_not_slower(struct arena *arena, uint64_t seed)
{
	struct random_case c = random_case(arena, seed);
	const char *events = getenv("EVENTS");
	ADD(&c, &c.settings, "case.events=%s", events ? events : "300000");
	const struct scenario *scenario = random_case_read(&c, NULL, 0);
	if (!scenario)
		return false;
	struct point before = predict_point(arena, scenario, 1, false, NULL, NULL);
	if (before.failed || before.broken)
		return true;
	bool good = true;
	for (size_t k = 0; k < IMPROVEMENTS; k++) {
		good &= compare(arena, seed, &c, scenario, &before, k, NULL);
		if (improvements[k].prefix[0] == 'l')
			good &= compare(arena, seed, &c, scenario, &before, k, "rack0");
	}
	if (!good) {
		for (size_t i = 0; i < c.settings.count; i++)
			printf("    %s\n", c.settings.items[i]);
	}
	return good;
}

static void better_systems_are_not_slower(void)
{
	for (uint64_t seed = seeds_first(); seed < seeds_first() + seeds_count(CASES); seed++) {
		struct arena *arena = arena_new();
		better_is_not_slower(arena, seed);
		arena_free(arena);
		fflush(stdout);
	}
	printf("%zu comparisons, %zu slower\n", comparisons, slower);
	for (size_t k = 0; k < IMPROVEMENTS; k++)
		printf("%-20s %zu of %zu\n", improvements[k].name, per[k].bad, per[k].n);
}

static const struct test tests[] = {
	TEST(better_systems_are_not_slower),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
