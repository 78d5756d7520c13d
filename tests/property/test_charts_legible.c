/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All texts of a chart can be read: no text covers another or leaves the drawing. */
#include <math.h>
#include <stdlib.h>

#include "tests/golden/sample_charts.h"
#include "tests/test.h"

struct box {
	double left, top, right, bottom;
	char text[160];
};

/* Reads a line of a display list. Returns false if the line has no text. */
static bool text_box(const char *line, struct box *box)
{
	double x, y, size;
	char anchor[8], rest[200];
	bool up = strncmp(line, "text-up ", 8) == 0;
	if ((!up && strncmp(line, "text ", 5) != 0) ||
	    sscanf(line + (up ? 8 : 5), "%lf %lf %lf #%*s %7s %199[^\n]", &x, &y, &size, anchor,
		   rest) != 5)
		return false;
	bool bold = strncmp(rest, "bold ", 5) == 0;
	const char *quoted = rest + (bold ? 6 : 1);
	snprintf(box->text, sizeof box->text, "%.*s", (int)strlen(quoted) - 1, quoted);
	double width = text_width(box->text, size, bold);
	double before = width * (anchor[0] == 's' ? 0 : anchor[0] == 'm' ? 0.5 : 1);
	if (up)
		*box = (struct box){.left = x - 0.72 * size,
				    .right = x + 0.2 * size,
				    .top = y - width + before,
				    .bottom = y + before};
	else
		*box = (struct box){.left = x - before,
				    .right = x - before + width,
				    .top = y - 0.72 * size,
				    .bottom = y + 0.2 * size};
	snprintf(box->text, sizeof box->text, "%.*s", (int)strlen(quoted) - 1, quoted);
	return *quoted != '"';
}

static void check_legible(const char *name, const struct drawing *drawing, struct arena *arena)
{
	size_t size = 0, count = 0;
	char *text = display_list(drawing, &size);
	struct box *boxes = ARENA_ARRAY(arena, size / 10, struct box);
	for (char *line = text; line && *line; line = strchr(line, '\n') + 1) {
		struct box *box = &boxes[count];
		if (!text_box(line, box))
			continue;
		count++;
		if (!CHECK(box->left >= 0 && box->top >= 0 && box->right <= drawing->width &&
			   box->bottom <= drawing->height))
			printf("  %s: \"%s\" is outside\n", name, box->text);
		for (struct box *other = boxes; other < box; other++)
			if (!CHECK(box->right <= other->left || other->right <= box->left ||
				   box->bottom <= other->top || other->bottom <= box->top))
				printf("  %s: \"%s\" covers \"%s\"\n", name, box->text,
				       other->text);
	}
	CHECK(count > 0);
	free(text);
}

static void texts_of_sample_charts_do_not_overlap(void)
{
	for (size_t i = 0; i < SAMPLES_COUNT; i++) {
		struct arena *arena = arena_new();
		check_legible(samples[i].name, samples[i].draw(arena), arena);
		arena_free(arena);
	}
}

/* Empty, single, equal and missing numbers still give a drawing. */
static void charts_of_missing_or_equal_numbers_are_legible(void)
{
	struct arena *arena = arena_new();
	const struct chart_text bare = {"Bare", NULL};
	const double one = 1;
	const struct estimate none = {NAN, NAN, NAN}, same = {5, 5, 5};
	const struct ratio_bar bars[] = {{"no baseline", none, NULL}, {"", same, NULL}};
	const struct curve curves[] = {{"fails", &one, &none, 1, NULL, NULL},
				       {"flat", &one, &same, 1, NULL, NULL}};
	const struct parity_point points[] = {{"equal", 5, same, false}, {"none", NAN, none, true}};
	const struct scaling_point gpus[] = {{1, none, none, NAN, false}, {4, same, same, 5, true}};
	const struct scaling_curve scalings[] = {{"fails", "images/s", NAN, NAN, gpus, 1},
						 {"no base", "images/s", NAN, NAN, gpus, 2},
						 {"", "images/s", 5, NAN, NULL, 0}};
	const double sizes[] = {0, 8, 1e18};
	const struct estimate rates[] = {none, same, same}, measured[] = {none, {-1, -2, 0}, same};
	const bool test[] = {false, true, true};
	const struct curve measured_curves[] = {
		{"fails", sizes, rates, 1, measured, test},
		{"one", sizes + 1, rates + 1, 2, measured + 1, test}};
	const struct prediction failed = {.name = "f", .reason = "no"},
				idle = {.name = "", .ok = true};
	const struct prediction *const steps[] = {&failed, &idle};
	const struct chart_axes axes = {
		.x_label = "x", .y_label = "y", .x_log = true, .y_log = true};
	struct chart_axes size_axes = axes;
	size_axes.x_sizes = true;
	const struct drawing *drawings[] = {
		chart_ratio_bars(arena, bare, NULL, 0),
		chart_ratio_bars(arena, bare, bars, 2),
		chart_breakdown(arena, bare, NULL, 0),
		chart_timeline(arena, bare, NULL, 0, 10),
		chart_timeline(arena, bare, sample_trace(arena), 10, 10),
		chart_parity(arena, bare, "us", NULL, 0),
		chart_parity(arena, bare, "us", points, 2),
		chart_parity(arena, bare, "us", points + 1, 1),
		chart_curves(arena, bare, axes, NULL, 0),
		chart_curves(arena, bare, axes, curves, 2),
		chart_curves(arena, bare, axes, curves, 1),
		chart_scaling(arena, bare, NULL, 0),
		chart_scaling(arena, bare, scalings, 1),
		chart_scaling(arena, bare, scalings, 3),
		chart_breakdown(arena, bare, NULL, 0),
		chart_breakdown(arena, bare, steps, 2),
		chart_curves(arena, bare, size_axes, measured_curves, 1),
		chart_curves(arena, bare, size_axes, measured_curves, 2),
	};
	for (size_t i = 0; i < sizeof drawings / sizeof *drawings; i++)
		check_legible("odd", drawings[i], arena);
	arena_free(arena);
}

