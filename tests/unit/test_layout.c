/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Positions in charts: ticks, labels, legends, stubs of failures, titles and captions. The expected
 * lists of shapes follow by hand from the sizes in plots/style.h. */
#include <stdlib.h>

#include "plots/shapes.h"
#include "plots/style.h"
#include "sim/base/arena.h"
#include "tests/drawing_print.h"
#include "tests/test.h"

static struct arena *arena;

static char *printed(const struct drawing *drawing)
{
	char *text = NULL;
	size_t size_B = 0;
	FILE *out = open_memstream(&text, &size_B);
	drawing_print(drawing, out);
	fclose(out);
	return text;
}

static void shows(const struct drawing *drawing, const char *wanted)
{
	char *text = printed(drawing);
	CHECK_TEXT(strchr(text, '\n') + 1, wanted);
	free(text);
}

static struct drawing *paper(void)
{
	return drawing_new(arena, 400, 400);
}

static const struct area area = {100, 50, 200, 100};

/* 200 points have room for 200 / 55 + 2 = 5 ticks and two more, so the step is 2. Each value takes
 * 20 points. Texts are 13 points below the axis, and the label 27. */
static void linear_axis_has_a_tick_each_two_units(void)
{
	struct axis axis = {.low = 0, .high = 10};
	struct drawing *d = paper();
	axis_along(&axis, area);
	draw_axis_x(d, &axis, area, "x", true);
	shows(d, "line 100.00 50.00 100.00 150.00 width 0.60 #e4e4e4 solid\n"
		 "line 100.00 150.00 100.00 153.00 width 0.80 #222222 solid\n"
		 "text 100.00 163.00 8.50 #222222 middle \"0\"\n"
		 "line 140.00 50.00 140.00 150.00 width 0.60 #e4e4e4 solid\n"
		 "line 140.00 150.00 140.00 153.00 width 0.80 #222222 solid\n"
		 "text 140.00 163.00 8.50 #222222 middle \"2\"\n"
		 "line 180.00 50.00 180.00 150.00 width 0.60 #e4e4e4 solid\n"
		 "line 180.00 150.00 180.00 153.00 width 0.80 #222222 solid\n"
		 "text 180.00 163.00 8.50 #222222 middle \"4\"\n"
		 "line 220.00 50.00 220.00 150.00 width 0.60 #e4e4e4 solid\n"
		 "line 220.00 150.00 220.00 153.00 width 0.80 #222222 solid\n"
		 "text 220.00 163.00 8.50 #222222 middle \"6\"\n"
		 "line 260.00 50.00 260.00 150.00 width 0.60 #e4e4e4 solid\n"
		 "line 260.00 150.00 260.00 153.00 width 0.80 #222222 solid\n"
		 "text 260.00 163.00 8.50 #222222 middle \"8\"\n"
		 "line 300.00 50.00 300.00 150.00 width 0.60 #e4e4e4 solid\n"
		 "line 300.00 150.00 300.00 153.00 width 0.80 #222222 solid\n"
		 "text 300.00 163.00 8.50 #222222 middle \"10\"\n"
		 "line 100.00 150.00 300.00 150.00 width 0.80 #222222 solid\n"
		 "text 200.00 177.00 8.50 #222222 middle \"x\"\n");
}

/* 152 points have room for 6 ticks, which are those with 1 and 3 in three decades. 3 is at 162 -
 * 152 log(3) / 3, and its text 3 below. The label is 13 left of the widest text, four digits of
 * 0.636 em. */
static void logarithmic_axis_has_ticks_at_1_and_3(void)
{
	struct axis axis = {.low = 1, .high = 1000, .log = true};
	const struct area tall = {60, 10, 300, 152};
	struct drawing *d = paper();
	axis_up(&axis, tall);
	draw_axis_y(d, &axis, tall, "y", false);
	shows(d, "text 54.00 165.00 8.50 #222222 end \"1\"\n"
		 "text 54.00 140.83 8.50 #222222 end \"3\"\n"
		 "text 54.00 114.33 8.50 #222222 end \"10\"\n"
		 "text 54.00 90.16 8.50 #222222 end \"30\"\n"
		 "text 54.00 63.67 8.50 #222222 end \"100\"\n"
		 "text 54.00 39.49 8.50 #222222 end \"300\"\n"
		 "text 54.00 13.00 8.50 #222222 end \"1000\"\n"
		 "text-up 25.38 86.00 8.50 #222222 middle \"y\"\n");
}

