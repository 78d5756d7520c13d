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
static const char *gpu = "G"; /* no file describes it */
static int pass, passes = 1;
static int pcie_generation = 3, pcie_width = 16;

/* Adds a point with one sample. */
static const char *point(const char *text, const char *test, const char *words, const char *numbers,
			 double time_us)
{
	return arena_printf(arena,
			    "%s{\"test\":\"%s\",\"is\":{%s},\"x\":{%s},\"pass\":%d,\"unit\":\"s\","
			    "\"samples\":[%.9ge-6],\"stop\":\"count\"}\n",
			    text, test, words, numbers, pass, time_us);
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

/* Adds a point that no fit uses. */
static const char *held_out(const char *text, const char *test, const char *words,
			    const char *numbers, double time_us)
{
	text = point(text, test, words, numbers, time_us);
	size_t length = strlen(text) - strlen("}\n");
	return arena_printf(arena, "%.*s,\"held_out\":true}\n", (int)length, text);
}

/* Calibrates these points of the GPU. */
static void calibrate(const char *points)
{
	write_file(
		"calls.jsonl",
		arena_printf(
			arena,
			"{\"format\":\"farwire-samples\",\"version\":1,\"tool\":\"t\","
			"\"date\":\"d\",\"seed\":1,\"mode\":\"quick\",\"passes\":%d,"
			"\"host\":{\"cpu\":\"c\"},\"gpu\":{\"name\":\"%s\",\"multiprocessors\":80,"
			"\"pcie_generation\":%d,\"pcie_width\":%d}}\n%s"
			"{\"end\":true,\"elapsed_s\":1}\n",
			passes, gpu, pcie_generation, pcie_width, points));
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

/* Returns the fitted value with its interval; NaN: it was left out. */
static struct estimate found(const char *path)
{
	for (size_t i = 0; calibration && i < calibration->parameters.count; i++)
		if (strcmp(calibration->parameters.items[i].path, path) == 0)
			return calibration->parameters.items[i].value;
	return ESTIMATE_NONE;
}

static double value(const char *path)
{
	return found(path).value;
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

/* Times that a made-up GPU needs for products of m x m x m; of m x m x 2 m those of `held_out`, of
 * which the first two are small. */
static const char *products(const double held_out_us[4])
{
	static const int sizes[] = {256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144};
	static const int others[] = {256, 512, 4096, 6144};
	const char *text = "", *type = "\"type\":\"fp16\"";
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
		text = point(text, "gemm", type,
			     arena_printf(arena, "\"m\":%d,\"n\":%d,\"k\":%d", sizes[i], sizes[i],
					  sizes[i]),
			     5 + 2 * pow(sizes[i], 3) / 1e8);
	for (size_t i = 0; i < 4; i++)
		text = held_out(text, "gemm", type,
				arena_printf(arena, "\"m\":%d,\"n\":%d,\"k\":%d", others[i],
					     others[i], 2 * others[i]),
				held_out_us[i]);
	return text;
}

/* Held-out products whose times are 1.3 and 1.2 times shorter than the fitted law says: both halves
 * are rough, and the larger error of 30 % widens the interval. The fit and its error do not change,
 * because the law does not contain these points. */
static void rough_products_widen_the_rate_by_the_error_of_the_worse_half(void)
{
	static const double ratios[] = {1.3, 1.3, 1.2, 1.2};
	double times_us[] = {1, 1, 1, 1};
	calibrate(products(times_us));
	if (!CHECK(calibration->series.count == 1))
		return;
	const struct calibration_series *before = calibration->series.items, *series;
	size_t n = 0;
	for (size_t i = 0; i < before->count; i++)
		if (before->points[i].held_out && n < 4) {
			times_us[n] = 1e6 * before->points[i].predicted / ratios[n];
			n++;
		}
	calibrate(products(times_us));
	series = calibration->series.items;
	CHECK(n == 4 && series->holds && series->held_out_count == 4);
	CHECK_NEAR(series->rough_ratio, 0.3, 1e-6);
	CHECK_NEAR(series->held_out_ratio, 0.25, 1e-6);
	CHECK_NEAR(series->geomean_ratio, sqrt(1.3 * 1.2) - 1, 1e-6);
	CHECK_NEAR(series->segments.rms_ratio, before->segments.rms_ratio, 1e-9);
	const struct estimate rate = found("gpu.g.fp16");
	CHECK(rate.low <= 0.7001 * rate.value && rate.high >= 1.2999 * rate.value);
	CHECK(calibration->remarks.count == 2);
}

/* Copies take 10 us and 0.1 ns/B to the GPU, and 14 us and 1/12 ns/B from it. Their mean of 11 GB/s
 * is a part of PCIe's bandwidth: 16 lanes of 8 GT/s with 128 of 130 bits and 256 of 280 bytes. The
 * link's latency of 300 ns is not a part of the setup. */
static void pinned_copies_of_both_directions_give_one_setup_and_one_efficiency(void)
{
	static const char *const ways[] = {"h2d", "d2h"};
	static const double starts_us[] = {10, 14}, us_per_B[] = {1e-4, 1e-3 / 12};
	const char *text = "";
	for (int way = 0; way < 2; way++)
		for (double size_B = 1024; size_B < 1e9; size_B *= 4)
			text = point(text, "copy",
				     arena_printf(arena,
						  "\"direction\":\"%s\",\"memory\":\"pinned\","
						  "\"call\":\"async\",\"measure\":\"rate\"",
						  ways[way]),
				     arena_printf(arena, "\"size_B\":%.0f", size_B),
				     starts_us[way] + us_per_B[way] * size_B);
	calibrate(text);
	CHECK_NEAR(us("dma.setup"), 12 - 0.3, 1e-4);
	CHECK_NEAR(value("dma.efficiency"), 11e9 / (16 * 1e9 * 128 / 130 * 256 / 280), 1e-4);
}

/* Returns why something was left out, or "" if it was not. */
static const char *left_out(const char *what)
{
	for (size_t i = 0; calibration && i < calibration->left_out.count; i++)
		if (strcmp(calibration->left_out.items[i].what, what) == 0)
			return calibration->left_out.items[i].why;
	return "";
}

/* Adds pinned copies of one size. */
static const char *pinned(const char *text, const char *way, double size_B, double time_us)
{
	return point(text, "copy",
		     arena_printf(arena,
				  "\"direction\":\"%s\",\"memory\":\"pinned\",\"call\":\"async\","
				  "\"measure\":\"rate\"",
				  way),
		     arena_printf(arena, "\"size_B\":%.0f", size_B), time_us);
}

/* A single size of at least 1 MiB gives the rate of its direction, and a smaller one does not. PCIe
 * 1.0 and 2.0 have 8 bits of data in 10, and later generations 128 in 130. */
static void efficiency_is_a_part_of_the_bandwidth_of_the_generation(void)
{
	static const struct {
		int generation, width;
		double wire_Bps; /* without headers of packets */
	} rows[] = {{1, 16, 16 * 2.5e9 / 8 * 0.8},
		    {2, 4, 4 * 5e9 / 8 * 0.8},
		    {3, 1, 8e9 / 8 * 128 / 130},
		    {5, 2, 2 * 32e9 / 8 * 128 / 130}};
	const double packets_ratio = 256.0 / 280;
	const char *other = point("", "call", "\"call\":\"malloc\"", "", 1);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		pcie_generation = rows[i].generation;
		pcie_width = rows[i].width;
		double wire_Bps = rows[i].wire_Bps * packets_ratio;
		double half_us = 1048576 / wire_Bps * 2e6; /* at half the rate */
		calibrate(pinned(pinned("", "h2d", 1048575, 1), "d2h", 1048576, half_us));
		CHECK_NEAR(value("dma.efficiency"), 0.5, 1e-6);
		calibrate(pinned(other, "h2d", 1048576, half_us / 4));
		CHECK(isnan(value("dma.efficiency")));
		CHECK_PART(
			left_out("dma.efficiency"),
			"GB/s to the GPU, unknown from it: this exceeds the bandwidth of PCIe gen");
		calibrate(pinned(pinned("", "h2d", 1048576, half_us), "d2h", 1048576, half_us * 2));
		CHECK_NEAR(value("dma.efficiency"), 0.375, 1e-6);
	}
	for (int generation = 0; generation <= 6; generation += 3) {
		pcie_generation = generation;
		pcie_width = generation == 3 ? 0 : 16;
		calibrate(pinned(other, "h2d", 1048576, 1e3));
		CHECK(isnan(value("dma.efficiency")));
		CHECK_PART(left_out("dma.efficiency"),
			   "does not contain the PCIe link's generation");
	}
	pcie_generation = 3;
	pcie_width = 16;
}

/* Pageable copies take 10 us, and 0.4 ns for a byte. In the second table a byte beyond 1 MiB takes
 * 0.1 ns, so the chunk is 1 MiB. */
static void the_chunk_of_pageable_copies_is_where_a_byte_costs_less(void)
{
	for (int chunks = 0; chunks < 2; chunks++) {
		const char *text = "";
		for (double size_B = 4096; size_B < 1e9; size_B *= 2)
			text = point(text, "copy",
				     "\"direction\":\"h2d\",\"memory\":\"pageable\","
				     "\"call\":\"sync\",\"measure\":\"rate\"",
				     arena_printf(arena, "\"size_B\":%.0f", size_B),
				     10 + 4e-4 * (chunks ? fmin(size_B, 1048576) : size_B) +
					     1e-4 * (chunks ? fmax(0, size_B - 1048576) : 0));
		calibrate(text);
		CHECK((left_out("dma.chunk")[0] == 0) == (chunks == 1));
		if (!chunks)
			CHECK(isnan(value("dma.chunk")) && isnan(value("dma.chunk_start")));
	}
	const struct estimate chunk = found("dma.chunk");
	CHECK(chunk.value >= 1048576 && chunk.value <= 2097152 && chunk.low <= chunk.value);
	CHECK_NEAR(us("dma.chunk_start"), 10 - 0.3, 1e-3);
}

/* Copies that take turns last 1.5 times as long, and an own engine for each direction is faster. */
static void copies_in_both_directions_show_the_engines(void)
{
	static const char words[] = "\"with\":\"d2h\",\"of\":\"h2d\"";
	calibrate(point("", "share", words, "", 1.499e6));
	CHECK(value("gpu.g.copy_engines") == 2);
	calibrate(point("", "share", words, "", 1.5e6));
	CHECK(value("gpu.g.copy_engines") == 1);
}

/* Without a launch that waits, or with one kernel that takes turns with none, nothing is known of
 * the queue and the kernels. If no kernels take turns, at least the most measured ones run at a
 * time. */
static void depths_that_were_not_reached_are_left_out(void)
{
	const char *text = point("", "call", "\"call\":\"malloc\"", "", 1);
	for (int depth = 256; depth <= 4096; depth *= 2)
		text = point(text, "queue", "", arena_printf(arena, "\"depth\":%d", depth), 3);
	static const char words[] = "\"what\":\"concurrent\"";
	calibrate(point(text, "kernel", words, "\"kernels\":4", 1.5e6));
	CHECK(isnan(value("gpu.g.queue_depth")) && isnan(value("gpu.g.concurrent_kernels")));
	CHECK_TEXT(left_out("gpu.*.queue_depth"),
		   "no launch waited for room with up to 4096 operations in flight");
	calibrate(point(point("", "kernel", words, "\"kernels\":16", 1.49e6), "kernel", words,
			"\"kernels\":4", 1e6));
	const struct estimate kernels = found("gpu.g.concurrent_kernels");
	CHECK(kernels.value == 16 && kernels.low == 16 && kernels.high == 16);
}

/* Each call has its parameter, from a busy stream or, without it, from an idle one. */
static void each_call_has_its_parameter(void)
{
	static const struct {
		const char *path, *test, *words, *other;
	} rows[] = {
		{"driver.copy", "call", "\"call\":\"copy_h2d\",\"stream\":\"blocked\"",
		 "\"call\":\"copy_h2d\",\"stream\":\"idle\""},
		{"driver.memset", "call", "\"call\":\"memset\",\"stream\":\"blocked\"",
		 "\"call\":\"memset\",\"stream\":\"idle\""},
		{"driver.record", "call", "\"call\":\"record\",\"stream\":\"blocked\"",
		 "\"call\":\"record\",\"stream\":\"idle\""},
		{"driver.wait_event", "call", "\"call\":\"wait_event\",\"stream\":\"blocked\"",
		 "\"call\":\"wait_event\",\"stream\":\"idle\""},
		{"driver.query", "call", "\"call\":\"query_pending\"", "\"call\":\"query_ready\""},
		{"driver.synchronize", "call", "\"call\":\"sync_idle\"", NULL},
		{"driver.malloc", "call", "\"call\":\"malloc\"", NULL},
		{"driver.free", "call", "\"call\":\"free\"", NULL},
		{"driver.get", "call", "\"call\":\"get\"", NULL},
		{"driver.create", "call", "\"call\":\"create_event\"",
		 "\"call\":\"create_stream\""},
		{"driver.sync_wake", "kernel", "\"what\":\"end\"", NULL},
		{"gpu.foo-bar-4.kernel_floor", "kernel", "\"what\":\"floor\"", NULL},
		{"gpu.foo-bar-4.kernel_gap", "kernel", "\"what\":\"gap\"", NULL},
		{"gpu.foo-bar-4.launch_latency", "kernel", "\"what\":\"start\"", NULL},
	};
	gpu = "NVIDIA  Foo (Bar)-4 ";
	for (int other = 1; other >= 0; other--) { /* with both, the busy stream counts */
		const char *text = "";
		for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
			if (rows[i].other)
				text = point(text, rows[i].test, rows[i].other, "", 30 + (double)i);
			if (!rows[i].other || !other)
				text = point(text, rows[i].test, rows[i].words, "", 3 + (double)i);
		}
		calibrate(text);
		for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
			if (!CHECK_NEAR(us(rows[i].path),
					(rows[i].other && other ? 30 : 3) + (double)i, 1e-9))
				printf("  %s\n", rows[i].path);
	}
	gpu = "(-)";
	calibrate(point("", "kernel", "\"what\":\"floor\"", "", 2));
	CHECK_NEAR(us("gpu.gpu.kernel_floor"), 2, 1e-9);
	gpu = "G";
}

/* Nine samples of one pass: with 96 % the median lies from the second to the eighth one, and with
 * 82 % from the third to the seventh. Five samples give no interval. */
static void the_samples_of_one_pass_bound_its_median(void)
{
	for (int count = 5; count <= 9; count += 4) {
		const char *samples = "1e-6";
		for (int i = 2; i <= count; i++)
			samples = arena_printf(arena, "%s,%de-6", samples, i);
		calibrate(arena_printf(arena,
				       "{\"test\":\"call\",\"is\":{\"call\":\"malloc\"},\"x\":{},"
				       "\"pass\":0,\"unit\":\"s\",\"samples\":[%s],"
				       "\"stop\":\"count\"}\n",
				       samples));
		const struct estimate malloc_time = found("driver.malloc");
		CHECK_NEAR(malloc_time.value, (count + 1) / 2 * 1e-6, 1e-9);
		if (count == 9)
			CHECK(fabs(malloc_time.low - 2e-6) < 1e-12 &&
			      fabs(malloc_time.high - 8e-6) < 1e-12);
		else
			CHECK(isnan(malloc_time.low) && isnan(malloc_time.high));
	}
}

/* With 2,048 operations in flight a launch waits for room, with 1,024 it does not. So the queue has
 * room for 1,025 to 2,048. Four kernels take as long as one, and eight take turns, so at least four
 * and at most seven run at a time. */
static void depths_lie_between_two_measured_sizes(void)
{
	const char *text = "";
	for (int depth = 256; depth <= 4096; depth *= 2)
		text = point(text, "queue", "", arena_printf(arena, "\"depth\":%d", depth),
			     depth < 2048 ? 3 : 500);
	for (int kernels = 1; kernels <= 16; kernels *= 2)
		text = point(text, "kernel", "\"what\":\"concurrent\"",
			     arena_printf(arena, "\"kernels\":%d", kernels),
			     kernels < 8 ? 1.1e6 : 2e6);
	calibrate(text);
	const struct estimate depth = found("gpu.g.queue_depth");
	const struct estimate kernels = found("gpu.g.concurrent_kernels");
	CHECK(depth.value == 2048 && depth.low == 1025 && depth.high == 2048);
	CHECK(kernels.value == 4 && kernels.low == 4 && kernels.high == 7);
}

/* A V100 has 898 GB/s. Kernels that move 9.9 MB in 10.1, 10 and 9.9 us beyond an empty one, in
 * three passes, reach more, and the interval contains that. */
static void a_share_above_one_stays_inside_of_its_interval(void)
{
	const char *text = "";
	gpu = "Tesla V100-SXM2-16GB";
	passes = 3;
	for (pass = 0; pass < passes; pass++) {
		text = point(text, "kernel", "\"what\":\"floor\"", "", 2);
		text = point(text, "memory", "\"kernel\":\"copy\",\"level\":\"hbm\"",
			     "\"size_B\":9900000", 12.1 - 0.1 * pass);
	}
	calibrate(text);
	gpu = "G";
	passes = 1;
	pass = 0;
	const struct estimate share = found("gpu.v100-sxm2.memory_efficiency");
	CHECK_NEAR(share.value, 990 / 898.0, 1e-6);
	CHECK(share.low <= 981 / 898.0 && share.high >= 999 / 898.0);
}

/* A round of one message each way takes 40 us and 1 ns for each byte. Up to 16 KiB both sides of
 * both messages work one after the other, so a byte counts four times, and in larger messages
 * twice. Four messages in a row take 6 us more than one, so each further one takes 2 us. Neither
 * the send (3 of 12 parts of half a round, 5 us) nor the receive (5 of the 9 other parts) takes
 * longer than that. */
static void a_train_of_messages_bounds_send_and_receive(void)
{
	static const char words[] = "\"what\":\"roundtrip\",\"nagle\":\"off\"";
	static const double sizes_B[] = {64, 1024, 4096, 16384, 65536, 262144, 1048576};
	const char *text = "";
	for (size_t i = 0; i < sizeof sizes_B / sizeof sizes_B[0]; i++) {
		double us = 40 + 1e-3 * sizes_B[i] * (sizes_B[i] <= 16384 ? 4 : 2);
		for (int n = 1; n <= (i == 0 ? 4 : 1); n += 3)
			text = point(
				text, "tcp", words,
				arena_printf(arena,
					     "\"n\":%d,\"delay_s\":0,\"streams\":1,\"size_B\":%.0f",
					     n, sizes_B[i]),
				us + 2 * (n - 1));
	}
	calibrate(text);
	CHECK_NEAR(us("guest.*.send"), 2, 1e-5);
	CHECK_NEAR(us("guest.*.receive"), 2, 1e-5);
	CHECK_NEAR(us("guest.*.thread_wake"), 16, 1e-5);
	/* without the work for each packet of 64 KiB */
	CHECK_NEAR(value("guest.*.byte"), 1e-9 - 0.4e-6 / 65536, 1e-5);
}

/* Half a round takes 20 us. A send of 3 us leaves 17, of which the receiver works for 5 of 9 parts.
 * A send that seems to take longer than half a round is not used, and 3 of 12 parts count as send.
 */
static void a_measured_send_is_taken_from_half_a_round(void)
{
	for (double send_us = 3; send_us < 30; send_us += 20) {
		const char *text = "";
		for (double size_B = 64; size_B <= 16384; size_B *= 4) {
			const char *sizes = arena_printf(
				arena, "\"n\":1,\"delay_s\":0,\"streams\":1,\"size_B\":%.0f",
				size_B);
			text = point(text, "tcp", "\"what\":\"roundtrip\",\"nagle\":\"off\"", sizes,
				     40 + 4e-3 * size_B);
			text = point(text, "tcp", "\"what\":\"overhead\",\"nagle\":\"off\"",
				     arena_printf(arena, "\"size_B\":%.0f", size_B),
				     send_us + 1e-3 * size_B);
		}
		calibrate(text);
		double used_us = send_us < 20 ? send_us : 5;
		CHECK_NEAR(us("guest.*.send"), used_us, 1e-5);
		CHECK_NEAR(us("guest.*.receive"), (20 - used_us) * 5 / 9, 1e-5);
		CHECK_NEAR(us("guest.*.thread_wake"), (20 - used_us) * 4 / 9, 1e-5);
	}
}

/* Random reads wait for 100 us and take 1 ns/B. The fastest sequential reads are four blocks of 1
 * MB in 2 ms, not the largest ones. One thread copies 8 GB/s beyond 1 MiB. */
static void storage_has_the_rate_of_its_fastest_reads(void)
{
	static const double rows[][3] = {{1e6, 1, 1000}, {4e6, 2, 16000}, {1e6, 4, 2000}};
	const char *text = "", *random = "\"what\":\"random\"",
		   *in_order = "\"what\":\"sequential\"";
	for (double size_B = 4096; size_B <= 1e6; size_B *= 2)
		text = point(text, "storage", random,
			     arena_printf(arena, "\"size_B\":%.0f,\"parallel\":1", size_B),
			     100 + 1e-3 * size_B);
	for (size_t i = 0; i < 3; i++)
		text = point(text, "storage", in_order,
			     arena_printf(arena, "\"size_B\":%.0f,\"parallel\":%.0f", rows[i][0],
					  rows[i][1]),
			     rows[i][2]);
	for (double size_B = 65536; size_B <= 1e8; size_B *= 2)
		text = point(text, "memcpy", "",
			     arena_printf(arena, "\"size_B\":%.0f,\"threads\":1", size_B),
			     size_B < 1048576 ? 1e-5 * size_B : 1e-3 * size_B / 8);
	calibrate(text);
	CHECK_NEAR(us("storage.latency"), 100, 1e-5);
	CHECK_NEAR(value("storage.bandwidth"), 2e9, 1e-9);
	CHECK_NEAR(value("host.*.copy_rate"), 8e9, 1e-5);
	text = "";
	for (double size_B = 1048576; size_B <= 1e8; size_B *= 2) /* each copy takes as long */
		text = point(text, "memcpy", "",
			     arena_printf(arena, "\"size_B\":%.0f,\"threads\":1", size_B), 50);
	calibrate(point(text, "call", "\"call\":\"malloc\"", "", 1));
	CHECK_TEXT(left_out("host.*.copy_rate"), "the result is inf");
}

static const struct test tests[] = {
	TEST(a_train_of_messages_bounds_send_and_receive),
	TEST(a_measured_send_is_taken_from_half_a_round),
	TEST(storage_has_the_rate_of_its_fastest_reads),
	TEST(rough_products_widen_the_rate_by_the_error_of_the_worse_half),
	TEST(pinned_copies_of_both_directions_give_one_setup_and_one_efficiency),
	TEST(efficiency_is_a_part_of_the_bandwidth_of_the_generation),
	TEST(the_chunk_of_pageable_copies_is_where_a_byte_costs_less),
	TEST(copies_in_both_directions_show_the_engines),
	TEST(depths_that_were_not_reached_are_left_out),
	TEST(each_call_has_its_parameter),
	TEST(the_samples_of_one_pass_bound_its_median),
	TEST(depths_lie_between_two_measured_sizes),
	TEST(a_share_above_one_stays_inside_of_its_interval),
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
