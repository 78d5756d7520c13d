/* SPDX-License-Identifier: Apache-2.0 */
#include "calib/sample/run.h"

#include <math.h>
#include <unistd.h>

#include "calib/sample/clock.h"
#include "calib/sample/sampler.h"

/* Measurements in progress may exceed the time limit by this part of it. */
#define OVERTIME_PART 0.05
#define WAIVED_MOST   64
#define WHY_MOST      200

struct run_state {
	const struct run *run;
	bool terminal;
	double shown_s; /* real time of the last progress line */
	double start_s; /* start time on the prober's clock */
	size_t pass, done, count;
	bool late;
	bool *waived; /* one entry for each point */
	struct {
		const char *test;
		char why[WHY_MOST];
	} waivers[WAIVED_MOST];
	size_t waiver_count;
};

/* ---- messages ---- */

static void clear_line(const struct run_state *state)
{
	if (state->terminal && !state->run->quiet)
		fputs("\r\033[K", stderr);
}

static int complain(const struct run_state *state, const struct plan_point *point, const char *why)
{
	char name[256] = "";
	if (point)
		plan_point_name(point, name, sizeof(name));
	clear_line(state);
	fprintf(stderr, "%s: %s%s%s\n", state->run->program, name, point ? ": " : "", why);
	return 1;
}

static void show(struct run_state *state, double now_s)
{
	const struct run *run = state->run;
	double real_now_s = clock_now_s(), spent_s = now_s - state->start_s;
	if (run->quiet || real_now_s - state->shown_s < (state->terminal ? 0.2 : 10.0))
		return;
	state->shown_s = real_now_s;
	double left_s = run->budget_s - spent_s;
	if (state->done > 0) {
		double ahead = (double)(state->count - state->done);
		left_s = fmin(left_s, spent_s * ahead / (double)state->done);
	}
	fprintf(stderr, "%s%s: pass %zu of %zu, %.0f %% of %zu points, %.0f s left%s",
		state->terminal ? "\r\033[K" : "", run->program, state->pass + 1, run->passes,
		100.0 * (double)state->done / (double)state->count, state->count, fmax(left_s, 0),
		state->terminal ? "" : "\n");
	fflush(stderr);
}

static int waive(struct run_state *state, const char *test, const char *why)
{
	for (size_t i = 0; i < state->waiver_count; i++)
		if (strcmp(state->waivers[i].test, test) == 0 &&
		    strncmp(state->waivers[i].why, why, WHY_MOST - 1) == 0)
			return 0;
	if (state->waiver_count < WAIVED_MOST) {
		state->waivers[state->waiver_count].test = test;
		snprintf(state->waivers[state->waiver_count++].why, WHY_MOST, "%s", why);
	}
	return record_waived(state->run->record, test, why);
}

/* ---- one point ---- */

struct one {
	const struct run_prober *prober;
	const struct plan_point *point;
};

static int sample_one(void *context, double *value)
{
	const struct one *one = context;
	if (one->prober->stopped(one->prober->context))
		return RUN_STOPPED;
	return one->prober->sample(one->prober->context, one->point, value);
}

static double now_one(void *context)
{
	const struct run_prober *prober = ((const struct one *)context)->prober;
	return prober->now_s(prober->context);
}

/* Measures one point and returns a run_code; *why is the reason for codes other than RUN_OK. */
static int measure(const struct run_prober *prober, const struct plan_point *point, double share_s,
		   struct sampler_result *result, const char **why)
{
	struct one one = {prober, point};
	const struct sampler sampler = {
		.interval_ratio = point->interval_ratio > 0 ? point->interval_ratio : SAMPLER_RATIO,
		.least = SAMPLER_LEAST,
		.most = SAMPLER_MOST,
		.warm_up_most = SAMPLER_MOST / 5,
		.share_s = share_s,
		.deadline_s = 2 * share_s + prober->deadline_s,
		.context = &one,
		.sample = sample_one,
		.now_s = now_one,
	};
	*result = (struct sampler_result){0};
	*why = prober->why;
	int code = prober->begin(prober->context, point, sampler.deadline_s);
	if (code == RUN_OK && sampler_run(&sampler, result) != 0) {
		*why = "out of memory";
		code = RUN_FAILED;
	}
	if (code == RUN_OK && result->stop == SAMPLER_FAILED)
		code = result->code;
	prober->end(prober->context, point);
	if (code == RUN_OK && result->count == 0) {
		*why = "no sample before its deadline";
		code = RUN_WAIVED;
	}
	return prober->stopped(prober->context) ? RUN_STOPPED : code;
}

