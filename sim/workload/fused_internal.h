/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by fused.c (jobs and the parts of their time), fused_rank.c (a rank's step) and
 * fused_process.c. Other files do not include it.
 *
 * A STRETCH is a part of a step that is simulated as one kernel. A rank has two STREAMS on its
 * GPU with at most one kernel each. The compute stream runs a step's stretches one after the
 * other, and the updates that are due between or after them. The other stream makes copies for
 * the exchange. A rank has two threads: one issues a step's stretches, the other issues updates
 * of reduced gradients. Ranks of a guest may be one PROCESS, in which one further thread starts
 * their issuing in turn. At each moment a rank's time belongs to one PART, so the parts add up
 * to the step exactly, in picoseconds. */
#pragma once

#include "sim/base/num.h"
#include "sim/base/vec.h"
#include "sim/workload/fused.h"
#include "sim/workload/worker.h"

enum part { PART_KERNEL, PART_EXPOSED, PART_INPUT, PART_STRAGGLER, PART_OTHER, PART_COUNT };

/* One segment of the step profile. If issuing costs nothing, all segments up to the next
 * gradients. If the host does not issue updates, the last stretch is all updates. */
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

struct copy { /* work that runs or waits on the copy stream */
	double duration_s;
	event_fn *fn;
	void *ctx;
	uint64_t arg;
	struct copy *next;
};

/* Ranks whose steps are started by one thread, one after the other, when all of them may begin. */
struct process {
	struct worker starter;
	double work_s;      /* work to start one rank */
	struct rank *first; /* list of its ranks, by next_of_process */
	size_t rank_count;
	size_t asking_count;   /* ranks that may begin their next step */
	struct rank *starting; /* the rank that is being started; NULL: all are started */
};

struct rank {
	struct fused *job;
	size_t index;
	const struct fused_rank *spec;
	struct rng rng;
	double factor;      /* random factor on this step's compute time */
	size_t begun_count; /* steps that have begun */
	/* State of the thread that issues the step. */
	struct worker issuer;
	struct process *process; /* NULL: the rank starts itself */
	struct rank *next_of_process;
	size_t issue_count; /* steps that the thread has begun to issue */
	size_t issue_next;  /* next stretch to issue in the last begun step; stretch_count: all are
			       issued */
	bool issue_open;    /* the work before the first stretch has ended */
	int64_t issue_since_ps;
	size_t announced_next, announced_count; /* next stretch; tensors announced in this step */
	/* By stretch, with waits_for_issued: number of stretches that must run before its
	 * gradients are handed over. 0: a rank has not issued the stretch. */
	size_t *fences;
	/* State of the GPU's part. */
	size_t next_stretch; /* first stretch that has not run to its end */
	size_t run_end;      /* value of next_stretch after the running kernel */
	size_t next_handed;  /* first stretch whose gradients have not been handed over */
	bool body_over;      /* next_stretch has run except for its last kernel */
	bool runs_updates;   /* the compute stream runs updates and not a stretch */
	bool waits_for_input, computed, ending;
	size_t handed_count, reduced_count; /* numbers of tensors in this step */
	bool *reduced;                      /* by tensor */
	size_t first_open;                  /* first tensor that is not reduced */
	uint32_t *reduced_order;            /* tensors in the order in which they were reduced */
	/* Updates that the host issues, in reduced_order: due, issued, being issued. */
	struct worker updater;
	size_t heard_count, updated_count, updating_count;
	double update_due_s;       /* GPU time of issued updates that have not begun */
	int64_t framework_free_ps; /* time at which the thread that hands over gradients is free */
	struct rank_stream compute, copies;
	struct copy *copy_first, *copy_last;
	size_t running_count; /* number of running kernels */
	enum part part;
	int64_t part_since_ps;        /* begin of this part */
	int64_t counted_ps;           /* spent_ps is complete up to this time */
	int64_t spent_ps[PART_COUNT]; /* time spent in each part since the last record */
	double busy_before_s;
	uint32_t track, issue_track;
};

struct fused {
	struct fused_spec spec;
	struct stretch *stretches;
	size_t stretch_count;
	size_t computed_count;     /* stretches without the updates */
	bool ahead;                /* ranks issue one step ahead */
	bool announces;            /* gradients are announced when they are issued */
	bool issued_updates;       /* the host issues updates when it learns of reduced gradients */
	struct exchange *exchange; /* NULL: one rank */
	struct rank *ranks;
	size_t *issued_count;   /* by stretch, with waits_for_issued: ranks that have issued it */
	size_t *gathered_count; /* by tensor: steps in which all ranks have handed it over */
	size_t ended_count;     /* ranks that have ended the step */
	bool stopped;
	int64_t recorded_ps, collective_before_ps;
	struct copy *free_copies;
	VEC(struct step_record) steps;
};

/* fused.c */
/* Call this whenever the part to which the rank's time belongs may have changed. */
void rank_note(struct rank *rank);
/* Call this when the rank has ended its step. Returns false if the job stops. */
bool fused_rank_ended(struct rank *rank);

/* fused_rank.c */
void rank_init(struct rank *rank, struct fused *job, size_t index);
void rank_step_begin(struct rank *rank);
/* Called when the process has started the rank, whose thread now begins to issue the step. */
void rank_started(struct rank *rank);
void rank_copy(struct rank *rank, double size_B, event_fn *fn, void *ctx, uint64_t arg);
void rank_reduced(struct rank *rank, size_t first, size_t count);

/* fused_process.c */
/* If starting a rank has a cost, makes the ranks of each guest one process. */
void processes_find(struct fused *job);
/* Call this when one rank of the process may begin to issue its next step. */
void process_ask(struct process *process);
