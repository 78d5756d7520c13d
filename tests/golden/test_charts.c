/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Display lists of the sample charts, compared with tests/golden/NAME.txt. After
 * a wanted change: FARWIRE_GOLDEN=write build/tests/golden/test_charts, look at
 * such charts, read the diff, commit it. Run from the root of the source tree. */
#include <stdlib.h>

#include "tests/golden/sample_charts.h"
#include "tests/test.h"

/* The first line that differs, or 0. */
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

static void ratio_bars_same(void)
{
	compare("ratio_bars");
}

static void breakdown_ms_same(void)
{
	compare("breakdown_ms");
}

static void breakdown_percent_same(void)
{
	compare("breakdown_percent");
}

static void timeline_same(void)
{
	compare("timeline");
}

static void timeline_window_same(void)
{
	compare("timeline_window");
}

static void timeline_empty_same(void)
{
	compare("timeline_empty");
}

static void topology_lan_same(void)
{
	compare("topology_lan");
}

static void topology_wan_same(void)
{
	compare("topology_wan");
}

static void topology_six_same(void)
{
	compare("topology_six");
}

static void topology_two_dgx_same(void)
{
	compare("topology_two_dgx");
}

static void parity_same(void)
{
	compare("parity");
}

static void curves_rtt_same(void)
{
	compare("curves_rtt");
}

static void curves_scaling_same(void)
{
	compare("curves_scaling");
}

static void curves_bandwidth_same(void)
{
	compare("curves_bandwidth");
}

static void scaling_same(void)
{
	compare("scaling");
}

static void scaling_log_same(void)
{
	compare("scaling_log");
}

static void exposed_same(void)
{
	compare("exposed");
}

static void bandwidth_same(void)
{
	compare("bandwidth");
}

static void bandwidth_two_same(void)
{
	compare("bandwidth_two");
}

static void fit_copies_same(void)
{
	compare("fit_copies");
}

static void fit_products_same(void)
{
	compare("fit_products");
}

static void timeline_collective_same(void)
{
	compare("timeline_collective");
}

static void bound_same(void)
{
	compare("bound");
}

static void tornado_same(void)
{
	compare("tornado");
}

static void heat_same(void)
{
	compare("heat");
}

static void heat_four_same(void)
{
	compare("heat_four");
}

static const struct test tests[] = {
	TEST(ratio_bars_same),
	TEST(breakdown_ms_same),
	TEST(breakdown_percent_same),
	TEST(timeline_same),
	TEST(timeline_window_same),
	TEST(timeline_empty_same),
	TEST(topology_lan_same),
	TEST(topology_wan_same),
	TEST(topology_six_same),
	TEST(topology_two_dgx_same),
	TEST(parity_same),
	TEST(curves_rtt_same),
	TEST(curves_scaling_same),
	TEST(curves_bandwidth_same),
	TEST(scaling_same),
	TEST(scaling_log_same),
	TEST(exposed_same),
	TEST(bandwidth_same),
	TEST(bandwidth_two_same),
	TEST(fit_copies_same),
	TEST(fit_products_same),
	TEST(timeline_collective_same),
	TEST(bound_same),
	TEST(tornado_same),
	TEST(heat_same),
	TEST(heat_four_same),
};

int main(void)
{
	return TEST_MAIN(tests);
}
