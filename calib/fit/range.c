/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fits one parameter to rows that are ranges. The result is the parameter's prior, cut off where
 * a row leaves its range. */
#include "calib/fit/fitting.h"

/* The search tries POINTS + 1 values between the bounds of the parameter. It then halves the
 * distance between the last value inside and the next one outside HALVINGS times. */
enum { POINTS = 48, HALVINGS = 12, WEIGHTS = 4000 };

static bool is_inside(struct fitting *f, double x)
{
	double out[FIT_ROWS_MAX], sum = 0;
	fitting_set(f, &x);
	fitting_residuals(f, out);
	for (size_t i = 0; i < f->row_count; i++)
		sum += fabs(out[i]);
	return sum <= 0;
}

/* Returns the end of the allowed interval, which lies between a value inside and a value
 * outside. */
static double end_between(struct fitting *f, double inside, double outside)
{
	for (int i = 0; i < HALVINGS; i++) {
		double middle = (inside + outside) / 2;
		if (is_inside(f, middle))
			inside = middle;
		else
			outside = middle;
	}
	return inside;
}

/* Returns the value below which the part q of the prior between low and high lies. The prior is
 * normal on the logarithm, around the start, with the spread of the parameter's class. */
static double quantile_between(const struct fitted_parameter *parameter, double low, double high,
			       double q)
{
	double deviation = log(prior_factor(parameter->row->prior)) / num_normal_quantile(0.95);
	double nearest = fmin(fmax(log(parameter->start), low), high);
	double all = 0, sum = 0, step = (high - low) / WEIGHTS;
	for (int turn = 0; turn < 2; turn++) {
		for (int i = 0; i < WEIGHTS; i++) {
			double x = low + (i + 0.5) * step;
			double z = (x - log(parameter->start)) / deviation;
			double least = (nearest - log(parameter->start)) / deviation;
			double weight = exp((least * least - z * z) / 2);
			if (turn == 0)
				all += weight;
			else if ((sum += weight) >= q * all)
				return x;
		}
	}
	return high;
}

static bool are_ranges(const struct fitting *f)
{
	for (size_t i = 0; i < f->row_count; i++)
		if (!f->rows[i]->relative)
			return false;
	return f->count == 1 && prior_factor(f->result->parameters[f->first].row->prior) > 1;
}

bool range_fit(struct fitting *f, struct fit_stage_result *stage)
{
	struct fitted_parameter *parameter = &f->result->parameters[f->first];
	double start = log(parameter->min), step = (log(parameter->max) - start) / POINTS;
	int first = -1, last = -1;
	if (!are_ranges(f))
		return false;
	for (int i = 0; i <= POINTS; i++) {
		if (is_inside(f, start + i * step))
			last = i;
		else if (last >= 0)
			break; /* the first interval of values counts */
		first = first < 0 ? last : first;
	}
	if (first < 0 || f->failed || f->broken)
		return false;
	double low = start + first * step, high = start + last * step;
	low = first > 0 ? end_between(f, low, low - step) : low;
	high = last < POINTS ? end_between(f, high, high + step) : high;
	double value = quantile_between(parameter, low, high, 0.5);
	parameter->low = exp(quantile_between(parameter, low, high, 0.05));
	parameter->high = exp(quantile_between(parameter, low, high, 0.95));
	fitting_set(f, &value);
	stage->rms_ratio = 0;
	return true;
}
