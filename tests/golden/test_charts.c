/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Display lists of the sample charts, compared with tests/golden/NAME.txt. After an intended change
 * set FARWIRE_GOLDEN=write, run build/tests/golden/test_charts, look at the changed charts, read
 * the diff and commit it. Run from the root of the source tree. */
#include <stdlib.h>

#include "tests/golden/sample_charts.h"
#include "tests/test.h"

/* Returns the number of the first line that differs, or 0. */
static int first_difference(FILE *expected, const char *got, size_t size)
{
	int line = 1;
	for (size_t i = 0; i < size; i++) {
		if (fgetc(expected) != (unsigned char)got[i])
			return line;
		line += got[i] == '\n';
	}
	return fgetc(expected) == EOF ? 0 : line;
}

static void compare(const char *name)
{
	const struct sample *sample = samples;
	while (strcmp(sample->name, name) != 0)
		sample++;
	struct arena *arena = arena_new();
	size_t size = 0;
	char *text = display_list(sample->draw(arena), &size);
	char *path = arena_printf(arena, "tests/golden/%s.txt", name);
	const char *mode = getenv("FARWIRE_GOLDEN");
	bool write = mode && strcmp(mode, "write") == 0;
	FILE *file = fopen(path, write ? "w" : "r");
	if (CHECK(file != NULL)) {
		if (write)
			fwrite(text, 1, size, file);
		int line = write ? 0 : first_difference(file, text, size);
		if (!CHECK(line == 0))
			printf("  %s differs in line %d\n", path, line);
		fclose(file);
	}
	free(text);
	arena_free(arena);
}

static void ratio_bars_drawing_is_unchanged(void)
{
	compare("ratio_bars");
}

static void breakdown_ms_drawing_is_unchanged(void)
{
	compare("breakdown_ms");
}

static void breakdown_percent_drawing_is_unchanged(void)
{
	compare("breakdown_percent");
}

static void timeline_drawing_is_unchanged(void)
{
	compare("timeline");
}

static void timeline_window_drawing_is_unchanged(void)
{
	compare("timeline_window");
}

static void timeline_empty_drawing_is_unchanged(void)
{
	compare("timeline_empty");
}

static void parity_drawing_is_unchanged(void)
{
	compare("parity");
}

static void curves_rtt_drawing_is_unchanged(void)
{
	compare("curves_rtt");
}

static void curves_scaling_drawing_is_unchanged(void)
{
	compare("curves_scaling");
}

static void curves_bandwidth_drawing_is_unchanged(void)
{
	compare("curves_bandwidth");
}

static void scaling_drawing_is_unchanged(void)
{
	compare("scaling");
}

static void scaling_log_drawing_is_unchanged(void)
{
	compare("scaling_log");
}

static void bandwidth_drawing_is_unchanged(void)
{
	compare("bandwidth");
}

static void bandwidth_two_drawing_is_unchanged(void)
{
	compare("bandwidth_two");
}

static void timeline_collective_drawing_is_unchanged(void)
{
	compare("timeline_collective");
}

static void tornado_drawing_is_unchanged(void)
{
	compare("tornado");
}

static void heat_drawing_is_unchanged(void)
{
	compare("heat");
}

static void heat_four_drawing_is_unchanged(void)
{
	compare("heat_four");
}

static const struct test tests[] = {
	TEST(ratio_bars_drawing_is_unchanged),
	TEST(breakdown_ms_drawing_is_unchanged),
	TEST(breakdown_percent_drawing_is_unchanged),
	TEST(timeline_drawing_is_unchanged),
	TEST(timeline_window_drawing_is_unchanged),
	TEST(timeline_empty_drawing_is_unchanged),
	TEST(parity_drawing_is_unchanged),
	TEST(curves_rtt_drawing_is_unchanged),
	TEST(curves_scaling_drawing_is_unchanged),
	TEST(curves_bandwidth_drawing_is_unchanged),
	TEST(scaling_drawing_is_unchanged),
	TEST(scaling_log_drawing_is_unchanged),
	TEST(bandwidth_drawing_is_unchanged),
	TEST(bandwidth_two_drawing_is_unchanged),
	TEST(timeline_collective_drawing_is_unchanged),
	TEST(tornado_drawing_is_unchanged),
	TEST(heat_drawing_is_unchanged),
	TEST(heat_four_drawing_is_unchanged),
};

int main(void)
{
	return TEST_MAIN(tests);
}
