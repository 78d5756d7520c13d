/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numerical methods: random streams, low-discrepancy sequences, minima, roots and quantiles.
 *
 * This is the only module that includes GSL headers. By default GSL aborts the program on an error;
 * num_init turns that off.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the order of two numbers for qsort; numbers that are equal have the order `then`. */
#define ORDER_THEN(a, b, then) ((a) < (b) ? -1 : (a) > (b) ? 1 : (then))
#define ORDER(a, b)            ORDER_THEN(a, b, 0)

void num_init(void); /* call once, from main and from test runners */

/* A named stream of random numbers. The same seed and name give the same numbers on every machine;
 * streams with different names are independent. splitmix64 seeds xoshiro256**. GSL's generators are
 * not used, so that a stream is a plain struct of 32 bytes that needs no free. */
struct rng {
	uint64_t state[4];
};
struct rng rng_named(uint64_t seed, const char *name);
double rng_uniform(struct rng *rng); /* in (0, 1), both ends excluded */
uint64_t rng_below(struct rng *rng, uint64_t n);

/* Return quantiles: the inverse of the standard normal distribution and of Student's t
 * distribution. freedom_count 0 selects the normal distribution. */
double num_normal_quantile(double p);
double num_student_quantile(double p, double freedom_count);
/* Returns the quantile of the gamma distribution with scale 1. */
double num_gamma_quantile(double p, double shape);
/* Returns the cumulative probability of Student's t distribution at x. freedom_count 0 selects
 * the normal distribution. */
double num_student(double x, double freedom_count);
/* Returns the cumulative probability of the standard normal distribution at x. */
double num_normal(double x);

/* Minimises f(x, ctx) over x[n] inside a box with the Nelder-Mead method (GSL nmsimplex2). The
 * search starts at x with the initial steps step[n]; coordinates outside a bound are mirrored at
 * it. It stops when the simplex is smaller than tolerance or after evaluations_max calls. Stores
 * the best point in x and returns its value. */
double num_minimise(double (*f)(const double *x, void *ctx), void *ctx, size_t n, double *x,
		    const double *step, const double *low, const double *high, double tolerance,
		    size_t evaluations_max);

/* Finds a root of f in [low, high] with Brent's method (GSL). Returns false when f has the same
 * sign at both ends. */
bool num_root(double (*f)(double x, void *ctx), void *ctx, double low, double high,
	      double tolerance, double *root);

/* Returns the q-quantile (q in 0..1) of values[count] by linear interpolation of the order
 * statistics (type 7 of Hyndman and Fan). Sorts values in place. */
double num_quantile(double *values, size_t count, double q);

/* Replaces the lower triangle of a covariance matrix[n * n] by its Cholesky factor. Squares of
 * pivots below `least`, which rounding can cause, are raised to it. */
void num_cholesky(double *matrix, size_t n, double least);
