/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every kind of claim of a dataset, with a case where it holds and one where it does not. */
#include "tests/own_dataset.h"

/* Judges the dataset's only claim about rows with these throughputs. A step takes 60 / throughput;
 * a tenth of it times the row's number + 1 is waiting. The GPU works for a hundredth of the
 * throughput. */
static struct claim_outcome judged(const struct dataset *d, const double *throughput)
{
	if (!good(d))
		return (struct claim_outcome){.holds = false};
	struct row_outcome rows[6];
	struct prediction predictions[6];
	struct breakdown_part parts[6];
	struct claim_outcome outcome;
	for (size_t i = 0; i < d->row_count; i++) {
		double step_s = 60 / throughput[i];
		parts[i] = (struct breakdown_part){"input wait", step_s * (double)(i + 1) / 10};
		predictions[i] = (struct prediction){.ok = isfinite(throughput[i]),
						     .step_s.value = step_s,
						     .gpu_utilization.value = throughput[i] / 100,
						     .breakdown = &parts[i],
						     .breakdown_count = 1};
		rows[i] = (struct row_outcome){.row = &d->rows[i],
					       .prediction = &predictions[i],
					       .predicted = {throughput[i], 0, 0},
					       .step_s = step_s};
	}
	claims_judge(arena, d, rows, &outcome);
	return outcome;
}

/* Rows in the order bare, box, vm, each alone and beside. */
static bool holds(const double *throughput, const char *claim, const char **broken_at)
{
	struct claim_outcome outcome =
		judged(read_own("", arena_printf(arena, GRID "claims = ( { claim = \"c\"; %s } );",
						 claim)),
		       throughput);
	if (broken_at)
		*broken_at = outcome.broken_at;
	return outcome.holds;
}

/* alone, beside: bare 100 60, box 98 70, vm 90 80 */
static const double throughputs[] = {100, 60, 98, 70, 90, 80};

static const struct {
	const char *holds, *fails;
} kinds[] = {
	/* 90 in the vm relative to 100 on the bare machine */
	{"kind = \"range\"; low = 0.8; high = 0.97; where = { place = \"vm\"; load = "
	 "\"alone\"; "
	 "}; over = { place = \"bare\"; };",
	 "kind = \"range\"; low = 0.91; where = { place = \"vm\"; load = \"alone\"; }; "
	 "over = { "
	 "place = \"bare\"; };"},
	/* without `over` the claim is about the number itself */
	{"kind = \"range\"; low = 60; high = 100;", "kind = \"range\"; low = 61;"},
	/* times grow by 100/60, 98/70 and 90/80 */
	{"kind = \"first\"; dimension = \"place\"; value = \"bare\"; quantity = \"time\"; "
	 "where "
	 "= { load = \"beside\"; }; over = { load = \"alone\"; };",
	 "kind = \"first\"; dimension = \"place\"; value = \"box\"; quantity = \"time\"; "
	 "where = "
	 "{ load = \"beside\"; }; over = { load = \"alone\"; };"},
	{"kind = \"last\"; dimension = \"place\"; value = \"vm\"; quantity = \"time\"; "
	 "where = { "
	 "load = \"beside\"; }; over = { load = \"alone\"; };",
	 "kind = \"last\"; dimension = \"place\"; value = \"vm\"; where = { load = "
	 "\"beside\"; };"},
	{"kind = \"greater\"; dimension = \"place\"; value = \"box\"; than = \"vm\"; where "
	 "= { "
	 "load = \"alone\"; };",
	 "kind = \"greater\"; dimension = \"place\"; value = \"box\"; than = \"vm\";"},
	{"kind = \"rises\"; dimension = \"place\"; where = { load = \"beside\"; };",
	 "kind = \"rises\"; dimension = \"place\"; where = { load = \"alone\"; };"},
	/* the box keeps 0.98 alone and 70/60 beside, which differ by 0.187 */
	{"kind = \"within\"; slack = 0.19; dimension = \"load\"; value = \"alone\"; than = "
	 "\"beside\"; where = { place = \"box\"; }; over = { place = \"bare\"; };",
	 "kind = \"within\"; slack = 0.18; dimension = \"load\"; value = \"alone\"; than = "
	 "\"beside\"; where = { place = \"box\"; }; over = { place = \"bare\"; };"},
	/* alone and beside differ by exactly 40 on the bare machine */
	{"kind = \"within\"; slack = 40; dimension = \"load\"; value = \"alone\"; than = "
	 "\"beside\"; where = { place = \"bare\"; };",
	 "kind = \"within\"; slack = 39.9; dimension = \"load\"; value = \"alone\"; than = "
	 "\"beside\"; where = { place = \"bare\"; };"},
	/* times grow by 0.4 in the box and 0.125 in the vm: 0.4 share > 0.125 */
	{"kind = \"outgrows\"; share = 0.32; quantity = \"time\"; dimension = \"place\"; "
	 "value "
	 "= \"box\"; than = \"vm\"; where = { load = \"beside\"; }; over = { load = "
	 "\"alone\"; };",
	 "kind = \"outgrows\"; share = 0.31; quantity = \"time\"; dimension = \"place\"; "
	 "value = "
	 "\"box\"; than = \"vm\"; where = { load = \"beside\"; }; over = { load = "
	 "\"alone\"; };"},
	/* 0.1 of the step in the first row, 0.6 in the last */
	{"kind = \"range\"; part = \"input wait\"; low = 0.0999; high = 0.6001;",
	 "kind = \"range\"; part = \"input wait\"; high = 0.55;"},
	{"kind = \"range\"; low = 90; rows = [\"vm\", \"load=alone\"];",
	 "kind = \"range\"; low = 90; rows = [\"vm\"];"},
};

