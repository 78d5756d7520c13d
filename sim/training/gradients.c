/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/training/gradients.h"

#include <math.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/base/vec.h"

struct gradient_writer {
	struct arena *arena;
	struct gradients_params params;
	struct op_graph graph;
	VEC(uint32_t) order; /* tensors of the graph, in the order in which they become ready */
	VEC(struct hand_over) hand_overs;
	VEC(const struct op *) updates; /* held back until the end, in the framework's order */
	bool updating;
	double *update_s, *update_host_s; /* by tensor of the graph */
	struct gradients gradients;
	bool backward;                /* the forward pass has ended */
	double backward_s, cluster_s; /* GPU time of backward so far, and of an XLA cluster */
	size_t clusters_count;        /* clusters that have ended */
};

struct gradient_writer *gradient_writer_new(struct arena *arena,
					    const struct gradients_params *params)
{
	struct gradient_writer *writer = ARENA_NEW(arena, struct gradient_writer);
	writer->arena = arena;
	writer->params = *params;
	return writer;
}

static double op_s(const struct issuer *issuer, const struct op *op)
{
	double kernel_s = kernel_duration_s(issuer->gpu, issuer->efficiency, &op->work);
	return op->kernels * (kernel_s + issuer->gpu->kernel_gap_s) + op->wait_s;
}

/* Returns the host work to issue an op. */
static double host_s(const struct gradient_writer *writer, const struct issuer *issuer,
		     const struct op *op)
{
	struct issuer own = *issuer;
	double work_s = 0;
	own.gradients = NULL;
	own.items.items = NULL;
	own.items.count = own.items.room = 0;
	issue_op(&own, op, 0);
	for (size_t i = 0; i < own.items.count; i++) {
		const struct item *item = &own.items.items[i];
		if (item->kind == ITEM_THINK)
			work_s += item->work_s;
		else if (!item->call.in_dispatch)
			work_s += driver_call_work_s(writer->params.driver, &item->call);
	}
	return work_s;
}

static void mark(struct issuer *issuer, enum call_kind kind, uint32_t hand_over)
{
	issue_call(issuer, kind, 0)->peer = hand_over;
}

/* Hands over the gradients that have become ready since the last hand-over. */
static void hand_over(struct gradient_writer *writer, struct issuer *issuer)
{
	size_t count = writer->hand_overs.count;
	const struct hand_over *last = count ? &writer->hand_overs.items[count - 1] : NULL;
	FW_ASSERT(count == 0 || last);
	uint32_t first = last ? last->first + last->count : 0;
	uint32_t ready = (uint32_t)writer->order.count;
	if (ready == first)
		return;
	*VEC_PUSH(writer->arena, &writer->hand_overs) = (struct hand_over){first, ready - first};
	mark(issuer, CALL_GRADIENTS, (uint32_t)count);
}

void gradients_begin(struct gradient_writer *writer, struct issuer *issuer,
		     const struct op_graph *graph)
{
	double clusters = fmax(1, round(issuer->stack->xla_clusters_count)), backward_s = 0;
	bool backward = false;
	writer->graph = *graph;
	writer->update_s = ARENA_ARRAY(writer->arena, graph->tensor_count + 1, double);
	writer->update_host_s = ARENA_ARRAY(writer->arena, graph->tensor_count + 1, double);
	writer->gradients.ops_count = (double)graph->count;
	for (size_t i = 0; i < graph->count; i++) {
		if (backward && graph->ops[i].update_of == NO_TENSOR)
			backward_s += op_s(issuer, &graph->ops[i]);
		backward = backward || i == graph->output;
	}
	if (issuer->stack->xla_clusters_count > 0)
		writer->cluster_s = backward_s / clusters;
	issue_item(issuer, ITEM_GATE);
	mark(issuer, CALL_STEP_BEGIN, 0);
}

bool gradients_before(struct gradient_writer *writer, struct issuer *issuer, const struct op *op)
{
	if (op->update_of == NO_TENSOR || writer->updating)
		return true;
	if (writer->params.updates_in_stream) {
		*VEC_PUSH(writer->arena, &writer->updates) = op;
		return false;
	}
	writer->update_s[op->update_of] += op_s(issuer, op);
	writer->update_host_s[op->update_of] += host_s(writer, issuer, op);
	return false;
}

/* Returns true if the cluster of the op ends with it. */
static bool cluster_ends(struct gradient_writer *writer)
{
	double end_s = (double)(writer->clusters_count + 1) * writer->cluster_s;
	if (writer->cluster_s <= 0)
		return true;
	if (writer->backward_s < end_s * (1 - 1e-9))
		return false;
	writer->clusters_count++;
	return true;
}

void gradients_behind(struct gradient_writer *writer, struct issuer *issuer, const struct op *op)
{
	double time_s = op_s(issuer, op);
	if (writer->updating)
		return;
	writer->gradients.compute_s += time_s;
	if (writer->backward)
		writer->backward_s += time_s;
	for (uint32_t k = 0; k < op->gradient_count; k++)
		*VEC_PUSH(writer->arena, &writer->order) = op->gradients[k];
	if (op == &writer->graph.ops[writer->graph.output]) {
		writer->backward = true;
		writer->gradients.forward_s = writer->gradients.compute_s;
	}
	if (!writer->params.held && writer->backward && cluster_ends(writer))
		hand_over(writer, issuer);
}

void gradients_end(struct gradient_writer *writer, struct issuer *issuer)
{
	hand_over(writer, issuer);
	writer->updating = true;
	if (writer->params.updates_in_stream)
		mark(issuer, CALL_REDUCED, 0);
	for (size_t i = 0; i < writer->updates.count; i++)
		issue_op(issuer, writer->updates.items[i], 0);
	mark(issuer, CALL_STEP_END, 0);
}

const struct gradients *gradient_writer_read(struct gradient_writer *writer)
{
	size_t count = writer->order.count;
	struct gradient *tensors = ARENA_ARRAY(writer->arena, count + 1, struct gradient);
	FW_ASSERT(count == writer->graph.tensor_count);
	for (size_t i = 0; i < count; i++) {
		uint32_t tensor = writer->order.items[i];
		tensors[i] = (struct gradient){
			.name = writer->graph.tensors[tensor].name,
			.elements_count = writer->graph.tensors[tensor].elements_count,
			.update_s = writer->update_s[tensor],
			.update_host_s = writer->update_host_s[tensor],
		};
	}
	writer->gradients.tensors = tensors;
	writer->gradients.tensor_count = count;
	writer->gradients.hand_overs = writer->hand_overs.items;
	writer->gradients.hand_over_count = writer->hand_overs.count;
	return &writer->gradients;
}
