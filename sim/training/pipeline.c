/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/training/pipeline.h"

#include <math.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/training/issue.h"

/* Streams. DOWN carries activations to later stages, UP carries gradients to earlier ones. */
enum { COMPUTE, DOWN, UP, STREAM_COUNT };

/* ---- cutting ---- */

/* Returns true if no layer behind `layer` takes the output of a layer before it. */
static bool can_cut_after(const struct network *network, size_t layer)
{
	for (size_t i = layer + 1; i < network->layer_count; i++)
		for (size_t k = 0; k < network->layers[i].input_count; k++)
			if (network->layers[i].inputs[k] < layer)
				return false;
	return true;
}

static double macs_up_to(const struct network *network, size_t layer)
{
	double macs = 0;
	for (size_t i = 0; i <= layer; i++)
		macs += network->layers[i].macs;
	return macs;
}

bool pipeline_cut(struct arena *arena, const struct network *network, size_t stage_count,
		  size_t *cuts)
{
	size_t *possible = ARENA_ARRAY(arena, network->layer_count, size_t), count = 0;
	for (size_t i = 1; i + 1 < network->layer_count; i++)
		if (can_cut_after(network, i))
			possible[count++] = i;
	if (count + 1 < stage_count)
		return false;
	double all = macs_up_to(network, network->layer_count - 1);
	size_t next = 0;
	for (size_t s = 0; s + 1 < stage_count; s++) {
		double wanted = all * (double)(s + 1) / (double)stage_count;
		size_t last = count - (stage_count - 1 -
				       s); /* leaves at least one cut for each later stage */
		while (next < last && fabs(macs_up_to(network, possible[next + 1]) - wanted) <=
					      fabs(macs_up_to(network, possible[next]) - wanted))
			next++;
		cuts[s] = possible[next++];
	}
	return true;
}

/* ---- a rank's program ---- */

struct writer {
	struct issuer issuer;
	const struct op_graph *graph;
	size_t first, last; /* layers of the stage */
	uint16_t event;     /* next unused event */
};

static void issue_ops(struct writer *w, enum op_pass pass)
{
	for (size_t i = 0; i < w->graph->count; i++) {
		const struct op *op = &w->graph->ops[i];
		if (op->pass == pass && op->layer >= w->first && op->layer <= w->last)
			issue_op(&w->issuer, op, COMPUTE);
	}
}

/* Makes later calls on stream `behind` wait for earlier calls on `stream`. */
static void order(struct writer *w, uint16_t stream, uint16_t behind)
{
	issue_call(&w->issuer, CALL_EVENT_RECORD, stream)->event = w->event;
	issue_call(&w->issuer, CALL_STREAM_WAIT_EVENT, behind)->event = w->event++;
}

static void receive(struct writer *w, uint16_t stream, size_t peer, double size_B)
{
	struct cuda_call *call = issue_call(&w->issuer, CALL_RECEIVE, stream);
	call->payload_B = size_B;
	call->peer = (uint32_t)peer;
	call->label = "receive";
	order(w, stream, COMPUTE);
}

static void send(struct writer *w, uint16_t stream, size_t peer, double size_B)
{
	order(w, COMPUTE, stream);
	struct cuda_call *call = issue_call(&w->issuer, CALL_SEND, stream);
	call->payload_B = size_B;
	call->peer = (uint32_t)peer;
	call->label = "send";
}

const struct program *pipeline_program(struct arena *arena, const struct step_spec *spec,
				       const struct pipeline_params *pipeline)
{
	const struct network *network = spec->network;
	size_t count = pipeline->micro_batch_count, stage = pipeline->stage;
	size_t stages = pipeline->stage_count, micro = spec->batch / count;
	size_t *cuts = ARENA_ARRAY(arena, stages, size_t);
	struct op_graph graph = op_graph_new(arena, network, micro, spec->stack, spec->gpu);
	bool possible = pipeline_cut(arena, network, stages, cuts);
	FW_ASSERT(possible && spec->batch % count == 0);
	struct writer w = {
		.issuer = issuer_new(arena, spec, 0),
		.graph = &graph,
		.first = stage > 0 ? cuts[stage - 1] + 1 : 0,
		.last = stage + 1 < stages ? cuts[stage] : network->layer_count - 1,
	};
	double image_B = (double)micro * stack_element_B(spec->stack);
	double in_B = stage > 0 ? network->layers[cuts[stage - 1]].output_count * image_B : 0;
	double out_B = network->layers[w.last].output_count * image_B;
	issue_item(&w.issuer, ITEM_THINK)->work_s = spec->stack->session_s;
	for (size_t m = 0; m < count; m++) {
		if (stage > 0)
			receive(&w, DOWN, stage - 1, in_B);
		issue_ops(&w, PASS_FORWARD);
		if (stage + 1 < stages)
			send(&w, DOWN, stage + 1, out_B);
	}
	for (size_t m = 0; m < count; m++) {
		if (stage + 1 < stages)
			receive(&w, UP, stage + 1, out_B);
		issue_ops(&w, PASS_BACKWARD);
		if (stage > 0)
			send(&w, UP, stage - 1, in_B);
	}
	issue_ops(&w, PASS_UPDATE);
	issue_call(&w.issuer, CALL_DEVICE_SYNCHRONIZE, COMPUTE);
	struct call_thread *thread = ARENA_NEW(arena, struct call_thread);
	*thread = (struct call_thread){"main", w.issuer.items.items, w.issuer.items.count};
	struct program *program = ARENA_NEW(arena, struct program);
	/* A rank keeps the activations of all micro-batches for its part of the network. All stages
	 * are assumed to need the same memory. */
	*program = (struct program){
		.threads = thread,
		.thread_count = 1,
		.stream_count = STREAM_COUNT,
		.event_count = w.event,
		.memory_B = stack_memory_B(network, spec->batch, spec->stack) / (double)stages,
		.images_count = (double)spec->batch,
	};
	return program;
}
