/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Points, bars and lines of charts are where the ticks of their axes say. The positions are
 * interpolated from two ticks of the display list. */
#include <stdlib.h>

#include "plots/charts.h"
#include "plots/style.h"
#include "sim/base/arena.h"
#include "sim/engine/trace.h"
#include "sim/report/answers.h"
#include "tests/drawing_print.h"
#include "tests/test.h"

static const struct chart_text about = {"Title", "caption"};

static char *list_of(const struct drawing *drawing)
{
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);
	drawing_print(drawing, memory);
	fclose(memory);
	return text;
}

/* Finds the n-th line that begins with `begin` and contains `part`, and reads its first numbers. */
static bool find(const char *list, const char *begin, const char *part, int n, double at[4])
{
	char line[512];
	for (; *list; list += strcspn(list, "\n") + 1) {
		snprintf(line, sizeof line, "%.*s", (int)strcspn(list, "\n"), list);
		if (strncmp(line, begin, strlen(begin)) != 0 || !strstr(line, part) || n-- > 0)
			continue;
		at[2] = at[3] = 0;
		return sscanf(line + strlen(begin), "%lf %lf %lf %lf", &at[0], &at[1], &at[2],
			      &at[3]) >= 2;
	}
	return false;
}

/* Returns the place of a value on the axis (0: x, 1: y) with two ticks. */
static double place(const char *list, int axis, const char *first, const char *second, double value)
{
	double a[4] = {0}, b[4] = {0};
	char text[2][40];
	snprintf(text[0], sizeof text[0], axis ? " end \"%s\"" : " middle \"%s\"", first);
	snprintf(text[1], sizeof text[1], axis ? " end \"%s\"" : " middle \"%s\"", second);
	if (!CHECK(find(list, "text ", text[0], 0, a) && find(list, "text ", text[1], 0, b)))
		printf("  no ticks %s and %s\n", first, second);
	double share = (value - atof(first)) / (atof(second) - atof(first));
	return a[axis] + share * (b[axis] - a[axis]) -
	       (axis ? 3 : 0); /* a text is 3 below its line */
}

/* Without names of roles, the legend has a text for each mark, and the second one is a square. */
static void few_marks_are_named_in_the_legend(void)
{
	struct arena *arena = arena_new();
	const struct plan_mark marks[] = {{1, {10, 10, 10}, true, "own GPU"},
					  {2, {20, 20, 20}, true, "pool"}};
	const struct plan_axes axes = {"cost (USD)", "images/s", {NULL}, NAN, NULL};
	char *list = list_of(chart_plans(arena, about, &axes, marks, 2));
	double at[4];
	CHECK(find(list, "text ", "\"own GPU\"", 0, at));
	CHECK(find(list, "text ", "\"pool\"", 0, at));
	CHECK(find(list, "marker ", "#d55e00 square", 0, at));
	free(list);
	arena_free(arena);
}

/* A load is behind another one only if that has more tokens/s of a user and of a GPU. */
static void loads_of_a_server_are_filled_unless_another_one_has_more_of_both(void)
{
	struct arena *arena = arena_new();
	const struct serve_mark marks[] = {{10, 100, true, "a"},
					   {20, 50, true, "b"},
					   {5, 40, true, "c"},
					   {10, 90, false, "d"},
					   {15, 60, true, "e"}};
	struct serve_layout layout = {.prediction = NULL};
	const struct serve_search search = {
		.layouts = &layout, .layout_count = 1, .marks = marks, .mark_count = 5};
	char *list = list_of(serve_search_chart(arena, about, &search));
	double at[4];
	CHECK(find(list, "marker ", "#d55e00 diamond", 4, at) &&
	      !find(list, "marker ", "#d55e00 diamond", 5, at));
	CHECK(find(list, "marker ", "#0072b2 circle", 1, at) &&
	      !find(list, "marker ", "#0072b2 circle", 2, at));
	CHECK_NEAR(at[0], place(list, 0, "2", "10", 5), 1e-3);
	free(list);
	arena_free(arena);
}

