/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JOBS: what runs in a world, from the warm-up to the end of its measurement.
 *
 * A job is one rank or several that step together. The kinds are:
 *
 *   program_job.h  programs played call by call on local or remote GPUs: a forwarded client,
 *                   a recorded trace, ranks that meet in collectives and messages
 *   fused_job.h    a data-parallel job whose runs of kernels are fused,
 *                  or a collective alone, repeated
 *
 * The life of a job is the same for all kinds and is written here once:
 *
 *   A job is WARM when its warm-up steps are over and its GPUs keep up with it. (A program
 *   that runs ahead issues its first steps into an empty launch queue, faster than any GPU
 *   can do them.) Where several programs run together, each then pauses for a random part
 *   of a step, because tenants do not begin together and only chance sets their phases.
 *   When the last job is warm the WINDOW opens, over which everything is measured. It
 *   closes when the job is steady in it. steady.h says what that means for several jobs.
 *
 * A job that fails keeps the reason; the others continue. The run ends when all jobs have ended.
 */
#ifndef FARWIRE_WORKLOAD_JOB_H
#define FARWIRE_WORKLOAD_JOB_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/collective/communicator.h"
#include "sim/remoting/remoting.h"
#include "sim/workload/steady.h"
#include "sim/workload/step.h"

struct job;
struct job_entry; /* of the scenario; this folder only hands it through */

/* Phases of a job from launch to end (life.h). */
enum job_phase {
	PHASE_PROCESS,
	PHASE_CONTEXT,
	PHASE_GRAPH,
	PHASE_INPUT,
	PHASE_AUTOTUNE,
	PHASE_STEPS,
	PHASE_CHECKPOINT,
	PHASE_END,
	PHASE_COUNT
};
const char *job_phase_name(enum job_phase phase);

struct job_run { /* the result of one job */
	const struct job_entry *entry;
	bool failed;
	const char *reason;              /* of a failure */
	const struct step_record *steps; /* all of them; of a collective its repetitions */
	size_t step_count;
	/* Answers are taken from the steady_count steps from steady_first on: those that began
	 * in the window. steady_work is how many steps' kernels the GPUs ran in them. It equals
	 * steady_count, except for a program that runs further and further ahead. */
	size_t steady_first, steady_count;
	double steady_work;
	/* Counters of forwarded calls: of the whole run, then in the window. */
	struct remote_counters remote;
	double window_stalled_s;
	uint64_t window_timeouts_count;
	double connect_s;
	/* Results of jobs with collectives. */
	struct communicator_counters comm;
	const char *choice; /* of the library, for all gradients or the collective; NULL: none */
	double solo_step_s; /* of one GPU alone, without exchange and input; 0: not known */
	/* Of a launch run (life.h): the phases, of which PHASE_STEPS has step_count steps; kernels
	 * of a forward pass; the slowest stage of the input pipeline for a batch, 0: none. */
	double phase_s[PHASE_COUNT], forward_s, input_batch_s;
};
/* Mean time of a steady step. */
double job_run_step_s(const struct job_run *run);

struct job_kind {
	const struct step_record *(*step_at)(const struct job *job, size_t index);
	/* "thread 'main' at cudaMemcpy": what the unfinished step waits for. */
	const char *(*waiting)(const struct job *job, struct arena *arena);
	/* Chance makes steps differ, so that two equal ones prove nothing. */
	bool (*varies)(const struct job *job);
	/* Chance decides, and the step_count steps in the window prove too little yet. */
	bool (*in_doubt)(const struct job *job, size_t step_count);
	/* At the end: fills what the kind knows of job->run; tells the fabric what the job's
	 * messages have carried. */
	void (*read)(struct job *job);
	void (*account)(struct job *job);
	/* These may be NULL. The first is called when the window opens. The second delays the
	 * next step by so much. The third is called when nothing is left to happen; true: the
	 * job has explained by a failure why it is not over. */
	void (*window_opened)(struct job *job);
	void (*pause)(struct job *job, int64_t pause_ps);
	bool (*drained)(struct job *job);
	double warmup_count;   /* least warm-up steps */
	double repeats_ratio;  /* relative difference of steps that are the same */
	bool repeats_early;    /* one of the two equal steps may be of the warm-up */
	double settled_ratio;  /* relative standard error at which the mean step has settled, */
	double settled_events; /* ... times the events of a step over this, if that is more */
};

struct workload;
struct life;

struct job { /* first member of each kind's own struct */
	struct workload *workload;
	const struct job_kind *kind;
	const char *name;
	struct job_run *run;
	int64_t work_ps; /* kernels of a step of its program; 0: each step counts as one */
	size_t step_count;
	size_t first; /* no step before it began in the window */
	bool paused, warm, over;
	struct life *life; /* of a launch run; NULL: the job is measured in a window */
};

struct workload {
	struct arena *arena;
	struct engine *engine;
	uint64_t seed;
	double warmup_count; /* steps to leave out */
	struct steady_limits limits;
	bool lossy;                       /* some link loses packets */
	void (*window_opened)(void *ctx); /* also when it opens anew */
	void *ctx;
	struct job **jobs; /* limits.program_count of them, each set before it starts */
	/* Private. */
	struct steady steady;
	struct steady_program *programs;
	size_t warm_count, over_count;
	bool open;
	int64_t opened_ps;
};

void workload_init(struct workload *workload);
/* Fills the common part of a job of that kind. To be called before the job starts or fails. */
void job_init(struct job *job, struct workload *workload, const struct job_kind *kind,
	      const char *name, struct job_run *run);

/* To be called when the job has ended a step, which step_at already gives. Returns false when the
 * whole run has ended. */
bool job_step_over(struct job *job);
bool workload_is_over(const struct workload *workload);
/* ctx: the struct job. Only the first reason counts. */
void job_failed(void *ctx, const char *reason);
/* The job is over: the run ends when all jobs are. */
void job_end(struct job *job);
/* The job needs no step to be warm. */
void job_warm(struct job *job);

/* Returns what the first unfinished job waits for, or NULL if all jobs have ended. If the run ended
 * at a limit, each unfinished job fails with the reason no_end(ctx, that text). */
const char *workload_unfinished(struct workload *workload, enum engine_end end,
				const char *(*no_end)(void *ctx, const char *waiting));
/* Tells the fabric what all messages have carried. */
void workload_account(struct workload *workload);
/* Fills the runs. broken: an invariant, or NULL. */
void workload_read(struct workload *workload, const char *broken);

#endif
