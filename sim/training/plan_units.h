/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Units and pieces of a rank's program.
 *
 * A UNIT is a block of the network, or what is before the first or behind the last one. Networks
 * without blocks have units between the places at which plan_cut could cut them. The calls
 * of its ops between two collectives are one PIECE, whose runs of kernels are fused (fuse.h) where
 * no collective runs beside them and slows them down.
 */
#pragma once

#include "sim/training/issue.h"
#include "sim/training/plan.h"

enum unit_part { PART_FORWARD, PART_BACKWARD, PART_WEIGHTS, PART_AGAIN, PART_COUNT };

struct piece {
	const struct shard_exchange *exchange; /* NULL: calls */
	struct item_list items;                /* calls one by one */
	struct call_thread fused, beside;      /* without collectives, and beside them */
	bool closed;                           /* calls of later layers are another piece */
};
struct pieces {
	VEC(struct piece) list;
};
struct unit {
	size_t first, last; /* layers */
	struct pieces parts[PART_COUNT];
	double parameters_count, expert_parameters_count;
	double trained_count, expert_trained_count; /* without frozen ones */
	size_t tensor_count;                        /* trained tensors */
	struct piece update;                        /* of all its parameters */
};

struct writer {
	struct issuer issuer;
	struct issuer ops; /* of pieces */
	const struct plan_step *step;
	const struct training_plan *plan;
	const struct op_graph *graph;
	size_t rank, stage;
	struct unit *units; /* of the rank, chunk by chunk */
	size_t unit_count;
	bool beside;         /* collectives may run beside this pass */
	size_t *chunk_first; /* by chunk: its first unit; one more entry at the end */
	const char *pass;    /* name of the current pass and its micro-batch: "F3"; NULL: none */
	double open_count, open_expert_count; /* parameters whose gradients are not reduced */
	/* With BUCKETS_POLICY: bundles, and how many gradients and bundles have become ready and
	 * been reduced. */
	const struct exchange_bundle *bundles;
	size_t bundle_count, ready_count, reduced_count;
	bool scatters; /* each GPU of the tensor group sends a part of the activation */
};

/* Builds w->units and w->chunk_first of the writer's rank. */
void plan_units_build(struct writer *w);
