/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The plugin aws-ofi-nccl, by which NCCL uses Amazon's EFA. shape->efa_generation is 0 for another
 * network. */
#pragma once

#include "sim/collective/library.h"

/* Returns the latency of the network that NCCL adds to a hop in its model; 0 without EFA. */
double efa_planned_s(const struct comm_shape *shape);
/* Returns false if the plugin allows only Simple, because bytes may arrive out of order. */
bool efa_keeps_order(const struct comm_shape *shape);
/* Sets the kind of algorithm and the protocol that the plugin's tuner takes for an all-reduce.
 * Returns false if NCCL chooses. */
bool efa_tuned(const struct comm_shape *shape, double size_B, enum cost_model *cost,
	       enum protocol *protocol);