static void plans_are_at_their_memory_and_throughput(void)
{
	struct arena *arena = arena_new();
	const struct plan_mark plans[] = {
		{30, {900, 800, 1000}, true, "30 GB: 900 (800 to 1000) sequences/s"},
		{60, {500, 500, 500}, false, "60 GB"},
		{20, {NAN, NAN, NAN}, false, ""}};
	const struct plan_axes axes = {"GPU memory (GB)",
				       "throughput (sequences/s)",
				       {"others", "best"},
				       80,
				       "memory of a GPU"};
	char *list = list_of(chart_plans(arena, about, &axes, plans, 3));
	double at[4];
	/* the last line of each look, behind those of the key */
	CHECK(find(list, "marker ", "#d55e00 diamond", 1, at));
	CHECK_NEAR(at[0], place(list, 0, "40", "80", 30), 1e-3);
	CHECK_NEAR(at[1], place(list, 1, "0", "1000", 900), 1e-3);
	CHECK(!find(list, "marker ", "#d55e00 diamond", 2, at));
	CHECK(find(list, "marker ", "#0072b2 circle", 1, at));
	CHECK_NEAR(at[0], place(list, 0, "40", "80", 60), 1e-3);
	CHECK_NEAR(at[1], place(list, 1, "0", "1000", 500), 1e-3);
	CHECK(!find(list, "marker ", "#0072b2 circle", 2, at)); /* a plan that fails has none */
	CHECK(find(list, "line ", "#b54a00 short", 1, at));
	CHECK_NEAR(at[0], place(list, 0, "40", "80", 80), 1e-3);
	CHECK_PART(list, "memory of a GPU");
	CHECK_PART(list, "30 GB: 900 (800 to 1000) sequences/s");
	free(list);
	arena_free(arena);
}

/* Both groups share the axis of errors, which covers the interval of the first group up to 80 %. */
static void errors_of_two_groups_are_on_one_axis(void)
{
	struct arena *arena = arena_new();
	const struct parity_point far = {"far", 2000, {3000, 3000, 3600}, true},
				  near = {"near", 8000, {7600, 7600, 7600}, false};
	const struct parity_group groups[] = {{"A", &far, 1}, {"B", &near, 1}};
	char *list = list_of(chart_parity_groups(arena, about, "us", groups, 2));
	double at[4];
	/* the marks behind those of the key and of the other panel */
	CHECK(find(list, "marker ", "7.00 #0072b2 circle", 2, at));
	CHECK_NEAR(at[1], place(list, 1, "40", "80", 50), 1e-3);
	CHECK(find(list, "marker ", "7.00 #d55e00 square", 2, at));
	CHECK_NEAR(at[1], place(list, 1, "40", "80", -5), 1e-3);
	CHECK_PART(list, "near: measured 8000, predicted 7600, error -5.0 %");
	free(list);
	arena_free(arena);
}

/* Up to 16 GPUs the axes are linear, beyond that they are logarithmic. Measured efficiencies are
 * relative to the measured throughput of one GPU: 150 / (2 * 90). */
static void scaling_has_linear_axes_up_to_16_gpus(void)
{
	struct arena *arena = arena_new();
	for (size_t most = 16; most <= 32; most += 16) {
		const struct estimate part = {0.9, 0.9, 0.9};
		double gpus = (double)most;
		const struct scaling_point points[] = {
			{2, {180, 180, 180}, part, 150, true},
			{gpus / 2, {45 * gpus, 45 * gpus, 45 * gpus}, part, NAN, false},
			{gpus, {90 * gpus, 90 * gpus, 90 * gpus}, part, NAN, false}};
		const struct scaling_curve curve = {"curve", "images/s", 100, 90, points, 3};
		char *list = list_of(chart_scaling(arena, about, &curve, 1)), text[2][40];
		double two[4], half[4], all[4], at[4];
		snprintf(text[0], sizeof text[0], "middle \"%g\"", gpus / 2);
		snprintf(text[1], sizeof text[1], "middle \"%g\"", gpus);
		CHECK(find(list, "text ", "middle \"2\"", 0, two));
		CHECK(find(list, "text ", text[0], 0, half) &&
		      find(list, "text ", text[1], 0, all));
		double step = most == 16 ? (16.0 - 8) / (8 - 2) : log(32.0 / 16) / log(16.0 / 2);
		CHECK_NEAR((all[0] - half[0]) / (half[0] - two[0]), step, 1e-3);
		/* the markers of the measurement, in the key and in both panels */
		CHECK(find(list, "marker ", "#0072b2 diamond", 2, at));
		CHECK_NEAR(at[0], two[0], 1e-3);
		CHECK_NEAR(at[1], place(list, 1, "0.85", "0.90", 150 / (2 * 90.0)), 1e-3);
		free(list);
	}
	arena_free(arena);
}

