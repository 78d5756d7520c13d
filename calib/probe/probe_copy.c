/* SPDX-License-Identifier: Apache-2.0 */
/* Probe M1: copies between host and GPU: the time of one of many copies. Copies that need no host
 * run behind a blocker. */
#include "calib/probe/probe.h"

#define REPEATS_MOST 16
#define SPAN_B       ((size_t)256 << 20) /* maximum bytes moved in one sample of a rate */

struct copy_row {
	const char *direction, *memory, *call;
	struct gpu_call what;
};
#define COPY(dir, pageable_, async_)                                                               \
	{                                                                                          \
		.kind = GPU_COPY, .direction = (dir), .pageable = (pageable_), .async = (async_)   \
	}
static const struct copy_row rows[] = {
	{"h2d", "pinned", "async", COPY(GPU_H2D, false, true)},
	{"d2h", "pinned", "async", COPY(GPU_D2H, false, true)},
	{"h2d", "pageable", "sync", COPY(GPU_H2D, true, false)},
	{"d2h", "pageable", "sync", COPY(GPU_D2H, true, false)},
};

static void add_size(struct plan *plan, const struct copy_row *row, double size_B, bool held_out)
{
	plan_add(plan, &(struct plan_point){
			       .is = {{"direction", row->direction},
				      {"memory", row->memory},
				      {"call", row->call},
				      {"measure", "rate"}},
			       .x = {{"size_B", size_B}},
			       .held_out = held_out,
		       });
}

/* Adds powers of two, all neighbours around 64 KiB, and random sizes in each octave, of which one
 * is held out. */
static void add(const struct bench *bench, struct plan *plan, struct plan_random *random)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double most_B = bench->full ? 0x1p30 : 0x1p28;
		for (double size_B = 1; size_B <= most_B; size_B *= 2) {
			add_size(plan, &rows[i], size_B, false);
			if (size_B < 256 || size_B * 2 > most_B)
				continue;
			if (bench->full)
				add_size(plan, &rows[i],
					 floor(size_B * (1 + plan_random_part(random))), false);
			add_size(plan, &rows[i], floor(size_B * (1 + plan_random_part(random))),
				 true);
		}
		add_size(plan, &rows[i], 65535, false);
		add_size(plan, &rows[i], 65537, false);
	}
}

static int sample_on_host(struct bench *bench, const struct gpu_call *call, size_t repeats,
			  double *value)
{
	int code = bench_finish(bench);
	double start_s = bench_now_s(bench);
	for (size_t i = 0; i < repeats && code == GPU_OK; i++)
		code = bench_call(bench, call);
	GPU_THEN(code, bench_finish(bench));
	*value = bench_since_s(bench, bench->gpu, start_s) / (double)repeats;
	return code;
}

static int sample(struct bench *bench, const struct plan_point *point, double *value)
{
	size_t i = 0;
	while (strcmp(rows[i].direction, plan_point_word(point, "direction")) != 0 ||
	       strcmp(rows[i].memory, plan_point_word(point, "memory")) != 0)
		i++;
	struct gpu_call call = rows[i].what;
	call.size_B = (size_t)plan_point_number(point, "size_B", 1);
	size_t repeats = SPAN_B / call.size_B;
	repeats = repeats < 2 ? 2 : repeats > REPEATS_MOST ? REPEATS_MOST : repeats;
	return call.pageable ? sample_on_host(bench, &call, repeats, value)
			     : bench_span(bench, &call, repeats, value);
}

const struct probe probe_copy = {
	.id = "M1",
	.test = "copy",
	.help = "copies between host and GPU",
	.add = add,
	.sample = sample,
};
