/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Programs that the probe forwarded: which calls wait, and the order of the results. */
#include "tests/forwarding/streams.h"

#include "calib/fit/recording.h"
#include "tests/own_folder.h"

#define HEAD                                                                                       \
	"{\"format\":\"farwire-samples\",\"version\":1,\"tool\":\"t\",\"date\":\"d\",\"seed\":1,"  \
	"\"mode\":\"quick\",\"passes\":1,\"host\":{\"cpu\":\"c\",\"cores\":4,\"settings\":{}}}\n"
#define STREAM(program, mode, latency, rate, kernel)                                               \
	"{\"test\":\"stream\",\"is\":{\"program\":\"" program                                      \
	"\",\"place\":\"forwarded\",\"mode\":\"" mode "\"},\"x\":{\"latency_s\":" latency          \
	",\"rate_Bps\":" rate ",\"kernel_s\":" kernel                                              \
	"},\"pass\":0,\"unit\":\"s\",\"samples\":[0.5],\"stop\":\"count\"}\n"
#define END "{\"end\":true,\"elapsed_s\":1}\n"

/* Predicts these points with measured parameters, of which there are none by default. */
static struct streams predict_with(struct calibration calibration, const char *points)
{
	write_file("streams.jsonl", arena_printf(arena, HEAD "%s" END, points));
	diag = diag_new(arena);
	const struct recording *recording = recording_read(arena, diag, path_of("streams.jsonl"));
	unlink(path_of("streams.jsonl"));
	if (!CHECK(recording != NULL)) {
		diag_print(diag, stdout);
		return (struct streams){0};
	}
	calibration.recording = recording;
	struct streams streams = streams_predict(arena, diag, &calibration);
	CHECK(diag_count(diag) == 0);
	return streams;
}

static struct streams predict(const char *points)
{
	return predict_with((struct calibration){0}, points);
}

static void found(struct calibration *calibration, const char *path, double value_s)
{
	*VEC_PUSH(arena, &calibration->parameters) = (struct calibrated){
		.path = path, .quantity = QUANTITY_TIME, .value = {value_s, value_s, value_s}};
}

/* The latency is 4 ms each way, so an answer takes 8 ms. A step of the program has eight times a
 * copy to the GPU, a kernel and a copy back. If each call waits, that is 24 * 8 ms = 192 ms. If
 * only copies back wait, as in CUDA, it is 8 * 8 ms = 64 ms. Everything else takes less than a
 * millisecond for each of the copies. */
static void only_copies_from_the_gpu_wait_in_asynchronous_programs(void)
{
	struct streams streams = predict(STREAM("pipeline", "async", "4e-3", "0", "1e-6")
						 STREAM("pipeline", "sync", "4e-3", "0", "1e-6"));
	if (!CHECK(streams.count == 2))
		return;
	double sync_s = streams.items[0].predicted.value,
	       async_s = streams.items[1].predicted.value;
	CHECK_TEXT(streams.items[0].mode, "sync");
	CHECK(sync_s > 192e-3 && sync_s < 192e-3 + 16e-3);
	CHECK(async_s > 64e-3 && async_s < 64e-3 + 16e-3);
	CHECK_NEAR(streams.items[0].copied_B, 8 * 1.25 * 1048576, 1e-12);
	CHECK_NEAR(streams.items[0].error_ratio, sync_s / 0.5 - 1, 1e-12);
	CHECK_NEAR(streams.most_ratio, fmax(1 - sync_s / 0.5, 1 - async_s / 0.5), 1e-12);
	CHECK_NEAR(streams.median_ratio, 1 - (sync_s + async_s) / 2 / 0.5, 1e-12);
}

static void results_are_sorted_by_kernel_latency_rate_and_mode(void)
{
	static const char *const points[] = {STREAM("launches", "sync", "1e-4", "0", "1e-6"),
					     STREAM("launches", "async", "1e-4", "0", "1e-6"),
					     STREAM("launches", "sync", "2e-4", "0", "1e-6"),
					     STREAM("launches", "sync", "2e-4", "1e9", "1e-6"),
					     STREAM("launches", "sync", "1e-4", "0", "2e-6")};
	static const double wanted[][3] = {{1e-6, 1e-4, 0},
					   {1e-6, 1e-4, 0},
					   {1e-6, 2e-4, 0},
					   {1e-6, 2e-4, 1e9},
					   {2e-6, 1e-4, 0}};
	for (int turned = 0; turned < 2; turned++) {
		const char *text = "";
		for (size_t i = 0; i < 5; i++)
			text = arena_printf(arena, "%s%s", text, points[turned ? 4 - i : i]);
		struct streams streams = predict(text);
		if (!CHECK(streams.count == 5))
			return;
		for (size_t i = 0; i < 5; i++) {
			CHECK_NEAR(streams.items[i].kernel_s, wanted[i][0], 1e-12);
			CHECK_NEAR(streams.items[i].latency_s, wanted[i][1], 1e-12);
			CHECK_NEAR(streams.items[i].rate_Bps, wanted[i][2], 1e-12);
			CHECK_TEXT(streams.items[i].mode, i == 1 ? "async" : "sync");
		}
	}
}

/* The latency of 4 ms contains 3 ms of sockets and wake-ups. So 24 calls still take 8 ms each. */
static void latency_contains_the_measured_costs_of_a_message(void)
{
	struct calibration calibration = {0};
	found(&calibration, "guest.*.send", 1e-3);
	found(&calibration, "guest.*.receive", 1e-3);
	found(&calibration, "guest.*.thread_wake", 1e-3);
	struct streams streams =
		predict_with(calibration, STREAM("pipeline", "sync", "4e-3", "0", "1e-6"));
	if (CHECK(streams.count == 1))
		CHECK_NEAR(streams.items[0].predicted.value, 24 * 8e-3, 0.1);
}

/* 200 kernels of 1 us on a GPU whose empty kernel takes 1 ms. */
static void kernels_take_an_empty_kernel_longer_than_their_work(void)
{
	struct calibration calibration = {0};
	found(&calibration, "gpu.*.kernel_floor", 1e-3);
	struct streams streams =
		predict_with(calibration, STREAM("launches", "async", "1e-6", "0", "1e-6"));
	if (CHECK(streams.count == 1))
		CHECK_NEAR(streams.items[0].predicted.value, 200 * 1.001e-3, 0.01);
}

/* Copies of 8 x 1.25 MiB take 8 ms over 4 lanes of generation 1, of 1 GB/s without their losses,
 * longer than over 16 lanes. */
static void copies_use_the_link_of_the_calibration(void)
{
	struct calibration narrow = {.pcie_generation_count = 1, .pcie_width_count = 4},
			   wide = narrow;
	wide.pcie_width_count = 16;
	const char *point = STREAM("pipeline", "sync", "1e-6", "0", "1e-6");
	struct streams slow = predict_with(narrow, point), fast = predict_with(wide, point);
	if (CHECK(slow.count == 1 && fast.count == 1))
		CHECK(slow.items[0].predicted.value > fast.items[0].predicted.value + 7.8e-3);
}

static const struct test tests[] = {
	TEST(latency_contains_the_measured_costs_of_a_message),
	TEST(kernels_take_an_empty_kernel_longer_than_their_work),
	TEST(copies_use_the_link_of_the_calibration),
	TEST(only_copies_from_the_gpu_wait_in_asynchronous_programs),
	TEST(results_are_sorted_by_kernel_latency_rate_and_mode),
};

int main(void)
{
	if (!folder_begin())
		return 1;
	int code = TEST_MAIN(tests);
	folder_end();
	return code;
}
