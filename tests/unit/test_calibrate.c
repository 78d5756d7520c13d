/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Costs that calibrations derive from a few measured times. All times are in microseconds. For
 * forwarded calls the comments use the terms of tests/forwarding/calibrate.h: S is a call that
 * waits, n B are n calls in one message, and a further call costs (64 B - S) / 63. */
#include "calib/fit/calibration.h"
#include "calib/fit/recording.h"
#include "tests/forwarding/calibrate.h"
#include "tests/own_folder.h"

struct times {
	double get, sync, further, async; /* over shared memory; further: of a call in a batch */
	double tcp_sync, tcp_async;       /* 0: not measured */
};

static const struct calibration *calibration;

/* Adds a sample at three sizes of arguments, or at none. */
static const char *point(const char *text, const char *test, const char *words, const char *numbers,
			 double time_us)
{
	return arena_printf(arena,
			    "%s{\"test\":\"%s\",\"is\":{%s},\"x\":{%s},\"pass\":0,\"unit\":\"s\","
			    "\"samples\":[%.9ge-6],\"stop\":\"count\"}\n",
			    text, test, words, numbers, time_us);
}

static const char *series(const char *text, const char *transport, const char *mode, double time_us)
{
	static const char *const sizes[] = {"16", "64", "256"};
	const char *words = arena_printf(
		arena, "\"transport\":\"%s\",\"what\":\"call\",\"mode\":\"%s\"", transport, mode);
	for (size_t i = 0; i < 3 && time_us > 0; i++)
		text = point(text, "forward", words,
			     arena_printf(arena, "\"argument_B\":%s", sizes[i]), time_us);
	return text;
}

/* Calibrates these points of a GPU that no file describes. */
static void calibrate(const char *points)
{
	write_file("calls.jsonl",
		   arena_printf(arena,
				"{\"format\":\"farwire-samples\",\"version\":1,\"tool\":\"t\","
				"\"date\":\"d\",\"seed\":1,\"mode\":\"quick\",\"passes\":1,"
				"\"host\":{\"cpu\":\"c\"},\"gpu\":{\"name\":\"G\"}}\n%s"
				"{\"end\":true,\"elapsed_s\":1}\n",
				points));
	diag = diag_new(arena);
	const struct recording *recording = recording_read(arena, diag, path_of("calls.jsonl"));
	remove(path_of("calls.jsonl"));
	calibration = recording ? forwarding_calibration(arena, diag, recording) : NULL;
	diag_print(diag, stdout);
	CHECK(calibration != NULL);
}

static void fit(struct times t)
{
	const char *text = point("", "call", "\"call\":\"get\"", "", t.get);
	text = series(text, "shm", "sync", t.sync);
	text = series(text, "shm", "async", t.async);
	text = series(text, "tcp", "sync", t.tcp_sync);
	text = series(text, "tcp", "async", t.tcp_async);
	calibrate(point(text, "forward",
			"\"transport\":\"shm\",\"what\":\"call\",\"mode\":\"batched\"",
			"\"batch\":64", (63 * t.further + t.sync) / 64));
}

/* Returns the fitted value; NaN: it was left out. */
static double value(const char *path)
{
	for (size_t i = 0; calibration && i < calibration->parameters.count; i++)
		if (strcmp(calibration->parameters.items[i].path, path) == 0)
			return calibration->parameters.items[i].value.value;
	return NAN;
}

static double us(const char *path)
{
	return 1e6 * value(path);
}

/* A further call takes 4, of which 1 is the call itself, 0.2 intercept and 2.8 unmarshal. The pace
 * of 5 is above the server's 3.8, so the client needs 4.8 beside intercept. A call
 * that waits takes 30, so 30 - 4 - 4.8 = 21.2 remain: 0.5 for the reply, and 10.35 for each way,
 * with 0.3 for post. */
static void costs_of_a_slow_client_add_up_to_a_call(void)
{
	fit((struct times){.get = 1, .sync = 30, .further = 4, .async = 5});
	CHECK_NEAR(us("runtime.unmarshal"), 2.8, 1e-6);
	CHECK_NEAR(us("runtime.marshal"), 4.8, 1e-6);
	CHECK_NEAR(us("shm.notify"), 10.05, 1e-6);
	CHECK(isnan(us("runtime.intercept")) && isnan(us("runtime.reply")) &&
	      isnan(us("shm.post")));
}

/* The server needs 3.8 for a call, and a pace of 4 is less than a tenth above it. So it does not
 * show the client, unless the client is faster than the default of 1: then 0.7 is its bound. */
static void a_pace_of_the_server_bounds_the_client(void)
{
	fit((struct times){.get = 1, .sync = 30, .further = 4, .async = 4});
	CHECK(isnan(us("runtime.marshal")));
	CHECK_NEAR(us("shm.notify"), (30 - 4 - 1 - 0.5) / 2 - 0.3, 1e-6);
	fit((struct times){.get = 1, .sync = 30, .further = 4, .async = 0.9});
	CHECK_NEAR(us("runtime.marshal"), 0.7, 1e-6);
}

