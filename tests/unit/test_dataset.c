/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Datasets: how rows are read, and how wrong ones are refused. */
#include "tests/own_dataset.h"

static bool has_setting(const struct dataset_row *row, const char *text)
{
	for (size_t i = 0; i < row->setting_count; i++)
		if (strcmp(row->settings[i].text, text) == 0)
			return true;
	return false;
}

/* ---- tables ---- */

#define WIDE                                                                                       \
	"table = \"table.tsv\"; label = [\"model\"]; linear = true; group = \"model\";"            \
	"columns = ( { column = \"model\"; setting = \"case.model\"; } );"
static const char wide_table[] = "model\tfit_upto\tgpus_1\tgpus_2\tgpus_8\n"
				 "a\t2\t10\t19\t70\n"
				 "b\t1\t3.0\tNA\t20\n";

static void wide_table_gives_one_row_per_column(void)
{
	const struct dataset *d = good(
		read_own(wide_table, WIDE "wide = { prefix = \"gpus_\"; setting = \"case.gpus\"; "
					  "fit_upto_column = \"fit_upto\"; };"));
	if (!d || !CHECK(d->row_count == 5))
		return;
	static const struct {
		const char *label, *setting;
		enum row_role role;
		double measured, linear, rounding;
	} rows[] = {
		{"a gpus=1", "case.gpus=1", ROLE_FIT, 10, 10, 0.05},
		{"a gpus=2", "case.gpus=2", ROLE_FIT, 19, 20, 0.5 / 19},
		{"a gpus=8", "case.gpus=8", ROLE_TEST, 70, 80, 0.5 / 70},
		{"b gpus=1", "case.gpus=1", ROLE_FIT, 3, 3, 0.05 / 3},
		{"b gpus=8", "case.gpus=8", ROLE_TEST, 20, 24, 0.025},
	};
	for (size_t i = 0; i < 5; i++) {
		CHECK_TEXT(d->rows[i].label, rows[i].label);
		CHECK(has_setting(&d->rows[i], rows[i].setting));
		CHECK(d->rows[i].role == rows[i].role);
		CHECK_NEAR(d->rows[i].measured, rows[i].measured, 1e-12);
		CHECK_NEAR(d->rows[i].linear, rows[i].linear, 1e-12);
		CHECK_NEAR(d->rows[i].rounding_ratio, rows[i].rounding, 1e-12);
	}
	CHECK_TEXT(d->rows[4].group, "model=b");
	/* the setting of the command line is last */
	const struct dataset_row *last = &d->rows[4];
	CHECK_TEXT(last->settings[last->setting_count - 1].text, "case.seed_of_test=1");
	d = good(
		read_own(wide_table, WIDE
			 "wide = { prefix = \"gpus_\"; setting = \"case.gpus\"; fit_upto = 1; };"));
	CHECK(d && d->rows[0].role == ROLE_FIT && d->rows[1].role == ROLE_TEST);
	d = good(
		read_own(wide_table,
			 "table = \"table.tsv\"; label = [\"model\"]; columns = ( { column = "
			 "\"model\"; values = "
			 "( { is = \"a\"; fit_upto = 2; }, { is = \"b\"; } ); } );"
			 "wide = { prefix = \"gpus_\"; setting = \"case.gpus\"; fit_upto = 1; };"));
	CHECK(d && d->row_count == 5 && d->rows[1].role == ROLE_FIT &&
	      d->rows[2].role == ROLE_TEST && d->rows[4].role == ROLE_TEST);
}

