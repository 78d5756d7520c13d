/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests that `validate` prints each number in its own place, with outcomes that are made up. */
#include "sim/base/arena.h"
#include "sim/report/validation.h"
#include "tests/test.h"

static struct arena *arena;

static struct error_summary summary(size_t count, double first, const char *worst)
{
	return (struct error_summary){.count = count,
				      .median_abs = first,
				      .max_abs = first + 0.01,
				      .mean_abs = first + 0.02,
				      .geomean_abs = first + 0.03,
				      .coverage = first + 0.04,
				      .median_half_width = first + 0.05,
				      .interval_score = first + 0.06,
				      .worst = worst};
}

/* Two rows were measured, a third one failed, and the last has a range of other tools. The rows are
 * also predicted beside them under two other sets of settings. */
struct world {
	struct prediction good, bad;
	struct dataset_row rows[4];
	struct row_outcome outcomes[4], other[2][4], *beside[2];
	struct beside titles[2];
	struct claim claims[2];
	struct claim_outcome judged[2];
	double values[2][2];
	struct group_summary groups[2];
	struct param_row param_row;
	struct cfg_param param;
	const struct cfg_param *fitted[1];
	struct pencil_summary pencils[1];
	struct dataset dataset;
	struct dataset_outcome outcome;
};

static void set_rows(struct world *w)
{
	w->good = (struct prediction){
		.ok = true, .bottleneck = "kernel-bound", .gpu_utilization = estimate_exact(0.75)};
	w->bad = (struct prediction){.reason = "timeout", .gpu_utilization = ESTIMATE_NONE};
	w->rows[0] = (struct dataset_row){.label = "a", .role = ROLE_TEST, .measured = 100};
	w->rows[1] = (struct dataset_row){.label = "b", .role = ROLE_FIT, .measured = 50};
	w->rows[2] = (struct dataset_row){
		.label = "c", .role = ROLE_TEST, .measured = NAN, .failure = "FAIL:net"};
	w->rows[3] = (struct dataset_row){
		.label = "d", .role = ROLE_REPORT, .measured = NAN, .measured_text = "1.0..1.1"};
	for (size_t i = 0; i < 4; i++) {
		bool works = i != 2;
		struct row_outcome row = {.row = &w->rows[i],
					  .prediction = works ? &w->good : &w->bad,
					  .predicted = ESTIMATE_NONE,
					  .error = NAN,
					  .agrees = !works};
		w->outcomes[i] = w->other[0][i] = w->other[1][i] = row;
		w->other[0][i].predicted = works ? estimate_exact(200 + (double)i) : ESTIMATE_NONE;
		w->other[1][i].predicted = works ? estimate_exact(300 + (double)i) : ESTIMATE_NONE;
	}
	w->outcomes[0].predicted = (struct estimate){110, 105, 120};
	w->outcomes[0].error = 0.1;
	w->outcomes[1].predicted = estimate_exact(40);
	w->outcomes[1].error = -0.2;
	w->outcomes[3].predicted = estimate_exact(7);
}

static struct world *world_of(void)
{
	struct world *w = ARENA_NEW(arena, struct world);
	set_rows(w);
	w->titles[0].title = "slow";
	w->titles[1].title = "fast";
	for (size_t i = 0; i < 2; i++) {
		w->beside[i] = w->other[i];
		w->claims[i].text = i ? "second" : "first";
		w->values[i][0] = 0.5 + (double)i;
		w->values[i][1] = 0.25;
		w->judged[i] = (struct claim_outcome){.claim = &w->claims[i],
						      .holds = i == 0,
						      .broken_at = i ? "b" : NULL,
						      .values = w->values[i],
						      .value_count = 2};
		w->groups[i] = (struct group_summary){i ? "far" : "near",
						      summary(1 + i, 0.3 + 0.1 * (double)i, "g")};
		w->groups[i].test.coverage = NAN;
	}
	w->param_row = (struct param_row){.quantity = QUANTITY_TIME};
	w->param = (struct cfg_param){.path = "x.y",
				      .row = &w->param_row,
				      .value = 2e-6,
				      .low = 1e-6,
				      .high = 4e-6,
				      .note = "a note"};
	w->fitted[0] = &w->param;
	w->dataset = (struct dataset){.name = "set",
				      .title = "A set",
				      .source = "a test",
				      .rows = w->rows,
				      .row_count = 4,
				      .claims = w->claims,
				      .claim_count = 2,
				      .beside = w->titles,
				      .beside_count = 2};
	w->outcome = (struct dataset_outcome){.dataset = &w->dataset,
					      .rows = w->outcomes,
					      .beside = w->beside,
					      .claims = w->judged,
					      .fit = summary(3, 0.1, "b"),
					      .test = summary(2, 0.2, "a"),
					      .linear = summary(4, 0.6, "l"),
					      .groups = w->groups,
					      .group_count = 2,
					      .verdict_count = 3,
					      .verdict_agree_count = 1,
					      .fitted = w->fitted,
					      .fitted_count = 1,
					      .fit_row_count = 5,
					      .draws_count = 8};
	w->outcome.linear.coverage = NAN;
	return w;
}

