/* SPDX-License-Identifier: Apache-2.0 */
#include "calib/probe/probe.h"

#include <signal.h>
#include <unistd.h>

#include "calib/sample/run.h"
#include "calib/sample/stats.h"

#define PROBE(name) extern const struct probe probe_##name;
#include "calib/probe/probes.def"
#undef PROBE

const struct probe *const probes[] = {
#define PROBE(name) &probe_##name,
#include "calib/probe/probes.def"
#undef PROBE
	NULL,
};

/* Drift anchors: three measurements that are repeated during the whole run. If one of them changes
 * steadily, so do the other measurements, which are in random order. */

#define DRIFT_ANCHORS 3
#define DRIFT_VISITS  256

struct drift {
	double start_s, every_s, next_s;
	double times_s[DRIFT_VISITS];
	double medians_s[DRIFT_ANCHORS][DRIFT_VISITS];
	size_t visits, lines;
	bool absent[DRIFT_ANCHORS];
};

#define EVERY_S      30.0
#define LOOKS_LEAST  8 /* minimum number of visits within the time budget */
#define COPY_B       ((size_t)64 << 20)
#define SAMPLES_MOST 41

struct anchor {
	const char *name;
	size_t thrown, count;
};
static const struct anchor anchors[DRIFT_ANCHORS] = {
	{"call.launch", 10, 41}, {"copy.h2d", 2, 9}, {"gemm", 2, 9}};

static void drift_start(struct drift *drift, double now_s, double budget_s)
{
	*drift = (struct drift){.start_s = now_s, .next_s = now_s};
	drift->every_s = fmin(EVERY_S, budget_s / LOOKS_LEAST);
}

static int sample(struct bench *bench, size_t anchor, double *value)
{
	const struct gpu_call launch = {.kind = GPU_LAUNCH};
	const struct gpu_call copy = {
		.kind = GPU_COPY, .direction = GPU_H2D, .async = true, .size_B = COPY_B};
	const struct gpu_call work = {.kind = GPU_WORK};
	if (anchor > 0)
		return bench_span(bench, anchor == 1 ? &copy : &work, 2, value);
	int code = bench_finish(bench);
	return code == GPU_OK ? bench_time(bench, &launch, value) : code;
}

static int visit(struct drift *drift, size_t anchor, struct bench *bench, struct record *record)
{
	const struct plan_point point = {.test = "drift", .is = {{"anchor", anchors[anchor].name}}};
	double values[SAMPLES_MOST];
	int code = GPU_OK;
	if (anchor == 2)
		code = bench_square(bench);
	for (size_t i = 0; i < anchors[anchor].thrown && code == GPU_OK; i++)
		code = sample(bench, anchor, &values[0]);
	for (size_t i = 0; i < anchors[anchor].count && code == GPU_OK; i++)
		code = sample(bench, anchor, &values[i]);
	if (code == GPU_WAIVED)
		drift->absent[anchor] = true;
	if (code != GPU_OK)
		return code == GPU_WAIVED ? GPU_OK : code;
	while (record_has(record, &point, drift->lines))
		drift->lines++;
	if (record_samples(record, &(struct record_samples){
					   .point = &point,
					   .pass = drift->lines,
					   .t_s = drift->times_s[drift->visits] - drift->start_s,
					   .unit = "s",
					   .stop = "count",
					   .values = values,
					   .count = anchors[anchor].count,
				   }) != 0) {
		snprintf(bench->why, GPU_WHY, "%.190s", record->why);
		return GPU_FAILED;
	}
	stats_sort(values, anchors[anchor].count);
	drift->medians_s[anchor][drift->visits] =
		stats_median_sorted(values, anchors[anchor].count);
	return GPU_OK;
}

/* Measures the anchors if they are due, or always with at_once. Returns a gpu_code. */
static int drift_look(struct drift *drift, struct bench *bench, struct record *record, double now_s,
		      bool at_once)
{
	if ((now_s < drift->next_s && !at_once) || drift->visits == DRIFT_VISITS)
		return GPU_OK;
	drift->next_s = now_s + drift->every_s;
	drift->times_s[drift->visits] = now_s;
	for (size_t i = 0; i < DRIFT_ANCHORS; i++) {
		int code = drift->absent[i] ? GPU_OK : visit(drift, i, bench, record);
		if (code != GPU_OK)
			return code;
	}
	drift->visits++;
	drift->lines++;
	return GPU_OK;
}

/* Stores the change of each anchor between the first and the last visit that is certain. Returns
 * the number of anchors stored. */
static size_t drift_judge(const struct drift *drift, struct record_drift *out)
{
	size_t count = 0;
	for (size_t i = 0; i < DRIFT_ANCHORS && drift->visits >= STATS_CHANGE_LEAST; i++)
		if (!drift->absent[i])
			out[count++] = (struct record_drift){
				anchors[i].name, stats_change(drift->medians_s[i], drift->visits)};
	return count;
}

