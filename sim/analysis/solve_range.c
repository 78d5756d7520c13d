/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "sim/analysis/solve.h"

/* Usual ranges of quantities, for parameters whose present value is 0. */
static const struct usual {
	enum quantity quantity;
	double low, high;
} usual[] = {{QUANTITY_TIME, 1e-7, 1},        {QUANTITY_RATIO, 1e-6, 1},
	     {QUANTITY_BYTES, 1024, 1e12},    {QUANTITY_RATE, 1e6, 1e12},
	     {QUANTITY_FREQUENCY, 1e2, 1e10}, {QUANTITY_FLOP_RATE, 1e9, 1e16},
	     {QUANTITY_FLOP, 1e6, 1e15},      {QUANTITY_TIME_PER_BYTE, 1e-12, 1e-7}};

static const double RANGE_FACTOR = 1000, WHOLE_FACTOR = 8;

bool solve_range_of(const struct cfg_param *param, struct solve_range *range)
{
	const struct param_row *row = param->row;
	double low = NAN, high = NAN;
	if (row->whole) {
		low = 1;
		high = fmax(param->value, 1) * WHOLE_FACTOR;
	} else if (param->value > 0) {
		low = param->value / RANGE_FACTOR;
		high = param->value * RANGE_FACTOR;
	} else {
		for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++)
			if (usual[i].quantity == row->quantity) {
				low = usual[i].low;
				high = usual[i].high;
			}
	}
	if (isnan(low))
		return false;
	low = fmax(low, row->min);
	high = fmin(high, row->max);
	*range = solve_range_between(param, low, high);
	return low < high;
}

struct solve_range solve_range_between(const struct cfg_param *param, double low, double high)
{
	const double few = 4; /* up to this quotient of the ends, an even grid is good enough */
	return (struct solve_range){.low = low,
				    .high = high,
				    .log = low >= 0 && high > few * low,
				    .whole = param->row->whole};
}