/* Returns what the function writes. */
static char *read_back(FILE *file)
{
	size_t size = (size_t)ftell(file);
	char *text = arena_alloc(arena, size + 1);
	rewind(file);
	text[fread(text, 1, size, file)] = '\0';
	fclose(file);
	return text;
}

static const char *printed(const struct world *w, size_t count, bool color)
{
	const struct dataset_outcome *list[] = {&w->outcome, &w->outcome};
	const struct validation v = {arena, list, count};
	FILE *file = tmpfile();
	validation_print_all(file, &v, color, 0);
	char *text = read_back(file), *to = text;
	for (const char *from = text; *from; from++) /* one blank between cells */
		if (*from != ' ' || (to > text && to[-1] != ' '))
			*to++ = *from;
	*to = '\0';
	return text;
}

static void each_number_of_a_summary_has_its_place(void)
{
	const struct world *w = world_of();
	const char *text = printed(w, 1, false);
	CHECK_PART(text, "set: A set (images/s)\n");
	CHECK_PART(text, "\na test 100 110 105 .. 120 +10.0 % kernel-bound\n"
			 "b fit 50 40 none -20.0 % kernel-bound\n"
			 "c test FAIL:net FAIL failed: timeout [1]\n"
			 "d report 1.0..1.1 7 none kernel-bound\n");
	CHECK_PART(
		text,
		"fit rows: 3, absolute error: median 10.00 %, largest 11.00 %, mean 12.00 %, "
		"geometric "
		"mean 13.00 %; 90 % intervals: coverage 14 %, median half-width 15.0 %, score "
		"0.160\n"
		"test rows: 2, absolute error: median 20.00 %, largest 21.00 %, mean 22.00 %, "
		"geometric "
		"mean 23.00 %; 90 % intervals: coverage 24 %, median half-width 25.0 %, score "
		"0.260\n"
		" row with the largest error: a\n"
		" near: 1, absolute error: median 30.00 %, largest 31.00 %, mean 32.00 %, "
		"geometric mean "
		"33.00 %\n"
		" far: 2, absolute error: median 40.00 %, largest 41.00 %, mean 42.00 %, geometric "
		"mean "
		"43.00 %\n"
		"ideal linear scaling on the same test rows: 4, absolute error: median 60.00 %, ");
	CHECK_PART(text, "\nverdicts: 1 of 3 agree\nholds : first (0.500, 0.250)\n"
			 "BROKEN: second (1.500, 0.250), first at b\n"
			 "1 fitted parameter, 5 fit rows in this dataset:\n"
			 " x.y = 2 us (1 us .. 4 us), a note\n");
	CHECK_PART(text, "\nfor comparison, not judged: slow\n");
	CHECK_PART(text, "\na 200 none 110 kernel-bound\nb 201 none 40 kernel-bound\n"
			 "c FAIL FAIL failed: timeout [1]\n");
	CHECK_PART(text, "\nfor comparison, not judged: fast\n");
	CHECK_PART(text, "\na 300 none 110 kernel-bound\n");
	CHECK(!strstr(text, "no intervals") && !strstr(text, "\nall "));
	CHECK_PART(printed(w, 1, true), "\033[31mBROKEN\033[0m: second (");
	CHECK_PART(printed(w, 1, true), "\033[32mholds\033[0m : first (");
}

/* Without draws there are no intervals. One test row is the worst of all. */
static void lines_without_numbers_are_left_out(void)
{
	struct world *w = world_of();
	w->outcome.draws_count = 0;
	w->outcome.test.count = 1;
	w->outcome.fit.count = w->outcome.linear.count = 0;
	w->outcome.verdict_count = w->outcome.fitted_count = w->dataset.beside_count = 0;
	const char *text = printed(w, 1, false);
	CHECK_PART(text, "\nno intervals, because nothing was drawn (--draws 24 adds them)\n");
	static const char *const lines[] = {"largest error: ", "fit rows",         "ideal linear",
					    "verdicts",        "fitted parameter", "not judged"};
	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
		CHECK(!strstr(text, lines[i]));
}

/* Two datasets have four rows with errors: of 10 % in tests and of 20 % in fits. */
static void all_datasets_have_a_summary_by_role(void)
{
	CHECK_PART(printed(world_of(), 2, false),
		   "\nall 2 datasets\nfit rows: 2, absolute error: median 20.00 %, ");
	CHECK_PART(printed(world_of(), 2, false),
		   "\ntest rows: 2, absolute error: median 10.00 %, ");
}

