/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each chart with fixed, invented data. Tests compare display lists with files, or check that
 * charts are legible. */
#pragma once

#include <math.h>
#include <string.h>

#include "plots/charts.h"
#include "sim/base/arena.h"
#include "sim/engine/trace.h"

#define CAPTION "invented numbers for a test · seed 1 · 64 draws · farwire 0.1.0"

#include "tests/drawing_print.h"
#include "tests/golden/sample_searches.h"

static struct drawing *ratio_bars(struct arena *arena)
{
	static const struct ratio_bar bars[] = {
		{"local", {1, 1, 1}, NULL},
		{"same_esxi tuned=yes batch=16", {0.9612, 0.951, 0.972}, NULL},
		{"same_esxi tuned=yes batch=32", {0.982, 0.976, 0.987}, NULL},
		{"same_esxi tuned=no batch=16, firewall on, latency sensitivity normal",
		 {0.871, 0.842, 0.903},
		 NULL},
		{"same_lan batch=16", {0.612, 0.541, 0.694}, NULL},
		{"different_lan batch=16",
		 {NAN, NAN, NAN},
		 "the client gave up connecting after 10 s: five SYNs were lost on the link "
		 "'campus uplink' (45 ms, 3 % loss)"},
		{"two_gpus batch=16", {1.91, 1.85, 1.96}, NULL},
		{"false alarm", {NAN, NAN, NAN}, "out of GPU memory: 4.3 GiB needed, 4 GiB there"},
	};
	return chart_ratio_bars(
		arena,
		(struct chart_text){"What a GPU behind the wire keeps: ResNet-50, one GTX 1050 Ti",
				    CAPTION},
		bars, sizeof bars / sizeof *bars);
}

static struct drawing *breakdown(struct arena *arena, double scale)
{
	struct prediction cases[] = {
		{.name = "local",
		 .ok = true,
		 .breakdown_count = 3,
		 .breakdown = (struct breakdown_part[]){{"kernel", 0.4123},
							{"call issue", 0.006},
							{"input wait", 0.0042}}},
		{.name = "same_esxi tuned=yes batch=16",
		 .ok = true,
		 .breakdown_count = 5,
		 .breakdown = (struct breakdown_part[]){{"kernel", 0.4123},
							{"call issue", 0.021},
							{"network", 0.034},
							{"copy", 0.0123},
							{"other", 0.002}}},
		{.name = "same_lan batch=16",
		 .ok = true,
		 .breakdown_count = 6,
		 .breakdown = (struct breakdown_part[]){{"kernel", 0.4123},
							{"call issue", 0.031},
							{"network", 0.134},
							{"copy", 0.0323},
							{"collective exposed", 0.05},
							{"other", 0.02}}},
		{.name = "different_lan batch=16", .reason = "connection timeout after 10 s"},
		{.name = "nothing known", .ok = true},
	};
	const struct prediction *pointers[5];
	for (size_t i = 0; i < 5; i++)
		pointers[i] = &cases[i];
	for (size_t i = 0; i < 3; i++)
		cases[0].breakdown[i].seconds *= scale;
	return chart_breakdown(arena, (struct chart_text){"Where a step's time goes", CAPTION},
			       pointers, 5);
}

static struct drawing *breakdown_ms(struct arena *arena)
{
	return breakdown(arena, 1);
}

static struct drawing *breakdown_percent(struct arena *arena)
{
	return breakdown(arena, 0.05);
}

