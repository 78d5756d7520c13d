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
	const struct step_host *host;
	struct issuer issuer;
	double *update_s, *update_host_s; /* by tensor of the graph */
	VEC(struct step_segment) segments;
	VEC(uint32_t)
	tensors; /* tensors of the graph, in the order in which their gradients are ready */
	/* Work since the last cut. */
	double open_s, open_host_s, last_s;
	uint32_t open_kernels;
	size_t forward_count;
};

static double op_s(const struct op *op, const struct gpu_params *gpu,
		   const struct efficiency_params *efficiency)
{
	return op->kernels * (kernel_duration_s(gpu, efficiency, &op->work) + gpu->kernel_gap_s) +
	       op->wait_s;
}

/* Returns the host work to issue an op. */
static double host_s(struct cutter *c, const struct op *op)
{
	double work_s = 0;
	if (!c->host)
		return 0;
	c->issuer.items.count = 0;
	issue_op(&c->issuer, op, 0);
	for (size_t i = 0; i < c->issuer.items.count; i++) {
		const struct item *item = &c->issuer.items.items[i];
		if (item->kind == ITEM_THINK)
			work_s += item->work_s;
		else if (!item->call.in_dispatch)
			work_s += item->call.kind == CALL_LAUNCH ? c->host->driver->launch_s
								 : c->host->driver->library_s;
	}
	return work_s;
}

static void cut(struct cutter *c, const char *name, size_t tensor_first)
{
	struct step_segment *segment = VEC_PUSH(c->arena, &c->segments);
	*segment = (struct step_segment){
		.name = name,
		.compute_s = c->open_s,
		.host_s = c->open_host_s,
		.last_s = c->last_s,
		.tensor_first = (uint32_t)tensor_first,
		.tensor_count = (uint32_t)(c->tensors.count - tensor_first),
	};
	c->open_s = c->open_host_s = 0;
	c->open_kernels = 0;
}

static void push_op(struct cutter *c, const struct op *op, double op_s)
{
	c->open_s += op_s;
	c->open_host_s += host_s(c, op);
	c->open_kernels += op->kernels;
	c->last_s = op->kernels > 0 ? op_s / op->kernels : 0;
	for (uint32_t k = 0; k < op->gradient_count; k++) {
		uint32_t *slot = VEC_PUSH(c->arena, &c->tensors);
		*slot = op->gradients[k];
	}
}

/* Cuts the ops into segments: behind the forward pass, behind each op that completes a gradient,
 * and at the end. If issuing takes time, also behind every PIECE_KERNELS kernels. */
static void walk(struct cutter *c, const uint32_t *order, const double *ops_s)
{
	const char *last = "";
	for (size_t i = 0; i < c->graph->count; i++) {
		const struct op *op = &c->graph->ops[order[i]];
		size_t tensor_first = c->tensors.count;
		if (op->update_of != NO_TENSOR) {
			c->update_s[op->update_of] += ops_s[order[i]];
			c->update_host_s[op->update_of] += host_s(c, op);
			continue;
		}
		push_op(c, op, ops_s[order[i]]);
		last = op->name;
		bool output = order[i] == c->graph->output;
		FW_ASSERT(!output || c->tensors.count == 0);
		if (op->gradient_count > 0 || output ||
		    (c->host && c->open_kernels >= PIECE_KERNELS))
			cut(c, op->name, tensor_first);
		if (output)
			c->forward_count = c->segments.count;
	}
	if (c->open_s > 0)
		cut(c, last, c->tensors.count);
}

/* Replaces the segments of backward by clusters of equal work. Gradients that become ready within
 * a cluster are announced at its end. */
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
			clusters[k].name = all[next].name;
			clusters[k].host_s += all[next].host_s;
			clusters[k].last_s = all[next].last_s;
			clusters[k].tensor_count += all[next].tensor_count;
		}
		tensor_next += clusters[k].tensor_count;
	}
	c->segments.count = made;
	for (size_t k = 0; k < cluster_count; k++)
		*VEC_PUSH(c->arena, &c->segments) = clusters[k];
}

/* A time that depends on the factor of all kernels' times, and its derivative by the factor. */
struct moment {
	double at_s, slope_s;
};

static struct moment later(struct moment a, struct moment b)
{
	return b.at_s > a.at_s ? b : a;
}

static struct moment kernels(struct moment from, double kernels_s, double factor)
{
	return (struct moment){from.at_s + factor * kernels_s, from.slope_s + kernels_s};
}

/* Returns the end of the step on a single GPU. The updates are one more segment. */
static struct moment solo_end(const struct cutter *c, const struct step_segment *updates,
			      double begin_host_s, double factor)
{
	double ratio = c->host ? c->host->work_ratio : 0;
	struct moment done = {0, 0}, issued = {begin_host_s * ratio, 0};
	for (size_t i = 0; i <= c->segments.count; i++) {
		const struct step_segment *segment =
			i < c->segments.count ? &c->segments.items[i] : updates;
		struct moment start = later(done, issued);
		issued.at_s += segment->host_s * ratio;
		done = later(kernels(start, segment->compute_s, factor),
			     kernels(issued, segment->last_s, factor));
	}
	return done;
}

/* Returns the end of the step on a single GPU if the host is a step ahead: the later of the
 * GPU's end and the host's. */