/* The axis has the baseline, 1, even if all cases are slower, and the largest end otherwise. */
static void ratio_bars_include_the_baseline_and_the_largest_end(void)
{
	struct arena *arena = arena_new();
	struct ratio_bar bars[] = {{.label = "slow", .ratio = {0.25, 0.25, 0.25}}};
	char *list = list_of(chart_ratio_bars(arena, about, bars, 1));
	double one[4], bar[4], goal[4];
	CHECK(find(list, "text ", "start \"1\"", 0, one) && one[0] < 700);
	CHECK(find(list, "rectangle ", "#56b4e9", 1, bar)); /* the first is in the key */
	CHECK_NEAR(bar[2], 0.25 * (one[0] - 3 - bar[0]), 1e-3);
	CHECK(find(list, "text ", "end \"95 %\"", 0, goal));
	CHECK_NEAR(goal[0] + 3 - bar[0], 0.95 * (one[0] - 3 - bar[0]), 1e-3);
	free(list);
	bars[0].ratio.high = 4;
	list = list_of(chart_ratio_bars(arena, about, bars, 1));
	CHECK(find(list, "text ", "start \"1\"", 0, one) &&
	      find(list, "rectangle ", "#56b4e9", 1, bar));
	CHECK(bar[0] + 4 * (one[0] - 3 - bar[0]) < 700);
	free(list);
	arena_free(arena);
}

static void parity_counts_rows_and_shows_errors_below_the_mouse(void)
{
	struct arena *arena = arena_new();
	const struct parity_point points[] = {{"exact", 100, {100, 100, 100}, true},
					      {"above", 100, {110, 110, 110}, true},
					      {"below", 200, {160, 160, 160}, false}};
	char *list = list_of(chart_parity(arena, about, "us", points, 3));
	CHECK_PART(list, "above: measured 100, predicted 110, error +10.0 %");
	CHECK_PART(list, "fit (1 row)");
	CHECK_PART(list, "test (2 rows)");
	free(list);
	arena_free(arena);
}

/* A linear axis starts at 0 if the lowest value is below 40 % of the highest, but not negative.
 * Otherwise a margin of 6 % of the span is below. */
static void axis_starts_at_zero_or_below_the_lowest_value(void)
{
	struct axis axis = {0};
	axis_cover(&axis, 3.9, 10);
	CHECK_NEAR(axis.low, 0, 1e-12);
	axis_cover(&axis, 4, 10);
	CHECK_NEAR(axis.low, 4 - 0.06 * 6, 1e-12);
	axis_cover(&axis, -1, 10);
	CHECK_NEAR(axis.low, -1 - 0.06 * 11, 1e-12);
	CHECK_NEAR(axis.high, 10 + 0.06 * 11, 1e-12);
}

/* Ticks above 999 are powers if the axis reaches a million. */
static void axis_up_to_a_million_has_powers_of_ten(void)
{
	struct arena *arena = arena_new();
	for (int million = 0; million < 2; million++) {
		struct axis axis = {.low = 1, .high = million ? 1e6 : 9e5, .log = true};
		const struct area area = {50, 10, 40, 250};
		struct drawing *drawing = drawing_new(arena, 100, 300);
		axis_up(&axis, area);
		draw_axis_y(drawing, &axis, area, "", false);
		char *list = list_of(drawing);
		CHECK_PART(list, million ? "\"10⁵\"" : "\"100000\"");
		free(list);
	}
	arena_free(arena);
}

