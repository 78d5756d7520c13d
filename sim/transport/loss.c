/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/transport/loss.h"

#define GAP_MAX 4e18

static void shuffle(struct loss *loss)
{
	for (unsigned i = 0; i < LOSS_STRATA; i++) {
		uint8_t other = (uint8_t)rng_below(&loss->rng, i + 1);
		loss->order[i] = loss->order[other];
		loss->order[other] = (uint8_t)i;
	}
	loss->used = 0;
}

double loss_uniform(struct loss *loss)
{
	if (loss->used == LOSS_STRATA)
		shuffle(loss);
	return (loss->order[loss->used++] + rng_uniform(&loss->rng)) / LOSS_STRATA;
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
	struct loss loss = {.p = p, .rng = rng_named(seed, name), .used = LOSS_STRATA};
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

bool loss_every_time(struct loss *fate, double p, double tries, double packets)
{
	double each = pow(p, tries);
	double any = each >= 1 ? 1 : -expm1(packets * log1p(-each));
	return loss_uniform(fate) < any;
}