static void each_kind_of_claim_holds_or_fails(void)
{
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		const char *at;
		if (!CHECK(holds(throughputs, kinds[i].holds, &at) && at == NULL))
			printf("  does not hold: %s\n", kinds[i].holds);
		if (!CHECK(!holds(throughputs, kinds[i].fails, &at) && at != NULL))
			printf("  holds: %s\n", kinds[i].fails);
	}
}

/* The vm's step of 60/90 s loses 0.1 of the speed of the bare machine's 60/100 s. */
static void loss_is_the_lost_part_of_the_speed(void)
{
	static const char claim[] = "kind = \"range\"; %s quantity = \"time\"; loss = true; where "
				    "= { place = \"vm\"; load "
				    "= \"alone\"; }; over = { place = \"bare\"; };";
	CHECK(holds(throughputs, arena_printf(arena, claim, "low = 0.0999; high = 0.1001;"), NULL));
	CHECK(!holds(throughputs, arena_printf(arena, claim, "low = 0.1001;"), NULL));
}

/* A claim of role fit makes an observation of each row that it is about, with its bounds as a
 * ratio: losses of 0.2 and 0.5 are times of 1.25 and 2. */
static void claim_of_role_fit_is_an_observation(void)
{
	const struct dataset *d = read_own(
		"", GRID
		"claims = ( { claim = \"c\"; kind = \"range\"; low = 0.2; high = 0.5; role = "
		"\"fit\"; "
		"quantity = \"time\"; loss = true; where = { place = \"vm\"; }; over = { place = "
		"\"bare\"; }; }, { claim = \"other\"; kind = \"range\"; low = 1; } );");
	CHECK(d && d->observation_count == 2 && d->row_count == 6);
	for (size_t i = 0; d && i < d->observation_count; i++) {
		const struct dataset_row *row = &d->observations[i];
		CHECK(row->role == ROLE_FIT && row->relative && row->measure == MEASURE_TIME);
		CHECK_NEAR(row->low, 1.25, 1e-12);
		CHECK_NEAR(row->high, 2, 1e-12);
		CHECK_TEXT(row->label, "c");
	}
}

/* A constant value does not rise. */
static void constant_value_does_not_rise(void)
{
	static const double stays[] = {100, 70, 98, 70, 90, 80};
	CHECK(!holds(stays,
		     "kind = \"rises\"; dimension = \"place\"; where = { load = \"beside\"; };",
		     NULL));
}

