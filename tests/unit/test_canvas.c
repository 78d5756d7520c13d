/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plots/canvas.h"
#include "plots/charts.h"
#include "plots/style.h"
#include "sim/base/arena.h"
#include "tests/drawing_print.h"
#include "tests/test.h"

static const struct paint black = {0, 1}, half_red = {0xFF0000, 0.5};

static char *printed(const struct drawing *drawing)
{
	char *text = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);
	drawing_print(drawing, memory);
	fclose(memory);
	return text;
}

static void display_list_prints_each_shape(void)
{
	struct arena *arena = arena_new();
	struct drawing *drawing = drawing_new(arena, 100, 50);
	draw_rectangle(drawing, 1, 2, 3, 4, half_red);
	draw_line(drawing, 0, -0.001, 10, 10, black, 0.5, DASH_LONG);
	draw_hatch(drawing, 1, 1, 8, 8, HATCH_NONE, black);
	draw_hatch(drawing, 1, 1, 8, 8, HATCH_CROSSED, black);
	draw_marker(drawing, MARKER_NONE, 5, 5, 3, black);
	draw_marker(drawing, MARKER_DIAMOND, 5, 5, 3, black);
	draw_text(drawing, 5, 6, 7, ANCHOR_END, black, true, "95 %");
	draw_text_up(drawing, 5, 6, 7, ANCHOR_MIDDLE, black, "100 % as it is");
	char *text = printed(drawing);
	CHECK_TEXT(text, "drawing 100.00 50.00\n"
			 "rectangle 1.00 2.00 3.00 4.00 #ff0000/0.50\n"
			 "line 0.00 0.00 10.00 10.00 width 0.50 #000000 long\n"
			 "hatch 1.00 1.00 8.00 8.00 #000000 crossed\n"
			 "marker 5.00 5.00 3.00 #000000 diamond\n"
			 "text 5.00 6.00 7.00 #000000 end bold \"95 %\"\n"
			 "text-up 5.00 6.00 7.00 #000000 middle \"100 % as it is\"\n");
	free(text);
	arena_free(arena);
}

static void drawing_copies_points_and_texts(void)
{
	struct arena *arena = arena_new();
	struct drawing *drawing = drawing_new(arena, 10, 10);
	double points[] = {1, 2, 3, 4};
	char label[] = "before";
	draw_polyline(drawing, points, 2, black, 1, DASH_SOLID);
	draw_text_up(drawing, 0, 0, 8, ANCHOR_START, black, label);
	points[0] = 9;
	label[0] = 'B';
	char *text = printed(drawing);
	CHECK(strstr(text, "polyline 1.00 2.00 3.00 4.00") != NULL);
	CHECK(strstr(text, "\"before\"") != NULL);
	free(text);
	arena_free(arena);
}

static void image_format_follows_the_file_ending(void)
{
	enum image_format format = IMAGE_SVG;
	CHECK(image_format_of("a/b.pdf", &format) && format == IMAGE_PDF);
	CHECK(image_format_of("x.y.png", &format) && format == IMAGE_PNG);
	CHECK(image_format_of("x.svg", &format) && format == IMAGE_SVG);
	CHECK(!image_format_of("x.jpeg", &format));
	CHECK(!image_format_of(".svg", &format)); /* the name before the ending is empty */
	CHECK(!image_format_of("svg", &format));
	CHECK(!image_format_of("", &format));
}

static const struct drawing *sample(struct arena *arena)
{
	struct drawing *drawing = drawing_new(arena, 40.5, 20);
	for (int i = 0; i < 7; i++) {
		draw_hatch(drawing, 5 * i, 0, 5, 9, (enum hatch)i, black);
		draw_marker(drawing, (enum marker)i, 5 * i + 2, 14, 4, half_red);
	}
	draw_frame(drawing, 1, 1, 9, 9, black, 1);
	draw_polygon(drawing, (const double[]){0, 0, 5, 5, 0, 5}, 3, half_red);
	draw_line(drawing, 0, 0, 9, 9, black, 1, DASH_DOT);
	draw_text(drawing, 20, 10, 8, ANCHOR_MIDDLE, black, false, "µs → ±5 %");
	draw_text_up(drawing, 10, 20, 8, ANCHOR_END, black, "");
	return drawing;
}

static unsigned read_be32(const unsigned char *bytes)
{
	return (unsigned)bytes[0] << 24 | (unsigned)bytes[1] << 16 | (unsigned)bytes[2] << 8 |
	       bytes[3];
}

