/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuses the runs of kernels of a program.
 *
 * A RUN is a part of a thread's list: launches on one stream, and the work and calls between them
 * that need only the host. A GPU with no other work ends the run of n launches at
 *
 *     max(E + sum of (g + d_i), H + max over i of (a_i + l + d_i + sum over j > i of (g + d_j)))
 *
 * The stream's operation before ends at E, and the thread's work begins at H. The work up to launch
 * i takes a_i, and its kernel d_i. A launch has the gap g and the latency l. So a run needs two
 * numbers and is one operation of the GPU in place of n: all kernels, which begin so late that they
 * end at the time above. If the thread shares its core when the run begins, its work may take
 * longer. Then the last kernel is an operation of its own, which is launched when the thread has
 * ended its work.
 *
 * The times are exact to the rounding of a picosecond if nothing else uses the GPU or the thread's
 * core during a run. The launch queue is counted in kernels, but a thread that finds room issues
 * a whole run.
 */
#pragma once

#include "sim/cuda/program.h"

struct fuse_params {
	const struct driver_params *driver;
	const struct gpu_params *gpu;
	double work_ratio; /* time of a unit of host work in the guest */
};

enum fuse_mode {
	FUSE_RUNS,
	/* Collectives or messages run at the same time. Their kernels slow down others, so these
	 * must run at about their time. */
	FUSE_SHORT_RUNS,
	FUSE_HOST, /* a run has one kernel: only host work is fused */
};
/* Returns a part of a thread's list with its runs fused. */
struct call_thread thread_fuse(struct arena *arena, const struct call_thread *thread,
			       const struct fuse_params *params, enum fuse_mode mode);
/* Returns the program with its runs fused; a thread without runs shares its items. */
const struct program *program_fuse(struct arena *arena, const struct program *program,
				   const struct fuse_params *params);
