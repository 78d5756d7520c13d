/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Data of charts and tables from predictions. */
#include "tests/test.h"

#include "sim/base/arena.h"
#include "sim/report/answers.h"
#include "sim/report/chart_data.h"
#include "sim/report/dataset_charts.h"
#include "tests/drawing_print.h"

static struct prediction job(size_t gpus, double images_per_s, double alone)
{
	static struct breakdown_part parts[] = {{PART_KERNEL, 0.1}, {PART_EXPOSED, 0.02}};
	double speedup = images_per_s / alone, ratio = speedup / (double)gpus;
	return (struct prediction){.name = "job",
				   .ok = true,
				   .gpu_count = gpus,
				   .throughput = {images_per_s, images_per_s, images_per_s},
				   .speedup = {speedup, speedup, speedup},
				   .ratio = {ratio, ratio, ratio},
				   .breakdown_count = 2,
				   .breakdown = parts};
}

static struct prediction collective(double bytes_per_s, const char *choice)
{
	return (struct prediction){.name = "collective",
				   .ok = true,
				   .gpu_count = 8,
				   .collective = "all_reduce",
				   .choice = choice,
				   .throughput = {bytes_per_s, bytes_per_s / 2, bytes_per_s * 2}};
}

/* Points are sorted by the number of GPUs. Any point that ran gives the throughput of one GPU: 380
 * / 3.8 = 100. */
static void scaling_curve_is_sorted_by_gpus(void)
{
	struct arena *arena = arena_new();
	struct prediction four = job(4, 380, 100), one = job(1, 100, 100), two = job(2, 190, 100);
	two.ok = false;
	const struct prediction *list[] = {&two, &four, &one};
	const double measured[] = {185, 370, 99};
	const bool test[] = {true, true, false};
	const struct prediction_line line = {"x", list, 3, NULL, measured, test};
	const struct scaling_curve curve = chart_scaling_curve(arena, &line);
	CHECK(curve.count == 3 && curve.points[0].gpus == 1 && curve.points[2].gpus == 4);
	CHECK_NEAR(curve.alone, 100, 1e-12);
	CHECK_NEAR(curve.measured_alone, 99, 0);
	CHECK(isnan(curve.points[1].throughput.value) && isnan(curve.points[1].efficiency.value));
	CHECK(curve.points[1].measured == 185 && curve.points[1].test);
	CHECK_NEAR(curve.points[2].efficiency.value, 0.95, 1e-12);
	CHECK(!curve.points[0].test);
	arena_free(arena);
}

/* The largest value chooses the unit, so that no axis has 2·10⁷ us. */
static void unit_of_a_time_follows_the_largest_value(void)
{
	CHECK_TEXT(chart_unit(QUANTITY_TIME, 10e-3).name, "us");
	static const struct {
		enum quantity quantity;
		double largest, factor;
		const char *name;
	} rows[] = {{QUANTITY_TIME, 0.0101, 1e3, "ms"},   {QUANTITY_TIME, 1, 1e3, "ms"},
		    {QUANTITY_TIME, 1.01, 1, "s"},        {QUANTITY_TIME, 1e-6, 1e6, "us"},
		    {QUANTITY_RATE, 1e9, 8e-9, "Gbit/s"}, {QUANTITY_BYTES, 1e9, 1.0 / 1024, "KiB"},
		    {QUANTITY_FREQUENCY, 1, 1e-3, "kHz"}};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct chart_unit unit = chart_unit(rows[i].quantity, rows[i].largest);
		CHECK_NEAR(unit.factor, rows[i].factor, 1e-12);
		CHECK_TEXT(unit.name, rows[i].name);
	}
	CHECK(chart_unit(QUANTITY_RATIO, 1).factor == 1 && !chart_unit(QUANTITY_RATIO, 1).name);
	CHECK_TEXT(chart_unit(QUANTITY_TIME, 0.2).name, "ms");
	CHECK_TEXT(chart_unit(QUANTITY_TIME, 20).name, "s");
	CHECK_NEAR(chart_unit(QUANTITY_RATE, 1.25e9).factor * 1.25e9, 10, 1e-12);
	CHECK(chart_unit(QUANTITY_COUNT, 4).name == NULL);
}

static void bandwidth_curve_is_sorted_by_size(void)
{
	struct arena *arena = arena_new();
	struct prediction large = collective(2e11, "ring, Simple, 24 channels");
	struct prediction small = collective(1e9, "tree, LL");
	const struct prediction *list[] = {&large, &small};
	const double sizes_B[] = {1 << 30, 1024};
	const struct prediction_line line = {"x", list, 2, sizes_B, NULL, NULL};
	const struct curve curve = chart_bandwidth_curve(arena, &line);
	CHECK(curve.count == 2 && curve.x[0] == 1024 && !curve.measured);
	CHECK(curve.y[1].value == 200);
	arena_free(arena);
}

