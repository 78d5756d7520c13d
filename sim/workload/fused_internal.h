/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by fused.c (jobs and the parts of their time), fused_rank.c (a rank's step) and
 * fused_process.c. Other files do not include it.
 *
 * A rank has two STREAMS on its GPU with at most one kernel each. The compute stream runs a
 * step's stretches one after the other, and the updates that are due between or behind them.
 * The other stream makes copies for the exchange. A rank has two threads: one issues a step's
 * stretches, the other issues updates of reduced gradients. Ranks of a guest may be one
 * PROCESS, in which one further thread starts their issuing in turn. At each moment a rank's
 * time belongs to one PART, so the parts add up to the picosecond. */
#ifndef FARWIRE_WORKLOAD_FUSED_INTERNAL_H
#define FARWIRE_WORKLOAD_FUSED_INTERNAL_H

#include "sim/base/num.h"
#include "sim/base/vec.h"
#include "sim/workload/fused.h"
#include "sim/workload/worker.h"

enum part { PART_KERNEL, PART_EXPOSED, PART_INPUT, PART_STRAGGLER, PART_OTHER, PART_COUNT };

/* Segments up to the next gradients where issuing costs nothing, else one; or, behind
 * them, all updates. */
struct stretch {
	const char *label;
	double compute_s, last_s, host_s;
	size_t tensor_count;
};

struct rank;

struct rank_stream {
	struct rank *rank;
	struct gpu_stream *stream;
	struct gpu_op op;
	bool busy;
	void (*then)(struct rank *rank);
};

struct copy { /* waits for its turn on the copies' stream */
	double duration_s;
	event_fn *fn;
	void *ctx;
	uint64_t arg;
	struct copy *next;
};

/* Ranks whose steps one thread starts one after the other, when all of them may begin. */
struct process {
	struct worker starter;
	double work_s; /* for each rank */
	struct rank *first;
	size_t rank_count, asking_count;
	struct rank *starting; /* NULL: all are started */
};

struct rank {
	struct fused *job;
	size_t index;
	const struct fused_rank *spec;
	struct rng rng;
	double factor;      /* of this step's compute time */
	size_t begun_count; /* steps */
	/* Issuing: the steps it has begun, the stretch of the last of them that is being issued
	 * (all: it rests), whether what comes before the first one is over. */
	struct worker issuer;
	struct process *process; /* NULL: it starts itself */
	struct rank *next_of_process;
	size_t issue_count, issue_next;
	bool issue_open;
	int64_t issue_since_ps;
	size_t announced_next, announced_count; /* stretches and tensors of this step */
	/* By stretch, with waits_for_issued: gradients are handed over when so many stretches are
	 * over; 0: some rank has not issued it. */
	size_t *fences;
	/* The GPU's side. */
	size_t next_stretch, run_end; /* run_end: behind the stretches that run */
	size_t next_handed;           /* stretch whose gradients have not been handed over */
	bool body_over;               /* of next_stretch all but its last kernel */
	bool runs_updates;            /* the stream, not stretches */
	bool waits_for_input, computed, ending;
	size_t handed_count, reduced_count; /* tensors, this step */
	bool *reduced;                      /* by tensor */
	size_t first_open;                  /* tensor that is not reduced */
	uint32_t *reduced_order;            /* tensors */
	/* Updates that the host issues, in reduced_order: it has heard of, issued, is issuing. */
	struct worker updater;
	size_t heard_count, updated_count, updating_count;
	double update_due_s;       /* of issued ones */
	int64_t framework_free_ps; /* its thread that hands over gradients */
	struct rank_stream compute, copies;
	struct copy *copy_first, *copy_last;
	size_t running_count; /* kernels */
	enum part part;
	int64_t part_since_ps, counted_ps; /* begun; counted in spent_ps up to */
	int64_t spent_ps[PART_COUNT];      /* since the last record */
	double busy_before_s;
	uint32_t track, issue_track;
};

struct fused {
	struct fused_spec spec;
	struct stretch *stretches;
	size_t stretch_count, computed_count; /* computed: but the updates */
	bool ahead;                           /* ranks issue a step ahead */
	bool announces;                       /* gradients when they are issued */
	bool issued_updates;                  /* by the host, when it has heard of the gradients */
	struct exchange *exchange;            /* NULL: one rank */
	struct rank *ranks;
	size_t *issued_count;   /* by stretch, with waits_for_issued: ranks that have issued it */
	size_t *gathered_count; /* by tensor: steps in which all ranks had handed it over */
	size_t ended_count;     /* ranks that have ended the step */
	bool stopped;
	int64_t recorded_ps, collective_before_ps;
	struct copy *free_copies;
	VEC(struct step_record) steps;
};

/* job.c */
/* To be called when the rank may have begun to do something else. */
void rank_note(struct rank *rank);
/* The rank has ended its step; false: the job stops. */
bool fused_rank_ended(struct rank *rank);

/* fused_rank.c */
void rank_init(struct rank *rank, struct fused *job, size_t index);
void rank_step_begin(struct rank *rank);
/* Its thread begins to issue the step that it asked its process for. */
void rank_started(struct rank *rank);
void rank_copy(struct rank *rank, double size_B, event_fn *fn, void *ctx, uint64_t arg);
void rank_reduced(struct rank *rank, size_t first, size_t count);

/* job_process.c */
/* Ranks of a guest become one process where starting them costs anything. */
void processes_find(struct fused *job);
/* One of its ranks may begin to issue its next step. */
void process_ask(struct process *process);

#endif
