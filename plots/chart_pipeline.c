/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One step of a plan: ranks over time. Kernels are named by pass and micro-batch ("F3"), waits by
 * their cause. Neighbouring spans of the same name are drawn as one. */
#include "plots/chart_spans.h"
#include "sim/base/table.h"
#include "sim/engine/trace.h"

enum { PASS_COUNT = 3, KIND_COUNT = 15 };

/* Kinds of spans, by the first letter of a kernel's name or by the name of a wait. Passes through
 * every second model chunk are paler. */
static const struct row_kind kinds[KIND_COUNT] = {
	{"F", "forward", {.paint = {0x56B4E9, 1}}},
	{"B", "backward", {.paint = {0x5FC9A8, 1}}},
	{"W", "weight gradient", {.paint = {0xF0E442, 1}}},
	{"", "paler: second model chunk", {.paint = {0x56B4E9, 0.5}}},
	{"", NULL, {.paint = {0x5FC9A8, 0.5}}},
	{"", NULL, {.paint = {0xF0E442, 0.5}}},
	{"update", "update", {.paint = {0x6A6A6A, 1}}},
	{"bubble", "bubble", {.paint = {0xEDEDED, 1}}},
	{"tensor", "tensor communication", {.paint = {0xCC79A7, 1}}},
	{"context", "context communication", {.paint = {0xCC79A7, 1}, .hatch = HATCH_DOTS}},
	{"expert", "expert communication", {.paint = {0xCC79A7, 1}, .hatch = HATCH_CROSSED}},
	{"data", "data communication", {.paint = {0x0072B2, 1}}},
	{"pipeline", "pipeline message", {.paint = {0xD55E00, 1}}},
	{"straggler", "straggler wait", {.paint = {0xD55E00, 1}, .hatch = HATCH_FALLING}},
	{"host", "host", {.paint = {0xE69F00, 1}, .hatch = HATCH_RISING}},
};

struct rank_row {
	size_t waits, kernels; /* tracks of the trace */
	const char *label;
	VEC(struct span) spans;
	bool passed;        /* a pass has ended since the last update */
	int64_t ends_ps[2]; /* when the updates of the last two steps end */
};

struct step {
	struct rank_row *rows;
	size_t row_count;
	int64_t from_ps, to_ps;
};

static size_t kind_of(const char *name)
{
	for (size_t i = 0; i < KIND_COUNT; i++) {
		bool pass = i < PASS_COUNT && name[0] == kinds[i].name[0] && name[1] >= '0' &&
			    name[1] <= '9';
		const char *chunk = pass ? strchr(name, '.') : NULL;
		if (pass || strcmp(kinds[i].name, name) == 0)
			return i + (chunk && atoi(chunk + 1) % 2 == 0 ? PASS_COUNT : 0);
	}
	return KIND_COUNT;
}

/* Returns the track of the kernels of the GPU that has the track `waits`, or SIZE_MAX. */
static size_t kernel_track(const struct trace *trace, size_t waits)
{
	const char *group = trace_track_group(trace, waits);
	for (size_t i = 0; i < trace_track_count(trace); i++)
		if (ends_in(trace_track_name(trace, i), "/stream 0") &&
		    strcmp(trace_track_group(trace, i), group) == 0)
			return i;
	return SIZE_MAX;
}

static int by_rank(const void *a, const void *b)
{
	const struct rank_row *x = a, *y = b;
	unsigned ranks[2] = {0};
	sscanf(x->label, "rank %u", &ranks[0]);
	sscanf(y->label, "rank %u", &ranks[1]);
	return (ranks[0] > ranks[1]) - (ranks[0] < ranks[1]);
}

/* Finds the ranks, or the first rank of each stage. */
static struct rank_row *find_rows(struct arena *arena, const struct trace *trace, bool all_ranks,
				  size_t *row_count)
{
	size_t count = 0, kept = 0;
	struct rank_row *rows = ARENA_ARRAY(arena, trace_track_count(trace) + 1, struct rank_row);
	for (size_t i = 0; i < trace_track_count(trace); i++) {
		const char *name = trace_track_name(trace, i);
		if (strncmp(name, "rank ", 5) != 0 || !strstr(name, ", stage "))
			continue;
		rows[count] = (struct rank_row){
			.waits = i, .kernels = kernel_track(trace, i), .label = name};
		count += rows[count].kernels != SIZE_MAX;
	}
	qsort(rows, count, sizeof *rows, by_rank);
	for (size_t i = 0; i < count; i++) {
		bool first = true;
		const char *stage = strstr(rows[i].label, "stage ");
		for (size_t k = 0; k < kept; k++)
			first &= strcmp(strstr(rows[k].label, "stage "), stage) != 0;
		if (all_ranks || first)
			rows[kept++] = rows[i];
	}
	*row_count = kept;
	return rows;
}

