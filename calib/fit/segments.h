/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fits lines and piecewise lines: T(x) = start_k + slope_k x.
 *
 * A copy of x bytes costs a start time plus a time per byte, and a library may treat small and
 * large copies differently. So there are up to five segments, each with its own line and neither
 * part negative. All errors are relative, because a microsecond matters at 1 KiB and not at 1 GiB.
 *
 * The segment boundaries are optimal: dynamic programming searches all ways to divide the sorted
 * points. The number of segments is chosen by cross-validation: points are distributed over folds,
 * and each fold is predicted from the others. The smallest number of segments within one standard
 * error of the best is used. (A plain information criterion gives too many segments, because errors
 * of neighbours are similar.) Finally each line is fitted again with Huber's weights, which limit
 * the influence of disturbed points, and with the bounds. GSL's robust fits have no bounds and gave
 * negative latencies.
 */
#pragma once

#include "sim/base/base.h"

struct xy {
	double x, y; /* y > 0 */
};

struct fitted_line {
	double start, slope; /* neither is negative */
};
double line_at(const struct fitted_line *line, double x);
/* Fit by least squares of the relative error; line_robust adds Huber's weights. A single x gives a
 * flat line. */
/* exported: tests derive lines by hand */
struct fitted_line line_fit(const struct xy *points, size_t count);
struct fitted_line line_robust(const struct xy *points, size_t count);

enum {
	SEGMENTS_MAX = 5,
	LINE_POINTS_MIN = 3,
	/* minimum with several segments, because three points easily lie on a line */
	SEGMENT_POINTS_MIN = 4,
	SEGMENTS_POINTS_MAX = 512,
	SEGMENTS_FOLDS = 8,
};

struct segments {
	size_t count;
	double from[SEGMENTS_MAX]; /* smallest measured x of each segment */
	struct fitted_line lines[SEGMENTS_MAX];
	/* mean absolute relative error of held-out points and its standard error, for index + 1
	 * segments; NaN: too few points */
	double left_out_ratio[SEGMENTS_MAX], left_out_error_ratio[SEGMENTS_MAX];
	double rms_ratio; /* root mean square of the relative errors of the fitted points */
};

/* Fits points with ascending x, at most SEGMENTS_POINTS_MAX. Returns false for fewer than
 * LINE_POINTS_MIN points or a single x. */
bool segments_fit(const struct xy *points, size_t count, size_t most, struct segments *segments);
/* Fits the lines again to other points and keeps the boundaries. */
void segments_refit(const struct xy *points, size_t count, struct segments *segments);
double segments_at(const struct segments *segments, double x);

/* Returns the first index from which y stays above `ratio` times the median of all y before it, or
 * count if there is none. Used to find the depth or number at which a resource is full. */
size_t change_point(const struct xy *points, size_t count, double ratio);
