/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/workload/dp_job.h"

/* WARM_STEPS is the smallest number of warm-up steps: the first step fills queues, the second runs
 * with full queues. With randomness, a mean needs at least STEPS_IN_DOUBT steps. */
enum { WARM_STEPS = 2, STEPS_IN_DOUBT = 6 };

struct ranks_job {
	struct job job; /* must be first, because functions cast a job to this struct */
	struct communicator *comm;
	struct dp *dp; /* NULL: the job repeats the collective */
	struct collective_spec collective;
	int64_t begun_ps;
	bool noisy;
};

static struct ranks_job *ranks_job(const struct job *job)
{
	return (struct ranks_job *)job;
}

static const char *waiting(const struct job *job, struct arena *arena)
{
	const struct ranks_job *r = ranks_job(job);
	return r->dp ? dp_waiting(r->dp, arena) : communicator_waiting(r->comm, arena);
}

static bool varies(const struct job *job)
{
	return job->workload->lossy || ranks_job(job)->noisy;
}

static bool in_doubt(const struct job *job, size_t step_count)
{
	return varies(job) && step_count < STEPS_IN_DOUBT;
}

static void read_job(struct job *job)
{
	const struct ranks_job *r = ranks_job(job);
	if (r->comm)
		job->run->comm = *communicator_counters(r->comm);
}

static void account(struct job *job)
{
	if (ranks_job(job)->comm)
		communicator_account(ranks_job(job)->comm);
}

static const struct job_kind kind = {
	.waiting = waiting,
	.varies = varies,
	.in_doubt = in_doubt,
	.read = read_job,
	.account = account,
	.warmup_count = WARM_STEPS,
	.repeats_ratio = 1e-6,
	.settled_ratio = 0.002,
	.settled_events = 4e5,
};

struct job *ranks_job_new(struct workload *workload, struct job_run *run, const char *name)
{
	struct ranks_job *r = ARENA_NEW(workload->arena, struct ranks_job);
	job_init(&r->job, workload, &kind, name, run);
	return &r->job;
}

static void repeat(struct ranks_job *r);

static void repetition_done(void *ctx, uint64_t arg)
{
	struct ranks_job *r = ctx;
	const struct step_record step = {.start_ps = r->begun_ps,
					 .end_ps = engine_now_ps(r->job.workload->engine)};
	if (job_step_over(&r->job, &step))
		repeat(r);
}

static void repeat(struct ranks_job *r)
{
	r->begun_ps = engine_now_ps(r->job.workload->engine);
	const struct collective_request request = {
		.collective = r->collective.collective,
		.size_B = r->collective.size_B,
		.label = collective_name(r->collective.collective),
		.done = repetition_done,
		.ctx = r,
	};
	uint64_t number = communicator_begin(r->comm, &request);
	for (size_t i = 0; i < r->collective.rank_count; i++)
		communicator_arrive(r->comm, number, i);
}

static void start(void *ctx, uint64_t arg)
{
	struct ranks_job *r = ctx;
	if (r->dp)
		dp_start(r->dp);
	else
		repeat(r);
}

static void open(void *ctx, uint64_t arg)
{
	struct ranks_job *r = ctx;
	if (r->comm)
		communicator_open(r->comm, start, r, 0);
	else
		start(r, 0);
}

static bool step_done(void *ctx, const struct step_record *step)
{
	return job_step_over(ctx, step);
}

void dp_job_begin(struct job *job, const struct dp_spec *spec, int64_t delay_ps)
{
	struct ranks_job *r = ranks_job(job);
	struct dp_spec own = *spec;
	own.step_done = step_done;
	own.ctx = job;
	r->comm = spec->host.comm;
	r->noisy = spec->host.params->noise_ratio > 0;
	r->dp = dp_new(&own);
	engine_after(job->workload->engine, delay_ps, open, r, 0);
}

void collective_job_begin(struct job *job, const struct collective_spec *spec)
{
	struct ranks_job *r = ranks_job(job);
	r->collective = *spec;
	r->comm = spec->comm;
	engine_after(job->workload->engine, 0, open, r, 0);
}
