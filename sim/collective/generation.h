/* SPDX-License-Identifier: GPL-3.0-or-later */
/* NCCL's constants that depend on the generation of the GPUs, and its model of NVLink SHARP (NVLS):
 * the switch adds the values of all GPUs, and copies a value to all of them. Private to choose.c.
 */
#pragma once

#include "sim/collective/library.h"

/* Fills in the parameters whose value 0 means that of the GPUs' generation. */
void library_resolve(struct library_params *lib, int generation);
/* Returns true if an all-reduce of these ranks may use NVLink SHARP, in one node or (tree) across
 * several. */
bool multicast_may(const struct library_params *lib, const struct comm_shape *shape, bool tree);
/* Returns the time in NCCL's model. */
double multicast_guess_s(const struct library_params *lib, const struct comm_shape *shape,
			 double net_hop_s, double size_B);
/* Sets everything that follows from the choice of the algorithm. */
void multicast_settle(const struct library_params *lib, const struct comm_shape *shape,
		      struct collective_choice *choice, double size_B);
