/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fits of single kernels to rows that farwire itself predicts with planted constants. A test of one
 * outlier has exact numbers, because its residual counts as 0.4 wherever the fit ends. */
#include "calib/fit/fit.h"
#include "tests/own_folder.h"

static const char own[] =
	"dataset = { name = \"own\"; title = \"t\"; source = \"s\"; table = \"table.tsv\";\n"
	"value = \"value\"; value_unit = \"ms\"; quantity = \"time\"; role_column = \"role\";\n"
	"label = [\"gpu\", \"m\"]; settings = [\"kernel.type=bf16\", \"kernel.n=8192\", "
	"\"kernel.k=8192\"];\n"
	"columns = ( { column = \"gpu\"; values = (\n"
	"{ is = \"h100\"; settings = [\"case.topology=dgx-h100\"]; },\n"
	"{ is = \"a100\"; settings = [\"case.topology=dgx-a100\"]; } ); },\n"
	"{ column = \"m\"; setting = \"kernel.m\"; } ); };\n";

enum { SIZES = 8 };
static const char product[] = "kernels.hopper.product_half";

/* Writes rows of both GPUs with these times, and reads the dataset. */
static const struct dataset *rows_with(const double values_s[2 * SIZES])
{
	static const struct setting none = {"case.profile=", {"test", 0}};
	const char *text = "gpu\tm\tvalue\trole\n";
	for (int i = 0; i < 2 * SIZES; i++)
		text = arena_printf(arena, "%s%s\t%d\t%.12g\tfit\n", text,
				    i < SIZES ? "h100" : "a100", 1024 * (1 + i % SIZES),
				    1e3 * values_s[i]);
	write_file("table.tsv", text);
	return dataset_read(arena, diag, data_root_find(arena), path_of("own.cfg"), &none, 1);
}

/* Predicts all rows with 0.7 for Hopper, and the shipped constant for Ampere. */
static void predict(const struct dataset *dataset, double values_s[2 * SIZES])
{
	const struct draw_value planted = {product, 0.7};
	const char *broken = NULL;
	for (size_t i = 0; dataset && i < 2 * SIZES; i++)
		values_s[i] = dataset_point(arena, diag, &dataset->rows[i], data_root_find(arena),
					    &planted, 1, 1, NULL, &broken);
}

static const struct fit_result *fitted(void)
{
	const char *broken = NULL;
	write_file("fit.cfg",
		   arena_printf(
			   arena,
			   "fit = { stages = ( { profile = \"p\"; dataset = \"%s\"; rows = [ ];\n"
			   "note = \"n\"; parameters = (\n"
			   "{ path = \"%s\"; start = \"0.4\"; low = \"0.05\"; high = \"1\"; } ); } "
			   "); };\n",
			   path_of("own.cfg"), product));
	const struct fit_result *result =
		fit_run(arena, diag, data_root_find(arena), path_of("fit.cfg"), 1, NULL, &broken);
	remove(path_of("fit.cfg"));
	diag_print(diag, stdout);
	CHECK(!broken);
	return result;
}

/* The outlier's residual does not change with the constant, so it does not change the interval.
 */
static void the_constant_of_a_generation_follows_from_its_own_rows(void)
{
	double values_s[2 * SIZES];
	for (size_t i = 0; i < 2 * SIZES; i++)
		values_s[i] = 1;
	diag = diag_new(arena);
	write_file("own.cfg", own);
	predict(rows_with(values_s), values_s);
	values_s[3] *= 10;
	CHECK(rows_with(values_s) != NULL);
	const struct fit_result *result = fitted();
	if (CHECK(result && result->count == 1)) {
		const struct fitted_parameter *p = result->parameters;
		const struct fit_stage_result *stage = result->stages;
		CHECK_NEAR(p->value, 0.7, 1e-3);
		CHECK(p->low > 0.69 && p->high < 0.71 && !(p->freedom_count > 0));
		CHECK(stage->row_count == 2 * SIZES);
		CHECK_NEAR(stage->rms_ratio, 0.4 / sqrt(2 * SIZES), 1e-3);
		double used = 0;
		for (size_t i = 0; i < SIZES; i++)
			used += stage->leverage[i];
		CHECK_NEAR(used, 1, 1e-6);
		CHECK(!(stage->leverage[3] > 0) && !(stage->leverage[SIZES] > 0));
		for (size_t i = 0; i < 2 * SIZES; i++)
			CHECK_TEXT(stage->evidence[i].words[EVIDENCE_GPU],
				   i < SIZES ? "h100-sxm5" : "a100-sxm4-80");
	}
	remove(path_of("own.cfg"));
	remove(path_of("table.tsv"));
}

/* Returns a stage on the largest product, or on the smallest one for the time of its first tile. */
static const char *stage(const char *profile, const char *more, bool small)
{
	return arena_printf(
		arena,
		"{ profile = %s; %s dataset = \"%s\"; rows = [\"h100\", \"m=%d\"]; note = "
		"\"n\";\nparameters = ( { path = \"%s\"; start = \"%s\"; low = \"%s\"; high "
		"= \"%s\"; } ); }",
		profile, more, path_of("own.cfg"), small ? 1024 : 1024 * SIZES,
		small ? "kernels.hopper.fill" : product, small ? "1 us" : "0.4",
		small ? "0.1 us" : "0.05", small ? "10 us" : "1");
}

/* The second stage has the profile of the first one, so it uses its result without `with`. The
 * third names the second one's other profile, and sees the first one through it. The last one sees
 * none. */
static void stages_see_those_of_their_profiles_and_what_these_see(void)
{
	double values_s[2 * SIZES];
	const char *broken = NULL;
	for (size_t i = 0; i < 2 * SIZES; i++)
		values_s[i] = 1;
	diag = diag_new(arena);
	write_file("own.cfg", own);
	predict(rows_with(values_s), values_s);
	rows_with(values_s);
	write_file("fit.cfg",
		   arena_printf(arena, "fit = { stages = ( %s, %s, %s, %s ); };\n",
				stage("\"one\"", "", false), stage("[\"one\", \"more\"]", "", true),
				stage("\"three\"", "with = [\"nobody\", \"more\"];", false),
				stage("\"four\"", "", false)));
	const struct fit_result *result =
		fit_run(arena, diag, data_root_find(arena), path_of("fit.cfg"), 1, NULL, &broken);
	diag_print(diag, stdout);
	if (CHECK(result && !broken && result->stage_count == 4)) {
		const struct fit_stage_result *s = result->stages;
		CHECK(s[1].seen[0] && s[2].seen[1] && s[2].seen[0]);
		CHECK(!s[3].seen[0] && !s[3].seen[1] && !s[3].seen[2]);
		for (size_t i = 0; i < 4; i++)
			CHECK(s[i].row_count == 1 && s[i].rms_ratio < 1e-4);
		CHECK_NEAR(result->parameters[3].value, result->parameters[0].value, 1e-9);
	}
	remove(path_of("fit.cfg"));
	remove(path_of("own.cfg"));
	remove(path_of("table.tsv"));
}

static const struct test tests[] = {
	TEST(stages_see_those_of_their_profiles_and_what_these_see),
	TEST(the_constant_of_a_generation_follows_from_its_own_rows),
};

int main(void)
{
	if (!folder_begin())
		return 1;
	int failed = TEST_MAIN(tests);
	folder_end();
	return failed;
}
