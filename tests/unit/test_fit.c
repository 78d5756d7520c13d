/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fits: rows of any quantity, the rows and earlier results that a stage uses, the content of
 * profiles, and refused input. */
#include <sys/stat.h>

#include "calib/fit/errors.h"
#include "calib/fit/fit.h"
#include "tests/own_folder.h"

/* One V100. The fit determines the efficiency of its kernels and their gaps. The test row would
 * move the first fit far away. */
static const char table[] = "name\tquantity\tvalue\trole\n"
			    "a\trate\t1200\tfit\n"
			    "a\trate\t100\ttest\n"
			    "ab\trate\t900\tfit\n"
			    "b\tms\t50\tfit\n"
			    "c\trate\t1150\tfit\n"
			    "d\tpair\t1000\tfit\n"
			    "e\tpair\t1400\tfit\n"
			    "f\todd\t1200\tfit\n"
			    "g\todd\t1200\tfit\n";
static const char dataset[] =
	"dataset = { name = \"own\"; title = \"t\"; source = \"s\"; table = \"table.tsv\";\n"
	"value = \"value\"; role_column = \"role\"; label = [\"name\", \"quantity\"];\n"
	"value_unit = \"ms\"; quantity_column = \"quantity\"; quantities = (\n"
	"{ is = \"rate\"; quantity = \"throughput\"; }, { is = \"ms\"; quantity = \"time\"; },\n"
	"{ is = \"pair\"; quantity = \"throughput\"; }, { is = \"odd\"; quantity = \"throughput\"; "
	"} );\n"
	"columns = ( { column = \"name\"; otherwise = []; values = (\n"
	"{ is = \"d\"; settings = [\"case.profile=d\"]; },\n"
	"{ is = \"e\"; settings = [\"case.profile=e\"]; },\n"
	"{ is = \"g\"; settings = [\"case.gpu=nowhere\"]; } ); } );\n"
	"settings = [\"case.topology=gpu-pool\", \"case.model=alexnet_tf\", \"case.batch=64\",\n"
	"\"case.runtime=none\", \"case.stack=pytorch\"]; };\n";

static const char efficiency[] = "efficiency.v100-sxm2.alexnet_tf.peak";
static const char gap[] = "gpu.v100-sxm2.kernel_gap";

/* Returns a stage on the rows of a name, for a profile, with one parameter. */
static const char *stage(const char *profile, const char *more, const char *row, const char *path,
			 const char *range)
{
	return arena_printf(arena,
			    "{ profile = %s; %s dataset = \"%s\"; rows = [\"%s\"]; note = \"n\";\n"
			    "parameters = ( { path = \"%s\"; %s } ); }",
			    profile, more, path_of("own.cfg"), row, path, range);
}

static const char in_ratio[] = "start = \"0.5\"; low = \"0.05\"; high = \"4\";";
static const char in_time[] = "start = \"20 us\"; low = \"1 us\"; high = \"1 ms\";";

static const struct fit_result *run_file(const char *text)
{
	const char *broken;
	diag = diag_new(arena);
	write_file("fit.cfg", text);
	const struct fit_result *result =
		fit_run(arena, diag, data_root_find(arena), path_of("fit.cfg"), 1, NULL, &broken);
	remove(path_of("fit.cfg"));
	return result;
}

static const struct fit_result *run(const char *stages)
{
	return run_file(arena_printf(arena, "fit = { stages = ( %s ); };\n", stages));
}

/* Predicts row `index` of the dataset with two parameters. */
static double predict(size_t index, double peak, double gap_s)
{
	static const struct setting none = {"case.profile=", {"test", 0}};
	const struct draw_value draws[] = {{efficiency, peak}, {gap, gap_s}};
	const char *broken = NULL;
	const struct dataset *own =
		dataset_read(arena, diag, data_root_find(arena), path_of("own.cfg"), &none, 1);
	return own ? dataset_point(arena, diag, &own->rows[index], data_root_find(arena), draws,
				   gap_s > 0 ? 2 : 1, 1, NULL, &broken)
		   : NAN;
}

