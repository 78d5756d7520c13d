/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one door to GSL: random streams, low-discrepancy draws, minima, roots.
 *
 * GSL's default error handler aborts the program; it is turned off here, once
 * (num_init). Nothing else in the program includes a gsl header.
 */
#ifndef FARWIRE_BASE_NUM_H
#define FARWIRE_BASE_NUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;

void num_init(void); /* call once, from main and from test runners */

/* A named stream of random numbers: the same seed and name give the same
 * numbers on every machine; different names are independent. (splitmix64 seeds
 * xoshiro256**; not GSL, so that a stream is 32 bytes and needs no free.) */
struct rng {
	uint64_t state[4];
};
struct rng rng_named(uint64_t seed, const char *name);
double rng_uniform(struct rng *rng); /* (0, 1) */
uint64_t rng_below(struct rng *rng, uint64_t n);

/* Fills points[count * dimensions], row by row, with a Sobol sequence in
 * (0, 1) (GSL's, which starts after the origin), shifted modulo 1 by a vector drawn
 * from seed (Cranley-Patterson). dimensions <= 40; 0 is fine (no-op). */
void num_sobol(size_t count, size_t dimensions, uint64_t seed, double *points);

/* Inverse of the standard normal distribution, and of Student's. */
double num_normal_quantile(double p);
double num_student_quantile(double p, double freedom_count);
/* The share of Student's t below x; freedom_count 0: of the normal. */
double num_student(double x, double freedom_count);
/* The standard normal distribution itself. */
double num_normal(double x);

/* Nelder-Mead (GSL nmsimplex2) inside a box: minimises f(x, ctx) over x[n],
 * starting at x with first steps step[n]; coordinates are mirrored at the
 * bounds. Stops at simplex size < tolerance or after evaluations_max calls.
 * Leaves the best x seen in x and returns its value. */
double num_minimise(double (*f)(const double *x, void *ctx), void *ctx, size_t n, double *x,
		    const double *step, const double *low, const double *high, double tolerance,
		    size_t evaluations_max);

/* Root of f in [low, high] by Brent (GSL); false when f has one sign there. */
bool num_root(double (*f)(double x, void *ctx), void *ctx, double low, double high,
	      double tolerance, double *root);

/* The q-quantile (0..1) of values[count] by linear interpolation of the order
 * statistics (type 7); sorts values in place. */
double num_quantile(double *values, size_t count, double q);

#endif