static void columns_with_units_give_quantities(void)
{
	const struct dataset *d = good(read_own(
		"bytes\ttime_us\n8\t36.09\n",
		"table = \"table.tsv\"; value = \"time_us\"; quantity = \"time\"; value_unit = "
		"\"us\";"
		"role = \"test\"; label = [\"bytes\"]; columns = ( { column = \"bytes\"; setting = "
		"\"case.collective_size\"; unit = \"B\"; } );"));
	if (d) {
		CHECK(d->measure == MEASURE_TIME && !d->ratio && !d->mixed);
		CHECK_NEAR(d->rows[0].measured, 36.09e-6, 1e-12);
		CHECK_NEAR(d->rows[0].rounding_ratio, 0.005 / 36.09, 1e-9);
		CHECK(has_setting(&d->rows[0], "case.collective_size=8 B"));
	}
	d = good(read_own(
		"what\tvalue\trole\nrate\t100\tfit\nup\t6.9\ttest\nshare\t0.95\treport\n"
		"gain\t1.01..1.08\treport\n",
		"table = \"table.tsv\"; value = \"value\"; role_column = \"role\"; label = "
		"[\"what\"];"
		"settings = [\"case.gpus=8\"]; quantity_column = \"what\"; quantities = ("
		"{ is = \"rate\"; quantity = \"throughput\"; },"
		"{ is = \"up\"; quantity = \"speedup\"; },"
		"{ is = \"share\"; quantity = \"throughput\"; scale = 200; },"
		"{ is = \"gain\"; quantity = \"gain\"; reference = [\"case.gpus=4\"]; } );"));
	if (!d)
		return;
	CHECK(d->mixed && d->rows[1].measure == MEASURE_SPEEDUP);
	CHECK_NEAR(d->rows[2].measured, 190, 1e-12);
	CHECK(isnan(d->rows[3].measured));
	CHECK_TEXT(d->rows[3].measured_text, "1.01..1.08");
	/* the reference case: the row's settings, those of the reference, and the command line's */
	if (CHECK(d->rows[3].reference_count == 3)) {
		CHECK_TEXT(d->rows[3].reference[0].text, "case.gpus=8");
		CHECK_TEXT(d->rows[3].reference[1].text, "case.gpus=4");
		CHECK_TEXT(d->rows[3].reference[2].text, "case.seed_of_test=1");
	}
}

#define TALL "table = \"table.tsv\"; value = \"v\"; role = \"fit\"; label = [\"a\", \"b\"];"

static void words_of_a_table_map_to_settings(void)
{
	write_file("mine.cfg", "");
	const struct dataset *d = good(read_own(
		"a\tb\tv\nx\t1\t5\nx\t2\t6\nboth\t2\t7\nx\t3\tNA\n", TALL
		"columns = ( { columns = [\"a\", \"b\"]; values = ( { is = \"x 2\"; settings = "
		"[\"p=x2\"]; } ); otherwise = [\"p=other\"]; },"
		"{ column = \"a\"; values = ( { is = \"x\"; settings = [\"q=x\"]; }, { is = "
		"\"both\"; settings = [\"q=0\"]; each = ( { is = \"one\"; settings = [\"r=1\"]; "
		"}, { is = \"two\"; role = \"report\"; settings = [\"r=2\"]; case = \"mine.cfg\"; "
		"} ); } ); },"
		"{ column = \"b\"; setting = \"s\"; values = ( { is = \"1\"; settings = "
		"[\"s=one\"]; } ); } );"));
	if (!d || !CHECK(d->row_count == 4))
		return;
	CHECK(has_setting(&d->rows[0], "p=other") && has_setting(&d->rows[1], "p=x2"));
	CHECK(has_setting(&d->rows[0], "s=one") && !has_setting(&d->rows[0], "s=1"));
	CHECK(has_setting(&d->rows[1], "s=2"));
	CHECK_TEXT(d->rows[2].label, "both b=2 (as one)");
	CHECK_TEXT(d->rows[3].label, "both b=2 (as two)");
	CHECK(has_setting(&d->rows[2], "r=1") && !has_setting(&d->rows[2], "r=2"));
	CHECK(has_setting(&d->rows[3], "r=2"));
	CHECK(d->rows[2].role == ROLE_FIT && d->rows[3].role == ROLE_REPORT);
	CHECK(d->rows[2].case_path == NULL);
	CHECK_TEXT(d->rows[3].case_path, path_of("mine.cfg"));
	remove(path_of("mine.cfg"));
}

/* A number at the beginning of a cell of value_if_any is the measured one. Otherwise it is in the
 * column `value`. */
static void optional_columns_give_values_roles_and_bounds(void)
{
	const struct dataset *d = good(read_own(
		"a\tb\tv\tw\tr\tu\nx\t1\t5\t7.5*\ttest\t0.5\ny\t2\t6\tNA\tfit\tNA\n",
		"table = \"table.tsv\"; value = \"v\"; value_if_any = \"w\"; role_column = \"r\"; "
		"label = [\"a\", \"b\"]; utilization = \"u\"; utilization_slack = 0.25; slow = "
		"true;"
		"draws = 0;"));
	if (!d || !CHECK(d->row_count == 2))
		return;
	CHECK(d->slow && d->draws == 0);
	CHECK(d->rows[0].measured == 7.5 && d->rows[1].measured == 6);
	CHECK_NEAR(d->rows[0].rounding_ratio, 0.05 / 7.5, 1e-12);
	CHECK(d->rows[0].role == ROLE_TEST && d->rows[1].role == ROLE_FIT);
	CHECK(d->rows[0].utilization_max == 0.5 && isnan(d->rows[1].utilization_max));
	CHECK(d->claim_count == 1 && d->claims[0].kind == CLAIM_UTILIZATION &&
	      d->claims[0].slack == 0.25);
}

