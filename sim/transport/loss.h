/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which packets are lost.
 *
 * Each packet is lost with chance p, so the number of packets that arrive
 * between two lost ones is geometric. The gaps are drawn by inversion from a
 * low-discrepancy sequence (Weyl: u_n = frac(u_0 + n x golden ratio), u_0 from
 * the seed and the stream's name): the gaps have the same distribution, but
 * the mean number of losses settles after a few gaps instead of a few hundred,
 * so that a short run already tells the expected loss. The price: successive
 * gaps are not independent, and runs of losses are rarer than they would be.
 *
 * Every packet that is sent, again or for the first time, is taken from the
 * process of its direction.
 */
#ifndef FARWIRE_TRANSPORT_LOSS_H
#define FARWIRE_TRANSPORT_LOSS_H

#include <stdint.h>

struct loss {
	double p;
	uint64_t weyl; /* u = weyl / 2^64 */
	uint64_t gap;  /* packets that still arrive before the next lost one */
};

struct loss loss_new(double p, uint64_t seed, const char *name);
/* Sends count packets: how many of them are lost, and *first, the index of the
 * first lost (count if none). */
uint64_t loss_take(struct loss *loss, uint64_t count, uint64_t *first);
/* The next number of the sequence, in (0, 1). */
double loss_uniform(struct loss *loss);

#endif
