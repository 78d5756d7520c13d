/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/training/spread.h"

#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/base/vec.h"

enum { NONE = -1, EVENTS_OF_BUNDLE = 3 };

struct bundle {
	double size_B;
	size_t tensor_count;
	bool awaited; /* the compute stream waits for the exchange */
};

struct spread {
	const struct spread_params *params;
	const struct op_tensor *tensors;
	uint16_t stream, event;
	uint32_t signal;
	int32_t *bundle_of; /* by tensor; NONE: its gradient has not been issued */
	struct bundle *bundles;
	const size_t *ends;             /* by bundle, in tensors by readiness */
	size_t count;                   /* bundles */
	size_t tensor_count;            /* whose gradients have been issued */
	size_t issued_count;            /* bundles whose exchange has been issued */
	VEC(const struct op *) updates; /* updates that are held back, in the framework's order */
	bool updating;                  /* spread_update issues the updates */
};

/* Gradients become ready in the order of their ops. */
static void find_bundles(struct arena *arena, struct spread *spread, const struct op_graph *graph)
{
	const struct exchange_params *exchange = spread->params->exchange;
	const struct exchange_policy *policy = exchange_policy_at((size_t)exchange->policy);
	size_t *ends = ARENA_ARRAY(arena, graph->tensor_count + 1, size_t), count = 0;
	double *sizes_B = ARENA_ARRAY(arena, graph->tensor_count + 1, double);
	for (size_t i = 0; i < graph->count; i++)
		for (uint32_t k = 0; k < graph->ops[i].gradient_count; k++)
			sizes_B[count++] = exchange_gradient_B(
				exchange, graph->tensors[graph->ops[i].gradients[k]].elements_count,
				spread->params->element_B);
	spread->count = policy->ends(exchange, sizes_B, count, ends);
	spread->ends = ends;
}

struct spread *spread_new(struct arena *arena, const struct spread_params *params,
			  const struct op_graph *graph, uint16_t stream, uint16_t event,
			  uint32_t signal)
{
	struct spread *spread = ARENA_NEW(arena, struct spread);
	*spread = (struct spread){
		.params = params,
		.tensors = graph->tensors,
		.stream = stream,
		.event = event,
		.signal = signal,
		.bundle_of = ARENA_ARRAY(arena, graph->tensor_count + 1, int32_t),
		.bundles = ARENA_ARRAY(arena, graph->tensor_count + 1, struct bundle),
	};
	for (size_t i = 0; i < graph->tensor_count; i++)
		spread->bundle_of[i] = NONE;
	find_bundles(arena, spread, graph);
	return spread;
}

static uint16_t event_of(const struct spread *spread, size_t bundle, unsigned which)
{
	return (uint16_t)(spread->event + EVENTS_OF_BUNDLE * bundle + which);
}

/* Issues the exchange of a bundle; it waits for all earlier calls on the compute stream. */
static void bundle_issue(struct spread *spread, struct issuer *issuer, size_t index)
{
	struct bundle *bundle = &spread->bundles[index];
	uint16_t computed = event_of(spread, index, 0), exchanged = event_of(spread, index, 1);
	bool on_cpu = spread->params->on_cpu;
	issue_call(issuer, CALL_EVENT_RECORD, 0)->event = computed;
	issue_call(issuer, CALL_STREAM_WAIT_EVENT, spread->stream)->event = computed;
	bool copies = !on_cpu && bundle->tensor_count > 1;
	if (copies)
		issue_bundle_copy(issuer, spread->params->exchange, bundle->size_B, spread->stream);
	struct cuda_call *call = issue_call(
		issuer, on_cpu ? CALL_MEMCPY_D2H_ASYNC : CALL_ALL_REDUCE, spread->stream);
	call->payload_B = bundle->size_B;
	call->label = on_cpu ? "gradients to host" : "gradients";
	if (copies)
		issue_bundle_copy(issuer, spread->params->exchange, bundle->size_B, spread->stream);
	issue_call(issuer, CALL_EVENT_RECORD, spread->stream)->event = exchanged;
	if (!on_cpu)
		return;
	struct item *watch = issue_item(issuer, ITEM_WATCH);
	watch->call.event = exchanged;
	watch->signal = spread->signal + (uint32_t)index;
}

