/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/traces/profile.h"
#include "sim/traces/functions.h"
#include "sim/traces/recorded_job.h"

static int by_correlation(const void *a, const void *b)
{
	const struct profile_work *x = a, *y = b;
	return ORDER_THEN(x->correlation, y->correlation, ORDER(x->start_ns, y->start_ns));
}

static int call_by_correlation(const void *a, const void *b)
{
	const struct profile_call *x = a, *y = b;
	return ORDER_THEN(x->correlation, y->correlation, ORDER(x->start_ns, y->start_ns));
}

static struct profile_call *call_of(struct profile *p, int64_t correlation)
{
	size_t low = 0, high = p->calls.count;
	while (low < high) {
		p->counts.looks++;
		size_t middle = (low + high) / 2;
		if (p->calls.items[middle].correlation < correlation)
			low = middle + 1;
		else
			high = middle;
	}
	bool found = correlation >= 0 && low < p->calls.count &&
		     p->calls.items[low].correlation == correlation;
	return found ? &p->calls.items[low] : NULL;
}

/* Takes direction and memory from the label, for example "Memcpy HtoD (Pinned -> Device)". */
static void take_copy(struct recorded_call *call, const struct profile_work *work)
{
	enum recorded_copy copy = recorded_direction(work->label);
	call->copy = copy ? (uint8_t)copy : COPY_D2D;
	call->size_B = work->size_B;
	if (strstr(work->label, "Pageable"))
		call->memory = MEMORY_PAGEABLE;
	else if (strstr(work->label, "Pinned"))
		call->memory = MEMORY_PINNED;
}

/* Joins work of the GPU to its call. If one call starts several kernels (a graph), its GPU time
 * lasts from the begin of the first kernel to the end of the last. */
static void join_work(struct profile *p, const struct profile_work *work)
{
	struct profile_call *at = call_of(p, work->correlation);
	if (!at) {
		p->counts.orphans +=
			work->category != CATEGORY_SYNC && work->category != CATEGORY_EVENT;
		return;
	}
	struct recorded_call *call = &at->call;
	if (work->stream >= 0)
		call->stream = work->stream;
	if (work->category == CATEGORY_EVENT) {
		/* A trace identifies an event by the correlation of the call that records it. */
		call->event = work->awaited >= 0 ? work->awaited : work->correlation;
		return;
	}
	if (work->category == CATEGORY_SYNC) {
		struct profile_call *record = call_of(p, work->awaited);
		if (record) {
			record->call.event = call->event = work->awaited;
			record->call.stream = work->recorded_on;
		}
		return;
	}
	double start_s = (double)(work->start_ns - p->base_ns) * 1e-9;
	double lasts_s = (double)work->lasts_ns * 1e-9;
	if (call->gpu_s >= 0) {
		double earlier_s = fmax(0, call->gpu_start_s - start_s);
		call->gpu_start_s -= earlier_s;
		call->gpu_s = fmax(call->gpu_s + earlier_s, start_s + lasts_s - call->gpu_start_s);
		return;
	}
	call->gpu_start_s = start_s;
	call->gpu_s = lasts_s;
	if (work->category == CATEGORY_COPY)
		take_copy(call, work);
	else if (work->category == CATEGORY_KERNEL)
		call->label = work->label;
	if (work->record)
		at->record = work->record;
}

static int by_thread_and_start(const void *a, const void *b)
{
	const struct profile_span *x = a, *y = b;
	return ORDER_THEN(x->thread, y->thread, ORDER(x->start_ns, y->start_ns));
}

/* Returns the record of the innermost span around a call, plus 1; 0: there is none. */
static size_t record_around(struct profile *p, const struct profile_call *call)
{
	enum { NESTED_MAX = 4 }; /* PyTorch nests two */
	size_t low = 0, high = p->spans.count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct profile_span *span = &p->spans.items[middle];
		bool before =
			span->thread < call->call.thread ||
			(span->thread == call->call.thread && span->start_ns <= call->start_ns);
		low = before ? middle + 1 : low;
		high = before ? high : middle;
	}
	for (size_t i = 0; i < NESTED_MAX && i < low; i++) {
		const struct profile_span *span = &p->spans.items[low - 1 - i];
		if (span->thread == call->call.thread && span->end_ns >= call->start_ns)
			return span->record + 1;
	}
	return 0;
}