#define WATCHDOG_S 90 /* seconds beyond a point's time limit, on the real clock */

static volatile sig_atomic_t interrupted; /* number of the signal; 0: none */

static void on_signal(int number)
{
	interrupted = number;
}

/* Called when the device or a library hangs in a place without a deadline. */
static void on_alarm(int number)
{
	static const char text[] =
		"\nfarwire-probe: a call did not return in time; continue with --continue FILE\n";
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(1);
	_exit(1);
}

void run_catch_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal};
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	action.sa_handler = on_alarm;
	sigaction(SIGALRM, &action, NULL);
	action.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &action, NULL);
}

void run_end_by_signal(void)
{
	if (interrupted == 0)
		return;
	signal(interrupted, SIG_DFL);
	raise(interrupted);
}

/* ---- the plan ---- */

static bool wanted(const struct run_options *options, const struct plan_point *point)
{
	const struct probe *probe = point->owner;
	char name[256];
	if (options->only_count == 0)
		return true;
	plan_point_variant(point, name, sizeof(name));
	for (size_t i = 0; i < options->only_count; i++)
		if (strcmp(options->only[i], probe->id) == 0 ||
		    plan_matches(options->only[i], probe->test) ||
		    plan_matches(options->only[i], name))
			return true;
	return false;
}

/* Makes the plan of all points first, so that random sizes do not depend on --only. */
int run_plan(const struct bench *bench, const struct run_options *options, struct plan *plan)
{
	struct plan all = {.seed = options->seed};
	struct plan_random random = {options->seed};
	*plan = (struct plan){.seed = options->seed};
	for (size_t i = 0; probes[i]; i++) {
		all.owner = probes[i];
		all.test = probes[i]->test;
		probes[i]->add(bench, &all, &random);
	}
	for (size_t i = 0; i < all.count; i++)
		if (wanted(options, &all.points[i]))
			plan_add(plan, &all.points[i]);
	bool failed = all.failed || plan->failed;
	plan_free(&all);
	if (failed)
		fprintf(stderr, "farwire-probe: out of memory\n");
	return failed ? -1 : 0;
}

/* ---- the run ---- */

_Static_assert((int)GPU_WAIVED == RUN_WAIVED && (int)GPU_FAILED == RUN_FAILED,
	       "the codes of a GPU are those of a run");

struct probing {
	struct bench *bench;
	struct drift drift;
};

static double now(void *context)
{
	return bench_now_s(((struct probing *)context)->bench);
}

static bool stopped(void *context)
{
	return interrupted != 0;
}

static int begin_point(void *context, const struct plan_point *point, double deadline_s)
{
	struct bench *bench = ((struct probing *)context)->bench;
	const struct probe *probe = point->owner;
	bench->why[0] = '\0';
	alarm((unsigned)(deadline_s + WATCHDOG_S));
	return probe->begin ? probe->begin(bench, point) : GPU_OK;
}

static int sample_point(void *context, const struct plan_point *point, double *value)
{
	const struct probe *probe = point->owner;
	return probe->sample(((struct probing *)context)->bench, point, value);
}

static void end_point(void *context, const struct plan_point *point)
{
	const struct probe *probe = point->owner;
	struct bench *bench = ((struct probing *)context)->bench;
	if (probe->end)
		probe->end(bench);
	alarm(0);
}

static int look(void *context, struct record *record, double now_s, bool last)
{
	struct probing *probing = context;
	alarm(WATCHDOG_S);
	int code = drift_look(&probing->drift, probing->bench, record, now_s, last);
	alarm(0);
	return code;
}

static size_t judge(void *context, struct record_drift *drift)
{
	return drift_judge(&((struct probing *)context)->drift, drift);
}

int run_all(struct bench *bench, const struct run_options *options, const struct plan *plan,
	    struct record *record)
{
	struct probing probing = {.bench = bench};
	const struct run_prober prober = {
		.context = &probing,
		.now_s = now,
		.stopped = stopped,
		.begin = begin_point,
		.sample = sample_point,
		.end = end_point,
		.look = look,
		.judge = judge,
		.why = bench->why,
		.deadline_s = GPU_WAIT_S,
	};
	const struct run run = {
		.prober = &prober,
		.plan = plan,
		.record = record,
		.program = "farwire-probe",
		.go_on = "continue with --continue FILE",
		.passes = options->passes,
		.budget_s = options->budget_s,
		.quiet = options->quiet,
	};
	drift_start(&probing.drift, bench_now_s(bench), options->budget_s);
	return run_passes(&run);
}
