/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines and lines in pieces: T(x) = start_k + slope_k x.
 *
 * A copy of x bytes costs a start and then so much for each byte, and a library
 * may do small and large ones in another way: up to five segments, each with a
 * line of its own, neither part negative. All errors are relative, since a
 * microsecond matters at 1 KiB and not at 1 GiB.
 *
 * WHERE segments begin is found exactly, by dynamic programming over all ways
 * to cut the sorted points. HOW MANY there are is a matter of cross-validation:
 * the points are dealt out in folds, each is predicted by what the others give,
 * and of the numbers of segments that are within one standard error of the best
 * the least is taken (a plain information criterion cuts too often, since errors
 * of neighbours are alike). The lines of the segments are then fitted again with
 * Huber's weights, so that a disturbed point pulls little, and with the bounds
 * kept (GSL's robust fits know none, and gave negative latencies).
 */
#ifndef FARWIRE_CALIB_FIT_SEGMENTS_H
#define FARWIRE_CALIB_FIT_SEGMENTS_H

#include <stdbool.h>
#include <stddef.h>

struct xy {
	double x, y; /* y > 0 */
};

struct line {
	double start, slope; /* neither is negative */
};
double line_at(const struct line *line, double x);
/* By least squares of the relative error; line_robust after that with Huber's weights.
 * A single x gives a flat line. */
/* exported: tests derive lines by hand */
struct line line_fit(const struct xy *points, size_t count);
struct line line_robust(const struct xy *points, size_t count);

enum {
	SEGMENTS_MAX = 5,
	LINE_POINTS_MIN = 3,
	SEGMENT_POINTS_MIN = 4, /* where there are several: three are soon on a line */
	SEGMENTS_POINTS_MAX = 512,
	SEGMENTS_FOLDS = 8,
};

struct segments {
	size_t count;
	double from[SEGMENTS_MAX]; /* the least x of each that was measured */
	struct line lines[SEGMENTS_MAX];
	/* mean absolute relative error of points that were left out, by number of
	 * segments - 1, and its standard error; NaN: too few points */
	double left_out_ratio[SEGMENTS_MAX], left_out_error_ratio[SEGMENTS_MAX];
	double rms_ratio; /* of the points that were fitted */
};

/* Of points with rising x, at most SEGMENTS_POINTS_MAX. False where there are fewer
 * than LINE_POINTS_MIN or all have one x. */
bool segments_fit(const struct xy *points, size_t count, size_t most, struct segments *segments);
/* The lines again for other points, with the segments where they are. */
void segments_refit(const struct xy *points, size_t count, struct segments *segments);
double segments_at(const struct segments *segments, double x);

/* The first index from which y jumps over `ratio` times the median of all y before
 * it and stays there; count where it never does. For depths and counts at which
 * something is full. */
size_t change_point(const struct xy *points, size_t count, double ratio);

#endif
