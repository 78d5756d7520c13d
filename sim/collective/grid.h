/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All-reduce on a grid of ranks, machines times places in a machine: a reduce-scatter on a ring
 * inside each machine, an all-reduce on a ring across the machines by each place on its own
 * part, an all-gather inside. With g ranks in each of m machines a rank sends 2 (m - 1)/m of
 * S/g across, and a machine 2 (m - 1)/m of S, by all its NICs together.
 *
 * The buffer is cut in pieces that do this independently of each other. With one piece, each
 * rank's phases follow each other (hierarchical). With several, one piece is on the network
 * while another is inside (multi_ring). */
#ifndef FARWIRE_COLLECTIVE_GRID_H
#define FARWIRE_COLLECTIVE_GRID_H

#include "sim/collective/algorithm.h"

const char *grid_refuse(const struct algorithm_spec *spec);
const struct schedule *grid_build(struct arena *arena, const struct algorithm_spec *spec,
				  size_t piece_count);
/* 2 (g - 1) (L + S/(k g) s) + 2 (m - 1) (L + S/(k g m) s) of one piece, without additions. With
 * several pieces, a lower bound: the full time of one, or the time that the links inside or
 * across need before the first and after the last of it. */
double grid_ideal_s(const struct algorithm_spec *spec, const struct ideal_link *link,
		    size_t piece_count);

#endif
