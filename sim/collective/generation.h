/* SPDX-License-Identifier: GPL-3.0-or-later */
/* NCCL's constants that depend on the generation of the GPUs, and its model of NVLink SHARP (NVLS):
 * the switch adds the values of all GPUs, and copies a value to all of them. Private to choose.c.
 */
#pragma once

#include "sim/collective/library.h"

/* Fills in the parameters whose value 0 means that of the GPUs' generation. */
void library_resolve(struct library_params *lib, int generation);
/* Returns the part of its bandwidth that NCCL's model gives to a tree at this size. */
double tree_correction_ratio(const struct library_params *lib, enum protocol protocol,
			     double size_B);
/* Returns true if an all-reduce of these ranks may use NVLink SHARP, in one node or (tree) across
 * several. */
bool multicast_may(const struct library_params *lib, const struct comm_shape *shape, bool tree);
/* Returns the time in NCCL's model. */
double multicast_guess_s(const struct library_params *lib, const struct comm_shape *shape,
			 double net_hop_s, double size_B);
/* Sets everything that follows from the choice of the algorithm. */
void multicast_settle(const struct library_params *lib, const struct comm_shape *shape,
		      struct collective_choice *choice, double size_B);

/* ---- the plugin aws-ofi-nccl, by which NCCL uses Amazon's EFA (efa.c) ---- */

/* shape->efa_generation is 0 for another network. */
/* Returns the latency of the network that NCCL adds to a hop in its model; 0 without EFA. */
double efa_planned_s(const struct comm_shape *shape);
/* Returns false if the plugin allows only Simple, because bytes may arrive out of order. */
bool efa_keeps_order(const struct comm_shape *shape);
/* Sets the kind of algorithm and the protocol that the plugin's tuner takes for an all-reduce.
 * Returns false if NCCL chooses. */
bool efa_tuned(const struct comm_shape *shape, double size_B, enum cost_model *cost,
	       enum protocol *protocol);