/* 20 doublings have room for 200 / 48 = 4 steps, so each sixth one has a tick. */
static void axis_of_sizes_has_powers_of_two(void)
{
	struct axis axis = {.low = 1024, .high = 1 << 30, .log = true};
	struct drawing *d = paper();
	axis_along(&axis, area);
	draw_axis_x_sizes(d, &axis, area, "s");
	shows(d, "line 120.00 50.00 120.00 150.00 width 0.60 #e4e4e4 solid\n"
		 "line 120.00 150.00 120.00 153.00 width 0.80 #222222 solid\n"
		 "text 120.00 163.00 8.50 #222222 middle \"4 KiB\"\n"
		 "line 180.00 50.00 180.00 150.00 width 0.60 #e4e4e4 solid\n"
		 "line 180.00 150.00 180.00 153.00 width 0.80 #222222 solid\n"
		 "text 180.00 163.00 8.50 #222222 middle \"256 KiB\"\n"
		 "line 240.00 50.00 240.00 150.00 width 0.60 #e4e4e4 solid\n"
		 "line 240.00 150.00 240.00 153.00 width 0.80 #222222 solid\n"
		 "text 240.00 163.00 8.50 #222222 middle \"16 MiB\"\n"
		 "line 300.00 50.00 300.00 150.00 width 0.60 #e4e4e4 solid\n"
		 "line 300.00 150.00 300.00 153.00 width 0.80 #222222 solid\n"
		 "text 300.00 163.00 8.50 #222222 middle \"1 GiB\"\n"
		 "line 100.00 150.00 300.00 150.00 width 0.80 #222222 solid\n"
		 "text 200.00 177.00 8.50 #222222 middle \"s\"\n");
}

static void failure_is_a_stub_with_its_reason(void)
{
	struct drawing *d = paper();
	draw_failure(d, 100, 50, 20, 200, "out of memory");
	shows(d, "rectangle 100.00 40.00 26.00 20.00 #b54a00/0.12\n"
		 "hatch 100.00 40.00 26.00 20.00 #b54a00 rising\n"
		 "polyline 100.00 40.00 126.00 40.00 126.00 60.00 100.00 60.00 100.00 40.00 width "
		 "0.80 #b54a00 solid\n"
		 "rectangle 130.00 45.00 75.94 10.00 #ffffff/0.90\n"
		 "text 132.00 52.70 7.50 #b54a00 start \"fail: out of memory\"\n");
}

/* An entry takes 20 points, its text (10.81 points here) and 18 more. Rows are 14 apart. */
static void legend_goes_from_left_to_right_and_down(void)
{
	struct look look = series_look(1);
	struct drawing *d = paper();
	struct legend legend = legend_begin(d, 30);
	CHECK_NEAR(legend_end(&legend), 30, 1e-12);
	look.hatch = HATCH_DOTS;
	for (enum legend_kind kind = LEGEND_AREA; kind <= LEGEND_BAND; kind++)
		legend_add(&legend, kind, look, "10");
	shows(d, "rectangle 20.00 30.50 16.00 9.00 #d55e00\n"
		 "hatch 20.00 30.50 16.00 9.00 #6a2f00/0.55 dots\n"
		 "text 40.00 38.00 8.50 #222222 start \"10\"\n"
		 "line 68.81 35.00 84.81 35.00 width 1.60 #d55e00 long\n"
		 "marker 76.81 35.00 8.00 #ffffff square\n"
		 "marker 76.81 35.00 6.00 #d55e00 square\n"
		 "text 88.81 38.00 8.50 #222222 start \"10\"\n"
		 "marker 127.62 35.00 9.00 #ffffff square\n"
		 "marker 127.62 35.00 7.00 #d55e00 square\n"
		 "text 137.62 38.00 8.50 #222222 start \"10\"\n"
		 "line 166.44 35.00 182.44 35.00 width 1.00 #222222 solid\n"
		 "line 166.44 32.50 166.44 37.50 width 1.00 #222222 solid\n"
		 "line 182.44 32.50 182.44 37.50 width 1.00 #222222 solid\n"
		 "text 186.44 38.00 8.50 #222222 start \"10\"\n"
		 "rectangle 215.25 30.50 16.00 9.00 #d55e00\n"
		 "text 235.25 38.00 8.50 #222222 start \"10\"\n");
	CHECK_NEAR(legend_end(&legend), 44, 1e-12);
	/* 14 entries of 30.812 points and 13 gaps of 18 take 665.4 of 680 points; one more does not
	 * fit */
	for (int i = 5; i < 14; i++)
		legend_add(&legend, LEGEND_BAND, look, "10");
	CHECK_NEAR(legend_end(&legend), 44, 1e-12);
	CHECK_NEAR(legend.x, 20 + 14 * 48.812, 1e-9);
	legend_add(&legend, LEGEND_BAND, look, "10");
	CHECK_NEAR(legend_end(&legend), 58, 1e-12);
	CHECK_NEAR(legend.x, 20 + 48.812, 1e-9);
}

