/* SPDX-License-Identifier: Apache-2.0 */
/* Probe M1: copies. Latency is the host's time from the call until the data have arrived. Rate is
 * the time of one of many copies; copies that need no host run behind a blocker. */
#include <math.h>
#include <string.h>

#include "calib/probe/probe.h"

#define REPEATS_MOST 16
#define SPAN_B       ((size_t)256 << 20) /* maximum bytes moved in one sample of a rate */

struct row {
	const char *direction, *memory, *call, *measure;
	struct gpu_call what;
};
#define COPY(dir, pageable_, async_)                                                               \
	{                                                                                          \
		.kind = GPU_COPY, .direction = (dir), .pageable = (pageable_), .async = (async_)   \
	}
static const struct row rows[] = {
	{"h2d", "pinned", "sync", "latency", COPY(GPU_H2D, false, false)},
	{"h2d", "pinned", "async", "latency", COPY(GPU_H2D, false, true)},
	{"h2d", "pageable", "sync", "latency", COPY(GPU_H2D, true, false)},
	{"h2d", "pageable", "async", "latency", COPY(GPU_H2D, true, true)},
	{"d2h", "pinned", "sync", "latency", COPY(GPU_D2H, false, false)},
	{"d2h", "pinned", "async", "latency", COPY(GPU_D2H, false, true)},
	{"d2h", "pageable", "sync", "latency", COPY(GPU_D2H, true, false)},
	{"d2h", "pageable", "async", "latency", COPY(GPU_D2H, true, true)},
	{"d2d", "device", "async", "latency", COPY(GPU_D2D, false, true)},
	{"memset", "device", "async", "latency", {.kind = GPU_MEMSET, .async = true}},
	{"h2d", "pinned", "async", "rate", COPY(GPU_H2D, false, true)},
	{"d2h", "pinned", "async", "rate", COPY(GPU_D2H, false, true)},
	{"h2d", "pageable", "sync", "rate", COPY(GPU_H2D, true, false)},
	{"d2h", "pageable", "sync", "rate", COPY(GPU_D2H, true, false)},
	{"d2d", "device", "async", "rate", COPY(GPU_D2D, false, true)},
	{"memset", "device", "async", "rate", {.kind = GPU_MEMSET, .async = true}},
	{"peer", "direct", "async", "rate", COPY(GPU_PEER, false, true)},
	{"peer", "staged", "async", "rate", COPY(GPU_PEER, false, true)},
};

/* The driver decides whether a copy to a peer is direct or staged. */
static bool is_possible(const struct row *row, const struct bench *bench)
{
	return row->what.direction != GPU_PEER ||
	       (strcmp(row->memory, "direct") == 0) == bench->facts.peer_direct;
}

static void add_size(struct plan *plan, const struct row *row, double size_B, bool held_out)
{
	plan_add(plan, &(struct plan_point){
			       .is = {{"direction", row->direction},
				      {"memory", row->memory},
				      {"call", row->call},
				      {"measure", row->measure}},
			       .x = {{"size_B", size_B}},
			       .interval_ratio = row->measure[0] == 'l' ? 0.02 : 0,
			       .held_out = held_out,
		       });
}

/* Adds powers of two, all neighbours around 64 KiB, and random sizes in each octave, of which one
 * is held out. */
static void add(const struct bench *bench, struct plan *plan, struct plan_random *random)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool latency = rows[i].measure[0] == 'l';
		if (!is_possible(&rows[i], bench))
			continue;
		double most_B = bench->full ? 0x1p30 : latency ? 0x1p24 : 0x1p28;
		for (double size_B = 1; size_B <= most_B; size_B *= 2) {
			add_size(plan, &rows[i], size_B, false);
			if (size_B < 256 || size_B * 2 > most_B)
				continue;
			if (bench->full)
				add_size(plan, &rows[i],
					 floor(size_B * (1 + plan_random_part(random))), false);
			if (bench->full || !latency)
				add_size(plan, &rows[i],
					 floor(size_B * (1 + plan_random_part(random))), true);
		}
		if (bench->full || !latency) {
			add_size(plan, &rows[i], 65535, false);
			add_size(plan, &rows[i], 65537, false);
		}
	}
}

static int sample_latency(struct bench *bench, const struct gpu_call *call, double *value)
{
	int code = bench_finish(bench);
	double start_s = bench_now_s(bench);
	if (code == GPU_OK)
		code = bench_call(bench, call);
	if (code == GPU_OK && call->async)
		code = bench_call(bench, &(struct gpu_call){.kind = GPU_SYNC});
	*value = bench_since_s(bench, bench->gpu, start_s);
	return code;
}

static int sample_on_host(struct bench *bench, const struct gpu_call *call, size_t repeats,
			  double *value)
{
	int code = bench_finish(bench);
	double start_s = bench_now_s(bench);
	for (size_t i = 0; i < repeats && code == GPU_OK; i++)
		code = bench_call(bench, call);
	if (code == GPU_OK)
		code = bench_finish(bench);
	*value = bench_since_s(bench, bench->gpu, start_s) / (double)repeats;
	return code;
}

static int sample(struct bench *bench, const struct plan_point *point, double *value)
{
	size_t i = 0;
	while (strcmp(rows[i].direction, plan_point_word(point, "direction")) != 0 ||
	       strcmp(rows[i].memory, plan_point_word(point, "memory")) != 0 ||
	       strcmp(rows[i].call, plan_point_word(point, "call")) != 0 ||
	       strcmp(rows[i].measure, plan_point_word(point, "measure")) != 0)
		i++;
	const struct row *row = &rows[i];
	struct gpu_call call = row->what;
	call.size_B = (size_t)plan_point_number(point, "size_B", 1);
	size_t repeats = SPAN_B / call.size_B;
	repeats = repeats < 2 ? 2 : repeats > REPEATS_MOST ? REPEATS_MOST : repeats;
	if (row->measure[0] == 'l')
		return sample_latency(bench, &call, value);
	/* Staged copies may need the host, so it must not wait for a blocker. */
	if (call.pageable || strcmp(row->memory, "staged") == 0)
		return sample_on_host(bench, &call, repeats, value);
	return bench_span(bench, &call, repeats, value);
}

const struct probe probe_copy = {
	.id = "M1",
	.test = "copy",
	.help = "copies between host and GPU, within the GPU and to another GPU, and memset",
	.add = add,
	.sample = sample,
};
