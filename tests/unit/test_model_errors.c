/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Errors of the model from the residuals of fit rows, with a dataset that is written here. */
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calib/fit/errors.h"
#include "sim/analysis/dataset.h"
#include "tests/own_folder.h"

static void link_to(const char *root, const char *name)
{
	char here[PATH_MAX];
	CHECK(getcwd(here, sizeof here) != NULL);
	const char *whole = *root == '/' ? arena_printf(arena, "%s/%s", root, name)
					 : arena_printf(arena, "%s/%s/%s", here, root, name);
	CHECK(symlink(whole, path_of(name)) == 0);
}

static double square_of(enum measure measure, double measured, double predicted)
{
	const struct dataset_row row = {.measure = measure, .measured = measured};
	const struct error_part parts[CASE_PART_COUNT] = {
		{"error.local", 0, 0, 0.8, 0}, {"", 0, 0, 0, 0}, {"error.forwarded", 0, 0, 0.2, 0}};
	return fit_error_row(&row, predicted, parts).square;
}

/* A step of 100 s is predicted, of which forwarding adds 20 s. If it takes 120 s, forwarding adds
 * 40 s, twice as much. If it takes 90 s, the error of the whole is divided by the share. A ratio of
 * 0.5 instead of 0.8 means that 1 s is added to a local second, instead of 0.25 s. */
static void error_of_the_added_time_is_that_of_its_share(void)
{
	CHECK_NEAR(square_of(MEASURE_TIME, 120, 100), pow(0.2 * log(2), 2), 1e-12);
	CHECK_NEAR(square_of(MEASURE_TIME, 90, 100), pow(log(0.9), 2), 1e-12);
	CHECK_NEAR(square_of(MEASURE_RATIO, 0.5, 0.8), pow(0.2 * log(4), 2), 1e-12);
}

/* A ratio and a speedup have no error of one GPU. Without an added part, the error is that of the
 * whole time. A share above 1 acts on the whole. */
static void shares_are_those_of_the_parts(void)
{
	const struct error_part added[CASE_PART_COUNT] = {
		{"error.local", 0, 0, 0.8, 0}, {"error.wire", 0, 0, 0.3, 0}, {"", 0, 0, 0, 0}};
	const struct error_part more[CASE_PART_COUNT] = {
		{"error.local", 0, 0, 0, 0}, {"", 0, 0, 0, 0}, {"error.forwarded", 0, 0, 1.5, 0}};
	for (enum measure m = 0; m <= MEASURE_SPEEDUP; m++) {
		const struct dataset_row row = {.measure = m, .measured = 120};
		const struct error_row error = fit_error_row(&row, 100, added);
		bool ratio = m == MEASURE_RATIO || m == MEASURE_SPEEDUP;
		CHECK_NEAR(error.shares[MECHANISM_LOCAL], ratio ? 0 : 0.8, 1e-12);
		CHECK_NEAR(error.shares[MECHANISM_WIRE], 0.3, 1e-12);
		CHECK_NEAR(error.square, pow(log(1.2), 2), 1e-12);
		CHECK_NEAR(fit_error_row(&row, 100, more).square, pow(log(1.2), 2), 1e-12);
	}
}

/* The profile has, for each mechanism, the error on the same system and one at each distance. */
static void profile_of_errors_has_each_mechanism_and_distance(void)
{
	struct model_errors *errors = ARENA_NEW(arena, struct model_errors);
	struct evidence first = {{"a", "", "b"}}, second = {{"c", "", "b"}};
	for (size_t i = 0; i < EVIDENCE_WORD_COUNT; i++) {
		first.words[i] = first.words[i] ? first.words[i] : "";
		second.words[i] = second.words[i] ? second.words[i] : "";
	}
	for (enum mechanism m = 0; m < MECHANISM_COUNT; m++) {
		errors->same[m] = (struct model_error){0.01 * (m + 1), 3};
		errors->rows_count[m] = 10 + (size_t)m;
		errors->far.of[m][DISTANCE_SAME_KIND] =
			(struct distance_error){{0.1 * (m + 1), 2.5}, 4, 2};
	}
	fit_evidence_add(arena, &errors->evidence, first);
	fit_evidence_add(arena, &errors->evidence, first);
	fit_evidence_add(arena, &errors->evidence, second);
	char *text = NULL;
	size_t size_B;
	FILE *out = open_memstream(&text, &size_B);
	fit_errors_write(out, errors);
	fclose(out);
	for (enum mechanism m = 0; m < MECHANISM_COUNT; m++) {
		CHECK_PART(text,
			   arena_printf(arena,
					"%s\t# %d measurements\n\t{ path = \"%s\"; distance = "
					"\"%s\";\n\t  fit = { value = \"%g\"; freedom = 3; ",
					m ? " }; },\n" : "parameters = (\n", 10 + (int)m,
					mechanism_path(m), distance_name(DISTANCE_SAME_SYSTEM),
					0.01 * (m + 1)));
		CHECK_PART(text,
			   arena_printf(arena,
					",\n\t# 4 rows of 2 systems left out\n\t{ path = \"%s\"; "
					"distance = \"%s\";\n\t  fit = { value = \"%g\"; freedom "
					"= 2.5; ",
					mechanism_path(m), distance_name(DISTANCE_SAME_KIND),
					0.1 * (m + 1)));
	}
	CHECK_PART(text,
		   arena_printf(arena,
				"fitted_on = (\n\t{ %s = \"a\"; %s = \"b\"; },\n\t{ %s = \"c\";",
				evidence_key(0), evidence_key(2), evidence_key(0)));
	CHECK(errors->evidence.list.count == 2);
	free(text);
}

