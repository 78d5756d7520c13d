/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/workload/job.h"
#include "sim/engine/engine.h"
#include "sim/workload/life.h"

enum { STEPS_TO_SETTLE = 6 };
/* A GPU keeps up with its program if it does KEPT_UP of a step's work in the time of a step. A
 * program whose GPU never keeps up is measured after the work of WORK_OF_UNEQUALS steps. */
static const double KEPT_UP = 0.98, WORK_OF_UNEQUALS = 4;

static double step_s(const struct job *job, size_t index)
{
	const struct step_record *step = &job->steps.items[index];
	return s_from_ps(step->end_ps - step->start_ps);
}

/* Returns the kernel work that the GPUs did in a step, in units of the work of one step. */
static double step_work(const struct job *job, size_t index)
{
	return job->work_ps > 0 ? job->steps.items[index].work_ps / job->work_ps : 1;
}

static double work_since(const struct job *job, size_t first)
{
	double work = 0;
	for (size_t i = first; i < job->steps.count; i++)
		work += step_work(job, i);
	return work;
}

static struct steady_step work_time(const void *of, size_t index)
{
	return (struct steady_step){step_s(of, index), step_work(of, index)};
}

/* ---- the window ---- */

static void window_open(struct workload *w)
{
	w->open = true;
	w->opened_ps = engine_now_ps(w->engine);
	w->window_opened(w->ctx);
	for (size_t i = 0; i < w->limits.program_count; i++)
		if (w->jobs[i] && w->jobs[i]->kind->window_opened)
			w->jobs[i]->kind->window_opened(w->jobs[i]);
}

void job_warm(struct job *job)
{
	struct workload *w = job->workload;
	if (job->warm)
		return;
	job->warm = true;
	if (++w->warm_count < w->limits.program_count)
		return;
	window_open(w);
	w->steady = steady_begin(&w->limits, engine_events_count(w->engine), work_time);
}

void job_end(struct job *job)
{
	if (job->over)
		return;
	job->over = true;
	if (++job->workload->over_count == job->workload->limits.program_count)
		engine_stop(job->workload->engine);
}

void job_failed(void *ctx, const char *reason)
{
	struct job *job = ctx;
	if (job->run->failed)
		return;
	job->run->failed = true;
	job->run->reason = reason;
	job_end(job);
	job_warm(job);
}

/* Returns the first step that began in the window, or step_count if there is none. */
static size_t window_first(struct job *job)
{
	const struct workload *w = job->workload;
	while (job->first < job->steps.count &&
	       (!w->open || job->steps.items[job->first].start_ps < w->opened_ps))
		job->first++;
	return job->first;
}

/* ---- one job alone ---- */

static bool is_warmed_up(const struct job *job)
{
	double least = fmax(job->workload->warmup_count, job->kind->warmup_count);
	return (double)job->steps.count >= least &&
	       (step_work(job, job->steps.count - 1) >= KEPT_UP ||
		work_since(job, 0) >= WORK_OF_UNEQUALS);
}

/* Returns true if the GPU has done the work of a step since step `first`, or of several steps if
 * it does not keep up. */
static bool has_worked(const struct job *job, size_t first)
{
	if (job->steps.count == first)
		return false;
	bool kept_up = step_work(job, job->steps.count - 1) >= KEPT_UP;
	return work_since(job, first) >= (kept_up ? KEPT_UP : WORK_OF_UNEQUALS);
}

/* Returns true if the last two steps took the same time. */
static bool repeats(const struct job *job, size_t first)
{
	size_t count = job->steps.count;
	return !job->kind->varies(job) && count - (job->kind->repeats_early ? 0 : first) >= 2 &&
	       step_work(job, count - 1) >= KEPT_UP && step_work(job, count - 2) >= KEPT_UP &&
	       fabs(step_s(job, count - 2) - step_s(job, count - 1)) <=
		       job->kind->repeats_ratio * step_s(job, count - 1);
}

/* Returns true if the mean time of a step's work has settled. Times are divided by the work,
 * because a program that runs ahead of the GPU can begin and end its steps at any point of the
 * GPU's work. Steps with many events may have a larger error. */
static bool is_settled(const struct job *job, size_t first)
{
	size_t count = job->steps.count - first;
	double events = (double)engine_events_count(job->workload->engine);
	double large = events / (double)job->steps.count / job->kind->settled_events;
	return count >= STEPS_TO_SETTLE && !job->kind->in_doubt(job, count) &&
	       steady_mean_settled(work_time, job, first, count,
				   job->kind->settled_ratio * fmax(1, large));
}

/* Returns true if the last two steps are equal, or the mean has settled, or the maximum number
 * of steps is reached. */
static bool is_steady(struct job *job)
{
	size_t first = window_first(job);
	return has_worked(job, first) &&
	       (job->steps.count - first >= steady_steps_most(&job->workload->limits) ||
		repeats(job, first) || is_settled(job, first));
}