/* The first row has no number for one GPU, so its ideal scaling starts from two GPUs. A column of 0
 * GPUs is left out. */
static void ideal_scaling_starts_from_the_first_measured_column(void)
{
	const struct dataset *d = good(read_own(
		"model\tgpus_0\tgpus_1\tgpus_2\tgpus_8\nc\t7\tNA\t10\t30\nd\t7\t6\t11\tNA\n",
		WIDE "wide = { prefix = \"gpus_\"; setting = \"case.gpus\"; fit_upto = 2; };"));
	static const double linear[] = {10, 40, 6, 12};
	if (d && CHECK(d->row_count == 4))
		for (size_t i = 0; i < 4; i++)
			CHECK_NEAR(d->rows[i].linear, linear[i], 1e-12);
}

/* Rows beside others have further settings before those of the command line, also in the case with
 * which a gain compares. */
static void rows_beside_have_further_settings(void)
{
	const struct dataset *d =
		good(read_own("a\tb\tv\nx\t1\t5\n", TALL
			      "quantity = \"gain\"; settings = [\"p=1\"]; reference = [\"q=1\"];"
			      "beside = ( { title = \"one\"; settings = [\"z=1\"]; },"
			      "{ title = \"two\"; settings = [\"z=2\", \"y=2\"]; } );"));
	if (!d || !CHECK(d->beside_count == 2))
		return;
	CHECK(!has_setting(&d->rows[0], "z=1") && d->rows[0].judged);
	CHECK_TEXT(d->beside[0].title, "one");
	CHECK_TEXT(d->beside[1].title, "two");
	const struct dataset_row *row = &d->beside[1].rows[0];
	CHECK(row->role == ROLE_REPORT && !row->judged);
	static const char *const own[] = {"p=1", "z=2", "y=2", "case.seed_of_test=1"};
	static const char *const other[] = {"p=1", "q=1", "z=2", "y=2", "case.seed_of_test=1"};
	if (CHECK(row->setting_count == 4 && row->reference_count == 5)) {
		for (size_t i = 0; i < 4; i++)
			CHECK_TEXT(row->settings[i].text, own[i]);
		for (size_t i = 0; i < 5; i++)
			CHECK_TEXT(row->reference[i].text, other[i]);
	}
	CHECK(has_setting(&d->beside[0].rows[0], "z=1"));
}

static void labels_are_matched_by_whole_words(void)
{
	CHECK(label_has("c10 gpus=1 data=real", "gpus=1"));
	CHECK(label_has("c10 gpus=1 data=real", "c10"));
	CHECK(label_has("c10 gpus=1 data=real", "gpus=1 data=real"));
	CHECK(!label_has("c10 gpus=16 data=real", "gpus=1"));
	CHECK(!label_has("c10 gpus=1", "10"));
	CHECK(!label_has("c10", ""));
	CHECK(label_has("ab a", "a"));
}

