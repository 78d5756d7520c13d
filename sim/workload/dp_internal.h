/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by dp.c (jobs and the parts of their time) and dp_rank.c (a rank's step). Other files do
 * not include it.
 *
 * A rank has a player with the program of a step, a thread that issues updates of reduced
 * gradients, and a stream on its GPU for copies of the exchange. Ranks of a guest may be one
 * PROCESS, in which one further thread starts their issuing in turn. At each moment a rank's time
 * belongs to one PART, so the parts add up to the step exactly, in picoseconds. */
#pragma once

#include "sim/workload/dp.h"
#include "sim/workload/player.h"

enum time_part { PART_KERNEL, PART_EXPOSED, PART_INPUT, PART_STRAGGLER, PART_OTHER, PART_COUNT };

struct rank;

/* Ranks whose steps are started by one thread, one after the other, when all of them may begin. */
struct process {
	struct cpu *starter;
	double work_s;      /* work to start one rank */
	struct rank *first; /* list of its ranks, by next_of_process */
	size_t rank_count;
	size_t asking_count;   /* ranks that may begin their next step */
	struct rank *starting; /* the rank that is being started; NULL: all are started */
};

struct rank {
	struct dp *job;
	size_t index;
	const struct dp_rank *spec;
	struct rng rng;
	double factor;      /* of the kernels that are launched now */
	size_t begun_count; /* steps that have begun */
	struct cuda_process *gpu_process;
	struct player *player;
	/* State of the thread that issues the step. */
	struct callback gate;    /* the thread waits at the begin of a step */
	bool requested;          /* the process has been asked to start it */
	struct process *process; /* NULL: the rank starts itself */
	struct rank *next_of_process;
	size_t issue_count; /* steps that the thread has begun to issue */
	/* hand-overs issued and announced since the start */
	size_t issued_total, announced_total;
	/* State of the GPU's part. */
	struct callback begin_mark, reduced_mark; /* the stream waits at these marks */
	size_t passed_count;                      /* steps whose first mark the stream has passed */
	size_t computed_count, next_handed;       /* hand-overs in this step */
	/* By hand-over, with waits_for_issued: number of hand-overs that must be computed before
	 * its gradients are handed over. 0: a rank has not issued it. */
	size_t *fences;
	bool ran; /* the stream has reached the last mark of the step */
	bool waits_for_input, ending;
	size_t handed_count, reduced_count; /* numbers of tensors in this step */
	bool *reduced;                      /* by tensor */
	size_t first_open;                  /* first tensor that is not reduced */
	uint32_t *reduced_order;            /* tensors in the order in which they were reduced */
	/* Updates that the host issues, in reduced_order: due, issued, being issued. */
	struct cpu *updater;
	size_t notified_count, updated_count, updating_count, updates_running;
	double update_due_s;       /* GPU time of issued updates that wait for room */
	int64_t framework_free_ps; /* time at which the thread that hands over gradients is free */
	struct gpu_stream *copies, *updates;
	enum time_part part;
	int64_t part_since_ps;        /* begin of this part */
	int64_t counted_ps;           /* spent_ps is complete up to this time */
	int64_t spent_ps[PART_COUNT]; /* time spent in each part since the last record */
	double busy_before_s;
	uint32_t track;
};

struct dp {
	struct cuda_peers peers; /* must be first, because functions cast it to this struct */
	struct dp_spec spec;
	bool ahead;                /* ranks issue one step ahead */
	bool announces;            /* gradients are announced when they are issued */
	bool issued_updates;       /* the host issues updates when it learns of reduced gradients */
	struct exchange *exchange; /* NULL: one rank */
	struct rank *ranks;
	size_t *issued_count;   /* by hand-over, with waits_for_issued: ranks that have issued it */
	size_t *gathered_count; /* by tensor: steps in which all ranks have handed it over */
	size_t ended_count;     /* ranks that have ended the step */
	bool stopped;
	size_t step_count; /* steps that all ranks have ended */
	int64_t recorded_ps, collective_before_ps;
};

/* dp.c */
/* Call this whenever the part to which the rank's time belongs may have changed. */
void rank_note(struct rank *rank);
/* Call this when the rank has ended its step. Returns false if the job stops. */
bool dp_rank_ended(struct rank *rank);

/* dp_rank.c */
void rank_init(struct rank *rank, struct dp *job, size_t index);
/* If starting a rank has a cost, makes the ranks of each guest one process. */
void processes_find(struct dp *job);
void rank_step_begin(struct rank *rank);
void rank_copy(struct rank *rank, double size_B, event_fn *fn, void *ctx, uint64_t arg);
void rank_reduced(struct rank *rank, size_t first, size_t count);
/* The functions of struct cuda_peers. */
uint64_t dp_join(struct cuda_peers *peers, size_t member, const struct cuda_call *call);
const int64_t *dp_begin(struct cuda_peers *peers, size_t member, uint64_t ticket,
			const struct cuda_call *call, event_fn *done, void *ctx, uint64_t arg);
