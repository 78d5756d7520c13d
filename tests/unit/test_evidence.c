/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The distance of a case from what was fitted, and the model error by distance. */
#include <math.h>
#include <string.h>

#include "calib/fit/errors.h"
#include "sim/analysis/dataset.h"
#include "sim/base/arena.h"
#include "sim/base/num.h"
#include "sim/scenario/evidence.h"
#include "tests/test.h"

static struct evidence evidence_at(const char *kind, const char *topology, const char *generation,
				   const char *family)
{
	struct evidence e;
	for (size_t i = 0; i < EVIDENCE_WORD_COUNT; i++)
		e.words[i] = "x";
	e.words[EVIDENCE_KIND] = kind;
	e.words[EVIDENCE_TOPOLOGY] = topology;
	e.words[EVIDENCE_GENERATION] = generation;
	e.words[EVIDENCE_FAMILY] = e.words[EVIDENCE_LIBRARY] = family;
	e.words[EVIDENCE_FRAMEWORK] = e.words[EVIDENCE_STACK] = family;
	return e;
}

static void distance_grows_with_what_differs(void)
{
	const struct evidence fitted = evidence_at("training", "a", "volta", "horovod");
	const struct evidence other = evidence_at("training", "b", "volta", "horovod");
	const struct evidence newer = evidence_at("training", "b", "hopper", "horovod");
	const struct evidence library = evidence_at("training", "a", "volta", "ddp");
	const struct evidence alone = evidence_at("collective", "a", "volta", "horovod");
	CHECK(evidence_distance(&fitted, PART_OWN, &fitted, 1, &fitted, 1) == DISTANCE_SAME_SYSTEM);
	CHECK(evidence_distance(&fitted, PART_OWN, NULL, 0, &fitted, 1) == DISTANCE_SAME_KIND);
	CHECK(evidence_distance(&other, PART_OWN, &fitted, 1, NULL, 0) == DISTANCE_SAME_KIND);
	CHECK(evidence_distance(&newer, PART_OWN, &fitted, 1, NULL, 0) == DISTANCE_NEW_MACHINE);
	CHECK(evidence_distance(&library, PART_OWN, &fitted, 1, NULL, 0) == DISTANCE_NEW_LIBRARY);
	/* a training row is not evidence for a collective by itself or for one GPU */
	CHECK(evidence_distance(&alone, PART_OWN, &fitted, 1, NULL, 0) == DISTANCE_NEW_LIBRARY);
	CHECK(evidence_distance(&fitted, PART_ONE_GPU, &fitted, 1, NULL, 0) ==
	      DISTANCE_NEW_LIBRARY);
	const struct evidence one = evidence_at("local", "a", "volta", "horovod");
	CHECK(evidence_distance(&fitted, PART_ONE_GPU, &one, 1, NULL, 0) == DISTANCE_SAME_SYSTEM);
	/* other numbers make another kind of machine */
	struct evidence numbers = evidence_at("local", "b", "volta", "horovod");
	CHECK(evidence_distance(&numbers, PART_ONE_GPU, &one, 1, NULL, 0) == DISTANCE_SAME_KIND);
	numbers.words[EVIDENCE_NUMBERS] = "fp16";
	CHECK(evidence_distance(&numbers, PART_ONE_GPU, &one, 1, NULL, 0) == DISTANCE_NEW_MACHINE);
	/* programs on one GPU do not bring a model server nearer */
	const struct evidence server = evidence_at("serving", "a", "volta", "horovod");
	const struct evidence another = evidence_at("serving", "b", "volta", "horovod");
	CHECK(evidence_distance(&server, PART_OWN, NULL, 0, &one, 1) == DISTANCE_NEW_LIBRARY);
	CHECK(evidence_distance(&server, PART_OWN, NULL, 0, &another, 1) == DISTANCE_SAME_KIND);
}

static void left_out_system_includes_rows_beyond_one_gpu(void)
{
	CHECK(evidence_is_left_out("t v100", "t v100"));
	CHECK(evidence_is_left_out("t v100", "t v100" EVIDENCE_BEYOND));
	CHECK(evidence_is_left_out("t v100" EVIDENCE_BEYOND, "t v100" EVIDENCE_BEYOND));
	CHECK(!evidence_is_left_out("t v100" EVIDENCE_BEYOND, "t v100"));
	CHECK(!evidence_is_left_out("t v100", "t v100-32"));
	CHECK(!evidence_is_left_out(NULL, "t v100"));
}