/* Compares errors with those that follow from two forwarded measurements. */
static void check_errors(const struct model_errors *errors, const struct error_row rows[2])
{
	struct model_error priors[MECHANISM_COUNT], found[MECHANISM_COUNT];
	for (size_t m = 0; m < MECHANISM_COUNT; m++)
		priors[m] = (struct model_error){0, 3};
	components_estimate(rows, 2, priors, found);
	CHECK(errors->rows_count[MECHANISM_FORWARDED] == 2);
	for (size_t m = 0; m < MECHANISM_COUNT; m++)
		CHECK_NEAR(errors->same[m].ratio, found[m].ratio, 1e-9);
	CHECK(found[MECHANISM_FORWARDED].ratio > 0 && found[MECHANISM_WIRE].ratio == 0);
}

/* Two stages of a fit used 0.25 and 0.2 of the information of the first measurement, and 0.3 of
 * that of the other one. So 0.55 and 0.7 are left, and the residuals would be larger by their
 * inverse without these rows. */
static void check_leverages(const struct dataset *dataset, struct error_row rows[2])
{
	const double left[] = {0.55, 0.7};
	double used[] = {0.25, 0.3}, more[] = {0.2};
	const char *broken = NULL;
	const struct dataset_row *first[] = {&dataset->rows[0], &dataset->rows[2]},
				 *second[] = {&dataset->rows[1]};
	struct fit_stage_result stages[] = {{.row_count = 2, .rows = first, .leverage = used},
					    {.row_count = 1, .rows = second, .leverage = more}};
	struct fit_result *result = ARENA_NEW(arena, struct fit_result);
	const struct fit_result *results[] = {result};
	for (size_t i = 0; i < 2; i++) {
		rows[i].square /= left[i] * left[i];
		rows[i].known_variance /= left[i] * left[i];
		rows[i].weight = left[i];
	}
	result->stages = stages;
	result->stage_count = 2;
	const struct model_errors *errors = fit_errors(arena, diag, folder, results, 1, 1, &broken);
	if (CHECK(errors && !broken))
		check_errors(errors, rows);
}

/* Two rows of one measurement (equal numbers in a table) count as one. Their squared residuals are
 * averaged, and so are the shares of their mechanisms. Only forwarded rows exist, so the prior is
 * 0. */
