/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random cases (tests/random_case.h) are compared with better ones: more bandwidth or less latency
 * of all links to the switch or of one machine's, a faster GPU, a smaller collective, batch or
 * prompt. The step of the better case is longer by at most 0.5 %, unless its result has a
 * mechanism whose waits grew by at least half of the difference, or another algorithm
 * (tests/slower.h). Few comparisons may need this excuse. Compute times do not vary, because
 * the mean of a few random steps is not known to 0.5 %. Cases with more than EVENTS events take too
 * long and are left out.
 *
 * FARWIRE_SEEDS and FARWIRE_SEED as in tests/random_case.h; tests/long/monotone runs 500. */
#include "tests/random_case.h"
#include "tests/slower.h"

enum { CASES = 12, EVENTS = 300000, MECHANISMS_MAX = 10 };
/* Shares of the comparisons that one mechanism may excuse, and that all may excuse. One comparison
 * is always allowed. docs/models/monotone.md has the shares of 500 systems. */
static const double each_ratio = 0.002, all_ratio = 0.005;

/* Factors for parameters with a prefix and an ending. */
static const struct improvement {
	const char *name, *prefix;
	const char *endings[4];
	double factor;
} improvements[] = {
	{"bandwidth x 1.006", "link.", {"-port.bandwidth"}, 1.006},
	{"bandwidth x 1.3", "link.", {"-port.bandwidth"}, 1.3},
	{"bandwidth x 2", "link.", {"-port.bandwidth"}, 2},
	{"latency x 0.5", "link.", {"-port.latency"}, 0.5},
	{"GPU x 1.02", "gpu.", {".fp32", ".fp16", ".boost_clock", ".memory_bandwidth"}, 1.02},
	{"GPU x 1.3", "gpu.", {".fp32", ".fp16", ".boost_clock", ".memory_bandwidth"}, 1.3},
	{"size x 0.98", "case.", {".collective_size"}, 0.98},
	{"size x 0.5", "case.", {".collective_size"}, 0.5},
	{"batch x 0.5", "", {".batch"}, 0.5},
	{"prompt x 0.5", "serve.", {".prompt"}, 0.5},
};
enum { IMPROVEMENTS = sizeof improvements / sizeof improvements[0] };

struct tally {
	size_t compared, excused, unexplained;
	const char *mechanisms[MECHANISMS_MAX];
	char names[MECHANISMS_MAX][40];
	size_t counts[MECHANISMS_MAX];
};

static bool improves(const struct improvement *improvement, const struct cfg_param *param)
{
	size_t length = strlen(param->path);
	/* the most requests that a server puts together, and the calls of one message */
	if (strcmp(param->path, "serve.batch") == 0 || strcmp(param->path, "runtime.batch") == 0)
		return false;
	if (strncmp(param->path, improvement->prefix, strlen(improvement->prefix)) != 0)
		return false;
	for (size_t i = 0; i < 4 && improvement->endings[i]; i++) {
		size_t end = strlen(improvement->endings[i]);
		if (length > end &&
		    strcmp(param->path + length - end, improvement->endings[i]) == 0)
			return true;
	}
	return false;
}

/* Returns the values of the better case, of the paths that contain `part`. */
static const struct draw_value *better_values(struct arena *arena, const struct prediction *plain,
					      const struct improvement *improvement,
					      const char *part, size_t *count)
{
	const struct cfg_resolution *resolution = plain->resolution;
	struct draw_value *draws =
		ARENA_ARRAY(arena, cfg_param_count(resolution) + 1, struct draw_value);
	*count = 0;
	for (size_t i = 0; i < cfg_param_count(resolution); i++) {
		const struct cfg_param *param = cfg_param_at(resolution, i);
		double value = param->value * improvement->factor;
		if (!improves(improvement, param) || !strstr(param->path, part))
			continue;
		value = param->row->whole ? floor(value) : value;
		if (value > 0 && value >= param->row->min)
			draws[(*count)++] = (struct draw_value){param->path, value};
	}
	return draws;
}

