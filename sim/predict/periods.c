/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps of many micro-batches.
 *
 * A pipeline schedule repeats: once all stages are busy, each further period of micro-batches adds
 * the same time, kernels, messages and waits. So a plan with many micro-batches is run with a few
 * of them, with a period more, and with another one. If both periods add the same time, all times
 * and counters of the run are extended by the periods that are left. Otherwise longer runs follow,
 * until they would cost as much as the whole step, which is then simulated. A run with a trace, or
 * on links that lose packets, is never extended, nor one whose forward passes all come first: a
 * host that is ahead of the GPU fills the launch queue only after many of them.
 *
 * Valid if the rate does not change later. It would change if the host were ahead of the GPU in the
 * first micro-batches, and fell behind only after those that are simulated. */
#include "sim/predict/predict.h"
#include "sim/training/plan.h"

/* How an outcome is extended. */
struct period_rule {
	/* If the period before the last is used instead, the extended step and the times of its
	 * ranks may change by these parts of the step. */
	double step_ratio, part_ratio;
	double worth_ratio; /* runs for it have at most this part of all micro-batches */
	/* Rates change when the launch queue of a GPU is full for the first time, which is late if
	 * a host is hardly faster than its GPU. So each rank makes calls for this many queues. */
	double queues;
};
static const struct period_rule exact = {5e-5, 5e-4, 0.5, 32}, quick = {1e-3, 1e-2, 0.6, 0};
enum { PLAYED_LEAST = 128 }; /* micro-batches of the runs of an exact extension */
/* Longest run, because times in picoseconds fit into 63 bits up to 107 days. */
static const double run_most_s = 4e6;
enum { RUNS_LEAST = 3 };

struct periods {
	struct arena *arena;
	const struct scenario *scenario;
	const struct period_rule *extent;
	uint64_t seed;
	/* three runs, and their numbers of micro-batches */
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
	return !trace && !lossy && scenario->job_count == 1 && job->plan && !job->runtime &&
	       !job->plan->schedule->all_forward;
}

static bool is_first_step(const struct scenario *scenario)
{
	return scenario->steps_count == 1 && scenario->steps_warmup_count < 1;
}

/* Runs the first step, or all steps, with as many micro-batches as `plan` plays. */
static struct world_outcome run_shorter(struct periods *p, const struct training_plan *plan,
					bool first_step)
{
	struct scenario *scenario = ARENA_NEW(p->arena, struct scenario);
	struct job_entry *job = ARENA_NEW(p->arena, struct job_entry);
	*scenario = *p->scenario;
	*job = p->scenario->jobs[0];
	job->plan = plan;
	scenario->jobs = job;
	if (first_step) {
		scenario->steps_count = 1;
		scenario->steps_warmup_count = 0;
	}
	struct world_outcome outcome = world_run(p->arena, scenario, p->seed, NULL);
	outcome.jobs[0].entry = &p->scenario->jobs[0];
	p->events_count += outcome.events_count;
	return outcome;
}

/* Returns true if both periods extend a time of these runs to the same, up to `ratio` of a step. */
static bool is_even(const struct periods *p, const double times_s[RUNS_LEAST], double ratio)
{
	const double *counts = p->counts;
	double left = (double)p->scenario->jobs[0].plan->micro_batch_count - counts[2];
	double before_s = (times_s[1] - times_s[0]) / (counts[1] - counts[0]);
	double last_s = (times_s[2] - times_s[1]) / (counts[2] - counts[1]);
	double step_s = job_run_step_s(&p->runs[2].jobs[0]);
	double slope_s = (step_s - job_run_step_s(&p->runs[1].jobs[0])) / (counts[2] - counts[1]);
	return fabs(last_s - before_s) * left <= ratio * (step_s + slope_s * left);
}

static bool is_settled(const struct periods *p)
{
	double times_s[RUNS_LEAST];
	for (size_t i = 0; i < RUNS_LEAST; i++)
		times_s[i] = job_run_step_s(&p->runs[i].jobs[0]);
	bool even = is_even(p, times_s, p->extent->step_ratio);
	for (size_t rank = 0; even && rank < p->scenario->jobs[0].rank_count; rank++)
		for (int k = 0; k < GPU_TIME_COUNT; k++) {
			for (size_t i = 0; i < RUNS_LEAST; i++)
				times_s[i] = s_from_ps(p->runs[i].jobs[0].rank_times[rank].ps[k]);
			even = even && is_even(p, times_s, p->extent->part_ratio);
		}
	return even;
}

/* ---- extension ---- */