static void malformed_tables_are_refused(void)
{
	static const char table[] = "a\tb\tv\nx\t1\t5\n";
	check_refused(read_own(table, TALL "columns = ( { column = \"c\"; setting = \"s\"; } );"),
		      "has no column 'c'");
	check_refused(read_own(table, TALL "columns = ( { column = \"a\"; values = (); } );"),
		      "column 'a' contains 'x'");
	check_refused(read_own(table, TALL "columns = ( { colum = \"a\"; setting = \"s\"; } );"),
		      "unknown key 'colum'");
	check_refused(read_own(table, TALL "quantity = \"speed\";"),
		      "the quantity 'speed' does not exist");
	check_refused(read_own(table, TALL "quantity = \"gain\";"),
		      "the quantity gain needs a reference");
	check_refused(read_own(table, TALL "quantity = \"time\"; value_unit = \"GB\";"),
		      "value_unit");
	check_refused(read_own(table, TALL "quantity_column = \"a\"; quantities = ();"),
		      "for which `quantities` has no entry");
	check_refused(read_own("a\tb\tv\nx\t1\t1..2\n", TALL),
		      "'1..2' is neither a positive number");
	static const char *const ranges[] = {"1.08..1.01", "x..2", "1..y", "1.5.2"};
	for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
		check_refused(
			read_own(arena_printf(arena, "a\tb\tv\nx\t1\t%s\n", ranges[i]),
				 "table = \"table.tsv\"; value = \"v\"; role = \"report\"; label = "
				 "[\"a\"];"),
			arena_printf(arena, "'%s' is neither a positive number", ranges[i]));
	check_refused(read_own("a\tb\tv\nx\ttrain\t5\n",
			       "table = \"table.tsv\"; value = \"v\"; role_column = \"b\"; label = "
			       "[\"a\"];"),
		      "table.tsv:2: dataset: there is no role 'train' (write fit, test or report)");
	check_refused(read_own(table, TALL "columns = ( { columns = [\"a\", \"c\"]; } );"),
		      "has no column 'c'");
	check_refused(read_own("a\tb\tv\nx\t1\t-5\n", TALL), "'-5' is neither a positive number");
	check_refused(
		read_own(table,
			 "table = \"table.tsv\"; role = \"fit\"; wide = { prefix = \"gpus_\"; "
			 "setting = \"case.gpus\"; };"),
		"has no columns 'gpus_1'");
	check_refused(read_own(wide_table,
			       WIDE "wide = { prefix = \"gpus_\"; setting = \"case.gpus\"; "
				    "fit_upto_column = \"model\"; };"),
		      "the cell of column 'model' is not a number");
	check_refused(read_own(wide_table, WIDE "wide = { prefix = \"gpus_\"; fit_upto = 1; };"),
		      "setting is missing");
	check_refused(
		read_own(table, TALL "settings = [8];"),
		"own.cfg:2: dataset: each setting must be a text (write [\"case.batch=32\"])");
	check_refused(read_own("a\tb\tv\nx\t1\t1e308\n",
			       TALL "quantity = \"time\"; value_unit = \"min\";"),
		      "table.tsv:2: dataset: '1e308' multiplied by `scale` must be a positive "
		      "finite number");
	check_refused(read_own("a\tb\tv\nx\tmuch\t5\n", TALL "utilization = \"b\";"),
		      "table.tsv:2: dataset: 'much' is not a utilisation (write a number or NA)");
	check_refused(read_own("# nothing else\n", TALL), "table.tsv: the file has no rows (write");
	check_refused(read_own("", TALL "lines = [\"v\"];"),
		      "own.cfg:2: dataset: lines and table = \"table.tsv\" both give the rows (");
	check_refused(read_own("", "value = \"v\"; lines = [\"v\"];"), "the lines have no rows");
	check_refused(read_own("a\tb\tv\nx\t1\n", TALL),
		      "table.tsv:2: the row has 2 cells, but the header names 3 columns");
}

/* The table has one row more than allowed. */
static void more_than_100000_rows_are_refused(void)
{
	enum { LINES = 100001 };
	char *table = arena_alloc(arena, 8 * (LINES + 1)), *end = table;
	end += sprintf(end, "a\tb\tv\n");
	for (size_t i = 0; i < LINES; i++)
		end += sprintf(end, "x\t1\t5\n");
	check_refused(read_own(table, TALL),
		      "table.tsv:100002: dataset: there are more than 100000 rows");
}

/* ---- grids ---- */

static void grid_skips_and_adds_points(void)
{
	const struct dataset *d =
		good(read_own("", GRID "skip = ( { place = \"vm\"; load = \"beside\"; } );"
				       "also = ( { where = { place = \"box\"; load = \"alone\"; }; "
				       "settings = [\"w=1\"]; } );"));
	if (!d || !CHECK(d->row_count == 5))
		return;
	CHECK_TEXT(d->rows[2].label, "box load=alone");
	CHECK_TEXT(d->rows[4].label, "vm load=alone");
	CHECK(has_setting(&d->rows[2], "w=1") && has_setting(&d->rows[2], "l=0"));
	CHECK(!has_setting(&d->rows[0], "w=1") && !has_setting(&d->rows[3], "w=1"));
}