/* ---- several jobs ---- */

/* Ends all jobs together, or opens the window again. */
static void judge(struct workload *w)
{
	size_t count = 0;
	for (size_t i = 0; i < w->limits.program_count; i++) {
		struct job *job = w->jobs[i];
		if (job->over)
			continue;
		size_t first = window_first(job), steps = job->steps.count - first;
		w->programs[count++] = (struct steady_program){
			.of = job,
			.first = first,
			.count = steps,
			.has_worked = has_worked(job, first),
			.in_doubt = job->kind->in_doubt(job, steps),
		};
	}
	enum steady_verdict verdict =
		steady_judge(&w->steady, w->programs, count, engine_events_count(w->engine));
	if (verdict == STEADY_OPEN_ANEW)
		window_open(w);
	for (size_t i = 0; verdict == STEADY_OVER && i < w->limits.program_count; i++)
		job_end(w->jobs[i]);
}

static void pause_over(void *ctx, uint64_t arg)
{
	job_warm(ctx);
}

/* Pauses the job for a random part of a step, so that its phase to other jobs is random. */
static void pause_for_phase(struct job *job)
{
	struct workload *w = job->workload;
	const struct step_record *last = &job->steps.items[job->steps.count - 1];
	struct rng rng = rng_named(w->seed, arena_printf(w->arena, "phase of %s", job->name));
	double step_ps = (double)(last->end_ps - last->start_ps);
	int64_t pause_ps = (int64_t)(rng_uniform(&rng) * step_ps);
	job->paused = true;
	job->kind->pause(job, pause_ps);
	engine_after(w->engine, pause_ps, pause_over, job, 0);
}

bool job_step_over(struct job *job, const struct step_record *step)
{
	struct workload *w = job->workload;
	bool alone = w->limits.program_count == 1;
	*VEC_PUSH(w->arena, &job->steps) = *step;
	if (job->life)
		return life_step_over(job->life);
	if (alone && job->warm && is_steady(job))
		job_end(job);
	if (!alone && w->open)
		judge(w);
	if (!job->warm && !job->paused && is_warmed_up(job)) {
		if (alone || !job->kind->pause)
			job_warm(job);
		else
			pause_for_phase(job);
	}
	return !workload_is_over(w);
}

bool workload_does_one_step(const struct workload *w)
{
	return w->warmup_count < 1 && w->limits.steps_count > 0 && w->limits.steps_count <= 1;
}

bool workload_is_over(const struct workload *w)
{
	return w->over_count >= w->limits.program_count;
}

/* ---- begin and end ---- */

void workload_init(struct workload *w)
{
	w->jobs = ARENA_ARRAY(w->arena, w->limits.program_count + 1, struct job *);
	w->programs = ARENA_ARRAY(w->arena, w->limits.program_count + 1, struct steady_program);
}

void job_init(struct job *job, struct workload *workload, const struct job_kind *kind,
	      const char *name, struct job_run *run)
{
	job->workload = workload;
	job->kind = kind;
	job->name = name;
	job->run = run;
}

const char *workload_unfinished(struct workload *w, enum engine_end end,
				const char *(*no_end)(void *ctx, const char *waiting))
{
	bool limit = end == ENGINE_EVENTS || end == ENGINE_TIME;
	const char *first = NULL;
	for (size_t i = w->limits.program_count; i-- > 0;) {
		struct job *job = w->jobs[i];
		if (job->over ||
		    (end == ENGINE_DRAINED && job->kind->drained && job->kind->drained(job)))
			continue;
		const char *phase = job->life ? life_waiting(job->life, w->arena) : NULL;
		first = arena_printf(w->arena, "job '%s' waits: %s", job->name,
				     phase ? phase : job->kind->waiting(job, w->arena));
		if (limit)
			job_failed(job, no_end(w->ctx, first));
	}
	return first;
}

void workload_account(struct workload *w)
{
	for (size_t i = 0; i < w->limits.program_count; i++)
		w->jobs[i]->kind->account(w->jobs[i]);
}

static void read_job(struct workload *w, struct job *job, const char *broken)
{
	struct job_run *run = job->run;
	run->steps = job->steps.items;
	run->step_count = job->steps.count;
	run->steady_first = window_first(job);
	run->steady_count = run->step_count - run->steady_first;
	run->steady_work = work_since(job, run->steady_first);
	job->kind->read(job);
	if (!run->failed && !job->life && run->steady_work <= 0) {
		run->failed = true;
		run->reason = broken ? broken : "no step has ended";
	}
}

void workload_read(struct workload *w, const char *broken)
{
	for (size_t i = 0; i < w->limits.program_count; i++)
		read_job(w, w->jobs[i], broken);
}

double job_run_step_s(const struct job_run *run)
{
	const struct step_record *first = &run->steps[run->steady_first];
	const struct step_record *last = first + run->steady_count - 1;
	return s_from_ps(last->end_ps - first->start_ps) / run->steady_work;
}