static void each_format_renders_with_its_signature(void)
{
	struct arena *arena = arena_new();
	const struct drawing *drawing = sample(arena);
	const char *message = NULL;
	size_t size = 0;
	unsigned char *png = image_render(arena, IMAGE_PNG, &drawing, 1, &size, &message);
	if (CHECK(png && size > 33)) {
		CHECK(memcmp(png, "\x89PNG\r\n\x1a\n", 8) == 0);
		CHECK(read_be32(png + 16) == 81); /* 40.5 points with 2 pixels each */
		CHECK(read_be32(png + 20) == 40);
	}
	unsigned char *svg = image_render(arena, IMAGE_SVG, &drawing, 1, &size, &message);
	if (CHECK(svg && size > 100)) {
		char *text = arena_printf(arena, "%.*s", (int)size, (const char *)svg);
		CHECK(strstr(text, "width=\"40.5pt\"") != NULL);
		CHECK(strstr(text, "</svg>") != NULL);
	}
	unsigned char *pdf = image_render(arena, IMAGE_PDF, &drawing, 1, &size, &message);
	if (CHECK(pdf && size > 100)) {
		CHECK(memcmp(pdf, "%PDF-", 5) == 0);
		CHECK(memcmp(pdf + size - 6, "%%EOF", 5) == 0);
	}
	arena_free(arena);
}

static const char *as_svg(struct arena *arena, const struct drawing *drawing)
{
	const char *message = NULL;
	size_t size = 0;
	unsigned char *svg = image_render(arena, IMAGE_SVG, &drawing, 1, &size, &message);
	return svg ? arena_printf(arena, "%.*s", (int)size, (const char *)svg) : "";
}

/* Texts stay text elements with the width from the table: "a<b" at size 10 is 6.13 + 8.38 + 6.35.
 */
static void svg_has_one_element_per_shape(void)
{
	struct arena *arena = arena_new();
	struct drawing *drawing = drawing_new(arena, 100, 50.5);
	draw_rectangle(drawing, 1, 2.25, 3, 1.0 / 3, half_red);
	draw_line(drawing, 0, -0.001, 10, 10, black, 0.5, DASH_LONG);
	draw_marker(drawing, MARKER_PLUS, 5, 5, 2, black);
	draw_text(drawing, 5, 6, 10, ANCHOR_END, black, true, "");
	draw_text(drawing, 5, 6, 10, ANCHOR_START, black, false, "a<b");
	draw_text_up(drawing, 5, 6, 7, ANCHOR_MIDDLE, black, "x  &\xE9\x01>");
	CHECK_TEXT(as_svg(arena, drawing),
		   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100pt\" height=\"50.5pt\" "
		   "viewBox=\"0 0 100 50.5\" font-family=\"DejaVu Sans,Verdana,sans-serif\" "
		   "fill=\"none\" stroke-linejoin=\"round\">\n"
		   "<rect x=\"0\" y=\"0\" width=\"100\" height=\"50.5\" fill=\"#ffffff\"/>\n"
		   "<rect x=\"1\" y=\"2.25\" width=\"3\" height=\"0.33\" fill=\"#ff0000\" "
		   "fill-opacity=\"0.5\"/>\n"
		   "<path d=\"M0 0L10 10\" stroke=\"#000000\" stroke-width=\"0.5\" "
		   "stroke-dasharray=\"6 3\"/>\n"
		   "<path d=\"M4 5L6 5M5 4L5 6\" stroke=\"#000000\" stroke-width=\"0.5\"/>\n"
		   "<text x=\"5\" y=\"6\" font-size=\"10\" textLength=\"20.86\" "
		   "lengthAdjust=\"spacingAndGlyphs\" fill=\"#000000\">a&lt;b</text>\n"
		   "<text x=\"5\" y=\"6\" transform=\"rotate(-90 5 6)\" font-size=\"7\" "
		   "text-anchor=\"middle\" textLength=\"19.92\" lengthAdjust=\"spacingAndGlyphs\" "
		   "fill=\"#000000\">x \xC2\xA0&amp;\xEF\xBF\xBD\xEF\xBF\xBD&gt;</text>\n"
		   "</svg>\n");
	arena_free(arena);
}

/* Lines x + y = k 4 sqrt 2 inside a square of 8: k = 1 and 2, of which the second crosses the far
 * half. Dots that would cross the edge are left out. */
