/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Networks of models/networks, frameworks by name, and sums over op graphs. Tests that include it
 * must run from the root folder. */
#pragma once

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/base/table.h"
#include "sim/training/framework.h"
#include "sim/training/ops.h"
#include "tests/test.h"

static struct arena *arena;

/* sequence: tokens of a sample; 0: as in the file */
static inline const struct network *network_of_length(const char *name, size_t sequence)
{
	struct diag *diag = diag_new(arena);
	const struct cfg_node *file =
		cfg_read(arena, diag, arena_printf(arena, "models/networks/%s.cfg", name));
	const struct network *network = file ? network_read(arena, diag, file, sequence) : NULL;
	diag_print(diag, stdout);
	CHECK(network != NULL);
	return network;
}

static inline const struct network *network_of(const char *name)
{
	return network_of_length(name, 0);
}

static inline int framework_of(const char *name)
{
	for (size_t i = 0; i < framework_count(); i++)
		if (strcmp(framework_at(i)->name, name) == 0)
			return (int)i;
	CHECK_TEXT("no such framework", name);
	return 0;
}

struct tally {
	double flop, bytes_B, ops, kernels;
};

/* The sum over ops whose name ends in `end`. */
static inline struct tally tally_of(const struct op_graph *graph, const char *end)
{
	struct tally sum = {0};
	for (size_t i = 0; i < graph->count; i++) {
		const struct op *op = &graph->ops[i];
		if (!ends_in(op->name, end))
			continue;
		sum.ops++;
		sum.kernels += op->kernels;
		sum.flop += op->kernels * op->work.flop;
		sum.bytes_B += op->kernels * op->work.bytes_B;
	}
	return sum;
}