static void stage_uses_its_rows_and_earlier_results(void)
{
	const char *stages = arena_printf(
		arena, "%s, %s, %s", stage("[\"one\", \"other\"]", "", "a", efficiency, in_ratio),
		stage("\"two\"", "", "b", efficiency, in_ratio),
		stage("\"three\"", "with = [\"one\"];", "c", gap, in_time));
	const struct fit_result *result = run(stages);
	diag_print(diag, stdout);
	if (!CHECK(result && result->count == 3 && result->stage_count == 3))
		return;
	const struct fitted_parameter *p = result->parameters;
	/* "a" does not match "ab", and the test row of "a" is not used */
	CHECK(result->stages[0].row_count == 1);
	CHECK_NEAR(predict(0, p[0].value, 0), 1200, 2e-3);
	/* a time is fitted as a time: 64 images in 50 ms are 1280 images/s */
	CHECK_NEAR(predict(3, p[1].value, 0), 0.050, 2e-3);
	CHECK(p[1].value > p[0].value);
	/* the third stage uses the result of the first, not of the second */
	CHECK_NEAR(predict(4, p[0].value, p[2].value), 1150, 2e-3);
	CHECK(fabs(predict(4, p[1].value, p[2].value) / 1150 - 1) > 0.02);
	for (size_t i = 0; i < 3; i++)
		CHECK(p[i].low < p[i].value && p[i].value < p[i].high);
}

/* One row is "a" and one is "b"; no row is both. */
static void list_in_rows_stands_for_any_of_its_texts(void)
{
	const char *text = arena_printf(
		arena,
		"{ profile = \"one\"; dataset = \"%s\"; rows = ((\"a\", \"b\")); note = \"n\";\n"
		"parameters = ( { path = \"%s\"; %s } ); }",
		path_of("own.cfg"), efficiency, in_ratio);
	const struct fit_result *result = run(text);
	CHECK(result && result->stages[0].row_count == 2);
}

/* Two GPUs of different speed and one gap for both: each row is predicted with the speed of the
 * profile that it names. */
static void each_row_uses_the_profile_that_it_names(void)
{
	const char *stages =
		arena_printf(arena, "%s, %s, %s", stage("\"d\"", "", "d", efficiency, in_ratio),
			     stage("\"e\"", "", "e", efficiency, in_ratio),
			     stage("[\"d\", \"e\"]", "", "quantity=pair", gap, in_time));
	const struct fit_result *result = run(stages);
	diag_print(diag, stdout);
	if (!CHECK(result && result->stage_count == 3))
		return;
	CHECK(result->stages[2].row_count == 2);
	CHECK(result->stages[2].rms_ratio < 0.005);
}

static char *profile_text(const struct fit_result *result, const char *profile)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	fit_profile_write(out, arena, result, profile, "fit");
	fclose(out);
	return text;
}

static void profile_contains_the_results_of_its_stages(void)
{
	const struct fit_result *result =
		run(stage("[\"one\", \"other\"]", "", "a", efficiency, in_ratio));
	if (!CHECK(result && result->profile_count == 2))
		return;
	char *one = profile_text(result, "one"), *other = profile_text(result, "other"),
	     *none = profile_text(result, "none");
	CHECK_TEXT(one, other);
	CHECK(strstr(one, efficiency) && strstr(one, "1 rows") && strstr(one, "a quantity=rate"));
	CHECK(!strstr(none, efficiency));
	free(one);
	free(other);
	free(none);
}

static struct evidence of_system(const char *system, const char *kind)
{
	struct evidence evidence;
	for (size_t i = 0; i < EVIDENCE_WORD_COUNT; i++)
		evidence.words[i] = "";
	evidence.words[EVIDENCE_SYSTEM] = system;
	evidence.words[EVIDENCE_KIND] = kind;
	return evidence;
}

/* The second stage sees the first one, so its parameters depend on the systems of both. A system
 * with more than one local GPU has a mark. The parameter z follows x of the first stage. Profile p
 * has this x itself, so another parameter of the same name does not count there. Profile q has no
 * x, so both count. */