/* Only the first curve has intervals, and the line at 95 % is above both. */
static void curves_explain_intervals_and_a_goal_inside_of_the_axis(void)
{
	struct arena *arena = arena_new();
	const double x[] = {1, 2};
	struct estimate first[] = {{0.2, 0.1, 0.3}, {0.4, 0.3, 0.5}},
			second[] = {{0.2, 0.2, 0.2}, {0.3, 0.3, 0.3}};
	const struct curve curves[] = {{"first", x, first, 2, NULL, NULL},
				       {"second", x, second, 2, NULL, NULL}};
	const struct chart_axes axes = {.x_label = "x", .y_label = "y", .share = true};
	char *list = list_of(chart_curves(arena, about, axes, curves, 2));
	CHECK_PART(list, "90 % interval");
	CHECK(!strstr(list, "\"95 %\""));
	free(list);
	second[1] = (struct estimate){1, 1, 1};
	list = list_of(chart_curves(arena, about, axes, curves, 2));
	CHECK_PART(list, "\"95 %\"");
	free(list);
	arena_free(arena);
}

/* A logarithmic axis has no place for a negative end. */
static void parity_has_no_whisker_with_a_negative_end(void)
{
	struct arena *arena = arena_new();
	struct parity_point point = {"wide", 100, {100, -50, 250}, true};
	char *list = list_of(chart_parity(arena, about, "us", &point, 1));
	CHECK(!strstr(list, "90 % interval") && !strstr(list, " nan"));
	free(list);
	point.predicted.low = 50;
	list = list_of(chart_parity(arena, about, "us", &point, 1));
	CHECK_PART(list, "90 % interval");
	free(list);
	arena_free(arena);
}

/* The value falls only at the high end, so the low end's label is on the other side. Bars
 * after the twelfth are left out: with the last one, the axis would reach 110. */
static void tornado_separates_labels_and_shows_twelve_bars(void)
{
	struct arena *arena = arena_new();
	struct tornado_bar bars[14];
	for (size_t i = 0; i < 14; i++)
		bars[i] = (struct tornado_bar){"bar", "less", "more", 9, 11};
	bars[0] = (struct tornado_bar){"first", "lowest", "highest", 10, 8};
	bars[13].high = 110;
	char *list =
		list_of(chart_tornado(arena, about, &(struct tornado_view){"x", 10, bars, 14}));
	CHECK_PART(list, "start \"lowest\"");
	CHECK_PART(list, "end \"highest\"");
	CHECK(!strstr(list, "middle \"50\"") && !strstr(list, "middle \"100\""));
	free(list);
	arena_free(arena);
}

/* Adds a pass: 20 kernels, each followed by communication of a quarter of the time. Returns its
 * end.
 */
static int64_t add_pass(struct trace *trace, uint32_t waits, uint32_t kernels, const char *name,
			int64_t at_ps, int64_t length_ps)
{
	for (int64_t i = 0; i < 20; i++) {
		int64_t from_ps = at_ps + i * length_ps / 20;
		int64_t middle_ps = from_ps + length_ps * 3 / 80;
		trace_span(trace, kernels, SPAN_KERNEL, name, from_ps, middle_ps);
		trace_span(trace, waits, SPAN_WAIT, "tensor", middle_ps, from_ps + length_ps / 20);
	}
	return at_ps + length_ps;
}

/* Draws a step with forward passes of 1 ms and backward passes of 2 ms, a bubble of 1 ms and an
 * update of 1 ms. */