/* Two steps of a forwarded program with calls, messages, kernels and one loss. */
static const struct trace *sample_trace(struct arena *arena)
{
	const int64_t us = 1000000;
	struct trace *trace = trace_new(arena);
	uint32_t main_thread = trace_track(trace, "client", "main");
	uint32_t poller = trace_track(trace, "client", "event poller");
	uint32_t there = trace_track(trace, "wire 10 GbE", "client → server");
	uint32_t server = trace_track(trace, "server", "dispatcher");
	uint32_t back = trace_track(trace, "wire 10 GbE", "server → client");
	uint32_t stream = trace_track(trace, "gpu0", "stream 1");
	uint32_t copies = trace_track(trace, "gpu0", "copy engine");
	trace_track(trace, "gpu1", "stream 1, never used");
	for (int64_t step = 0; step < 2; step++) {
		int64_t at = step * 24000 * us;
		trace_span(trace, main_thread, SPAN_CALL, "memcpy H2D", at, at + 1800 * us);
		trace_span(trace, there, SPAN_WIRE, "images", at + 100 * us, at + 1700 * us);
		trace_span(trace, copies, SPAN_COPY, "H2D", at + 900 * us, at + 2000 * us);
		for (int64_t i = 0; i < 300; i++) {
			int64_t call = at + (2000 + i * 25) * us;
			trace_span(trace, main_thread, SPAN_CALL, "launch", call, call + 18 * us);
			trace_span(trace, there, SPAN_WIRE, "call", call + 18 * us, call + 22 * us);
			trace_span(trace, server, SPAN_CPU, "unmarshal", call + 30 * us,
				   call + 37 * us);
			int64_t kernel = at + (2100 + i * 70) * us;
			trace_span(trace, stream, SPAN_KERNEL, i == 40 ? "wgrad" : "conv", kernel,
				   kernel + (i % 7 == 0 ? 69 : 52) * us);
		}
		trace_span(trace, main_thread, SPAN_CALL, "synchronize", at + 9600 * us,
			   at + 23500 * us);
		trace_span(trace, main_thread, SPAN_WAIT, "wait for the stream", at + 9800 * us,
			   at + 23400 * us);
		for (int64_t i = 0; i < 220; i++)
			trace_span(trace, poller, SPAN_CALL, "eventQuery", at + i * 100 * us,
				   at + (i * 100 + 35) * us);
		trace_span(trace, back, SPAN_WIRE, "done", at + 23300 * us, at + 23304 * us);
	}
	trace_span(trace, there, SPAN_LOSS, "lost", 12000 * us, 12001 * us);
	trace_span(trace, back, SPAN_LOSS, "retransmission timeout", 13000 * us, 17000 * us);
	return trace;
}

static struct drawing *timeline(struct arena *arena)
{
	return chart_timeline(arena,
			      (struct chart_text){"Two training steps over the wire", CAPTION},
			      sample_trace(arena), 0, 48000000000);
}

static struct drawing *timeline_window(struct arena *arena)
{
	return chart_timeline(arena, (struct chart_text){"The start of the second step", CAPTION},
			      sample_trace(arena), 23800000000, 26800000000);
}

static struct drawing *timeline_empty(struct arena *arena)
{
	return chart_timeline(arena, (struct chart_text){"After the end", CAPTION},
			      sample_trace(arena), 90000000000, 91000000000);
}

static struct drawing *parity(struct arena *arena)
{
	static const struct parity_point points[] = {
		{"local batch=16", 38.1, {38.12, 38.0, 38.25}, false},
		{"local batch=32", 40.2, {40.15, 40.0, 40.3}, false},
		{"same_esxi batch=16", 36.4, {36.6, 35.9, 37.3}, true},
		{"same_esxi batch=32", 39.3, {39.1, 38.5, 39.7}, true},
		{"container batch=16", 37.9, {37.2, 36.6, 37.8}, true},
		{"untuned batch=16", 33.5, {34.9, 33.1, 36.6}, true},
		{"same_lan batch=16", 24.1, {21.6, 18.9, 25.0}, true},
		{"same_lan batch=32", 29.9, {30.7, 29.2, 32.1}, false},
		{"alexnet", 412, {405, 396, 414}, true},
		{"vgg16", 96, {99.5, 96.1, 103}, true},
		{"inception3", 88, {NAN, NAN, NAN}, true},
	};
	return chart_parity(
		arena,
		(struct chart_text){"Predicted against measured throughput (images/s)", CAPTION},
		"images/s", points, sizeof points / sizeof *points);
}

static struct drawing *curves_rtt(struct arena *arena)
{
	enum { POINTS = 13, CURVES = 3 };
	static const char *const names[CURVES] = {"batch 16", "batch 32", "batch 32, synchronous"};
	static const double losses[CURVES] = {0.0011, 0.0006, 0.004};
	struct curve *curves = ARENA_ARRAY(arena, CURVES, struct curve);
	double *x = ARENA_ARRAY(arena, POINTS, double);
	for (size_t i = 0; i < POINTS; i++)
		x[i] = 5 * (double)(1u << i) * (i % 2 ? 0.9 : 1);
	for (size_t c = 0; c < CURVES; c++) {
		struct estimate *y = ARENA_ARRAY(arena, POINTS, struct estimate);
		for (size_t i = 0; i < POINTS; i++) {
			double ratio = 1 / (1 + losses[c] * x[i]);
			y[i] = (struct estimate){ratio, ratio * 0.96, fmin(1, ratio * 1.03)};
			if (i > 10 - 2 * c)
				y[i] = (struct estimate){NAN, NAN, NAN};
		}
		curves[c] = (struct curve){names[c], x, y, POINTS, NULL, NULL};
	}
	return chart_curves(
		arena,
		(struct chart_text){
			"How long may the wire be? Ratio to local over the round-trip time",
			CAPTION},
		(struct chart_axes){.x_label = "round-trip time (µs)",
				    .y_label = "ratio to local",
				    .x_log = true,
				    .share = true},
		curves, CURVES);
}