static void profile_names_systems_correlations_and_follows(void)
{
	const struct param_row time = {.quantity = QUANTITY_TIME},
			       ratio = {.quantity = QUANTITY_RATIO};
	const char *p_only[] = {"p"}, *both[] = {"p", "q"}, *label[] = {"r"},
		   *labels[] = {"a", "b", "c", "d"};
	const struct evidence first[] = {of_system("A", "local")},
			      second[] = {of_system("B", "training"), of_system("B", "local"),
					  of_system("B", "training"), of_system("A", "local")};
	bool seen[] = {true};
	struct fit_stage_result stages[] = {
		{p_only, 1, 0, 1, 1, 0.01, label, NULL, NULL, first, NULL},
		{both, 2, 1, 2, 4, 0.02, labels, NULL, NULL, second, seen}};
	const double correlation = -0.5;
	const struct fitted_follow follows[] = {{"x", 0.25, 0}, {"x", 0.75, 9}, {"w", 2, SIZE_MAX}};
	struct fit_result *result = ARENA_NEW(arena, struct fit_result);
	result->count = 3;
	result->stages = stages;
	result->stage_count = 2;
	result->parameters[0] = (struct fitted_parameter){
		.path = "x", .row = &time, .value = 2e-6, .low = 1e-6, .high = 4e-6, .note = "n"};
	result->parameters[1] = (struct fitted_parameter){.path = "y",
							  .row = &ratio,
							  .value = 0.5,
							  .low = 0.4,
							  .high = 0.6,
							  .freedom_count = 3,
							  .note = "m"};
	result->parameters[2] = (struct fitted_parameter){.path = "z",
							  .row = &ratio,
							  .value = 0.7,
							  .low = 0.6,
							  .high = 0.8,
							  .correlations = &correlation,
							  .follows = follows,
							  .follow_count = 3,
							  .note = "l"};
	char *p = profile_text(result, "p"), *q = profile_text(result, "q");
	const char *x =
		"\t# 1 parameters on 1 rows, rms error 1.00 %: r\n\t{ path = \"x\";\n"
		"\t  systems = [\"A\"];\n\t  fit = { value = \"2e-06 s\"; low = \"1e-06 s\"; "
		"high = \"4e-06 s\";\n\t    origin = \"fitted\"; note = \"n\"; }; },\n";
	const char *y =
		"\t# 2 parameters on 4 rows, rms error 2.00 %: a; b; c; and 1 more\n"
		"\t{ path = \"y\";\n\t  systems = [\"A\", \"B" EVIDENCE_BEYOND "\", \"B\"];\n"
		"\t  fit = { value = \"0.5\"; low = \"0.4\"; high = \"0.6\"; freedom = 3;\n"
		"\t    origin = \"fitted\"; note = \"m\"; }; },\n\t{ path = \"z\";\n";
	const char *z = "high = \"0.8\";\n\t    correlated = ( { path = \"y\"; by = -0.5; } );\n"
			"\t    follows = ( { path = \"x\"; by = 0.25; },\n\t\t";
	CHECK_PART(p, x);
	CHECK_PART(p, y);
	CHECK_PART(p, arena_printf(arena, "%s{ path = \"w\"; by = 2; } );", z));
	CHECK(!strstr(q, x));
	CHECK_PART(q, y);
	CHECK_PART(q, arena_printf(arena, "%s{ path = \"x\"; by = 0.75; },\n\t\t", z));
	free(p);
	free(q);
}

/* Three rows of the same case cannot tell the efficiency of its kernels from their gaps. The less
 * sensitive of the two, which is the gap, is left out, and the throughput determines the other. */
static void parameters_that_rows_do_not_tell_apart_are_left_out(void)
{
	static const struct setting none = {"case.profile=", {"test", 0}};
	const struct fit_offer offers[] = {{efficiency, 0.5, 0.05, 4}, {gap, 200e-6, 1e-6, 1e-2}};
	const char *broken = NULL;
	diag = diag_new(arena);
	const struct dataset *own =
		dataset_read(arena, diag, data_root_find(arena), path_of("own.cfg"), &none, 1);
	if (!CHECK(own != NULL))
		return;
	const struct dataset_row *rows[] = {&own->rows[0], &own->rows[2], &own->rows[4],
					    &own->rows[0]};
	const struct fit_rows_request request = {rows, 4, offers, 2, "own", "n"};
	const struct fit_result *result =
		fit_rows(arena, diag, data_root_find(arena), &request, 1, NULL, &broken);
	diag_print(diag, stdout);
	if (CHECK(result && !broken && result->count == 1)) {
		CHECK_TEXT(result->parameters[0].path, efficiency);
		CHECK(result->parameters[0].low > 0.05 && result->parameters[0].high < 4);
	}
}