static void svg_hatches_are_clipped_to_their_rectangle(void)
{
	struct arena *arena = arena_new();
	struct drawing *drawing = drawing_new(arena, 20, 20);
	draw_hatch(drawing, 0, 0, 8, 8, HATCH_RISING, black);
	draw_hatch(drawing, 0, 0, 5, 5, HATCH_LEVEL, black);
	draw_hatch(drawing, 0, 0, 6, 6, HATCH_DOTS, black);
	const char *svg = as_svg(arena, drawing);
	CHECK(strstr(svg, "d=\"M0 5.66L5.66 0M3.31 8L8 3.31\"") != NULL);
	CHECK(strstr(svg, "d=\"M0 0h5M0 3h5\"") != NULL);
	CHECK(strstr(svg, "d=\"M0 0.5h1M4 0.5h1M2 4.5h1\"") != NULL);
	arena_free(arena);
}

static size_t count_text(const unsigned char *bytes, size_t size, const char *word)
{
	size_t length = strlen(word), count = 0;
	for (size_t i = 0; i + length <= size; i++)
		count += memcmp(bytes + i, word, length) == 0;
	return count;
}

/* A file must not depend on its time of creation. */
static void rendering_twice_gives_the_same_bytes(void)
{
	struct arena *arena = arena_new();
	for (int format = IMAGE_SVG; format <= IMAGE_PNG; format++) {
		const struct drawing *drawing = sample(arena);
		const char *message;
		size_t sizes[2] = {0, 0};
		unsigned char *images[2];
		for (int i = 0; i < 2; i++)
			images[i] = image_render(arena, (enum image_format)format, &drawing, 1,
						 &sizes[i], &message);
		CHECK(images[0] && images[1] && sizes[0] == sizes[1] &&
		      memcmp(images[0], images[1], sizes[0]) == 0);
		if (format == IMAGE_PDF && images[0]) {
			CHECK(count_text(images[0], sizes[0], "20000101000000") == 2);
		}
	}
	arena_free(arena);
}

static void each_drawing_is_a_pdf_page(void)
{
	struct arena *arena = arena_new();
	const struct drawing *drawings[3] = {sample(arena), drawing_new(arena, 300, 200),
					     sample(arena)};
	const char *message;
	size_t size = 0;
	unsigned char *pdf = image_render(arena, IMAGE_PDF, drawings, 3, &size, &message);
	if (CHECK(pdf != NULL)) {
		CHECK(count_text(pdf, size, "/Type /Page") -
			      count_text(pdf, size, "/Type /Pages") ==
		      3);
		CHECK(count_text(pdf, size, "0 0 300 200 ]") == 1);
	}
	arena_free(arena);
}

static void too_large_png_returns_a_message(void)
{
	struct arena *arena = arena_new();
	const struct drawing *huge = drawing_new(arena, 1e5, 1e5); /* cairo allows 32767 pixels */
	const char *message = NULL;
	size_t size = 7;
	CHECK(image_render(arena, IMAGE_PNG, &huge, 1, &size, &message) == NULL);
	CHECK(message && *message);
	CHECK(size == 7);
	arena_free(arena);
}

/* Widths from the table: a 613, b 635, c 550, bold a 675, and µ, which has two bytes, 640. */
static void text_width_follows_the_table(void)
{
	CHECK_NEAR(text_width("abc", 10, false), 17.98, 1e-12);
	CHECK_NEAR(text_width("a", 10, true), 6.75, 1e-12);
	CHECK_NEAR(text_width("aµ", 10, false), 12.53, 1e-12);
	CHECK(text_width("", 10, false) == 0);
	CHECK(text_width("\xC3", 10, false) == 0); /* broken UTF-8 is skipped */
}

static void texts_are_cut_and_wrapped_to_a_width(void)
{
	struct arena *arena = arena_new();
	CHECK_TEXT(text_fit(arena, "abc", 10, false, 18), "abc");
	CHECK_TEXT(text_fit(arena, "abcdef", 10, false, 24), "ab…"); /* 12.48 + 10 */
	CHECK_TEXT(text_fit(arena, "µµµµ", 10, false, 20), "µ…");
	CHECK_TEXT(text_fit(arena, "abc", 10, false, 3), "…");
	const char *lines[3];
	CHECK(text_wrap(arena, "aa bb cc", 10, false, 30, 3, lines) == 2);
	CHECK_TEXT(lines[0], "aa bb"); /* 12.26 + 3.18 + 12.70 */
	CHECK_TEXT(lines[1], "cc");
	CHECK(text_wrap(arena, "  ", 10, false, 30, 3, lines) == 0);
	/* there is no place to break */
	CHECK(text_wrap(arena, "aaaaaaaa", 10, false, 30, 2, lines) == 2);
	CHECK_TEXT(lines[0], "aaaa");
	/* a unit stays with its number */
	CHECK(text_wrap(arena, "in all 4 GiB", 10, false, 50, 3, lines) == 2);
	CHECK_TEXT(lines[0], "in all");
	CHECK_TEXT(lines[1], "4 GiB");
	/* digits at the end of a word are not a number with a unit */
	CHECK(text_wrap(arena, "c10 gpus=4 batch", 10, false, 70, 3, lines) == 2);
	CHECK_TEXT(lines[0], "c10 gpus=4");
	CHECK(text_wrap(arena, "same_lan", 10, false, 40, 3, lines) == 2);
	CHECK_TEXT(lines[0], "same_");
	arena_free(arena);
}

