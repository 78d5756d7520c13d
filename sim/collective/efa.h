/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the plugin aws-ofi-nccl tells NCCL about Amazon's EFA (shape->efa_generation; 0: another
 * network). */
#ifndef FARWIRE_COLLECTIVE_EFA_H
#define FARWIRE_COLLECTIVE_EFA_H

#include "sim/collective/library.h"

/* Returns the latency of the network that NCCL adds to a hop in its model; 0 without EFA. */
double efa_planned_s(const struct comm_shape *shape);
/* Returns false if the plugin allows only Simple, because bytes may arrive out of order. */
bool efa_keeps_order(const struct comm_shape *shape);
/* Returns the name of the algorithm that the plugin's tuner takes for an all-reduce, and its
 * protocol; NULL: NCCL's own choice. */
const char *efa_tuned(const struct comm_shape *shape, double size_B, enum protocol *protocol);

#endif