static struct drawing *curves_scaling(struct arena *arena)
{
	static const double gpus[] = {1, 2, 4, 8};
	static const struct estimate ideal[] = {
		{355, NAN, NAN}, {710, NAN, NAN}, {1420, NAN, NAN}, {2840, NAN, NAN}};
	static const struct estimate nvlink[] = {
		{355, 351, 359}, {702, 690, 711}, {1391, 1360, 1410}, {2733, 2650, 2790}};
	static const struct estimate remote[] = {
		{340, 330, 349}, {669, 640, 690}, {1270, 1200, 1330}, {2290, 2080, 2480}};
	const struct curve curves[] = {{"ideal", gpus, ideal, 4, NULL, NULL},
				       {"NVLink, one host", gpus, nvlink, 4, NULL, NULL},
				       {"four hosts over RoCE", gpus, remote, 4, NULL, NULL}};
	return chart_curves(arena, (struct chart_text){"Scaling of ResNet-50", CAPTION},
			    (struct chart_axes){.x_label = "GPUs", .y_label = "images/s"}, curves,
			    3);
}

static struct drawing *curves_bandwidth(struct arena *arena)
{
	enum { POINTS = 25 };
	double *x = ARENA_ARRAY(arena, POINTS, double);
	struct estimate *y = ARENA_ARRAY(arena, POINTS, struct estimate);
	for (size_t i = 0; i < POINTS; i++) {
		x[i] = 64 * (double)(1u << i);
		double rate = x[i] / (4.5e-6 + x[i] / 12.3e9) / 1e9;
		y[i] = (struct estimate){rate, rate * 0.9, rate * 1.1};
	}
	struct curve curve = {"pinned", x, y, POINTS, NULL, NULL};
	return chart_curves(arena, (struct chart_text){"Copies over PCIe", CAPTION},
			    (struct chart_axes){.x_label = "message size",
						.y_label = "GB/s",
						.x_log = true,
						.y_log = true,
						.x_sizes = true},
			    &curve, 1);
}

/* Scaling curves of two systems. One of them has measurements with 1 to 8 GPUs. */
static struct drawing *scaling(struct arena *arena)
{
	static const struct scaling_point nvlink[] = {
		{1, {355, 351, 359}, {1, 1, 1}, 356, false},
		{2, {702, 690, 711}, {0.989, 0.981, 0.994}, 698, false},
		{4, {1391, 1360, 1410}, {0.98, 0.968, 0.987}, 1384, true},
		{8, {2733, 2650, 2790}, {0.962, 0.944, 0.975}, 2661, true},
	};
	static const struct scaling_point ethernet[] = {
		{1, {355, 351, 359}, {1, 1, 1}, NAN, false},
		{2, {660, 640, 690}, {0.93, 0.91, 0.96}, NAN, false},
		{4, {1180, 1100, 1240}, {0.831, 0.78, 0.868}, NAN, true},
		{8, {1990, 1800, 2180}, {0.701, 0.64, 0.76}, NAN, true},
		{16, {NAN, NAN, NAN}, {NAN, NAN, NAN}, NAN, true},
	};
	static const struct scaling_curve curves[] = {
		{"NVLink, one host", "images/s", 355, 356, nvlink, 4},
		{"eight hosts over 10 GbE", "images/s", 355, NAN, ethernet, 5},
	};
	return chart_scaling(arena, (struct chart_text){"Scaling of ResNet-50", CAPTION}, curves,
			     2);
}

static struct drawing *scaling_log(struct arena *arena)
{
	enum { POINTS = 11 };
	struct scaling_point *points = ARENA_ARRAY(arena, POINTS, struct scaling_point);
	for (size_t i = 0; i < POINTS; i++) {
		double gpus = (double)(1u << i), share = 1 / (1 + 0.012 * (double)(i * i));
		double rate = 370 * gpus * share;
		points[i] = (struct scaling_point){gpus,
						   {rate, rate * 0.94, rate * 1.03},
						   {share, share * 0.97, share * 1.01},
						   NAN,
						   false};
	}
	const struct scaling_curve curve = {"fat tree, 4:1", "images/s", 370, NAN, points, POINTS};
	return chart_scaling(arena, (struct chart_text){"1 to 1,024 V100", CAPTION}, &curve, 1);
}

