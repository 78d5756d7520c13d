/* SPDX-License-Identifier: GPL-3.0-or-later */
/* TensorFlow 1.x: a graph executor that issues ops breadth-first.
 *
 * One executor thread takes ops from a first-in-first-out queue of ready ops. For the executor
 * a GPU op is done when it is issued. The ops that become ready then join the end of the queue.
 * So a step begins with all ops that need only variables: the losses and gradients of weight
 * decay, hundreds of tiny kernels. At that time the launch queue of the GPU is almost empty.
 *
 * A step is one session.run. It ends when the loss is on the host and the GPU has done all
 * updates, so the host runs ahead only within a step. Copies use separate streams. The
 * event-polling thread notices their end (EventMgr: it queries every pending event, then sleeps
 * 10 us while one is pending). A lock protects its queue of events. The executor holds the lock
 * while it records an event; behind a copy it also queries the oldest events (ThenExecute). With
 * real input, a host thread copies each batch into a staging area at the start of the step before
 * the one that uses the batch.
 */
#include "sim/training/gradients.h"
#include "sim/training/framework.h"

enum { COMPUTE, HOST_TO_DEVICE, DEVICE_TO_HOST, STREAM_COUNT };
enum { LOSS_BACK, GPU_DONE, INPUT_THERE, EXTRA_SEEN, SIGNAL_COUNT };
enum { EVENT_LOSS = 0, EVENT_DONE = 2, EVENT_INPUT = 4, EVENT_CALLS = 6, EVENT_EXTRA };
/* Events for the extra records; each record has its own. */
enum { EXTRA_EVENTS = 4096, EXTRA_MAX = EXTRA_EVENTS };

struct consumers {
	uint32_t *first; /* the list of op i is list[first[i]] .. list[first[i + 1] - 1] */
	uint32_t *list;
};

static struct consumers find_consumers(struct arena *arena, const struct op_graph *graph)
{
	struct consumers c = {.first = ARENA_ARRAY(arena, graph->count + 1, uint32_t)};
	for (size_t i = 0; i < graph->count; i++)
		for (uint32_t k = 0; k < graph->ops[i].input_count; k++)
			c.first[graph->ops[i].inputs[k] + 1]++;
	for (size_t i = 0; i < graph->count; i++)
		c.first[i + 1] += c.first[i];
	c.list = ARENA_ARRAY(arena, c.first[graph->count] + 1, uint32_t);
	uint32_t *next = ARENA_ARRAY(arena, graph->count + 1, uint32_t);
	memcpy(next, c.first, graph->count * sizeof *next);
	for (size_t i = 0; i < graph->count; i++)
		for (uint32_t k = 0; k < graph->ops[i].input_count; k++)
			c.list[next[graph->ops[i].inputs[k]]++] = (uint32_t)i;
	return c;
}

static const uint32_t *breadth_first(struct arena *arena, const struct op_graph *graph)
{
	uint32_t *order = ARENA_ARRAY(arena, graph->count, uint32_t);
	struct consumers consumers = find_consumers(arena, graph);
	uint32_t *waiting = ARENA_ARRAY(arena, graph->count, uint32_t);
	size_t tail = 0;
	for (size_t i = 0; i < graph->count; i++) {
		waiting[i] = graph->ops[i].input_count;
		if (waiting[i] == 0)
			order[tail++] = (uint32_t)i;
	}
	for (size_t head = 0; head < tail; head++) {
		uint32_t op = order[head];
		for (uint32_t k = consumers.first[op]; k < consumers.first[op + 1]; k++)
			if (--waiting[consumers.list[k]] == 0)
				order[tail++] = consumers.list[k];
	}
	FW_ASSERT(tail == graph->count);
	return order;
}

/* Spreads events_per_step_count records evenly over the ops of a step; the poller watches each. */
static void issue_extra(struct issuer *issuer, size_t op, size_t op_count, uint32_t *made)
{
	double wanted = issuer->stack->events_per_step_count * (double)(op + 1) / (double)op_count;
	for (; *made < EXTRA_MAX && *made + 1 <= wanted; (*made)++) {
		uint16_t event = (uint16_t)(EVENT_EXTRA + *made);
		issue_call(issuer, CALL_EVENT_RECORD, COMPUTE)->event = event;
		issue_watch(issuer, event, EXTRA_SEEN);
	}
}