/* Four batch sizes, predicted with an efficiency of 0.5 and gaps of 200 us, determine both. Their
 * leverages are the diagonal of the projection on the parameters, so they add up to two. */
static void planted_parameters_are_found_and_leverages_add_up(void)
{
	static const char *const batches[] = {"case.batch=8", "case.batch=32", "case.batch=128",
					      "case.batch=512"};
	static const struct setting none = {"case.profile=", {"test", 0}};
	const struct fit_offer offers[] = {{efficiency, 0.3, 0.05, 4}, {gap, 100e-6, 1e-6, 1e-2}};
	const char *broken = NULL, *root = data_root_find(arena);
	diag = diag_new(arena);
	const struct dataset *own = dataset_read(arena, diag, root, path_of("own.cfg"), &none, 1);
	if (!CHECK(own != NULL))
		return;
	struct dataset_row changed[4];
	const struct dataset_row *rows[4];
	for (size_t i = 0; i < 4; i++) {
		const struct dataset_row *like = &own->rows[0];
		const struct draw_value planted[] = {{efficiency, 0.5}, {gap, 200e-6}};
		struct setting *settings =
			ARENA_ARRAY(arena, like->setting_count + 1, struct setting);
		memcpy(settings, like->settings, like->setting_count * sizeof *settings);
		settings[like->setting_count] = (struct setting){batches[i], {"test", 0}};
		changed[i] = *like;
		changed[i].settings = settings;
		changed[i].setting_count++;
		changed[i].measured =
			dataset_point(arena, diag, &changed[i], root, planted, 2, 1, NULL, &broken);
		rows[i] = &changed[i];
	}
	CHECK(changed[3].measured > changed[0].measured);
	const struct fit_rows_request request = {rows, 4, offers, 2, "own", "n"};
	const struct fit_result *result = fit_rows(arena, diag, root, &request, 1, NULL, &broken);
	diag_print(diag, stdout);
	if (!CHECK(result && !broken && result->count == 2))
		return;
	CHECK_NEAR(result->parameters[0].value, 0.5, 0.01);
	CHECK_NEAR(result->parameters[1].value, 200e-6, 0.01);
	double sum = 0;
	for (size_t i = 0; i < 4; i++)
		sum += result->stages[0].leverage[i];
	CHECK_NEAR(sum, 2, 1e-6);
}

/* Fits the efficiency to three measurements of one case, of which two deviate by +-ratio. Returns
 * the distance of the interval's upper end from the value, on the scale of the measurements. */
static double own_interval(double ratio)
{
	static const struct setting none = {"case.profile=", {"test", 0}};
	const struct fit_offer offer = {efficiency, 0.5, 0.05, 4};
	const char *broken = NULL, *root = data_root_find(arena);
	diag = diag_new(arena);
	const struct dataset *own = dataset_read(arena, diag, root, path_of("own.cfg"), &none, 1);
	if (!CHECK(own != NULL))
		return NAN;
	struct dataset_row changed[3];
	const struct dataset_row *rows[3];
	for (int i = 0; i < 3; i++) {
		changed[i] = own->rows[0];
		changed[i].measured = 1200 * exp(ratio * (i - 1));
		rows[i] = &changed[i];
	}
	const struct fit_rows_request request = {rows, 3, &offer, 1, "own", "n"};
	const struct fit_result *result = fit_rows(arena, diag, root, &request, 1, NULL, &broken);
	diag_print(diag, stdout);
	if (!CHECK(result && !broken && result->count == 1))
		return NAN;
	const struct fitted_parameter *p = &result->parameters[0];
	double slope = log(predict(0, p->value * 1.02, 0) / predict(0, p->value / 1.02, 0)) /
		       (2 * log(1.02));
	return log(p->high / p->value) * slope;
}

/* The deviation of a mean of three with residuals of -0.1, 0 and 0.1 is 0.1 / sqrt(3), and the 95 %
 * point of Student's t with 2 degrees of freedom is 2.920. Deviations below the scatter of
 * measurements do not make the interval smaller. */
