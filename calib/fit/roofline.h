/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The roofline of a matrix product, as sim/gpu has it:
 *
 *   T = floor + max((flop + half_work) / peak, bytes / rate)
 *
 * peak is what very large products reach, half_work the work at which half of
 * it is reached, rate what the operands come in with (from caches, if they fit:
 * more than the memory's). All three are fitted in relative error, with Huber's
 * loss, by Nelder-Mead on their logarithms; where no shape is bound by its bytes,
 * rate goes to where it has no effect.
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
/* floor_s is given. start: a fit of much the same points, or NULL. False for
 * fewer than four points, or work that is all the same. */
bool roofline_fit(const struct roofline_point *points, size_t count, double floor_s,
		  const struct roofline *start, struct roofline *roofline);

#endif