/* A reference is not compared with itself, and a claim about no rows is refused. */
static void reference_is_not_compared_with_itself(void)
{
	const char *at;
	CHECK(holds(throughputs,
		    "kind = \"range\"; high = 0.99; where = { load = \"alone\"; }; over = { place "
		    "= \"bare\"; };",
		    &at));
	/* a missing number fulfils no claim */
	static const double failed[] = {100, 60, 98, NAN, 90, 80};
	CHECK(!holds(failed, "kind = \"range\"; low = 60; high = 100;", &at));
	CHECK_TEXT(at, "box load=beside");
	CHECK(!holds(
		failed,
		"kind = \"within\"; slack = 9; dimension = \"load\"; value = \"alone\"; than = "
		"\"beside\"; over = { place = \"bare\"; };",
		&at));
	CHECK_TEXT(at, "box load=alone");
}

/* The grid has no row of the box beside others. Rows are bare 100 60, box 98, vm 90 80. */
static struct claim_outcome with_hole(const char *claim)
{
	static const double numbers[] = {100, 60, 98, 90, 80};
	return judged(read_own("", arena_printf(arena,
						GRID "skip = ( { place = \"box\"; load = "
						     "\"beside\"; } ); claims = ( { claim "
						     "= \"c\"; %s } );",
						claim)),
		      numbers);
}

static void claims_skip_rows_that_a_grid_skips(void)
{
	struct claim_outcome first = with_hole("kind = \"first\"; dimension = \"place\"; value = "
					       "\"vm\"; where = { load = \"beside\"; };");
	CHECK(first.holds && first.value_count == 1 && first.values[0] == 80);
	/* no row follows the bare one, and none the last one */
	struct claim_outcome rises = with_hole(
		"kind = \"rises\"; dimension = \"place\"; where = { load = \"beside\"; };");
	CHECK(rises.holds && rises.value_count == 2);
	struct claim_outcome greater = with_hole("kind = \"greater\"; dimension = \"place\"; value "
						 "= \"box\"; than = \"vm\";");
	CHECK(greater.holds && greater.value_count == 2);
	CHECK(greater.values[0] == 98 && greater.values[1] == 90);
	greater = with_hole("kind = \"greater\"; dimension = \"place\"; value = \"vm\"; than = "
			    "\"box\";");
	CHECK(!greater.holds && greater.value_count == 2);
	CHECK_TEXT(greater.broken_at, "vm load=alone");
	/* a number that has nothing to be compared with is missing */
	struct claim_outcome over = with_hole("kind = \"range\"; low = 0; where = { load = "
					      "\"beside\"; }; over = { place = \"box\"; };");
	CHECK(!over.holds && isnan(over.values[0]));
	CHECK_TEXT(over.broken_at, "bare load=beside");
}

/* The box is shown only, so its numbers break no claim, and no claim is about them. */
static void claims_skip_rows_that_are_shown_only(void)
{
	static const char grid[] =
		"dimensions = ( { name = \"place\"; values = ( { is = \"bare\"; }, { is = "
		"\"box\"; judged = false; }, { is = \"vm\"; } ); } ); claims = ( { claim = "
		"\"c\"; %s } );";
	static const struct {
		const char *claim;
		double box;
		bool holds;
		size_t count;
	} claims[] = {
		{"kind = \"first\"; dimension = \"place\"; value = \"vm\";", 300, true, 1},
		{"kind = \"last\"; dimension = \"place\"; value = \"vm\";", 300, false, 1},
		{"kind = \"rises\"; dimension = \"place\";", 50, true, 2},
		{"kind = \"range\"; high = 70;", 300, true, 2},
		{"kind = \"range\"; high = 70; where = { place = \"box\"; };", 70, false, 0},
	};
	for (size_t i = 0; i < sizeof claims / sizeof claims[0]; i++) {
		const double numbers[] = {60, claims[i].box, 70};
		struct claim_outcome found =
			judged(read_own("", arena_printf(arena, grid, claims[i].claim)), numbers);
		if (!CHECK(found.holds == claims[i].holds && found.value_count == claims[i].count))
			printf("  claim %s\n", claims[i].claim);
	}
}

