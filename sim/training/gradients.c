/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/training/gradients.h"
#include "sim/training/exchange.h"

enum { NONE = -1, EVENTS_OF_BUNDLE = 3 };

struct gradient_writer {
	struct arena *arena;
	struct gradients_params params;
	struct op_graph graph;
	/* A spread program has the next five. */
	struct gradients_first first;
	int32_t *bundle_of; /* by tensor; NONE: its gradient has not been issued */
	struct exchange_bundle *bundles;
	size_t bundle_count, issued_count; /* issued: bundles whose exchange has been issued */
	bool *awaited;       /* by bundle: the compute stream waits for the exchange */
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
	uint32_t first = last ? last->first + last->count : 0;
	uint32_t ready = (uint32_t)writer->order.count;
	if (ready == first)
		return;
	*VEC_PUSH(writer->arena, &writer->hand_overs) = (struct hand_over){first, ready - first};
	mark(issuer, CALL_GRADIENTS, (uint32_t)count);
}

/* ---- bundles of a spread program ---- */

static double tensor_B(const struct gradient_writer *writer, uint32_t tensor)
{
	const struct spread_params *spread = writer->params.spread;
	return exchange_gradient_B(spread->exchange, writer->graph.tensors[tensor].elements_count,
				   spread->element_B);
}

/* Divides the gradients in the order of the graph's ops. A framework may issue these in another
 * order, so a bundle's size is that of the gradients that have then become ready. */
static void find_bundles(struct gradient_writer *writer)
{
	const struct exchange_params *exchange = writer->params.spread->exchange;
	const struct op_graph *graph = &writer->graph;
	size_t count = 0;
	double *sizes_B = ARENA_ARRAY(writer->arena, graph->tensor_count + 1, double);
	writer->bundle_of = ARENA_ARRAY(writer->arena, graph->tensor_count + 1, int32_t);
	for (size_t i = 0; i < graph->tensor_count; i++)
		writer->bundle_of[i] = NONE;
	for (size_t i = 0; i < graph->count; i++)
		for (uint32_t k = 0; k < graph->ops[i].gradient_count; k++)
			sizes_B[count++] = tensor_B(writer, graph->ops[i].gradients[k]);
	writer->bundles =
		exchange_divide(writer->arena, exchange, sizes_B, count, &writer->bundle_count);
	writer->awaited = ARENA_ARRAY(writer->arena, writer->bundle_count + 1, bool);
}

static uint16_t event_of(const struct gradient_writer *writer, size_t bundle, unsigned which)
{
	return (uint16_t)(writer->first.event + EVENTS_OF_BUNDLE * bundle + which);
}

/* Issues the exchange of a bundle; it waits for all earlier calls on the compute stream. */
static void bundle_issue(struct gradient_writer *writer, struct issuer *issuer, size_t index)
{
	const struct exchange_bundle *bundle = &writer->bundles[index];
	const struct exchange_params *exchange = writer->params.spread->exchange;
	uint16_t computed = event_of(writer, index, 0), exchanged = event_of(writer, index, 1);
	uint16_t stream = writer->first.stream;
	bool on_cpu = writer->params.spread->on_cpu;
	issue_call(issuer, CALL_EVENT_RECORD, 0)->event = computed;
	issue_call(issuer, CALL_STREAM_WAIT_EVENT, stream)->event = computed;
	bool copies = !on_cpu && bundle->end - bundle->first > 1;
	if (copies)
		issue_bundle_copy(issuer, exchange, bundle->size_B, stream);
	struct cuda_call *call =
		issue_call(issuer, on_cpu ? CALL_MEMCPY_D2H_ASYNC : CALL_ALL_REDUCE, stream);
	call->payload_B = bundle->size_B;
	call->label = on_cpu ? "gradients to host" : "gradients";
	if (copies)
		issue_bundle_copy(issuer, exchange, bundle->size_B, stream);
	issue_call(issuer, CALL_EVENT_RECORD, stream)->event = exchanged;
	if (on_cpu)
		issue_watch(issuer, exchanged, writer->first.signal + (uint32_t)index);
}

/* Issues the exchange of a bundle whose gradients are all ready, and sets the bundle of each. */
static void bundles_issue(struct gradient_writer *writer, struct issuer *issuer)
{
	for (; writer->issued_count < writer->bundle_count; writer->issued_count++) {
		struct exchange_bundle *bundle = &writer->bundles[writer->issued_count];
		if (bundle->end > writer->order.count)
			return;
		bundle->size_B = 0;
		for (size_t i = bundle->first; i < bundle->end; i++) {
			uint32_t tensor = writer->order.items[i];
			writer->bundle_of[tensor] = (int32_t)writer->issued_count;
			bundle->size_B += tensor_B(writer, tensor);
		}
		bundle_issue(writer, issuer, writer->issued_count);
	}
}

/* Makes the compute stream wait for the exchange of a gradient. */
static void bundle_await(struct gradient_writer *writer, struct issuer *issuer, uint32_t tensor)
{
	int32_t index = writer->bundle_of[tensor];
	FW_ASSERT(index != NONE);
	if (!writer->awaited[index])
		issue_call(issuer, CALL_STREAM_WAIT_EVENT, 0)->event =
			event_of(writer, (size_t)index, 1);
	writer->awaited[index] = true;
}

/* ---- the program of one GPU ---- */

