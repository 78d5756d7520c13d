/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Splits squared errors of rows into the errors of mechanisms (variance components).
 *
 * The error of a row is the sum of those of its mechanisms, each times its share of the time, and
 * of a known part. All are independent and normal with mean 0. The variances are those with the
 * largest likelihood together with a prior, which counts as freedom_count more errors of its size.
 * They follow from iterations of the form variance = sum(w k e^2) / sum(w k). Here k is the part of
 * the row's variance that comes from the mechanism, and e is the error that the mechanism then has.
 * This is the EM algorithm (Dempster, Laird, Rubin, JRSS B 39, 1977), which converges faster so. */
#pragma once

#include "sim/scenario/scenario.h"

struct error_row {
	double square; /* of the error */
	double weight;
	double known_variance;
	double shares[MECHANISM_COUNT]; /* 0: the row has no such mechanism */
};

/* Sets the errors of all mechanisms. freedom_count is that of the prior and the sum of w k. */
void components_estimate(const struct error_row *rows, size_t count,
			 const struct model_error priors[MECHANISM_COUNT],
			 struct model_error found[MECHANISM_COUNT]);
/* Returns the variance of a row's error that its mechanisms cause. */
double components_variance(const struct error_row *row,
			   const struct model_error errors[MECHANISM_COUNT]);
