/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dashes, markers and hatches, which all canvases draw alike. */
#include "plots/shapes.h"

#define HATCH_STEP  4.0 /* distance of slanted lines and of dots */
#define HATCH_PITCH 3.0 /* distance of horizontal or vertical lines */
#define HATCH_LINE  0.6

const double *dash_lengths(enum dash dash)
{
	static const double lengths[][2] = {
		[DASH_LONG] = {6, 3}, [DASH_SHORT] = {3, 2.5}, [DASH_DOT] = {1, 2}};
	FW_ASSERT(dash >= DASH_LONG && dash <= DASH_DOT);
	return lengths[dash];
}

const struct marker_outline *marker_outline(enum marker marker)
{
	/* Outlines of equal area look equally large. */
	static const double square[] = {-.85, -.85, .85, -.85, .85, .85, -.85, .85};
	static const double triangle[] = {0, -1.1, 1.05, .75, -1.05, .75};
	static const double diamond[] = {0, -1.25, 1.1, 0, 0, 1.25, -1.1, 0};
	static const double cross[] = {-.85, -.85, .85, .85, -.85, .85, .85, -.85};
	static const double plus[] = {-1, 0, 1, 0, 0, -1, 0, 1};
	static const struct marker_outline outlines[] = {[MARKER_SQUARE] = {square, 4, false},
							 [MARKER_TRIANGLE] = {triangle, 3, false},
							 [MARKER_DIAMOND] = {diamond, 4, false},
							 [MARKER_CROSS] = {cross, 4, true},
							 [MARKER_PLUS] = {plus, 4, true}};
	FW_ASSERT(marker >= MARKER_SQUARE && marker <= MARKER_PLUS);
	return &outlines[marker];
}

/* ---- hatches ---- */

struct hatching {
	double left, top, right, bottom;
	hatch_line *line;
	void *ctx;
};

/* Computes the lines x + sign y = k step * sqrt 2, clipped to the rectangle. */
static void slants(const struct hatching *h, double sign)
{
	double step = HATCH_STEP * sqrt(2);
	double low = h->left + fmin(sign * h->top, sign * h->bottom);
	double high = h->right + fmax(sign * h->top, sign * h->bottom);
	for (double k = ceil(low / step); k * step <= high; k++) {
		double above = k * step - sign * h->top, below = k * step - sign * h->bottom;
		double from = fmax(h->left, fmin(above, below));
		double to = fmin(h->right, fmax(above, below));
		if (from < to)
			h->line(h->ctx, (const double[]){from, sign * (k * step - from), to,
							 sign * (k * step - to)});
	}
}

static void upright_lines(const struct hatching *h)
{
	for (double k = ceil(h->left / HATCH_PITCH); k * HATCH_PITCH <= h->right; k++)
		h->line(h->ctx,
			(const double[]){k * HATCH_PITCH, h->top, k * HATCH_PITCH, h->bottom});
}

/* A dot is a line as long as it is wide. Dots across the rectangle's edge are left out. */
static void dots(const struct hatching *h)
{
	for (double j = ceil(h->top / HATCH_STEP); j * HATCH_STEP + 1 <= h->bottom; j++)
		for (double i = floor(h->left / HATCH_STEP); i * HATCH_STEP <= h->right; i++) {
			double x = i * HATCH_STEP + fmod(fabs(j), 2) * HATCH_STEP / 2;
			double y = j * HATCH_STEP + 0.5;
			if (x >= h->left && x + 1 <= h->right)
				h->line(h->ctx, (const double[]){x, y, x + 1, y});
		}
}

double hatch_lines(const struct shape *shape, hatch_line *line, void *ctx)
{
	const double *at = shape->at;
	const struct hatching h = {at[0], at[1], at[0] + at[2], at[1] + at[3], line, ctx};
	enum hatch hatch = (enum hatch)shape->style;
	if (hatch == HATCH_RISING || hatch == HATCH_CROSSED)
		slants(&h, 1);
	if (hatch == HATCH_FALLING || hatch == HATCH_CROSSED)
		slants(&h, -1);
	double first = ceil(h.top / HATCH_PITCH);
	for (double k = first; hatch == HATCH_LEVEL && k * HATCH_PITCH <= h.bottom; k++)
		h.line(h.ctx, (const double[]){h.left, k * HATCH_PITCH, h.right, k * HATCH_PITCH});
	if (hatch == HATCH_UPRIGHT)
		upright_lines(&h);
	if (hatch == HATCH_DOTS)
		dots(&h);
	return hatch == HATCH_DOTS ? 1 : HATCH_LINE;
}
