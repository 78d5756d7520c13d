/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which packets are lost.
 *
 * Each packet is lost with chance p, so the number of packets that arrive
 * between two lost ones is geometric. The gaps are drawn by inversion from
 * stratified numbers: of each 16 successive ones, one lies in each sixteenth of
 * (0, 1), in random order (the seed and the stream's name decide). So the gaps
 * have the same distribution, but their mean settles after some dozens instead
 * of some hundreds, and a short run already tells the expected loss; and since
 * the order is random, losses still come in runs as independent ones would,
 * but for what 16 draws without putting back make rarer.
 *
 * Every packet that is sent, again or for the first time, is taken from the
 * process of its direction.
 */
#ifndef FARWIRE_TRANSPORT_LOSS_H
#define FARWIRE_TRANSPORT_LOSS_H

#include <stdint.h>

#include "sim/base/num.h"

enum { LOSS_STRATA = 16 };

struct loss {
	double p;
	uint64_t gap; /* packets that still arrive before the next lost one */
	struct rng rng;
	uint8_t order[LOSS_STRATA]; /* of this round */
	uint8_t used;
};

struct loss loss_new(double p, uint64_t seed, const char *name);
/* Sends count packets: how many of them are lost, and *first, the index of the
 * first lost (count if none). */
uint64_t loss_take(struct loss *loss, uint64_t count, uint64_t *first);
/* The next number of the sequence, in (0, 1). */
double loss_uniform(struct loss *loss);

#endif