/* A further call takes 0.3 more than the call itself: half for each side. A call that waits takes
 * 3, so 3 - 1.3 - 1.15 = 0.55 remain: a third for the reply, and for each way a third, of which
 * post is a third. */
static void costs_below_the_defaults_divide_what_is_there(void)
{
	fit((struct times){.get = 1, .sync = 3, .further = 1.3, .async = 1.3});
	CHECK_NEAR(us("runtime.intercept"), 0.15, 1e-6);
	CHECK_NEAR(us("runtime.unmarshal"), 0.15, 1e-6);
	CHECK_NEAR(us("runtime.marshal"), 1.15, 1e-6);
	CHECK_NEAR(us("runtime.reply"), 0.55 / 3, 1e-6);
	CHECK_NEAR(us("shm.post"), 0.55 / 9, 1e-6);
	CHECK_NEAR(us("shm.notify"), 0.55 / 3 - 0.55 / 9, 1e-6);
}

/* Over TCP a call takes 40 longer, so a way takes 20 + 10.35. Without a pace, send, receive and
 * wake have the parts 3, 5 and 4 of 12. */
static void a_way_over_tcp_is_divided_like_the_defaults(void)
{
	fit((struct times){.get = 1, .sync = 30, .further = 4, .async = 5, .tcp_sync = 70});
	CHECK_NEAR(us("guest.*.send"), 30.35 * 3 / 12, 1e-6);
	CHECK_NEAR(us("guest.*.receive"), 30.35 * 5 / 12, 1e-6);
	CHECK_NEAR(us("guest.*.thread_wake"), 30.35 * 4 / 12, 1e-6);
}

/* The pace of 11 is more than twice that over shared memory: a send takes 11 - 4.8 - 0.2 = 6. A
 * pace contains a 64th of a call that waits, 70 / 64, so the receiver works for 9.90625 at most, of
 * which the call takes 3.8. The rest of the way of 30.35 is the wake-up. */
static void a_slow_pace_shows_the_send(void)
{
	fit((struct times){
		.get = 1, .sync = 30, .further = 4, .async = 5, .tcp_sync = 70, .tcp_async = 11});
	CHECK_NEAR(us("guest.*.send"), 6, 1e-6);
	CHECK_NEAR(us("guest.*.receive"), 9.90625 - 3.8, 1e-6);
	CHECK_NEAR(us("guest.*.thread_wake"), 30.35 - 6 - (9.90625 - 3.8), 1e-6);
}

/* The pace of 9 is less than twice that over shared memory. A send takes at most what the pace
 * leaves: 9 - 70 / 64 - 4.8 - 0.2. */
static void a_fast_pace_bounds_the_send(void)
{
	fit((struct times){
		.get = 1, .sync = 30, .further = 4, .async = 5, .tcp_sync = 70, .tcp_async = 9});
	CHECK_NEAR(us("guest.*.send"), 9 - 70.0 / 64 - 5, 1e-6);
}

/* An empty kernel takes 2, and 1 more until the next one. Beyond these 3, kernels read and write 7
 * MB in 7 and 14 MB in 14. That kernels follow each other faster in a graph does not matter. */
static void bandwidth_of_memory_is_that_beyond_an_empty_kernel(void)
{
	static const char *const nodes[] = {"\"nodes\":20", "\"nodes\":40", "\"nodes\":80"};
	const char *text = point("", "kernel", "\"what\":\"floor\"", "", 2);
	text = point(text, "kernel", "\"what\":\"gap\"", "", 1);
	text = point(text, "memory", "\"kernel\":\"copy\",\"level\":\"hbm\"", "\"size_B\":7000000",
		     10);
	text = point(text, "memory", "\"kernel\":\"triad\",\"level\":\"hbm\"",
		     "\"size_B\":14000000", 17);
	for (int i = 0; i < 3; i++)
		text = point(text, "graph", "\"what\":\"run\"", nodes[i], 5 + 20 * (1 << i));
	calibrate(text);
	CHECK_NEAR(value("gpu.g.memory_bandwidth"), 1e12, 1e-9);
	CHECK_NEAR(value("gpu.g.memory_efficiency"), 1, 1e-12);
}

static const struct test tests[] = {
	TEST(bandwidth_of_memory_is_that_beyond_an_empty_kernel),
	TEST(costs_of_a_slow_client_add_up_to_a_call),
	TEST(a_pace_of_the_server_bounds_the_client),
	TEST(costs_below_the_defaults_divide_what_is_there),
	TEST(a_way_over_tcp_is_divided_like_the_defaults),
	TEST(a_slow_pace_shows_the_send),
	TEST(a_fast_pace_bounds_the_send),
};

int main(void)
{
	if (!folder_begin())
		return 1;
	int failed = TEST_MAIN(tests);
	folder_end();
	return failed;
}
