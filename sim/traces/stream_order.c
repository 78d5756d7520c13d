/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/traces/stream_order.h"

#include "sim/base/vec.h"
#include "sim/traces/functions.h"
#include "sim/traces/recorded_job.h"

/* PyTorch and NCCL make the two calls of a pair one after the other. */
static const double PAIR_S = 10e-6;

struct ordering {
	struct arena *arena;
	struct recorded_calls *recorded;
	int64_t next_event;
	VEC(int64_t) ends;   /* events at the ends of collectives that no call has waited for */
	size_t waited_count; /* those at the beginning of the list that a call has waited for */
};

static bool is(const struct recorded_call *call, enum call_kind kind)
{
	return call->event < 0 && function_use(call).kind == kind;
}

static bool launches(const struct recorded_call *call)
{
	return recorded_has_peers(call) ||
	       (call->gpu_s >= 0 && call->copy != COPY_H2D && call->copy != COPY_D2H);
}

/* Returns true if a wait has an event, or no call is a collective. */
static bool is_numbered(const struct recorded_calls *recorded)
{
	bool collectives = false;
	for (size_t i = 0; i < recorded->call_count; i++) {
		const struct recorded_call *call = &recorded->calls[i];
		if (call->event >= 0 && function_use(call).kind == CALL_STREAM_WAIT_EVENT)
			return true;
		collectives |= recorded_has_peers(call);
	}
	return !collectives;
}

static void put_event(struct recorded_call *call, int64_t event, int64_t stream)
{
	call->event = event;
	call->stream = stream;
}

/* Orders a collective after the kernels that its thread launched before, and finds its end. Returns
 * the number of the end's event, or -1. */
static int64_t order_collective(struct ordering *o, size_t first, size_t end, size_t index,
				int64_t stream)
{
	struct recorded_call *calls = o->recorded->calls, *collective = &calls[index];
	for (size_t i = index; i-- > first + 1 && !launches(&calls[i]);) {
		bool pair = is(&calls[i], CALL_STREAM_WAIT_EVENT) &&
			    is(&calls[i - 1], CALL_EVENT_RECORD) &&
			    calls[i].start_s - calls[i - 1].end_s < PAIR_S;
		if (!pair || stream < 0)
			continue;
		put_event(&calls[i - 1], o->next_event, stream);
		put_event(&calls[i], o->next_event++, collective->stream);
	}
	for (size_t i = index + 1; i < end && !launches(&calls[i]); i++) {
		if (!is(&calls[i], CALL_EVENT_RECORD))
			continue;
		put_event(&calls[i], o->next_event, collective->stream);
		/* NCCL's own stream waits at once. */
		if (i + 1 < end && is(&calls[i + 1], CALL_STREAM_WAIT_EVENT) &&
		    calls[i + 1].start_s - calls[i].end_s < PAIR_S)
			put_event(&calls[i + 1], o->next_event, collective->stream);
		return o->next_event++;
	}
	return -1;
}

/* Returns the stream of the thread's first kernel that is not a collective, or -1. */
static int64_t first_stream(const struct recorded_call *calls, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++)
		if (launches(&calls[i]) && !recorded_has_peers(&calls[i]))
			return calls[i].stream;
	return -1;
}

/* Forgets the ends of collectives of an earlier step. Returns the number of marks before the call.
 */
static size_t enter_step(struct ordering *o, const struct recorded_call *call, size_t mark)
{
	const struct recorded_calls *recorded = o->recorded;
	while (mark < recorded->mark_count && recorded->marks[mark].t_s <= call->start_s) {
		o->waited_count = o->ends.count;
		mark++;
	}
	return mark;
}

static void order_thread(struct ordering *o, size_t first, size_t end)
{
	struct recorded_call *calls = o->recorded->calls;
	int64_t first_kernel = first_stream(calls, first, end), stream = first_kernel;
	size_t mark = 0;
	o->ends.count = o->waited_count = 0;
	/* The pairs come first, so that the other waits remain. */
	for (size_t i = first; i < end; i++) {
		bool peers = recorded_has_peers(&calls[i]);
		if (peers && calls[i].stream >= 0 && stream != calls[i].stream)
			calls[i].event = order_collective(o, first, end, i, stream);
		else if (!peers && launches(&calls[i]))
			stream = calls[i].stream;
	}
	stream = first_kernel;
	for (size_t i = first; i < end; i++) {
		bool peers = recorded_has_peers(&calls[i]);
		mark = enter_step(o, &calls[i], mark);
		if (peers && calls[i].event >= 0) {
			*VEC_PUSH(o->arena, &o->ends) = calls[i].event;
			calls[i].event = -1;
		} else if (!peers && launches(&calls[i])) {
			stream = calls[i].stream;
		} else if (o->waited_count < o->ends.count && stream >= 0 &&
			   is(&calls[i], CALL_STREAM_WAIT_EVENT)) {
			put_event(&calls[i], o->ends.items[o->waited_count++], stream);
		}
	}
}

void stream_order_find(struct arena *arena, struct recorded_calls *recorded)
{
	struct ordering o = {.arena = arena, .recorded = recorded};
	if (is_numbered(recorded))
		return;
	for (size_t i = 0; i < recorded->call_count; i++)
		if (recorded->calls[i].event >= o.next_event)
			o.next_event = recorded->calls[i].event + 1;
	for (size_t first = 0, end; first < recorded->call_count; first = end) {
		for (end = first; end < recorded->call_count &&
				  recorded->calls[end].thread == recorded->calls[first].thread;)
			end++;
		order_thread(&o, first, end);
	}
}