/* Parts are stacked from the bottom; those under 3 points have no hatch. A text on a dark area is
 * white, and a plate covers the hatch. Three lines of a row's label are smaller than two. */
static void areas_points_and_labels_are_where_they_belong(void)
{
	struct look look = series_look(1);
	struct drawing *d = paper();
	look.hatch = HATCH_DOTS;
	const double shares[] = {0.25, 0, 0.5};
	const struct look looks[] = {look, look, look};
	draw_shares(d, area, shares, looks, 3);
	draw_shares(d, (struct area){0, 0, 2, 100}, shares, looks, 1);
	draw_on_area(d, look, 50, 60, "11");
	look.hatch = HATCH_NONE;
	look.paint.rgb = 0x000080;
	draw_on_area(d, look, 50, 60, "11");
	draw_whisker_y(d, 5, 10, 20);
	look.hollow = true;
	look.marker = MARKER_CIRCLE;
	draw_point(d, look, 1, 2, 8);
	look.marker = MARKER_CROSS;
	draw_point(d, look, 1, 2, 8);
	draw_row_label(d, 100, 50, "11 11 11 11", 20);
	draw_row_label(d, 100, 50, "111 111", 20);
	shows(d, "rectangle 100.00 125.00 200.00 25.00 #d55e00\n"
		 "hatch 100.00 125.00 200.00 25.00 #6a2f00/0.55 dots\n"
		 "rectangle 100.00 75.00 200.00 50.00 #d55e00\n"
		 "hatch 100.00 75.00 200.00 50.00 #6a2f00/0.55 dots\n"
		 "rectangle 0.00 75.00 2.00 25.00 #d55e00\n"
		 "rectangle 43.23 55.00 13.54 10.00 #d55e00\n"
		 "text 50.00 62.80 7.50 #ffffff middle \"11\"\n"
		 "text 50.00 62.80 7.50 #ffffff middle \"11\"\n"
		 "line 5.00 10.00 5.00 20.00 width 0.80 #222222 solid\n"
		 "line 3.00 10.00 7.00 10.00 width 0.80 #222222 solid\n"
		 "line 3.00 20.00 7.00 20.00 width 0.80 #222222 solid\n"
		 "marker 1.00 2.00 10.00 #ffffff circle\n"
		 "marker 1.00 2.00 8.00 #000080 circle\n"
		 "marker 1.00 2.00 5.60 #ffffff circle\n"
		 "marker 1.00 2.00 8.00 #000080 cross\n"
		 "text 100.00 43.98 7.00 #222222 end \"11\"\n"
		 "text 100.00 52.52 7.00 #222222 end \"11\"\n"
		 "text 100.00 61.06 7.00 #222222 end \"11…\"\n"
		 "text 100.00 47.88 8.50 #222222 end \"111\"\n"
		 "text 100.00 58.25 8.50 #222222 end \"111\"\n");
}

/* A title takes 14 points and 6 more, and the first line of a caption begins 10 below the chart. */
static void title_and_caption_are_above_and_below(void)
{
	struct drawing *d = chart_empty(arena, (struct chart_text){"Title", "Caption"}, "why");
	shows(d, "text 20.00 28.00 11.00 #222222 start bold \"Title\"\n"
		 "rectangle 20.00 40.00 680.00 60.00 #f6f6f4\n"
		 "text 360.00 73.00 8.50 #6a6a6a middle \"why\"\n"
		 "text 20.00 116.00 7.50 #6a6a6a start \"Caption\"\n");
	CHECK_NEAR(d->height, 134, 1e-12);
	d = chart_empty(arena, (struct chart_text){"", NULL}, "why");
	shows(d, "rectangle 20.00 20.00 680.00 60.00 #f6f6f4\n"
		 "text 360.00 53.00 8.50 #6a6a6a middle \"why\"\n");
	CHECK_NEAR(d->height, 94, 1e-12);
}