static struct drawing *draw_passes(struct arena *arena, int count)
{
	const int64_t ms = 1000000000;
	struct trace *trace = trace_new(arena);
	uint32_t waits = trace_track(trace, "g", "rank 0, stage 0");
	uint32_t kernels = trace_track(trace, "g", "g/stream 0");
	int64_t at_ps = ms;
	trace_span(trace, kernels, SPAN_KERNEL, "update", 0, ms); /* ends the step before */
	for (int i = 1; i <= count; i++) {
		at_ps = add_pass(trace, waits, kernels, arena_printf(arena, "F%d", i), at_ps, ms);
		if (i == 1)
			trace_span(trace, waits, SPAN_WAIT, "bubble", at_ps, at_ps + ms);
		at_ps += i == 1 ? ms : 0;
		at_ps = add_pass(trace, waits, kernels, arena_printf(arena, "B%d", i), at_ps,
				 2 * ms);
	}
	trace_span(trace, kernels, SPAN_KERNEL, "update", at_ps, at_ps + ms);
	return chart_pipeline(arena, about, trace, false);
}

/* Returns the area of this colour in the first row, relative to the area of the row, which has the
 * colour `ground`. */
static double painted(const struct drawing *drawing, uint32_t ground, uint32_t rgb)
{
	const struct shape *row = NULL;
	double area = 0;
	for (size_t i = 0; i < drawing->shapes.count; i++) {
		const struct shape *shape = &drawing->shapes.items[i];
		if (shape->kind != SHAPE_RECTANGLE)
			continue;
		if (!row && shape->paint.rgb == ground && shape->at[3] < 20)
			row = shape;
		else if (row && shape->paint.rgb == rgb && shape->at[1] < row->at[1] + row->at[3])
			area += shape->at[2] * shape->at[3] / (row->at[2] * row->at[3]);
	}
	return area;
}

/* Returns whether the drawing has this text. */
static bool has_text(const struct drawing *drawing, const char *text)
{
	for (size_t i = 0; drawing && i < drawing->shapes.count; i++)
		if (drawing->shapes.items[i].kind == SHAPE_TEXT &&
		    strcmp(drawing->shapes.items[i].text, text) == 0)
			return true;
	return false;
}

/* Passes through an even model chunk are paler. A name without a digit is not that of a pass. The
 * first rank of a stage stands for both, unless all ranks are wanted. */
static void pipeline_shows_chunks_and_the_first_rank_of_a_stage(void)
{
	static const char *const names[] = {"F1", "F2.1", "F3.2", "F:", "F/", "Forward", "B4.2"};
	static const char paler[] = "paler: second model chunk";
	const int64_t ms = 1000000000;
	struct arena *arena = arena_new();
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		for (int all = 0; all < 2; all++) {
			struct trace *trace = trace_new(arena);
			for (uint32_t rank = 0; rank < 2; rank++) {
				const char *group = rank ? "g" : "h";
				trace_track(trace, group,
					    rank ? "rank 1, stage 0" : "rank 0, stage 0");
				uint32_t kernels = trace_track(trace, group, "g/stream 0");
				trace_span(trace, kernels, SPAN_KERNEL, "update", 0, ms);
				trace_span(trace, kernels, SPAN_KERNEL, "W1", ms, 2 * ms);
				trace_span(trace, kernels, SPAN_KERNEL, names[i], 2 * ms, 3 * ms);
				trace_span(trace, kernels, SPAN_KERNEL, "update", 3 * ms, 4 * ms);
			}
			const struct drawing *drawing = chart_pipeline(arena, about, trace, all);
			CHECK(has_text(drawing, "weight gradient"));
			CHECK(has_text(drawing, "forward") == (i < 2));
			CHECK(has_text(drawing, paler) == (i == 2));
			CHECK(has_text(drawing, "rank 0, stage 0"));
			CHECK(has_text(drawing, "rank 1, stage 0") == (all == 1));
		}
	arena_free(arena);
}

/* A step of n micro-batches takes 3 n + 2 ms. A quarter of its passes is communication: 3 n / 4 ms.
 * With 128 micro-batches a forward pass is narrower than two points, and the pieces of its
 * communication narrower than a fortieth. */