static void rows_of_a_measurement_count_once(void)
{
	static const char table[] = "batch\trate\trole\n8\t40\tfit\n16\t40\tfit\n32\t50\tfit\n";
	const char *root = data_root_find(arena), *broken = NULL;
	struct error_row rows[2] = {{.weight = 1, .known_variance = 0.005 * 0.005},
				    {.weight = 1, .known_variance = 0.005 * 0.005}};
	mkdir(path_of("calib"), 0700);
	mkdir(path_of("calib/measured"), 0700);
	link_to(root, "topologies");
	link_to(root, "models");
	link_to(root, "calib/profiles");
	write_file("calib/measured/own.tsv", table);
	write_file("calib/measured/own.cfg",
		   "dataset = { name = \"own\"; title = \"t\"; source = \"s\"; table = "
		   "\"own.tsv\"; value = "
		   "\"rate\"; role_column = \"role\"; label = [\"batch\"]; settings = "
		   "[\"case.topology=t320-same-esxi\", \"case.program=client\", "
		   "\"case.server=server\", "
		   "\"case.runtime=synchronous\"]; columns = ( { column = \"batch\"; setting = "
		   "\"case.batch\"; } ); };\n");
	diag = diag_new(arena);
	const struct dataset *dataset =
		dataset_read(arena, diag, folder, path_of("calib/measured/own.cfg"), NULL, 0);
	const struct model_errors *errors = fit_errors(arena, diag, folder, NULL, 0, 1, &broken);
	for (size_t i = 0; dataset && i < 3; i++) {
		const struct dataset_row *row = &dataset->rows[i];
		double value = dataset_point(arena, diag, row, folder, NULL, 0, 1, NULL, &broken);
		struct dataset_row ratio = *row;
		ratio.measure = MEASURE_RATIO;
		double part = dataset_point(arena, diag, &ratio, folder, NULL, 0, 1, NULL, &broken);
		const struct error_part parts[CASE_PART_COUNT] = {
			{"error.local", 0, 0, part, 0},
			{"", 0, 0, 0, 0},
			{"error.forwarded", 0, 0, 1 - part, 0}};
		const struct error_row one = fit_error_row(row, value, parts);
		struct error_row *sum = &rows[i / 2];
		CHECK(part > 0 && part < 0.95);
		for (size_t m = 0; m < MECHANISM_COUNT; m++)
			sum->shares[m] += one.shares[m] / (i < 2 ? 2 : 1);
		sum->square += one.square / (i < 2 ? 2 : 1);
	}
	diag_print(diag, stdout);
	if (CHECK(dataset && errors && !broken)) {
		check_errors(errors, rows);
		check_leverages(dataset, rows);
	}
	static const char *const made[] = {"calib/measured/own.tsv", "calib/measured/own.cfg",
					   "calib/profiles", "models", "topologies"};
	for (size_t i = 0; i < sizeof made / sizeof made[0]; i++)
		unlink(path_of(made[i]));
	rmdir(path_of("calib/measured"));
	rmdir(path_of("calib"));
}

/* In a closed loop almost all time passes in iterations: if all of them take 1 % longer, so do both
 * numbers. Each request has one first token, which needs an iteration with a prompt. */
static void shares_of_a_server_are_those_of_its_iterations(void)
{
	const char *root = data_root_find(arena);
	diag = diag_new(arena);
	const struct dataset *dataset = dataset_read(arena, diag, root, "serving_silicon", NULL, 0);
	struct error_part parts[2][CASE_PART_COUNT];
	if (!CHECK(dataset != NULL))
		return;
	for (size_t i = 0; i < 2; i++) {
		const struct dataset_row *row = &dataset->rows[i];
		CHECK(row->measure == (i ? MEASURE_TOKEN : MEASURE_FIRST_TOKEN));
		fit_serving_parts(arena, diag, row, root, 1, parts[i]);
		CHECK_TEXT(parts[i][0].mechanism, "error.token");
		CHECK_TEXT(parts[i][1].mechanism, "error.prompt");
		CHECK_NEAR(parts[i][0].share + parts[i][1].share, 1, 0.05);
	}
	CHECK(parts[0][1].share > 0.9);
	CHECK(parts[1][0].share > 0.2 && parts[1][1].share < parts[0][1].share);
}

/* Rows of training that take long set no error; those of model servers do. */
static void slow_rows_count_if_they_are_of_model_servers(void)
{
	static const char *const names[] = {"megatron_papers", "serving_silicon", "ddl_p100"};
	const char *root = data_root_find(arena);
	diag = diag_new(arena);
	for (size_t i = 0; i < 3; i++) {
		const struct dataset *dataset = dataset_read(arena, diag, root, names[i], NULL, 0);
		if (!CHECK(dataset && dataset->slow == (i < 2)))
			return;
		CHECK(systems_include(diag, dataset, root) == (i > 0));
	}
}

static const struct test tests[] = {
	TEST(slow_rows_count_if_they_are_of_model_servers),
	TEST(shares_of_a_server_are_those_of_its_iterations),
	TEST(shares_are_those_of_the_parts),
	TEST(profile_of_errors_has_each_mechanism_and_distance),
	TEST(error_of_the_added_time_is_that_of_its_share),
	TEST(rows_of_a_measurement_count_once),
};

int main(void)
{
	if (!folder_begin())
		return 1;
	int failed = TEST_MAIN(tests);
	folder_end();
	return failed;
}