static struct moment ahead_end(const struct cutter *c, const struct step_segment *updates,
			       double begin_host_s, double factor)
{
	double ratio = c->host ? c->host->work_ratio : 0, work_s = updates->compute_s;
	struct moment issued = {(begin_host_s + updates->host_s) * ratio, 0};
	for (size_t i = 0; i < c->segments.count; i++) {
		work_s += c->segments.items[i].compute_s;
		issued.at_s += c->segments.items[i].host_s * ratio;
	}
	return later(kernels((struct moment){0, 0}, work_s, factor), issued);
}

/* Returns the factor of all kernels' times with which the step takes step_s. The step time is a
 * convex, piecewise linear function of the factor, so Newton's method ends. */
static double find_factor(const struct cutter *c, const struct step_segment *updates,
			  double begin_host_s, bool ahead, double step_s)
{
	enum { STEPS_MAX = 64 };
	double factor = 1;
	for (int i = 0; i < STEPS_MAX; i++) {
		struct moment end =
			(ahead ? ahead_end : solo_end)(c, updates, begin_host_s, factor);
		double change = end.slope_s > 0 ? (step_s - end.at_s) / end.slope_s : 0;
		factor += change;
		if (fabs(change) <= 1e-15 * factor)
			break;
	}
	FW_ASSERT(factor > 0);
	return factor;
}

/* Returns the updates of all tensors as one segment. */
static struct step_segment all_updates(const struct cutter *c)
{
	struct step_segment updates = {.name = "update"};
	for (size_t i = 0; i < c->tensors.count; i++) {
		uint32_t tensor = c->tensors.items[i];
		updates.compute_s += c->update_s[tensor];
		updates.host_s += c->update_host_s[tensor];
		updates.last_s = c->update_s[tensor];
	}
	return updates;
}

/* Multiplies the times of all kernels by the factor and returns the tensors of the profile. */
static struct step_tensor *stretch(struct cutter *c, double factor)
{
	struct step_tensor *tensors =
		ARENA_ARRAY(c->arena, c->tensors.count + 1, struct step_tensor);
	for (size_t i = 0; i < c->segments.count; i++) {
		c->segments.items[i].compute_s *= factor;
		c->segments.items[i].last_s *= factor;
	}
	for (size_t i = 0; i < c->tensors.count; i++) {
		uint32_t tensor = c->tensors.items[i];
		tensors[i] = (struct step_tensor){
			.name = c->graph->tensors[tensor].name,
			.elements_count = c->graph->tensors[tensor].elements_count,
			.update_s = c->update_s[tensor] * factor,
			.update_host_s = c->update_host_s[tensor],
		};
	}
	return tensors;
}

/* Returns the part of a core that the poller uses: it makes one query, then sleeps, and so on. */
static double poller_ratio(const struct stack_params *stack, const struct step_host *host)
{
	if (!host || !stack->poller)
		return 0;
	double query_s = host->driver->query_s * host->work_ratio;
	return query_s / (query_s + stack->poll_sleep_s);
}

const struct step_profile *step_profile_new(struct arena *arena, const struct network *network,
					    size_t batch, const struct stack_params *stack,
					    const struct gpu_params *gpu,
					    const struct efficiency_params *efficiency,
					    const struct step_host *host, double solo_step_s)
{
	struct op_graph graph = op_graph_new(arena, network, batch, stack, gpu);
	const struct framework *framework = framework_at((size_t)stack->framework);
	struct cutter c = {
		.arena = arena,
		.graph = &graph,
		.host = host,
		.issuer = {.arena = arena, .stack = stack, .gpu = gpu, .efficiency = efficiency},
		.update_s = ARENA_ARRAY(arena, graph.tensor_count + 1, double),
		.update_host_s = ARENA_ARRAY(arena, graph.tensor_count + 1, double)};
	double *ops_s = ARENA_ARRAY(arena, graph.count, double);
	for (size_t i = 0; i < graph.count; i++)
		ops_s[i] = op_s(&graph.ops[i], gpu, efficiency);
	walk(&c, framework->order(arena, &graph), ops_s);
	FW_ASSERT(c.tensors.count == graph.tensor_count && c.forward_count > 0);
	if (stack->xla_clusters_count > 0)
		cluster(&c, (size_t)fmax(1, round(stack->xla_clusters_count)));
	const struct step_segment updates = all_updates(&c);
	double begin_host_s = host ? stack->session_s : 0;
	struct step_tensor *tensors =
		stretch(&c, find_factor(&c, &updates, begin_host_s, framework->ahead, solo_step_s));
	struct step_profile *profile = ARENA_NEW(arena, struct step_profile);
	*profile = (struct step_profile){
		.segments = c.segments.items,
		.segment_count = c.segments.count,
		.forward_count = c.forward_count,
		.tensors = tensors,
		.tensor_count = c.tensors.count,
		.ops_count = (double)graph.count,
		.step_s = solo_step_s,
		.begin_host_s = begin_host_s,
		.poller_ratio = poller_ratio(stack, host),
		.ahead = framework->ahead,
		.images_count = (double)batch,
		.element_B = stack->fp16_gradients ? 2 : 4,
		.memory_B = stack_memory_B(network, batch, stack),
		.input_B = input_B(network, batch),
	};
	return profile;
}