/* A row with a value that is not judged is only reported, and `also` may give it another case. */
static void values_that_are_not_judged_are_reported(void)
{
	write_file("mine.cfg", "");
	const struct dataset *d = good(read_own(
		"",
		"quantity = \"throughput\"; dimensions = ( { name = \"place\"; values = ( { is = "
		"\"bare\"; }, { is = \"vm\"; judged = false; } ); }, { name = \"load\"; values = "
		"( { is = \"alone\"; }, { is = \"beside\"; } ); } );"
		"also = ( { where = { place = \"vm\"; load = \"beside\"; }; case = \"mine.cfg\"; "
		"} );"));
	static const enum row_role roles[] = {ROLE_TEST, ROLE_TEST, ROLE_REPORT, ROLE_REPORT};
	if (d && CHECK(d->row_count == 4))
		for (size_t i = 0; i < 4; i++) {
			CHECK(d->rows[i].role == roles[i] && d->rows[i].judged == (i < 2));
			CHECK((d->rows[i].case_path != NULL) == (i == 3));
		}
	if (d)
		CHECK_TEXT(d->rows[3].case_path, path_of("mine.cfg"));
	remove(path_of("mine.cfg"));
}

static void malformed_datasets_are_refused(void)
{
	check_refused(read_own("", "role = \"fit\";"),
		      "own.cfg:1: dataset: there is neither a table nor dimensions (write table");
	check_refused(read_own("", GRID "draws = 1001;"),
		      "own.cfg:2: dataset: draws must be a number from 0 to 1000");
	check_refused(read_own("", GRID "draws = \"few\";"), "draws must be a number from 0");
	check_refused(read_own("", GRID "draws = -1;"), "draws must be a number from 0");
	check_refused(read_own("", GRID "slow = \"very\";"), "slow must be true or false");
	check_refused(read_own("", GRID "skip = ( { colour = \"red\"; } );"),
		      "no dimension is called 'colour'");
	check_refused(read_own("", GRID "skip = ( { place = \"car\"; } );"),
		      "dimension 'place' has no value 'car'");
	diag = diag_new(arena);
	write_file("own.cfg", "data = { };\n");
	check_refused(dataset_read(arena, diag, data_root_find(arena), path_of("own.cfg"), NULL, 0),
		      "own.cfg: the file has no group `dataset = { ... }`");
	remove(path_of("own.cfg"));
}

/* The judge names neither program, both when the row is judged and when it is fitted. */
static void unknown_judge_is_refused(void)
{
	static const char said[] =
		"table.tsv:2: dataset: the case of row 'x b=1' has no job or client "
		"'nobody' (write judge = \"";
	const char *root = data_root_find(arena), *broken = NULL;
	const struct validation_input input = {.data_root = root};
	const struct dataset *own = good(
		read_with("a\tb\tv\nx\t1\t5\n",
			  TALL "judge = \"nobody\"; settings = [\"case.topology=gpu-pool\", "
			       "\"case.model=alexnet\", \"case.copies=2\", \"case.gpu=spread\"];",
			  NULL, 0));
	if (!own)
		return;
	check_refused(dataset_evaluate(arena, diag, own, &input, &broken), said);
	diag = diag_new(arena);
	double value = dataset_point(arena, diag, &own->rows[0], root, NULL, 0, 1, NULL, &broken);
	check_refused(isnan(value) ? NULL : own, said);
}

static void malformed_grids_are_refused(void)
{
	check_refused(
		read_own("", "dimensions = ( { name = \"a\"; setting = \"k\"; values = [1]; } );"),
		"own.cfg:2: dataset: the values of a dimension with a setting must be texts "
		"(write [\"1\", \"2\"])");
	check_refused(read_own("", "dimensions = ( { name = \"a\"; setting = \"k\"; } );"),
		      "own.cfg:2: dataset: this dimension has no values (write values = (");
	check_refused(read_own("", "quantity = \"gain\"; dimensions = ( { name = \"a\"; setting = "
				   "\"k\"; values = [\"1\"]; } );"),
		      "own.cfg:1: dataset: dimensions cannot be used with the quantity gain (write "
		      "a claim with");
	const char *many = "";
	for (size_t i = 0; i <= DIMENSIONS_OF_GRID_MAX; i++)
		many = arena_printf(arena,
				    "%s%s{ name = \"d%zu\"; setting = \"k\"; values = [\"1\"]; }",
				    many, i ? ", " : "", i);
	check_refused(read_own("", arena_printf(arena, "dimensions = ( %s );", many)),
		      arena_printf(arena, "own.cfg:2: dataset: there are more than %d dimensions",
				   DIMENSIONS_OF_GRID_MAX));
}

