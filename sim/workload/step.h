/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The record of one step: when it began and ended, and where its time went. */
#ifndef FARWIRE_WORKLOAD_STEP_H
#define FARWIRE_WORKLOAD_STEP_H

#include <stdint.h>

/* Ways in which a thread of a program spends its time. */
enum thread_time { TIME_THINK, TIME_CALL, TIME_WAIT, TIME_KIND_COUNT };

struct step_record {
	int64_t start_ps, end_ps;
	double gpu_busy_s; /* time in which the rank's GPUs computed; mean over them and the ranks
			    */

	/* Fields of programs that are played call by call (player.h), means over the ranks. */
	int64_t mark_ps;                    /* of the last ITEM_STEP_MARK; end_ps where none */
	double thread_s[TIME_KIND_COUNT];   /* of thread 0; they add up to the step */
	double gpu_idle_s[TIME_KIND_COUNT]; /* the GPUs' idle time, by what thread 0 was doing
		meanwhile; with gpu_busy_s and exposed_s it adds up to the step */
	uint64_t calls_count;               /* begun by the listed threads of all ranks */
	uint64_t polls_count;               /* queries begun by the pollers, besides */
	int64_t work_ps; /* durations of the kernels that the GPUs ran in this step: less than
		what was launched while a program runs further and further ahead */

	/* Time in which a GPU had nothing to compute and waited for a collective or a message
	 * of another rank. */
	double exposed_s;

	/* Fields of fused steps (fused.h), means over the ranks. The first four and exposed_s add
	 * up to the step. */
	double kernel_s;     /* computing */
	double input_s;      /* waiting for input, or for a rank whose input came later */
	double straggler_s;  /* waiting for gradients that another rank has not handed over yet */
	double other_s;      /* host work of the framework */
	double collective_s; /* in which a collective that all ranks had arrived at was under way,
				hidden behind kernels or not */
};

#endif