/* Two systems of collectives on new machines, all of whose rows are wrong by exp(0.3); in the
 * second, one row is wrong by exp(3), which counts as twice the median of 0.3. So the mean squares
 * are 0.09 and (0.09 + 0.09 + 0.36) / 3 = 0.18. The errors on the same system are 0.03, and no
 * system is on the same kind of machine:
 *   growth^2: ((0.09 + 0.18) / 0.0009 + 1) / 3 = 100.33
 *   bytes: (0.09 + 0.18 + 3 x 0.0009 x 100.33) / 5 = 0.10818 */
static void errors_follow_from_left_out_systems(void)
{
	static const struct dataset_row fit = {.role = ROLE_FIT, .measured = 1};
	static const char first[] = "first", second[] = "second";
	struct left_out_row rows[5];
	struct model_error same[MECHANISM_COUNT];
	for (size_t i = 0; i < 5; i++)
		rows[i] = (struct left_out_row){
			.row = &fit,
			.system = i < 2 ? first : second,
			.class = CASE_COLLECTIVE,
			.distances = {DISTANCE_NEW_MACHINE, DISTANCE_NEW_MACHINE},
			.error = {.square = i == 4 ? 9 : 0.09, .shares = {[MECHANISM_WIRE] = 1}}};
	for (size_t k = 0; k < MECHANISM_COUNT; k++)
		same[k] = (struct model_error){0.03, 10};
	const struct left_out left = {rows, 5};
	struct distance_errors errors;
	systems_errors(&left, NULL, same, &errors);
	const struct distance_error *e = errors.of[MECHANISM_WIRE];
	CHECK_NEAR(errors.growth[DISTANCE_SAME_KIND], 1, 1e-6);
	CHECK_NEAR(errors.growth[DISTANCE_NEW_MACHINE], sqrt(100 + 1.0 / 3), 1e-6);
	CHECK_NEAR(e[DISTANCE_NEW_MACHINE].error.ratio, sqrt(0.10818), 1e-6);
	CHECK_NEAR(e[DISTANCE_NEW_MACHINE].error.freedom_count, 5, 1e-6);
	CHECK(e[DISTANCE_NEW_MACHINE].system_count == 2 && e[DISTANCE_NEW_MACHINE].row_count == 5);
	/* no system has a new library: as large as the smaller distance */
	CHECK(e[DISTANCE_NEW_LIBRARY].error.ratio >= e[DISTANCE_NEW_MACHINE].error.ratio);
	/* mechanisms without rows grow by the common factor */
	CHECK_NEAR(errors.of[MECHANISM_LOCAL][DISTANCE_NEW_MACHINE].error.ratio,
		   0.03 * sqrt(100 + 1.0 / 3), 1e-6);
	systems_errors(&left, second, same, &errors);
	CHECK(e[DISTANCE_NEW_MACHINE].system_count == 1);
	CHECK_NEAR(errors.growth[DISTANCE_NEW_MACHINE], sqrt(101.0 / 2), 1e-6);
}

/* Two rows of collectives are wrong by exp(0.3). Draws of two rows of a model server have a
 * standard deviation of 0.1, so their half-width is 0.1645: it covers ln(1.1) and misses ln(1.3) by
 * 0.0979. The score is 2 x 0.1645 + 20 x 0.0979 / 2. The constant width is that of collectives,
 * 0.3. */
