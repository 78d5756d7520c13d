/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contour lines on grids whose lines are known. */
#include <math.h>

#include "plots/contours.h"
#include "sim/base/arena.h"
#include "tests/test.h"

enum { SIDE = 5 };
static const double at[SIDE] = {0, 1, 2, 3, 4};

static size_t find(struct arena *arena, const double *z, double level, const struct contour **lines)
{
	const struct contour_grid grid = {at, at, z, SIDE, SIDE};
	return contours_find(arena, &grid, level, lines);
}

/* On z = x the level 1.25 is one straight line from the lowest row to the highest. */
static void slope_gives_one_straight_line(void)
{
	struct arena *arena = arena_new();
	double z[SIDE * SIDE];
	const struct contour *lines;
	for (int i = 0; i < SIDE * SIDE; i++)
		z[i] = i % SIDE;
	CHECK(find(arena, z, 1.25, &lines) == 1);
	CHECK(lines[0].count == SIDE);
	for (size_t i = 0; i < lines[0].count; i++) {
		CHECK(fabs(lines[0].points[2 * i] - 1.25) < 1e-12);
		CHECK(fabs(lines[0].points[2 * i + 1] - (double)i) < 1e-12);
	}
	CHECK(find(arena, z, 4.5, &lines) == 0);
	CHECK(find(arena, z, -1, &lines) == 0);
	arena_free(arena);
}

/* For one peak of 1 in a plane of 0 the level 0.5 is a square through the four middles. */
static void peak_gives_one_closed_line(void)
{
	struct arena *arena = arena_new();
	double z[SIDE * SIDE] = {0};
	const struct contour *lines;
	z[2 * SIDE + 2] = 1;
	CHECK(find(arena, z, 0.5, &lines) == 1);
	CHECK(lines[0].count == 5); /* the first point is repeated */
	CHECK(lines[0].points[0] == lines[0].points[8] && lines[0].points[1] == lines[0].points[9]);
	for (size_t i = 0; i < 5; i++)
		CHECK(fabs(fabs(lines[0].points[2 * i] - 2) + fabs(lines[0].points[2 * i + 1] - 2) -
			   0.5) < 1e-12);
	arena_free(arena);
}

/* Two peaks at opposite corners of a square, whose mean is 0.5. At the level 0.6 they are two
 * closed lines; at 0.4 they are one. */
static void saddle_is_joined_or_split_by_its_mean(void)
{
	struct arena *arena = arena_new();
	double z[SIDE * SIDE] = {0};
	const struct contour *lines;
	z[1 * SIDE + 1] = z[2 * SIDE + 2] = 1;
	CHECK(find(arena, z, 0.6, &lines) == 2);
	CHECK(find(arena, z, 0.4, &lines) == 1);
	z[2 * SIDE + 2] = 0;
	z[1 * SIDE + 1] = 0;
	z[1 * SIDE + 2] = z[2 * SIDE + 1] = 1; /* the other two corners */
	CHECK(find(arena, z, 0.6, &lines) == 2);
	CHECK(find(arena, z, 0.4, &lines) == 1);
	arena_free(arena);
}

/* No line passes a point without height, so the slope's line is cut in two. */
static void line_stops_at_a_hole(void)
{
	struct arena *arena = arena_new();
	double z[SIDE * SIDE];
	const struct contour *lines;
	for (int i = 0; i < SIDE * SIDE; i++)
		z[i] = i % SIDE;
	z[2 * SIDE + 1] = NAN;
	CHECK(find(arena, z, 1.25, &lines) == 2);
	CHECK(lines[0].count == 2 && lines[1].count == 2);
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(slope_gives_one_straight_line), TEST(peak_gives_one_closed_line),
	TEST(saddle_is_joined_or_split_by_its_mean), TEST(line_stops_at_a_hole)};

int main(void)
{
	return TEST_MAIN(tests);
}
