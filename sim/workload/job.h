/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JOBS: the ranks that a run simulates together, from the warm-up to the end of the measurement.
 *
 * The kinds of jobs are:
 *
 *   program_job.h  programs simulated call by call on local or remote GPUs: a forwarded client,
 *                  a recorded trace, ranks with collectives and messages
 *   dp_job.h       a data-parallel job, or one collective that is repeated
 *
 * All kinds share these phases, which job.c implements:
 *
 *   1. A job is WARM when it has done its warm-up steps and its GPUs keep up with it. (A program
 *      that runs ahead issues its first steps into an empty launch queue, faster than the GPU
 *      can run them.) If several programs run together, each then pauses for a random part of
 *      a step, because in reality programs do not begin together.
 *   2. When the last job is warm, the WINDOW opens, in which everything is measured.
 *   3. The window closes when the job is steady in it; steady.h defines that for several jobs.
 *
 * A job that fails keeps the reason, and the others continue. The run ends when all jobs have
 * ended.
 */
#pragma once

#include "sim/collective/communicator.h"
#include "sim/remoting/remoting.h"
#include "sim/workload/steady.h"
#include "sim/workload/step.h"

struct job;
struct job_entry; /* defined by the scenario; this folder only stores the pointer */
struct replica_run;

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

/* Times of a rank's GPU in the measured steps, by enum gpu_time. They add up to these steps. */
struct rank_times {
	int64_t ps[GPU_TIME_COUNT];
};

struct job_run { /* the result of one job */
	const struct job_entry *entry;
	bool failed;
	const char *reason;            /* reason of the failure */
	const struct program *program; /* of the first rank, unfused; NULL: no calls are played */
	/* If times and counters were extended (sim/predict/periods.c): the programs whose
	 * difference was added to `program`, and how often. Otherwise NULL. */
	const struct program *longer_program, *shorter_program;
	double extended_ratio;
	const struct step_record *steps; /* all steps, or the repetitions of a collective */
	size_t step_count;
	/* The steps that began in the window; results are computed from them. steady_work is the
	 * kernel work that the GPUs did in these steps, in units of the work of one step. It equals
	 * steady_count, except if a program runs further and further ahead. */
	size_t steady_first, steady_count;
	double steady_work;
	/* Forwarded calls. remote covers the whole run, forwarded the last step of a job with one
	 * rank, the next three only the window. */
	struct remote_counters remote;
	struct forwarded_step forwarded;
	double window_stalled_s;
	uint64_t window_timeouts_count;
	struct kind_counters window_kinds[CALL_KIND_COUNT];
	double connect_s;
	const struct rank_times *rank_times; /* by rank; NULL: not counted */
	/* Results of jobs with collectives. */
	struct communicator_counters comm;
	const char
		*choice; /* the library's algorithm for all gradients or the collective, or NULL */
	double solo_step_s; /* step time of one GPU without exchange and input; 0: unknown */
	/* Results of a launch run (life.h): the phases, of which PHASE_STEPS has step_count steps;
	 * kernels of a forward pass; the slowest stage of the input pipeline for a batch, 0: none.
	 */
	double phase_s[PHASE_COUNT], forward_s, input_batch_s;
	/* The result of a replica of a model server (sim/serving/serving.h); NULL for other jobs.
	 */
	const struct replica_run *serving;
};
/* Returns the mean step time in the window. */
double job_run_step_s(const struct job_run *run);

struct job_kind {
	/* Returns what the unfinished step waits for, such as "thread 'main' at cudaMemcpy". */
	const char *(*waiting)(const struct job *job, struct arena *arena);
	/* The next two may be NULL in kinds that never call job_step_over. varies: randomness makes
	 * steps differ, so two equal steps do not prove a steady state. */
	bool (*varies)(const struct job *job);
	/* Randomness makes steps differ, and step_count steps are too few for a mean. */
	bool (*in_doubt)(const struct job *job, size_t step_count);
	/* Both are called at the end of a run. read sets the fields of job->run that depend on the
	 * kind. account adds the bytes of the job's messages to the fabric's counters. */
	void (*read)(struct job *job);
	void (*account)(struct job *job);
	/* The next three may be NULL. window_opened is called when the window opens. pause delays
	 * the next step. drained is called when no event is left; it returns true if it has failed
	 * the job with a reason. */
	void (*window_opened)(struct job *job);
	void (*pause)(struct job *job, int64_t pause_ps);
	bool (*drained)(struct job *job);
	double warmup_count;  /* minimum number of warm-up steps */
	double repeats_ratio; /* largest relative difference of two steps that count as equal */
	bool repeats_early;   /* one of the two equal steps may be a warm-up step */
	/* The mean step has settled at this relative standard error. If a step has more events than
	 * settled_events, the limit is larger in proportion. */
	double settled_ratio, settled_events;
};

struct workload;
struct life;

struct job { /* first member of each kind's own struct */
	struct workload *workload;
	const struct job_kind *kind;
	const char *name;
	struct job_run *run;
	/* Sum of the durations of a step's kernels; 0: each step counts as one step of work. */
	double work_ps;
	VEC(struct step_record) steps; /* that have ended */
	size_t first;                  /* steps with a smaller index began before the window */
	bool paused, warm, over;
	struct life *life; /* phases of a launch run; NULL: the job is measured in a window */
};

struct workload {
	struct arena *arena;
	struct engine *engine;
	uint64_t seed;
	double warmup_count; /* steps that are not measured */
	struct steady_limits limits;
	bool lossy;                       /* a link loses packets */
	void (*window_opened)(void *ctx); /* called each time that the window opens */
	void *ctx;
	struct job **jobs; /* limits.program_count jobs, each set before it starts */
	/* Private. */
	struct steady steady;
	struct steady_program *programs;
	size_t warm_count, over_count;
	bool open;
	int64_t opened_ps;
};

void workload_init(struct workload *workload);
/* Sets the common part of a job. Call it before the job starts or fails. */
void job_init(struct job *job, struct workload *workload, const struct job_kind *kind,
	      const char *name, struct job_run *run);

/* Returns true if jobs do a single step. A single step of a plan takes until its last rank ends,
 * for which the other ranks would wait in the next one. */
bool workload_does_one_step(const struct workload *w);
/* Call this when the job has ended a step. Returns false when the whole run has ended. */
bool job_step_over(struct job *job, const struct step_record *step);
bool workload_is_over(const struct workload *workload);
/* Fails the job; ctx is the struct job. A second failure has no effect. */
void job_failed(void *ctx, const char *reason);
/* Ends the job. The run ends when all jobs have ended. */
void job_end(struct job *job);
/* Makes the job warm. A job that needs no warm-up step calls this at its start. */
void job_warm(struct job *job);

/* Returns what the first unfinished job waits for, or NULL if all jobs have ended. If the run ended
 * at a limit, each unfinished job fails with the reason no_end(ctx, that text). */
const char *workload_unfinished(struct workload *workload, enum engine_end end,
				const char *(*no_end)(void *ctx, const char *waiting));
/* Adds the bytes of all messages to the fabric's counters. */
void workload_account(struct workload *workload);
/* Sets the struct job_run of all jobs. broken is the violated invariant, or NULL. */
void workload_read(struct workload *workload, const char *broken);