static void model_servers_are_a_class_of_their_own(void)
{
	static const struct dataset_row fit = {.role = ROLE_FIT, .measured = 1};
	static const char network[] = "network", server[] = "server";
	const double predicted[] = {exp(0.3), exp(0.3), 1.1, 1.3};
	struct left_out_row rows[4];
	struct model_error same[MECHANISM_COUNT];
	for (size_t i = 0; i < 4; i++)
		rows[i] = (struct left_out_row){
			.row = &fit,
			.system = i < 2 ? network : server,
			.class = i < 2 ? CASE_COLLECTIVE : CASE_SERVING,
			.distances = {DISTANCE_NEW_MACHINE, DISTANCE_NEW_MACHINE},
			.measured = 1,
			.predicted = predicted[i],
			.spread_ratio = i < 2 ? 0 : 0.1,
			.error = {.square = 0.09, .shares = {[MECHANISM_WIRE] = i < 2}}};
	for (size_t k = 0; k < MECHANISM_COUNT; k++)
		same[k] = (struct model_error){0.03, 10};
	struct distance_errors with, without;
	systems_errors(&(struct left_out){rows, 4}, NULL, same, &with);
	systems_errors(&(struct left_out){rows, 2}, NULL, same, &without);
	CHECK(with.growth[DISTANCE_NEW_MACHINE] == without.growth[DISTANCE_NEW_MACHINE]);
	struct arena *arena = arena_new();
	size_t count, found = 0;
	const struct left_out_summary *list =
		systems_summaries(arena, &(struct left_out){rows, 4}, same, &count);
	for (size_t i = 0; i < count; i++) {
		const struct left_out_summary *s = &list[i];
		if (s->system)
			continue;
		found += s->class == CASE_SERVING || s->class == ROW_CLASS_ALL;
		CHECK(s->count == 2);
		if (s->class != CASE_SERVING)
			continue;
		CHECK_NEAR(s->coverage, 0.5, 1e-12);
		CHECK_NEAR(s->score, 2 * 0.164485 + 10 * (log(1.3) - 0.164485), 1e-4);
		CHECK_NEAR(s->constant_score, 0.6, 1e-9);
	}
	CHECK(found == 2);
	arena_free(arena);
}

/* Two rows of a server are wrong by 0.3 where 0.03 is expected: with the system that is always
 * added, the growth g has 1 / g^2 + 100 / g^2 = 2. The error of the iterations is then that of one
 * system and a prior of three, (0.09 + 3 x 0.0009 g^2) / 4. Other mechanisms have the prior. */
static void model_servers_set_the_errors_of_their_iterations(void)
{
	static const struct dataset_row fit = {.role = ROLE_FIT, .measured = 1};
	struct left_out_row rows[2];
	struct model_error same[MECHANISM_COUNT];
	struct distance_errors errors;
	for (size_t i = 0; i < 2; i++)
		rows[i] = (struct left_out_row){
			.row = &fit,
			.system = "server",
			.class = CASE_SERVING,
			.distances = {DISTANCE_NEW_MACHINE, DISTANCE_NEW_MACHINE},
			.error = {.square = 0.09, .shares = {[MECHANISM_TOKEN] = 1}}};
	for (size_t k = 0; k < MECHANISM_COUNT; k++)
		same[k] = (struct model_error){0.03, 10};
	systems_errors(&(struct left_out){rows, 2}, NULL, same, &errors);
	CHECK_NEAR(errors.growth[DISTANCE_NEW_MACHINE], sqrt(101.0 / 2), 1e-6);
	CHECK_NEAR(errors.of[MECHANISM_TOKEN][DISTANCE_NEW_MACHINE].error.ratio,
		   sqrt((0.09 + 3 * 0.0009 * 101 / 2) / 4), 1e-6);
	CHECK_NEAR(errors.of[MECHANISM_PROMPT][DISTANCE_NEW_MACHINE].error.ratio,
		   0.03 * sqrt(101.0 / 2), 1e-6);
}

/* Half of a time is added, with a normal error of 0.5, of which 90 % lie within 0.8224. The time is
 * then 0.5 + 0.5 exp(+-0.8224) times as long: 1.6380 or 0.7197. A time that is longer by exp(0.4)
 * is inside, and one that is shorter by exp(0.4) is outside by 0.4 + ln(0.7197). */
static void interval_of_an_added_time_is_longer_above_than_below(void)
{
	const double slower = log(1.63801), faster = -log(0.719682);
	for (int k = 0; k < 2; k++) {
		const struct dataset_row fit = {
			.role = ROLE_FIT, .measure = MEASURE_TIME, .measured = 1};
		const struct left_out_row row = {
			.row = &fit,
			.system = "one",
			.class = CASE_FORWARDED,
			.measured = 1,
			.predicted = exp(k ? 0.4 : -0.4),
			.error = {.shares = {[MECHANISM_FORWARDED] = 0.5}}};
		struct model_error same[MECHANISM_COUNT] = {[MECHANISM_FORWARDED] = {0.5, 0}};
		struct arena *arena = arena_new();
		size_t count;
		const struct left_out_summary *s =
			systems_summaries(arena, &(struct left_out){&row, 1}, same, &count);
		CHECK(s->coverage == (k ? 0 : 1));
		CHECK_NEAR(s->median_half_width, (1.63801 - 0.719682) / 2, 1e-4);
		CHECK_NEAR(s->score, slower + faster + (k ? 20 * (0.4 - faster) : 0), 1e-4);
		arena_free(arena);
	}
}

