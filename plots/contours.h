/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines of equal height on a grid, by marching squares: in each square of four
 * neighbouring points the height is taken as linear along the sides, so a line
 * crosses two sides or (over a saddle) all four; crossings are then followed
 * from square to square. Private to plots/.
 */
#ifndef FARWIRE_PLOTS_CONTOURS_H
#define FARWIRE_PLOTS_CONTOURS_H

#include <stddef.h>

struct arena;

struct contour_grid {
	const double *x, *y; /* where columns and rows lie */
	const double *z;     /* row by row; NaN: no height there, and no line beside */
	size_t x_count, y_count;
};
struct contour {
	const double *points; /* x, y pairs; the first again at the end of a closed one */
	size_t count;
};
/* All lines at level, those with two open ends first; returns how many. */
size_t contours_find(struct arena *arena, const struct contour_grid *grid, double level,
		     const struct contour **contours);

#endif
