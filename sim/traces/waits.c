/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the waits of threads from the times of their calls.
 *
 * - A thread polls if it queries an event or stream repeatedly until it is ready.
 * - A thread that uses an event of another thread waits for the call that recorded the event.
 * - A thread with a gap between its calls waits for another thread if that thread's calls fill
 *   enough of the gap.
 *
 * A call waits only for a call that ended before it began. So two threads never wait for each
 * other, even if calls take another time in a replay. */
#include "sim/traces/replay_parts.h"

/* Shorter gaps are not waits for other threads. */
static const double HANDOVER_S = 50e-6;
/* A gap is a wait for another thread if that thread's calls fill at least this part of it. */
static const double HANDOVER_PART = 0.5;
/* Time between two queries of a poll, if the recording shows only one. */
static const double SLEEP_S = 10e-6;

/* ---- polls ---- */

static bool is_query(const struct replay_call *call)
{
	return (call->use.kind == CALL_EVENT_QUERY && call->call->event >= 0) ||
	       (call->use.kind == CALL_STREAM_QUERY && call->call->stream >= 0);
}

static bool same_query(const struct replay_call *a, const struct replay_call *b)
{
	return a->use.kind == b->use.kind &&
	       (a->use.kind == CALL_EVENT_QUERY ? a->call->event == b->call->event
						: a->call->stream == b->call->stream);
}

/* Returns true if the thread makes only queries. Then even a query that is ready at once is a
 * poll. */
static bool only_asks(const struct replay_thread *thread)
{
	size_t count = 0;
	for (size_t i = 0; i < thread->count; i++)
		count += is_query(&thread->calls[i]);
	return count == thread->count;
}

/* Examines the queries from `first` up to `end` that ask for the same as `first`. If they are a
 * poll, sets their roles. */
static void find_poll(struct replay_call *first, const struct replay_call *end, bool polling_thread)
{
	struct replay_call *last = first, *call = first;
	size_t count = 1;
	double slept_s = 0;
	while (last->call->ready != READY_YES && ++call < end) {
		if (!same_query(call, first))
			continue;
		slept_s += call->call->start_s - last->call->end_s;
		count++;
		last = call;
	}
	bool found =
		last->call->ready == READY_YES || (last->call->ready == READY_UNKNOWN && count > 1);
	bool polls = found && (count > 1 || polling_thread);
	for (call = first; call <= last; call++)
		if (same_query(call, first)) {
			call->passed = true;
			if (polls)
				call->role = call == last ? ROLE_POLL : ROLE_ASKED;
		}
	if (!polls)
		return;
	first->opens_poll = count > 1;
	last->first = first;
	last->sleep_s = count > 1 ? slept_s / (double)(count - 1) : SLEEP_S;
}

/* Only successive queries can be a poll. A thread that makes other calls between its queries does
 * not wait. */
static void find_polls(struct replay_thread *thread)
{
	bool polling_thread = only_asks(thread);
	size_t end = 0;
	for (size_t i = 0; i < thread->count; i++) {
		if (!is_query(&thread->calls[i]))
			continue;
		if (i >= end)
			for (end = i; end < thread->count && is_query(&thread->calls[end]);)
				end++;
		if (!thread->calls[i].passed)
			find_poll(&thread->calls[i], &thread->calls[end], polling_thread);
	}
}

/* ---- waits ---- */

/* Makes `waiting` wait for the end of `other`. */
static void wait_for(struct replay *r, struct replay_call *waiting, int which,
		     struct replay_call *other)
{
	if (!other->signal)
		other->signal = ++r->signal_count;
	waiting->awaits[which] = other->signal;
}

struct event_record { /* a call that records an event */
	struct replay_call *call;
	const struct replay_thread *thread;
};

static int by_event_and_end(const void *a, const void *b)
{
	const struct event_record *x = a, *y = b;
	const struct recorded_call *one = x->call->call, *other = y->call->call;
	/* both threads are in the same array */
	return ORDER_THEN(one->event, other->event,
			  ORDER_THEN(one->end_s, other->end_s, ORDER(x->thread, y->thread)));
}

/* Returns the latest record of the event that had ended at t_s, or NULL. */
static const struct event_record *latest_record(const struct event_record *records, size_t count,
						int64_t event, double t_s)
{
	size_t low = 0, high = count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct recorded_call *call = records[middle].call->call;
		if (call->event < event || (call->event == event && call->end_s <= t_s))
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && records[low - 1].call->call->event == event ? &records[low - 1] : NULL;
}

