/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs of ranks that share one communicator: data-parallel training with fused steps
 * (fused.h), and a collective alone, repeated, as nccl-tests does.
 *
 * A job is made first, so that what is missing to build it can make it fail, and begun when
 * all is there. */
#ifndef FARWIRE_WORKLOAD_FUSED_JOB_H
#define FARWIRE_WORKLOAD_FUSED_JOB_H

#include "sim/workload/fused.h"
#include "sim/workload/job.h"

struct job *fused_job_new(struct workload *workload, struct job_run *run, const char *name);
/* delay_ps: by how much it begins later than others. step_done and ctx of the spec are set
 * here. */
void fused_job_begin(struct job *job, const struct fused_spec *spec, int64_t delay_ps);

struct job *collective_job_new(struct workload *workload, struct job_run *run, const char *name);
struct collective_spec {
	struct communicator *comm;
	size_t rank_count;
	enum collective collective;
	double size_B;
};
void collective_job_begin(struct job *job, const struct collective_spec *spec);

#endif
