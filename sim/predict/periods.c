/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/predict/periods.h"
#include "sim/training/plan.h"

/* The extended step may change by this part of it if the period before the last is used instead. */
static const double settled_ratio = 5e-5;
/* Runs for an extension have at most this part of all micro-batches. */
static const double worth_ratio = 0.5;
enum { RUNS_LEAST = 3 };

struct periods {
	struct arena *arena;
	const struct scenario *scenario;
	uint64_t seed;
	/* the last three runs, and their numbers of micro-batches */
	struct world_outcome runs[RUNS_LEAST];
	double counts[RUNS_LEAST];
	uint64_t events_count; /* of all runs */
};

static bool may_extend(const struct scenario *scenario, const struct trace *trace)
{
	const struct job_entry *job = &scenario->jobs[0];
	bool lossy = false;
	for (size_t i = 0; i < scenario->topology.link_count; i++) {
		const struct link_traits *traits = &scenario->topology.links[i].traits;
		lossy |= traits->loss_ratio[0] > 0 || traits->loss_ratio[1] > 0;
	}
	return !trace && !lossy && scenario->job_count == 1 && job->plan && !job->runtime;
}

static struct world_outcome run_shorter(const struct periods *p, const struct training_plan *plan)
{
	struct scenario *scenario = ARENA_NEW(p->arena, struct scenario);
	struct job_entry *job = ARENA_NEW(p->arena, struct job_entry);
	*scenario = *p->scenario;
	*job = p->scenario->jobs[0];
	job->plan = plan;
	scenario->jobs = job;
	struct world_outcome outcome = world_run(p->arena, scenario, p->seed, NULL);
	outcome.jobs[0].entry = &p->scenario->jobs[0];
	return outcome;
}

/* Returns true if the last two periods make the same of a time that these runs have. */
static bool is_even(const struct periods *p, const double times_s[RUNS_LEAST])
{
	const double *counts = p->counts;
	double left = (double)p->scenario->jobs[0].plan->micro_batch_count - counts[2];
	double before_s = (times_s[1] - times_s[0]) / (counts[1] - counts[0]);
	double last_s = (times_s[2] - times_s[1]) / (counts[2] - counts[1]);
	double step_s = job_run_step_s(&p->runs[2].jobs[0]);
	double slope_s = (step_s - job_run_step_s(&p->runs[1].jobs[0])) / (counts[2] - counts[1]);
	return fabs(last_s - before_s) * left <= settled_ratio * (step_s + slope_s * left);
}

static bool is_settled(const struct periods *p)
{
	const struct job_run *last = &p->runs[2].jobs[0];
	double times_s[RUNS_LEAST];
	for (size_t i = 0; i < RUNS_LEAST; i++) {
		const struct job_run *run = &p->runs[i].jobs[0];
		if (run->step_count != last->step_count ||
		    run->steady_first != last->steady_first || !run->rank_times)
			return false;
		times_s[i] = job_run_step_s(run);
	}
	bool even = is_even(p, times_s);
	for (size_t rank = 0; even && rank < last->entry->rank_count; rank++)
		for (int k = 0; k < GPU_TIME_COUNT; k++) {
			for (size_t i = 0; i < RUNS_LEAST; i++) {
				const struct job_run *run = &p->runs[i].jobs[0];
				times_s[i] = s_from_ps(run->rank_times[rank].ps[k]) /
					     run->steady_work;
			}
			even = even && is_even(p, times_s);
		}
	return even;
}

/* ---- extension ---- */

struct extension {
	double ratio; /* micro-batches that are left over those of the last period */
};

static void extend(const struct extension *e, double *last, double before)
{
	*last += (*last - before) * e->ratio;
}

static void extend_ps(const struct extension *e, int64_t *last, int64_t before)
{
	*last += (int64_t)round((double)(*last - before) * e->ratio);
}

static void extend_count(const struct extension *e, uint64_t *last, uint64_t before)
{
	*last += (uint64_t)round((double)(*last - before) * e->ratio);
}

static void extend_step(const struct extension *e, struct step_record *last,
			const struct step_record *before)
{
	extend_ps(e, &last->start_ps, before->start_ps);
	extend_ps(e, &last->end_ps, before->end_ps);
	extend_ps(e, &last->mark_ps, before->mark_ps);
	extend(e, &last->gpu_busy_s, before->gpu_busy_s);
	extend(e, &last->exposed_s, before->exposed_s);
	extend(e, &last->work_ps, before->work_ps);
	extend_count(e, &last->calls_count, before->calls_count);
	for (int k = 0; k < TIME_KIND_COUNT; k++) {
		extend(e, &last->thread_s[k], before->thread_s[k]);
		extend(e, &last->gpu_idle_s[k], before->gpu_idle_s[k]);
	}
}

