/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contour lines on a grid, by marching squares. In each square of four neighbouring points the
 * height is linear along the sides, so a line crosses two sides or, over a saddle, all four. The
 * crossings are then followed from square to square. Private to plots/.
 */
#pragma once

#include <stddef.h>

struct arena;

struct contour_grid {
	const double *x, *y; /* positions of columns and rows */
	const double *z;     /* row by row; NaN: no height there, and no line next to it */
	size_t x_count, y_count;
};
struct contour {
	const double *points; /* pairs x, y; a closed line repeats its first point at the end */
	size_t count;
};
/* Finds all lines at level, those with two open ends first. Returns their number. */
size_t contours_find(struct arena *arena, const struct contour_grid *grid, double level,
		     const struct contour **contours);