/* Copies real input to the GPU and waits for it. */
static void issue_input(struct issuer *issuer, const struct step_spec *spec)
{
	if (!spec->stack->real_input)
		return;
	issue_copy_and_watch(issuer, CALL_MEMCPY_H2D_ASYNC, input_B(spec->network, spec->batch),
			     !spec->stack->pinned_input, COMPUTE, HOST_TO_DEVICE, EVENT_INPUT,
			     INPUT_THERE);
	issue_await(issuer, INPUT_THERE, 1);
}

/* Sets the number of extra records. */
static struct call_thread executor_thread(struct issuer *issuer, const struct step_spec *spec,
					  const struct op_graph *graph, uint32_t *extra)
{
	const uint32_t *order = breadth_first(issuer->arena, graph);
	const struct gradients_first first = {STREAM_COUNT, EVENT_EXTRA + EXTRA_EVENTS,
					      SIGNAL_COUNT};
	gradients_begin(issuer, graph, &first);
	issue_begin(issuer, spec->network);
	if (spec->stack->forward_only)
		issue_input(issuer, spec);
	for (size_t i = 0; i < graph->count; i++) {
		issue_op(issuer, &graph->ops[order[i]], COMPUTE);
		issue_extra(issuer, i, graph->count, extra);
		if (order[i] == graph->loss)
			issue_copy_and_watch(issuer, CALL_MEMCPY_D2H_ASYNC, 4, false, COMPUTE,
					     DEVICE_TO_HOST, EVENT_LOSS, LOSS_BACK);
	}
	gradients_end(issuer);
	/* The global step is a variable on the CPU that is incremented after all updates
	 * (tf_cnn_benchmarks, inc_global_step). This control edge between devices is a copy of 0
	 * bytes, so the step ends when the GPU has finished. Programs without such a variable leave
	 * this to the executor, which synchronises the device (executor.cc, sync_on_finish_). */
	bool ends =
		!issuer->gradients || issuer->spreads; /* otherwise the step's last mark ends it */
	if (ends && issuer->stack->sync_on_finish)
		issue_call(issuer, CALL_DEVICE_SYNCHRONIZE, COMPUTE);
	else if (ends)
		issue_copy_and_watch(issuer, CALL_MEMCPY_D2H_ASYNC, 0, false, COMPUTE,
				     DEVICE_TO_HOST, EVENT_DONE, GPU_DONE);
	issue_await(issuer, LOSS_BACK, 1);
	if (ends && !issuer->stack->sync_on_finish)
		issue_await(issuer, GPU_DONE, 1);
	return (struct call_thread){"executor", issuer->items.items, issuer->items.count};
}

/* The thread that stages the input of the next step. */
static struct call_thread input_thread(struct issuer *issuer, const struct step_spec *spec)
{
	issue_item(issuer, ITEM_THINK)->work_s =
		issuer->stack->session_s + issuer->stack->dispatch_s;
	issue_input(issuer, spec);
	return (struct call_thread){"input", issuer->items.items, issuer->items.count};
}

static const struct program *program(struct arena *arena, const struct step_spec *spec)
{
	struct op_graph graph =
		op_graph_new(arena, spec->network, spec->batch, spec->stack, spec->gpu);
	struct issuer executor = issuer_new(arena, spec, EVENT_CALLS), input = executor;
	uint32_t extra = 0;
	struct call_thread threads[2] = {executor_thread(&executor, spec, &graph, &extra)};
	if (spec->stack->real_input && !spec->stack->forward_only)
		threads[1] = input_thread(&input, spec);
	return issue_program(
		&executor, spec, threads,
		(struct program){.stream_count = STREAM_COUNT,
				 .event_count = (uint16_t)(EVENT_EXTRA +
							   (spec->spread ? EXTRA_EVENTS : extra)),
				 .signal_count = SIGNAL_COUNT,
				 .poller.lock = true});
}

const struct framework framework_tensorflow_1 = {
	.name = "tensorflow-1",
	.help = "TensorFlow 1.x: breadth-first executor, event-polling thread, one session.run for "
		"each step",
	.pool = true,
	.program = program,
};
