/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/traces/recorded.h"

/* Rounding error of recorded times, which are in nanoseconds. */
static const double TICK_S = 2e-9;

const char *const recorded_copies[COPY_KIND_COUNT] = {"", "h2d", "d2h", "d2d", "h2h", "p2p"};
const char *const recorded_memories[MEMORY_KIND_COUNT] = {"", "pinned", "pageable"};

uint8_t recorded_find(const char *const *names, uint8_t count, const char *name)
{
	while (count-- > 1)
		if (strcmp(names[count], name) == 0)
			return count;
	return 0;
}

enum recorded_copy recorded_direction(const char *text)
{
	static const char *const words[COPY_KIND_COUNT] = {[COPY_H2D] = "HtoD H2D h2d HostToDevice",
							   [COPY_D2H] = "DtoH D2H d2h DeviceToHost",
							   [COPY_D2D] =
								   "DtoD D2D d2d DeviceToDevice",
							   [COPY_H2H] = "HtoH",
							   [COPY_P2P] = "PtoP Peer"};
	for (enum recorded_copy copy = COPY_H2D; copy < COPY_KIND_COUNT; copy++)
		for (const char *word = words[copy]; *word; word += strspn(word, " ")) {
			size_t length = strcspn(word, " ");
			for (const char *at = text; *at; at++)
				if (strncmp(at, word, length) == 0)
					return copy;
			word += length;
		}
	return COPY_NONE;
}

/* Sorts outer calls before the calls inside them. */
static int by_thread_and_start(const void *a, const void *b)
{
	const struct recorded_call *x = a, *y = b;
	return ORDER_THEN(x->thread, y->thread,
			  ORDER_THEN(x->start_s, y->start_s, ORDER(y->end_s, x->end_s)));
}

static int by_time(const void *a, const void *b)
{
	const struct recorded_mark *x = a, *y = b;
	return ORDER_THEN(x->t_s, y->t_s, ORDER(x->step, y->step));
}

/* Gives the outer call the inner call's GPU work, and its stream and event if it has none. */
static void adopt(struct recorded_call *outer, const struct recorded_call *inner)
{
	if (outer->gpu_s < 0 && inner->gpu_s >= 0) {
		outer->gpu_start_s = inner->gpu_start_s;
		outer->gpu_s = inner->gpu_s;
		outer->copy = inner->copy;
		outer->memory = inner->memory;
		outer->label = outer->label ? outer->label : inner->label;
		outer->size_B = inner->copy != COPY_NONE ? inner->size_B : outer->size_B;
		outer->compressibility = inner->compressibility;
	} else if (inner->gpu_s >= 0 && outer->copy == COPY_NONE && inner->copy == COPY_NONE &&
		   (inner->gpu_start_s < 0 || inner->gpu_start_s > outer->gpu_start_s)) {
		outer->gpu_s += inner->gpu_s; /* another kernel of a library call */
	}
	if (outer->stream < 0)
		outer->stream = inner->stream;
	if (outer->event < 0)
		outer->event = inner->event;
}

static void leave_out_inner(struct recorded_calls *recorded)
{
	struct recorded_call *calls = recorded->calls;
	size_t kept = 0;
	for (size_t i = 0; i < recorded->call_count; i++) {
		struct recorded_call *last = kept ? &calls[kept - 1] : NULL;
		bool same = last && last->thread == calls[i].thread;
		if (same && calls[i].start_s < last->end_s &&
		    calls[i].end_s <= last->end_s + TICK_S) {
			adopt(last, &calls[i]);
			continue;
		}
		calls[kept++] = calls[i];
		last = &calls[kept - 1];
		if (same && last->start_s < last[-1].end_s) /* because times are rounded */
			last->start_s = last[-1].end_s;
	}
	recorded->call_count = kept;
}

/* Finds a thread in firsts, which is sorted by thread. Returns its place, or 0 if it has no call.
 */
static uint32_t place_of(const struct recorded_call *firsts, const uint32_t *places, uint32_t count,
			 uint32_t thread)
{
	uint32_t low = 0, high = count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (firsts[middle].thread < thread)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && firsts[low].thread == thread ? places[low] : 0;
}

/* Expects sorted calls. */
static void number_threads(struct arena *arena, struct recorded_calls *recorded)
{
	struct recorded_call *calls = recorded->calls;
	uint32_t count = 0;
	for (size_t i = 0; i < recorded->call_count; i++)
		count += i == 0 || calls[i].thread != calls[i - 1].thread;
	struct recorded_call *firsts = ARENA_ARRAY(arena, count + 1, struct recorded_call);
	uint32_t *places = ARENA_ARRAY(arena, count + 1, uint32_t);
	uint32_t thread = 0;
	for (size_t i = 0; i < recorded->call_count; i++)
		if (i == 0 || calls[i].thread != calls[i - 1].thread)
			firsts[thread++] = calls[i];
	for (uint32_t i = 0; i < count; i++) {
		uint32_t before = 0;
		for (uint32_t k = 0; k < count; k++)
			before += firsts[k].start_s < firsts[i].start_s ||
				  (!(firsts[k].start_s > firsts[i].start_s) && k < i);
		places[i] = before;
	}
	for (size_t i = 0; i < recorded->mark_count; i++) {
		struct recorded_mark *mark = &recorded->marks[i];
		mark->thread = place_of(firsts, places, count, mark->thread);
	}
	thread = 0;
	for (size_t i = 0; i < recorded->call_count; i++) {
		if (thread + 1 < count && calls[i].thread == firsts[thread + 1].thread)
			thread++;
		calls[i].thread = places[thread];
	}
	recorded->thread_count = count;
}

void recorded_sort(void *items, size_t count, size_t size_B,
		   int (*compare)(const void *a, const void *b))
{
	const char *at = items;
	size_t i = 1;
	while (i < count && compare(at + (i - 1) * size_B, at + i * size_B) <= 0)
		i++;
	if (i < count)
		qsort(items, count, size_B, compare);
}

void recorded_calls_settle(struct arena *arena, struct recorded_calls *recorded)
{
	recorded_sort(recorded->calls, recorded->call_count, sizeof *recorded->calls,
		      by_thread_and_start);
	leave_out_inner(recorded);
	number_threads(arena, recorded);
	recorded_sort(recorded->calls, recorded->call_count, sizeof *recorded->calls,
		      by_thread_and_start);
	recorded_sort(recorded->marks, recorded->mark_count, sizeof *recorded->marks, by_time);
}