static void extend_job(const struct periods *p, const struct extension *e)
{
	struct job_run *last = &p->runs[2].jobs[0];
	const struct job_run *before = &p->runs[1].jobs[0];
	size_t ranks = last->entry->rank_count;
	struct step_record *steps = ARENA_ARRAY(p->arena, last->step_count, struct step_record);
	struct rank_times *times = ARENA_ARRAY(p->arena, ranks, struct rank_times);
	for (size_t i = 0; i < last->step_count; i++) {
		steps[i] = last->steps[i];
		extend_step(e, &steps[i], &before->steps[i]);
	}
	for (size_t i = 0; i < ranks; i++) {
		times[i] = last->rank_times[i];
		for (int k = 0; k < GPU_TIME_COUNT; k++)
			extend_ps(e, &times[i].ps[k], before->rank_times[i].ps[k]);
	}
	last->steps = steps;
	last->rank_times = times;
	last->shorter_program = before->program;
	last->extended_ratio = e->ratio;
	extend_count(e, &last->comm.collectives_count, before->comm.collectives_count);
	extend_count(e, &last->comm.sends_count, before->comm.sends_count);
	extend(e, &last->comm.sent_B, before->comm.sent_B);
	extend(e, &last->comm.delivered_B, before->comm.delivered_B);
	extend(e, &last->comm.network_B, before->comm.network_B);
}

static void extend_outcome(struct periods *p)
{
	struct world_outcome *last = &p->runs[2];
	const struct world_outcome *before = &p->runs[1];
	double all = (double)p->scenario->jobs[0].plan->micro_batch_count;
	const struct extension e = {(all - p->counts[2]) / (p->counts[2] - p->counts[1])};
	extend_job(p, &e);
	extend(&e, &last->end_s, before->end_s);
	extend(&e, &last->window_s, before->window_s);
	for (size_t i = 0; i < p->scenario->topology.gpu_count; i++)
		extend(&e, &last->gpu_busy_s[i], before->gpu_busy_s[i]);
	for (int i = 0; i < WAIT_COUNT; i++)
		extend(&e, &last->waits_s[i], before->waits_s[i]);
	for (size_t i = 0; i < last->link_count; i++) {
		extend(&e, &last->links[i].carried_B, before->links[i].carried_B);
		extend(&e, &last->links[i].busy_s, before->links[i].busy_s);
		extend(&e, &last->links[i].window_B, before->links[i].window_B);
	}
	last->events_count = p->events_count;
}

static bool is_worth(const struct training_plan *plan, double most)
{
	double used = 0;
	for (size_t run = 0; run < RUNS_LEAST; run++)
		used += (double)plan_shorter(plan, run).played_count;
	return used <= most;
}

/* Runs the plan with more and more micro-batches. Returns true if the last run is the outcome. */
static bool extends(struct periods *p)
{
	const struct training_plan *plan = p->scenario->jobs[0].plan;
	double most = worth_ratio * (double)plan->micro_batch_count, used = 0;
	for (size_t run = 0, periods = 0; is_worth(plan, most); run++) {
		struct training_plan *shorter = ARENA_NEW(p->arena, struct training_plan);
		*shorter = plan_shorter(plan, periods);
		used += (double)shorter->played_count;
		if (used > most)
			return false;
		memmove(p->runs, p->runs + 1, 2 * sizeof *p->runs);
		memmove(p->counts, p->counts + 1, 2 * sizeof *p->counts);
		p->runs[2] = run_shorter(p, shorter);
		p->counts[2] = (double)shorter->played_count;
		p->events_count += p->runs[2].events_count;
		if (p->runs[2].broken || p->runs[2].jobs[0].failed)
			return true;
		if (run + 1 >= RUNS_LEAST && is_settled(p)) {
			extend_outcome(p);
			return true;
		}
		periods += periods < 2 ? 1 : periods;
	}
	return false;
}

struct world_outcome periods_run(struct arena *arena, const struct scenario *scenario,
				 uint64_t seed, struct trace *trace)
{
	struct periods p = {.arena = arena, .scenario = scenario, .seed = seed};
	if (may_extend(scenario, trace) && extends(&p))
		return p.runs[RUNS_LEAST - 1];
	return world_run(arena, scenario, seed, trace);
}