/* Tornados without points, with failures and with equal values. */
static void tornados_of_missing_numbers_are_legible(void)
{
	struct arena *arena = arena_new();
	const struct chart_text bare = {"Bare", NULL};
	const struct tornado_bar flat[] = {{"fails", "0", "1", NAN, NAN}, {"flat", "", "", 5, 5}};
	const struct tornado_view tornados[] = {
		{"x", 5, NULL, 0}, {"x", 5, flat, 2}, {"x", NAN, flat, 2}};
	const struct drawing *drawings[] = {
		chart_tornado(arena, bare, &tornados[0]),
		chart_tornado(arena, bare, &tornados[1]),
		chart_tornado(arena, bare, &tornados[2]),
	};
	for (size_t i = 0; i < sizeof drawings / sizeof *drawings; i++)
		check_legible("odd answer", drawings[i], arena);
	arena_free(arena);
}

/* Charts with up to 41 bars, more than have room for a label. */
static void texts_of_many_bars_do_not_overlap(void)
{
	for (size_t count = 1; count <= 41; count += 8) {
		struct arena *arena = arena_new();
		struct breakdown_part part = {PART_KERNEL, 1.2345};
		const struct prediction **list =
			ARENA_ARRAY(arena, count, const struct prediction *);
		struct scaling_point *points = ARENA_ARRAY(arena, count, struct scaling_point);
		for (size_t i = 0; i < count; i++) {
			double gpus = 1000 + 25 * (double)i;
			struct prediction *p = ARENA_NEW(arena, struct prediction);
			*p = (struct prediction){.name = "many",
						 .ok = true,
						 .gpu_count = 1000 + 25 * i,
						 .breakdown_count = 1,
						 .breakdown = &part};
			list[i] = p;
			points[i] = (struct scaling_point){
				gpus, {gpus, gpus, gpus}, {1, 1, 1}, gpus, false};
		}
		const struct scaling_curve curve = {"many", "images/s", 1, 1, points, count};
		const struct chart_text text = {"Many GPUs", CAPTION};
		check_legible("many", chart_breakdown(arena, text, list, count), arena);
		check_legible("many", chart_scaling(arena, text, &curve, 1), arena);
		arena_free(arena);
	}
}

/* A drawing of 200,000 spans has at most two shapes for each column of pixels. */
static void short_spans_are_merged_into_one_shape(void)
{
	struct arena *arena = arena_new();
	struct trace *trace = trace_new(arena);
	uint32_t track = trace_track(trace, "gpu0", "stream 1");
	for (int64_t i = 0; i < 200000; i++)
		trace_span(trace, track, i % 3 ? SPAN_KERNEL : SPAN_COPY, "k", i * 100,
			   i * 100 + 40 + i % 50);
	struct drawing *drawing =
		chart_timeline(arena, (struct chart_text){"Many", CAPTION}, trace, 0, 20000000);
	size_t size = 0;
	char *text = display_list(drawing, &size);
	CHECK(size > 500 && size < 60 * 1600); /* at most two shapes for each column */
	free(text);
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(texts_of_sample_charts_do_not_overlap),
	TEST(charts_of_missing_or_equal_numbers_are_legible),
	TEST(texts_of_many_bars_do_not_overlap),
	TEST(short_spans_are_merged_into_one_shape),
	TEST(tornados_of_missing_numbers_are_legible),
};

int main(void)
{
	return TEST_MAIN(tests);
}
