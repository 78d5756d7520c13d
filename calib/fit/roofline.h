/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The roofline model of a matrix product, as in sim/gpu:
 *
 *   T = floor + max((flop + half_work) / peak, bytes / rate)
 *
 * peak is the rate of very large products. half_work is the work at which half of peak is reached.
 * rate is the bandwidth of the operands, which exceeds that of memory if they fit into caches. All
 * three are fitted to relative errors with Huber's loss, by Nelder-Mead on their logarithms. If no
 * shape is limited by its bytes, rate moves to where it has no effect.
 */
#ifndef FARWIRE_CALIB_FIT_ROOFLINE_H
#define FARWIRE_CALIB_FIT_ROOFLINE_H

#include <stdbool.h>
#include <stddef.h>

struct roofline_point {
	double flop, bytes_B, time_s;
};

struct roofline {
	double peak_flops, half_work_flop, rate_Bps, floor_s;
	double rms_ratio;
};

double roofline_at(const struct roofline *roofline, const struct roofline_point *point);
/* Fits a roofline. floor_s is given; start is the fit of similar points, or NULL. Returns false for
 * fewer than four points or if all have the same work. */
bool roofline_fit(const struct roofline_point *points, size_t count, double floor_s,
		  const struct roofline *start, struct roofline *roofline);

#endif
