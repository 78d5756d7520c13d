/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/training/step_profile.h"

#include <math.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/base/vec.h"
#include "sim/training/issue.h"

struct cutter {
	struct arena *arena;
	const struct op_graph *graph;
	double *update_s; /* by tensor of the graph */
	VEC(struct step_segment) segments;
	VEC(uint32_t) tensors; /* of the graph, as their gradients become ready */
	double open_s;         /* compute behind the last cut */
	double open_issue_s;
	size_t forward_count;
};

static double op_s(const struct op *op, const struct stack_params *stack,
		   const struct gpu_params *gpu, const struct efficiency_params *efficiency)
{
	return op->kernels *
	       (kernel_duration_s(gpu, efficiency, &op->work, stack->fp16) + gpu->kernel_gap_s);
}

/* Host work of issuing an op. */
static double issue_s(const struct op *op, const struct stack_params *stack,
		      const struct driver_params *driver)
{
	double calls = (stack->calls_per_launch_count - 1) * op->kernels +
		       (op->library ? stack->calls_per_library_op_count : 0);
	return stack->dispatch_s + op->kernels * driver->launch_s + calls * driver->library_s;
}

static void cut(struct cutter *c, const char *name, size_t tensor_first)
{
	struct step_segment *segment = VEC_PUSH(c->arena, &c->segments);
	*segment = (struct step_segment){
		.name = name,
		.compute_s = c->open_s,
		.issue_s = c->open_issue_s,
		.tensor_first = (uint32_t)tensor_first,
		.tensor_count = (uint32_t)(c->tensors.count - tensor_first),
	};
	c->open_s = c->open_issue_s = 0;
}

static void push_gradients(struct cutter *c, const struct op *op)
{
	for (uint32_t k = 0; k < op->gradient_count; k++) {
		uint32_t *slot = VEC_PUSH(c->arena, &c->tensors);
		*slot = op->gradients[k];
	}
}

/* A segment for the forward pass, one up to each op that completes a gradient,
 * one for what is left. */
static void walk(struct cutter *c, const uint32_t *order, const double *ops_s,
		 const double *issues_s)
{
	const char *last = "";
	for (size_t i = 0; i < c->graph->count; i++) {
		const struct op *op = &c->graph->ops[order[i]];
		size_t tensor_first = c->tensors.count;
		if (op->update_of != NO_TENSOR) {
			c->update_s[op->update_of] += ops_s[order[i]];
			continue;
		}
		c->open_s += ops_s[order[i]];
		c->open_issue_s += issues_s[order[i]];
		last = op->name;
		push_gradients(c, op);
		if (op->gradient_count > 0)
			cut(c, op->name, tensor_first);
		if (order[i] != c->graph->output)
			continue;
		FW_ASSERT(c->tensors.count == 0);
		cut(c, op->name, 0);
		c->forward_count = c->segments.count;
	}
	if (c->open_s > 0)
		cut(c, last, c->tensors.count);
}

/* Backward in clusters of equal work: what became ready within one is heard of
 * at its end. */
static void cluster(struct cutter *c, size_t cluster_count)
{
	struct step_segment *all = c->segments.items;
	size_t count = c->segments.count, next = c->forward_count, made = next;
	double work_s = 0, done_s = 0;
	for (size_t i = next; i < count; i++)
		work_s += all[i].compute_s;
	struct step_segment *clusters = ARENA_ARRAY(c->arena, cluster_count, struct step_segment);
	uint32_t tensor_next = 0;
	for (size_t k = 0; k < cluster_count; k++) {
		double end_s = work_s * (double)(k + 1) / (double)cluster_count;
		bool last = k + 1 == cluster_count;
		clusters[k] = (struct step_segment){.name = next < count ? all[next].name : "",
						    .compute_s = work_s / (double)cluster_count,
						    .tensor_first = tensor_next};
		for (; next < count && (last || done_s + all[next].compute_s <= end_s); next++) {
			done_s += all[next].compute_s;
			clusters[k].issue_s += all[next].issue_s;
			clusters[k].name = all[next].name;
			clusters[k].tensor_count += all[next].tensor_count;
		}
		tensor_next += clusters[k].tensor_count;
	}
	c->segments.count = made;
	for (size_t k = 0; k < cluster_count; k++)
		*VEC_PUSH(c->arena, &c->segments) = clusters[k];
}

/* All times stretched so that they add up to step_s. */
static struct step_tensor *stretch(struct cutter *c, double step_s)
{
	struct step_tensor *tensors =
		ARENA_ARRAY(c->arena, c->tensors.count + 1, struct step_tensor);
	double sum_s = 0;
	for (size_t i = 0; i < c->segments.count; i++)
		sum_s += c->segments.items[i].compute_s;
	for (size_t i = 0; i < c->tensors.count; i++)
		sum_s += c->update_s[c->tensors.items[i]];
	FW_ASSERT(sum_s > 0);
	for (size_t i = 0; i < c->segments.count; i++)
		c->segments.items[i].compute_s *= step_s / sum_s;
	for (size_t i = 0; i < c->tensors.count; i++) {
		const struct op_tensor *tensor = &c->graph->tensors[c->tensors.items[i]];
		tensors[i] = (struct step_tensor){
			.name = tensor->name,
			.elements_count = tensor->elements_count,
			.update_s = c->update_s[c->tensors.items[i]] * (step_s / sum_s),
		};
	}
	return tensors;
}

const struct step_profile *step_profile_new(struct arena *arena, const struct network *network,
					    size_t batch, const struct stack_params *stack,
					    const struct gpu_params *gpu,
					    const struct efficiency_params *efficiency,
					    const struct driver_params *driver, double solo_step_s)
{
	struct op_graph graph = op_graph_new(arena, network, batch, stack);
	struct cutter c = {.arena = arena,
			   .graph = &graph,
			   .update_s = ARENA_ARRAY(arena, graph.tensor_count + 1, double)};
	double *ops_s = ARENA_ARRAY(arena, graph.count, double);
	double *issues_s = ARENA_ARRAY(arena, graph.count, double);
	for (size_t i = 0; i < graph.count; i++) {
		ops_s[i] = op_s(&graph.ops[i], stack, gpu, efficiency);
		issues_s[i] = issue_s(&graph.ops[i], stack, driver);
	}
	walk(&c, framework_at((size_t)stack->framework)->order(arena, &graph), ops_s, issues_s);
	FW_ASSERT(c.tensors.count == graph.tensor_count && c.forward_count == 1);
	if (stack->xla_clusters_count > 0)
		cluster(&c, (size_t)fmax(1, round(stack->xla_clusters_count)));
	struct step_tensor *tensors = stretch(&c, solo_step_s);
	struct step_profile *profile = ARENA_NEW(arena, struct step_profile);
	*profile = (struct step_profile){
		.segments = c.segments.items,
		.segment_count = c.segments.count,
		.forward_count = c.forward_count,
		.tensors = tensors,
		.tensor_count = c.tensors.count,
		.ops_count = (double)graph.count,
		.step_s = solo_step_s,
		.images_count = (double)batch,
		.element_B = stack->fp16_gradients ? 2 : 4,
		.memory_B = network_memory_B(network, batch, stack->fp16 ? 2 : 4,
					     stack->optimiser_copies_count, stack->workspace_B),
		.input_B = input_B(network, batch),
	};
	return profile;
}
