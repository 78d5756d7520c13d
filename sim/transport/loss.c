/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/transport/loss.h"

#include <math.h>

#include "sim/base/diag.h"
#include "sim/base/num.h"

/* (sqrt(5) - 1) / 2 in units of 2^-64. */
#define GOLDEN  0x9E3779B97F4A7C15u
#define GAP_MAX 4e18

double loss_uniform(struct loss *loss)
{
	loss->weyl += GOLDEN;
	return ((double)(loss->weyl >> 11) + 0.5) * 0x1p-53;
}

static uint64_t gap_draw(struct loss *loss)
{
	if (loss->p >= 1)
		return 0;
	double gap = floor(log(loss_uniform(loss)) / log1p(-loss->p));
	return gap < GAP_MAX ? (uint64_t)gap : (uint64_t)GAP_MAX;
}

struct loss loss_new(double p, uint64_t seed, const char *name)
{
	FW_ASSERT(p >= 0 && p <= 1);
	struct loss loss = {.p = p, .weyl = rng_named(seed, name).state[0]};
	if (p > 0)
		loss.gap = gap_draw(&loss);
	return loss;
}

uint64_t loss_take(struct loss *loss, uint64_t count, uint64_t *first)
{
	*first = count;
	if (loss->p <= 0)
		return 0;
	uint64_t lost = 0;
	uint64_t at = 0;
	while (loss->gap < count - at) {
		at += loss->gap;
		if (lost++ == 0)
			*first = at;
		at++;
		loss->gap = gap_draw(loss);
	}
	loss->gap -= count - at;
	return lost;
}