/* Forwarding adds 0.5 s to a step of 1 s. The measured step takes 1.1 s, so 0.6 s are added, and
 * the error is ln(1.2), of a share of a half: its square is (ln(1.2) / 2)^2. */
static void error_of_forwarding_is_that_of_the_added_time(void)
{
	static const struct dataset_row fit = {
		.role = ROLE_FIT, .measure = MEASURE_TIME, .measured = 1.1};
	const struct error_part parts[CASE_PART_COUNT] = {
		{"error.local", 0, 0, 0.5, 0}, {"", 0, 0, 0, 0}, {"error.forwarded", 0, 0, 0.5, 0}};
	const struct error_row row = fit_error_row(&fit, 1, parts);
	CHECK_NEAR(row.square, pow(log(1.2) / 2, 2), 1e-12);
	CHECK(row.shares[MECHANISM_LOCAL] == 0.5 && row.shares[MECHANISM_FORWARDED] == 0.5);
	/* errors of forwarding do not make those of other mechanisms grow */
	const struct left_out_row left_row = {
		.row = &fit,
		.system = "one",
		.class = CASE_FORWARDED,
		.one_gpu_known = true,
		.distances = {DISTANCE_NEW_MACHINE, DISTANCE_NEW_MACHINE},
		.error = row};
	const struct left_out left = {&left_row, 1};
	struct model_error same[MECHANISM_COUNT];
	for (size_t k = 0; k < MECHANISM_COUNT; k++)
		same[k] = (struct model_error){k == MECHANISM_LOCAL ? 0 : 0.03, 10};
	struct distance_errors errors;
	systems_errors(&left, NULL, same, &errors);
	CHECK_NEAR(errors.growth[DISTANCE_NEW_MACHINE], 1, 1e-6);
	CHECK_NEAR(errors.of[MECHANISM_FORWARDED][DISTANCE_NEW_MACHINE].error.ratio,
		   sqrt((pow(log(1.2), 2) + 3 * 0.0009) / 4), 1e-6);
}

/* Four rows of one mechanism have a variance of 0.04, of which 0.01 is known, and four rows of
 * another, of half the time, 0.02: so the variances are 0.03 and 4 x 0.02. Without rows the prior
 * stays. */
static void errors_are_split_by_mechanism(void)
{
	struct error_row rows[8];
	struct model_error priors[MECHANISM_COUNT], found[MECHANISM_COUNT];
	for (size_t i = 0; i < 8; i++)
		rows[i] = i < 4 ? (struct error_row){.square = 0.04,
						     .weight = 1,
						     .known_variance = 0.01,
						     .shares = {[MECHANISM_WIRE] = 1}}
				: (struct error_row){.square = 0.02,
						     .weight = 1,
						     .shares = {[MECHANISM_MESSAGE] = 0.5}};
	for (size_t k = 0; k < MECHANISM_COUNT; k++)
		priors[k] = (struct model_error){0.1, 1e-9};
	components_estimate(rows, 8, priors, found);
	CHECK_NEAR(found[MECHANISM_WIRE].ratio, sqrt(0.03), 1e-6);
	CHECK_NEAR(found[MECHANISM_MESSAGE].ratio, sqrt(0.08), 1e-6);
	CHECK_NEAR(found[MECHANISM_TCP].ratio, 0.1, 1e-12);
	/* rows tell of a mechanism as far as their variance comes from it */
	CHECK_NEAR(found[MECHANISM_WIRE].freedom_count, 3, 1e-6);
	CHECK_NEAR(components_variance(&rows[4], found), 0.02, 1e-6);
}

static void evidence_of_the_own_generation_is_left_out(void)
{
	struct arena *arena = arena_new();
	const struct evidence own = evidence_at("local", "a", "kepler", "tf");
	const struct evidence list[] = {evidence_at("local", "b", "volta", "tf"),
					evidence_at("local", "c", "kepler", "mxnet"),
					evidence_at("local", "d", "pascal", "tf")};
	const struct evidence *others;
	CHECK(evidence_of_other_generations(arena, &own, list, 3, &others) == 2);
	CHECK(strcmp(others[0].words[EVIDENCE_TOPOLOGY], "b") == 0);
	CHECK(strcmp(others[1].words[EVIDENCE_TOPOLOGY], "d") == 0);
	arena_free(arena);
}