/* ---- the whole ---- */

/* Two stacks on each of two GPUs, with a fitted number for each, under two paths. Without draws
 * there are no intervals. */
static void every_fitted_number_counts_once(void)
{
	const char *root = data_root_find(arena), *broken = NULL;
	const struct validation_input input = {.data_root = root};
	diag = diag_new(arena);
	const struct dataset *dataset =
		good(dataset_read(arena, diag, root, "nvidia_mxnet_resnet50", NULL, 0));
	const struct dataset_outcome *outcome =
		dataset ? dataset_evaluate(arena, diag, dataset, &input, &broken) : NULL;
	if (!CHECK(outcome != NULL && !broken))
		return;
	CHECK(outcome->fitted_count == 4);
	CHECK(outcome->test.count == 12 && isnan(outcome->test.coverage));
}

/* A gain is a throughput over the reference's. Errors and scores are relative to the measurement.
 * The score of a 90 % interval is its width plus 20 times its miss (Gneiting, Raftery 2007). */
static void gains_errors_and_scores_follow_their_definitions(void)
{
	const char *root = data_root_find(arena), *broken = NULL;
	const struct validation_input input = {
		{.draws_count = 8, .seed = 1, .jobs = 1}, root, NULL};
	const struct dataset *dataset = good(read_with(
		"what\tvalue\tbatch\nrate\t20\t4\ngain\t1.5\t8\n",
		"table = \"table.tsv\"; value = \"value\"; role = \"test\"; label = [\"what\"];"
		"settings = [\"case.topology=t320-same-esxi\", \"case.runtime=none\", "
		"\"case.server=server\", \"case.model=resnet50\", \"case.stack=tf-1.12\"];"
		"columns = ( { column = \"batch\"; setting = \"case.batch\"; } );"
		"quantity_column = \"what\"; quantities = ( { is = \"rate\"; },"
		"{ is = \"gain\"; quantity = \"gain\"; reference = [\"case.batch=4\"]; } );",
		NULL, 0));
	const struct dataset_outcome *outcome =
		dataset ? dataset_evaluate(arena, diag, dataset, &input, &broken) : NULL;
	if (!CHECK(outcome != NULL && !broken))
		return;
	const struct row_outcome *rate = &outcome->rows[0], *gain = &outcome->rows[1];
	CHECK_NEAR(gain->predicted.value,
		   gain->prediction->throughput.value / rate->prediction->throughput.value, 1e-12);
	CHECK(gain->predicted.value > 1.01);
	double score = 0;
	for (size_t i = 0; i < 2; i++) {
		const struct estimate *p = &outcome->rows[i].predicted;
		double x = outcome->rows[i].row->measured;
		double missed = x < p->low ? p->low - x : x > p->high ? x - p->high : 0;
		CHECK_NEAR(outcome->rows[i].error, (p->value - x) / x, 1e-12);
		score += (p->high - p->low + 20 * missed) / x / 2;
		CHECK(missed > 0);
	}
	CHECK_NEAR(outcome->test.interval_score, score, 1e-12);
}

static const struct test tests[] = {
	TEST(wide_table_gives_one_row_per_column),
	TEST(columns_with_units_give_quantities),
	TEST(words_of_a_table_map_to_settings),
	TEST(optional_columns_give_values_roles_and_bounds),
	TEST(ideal_scaling_starts_from_the_first_measured_column),
	TEST(rows_beside_have_further_settings),
	TEST(labels_are_matched_by_whole_words),
	TEST(malformed_tables_are_refused),
	TEST(grid_skips_and_adds_points),
	TEST(values_that_are_not_judged_are_reported),
	TEST(malformed_datasets_are_refused),
	TEST(unknown_judge_is_refused),
	TEST(malformed_grids_are_refused),
	TEST(more_than_100000_rows_are_refused),
	TEST(every_fitted_number_counts_once),
	TEST(gains_errors_and_scores_follow_their_definitions),
};

int main(void)
{
	if (!folder_begin())
		return 1;
	int code = TEST_MAIN(tests);
	folder_end();
	return code;
}
