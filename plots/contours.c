/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/contours.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "sim/base/arena.h"
#include "sim/base/vec.h"

/* A side of squares. Number j * x_count + i goes from point (i, j) to the right; that plus the
 * number of points goes up from there. */
struct side {
	size_t next[2]; /* sides to which a line continues */
	int links;
	bool walked;
};

struct tracing {
	struct arena *arena;
	const struct contour_grid *grid;
	double level;
	struct side *sides;
	size_t side_count;
	VEC(struct contour) found;
};

static double height(const struct contour_grid *grid, size_t i, size_t j)
{
	return grid->z[j * grid->x_count + i];
}

static void link_sides(struct tracing *t, size_t a, size_t b)
{
	t->sides[a].next[t->sides[a].links++] = b;
	t->sides[b].next[t->sides[b].links++] = a;
}

/* Finds the sides that the line crosses in the square with the lowest corner (i, j), and links
 * them. */
static void march(struct tracing *t, size_t i, size_t j)
{
	const size_t across = t->grid->x_count, up = across * t->grid->y_count;
	const double z[4] = {height(t->grid, i, j), height(t->grid, i + 1, j),
			     height(t->grid, i + 1, j + 1), height(t->grid, i, j + 1)};
	const size_t at = j * across + i;
	/* between the corners 0 1, 1 2, 2 3, 3 0 */
	const size_t sides[4] = {at, up + at + 1, at + across, up + at};
	size_t crossed[4], count = 0;
	for (int k = 0; k < 4; k++)
		if (isnan(z[k]))
			return;
	for (int k = 0; k < 4; k++)
		if ((z[k] >= t->level) != (z[(k + 1) % 4] >= t->level))
			crossed[count++] = sides[k];
	if (count == 2)
		link_sides(t, crossed[0], crossed[1]);
	if (count < 4)
		return;
	/* a saddle: the middle decides which corners are connected */
	bool middle = (z[0] + z[1] + z[2] + z[3]) / 4 >= t->level;
	bool around_1 = middle == (z[0] >= t->level); /* the lines cut off the corners 1 and 3 */
	link_sides(t, crossed[0], crossed[around_1 ? 1 : 3]);
	link_sides(t, crossed[2], crossed[around_1 ? 3 : 1]);
}

static void crossing(const struct tracing *t, size_t side, double *point)
{
	const struct contour_grid *g = t->grid;
	const size_t across = g->x_count, points = across * g->y_count;
	bool upright = side >= points;
	size_t at = side - (upright ? points : 0), j = at / across, i = at - j * across;
	size_t i2 = i + !upright, j2 = j + upright;
	double from = height(g, i, j), to = height(g, i2, j2);
	double share = (t->level - from) / (to - from);
	point[0] = g->x[i] + share * (g->x[i2] - g->x[i]);
	point[1] = g->y[j] + share * (g->y[j2] - g->y[j]);
}

static void walk(struct tracing *t, size_t start)
{
	VEC(double) points = {0};
	size_t side = start, before = SIZE_MAX;
	for (;;) {
		double point[2];
		crossing(t, side, point);
		*VEC_PUSH(t->arena, &points) = point[0];
		*VEC_PUSH(t->arena, &points) = point[1];
		struct side *here = &t->sides[side];
		if (here->walked)
			break; /* closed: repeat the first point */
		here->walked = true;
		size_t next = here->next[0];
		if (next == before && here->links == 2)
			next = here->next[1];
		else if (next == before)
			break; /* an open end */
		before = side;
		side = next;
	}
	*VEC_PUSH(t->arena, &t->found) = (struct contour){points.items, points.count / 2};
}

size_t contours_find(struct arena *arena, const struct contour_grid *grid, double level,
		     const struct contour **contours)
{
	struct tracing t = {.arena = arena,
			    .grid = grid,
			    .level = level,
			    .side_count = 2 * grid->x_count * grid->y_count};
	*contours = NULL;
	if (grid->x_count < 2 || grid->y_count < 2)
		return 0; /* the grid has no square */
	t.sides = ARENA_ARRAY(arena, t.side_count, struct side);
	for (size_t j = 0; j + 1 < grid->y_count; j++)
		for (size_t i = 0; i + 1 < grid->x_count; i++)
			march(&t, i, j);
	for (size_t s = 0; s < t.side_count; s++)
		if (t.sides[s].links == 1 && !t.sides[s].walked)
			walk(&t, s);
	for (size_t s = 0; s < t.side_count; s++)
		if (t.sides[s].links == 2 && !t.sides[s].walked)
			walk(&t, s);
	*contours = t.found.items;
	return t.found.count;
}
