/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A job of programs that are simulated call by call.
 *
 * Each rank is a process with a program. It holds one or several GPUs, each of which it reaches
 * through the local driver or through a remoting runtime. The runtime's server runs in a guest of
 * the GPU's host. If programs have collectives or messages, the GPUs of all ranks are the members
 * of one group (group.h). A forwarded client is a job of one rank with one remote GPU.
 *
 * A step of the job ends when all ranks have ended it. Steps of ranks need not begin together, so
 * the begin, the end and the parts of a job's step are means over the ranks.
 */
#pragma once

#include "sim/cuda/program.h"
#include "sim/transport/dma.h"
#include "sim/workload/job.h"

struct program_gpu { /* a GPU of a rank */
	struct gpu *gpu;
	struct guest
		*server; /* guest of the remoting server; with the local driver the rank's guest */
	const struct route *to_device, *to_host; /* routes between the server's host and the GPU */
};

struct program_rank {
	struct guest *guest; /* guest in which the program runs */
	const struct program *program;
	const struct program_gpu *gpus; /* program_device_count(program) GPUs */
};

struct program_job_spec {
	/* The group's communicator of all ranks: name, library, transport, fold. Without a library
	 * programs have no collectives and messages. Forwarded calls use the same transport. With a
	 * fold `ranks` are the simulated ones, with one GPU each, and peers of messages and members
	 * of groups are numbers of all ranks. The job sets its ranks. */
	struct communicator_spec comm;
	const char *what;      /* the program in messages, for example "resnet50 at batch 32" */
	const char *refused;   /* why the job fails at once; NULL: it does not */
	const char *advice;    /* how the job fits into GPU memory if it does not; NULL: unknown */
	double fraction_ratio; /* part of each GPU that the job may use */
	double memory_ratio;   /* part of its memory; 0: fraction_ratio */
	const struct driver_params *driver;
	const struct dma_params *dma;
	const struct runtime_params *runtime; /* NULL: the local driver */
	bool guest_work; /* work of programs and driver is for bare metal; the guest's extra cost is
			    added */
	const struct program_rank *ranks;
	size_t rank_count;
	const struct program_group *groups; /* communicator i + 1 has the members of groups[i] */
	size_t group_count;
	bool recorded; /* collectives and messages come from files, and may not match */
};

/* Returns a job that an event starts now, or that has failed already. The spec is copied, but its
 * pointers are borrowed. */
struct job *program_job_new(struct workload *workload, struct job_run *run,
			    const struct program_job_spec *spec);