static int do_point(struct run_state *state, size_t index, double share_s)
{
	const struct run *run = state->run;
	const struct run_prober *prober = run->prober;
	const struct plan_point *point = &run->plan->points[index];
	struct sampler_result result;
	const char *why;
	double t_s = prober->now_s(prober->context) - state->start_s;
	int written = 0, code = measure(prober, point, share_s, &result, &why);
	if (code == RUN_WAIVED) {
		state->waived[index] = true;
		written = waive(state, point->test, why);
	} else if (code == RUN_OK) {
		written =
			record_samples(run->record, &(struct record_samples){
							    .point = point,
							    .pass = state->pass,
							    .t_s = t_s,
							    .unit = point->unit ? point->unit : "s",
							    .stop = sampler_stop_name(result.stop),
							    .values = result.values,
							    .count = result.count,
						    });
	}
	free(result.values);
	if (code == RUN_STOPPED) {
		clear_line(state);
		fprintf(stderr, "%s: interrupted; %s\n", run->program, run->go_on);
		return 1;
	}
	if (code != RUN_OK && code != RUN_WAIVED)
		return complain(state, point, why[0] ? why : "failed");
	return written == 0 ? 0 : complain(state, point, run->record->why);
}

/* ---- the whole run ---- */

static int look(const struct run_state *state, const struct plan_point *point, double now_s,
		bool last)
{
	const struct run_prober *prober = state->run->prober;
	if (!prober->look ||
	    prober->look(prober->context, state->run->record, now_s, last) == RUN_OK)
		return 0;
	return complain(state, point, prober->why);
}

static int do_pass(struct run_state *state, size_t *order)
{
	const struct run *run = state->run;
	plan_shuffle(run->plan, state->pass, order);
	for (size_t i = 0; i < run->plan->count; i++, state->done++) {
		const struct plan_point *point = &run->plan->points[order[i]];
		double now_s = run->prober->now_s(run->prober->context);
		double left_s = run->budget_s - (now_s - state->start_s);
		show(state, now_s);
		if (state->waived[order[i]] || record_has(run->record, point, state->pass))
			continue;
		if (state->pass > 0 && left_s < -OVERTIME_PART * run->budget_s) {
			state->late = true;
			break;
		}
		if (look(state, point, now_s, false) != 0)
			return 1;
		double share_s = plan_share_s(left_s, state->count - state->done);
		if (do_point(state, order[i], share_s) != 0)
			return 1;
	}
	return 0;
}

static int judge(const struct run *run, const struct record_drift *drift, size_t count)
{
	int code = 0;
	for (size_t i = 0; i < count; i++) {
		if (fabs(drift[i].ratio) <= RECORD_DRIFT_MOST)
			continue;
		fprintf(stderr,
			"%s: %s drifted by %.1f %% during the run (limit %.0f %%), so no "
			"measurement of it is reliable\n",
			run->program, drift[i].anchor, 100 * drift[i].ratio,
			100 * RECORD_DRIFT_MOST);
		code = 1;
	}
	return code;
}

int run_ended(const struct run *run, const char *path)
{
	if (!run->quiet)
		fprintf(stderr, "%s: %s is already complete\n", run->program, path);
	return judge(run, run->record->drift, run->record->drift_count);
}

static int end_run(struct run_state *state)
{
	const struct run *run = state->run;
	const struct run_prober *prober = run->prober;
	struct record_drift drift[RECORD_DRIFTS_MOST];
	double now_s = prober->now_s(prober->context);
	clear_line(state);
	if (look(state, NULL, now_s, true) != 0)
		return 1;
	const struct record_end end = {
		.whole = !state->late,
		.elapsed_s = now_s - state->start_s,
		.drift = drift,
		.count = prober->judge ? prober->judge(prober->context, drift) : 0,
	};
	if (record_end(run->record, &end) != 0)
		return complain(state, NULL, run->record->why);
	int code = judge(run, drift, end.count);
	if (!state->late)
		return code;
	fprintf(stderr,
		"%s: the time limit was reached in pass %zu of %zu, which stays incomplete; %s\n",
		run->program, state->pass + 1, run->passes, run->go_on);
	return 1;
}

int run_passes(const struct run *run)
{
	struct run_state state = {
		.run = run,
		.terminal = isatty(STDERR_FILENO) == 1,
		.shown_s = clock_now_s(),
		.start_s = run->prober->now_s(run->prober->context),
		.count = run->plan->count * run->passes,
		.waived = calloc(run->plan->count + 1, sizeof(bool)),
	};
	size_t *order = malloc((run->plan->count + 1) * sizeof(*order));
	int code = order && state.waived ? 0 : complain(&state, NULL, "out of memory");
	for (; state.pass < run->passes && code == 0; state.pass++) {
		code = do_pass(&state, order);
		if (state.late)
			break;
	}
	if (code == 0)
		code = end_run(&state);
	free(order);
	free(state.waived);
	return code;
}