bool spread_before(struct spread *spread, struct issuer *issuer, const struct op *op)
{
	if (op->update_of == NO_TENSOR)
		return true;
	if (!spread->updating) {
		*VEC_PUSH(issuer->arena, &spread->updates) = op;
		return false;
	}
	int32_t index = spread->bundle_of[op->update_of];
	FW_ASSERT(index != NONE);
	struct bundle *bundle = &spread->bundles[index];
	if (spread->params->on_cpu)
		return false;
	if (!bundle->awaited)
		issue_call(issuer, CALL_STREAM_WAIT_EVENT, 0)->event =
			event_of(spread, (size_t)index, 1);
	bundle->awaited = true;
	return true;
}

void spread_update(struct spread *spread, struct issuer *issuer)
{
	spread->updating = true;
	for (size_t i = 0; i < spread->updates.count; i++)
		issue_op(issuer, spread->updates.items[i], 0);
}

void spread_behind(struct spread *spread, struct issuer *issuer, const struct op *op)
{
	for (uint32_t i = 0; i < op->gradient_count; i++) {
		size_t bundle = spread->issued_count;
		FW_ASSERT(bundle < spread->count);
		spread->bundle_of[op->gradients[i]] = (int32_t)bundle;
		spread->bundles[bundle].tensor_count++;
		spread->bundles[bundle].size_B += exchange_gradient_B(
			spread->params->exchange, spread->tensors[op->gradients[i]].elements_count,
			spread->params->element_B);
		if (++spread->tensor_count == spread->ends[bundle])
			bundle_issue(spread, issuer, spread->issued_count++);
	}
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
static struct call_thread variables_thread(struct arena *arena, const struct spread *spread,
					   uint32_t signal_count, uint32_t seen)
{
	static const struct stack_params no_arguments = {0};
	struct issuer issuer = {.arena = arena, .stack = &no_arguments};
	size_t devices = spread->params->device_count;
	for (size_t b = 0; b < spread->count; b++) {
		double size_B = spread->bundles[b].size_B;
		for (size_t d = 0; d < devices; d++) {
			struct item *await = issue_item(&issuer, ITEM_AWAIT);
			await->signal = (uint32_t)d * signal_count + spread->signal + (uint32_t)b;
			await->count = 1;
		}
		issue_item(&issuer, ITEM_THINK)->work_s =
			size_B * (double)devices / spread->params->cpu_Bps;
		for (size_t d = 0; d < devices; d++) {
			struct cuda_call *copy =
				issue_call(&issuer, CALL_MEMCPY_H2D_ASYNC, spread->stream);
			copy->payload_B = size_B;
			copy->label = "variables to device";
			copy->device = (uint16_t)d;
			struct cuda_call *record =
				issue_call(&issuer, CALL_EVENT_RECORD, spread->stream);
			record->event = event_of(spread, b, 2);
			record->device = (uint16_t)d;
			struct item *watch = issue_item(&issuer, ITEM_WATCH);
			watch->call.event = event_of(spread, b, 2);
			watch->call.device = (uint16_t)d;
			watch->signal = seen;
		}
	}
	struct item *all = issue_item(&issuer, ITEM_AWAIT);
	all->signal = seen;
	all->count = (uint32_t)(spread->count * devices);
	return (struct call_thread){"variables", issuer.items.items, issuer.items.count};
}

const struct program *spread_program(struct arena *arena, const struct spread *spread,
				     const struct program *one)
{
	size_t devices = spread->params->device_count, count = 0;
	uint32_t signal_count = one->signal_count + (uint32_t)spread->count;
	struct program *program = ARENA_NEW(arena, struct program);
	struct call_thread *threads =
		ARENA_ARRAY(arena, one->thread_count * devices + 1, struct call_thread);
	for (size_t t = 0; t < one->thread_count; t++)
		for (size_t d = 0; d < devices; d++)
			threads[count++] = thread_of(arena, &one->threads[t], d, signal_count);
	*program = *one;
	program->stream_count++;
	program->event_count += (uint16_t)(EVENTS_OF_BUNDLE * spread->count);
	program->signal_count = (uint32_t)devices * signal_count;
	if (spread->params->on_cpu)
		threads[count++] =
			variables_thread(arena, spread, signal_count, program->signal_count++);
	program->threads = threads;
	program->thread_count = count;
	program->device_count = (uint16_t)devices;
	program->images_count = one->images_count * (double)devices;
	return program;
}
