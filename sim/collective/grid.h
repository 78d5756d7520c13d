/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All-reduce on a grid of ranks, nodes times places in a node: reduce-scatter on
 * a ring inside each node, all-reduce on a ring across the nodes by each place
 * on its own part, all-gather inside. With g ranks in each of m nodes a rank
 * sends 2 (m - 1)/m of S/g across, a node so many of S, by all its NICs at once.
 *
 * The buffer is cut in pieces that do all this independently of each other:
 * one, so that each rank's phases follow each other (hierarchical), or several,
 * so that one piece is on the network while another is inside (multi_ring). */
#ifndef FARWIRE_COLLECTIVE_GRID_H
#define FARWIRE_COLLECTIVE_GRID_H

#include "sim/collective/algorithm.h"

const char *grid_refuse(const struct algorithm_spec *spec);
const struct schedule *grid_build(struct arena *arena, const struct algorithm_spec *spec,
				  size_t piece_count);
/* 2 (g - 1) (L + S/(k g) s) + 2 (m - 1) (L + S/(k g m) s) of one piece, without
 * additions. Of several a bound from below: the whole way of one, or what the
 * wires inside or across carry before the first and after the last of it. */
double grid_ideal_s(const struct algorithm_spec *spec, const struct ideal_link *link,
		    size_t piece_count);

#endif
