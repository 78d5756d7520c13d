/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/traces/profile.h"

#include <math.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/num.h"
#include "sim/traces/stream_order.h"

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
	static const struct {
		const char *words;
		enum recorded_copy copy;
	} rows[] = {{"HtoD", COPY_H2D},
		    {"DtoH", COPY_D2H},
		    {"DtoD", COPY_D2D},
		    {"HtoH", COPY_H2H},
		    {"PtoP", COPY_P2P}};
	call->copy = COPY_D2D;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (strstr(work->label, rows[i].words))
			call->copy = (uint8_t)rows[i].copy;
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
	stream_order_find(p->arena, recorded);
	return recorded;
}