void gradients_begin(struct issuer *issuer, const struct op_graph *graph,
		     const struct gradients_first *first)
{
	struct gradient_writer *writer = issuer->gradients;
	double clusters = fmax(1, round(issuer->stack->xla_clusters_count)), backward_s = 0;
	bool backward = false;
	if (!writer)
		return;
	writer->graph = *graph;
	writer->first = *first;
	if (writer->params.spread) {
		find_bundles(writer);
		return;
	}
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

bool gradients_before(struct issuer *issuer, const struct op *op)
{
	struct gradient_writer *writer = issuer->gradients;
	const struct spread_params *spread = writer ? writer->params.spread : NULL;
	if (!writer || op->update_of == NO_TENSOR)
		return true;
	if (writer->updating) {
		if (spread && !spread->on_cpu)
			bundle_await(writer, issuer, op->update_of);
		return !spread || !spread->on_cpu;
	}
	if (spread || writer->params.updates_in_stream) {
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

void gradients_behind(struct issuer *issuer, const struct op *op)
{
	struct gradient_writer *writer = issuer->gradients;
	if (!writer || writer->updating)
		return;
	for (uint32_t k = 0; k < op->gradient_count; k++) {
		*VEC_PUSH(writer->arena, &writer->order) = op->gradients[k];
		if (writer->params.spread)
			bundles_issue(writer, issuer);
	}
	if (writer->params.spread)
		return;
	double time_s = op_s(issuer, op);
	writer->gradients.compute_s += time_s;
	if (writer->backward)
		writer->backward_s += time_s;
	if (op == &writer->graph.ops[writer->graph.output]) {
		writer->backward = true;
		writer->gradients.forward_s = writer->gradients.compute_s;
	}
	if (!writer->params.held && writer->backward && cluster_ends(writer))
		hand_over(writer, issuer);
}

void gradients_end(struct issuer *issuer)
{
	struct gradient_writer *writer = issuer->gradients;
	if (!writer)
		return;
	bool marks = !writer->params.spread;
	if (marks)
		hand_over(writer, issuer);
	writer->updating = true;
	if (marks && writer->params.updates_in_stream)
		mark(issuer, CALL_REDUCED, 0);
	for (size_t i = 0; i < writer->updates.count; i++)
		issue_op(issuer, writer->updates.items[i], 0);
	if (marks)
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

/* ---- several GPUs ---- */

/* Copies the thread of one GPU for GPU `device`, with that GPU's streams, events and signals. */
static struct call_thread thread_of(struct arena *arena, const struct call_thread *one,
				    size_t device, uint32_t signal_count)
{
	struct item *items = ARENA_ARRAY(arena, one->count + 1, struct item);
	memcpy(items, one->items, one->count * sizeof *items);
	for (size_t i = 0; i < one->count; i++) {
		items[i].call.device = (uint16_t)device;
		items[i].signal += (uint32_t)device * signal_count;
	}
	return (struct call_thread){arena_printf(arena, "%s %zu", one->name, device), items,
				    one->count};
}

/* Writes the thread that adds the gradients of all GPUs, bundle by bundle as they become ready,
 * and copies the new values back. Each copy posts the signal `seen` at its end. */
static struct call_thread variables_thread(const struct gradient_writer *writer,
					   uint32_t signal_count, uint32_t seen)
{
	static const struct stack_params no_arguments = {0};
	struct issuer issuer = {.arena = writer->arena, .stack = &no_arguments};
	const struct gradients_first *first = &writer->first;
	size_t devices = writer->params.spread->device_count;
	for (size_t b = 0; b < writer->bundle_count; b++) {
		double size_B = writer->bundles[b].size_B;
		for (size_t d = 0; d < devices; d++)
			issue_await(&issuer,
				    (uint32_t)d * signal_count + first->signal + (uint32_t)b, 1);
		issue_item(&issuer, ITEM_THINK)->work_s =
			size_B * (double)devices / writer->params.spread->cpu_Bps;
		for (size_t d = 0; d < devices; d++) {
			struct cuda_call *copy =
				issue_call(&issuer, CALL_MEMCPY_H2D_ASYNC, first->stream);
			copy->payload_B = size_B;
			copy->label = "variables to device";
			copy->device = (uint16_t)d;
			struct cuda_call *record =
				issue_call(&issuer, CALL_EVENT_RECORD, first->stream);
			record->event = event_of(writer, b, 2);
			record->device = (uint16_t)d;
			issue_watch(&issuer, event_of(writer, b, 2), seen)->call.device =
				(uint16_t)d;
		}
	}
	issue_await(&issuer, seen, (uint32_t)(writer->bundle_count * devices));
	return (struct call_thread){"variables", issuer.items.items, issuer.items.count};
}

const struct program *gradients_program(const struct issuer *issuer, const struct program *one)
{
	const struct gradient_writer *writer = issuer->gradients;
	if (!writer || !writer->params.spread)
		return one;
	struct arena *arena = writer->arena;
	size_t devices = writer->params.spread->device_count, count = 0;
	uint32_t signal_count = one->signal_count + (uint32_t)writer->bundle_count;
	struct program *program = ARENA_NEW(arena, struct program);
	struct call_thread *threads =
		ARENA_ARRAY(arena, one->thread_count * devices + 1, struct call_thread);
	for (size_t t = 0; t < one->thread_count; t++)
		for (size_t d = 0; d < devices; d++)
			threads[count++] = thread_of(arena, &one->threads[t], d, signal_count);
	*program = *one;
	program->stream_count++;
	program->event_count += (uint16_t)(EVENTS_OF_BUNDLE * writer->bundle_count);
	program->signal_count = (uint32_t)devices * signal_count;
	if (writer->params.spread->on_cpu)
		threads[count++] = variables_thread(writer, signal_count, program->signal_count++);
	program->threads = threads;
	program->thread_count = count;
	program->device_count = (uint16_t)devices;
	program->images_count = one->images_count * (double)devices;
	return program;
}