/* An all-reduce with three regimes. Every second size is measured. */
static struct curve bandwidth_curve(struct arena *arena, const char *label, size_t count,
				    double top_Bps)
{
	double *sizes = ARENA_ARRAY(arena, count, double);
	struct estimate *rates = ARENA_ARRAY(arena, count, struct estimate);
	struct estimate *measured = ARENA_ARRAY(arena, count, struct estimate);
	bool *test = ARENA_ARRAY(arena, count, bool);
	for (size_t i = 0; i < count; i++) {
		double size_B = sizes[i] = 8 * (double)(1ull << i);
		double latency_s = size_B < 1 << 16 ? 2e-5 : size_B < 1 << 22 ? 4e-5 : 8e-5;
		double rate = 1e-9 * size_B / (latency_s + size_B / top_Bps);
		rates[i] = (struct estimate){rate, rate * 0.9, rate * 1.08};
		measured[i] = estimate_exact(i % 2 ? NAN : rate * (i % 4 ? 0.96 : 1.05));
		test[i] = i > 6;
	}
	return (struct curve){label, sizes, rates, count, measured, test};
}

static const struct chart_axes bus_axes = {.x_label = "message size",
					   .y_label = "GB/s",
					   .x_log = true,
					   .y_log = true,
					   .x_sizes = true};

static struct drawing *bandwidth(struct arena *arena)
{
	const struct curve curve = bandwidth_curve(arena, "8 x A100, NVSwitch", 31, 235e9);
	return chart_curves(arena, (struct chart_text){"All-reduce on one machine", CAPTION},
			    bus_axes, &curve, 1);
}

static struct drawing *bandwidth_two(struct arena *arena)
{
	const struct curve curves[] = {
		bandwidth_curve(arena, "8 GPUs, NVSwitch", 20, 235e9),
		bandwidth_curve(arena, "16 GPUs, 100 Gbit/s RoCE", 19, 11e9)};
	return chart_curves(arena, (struct chart_text){"One machine and two", CAPTION}, bus_axes,
			    curves, 2);
}

/* A ring all-reduce of four ranks, as a timeline of what each rank sends and adds. The third rank
 * is late. */
static struct drawing *timeline_collective(struct arena *arena)
{
	enum { RANKS = 4, ROUNDS = 2 * (RANKS - 1) };
	const int64_t us = 1000000;
	struct trace *trace = trace_new(arena);
	for (int64_t rank = 0; rank < RANKS; rank++) {
		uint32_t track =
			trace_track(trace, "all_reduce", arena_printf(arena, "rank %d", (int)rank));
		int64_t late = rank >= 2 ? 60 * us : 0;
		trace_span(trace, track, SPAN_WAIT, "arrive", 0, late + rank * 2 * us);
		for (int64_t round = 0; round < ROUNDS; round++) {
			int64_t at = late + (10 + round * 50) * us;
			trace_span(trace, track, SPAN_WIRE, "send", at, at + 40 * us);
			if (round < RANKS - 1)
				trace_span(trace, track, SPAN_KERNEL, "reduce", at + 40 * us,
					   at + 48 * us);
		}
	}
	return chart_timeline(arena, (struct chart_text){"A ring all-reduce, rank 2 late", CAPTION},
			      trace, 0, 380 * us);
}

struct sample {
	const char *name;
	struct drawing *(*draw)(struct arena *arena);
};
static const struct sample samples[] = {
	{"ratio_bars", ratio_bars},
	{"breakdown_ms", breakdown_ms},
	{"breakdown_percent", breakdown_percent},
	{"timeline", timeline},
	{"timeline_window", timeline_window},
	{"timeline_empty", timeline_empty},
	{"parity", parity},
	{"curves_rtt", curves_rtt},
	{"curves_scaling", curves_scaling},
	{"curves_bandwidth", curves_bandwidth},
	{"scaling", scaling},
	{"scaling_log", scaling_log},
	{"bandwidth", bandwidth},
	{"bandwidth_two", bandwidth_two},
	{"timeline_collective", timeline_collective},
	{"tornado", tornado},
	{"heat", heat},
	{"heat_four", heat_four},
};

enum { SAMPLES_COUNT = sizeof samples / sizeof *samples };

/* Returns the display list as text. The caller frees it. */
static char *display_list(const struct drawing *drawing, size_t *size)
{
	char *text = NULL;
	FILE *memory = open_memstream(&text, size);
	drawing_print(drawing, memory);
	fclose(memory);
	return text;
}
