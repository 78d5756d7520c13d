/* SPDX-License-Identifier: Apache-2.0 */
/* Probe A1: the host's time in each call, with an idle stream and behind a blocker. The launch
 * queue never fills up. */
#include "calib/probe/probe.h"

/* After this many calls the blocker is released. Arguments take room in the launch queue, too, and
 * a launch without room would wait for the blocker. */
#define CALLS_BEHIND_COUNT 200
#define CALLS_BEHIND_LEAST 16
#define BYTES_BEHIND_B     65536
#define EVENT              GPU_EVENT_PLAIN
#define SMALL_B            4096

struct call_row {
	const char *name;
	struct gpu_call call;
	bool idle, blocked;
	enum gpu_call_kind before, after; /* not timed; GPU_CALL_KINDS: none */
};

#define NONE GPU_CALL_KINDS
static const struct call_row rows[] = {
	{"launch", {.kind = GPU_LAUNCH}, true, true, NONE, NONE},
	{"copy_h2d",
	 {.kind = GPU_COPY, .direction = GPU_H2D, .async = true, .size_B = SMALL_B},
	 true,
	 true,
	 NONE,
	 NONE},
	{"memset", {.kind = GPU_MEMSET, .size_B = SMALL_B}, true, true, NONE, NONE},
	{"record", {.kind = GPU_RECORD, .event = EVENT}, true, true, NONE, NONE},
	{"wait_event", {.kind = GPU_WAIT_EVENT, .event = EVENT + 1}, true, true, NONE, NONE},
	{"query_ready", {.kind = GPU_QUERY, .event = EVENT}, true, false, NONE, NONE},
	{"query_pending", {.kind = GPU_QUERY, .event = EVENT}, false, true, GPU_RECORD, NONE},
	{"sync_idle", {.kind = GPU_SYNC}, true, false, NONE, NONE},
	{"malloc", {.kind = GPU_MALLOC, .size_B = 1 << 20}, true, false, NONE, GPU_FREE},
	{"free", {.kind = GPU_FREE, .size_B = 1 << 20}, true, false, GPU_MALLOC, NONE},
	{"create_event", {.kind = GPU_CREATE_EVENT}, true, false, NONE, GPU_DESTROY_EVENT},
	{"get", {.kind = GPU_GET}, true, false, NONE, NONE},
};
#define ROWS_COUNT (sizeof(rows) / sizeof(rows[0]))

static void add_launches(const char *stream, struct plan *plan)
{
	static const struct {
		double size_B;
		bool held_out;
	} sizes[] = {{0, false},    {64, false},  {256, false}, {512, true},
		     {1024, false}, {2048, true}, {4096, false}};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		plan_add(plan, &(struct plan_point){
				       .is = {{"call", "launch"}, {"stream", stream}},
				       .x = {{"argument_B", sizes[i].size_B}},
				       .interval_ratio = 0.02,
				       .held_out = sizes[i].held_out,
			       });
	}
}

static void add(const struct bench *bench, struct plan *plan, struct plan_random *random)
{
	add_launches("idle", plan);
	add_launches("blocked", plan);
	for (size_t i = 1; i < ROWS_COUNT; i++)
		for (int blocked = 0; blocked < 2; blocked++) {
			struct plan_point point = {
				.is = {{"call", rows[i].name},
				       {"stream", blocked ? "blocked" : "idle"}},
				.interval_ratio = 0.02,
			};
			if (blocked ? rows[i].blocked : rows[i].idle)
				plan_add(plan, &point);
		}
}

static const struct call_row *row_of(const struct plan_point *point)
{
	const char *name = plan_point_word(point, "call");
	size_t i = 0;
	while (strcmp(rows[i].name, name) != 0)
		i++;
	return &rows[i];
}

static int begin(struct bench *bench, const struct plan_point *point)
{
	const struct gpu_call record = {.kind = GPU_RECORD, .event = EVENT + 1};
	int code = bench_call(bench, &record);
	bench->count = 0;
	GPU_THEN(code, bench_finish(bench));
	return code;
}

/* Makes one call that is not timed. */
static int beside(struct bench *bench, const struct call_row *row, enum gpu_call_kind kind)
{
	struct gpu_call call = row->call;
	call.kind = kind;
	return kind == NONE ? GPU_OK : bench_call(bench, &call);
}

static size_t calls_behind(size_t argument_B)
{
	size_t count = argument_B > 0 ? BYTES_BEHIND_B / argument_B : CALLS_BEHIND_COUNT;
	return count > CALLS_BEHIND_COUNT   ? CALLS_BEHIND_COUNT
	       : count < CALLS_BEHIND_LEAST ? CALLS_BEHIND_LEAST
					    : count;
}

/* Starts a blocker and records the event that other streams wait for behind it. */
static int keep_blocked(struct bench *bench, size_t argument_B)
{
	const struct gpu_call record = {.kind = GPU_RECORD, .event = EVENT + 1};
	int code = GPU_OK;
	if (bench->count++ % calls_behind(argument_B) != 0)
		return GPU_OK;
	if (bench->count > 1)
		code = bench_release(bench);
	GPU_THEN(code, bench_finish(bench));
	GPU_THEN(code, bench_block(bench));
	return code == GPU_OK ? bench_call(bench, &record) : code;
}

static int sample(struct bench *bench, const struct plan_point *point, double *value)
{
	const struct call_row *row = row_of(point);
	struct gpu_call call = row->call;
	call.argument_B = (size_t)plan_point_number(point, "argument_B", 0);
	bool blocked = strcmp(plan_point_word(point, "stream"), "blocked") == 0;
	if (blocked && call.kind == GPU_WAIT_EVENT)
		call.stream = 1; /* a stream need not wait for its own events */
	int code = blocked ? keep_blocked(bench, call.argument_B) : bench_finish(bench);
	GPU_THEN(code, beside(bench, row, row->before));
	GPU_THEN(code, bench_time(bench, &call, value));
	GPU_THEN(code, beside(bench, row, row->after));
	return code;
}

static void end(struct bench *bench)
{
	bench_release(bench);
	bench_finish(bench);
}

const struct probe probe_call = {
	.id = "A1",
	.test = "call",
	.help = "host time of each CUDA call",
	.add = add,
	.begin = begin,
	.sample = sample,
	.end = end,
};
