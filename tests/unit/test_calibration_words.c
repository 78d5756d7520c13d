/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sentences about a calibration that is written here: pieces of a line, and the answer of a report.
 */
#include <math.h>

#include "sim/base/arena.h"
#include "sim/report/calibration.h"
#include "sim/report/report.h"
#include "tests/drawing_print.h"
#include "tests/test.h"

static const struct calibration_point points[] = {{.x = 1e3}, {.x = 1e6}, {.x = 1e7}};
static const struct estimate start = {10e-6, NAN, NAN};

/* The first piece takes 10 us and 10 ps a byte: 0.01 us at 1 kB, but 10 us at its end of 1 MB, so
 * it is not flat. Its 100 GB/s are 150 GB/s of bus bandwidth for an all-reduce of 4 ranks, which
 * carries 2 x 3 / 4 of the bytes, and between 75 and 300 GB/s. The second piece has no upper end.
 */
static struct calibration_series series_of(const char *label)
{
	return (struct calibration_series){
		.label = label,
		.x_name = "size_B",
		.points = points,
		.count = 3,
		.segments = {.count = 2, .from = {1e3, 1e6}},
		.start_s = {start, start},
		.slope = {{1e-11, 0.5e-11, 2e-11}, {1e-11, 0, 2e-11}},
		.holds = true,
	};
}