/* Makes the launches of NCCL's kernels collectives, if their records say enough. */
static void join_collectives(struct profile *p)
{
	double world_count = p->world_count <= RECORDED_RANKS_MAX ? fmax(p->world_count, 0) : 0;
	recorded_sort(p->spans.items, p->spans.count, sizeof *p->spans.items, by_thread_and_start);
	for (size_t i = 0; i < p->calls.count; i++) {
		struct profile_call *call = &p->calls.items[i];
		const char *label = call->call.label;
		if (!label || (strncmp(label, "nccl", 4) != 0 && strncmp(label, "rccl", 4) != 0))
			continue;
		size_t record = call->record ? call->record : record_around(p, call);
		if (record && collective_record_apply(&p->records.items[record - 1],
						      (uint32_t)world_count, &call->call))
			p->counts.collectives++;
		else
			p->counts.unknown_collectives++;
	}
}

static void put_marks(struct profile *p, struct recorded_calls *recorded)
{
	size_t count = p->marks.count;
	const struct profile_mark *last = p->marks.items;
	recorded->marks = ARENA_ARRAY(p->arena, count + 1, struct recorded_mark);
	for (size_t i = 0; i < count; i++) {
		const struct profile_mark *mark = &p->marks.items[i];
		recorded->marks[recorded->mark_count++] = (struct recorded_mark){
			(double)(mark->start_ns - p->base_ns) * 1e-9, mark->step, mark->thread};
		if (mark->end_ns > last->end_ns)
			last = mark;
	}
	if (count > 0)
		recorded->marks[recorded->mark_count++] = (struct recorded_mark){
			(double)(last->end_ns - p->base_ns) * 1e-9, last->step + 1, last->thread};
}

/* Turns the profiler's calls into recorded ones, which are smaller and so fit in their place. A
 * large trace has no room for both. */
static struct recorded_call *calls_in_place(struct profile *p)
{
	void *place = p->calls.items;
	struct recorded_call *calls = place;
	for (size_t i = 0; i < p->calls.count; i++) {
		struct profile_call from;
		memcpy(&from, &p->calls.items[i], sizeof from);
		from.call.start_s = (double)(from.start_ns - p->base_ns) * 1e-9;
		from.call.end_s = (double)(from.start_ns + from.lasts_ns - p->base_ns) * 1e-9;
		memcpy(&calls[i], &from.call, sizeof from.call);
	}
	p->calls.count = 0;
	return calls;
}

void profile_join_works(struct profile *p)
{
	if (p->joined_count == 0) {
		p->base_ns = INT64_MAX;
		for (size_t i = 0; i < p->calls.count; i++)
			if (p->calls.items[i].start_ns < p->base_ns)
				p->base_ns = p->calls.items[i].start_ns;
		for (size_t i = 0; i < p->marks.count; i++)
			if (p->marks.items[i].start_ns < p->base_ns)
				p->base_ns = p->marks.items[i].start_ns;
		recorded_sort(p->calls.items, p->calls.count, sizeof *p->calls.items,
			      call_by_correlation);
	}
	recorded_sort(p->works.items, p->works.count, sizeof *p->works.items, by_correlation);
	for (size_t i = 0; i < p->works.count; i++)
		join_work(p, &p->works.items[i]);
	p->joined_count += (int64_t)p->works.count;
	p->works.count = 0;
}

/* ---- the order of streams ---- */

/* The events that order collectives and kernels, in a recording without the numbers of events.
 *
 * PyTorch orders streams with two pairs of calls for each collective. Before the launch it records
 * an event on the stream of the kernels, and NCCL's stream waits for it. After the launch it
 * records an event on NCCL's stream. When the program needs the result, the stream of the kernels
 * waits for this event. Profilers record these calls, but by default not their events and streams.
 *
 * They follow from the order of the calls of a thread. A record that is directly followed by a
 * wait, with a collective as next launch, is the first pair. The first record after a collective is
 * its end. All other waits are for these ends, in the order of the collectives. */

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

void profile_order_streams(struct arena *arena, struct recorded_calls *recorded)
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

/* ---- the whole ---- */

struct recorded_calls *profile_join(struct profile *p)
{
	profile_join_works(p);
	p->counts.used +=
		p->calls.count + (size_t)p->joined_count + p->marks.count + p->spans.count;
	struct recorded_calls *recorded = ARENA_NEW(p->arena, struct recorded_calls);
	join_collectives(p);
	if (p->rank >= 0 && p->rank < p->world_count && p->world_count <= RECORDED_RANKS_MAX) {
		recorded->rank = (uint32_t)p->rank;
		recorded->world_count = (uint32_t)p->world_count;
	}
	recorded->tool = p->tool;
	recorded->gpu = p->gpu;
	recorded->call_count = p->calls.count;
	recorded->calls = calls_in_place(p);
	put_marks(p, recorded);
	recorded_calls_settle(p->arena, recorded);
	profile_order_streams(p->arena, recorded);
	return recorded;
}
