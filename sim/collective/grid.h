/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All-reduce on a grid of ranks, whose rows are nodes and whose columns are places in a node. It
 * has three phases: reduce-scatter on a ring inside each node, all-reduce on a ring across the
 * nodes for each place, all-gather inside each node. With g ranks in each of m nodes, a rank sends
 * 2 (m - 1)/m of S/g across nodes. A node sends 2 (m - 1)/m of S through all its NICs at once.
 *
 * The buffer is divided into independent pieces. With one piece, the phases of each rank follow
 * each other (hierarchical). With several pieces, one piece can use the network while another one
 * is inside a node (multi_ring). */
#pragma once

#include "sim/collective/algorithm.h"

const char *grid_refuse(const struct algorithm_spec *spec);
const struct schedule *grid_build(struct arena *arena, const struct algorithm_spec *spec,
				  size_t piece_count);
/* Returns 2 (g - 1) (L + S/(k g) s) + 2 (m - 1) (L + S/(k g m) s) for one piece, without additions.
 * For several pieces it is a lower bound: the whole time of one piece, or the time of the wires
 * inside or across plus the time before the first and after the last piece. */
double grid_ideal_s(const struct algorithm_spec *spec, const struct ideal_link *link,
		    size_t piece_count);
