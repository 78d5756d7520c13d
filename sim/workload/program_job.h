/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A job of programs that are played call by call.
 *
 * Each rank is a process with a program. It holds one GPU or several, each behind the local
 * driver or behind a remoting runtime, whose server runs in a guest of the GPU's host. GPUs
 * of all ranks are the members of one group (group.h) if the programs call collectives or
 * messages. A forwarded client is a job of one rank with one remote GPU.
 *
 * A step of the job ends when all ranks have ended it. Its begin, its end and the parts of its
 * time are means over the ranks, whose own steps need not begin together.
 */
#ifndef FARWIRE_WORKLOAD_PROGRAM_JOB_H
#define FARWIRE_WORKLOAD_PROGRAM_JOB_H

#include "sim/cuda/program.h"
#include "sim/transport/dma.h"
#include "sim/workload/job.h"

struct program_gpu { /* one that a rank holds */
	struct gpu *gpu;
	struct guest *server; /* in front of it; the rank's own guest with the local driver */
	const struct route *to_device, *to_host; /* between the server's host and the GPU */
};

struct program_rank {
	struct guest *guest; /* where the program runs */
	const struct program *program;
	const struct program_gpu *gpus; /* as many as the program holds */
};

struct program_job_spec {
	struct fabric *fabric;
	const char *name, *what; /* what: "resnet50 at batch 32", for messages */
	double fraction_ratio;   /* of each GPU that the job may use */
	const struct driver_params *driver;
	const struct dma_params *dma;
	const struct runtime_params *runtime; /* NULL: the local driver */
	const struct transport_kind *transport;
	const void *transport_params;
	bool guest_work; /* programs and driver say the bare machine's work: guests add to it */
	const struct program_rank *ranks;
	size_t rank_count;
	/* The group's library; NULL: no program calls its peers. The group's messages between hosts
	 * use the same transport as forwarded calls. */
	const struct library_params *library;
};

/* The job, which starts by an event of now, or has failed. The spec is copied; what it
 * points to is borrowed. */
struct job *program_job_new(struct workload *workload, struct job_run *run,
			    const struct program_job_spec *spec);

#endif