/* Compares the texts of the axis's ticks, in their order. */
static void ticks_are(struct axis axis, double width, const char *wanted)
{
	struct drawing *d = paper();
	const char *found = "";
	axis_along(&axis, (struct area){0, 0, width, 100});
	draw_axis_x(d, &axis, (struct area){0, 0, width, 100}, "label", false);
	for (size_t i = 0; i < d->shapes.count; i++)
		if (d->shapes.items[i].kind == SHAPE_TEXT &&
		    strcmp(d->shapes.items[i].text, "label") != 0)
			found = arena_printf(arena, "%s%s ", found, d->shapes.items[i].text);
	CHECK_TEXT(found, wanted);
}

/* 110 points have room for 4 ticks and two more, 220 for 6 and two more, and 1,000 for 20 and two
 * more. Up to a ratio of 12 a logarithmic axis has equal steps, and a text that would touch another
 * is left out. */
static void texts_of_ticks_tell_them_apart(void)
{
	ticks_are((struct axis){.low = 0, .high = 10}, 110, "0 2 4 6 8 10 ");
	ticks_are((struct axis){.low = -1, .high = 1}, 110, "−1.0 −0.5 0.0 0.5 1.0 ");
	ticks_are((struct axis){.low = 0, .high = 1e7}, 220, "0 2·10⁶ 4·10⁶ 6·10⁶ 8·10⁶ 10⁷ ");
	ticks_are((struct axis){.low = 0, .high = 5e-5}, 1000,
		  "0 5·10⁻⁶ 10⁻⁵ 1.5·10⁻⁵ 2·10⁻⁵ 2.5·10⁻⁵ 3·10⁻⁵ 3.5·10⁻⁵ 4·10⁻⁵ "
		  "4.5·10⁻⁵ 5·10⁻⁵ ");
	ticks_are((struct axis){.low = 1, .high = 10, .log = true}, 110, "2 4 6 8 ");
	ticks_are((struct axis){.low = 10, .high = 1e7, .log = true}, 220, "10 10³ 10⁵ 10⁷ ");
	ticks_are((struct axis){.low = 10, .high = 1e5, .log = true}, 220,
		  "10 100 1000 10000 100000 ");
	ticks_are((struct axis){.low = 4.9, .high = 5.1}, 0.1, "4.9 ");
}

/* A map of four values. Above a ratio of 30 the colours are
 * on a logarithmic scale, whose bar has powers of ten. A line at a value that no cell crosses is
 * named so. */
static void heat_has_a_scale_and_names_a_missing_line(void)
{
	static const double at[] = {1, 2}, few[] = {1, 2, 3, 4}, many[] = {1, 10, 100, 1000},
			    none[] = {NAN, NAN, NAN, NAN};
	struct heat_axes axes = {
		.x_label = "x", .y_label = "y", .z_label = "z", .limit = 5, .limit_label = "five"};
	const struct chart_text about = {"t", "c"};
	struct heat_map map = {"m", at, at, 2, 2, few};
	char *text = printed(chart_heat(arena, about, axes, &map, 1));
	CHECK_PART(text, "\"five: no such line, all values are lower\"");
	CHECK_PART(text, "start \"2.00\"\n");
	CHECK_PART(text, "start \"4.00\"\n");
	/* the colours of the first and the last of 128 shades, a sixteenth of a step from the ends
	 */
	CHECK_PART(text, "rectangle 72.00 239.00 275.30 195.00 #440255\n");
	CHECK_PART(text, "rectangle 347.00 44.00 275.00 195.30 #fbe725\n");
	free(text);
	axes.limit = 1;
	text = printed(chart_heat(arena, about, axes, &map, 1));
	CHECK_PART(text, "\"five: no such line, all values are higher\"");
	free(text);
	axes.limit = 2.5;
	map.z = many;
	text = printed(chart_heat(arena, about, axes, &map, 1));
	CHECK_PART(text, "\"five\"");
	CHECK_PART(text, "start \"30\"\n");
	CHECK_PART(text, "start \"1000\"\n");
	CHECK(!strstr(text, "\"600\""));
	free(text);
	map.z = none;
	text = printed(chart_heat(arena, about, axes, &map, 1));
	CHECK_PART(text, "\"the case fails at every point\"");
	free(text);
	text = printed(chart_heat(arena, about, axes, &map, 0));
	CHECK_PART(text, "\"the case fails at every point\"");
	free(text);
}

