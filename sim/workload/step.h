/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The record of one step: when it began and ended, and where its time went. */
#pragma once

#include "sim/base/base.h"

/* Kinds of time of a program's thread: its own work, calls, waits. */
enum thread_time { TIME_THINK, TIME_CALL, TIME_WAIT, TIME_KIND_COUNT };

struct step_record {
	int64_t start_ps, end_ps;
	double gpu_busy_s; /* time in which a GPU computed; mean over all GPUs */

	/* Fields of programs that are played call by call (player.h), means over the ranks. */
	int64_t mark_ps;                    /* time of the last ITEM_STEP_MARK, or end_ps */
	double thread_s[TIME_KIND_COUNT];   /* times of thread 0; they add up to the step */
	double gpu_idle_s[TIME_KIND_COUNT]; /* idle time of the GPUs while thread 0 spent its time
		in this way; the sum, gpu_busy_s and exposed_s add up to the step */
	uint64_t calls_count;               /* calls of all ranks' threads without their pollers */
	uint64_t polls_count;               /* queries of all ranks' pollers */
	double work_ps; /* durations of the kernels that the GPUs ran in this step; less than the
		launched ones while a program runs further and further ahead */

	/* Times of the GPU by kind (enum gpu_time), which add up to the step. Only programs that
	 * count them have them, on one GPU; otherwise NULL. */
	const int64_t *gpu_ps;

	/* Exposed communication: time in which a GPU had nothing to compute and waited for a
	 * collective or a message of another rank. */
	double exposed_s;

	/* Fields of data-parallel steps (dp.h), means over the ranks. The first four and exposed_s
	 * add up to the step. */
	double kernel_s;    /* the GPU computes */
	double input_s;     /* the rank waits for input, or for a rank whose input came later */
	double straggler_s; /* the rank waits for gradients that another rank has not handed over */
	double other_s;     /* the rank waits for the host work of the framework */
	double collective_s; /* time in which a collective runs at which all ranks have arrived,
				also if kernels run meanwhile */
};
