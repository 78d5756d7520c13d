/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The work of one rank as a graph: kernels, collectives and messages, each of which begins when the
 * nodes that it depends on have ended. Readers of execution traces fill it, and it becomes a
 * recorded program.
 *
 * A host thread makes the calls for all nodes, in the order in which they were added, but not
 * before the nodes that they depend on. Nodes of the CPU are the thread's own work. Nodes of one
 * stream follow each other. Dependencies between streams become events. A send ends for its rank
 * when it begins, as in ASTRA-sim, because the library buffers it. */
#pragma once

#include "sim/base/vec.h"
#include "sim/traces/recorded.h"

enum { GRAPH_CPU = -1 };

struct graph_node {
	double lasts_s, size_B; /* size_B: the larger buffer of a collective, or the message */
	const char *function;   /* "ncclSend" and so on */
	const char *label;
	size_t number;        /* of its id, below graph.id_count */
	size_t dep;           /* index of its last dependency in deps, plus 1; 0: none */
	int stream;           /* or GRAPH_CPU */
	uint32_t peer;        /* other rank of a message */
	bool awaited, played; /* awaited: a node of another stream depends on it */
};

struct graph_dep {
	size_t number;   /* of the id of a node; the graph may lack the node */
	size_t previous; /* further dependency of the same node, as in graph_node.dep */
};

struct graph {
	struct arena *arena;
	VEC(struct graph_node) nodes;
	VEC(struct graph_dep) deps;
	size_t id_count;
	/* Private. */
	VEC(struct recorded_call) calls;
	struct graph_node **by_id;
	double t_s;
};

struct graph_node *graph_add(struct graph *graph, size_t number);
void graph_depend(struct graph *graph, struct graph_node *node, size_t number);
/* Returns the program, or NULL if nodes depend on each other. */
struct recorded_calls *graph_program(struct graph *graph, const char *tool, uint32_t world_count);