/* Returns the text behind the key in the JSON. */
static const char *after(const char *json, const char *key)
{
	const char *at = strstr(json, key);
	CHECK(at != NULL);
	return at ? at + strlen(key) : "";
}

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Adds the numbers of formulas. */
static struct world *world_with_formulas(void)
{
	struct world *w = world_of();
	w->dataset.pencil.asked = true;
	w->outcomes[0].pencil = (struct pencil){.local_s = 0.5,
						.step = {.answered_count = 11,
							 .sent_count = 12,
							 .moved_B = 13,
							 .round_trip_s = 0.25,
							 .byte_spB = 0.125},
						.predicted = {1, 2, 3},
						.error = {4, 5, 6},
						.added_error = {7, 8, 9}};
	w->pencils[0] = (struct pencil_summary){
		.group = "near",
		.role = ROLE_TEST,
		.error = {summary(2, 0.1, "x"), summary(2, 0.2, "y"), summary(2, 0.3, "z")},
		.added = {summary(3, 0.4, "x"), summary(3, 0.5, "y"), summary(3, 0.6, "z")}};
	w->outcome.pencils = w->pencils;
	w->outcome.pencil_count = 1;
	return w;
}

static void json_has_each_number_at_its_key(void)
{
	const struct world *w = world_with_formulas();
	const struct dataset_outcome *list[] = {&w->outcome};
	const struct validation v = {arena, list, 1};
	FILE *file = tmpfile();
	validation_json(file, &v, false);
	const char *json = read_back(file);
	static const char *const parts[] = {
		"\"measured\": \"FAIL:net\"",
		"\"measured\": \"1.0..1.1\"",
		"\"answered_calls\": 11",
		"\"sent_calls\": 12",
		"\"moved_B\": 13",
		"\"round_trip_s\": 0.25",
		"\"byte_s\": 0.125",
		"\"predicted\": {\"farwire\": 1, \"formula\": 2, \"with_costs\": 3}",
		"\"error\": {\"farwire\": 4, \"formula\": 5, \"with_costs\": 6}",
		"\"added_error\": {\"farwire\": 7, \"formula\": 8, \"with_costs\": 9}",
		"\"agrees\": true",
		"\"verdicts\": {\"count\": 3, \"agree\": 1}",
		"\"key\": \"x.y\", \"value\": 2e-06, \"low\": 1e-06, \"high\": 4e-06",
		"\"fit_rows\": 5",
		"\"values\": [1.5, 0.25]",
		"\"gpu_utilization\": 0.75"};
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
		CHECK_PART(json, parts[i]);
	CHECK(begins(after(json, "\"linear\": "), "{\"count\": 4, \"median_abs_error\": 0.6"));
	CHECK(begins(after(json, "\"far\": "), "{\"count\": 2, \"median_abs_error\": 0.4"));
	CHECK(begins(after(after(json, "\"title\": \"fast\""), "\"value\": "), "300"));
	const char *all = after(json, "\"all\": ");
	CHECK(begins(after(all, "\"test\": "), "{\"count\": 1, \"median_abs_error\": 0.1"));
	CHECK(begins(after(all, "\"fit\": "), "{\"count\": 1, \"median_abs_error\": 0.2"));
	const char *formula = after(after(json, "\"pencil\": ["), "\"formula\": ");
	CHECK(begins(after(formula, "\"error\": "), "{\"count\": 2, \"median_abs_error\": 0.2"));
	CHECK(begins(after(formula, "\"added_error\": "),
		     "{\"count\": 3, \"median_abs_error\": 0.5"));
	CHECK(begins(
		after(after(json, "\"title\": \"slow\""), "\"verdict\": \"fail\", \"reason\": "),
		"\"timeout\""));
}

static void csv_has_the_errors_of_formulas(void)
{
	const struct world *w = world_with_formulas();
	const struct dataset_outcome *list[] = {&w->outcome};
	const struct validation v = {arena, list, 1};
	FILE *file = tmpfile();
	validation_csv(file, &v);
	const char *csv = read_back(file);
	CHECK_PART(csv, "\nset,a,test,100,110,105,120,0.1,ok,throughput,images/s,5,6\r\n");
	CHECK_PART(csv, "\nset,c,test,FAIL:net,,,,,timeout,throughput,images/s,");
	CHECK_PART(csv, "\nset,d,report,1.0..1.1,7,");
}

static const struct test tests[] = {
	TEST(each_number_of_a_summary_has_its_place), TEST(lines_without_numbers_are_left_out),
	TEST(all_datasets_have_a_summary_by_role),    TEST(json_has_each_number_at_its_key),
	TEST(csv_has_the_errors_of_formulas),
};

int main(void)
{
	arena = arena_new();
	int failed = TEST_MAIN(tests);
	arena_free(arena);
	return failed;
}
