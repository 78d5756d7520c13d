/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/traces/graph.h"

#include <string.h>

#include "sim/base/arena.h"

struct graph_node *graph_add(struct graph *graph, size_t number)
{
	struct graph_node *node = VEC_PUSH(graph->arena, &graph->nodes);
	*node = (struct graph_node){.number = number, .label = "", .function = "cudaLaunchKernel"};
	if (number >= graph->id_count)
		graph->id_count = number + 1;
	return node;
}

void graph_depend(struct graph *graph, struct graph_node *node, size_t number)
{
	*VEC_PUSH(graph->arena, &graph->deps) = (struct graph_dep){number, node->dep};
	node->dep = graph->deps.count;
	if (number >= graph->id_count)
		graph->id_count = number + 1;
}

static struct recorded_call *add_call(struct graph *graph, const char *function, int stream,
				      int64_t event)
{
	struct recorded_call *call = VEC_PUSH(graph->arena, &graph->calls);
	*call = (struct recorded_call){.start_s = graph->t_s,
				       .end_s = graph->t_s,
				       .gpu_start_s = -1,
				       .gpu_s = -1,
				       .function = function,
				       .stream = stream,
				       .event = event};
	return call;
}

/* Returns the node of the dependency *dep and goes to the next; NULL: the graph lacks the node. */
static struct graph_node *take_dep(const struct graph *graph, size_t *dep)
{
	const struct graph_dep *taken = &graph->deps.items[*dep - 1];
	*dep = taken->previous;
	return graph->by_id[taken->number];
}

/* Adds the calls for a node. */
static void play(struct graph *graph, struct graph_node *node)
{
	for (size_t dep = node->dep; dep;) {
		const struct graph_node *before = take_dep(graph, &dep);
		if (before && before->stream != GRAPH_CPU && before->stream != node->stream)
			add_call(graph,
				 node->stream == GRAPH_CPU ? "cudaEventSynchronize"
							   : "cudaStreamWaitEvent",
				 node->stream, (int64_t)before->number);
	}
	node->played = true;
	if (node->stream == GRAPH_CPU) {
		graph->t_s += node->lasts_s;
		return;
	}
	bool sends = strcmp(node->function, "ncclSend") == 0;
	if (node->awaited && sends)
		add_call(graph, "cudaEventRecord", node->stream, (int64_t)node->number);
	struct recorded_call *call = add_call(graph, node->function, node->stream, -1);
	call->gpu_s = node->lasts_s;
	call->label = node->label;
	call->peer = node->peer;
	call->size_B = node->size_B;
	if (node->awaited && !sends)
		add_call(graph, "cudaEventRecord", node->stream, (int64_t)node->number);
}

static bool is_ready(const struct graph *graph, const struct graph_node *node)
{
	for (size_t dep = node->dep; dep;) {
		const struct graph_node *before = take_dep(graph, &dep);
		if (before && !before->played)
			return false;
	}
	return true;
}

/* Plays the nodes in their order. A node that depends on a later one is played in a further pass.
 * Returns false if some depend on each other, or PASSES_MAX is exceeded. */
static bool play_all(struct graph *graph)
{
	enum { PASSES_MAX = 1000 }; /* real files need few */
	size_t played = 0, count = graph->nodes.count;
	graph->by_id = ARENA_ARRAY(graph->arena, graph->id_count + 1, struct graph_node *);
	for (size_t i = 0; i < count; i++)
		graph->by_id[graph->nodes.items[i].number] = &graph->nodes.items[i];
	for (size_t i = 0; i < count; i++)
		for (size_t dep = graph->nodes.items[i].dep; dep;) {
			struct graph_node *before = take_dep(graph, &dep);
			if (before)
				before->awaited |= before->stream != graph->nodes.items[i].stream;
		}
	for (int pass = 0; played < count && pass < PASSES_MAX; pass++)
		for (size_t i = 0; i < count; i++) {
			struct graph_node *node = &graph->nodes.items[i];
			if (node->played || !is_ready(graph, node))
				continue;
			play(graph, node);
			played++;
		}
	return played == count;
}

struct recorded_calls *graph_program(struct graph *graph, const char *tool, uint32_t world_count)
{
	add_call(graph, "cudaGetDevice", GRAPH_CPU, -1); /* the begin */
	if (!play_all(graph))
		return NULL;
	add_call(graph, "cudaDeviceSynchronize", GRAPH_CPU, -1);
	struct recorded_calls *recorded = ARENA_NEW(graph->arena, struct recorded_calls);
	*recorded = (struct recorded_calls){.tool = tool,
					    .gpu = "",
					    .calls = graph->calls.items,
					    .call_count = graph->calls.count,
					    .world_count = world_count};
	recorded_calls_settle(graph->arena, recorded);
	return recorded;
}