/* Four rows are measured as 10. Two are inside their intervals, one of them at the end. Errors are
 * 0, 10 %, -50 % and 20 %; half widths 20 %, 1/11, 20 % and 1/12 of the predictions. Scores are
 * widths of 4, 2, 2 and 2, and twenty times the misses of 0, 0, 4 and 1, as parts of 10. */
static void summaries_are_means_over_rows(void)
{
	static const struct estimate predicted[] = {
		{10, 8, 12}, {11, 10, 12}, {5, 4, 6}, {12, 11, 13}};
	static const struct dataset_row row = {.label = "row", .role = ROLE_TEST, .measured = 10};
	static const struct dataset_row low = {.label = "low", .role = ROLE_TEST, .measured = 10};
	static const struct prediction drawn = {.draws_count = 8};
	struct row_outcome rows[4];
	struct arena *arena = arena_new();
	for (size_t i = 0; i < 4; i++)
		rows[i] = (struct row_outcome){.row = i == 2 ? &low : &row,
					       .prediction = &drawn,
					       .predicted = predicted[i],
					       .error = predicted[i].value / 10 - 1};
	const struct dataset dataset = {.row_count = 4};
	const struct dataset_outcome outcome = {.dataset = &dataset, .rows = rows}, *one = &outcome;
	const struct error_summary s = datasets_summary(arena, &one, 1, ROLE_TEST);
	CHECK(s.count == 4 && datasets_summary(arena, &one, 1, ROLE_FIT).count == 0);
	CHECK_NEAR(s.coverage, 2.0 / 4, 1e-12);
	CHECK_NEAR(s.mean_abs, (0 + 0.1 + 0.5 + 0.2) / 4, 1e-12);
	CHECK_NEAR(s.median_abs, (0.1 + 0.2) / 2, 1e-12);
	CHECK_NEAR(s.max_abs, 0.5, 1e-12);
	CHECK_NEAR(s.geomean_abs, pow(1 * 1.1 * 2 * 1.2, 0.25) - 1, 1e-12);
	CHECK_NEAR(s.median_half_width, (0.2 + 1.0 / 11) / 2, 1e-12);
	CHECK_NEAR(s.interval_score, (4 + 2 + (2 + 20 * 4) + (2 + 20 * 1)) / 10.0 / 4, 1e-12);
	CHECK_TEXT(s.worst, "low");
	/* a second dataset has one row, which is measured as 20 and has an equal error upwards */
	static const struct dataset_row far = {.label = "far", .role = ROLE_TEST, .measured = 20};
	struct row_outcome other = {
		.row = &far, .prediction = &drawn, .predicted = {30, 29, 31}, .error = 0.5};
	const struct dataset single = {.row_count = 1};
	const struct dataset_outcome second = {.dataset = &single, .rows = &other},
				     *both[] = {&outcome, &second};
	const struct error_summary all = datasets_summary(arena, both, 2, ROLE_TEST);
	CHECK(all.count == 5 && all.max_abs == 0.5);
	CHECK_TEXT(all.worst, "low");
	CHECK_NEAR(all.coverage, 2.0 / 5, 1e-12);
	CHECK_NEAR(all.mean_abs, (0.8 + 0.5) / 5, 1e-12);
	CHECK_NEAR(all.median_abs, 0.2, 1e-12);
	CHECK_NEAR(all.geomean_abs, pow(1 * 1.1 * 2 * 1.2 * 1.5, 0.2) - 1, 1e-12);
	CHECK_NEAR(all.median_half_width, 1.0 / 11, 1e-12);
	CHECK_NEAR(all.interval_score, ((4 + 2 + 82 + 22) / 10.0 + (2 + 20 * 9) / 20.0) / 5, 1e-12);
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(summaries_are_means_over_rows),
	TEST(distance_grows_with_what_differs),
	TEST(evidence_of_the_own_generation_is_left_out),
	TEST(left_out_system_includes_rows_beyond_one_gpu),
	TEST(errors_follow_from_left_out_systems),
	TEST(model_servers_are_a_class_of_their_own),
	TEST(model_servers_set_the_errors_of_their_iterations),
	TEST(interval_of_an_added_time_is_longer_above_than_below),
	TEST(error_of_forwarding_is_that_of_the_added_time),
	TEST(errors_are_split_by_mechanism),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