static const struct prediction *predict(const struct random_case *c, const struct draw_value *draws,
					size_t draw_count)
{
	const struct predict_options options = {.seed = 1, .jobs = 1};
	const struct random_files files = random_files_write(c);
	struct diag *diag = diag_new(c->arena);
	const struct case_request request = {.path = files.path,
					     .draws = draws,
					     .draw_count = draw_count,
					     .data_root = data_root_find(c->arena),
					     .events_max = EVENTS};
	const char *broken;
	const struct prediction *p = predict_case(c->arena, diag, &request, &options, &broken);
	random_files_remove(&files);
	diag_print(diag, stdout);
	CHECK(p != NULL);
	return p;
}

static void excuse(struct tally *tally, const char *mechanism)
{
	size_t i = 0;
	while (tally->mechanisms[i] && strcmp(tally->mechanisms[i], mechanism) != 0)
		i++;
	if (!CHECK(i + 1 < MECHANISMS_MAX))
		return;
	if (!tally->mechanisms[i])
		snprintf(tally->names[i], sizeof tally->names[i], "%s", mechanism);
	tally->mechanisms[i] = tally->names[i];
	tally->counts[i]++;
	tally->excused++;
}

/* Returns false if the better case is slower and the output does not say why. */
static bool is_explained(const struct random_case *c, const struct prediction *plain,
			 const struct improvement *improvement, const char *part,
			 struct tally *tally)
{
	size_t count;
	const struct draw_value *draws = better_values(c->arena, plain, improvement, part, &count);
	const struct prediction *better = count ? predict(c, draws, count) : NULL;
	if (!better || !better->ok)
		return true;
	struct slower slower = slower_than(plain, better);
	tally->compared++;
	if (!(slower.ratio > 0))
		return true;
	printf("  %s of %s: %.9g s becomes %.9g s, %.2f %% slower: %s\n", improvement->name,
	       *part ? part : "all", plain->step_s.value, better->step_s.value, 100 * slower.ratio,
	       slower.mechanism ? slower.mechanism : "unexplained");
	if (slower.mechanism)
		excuse(tally, slower.mechanism);
	else
		tally->unexplained++;
	return slower.mechanism;
}

static void compare(struct arena *arena, uint64_t seed, struct tally *tally)
{
	struct random_case c = random_case(arena, seed);
	for (size_t i = 0; i < c.settings.count; i++)
		if (strncmp(c.settings.items[i], "exchange.noise=", 15) == 0)
			c.settings.items[i] = "exchange.noise=0";
	const struct prediction *plain = predict(&c, NULL, 0);
	bool good = true;
	if (!plain || !plain->ok)
		return;
	for (size_t k = 0; k < IMPROVEMENTS; k++) {
		good = is_explained(&c, plain, &improvements[k], "", tally) && good;
		if (strcmp(improvements[k].prefix, "link.") == 0)
			good = is_explained(&c, plain, &improvements[k], "rack0", tally) && good;
	}
	if (!good)
		random_case_print(&c, seed);
}

static void better_systems_are_slower_only_for_named_reasons(void)
{
	struct tally tally = {0};
	for (uint64_t seed = seeds_first(); seed < seeds_first() + seeds_count(CASES); seed++) {
		struct arena *arena = arena_new();
		compare(arena, seed, &tally);
		arena_free(arena);
	}
	printf("  %zu comparisons: %zu slower and unexplained\n", tally.compared,
	       tally.unexplained);
	for (size_t i = 0; tally.mechanisms[i]; i++) {
		printf("  %zu slower: %s\n", tally.counts[i], tally.mechanisms[i]);
		CHECK((double)tally.counts[i] <= fmax(1, each_ratio * (double)tally.compared));
	}
	CHECK(tally.compared >= 4 * seeds_count(CASES));
	CHECK((double)tally.excused <= fmax(1, all_ratio * (double)tally.compared));
	CHECK(tally.unexplained == 0);
}

static const struct test tests[] = {
	TEST(better_systems_are_slower_only_for_named_reasons),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
