/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "calib/fit/components.h"

enum { ITERATIONS = 2000 };
/* Begins there without a prior. */
static const double FIRST_RATIO = 0.1;

double components_variance(const struct error_row *row,
			   const struct model_error errors[MECHANISM_COUNT])
{
	double variance = 0;
	for (size_t m = 0; m < MECHANISM_COUNT; m++)
		variance += pow(row->shares[m] * errors[m].ratio, 2);
	return variance;
}

static struct model_error improved(const struct error_row *rows, size_t count, size_t mechanism,
				   struct model_error prior,
				   const struct model_error errors[MECHANISM_COUNT])
{
	double squares = prior.freedom_count * pow(prior.ratio, 2), sum = prior.freedom_count;
	for (size_t i = 0; i < count; i++) {
		double share = rows[i].shares[mechanism];
		double own = pow(share * errors[mechanism].ratio, 2);
		if (!(own > 0))
			continue;
		double part =
			own / (rows[i].known_variance + components_variance(&rows[i], errors));
		sum += rows[i].weight * part;
		squares += rows[i].weight * pow(part, 2) * rows[i].square / pow(share, 2);
	}
	return (struct model_error){sqrt(squares / sum), sum};
}

void components_estimate(const struct error_row *rows, size_t count,
			 const struct model_error priors[MECHANISM_COUNT],
			 struct model_error found[MECHANISM_COUNT])
{
	for (size_t m = 0; m < MECHANISM_COUNT; m++)
		found[m].ratio = priors[m].ratio > 0 ? priors[m].ratio : FIRST_RATIO;
	for (size_t i = 0; i < ITERATIONS; i++) {
		struct model_error next[MECHANISM_COUNT];
		for (size_t m = 0; m < MECHANISM_COUNT; m++)
			next[m] = improved(rows, count, m, priors[m], found);
		memcpy(found, next, sizeof next);
	}
}
