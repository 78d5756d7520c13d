/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Selects the packets that are lost.
 *
 * Each packet is lost with probability p, so the number of packets between two losses is geometric.
 * These gaps are drawn by inversion from stratified numbers: of each 16 successive numbers, one
 * lies in each sixteenth of (0, 1), in random order (given by the seed and the stream's name). So
 * the gaps have the right distribution, and their mean converges after some dozens of losses
 * instead of hundreds. A short run then already shows the expected loss. Because the order is
 * random, losses cluster almost as independent ones do. Only clusters that 16 draws without
 * replacement make rarer differ.
 *
 * Every packet that is sent, also a retransmission, is taken from the process of its direction.
 */
#pragma once

#include "sim/base/base.h"

enum { LOSS_STRATA = 16 };

struct loss {
	double p;
	uint64_t gap; /* packets that arrive before the next loss */
	struct rng rng;
	uint8_t order[LOSS_STRATA]; /* random order of the strata in the current round */
	uint8_t used;
};

struct loss loss_new(double p, uint64_t seed, const char *name);
/* Sends count packets. Returns the number of lost ones and stores the index of the first lost one
 * in *first (count if there is none). */
uint64_t loss_take(struct loss *loss, uint64_t count, uint64_t *first);
/* Returns true if one of the packets of a long message is lost at each of its tries, which happens
 * with probability p. `fate` decides. */
bool loss_every_time(struct loss *fate, double p, double tries, double packets);
/* Returns the next number of the sequence, in (0, 1). */
/* exported: tests compare sequences */
double loss_uniform(struct loss *loss);
