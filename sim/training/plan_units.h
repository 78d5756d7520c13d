/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Units and pieces of a rank's program.
 *
 * A UNIT is a block of the network, or what is before the first or behind the last one. Its ops
 * between two collectives are one PIECE: one launch with the time of all its kernels and the host
 * work of all its calls. The host runs ahead of the GPU, so if it is faster, its work is hidden.
 */
#pragma once

#include "sim/training/issue.h"
#include "sim/training/plan.h"

enum part { PART_FORWARD, PART_BACKWARD, PART_WEIGHTS, PART_AGAIN, PART_COUNT };

struct piece {                                 /* kernels, or a collective */
	const struct shard_exchange *exchange; /* NULL: kernels */
	double gpu_s, host_s;
	bool closed; /* kernels of later layers are another piece */
	const char *label;
};
struct pieces {
	VEC(struct piece) list;
};
struct unit {
	size_t first, last; /* layers */
	struct pieces parts[PART_COUNT];
	double parameters_count, expert_parameters_count;
	double trained_count, expert_trained_count; /* without frozen ones */
	double update_s, update_host_s;             /* of all its parameters */
};

struct writer {
	struct issuer issuer;
	const struct plan_step *step;
	const struct training_plan *plan;
	const struct op_graph *graph;
	size_t rank, stage;
	struct unit *units; /* of the rank, chunk by chunk */
	size_t unit_count;
	size_t *chunk_first; /* by chunk: its first unit; one more entry at the end */
	const char *pass;    /* name of the current pass and its micro-batch: "F3"; NULL: none */
	double open_count, open_expert_count; /* parameters whose gradients are not reduced */
	double message_B;                     /* of an activation between stages */
	bool scatters; /* each GPU of the tensor group sends a part of the activation */
};

/* Builds w->units and w->chunk_first of the writer's rank. */
void plan_units_build(struct writer *w);