/* Adds to what a step of `to` has the difference of two first steps, `times` times. */
struct extension {
	const struct world_outcome *before, *last; /* one step each */
	struct world_outcome *to;
	double times;
};

static void extend(double *to, double last, double before, double times)
{
	*to += (last - before) * times;
}

static void extend_ps(int64_t *to, int64_t last, int64_t before, double times)
{
	*to += (int64_t)round((double)(last - before) * times);
}

static void extend_count(uint64_t *to, uint64_t last, uint64_t before, double times)
{
	*to += (uint64_t)round((double)(last - before) * times);
}

/* Extends step `index` of the run, which begins later, because the steps before it are longer. */
static void extend_step(const struct extension *e, struct step_record *to, size_t index)
{
	const struct step_record *a = e->before->jobs[0].steps, *b = e->last->jobs[0].steps;
	double times = e->times;
	int64_t before_ps = a->end_ps - a->start_ps, last_ps = b->end_ps - b->start_ps;
	extend_ps(&to->start_ps, last_ps, before_ps, times * (double)index);
	extend_ps(&to->end_ps, last_ps, before_ps, times * (double)(index + 1));
	extend_ps(&to->mark_ps, last_ps, before_ps, times * (double)(index + 1));
	extend(&to->gpu_busy_s, b->gpu_busy_s, a->gpu_busy_s, times);
	extend(&to->exposed_s, b->exposed_s, a->exposed_s, times);
	extend(&to->work_ps, b->work_ps, a->work_ps, times);
	extend_count(&to->calls_count, b->calls_count, a->calls_count, times);
	for (int k = 0; k < TIME_KIND_COUNT; k++) {
		extend(&to->thread_s[k], b->thread_s[k], a->thread_s[k], times);
		extend(&to->gpu_idle_s[k], b->gpu_idle_s[k], a->gpu_idle_s[k], times);
	}
}

static void extend_job(struct arena *arena, const struct extension *e)
{
	struct job_run *to = &e->to->jobs[0];
	const struct job_run *a = &e->before->jobs[0], *b = &e->last->jobs[0];
	double all = (double)to->step_count * e->times, some = (double)to->steady_count * e->times;
	struct step_record *steps = ARENA_ARRAY(arena, to->step_count, struct step_record);
	struct rank_times *times = ARENA_ARRAY(arena, to->entry->rank_count, struct rank_times);
	for (size_t i = 0; i < to->step_count; i++) {
		steps[i] = to->steps[i];
		extend_step(e, &steps[i], i);
	}
	for (size_t i = 0; i < to->entry->rank_count; i++) {
		times[i] = to->rank_times[i];
		for (int k = 0; k < GPU_TIME_COUNT; k++)
			extend_ps(&times[i].ps[k], b->rank_times[i].ps[k], a->rank_times[i].ps[k],
				  some);
	}
	to->steps = steps;
	to->rank_times = times;
	to->longer_program = b->program;
	to->shorter_program = a->program;
	to->extended_ratio = e->times;
	extend_count(&to->comm.collectives_count, b->comm.collectives_count,
		     a->comm.collectives_count, all);
	extend_count(&to->comm.sends_count, b->comm.sends_count, a->comm.sends_count, all);
	extend(&to->comm.sent_B, b->comm.sent_B, a->comm.sent_B, all);
	extend(&to->comm.delivered_B, b->comm.delivered_B, a->comm.delivered_B, all);
	extend(&to->comm.network_B, b->comm.network_B, a->comm.network_B, all);
}

static struct world_outcome extended(struct periods *p)
{
	struct training_plan *plan = ARENA_NEW(p->arena, struct training_plan);
	struct world_outcome to = p->runs[0];
	*plan = *p->scenario->jobs[0].plan;
	plan->played_count = (size_t)p->counts[0];
	if (!is_first_step(p->scenario))
		to = run_shorter(p, plan, false);
	if (to.broken || to.jobs[0].failed)
		return to;
	const struct world_outcome *a = &p->runs[1], *b = &p->runs[2];
	double left = (double)plan->micro_batch_count - p->counts[0];
	const struct extension e = {a, b, &to, left / (p->counts[2] - p->counts[1])};
	double all = e.times * (double)to.jobs[0].step_count;
	extend(&to.end_s, b->end_s, a->end_s, all);
	if (to.end_s > run_most_s) {
		to.jobs[0].failed = true;
		to.jobs[0].reason =
			arena_printf(p->arena,
				     "its %zu steps take %.3g s, but a run may take %g s at most "
				     "(write a smaller plan.global_batch)",
				     to.jobs[0].step_count, to.end_s, run_most_s);
		return to;
	}
	/* The window has more steps than began in it, if ranks began one before it opened. */
	double some = e.times * round(to.window_s / job_run_step_s(&to.jobs[0]));
	for (size_t i = 0; i < p->scenario->topology.gpu_count; i++)
		extend(&to.gpu_busy_s[i], b->gpu_busy_s[i], a->gpu_busy_s[i], some);
	for (int i = 0; i < WAIT_COUNT; i++)
		extend(&to.waits_s[i], b->waits_s[i], a->waits_s[i], some);
	for (size_t i = 0; i < to.link_count; i++) {
		const struct link_use *x = &a->links[i], *y = &b->links[i];
		extend(&to.links[i].carried_B, y->carried_B, x->carried_B, all);
		extend(&to.links[i].busy_s, y->busy_s, x->busy_s, all);
		extend(&to.links[i].window_B, y->window_B, x->window_B, some);
	}
	extend(&to.window_s, b->window_s, a->window_s, some);
	extend_job(p->arena, &e);
	to.events_count = p->events_count;
	return to;
}

