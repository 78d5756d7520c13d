/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "calib/fit/roofline.h"

#include <math.h>
#include <string.h>

#include "calib/fit/segments.h"
#include "sim/base/num.h"

static const double HUBER = 1.345, SIGMA = 0.03; /* typical deviation of products from a roofline */
static const double UNBOUND = 50, RANGE = 8;     /* in logarithms */
enum { POINTS_MIN = 4, EVALUATIONS = 600, EVALUATIONS_AGAIN = 80, PARAMETERS = 3 };

struct roofline_fitting {
	const struct roofline_point *points;
	size_t count;
	double floor_s;
};

double roofline_at(const struct roofline *roofline, const struct roofline_point *point)
{
	double flop_s = (point->flop + roofline->half_work_flop) / roofline->peak_flops;
	return roofline->floor_s + fmax(flop_s, point->bytes_B / roofline->rate_Bps);
}

static struct roofline of(const double *x, double floor_s)
{
	return (struct roofline){exp(x[0]), exp(x[1]), exp(x[2]), floor_s, 0};
}

static double loss(const double *x, void *ctx)
{
	const struct roofline_fitting *f = ctx;
	struct roofline roofline = of(x, f->floor_s);
	double sum = 0, limit = HUBER * SIGMA;
	for (size_t i = 0; i < f->count; i++) {
		double error =
			fabs(log(roofline_at(&roofline, &f->points[i]) / f->points[i].time_s));
		sum += error <= limit ? error * error : limit * (2 * error - limit);
	}
	return sum;
}

/* Estimates the parameters from a plain line through work and time. */
static struct roofline guess(const struct roofline_fitting *f)
{
	struct xy points[SEGMENTS_POINTS_MAX];
	double rate_Bps = 0;
	for (size_t i = 0; i < f->count; i++) {
		points[i] = (struct xy){f->points[i].flop, f->points[i].time_s};
		rate_Bps = fmax(rate_Bps, f->points[i].bytes_B / f->points[i].time_s);
	}
	struct line line = line_robust(points, f->count);
	double start_s = fmax(line.start - f->floor_s, 1e-9);
	return (struct roofline){1 / line.slope, start_s / line.slope, 2 * rate_Bps, f->floor_s, 0};
}

/* Minimises from `from`; stores the result in x and returns the loss. */
static double descend(struct roofline_fitting *f, const struct roofline *from, bool again,
		      double *x)
{
	const double start[] = {log(from->peak_flops), log(from->half_work_flop),
				log(from->rate_Bps)};
	const double step[] = {again ? 0.02 : 0.2, again ? 0.05 : 0.5, again ? 0.05 : 0.5};
	double low[PARAMETERS], high[PARAMETERS], value = 0;
	for (size_t i = 0; i < PARAMETERS; i++) {
		x[i] = start[i];
		low[i] = x[i] - RANGE;
		high[i] = x[i] + RANGE;
	}
	for (int round = 0; round < (again ? 1 : 2); round++)
		value = num_minimise(loss, f, PARAMETERS, x, step, low, high, again ? 1e-4 : 1e-6,
				     again ? EVALUATIONS_AGAIN : EVALUATIONS);
	return value;
}

bool roofline_fit(const struct roofline_point *points, size_t count, double floor_s,
		  const struct roofline *start, struct roofline *roofline)
{
	struct roofline_fitting f = {points, count, floor_s};
	double least = INFINITY, most = 0, sum = 0;
	for (size_t i = 0; i < count; i++) {
		least = fmin(least, points[i].flop);
		most = fmax(most, points[i].flop);
	}
	if (count < POINTS_MIN || count > SEGMENTS_POINTS_MAX || !(most > 2 * least))
		return false;
	struct roofline from = start ? *start : guess(&f);
	if (!(isfinite(from.peak_flops) && from.peak_flops > 0))
		return false; /* the times do not grow with the work */
	double x[PARAMETERS], other[PARAMETERS];
	double least_loss = descend(&f, &from, start != NULL, x);
	/* a second local minimum, where no product is limited by its bytes */
	from.rate_Bps *= UNBOUND;
	if (!start && descend(&f, &from, false, other) < least_loss)
		memcpy(x, other, sizeof x);
	*roofline = of(x, floor_s);
	for (size_t i = 0; i < count; i++)
		sum += pow(roofline_at(roofline, &points[i]) / points[i].time_s - 1, 2);
	roofline->rms_ratio = sqrt(sum / (double)count);
	return true;
}