/* Notes when an update ends. Updates without a pass between them belong to one step. */
static void note_update(struct rank_row *row, int64_t end_ps)
{
	if (row->passed)
		row->ends_ps[0] = row->ends_ps[1];
	row->ends_ps[1] = end_ps;
	row->passed = false;
}

static bool is_pass(const struct span *span)
{
	return kind_of(span->name) < 2 * PASS_COUNT;
}

/* Collects the rows' spans, and finds the last step. Each rank's step is between the ends of the
 * updates of its last two steps. The window begins with the first pass of them all. */
static struct step last_step(struct arena *arena, const struct trace *trace, bool all_ranks)
{
	struct step step = {.from_ps = INT64_MAX};
	step.rows = find_rows(arena, trace, all_ranks, &step.row_count);
	struct rank_row **row_of =
		ARENA_ARRAY(arena, trace_track_count(trace) + 1, struct rank_row *);
	for (size_t i = 0; i < step.row_count; i++)
		row_of[step.rows[i].waits] = row_of[step.rows[i].kernels] = &step.rows[i];
	for (size_t i = 0; i < trace_span_count(trace); i++) {
		const struct span *span = trace_span_at(trace, i);
		struct rank_row *row = row_of[span->track];
		if (!row || !span->name || kind_of(span->name) == KIND_COUNT)
			continue;
		*VEC_PUSH(arena, &row->spans) = *span;
		if (strcmp(span->name, "update") == 0)
			note_update(row, span->end_ps);
		else
			row->passed |= is_pass(span);
	}
	for (size_t i = 0; i < step.row_count; i++) {
		const struct rank_row *row = &step.rows[i];
		step.to_ps = row->ends_ps[1] > step.to_ps ? row->ends_ps[1] : step.to_ps;
		for (size_t k = 0; k < row->spans.count; k++) {
			const struct span *span = &row->spans.items[k];
			if (is_pass(span) && span->start_ps >= row->ends_ps[0] &&
			    span->start_ps < step.from_ps)
				step.from_ps = span->start_ps;
		}
	}
	return step;
}

struct drawing *chart_pipeline(struct arena *arena, struct chart_text text,
			       const struct trace *trace, bool all_ranks)
{
	const struct step step = last_step(arena, trace, all_ranks);
	if (step.row_count == 0 || step.to_ps <= step.from_ps)
		return NULL;
	struct span_row *rows = ARENA_ARRAY(arena, step.row_count, struct span_row);
	for (size_t i = 0; i < step.row_count; i++) {
		rows[i].label = step.rows[i].label;
		for (size_t k = 0; k < step.rows[i].spans.count; k++) {
			const struct span *span = &step.rows[i].spans.items[k];
			if (span->end_ps > step.from_ps && span->start_ps < step.to_ps)
				*VEC_PUSH(arena, &rows[i].spans) = (struct chart_span){
					(double)(span->start_ps - step.from_ps) * 1e-9,
					(double)(span->end_ps - step.from_ps) * 1e-9,
					kind_of(span->name), span->name};
		}
	}
	const struct span_chart chart = {.rows = rows,
					 .row_count = step.row_count,
					 .end = (double)(step.to_ps - step.from_ps) * 1e-9,
					 .time_label = "time (ms)",
					 .kinds = kinds,
					 .kind_count = KIND_COUNT,
					 .pass_count = 2 * PASS_COUNT,
					 .rare = SIZE_MAX};
	return spans_draw(arena, text, &chart);
}

static int by_start(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	return (x->start_ps > y->start_ps) - (x->start_ps < y->start_ps);
}

const struct result_table *pipeline_table(struct arena *arena, const struct trace *trace,
					  bool all_ranks)
{
	struct result_table *table = result_table_new(arena, "timeline", NULL);
	result_columns(table, "rank:text|name:text|start_s:time|end_s:time");
	const struct step step = last_step(arena, trace, all_ranks);
	for (size_t i = 0; i < step.row_count; i++) {
		const struct rank_row *row = &step.rows[i];
		if (row->spans.count)
			qsort(row->spans.items, row->spans.count, sizeof *row->spans.items,
			      by_start);
		for (size_t k = 0; k < row->spans.count; k++) {
			const struct span *span = &row->spans.items[k];
			if (span->start_ps < step.from_ps || span->end_ps > step.to_ps)
				continue;
			result_row(table);
			result_text(table, row->label);
			result_text(table, span->name);
			result_number(table, (double)(span->start_ps - step.from_ps) * 1e-12);
			result_number(table, (double)(span->end_ps - step.from_ps) * 1e-12);
		}
	}
	return table;
}