static void pieces_have_the_bandwidth_of_their_bytes(void)
{
	struct arena *arena = arena_new();
	struct calibration_series series[] = {series_of("all_reduce sum, 4 ranks"),
					      series_of("copy")};
	const struct calibration calibration = {.series = {series, 2, 2}};
	const char *const *sentences;
	if (CHECK(calibration_sentences(arena, &calibration, &sentences) == 4)) {
		CHECK_PART(sentences[0], "1 kB up: 10 us, plus bytes at 150 GB/s (75 GB/s .. 300 "
					 "GB/s) of bus bandwidth");
		CHECK_PART(sentences[1], "1 MB up: 10 us, plus bytes at 150 GB/s of bus bandwidth");
		CHECK_PART(sentences[2], "plus bytes at 100 GB/s (50 GB/s .. 200 GB/s)");
	}
	/* the bytes of the first piece take at most 0.01 us, because it ends at 1 MB */
	series[1].slope[0] = estimate_exact(1e-14);
	calibration_sentences(arena, &calibration, &sentences);
	CHECK_TEXT(sentences[2], "copy from 1 kB up: 10 us for any size");
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

/* Lines with held-out points have their errors, and products also those of the default constants.
 */
static void held_out_points_have_errors_and_their_limit(void)
{
	struct arena *arena = arena_new();
	struct calibration_series series[] = {series_of("copy"), series_of("products")};
	for (size_t i = 0; i < 2; i++) {
		series[i].held_out_count = 4 + i;
		series[i].held_out_ratio = 0.01 + 0.01 * (double)i;
		series[i].limit_ratio = 0.05;
		series[i].geomean_ratio = i ? 0.03 : NAN;
		series[i].default_ratio = i ? 0.12 : NAN;
		series[i].segments.count = 0;
	}
	series[1].holds = false;
	const char *remark = "a remark";
	struct calibration calibration = {.series = {series, 2, 2}, .remarks = {&remark, 1, 1}};
	const char *const *sentences;
	if (CHECK(calibration_sentences(arena, &calibration, &sentences) == 3)) {
		CHECK_TEXT(sentences[0], "a remark");
		CHECK_TEXT(sentences[1],
			   "copy: median error of 1.00 % on 4 held-out points (allowed: 5 %)");
		CHECK_TEXT(sentences[2],
			   "products: median error of 2.00 % on 5 held-out points (allowed: 5 %): "
			   "gate "
			   "FAILED; in the geometric mean 3.00 %, and 12.00 % with the default "
			   "constants");
	}
	series[1].default_ratio = NAN;
	calibration_sentences(arena, &calibration, &sentences);
	CHECK_PART(sentences[2], "; in the geometric mean 3.00 %");
	CHECK(!strstr(sentences[2], "default"));
	arena_free(arena);
}

/* The page has the answer, the parameters and the reasons why others are missing. */
static void check_page(struct arena *arena, const struct calibration *calibration)
{
	const struct report_request request = {.title = "t", .data_root = "."};
	struct report *report = report_begin(arena, &request);
	report_calibration(report, calibration);
	const char *text = "";
	const struct table *table = NULL;
	for (size_t i = 0; i < report->blocks.count; i++) {
		const struct block *block = &report->blocks.items[i];
		text = arena_printf(arena, "%s\n%s", text, block->text);
		table = table ? table : block->table;
	}
	CHECK_PART(text, "\na GPU\nThis machine: launching a kernel takes 2 us");
	CHECK_PART(text, "; largest drift 1.5 %; recording");
	CHECK_PART(text, " up. Nothing was fitted of: ");
	CHECK_PART(text, "\nNot measured: share: no MPS.");
	CHECK_PART(text, "\nNot fitted: one: first.\nNot fitted: two: second.");
	if (CHECK(table && table->rows.count == 2)) {
		char **cells = (char **)table->rows.items[1].cells;
		CHECK_TEXT(cells[0], "driver.launch");
		CHECK_TEXT(cells[1], "2 us");
		CHECK_TEXT(cells[2], "1 us");
		CHECK_TEXT(cells[3], "3 us");
		CHECK_TEXT(cells[4], "a note");
		CHECK_TEXT(table->rows.items[0].cells[2], "–");
		CHECK_TEXT(table->rows.items[0].cells[3], "–");
	}
}

/* The answer has the bandwidth of the last piece of a line, from its first size on, and leaves out
 * a piece that does not hold. */
static void answer_names_parameters_and_the_last_pieces_of_copies(void)
{
	struct arena *arena = arena_new();
	struct calibrated parameters[] = {
		{"storage.latency", QUANTITY_TIME, {80e-6, NAN, NAN}, "fio"},
		{"driver.launch", QUANTITY_TIME, {2e-6, 1e-6, 3e-6}, "a note"}};
	struct calibration_series series[] = {series_of("copy d2h pinned async rate"),
					      series_of("copy h2d pinned async rate")};
	series[0].slope[1] = (struct estimate){2e-10, NAN, NAN};
	series[1].slope[1] = (struct estimate){5e-11, NAN, NAN};
	series[0].piece_holds[1] = series[1].piece_holds[1] = true;
	struct calibration_left_out left_out[] = {{.what = "one", .why = "first"},
						  {.what = "two", .why = "second"}};
	struct recording_waived waived = {.test = "share", .why = "no MPS"};
	const struct recording recording = {.waived = {&waived, 1, 1},
					    .gpu = "a GPU",
					    .cpu = "a core",
					    .tool = "probe",
					    .date = "today",
					    .drift_most_ratio = 0.015};
	struct calibration calibration = {.recording = &recording,
					  .parameters = {parameters, 2, 2},
					  .series = {series, 2, 2},
					  .left_out = {left_out, 2, 2}};
	CHECK_TEXT(
		calibration_words(arena, &calibration),
		"launching a kernel takes 2 us (1 us to 3 us); a storage request waits for 80 us; "
		"pinned copies to the GPU reach 20 GB/s from 1 MB up; pinned copies from the GPU "
		"reach 5 GB/s from 1 MB up");
	check_page(arena, &calibration);
	series[0].piece_holds[1] = false;
	parameters[1].path = "other";
	CHECK_TEXT(calibration_words(arena, &calibration),
		   "a storage request waits for 80 us; pinned copies to the GPU reach 20 GB/s from "
		   "1 MB up");
	arena_free(arena);
}

/* The points of a second calibration follow. It has only the last series of the first one. */
static void check_points(struct arena *arena, const struct calibration *calibration)
{
	const struct calibration second = {.recording = calibration->recording,
					   .series = {&calibration->series.items[3], 1, 1}};
	const struct calibration *both[] = {calibration, &second};
	const struct result_table *table = calibration_points(arena, both, 2);
	CHECK(table->row_count == 10 && table->column_count == 6);
	const struct result_cell *last = &table->cells[9 * 6];
	CHECK_TEXT(last[0].text, "attention");
	CHECK_TEXT(last[1].text, "tokens_count");
	CHECK(last[2].number.value == 1e6 && last[3].number.value == 40e-6);
	CHECK(last[3].number.low == 38e-6 && last[3].number.high == 42e-6);
	CHECK(last[4].number.value == 35e-6);
	CHECK_TEXT(last[5].text, "yes");
	CHECK_TEXT(table->cells[5].text, "no");
}

/* Products of two number types share a drawing, and attention has its own. A line over sizes has
 * one each. */
static void kernels_of_one_sort_share_a_drawing(void)
{
	struct arena *arena = arena_new();
	const struct calibration_point one[] = {{1e3, 20e-6, 18e-6, 22e-6, 25e-6, false},
						{1e6, 40e-6, 38e-6, 42e-6, 35e-6, true}};
	struct calibration_series series[] = {series_of("copy"), series_of("fp16"),
					      series_of("fp32"), series_of("attention")};
	for (size_t i = 0; i < 4; i++) {
		series[i].points = one;
		series[i].count = 2;
		series[i].segments.count = i ? 0 : 1;
		series[i].x_name = i == 0 ? "size_B" : i < 3 ? "flop" : "tokens_count";
	}
	const struct recording recording = {.cpu = "a core",
					    .tool = "probe",
					    .date = "today",
					    .hash = "0123456789abcdef",
					    .pass_count = 3};
	const struct calibration calibration = {.recording = &recording, .series = {series, 4, 4}};
	const struct calibration_drawing *drawings;
	if (!CHECK(calibration_drawings(arena, &calibration, &drawings) == 3))
		return;
	CHECK_TEXT(drawings[0].caption, "copy: measurements and the fitted line");
	CHECK_TEXT(drawings[1].caption, "Matrix products, measured and by the law");
	CHECK_TEXT(drawings[2].caption, "Attention, measured and by the law");
	const char *line = shapes_of(arena, drawings[0].drawing);
	const char *products = shapes_of(arena, drawings[1].drawing);
	CHECK_PART(line, "size (B)");
	CHECK_PART(line, "a core, probe, today: 3 passes; whiskers: 95 % intervals");
	CHECK_PART(line, "recording 0123456789ab");
	CHECK_PART(line, ": 25");
	CHECK_PART(products, "fp16");
	CHECK_PART(products, "fp32");
	CHECK(!strstr(products, "attention"));
	CHECK_PART(
		line,
		" middle \"1 KiB\"\n"); /* the axis is logarithmic, because the sizes differ much */
	CHECK_PART(products, "measured 40, predicted 35");
	CHECK_PART(shapes_of(arena, drawings[2].drawing), "attention");
	struct recording own = recording;
	own.gpu = "a GPU";
	struct calibration of_gpu = calibration;
	of_gpu.recording = &own;
	calibration_drawings(arena, &of_gpu, &drawings);
	CHECK_PART(shapes_of(arena, drawings[0].drawing), "a GPU, probe, today: 3 passes");
	check_points(arena, &calibration);
	arena_free(arena);
}

static void a_failed_gate_is_an_alarm(void)
{
	struct arena *arena = arena_new();
	const struct report_request request = {.title = "How fast?", .data_root = "."};
	const struct recording recording = {.cpu = "a core",
					    .tool = "probe",
					    .date = "today",
					    .sample_count = 700,
					    .pass_count = 3,
					    .outlier_count = 2};
	for (int failed = 0; failed < 2; failed++) {
		const struct calibration calibration = {.recording = &recording,
							.gate_failed = failed};
		struct report *report = report_begin(arena, &request);
		report_calibration(report, &calibration);
		const struct block *answer = NULL;
		bool counted = false;
		for (size_t i = 0; i < report->blocks.count && !answer; i++)
			if (report->blocks.items[i].kind == BLOCK_ANSWER)
				answer = &report->blocks.items[i];
		CHECK(answer && answer->alarm == failed);
		CHECK_PART(
			answer->text,
			"This machine: the tables below have its parameters. Nothing was fitted");
		for (size_t i = 0; i < report->blocks.count; i++)
			counted |=
				strstr(report->blocks.items[i].text ? report->blocks.items[i].text
								    : "",
				       "700 samples in 3 passes on today, 2 of them outliers") !=
				NULL;
		CHECK(counted);
	}
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(pieces_have_the_bandwidth_of_their_bytes),
	TEST(held_out_points_have_errors_and_their_limit),
	TEST(answer_names_parameters_and_the_last_pieces_of_copies),
	TEST(kernels_of_one_sort_share_a_drawing),
	TEST(a_failed_gate_is_an_alarm),
};

int main(void)
{
	return TEST_MAIN(tests);
}
