/* SPDX-License-Identifier: Apache-2.0 */
#include "calib/host/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calib/host/probe.h"
#include "calib/host/stop.h"
#include "calib/sample/clock.h"
#include "calib/sample/record.h"
#include "calib/sample/run.h"

#define TOOL       "farwire probe host"
#define DEADLINE_S 10.0 /* time a point may take beyond twice its share */

_Static_assert((int)HOST_WAIVED == RUN_WAIVED && (int)HOST_FAILED == RUN_FAILED &&
		       (int)HOST_STOPPED == RUN_STOPPED,
	       "the codes of host probes are those of a run");

struct host {
	const struct host_run_options *options;
	struct host_bench bench;
	struct plan plan;
	struct record record;
	size_t passes;
};

static int say(const char *what, const char *why)
{
	fprintf(stderr, "farwire: %s%s%s\n", what, *what ? ": " : "", why);
	return 1;
}

static int make_plan(struct host *host, uint64_t seed)
{
	struct plan_random random = {seed};
	host->plan = (struct plan){.seed = seed};
	for (size_t i = 0; host_probes[i]; i++) {
		host->plan.owner = host_probes[i];
		host->plan.test = host_probes[i]->test;
		host_probes[i]->add(&host->bench, &host->plan, &random);
	}
	return host->plan.failed ? say("", "out of memory") : 0;
}

/* ---- starting the recording ---- */

static int create(struct host *host, uint64_t seed)
{
	const struct record_start start = {
		.tool = TOOL,
		.mode = host->bench.full ? "full" : "quick",
		.seed = seed,
		.passes = host->passes,
	};
	if (record_create(&host->record, host->options->output, &start) == 0)
		return 0;
	return say("", host->record.why);
}

/* Continues a recording. The settings in its line 1 override the command line. */
static int resume(struct host *host, uint64_t *seed)
{
	struct record_found found;
	if (record_continue(&host->record, host->options->resume, &found) != 0)
		return say("", host->record.why) + 1;
	if (strcmp(found.tool, TOOL) != 0)
		return say(host->options->resume, "the file was not recorded by `farwire probe "
						  "host` (name one of its recordings)") +
		       1;
	*seed = found.seed;
	host->passes = found.passes;
	host->bench.full = strcmp(found.mode, "full") == 0;
	return 0;
}

/* ---- the whole run ---- */

static double now(void *context)
{
	return clock_now_s();
}

static bool stopped(void *context)
{
	return stop_asked();
}

static int begin_point(void *context, const struct plan_point *point, double deadline_s)
{
	struct host_bench *bench = &((struct host *)context)->bench;
	const struct host_probe *probe = point->owner;
	bench->own = calloc(1, probe->own_B);
	return bench->own ? probe->begin(bench, point)
			  : host_fail(bench, HOST_FAILED, "out of memory");
}

static int sample_point(void *context, const struct plan_point *point, double *value)
{
	struct host *host = context;
	return ((const struct host_probe *)point->owner)->sample(&host->bench, point, value);
}

static void end_point(void *context, const struct plan_point *point)
{
	struct host_bench *bench = &((struct host *)context)->bench;
	const struct host_probe *probe = point->owner;
	if (bench->own && probe->end)
		probe->end(bench);
	free(bench->own);
	bench->own = NULL;
}

/* Writes how to continue this run. */
static void put_go_on(const struct host_run_options *options, char *text, size_t room)
{
	const char *file = options->resume ? options->resume : options->output;
	if (file)
		snprintf(text, room, "continue with `farwire probe host --continue %s`", file);
	else
		snprintf(text, room, "use -o FILE to be able to continue a run");
}

static int run_opened(struct host *host)
{
	const struct host_run_options *options = host->options;
	char go_on[5000];
	const struct run_prober prober = {
		.context = host,
		.now_s = now,
		.stopped = stopped,
		.begin = begin_point,
		.sample = sample_point,
		.end = end_point,
		.why = host->bench.why,
		.deadline_s = DEADLINE_S,
	};
	struct run run = {
		.prober = &prober,
		.plan = &host->plan,
		.record = &host->record,
		.program = "farwire",
		.go_on = go_on,
	};
	uint64_t seed = options->seed;
	int code = options->resume ? resume(host, &seed) : 0;
	run.quiet = options->quiet;
	if (code == 0 && host->record.ended)
		return run_ended(&run, options->resume);
	if (code == 0)
		code = make_plan(host, seed);
	if (code == 0 && !options->resume)
		code = create(host, seed);
	run.passes = host->passes;
	run.budget_s = options->budget_s > 0 ? options->budget_s
		       : host->bench.full    ? HOST_FULL_S
					     : HOST_QUICK_S;
	put_go_on(options, go_on, sizeof(go_on));
	return code == 0 ? run_passes(&run) : code;
}

int host_run(const struct host_run_options *options)
{
	struct host host = {
		.options = options,
		.record.file = -1,
		.bench = {.full = options->full},
		.passes = options->full ? HOST_FULL_PASSES : HOST_QUICK_PASSES,
	};
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	host.bench.core_count = cores > 0 ? (size_t)cores : 1;
	stop_catch();
	int code = run_opened(&host);
	plan_free(&host.plan);
	if (record_close(&host.record) != 0 && code == 0)
		code = say("", "the last bytes of the recording could not be written");
	stop_release();
	return code;
}
