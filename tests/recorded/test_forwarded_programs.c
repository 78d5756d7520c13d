/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predicts steps of programs that tests/forwarding forwarded to a second process, from the costs of
 * calls that it measured in the same recording. No fit uses the steps.
 *
 *   test_forwarded_programs RECORDING    prints the errors of a recording */
#include "calib/fit/recording.h"
#include "sim/base/gunzip.h"
#include "sim/base/lines.h"
#include "tests/forwarding/calibrate.h"
#include "tests/forwarding/streams.h"
#include "tests/own_folder.h"

static struct streams predict(const char *path)
{
	struct origin origin = {path, 0};
	diag = diag_new(arena);
	FILE *in = file_open(diag, origin, path);
	in = in ? gunzip_open(diag, origin, in) : NULL;
	const struct recording *recording = in ? recording_read_from(arena, diag, in, path) : NULL;
	const struct calibration *calibration =
		recording ? forwarding_calibration(arena, diag, recording) : NULL;
	struct streams streams = {0};
	if (CHECK(calibration != NULL))
		streams = streams_predict(arena, diag, calibration);
	CHECK(diag_count(diag) == 0);
	diag_print(diag, stdout);
	return streams;
}

static void errors_are_at_most(const char *path, size_t count, double median_ratio,
			       double most_ratio)
{
	struct streams streams = predict(path);
	if (!CHECK(streams.count == count && streams.median_ratio <= median_ratio &&
		   streams.most_ratio <= most_ratio))
		printf("  %s: %zu programs, median error %.2f %%, largest %.1f %%\n", path,
		       streams.count, 100 * streams.median_ratio, 100 * streams.most_ratio);
}

/* A virtual machine with two cores, whose kernels are waits. */
static void programs_on_a_spinning_device_are_predicted(void)
{
	errors_are_at_most("calib/measured/recorded/loopback-spin.jsonl", 12, 0.005, 0.01);
}

static void programs_on_an_h200_are_predicted(void)
{
	errors_are_at_most("calib/measured/recorded/h200-probe.jsonl.gz", 51, 0.01, 0.15);
}

static void programs_on_an_h100_are_predicted(void)
{
	errors_are_at_most("calib/measured/recorded/h100-probe.jsonl.gz", 51, 0.01, 0.20);
}

static int print(const char *path)
{
	struct streams streams = predict(path);
	for (size_t i = 0; i < streams.count; i++) {
		const struct stream *s = &streams.items[i];
		printf("  %-8s %-7s %6.0f us kernels %6.0f us one way %10.0f us measured %+7.2f "
		       "%%\n",
		       s->program, s->mode, 1e6 * s->kernel_s, 1e6 * s->latency_s,
		       1e6 * s->measured_s, 100 * s->error_ratio);
	}
	printf("%zu programs: median error %.2f %%, largest %.1f %%\n", streams.count,
	       100 * streams.median_ratio, 100 * streams.most_ratio);
	return streams.count == 0;
}

static const struct test tests[] = {
	TEST(programs_on_a_spinning_device_are_predicted),
	TEST(programs_on_an_h200_are_predicted),
	TEST(programs_on_an_h100_are_predicted),
};

int main(int count, char **words)
{
	if (!folder_begin())
		return 1;
	int code = count > 1 ? print(words[1]) : TEST_MAIN(tests);
	folder_end();
	return code;
}