static void interval_of_an_own_fit_follows_from_the_deviations(void)
{
	CHECK_NEAR(own_interval(0.1), 2.920 * 0.1 / sqrt(3), 0.01);
	CHECK_NEAR(own_interval(1e-3), own_interval(1e-4), 0.01);
}

static void check_said(const void *result, const char *part)
{
	CHECK(!result && diag_count(diag) > 0);
	if (diag_count(diag) > 0)
		CHECK_PART(diag_at(diag, 0), part);
}

static void check_refused(const char *stages, const char *part)
{
	check_said(run(stages), part);
}

static void malformed_fits_are_refused(void)
{
	check_refused(stage("\"p\"", "", "nowhere", efficiency, in_ratio), "no row of role fit");
	check_refused(stage("\"p\"", "", "a", "gpu.v100-sxm2.gap", in_time),
		      "have no numeric parameter 'gpu.v100-sxm2.gap'");
	check_refused(stage("\"p\"", "", "a", gap, in_ratio), "start");
	check_refused(
		stage("\"p\"", "", "a", efficiency, "start = \"0\"; low = \"0.1\"; high = \"1\";"),
		"must be above zero");
	check_refused(stage("(\"p\", 2)", "", "a", efficiency, in_ratio),
		      "a list of at most 256 names");
	check_refused(stage("\"p\"", "witth = [\"q\"];", "a", efficiency, in_ratio),
		      "unknown key 'witth'");
	const char *many = "", *names = "";
	for (int i = 0; i < 7; i++)
		many = arena_printf(arena, "%s%s{ path = \"%s\"; %s }", many, i ? ", " : "",
				    efficiency, in_ratio);
	check_refused(arena_printf(arena,
				   "{ profile = \"p\"; dataset = \"%s\"; rows = [\"a\"];\n"
				   "note = \"n\"; parameters = ( %s ); }",
				   path_of("own.cfg"), many),
		      "fit.cfg:1: fit: a stage must have 1 to 6 parameters, and all stages 160");
	for (int i = 0; i < 257; i++)
		names = arena_printf(arena, "%s%s\"p%d\"", names, i ? ", " : "", i);
	check_refused(stage(arena_printf(arena, "[%s]", names), "", "a", efficiency, in_ratio),
		      "a list of at most 256 names");
	check_said(run_file("fit = { };\n"),
		   "fit.cfg: the file has no list of stages (write fit = {");
	check_refused("{ dataset = \"d\"; }",
		      "fit.cfg:1: fit: profile is missing (write profile = \"...\")");
	check_refused(arena_printf(arena,
				   "{ profile = \"p\"; dataset = \"%s\"; rows = [\"a\"];\n"
				   "note = \"n\"; parameters = ( ); }",
				   path_of("own.cfg")),
		      "fit.cfg:1: fit: a stage must have 1 to");
}

/* The case of row g is invalid. The error appears when the stage is read, if g is its first row, or
 * when it is predicted. */
static void rows_with_an_invalid_case_are_refused(void)
{
	check_refused(stage("\"p\"", "", "g", efficiency, in_ratio), "'nowhere'");
	check_refused(stage("\"p\"", "", "quantity=odd", efficiency, in_ratio), "'nowhere'");
}

/* A measured row without a valid case prevents the estimate of the model's error. */
static void model_error_needs_valid_cases(void)
{
	const char *broken;
	write_file("calib/measured/wrong.cfg", dataset);
	write_file("calib/measured/table.tsv", "name\tquantity\tvalue\trole\ng\todd\t1\tfit\n");
	diag = diag_new(arena);
	check_said(fit_errors(arena, diag, folder, NULL, 0, 1, &broken), "'gpu-pool'");
	remove(path_of("calib/measured/wrong.cfg"));
	remove(path_of("calib/measured/table.tsv"));
}

/* A step that reads 32 images of 115 kB from a disk takes 3.68 MB / bandwidth. The claim says that
 * it takes two to four times as long as the step with synthetic images, so the bandwidth lies
 * between 3.68 MB / (4 steps) and 3.68 MB / (2 steps). */
