/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sentences about a calibration that is written here: pieces of a line, and the answer of a report.
 */
#include <math.h>

#include "sim/base/arena.h"
#include "sim/report/calibration.h"
#include "sim/report/report.h"
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
	TEST(a_failed_gate_is_an_alarm),
};

int main(void)
{
	return TEST_MAIN(tests);
}