static void bandwidth_curve_without_sizes_is_sorted_by_gpus(void)
{
	struct arena *arena = arena_new();
	struct prediction eight = collective(2e11, "ring"), two = collective(1e11, "ring");
	two.gpu_count = 2;
	const struct prediction *list[] = {&eight, &two};
	const struct prediction_line line = {"x", list, 2, NULL, NULL, NULL};
	const struct curve curve = chart_bandwidth_curve(arena, &line);
	CHECK(curve.x[0] == 2 && curve.x[1] == 8 && curve.y[0].value == 100);
	arena_free(arena);
}

/* Without draws the two are independent. Each has an interval from half to double, so their
 * quotient has hypot(ln 2, ln 2). */
static void throughput_quotient_combines_both_intervals(void)
{
	struct prediction a = collective(2e9, NULL), b = collective(2e9, NULL),
			  images = job(4, 380, 100);
	struct estimate q = throughput_quotient(&a, &b).estimate;
	CHECK_NEAR(q.low, pow(2, -sqrt(2)), 1e-12);
	CHECK_NEAR(q.high, pow(2, sqrt(2)), 1e-12);
	q = throughput_quotient(&a, &a).estimate;
	CHECK(q.low == 1 && q.high == 1);
	CHECK(isnan(throughput_quotient(&a, &images).estimate.value)); /* bytes divided by images */
	b.ok = false;
	CHECK(isnan(throughput_quotient(&a, &b).estimate.value));
}

static void bars_use_the_ratio_of_each_kind_of_case(void)
{
	struct arena *arena = arena_new();
	struct prediction a = collective(2e9, NULL), b = collective(1e9, NULL),
			  train = job(4, 380, 100);
	const struct prediction *both[] = {&a, &b}, *jobs[] = {&train};
	struct ratio_bar *bars = chart_bars(arena, both, 2);
	CHECK(bars[0].ratio.value == 1 && bars[1].ratio.value == 0.5);
	CHECK_NEAR(chart_bars(arena, jobs, 1)[0].ratio.value, 0.95, 1e-12);
	CHECK(strstr(chart_bars_title(jobs, 1), "efficiency") != NULL);
	CHECK(strstr(chart_bars_title(both, 2), "andwidth") != NULL);
	arena_free(arena);
}

static const struct result_column *column_of(const struct result_table *table, const char *name)
{
	for (size_t k = 0; k < table->column_count; k++)
		if (strcmp(table->columns[k].name, name) == 0)
			return &table->columns[k];
	return NULL;
}

static const struct result_cell *cell_at(const struct result_table *table, size_t row,
					 const char *name)
{
	const struct result_column *column = column_of(table, name);
	return &table->cells[row * table->column_count + (size_t)(column - table->columns)];
}

/* Columns without values are left out, for all cases together and for each kind of case. */
static void columns_without_values_are_left_out(void)
{
	struct arena *arena = arena_new();
	struct prediction good = job(4, 380, 100), bad = job(8, 700, 100);
	const struct prediction *list[] = {&good, &bad};
	good.training_s = bad.training_s = (struct estimate){NAN, NAN, NAN};
	good.elapsed_s = bad.elapsed_s = good.training_s;
	good.goodput_ratio = bad.goodput_ratio = good.training_s;
	bad.ok = false;
	bad.reason = "no route";
	const struct result_table *table = comparison_table(arena, list, 2);
	CHECK(table->row_count == 2 && column_of(table, "exposed_s"));
	CHECK(!column_of(table, "to_local") && !column_of(table, "training_s"));
	CHECK_NEAR(cell_at(table, 0, "exposed_s")->number.value, 0.02, 0);
	CHECK(cell_at(table, 1, "gpus")->number.value == 8);
	CHECK(isnan(cell_at(table, 1, "exposed_s")->number.value));
	CHECK_TEXT(cell_at(table, 1, "verdict")->text, "no route");
	good.training_s = (struct estimate){60, 50, 70};
	table = comparison_table(arena, list, 2);
	CHECK(column_of(table, "training_s") != NULL);
	CHECK(cell_at(table, 0, "training_s")->number.high == 70);
	/* the time of a training is its time from launch to end, so there is one column for both */
	good.elapsed_s = good.training_s;
	table = comparison_table(arena, list, 2);
	CHECK(column_of(table, "training_s") && !column_of(table, "elapsed_s"));
	/* except in a long run, which takes longer than its steps */
	good.goodput_ratio = (struct estimate){0.9, 0.8, 0.95};
	table = comparison_table(arena, list, 2);
	CHECK(column_of(table, "training_s") && column_of(table, "elapsed_s"));
	CHECK(cell_at(table, 0, "goodput_ratio")->number.low == 0.8);
	good.training_s = (struct estimate){NAN, NAN, NAN};
	table = comparison_table(arena, list, 2);
	CHECK(!column_of(table, "training_s") && column_of(table, "elapsed_s"));
	arena_free(arena);
}