static bool is_worth(const struct training_plan *plan, size_t periods, double most)
{
	double used = 0;
	for (size_t run = 0; run < RUNS_LEAST; run++)
		used += (double)plan_shorter(plan, periods + run).played_count;
	return used <= most;
}

bool periods_may_extend(const struct training_plan *plan)
{
	double most = quick.worth_ratio * (double)plan->micro_batch_count;
	return !plan->schedule->all_forward && is_worth(plan, 0, most);
}

/* Returns how many periods more than the first run has fill the launch queues. */
static size_t periods_least(const struct periods *p)
{
	const struct job_entry *job = &p->scenario->jobs[0];
	const struct training_plan *plan = job->plan;
	double queue = p->scenario->topology.gpus[job->gpus[0]].params.queue_depth_count;
	double calls = (double)p->runs[2].jobs[0].steps[0].calls_count / (double)job->rank_count;
	double period = (double)plan_shorter(plan, 1).played_count - p->counts[2];
	double wanted = fmax(p->scenario->params->micro_batches_count,
			     p->counts[2] * p->extent->queues * queue / fmax(calls, 1));
	double periods = ceil(fmax(0, wanted - p->counts[2]) / period);
	return (size_t)fmin(periods, (double)plan->micro_batch_count);
}

/* Runs the plan with more and more micro-batches. Returns true if that gives the outcome. */
static bool extends(struct periods *p, struct world_outcome *outcome)
{
	const struct training_plan *plan = p->scenario->jobs[0].plan;
	double most = p->extent->worth_ratio * (double)plan->micro_batch_count, used = 0;
	size_t first_periods = 0;
	for (size_t run = 0, periods = 0; is_worth(plan, first_periods, most); run++) {
		struct training_plan *shorter = ARENA_NEW(p->arena, struct training_plan);
		*shorter = plan_shorter(plan, periods);
		used += (double)shorter->played_count;
		if (used > most)
			return false;
		/* The fourth run takes the place of the second one, so that two periods that
		 * alternate count as one. */
		size_t first = run == RUNS_LEAST ? 1 : 0;
		for (size_t i = first; i + 1 < RUNS_LEAST; i++) {
			p->runs[i] = p->runs[i + 1];
			p->counts[i] = p->counts[i + 1];
		}
		*outcome = p->runs[2] = run_shorter(p, shorter, true);
		p->counts[2] = (double)shorter->played_count;
		if (outcome->broken || outcome->jobs[0].failed)
			return true;
		if (run + 1 >= RUNS_LEAST && is_settled(p)) {
			*outcome = extended(p);
			return true;
		}
		if (run + 1 >= RUNS_LEAST && p->extent == &quick)
			return false;
		if (run == 0 && periods == 0) {
			first_periods = periods = periods_least(p);
			run -= periods > 0;
			if (periods > 0)
				continue;
		}
		size_t more = periods - first_periods;
		periods += more < 2 ? 1 : more;
	}
	return false;
}

struct world_outcome periods_run(struct arena *arena, const struct scenario *scenario,
				 uint64_t seed, struct trace *trace)
{
	bool is_exact = scenario->params->micro_batches_count >= PLAYED_LEAST;
	struct periods p = {.arena = arena,
			    .scenario = scenario,
			    .extent = is_exact ? &exact : &quick,
			    .seed = seed};
	struct world_outcome outcome;
	if (may_extend(scenario, trace) && extends(&p, &outcome))
		return outcome;
	return world_run(arena, scenario, seed, trace);
}