static void parity_key_has_only_what_is_drawn(void)
{
	struct arena *arena = arena_new();
	const char *label = "c10 model=resnet50 gpus=8 machines=4 batch_per_gpu=128 network=calico";
	const struct parity_point points[] = {
		{label, 100, {80, 80, 80}, true},
		{"good", 300, {301, 301, 301}, true},
		{"better", 400, {400.5, 400.5, 400.5}, true},
		{label, 1000, {1130, 1130, 1130}, true},
	};
	char *text = printed(chart_parity(arena, (struct chart_text){"t", "c"}, "us", points, 4));
	CHECK(strstr(text, "\"test (4 rows)\"") && !strstr(text, "\"fit ("));
	CHECK(!strstr(text, "\"90 % interval\"")); /* no row has one */
	free(text);
	arena_free(arena);
}

/* Names of curves are never cut, ticks are at the chosen values, and no mark is outside. */
static void curves_show_whole_names_and_chosen_values(void)
{
	struct arena *arena = arena_new();
	const double x[] = {8, 16, 32, 64, 128}, odd[] = {1, 2.68269, 7.19686, 19.3070, 51.7947};
	const struct estimate y[] = {{0.8, 0.7, 0.9},
				     {0.9, 0.9, 0.9},
				     {0.96, 0.96, 0.96},
				     {0.97, 0.97, 0.97},
				     {NAN, NAN, NAN}};
	const struct curve curves[] = {
		{"no NVLink SHARP (NCCL_NVLS_ENABLE=0)", x, y, 5, NULL, NULL},
		{"remoting runtime = asynchronous, batch size = 64", x, y, 5, NULL, NULL}};
	struct chart_axes axes = {"batch size", "ratio", .x_log = true, .share = true};
	char *text = printed(chart_curves(arena, (struct chart_text){"t", "c"}, axes, curves, 2));
	static const char *const texts[] = {"8",
					    "16",
					    "32",
					    "64",
					    "128",
					    "95 %",
					    "no NVLink SHARP (NCCL_NVLS_ENABLE=0)",
					    "remoting runtime = asynchronous, batch size = 64"};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		CHECK(strstr(text, arena_printf(arena, " \"%s\"\n", texts[i])) != NULL);
	CHECK(strstr(text, "\"8: 0.8 (0.7 to 0.9)\"") != NULL);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		double at;
		if (sscanf(line, "marker %lf", &at) == 1)
			CHECK(at > CHART_MARGIN && at < CHART_WIDTH - CHART_MARGIN);
	}
	free(text);
	const struct curve spread = {"", odd, y, 5, NULL, NULL};
	text = printed(chart_curves(arena, (struct chart_text){"t", "c"}, axes, &spread, 1));
	CHECK(!strstr(text, "\"2.683\"") && strstr(text, "\"10\""));
	free(text);
	arena_free(arena);
}

/* A case that fails on 8 GPUs has no throughput there, but its ideal line goes on to 8. */
static void ideal_line_stays_inside_of_the_axes(void)
{
	struct arena *arena = arena_new();
	const struct scaling_point points[] = {{1, {100, 100, 100}, {1, 1, 1}, NAN, false},
					       {8, {NAN, NAN, NAN}, {NAN, NAN, NAN}, NAN, false}};
	const struct scaling_curve curve = {"job", "tokens/s", 100, NAN, points, 2};
	char *text = printed(chart_scaling(arena, (struct chart_text){"t", "c"}, &curve, 1));
	CHECK(strstr(text, "\"throughput (tokens/s)\"") != NULL);
	double top = INFINITY, x, y, right, high;
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		if (sscanf(line, "line %lf %lf %lf %lf", &x, &y, &right, &high) != 4)
			continue;
		if (strstr(line, "width 0.6") && x == right)
			top = fmin(top, y);
		if (strstr(line, "short") && y != high)
			CHECK(high > top && high < y);
	}
	free(text);
	const struct scaling_curve failing = {"job", "images/s", NAN, NAN, points + 1, 1};
	text = printed(chart_scaling(arena, (struct chart_text){"t", "c"}, &failing, 1));
	CHECK(strstr(text, "each case of this chart fails") != NULL);
	free(text);
	arena_free(arena);
}