/* Returns the list of shapes of a drawing as text. */
static const char *shapes_of(struct arena *arena, const struct drawing *drawing)
{
	FILE *file = tmpfile();
	drawing_print(drawing, file);
	size_t size = (size_t)ftell(file);
	char *text = arena_alloc(arena, size + 1);
	rewind(file);
	text[fread(text, 1, size, file)] = '\0';
	fclose(file);
	return text;
}

/* Times are shown in us: 11 us were measured, and 10 us are predicted, with an interval from 9 to
 * 12 us. Rows that only report are left out. */
static void parity_of_times_is_in_microseconds(void)
{
	struct arena *arena = arena_new();
	const struct dataset_row rows[] = {
		{.label = "x", .role = ROLE_TEST, .measure = MEASURE_TIME, .measured = 11e-6},
		{.label = "y", .role = ROLE_REPORT, .measure = MEASURE_TIME, .measured = 1},
		{.label = "z", .role = ROLE_FIT, .measure = MEASURE_TIME, .measured = 2e-6}};
	const struct dataset dataset = {.name = "d", .rows = rows, .row_count = 3};
	struct row_outcome outcomes[] = {
		{.row = &rows[0], .predicted = {10e-6, 9e-6, 12e-6}, .error = -1 / 11.0},
		{.row = &rows[1], .predicted = {1, 1, 1}},
		{.row = &rows[2], .predicted = {3e-6, 3e-6, 4e-6}, .error = 0.5}};
	const struct dataset_outcome outcome = {.dataset = &dataset, .rows = outcomes};
	const struct dataset_outcome *list[] = {&outcome};
	const struct parity_point points[] = {{"x", 11, {10, 9, 12}, true},
					      {"z", 2, {3, 3, 4}, false}};
	CHECK_TEXT(shapes_of(arena, dataset_parity(arena, "t", "c", list, 1, MEASURE_TIME)),
		   shapes_of(arena,
			     chart_parity(arena, (struct chart_text){"t", "c"}, "us", points, 2)));
	arena_free(arena);
}

/* Two GPUs have a speed-up of 1.9 and take 0.1 s for a step, and one alone has 100 images/s. All
 * measurements mean 180 images/s: a speed-up of 1.8, an efficiency of 0.9, a step of 0.1 s * 190 /
 * 180, 180 * 50 tokens/s where 190 * 50 are predicted. A gain has no place on the line. */
static void lines_convert_measurements_to_throughput(void)
{
	static const struct {
		enum measure measure;
		double measured, predicted;
	} cases[] = {{MEASURE_THROUGHPUT, 180, 190},       {MEASURE_SPEEDUP, 1.8, 1.9},
		     {MEASURE_RATIO, 0.9, 0.95},           {MEASURE_TIME, 0.1 * 190 / 180, 0.1},
		     {MEASURE_TOKENS, 180 * 50, 190 * 50}, {MEASURE_MFU, 0.36, 0.38}};
	struct arena *arena = arena_new();
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct prediction one = job(1, 100, 100), two = job(2, 190, 100);
		const struct dataset_row rows[] = {
			{.label = "gpus=1", .measure = MEASURE_THROUGHPUT, .measured = 99},
			{.label = "gpus=2",
			 .role = ROLE_TEST,
			 .measure = cases[i].measure,
			 .measured = cases[i].measured}};
		const struct dataset dataset = {.title = "", .rows = rows, .row_count = 2};
		struct row_outcome outcomes[] = {
			{.row = &rows[0], .prediction = &one, .predicted = {100, 100, 100}},
			{.row = &rows[1],
			 .prediction = &two,
			 .predicted = estimate_exact(cases[i].predicted)}};
		const struct dataset_outcome outcome = {.dataset = &dataset, .rows = outcomes};
		const struct dataset_chart *charts;
		one.resolution = two.resolution = cfg_resolution_new(arena);
		two.step_s = (struct estimate){0.1, 0.1, 0.1};
		CHECK(dataset_charts(arena, "c", &outcome, &charts) == 1);
		CHECK_PART(shapes_of(arena, charts[0].drawing),
			   "2 GPUs: measured 180, predicted 190");
		CHECK_PART(shapes_of(arena, charts[0].drawing),
			   "1 GPUs: measured 99, predicted 100");
	}
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(lines_convert_measurements_to_throughput),
	TEST(scaling_curve_is_sorted_by_gpus),
	TEST(unit_of_a_time_follows_the_largest_value),
	TEST(bandwidth_curve_is_sorted_by_size),
	TEST(bandwidth_curve_without_sizes_is_sorted_by_gpus),
	TEST(throughput_quotient_combines_both_intervals),
	TEST(bars_use_the_ratio_of_each_kind_of_case),
	TEST(columns_without_values_are_left_out),
	TEST(parity_of_times_is_in_microseconds),
};

int main(void)
{
	return TEST_MAIN(tests);
}
