/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by driver.c (calls) and driver_clock.c (times of the GPU). */
#pragma once

#include "sim/cuda/cuda.h"

/* A call between its begin and its return. */
struct call_state {
	struct cuda_process *process;
	struct cpu *core;
	struct cuda_call call;
	bool submitted; /* of a run: all its kernels are in the GPU's queue */
	call_done_fn *done;
	void *ctx;
	uint64_t arg;
	struct call_state *next; /* in the free list, or of the calls that wait for the lock */
};

/* A copy between its submission and its end, which may be later than the return of its call. */
struct copy_job {
	struct cuda_process *process;
	struct gpu_stream *stream;
	struct cpu *core; /* core that stages pageable memory */
	double size_B;
	bool to_device, pageable;
	struct copy_job *next;
};

/* A collective or message between its submission and its end. */
struct peer_op {
	struct cuda_process *process;
	struct gpu_stream *stream;
	struct cuda_call call;
	uint64_t ticket;
	const int64_t *all_begun_ps; /* NULL before the op begins */
	struct peer_op *next;
};

/* Counts the time of a GPU by what it does. */
struct time_clock {
	int64_t times_ps[GPU_TIME_COUNT], since_ps;
	enum gpu_time kind;          /* since since_ps */
	const int64_t *all_begun_ps; /* of the collective or message for which the GPU waits */
	size_t waiting_count;        /* threads that wait for the GPU */
};

struct cuda_process {
	struct cuda_port port; /* must be first, because functions cast a port to this struct */
	struct cuda_process_spec spec;
	double work_ratio, interrupt_s; /* extra cost of work and of interrupts in the guest */
	struct gpu_stream **streams;
	struct gpu_event *events;
	struct call_state *free_calls;
	/* A call holds the context's lock while the driver works for it on the host. */
	bool locked;
	struct call_state *waiting, **waiting_end; /* calls that wait for the lock, in order */
	struct copy_job *free_jobs;
	struct peer_op *free_peer_ops;
	size_t peer_ops_count;  /* running collectives and messages */
	int64_t peers_since_ps; /* when the first of them began */
	int64_t peers_busy_ps;  /* busy time of the GPU until then */
	int64_t exposed_ps;
	struct time_clock clock;
};

/* ---- driver_clock.c ---- */
/* Counts the time since the last call. */
void clock_count(struct cuda_process *process);
/* Finds what the GPU does from now on; ctx is the process. */
void clock_set(void *ctx, uint64_t arg);
/* Notes that one more, or one less, thread waits for the GPU. */
void clock_wait(struct cuda_process *process, bool begins);
