/* SPDX-License-Identifier: Apache-2.0 */
/* Probe M2: how much copies in both directions slow each other: the time of copies to the GPU while
 * copies from it run, divided by their time alone. */
#include "calib/probe/probe.h"

#define COPY_B      ((size_t)4 << 20)
#define OF_COUNT    8
#define WITH_COUNT  24
#define EVENT_FIRST 4

static void add(const struct bench *bench, struct plan *plan, struct plan_random *random)
{
	plan_add(plan, &(struct plan_point){.is = {{"with", "d2h"}, {"of", "h2d"}}, .unit = "1"});
}

static int many(struct bench *bench, int code, struct gpu_call call, size_t count)
{
	for (size_t i = 0; i < count && code == GPU_OK; i++)
		code = bench_call(bench, &call);
	return code;
}

/* Both streams begin when the blocker ends; `with` is queued first and runs longer. */
static int span(struct bench *bench, const struct gpu_call *of, const struct gpu_call *with,
		double *time_s)
{
	struct gpu_call record = {.kind = GPU_RECORD, .event = EVENT_FIRST};
	const struct gpu_call wait = {.kind = GPU_WAIT_EVENT, .event = EVENT_FIRST, .stream = 1};
	int code = bench_block(bench);
	code = many(bench, code, record, 1);
	code = many(bench, code, wait, 1);
	if (with)
		code = many(bench, code, *with, WITH_COUNT);
	code = many(bench, code, *of, OF_COUNT);
	record.event = EVENT_FIRST + 1;
	code = many(bench, code, record, 1);
	int released = bench_release(bench), finished = bench_finish(bench);
	if (code != GPU_OK || released != GPU_OK || finished != GPU_OK)
		return code != GPU_OK ? code : released != GPU_OK ? released : finished;
	return bench_code(
		bench, bench->gpu,
		bench->gpu->api->elapsed(bench->gpu, EVENT_FIRST, EVENT_FIRST + 1, time_s));
}

static int sample(struct bench *bench, const struct plan_point *point, double *value)
{
	const struct gpu_call of = {
		.kind = GPU_COPY, .direction = GPU_H2D, .size_B = COPY_B, .async = true};
	struct gpu_call with = of;
	with.direction = GPU_D2H;
	with.stream = 1;
	double alone_s = 0, together_s = 0;
	int code = span(bench, &of, NULL, &alone_s);
	GPU_THEN(code, span(bench, &of, &with, &together_s));
	*value = together_s / alone_s;
	return code;
}

const struct probe probe_share = {
	.id = "M2",
	.test = "share",
	.help = "slowdown of copies that run at the same time in both directions",
	.add = add,
	.sample = sample,
};
