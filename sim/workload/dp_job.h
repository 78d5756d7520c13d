/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two kinds of jobs whose ranks share one communicator: data-parallel training
 * (dp.h), and one collective that is repeated, as in nccl-tests.
 *
 * The caller creates a job first. Then it builds the job's parts, and if one cannot be built, the
 * job fails. Finally it begins the job. */
#pragma once

#include "sim/workload/dp.h"
#include "sim/workload/job.h"

/* Returns a job of either kind, which one of the next two functions begins. */
struct job *ranks_job_new(struct workload *workload, struct job_run *run, const char *name);
/* Begins the job delay_ps after now. This function sets step_done and ctx of its copy of spec. */
void dp_job_begin(struct job *job, const struct dp_spec *spec, int64_t delay_ps);

struct collective_spec {
	struct communicator *comm;
	size_t rank_count;
	enum collective collective;
	double size_B;
};
void collective_job_begin(struct job *job, const struct collective_spec *spec);