static const char ranges[] =
	"dataset = { name = \"ranges\"; title = \"t\"; source = \"s\"; quantity = \"time\";\n"
	"settings = [\"case.topology=closer2018-gtx1080\", \"case.gpus=1\", "
	"\"case.model=resnet50\",\n"
	"\"case.batch=32\", \"case.stack=pytorch\", \"exchange.noise=0\", \"input.decode=0 s\"];\n"
	"dimensions = ( { name = \"data\"; values = (\n"
	"{ is = \"gpu\"; settings = [\"input.source=gpu\"]; },\n"
	"{ is = \"disk\"; settings = [\"input.source=sata-ssd\"]; } ); } );\n"
	"claims = ( { claim = \"slow disk\"; kind = \"range\"; low = 2.0; high = 4.0;\n"
	"role = \"fit\"; where = { data = \"disk\"; }; over = { data = \"gpu\"; }; } ); };\n";

static const struct fitted_parameter *fit_range(double start_Bps)
{
	const struct fit_result *result = run(arena_printf(
		arena,
		"{ profile = \"p\"; dataset = \"%s\"; rows = [\"slow disk\"]; note = \"n\";\n"
		"parameters = ( { path = \"storage.bandwidth\"; start = \"%.9g B/s\"; low = \"1 "
		"MB/s\";"
		"high = \"1 GB/s\"; } ); }",
		path_of("ranges.cfg"), start_Bps));
	return result ? &result->parameters[0] : NULL;
}

static void prior_decides_among_the_values_of_a_range(void)
{
	write_file("ranges.cfg", ranges);
	diag = diag_new(arena);
	const struct dataset *own =
		dataset_read(arena, diag, data_root_find(arena), path_of("ranges.cfg"), NULL, 0);
	diag_print(diag, stdout);
	CHECK(own && own->observation_count == 1 && own->row_count == 2);
	const char *broken = NULL;
	double step_s = own ? dataset_point(arena, diag, &own->rows[0], data_root_find(arena), NULL,
					    0, 1, NULL, &broken)
			    : NAN;
	double low_Bps = 32 * 115e3 / 4 / step_s, high_Bps = 32 * 115e3 / 2 / step_s;
	double middle_Bps = sqrt(low_Bps * high_Bps);

	const struct fitted_parameter *inside = fit_range(middle_Bps);
	CHECK(inside && inside->low > low_Bps * 0.999 && inside->high < high_Bps * 1.001);
	if (inside)
		CHECK_NEAR(inside->value, middle_Bps, 2e-3);
	/* A prior above the range leaves the upper end, and one below it the lower end. */
	const struct fitted_parameter *above = fit_range(4 * high_Bps);
	CHECK(above && above->value > 0.9 * high_Bps && above->value < 1.001 * high_Bps);
	const struct fitted_parameter *below = fit_range(low_Bps / 4);
	CHECK(below && below->value < 1.1 * low_Bps && below->value > 0.999 * low_Bps);
	remove(path_of("ranges.cfg"));
}

static const struct test tests[] = {
	TEST(stage_uses_its_rows_and_earlier_results),
	TEST(list_in_rows_stands_for_any_of_its_texts),
	TEST(each_row_uses_the_profile_that_it_names),
	TEST(profile_contains_the_results_of_its_stages),
	TEST(profile_names_systems_correlations_and_follows),
	TEST(parameters_that_rows_do_not_tell_apart_are_left_out),
	TEST(planted_parameters_are_found_and_leverages_add_up),
	TEST(interval_of_an_own_fit_follows_from_the_deviations),
	TEST(malformed_fits_are_refused),
	TEST(rows_with_an_invalid_case_are_refused),
	TEST(model_error_needs_valid_cases),
	TEST(prior_decides_among_the_values_of_a_range),
};

int main(void)
{
	if (!folder_begin())
		return 1;
	write_file("table.tsv", table);
	write_file("own.cfg", dataset);
	mkdir(path_of("calib"), 0777);
	mkdir(path_of("calib/measured"), 0777);
	int code = TEST_MAIN(tests);
	remove(path_of("table.tsv"));
	remove(path_of("own.cfg"));
	rmdir(path_of("calib/measured"));
	rmdir(path_of("calib"));
	folder_end();
	return code;
}
