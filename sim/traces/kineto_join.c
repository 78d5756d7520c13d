/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/traces/kineto_parts.h"
#include "sim/traces/stream_order.h"

static int by_correlation(const void *a, const void *b)
{
	const struct kineto_work *x = a, *y = b;
	if (x->correlation != y->correlation)
		return x->correlation < y->correlation ? -1 : 1;
	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static int call_by_correlation(const void *a, const void *b)
{
	const struct kineto_call *x = a, *y = b;
	if (x->correlation != y->correlation)
		return x->correlation < y->correlation ? -1 : 1;
	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static struct kineto_call *call_of(struct kineto *k, int64_t correlation)
{
	size_t low = 0, high = k->calls.count;
	while (low < high) {
		k->counts.looks++;
		size_t middle = (low + high) / 2;
		if (k->calls.items[middle].correlation < correlation)
			low = middle + 1;
		else
			high = middle;
	}
	bool found = correlation >= 0 && low < k->calls.count &&
		     k->calls.items[low].correlation == correlation;
	return found ? &k->calls.items[low] : NULL;
}

/* Takes direction and memory from the label, for example "Memcpy HtoD (Pinned -> Device)". */
static void take_copy(struct recorded_call *call, const struct kineto_work *work)
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
static void join_work(struct kineto *k, const struct kineto_work *work, int64_t base_ns)
{
	struct kineto_call *at = call_of(k, work->correlation);
	if (!at) {
		k->counts.orphans +=
			work->category != CATEGORY_SYNC && work->category != CATEGORY_EVENT;
		return;
	}
	struct recorded_call *call = &at->call;
	if (work->stream >= 0)
		call->stream = work->stream;
	if (work->category == CATEGORY_EVENT) {
		/* A trace identifies an event by the correlation of the call that records it. */
		call->event = work->correlation;
		return;
	}
	if (work->category == CATEGORY_SYNC) {
		struct kineto_call *record = call_of(k, work->awaited);
		if (record) {
			record->call.event = call->event = work->awaited;
			record->call.stream = work->recorded_on;
		}
		return;
	}
	double start_s = (double)(work->start_ns - base_ns) * 1e-9;
	double lasts_s = (double)work->lasts_ns * 1e-9;
	if (call->gpu_s >= 0) {
		call->gpu_s = fmax(call->gpu_s, start_s + lasts_s - call->gpu_start_s);
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
	const struct kineto_span *x = a, *y = b;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Returns the record of the innermost span around a call, plus 1; 0: there is none. */
static size_t record_around(struct kineto *k, const struct kineto_call *call)
{
	enum { NESTED_MAX = 4 }; /* PyTorch nests two */
	size_t low = 0, high = k->spans.count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct kineto_span *span = &k->spans.items[middle];
		bool before =
			span->thread < call->call.thread ||
			(span->thread == call->call.thread && span->start_ns <= call->start_ns);
		low = before ? middle + 1 : low;
		high = before ? high : middle;
	}
	for (size_t i = 0; i < NESTED_MAX && i < low; i++) {
		const struct kineto_span *span = &k->spans.items[low - 1 - i];
		if (span->thread == call->call.thread && span->end_ns >= call->start_ns)
			return span->record + 1;
	}
	return 0;
}

/* Makes the launches of NCCL's kernels collectives, if their records say enough. */
static void join_collectives(struct kineto *k)
{
	double world_count = k->world_count <= RECORDED_RANKS_MAX ? fmax(k->world_count, 0) : 0;
	if (k->spans.count > 0)
		qsort(k->spans.items, k->spans.count, sizeof *k->spans.items, by_thread_and_start);
	for (size_t i = 0; i < k->calls.count; i++) {
		struct kineto_call *call = &k->calls.items[i];
		const char *label = call->call.label;
		if (!label || (strncmp(label, "nccl", 4) != 0 && strncmp(label, "rccl", 4) != 0))
			continue;
		size_t record = call->record ? call->record : record_around(k, call);
		if (record && collective_record_apply(&k->records.items[record - 1],
						      (uint32_t)world_count, &call->call))
			k->counts.collectives++;
		else
			k->counts.unknown_collectives++;
	}
}

static void put_marks(struct kineto *k, struct recorded_calls *recorded, int64_t base_ns)
{
	size_t count = k->marks.count;
	const struct kineto_mark *last = k->marks.items;
	recorded->marks = ARENA_ARRAY(k->arena, count + 1, struct recorded_mark);
	for (size_t i = 0; i < count; i++) {
		const struct kineto_mark *mark = &k->marks.items[i];
		recorded->marks[recorded->mark_count++] = (struct recorded_mark){
			(double)(mark->start_ns - base_ns) * 1e-9, mark->step, mark->thread};
		if (mark->end_ns > last->end_ns)
			last = mark;
	}
	if (count > 0)
		recorded->marks[recorded->mark_count++] = (struct recorded_mark){
			(double)(last->end_ns - base_ns) * 1e-9, last->step + 1, last->thread};
}

const struct recorded_calls *kineto_join(struct kineto *k)
{
	struct recorded_calls *recorded = ARENA_NEW(k->arena, struct recorded_calls);
	int64_t base_ns = INT64_MAX;
	for (size_t i = 0; i < k->calls.count; i++)
		if (k->calls.items[i].start_ns < base_ns)
			base_ns = k->calls.items[i].start_ns;
	for (size_t i = 0; i < k->marks.count; i++)
		if (k->marks.items[i].start_ns < base_ns)
			base_ns = k->marks.items[i].start_ns;
	qsort(k->calls.items, k->calls.count, sizeof *k->calls.items, call_by_correlation);
	if (k->works.count > 0)
		qsort(k->works.items, k->works.count, sizeof *k->works.items, by_correlation);
	for (size_t i = 0; i < k->works.count; i++)
		join_work(k, &k->works.items[i], base_ns);
	join_collectives(k);
	if (k->rank >= 0 && k->rank < k->world_count && k->world_count <= RECORDED_RANKS_MAX) {
		recorded->rank = (uint32_t)k->rank;
		recorded->world_count = (uint32_t)k->world_count;
	}
	recorded->tool = "kineto";
	recorded->gpu = k->gpu;
	recorded->call_count = k->calls.count;
	recorded->calls = ARENA_ARRAY(k->arena, k->calls.count, struct recorded_call);
	for (size_t i = 0; i < k->calls.count; i++) {
		const struct kineto_call *call = &k->calls.items[i];
		recorded->calls[i] = call->call;
		recorded->calls[i].start_s = (double)(call->start_ns - base_ns) * 1e-9;
		recorded->calls[i].end_s =
			(double)(call->start_ns + call->lasts_ns - base_ns) * 1e-9;
	}
	put_marks(k, recorded, base_ns);
	recorded_calls_settle(k->arena, recorded);
	stream_order_find(k->arena, recorded);
	return recorded;
}