/* The limits of the utilisation are 0.5 and 0.75, and one row has none. */
static void utilization_is_limited_with_a_slack(void)
{
	static const double numbers[] = {52, 300, 75};
	for (int bad = 0; bad < 2; bad++) {
		struct claim_outcome found = judged(
			read_own("a\tb\tv\nx\t0.5\t5\nx\tNA\t5\ny\t0.75\t5\n",
				 arena_printf(arena,
					      "table = \"table.tsv\"; value = \"v\"; role = "
					      "\"fit\"; label = [\"a\", \"b\"]; utilization = "
					      "\"b\"; utilization_slack = %s;",
					      bad ? "0.0199" : "0.0201")),
			numbers);
		CHECK(found.holds == !bad && found.value_count == 2);
		CHECK_TEXT(found.broken_at ? found.broken_at : "none", bad ? "x b=0.5" : "none");
	}
}

static void malformed_claims_are_refused(void)
{
	static const struct {
		const char *claim, *said;
	} wrong[] = {
		{"kind = \"best\";", "the kind of claim 'best' does not exist"},
		{"kind = \"range\";", "needs low or high"},
		{"kind = \"range\"; low = 0; rows = [\"nowhere\"];",
		 "no row has a label with 'nowhere' (a label looks like 'bare load=alone')"},
		{"kind = \"first\"; value = \"bare\";", "needs a dimension"},
		{"kind = \"first\"; dimension = \"place\";", "value is missing"},
		{"kind = \"greater\"; dimension = \"place\"; value = \"vm\";", "than is missing"},
		{"kind = \"within\"; dimension = \"place\"; value = \"vm\"; than = \"box\";",
		 "needs the number slack"},
		{"kind = \"outgrows\"; dimension = \"place\"; value = \"vm\"; than = \"box\";",
		 "needs the number share"},
		{"kind = \"range\"; low = 1; where = { plce = \"vm\"; };",
		 "no dimension is called 'plce'"},
		{"kind = \"range\"; low = 1; over = { place = \"cloud\"; };",
		 "dimension 'place' has no value 'cloud'"},
		{"kind = \"range\"; low = 1; quantity = \"gain\";",
		 "the quantity of a claim must be \"time\""},
		{"kind = \"range\"; low = 1; slak = 2;", "unknown key 'slak'"},
		{"kind = \"range\"; low = 0; loss = true;", "a claim on a loss needs other rows"},
		{"kind = \"range\"; low = 1; role = \"report\";",
		 "the role of a claim must be \"fit\" or \"test\", not 'report'"},
		{"kind = \"range\"; low = 1; role = \"fit\";",
		 "a claim of role fit must be a range relative to other rows"},
	};
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
		check_refused(
			read_own("", arena_printf(arena, GRID "claims = ( { claim = \"c\"; %s } );",
						  wrong[i].claim)),
			wrong[i].said);
	check_refused(read_own("", GRID "skip = ( { place = \"cloud\"; } );"),
		      "has no value 'cloud'");
	check_refused(read_own("", GRID "also = ( { whre = { }; } );"), "unknown key 'whre'");
}

static const struct test tests[] = {
	TEST(each_kind_of_claim_holds_or_fails),     TEST(loss_is_the_lost_part_of_the_speed),
	TEST(claim_of_role_fit_is_an_observation),   TEST(constant_value_does_not_rise),
	TEST(reference_is_not_compared_with_itself), TEST(claims_skip_rows_that_a_grid_skips),
	TEST(claims_skip_rows_that_are_shown_only),  TEST(utilization_is_limited_with_a_slack),
	TEST(malformed_claims_are_refused),
};

int main(void)
{
	if (!folder_begin())
		return 1;
	int code = TEST_MAIN(tests);
	folder_end();
	return code;
}
