/* SPDX-License-Identifier: Apache-2.0 */
#include "calib/probe/run.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "calib/probe/drift.h"
#include "calib/sample/sampler.h"

#define CODE_INTERRUPTED 3
#define WATCHDOG_S       90   /* beyond a point's time, on the real clock */
#define OVERTIME_PART    0.05 /* a first pass takes what it takes, others end then */
#define WAIVED_MOST      64

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
	(void)number;
	interrupted = 1;
}

/* The device or a library hangs where no deadline of ours reaches. */
static void on_alarm(int number)
{
	static const char text[] =
		"\nfarwire-probe: a call did not return in time; go on with --continue FILE\n";
	(void)number;
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

/* ---- the plan ---- */

static bool wanted(const struct run_options *options, const struct plan_point *point)
{
	const struct probe *probe = point->owner;
	char name[256];
	if (options->only_count == 0)
		return true;
	snprintf(name, sizeof(name), "%s", point->test);
	for (size_t i = 0; i < PLAN_WORDS && point->is[i].key; i++) {
		size_t used = strlen(name);
		snprintf(name + used, sizeof(name) - used, ".%s", point->is[i].value);
	}
	for (size_t i = 0; i < options->only_count; i++)
		if (strcmp(options->only[i], probe->id) == 0 ||
		    plan_matches(options->only[i], probe->test) ||
		    plan_matches(options->only[i], name))
			return true;
	return false;
}

/* First everything, so that the random sizes do not depend on what is wanted. */
int run_plan(const struct bench *bench, const struct run_options *options, struct plan *plan)
{
	struct plan all = {.seed = options->seed};
	struct plan_random random = {options->seed};
	*plan = (struct plan){.seed = options->seed};
	for (size_t i = 0; probes[i]; i++)
		probes[i]->add(probes[i], bench, &all, &random);
	for (size_t i = 0; i < all.count; i++)
		if (wanted(options, &all.points[i]))
			plan_add(plan, &all.points[i]);
	bool failed = all.failed || plan->failed;
	plan_free(&all);
	if (failed)
		fprintf(stderr, "farwire-probe: out of memory\n");
	return failed ? -1 : 0;
}

/* ---- progress ---- */

struct progress {
	bool quiet, terminal;
	double shown_s; /* real seconds */
	size_t done, count, pass, passes;
	double start_s, budget_s; /* on the device's clock */
};

static double real_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void show(struct progress *progress, double now_s)
{
	double real_now_s = real_s(), spent_s = now_s - progress->start_s;
	if (progress->quiet || real_now_s - progress->shown_s < (progress->terminal ? 0.2 : 10.0))
		return;
	progress->shown_s = real_now_s;
	double left_s = progress->budget_s - spent_s;
	if (progress->done > 0) {
		double ahead = (double)(progress->count - progress->done);
		left_s = fmin(left_s, spent_s * ahead / (double)progress->done);
	}
	fprintf(stderr, "%sfarwire-probe: pass %zu of %zu, %.0f %% of %zu points, %.0f s left%s",
		progress->terminal ? "\r\033[K" : "", progress->pass + 1, progress->passes,
		100.0 * (double)progress->done / (double)progress->count, progress->count,
		fmax(left_s, 0), progress->terminal ? "" : "\n");
	fflush(stderr);
}

/* ---- one point ---- */

struct run {
	struct bench *bench;
	const struct run_options *options;
	struct record *record;
	struct progress progress;
	struct drift drift;
	bool late;    /* the time was over before the last pass was */
	bool *waived; /* for each point */
	struct {
		const char *test;
		char why[GPU_WHY];
	} told[WAIVED_MOST];
	size_t told_count;
};

struct one {
	struct bench *bench;
	const struct probe *probe;
	const struct plan_point *point;
};

static int sample_one(void *context, double *value)
{
	const struct one *one = context;
	if (interrupted)
		return CODE_INTERRUPTED;
	return one->probe->sample(one->bench, one->point, value);
}

static double now_one(void *context)
{
	return bench_now_s(((const struct one *)context)->bench);
}

static int waive(struct run *run, const char *test, const char *why)
{
	for (size_t i = 0; i < run->told_count; i++)
		if (strcmp(run->told[i].test, test) == 0 && strcmp(run->told[i].why, why) == 0)
			return 0;
	if (run->told_count < WAIVED_MOST) {
		run->told[run->told_count].test = test;
		snprintf(run->told[run->told_count].why, GPU_WHY, "%s", why);
		run->told_count++;
	}
	return record_waived(run->record, test, why);
}

static int complain(struct run *run, const struct plan_point *point, const char *why)
{
	char name[256];
	plan_point_name(point, name, sizeof(name));
	fprintf(stderr, "%sfarwire-probe: %s: %s\n", run->progress.terminal ? "\n" : "", name, why);
	return 1;
}

/* GPU_OK, GPU_WAIVED, GPU_FAILED or CODE_INTERRUPTED. */
static int measure(struct run *run, const struct plan_point *point, double share_s,
		   struct sampler_result *result)
{
	struct one one = {run->bench, point->owner, point};
	const struct sampler sampler = {
		.interval_ratio = point->interval_ratio > 0 ? point->interval_ratio : SAMPLER_RATIO,
		.least = point->most > 0 ? point->most : SAMPLER_LEAST,
		.most = point->most > 0 ? point->most : SAMPLER_MOST,
		.warm_up_most = point->most > 0 ? 0 : SAMPLER_MOST / 5,
		.share_s = share_s,
		.deadline_s = 2 * share_s + GPU_WAIT_S,
		.context = &one,
		.sample = sample_one,
		.now_s = now_one,
	};
	*result = (struct sampler_result){0};
	run->bench->why[0] = '\0';
	alarm((unsigned)(sampler.deadline_s + WATCHDOG_S));
	int code = one.probe->begin ? one.probe->begin(run->bench, point) : GPU_OK;
	if (code == GPU_OK && sampler_run(&sampler, result) != 0) {
		snprintf(run->bench->why, GPU_WHY, "out of memory");
		code = GPU_FAILED;
	}
	if (code == GPU_OK && result->stop == SAMPLER_FAILED)
		code = result->code;
	if (one.probe->end)
		one.probe->end(run->bench);
	alarm(0);
	if (code == GPU_OK && result->count == 0) {
		snprintf(run->bench->why, GPU_WHY, "%s",
			 result->stop == SAMPLER_DEADLINE ? "no sample before its deadline"
							  : "nothing is left to measure");
		return GPU_WAIVED;
	}
	return code;
}

static int do_point(struct run *run, const struct plan_point *point, size_t pass, bool *waived,
		    double share_s)
{
	struct bench *bench = run->bench;
	struct sampler_result result;
	double t_s = bench_now_s(bench) - run->progress.start_s;
	int code = measure(run, point, share_s, &result), written = 0;
	if (code == GPU_WAIVED) {
		*waived = true;
		written = waive(run, point->test, bench->why);
	} else if (code == GPU_OK) {
		written =
			record_samples(run->record, &(struct record_samples){
							    .point = point,
							    .pass = pass,
							    .t_s = t_s,
							    .unit = point->unit ? point->unit : "s",
							    .stop = sampler_stop_name(result.stop),
							    .values = result.values,
							    .count = result.count,
						    });
	}
	free(result.values);
	if (code == CODE_INTERRUPTED)
		return complain(run, point, "interrupted; go on with --continue FILE");
	if (code != GPU_OK && code != GPU_WAIVED)
		return complain(run, point, bench->why[0] ? bench->why : "failed");
	if (written != 0)
		return complain(run, point, run->record->why);
	return 0;
}

/* ---- passes ---- */

static int do_pass(struct run *run, const struct plan *plan, size_t pass, size_t *order)
{
	struct bench *bench = run->bench;
	struct progress *progress = &run->progress;
	progress->pass = pass;
	plan_shuffle(plan, pass, order);
	for (size_t i = 0; i < plan->count; i++, progress->done++) {
		const struct plan_point *point = &plan->points[order[i]];
		double now_s = bench_now_s(bench);
		show(progress, now_s);
		if (run->waived[order[i]] || record_has(run->record, point, pass))
			continue;
		if (drift_look(&run->drift, bench, run->record, now_s, false) != 0)
			return complain(run, point, bench->why);
		double left_s = progress->budget_s - (now_s - progress->start_s);
		if (pass > 0 && left_s < -OVERTIME_PART * progress->budget_s) {
			run->late = true;
			break;
		}
		double share_s = plan_share_s(left_s, progress->count - progress->done);
		if (do_point(run, point, pass, &run->waived[order[i]], share_s) != 0)
			return 1;
	}
	return 0;
}

static int end_run(struct run *run)
{
	struct record_drift drift[DRIFT_ANCHORS];
	struct bench *bench = run->bench;
	double now_s = bench_now_s(bench);
	if (drift_look(&run->drift, bench, run->record, now_s, true) != 0) {
		fprintf(stderr, "farwire-probe: %s\n", bench->why);
		return 1;
	}
	size_t count = drift_judge(&run->drift, drift);
	if (record_end(run->record, now_s - run->progress.start_s, drift, count) != 0) {
		fprintf(stderr, "farwire-probe: %s\n", run->record->why);
		return 1;
	}
	int code = 0;
	for (size_t i = 0; i < count; i++)
		if (run->drift.visits >= DRIFT_VISITS_LEAST &&
		    fabs(drift[i].ratio) > RUN_DRIFT_MOST) {
			fprintf(stderr,
				"farwire-probe: %s drifted by %.1f %% during the run, more than "
				"%.0f %%: nothing measured can be relied on\n",
				drift[i].anchor, 100 * drift[i].ratio, 100 * RUN_DRIFT_MOST);
			code = 1;
		}
	return code;
}

int run_all(struct bench *bench, const struct run_options *options, const struct plan *plan,
	    struct record *record)
{
	struct run run = {.bench = bench, .options = options, .record = record};
	size_t *order = malloc(plan->count * sizeof(*order));
	run.waived = calloc(plan->count, sizeof(*run.waived));
	run.progress = (struct progress){
		.quiet = options->quiet,
		.terminal = isatty(STDERR_FILENO) == 1,
		.shown_s = real_s(),
		.count = plan->count * options->passes,
		.passes = options->passes,
		.start_s = bench_now_s(bench),
		.budget_s = options->budget_s,
	};
	int code = order && run.waived ? 0 : 1;
	drift_start(&run.drift, run.progress.start_s, options->budget_s);
	for (size_t pass = 0; pass < options->passes && code == 0 && !run.late; pass++)
		code = do_pass(&run, plan, pass, order);
	if (run.late)
		fprintf(stderr,
			"farwire-probe: the time was over in pass %zu of %zu, which stays "
			"incomplete\n",
			run.progress.pass + 1, options->passes);
	if (code == 0)
		code = end_run(&run);
	if (run.progress.terminal && !options->quiet)
		fprintf(stderr, "\r\033[K");
	free(order);
	free(run.waived);
	return code;
}