static void numbers_have_signs_powers_and_few_digits(void)
{
	CHECK_TEXT(power_text(arena, -2e7), "−2·10⁷");
	CHECK_TEXT(power_text(arena, 1e5), "10⁵");
	CHECK_TEXT(power_text(arena, -1e-3), "−10⁻³");
	CHECK_TEXT(number_text(arena, 999999, 3), "999999");
	CHECK_TEXT(number_text(arena, 1e6, 3), "10⁶");
	CHECK_TEXT(number_text(arena, 1e-4, 3), "0.000100");
	CHECK_TEXT(number_text(arena, 9.9e-5, 3), "9.9·10⁻⁵");
}

/* Bold letters are wider: two bytes are a letter, and more a symbol. A text without room is an
 * ellipsis, and a first character is never left out of a line. */
static void narrow_columns_keep_a_character_in_each_line(void)
{
	const char *lines[3];
	CHECK_NEAR(text_width("ж", 1000, true), 700, 1e-9);
	CHECK_NEAR(text_width("ж", 1000, false), 640, 1e-9);
	CHECK_NEAR(text_width("水", 1000, true), 1000, 1e-9);
	CHECK_NEAR(text_width("水", 1000, false), 960, 1e-9);
	CHECK_TEXT(text_fit(arena, "111", 10, false, 1), "…");
	CHECK_TEXT(text_fit(arena, "111", 10, false, 3 * 6.36), "111");
	CHECK(text_wrap(arena, "  11 22", 10, false, 1, 3, lines) == 3);
	CHECK(strcmp(lines[0], "1") == 0 && strcmp(lines[1], "1") == 0 &&
	      strcmp(lines[2], "…") == 0);
	CHECK(text_wrap(arena, "a/b 4 GiB", 10, false, 30, 3, lines) == 2);
	CHECK(strcmp(lines[0], "a/b") == 0 && strcmp(lines[1], "4 GiB") == 0);
	CHECK(text_wrap(arena, "", 10, false, 30, 3, lines) == 0);
	CHECK(text_wrap(arena, "ab/", 10, false, 100, 3, lines) == 1);
}

/* A range has a margin of 6 % at each end, or begins at zero if it comes near it. A logarithmic one
 * has 5 % of its decades, and at least a factor of 1.04. */
static void ranges_have_margins(void)
{
	static const struct {
		double low, high, from, to;
		bool log;
	} rows[] = {
		{0, 10, 0, 10.6, false},        {3.9, 10, 0, 10.366, false},
		{4, 10, 3.64, 10.36, false},    {-1, 9, -1.6, 9.6, false},
		{5, 5, 4.7, 5.3, false},        {1, 100, 1 / 1.2589254, 125.89254, true},
		{1, 1.5, 1 / 1.04, 1.56, true},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct axis axis = {.log = rows[i].log};
		axis_cover(&axis, rows[i].low, rows[i].high);
		CHECK(fabs(axis.low - rows[i].from) < 1e-6 && fabs(axis.high - rows[i].to) < 1e-4);
	}
	double ticks[TICKS_MAX];
	CHECK(nice_ticks(NAN, 1, 9, ticks) == 0 && nice_ticks(0, INFINITY, 9, ticks) == 0);
	CHECK(nice_ticks(0, 1, 2, ticks) == 0);
	/* at most 30 ticks are wanted: 100 / 31 is rounded up to 5 */
	const struct axis wide = {.low = 0, .high = 100};
	CHECK(axis_ticks(&wide, 1000, ticks) == 21);
	const struct axis decades = {.low = 1, .high = 1e15, .log = true};
	CHECK(axis_ticks(&decades, 4, ticks) == 4); /* each fourth of 15 decades */
	CHECK_NEAR(ticks[3], 1e12, 1e-9);
}

static const struct test tests[] = {
	TEST(linear_axis_has_a_tick_each_two_units),
	TEST(logarithmic_axis_has_ticks_at_1_and_3),
	TEST(axis_of_sizes_has_powers_of_two),
	TEST(failure_is_a_stub_with_its_reason),
	TEST(legend_goes_from_left_to_right_and_down),
	TEST(areas_points_and_labels_are_where_they_belong),
	TEST(title_and_caption_are_above_and_below),
	TEST(texts_of_ticks_tell_them_apart),
	TEST(heat_has_a_scale_and_names_a_missing_line),
	TEST(numbers_have_signs_powers_and_few_digits),
	TEST(narrow_columns_keep_a_character_in_each_line),
	TEST(ranges_have_margins),
};

int main(void)
{
	arena = arena_new();
	int failed = TEST_MAIN(tests);
	arena_free(arena);
	return failed;
}
