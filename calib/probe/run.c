/* SPDX-License-Identifier: Apache-2.0 */
#include "calib/probe/run.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "calib/probe/drift.h"
#include "calib/sample/run.h"

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
	if (bench->far)
		bench->far->api->close(bench->far);
	bench->far = NULL;
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