static void hints_are_titles_in_svg(void)
{
	struct arena *arena = arena_new();
	struct drawing *drawing = drawing_new(arena, 20, 20);
	draw_hint(drawing, 10, 8, 4, 2, "%s < %d", "a", 1);
	CHECK(strstr(as_svg(arena, drawing), "<rect x=\"8\" y=\"7\" width=\"4\" height=\"2\" "
					     "fill=\"#000000\" fill-opacity=\"0\"><title>a &lt; "
					     "1</title></rect>"));
	arena_free(arena);
}

static void number_text_rounds_and_uses_real_signs(void)
{
	struct arena *arena = arena_new();
	CHECK_TEXT(number_text(arena, 0.9738, 3), "0.974");
	CHECK_TEXT(number_text(arena, 142.34, 3), "142");
	CHECK_TEXT(number_text(arena, -2.5, 2), "−2.5");
	CHECK_TEXT(number_text(arena, 0, 3), "0");
	CHECK_TEXT(number_text(arena, NAN, 3), "–");
	CHECK_TEXT(interval_text(arena, &(struct estimate){NAN, NAN, NAN}), "–");
	CHECK_TEXT(number_text(arena, 2e7, 3), "2·10⁷");
	CHECK_TEXT(number_text(arena, 1e-12, 3), "10⁻¹²");
	arena_free(arena);
}

static void ticks_cover_any_range(void)
{
	static const double ranges[][2] = {{0, 1},     {0.93, 1.01}, {-3, 7}, {1e-9, 3e-9},
					   {17, 1234}, {-0.1, 0.1},  {5, 5},  {0, 0}};
	double ticks[12];
	for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
		for (size_t max = 3; max <= 12; max++) {
			size_t count = nice_ticks(ranges[i][0], ranges[i][1], max, ticks);
			if (!CHECK(count >= 2 && count <= max))
				continue;
			double step = ticks[1] - ticks[0], slack = step * 1e-6;
			CHECK(ticks[0] <= ranges[i][0] + slack);
			CHECK(ticks[count - 1] >= ranges[i][1] - slack);
			double mantissa = step / pow(10, floor(log10(step) + 1e-6));
			CHECK(fabs(mantissa - 1) < 1e-6 || fabs(mantissa - 2) < 1e-6 ||
			      fabs(mantissa - 5) < 1e-6);
		}
	}
	CHECK(nice_ticks(0, 1, 2, ticks) == 0);
	CHECK(nice_ticks(0, INFINITY, 9, ticks) == 0);
	CHECK(nice_ticks(0, 10, 6, ticks) == 6 && ticks[1] == 2);
}

static void axes_map_values_and_choose_ticks(void)
{
	struct axis linear = {.low = 0, .high = 4, .from = 100, .to = 0};
	CHECK_NEAR(axis_at(&linear, 1), 75, 1e-12);
	struct axis logarithmic = {.low = 1, .high = 1000, .from = 0, .to = 300, .log = true};
	CHECK_NEAR(axis_at(&logarithmic, 10), 100, 1e-12);
	double ticks[TICKS_MAX];
	CHECK(axis_ticks(&logarithmic, 12, ticks) == 10); /* 1 2 5 ... 500 1000 */
	CHECK_NEAR(ticks[1], 2, 1e-12);
	CHECK(axis_ticks(&logarithmic, 4, ticks) == 4);
	struct axis wide = {.low = 1e-12, .high = 1e12, .log = true};
	size_t count = axis_ticks(&wide, 10, ticks);
	CHECK(count >= 4 && count <= 13);
}

static const struct test tests[] = {
	TEST(display_list_prints_each_shape),
	TEST(drawing_copies_points_and_texts),
	TEST(image_format_follows_the_file_ending),
	TEST(each_format_renders_with_its_signature),
	TEST(svg_has_one_element_per_shape),
	TEST(svg_hatches_are_clipped_to_their_rectangle),
	TEST(rendering_twice_gives_the_same_bytes),
	TEST(each_drawing_is_a_pdf_page),
	TEST(too_large_png_returns_a_message),
	TEST(text_width_follows_the_table),
	TEST(texts_are_cut_and_wrapped_to_a_width),
	TEST(parity_key_has_only_what_is_drawn),
	TEST(curves_show_whole_names_and_chosen_values),
	TEST(ideal_line_stays_inside_of_the_axes),
	TEST(hints_are_titles_in_svg),
	TEST(number_text_rounds_and_uses_real_signs),
	TEST(ticks_cover_any_range),
	TEST(axes_map_values_and_choose_ticks),
};

int main(void)
{
	return TEST_MAIN(tests);
}