static void pipeline_covers_as_much_of_a_row_as_spans_take_of_the_time(void)
{
	static const struct {
		uint32_t rgb;
		double fixed_ms, each_ms; /* in a step, and for each micro-batch */
	} kinds[] = {{0x56B4E9, 0, 0.75}, /* forward */
		     {0x5FC9A8, 0, 1.5},  /* backward */
		     {0xCC79A7, 0, 0.75}, /* tensor communication */
		     {0xEDEDED, 1, 0},    /* bubble */
		     {0x6A6A6A, 1, 0}};   /* update */
	static const int counts[] = {4, 64, 96, 128, 512};
	for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
		struct arena *arena = arena_new();
		const struct drawing *drawing = draw_passes(arena, counts[c]);
		for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
			double share_ms = kinds[k].fixed_ms + kinds[k].each_ms * counts[c];
			double share = share_ms / (3 * counts[c] + 2);
			CHECK_NEAR(painted(drawing, ink_panel.rgb, kinds[k].rgb) / share, 1, 0.02);
		}
		CHECK(drawing->shapes.count < 4000); /* thousands of spans become few shapes */
		arena_free(arena);
	}
}

/* Each period has a kernel of 60 % and a copy of 30 % of its time. A track has about
 * 700 columns, so kernels of 300 periods are wider than a column, and 5,000 periods share them. */
static void timeline_covers_as_much_of_a_track_as_spans_take_of_the_time(void)
{
	static const int counts[] = {300, 1000, 5000};
	for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
		struct arena *arena = arena_new();
		struct trace *trace = trace_new(arena);
		uint32_t track = trace_track(trace, "gpu0", "stream 0");
		for (int64_t i = 0; i < counts[c]; i++) {
			trace_span(trace, track, SPAN_KERNEL, NULL, i * 1000, i * 1000 + 600);
			trace_span(trace, track, SPAN_COPY, NULL, i * 1000 + 600, i * 1000 + 900);
		}
		const struct drawing *drawing =
			chart_timeline(arena, about, trace, 0, counts[c] * 1000);
		CHECK_NEAR(painted(drawing, ink_panel.rgb, 0x009E73), 0.6, 0.04);
		CHECK_NEAR(painted(drawing, ink_panel.rgb, 0xCC79A7), 0.3, 0.04);
		if (counts[c] >= 1000)
			CHECK(drawing->shapes.count < 3000);
		arena_free(arena);
	}
}

static void parts_of_a_latency_have_different_looks(void)
{
	static const char *const parts[] = {PART_KERNEL,   PART_TENSOR, PART_ISSUE, PART_QUEUE,
					    PART_TRANSFER, PART_BATCH,  PART_OTHER};
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
		for (size_t k = 0; k < i; k++) {
			struct look a = part_look(parts[i], i), b = part_look(parts[k], k);
			CHECK(a.paint.rgb != b.paint.rgb);
		}
}

static const struct test tests[] = {
	TEST(parts_of_a_latency_have_different_looks),
	TEST(pipeline_shows_chunks_and_the_first_rank_of_a_stage),
	TEST(pipeline_covers_as_much_of_a_row_as_spans_take_of_the_time),
	TEST(timeline_covers_as_much_of_a_track_as_spans_take_of_the_time),
	TEST(few_marks_are_named_in_the_legend),
	TEST(loads_of_a_server_are_filled_unless_another_one_has_more_of_both),
	TEST(plans_are_at_their_memory_and_throughput),
	TEST(errors_of_two_groups_are_on_one_axis),
	TEST(scaling_has_linear_axes_up_to_16_gpus),
	TEST(ratio_bars_include_the_baseline_and_the_largest_end),
	TEST(axis_starts_at_zero_or_below_the_lowest_value),
	TEST(axis_up_to_a_million_has_powers_of_ten),
	TEST(curves_explain_intervals_and_a_goal_inside_of_the_axis),
	TEST(parity_counts_rows_and_shows_errors_below_the_mouse),
	TEST(parity_has_no_whisker_with_a_negative_end),
	TEST(tornado_separates_labels_and_shows_twelve_bars),
};

int main(void)
{
	return TEST_MAIN(tests);
}