static bool uses_event(const struct replay_call *call)
{
	enum call_kind kind = call->use.kind;
	return call->call->event >= 0 && call->role != ROLE_ASKED &&
	       (kind == CALL_EVENT_QUERY || kind == CALL_EVENT_SYNCHRONIZE ||
		kind == CALL_STREAM_WAIT_EVENT);
}

static void find_records(struct replay *r)
{
	VEC(struct event_record) records = {0};
	for (size_t t = 0; t < r->thread_count; t++)
		for (size_t i = 0; i < r->threads[t].count; i++) {
			struct replay_call *call = &r->threads[t].calls[i];
			if (call->use.kind == CALL_EVENT_RECORD && call->call->event >= 0)
				*VEC_PUSH(r->arena, &records) =
					(struct event_record){call, &r->threads[t]};
		}
	if (records.count == 0)
		return;
	qsort(records.items, records.count, sizeof *records.items, by_event_and_end);
	for (size_t t = 0; t < r->thread_count; t++)
		for (size_t i = 0; i < r->threads[t].count; i++) {
			struct replay_call *call = &r->threads[t].calls[i];
			if (!uses_event(call))
				continue;
			const struct replay_call *begun = call->first ? call->first : call;
			const struct event_record *record =
				latest_record(records.items, records.count, call->call->event,
					      begun->call->start_s);
			if (record && record->thread != &r->threads[t])
				wait_for(r, call, 1, record->call);
		}
}

/* ---- gaps ---- */

/* Returns the first call that ends after t_s. */
static size_t first_after(const struct replay_thread *thread, double t_s)
{
	size_t low = 0, high = thread->count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (thread->calls[middle].call->end_s > t_s)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Finds the thread whose calls fill most of the gap. Returns its last call that ends in the gap, or
 * NULL if no thread fills HANDOVER_PART of it. */
static struct replay_call *handed_over(struct replay *r, const struct replay_thread *self,
				       double from_s, double to_s)
{
	struct replay_call *best = NULL;
	double best_s = HANDOVER_PART * (to_s - from_s);
	for (size_t i = 0; i < r->thread_count; i++) {
		struct replay_thread *thread = &r->threads[i];
		size_t first = first_after(thread, from_s), end = first_after(thread, to_s);
		while (end > first && thread->calls[end - 1].role == ROLE_ASKED)
			end--;
		if (thread == self || first == end)
			continue;
		double begin_s = fmax(from_s, thread->calls[first].call->start_s);
		double filled_s = thread->calls[end - 1].call->end_s - begin_s;
		if (filled_s >= best_s) {
			best_s = filled_s;
			best = &thread->calls[end - 1];
		}
	}
	return best;
}

static void fill_gap(struct replay *r, const struct replay_thread *self, struct replay_call *next,
		     double from_s, double to_s)
{
	struct replay_call *other = NULL;
	next->think_s = fmax(0, to_s - from_s);
	if (to_s - from_s >= HANDOVER_S)
		other = handed_over(r, self, from_s, to_s);
	if (!other)
		return;
	wait_for(r, next, 0, other);
	next->think_s = fmin(next->think_s, to_s - other->call->end_s);
}

/* Fills the gaps between the calls of a thread. Gaps within polls are sleep; polls can overlap. */
static void find_gaps(struct replay *r, struct replay_thread *thread, bool ends_step)
{
	double from_s = r->step->start_s;
	size_t open = 0;
	for (size_t i = 0; i < thread->count; i++) {
		struct replay_call *call = &thread->calls[i];
		if (open == 0)
			fill_gap(r, thread, call, from_s, call->call->start_s);
		open += call->opens_poll;
		open -= call->role == ROLE_POLL && call->first != call;
		from_s = call->call->end_s;
	}
	if (ends_step)
		fill_gap(r, thread, &thread->calls[thread->count], from_s, r->step->end_s);
}

void replay_find_waits(struct replay *r)
{
	for (size_t i = 0; i < r->thread_count; i++)
		find_polls(&r->threads[i]);
	find_records(r);
	for (size_t i = 0; i < r->thread_count; i++)
		find_gaps(r, &r->threads[i], i == 0);
}
